#include "tautline/stream/empty_voltages.h"

#include <algorithm>
#include <cstring>

#include "tautline/core/constant_run.h"
#include "tautline/core/integers.h"
#include "tautline/core/validity.h"
#include "tautline/stream/input_samples.h"

namespace tautline::stream {

namespace {

// Fewer equal samples in all channels together are not worth a gap.
constexpr std::size_t kLeastRepeats = 16;
// Of all inputs together: one time in 32 is compared then. Of 16, one time in 8 would be, at 25 GB/s of 64 inputs and
// 0.8 GB/s of one.
constexpr std::size_t kLeastTogether = 64;

// Samples that one call compares.
constexpr std::size_t kPiece = 256;

}  // namespace

// Long stretches are searched by comparing memory with itself one time later: once for all inputs together where these
// are stored side by side.
class EmptyVoltageFinder::Pieces {
 public:
  explicit Pieces(const core::RawBlock& block)
      : block_(block), known_(core::divide_up(block.samples, kPiece)) {}

  // Whether samples [kPiece piece, kPiece (piece + 1)] of all inputs are equal; false also where it is not known.
  bool constant(std::size_t piece) {
    const core::RawLayout& layout = block_.layout;
    const std::size_t last = (layout.channels - 1) * layout.channel_stride_bits +
                             (layout.antennas - 1) * layout.antenna_stride_bits +
                             (layout.polarisations - 1) * layout.polarisation_stride_bits;
    if (layout.offset_bits % 8 != 0 || layout.time_stride_bits % 8 != 0 ||
        last >= layout.time_stride_bits || (piece + 1) * kPiece >= block_.samples)
      return false;
    if (known_[piece] == Known::no) {
      const std::size_t row = layout.time_stride_bits / 8;
      const std::byte* first = block_.bytes.data() + layout.offset_bits / 8 + piece * kPiece * row;
      // The last time's row may end before the padding between two times.
      const std::size_t bytes = (kPiece - 1) * row + (last + sample_bits()) / 8;
      known_[piece] = std::memcmp(first, first + row, bytes) == 0 ? Known::constant : Known::other;
    }
    return known_[piece] == Known::constant;
  }

 private:
  enum class Known : std::uint8_t { no, constant, other };
  std::size_t sample_bits() const {
    return static_cast<std::size_t>(block_.layout.format.bits_per_sample());
  }

  const core::RawBlock& block_;
  std::vector<Known> known_;
};

namespace {

// The first sample after `first`, before `end`, that differs from it: equal(t) compares one with `first`, constant(t,
// piece) says that a whole piece from t on is known to be equal.
template <class Equal, class Constant>
std::size_t find_end_of_run(std::size_t first, std::size_t end, const Equal& equal,
                            const Constant& constant) {
  std::size_t t = first + 1;
  while (t < end) {
    const std::size_t piece = (t - 1) / kPiece, next = (piece + 1) * kPiece;
    if ((t - 1) % kPiece == 0 && next < end && constant(t - 1, piece)) {
      t = next + 1;
      continue;
    }
    for (const std::size_t stop = std::min(end, next + 1); t < stop; ++t)
      if (!equal(t)) return t;
  }
  return end;
}

// Of one input, in all channels.
bool equal_times(const InputSamples& samples, std::size_t channels, std::size_t a, std::size_t b) {
  for (std::size_t c = 0; c < channels; ++c)
    if (samples.value(a, c) != samples.value(b, c)) return false;
  return true;
}

// Samples that are not finite are counted as such, not as empty.
bool finite_at(const InputSamples& samples, std::size_t channels, std::size_t t) {
  for (std::size_t c = 0; c < channels; ++c)
    if (!samples.finite(samples.value(t, c))) return false;
  return true;
}

// Whether the piece from t on is known to be constant.
bool constant_piece(const InputSamples& samples, std::size_t t) {
  return samples.constant(t, t + kPiece);
}

// The samples of one input in a block, all channels together.
class InputTimes {
 public:
  InputTimes(const core::RawBlock& block, std::size_t input)
      : samples_(block, input), channels_(block.layout.channels) {}

  std::uint64_t value(std::size_t t, std::size_t channel) const {
    return samples_.value(t, channel);
  }
  bool equal(std::size_t a, std::size_t b) const { return equal_times(samples_, channels_, a, b); }
  template <class Pieces>
  std::size_t end_of_run(std::size_t first, std::size_t end, Pieces& pieces) const {
    return find_end_of_run(
        first, end, [&](std::size_t t) { return equal(first, t); },
        [&](std::size_t t, std::size_t piece) {
          return constant_piece(samples_, t) || pieces.constant(piece);
        });
  }
  bool finite(std::size_t t) const { return finite_at(samples_, channels_, t); }

 private:
  InputSamples samples_;
  std::size_t channels_;
};

constexpr std::size_t kAnyInput = core::InvalidSpan::kAllInputs;

// Parts of a block in which an input's samples are valid; of kAnyInput: those of all inputs.
std::vector<core::ConstantRun> valid_parts(const core::RawBlock& block, std::size_t input) {
  std::vector<core::ConstantRun> lost;
  for (const core::InvalidSpan& span : block.invalid)
    if (input == kAnyInput || span.input == input || span.input == kAnyInput)
      lost.push_back({span.first_sample, span.samples > block.samples
                                             ? block.samples
                                             : span.first_sample + span.samples});
  std::sort(lost.begin(), lost.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<core::ConstantRun> parts;
  std::size_t from = 0;
  for (const core::ConstantRun& span : lost) {
    if (span.first > from) parts.push_back({from, std::min(span.first, block.samples)});
    from = std::max(from, span.end);
  }
  if (from < block.samples) parts.push_back({from, block.samples});
  return parts;
}

// Inputs whose samples of one time are contiguous are compared together, which is many times as fast.
template <class T>
class SideBySide {
 public:
  explicit SideBySide(const core::RawBlock& block)
      : first_(block.bytes.data() + block.layout.offset_bits / 8),
        time_stride_(block.layout.time_stride_bits / 8),
        inputs_(block.layout.inputs()) {}

  // Calls found(input) for each input whose first channels are equal at two times.
  template <class Found>
  void compare(std::size_t a, std::size_t b, const Found& found) const {
    const std::byte *x = first_ + a * time_stride_, *y = first_ + b * time_stride_;
    unsigned any = 0;
    for (std::size_t i = 0; i < inputs_; ++i) any |= at(x, i) == at(y, i) ? 1u : 0u;
    if (any == 0) return;
    for (std::size_t i = 0; i < inputs_; ++i)
      if (at(x, i) == at(y, i)) found(i);
  }

 private:
  static T at(const std::byte* row, std::size_t i) {
    T value;
    std::memcpy(&value, row + i * sizeof(T), sizeof(T));
    return value;
  }
  const std::byte* first_;
  std::size_t time_stride_, inputs_;
};

bool inputs_side_by_side(const core::RawLayout& layout) {
  const auto bits = static_cast<std::size_t>(layout.format.bits_per_sample());
  return bits % 8 == 0 && layout.offset_bits % 8 == 0 && layout.time_stride_bits % 8 == 0 &&
         (layout.polarisations == 1 || layout.polarisation_stride_bits == bits) &&
         (layout.antennas == 1 || layout.antenna_stride_bits == layout.polarisations * bits);
}

}  // namespace

// The samples of all inputs in a block at one time.
class EmptyVoltageFinder::InputsTogether {
 public:
  explicit InputsTogether(const core::RawBlock& block) : channels_(block.layout.channels) {
    for (std::size_t i = 0; i < block.layout.inputs(); ++i) inputs_.emplace_back(block, i);
  }

  bool equal(std::size_t a, std::size_t b) const {
    // The input that differed last is the most likely to differ.
    if (!equal_times(inputs_[differs_], channels_, a, b)) return false;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (!equal_times(inputs_[i], channels_, a, b)) {
        differs_ = i;
        return false;
      }
    return true;
  }
  bool equal(std::size_t t, const std::vector<std::uint64_t>& values) const {
    for (std::size_t i = 0, k = 0; i < inputs_.size(); ++i)
      for (std::size_t c = 0; c < channels_; ++c, ++k)
        if (inputs_[i].value(t, c) != values[k]) return false;
    return true;
  }
  void keep(std::size_t t, std::vector<std::uint64_t>& values) const {
    values.resize(inputs_.size() * channels_);
    for (std::size_t i = 0, k = 0; i < inputs_.size(); ++i)
      for (std::size_t c = 0; c < channels_; ++c, ++k) values[k] = inputs_[i].value(t, c);
  }
  std::size_t end_of_run(std::size_t first, std::size_t end, Pieces& pieces) const {
    return find_end_of_run(
        first, end, [&](std::size_t t) { return equal(first, t); },
        [&](std::size_t t, std::size_t piece) {
          return pieces.constant(piece) ||
                 std::ranges::all_of(
                     inputs_, [t](const InputSamples& one) { return constant_piece(one, t); });
        });
  }
  bool finite(std::size_t t) const {
    return std::ranges::all_of(
        inputs_, [&](const InputSamples& one) { return finite_at(one, channels_, t); });
  }

 private:
  std::vector<InputSamples> inputs_;
  std::size_t channels_;
  mutable std::size_t differs_ = 0;
};

namespace {

// Times in [first, end) at which repeats are counted.
std::uint64_t counted_times(std::uint64_t first, std::uint64_t end) {
  constexpr std::uint64_t kEvery = RepeatChance::kEvery;
  return end <= first ? 0 : (end + kEvery - 1) / kEvery - (first + kEvery - 1) / kEvery;
}

}  // namespace

EmptyVoltageFinder::EmptyVoltageFinder(const core::VoltageDescription& description)
    : repeats_(std::max(
          kLeastRepeats,
          core::divide_up(
              core::repeats_of_nothing(kFewestBits, description.rate_hz.value() *
                                                        static_cast<double>(description.inputs())),
              description.channels))),
      open_(description.inputs()),
      chance_(core::log_chance_of_nothing(description.rate_hz.value())) {
  found_.inputs.resize(description.inputs());
}

void EmptyVoltageFinder::find_equal_probes(const core::RawBlock& block) {
  equal_probes_.resize(inputs_side_by_side(block.layout) ? open_.size() : 0);
  if (equal_probes_.empty()) return;
  for (std::vector<std::uint32_t>& probes : equal_probes_) probes.clear();
  const std::size_t step = core::probe_step(repeats_);
  const auto look_through = [&](const auto& inputs) {
    for (std::size_t k = 0; k + step < block.samples; k += step)
      inputs.compare(k, k + step, [&](std::size_t input) {
        equal_probes_[input].push_back(static_cast<std::uint32_t>(k / step));
      });
  };
  switch (block.layout.format.bits_per_sample()) {
    case 8:
      return look_through(SideBySide<std::uint8_t>(block));
    case 16:
      return look_through(SideBySide<std::uint16_t>(block));
    case 32:
      return look_through(SideBySide<std::uint32_t>(block));
    default:
      return look_through(SideBySide<std::uint64_t>(block));
  }
}

// Marks samples of one stretch; `entry` is its place in the list, assigned at its first mark.
void EmptyVoltageFinder::mark(core::RawBlock& block, std::size_t input, std::size_t first,
                              std::size_t end, std::uint64_t position,
                              std::optional<std::size_t>& entry) {
  if (end == first) return;
  const std::size_t samples = unmarked(block, input, first, end);
  block.invalid.push_back({input, first, end - first});
  found_.samples += samples;
  found_.inputs[input] += samples;
  if (!entry) {
    entry = found_.list.size();
    ++found_.stretches;
    if (*entry < EmptyVoltages::kListed) found_.list.push_back({input, position + first, 0});
  }
  if (*entry < EmptyVoltages::kListed) found_.list[*entry].samples += end - first;
}

// The samples in [first, end) that are in no empty stretch yet.
std::size_t EmptyVoltageFinder::unmarked(const core::RawBlock& block, std::size_t input,
                                         std::size_t first, std::size_t end) const {
  std::size_t samples = end - first;
  for (std::size_t k = &block == block_ ? lost_ : before_lost_; k < block.invalid.size(); ++k) {
    const core::InvalidSpan& span = block.invalid[k];
    if (span.input != input && span.input != kAnyInput) continue;
    const std::size_t from = std::max(first, span.first_sample),
                      to = std::min(end, span.first_sample + span.samples);
    samples -= to > from ? to - from : 0;
  }
  return samples;
}

// Continues in this block the run that the preceding block ended with; returns the run's end.
std::size_t EmptyVoltageFinder::go_on(OpenRun& open, std::size_t input, std::size_t first,
                                      std::size_t end, core::RawBlock& block,
                                      core::RawBlock& before, Pieces& pieces) {
  const InputTimes samples(block, input);
  for (std::size_t c = 0; c < open.value.size(); ++c)
    if (samples.value(first, c) != open.value[c]) return first;
  const std::size_t stop = samples.end_of_run(first, end, pieces);
  const bool known = open.entry.has_value();
  const std::size_t there = std::min(open.samples, before.samples);
  open.samples += stop - first;
  if (open.samples > repeats_) {
    if (!known)
      mark(before, input, before.samples - there, before.samples, before_position_, open.entry);
    mark(block, input, first, stop, position_, open.entry);
  }
  return stop;
}

void EmptyVoltageFinder::look_at(std::size_t input, std::size_t first, std::size_t end,
                                 core::RawBlock& block, core::RawBlock* before, Pieces& pieces) {
  OpenRun& open = open_[input];
  if (first == 0 && before != nullptr && open.samples > 0) {
    first = go_on(open, input, first, end, block, *before, pieces);
    if (first == block.samples) return;
  }
  open.samples = 0;
  open.entry.reset();
  const InputTimes samples(block, input);
  const auto equal = [&](std::size_t a, std::size_t b) { return samples.equal(a, b); };
  const auto around = [&](std::size_t k) {
    core::ConstantRun run{k, samples.end_of_run(k, end, pieces)};
    while (run.first > first && samples.equal(run.first - 1, k)) --run.first;
    return run;
  };
  const std::size_t step = core::probe_step(repeats_);
  const auto next = [&](std::size_t k) {
    if (equal_probes_.empty()) return k;
    const std::vector<std::uint32_t>& probes = equal_probes_[input];
    const auto found = std::lower_bound(probes.begin(), probes.end(), k / step);
    return found == probes.end() ? end : *found * step;
  };
  while (const auto run = core::find_constant_run(equal, around, next, end, repeats_, first)) {
    std::optional<std::size_t> entry;
    const bool finite = samples.finite(run->first);
    if (finite && run->repeats() >= repeats_)
      mark(block, input, run->first, run->end, position_, entry);
    if (finite && run->end == block.samples) {
      open.samples = run->end - run->first;
      open.entry = entry;
      open.value.resize(block.layout.channels);
      for (std::size_t c = 0; c < open.value.size(); ++c)
        open.value[c] = samples.value(run->first, c);
    }
    first = run->end;
  }
}

void EmptyVoltageFinder::mark_together(core::RawBlock& block, std::size_t first, std::size_t end) {
  bool any = false;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    const std::size_t samples = unmarked(block, i, first, end);
    any = any || samples > 0;
    found_.samples += samples;
    found_.inputs[i] += samples;
  }
  if (any) block.invalid.push_back({kAnyInput, first, end - first});
}

// Longer runs are those of each input, too.
void EmptyVoltageFinder::list_together(const OpenRunTogether& run, EmptyVoltages& found) const {
  if (!run.empty || run.samples > repeats_) return;
  found.stretches += open_.size();
  for (std::size_t i = 0; i < open_.size() && found.list.size() < EmptyVoltages::kListed; ++i)
    found.list.push_back({i, run.first_sample, run.samples});
}

EmptyVoltages EmptyVoltageFinder::found() const {
  EmptyVoltages all = found_;
  if (together_.samples > 0) list_together(together_, all);
  return all;
}

bool EmptyVoltageFinder::is_empty_together(std::size_t samples) const {
  const std::size_t repeats = samples - 1;
  return repeats >= std::min(kLeastTogether, repeats_) &&
         (repeats >= repeats_ || chance_.too_rare(repeats));
}

// The open run is followed by no sample that was looked at.
void EmptyVoltageFinder::end_run_together() {
  if (together_.samples == 0) return;
  if (!together_.empty) chance_.count(together_.uncounted, together_.uncounted);
  list_together(together_, found_);
  together_.samples = 0;
}

// As go_on().
std::size_t EmptyVoltageFinder::go_on_together(std::size_t end, const InputsTogether& inputs,
                                               core::RawBlock& block, core::RawBlock& before,
                                               Pieces& pieces) {
  OpenRunTogether& open = together_;
  const std::size_t stop =
      inputs.equal(0, open.values) ? inputs.end_of_run(0, end, pieces) : std::size_t{0};
  const std::size_t there = std::min(open.samples, before.samples);
  open.samples += stop;
  open.uncounted += counted_times(position_ - 1, position_ + stop - 1);
  if (open.empty || is_empty_together(open.samples)) {
    if (!open.empty) mark_together(before, before.samples - there, before.samples);
    open.empty = true;
    mark_together(block, 0, stop);
  }
  if (stop == block.samples) return stop;
  end_run_together();
  if (stop < end) chance_.count(counted_times(position_ + stop - 1, position_ + stop), 0);
  return stop;
}

void EmptyVoltageFinder::look_together(std::size_t first, std::size_t end, core::RawBlock& block,
                                       core::RawBlock* before, const InputsTogether& inputs,
                                       Pieces& pieces) {
  if (first == 0 && before != nullptr && together_.samples > 0) {
    first = go_on_together(end, inputs, block, *before, pieces);
    if (first == block.samples) return;
  } else {
    end_run_together();
  }
  const auto equal = [&](std::size_t a, std::size_t b) { return inputs.equal(a, b); };
  const auto around = [&](std::size_t k) {
    core::ConstantRun run{k, inputs.end_of_run(k, end, pieces)};
    while (run.first > first && inputs.equal(run.first - 1, k)) --run.first;
    return run;
  };
  // Times before `to` and the one that follows each of them.
  const auto count_until = [&](std::size_t to) {
    constexpr std::uint64_t kEvery = RepeatChance::kEvery;
    for (std::uint64_t t = (position_ + first + kEvery - 1) / kEvery * kEvery; t < position_ + to;
         t += kEvery) {
      const auto at = static_cast<std::size_t>(t - position_);
      chance_.count(1, inputs.equal(at, at + 1) ? 1 : 0);
    }
  };
  while (const auto run = core::find_constant_run(equal, around, end,
                                                  std::min(kLeastTogether, repeats_), first)) {
    count_until(run->first);
    const std::size_t samples = run->end - run->first;
    const std::uint64_t within = counted_times(position_ + run->first, position_ + run->end - 1);
    const bool finite = inputs.finite(run->first);
    OpenRunTogether found{.first_sample = position_ + run->first,
                          .samples = samples,
                          .empty = finite && is_empty_together(samples),
                          .values = {},
                          .uncounted = within};
    if (found.empty) mark_together(block, run->first, run->end);
    if (finite && run->end == block.samples) {
      inputs.keep(run->first, found.values);
      together_ = std::move(found);
      return;
    }
    list_together(found, found_);
    if (!found.empty) chance_.count(within, within);
    if (run->end < end)
      chance_.count(counted_times(position_ + run->end - 1, position_ + run->end), 0);
    first = run->end;
  }
}

void EmptyVoltageFinder::look(core::RawBlock& block, core::RawBlock* before) {
  Pieces pieces(block);
  find_equal_probes(block);
  block_ = &block;
  lost_ = block.invalid.size();
  std::vector<std::vector<core::ConstantRun>> parts;
  const bool whole = block.invalid.empty();
  const auto of_all = valid_parts(block, kAnyInput);
  if (!whole)
    for (std::size_t i = 0; i < open_.size(); ++i) parts.push_back(valid_parts(block, i));
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (whole) {
      look_at(i, 0, block.samples, block, before, pieces);
      continue;
    }
    if (parts[i].empty() || parts[i].front().first > 0) open_[i].samples = 0;
    for (const core::ConstantRun& part : parts[i])
      look_at(i, part.first, part.end, block, before, pieces);
    if (parts[i].empty() || parts[i].back().end < block.samples) open_[i].samples = 0;
  }
  if (of_all.empty() || of_all.front().first > 0) end_run_together();
  const InputsTogether inputs(block);
  for (const core::ConstantRun& part : of_all)
    look_together(part.first, part.end, block, before, inputs, pieces);
  if (of_all.empty() || of_all.back().end < block.samples) end_run_together();
  before_position_ = position_;
  before_lost_ = lost_;
  position_ += block.samples;
}

}  // namespace tautline::stream
