// NPY arrays become strided sources: the shape gives the order of the axes, the caller their units.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/assumed_values.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/npy/header.h"
#include "tautline/formats/npy/npy.h"
#include "tautline/formats/npy/series.h"
#include "tautline/formats/record_mask.h"
#include "tautline/formats/recorded_spectra.h"
#include "tautline/formats/strided_source.h"

namespace tautline::formats::npy {

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxInputs = 65536;
constexpr std::uint64_t kMaxChannels = std::uint64_t{1} << 24;
constexpr std::uint64_t kMaxTimeBits = std::uint64_t{1} << 31;

// numpy has no complex type of these: they come in pairs, a last axis of 2.
bool pairs_when_complex(const core::SampleFormat& format) {
  return !format.is_float() || format.bits == 16;
}

// The format by the type alone; integers and halves are not known to be complex yet.
core::SampleFormat format_of(const Header& header, const std::string& file) {
  using enum core::Encoding;
  const std::string plain = header.type.size() == 3 ? header.type.substr(1) : "";
  const bool one_byte = plain == "i1" || plain == "u1";
  const char endian = header.type.empty() ? '\0' : header.type[0];
  if (endian == '<' || (one_byte && endian == '|')) {
    if (plain == "i1") return {8, false, twos_complement};
    if (plain == "u1") return {8, false, offset_binary};
    if (plain == "i2") return {16, false, twos_complement};
    if (plain == "u2") return {16, false, offset_binary};
    if (plain == "f2") return {16, false, ieee_float};
    if (plain == "f4") return {32, false, ieee_float};
    if (plain == "c8") return {32, true, ieee_float};
  }
  throw format_error(file, "type of the elements, descr", header.type,
                     "little-endian i1, u1, i2, u2, f2, f4 or c8",
                     "convert the array, for example with astype('complex64')");
}

// The axes in memory order, slowest first, and the extents they give the description.
std::vector<SampleAxis> axes_of(const Header& header, const std::string& file,
                                core::VoltageDescription& d) {
  std::vector<std::uint64_t> shape = header.shape;
  const bool pairs = d.format.complex && pairs_when_complex(d.format);
  const auto wrong = [&](const std::string& expected, const std::string& advice) {
    return format_error(file, "shape of the array", shape_text(header.shape), expected, advice);
  };
  if (pairs) {
    if (shape.size() < 2 || shape.back() != 2 || header.fortran_order)
      throw wrong("a last axis of 2 (re, im) in C order, since complex samples are expected",
                  "of real samples give the type with `format`, as i8, or save them as signed "
                  "numbers or floats");
    shape.pop_back();
  }
  if (shape.empty() || shape.size() > 4)
    throw wrong("[time], [input][time], [channel][input][time] or [channel][antenna][pol][time]" +
                    std::string(pairs ? ", and 2" : ""),
                "reshape the array");
  const std::string order = !d.format.complex && shape.size() > 1 && shape.back() == 2
                                ? "where the last axis is the real and the imaginary part, give a "
                                  "complex `format`, as ci8"
                                : "check the order of the axes: time is the last";
  const std::uint64_t channels = shape.size() >= 3 ? shape[0] : 1;
  std::uint64_t antennas = shape.size() == 4   ? shape[1]
                           : shape.size() >= 2 ? shape[shape.size() - 2]
                                               : 1;
  std::uint64_t polarisations = shape.size() == 4 ? shape[2] : d.polarisations;
  if (channels == 0 || channels > kMaxChannels)
    throw wrong("1 to " + std::to_string(kMaxChannels) + " channels", order);
  if (antennas == 0 || antennas > kMaxInputs || polarisations == 0 || polarisations > kMaxInputs)
    throw wrong("1 to " + std::to_string(kMaxInputs) + " inputs", order);
  if (shape.size() < 4) {
    if (antennas % polarisations != 0)
      throw wrong(
          "a number of inputs that " + std::to_string(polarisations) + " polarisations divide",
          "correct the number of polarisations");
    antennas /= polarisations;
  }
  // As many samples would not make a spectrum.
  constexpr std::uint64_t kManyInputs = 64;
  if (shape.size() == 2 && shape[0] > kManyInputs && shape[0] > shape[1] && !header.fortran_order)
    throw wrong(
        fmt::format("[input][time]; this is {} inputs of {} samples", shape[0], shape[1]),
        "an array of [time][input] has to be transposed: numpy.save(\"x.npy\", x.T), or with "
        "pairs numpy.save(\"x.npy\", x.swapaxes(0, 1))");
  d.channels = static_cast<std::size_t>(channels);
  d.antennas = static_cast<std::size_t>(antennas);
  d.polarisations = static_cast<std::size_t>(polarisations);
  const SampleAxis f{'F', d.channels}, a{'A', d.antennas}, p{'P', d.polarisations}, t{};
  if (!header.fortran_order) return {f, a, p, t};
  // In Fortran order the first axis is fastest; an input's antenna and polarisation were one axis.
  if (shape.size() == 4) return {t, p, a, f};
  return {t, a, p, f};
}

void require_rate(const core::VoltageDescription& assumed, const std::string& file) {
  if (assumed.rate_hz.numerator > 0 && assumed.rate_hz.denominator > 0) return;
  throw core::Error(
      core::ErrorKind::config, file + ": sample rate", "unknown",
      "a rate in Hz, which a NPY file cannot hold",
      "give the sample rate (`rate_hz`), or put the .json that tautline wrote with the "
      "array beside it");
}

// A record of another file tells no rate either.
void require_rate_beside(const core::VoltageDescription& given, const std::string& other_file) {
  if (given.rate_hz.numerator > 0) return;
  throw core::Error(core::ErrorKind::format, other_file, "", "",
                    "put the record of this file there, or remove it and give the sample rate "
                    "(`rate_hz`)");
}

// The number of whole times of the file, compared with the shape.
std::uint64_t check_size(const InputFile& file, const Header& header, const StridedShape& shape,
                         std::uint64_t times, std::uint64_t inputs, Damage& damage) {
  const std::uint64_t time_bytes = shape.inner_bits / 8 * shape.outer_rows;
  const std::uint64_t promised = times * time_bytes;
  const std::uint64_t held = file.size() - header.data_offset_bytes;
  if (held > promised) {
    damage.trailing_bytes = held - promised;
    damage.note(file.path() + ": bytes behind the array, byte " +
                std::to_string(header.data_offset_bytes + promised) + ": " +
                std::to_string(held - promised) + ", expected none; they are left out");
  }
  if (held >= promised) return times;
  damage.note(file.path() + ": cut short: " + std::to_string(held) +
              " bytes of samples, expected " + std::to_string(promised) + " from the shape " +
              shape_text(header.shape));
  if (shape.outer_rows == 1) {
    damage.trailing_bytes = held % time_bytes;
    damage.lost_samples = (times - held / time_bytes) * inputs;
    return held / time_bytes;
  }
  if (held <= promised - times * (shape.inner_bits / 8))
    throw format_error(file.path(), "bytes of samples", std::to_string(held),
                       std::to_string(promised) + " from the shape " + shape_text(header.shape),
                       "whole rows are missing: save the array again");
  return times;
}

// A header, and what it means.
struct Array {
  Header header;
  core::VoltageDescription description;
  std::vector<SampleAxis> axes;
  StridedShape shape;

  std::uint64_t times() const {
    const bool pairs = description.format.complex && pairs_when_complex(description.format);
    return header.shape[header.shape.size() - (pairs ? 2 : 1)];
  }
};

// Pairs of a single input look like two inputs of real samples.
std::string pairs_note(const Header& header, const core::SampleFormat& format) {
  if (!format.complex || !pairs_when_complex(format) || header.shape.size() != 2) return "";
  core::SampleFormat real = format;
  real.complex = false;
  return fmt::format(
      "the array of {} is taken for one input, its last axis for re and im, since {} samples are "
      "expected. Two inputs of real samples are saved as ({}, {}), numpy.save(\"x.npy\", x.T), and "
      "read with `format` {}",
      shape_text(header.shape), core::to_string(format), header.shape[1], header.shape[0],
      core::to_string(real));
}

Array array_of(Header header, const std::string& path, const core::VoltageDescription& assumed) {
  require_rate(assumed, path);
  Array array{std::move(header), assumed, {}, {}};
  core::VoltageDescription& d = array.description;
  d.format = format_of(array.header, path);
  if (pairs_when_complex(d.format)) d.format.complex = assumed.format.complex;
  array.axes = axes_of(array.header, path, d);
  if (const std::string note = pairs_note(array.header, d.format); !note.empty())
    d.assumed += (d.assumed.empty() ? "" : "; ") + note;
  const auto inputs = static_cast<std::uint64_t>(d.antennas) * d.polarisations;
  if (inputs > kMaxInputs ||
      inputs * d.channels * static_cast<std::uint64_t>(d.format.bits_per_sample()) > kMaxTimeBits)
    throw format_error(path, "shape of the array", shape_text(array.header.shape),
                       "at most " + std::to_string(kMaxInputs) + " inputs and " +
                           std::to_string(kMaxTimeBits / 8) + " bytes a time",
                       "check the order of the axes: time is the last");
  if (assumed.antennas > 1 && assumed.antennas != d.antennas)
    throw core::Error(core::ErrorKind::config, path + ": antennas",
                      std::to_string(assumed.antennas),
                      std::to_string(d.antennas) + ", as the array's shape says",
                      "correct the number of antennas");
  if (d.bandwidth_hz == 0)
    d.bandwidth_hz =
        d.rate_hz.value() * static_cast<double>(d.channels) / (d.format.complex ? 1 : 2);
  array.shape = shape_of(array.axes, d.format);
  array.shape.data_offset_bytes = array.header.data_offset_bytes;
  const std::uint64_t time_bytes = array.shape.inner_bits / 8 * array.shape.outer_rows;
  if (array.times() > (std::uint64_t{1} << 62) / time_bytes)
    throw format_error(path, "shape of the array", shape_text(array.header.shape),
                       "an array that a file can hold", "the header is damaged");
  return array;
}

}  // namespace

bool recognise(std::span<const std::byte> first_bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()),
                              first_bytes.size());
  return text.starts_with("\x93NUMPY") || name.ends_with(".npy");
}

bool has_channelize_record(const std::string& path) {
  return is_of_channelize(record_beside(path));
}

std::unique_ptr<VoltageReader> open(const std::string& path,
                                    const core::VoltageDescription& given) {
  Json record = record_beside(path);
  if (trials_of_series(path) > 0)
    throw core::Error(core::ErrorKind::format, path + ": kind of file", "dedispersed series",
                      "voltages",
                      "search and plot read it; where it holds voltages, " + path +
                          ".json beside it is of another array: take that away");
  InputFile file(path);
  const Header header = parse_header(file.head(kMaxHeaderBytes), path);
  Damage damage;
  const auto open_as = [&](const core::VoltageDescription& described) {
    damage = {};
    Array array = array_of(header, path, described);
    array.shape.times = check_size(file, array.header, array.shape, array.times(),
                                   array.description.inputs(), damage);
    return array;
  };
  Array array = open_as(with_record(record, path, given));
  if (const std::string other = other_file_text(record, path, array.shape.times); !other.empty()) {
    if (is_of_channelize(record)) require_rate_beside(given, other);
    record = nullptr;
    array = open_as(given);
    damage.note(other);
  }
  RecordMask mask(record, path, array.shape.times, array.description.inputs(), damage);
  return open_strided(std::move(file), std::move(array.description), std::move(array.axes),
                      array.shape, std::move(damage), std::move(mask));
}

bool comes_in_order(std::span<const std::byte> first_bytes) {
  try {
    const Header header = parse_header(first_bytes, "");
    return header.fortran_order || header.shape.size() == 1;
  } catch (const core::Error&) {
    return false;
  }
}

std::unique_ptr<VoltageReader> open_in_order(InputFile bytes,
                                             const core::VoltageDescription& assumed) {
  const std::string path = bytes.path();
  Array array = array_of(parse_header(bytes.head(kOrderedHeadBytes), path), path, assumed);
  if (array.shape.outer_rows > 1)
    throw core::Error(core::ErrorKind::unsupported, path + ": shape of the array",
                      shape_text(array.header.shape) + " in C order",
                      "time as the slowest axis, of samples that are used as they come",
                      "save the transposed array in Fortran order, or write the stream to a file");
  const std::uint64_t time_bytes = array.shape.inner_bits / 8;
  const auto at_end = [path, time_bytes, times = array.times(), inputs = array.description.inputs(),
                       shape = shape_text(array.header.shape)](std::uint64_t held, Damage& damage) {
    damage.trailing_bytes += held % time_bytes;
    if (held / time_bytes < times) damage.lost_samples += (times - held / time_bytes) * inputs;
    if (held < times * time_bytes || held % time_bytes != 0)
      damage.note(path + ": cut short: " + std::to_string(held) + " bytes of samples, expected " +
                  std::to_string(times * time_bytes) + " from the shape " + shape);
  };
  return open_strided_in_order(std::move(bytes), std::move(array.description),
                               std::move(array.axes), array.shape, at_end);
}

}  // namespace tautline::formats::npy
