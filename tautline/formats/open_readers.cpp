// Chooses the reader of a file of voltages or photons by its first bytes and its name.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/assumed_values.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/spc/spc.h"
#include "tautline/formats/stream_kind.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats {

namespace {

// Enough for every format's mark: VDIF has none, but two headers a frame apart that agree.
constexpr std::size_t kVoltageHeadBytes = kStreamHeadBytes;

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

void require_possible(const core::VoltageDescription& given,
                      const core::VoltageDescription& stream) {
  constexpr double kMegahertz = 1e6;
  const double width_hz = std::abs(stream.bandwidth_hz), centre_hz = given.centre_hz;
  if (centre_hz > 0 && centre_hz < kMegahertz && width_hz > 2 * centre_hz)
    throw core::Error(core::ErrorKind::config, "centre_hz", fmt::format("{:.9g} Hz", centre_hz),
                      fmt::format("at least half of the band of {:.9g} Hz", width_hz),
                      fmt::format("a number without a unit is hertz: {:.9g}MHz", centre_hz));
  constexpr double kMost_hz = 10e12;
  if (centre_hz > kMost_hz)
    throw core::Error(core::ErrorKind::config, "centre_hz", fmt::format("{:.9g} Hz", centre_hz),
                      "at most 10 THz", "give hertz, or one unit: 1420.4e6 or 1420.4MHz");
  const double rate_hz = stream.rate_hz.value();
  if (given.bandwidth_hz == 0 || !(rate_hz > 0)) return;
  const double implied_hz =
      rate_hz * static_cast<double>(stream.channels) / (stream.format.complex ? 1 : 2);
  const double ratio = std::abs(given.bandwidth_hz) / implied_hz;
  if (stream.channelized() ? ratio > 0.1 && ratio < 10 : std::abs(ratio - 1) < 1e-3) return;
  throw core::Error(
      core::ErrorKind::config, "bandwidth_hz", fmt::format("{:.9g} Hz", given.bandwidth_hz),
      stream.channelized()
          ? fmt::format("about {:.9g} Hz, {} channels of {:.9g} samples/s", implied_hz,
                        stream.channels, rate_hz)
          : fmt::format("{:.9g} Hz, that of {} samples at {:.9g} Hz (`rate_hz`)", implied_hz,
                        stream.format.complex ? "complex" : "real", rate_hz),
      given.bandwidth_hz < 0 ? fmt::format("of a lower sideband give {:.9g}", -implied_hz)
                             : "leave it out: the rate implies it");
}

// Bands are channels; the field makes real samples what no stage takes.
void require_complex_bands(const ReaderOptions& options, const core::VoltageDescription& stream) {
  if (options.threads_are == ThreadsAre::bands && stream.channelized() && !stream.format.complex)
    throw core::Error(
        core::ErrorKind::config, "threads_are", "bands, of real samples",
        "complex samples where threads are bands",
        "as antennas or polarisations the threads would be correlated with each other");
}

std::string override_text(const std::string& field, double given_hz, const std::string& teller,
                          double told_hz) {
  if (given_hz == 0 || told_hz == 0 || std::abs(given_hz - told_hz) <= 1e-9 * std::abs(told_hz))
    return {};
  return fmt::format("`{}`: {:.12g} Hz as given, though {} says {:.12g} Hz", field, given_hz,
                     teller, told_hz);
}

std::string expected_centre(double centre_hz, double bandwidth_hz, double unit_hz,
                            const std::string& unit) {
  constexpr double kMost_hz = 1e12, kRounding = 1e-6;
  if (std::abs(centre_hz) > kMost_hz)
    return fmt::format("{}, at most {:.0f} (1 THz)", unit, kMost_hz / unit_hz);
  const double half_hz = std::abs(bandwidth_hz) / 2;
  if (centre_hz == 0 || half_hz == 0 || centre_hz >= half_hz * (1 - kRounding)) return {};
  return fmt::format(
      "{}, {:.9g} or more for a band of {:.9g} that does not reach below 0, or 0 if it is not "
      "known",
      unit, half_hz / unit_hz, 2 * half_hz / unit_hz);
}

std::unique_ptr<VoltageReader> open_voltages(const std::string& path,
                                             const ReaderOptions& options) {
  if (options.source) return options.source();
  const std::vector<std::byte> head = InputFile(path).head(kVoltageHeadBytes);
  if (const FileFormat* format = find_format(&FileFormat::voltages, head, path)) {
    auto reader = format->voltages(path, options);
    require_possible(options.assumed, reader->description());
    return reader;
  }
  throw other_kind(path, names_and_endings_of(formats_with(&FileFormat::voltages)) + " voltages",
                   "give the file the ending of its format");
}

namespace {

const FileFormat* ordered_format(std::span<const std::byte> first_bytes, const std::string& name) {
  const FileFormat* format = find_format(&FileFormat::voltages, first_bytes, name);
  if (format == nullptr || format->voltages_in_order == nullptr) return nullptr;
  return format->in_order == nullptr || format->in_order(first_bytes) ? format : nullptr;
}

std::unique_ptr<VoltageReader> open_in_order(const FileFormat& format,
                                             const std::shared_ptr<ForwardBytes>& bytes,
                                             const ReaderOptions& options) {
  try {
    auto reader = format.voltages_in_order(InputFile(bytes), options);
    require_possible(options.assumed, reader->description());
    return reader;
  } catch (const core::Error&) {
    // What had come may be no whole header, or no second of VDIF.
    if (bytes->stopped()) throw core::Error(core::ErrorKind::io, bytes->name(), "interrupted", "");
    throw;
  }
}

}  // namespace

std::string voltages_in_order(std::span<const std::byte> first_bytes, const std::string& name) {
  const FileFormat* format = ordered_format(first_bytes, name);
  return format != nullptr ? format->name : "";
}

std::unique_ptr<VoltageReader> open_voltages(std::shared_ptr<ForwardBytes> bytes,
                                             const ReaderOptions& options) {
  std::vector<std::byte> head;
  for (const std::size_t most : {kOrderedHeadBytes, kStreamHeadBytes}) {
    head.resize(most);
    head.resize(bytes->read(0, head));
    if (bytes->stopped()) throw core::Error(core::ErrorKind::io, bytes->name(), "interrupted", "");
    if (const FileFormat* format = ordered_format(head, bytes->name()))
      return open_in_order(*format, bytes, options);
    const bool complete = head.size() < most || most == kStreamHeadBytes;
    if (const auto refusal =
            refusal_of_stream({head, bytes->name(), bytes->name(), complete}, Contents::voltages))
      throw core::Error(*refusal);
    if (complete || find_format(&FileFormat::voltages, head, bytes->name()) != nullptr) break;
  }
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
  const std::string expected =
      "photon time tags: " + names_and_endings_of(formats_with(&FileFormat::photons));
  refuse_compressed(path, expected);
  if (spc::recognise(path)) return spc::open(path);
  throw other_kind(path, expected, "convert the file to PTU");
}

}  // namespace tautline::formats
