#include "tautline/formats/presto/dat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/dispersion.h"
#include "tautline/core/error.h"
#include "tautline/core/exact_double.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/text.h"

namespace tautline::formats::presto {

namespace {

constexpr std::string_view kData = ".dat", kText = ".inf";

std::string stem_of(const std::string& path) {
  return path.substr(0, path.size() - kData.size());
}

FilterbankDescription describe(const Inf& inf, std::uint64_t samples) {
  FilterbankDescription d;
  d.format = "PRESTO";
  d.time_series = true;
  d.fch1_mhz = inf.highest_mhz();
  d.channel_mhz = {d.fch1_mhz};
  d.tsamp_s = inf.bin_s;
  const core::Rational tsamp = core::simplest_ratio(inf.bin_s);
  d.rate_hz = {tsamp.denominator, tsamp.numerator};
  d.start = inf.epoch;
  d.tstart_mjd = core::modified_julian_date(inf.epoch);
  d.bits = 32;
  d.summed_ifs = {0};
  d.delivered = Delivered::f32;
  d.samples = samples;
  d.source = inf.object;
  d.telescope = inf.telescope;
  d.machine = inf.instrument;
  d.rawdatafile = inf.name;
  d.telescope_id = d.machine_id = -1;
  d.ra_deg = sexagesimal(inf.right_ascension, 15);
  d.dec_deg = sexagesimal(inf.declination, 1);
  d.refdm = inf.dm;
  d.refdm_constant = kDispersionConstant;
  d.barycentric = inf.barycentred;
  return d;
}

std::vector<std::uint64_t> delay_of(const Inf& inf, const FilterbankDescription& d) {
  if (inf.low_channel_mhz <= 0) return {};
  return {static_cast<std::uint64_t>(std::max<std::int64_t>(
      0, core::dispersion_delay_samples(inf.dm, inf.low_channel_mhz, d.fch1_mhz, d.tsamp_s,
                                        kDispersionConstant)))};
}

// What lies between the pairs: gaps, and steps of level, where the data go on in the next bin. Where the data end before
// the series, the last pair is the last bin alone, which PRESTO needs.
std::vector<FilterbankDescription::SeriesBreak> breaks_of(const Inf& inf, std::uint64_t samples) {
  std::vector<FilterbankDescription::SeriesBreak> breaks;
  std::uint64_t data_end = 0;
  for (const auto& [first, last] : inf.on_bins) {
    if (first > data_end)
      breaks.push_back({data_end, first});
    else if (first == data_end && first > 0)
      breaks.push_back({first, first});
    data_end = std::max(data_end, last + 1);
    if (first == last && data_end == inf.bins && !breaks.empty() && !breaks.back().is_step())
      breaks.back().end = std::max(samples, inf.bins);
  }
  return breaks;
}

class Reader final : public FilterbankReader {
 public:
  Reader(InputFile file, const Inf& inf) : file_(std::move(file)) {
    description_ = describe(inf, file_.size() / sizeof(float));
    const std::uint64_t samples = description_.samples;
    if (samples > 0) segments_.push_back({0, samples, description_.start, 0});
    damage_.trailing_bytes = file_.size() % sizeof(float);
    if (damage_.trailing_bytes > 0)
      damage_.note(fmt::format("{}: cut short, byte {}: {}, expected whole samples of 4 bytes",
                               file_.path(), samples * sizeof(float),
                               core::counted(damage_.trailing_bytes, "byte")));
    if (samples < inf.bins) {
      damage_.lost_samples = inf.bins - samples;
      damage_.note(fmt::format("{}: cut short: {}, expected {} as its .inf says", file_.path(),
                               core::counted(samples, "sample"), inf.bins));
    } else if (samples > inf.bins) {
      remarks_.push_back(fmt::format("{}: {} where its .inf says {}: the size holds", file_.path(),
                                     core::counted(samples, "sample"), inf.bins));
    }
    description_.trial_delays = delay_of(inf, description_);
    if (!description_.trial_delays.empty())
      description_.series_breaks = breaks_of(inf, description_.samples);
    else if (!inf.on_bins.empty())
      remarks_.push_back(
          fmt::format("{}: its .inf tells of breaks, which PRESTO filled: they are "
                      "read as data",
                      file_.path()));
  }

  std::size_t read(std::uint64_t first_sample, std::size_t count,
                   std::span<std::byte> destination) override {
    if (first_sample >= description_.samples) return 0;
    count = limit_to(count, description_.samples - first_sample, destination);
    const auto to = destination.first(count * sizeof(float));
    const std::size_t got = file_.read(first_sample * sizeof(float), to);
    std::fill(to.begin() + static_cast<std::ptrdiff_t>(got), to.end(), std::byte{0});
    if (got < to.size()) {
      damage_.lost_samples += (to.size() - got + 3) / 4;
      damage_.note(
          fmt::format("{}: the file became shorter; the rest reads as zeros", file_.path()));
    }
    return count;
  }

 private:
  InputFile file_;
};

// Of the segments that hold data, what PRESTO reads of a series of `bins`: the last pair ends with it, and pairs are
// kMostPairs at most. More of them have the shortest gaps between them left out.
std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs_for_presto(
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs, std::uint64_t bins) {
  std::erase_if(pairs, [&](const auto& one) { return one.first >= bins; });
  if (pairs.empty() || bins == 0) return {};
  pairs.back().second = std::min(pairs.back().second, bins - 1);
  if (pairs.back().second < bins - 1) pairs.emplace_back(bins - 1, bins - 1);
  if (pairs.size() == 1 && pairs.front().first == 0) return {};
  std::vector<std::uint64_t> gaps;  // before each pair but the first
  for (std::size_t k = 1; k < pairs.size(); ++k)
    gaps.push_back(pairs[k].first - pairs[k - 1].second - 1);
  // A step of level has no length, and is told.
  const auto weight = [](std::uint64_t gap) { return gap == 0 ? UINT64_MAX : gap; };
  while (pairs.size() > kMostPairs) {
    const auto least = std::ranges::min_element(gaps, {}, weight) - gaps.begin();
    pairs[static_cast<std::size_t>(least)].second =
        pairs[static_cast<std::size_t>(least) + 1].second;
    pairs.erase(pairs.begin() + least + 1);
    gaps.erase(gaps.begin() + least);
  }
  return pairs;
}

std::string data_path(const std::string& path) {
  if (!path.ends_with(kData))
    throw core::Error(core::ErrorKind::config, "output", path, "a name that ends with .dat");
  return path;
}

}  // namespace

bool recognise(const std::string& name) {
  if (name.ends_with(kText)) return true;
  std::error_code ignored;
  return name.ends_with(kData) &&
         std::filesystem::exists(stem_of(name) + std::string(kText), ignored);
}

std::unique_ptr<FilterbankReader> open(const std::string& path, const FilterbankOptions& options) {
  for (const std::size_t k : options.ifs)
    if (k != 0)
      throw core::Error(core::ErrorKind::config, path + ": IF", std::to_string(k),
                        "0, the only one");
  const std::string stem = stem_of(path);
  const Inf inf = read_inf(stem + std::string(kText));
  return std::make_unique<Reader>(InputFile(stem + std::string(kData)), inf);
}

Inf inf_of(const FilterbankDescription& d, double dm, double dm_constant) {
  const auto or_unset = [](const std::string& text) { return text.empty() ? "unset" : text; };
  Inf inf;
  inf.telescope = or_unset(d.telescope);
  inf.instrument = or_unset(d.machine);
  inf.object = or_unset(d.source);
  if (d.ra_deg && d.dec_deg) {
    inf.right_ascension = hours_text(*d.ra_deg);
    inf.declination = degrees_text(*d.dec_deg);
  }
  inf.epoch = d.start;
  inf.barycentred = d.barycentric;
  inf.bin_s = d.tsamp_s;
  inf.dm = presto_dm(dm, dm_constant);
  inf.channels = d.channels;
  inf.low_channel_mhz = d.lowest_mhz();
  inf.channel_width_mhz = std::abs(d.foff_mhz);
  inf.bandwidth_mhz = inf.channel_width_mhz * static_cast<double>(d.channels);
  return inf;
}

DatWriter::DatWriter(const std::string& path, Inf inf, bool overwrite)
    : inf_(std::move(inf)),
      data_(data_path(path), overwrite),
      text_(stem_of(path) + std::string(kText), overwrite) {
  inf_.name = std::filesystem::path(stem_of(path)).filename().string();
}

void DatWriter::write(std::span<const float> samples) {
  samples_ += samples.size();
  if (samples.empty()) return;
  if (waiting_) {
    const float pair[2] = {*waiting_, samples.front()};
    data_.write(std::as_bytes(std::span(pair)));
    samples = samples.subspan(1);
    waiting_.reset();
  }
  data_.write(std::as_bytes(samples.first(samples.size() / 2 * 2)));
  if (samples.size() % 2 != 0) waiting_ = samples.back();
}

void DatWriter::complete() {
  if (completed_) return;
  completed_ = true;
  inf_.bins = samples_ / 2 * 2;
  inf_.on_bins = pairs_for_presto(std::move(inf_.on_bins), inf_.bins);
  text_.write(format_inf(inf_));
}

void DatWriter::finish() {
  complete();
  data_.finish();
  text_.finish();
}

}  // namespace tautline::formats::presto
