// Validation, sizes and choice of backend.
#include "tautline/stages/detect/detect.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/field_text.h"
#include "tautline/stages/detect/backends.h"

namespace tautline::stages::detect {

namespace {

// Of a rectangular pulse of W samples, a boxcar of w keeps sqrt(min(w, W) / max(w, W)).
constexpr double kLeastKept = 0.95;

[[noreturn]] void refuse(const std::string& field, const std::string& value,
                         const std::string& limit, const std::string& advice = {}) {
  throw core::Error(core::ErrorKind::config, field, value, limit, advice);
}

std::size_t widest_samples(const Config& config) {
  // Without the factor, 64 x 1e-3 s could become 63 samples by rounding.
  return static_cast<std::size_t>(config.max_width_s / config.sample_time_s * (1 + 1e-12));
}

}  // namespace

void check_config(const Config& config) {
  core::check(config);
  if (!config.lengths.empty() && config.lengths.size() != config.trials)
    refuse("lengths", std::to_string(config.lengths.size()),
           std::to_string(config.trials) + ", one a trial, or none");
  if (config.threshold > 1e6)
    refuse("threshold", core::text::write_number(config.threshold), "1e6 or less");
  const double widest = config.max_width_s / config.sample_time_s * (1 + 1e-12);
  if (widest < 1)
    refuse("max_width_s", core::text::write_number(config.max_width_s),
           "one sample (" + core::text::write_number(config.sample_time_s) + " s) or more",
           config.sample_time_s < 1
               ? ""
               : "where samples are not so long, the input's sample time is in "
                 "microseconds: correct it to seconds");
  if (widest >= static_cast<double>(kMaxWidthSamples) + 1)
    refuse(
        "max_width_s", core::text::write_number(config.max_width_s),
        std::to_string(kMaxWidthSamples) + " samples (" +
            core::text::write_number(static_cast<double>(kMaxWidthSamples) * config.sample_time_s) +
            " s) or less",
        "search downsampled series for wider pulses");
  if (config.baseline_s != 0) {
    if (config.baseline_s < 4 * config.max_width_s)
      refuse(
          "baseline_s", core::text::write_number(config.baseline_s),
          "4 x `max_width_s` (" + core::text::write_number(4 * config.max_width_s) + " s) or more",
          "a shorter baseline would take the widest pulses away");
    if (config.baseline_s / config.sample_time_s > 1e8)
      refuse("baseline_s", core::text::write_number(config.baseline_s), "1e8 samples or fewer");
  }
  if (config.noise_s / config.sample_time_s > 1e8)
    refuse("noise_s", core::text::write_number(config.noise_s), "1e8 samples or fewer");
  if (config.links.beam_trials != 0 && config.trials % config.links.beam_trials != 0)
    refuse("trials", std::to_string(config.trials),
           "a multiple of links.beam_trials, " + std::to_string(config.links.beam_trials));
}

std::vector<std::size_t> boxcar_widths(std::size_t largest) {
  std::vector<std::size_t> widths{1};
  std::size_t power = 2;
  constexpr double kLeastRatio = kLeastKept * kLeastKept;
  while (widths.back() < largest) {
    // `unserved` is the smallest width that loses too much S/N with the last boxcar. The next
    // boxcar is the widest that keeps enough of its S/N.
    const auto unserved =
        static_cast<std::size_t>(static_cast<double>(widths.back()) / kLeastRatio) + 1;
    std::size_t next = static_cast<std::size_t>(static_cast<double>(unserved) / kLeastRatio);
    next = std::min({next, power, largest});
    if (next == power) power *= 2;
    widths.push_back(next);
  }
  return widths;
}

Sizes derive_sizes(const Config& config) {
  Sizes sizes;
  sizes.widths = boxcar_widths(widest_samples(config));
  const double widest_s = static_cast<double>(sizes.widest()) * config.sample_time_s;
  const double baseline_s =
      config.baseline_s > 0 ? config.baseline_s : std::max(2.0, 16 * widest_s);
  const double pair = baseline_s / config.sample_time_s / (2 * kWindowSegments);
  sizes.segment = 2 * std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(pair)));
  // Rounding, or a short baseline_s, can make it shorter than 4 of the widest boxcars.
  while (sizes.baseline() < 4 * sizes.widest()) sizes.segment += 2;
  const std::size_t noise =
      config.noise_s > 0
          ? std::max(kLeastNoiseSamples,
                     static_cast<std::size_t>(std::lround(config.noise_s / config.sample_time_s)))
          : kNoiseSamples;
  sizes.noise = std::max(noise, 4 * sizes.widest());
  sizes.margin = sizes.widest();
  return sizes;
}

double snr_factor(std::uint64_t w) {
  return 1 / std::sqrt(static_cast<double>(w));
}

Scales derive_scales(const Config& config, const Sizes& sizes, std::uint64_t n) {
  Scales scales;
  for (const std::size_t w : sizes.widths) {
    const double per_unit = snr_factor(w) / kUnitsPerSigma;
    scales.snr_per_unit.push_back(per_unit);
    // A boxcar over half of the running mean's samples is not a pulse on a baseline.
    scales.least_sum.push_back(
        2 * w > n ? kNeverReached
                  : static_cast<std::int64_t>(std::ceil(config.threshold / per_unit)));
  }
  return scales;
}

const std::vector<float>& spreading() {
  static const std::vector<float> table = [] {
    std::vector<float> values(kSpreadingPeriod);
    // 633 / 1,024 is close to the golden ratio, so that the values of a few consecutive or evenly
    // spaced samples lie far apart.
    for (std::size_t t = 0; t < kSpreadingPeriod; ++t)
      values[t] = (static_cast<float>(t * 633 % kSpreadingPeriod) + 0.5f) / kSpreadingPeriod - 0.5f;
    return values;
  }();
  return table;
}

double sigma_of(double mad, core::SampleType type) {
  const double spread = kSigmaPerMad * mad;
  if (type == core::SampleType::f32) return spread;
  return std::sqrt(std::max(0.0, spread * spread - kStepVariance));
}

std::size_t Plan::latency_samples() const {
  // The mean of a segment needs 16 behind it, the line to the next one's middle another.
  constexpr std::size_t kSegmentsAhead = kWindowSegments / 2 + 2;
  return kSegmentsAhead * (baseline_samples() / kWindowSegments) + noise_samples() +
         3 * widths().back() + config().links.time_samples + 1;
}

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device) {
  check_config(config);
  if (device == nullptr) refuse("device", "null", "an open device");
  if (device->api() == device::Api::reference) return make_reference_plan(config);
  if (device->compiles()) return make_gpu_plan(config, std::move(device), Tunables{});
  return make_cpu_plan(config, *device, Tunables{});
}

std::vector<Pulse> detect(Config config, const core::SampleView<2>& series,
                          const device::Selection& selection) {
  config.trials = series.extent(0);
  config.type = series.type();
  const auto device = device::open(selection);
  const auto plan = make_plan(config, device);
  const auto queue = device->make_queue();
  const auto state = plan->make_state(*queue);
  const std::size_t samples = series.extent(1);
  for (std::size_t first = 0; first < samples; first += config.max_samples)
    plan->execute(*queue, *state,
                  series.slice(1, first, std::min(config.max_samples, samples - first)));
  plan->finish(*queue, *state);
  std::vector<Pulse> pulses = state->take();
  std::stable_sort(pulses.begin(), pulses.end(),
                   [](const Pulse& a, const Pulse& b) { return a.snr > b.snr; });
  return pulses;
}

}  // namespace tautline::stages::detect
