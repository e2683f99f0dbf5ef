#include "tautline/stream/empty_channels.h"

#include <algorithm>
#include <optional>

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

constexpr std::size_t kMostTurns = std::size_t{1} << 16;

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
      left_out_(inputs_ * channels_),
      zeroed_(description, threads) {}

void EmptyChannelFinder::leave_out(std::size_t channel, std::size_t input) {
  left_out_[channel * inputs_ + input] = 1;
}

// Whether the open run is an empty stretch, by the samples of the block that follows.
void EmptyChannelFinder::look_ahead(const Row& next, OpenRun& open) const {
  std::size_t samples = open.samples;
  for (std::size_t t = next.next(0); samples <= repeats_ && t < next.end(); t = next.next(t + 1)) {
    if (next.value(t) != open.value) return;
    ++samples;
  }
  if (samples > repeats_) open.samples = samples;
}

// Continues the open run, of which the block has [first, t), at t; returns the first valid time behind it.
std::size_t EmptyChannelFinder::follow(const Row& row, const Row* next, std::size_t number,
                                       std::size_t first, std::size_t t, Found& found) {
  OpenRun& open = open_[number];
  const bool goes_on = open.samples > repeats_ && first == t;
  std::size_t end = t;
  for (; t < row.end() && row.value(t) == open.value; t = row.next(t + 1)) {
    open.samples = std::min(open.samples + 1, repeats_ + 1);
    end = t + 1;
  }
  if (t == row.end() && next != nullptr) look_ahead(*next, open);
  if (open.samples <= repeats_ || !row.finite(open.value)) return t;
  if (first < end) found.spans.push_back({number, first, end - first});
  if (!goes_on) found.turns.emplace_back(number % inputs_, position_ + first);
  if (t < row.end()) found.turns.emplace_back(number % inputs_, position_ + t);
  return t;
}

// A run of more than n samples that begins at t or later covers t + n or begins after it: where the samples before
// t + n that equal it do not reach t, the run begins behind the one that differs.
void EmptyChannelFinder::look_at(const Row& row, const Row& later, const Row* next,
                                 std::size_t number, Found& found) {
  OpenRun& open = open_[number];
  std::size_t t = row.next(0);
  if (open.samples > 0) t = follow(row, next, number, t, t, found);
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
    open = {value, count};
    t = follow(row, next, number, first, row.next(far + 1), found);
  }
}

core::ValidityMask EmptyChannelFinder::validity_of(const core::RawBlock& block) const {
  if (block.invalid.empty()) return {};
  core::ValidityMask mask(inputs_, block.samples);
  apply(block.invalid, 1, inputs_, mask);
  return mask;
}

void EmptyChannelFinder::look(const core::RawBlock& block, core::ValidityMask& valid,
                              const core::RawBlock* next) {
  const bool by_channel = valid.rows() > 0;
  const core::ValidityMask of_inputs = by_channel ? core::ValidityMask() : validity_of(block),
                           of_next = next == nullptr ? core::ValidityMask() : validity_of(*next);
  const auto row_of = [&](const core::RawBlock& of, const core::ValidityMask& mask,
                          std::size_t number) {
    const std::size_t of_mask = mask.rows() == inputs_ ? number % inputs_ : number;
    return Row(of, number / inputs_, number % inputs_,
               mask.rows() == 0 ? nullptr : mask.row(of_mask));
  };
  const auto row = [&](std::size_t number) {
    return row_of(block, by_channel ? valid : of_inputs, number);
  };
  const std::size_t rows = channels_ * inputs_;
  found_.resize(std::clamp<std::size_t>(rows * block.samples / kValuesOfThread, 1, threads_));
  core::in_pieces(rows, found_.size(), [&](std::size_t piece, std::size_t first, std::size_t end) {
    found_[piece] = {};
    for (std::size_t number = first; number < end; ++number) {
      if (left_out_[number] != 0) continue;
      const std::size_t later = std::min(number + kFetchedRows, rows - 1);
      if (next != nullptr) row_of(*next, of_next, later).fetch(0);
      const auto ahead = next == nullptr ? std::optional<Row>() : row_of(*next, of_next, number);
      look_at(row(number), row(later), ahead ? &*ahead : nullptr, number, found_[piece]);
    }
  });
  const CameBlock came{block, by_channel ? valid : of_inputs};
  const auto came_next = next == nullptr ? std::optional<CameBlock>() : CameBlock{*next, of_next};
  Found& zeroed = found_.emplace_back();
  zeroed_.look(came, came_next ? &*came_next : nullptr, zeroed.spans, zeroed.turns);
  position_ += block.samples;
  for (const Found& found : found_)
    for (const InputTurn& turn : found.turns)
      if (turns_.size() < kMostTurns) turns_.insert(turn);
  if (std::ranges::all_of(found_, [](const Found& found) { return found.spans.empty(); })) return;
  if (!by_channel) {
    valid = core::ValidityMask(channels_ * inputs_, block.samples);
    apply(block.invalid, channels_, inputs_, valid);
  }
  for (const Found& found : found_)
    for (const core::InvalidSpan& span : found.spans) {
      const std::uint64_t count =
          core::count_valid(valid.row(span.input), span.first_sample, span.samples);
      samples_[span.input] += count;
      values_ += count;
      valid.set(span.input, span.first_sample, span.samples, false);
    }
}

bool EmptyChannelFinder::turned(std::size_t input, std::uint64_t sample,
                                std::uint64_t within) const {
  const auto turn = turns_.lower_bound({input, sample - std::min(sample, within)});
  return turn != turns_.end() && turn->first == input && turn->second <= sample + within;
}

std::vector<EmptyChannel> EmptyChannelFinder::found() const {
  std::vector<EmptyChannel> list;
  for (std::size_t k = 0; k < samples_.size(); ++k)
    if (samples_[k] > 0) list.push_back({k / inputs_, k % inputs_, samples_[k]});
  return list;
}

}  // namespace tautline::stream
