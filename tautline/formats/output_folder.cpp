#include "tautline/formats/output_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/partial_file.h"

namespace tautline::formats {

namespace {

namespace fs = std::filesystem;

// The folders above `path` that do not exist yet, outermost first.
std::vector<fs::path> missing_on_the_way(const fs::path& path) {
  std::vector<fs::path> missing;
  fs::path way;
  std::error_code ignored;
  for (const fs::path& part : path) {
    way /= part;
    if (!part.empty() && !fs::exists(way, ignored)) missing.push_back(way);
  }
  return missing;
}

}  // namespace

OutputFolder::OutputFolder(const std::string& field, std::string path) : path_(std::move(path)) {
  std::error_code error;
  if (fs::exists(path_, error) && !fs::is_directory(path_, error))
    throw core::Error(core::ErrorKind::io, field, path_ + " is a file", "the name of a folder",
                      "give a new name, or that of a folder that is there");
  made_ = missing_on_the_way(path_);
  for (const fs::path& folder : made_) note_made_folder(folder);
  fs::create_directories(path_, error);
  if (error) {
    for (const fs::path& folder : made_) forget_made_folder(folder);
    throw core::Error(core::ErrorKind::io, field, path_ + " (" + error.message() + ")",
                      "a folder that can be made",
                      "give another name, below a folder that may be written");
  }
}

void OutputFolder::lock() {
  locked_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (locked_ >= 0 && ::flock(locked_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw core::Error(core::ErrorKind::io, path_ + ": output", "another run writes into it",
                      "a folder that no other run has",
                      "give another name, or wait until that run has ended");
}

OutputFolder::~OutputFolder() {
  if (locked_ >= 0) ::close(locked_);
  std::error_code ignored;
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) {
    fs::remove(*folder, ignored);  // only an empty folder
    forget_made_folder(*folder);
  }
}

}  // namespace tautline::formats
