#include "tautline/formats/sigproc/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

#include "tautline/core/error.h"
#include "tautline/formats/input_file.h"

namespace tautline::formats::sigproc {

namespace {

constexpr std::string_view kStart = "HEADER_START", kEnd = "HEADER_END";
constexpr std::string_view kTableStart = "FREQUENCY_START", kTableEnd = "FREQUENCY_END";
// sigproc reads strings into 80 bytes.
constexpr std::int32_t kMaxWord = 80;

struct Keyword;
const Keyword* find_keyword(std::string_view name);

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

// Walks over the header's bytes; every fault names the offset.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::size_t at() const { return at_; }
  void move_to(std::size_t offset) { at_ = offset; }

  template <class T>
  T number(std::string_view of) {
    need(sizeof(T), of);
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  std::string word(std::string_view of) {
    const std::size_t begin = at_;
    const auto length = number<std::int32_t>(of);
    if (length < 0 || length > kMaxWord)
      throw wrong(begin, fmt::format("length of {}", of), fmt::format("{}", length),
                  fmt::format("0 to {}", kMaxWord));
    need(static_cast<std::size_t>(length), of);
    std::string text(reinterpret_cast<const char*>(bytes_.data() + at_),
                     static_cast<std::size_t>(length));
    at_ += text.size();
    return text;
  }

  // The known word, with its length before it, that comes next from `from` on; 0 when there is
  // none.
  std::size_t next_known(std::size_t from) const {
    for (std::size_t p = from; p + 4 < bytes_.size(); ++p) {
      std::int32_t length;
      std::memcpy(&length, bytes_.data() + p, sizeof length);
      if (length < 1 || length > kMaxWord) continue;
      const auto size = static_cast<std::size_t>(length);
      if (p + 4 + size > bytes_.size()) continue;
      if (find_keyword({reinterpret_cast<const char*>(bytes_.data() + p + 4), size}) != nullptr)
        return p;
    }
    return 0;
  }

  core::Error wrong(std::size_t offset, const std::string& what, std::string found,
                    std::string expected, std::string advice = {}) const {
    return format_error(file_, fmt::format("header at byte {}: {}", offset, what), std::move(found),
                        std::move(expected), std::move(advice));
  }

 private:
  void need(std::size_t count, std::string_view of) const {
    if (bytes_.size() - at_ < count)
      throw wrong(at_, std::string(of),
                  bytes_.size() >= kMaxHeaderBytes ? "no end of the header in sight"
                                                   : "the file ends inside its header",
                  "a header that ends with HEADER_END",
                  "check that the file was written completely");
  }

  std::span<const std::byte> bytes_;
  const std::string& file_;
  std::size_t at_ = 0;
};

// Reads the value of a keyword into its place.
using Read = void (*)(Cursor&, std::string_view keyword, ParsedHeader&);

template <class T>
void skip(Cursor& cursor, std::string_view keyword, ParsedHeader&) {
  cursor.number<T>(keyword);
}

std::size_t whole_number(Cursor& cursor, std::string_view keyword) {
  const auto value = cursor.number<std::int32_t>(keyword);
  if (value < 0)
    throw cursor.wrong(cursor.at() - sizeof value, std::string(keyword), std::to_string(value),
                       "1 or more", "correct the header");
  return static_cast<std::size_t>(value);
}

template <auto kMember>
void store(Cursor& cursor, std::string_view keyword, ParsedHeader& parsed) {
  auto& field = parsed.header.*kMember;
  using Field = std::decay_t<decltype(field)>;
  if constexpr (std::is_same_v<Field, std::string>)
    field = cursor.word(keyword);
  else if constexpr (std::is_same_v<Field, bool>)
    field = cursor.number<std::int8_t>(keyword) != 0;
  else if constexpr (std::is_same_v<Field, int>)
    field = cursor.number<std::int32_t>(keyword);
  else if constexpr (std::is_same_v<Field, std::size_t>)
    field = whole_number(cursor, keyword);
  else
    field = cursor.number<double>(keyword);
}

struct Keyword {
  std::string_view name;
  Read read = nullptr;  // null: no value follows
};

constexpr std::array kKeywords{
    Keyword{"telescope_id", store<&Header::telescope_id>},
    Keyword{"machine_id", store<&Header::machine_id>},
    Keyword{"data_type", store<&Header::data_type>},
    Keyword{"barycentric", store<&Header::barycentric>},
    Keyword{"pulsarcentric", store<&Header::pulsarcentric>},
    Keyword{"nbits", store<&Header::nbits>},
    Keyword{"nsamples",
            [](Cursor& cursor, std::string_view keyword, ParsedHeader& parsed) {
              parsed.nsamples = cursor.number<std::int32_t>(keyword);
            }},
    Keyword{"nchans", store<&Header::nchans>},
    Keyword{"nifs", store<&Header::nifs>},
    Keyword{"nbeams", store<&Header::nbeams>},
    Keyword{"ibeam", store<&Header::ibeam>},
    Keyword{"nbins", skip<std::int32_t>},
    Keyword{"npuls", skip<std::int64_t>},
    Keyword{"az_start", store<&Header::az_start_deg>},
    Keyword{"za_start", store<&Header::za_start_deg>},
    Keyword{"src_raj", store<&Header::src_raj>},
    Keyword{"src_dej", store<&Header::src_dej>},
    Keyword{"tstart", store<&Header::tstart_mjd>},
    Keyword{"tsamp", store<&Header::tsamp_s>},
    Keyword{"fch1", store<&Header::fch1_mhz>},
    Keyword{"foff", store<&Header::foff_mhz>},
    Keyword{"fchannel",
            [](Cursor& cursor, std::string_view keyword, ParsedHeader& parsed) {
              parsed.channel_mhz.push_back(cursor.number<double>(keyword));
            }},
    Keyword{"refdm", store<&Header::refdm>},
    Keyword{"period", skip<double>},
    Keyword{"rawdatafile", store<&Header::rawdatafile>},
    Keyword{"source_name", store<&Header::source_name>},
    Keyword{"signed", store<&Header::is_signed>},
    Keyword{kTableStart},
    Keyword{kTableEnd},
    Keyword{kEnd}};

const Keyword* find_keyword(std::string_view name) {
  const auto* found = std::find_if(kKeywords.begin(), kKeywords.end(),
                                   [&](const Keyword& k) { return k.name == name; });
  return found == kKeywords.end() ? nullptr : found;
}

void check(bool good, const std::string& file, const char* keyword, const std::string& found,
           const std::string& expected, const std::string& advice = {}) {
  if (!good)
    throw format_error(file, fmt::format("header keyword {}", keyword), found, expected, advice);
}

bool known_depth(int nbits) {
  return nbits == 1 || nbits == 2 || nbits == 4 || nbits == 8 || nbits == 16 || nbits == 32;
}

constexpr std::size_t kMostChannels = std::size_t{1} << 20, kMostIfs = 64;
// Higher frequencies are no radio waves, and numbers of MHz above it are likely Hz or kHz.
constexpr double kMostMhz = 1e6;

void check_unit(double mhz, const std::string& file, const char* keyword) {
  check(mhz <= kMostMhz, file, keyword, fmt::format("{} MHz", mhz),
        fmt::format("at most {} MHz", kMostMhz),
        "sigproc's frequencies are in MHz: correct the header, if it has Hz or kHz");
}

void check_frequencies(const ParsedHeader& parsed, const std::string& file) {
  const Header& h = parsed.header;
  if (!parsed.channel_mhz.empty()) {
    check(parsed.channel_mhz.size() == h.nchans, file, "fchannel",
          fmt::format("{} frequencies", parsed.channel_mhz.size()),
          fmt::format("nchans, {}", h.nchans));
    for (const double mhz : parsed.channel_mhz)
      check(std::isfinite(mhz) && mhz > 0, file, "fchannel", fmt::format("{}", mhz),
            "a positive number of MHz");
    check_unit(*std::ranges::max_element(parsed.channel_mhz), file, "fchannel");
    return;
  }
  check(std::isfinite(h.fch1_mhz) && h.fch1_mhz >= 0, file, "fch1", fmt::format("{}", h.fch1_mhz),
        "a number of MHz, 0 or more");
  check_unit(h.fch1_mhz, file, "fch1");
  check(std::isfinite(h.foff_mhz), file, "foff", fmt::format("{}", h.foff_mhz), "a number of MHz");
  if (h.nchans == 1) return;
  check(h.foff_mhz != 0, file, "foff", "0",
        fmt::format("another value, as there are {} channels", h.nchans),
        "channels of one frequency have no dispersion: correct the header");
  const double last = h.fch1_mhz + h.foff_mhz * static_cast<double>(h.nchans - 1);
  check(h.fch1_mhz > 0 && last > 0, file, "fch1 and foff",
        fmt::format("channels from {} to {} MHz", h.fch1_mhz, last), "positive frequencies",
        "correct the header");
  check_unit(last, file, "foff");
}

void check_header(const ParsedHeader& parsed, const std::string& file) {
  const Header& h = parsed.header;
  check(h.nchans >= 1 && h.nchans <= kMostChannels, file, "nchans", std::to_string(h.nchans),
        fmt::format("1 to {}", kMostChannels));
  check(h.nifs >= 1 && h.nifs <= kMostIfs, file, "nifs", std::to_string(h.nifs),
        fmt::format("1 to {}", kMostIfs));
  check(known_depth(h.nbits), file, "nbits", std::to_string(h.nbits), "1, 2, 4, 8, 16 or 32");
  check(h.data_type >= 0 && h.data_type <= kTimeSeries, file, "data_type",
        std::to_string(h.data_type), "1 (filterbank) or 2 (time series)",
        "other kinds of sigproc's files are not read");
  check(std::isfinite(h.tsamp_s) && h.tsamp_s >= 1e-15 && h.tsamp_s <= 1e9, file, "tsamp",
        fmt::format("{}", h.tsamp_s), "a positive number of seconds");
  check(std::isfinite(h.tstart_mjd) && std::abs(h.tstart_mjd) <= 1e7, file, "tstart",
        fmt::format("{}", h.tstart_mjd), "a modified Julian date");
  check_frequencies(parsed, file);
}

core::Error not_sigproc(const std::string& file, std::span<const std::byte> bytes) {
  constexpr std::array<unsigned char, 4> kBigEndian{0, 0, 0, 12};
  if (bytes.size() >= 4 && std::memcmp(bytes.data(), kBigEndian.data(), 4) == 0)
    return {core::ErrorKind::unsupported, file + ": header at byte 0", "big-endian numbers",
            "little-endian ones", "swap the file's bytes"};
  return format_error(file, "header at byte 0", bytes.empty() ? "an empty file" : "something else",
                      "HEADER_START", "this is no sigproc file, or its beginning is lost");
}

}  // namespace

bool recognise(std::span<const std::byte> first_bytes) {
  if (first_bytes.size() < 4 + kStart.size()) return false;
  const auto is = [&](unsigned char low, unsigned char high) {
    return first_bytes[0] == std::byte{low} && first_bytes[3] == std::byte{high};
  };
  return (is(kStart.size(), 0) || is(0, kStart.size())) &&
         std::memcmp(first_bytes.data() + 4, kStart.data(), kStart.size()) == 0;
}

ParsedHeader parse_header(std::span<const std::byte> bytes, const std::string& file) {
  if (!recognise(bytes) || bytes[0] == std::byte{0}) throw not_sigproc(file, bytes);
  Cursor cursor(bytes, file);
  cursor.word("keyword");
  ParsedHeader parsed;
  std::vector<std::string_view> seen;
  for (std::string last(kStart);;) {
    const std::size_t begin = cursor.at();
    const std::string name = cursor.word("keyword after " + last);
    const Keyword* keyword = find_keyword(name);
    if (keyword == nullptr) {
      const std::size_t next =
          printable(name) && !name.empty() ? cursor.next_known(cursor.at()) : 0;
      if (next == 0)
        throw cursor.wrong(begin, "keyword after " + last,
                           printable(name) ? fmt::format("'{}'", name) : "no text",
                           "one of sigproc's keywords", "the header is damaged");
      parsed.remarks.push_back(
          fmt::format("{}: header at byte {}: unknown keyword '{}': {} bytes "
                      "up to the next known one are stepped over",
                      file, begin, name, next - cursor.at()));
      cursor.move_to(next);
      continue;
    }
    last = name;
    if (keyword->name == kEnd) break;
    if (keyword->read == nullptr) continue;
    keyword->read(cursor, keyword->name, parsed);
    if (keyword->name != "fchannel") {
      // The last one holds, as everywhere in this field.
      if (std::find(seen.begin(), seen.end(), keyword->name) != seen.end())
        parsed.remarks.push_back(
            fmt::format("{}: header at byte {}: {} comes twice: the last one "
                        "holds",
                        file, begin, name));
      seen.push_back(keyword->name);
    }
  }
  parsed.header_bytes = cursor.at();
  for (const std::string_view needed : {"nchans", "nbits", "tsamp"})
    if (std::find(seen.begin(), seen.end(), needed) == seen.end() &&
        !(needed == "nchans" && parsed.header.data_type == kTimeSeries))
      throw format_error(file, fmt::format("header keyword {}", needed), "absent", "its value",
                         "the header is damaged or its file is no filterbank");
  check_header(parsed, file);
  if (const Header& h = parsed.header; h.nchans > 1 && h.tsamp_s >= 1)
    parsed.remarks.push_back(
        fmt::format("{}: header keyword tsamp: {} s looks like microseconds, but sigproc's tsamp "
                    "is in seconds: "
                    "correct the header, if spectra are not so long",
                    file, h.tsamp_s));
  return parsed;
}

namespace {

// Strings are an int32 length and bytes; a keyword is a string and its value follows.
class HeaderBytes {
 public:
  void word(std::string_view text) {
    number(static_cast<std::int32_t>(text.size()));
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
  }
  // Whole numbers have 32 bits, but for the bytes that are given as such; nothing where a value is
  // not known.
  template <class T>
  void add(std::string_view key, const T& value) {
    if constexpr (std::is_same_v<T, std::optional<double>>) {
      if (value) add(key, *value);
      return;
    } else {
      word(key);
      if constexpr (std::is_same_v<T, std::string>)
        word(value.substr(0, kMaxWord - 1));
      else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::int8_t>)
        number(value);
      else
        number(static_cast<std::int32_t>(value));
    }
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  template <class T>
  void number(T value) {
    std::byte raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.insert(bytes_.end(), raw, raw + sizeof value);
  }
  std::vector<std::byte> bytes_;
};

void require(bool good, const char* field, const std::string& value, const char* limit) {
  if (!good) throw core::Error(core::ErrorKind::config, field, value, limit);
}

}  // namespace

std::vector<std::byte> format_header(const Header& h) {
  require(h.nchans >= 1 && h.nchans <= kMostChannels, "nchans", std::to_string(h.nchans),
          "1 to 1048576");
  require(h.nifs >= 1 && h.nifs <= kMostIfs, "nifs", std::to_string(h.nifs), "1 to 64");
  require(known_depth(h.nbits), "nbits", std::to_string(h.nbits), "1, 2, 4, 8, 16 or 32");
  require(!h.is_signed || h.nbits == 8, "signed", fmt::format("{} bits", h.nbits), "8 bits");
  require(h.data_type == kFilterbank || h.data_type == kTimeSeries, "data_type",
          std::to_string(h.data_type), "1 or 2");
  require(std::isfinite(h.tsamp_s) && h.tsamp_s > 0, "tsamp", fmt::format("{}", h.tsamp_s),
          "a positive number of seconds");
  require(std::isfinite(h.tstart_mjd), "tstart", fmt::format("{}", h.tstart_mjd), "an MJD");
  require(std::isfinite(h.fch1_mhz) && std::isfinite(h.foff_mhz), "fch1 and foff",
          fmt::format("{} and {}", h.fch1_mhz, h.foff_mhz), "numbers of MHz");
  HeaderBytes header;
  header.word(kStart);
  header.add("source_name", h.source_name);
  if (!h.rawdatafile.empty()) header.add("rawdatafile", h.rawdatafile);
  header.add("machine_id", h.machine_id);
  header.add("telescope_id", h.telescope_id);
  header.add("src_raj", h.src_raj);
  header.add("src_dej", h.src_dej);
  header.add("az_start", h.az_start_deg);
  header.add("za_start", h.za_start_deg);
  header.add("data_type", h.data_type);
  header.add("refdm", h.refdm);
  header.add("fch1", h.fch1_mhz);
  header.add("foff", h.foff_mhz);
  header.add("nchans", h.nchans);
  header.add("nbits", h.nbits);
  if (h.is_signed) header.add("signed", std::int8_t{1});
  header.add("tstart", h.tstart_mjd);
  header.add("tsamp", h.tsamp_s);
  header.add("nifs", h.nifs);
  if (h.barycentric != 0) header.add("barycentric", h.barycentric);
  if (h.pulsarcentric != 0) header.add("pulsarcentric", h.pulsarcentric);
  if (h.nbeams != 0) header.add("nbeams", h.nbeams);
  if (h.ibeam != 0) header.add("ibeam", h.ibeam);
  header.word(kEnd);
  return header.take();
}

}  // namespace tautline::formats::sigproc
