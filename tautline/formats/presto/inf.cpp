#include "tautline/formats/presto/inf.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "tautline/core/error.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/text.h"

namespace tautline::formats::presto {

namespace {

__extension__ using Int128 = __int128;

constexpr std::int64_t kSecondsPerDay = 86400, kUnixEpochMjd = 40587;
constexpr std::int64_t kEpochSteps = 1'000'000'000'000'000;  // 15 decimals of a day
constexpr std::size_t kMaxInfBytes = std::size_t{1} << 20;

std::string_view trimmed(std::string_view text) {
  return trim(text, " \t\r");
}

// One "label = value" line.
struct Line {
  std::size_t number;
  std::string_view label, value;
};

// The values that are texts, by how their labels begin.
constexpr std::pair<std::string_view, std::string Inf::*> kTexts[] = {
    {"Data file name", &Inf::name},
    {"Telescope used", &Inf::telescope},
    {"Instrument used", &Inf::instrument},
    {"Object being observed", &Inf::object},
    {"J2000 Right Ascension", &Inf::right_ascension},
    {"J2000 Declination", &Inf::declination},
    {"Data observed by", &Inf::observer},
    {"Data analyzed by", &Inf::analyst}};

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : rest_(text), file_(file) {}

  Inf parse() {
    Line line;
    while (next(line)) {
      if (line.label.starts_with("Any additional notes")) {
        read_notes();
        break;
      }
      take(line);
    }
    for (const auto& [seen, label] : {std::pair{bins_, "Number of bins in the time series"},
                                      std::pair{width_, "Width of each time series bin"},
                                      std::pair{epoch_, "Epoch of observation"}})
      if (!seen)
        throw format_error(file_, fmt::format("label '{}'", label), "absent", "its line",
                           "this is no .inf of a time series");
    return std::move(inf_);
  }

 private:
  bool next(Line& line) {
    while (!rest_.empty()) {
      const std::string_view text = take_text();
      if (trimmed(text).empty()) continue;
      const std::size_t equals = text.find('=');
      line = {number_, trimmed(text.substr(0, equals)), {}};
      if (line.label.starts_with("Any additional notes")) return true;
      if (equals == std::string_view::npos)
        throw format_error(file_, fmt::format("line {}", number_),
                           fmt::format("'{}'", text.substr(0, 60)), "'label = value'",
                           "this is no .inf of PRESTO's");
      line.value = trimmed(text.substr(equals + 1));
      return true;
    }
    return false;
  }

  std::string_view take_text() {
    ++number_;
    const std::size_t end = rest_.find('\n');
    const std::string_view text = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    return text;
  }

  void read_notes() {
    while (!rest_.empty()) {
      const std::string_view note = trimmed(take_text());
      if (!note.empty()) inf_.notes.emplace_back(note);
    }
  }

  core::Error wrong(const Line& line, const std::string& expected) const {
    return format_error(file_, fmt::format("line {}, '{}'", line.number, line.label),
                        fmt::format("'{}'", line.value.substr(0, 60)), expected);
  }

  double number(const Line& line, double lowest, double highest) const {
    const auto value = finite_number(line.value);
    if (!value || *value < lowest || *value > highest)
      throw wrong(line, fmt::format("a number from {} to {}", lowest, highest));
    return *value;
  }

  void take(const Line& line) {
    const auto is = [&](std::string_view label) { return line.label.starts_with(label); };
    constexpr double kAny = 1e18;
    for (const auto& [label, text] : kTexts)
      if (is(label)) return void(inf_.*text = line.value);
    if (is("Epoch of observation"))
      take_epoch(line);
    else if (is("Barycentered?"))
      inf_.barycentred = number(line, 0, 1) != 0;
    else if (is("Number of bins in"))
      inf_.bins = static_cast<std::uint64_t>(number(line, 0, 1e15)), bins_ = true;
    else if (is("Width of each time series bin"))
      inf_.bin_s = number(line, 1e-15, 1e9), width_ = true;
    else if (is("On/Off bin pair"))
      take_pair(line);
    else if (is("Beam diameter"))
      inf_.beam_arcsec = number(line, 0, kAny);
    else if (is("Dispersion measure"))
      inf_.dm = number(line, -kAny, kAny);
    else if (is("Central freq of low channel"))
      inf_.low_channel_mhz = number(line, 0, kAny);
    else if (is("Total bandwidth"))
      inf_.bandwidth_mhz = number(line, -kAny, kAny);
    else if (is("Number of channels"))
      inf_.channels = static_cast<std::size_t>(number(line, 1, 1e9));
    else if (is("Channel bandwidth"))
      inf_.channel_width_mhz = number(line, -kAny, kAny);
    // Other labels (of X-ray and optical data) say nothing about a radio series.
  }

  void take_epoch(const Line& line) {
    try {
      inf_.epoch = parse_epoch(line.value);
    } catch (const core::Error&) {
      throw wrong(line, "an MJD");
    }
    epoch_ = true;
  }

  void take_pair(const Line& line) {
    const std::size_t comma = line.value.find(',');
    const auto first = finite_number(trimmed(line.value.substr(0, comma)));
    const auto last = comma == std::string_view::npos
                          ? std::nullopt
                          : finite_number(trimmed(line.value.substr(comma + 1)));
    if (!first || !last || *first < 0 || *last < *first || *last > 1e15)
      throw wrong(line, "two numbers of bins, the first and the last");
    inf_.on_bins.emplace_back(static_cast<std::uint64_t>(*first),
                              static_cast<std::uint64_t>(*last));
  }

  std::string_view rest_;
  const std::string& file_;
  std::size_t number_ = 0;
  bool bins_ = false, width_ = false, epoch_ = false;
  Inf inf_;
};

void add_line(std::string& text, std::string_view label, const std::string& value) {
  text += fmt::format(" {:<38} =  {}\n", label, value);
}

std::string packed(double value, const char* sign) {
  // In units of the last of four decimals of a second, so that no field shows 60.
  const auto ticks = static_cast<std::int64_t>(std::nearbyint(std::abs(value) * 3600e4));
  return fmt::format("{}{:02}:{:02}:{:02}.{:04}", sign, ticks / 36'000'000, ticks / 600'000 % 60,
                     ticks / 10'000 % 60, ticks % 10'000);
}

}  // namespace

Inf parse_inf(std::string_view text, const std::string& file) {
  return Parser(text, file).parse();
}

Inf read_inf(const std::string& path) {
  const InputFile file(path);
  const std::vector<std::byte> bytes = file.head(kMaxInfBytes);
  return parse_inf({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

std::string format_inf(const Inf& inf) {
  std::string text;
  add_line(text, "Data file name without suffix", inf.name);
  add_line(text, "Telescope used", inf.telescope);
  add_line(text, "Instrument used", inf.instrument);
  add_line(text, "Object being observed", inf.object);
  add_line(text, "J2000 Right Ascension (hh:mm:ss.ssss)", inf.right_ascension);
  add_line(text, "J2000 Declination     (dd:mm:ss.ssss)", inf.declination);
  add_line(text, "Data observed by", inf.observer);
  add_line(text, "Epoch of observation (MJD)", format_epoch(inf.epoch));
  add_line(text, "Barycentered?           (1 yes, 0 no)", inf.barycentred ? "1" : "0");
  add_line(text, "Number of bins in the time series", fmt::format("{:<11}", inf.bins));
  add_line(text, "Width of each time series bin (sec)", fmt::format("{:.15g}", inf.bin_s));
  add_line(text, "Any breaks in the data? (1 yes, 0 no)", inf.on_bins.empty() ? "0" : "1");
  for (std::size_t k = 0; k < inf.on_bins.size(); ++k)
    add_line(text, fmt::format("On/Off bin pair #{:3}", k + 1),
             fmt::format("{:<11}, {:<11}", inf.on_bins[k].first, inf.on_bins[k].second));
  add_line(text, "Type of observation (EM band)", "Radio");
  add_line(text, "Beam diameter (arcsec)", fmt::format("{:.0f}", inf.beam_arcsec));
  add_line(text, "Dispersion measure (cm-3 pc)", fmt::format("{:.12g}", inf.dm));
  add_line(text, "Central freq of low channel (MHz)", fmt::format("{:.12g}", inf.low_channel_mhz));
  add_line(text, "Total bandwidth (MHz)", fmt::format("{:.12g}", inf.bandwidth_mhz));
  add_line(text, "Number of channels", fmt::format("{}", inf.channels));
  add_line(text, "Channel bandwidth (MHz)", fmt::format("{:.12g}", inf.channel_width_mhz));
  add_line(text, "Data analyzed by", inf.analyst);
  text += " Any additional notes:\n";
  for (const std::string& note : inf.notes) text += "    " + note + "\n";
  return text + "\n";
}

std::string format_epoch(const core::Instant& instant) {
  std::int64_t day = instant.seconds / kSecondsPerDay, rest = instant.seconds % kSecondsPerDay;
  if (rest < 0) rest += kSecondsPerDay, --day;
  // The steps of whole seconds and of the fraction, each rounded down, exactly.
  const Int128 seconds = static_cast<Int128>(rest) * kEpochSteps;
  Int128 numerator = instant.fraction_numerator, denominator = instant.fraction_denominator;
  while (denominator > (Int128{1} << 60)) numerator /= 2, denominator /= 2;
  const Int128 part = numerator * kEpochSteps / denominator;
  const auto steps = static_cast<std::int64_t>((seconds + part) / kSecondsPerDay);
  return fmt::format("{}.{:015}", day + kUnixEpochMjd, steps);
}

core::Instant parse_epoch(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view decimals = point < text.size() ? text.substr(point + 1) : "";
  std::int64_t day = 0;
  const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), day);
  constexpr std::int64_t kFurthestDay = 100'000'000;
  const auto fail = [&] {
    return core::Error(core::ErrorKind::config, "epoch", std::string(text), "an MJD in decimals");
  };
  if (whole.empty() || error != std::errc() || end != whole.data() + whole.size() || day < 0 ||
      day > kFurthestDay)
    throw fail();
  // 17 decimals of a day are below a picosecond; further digits are cut.
  Int128 numerator = 0, denominator = 1;
  for (std::size_t k = 0; k < decimals.size(); ++k) {
    if (decimals[k] < '0' || decimals[k] > '9') throw fail();
    if (k >= 17) continue;
    numerator = numerator * 10 + (decimals[k] - '0');
    denominator *= 10;
  }
  numerator *= kSecondsPerDay;
  const auto seconds = static_cast<std::int64_t>(numerator / denominator);
  Int128 rest = numerator % denominator, divisor = denominator;
  for (Int128 a = rest; a != 0;) {
    const Int128 r = divisor % a;
    divisor = a;
    a = r;
  }
  core::Instant epoch{(day - kUnixEpochMjd) * kSecondsPerDay + seconds, 0, 1};
  if (rest != 0) {
    epoch.fraction_numerator = static_cast<std::int64_t>(rest / divisor);
    epoch.fraction_denominator = static_cast<std::int64_t>(denominator / divisor);
  }
  return epoch;
}

std::string hours_text(double ra_deg) {
  double wrapped = std::fmod(ra_deg, 360);
  if (wrapped < 0) wrapped += 360;
  return packed(wrapped / 15, "");
}

std::string degrees_text(double dec_deg) {
  return packed(dec_deg, dec_deg < 0 ? "-" : "");
}

}  // namespace tautline::formats::presto
