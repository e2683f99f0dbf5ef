#include "tautline/stages/dedisperse/clean.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tautline/core/integers.h"

namespace tautline::stages::dedisperse {

// Up to kCornerTurnTimes times of one beam.
struct Cleaner::Strip {
  const Input* input;
  const Rows* rows;
  std::size_t beam, first, count;  ///< times of the input
  std::size_t element, phase;      ///< where the first one goes
};

namespace {

constexpr std::size_t kTaskStrips = 2;  // of the parallel loop: half a thousand times, microseconds

std::size_t sample_bytes_of(const Config& config) {
  return config.bits == 32 ? 4 : config.bits == 16 ? 2 : 1;
}

std::size_t padded(std::size_t channels) {
  return core::round_up(channels, 64);
}

// Samples of 1, 2 or 4 bits to bytes.
void unpack_bits(const std::uint8_t* from, std::size_t samples, int bits, std::uint8_t* to) {
  const std::size_t per_byte = 8 / static_cast<std::size_t>(bits);
  const unsigned mask = (1u << bits) - 1;
  std::size_t k = 0;
  for (; k + per_byte <= samples; k += per_byte, ++from) {
    const unsigned byte = *from;
    for (std::size_t n = 0; n < per_byte; ++n)
      to[k + n] = static_cast<std::uint8_t>(byte >> (n * static_cast<unsigned>(bits)) & mask);
  }
  for (std::size_t n = 0; k < samples; ++k, ++n)
    to[k] = static_cast<std::uint8_t>(*from >> (n * static_cast<unsigned>(bits)) & mask);
}

template <class Sample>
std::uint64_t scrub(Sample* values, std::size_t count) {
  std::uint64_t bad = 0;
  if constexpr (std::is_same_v<Sample, float>) {
    for (std::size_t t = 0; t < count; ++t) {
      const bool finite = std::isfinite(values[t]);
      bad += finite ? 0 : 1;
      values[t] = finite ? values[t] : 0.0f;
    }
  }
  return bad;
}

// A part at a time: rounding of floats is that of these parts, however long the strips are.
constexpr std::size_t kMeasuredTimes = 64;
// Integers are summed as integers: of so many bytes 32 bits hold the sum of squares.
template <class Sample>
void measure(const Sample* values, std::size_t count, double bias, Moments& moments) {
  using Sum = std::conditional_t<
      std::is_same_v<Sample, float>, double,
      std::conditional_t<std::is_same_v<Sample, std::uint8_t>, std::int32_t, std::int64_t>>;
  const auto level = static_cast<Sum>(bias);
  for (std::size_t first = 0; first < count; first += kMeasuredTimes) {
    const std::size_t end = std::min(count, first + kMeasuredTimes);
    Sum sum = 0, squares = 0;
    for (std::size_t t = first; t < end; ++t) {
      const Sum x = static_cast<Sum>(values[t]) - level;
      sum += x, squares += x * x;
    }
    moments.count += static_cast<double>(end - first);
    moments.sum += static_cast<double>(sum);
    moments.sum_of_squares += static_cast<double>(squares);
  }
}

}  // namespace

std::size_t Cleaner::Work::scratch_bytes(const DelayPlan& plan) {
  const std::size_t channels = padded(plan.channels());
  const std::size_t bytes = sample_bytes_of(plan.config());
  // Unpacked spectra, corner-turned rows, a row that takes what is ignored, and pointers.
  return 2 * kCornerTurnTimes * channels * bytes + kCornerTurnTimes * 8 +
         channels * sizeof(std::byte*);
}

std::size_t Cleaner::Work::bytes(const DelayPlan& plan, std::size_t workers) {
  const std::size_t moments =
      plan.config().measure_channels ? plan.config().beams * plan.channels() * sizeof(Moments) : 0;
  return workers * (scratch_bytes(plan) + moments);
}

Cleaner::Work::Work(const DelayPlan& plan, std::size_t workers) {
  for (std::size_t w = 0; w < workers; ++w) {
    scratch_.emplace_back(scratch_bytes(plan));
    moments_.emplace_back(plan.config().measure_channels ? plan.config().beams * plan.channels()
                                                         : 0);
  }
}

void Cleaner::Work::reset_moments() {
  for (auto& own : moments_) std::fill(own.begin(), own.end(), Moments{});
}

std::vector<Moments> Cleaner::Work::moments() const {
  std::vector<Moments> total = moments_[0];
  for (std::size_t w = 1; w < moments_.size(); ++w)
    for (std::size_t k = 0; k < total.size(); ++k) {
      total[k].count += moments_[w][k].count;
      total[k].sum += moments_[w][k].sum;
      total[k].sum_of_squares += moments_[w][k].sum_of_squares;
    }
  return total;
}

void Cleaner::Work::set_moments(const std::vector<Moments>& moments) {
  reset_moments();
  if (moments.size() == moments_[0].size()) moments_[0] = moments;
}

Cleaner::Cleaner(std::shared_ptr<const DelayPlan> plan, Types types, device::InstructionSet set)
    : plan_(std::move(plan)),
      sample_bytes_(sample_bytes_of(plan_->config())),
      element_bytes_(kernels_for(set, types).row_bytes),
      whole_(types == Types::i32_i32),
      corner_turn_(corner_turn_for(set, sample_bytes_)),
      position_of_(plan_->channels(), plan_->positions()) {
  for (std::size_t p = 0; p < plan_->positions(); ++p) position_of_[plan_->channel_at()[p]] = p;
}

// Whether corner-turned samples are what rows hold.
bool Cleaner::direct() const {
  const Config& config = plan_->config();
  return config.bits != 32 && !config.signed_samples && !config.zero_dm &&
         !config.measure_channels && config.downsample == 1 && element_bytes_ == sample_bytes_;
}

std::uint64_t Cleaner::take(device::Queue& queue, Work& work, const Input& given, const Rows& rows,
                            std::size_t first, std::size_t phase) const {
  const Input input = with_strides(plan_->config(), given);
  if (input.count == 0) return 0;
  // A task begins where an element does, so that no two of them add to one.
  const std::size_t n = plan_->config().downsample;
  const std::size_t task_times = kTaskStrips * kCornerTurnTimes * n;
  const std::size_t tasks = (phase + input.count + task_times - 1) / task_times;
  std::atomic<std::uint64_t> bad = 0;
  queue.parallel_for(
      plan_->config().beams * tasks, 1,
      [&](std::size_t first_task, std::size_t last_task, std::size_t worker) {
        for (std::size_t task = first_task; task < last_task; ++task) {
          const std::size_t begin = task % tasks * task_times;  // counted with the phase
          const std::size_t end = std::min(begin + task_times, phase + input.count);
          for (std::size_t at = std::max(begin, phase); at < end;) {
            const std::size_t count = std::min(kCornerTurnTimes, end - at);
            bad += take_strip(
                work, worker,
                {&input, &rows, task / tasks, at - phase, count, first + at / n, at % n});
            at += count;
          }
        }
      });
  return bad;
}

// The strip's spectra as whole elements, and the bytes between two of them.
const std::byte* Cleaner::unpack(const Strip& strip, std::byte* to, std::size_t* stride) const {
  const Config& config = plan_->config();
  const std::size_t channels = plan_->channels();
  const auto* from = static_cast<const std::byte*>(strip.input->data) +
                     strip.beam * strip.input->beam_stride_bytes +
                     strip.first * strip.input->stride_bytes;
  if (config.bits >= 8 && strip.count == kCornerTurnTimes) {
    *stride = strip.input->stride_bytes;
    return from;
  }
  *stride = padded(channels) * sample_bytes_;
  for (std::size_t t = 0; t < strip.count; ++t, from += strip.input->stride_bytes) {
    std::byte* line = to + t * *stride;
    if (config.bits >= 8) {
      std::memcpy(line, from, channels * sample_bytes_);
    } else {
      unpack_bits(reinterpret_cast<const std::uint8_t*>(from), channels, config.bits,
                  reinterpret_cast<std::uint8_t*>(line));
    }
  }
  return to;
}

std::uint64_t Cleaner::take_strip(Work& work, std::size_t worker, const Strip& strip) const {
  const std::size_t channels = plan_->channels();
  const std::size_t room = kCornerTurnTimes * padded(channels) * sample_bytes_;
  auto* unpacked = work.scratch_[worker].as<std::byte>();
  std::byte* corner_turned = unpacked + room;
  std::byte* ignored = corner_turned + room;
  auto* out = reinterpret_cast<std::byte**>(ignored + kCornerTurnTimes * 8);
  const std::size_t beam_row = strip.beam * plan_->positions();
  const bool straight = direct();

  const auto target = [&](std::size_t c) {
    if (!straight || strip.count < kCornerTurnTimes)
      return corner_turned + c * kCornerTurnTimes * sample_bytes_;
    return position_of_[c] == plan_->positions()
               ? ignored
               : strip.rows->at(beam_row + position_of_[c], strip.element);
  };
  if (strip.input->layout == Input::Layout::spectra) {
    std::size_t stride = 0;
    const std::byte* spectra = unpack(strip, unpacked, &stride);
    for (std::size_t c = 0; c < channels; ++c) out[c] = target(c);
    corner_turn_(spectra, stride, channels, out);
    if (straight && strip.count == kCornerTurnTimes) return 0;
  } else {
    const auto* from = static_cast<const std::byte*>(strip.input->data) +
                       strip.beam * strip.input->beam_stride_bytes + strip.first * sample_bytes_;
    for (std::size_t c = 0; c < channels; ++c) {
      out[c] = corner_turned + c * kCornerTurnTimes * sample_bytes_;
      std::memcpy(out[c], from + c * strip.input->stride_bytes, strip.count * sample_bytes_);
    }
  }
  if (sample_bytes_ == 1) return finish<std::uint8_t>(work, worker, strip, out);
  if (sample_bytes_ == 2) return finish<std::uint16_t>(work, worker, strip, out);
  return finish<float>(work, worker, strip, out);
}

template <class Sample>
std::uint64_t Cleaner::finish(Work& work, std::size_t worker, const Strip& strip,
                              const std::byte* const* channels) const {
  const Config& config = plan_->config();
  const std::size_t count = plan_->channels();
  // Signed samples become unsigned by turning their top bit over.
  const double bias = config.signed_samples ? static_cast<double>(1u << (config.bits - 1)) : 0;
  std::uint64_t bad = 0;
  alignas(64) std::array<double, kCornerTurnTimes> sums{};  // at each time; then their means
  for (std::size_t c = 0; c < count; ++c) {
    auto* values = const_cast<Sample*>(reinterpret_cast<const Sample*>(channels[c]));
    if constexpr (!std::is_same_v<Sample, float>) {
      if (config.signed_samples)
        for (std::size_t t = 0; t < kCornerTurnTimes; ++t)
          values[t] = static_cast<Sample>(values[t] ^ (1u << (config.bits - 1)));
    }
    bad += scrub(values, strip.count);
    if (config.measure_channels)
      measure(values, strip.count, bias, work.moments_[worker][strip.beam * count + c]);
    if (config.zero_dm && position_of_[c] < plan_->positions())
      for (std::size_t t = 0; t < strip.count; ++t) sums[t] += static_cast<double>(values[t]);
  }
  alignas(64) std::array<std::int32_t, kCornerTurnTimes> whole_sums{};
  for (std::size_t t = 0; whole_ && t < strip.count; ++t)
    whole_sums[t] = static_cast<std::int32_t>(sums[t]);
  const auto positions = static_cast<std::int32_t>(plan_->positions());
  for (double& sum : sums) sum /= static_cast<double>(positions);
  for (std::size_t c = 0; c < count; ++c) {
    const std::size_t position = position_of_[c];
    if (position == plan_->positions()) continue;
    const auto* values = reinterpret_cast<const Sample*>(channels[c]);
    if (whole_) {
      put<std::int32_t>(strip, position, [&](std::size_t t) {
        return positions * static_cast<std::int32_t>(values[t]) - whole_sums[t];
      });
    } else if (plan_->float_sums()) {
      put<float>(strip, position, [&](std::size_t t) {
        return static_cast<float>(static_cast<double>(values[t]) - sums[t]);
      });
    } else if (element_bytes_ == 1) {
      put<std::uint8_t>(strip, position, [&](std::size_t t) { return values[t]; });
    } else {
      put<std::uint16_t>(strip, position, [&](std::size_t t) { return values[t]; });
    }
  }
  return bad;
}

// Into a row, or added to what neighbouring times have put there.
template <class Element, class Value>
void Cleaner::put(const Strip& strip, std::size_t position, const Value& value) const {
  const std::size_t n = plan_->config().downsample;
  auto* row = reinterpret_cast<Element*>(
      strip.rows->at(strip.beam * plan_->positions() + position, strip.element));
  if (n == 1) {
    for (std::size_t t = 0; t < strip.count; ++t) row[t] = static_cast<Element>(value(t));
    return;
  }
  std::size_t phase = strip.phase;
  for (std::size_t t = 0; t < strip.count; ++t) {
    *row = static_cast<Element>(phase == 0 ? value(t) : *row + value(t));
    if (++phase == n) phase = 0, ++row;
  }
}

}  // namespace tautline::stages::dedisperse
