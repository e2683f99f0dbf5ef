// Compiled programs on disk, one file each, shared by independent processes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tautline::jit {

/// A file's name is a hash of its key; the whole key is inside and is compared. Entries are written
/// to a file beside and renamed, so a reader sees a whole entry or none. A file that does not read
/// back exactly as it was written counts as absent. When all entries together are larger than the
/// limit, the entries whose last use is longest ago are removed.
class ProgramCache {
 public:
  /// Some ten thousand programs.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;

  /// `folder` is made at the first store. Empty: nothing is found and nothing kept.
  explicit ProgramCache(std::filesystem::path folder, std::size_t most_bytes = kMostBytes);

  std::optional<std::vector<std::byte>> find(const std::string& key) const;
  /// Empty when the program was stored; else the reason. Never throws for errors of the file
  /// system.
  std::string store(const std::string& key, std::span<const std::byte> binary) const;
  void remove(const std::string& key) const;
  /// The file of `key`, whether it exists or not.
  std::filesystem::path path(const std::string& key) const;

 private:
  void prune() const;

  std::filesystem::path folder_;
  std::size_t most_bytes_;
};

}  // namespace tautline::jit
