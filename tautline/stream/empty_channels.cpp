#include "tautline/stream/empty_channels.h"

#include <algorithm>

#include "tautline/core/constant_run.h"
#include "tautline/core/next_bit.h"
#include "tautline/core/threads.h"
#include "tautline/stream/input_samples.h"

namespace tautline::stream {

namespace {

// Reading waits for memory: it is fetched while rows before are looked at. Of the next row it may be here already, where
// polarisations alternate.
constexpr std::size_t kFetchedRows = 2;

constexpr std::size_t kValuesOfThread = std::size_t{1} << 14;

void apply(const std::vector<core::InvalidSpan>& spans, std::size_t channels, std::size_t inputs,
           core::ValidityMask& mask) {
  for (const core::InvalidSpan& span : spans) {
    const bool all = span.input == core::InvalidSpan::kAllInputs;
    const std::size_t first = std::min(span.first_sample, mask.samples());
    const std::size_t count = std::min(span.samples, mask.samples() - first);
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t i = all ? 0 : span.input; i < (all ? inputs : span.input + 1); ++i)
        mask.set(c * inputs + i, first, count, false);
  }
}

}  // namespace

// One channel of one input in a block; times without valid samples are passed over.
class EmptyChannelFinder::Row {
 public:
  Row(const core::RawBlock& block, std::size_t channel, std::size_t input,
      const std::uint64_t* valid)
      : samples_(block, input), channel_(channel), end_(block.samples), valid_(valid) {}

  std::size_t end() const { return end_; }
  std::uint64_t value(std::size_t t) const { return samples_.value(t, channel_); }
  bool finite(std::uint64_t value) const { return samples_.finite(value); }
  void fetch(std::size_t t) const { samples_.fetch(t, channel_); }
  // The first valid time from `t` on, or end().
  std::size_t next(std::size_t t) const {
    return valid_ == nullptr ? std::min(t, end_) : core::next_bit(valid_, t, end_, true);
  }
  // The last valid time up to `t`; there is one.
  std::size_t last(std::size_t t) const {
    return valid_ == nullptr ? t : core::last_set_bit(valid_, t);
  }

 private:
  InputSamples samples_;
  std::size_t channel_, end_;
  const std::uint64_t* valid_;
};

EmptyChannelFinder::EmptyChannelFinder(const core::VoltageDescription& description,
                                       std::size_t threads)
    : inputs_(description.inputs()),
      channels_(description.channels),
      repeats_(core::repeats_of_nothing(
          kFewestBits, description.rate_hz.value() * static_cast<double>(inputs_ * channels_))),
      threads_(threads),
      open_(inputs_ * channels_),
      samples_(inputs_ * channels_),
      left_out_(inputs_ * channels_) {}

void EmptyChannelFinder::leave_out(std::size_t channel, std::size_t input) {
  left_out_[channel * inputs_ + input] = 1;
}

// A run of more than n samples that begins at t or later covers t + n or begins after it: where the samples before
// t + n that equal it do not reach t, the run begins behind the one that differs.
void EmptyChannelFinder::look_at(const Row& row, const Row& later, std::size_t number,
                                 Spans& empty) {
  OpenRun& open = open_[number];
  const auto follow = [&](std::size_t t) {
    std::size_t from = row.end(), end = t;
    for (; t < row.end() && row.value(t) == open.value; t = row.next(t + 1)) {
      if (open.samples >= repeats_)
        from = std::min(from, t);
      else
        ++open.samples;
      end = t + 1;
    }
    if (from < end && row.finite(open.value)) empty.push_back({number, from, end - from});
    return t;
  };
  std::size_t t = row.next(0);
  if (open.samples > 0) t = follow(t);
  while (t < row.end()) {
    const std::size_t far = row.last(std::min(t + repeats_, row.end() - 1));
    later.fetch(far);
    std::size_t first = far, count = 1;
    const std::uint64_t value = row.value(far);
    while (first > t) {
      const std::size_t before = row.last(first - 1);
      if (row.value(before) != value) break;
      first = before;
      ++count;
    }
    if (first > t && t + repeats_ < row.end()) {
      t = first;
      continue;
    }
    open = {value, std::min(count, repeats_)};
    if (count > repeats_ && row.finite(value)) empty.push_back({number, far, 1});
    t = follow(row.next(far + 1));
  }
}

void EmptyChannelFinder::look(const core::RawBlock& block, core::ValidityMask& valid) {
  const bool by_channel = valid.rows() > 0, whole = !by_channel && block.invalid.empty();
  if (!by_channel && !whole) {
    of_inputs_ = core::ValidityMask(inputs_, block.samples);
    apply(block.invalid, 1, inputs_, of_inputs_);
  }
  const auto row = [&](std::size_t number) {
    const std::uint64_t* mask = by_channel ? valid.row(number)
                                : whole    ? nullptr
                                           : of_inputs_.row(number % inputs_);
    return Row(block, number / inputs_, number % inputs_, mask);
  };
  const std::size_t rows = channels_ * inputs_;
  empty_.resize(std::clamp<std::size_t>(rows * block.samples / kValuesOfThread, 1, threads_));
  core::in_pieces(rows, empty_.size(), [&](std::size_t piece, std::size_t first, std::size_t end) {
    empty_[piece].clear();
    for (std::size_t number = first; number < end; ++number)
      if (left_out_[number] == 0)
        look_at(row(number), row(std::min(number + kFetchedRows, rows - 1)), number, empty_[piece]);
  });
  if (std::ranges::all_of(empty_, &Spans::empty)) return;
  if (!by_channel) {
    valid = core::ValidityMask(channels_ * inputs_, block.samples);
    apply(block.invalid, channels_, inputs_, valid);
  }
  for (const Spans& spans : empty_)
    for (const core::InvalidSpan& span : spans) {
      const std::uint64_t count =
          core::count_valid(valid.row(span.input), span.first_sample, span.samples);
      samples_[span.input] += count;
      values_ += count;
      valid.set(span.input, span.first_sample, span.samples, false);
    }
}

std::vector<EmptyChannel> EmptyChannelFinder::found() const {
  std::vector<EmptyChannel> list;
  for (std::size_t k = 0; k < samples_.size(); ++k)
    if (samples_[k] > 0) list.push_back({k / inputs_, k % inputs_, samples_[k]});
  return list;
}

}  // namespace tautline::stream
