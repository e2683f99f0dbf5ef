// Compiled programs on disk, one file each, shared by processes that know nothing of each other.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tautline::jit {

/// A file's name is a hash of its key; the whole key is inside and is compared. Entries are written
/// beside their name and renamed, so a reader sees a whole one or none. Whatever does not read back
/// exactly as it was written counts as absent. The entries that were not used for longest go when
/// all together take more than they may.
class ProgramCache {
 public:
  /// Some ten thousand programs.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;

  /// `folder` is made when something is first stored. Empty: nothing is found and nothing kept.
  explicit ProgramCache(std::filesystem::path folder, std::size_t most_bytes = kMostBytes);

  std::optional<std::vector<std::byte>> find(const std::string& key) const;
  /// Empty when stored; else why not. Never throws for what the file system does.
  std::string store(const std::string& key, std::span<const std::byte> binary) const;
  void remove(const std::string& key) const;
  /// Where `key` is or would be.
  std::filesystem::path path(const std::string& key) const;

 private:
  void prune() const;

  std::filesystem::path folder_;
  std::size_t most_bytes_;
};

}  // namespace tautline::jit
