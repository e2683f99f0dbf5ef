#include "tautline/formats/npy/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/exact_double.h"
#include "tautline/core/integers.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/npy/header.h"
#include "tautline/formats/recorded_spectra.h"

namespace tautline::formats::npy {

namespace {

using Json = nlohmann::json;
using core::Error;
using core::ErrorKind;

constexpr const char* kSchema = "tautline.dedisperse.record";

std::string record_name(const std::string& path) {
  return path + ".json";
}

// The record beside an array; null where there is none, or one of another kind.
Json series_record(const std::string& path) {
  if (!path.ends_with(".npy")) return nullptr;
  std::ifstream file(record_name(path), std::ios::binary);
  if (!file) return nullptr;
  Json record = Json::parse(file, nullptr, false);
  if (record.is_discarded()) (void)record_beside(path);  // says so
  const bool known =
      record.is_object() && record.value("schema", Json()) == kSchema && record["dms"].is_array();
  return known ? record : Json(nullptr);
}

// A number above 0 (of a DM: 0, too) that must be there.
double number_in(const Json& record, const std::string& path, const char* key, bool above_zero) {
  const Json value = record.value(key, Json());
  const double number = value.is_number() ? value.get<double>() : std::nan("");
  if (!std::isfinite(number) || (above_zero && number <= 0))
    throw Error(ErrorKind::format, record_name(path) + ": " + key, value.dump(),
                above_zero ? "a number above 0" : "a number",
                "make both files again with `dedisperse`");
  return number;
}

// The longest delay of each trial; empty where the record does not say it.
std::vector<std::uint64_t> delays_in(const Json& record, const std::string& path,
                                     std::size_t trials) {
  std::vector<std::uint64_t> delays;
  for (const Json& range : record.value("segments", Json::array())) {
    const Json list = range.is_object() ? range.value("delays_samples", Json()) : Json();
    if (!list.is_array()) return {};
    for (const Json& delay : list) {
      if (!delay.is_number_unsigned())
        throw Error(ErrorKind::format, record_name(path) + ": delays_samples", delay.dump(),
                    "samples", "make both files again with `dedisperse`");
      delays.push_back(delay.get<std::uint64_t>());
    }
  }
  if (delays.size() != trials) return {};
  return delays;
}

// What lies between the data segments of the record: gaps, and steps of level, where two join. `samples`: of the series.
std::vector<FilterbankDescription::SeriesBreak> breaks_in(const Json& record,
                                                          const std::vector<std::uint64_t>& delays,
                                                          std::uint64_t samples) {
  std::vector<FilterbankDescription::SeriesBreak> breaks;
  const Json parts = record.value("data_segments", Json()),
             ranges = record.value("segments", Json());
  if (!parts.is_array() || parts.empty() || delays.empty() || ranges.size() != 1) return breaks;
  const auto whole = [](const Json& object, const char* key) {
    const Json value = object.is_object() ? object.value(key, Json()) : Json();
    return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
  };
  const std::uint64_t downsample = std::max<std::uint64_t>(1, whole(ranges[0], "downsample"));
  const Json of = record.value("level_steps", Json());
  std::uint64_t data_end = 0;
  std::size_t steps = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::uint64_t first = whole(parts[k], "first_sample");
    const bool step = k > 0 && first == data_end;
    const std::uint64_t end = core::divide_up(first, downsample);
    if (step || first > data_end) breaks.push_back({step ? end : data_end / downsample, end});
    if (step && of.is_array() && steps < of.size() && of[steps].is_object())
      breaks.back().of_mean = of[steps].value("of", Json()) != "noise";
    steps += step ? 1 : 0;
    data_end = std::max(data_end, first + whole(parts[k], "samples"));
  }
  const std::uint64_t longest = *std::max_element(delays.begin(), delays.end());
  if (data_end / downsample < samples + longest)
    breaks.push_back({data_end / downsample, samples + longest});
  return breaks;
}

FilterbankDescription describe(const Json& record, const std::string& path) {
  FilterbankDescription d;
  d.format = "NPY series";
  d.time_series = true;
  d.fch1_mhz = number_in(record, path, "f_ref_mhz", true);
  d.channel_mhz = {d.fch1_mhz};
  d.tsamp_s = number_in(record, path, "tsamp_s", true);
  const core::Rational tsamp = core::simplest_ratio(d.tsamp_s);
  d.rate_hz = {tsamp.denominator, tsamp.numerator};
  const Json start = record.value("start", Json());
  if (!start.is_string())
    throw Error(ErrorKind::format, record_name(path) + ": start", start.dump(), "a time (UTC)");
  d.start = core::parse_utc(start.get<std::string>());
  d.tstart_mjd = core::modified_julian_date(d.start);
  d.bits = 32;
  d.summed_ifs = {0};
  d.delivered = Delivered::f32;
  d.telescope_id = d.machine_id = -1;
  d.refdm_constant = number_in(record, path, "dm_constant", true);
  for (const Json& dm : record["dms"]) {
    if (!dm.is_number() || !std::isfinite(dm.get<double>()))
      throw Error(ErrorKind::format, record_name(path) + ": dms", dm.dump(), "a number");
    d.trial_dms.push_back(dm.get<double>());
  }
  d.channels = d.trial_dms.size();
  d.channel_mhz.assign(d.channels, d.fch1_mhz);
  d.trial_delays = delays_in(record, path, d.channels);
  if (d.channels > 1) return d;
  d.refdm = d.trial_dms.front();
  d.trial_dms.clear();
  return d;
}

std::string rows_text(std::size_t trials) {
  return "<i4 or <f4 (" + std::to_string(trials) + ", times), as its .json says";
}

class SeriesReader final : public FilterbankReader {
 public:
  explicit SeriesReader(const std::string& path) : file_(path) {
    const Json record = series_record(path);
    description_ = describe(record, path);
    const Header header = parse_header(file_.head(kMaxHeaderBytes), path);
    const std::size_t trials = description_.channels;
    const bool as_said = header.shape.size() == 2 && header.shape[0] == trials;
    if (!as_said || header.fortran_order || (header.type != "<f4" && header.type != "<i4"))
      throw Error(ErrorKind::format, path, header.type + " " + shape_text(header.shape),
                  rows_text(trials), "make both files again with `dedisperse`");
    description_.whole_numbers = header.type == "<i4";
    offset_ = header.data_offset_bytes;
    row_samples_ = header.shape[1];
    const std::uint64_t there = (file_.size() - std::min(file_.size(), offset_)) / sizeof(float);
    if (trials > 1 && there / trials < row_samples_)
      throw Error(ErrorKind::format, path, fmt::format("{} values", there),
                  fmt::format("{} x {}, as its header says", trials, row_samples_),
                  "it was cut short: make both files again with `dedisperse`");
    const std::uint64_t samples = description_.samples = std::min(there, row_samples_);
    if (samples > 0) segments_.push_back({0, samples, description_.start, 0});
    if (samples < header.shape[1]) {
      damage_.lost_samples = header.shape[1] - samples;
      damage_.note(fmt::format("{}: cut short: {}, expected {} as its header says", path,
                               core::counted(samples, "sample"), header.shape[1]));
    }
    description_.series_breaks = breaks_in(record, description_.trial_delays, row_samples_);
    const std::size_t stretches = record.value("data_segments", Json()).size();
    if (stretches > 1 && description_.series_breaks.empty())
      remarks_.push_back(
          fmt::format("{}: made of {} stretches; what was filled between them is read as data",
                      path, stretches));
  }

  std::size_t read(std::uint64_t first_sample, std::size_t count,
                   std::span<std::byte> destination) override {
    if (first_sample >= description_.samples) return 0;
    count = limit_to(count, description_.samples - first_sample, destination);
    const std::size_t trials = description_.channels;
    if (trials == 1) {
      read_row(0, first_sample, destination.first(count * sizeof(float)));
      return count;
    }
    // Times that fit into a cache with all of their trials.
    constexpr std::size_t kCached = std::size_t{1} << 21;
    const std::size_t most = std::max<std::size_t>(16, kCached / (trials * sizeof(float)));
    for (std::size_t done = 0; done < count; done += most) {
      row_.resize(std::min(most, count - done) * sizeof(float));
      for (std::size_t k = 0; k < trials; ++k) {
        read_row(k, first_sample + done, row_);
        std::byte* to = destination.data() + (done * trials + k) * sizeof(float);
        for (std::size_t at = 0; at < row_.size();
             at += sizeof(float), to += trials * sizeof(float))
          std::memcpy(to, &row_[at], sizeof(float));
      }
    }
    return count;
  }

 private:
  // The series of one trial, as floats.
  void read_row(std::size_t trial, std::uint64_t first_sample, std::span<std::byte> to) {
    const std::size_t got =
        file_.read(offset_ + (trial * row_samples_ + first_sample) * sizeof(float), to);
    std::fill(to.begin() + static_cast<std::ptrdiff_t>(got), to.end(), std::byte{0});
    if (got < to.size()) {
      damage_.lost_samples += (to.size() - got + 3) / 4;
      damage_.note(
          fmt::format("{}: the file became shorter; the rest reads as zeros", file_.path()));
    }
    if (description_.whole_numbers) make_floats(to);
  }
  // In place, whatever the alignment.
  static void make_floats(std::span<std::byte> values) {
    for (std::size_t at = 0; at < values.size(); at += sizeof(float)) {
      std::int32_t whole = 0;
      std::memcpy(&whole, &values[at], sizeof(whole));
      const auto value = static_cast<float>(whole);
      std::memcpy(&values[at], &value, sizeof(value));
    }
  }

  InputFile file_;
  std::uint64_t offset_ = 0, row_samples_ = 0;
  std::vector<std::byte> row_;  // of a trial
};

}  // namespace

std::size_t trials_of_series(const std::string& path) {
  const Json record = series_record(path);
  return record.is_null() ? 0 : record["dms"].size();
}

bool recognise_series(const std::string& path) {
  return trials_of_series(path) == 1;
}

std::unique_ptr<FilterbankReader> open_series(const std::string& path,
                                              const FilterbankOptions& options) {
  for (const std::size_t k : options.ifs)
    if (k != 0) throw Error(ErrorKind::config, path + ": IF", std::to_string(k), "0, the only one");
  return std::make_unique<SeriesReader>(path);
}

}  // namespace tautline::formats::npy
