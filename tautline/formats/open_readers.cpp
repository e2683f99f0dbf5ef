// Chooses the reader of a file of voltages or photons by its first bytes and its name.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/spc/spc.h"
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
  if (options.source) return options.source();
  const std::vector<std::byte> head = InputFile(path).head(kVoltageHeadBytes);
  if (const FileFormat* format = find_format(&FileFormat::voltages, head, path))
    return format->voltages(path, options);
  throw other_kind(path, names_and_endings_of(formats_with(&FileFormat::voltages)) + " voltages",
                   "give the file the ending of its format");
}

namespace {

const FileFormat* ordered_format(std::span<const std::byte> first_bytes, const std::string& name) {
  const FileFormat* format = find_format(&FileFormat::voltages, first_bytes, name);
  if (format == nullptr || format->voltages_in_order == nullptr) return nullptr;
  return format->in_order == nullptr || format->in_order(first_bytes) ? format : nullptr;
}

}  // namespace

std::string voltages_in_order(std::span<const std::byte> first_bytes, const std::string& name) {
  const FileFormat* format = ordered_format(first_bytes, name);
  return format != nullptr ? format->name : "";
}

std::unique_ptr<VoltageReader> open_voltages(std::shared_ptr<ForwardBytes> bytes,
                                             const ReaderOptions& options) {
  std::vector<std::byte> head(kOrderedHeadBytes);
  head.resize(bytes->read(0, head));
  if (bytes->stopped()) throw core::Error(core::ErrorKind::io, bytes->name(), "interrupted", "");
  if (const FileFormat* format = ordered_format(head, bytes->name()))
    return format->voltages_in_order(InputFile(std::move(bytes)), options);
  throw core::Error(
      core::ErrorKind::unsupported, bytes->name() + ": first bytes",
      head.empty() ? "none came" : "of no format that can be read as it comes",
      names_of(formats_with(&FileFormat::voltages_in_order)) + ", time the slowest axis of samples",
      "write the stream to a file, and give that");
}

std::vector<DetectorCount> count_detectors(PhotonReader& reader) {
  constexpr std::size_t kBlock = 1 << 14;
  std::vector<std::uint64_t> found(std::size_t{std::numeric_limits<std::uint16_t>::max()} + 1);
  std::vector<Photon> photons(kBlock);
  reader.rewind();
  while (const std::size_t count = reader.read(photons))
    for (std::size_t n = 0; n < count; ++n) ++found[photons[n].channel];
  reader.rewind();
  std::vector<DetectorCount> detectors;
  for (std::size_t c = 0; c < found.size(); ++c)
    if (found[c] > 0) detectors.push_back({static_cast<std::uint16_t>(c), found[c]});
  return detectors;
}

bool recognise_photons(std::span<const std::byte> first_bytes, const std::string& name) {
  return find_format(&FileFormat::photons, first_bytes, name) != nullptr;
}

std::unique_ptr<PhotonReader> open_photons(const std::string& path) {
  constexpr std::size_t kFirstBytes = 64;
  const auto first = InputFile(path).head(kFirstBytes);
  if (const FileFormat* format = find_format(&FileFormat::photons, first, ""))
    return format->photons(path);
  if (spc::recognise(path)) return spc::open(path);
  throw format_error(
      path, "first bytes", first.empty() ? "an empty file" : "of no known format",
      "photon time tags: " + names_and_endings_of(formats_with(&FileFormat::photons)),
      "convert the file to PTU");
}

}  // namespace tautline::formats
