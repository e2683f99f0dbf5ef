#include "tautline/pipeline/photons/sensor_map.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/formats/count_reader.h"
#include "tautline/formats/seeming_kind.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;
using core::SampleType;
using stages::autocorrelate::Pair;

constexpr std::size_t kMaxPairs = std::size_t{1} << 24;

// Zeros and other numbers, separated by white space and commas; # begins a comment.
std::vector<bool> read_text_mask(const std::string& path) {
  formats::require_text(path, "a mask: NPY, or text of a 0 or 1 for every sensor");
  std::ifstream file(path);
  if (!file) throw Error(ErrorKind::io, path, "cannot be opened", "a mask, NPY or text");
  std::vector<bool> mask;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    line = line.substr(0, line.find('#'));
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word != "0" && word != "1")
        throw Error(ErrorKind::format, path + ": line " + std::to_string(number), word,
                    "0 (bad) or 1 (good) for every sensor");
      mask.push_back(word == "1");
    }
  }
  return mask;
}

std::vector<bool> read_mask(const std::string& path) {
  if (!path.ends_with(".npy")) return read_text_mask(path);
  // The elements of an array of any shape are sensors in order.
  const auto reader = formats::open_counts(path, {.dtype = SampleType::f32});
  const std::size_t sensors = reader->description().sensors;
  std::vector<float> values(sensors * static_cast<std::size_t>(reader->total_samples()));
  std::span<std::byte> rest = std::as_writable_bytes(std::span(values));
  while (const std::size_t rows = reader->read(rest))
    rest = rest.subspan(rows * sensors * sizeof(float));
  std::vector<bool> mask;
  for (const float value : values) mask.push_back(value != 0);
  return mask;
}

// "DX:DY" as two whole numbers.
bool parse_offset(const std::string& text, std::int64_t& dx, std::int64_t& dy) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return false;
  const char *begin = text.data(), *end = begin + text.size();
  const auto x = std::from_chars(begin, begin + colon, dx);
  const auto y = std::from_chars(begin + colon + 1, end, dy);
  return x.ec == std::errc{} && x.ptr == begin + colon && y.ec == std::errc{} && y.ptr == end;
}

// The names of sensors, and their places.
class Names {
 public:
  Names(std::size_t sensors, const std::vector<std::uint16_t>& numbers) : sensors_(sensors) {
    for (std::size_t s = 0; s < numbers.size() && numbers.size() == sensors; ++s) {
      place_[numbers[s]] = static_cast<std::uint32_t>(s);
      words_ += (s == 0 ? "" : ", ") + std::to_string(numbers[s]);
    }
  }
  std::optional<std::uint32_t> find(std::uint64_t name) const {
    if (place_.empty())
      return name < sensors_ ? std::optional(static_cast<std::uint32_t>(name)) : std::nullopt;
    const auto found = place_.find(name);
    return found == place_.end() ? std::nullopt : std::optional(found->second);
  }
  std::string allowed() const {
    if (!place_.empty()) return "two of the detectors " + words_;
    return "two sensors from 0 to " + std::to_string(sensors_ - 1);
  }

 private:
  std::size_t sensors_;
  std::map<std::uint64_t, std::uint32_t> place_;
  std::string words_;
};

// "A,B", or "AxB" and more of these separated by commas; empty for another text.
std::vector<std::pair<std::uint64_t, std::uint64_t>> parse_pairs(const std::string& text) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
  const bool crosses = text.find('x') != std::string::npos;
  for (const std::string& one :
       crosses ? core::text::split(text, ',') : std::vector<std::string>{text}) {
    const auto names = core::text::split(one, crosses ? 'x' : ',');
    if (names.size() != 2) return {};
    for (const std::string& name : names)
      if (name.empty() || name.size() > 9 ||
          name.find_first_not_of("0123456789") != std::string::npos)
        return {};
    pairs.emplace_back(std::stoull(names[0]), std::stoull(names[1]));
  }
  return pairs;
}

std::vector<Pair> read_pairs(const std::string& path, const Names& sensors) {
  std::ifstream file(path);
  if (!file)
    throw Error(ErrorKind::config, "pairs", path,
                "auto, all, DX:DY, two sensors (0,1 or 0x1) or a file of pairs",
                "in a file two sensors a line, the earlier one first");
  std::vector<Pair> pairs;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    line = line.substr(0, line.find('#'));
    std::replace(line.begin(), line.end(), ',', ' ');
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::istringstream words(line);
    std::uint64_t a = 0, b = 0;
    std::string more;
    const bool two = (words >> a >> b) && !(words >> more);
    const auto first = sensors.find(a), second = sensors.find(b);
    if (!two || !first || !second)
      throw Error(ErrorKind::format, path + ": line " + std::to_string(number), line,
                  sensors.allowed());
    pairs.push_back({*first, *second});
  }
  return pairs;
}

template <class From, class To>
bool add_rows(const std::vector<MappedSensor>& sensors, const core::View<From, 2>& from,
              const core::View<To, 2>& to) {
  constexpr bool kFloats = std::is_same_v<To, float>;
  bool fits = true;
  if constexpr (std::is_same_v<From, const float> == kFloats)
    for (std::size_t t = 0; t < from.extent(0); ++t) {
      const From* x = from.row(t);
      To* y = to.row(t);
      for (const MappedSensor& sensor : sensors) {
        std::conditional_t<kFloats, double, std::uint64_t> sum = 0;
        for (const std::uint32_t member : sensor.members) sum += x[member];
        if constexpr (!kFloats) fits = fits && sum <= std::numeric_limits<To>::max();
        *y++ = static_cast<To>(sum);
      }
    }
  return fits;
}

}  // namespace

SensorMap::SensorMap(const SensorConfig& config, std::size_t sensors, std::size_t file_rows,
                     std::size_t file_columns, const std::vector<std::uint16_t>& numbers)
    : file_sensors_(sensors), rows_(file_rows), columns_(file_columns) {
  if (config.rows > 0 || config.columns > 0) {
    rows_ = config.rows;
    columns_ = config.columns;
    if (rows_ * columns_ != sensors)
      throw Error(ErrorKind::config, "shape",
                  std::to_string(rows_) + "x" + std::to_string(columns_),
                  "rows x columns that make " + core::counted(sensors, "sensor"));
    if (file_rows > 0 && file_rows != rows_)
      throw Error(
          ErrorKind::config, "shape", std::to_string(rows_) + "x" + std::to_string(columns_),
          std::to_string(file_rows) + "x" + std::to_string(file_columns) + ", as the input has it",
          "leave it out");
  }
  std::vector<bool> good(sensors, true);
  if (!config.mask_path.empty()) {
    good = read_mask(config.mask_path);
    if (good.size() != sensors)
      throw Error(ErrorKind::config, config.mask_path + ": mask",
                  core::counted(good.size(), "value"),
                  "one for each sensor, of which there are " + std::to_string(sensors));
  }
  find_sensors(config, good);
  find_pairs(config.pairs, adds_ ? std::vector<std::uint16_t>() : numbers);
  cross_ = std::any_of(pairs_.begin(), pairs_.end(), [](const Pair& p) { return p.a != p.b; });
}

void SensorMap::find_sensors(const SensorConfig& config, const std::vector<bool>& good) {
  const std::size_t high = config.bin_rows, wide = config.bin_columns;
  adds_ = high * wide != 1;
  if (adds_ && (rows_ == 0 || high == 0 || wide == 0 || rows_ % high != 0 || columns_ % wide != 0))
    throw Error(ErrorKind::config, "bin_sensors", std::to_string(high) + "x" + std::to_string(wide),
                rows_ == 0 ? "an array whose shape is known"
                           : "divisors of its shape, " + std::to_string(rows_) + "x" +
                                 std::to_string(columns_),
                rows_ == 0 ? "give `shape`" : "");
  const std::size_t columns = columns_ == 0 ? file_sensors_ : columns_;
  map_rows_ = rows_ / high;
  map_columns_ = columns / wide;
  sensors_.resize(file_sensors_ / (high * wide));
  for (std::size_t s = 0; s < sensors_.size(); ++s) {
    const std::size_t row = s / map_columns_, column = s % map_columns_;
    if (rows_ > 0) {
      sensors_[s].row = static_cast<std::int64_t>(row);
      sensors_[s].column = static_cast<std::int64_t>(column);
    }
    for (std::size_t y = 0; y < high; ++y)
      for (std::size_t x = 0; x < wide; ++x) {
        const std::size_t member = (row * high + y) * columns + column * wide + x;
        if (good[member]) sensors_[s].members.push_back(static_cast<std::uint32_t>(member));
      }
  }
}

void SensorMap::find_pairs(const std::string& text, const std::vector<std::uint16_t>& numbers) {
  if (text == "auto") return;
  const std::size_t count = sensors_.size();
  const auto add = [&](std::size_t a, std::size_t b) {
    if (!sensors_[a].good() || !sensors_[b].good()) return;
    pairs_.push_back({static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)});
  };
  std::int64_t dx = 0, dy = 0;
  if (text == "all") {
    if (count * count > kMaxPairs)
      throw Error(ErrorKind::config, "pairs", "all " + std::to_string(count * count) + " pairs",
                  "at most " + std::to_string(kMaxPairs), "list pairs, or bin sensors");
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = 0; b < count; ++b) add(a, b);
  } else if (parse_offset(text, dx, dy)) {
    if (map_rows_ == 0 && dy != 0)
      throw Error(ErrorKind::config, "pairs", text, "an array whose shape is known",
                  "give `shape`");
    const auto rows = static_cast<std::int64_t>(std::max<std::size_t>(1, map_rows_));
    const auto columns = static_cast<std::int64_t>(map_columns_);
    for (std::int64_t y = std::max<std::int64_t>(0, -dy); y < std::min(rows, rows - dy); ++y)
      for (std::int64_t x = std::max<std::int64_t>(0, -dx); x < std::min(columns, columns - dx);
           ++x)
        add(static_cast<std::size_t>(y * columns + x),
            static_cast<std::size_t>((y + dy) * columns + x + dx));
  } else if (const auto named = parse_pairs(text); !named.empty()) {
    const Names names(count, numbers);
    for (const auto& [a, b] : named) {
      const auto first = names.find(a), second = names.find(b);
      if (!first || !second) throw Error(ErrorKind::config, "pairs", text, names.allowed());
      add(*first, *second);
    }
  } else {
    for (const Pair& pair : read_pairs(text, Names(count, numbers))) add(pair.a, pair.b);
  }
  if (pairs_.empty())
    throw Error(ErrorKind::config, "pairs", text, "at least one pair of good sensors",
                "check the offset, the shape and the mask");
}

std::vector<std::uint8_t> SensorMap::good_sensors() const {
  std::vector<std::uint8_t> good;
  for (const MappedSensor& sensor : sensors_) good.push_back(sensor.good() ? 1 : 0);
  return good;
}

std::size_t SensorMap::good_curves() const {
  if (!pairs_.empty()) return pairs_.size();
  return static_cast<std::size_t>(std::count_if(sensors_.begin(), sensors_.end(),
                                                [](const MappedSensor& s) { return s.good(); }));
}

SampleType SensorMap::type_of_sums(SampleType type) const {
  if (!adds_ || type == SampleType::f32) return type;
  std::size_t most = 0;
  for (const MappedSensor& sensor : sensors_) most = std::max(most, sensor.members.size());
  const bool halves = type == SampleType::u8 && most <= 0xffff / 0xff;
  return halves ? SampleType::u16 : SampleType::u32;
}

void SensorMap::add_sensors(const core::SampleView<2>& counts,
                            const core::MutableSampleView<2>& sums) const {
  const bool fits = core::with_type<std::uint8_t, std::uint16_t, std::uint32_t, float>(
      counts, "counts", [&](const auto& from) {
        return core::with_type<std::uint16_t, std::uint32_t, float>(
            sums, "sums", [&](const auto& to) { return add_rows(sensors_, from, to); });
      });
  if (!fits)
    throw Error(ErrorKind::format, "counts added by `bin_sensors`", "more than 2^32 - 1",
                "sums that 32 bits hold", "add fewer sensors together");
}

}  // namespace tautline::pipeline
