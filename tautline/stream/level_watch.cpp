#include "tautline/stream/level_watch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "tautline/core/half.h"
#include "tautline/core/integers.h"
#include "tautline/core/sample_decode.h"
#include "tautline/core/threads.h"
#include "tautline/core/validity.h"
#include "tautline/stream/steps_inside.h"

namespace tautline::stream {

namespace {

// Samples of all inputs that are looked at in a stream of known length, unless that is more than one time in 256: a few
// milliseconds of one core.
constexpr std::uint64_t kWanted = std::uint64_t{1} << 22;
constexpr std::uint64_t kMostApart = 256, kApartOfUnknown = 64;  // runs
// Of channels that make more samples a time, some are left out.
constexpr std::size_t kMostOfATime = std::size_t{1} << 14;
// Mean powers that are kept of a segment, of all inputs about; then each two of an input become one.
constexpr std::size_t kPowers = std::size_t{1} << 21, kLeastPieces = 64, kMostPieces = 1024;

// Rises of half of the inputs that return sooner are pulses or interference.
constexpr double kPulse_s = 1.5;
constexpr double kReturns = 0.25;  // of the rise, in decibels, may stay

constexpr int kLeastBits = 4, kLeastEnd = 7;  // of samples whose ends are looked at

// Inputs whose samples are read together where a time's are side by side.
constexpr std::size_t kTogether = 32;

// Bytes of a thread, some 50 us, and threads: where there are many channels, all that is looked at lies in one of a
// dozen blocks.
constexpr std::size_t kBytesOfThread = std::size_t{32} << 10, kMostLooking = 8;

struct OneStep {
  std::uint64_t sample = 0, within = 0;
  InputStep step;
};

// Two steps of one input, up and down again.
struct Rise {
  std::size_t up = 0, down = 0;  // numbers of steps
};

// Leaves out rises of half of the inputs at once that are back within `most` times. `steps`: of each input in order of
// time.
void leave_out_pulses(std::vector<OneStep>& steps, std::size_t inputs, double most) {
  std::vector<Rise> rises;
  for (std::size_t k = 0; k + 1 < steps.size(); ++k) {
    const OneStep &a = steps[k], &b = steps[k + 1];
    const double up = std::log(a.step.power_ratio), down = std::log(b.step.power_ratio);
    if (a.step.input == b.step.input && up > 0 && std::abs(up + down) < kReturns * up &&
        static_cast<double>(b.sample - a.sample) < most)
      rises.push_back({k, k + 1});
  }
  std::ranges::sort(rises, {}, [&](const Rise& rise) { return steps[rise.up].sample; });
  std::vector<char> left_out(steps.size());
  for (std::size_t first = 0, k = 0; k < rises.size(); first = k) {
    std::vector<char> of_inputs(inputs);
    std::uint64_t end = steps[rises[k].down].sample;
    for (; k < rises.size() && steps[rises[k].up].sample <= end; ++k) {
      end = std::max(end, steps[rises[k].down].sample);
      of_inputs[steps[rises[k].up].step.input] = 1;
    }
    if (2 * static_cast<std::size_t>(std::ranges::count(of_inputs, 1)) < inputs) continue;
    for (std::size_t r = first; r < k; ++r) left_out[rises[r].up] = left_out[rises[r].down] = 1;
  }
  std::size_t kept = 0;
  for (std::size_t k = 0; k < steps.size(); ++k)
    if (left_out[k] == 0) steps[kept++] = steps[k];
  steps.resize(kept);
}

// Adds the components of one input in a part of a run.
template <class Sum>
double add_components(RecordedLevel& level, const std::int16_t* values, std::size_t count,
                      bool has_ends) {
  int low = 0, high = 0;
  Sum squares = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const int value = values[k];
    low = std::min(low, value);
    high = std::max(high, value);
    squares += static_cast<Sum>(value) * value;
  }
  level.components += count;
  if (!has_ends) return static_cast<double>(squares);
  // The range may be that of fewer bits than a sample has: what came before was not at its ends.
  if (const int reach = std::max(high, -low - 1); reach > level.end) {
    level.end = static_cast<int>(std::bit_ceil(static_cast<unsigned>(reach) + 1)) - 1;
    level.at_ends = level.next_to_ends = 0;
  }
  if (std::max(high, -low) < level.end - 1) return static_cast<double>(squares);
  for (std::size_t k = 0; k < count; ++k) {
    const int size = std::abs(static_cast<int>(values[k]));
    level.at_ends += size >= level.end ? 1 : 0;
    level.next_to_ends += size == level.end - 1 ? 1 : 0;
  }
  return static_cast<double>(squares);
}

// `values`: real and imaginary parts in turns.
void compare_parts(RecordedLevel& level, const std::int16_t* values, std::size_t count) {
  if (count == 0) return;
  if (level.components == 0) level.first = {values[0], values[1]};
  int real = 0, imaginary = 0;
  for (std::size_t k = 0; k < count; k += 2) {
    real |= values[k] ^ level.first[0];
    imaginary |= values[k + 1] ^ level.first[1];
  }
  level.differ[0] |= real;
  level.differ[1] |= imaginary;
}

// Of other samples of the input. None that was below the ends of a smaller range is at those of the larger one.
void add(RecordedLevel& level, const RecordedLevel& other) {
  if (level.components == 0) level.first = other.first;
  for (std::size_t part = 0; part < 2 && other.components > 0; ++part)
    level.differ[part] |= other.differ[part] | (level.first[part] ^ other.first[part]);
  level.components += other.components;
  if (other.end > level.end) {
    level.end = other.end;
    level.at_ends = level.next_to_ends = 0;
  }
  if (other.end < level.end) return;
  level.at_ends += other.at_ends;
  level.next_to_ends += other.next_to_ends;
}

std::size_t first_bit_of(const core::RawLayout& layout, std::size_t input) {
  return layout.offset_bits + input / layout.polarisations * layout.antenna_stride_bits +
         input % layout.polarisations * layout.polarisation_stride_bits;
}

}  // namespace

LevelWatch::LevelWatch(const core::VoltageDescription& description, std::uint64_t total)
    : description_(description),
      inputs_(description.inputs()),
      squares_(description.inputs()),
      of_run_(description.inputs()),
      of_piece_(description.inputs()) {
  const std::size_t inputs = description.inputs();
  channel_step_ = std::clamp<std::size_t>(inputs * description.channels / kMostOfATime, 1,
                                          description.channels);
  const std::uint64_t of_a_time = inputs * core::divide_up(description.channels, channel_step_);
  every_ = total == 0 ? kApartOfUnknown
                      : std::clamp<std::uint64_t>(
                            static_cast<std::uint64_t>(static_cast<double>(total) *
                                                       static_cast<double>(of_a_time) / kWanted),
                            1, kMostApart);
  most_pieces_ = std::clamp(std::bit_floor(kPowers / inputs), kLeastPieces, kMostPieces);
  if (!description.format.is_float() && description.format.bits >= kLeastBits)
    for (RecordedLevel& one : inputs_) one.end = kLeastEnd;
}

void LevelWatch::begin_segment(std::uint64_t number, const core::Instant& start) {
  if (segment_) add_steps(steps_);
  segment_ = Segment{number, times_, start, 0, 0, 1, {}};
  segment_->pieces.resize(inputs_.size());
  std::ranges::fill(of_run_, Power());
  std::ranges::fill(of_piece_, Power());
}

void LevelWatch::look(const core::RawBlock& block, std::uint64_t segment,
                      const core::Instant& segment_start) {
  if (!segment_ || segment_->number != segment) begin_segment(segment, segment_start);
  const core::SampleFormat format = block.layout.format;
  if (format.bits > 1) {
    find_parts(block.samples);
    find_valid(block);
  } else {
    parts_.clear();
  }
  look_at_parts(block);
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const auto powers =
        looked_.front().powers.begin() + static_cast<std::ptrdiff_t>(k * inputs_.size());
    std::copy_n(powers, inputs_.size(), of_run_.begin());
    looked_at_ += parts_[k].times;
    if (parts_[k].ends) end_run();
  }
  segment_->times += block.samples;
  times_ += block.samples;
}

// Threads look at channels of parts; what they find of integers does not depend on their number.
void LevelWatch::look_at_parts(const core::RawBlock& block) {
  if (parts_.empty()) return;
  const core::RawLayout& layout = block.layout;
  const core::SampleFormat format = layout.format;
  const std::size_t inputs = inputs_.size(),
                    channels = core::divide_up(layout.channels, channel_step_),
                    bytes = parts_.size() * kRun * inputs * channels *
                            static_cast<std::size_t>(format.bits_per_sample()) / 8;
  const std::size_t pieces =
      format.is_float() ? 1 : std::clamp<std::size_t>(bytes / kBytesOfThread, 1, kMostLooking);
  looked_.resize(std::min(pieces, parts_.size() * channels));
  core::in_pieces(parts_.size() * channels, looked_.size(),
                  [&](std::size_t piece, std::size_t first, std::size_t end) {
                    Looked& looked = looked_[piece];
                    looked.powers.assign(parts_.size() * inputs, Power());
                    if (piece == 0) {  // goes on where the block before ended
                      std::ranges::copy(of_run_, looked.powers.begin());
                      looked.squares = squares_;
                      looked.levels = inputs_;
                    } else {
                      looked.squares.assign(inputs, 0);
                      looked.levels.resize(inputs);
                      for (std::size_t i = 0; i < inputs; ++i)
                        looked.levels[i] = {.end = inputs_[i].end};
                    }
                    for (std::size_t k = first / channels; k * channels < end; ++k)
                      look_at_channels(block, k, first > k * channels ? first - k * channels : 0,
                                       std::min(end - k * channels, channels), looked);
                  });
  Looked& all = looked_.front();
  for (const Looked& one : std::span(looked_).subspan(1)) {
    for (std::size_t k = 0; k < all.powers.size(); ++k) all.powers[k].add(one.powers[k]);
    for (std::size_t i = 0; i < inputs; ++i) {
      all.squares[i] += one.squares[i];
      add(all.levels[i], one.levels[i]);
    }
  }
  squares_ = all.squares;
  inputs_ = all.levels;
}

// With a format that the compiler knows, decoding is a few instructions.
void LevelWatch::look_at_channels(const core::RawBlock& block, std::size_t part, std::size_t first,
                                  std::size_t end, Looked& looked) const {
  const core::SampleFormat format = block.layout.format;
  first *= channel_step_;
  end = std::min(end * channel_step_, block.layout.channels);
  const auto look_with = [&](auto component) {
    look_at(block, part, first, end, component, looked);
  };
  if (format.is_float())
    look_at_floats(block, part, looked);
  else if (format.bits == 8 && format.encoding == core::Encoding::twos_complement)
    look_with([](const std::byte* bytes, std::size_t bit) {
      return core::decode_integer(bytes, bit, core::kI8);
    });
  else if (format.bits == 4 && format.encoding == core::Encoding::twos_complement)
    look_with([](const std::byte* bytes, std::size_t bit) {
      return core::decode_integer(bytes, bit, core::kCi4);
    });
  else
    look_with([format](const std::byte* bytes, std::size_t bit) {
      return core::decode_integer(bytes, bit, format);
    });
}

// The runs' parts in a block that begins where the segment has come to.
void LevelWatch::find_parts(std::size_t times) {
  parts_.clear();
  const std::uint64_t cycle = kRun * every_, begin = segment_->times % cycle;
  std::size_t t = begin < kRun ? 0 : static_cast<std::size_t>(cycle - begin);
  std::size_t left = begin < kRun ? static_cast<std::size_t>(kRun - begin) : kRun;
  while (t < times) {
    const std::size_t some = std::min(left, times - t);
    parts_.push_back({t, some, some == left});
    t += left + static_cast<std::size_t>(cycle) - kRun;
    left = kRun;
  }
}

void LevelWatch::find_valid(const core::RawBlock& block) {
  valid_.clear();
  if (block.invalid.empty() || parts_.empty()) return;
  const std::size_t inputs = inputs_.size();
  valid_.resize(parts_.size() * inputs, ~std::uint64_t{0});
  for (const core::InvalidSpan& span : block.invalid) {
    const std::size_t end =
        span.samples > block.samples ? block.samples : span.first_sample + span.samples;
    auto part = std::ranges::partition_point(
        parts_, [&](const Part& one) { return one.first + one.times <= span.first_sample; });
    for (; part != parts_.end() && part->first < end; ++part) {
      const std::size_t from = std::max(part->first, span.first_sample) - part->first,
                        to = std::min(part->first + part->times, end) - part->first;
      const std::uint64_t lost = core::low_bits(to) & ~core::low_bits(from);
      std::uint64_t* words = &valid_[static_cast<std::size_t>(part - parts_.begin()) * inputs];
      if (span.input != core::InvalidSpan::kAllInputs)
        words[span.input] &= ~lost;
      else
        for (std::size_t i = 0; i < inputs; ++i) words[i] &= ~lost;
    }
  }
}

template <class Component>
void LevelWatch::look_at(const core::RawBlock& block, std::size_t number, std::size_t begin,
                         std::size_t end, const Component& component, Looked& looked) const {
  const core::RawLayout& layout = block.layout;
  const Part& part = parts_[number];
  const std::uint64_t* valid = valid_of(number);
  Power* powers = &looked.powers[number * inputs_.size()];
  const auto bits = static_cast<std::size_t>(layout.format.bits);
  const std::size_t parts = layout.format.complex ? 2 : 1, inputs = inputs_.size();
  const std::byte* bytes = block.bytes.data();
  const bool has_ends = layout.format.bits >= kLeastBits, small = bits <= 8;
  std::array<std::array<std::int16_t, 2 * kRun>, kTogether> values;
  // A time's samples together, where they are closer than an input's.
  const bool by_time = layout.time_stride_bits >=
                       std::max(layout.antenna_stride_bits, layout.polarisation_stride_bits);
  const std::size_t together = by_time ? kTogether : 1;
  for (std::size_t c = begin; c < end; c += channel_step_) {
    const bool fetches = by_time && c + channel_step_ < end;
    for (std::size_t first = 0; first < inputs; first += together) {
      const std::size_t some = std::min(together, inputs - first);
      std::array<std::size_t, kTogether> bit_of{}, counts{};
      for (std::size_t i = 0; i < some; ++i) bit_of[i] = first_bit_of(layout, first + i);
      for (std::size_t t = 0; t < part.times; ++t) {
        const std::size_t at =
            (part.first + t) * layout.time_stride_bits + c * layout.channel_stride_bits;
        // The times are far apart where there are many channels: the next channel's samples are fetched meanwhile.
        if (fetches)
          __builtin_prefetch(bytes +
                             (bit_of[0] + at + channel_step_ * layout.channel_stride_bits) / 8);
        for (std::size_t i = 0; i < some; ++i) {
          if (valid != nullptr && (valid[first + i] >> t & 1) == 0) continue;
          std::int16_t* to = values[i].data() + counts[i];
          for (std::size_t p = 0; p < parts; ++p)
            to[p] = static_cast<std::int16_t>(component(bytes, bit_of[i] + at + p * bits));
          counts[i] += parts;
        }
      }
      for (std::size_t i = 0; i < some; ++i) {
        RecordedLevel& level = looked.levels[first + i];
        if (parts == 2) compare_parts(level, values[i].data(), counts[i]);
        const double squares =
            small ? add_components<std::int32_t>(level, values[i].data(), counts[i], has_ends)
                  : add_components<std::int64_t>(level, values[i].data(), counts[i], has_ends);
        powers[first + i].add({squares, counts[i] / parts});
        looked.squares[first + i] += squares;
      }
    }
  }
}

void LevelWatch::look_at_floats(const core::RawBlock& block, std::size_t number,
                                Looked& looked) const {
  const core::RawLayout& layout = block.layout;
  const Part& part = parts_[number];
  const std::uint64_t* valid = valid_of(number);
  Power* powers = &looked.powers[number * inputs_.size()];
  const auto bits = static_cast<std::size_t>(layout.format.bits);
  const std::byte* bytes = block.bytes.data();
  const auto component = [&](std::size_t bit) {
    if (bits == 32) return core::decode_float(bytes, bit);
    core::Half half;
    std::memcpy(&half.bits, bytes + bit / 8, sizeof half.bits);
    return core::to_float(half);
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    for (std::size_t c = 0; c < layout.channels; c += channel_step_)
      for (std::size_t t = 0; t < part.times; ++t) {
        if (valid != nullptr && (valid[i] >> t & 1) == 0) continue;
        const std::size_t bit = first_bit_of(layout, i) +
                                (part.first + t) * layout.time_stride_bits +
                                c * layout.channel_stride_bits;
        const double re = component(bit), im = layout.format.complex ? component(bit + bits) : 0;
        const double square = re * re + im * im;
        if (!std::isfinite(square)) continue;
        looked.levels[i].components += layout.format.complex ? 2 : 1;
        powers[i].add({square, 1});
        looked.squares[i] += square;
      }
}

// Pieces are of as many runs as give `most_pieces_` at most.
void LevelWatch::end_run() {
  Segment& segment = *segment_;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    of_piece_[i].add(of_run_[i]);
    of_run_[i] = {};
  }
  if (++segment.runs < segment.runs_of_piece) return;
  const std::uint64_t samples =
      segment.runs * kRun * core::divide_up(description_.channels, channel_step_);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Power& power = of_piece_[i];
    segment.pieces[i].push_back(
        2 * power.samples < samples
            ? std::numeric_limits<float>::quiet_NaN()
            : static_cast<float>(power.sum / static_cast<double>(power.samples)));
    of_piece_[i] = {};
  }
  segment.runs = 0;
  if (segment.pieces.front().size() < most_pieces_) return;
  segment.runs_of_piece *= 2;
  for (std::vector<float>& pieces : segment.pieces) {
    for (std::size_t k = 0; 2 * k < pieces.size(); ++k) {
      const float a = pieces[2 * k], b = pieces[2 * k + 1];
      pieces[k] = std::isnan(a) ? b : std::isnan(b) ? a : (a + b) / 2;
    }
    pieces.resize(pieces.size() / 2);
  }
}

void LevelWatch::add_steps(std::vector<VoltageStep>& steps) const {
  const Segment& segment = *segment_;
  const double rate_hz = description_.rate_hz.value();
  const auto piece = static_cast<double>(kRun * every_ * segment.runs_of_piece);
  std::vector<OneStep> found;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    for (const StepInside& one : find_steps_inside(segment.pieces[i]))
      found.push_back({segment.first + static_cast<std::uint64_t>(one.place * piece),
                       static_cast<std::uint64_t>(std::ceil(one.within * piece)),
                       {i, one.power_ratio, one.standard_errors}});
  leave_out_pulses(found, inputs_.size(), kPulse_s * rate_hz);
  std::ranges::sort(found, {}, &OneStep::sample);
  // Steps of several inputs at one time; the clearest tells it.
  for (std::size_t first = 0, k = 0; k < found.size(); first = k) {
    VoltageStep step;
    std::size_t clearest = first;
    for (; k < found.size() &&
           found[k].sample - found[first].sample <= std::max(found[k].within, found[first].within);
         ++k) {
      step.inputs.push_back(found[k].step);
      if (found[k].within < found[clearest].within) clearest = k;
    }
    step.sample = found[clearest].sample;
    step.within_samples = found[clearest].within;
    step.time_s = core::seconds_between(description_.start, segment.start) +
                  static_cast<double>(step.sample - segment.first) / rate_hz;
    std::ranges::sort(step.inputs, {}, &InputStep::input);
    steps.push_back(std::move(step));
  }
}

std::vector<VoltageStep> LevelWatch::steps() const {
  std::vector<VoltageStep> steps = steps_;
  if (segment_) add_steps(steps);
  return steps;
}

RecordedLevels LevelWatch::levels() const {
  RecordedLevels levels;
  levels.inputs = inputs_;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (const std::uint64_t components = inputs_[i].components; components > 0)
      levels.inputs[i].rms = std::sqrt(squares_[i] / static_cast<double>(components));
  levels.part =
      times_ > 0 ? static_cast<double>(looked_at_) / static_cast<double>(times_) *
                       static_cast<double>(core::divide_up(description_.channels, channel_step_)) /
                       static_cast<double>(description_.channels)
                 : 0;
  return levels;
}

}  // namespace tautline::stream
