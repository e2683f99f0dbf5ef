// From a kernel file to loaded code: text, definitions, the cache of compiled programs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tautline/device/device.h"

namespace tautline::jit {

/// Definitions that make a kernel file a program for exact sizes. They are kept in order of name,
/// so that equal definitions give equal text.
class Defines {
 public:
  template <class Number>
  requires(std::is_integral_v<Number> || std::is_enum_v<Number>) Defines& set(std::string name,
                                                                              Number value) {
    return set(std::move(name), std::to_string(static_cast<std::int64_t>(value)));
  }
  /// Text that is not quoted: a type's name, for example.
  Defines& set(std::string name, std::string value);
  /// "NAME=VALUE".
  std::vector<std::string> list() const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

/// The text of an embedded kernel file ("correlate/gpu/tiled.kernel", "jit/decode.kernel"), empty
/// when no file has that name; and the names of all kernel files.
std::string_view kernel_text(std::string_view name);
const std::vector<std::string_view>& kernel_names();
/// The kernel files of a stage ("correlate") that `api` compiles: *.cuda.kernel is for CUDA alone.
std::vector<std::string_view> stage_kernels(device::Api api, std::string_view stage);

/// The whole text for `api`: the dialect's header and the file, every `#include "NAME"` of another
/// kernel file replaced by its text, once. Throws Error(config) for an unknown name and
/// Error(unsupported) for an api that compiles nothing.
device::ProgramSource make_source(device::Api api, std::string_view kernel_file,
                                  const Defines& defines);
/// The same for text that is not a kernel file of the library; `name` is for messages.
device::ProgramSource make_source(device::Api api, std::string_view name, std::string_view text,
                                  const Defines& defines);

/// Loads a program that an earlier call, perhaps of another process, left in the cache folder
/// (jit/folders.h; if no folder can be used, the device's log is warned once), or compiles it, on a
/// thread of its own: the kernels of a run on a GPU compile side by side. The program is returned
/// at once; its kernels wait until it is loaded, and throw the errors of the device, with the
/// kernel file and its definitions named. The device must live until then
/// (device.shared().wait_for_programs()). A program that this process still holds for this device
/// is shared, not loaded again.
std::shared_ptr<const device::Program> build(const device::Device& device,
                                             std::string_view kernel_file, const Defines& defines,
                                             const std::vector<std::string>& options = {});
std::shared_ptr<const device::Program> build(const device::Device& device,
                                             const device::ProgramSource& source);
/// The same with neither cache folder nor sharing: for the many candidates of a search.
std::shared_ptr<const device::Program> build_uncached(const device::Device& device,
                                                      const device::ProgramSource& source);

}  // namespace tautline::jit
