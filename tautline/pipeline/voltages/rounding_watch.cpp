#include "tautline/pipeline/voltages/rounding_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/baseline.h"
#include "tautline/core/requantise.h"
#include "tautline/pipeline/voltages/empty_text.h"

namespace tautline::pipeline {

namespace {

constexpr double kMostZeros = 0.9;
constexpr double kMostClipped8 = 0.01, kMostClipped4 = 0.05;

/// Inputs that one sentence names, and the part of their samples, of the least affected one.
struct Affected {
  std::vector<std::size_t> inputs;
  double least = 1;
  void add(std::size_t input, double part) {
    inputs.push_back(input);
    least = std::min(least, part);
  }
  // "99.9 % or more of the samples of inputs 0x, 0y", rounded down.
  std::string text(const std::vector<std::string>& names) const {
    return fmt::format("{:.4g} %{} of the samples of {}", std::floor(least * 1000) / 10,
                       inputs.size() > 1 && least < 1 ? " or more" : "",
                       name_inputs(inputs, names));
  }
};

}  // namespace

void RoundingWatch::add(device::Queue& host_queue,
                        const core::View<const std::complex<float>, 2>& means,
                        const core::View<const std::int64_t, 2>& counts,
                        std::span<const InputPair> pairs, std::span<const float> gains) {
  const auto look_at = [&](std::size_t input, std::size_t baseline) {
    const auto power_in_steps = [&](std::size_t channel) {
      const double gain = gains[channel * inputs_.size() + input];
      return static_cast<double>(means(channel, baseline).real()) * gain * gain;
    };
    const std::size_t channels = means.extent(0);
    bool any = false;
    for (std::size_t c = 0; c < channels && !any; ++c) any = power_in_steps(c) > 0;
    Input& sums = inputs_[input];
    for (std::size_t c = 0; c < channels; ++c) {
      const auto samples = static_cast<double>(counts(c, baseline));
      const double power = power_in_steps(c);
      // A channel that had no power when gains were measured, in an input that has some.
      if (any && power == 0 && gains[c * inputs_.size() + input] == 1.0F) continue;
      sums.samples += samples;
      sums.zeros += samples * std::max(0.0, 1 - power / 2);
      sums.power += samples * power;
    }
  };
  std::vector<std::size_t> autos(inputs_.size(), means.extent(1));  // beyond the last: none
  for (std::size_t i = 0; pairs.empty() && i < autos.size(); ++i)
    autos[i] = core::baseline_index(i, i);
  for (std::size_t k = 0; k < pairs.size(); ++k)
    if (pairs[k].i == pairs[k].j) autos[pairs[k].i] = k;
  host_queue.parallel_for(autos.size(), 1, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t i = first; i < last; ++i)
      if (autos[i] < means.extent(1)) look_at(i, autos[i]);
  });
}

double RoundingWatch::most_clipped(int bits) {
  return bits == 4 ? kMostClipped4 : kMostClipped8;
}

// The factor that brings the rms of a component to the usual one, if it is noise; 0: not known, since all samples are
// zero or clipped.
double RoundingWatch::right_factor(const Input& input) const {
  const int limit = core::requantise_limit(bits_);
  const double target = bits_ == 4 ? core::kRequantise4Rms : core::kRequantise8Rms;
  const double power = input.samples > 0 ? input.power / input.samples / 2 : 0;
  double low = 0.1, high = 10.0 * limit;
  const auto rounded = [limit](double rms) {
    return core::requantised_power(rms, limit) * rms * rms;
  };
  if (power <= rounded(low) || power >= rounded(high)) return 0;
  for (int halving = 0; halving < 40; ++halving)
    (rounded(std::sqrt(low * high)) < power ? low : high) = std::sqrt(low * high);
  return target / low;
}

std::string RoundingWatch::text(const std::vector<std::uint64_t>& clipped, std::uint64_t components,
                                const Gains& gains) const {
  Affected zeros, clips;
  double least = HUGE_VAL, most = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    const double zero = input.samples > 0 ? input.zeros / input.samples : 0;
    const double over = components > 0 && i < clipped.size()
                            ? static_cast<double>(clipped[i]) / static_cast<double>(components)
                            : 0;
    const bool is_zero = zero >= kMostZeros;
    const bool is_clipped = over > most_clipped(bits_);
    if (is_zero) zeros.add(i, zero);
    if (is_clipped) clips.add(i, over);
    if (!is_zero && !is_clipped) continue;
    const double factor = right_factor(input);
    if (factor == 0) continue;
    least = std::min(least, factor);
    most = std::max(most, factor);
  }
  std::string text;
  if (!zeros.inputs.empty()) text = zeros.text(names_) + " are zeros";
  if (!clips.inputs.empty())
    text += (text.empty() ? "" : "; ") + clips.text(names_) + " were clipped";
  if (text.empty()) return text;
  text = fmt::format("rounding to {} bits: {}; ", bits_, text);
  if (!gains.measured()) {
    if (most > 0)
      text += most < 2 * least
                  ? fmt::format("multiply `gains` by about {:.3g}, or ", least)
                  : fmt::format("multiply `gains` by about {:.3g} to {:.3g}, input by input, or ",
                                least, most);
    return text + "leave `gains` out, and they are measured";
  }
  text += "gains are those of the first spectra";
  if (!gains.schedule().follow)
    text += ": `settle_s` measures them again, `follow_gains` again and again";
  return text + "; with `requantise` off nothing is rounded";
}

}  // namespace tautline::pipeline
