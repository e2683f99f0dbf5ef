// From a kernel file to loaded code: text, definitions, the cache of compiled programs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tautline/device/device.h"

namespace tautline::jit {

/// Definitions that make a kernel file a program for exact sizes. Kept in order of name, so that
/// equal ones give equal text.
class Defines {
 public:
  Defines& set(std::string name, std::int64_t value);
  /// Text as it stands: a type's name, say.
  Defines& set(std::string name, std::string value);
  /// "NAME=VALUE".
  std::vector<std::string> list() const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

/// The text of an embedded kernel file ("correlate/tiled.kernel", "jit/decode.kernel"), and the
/// names of all of them. Empty when there is none of that name.
std::string_view kernel_text(std::string_view name);
const std::vector<std::string_view>& kernel_names();

/// The whole text for `api`: the dialect's header and the file, every `#include "NAME"` of another
/// kernel file replaced by its text, once. Throws Error(config) for an unknown name.
device::ProgramSource make_source(device::Api api, std::string_view kernel_file,
                                  const Defines& defines);

/// Compiles and loads, or loads what an earlier call, perhaps of another process, left in the cache
/// folder (TAUTLINE_CACHE, else the XDG cache folder; none usable: compiles).
std::shared_ptr<const device::Program> build(const device::Device& device,
                                             std::string_view kernel_file, const Defines& defines,
                                             const std::vector<std::string>& options = {});

}  // namespace tautline::jit
