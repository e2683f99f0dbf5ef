// Which reader a file of voltages needs, told by its first bytes and its name.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats {

namespace {

// Enough for every format's mark: VDIF has none, but two headers a frame apart that agree.
constexpr std::size_t kVoltageHeadBytes = std::size_t{1} << 17;

}  // namespace

void refuse_unused(const std::string& path, const std::string& format, const ReaderOptions& options,
                   std::initializer_list<std::string_view> used) {
  for (const std::string& name : options.named)
    if (std::find(used.begin(), used.end(), name) == used.end())
      throw core::Error(
          core::ErrorKind::config, name, fmt::format("given for {}", path),
          "only for files that need it",
          fmt::format("leave it out: a {} file says it itself or has no use for it", format));
}

std::unique_ptr<VoltageReader> open_voltages(const std::string& path,
                                             const ReaderOptions& options) {
  const std::vector<std::byte> head = InputFile(path).head(kVoltageHeadBytes);
  if (const FileFormat* format = find_format(&FileFormat::voltages, head, path))
    return format->voltages(path, options);
  throw format_error(path, "kind of file, told by its first bytes and its name",
                     head.empty() ? "an empty file" : "unknown",
                     names_and_endings_of(formats_with(&FileFormat::voltages)) + " voltages",
                     "give the file the ending of its format");
}

}  // namespace tautline::formats
