// DADA files become strided sources: the header gives the order of the axes.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/dada/dada.h"
#include "tautline/formats/dada/header.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/record_mask.h"
#include "tautline/formats/recorded_spectra.h"
#include "tautline/formats/strided_source.h"

namespace tautline::formats::dada {

namespace {

core::Error wrong(const std::string& path, const std::string& what, std::uint64_t value,
                  const std::string& expected, const std::string& advice) {
  return {core::ErrorKind::format, path + ": " + what, std::to_string(value), expected, advice};
}

Header read_header(const InputFile& file) {
  std::vector<std::byte> bytes = file.head(kDefaultHeaderBytes);
  const std::uint64_t size = header_size(bytes, file.path());
  if (size <= file.size()) bytes = file.head(static_cast<std::size_t>(size));
  if (size > file.size())  // a stream's size may be known now
    throw wrong(file.path(), "header size in bytes, key HDR_SIZE", size,
                "at most the file's " + std::to_string(file.size()) + " bytes",
                "the file is cut short or HDR_SIZE is wrong");
  // A header that is shorter than its text would deliver text as samples.
  if (bytes.back() != std::byte{0} && bytes.back() != std::byte{'\n'}) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.find('\0') == std::string_view::npos)
      throw wrong(file.path(), "header size in bytes, key HDR_SIZE", size,
                  "a size that ends after the header's text", "correct HDR_SIZE");
  }
  return parse_header(bytes, file.path());
}

/// The samples that a header announces.
struct Promise {
  std::string path;
  std::optional<std::uint64_t> data_bytes;
  std::uint64_t header_bytes = 0, time_bits = 0, inputs = 0;
};

// Notes bytes behind the samples that the header promises, and returns how many there are.
std::uint64_t note_padding(const Promise& promise, std::uint64_t file_bytes, Damage& damage) {
  const std::uint64_t end = promise.header_bytes + promise.data_bytes.value_or(file_bytes);
  if (file_bytes <= end) return 0;
  damage.trailing_bytes += file_bytes - end;
  damage.note(promise.path + ": bytes behind the samples, byte " + std::to_string(end) + ": " +
              std::to_string(file_bytes - end) + ", expected none after the " +
              std::to_string(*promise.data_bytes) + " of FILE_SIZE; they are left out");
  return file_bytes - end;
}

// A stream may be longer than its header promises, but a second header begins another file.
void refuse_header(const Promise& promise, std::span<const std::byte> behind) {
  if (!recognise(behind, "")) return;
  throw core::Error(
      core::ErrorKind::format,
      promise.path + ": byte " + std::to_string(promise.header_bytes + *promise.data_bytes),
      "another DADA header", "one header, and samples behind it",
      "give the files by their names, not by one pipe");
}

// Notes missing samples at the end, and an incomplete last time.
void note_end(const Promise& promise, std::uint64_t data_bytes, Damage& damage) {
  if (promise.data_bytes && data_bytes < *promise.data_bytes) {
    damage.lost_samples +=
        (*promise.data_bytes * 8 / promise.time_bits - data_bytes * 8 / promise.time_bits) *
        promise.inputs;
    damage.note(promise.path + ": cut short, key FILE_SIZE: " + std::to_string(data_bytes) +
                " bytes of samples, expected " + std::to_string(*promise.data_bytes) +
                "; what is whole is used");
  }
  // Up to 7 bits that fill the last byte are no damage.
  const std::uint64_t rest_bytes = data_bytes * 8 % promise.time_bits / 8;
  if (rest_bytes == 0) return;
  damage.trailing_bytes += rest_bytes;
  damage.note(promise.path + ": cut short, byte " +
              std::to_string(promise.header_bytes + data_bytes - rest_bytes) + ": " +
              std::to_string(rest_bytes) + " bytes, expected whole samples of " +
              std::to_string((promise.time_bits + 7) / 8) + " bytes; they are left out");
}

}  // namespace

bool recognise(std::span<const std::byte> first_bytes, const std::string& name) {
  std::string_view text(reinterpret_cast<const char*>(first_bytes.data()), first_bytes.size());
  text = text.substr(0, text.find('\0'));
  for (const std::string_view key : {"HDR_SIZE", "HDR_VERSION"}) {
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos) continue;
    const bool begins_line = at == 0 || text[at - 1] == '\n';
    const char next = at + key.size() < text.size() ? text[at + key.size()] : '\0';
    if (begins_line && (next == ' ' || next == '\t')) return true;
  }
  return name.ends_with(".dada");
}

bool comes_in_order(std::span<const std::byte> first_bytes) {
  try {
    const std::uint64_t size = header_size(first_bytes, "");
    if (size > first_bytes.size()) return true;  // opening the file reports the error
    const Header header = parse_header(first_bytes.first(static_cast<std::size_t>(size)), "");
    return shape_of(header.axes, header.description.format).outer_rows == 1;
  } catch (const core::Error&) {
    return true;
  }
}

namespace {

// Of spectra that `channelize` or a pipeline wrote; empty where nothing is missing.
std::string lacks_record(const Header& header) {
  if (!header.description.channelized() || !header.has_record) return {};
  return std::string("no record beside these spectra of tautline (their name and .json): ") +
         (header.description.format.is_float()
              ? ""
              : "the gains before rounding are not divided out, ") +
         "invalid spectra count as valid, and no channel is known as the band's edge";
}

}  // namespace

std::unique_ptr<VoltageReader> open(InputFile file) {
  const std::string path = file.path();
  Header header = read_header(file);
  StridedShape shape = shape_of(header.axes, header.description.format);
  shape.data_offset_bytes = header.header_bytes;
  const std::uint64_t time_bits = static_cast<std::uint64_t>(shape.inner_bits) * shape.outer_rows;
  const Promise promise{path, header.data_bytes, header.header_bytes, time_bits,
                        header.description.inputs()};
  const nlohmann::json record = file.in_order() ? nullptr : record_beside(path);
  if (record.is_null()) header.description.assumed = lacks_record(header);
  if (file.in_order()) {
    if (shape.outer_rows > 1)
      throw core::Error(core::ErrorKind::unsupported, path + ": key ORDER",
                        "time is not the slowest axis",
                        "T first, of samples that are used as they come",
                        "write the stream to a file, and give that");
    BytesBehind behind;
    if (promise.data_bytes)
      behind = {*promise.data_bytes, kDefaultHeaderBytes,
                [promise](std::span<const std::byte> bytes) { refuse_header(promise, bytes); }};
    return open_strided_in_order(
        std::move(file), std::move(header.description), std::move(header.axes), shape,
        [promise](std::uint64_t bytes, Damage& damage) { note_end(promise, bytes, damage); },
        std::move(behind));
  }
  Damage damage;
  const std::uint64_t data_bytes =
      file.size() - header.header_bytes - note_padding(promise, file.size(), damage);
  note_end(promise, data_bytes, damage);
  shape.times = data_bytes * 8 / time_bits;
  if (shape.outer_rows > 1 &&
      (data_bytes < header.data_bytes.value_or(0) || data_bytes * 8 % time_bits != 0))
    throw wrong(path, "bytes of samples", data_bytes,
                "a whole number of times of " + std::to_string(time_bits) +
                    " bits, as time is not the slowest axis (ORDER)",
                "where each row begins cannot be known in a file that was cut short");
  if (!other_file_text(record, path, shape.times).empty())
    header.description.assumed = lacks_record(header);
  RecordMask mask(record, path, shape.times, header.description.inputs(), damage);
  return open_strided(std::move(file), std::move(header.description), std::move(header.axes), shape,
                      std::move(damage), std::move(mask));
}

}  // namespace tautline::formats::dada
