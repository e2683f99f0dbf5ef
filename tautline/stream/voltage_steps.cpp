#include "tautline/stream/voltage_steps.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "tautline/core/half.h"
#include "tautline/core/sample_decode.h"
#include "tautline/stream/empty_voltages.h"

namespace tautline::stream {

namespace {

constexpr std::size_t kMostTimes = 16384, kLeastTimes = 64;  // of a block
// Samples of all inputs that are compared on both sides of a join, about: a tenth of a second of one core.
constexpr std::size_t kMostSamples = std::size_t{1} << 23;

// Where there are empty stretches near a join, so many times as much is looked at on either side.
constexpr std::uint64_t kPaddedReach = 4;

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

// Times of one file, in order.
struct Times {
  std::uint64_t first = 0, count = 0;
  friend auto operator<=>(const Times&, const Times&) = default;
};

// What an input has on either side of a join, without empty stretches.
struct Surroundings {
  std::vector<Times> before, after;
  std::uint64_t step =
      0;  // where it may be, in times of `after`: behind an empty stretch that has the join inside
  friend auto operator<=>(const Surroundings&, const Surroundings&) = default;
};

std::uint64_t length_of(const std::vector<Times>& pieces) {
  std::uint64_t length = 0;
  for (const Times& piece : pieces) length += piece.count;
  return length;
}

// A file that is read from place to place: readers go to one place alone.
class PlacedReader {
 public:
  PlacedReader(std::string file, const formats::ReaderOptions& options)
      : file_(std::move(file)), options_(options) {}

  std::size_t read(std::uint64_t first, std::size_t times, core::RawBlock& block) {
    if (!reader_ || first != at_) {
      reader_ = formats::open_voltages(file_, options_);
      if (first > 0) reader_->seek(first);
    }
    const std::size_t got = reader_->read(times, block);
    at_ = first + got;
    return got;
  }

 private:
  std::string file_;
  const formats::ReaderOptions& options_;
  std::unique_ptr<formats::VoltageReader> reader_;
  std::uint64_t at_ = 0;
};

// The two files of a join.
struct JoinedFiles {
  JoinedFiles(const VoltageJoin& where, const formats::ReaderOptions& options)
      : join(where), before(where.before, options), after(where.after, options) {}
  const VoltageJoin& join;
  PlacedReader before, after;
};

// Empty stretches within `reach` times of the join; counted from the first of these.
EmptyVoltages stretches_around(JoinedFiles& files, const core::VoltageDescription& description,
                               std::uint64_t low, std::uint64_t high, std::size_t least_piece) {
  EmptyVoltageFinder finder(description);
  const std::size_t piece = std::max(least_piece, finder.least_repeats() + 1);
  core::RawBlock blocks[2];
  std::size_t now = 0;
  bool follows_on = false;
  const auto look_through = [&](PlacedReader& reader, std::uint64_t first, std::uint64_t end) {
    while (first < end) {
      core::RawBlock& block = blocks[now];
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(piece, end - first));
      block.samples = reader.read(first, wanted, block);
      if (block.samples == 0) return;
      finder.look(block, follows_on ? &blocks[1 - now] : nullptr);
      first += block.samples;
      now = 1 - now;
      follows_on = true;
    }
  };
  look_through(files.before, low, files.join.before_end);
  look_through(files.after, 0, high);
  return finder.found();
}

// The inputs that have the same surroundings within `reach` times of the join.
std::map<Surroundings, std::vector<std::size_t>> look_around(
    JoinedFiles& files, const core::VoltageDescription& description, std::uint64_t reach,
    std::size_t least_piece) {
  const VoltageJoin& join = files.join;
  const std::uint64_t low =
      std::max(join.before_first, join.before_end - std::min(join.before_end, reach));
  const std::uint64_t high = std::min(join.after_end, reach), middle = join.before_end - low;
  std::vector<std::vector<Times>> empty(description.inputs());
  for (const EmptyInput& one : stretches_around(files, description, low, high, least_piece).list)
    empty[one.input].push_back({one.first_sample, one.samples});
  std::map<Surroundings, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < empty.size(); ++i) {
    std::ranges::sort(empty[i], {}, &Times::first);
    Surroundings around;
    const auto add = [&](std::uint64_t first, std::uint64_t end) {
      if (first < std::min(end, middle))
        around.before.push_back({low + first, std::min(end, middle) - first});
      if (std::max(first, middle) < end)
        around.after.push_back({std::max(first, middle) - middle, end - std::max(first, middle)});
    };
    std::uint64_t done = 0;
    for (const Times& stretch : empty[i]) {
      add(done, stretch.first);
      done = std::max(done, stretch.first + stretch.count);
      if (stretch.first < middle && done > middle) around.step = done - middle;
    }
    add(done, middle + high);
    groups[around].push_back(i);
  }
  return groups;
}

// Mean powers of blocks, [input][block]; NaN where less than half of a block is valid. Adds the blocks' mean times.
void measure(PlacedReader& reader, const std::vector<Times>& pieces, std::uint64_t skip,
             std::size_t times, const std::vector<std::size_t>& inputs, std::size_t channels,
             std::size_t channel_step, std::size_t first_block,
             std::vector<std::vector<double>>& powers, std::vector<double>& middles) {
  const std::size_t compared = (channels + channel_step - 1) / channel_step;
  auto piece = pieces.begin();
  for (; piece != pieces.end() && skip >= piece->count; ++piece) skip -= piece->count;
  core::RawBlock block;
  for (std::size_t k = 0; k < core::kStepSide; ++k) {
    std::vector<InputPower> of_inputs(inputs.size());
    for (std::size_t done = 0; done < times && piece != pieces.end();) {
      const std::size_t got = reader.read(
          piece->first + skip,
          static_cast<std::size_t>(std::min<std::uint64_t>(times - done, piece->count - skip)),
          block);
      if (got == 0) break;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        add_samples(block, inputs[i], channel_step, of_inputs[i]);
      middles[first_block + k] +=
          (static_cast<double>(piece->first + skip) + 0.5 * static_cast<double>(got)) *
          static_cast<double>(got) / static_cast<double>(times);
      done += got;
      skip += got;
      if (skip == piece->count) ++piece, skip = 0;
    }
    for (std::size_t i = 0; i < inputs.size(); ++i)
      powers[i][first_block + k] =
          2 * of_inputs[i].samples >= times * compared ? of_inputs[i].mean() : kUnknown;
  }
}

// None where the input does not step, its power is unknown, or it is constant on a side: that is an empty stretch.
std::optional<InputStep> step_of(std::size_t input, std::span<const double> powers,
                                 std::span<const double> middles, double standard_errors) {
  const auto changes = [](std::span<const double> side) {
    return std::any_of(side.begin(), side.end(), [&](double x) { return x != side.front(); });
  };
  if (!std::all_of(powers.begin(), powers.end(), [](double x) { return std::isfinite(x); }) ||
      !changes(powers.first(core::kStepSide)) || !changes(powers.last(core::kStepSide)))
    return {};
  const core::StepFit fit = core::fit_step(powers, middles);
  if (!(std::abs(fit.standard_errors) > standard_errors)) return {};
  const double before = fit.mean - fit.height / 2, after = fit.mean + fit.height / 2;
  return InputStep{input, std::max(0.0, after) / std::max(before, 1e-30), fit.standard_errors};
}

// The powers' part of a join's search: of how many times a block is, and which channels are compared.
struct Blocks {
  std::size_t times = 0, channel_step = 1;
};

// The inputs of a group that step.
std::vector<InputStep> steps_of(JoinedFiles& files, const core::VoltageDescription& description,
                                const Surroundings& around, const std::vector<std::size_t>& inputs,
                                Blocks blocks, double standard_errors) {
  const std::uint64_t before = length_of(around.before), after = length_of(around.after);
  blocks.times = static_cast<std::size_t>(
      std::min<std::uint64_t>(blocks.times, std::min(before, after) / core::kStepSide));
  if (blocks.times < kLeastTimes) return {};
  std::vector<std::vector<double>> powers(inputs.size(),
                                          std::vector<double>(core::kStepBlocks, kUnknown));
  std::vector<double> middles(core::kStepBlocks);
  measure(files.before, around.before, before - core::kStepSide * blocks.times, blocks.times,
          inputs, description.channels, blocks.channel_step, 0, powers, middles);
  measure(files.after, around.after, 0, blocks.times, inputs, description.channels,
          blocks.channel_step, core::kStepSide, powers, middles);
  for (std::size_t k = core::kStepSide; k < core::kStepBlocks; ++k)
    middles[k] += static_cast<double>(files.join.before_end);
  const bool padded = around.step > 0 || around.before.size() > 1 || around.after.size() > 1;
  std::vector<InputStep> steps;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (const auto step = step_of(
            inputs[i], powers[i],
            padded ? std::span<const double>(middles) : std::span<const double>(), standard_errors))
      steps.push_back(*step);
  return steps;
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
    const Blocks blocks{times,
                        std::clamp<std::size_t>(values * times / wanted, 1, description.channels)};
    JoinedFiles joined(join, options.reader);
    const std::uint64_t near = core::kStepSide * times;
    auto groups = look_around(joined, description, near, times);
    if (groups.size() > 1 || length_of(groups.begin()->first.before) < near ||
        length_of(groups.begin()->first.after) < near)
      groups = look_around(joined, description, kPaddedReach * near, times);
    std::map<std::uint64_t, VoltageStep> found;  // by the time of the step
    for (const auto& [around, inputs] : groups)
      for (const InputStep& step :
           steps_of(joined, description, around, inputs, blocks, standard_errors)) {
        const std::uint64_t sample = join.sample + around.step;
        auto& one = found.try_emplace(sample, VoltageStep{sample, join.before, join.after, {}})
                        .first->second;
        one.inputs.push_back(step);
      }
    for (auto& [sample, step] : found) {
      std::sort(step.inputs.begin(), step.inputs.end(),
                [](const InputStep& a, const InputStep& b) { return a.input < b.input; });
      steps.push_back(std::move(step));
    }
  }
  return steps;
}

}  // namespace tautline::stream
