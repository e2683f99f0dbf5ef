// Validation of a Config, field by field, and the filter in the order of the sums.
#include "tautline/stages/channelize/bank.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <string>

#include "tautline/core/error.h"

namespace tautline::stages::channelize {

namespace {

constexpr std::size_t kMaxChannels = 65536;

[[noreturn]] void refuse_config(const char* field, const std::string& value,
                                const std::string& limit, const std::string& advice = {}) {
  throw core::Error(core::ErrorKind::config, field, value, limit, advice);
}

void require_oversampling(const Config& config) {
  const std::size_t p = config.oversample_numerator, q = config.oversample_denominator;
  core::require_range("oversample_denominator", q, 1, kMaxChannels);
  core::require_range("oversample_numerator", p, q, 2 * kMaxChannels);
  if (config.frame_samples() * q % p != 0)
    refuse_config("oversample", fmt::format("{}/{}", p, q),
                  fmt::format("a ratio P/Q with {} Q / P whole ({} samples a frame)",
                              config.frame_samples(), config.frame_samples()),
                  fmt::format("a number of channels that {} divides will do", p / std::gcd(p, q)));
}

void require_coefficients(const Config& config) {
  const std::size_t wanted = config.frame_samples() * config.taps;
  if (config.coefficients.empty()) return;
  if (config.coefficients.size() != wanted)
    refuse_config("coefficients", fmt::format("{} of them", config.coefficients.size()),
                  fmt::format("{} ({} samples a frame times {} taps)", wanted,
                              config.frame_samples(), config.taps));
  for (std::size_t n = 0; n < wanted; ++n)
    if (!std::isfinite(config.coefficients[n]))
      refuse_config("coefficients", fmt::format("{} at {}", config.coefficients[n], n),
                    "finite numbers");
}

void validate(const Config& config) {
  core::check(config);
  if (config.cutoff > static_cast<double>(config.channels))
    refuse_config("cutoff", fmt::format("{}", config.cutoff),
                  fmt::format("at most {} channel widths", config.channels));
  if (!(config.window.beta >= 0 && config.window.beta <= 60))
    refuse_config("window.beta", fmt::format("{}", config.window.beta), "0 to 60");
  require_oversampling(config);
  require_coefficients(config);
}

}  // namespace

Bank::Bank(const Config& given) : config(given) {
  validate(config);
  channels = config.channels;
  frame = config.frame_samples();
  hop = config.hop_samples();
  taps = config.taps;
  real = !config.input.complex;
  lower = config.lower_sideband;
  sample_bytes = static_cast<std::size_t>(config.input.bits_per_sample()) / 8;

  std::vector<double> h(config.coefficients.begin(), config.coefficients.end());
  if (h.empty()) h = core::prototype_filter(frame, taps, config.window, config.cutoff);
  filter.resize(span());
  for (std::size_t t = 0; t < taps; ++t)
    for (std::size_t p = 0; p < frame; ++p) filter[t * frame + p] = h[(taps - t) * frame - 1 - p];
}

std::vector<std::complex<float>> split_roots(std::size_t channels, std::size_t count) {
  std::vector<std::complex<float>> table(count);
  for (std::size_t k = 0; k < count; ++k)
    table[k] = std::complex<float>(std::polar(
        1.0, -std::numbers::pi * static_cast<double>(k) / static_cast<double>(channels)));
  return table;
}

}  // namespace tautline::stages::channelize
