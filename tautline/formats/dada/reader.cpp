// DADA files become strided sources: the header says how the axes lie.
#include <string>
#include <string_view>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/dada/dada.h"
#include "tautline/formats/dada/header.h"
#include "tautline/formats/input_file.h"
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
  if (size > file.size())
    throw wrong(file.path(), "header size in bytes, key HDR_SIZE", size,
                "at most the file's " + std::to_string(file.size()) + " bytes",
                "the file is cut short or HDR_SIZE is wrong");
  bytes = file.head(static_cast<std::size_t>(size));
  // A header that is shorter than its text would deliver text as samples.
  if (bytes.back() != std::byte{0} && bytes.back() != std::byte{'\n'}) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.find('\0') == std::string_view::npos)
      throw wrong(file.path(), "header size in bytes, key HDR_SIZE", size,
                  "a size that ends after the header's text", "correct HDR_SIZE");
  }
  return parse_header(bytes, file.path());
}

// Compares what the header promises with what the file holds.
void check_file_size(const InputFile& file, const Header& header, std::uint64_t data_bytes,
                     std::uint64_t time_bits, Damage& damage) {
  if (!header.data_bytes) return;
  const std::uint64_t promised = *header.data_bytes;
  if (data_bytes > promised)
    throw wrong(file.path(), "bytes of samples, key FILE_SIZE", promised,
                "the " + std::to_string(data_bytes) + " bytes that follow the header of " +
                    std::to_string(header.header_bytes) + " bytes",
                "correct HDR_SIZE or FILE_SIZE");
  if (data_bytes == promised) return;
  damage.lost_samples += (promised - data_bytes) * 8 / (time_bits / header.description.inputs());
  damage.note(file.path() + ": cut short, key FILE_SIZE: " + std::to_string(data_bytes) +
              " bytes of samples, expected " + std::to_string(promised) +
              "; what is whole is used");
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

std::unique_ptr<VoltageReader> open(const std::string& path) {
  InputFile file(path);
  if (file.size() == 0)
    throw wrong(path, "size of the file in bytes", 0, "a DADA header and samples",
                "check that the file was written completely");
  Header header = read_header(file);
  StridedShape shape = shape_of(header.axes, header.description.format);
  shape.data_offset_bytes = header.header_bytes;
  const std::uint64_t time_bits = static_cast<std::uint64_t>(shape.inner_bits) * shape.outer_rows;
  const std::uint64_t data_bytes = file.size() - header.header_bytes;
  Damage damage;
  check_file_size(file, header, data_bytes, time_bits, damage);
  const std::uint64_t data_bits = data_bytes * 8;
  shape.times = data_bits / time_bits;
  if (shape.outer_rows > 1 && (damage.any() || data_bits % time_bits != 0))
    throw wrong(path, "bytes of samples", data_bytes,
                "a whole number of times of " + std::to_string(time_bits) +
                    " bits, as time is not the slowest axis (ORDER)",
                "where each row begins cannot be known in a file that was cut short");
  // Up to 7 bits that fill the last byte are no damage.
  const std::uint64_t rest_bytes = (data_bits - shape.times * time_bits) / 8;
  if (rest_bytes > 0) {
    damage.trailing_bytes = rest_bytes;
    damage.note(path + ": cut short, byte " + std::to_string(file.size() - rest_bytes) + ": " +
                std::to_string(rest_bytes) + " bytes, expected whole samples of " +
                std::to_string((time_bits + 7) / 8) + " bytes; they are left out");
  }
  return open_strided(std::move(file), std::move(header.description), std::move(header.axes), shape,
                      std::move(damage));
}

}  // namespace tautline::formats::dada
