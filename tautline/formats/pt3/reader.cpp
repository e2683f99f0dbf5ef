#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "tautline/formats/pt3/pt3.h"
#include "tautline/formats/ptu/record_stream.h"

namespace tautline::formats::pt3 {

namespace {

// Places in the header, in bytes. Integers have 32 bits.
namespace place {
constexpr std::size_t ident = 0, ident_bytes = 16;
constexpr std::size_t version = 16, version_bytes = 6;
constexpr std::size_t creator = 22, creator_bytes = 18;
constexpr std::size_t time = 52, time_bytes = 18;
constexpr std::size_t comment = 72, comment_bytes = 256;
constexpr std::size_t bits_per_record = 332;
constexpr std::size_t routing_channels = 336;
constexpr std::size_t boards = 340;
constexpr std::size_t mode = 348;
constexpr std::size_t acquisition_ms = 364;
// Behind the board's 16 + 8 characters, its serial number and the levels of its inputs.
constexpr std::size_t board = 536;
constexpr std::size_t resolution_ns = board + 48;
constexpr std::size_t board_bytes = 48 + 4 + 8 + 4 * 24;
constexpr std::size_t tags = board + board_bytes;
constexpr std::size_t rate_sync = tags + 12, rate_input = tags + 16;
constexpr std::size_t stop_after_ms = tags + 20;
constexpr std::size_t records = tags + 28, image_words = tags + 32;
constexpr std::size_t end = tags + 36;
}  // namespace place

constexpr std::int32_t kT3Mode = 3;
constexpr std::int32_t kMaxImageWords = 1 << 20;

class Fields {
 public:
  Fields(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::size_t size() const { return bytes_.size(); }
  std::int32_t integer(std::size_t at) const { return load<std::int32_t>(at); }
  float number(std::size_t at) const { return load<float>(at); }
  std::string text(std::size_t at, std::size_t most) const {
    const auto* text = reinterpret_cast<const char*>(bytes_.data() + at);
    std::string found(text, strnlen(text, most));
    while (!found.empty() && (found.back() == ' ' || found.back() == '\r' || found.back() == '\n'))
      found.pop_back();
    return found;
  }

 private:
  template <class T>
  T load(std::size_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  std::vector<std::byte> bytes_;
};

void check(const Fields& fields, const std::string& path) {
  if (fields.size() < place::end)
    throw format_error(path, "header", "the file ends at byte " + std::to_string(fields.size()),
                       std::to_string(place::end) + " bytes", "the file is cut short");
  const std::string version = fields.text(place::version, place::version_bytes);
  if (version != "2.0")
    throw format_error(path, "version of the header at byte 16", version, "2.0",
                       "convert the file to PTU with PicoQuant's software");
  if (const std::int32_t mode = fields.integer(place::mode); mode != kT3Mode)
    throw format_error(path, "measurement mode at byte " + std::to_string(place::mode),
                       std::to_string(mode), "3 (T3)",
                       "histograms and PT2 files are not read: convert a PT2 file to PTU");
  if (const std::int32_t boards = fields.integer(place::boards); boards != 1)
    throw format_error(path, "number of boards at byte " + std::to_string(place::boards),
                       std::to_string(boards), "1");
  if (const std::int32_t bits = fields.integer(place::bits_per_record); bits != 32)
    throw format_error(path, "bits of a record at byte " + std::to_string(place::bits_per_record),
                       std::to_string(bits), "32");
}

std::uint64_t not_negative(std::int32_t value) {
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

}  // namespace

bool recognise(std::span<const std::byte> first_bytes) {
  constexpr std::string_view kIdent = "PicoHarp 300";
  return first_bytes.size() >= kIdent.size() &&
         std::string_view(reinterpret_cast<const char*>(first_bytes.data()), kIdent.size()) ==
             kIdent;
}

ptu::TagHeader read_header(const ptu::HeaderSource& file) {
  const std::string& path = file.path;
  const Fields fields(file.head(place::end));
  check(fields, path);
  ptu::TagHeader tags;
  PhotonDescription& d = tags.description;
  d.format = "PT3";
  const ptu::RecordType& type = *ptu::find_record_type(0x00010303);
  d.record_type = type.name;
  d.mode = TagMode::t3;
  d.sync_rate_hz = static_cast<double>(not_negative(fields.integer(place::rate_sync)));
  if (d.sync_rate_hz == 0)
    throw format_error(path, "sync rate at byte " + std::to_string(place::rate_sync),
                       std::to_string(fields.integer(place::rate_sync)), "pulses a second",
                       "without it the tags have no unit");
  d.time_unit_s = 1 / d.sync_rate_hz;
  const float resolution_ns = fields.number(place::resolution_ns);
  d.microtime_unit_s = resolution_ns > 0 ? static_cast<double>(resolution_ns) * 1e-9 : 0;
  d.microtimes = type.microtimes();
  d.rates_hz = {static_cast<double>(not_negative(fields.integer(place::rate_input)))};
  d.stated_records = not_negative(fields.integer(place::records));
  const std::int32_t took_ms = fields.integer(place::stop_after_ms);
  const std::int32_t asked_ms = fields.integer(place::acquisition_ms);
  d.acquisition_s = static_cast<double>(not_negative(took_ms > 0 ? took_ms : asked_ms)) / 1e3;
  d.channels = static_cast<std::uint32_t>(not_negative(fields.integer(place::routing_channels)));
  d.instrument = fields.text(place::ident, place::ident_bytes);
  d.software = fields.text(place::creator, place::creator_bytes);
  d.created = fields.text(place::time, place::time_bytes);
  d.comment = fields.text(place::comment, place::comment_bytes);
  const std::int32_t image_words = fields.integer(place::image_words);
  if (image_words < 0 || image_words > kMaxImageWords)
    throw format_error(
        path, "length of the image header at byte " + std::to_string(place::image_words),
        std::to_string(image_words), "0 to " + std::to_string(kMaxImageWords) + " words");
  tags.type = &type;
  tags.size_bytes = place::end + 4 * not_negative(image_words);
  return tags;
}

std::unique_ptr<PhotonReader> open(const std::string& path) {
  return ptu::open_records(InputFile(path), read_header);
}

}  // namespace tautline::formats::pt3
