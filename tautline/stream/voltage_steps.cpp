#include "tautline/stream/voltage_steps.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "tautline/core/half.h"
#include "tautline/core/sample_decode.h"

namespace tautline::stream {

namespace {

constexpr std::size_t kMostTimes = 16384, kLeastTimes = 64;  // of a block
// Samples of all inputs that are compared on both sides of a join, about: a tenth of a second of one core.
constexpr std::size_t kMostSamples = std::size_t{1} << 23;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double component(const std::byte* bytes, std::size_t bit, core::SampleFormat format) {
  if (!format.is_float()) return core::decode_integer(bytes, bit, format);
  if (format.bits == 32) return core::decode_float(bytes, bit);
  core::Half half;
  std::memcpy(&half.bits, bytes + bit / 8, sizeof half.bits);
  return core::to_float(half);
}

// Sums of |x|^2 of one input over the channels that are compared.
struct InputPower {
  double sum = 0;
  std::size_t samples = 0;
  double mean() const { return sum / static_cast<double>(samples); }
};

void add_samples(const core::RawBlock& block, std::size_t input, std::size_t channel_step,
                 InputPower& power) {
  const core::RawLayout& layout = block.layout;
  std::vector<char> invalid(block.samples, 0);
  for (const core::InvalidSpan& span : block.invalid)
    if (span.input == input || span.input == core::InvalidSpan::kAllInputs)
      for (std::size_t t = span.first_sample;
           t < std::min(block.samples, span.first_sample + span.samples); ++t)
        invalid[t] = 1;
  const std::size_t first = layout.offset_bits +
                            input / layout.polarisations * layout.antenna_stride_bits +
                            input % layout.polarisations * layout.polarisation_stride_bits;
  const auto bits = static_cast<std::size_t>(layout.format.bits);
  for (std::size_t t = 0; t < block.samples; ++t) {
    if (invalid[t] != 0) continue;
    for (std::size_t c = 0; c < layout.channels; c += channel_step) {
      const std::size_t bit = first + t * layout.time_stride_bits + c * layout.channel_stride_bits;
      const double re = component(block.bytes.data(), bit, layout.format);
      const double im =
          layout.format.complex ? component(block.bytes.data(), bit + bits, layout.format) : 0;
      const double square = re * re + im * im;
      if (!std::isfinite(square)) continue;
      power.sum += square;
      ++power.samples;
    }
  }
}

// Mean powers of the blocks of one side, [input][block]; NaN where less than half of a block is valid.
void measure(formats::VoltageReader& reader, std::uint64_t first, std::size_t times,
             std::size_t channel_step, std::size_t first_block,
             std::vector<std::vector<double>>& powers) {
  const std::size_t channels = (reader.description().channels + channel_step - 1) / channel_step;
  if (first > 0) reader.seek(first);
  core::RawBlock block;
  for (std::size_t k = 0; k < core::kStepSide; ++k) {
    std::vector<InputPower> of_inputs(powers.size());
    for (std::size_t done = 0; done < times;) {
      const std::size_t got = reader.read(times - done, block);
      if (got == 0) break;
      for (std::size_t i = 0; i < powers.size(); ++i)
        add_samples(block, i, channel_step, of_inputs[i]);
      done += got;
    }
    for (std::size_t i = 0; i < powers.size(); ++i)
      powers[i][first_block + k] =
          2 * of_inputs[i].samples >= times * channels ? of_inputs[i].mean() : kUnknown;
  }
}

// None where the input does not step, its power is unknown, or it is constant on a side: that is an empty stretch.
std::optional<InputStep> step_of(std::size_t input, std::span<const double> powers,
                                 double standard_errors) {
  const auto changes = [](std::span<const double> side) {
    return std::any_of(side.begin(), side.end(), [&](double x) { return x != side.front(); });
  };
  if (!std::all_of(powers.begin(), powers.end(), [](double x) { return std::isfinite(x); }) ||
      !changes(powers.first(core::kStepSide)) || !changes(powers.last(core::kStepSide)))
    return {};
  const core::StepFit fit = core::fit_step(powers);
  if (!(std::abs(fit.standard_errors) > standard_errors)) return {};
  const double before = fit.mean - fit.height / 2, after = fit.mean + fit.height / 2;
  return InputStep{input, std::max(0.0, after) / std::max(before, 1e-30), fit.standard_errors};
}

}  // namespace

std::vector<VoltageStep> find_voltage_steps(const std::vector<std::string>& files,
                                            const SequenceOptions& options,
                                            const std::stop_token& stop, double standard_errors) {
  if (files.size() < 2) return {};
  const VoltageSequence sequence(files, options);
  const core::VoltageDescription& description = sequence.description();
  const std::size_t values = description.inputs() * description.channels;
  const std::size_t wanted = kMostSamples / core::kStepBlocks;  // of a block
  std::vector<VoltageStep> steps;
  for (const VoltageJoin& join : sequence.joins()) {
    if (stop.stop_requested()) break;
    const std::uint64_t side =
        std::min(join.before_end - join.before_first, join.after_end) / core::kStepSide;
    const auto times = static_cast<std::size_t>(
        std::min<std::uint64_t>(side, std::clamp(wanted / values, kLeastTimes, kMostTimes)));
    if (times < kLeastTimes) continue;
    const std::size_t channel_step =
        std::clamp<std::size_t>(values * times / wanted, 1, description.channels);
    std::vector<std::vector<double>> powers(description.inputs(),
                                            std::vector<double>(core::kStepBlocks, kUnknown));
    const auto before = formats::open_voltages(join.before, options.reader);
    measure(*before, join.before_end - core::kStepSide * times, times, channel_step, 0, powers);
    const auto after = formats::open_voltages(join.after, options.reader);
    measure(*after, 0, times, channel_step, core::kStepSide, powers);
    VoltageStep found{join.sample, join.before, join.after, {}};
    for (std::size_t i = 0; i < powers.size(); ++i)
      if (const auto step = step_of(i, powers[i], standard_errors)) found.inputs.push_back(*step);
    if (!found.inputs.empty()) steps.push_back(std::move(found));
  }
  return steps;
}

}  // namespace tautline::stream
