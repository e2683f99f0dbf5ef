#include "tautline/jit/folders.h"

#include <cstdlib>

namespace tautline::jit {

namespace {

// An XDG variable counts only when it is an absolute path, as its specification says.
std::filesystem::path folder(const char* xdg_variable, const char* under_home) {
  if (const char* own = std::getenv("TAUTLINE_CACHE"); own != nullptr && *own != '\0') return own;
  const char* xdg = std::getenv(xdg_variable);
  if (xdg != nullptr && *xdg == '/') return std::filesystem::path(xdg) / "tautline";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return std::filesystem::path(home) / under_home / "tautline";
}

}  // namespace

std::filesystem::path cache_folder() {
  return folder("XDG_CACHE_HOME", ".cache");
}

std::filesystem::path data_folder() {
  return folder("XDG_DATA_HOME", ".local/share");
}

}  // namespace tautline::jit
