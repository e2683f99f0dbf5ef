// Shared libraries opened at run time, and tables of their entry points.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>
#include <string>

namespace tautline::device::cuda {

/// A shared library that stays open while the process lives: drivers do not like to be unloaded.
class Library {
 public:
  /// Tries the names in the loader's own places, then in the CUDA toolkit's.
  explicit Library(std::initializer_list<const char*> names) {
    const char* home = std::getenv("CUDA_HOME");
    for (const std::string& folder :
         {std::string(), home == nullptr ? std::string() : std::string(home) + "/lib64/",
          std::string("/usr/local/cuda/lib64/")})
      for (const char* name : names) {
        if (handle_ == nullptr) handle_ = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
      }
  }

  /// Looks up one entry point; `found` becomes false when it is missing.
  template <class Function>
  void find(Function& function, const char* name, bool& found) const {
    function = handle_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle_, name));
    found = found && function != nullptr;
  }

 private:
  void* handle_ = nullptr;
};

/// One immutable table for the process, filled by `bool load(Table&)`; null when that fails.
template <class Table, bool (*load)(Table&)>
const Table* loaded_table() {
  static const struct Loaded {
    Table entries{};
    bool usable = load(entries);
  } loaded;
  return loaded.usable ? &loaded.entries : nullptr;
}

}  // namespace tautline::device::cuda
