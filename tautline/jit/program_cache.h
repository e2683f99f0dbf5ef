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
/// exactly as it was written counts as absent.
class ProgramCache {
 public:
  /// `folder` is made when something is first stored. Empty: nothing is found and nothing kept.
  explicit ProgramCache(std::filesystem::path folder);

  std::optional<std::vector<std::byte>> find(const std::string& key) const;
  /// Empty when stored; else why not. Never throws for what the file system does.
  std::string store(const std::string& key, std::span<const std::byte> binary) const;
  void remove(const std::string& key) const;
  /// Where `key` is or would be.
  std::filesystem::path path(const std::string& key) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace tautline::jit
