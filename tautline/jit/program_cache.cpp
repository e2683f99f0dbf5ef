#include "tautline/jit/program_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "tautline/core/hash.h"

namespace tautline::jit {

namespace {

// An entry: this header, the key, the binary. Numbers are in the byte order of the machine: a cache
// is not carried to another kind of machine, and if it is, the mark differs.
struct Header {
  char mark[8];
  std::uint64_t key_bytes;
  std::uint64_t binary_bytes;
  std::uint64_t checksum;  // of key and binary
};
constexpr char kMark[8] = {'t', 'a', 'u', 't', 'p', 'r', 'g', '1'};

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::uint64_t checksum(const std::string& key, std::span<const std::byte> binary) {
  return core::hash(as_text(binary), core::hash(key));
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

std::string reason(const std::filesystem::path& path, const char* what, int error) {
  return std::string(what) + " " + path.string() + ": " + std::generic_category().message(error);
}

}  // namespace

ProgramCache::ProgramCache(std::filesystem::path folder, std::size_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {}

std::filesystem::path ProgramCache::path(const std::string& key) const {
  return folder_ / (core::hash_name(core::hash(key)) + ".program");
}

std::optional<std::vector<std::byte>> ProgramCache::find(const std::string& key) const {
  if (folder_.empty()) return {};
  std::ifstream file(path(key), std::ios::binary | std::ios::ate);
  if (!file) return {};
  const auto size = static_cast<std::uint64_t>(file.tellg());
  file.seekg(0);
  Header header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  if (std::memcmp(header.mark, kMark, sizeof kMark) != 0 || header.key_bytes != key.size())
    return {};
  // Sizes are checked before memory is allocated for them.
  if (size < sizeof header + key.size() || header.binary_bytes != size - sizeof header - key.size())
    return {};
  std::string stored_key(key.size(), '\0');
  std::vector<std::byte> binary(header.binary_bytes);
  file.read(stored_key.data(), static_cast<std::streamsize>(stored_key.size()));
  file.read(reinterpret_cast<char*>(binary.data()), static_cast<std::streamsize>(binary.size()));
  if (!file || stored_key != key || header.checksum != checksum(key, binary)) return {};
  // The time of the file is the time of its last use. It does not change in a cache that cannot be
  // written.
  std::error_code ignored;
  std::filesystem::last_write_time(path(key), std::filesystem::file_time_type::clock::now(),
                                   ignored);
  return binary;
}

std::string ProgramCache::store(const std::string& key, std::span<const std::byte> binary) const {
  if (folder_.empty()) return "no folder: HOME, XDG_CACHE_HOME and TAUTLINE_CACHE are not set";
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return reason(folder_, "making the folder", error.value());

  const auto final_name = path(key);
  std::string partial = final_name.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(partial.data(), O_CLOEXEC);
  if (descriptor < 0) return reason(partial, "creating", errno);
  Header header{{}, key.size(), binary.size(), checksum(key, binary)};
  std::memcpy(header.mark, kMark, sizeof kMark);
  const bool written =
      write_all(descriptor, {reinterpret_cast<const char*>(&header), sizeof header}) &&
      write_all(descriptor, key) && write_all(descriptor, as_text(binary));
  const int problem = errno;
  const bool closed = ::close(descriptor) == 0;
  if (written && closed && ::rename(partial.c_str(), final_name.c_str()) == 0) {
    prune();
    return {};
  }
  const int failed = written ? errno : problem;
  ::unlink(partial.c_str());
  return reason(final_name, "writing", failed);
}

// A listing takes less time than a compilation. Other processes may prune and store meanwhile: an
// absent file is no error, and an entry that a process reads stays readable to it.
void ProgramCache::prune() const {
  struct Entry {
    std::filesystem::file_time_type used;
    std::filesystem::path path;
    std::size_t bytes;
  };
  std::vector<Entry> entries;
  std::size_t total = 0;
  std::error_code error, ignored;
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    const std::size_t bytes = at->file_size(ignored);
    const auto used = at->last_write_time(ignored);
    if (ignored) continue;
    entries.push_back({used, at->path(), bytes});
    total += bytes;
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= most_bytes_) return;
    if (std::filesystem::remove(entry.path, ignored)) total -= entry.bytes;
  }
}

void ProgramCache::remove(const std::string& key) const {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove(path(key), ignored);
}

}  // namespace tautline::jit
