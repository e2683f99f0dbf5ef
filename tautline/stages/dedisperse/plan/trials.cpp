#include "tautline/stages/dedisperse/plan/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/field_text.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kMostTrials = 1 << 20;

[[noreturn]] void refuse(const std::string& field, double value, const std::string& limit) {
  throw core::Error(core::ErrorKind::config, field, fmt::format("{:.10g}", value), limit);
}

// Lowest and highest frequency, and the distance between channels; 0 where there is one.
struct Edges {
  explicit Edges(const Band& band) {
    const auto& all = band.frequencies_mhz;
    if (all.empty()) refuse("dedisperse frequencies_mhz", 0, "at least one channel");
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    low_mhz = *least, high_mhz = *most;
    if (all.size() > 1) step_mhz = (high_mhz - low_mhz) / static_cast<double>(all.size() - 1);
  }
  double low_mhz = 0, high_mhz = 0, step_mhz = 0;
};

void require_band(const Band& band) {
  if (!(band.sample_time_s > 0) || !std::isfinite(band.sample_time_s))
    refuse("dedisperse sample_time_s", band.sample_time_s, "a finite number above 0");
}

}  // namespace

std::size_t DmPlan::trials() const {
  std::size_t count = 0;
  for (const DmRange& range : ranges) count += range.dms.size();
  return count;
}

std::vector<double> DmPlan::dms() const {
  std::vector<double> all;
  for (const DmRange& range : ranges) all.insert(all.end(), range.dms.begin(), range.dms.end());
  return all;
}

void require_range(double low, double high) {
  if (!(low >= 0) || !std::isfinite(low)) refuse("dms.range", low, "a lowest DM of 0 or more");
  if (!(high >= low) || !std::isfinite(high))
    refuse("dms.range", high, fmt::format("a highest DM of {:.10g} or more", low));
}

std::vector<double> linear_dms(double low, double high, double step) {
  require_range(low, high);
  if (!(step > 0) || !std::isfinite(step)) refuse("dms.range", step, "a finite step above 0");
  const double steps = std::floor((high - low) / step + 1e-6);
  if (!(steps < static_cast<double>(kMostTrials)))
    refuse("dms.range", step, "a step that gives at most 1048576 trials");
  std::vector<double> dms;
  for (double k = 0; k <= steps; ++k) dms.push_back(std::min(low + k * step, high));
  return dms;
}

std::vector<double> tolerance_dms(const Band& band, double low, double high, double pulse_width_s,
                                  double tolerance) {
  require_band(band);
  require_range(low, high);
  if (!(tolerance > 1) || !std::isfinite(tolerance))
    refuse("dms.tolerance", tolerance, "more than 1");
  if (!(pulse_width_s >= 0) || !std::isfinite(pulse_width_s))
    refuse("dms.pulse_width_s", pulse_width_s, "0 or more");
  const std::size_t channels = band.frequencies_mhz.size();
  if (channels < 2) {
    // One channel hears nothing of dispersion.
    return low == high ? std::vector<double>{low} : std::vector<double>{low, high};
  }
  // Frequencies in GHz and MHz, times in microseconds, as Levin's formula has them.
  const Edges edges(band);
  const double step_mhz = edges.step_mhz;
  if (step_mhz == 0)
    refuse("dedisperse frequencies_mhz", edges.high_mhz, "channels of different frequencies");
  // The middle of an even number of channels.
  const double middle_ghz =
      (edges.high_mhz - (static_cast<double>(channels / 2) - 0.5) * step_mhz) / 1000;
  const double sample_us = band.sample_time_s * 1e6, pulse_us = pulse_width_s * 1e6;
  const double a = 8.3 * step_mhz / (middle_ghz * middle_ghz * middle_ghz);
  const double a2 = a * a;
  const double b2 = a2 * static_cast<double>(channels * channels) / 16;
  const double tolerance2 = tolerance * tolerance;
  const double c = (sample_us * sample_us + pulse_us * pulse_us) * (tolerance2 - 1);
  std::vector<double> dms{low};
  while (dms.back() < high) {
    const double dm = dms.back();
    const double k = c + tolerance2 * a2 * dm * dm;
    dms.push_back((b2 * dm + std::sqrt(-a2 * b2 * dm * dm + (a2 + b2) * k)) / (a2 + b2));
    if (dms.size() > kMostTrials || !(dms.back() > dm))
      refuse("dms.tolerance", tolerance, "one that gives at most 1048576 trials");
  }
  return dms;
}

std::vector<double> parse_dm_list(const std::string& text, const std::string& name) {
  std::vector<double> dms;
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line.resize(std::min(line.size(), line.find('#')));
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line);
    for (std::string word; words >> word;) try {
        dms.push_back(core::text::read_number(word));
        if (!(dms.back() >= 0) || !std::isfinite(dms.back())) core::text::refuse(word, "");
      } catch (const core::Error&) {
        throw core::Error(core::ErrorKind::format, name + ", line " + std::to_string(number), word,
                          "a DM of 0 or more");
      }
  }
  if (dms.empty()) throw core::Error(core::ErrorKind::format, name, "no DM", "at least one");
  std::sort(dms.begin(), dms.end());
  dms.erase(std::unique(dms.begin(), dms.end()), dms.end());
  return dms;
}

double smearing_s(const Band& band, double dm) {
  const Edges edges(band);
  const double middle = (edges.low_mhz + edges.high_mhz) / 2;
  return core::dispersion_delay_s(dm, middle - edges.step_mhz / 2, middle + edges.step_mhz / 2,
                                  band.dm_constant);
}

DmPlan make_dm_plan(const Band& band, const std::vector<double>& dms, double pulse_width_s,
                    double tolerance, std::size_t most) {
  require_band(band);
  DmPlan plan;
  std::size_t downsample = 1;
  const auto width = [&](double dm, std::size_t factor) {
    const double smear = smearing_s(band, dm);
    const double sample = static_cast<double>(factor) * band.sample_time_s;
    return std::sqrt(pulse_width_s * pulse_width_s + smear * smear + sample * sample);
  };
  for (std::size_t i = 0; i < dms.size(); ++i) {
    if (i > 0 && !(dms[i] > dms[i - 1])) refuse("dms.list", dms[i], "trials in rising order");
    while (tolerance > 1 && 2 * downsample <= most &&
           width(dms[i], 2 * downsample) <= tolerance * width(dms[i], 1))
      downsample *= 2;
    if (plan.ranges.empty() || plan.ranges.back().downsample != downsample)
      plan.ranges.push_back({{}, downsample, i});
    plan.ranges.back().dms.push_back(dms[i]);
  }
  return plan;
}

Config config_of(const Config& config, const DmRange& range) {
  Config own = config;
  own.dms = range.dms;
  own.downsample = range.downsample;
  return own;
}

namespace {

std::size_t bytes_of(const Plan& plan) {
  const device::MemoryUse use = plan.bytes();
  return use.host_bytes + use.device_bytes +
         4 * plan.config().beams * plan.config().dms.size() * plan.max_output_samples();
}

}  // namespace

std::size_t needed_bytes(const std::vector<std::shared_ptr<const Plan>>& plans) {
  std::size_t bytes = 0;
  for (const auto& plan : plans) bytes += bytes_of(*plan);
  return bytes;
}

std::string describe(const std::vector<std::shared_ptr<const Plan>>& plans) {
  constexpr double kMib = 1 << 20;
  std::string text;
  std::size_t trials = 0;
  double adds = 0, plain_adds = 0;  // for one second of data of one beam, in G
  for (const auto& plan : plans) {
    const Config& config = plan->config();
    const double rate = 1e-9 / (config.sample_time_s * static_cast<double>(config.downsample));
    const auto [low, high] = std::minmax_element(config.dms.begin(), config.dms.end());
    trials += config.dms.size();
    adds += plan->choice().adds * rate;
    plain_adds += plan->choice().plain_adds * rate;
    text += fmt::format(
        "DM {:.6g} to {:.6g}: {}, downsampled by {}, overlap {}, {:.3g} G adds per "
        "second of data, {:.0f} MiB; {}\n",
        *low, *high, core::counted(config.dms.size(), "trial"), config.downsample,
        core::counted(plan->max_delay(), "time"), plan->choice().adds * rate,
        static_cast<double>(bytes_of(*plan)) / kMib, plan->choice().text);
  }
  if (plans.size() == 1) {
    text.pop_back();
    return text;
  }
  return text + fmt::format(
                    "{} trials, {:.3g} G adds per second of data (plain sums: {:.3g}), "
                    "{:.0f} MiB",
                    trials, adds, plain_adds, static_cast<double>(needed_bytes(plans)) / kMib);
}

std::vector<std::shared_ptr<const Plan>> make_plans(const Config& config, const DmPlan& plan,
                                                    std::shared_ptr<const device::Device> device,
                                                    std::size_t limit_bytes) {
  constexpr std::size_t kLeastSamples = 1024;
  Config sized = config;
  for (;;) {
    std::vector<std::shared_ptr<const Plan>> plans;
    for (const DmRange& range : plan.ranges)
      plans.push_back(make_plan(config_of(sized, range), device));
    const std::size_t bytes = needed_bytes(plans);
    if (limit_bytes == 0 || bytes <= limit_bytes) return plans;
    if (sized.max_samples <= kLeastSamples)
      throw core::Error(core::ErrorKind::memory, "dedisperse memory",
                        std::to_string(bytes) + " bytes for " +
                            core::counted(plan.trials(), "trial") + " in blocks of " +
                            std::to_string(sized.max_samples) + " times",
                        "at most " + std::to_string(limit_bytes),
                        "raise the limit, lower the highest DM, or try fewer DMs at once");
    sized.max_samples = std::max(kLeastSamples, sized.max_samples / 2);
  }
}

}  // namespace tautline::stages::dedisperse
