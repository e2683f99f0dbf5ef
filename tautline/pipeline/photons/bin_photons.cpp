#include "tautline/pipeline/photons/bin_photons.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/pipeline/photons/photon_steps.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

constexpr std::size_t kBlockPhotons = std::size_t{1} << 14;
constexpr std::size_t kTogether = std::size_t{1} << 15;  // photons that read_bins() reads
constexpr std::uint32_t kNoSensor = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kChannels = std::size_t{std::numeric_limits<std::uint16_t>::max()} + 1;
// Ticks and bins stay well inside 64 bits.
constexpr double kMostTicks = 4e18;

std::string seconds(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.9g s", value);
  return text;
}

std::uint64_t whole_ticks(const formats::PhotonDescription& d, double bin_s) {
  const bool t3 = d.mode == formats::TagMode::t3;
  const std::string limit =
      (t3 ? "at least one sync period, " : "at least one tick of the clock, ") +
      seconds(d.time_unit_s);
  // A user's 1e-7 may mean a period of 1.00004e-7.
  if (!(bin_s > 0) || bin_s < d.time_unit_s * 0.999)
    throw Error(
        ErrorKind::config, "bin", seconds(bin_s), limit,
        t3 ? "T3 tags count sync pulses: shorter lags need a T2 recording" : "choose longer bins");
  if (bin_s / d.time_unit_s > kMostTicks)
    throw Error(ErrorKind::config, "bin", seconds(bin_s),
                "at most " + seconds(kMostTicks * d.time_unit_s));
  return static_cast<std::uint64_t>(std::max<long long>(1, std::llround(bin_s / d.time_unit_s)));
}

std::uint32_t gate_edge(const formats::PhotonDescription& d, double value_s) {
  const double edge = std::ceil(value_s / d.microtime_unit_s - 1e-9);
  return static_cast<std::uint32_t>(std::clamp(edge, 0.0, 65536.0));
}

}  // namespace

PhotonBinner::PhotonBinner(std::unique_ptr<formats::PhotonReader> reader,
                           const BinPhotonsConfig& config)
    : reader_(std::move(reader)),
      detectors_(config.detectors),
      sensor_of_channel_(kChannels, kNoSensor),
      ignored_(kChannels),
      photons_(kBlockPhotons) {
  const formats::PhotonDescription& d = reader_->description();
  ticks_per_bin_ = whole_ticks(d, config.bin_s);
  if (!(config.start_s >= 0) || config.start_s / d.time_unit_s > kMostTicks)
    throw Error(ErrorKind::config, "start", seconds(config.start_s), "0 or more seconds");
  first_tick_ = static_cast<std::uint64_t>(std::llround(config.start_s / d.time_unit_s));
  most_bins_ = std::numeric_limits<std::uint64_t>::max();
  if (config.duration_s > 0 && config.duration_s / bin_s() < kMostTicks)
    most_bins_ = static_cast<std::uint64_t>(config.duration_s / bin_s() + 1e-6);
  gate_high_ = std::numeric_limits<std::uint32_t>::max();
  if (config.gate) {
    if (!d.missing_settings.empty())
      throw Error(ErrorKind::config, "gate", seconds(config.gate->low_s),
                  fmt::format("none: {}, which has the unit of the microtimes, is missing",
                              d.missing_settings),
                  "put the .set file that was saved with the measurement there");
    if (d.microtime_unit_s == 0)
      throw Error(ErrorKind::config, "gate", seconds(config.gate->low_s),
                  "none: the tags have no microtimes", "gates need a T3 recording");
    if (config.gate->low_s < 0)
      throw Error(
          ErrorKind::config, "gate",
          fmt::format("{:.9g}:{:.9g}", config.gate->low_s, config.gate->high_s),
          fmt::format("microtimes from 0 to {:.9g} s",
                      d.microtimes > 0 ? d.microtimes * d.microtime_unit_s : d.time_unit_s));
    gate_low_ = gate_edge(d, config.gate->low_s);
    gate_high_ = gate_edge(d, config.gate->high_s);
    if (gate_low_ >= gate_high_)
      throw Error(ErrorKind::config, "gate",
                  seconds(config.gate->low_s) + " to " + seconds(config.gate->high_s) +
                      ", which holds no microtime",
                  "a range that does: they are multiples of " + seconds(d.microtime_unit_s) +
                      " below the " + seconds(d.time_unit_s) + " between two pulses");
    if (gate_low_ == 0 && d.microtimes > 0 && gate_high_ >= d.microtimes)
      throw Error(ErrorKind::config, "gate",
                  fmt::format("{:.9g}:{:.9g}, which keeps every photon", config.gate->low_s,
                              config.gate->high_s),
                  "a part of the microtimes, 0 to " + seconds(d.microtimes * d.microtime_unit_s),
                  "a number without a unit is seconds: 0.2ns:12ns");
  }
  if (detectors_.empty())
    for (const formats::DetectorCount& found : formats::count_detectors(*reader_))
      if (found.channel != formats::kSyncChannel || d.mode == formats::TagMode::t3)
        detectors_.push_back(found.channel);
  if (detectors_.empty()) detectors_.push_back(0);
  for (std::size_t s = 0; s < detectors_.size(); ++s) {
    std::uint32_t& sensor = sensor_of_channel_[detectors_[s]];
    if (sensor != kNoSensor)
      throw Error(ErrorKind::config, "detectors", std::to_string(detectors_[s]) + " twice",
                  "each detector once");
    sensor = static_cast<std::uint32_t>(s);
  }
}

formats::CountDescription PhotonBinner::description(core::SampleType type) const {
  formats::CountDescription description{.format = reader_->description().format,
                                        .type = type,
                                        .sensors = sensors(),
                                        .bin_s = bin_s()};
  for (const std::uint16_t detector : detectors_)
    description.labels.push_back("detector " + std::to_string(detector));
  description.numbers = detectors_;
  return description;
}

double PhotonBinner::bin_s() const {
  return static_cast<double>(ticks_per_bin_) * reader_->description().time_unit_s;
}

bool PhotonBinner::refill() {
  if (place_ < held_) return true;
  if (ended_) return false;
  held_ = reader_->read(photons_);
  place_ = 0;
  if (held_ == 0) finish_stream();
  return held_ > 0;
}

// The run lasted at least until its last tag, of whichever detector.
void PhotonBinner::finish_stream() {
  ended_ = true;
  const formats::TagCounts& counts = reader_->counts();
  if (counts.photons > 0 && counts.last_time >= first_tick_)
    whole_bins_ = std::min(most_bins_, (counts.last_time - first_tick_ + 1) / ticks_per_bin_);
}

std::size_t PhotonBinner::next(std::span<BinnedPhoton> events) {
  const std::uint64_t first_tick = first_tick_, ticks = ticks_per_bin_;
  std::size_t found = 0;
  while (found < events.size() && refill()) {
    for (; place_ < held_ && found < events.size(); ++place_) {
      const formats::Photon photon = photons_[place_];
      const std::uint32_t sensor = sensor_of_channel_[photon.channel];
      if (sensor == kNoSensor) ignored_[photon.channel] += photon.time >= first_tick ? 1 : 0;
      if (sensor == kNoSensor || photon.microtime < gate_low_ || photon.microtime >= gate_high_ ||
          photon.time < first_tick)
        continue;
      const std::uint64_t since = photon.time - first_tick;
      const std::uint64_t bin = ticks == 1 ? since : since / ticks;
      if (bin >= most_bins_) {
        ended_ = true;
        whole_bins_ = most_bins_;
        held_ = 0;
        return found;
      }
      events[found++] = {bin, sensor};
    }
  }
  return found;
}

template <class Count>
std::size_t PhotonBinner::fill(std::span<Count> counts) {
  const std::size_t sensors = detectors_.size();
  if (counts.size() % sensors != 0)
    throw Error(ErrorKind::config, "counts", std::to_string(counts.size()),
                "a multiple of the " + std::to_string(sensors) + " sensors");
  std::uint64_t times = counts.size() / sensors;
  std::fill(counts.begin(), counts.end(), Count{0});
  while (has_pending_ || (has_pending_ = next({&pending_, 1}) == 1)) {
    const std::uint64_t row = pending_.bin - bins_done_;
    if (row >= times) break;
    Count& count = counts[static_cast<std::size_t>(row) * sensors + pending_.sensor];
    if (count == std::numeric_limits<Count>::max())
      throw Error(ErrorKind::format,
                  "photons of detector " + std::to_string(detectors_[pending_.sensor]) +
                      " in bin " + std::to_string(pending_.bin),
                  "more than " + std::to_string(std::numeric_limits<Count>::max()),
                  "at most that, what the counts' type holds",
                  sizeof(Count) == 1 ? "choose a shorter `bin_s` or wider counts, `dtype` u16"
                                     : "choose a shorter `bin_s`");
    ++count;
    has_pending_ = false;
  }
  if (!has_pending_) times = std::min(times, whole_bins_ - std::min(whole_bins_, bins_done_));
  bins_done_ += times;
  return static_cast<std::size_t>(times);
}

std::size_t PhotonBinner::read(std::span<std::uint8_t> counts) {
  return fill(counts);
}

std::size_t PhotonBinner::read(std::span<std::uint16_t> counts) {
  return fill(counts);
}

std::size_t PhotonBinner::read_events(std::span<BinnedPhoton> events) {
  const std::size_t found = next(events);
  if (found < events.size()) bins_done_ = whole_bins_;
  return found;
}

std::vector<formats::DetectorCount> PhotonBinner::ignored() const {
  std::vector<formats::DetectorCount> found;
  const bool has_sync = reader_->description().mode == formats::TagMode::t2;
  for (std::size_t channel = 0; channel < kChannels; ++channel)
    if (ignored_[channel] > 0 && !(has_sync && channel == formats::kSyncChannel))
      found.push_back({static_cast<std::uint16_t>(channel), ignored_[channel]});
  return found;
}

PhotonSurvey PhotonBinner::survey(std::span<const std::uint16_t> chosen, PhotonSteps& steps) {
  // Totals that are known without reading have no microtimes, so that no gate drops any photon.
  if (const auto known = reader_->known()) {
    PhotonSurvey survey{known->detectors, known->detectors};
    if (!survey.detectors.empty()) survey.ticks = survey.clock_ticks = known->last_time + 1;
    for (std::size_t d = 0; d < known->detectors.size(); ++d)
      if (chosen.empty() || std::ranges::find(chosen, known->detectors[d].channel) != chosen.end())
        steps.add_all(known->times[d], known->detectors[d].channel);
    return survey;
  }
  std::vector<std::uint64_t> all(kChannels), gated(kChannels);
  std::vector<std::uint8_t> is_chosen(kChannels, chosen.empty() ? 1 : 0);
  for (const std::uint16_t channel : chosen) is_chosen[channel] = 1;
  if (chosen.empty() && reader_->description().mode == formats::TagMode::t2)
    is_chosen[formats::kSyncChannel] = 0;
  PhotonSurvey survey;
  while (const std::size_t held = reader_->read(photons_))
    for (const formats::Photon& photon : std::span(photons_).first(held)) {
      ++all[photon.channel];
      const bool kept = photon.microtime >= gate_low_ && photon.microtime < gate_high_;
      gated[photon.channel] += kept;
      if (kept && is_chosen[photon.channel] != 0) steps.add(photon.time, photon.channel);
    }
  const std::span<const formats::TagBreak> breaks = reader_->breaks();
  survey.breaks.assign(breaks.begin(), breaks.end());
  const formats::TagCounts& counts = reader_->counts();
  if (counts.photons > 0) survey.ticks = counts.last_time + 1;
  survey.clock_ticks = std::max(survey.ticks, counts.last_clock);
  for (std::size_t channel = 0; channel < kChannels; ++channel) {
    if (all[channel] == 0) continue;
    survey.detectors.push_back({static_cast<std::uint16_t>(channel), all[channel]});
    survey.gated.push_back({static_cast<std::uint16_t>(channel), gated[channel]});
  }
  reader_->rewind();
  return survey;
}

std::uint64_t PhotonBinner::read_bins(std::vector<BinnedPhoton>& photons) {
  const std::size_t held = unfinished_.size();
  photons.assign(unfinished_.begin(), unfinished_.end());
  photons.resize(held + kTogether);
  const std::size_t found = read_events(std::span(photons).subspan(held));
  photons.resize(held + found);
  std::uint64_t until = 0;
  if (found == kTogether) {
    until = photons.back().bin;
  } else if (reader_->ended()) {
    until = bins_done_;
    over_ = true;
  } else {  // a pause: the next photon is in the last photon's bin or a later one
    until = bins_begun();
    ended_ = false;
  }
  const auto open = std::partition_point(photons.begin(), photons.end(),
                                         [&](const BinnedPhoton& p) { return p.bin < until; });
  unfinished_.assign(open, photons.end());
  photons.erase(open, photons.end());
  return until;
}

std::vector<BinRange> PhotonBinner::new_breaks() {
  std::vector<BinRange> bins;
  const std::span<const formats::TagBreak> breaks = reader_->breaks();
  for (; breaks_given_ < breaks.size(); ++breaks_given_)
    if (const auto& [before, after] = breaks[breaks_given_]; after >= first_tick_)
      bins.push_back({(std::max(before, first_tick_) - first_tick_) / ticks_per_bin_,
                      (after - first_tick_) / ticks_per_bin_ + 1});
  return bins;
}

// Bins that are complete given the last photon read: the next photon may be in the same bin.
std::uint64_t PhotonBinner::bins_begun() const {
  const formats::TagCounts& counts = reader_->counts();
  if (counts.photons == 0 || counts.last_time < first_tick_) return 0;
  return (counts.last_time - first_tick_) / ticks_per_bin_;
}

}  // namespace tautline::pipeline
