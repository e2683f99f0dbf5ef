#include "tautline/stream/empty_voltages.h"

#include <algorithm>
#include <cstring>

#include "tautline/core/constant_run.h"
#include "tautline/core/integers.h"
#include "tautline/core/validity.h"
#include "tautline/stream/input_times.h"

namespace tautline::stream {

namespace {

// Fewer equal samples in all channels together are not worth a gap.
constexpr std::size_t kLeastRepeats = 16;
// Of all inputs together: one time in 32 is compared then. Of 16, one time in 8 would be, at 25 GB/s of 64 inputs and
// 0.8 GB/s of one.
constexpr std::size_t kLeastTogether = 64;
// Of one input, one time in 24 is compared.
constexpr std::size_t kLeastOfOne = 48;

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

// The first such time in a block that begins at `position`, from its time t on.
std::size_t first_counted(std::uint64_t position, std::size_t t) {
  const std::uint64_t kEvery = RepeatChance::kEvery, from = position + t;
  return t + static_cast<std::size_t>((kEvery - from % kEvery) % kEvery);
}

}  // namespace

EmptyVoltageFinder::EmptyVoltageFinder(const core::VoltageDescription& description)
    : repeats_(std::max(
          kLeastRepeats,
          core::divide_up(
              core::repeats_of_nothing(kFewestBits, description.rate_hz.value() *
                                                        static_cast<double>(description.inputs())),
              description.channels))),
      least_(std::min(kLeastOfOne, repeats_)),
      open_(description.inputs()),
      runs_(description.inputs()),
      chance_(core::log_chance_of_nothing(description.rate_hz.value())) {
  if (least_ < repeats_)
    chances_.resize(description.inputs(),
                    RepeatChance(core::log_chance_of_nothing(
                        description.rate_hz.value() * static_cast<double>(description.inputs()))));
  found_.inputs.resize(description.inputs());
}

// Compares inputs that lie side by side: at the probes, and at the times that are counted.
void EmptyVoltageFinder::find_equal_probes(const core::RawBlock& block) {
  equal_probes_.resize(inputs_side_by_side(block.layout) ? open_.size() : 0);
  equal_counted_.resize(chances_.empty() ? 0 : equal_probes_.size());
  for (std::vector<std::uint32_t>& times : equal_probes_) times.clear();
  for (std::vector<std::uint32_t>& times : equal_counted_) times.clear();
  if (equal_probes_.empty()) return;
  const std::size_t step = core::probe_step(least_);
  const auto look_through = [&](const auto& inputs) {
    for (std::size_t k = 0; k + step < block.samples; k += step)
      inputs.compare(k, k + step, [&](std::size_t input) {
        equal_probes_[input].push_back(static_cast<std::uint32_t>(k));
      });
    if (equal_counted_.empty()) return;
    for (std::size_t t = first_counted(position_, 0); t + 1 < block.samples;
         t += RepeatChance::kEvery)
      inputs.compare(t, t + 1, [&](std::size_t input) {
        equal_counted_[input].push_back(static_cast<std::uint32_t>(t));
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

// Samples of `run` that are in one of the runs, which are in order.
std::size_t EmptyVoltageFinder::overlap(std::span<const Run> runs, const Run& run) {
  std::uint64_t samples = 0;
  for (auto one = std::ranges::upper_bound(runs, run.first, {}, &Run::end);
       one != runs.end() && one->first < run.end; ++one)
    samples += std::min(one->end, run.end) - std::max(one->first, run.first);
  return static_cast<std::size_t>(samples);
}

// Marks samples of one stretch; `entry` is its place in the list, assigned at its first mark.
void EmptyVoltageFinder::mark(core::RawBlock& block, std::size_t input, std::size_t first,
                              std::size_t end, std::uint64_t position,
                              std::optional<std::size_t>& entry) {
  if (end == first) return;
  const std::size_t samples =
      end - first - overlap(together_runs_, {position + first, position + end});
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

bool EmptyVoltageFinder::is_empty(std::size_t input, std::size_t samples) const {
  const std::size_t repeats = samples - 1;
  return repeats >= least_ && (repeats >= repeats_ || chances_[input].too_rare(repeats));
}

// Counts how often the input repeats its sample at times [first, end) of a block; end is a time of the block, too.
void EmptyVoltageFinder::count_repeats(std::size_t input, std::size_t first, std::size_t end,
                                       const InputTimes& samples) {
  if (chances_.empty()) return;
  RepeatChance& chance = chances_[input];
  std::size_t t = first_counted(position_, first);
  if (equal_counted_.empty()) {
    for (; t < end; t += RepeatChance::kEvery) chance.count(1, samples.equal(t, t + 1) ? 1 : 0);
    return;
  }
  const std::vector<std::uint32_t>& equal = equal_counted_[input];
  for (auto next = std::lower_bound(equal.begin(), equal.end(), t);
       next != equal.end() && *next < end; ++next) {
    chance.count((*next - t) / RepeatChance::kEvery, 0);
    chance.count(1, samples.equal(*next, *next + 1) ? 1 : 0);
    t = *next + RepeatChance::kEvery;
  }
  if (t < end) chance.count(core::divide_up(end - t, RepeatChance::kEvery), 0);
}

// The input's run at the end of the last block has ended. One that may be a stretch counts as none of the noise's.
void EmptyVoltageFinder::end_run(std::size_t input) {
  OpenRun& open = open_[input];
  if (open.samples == 0) return;
  if (open.entry)
    runs_[input].push_back({open.first_sample, open.first_sample + open.samples});
  else
    for (const EmptyInput& one : open.waiting) list(one);
  if (open.samples <= least_ && !chances_.empty())
    chances_[input].count(open.uncounted, open.uncounted);
  open = {};
}

// Continues in this block the run that the preceding block ended with; returns the run's end.
std::size_t EmptyVoltageFinder::go_on(std::size_t input, std::size_t end, core::RawBlock& block,
                                      core::RawBlock& before, Pieces& pieces) {
  OpenRun& open = open_[input];
  const InputTimes samples(block, input);
  std::size_t stop = 0;
  bool equal = true;
  for (std::size_t c = 0; c < open.value.size() && equal; ++c)
    equal = samples.value(0, c) == open.value[c];
  if (equal) stop = samples.end_of_run(0, end, pieces);
  const bool known = open.entry.has_value();
  const std::size_t there = std::min(open.samples, before.samples);
  open.samples += stop;
  open.uncounted += counted_times(position_ - 1, position_ + stop - 1);
  if (known || is_empty(input, open.samples)) {
    if (!known)
      mark(before, input, before.samples - there, before.samples, before_position_, open.entry);
    mark(block, input, 0, stop, position_, open.entry);
  }
  if (stop == block.samples) return stop;
  end_run(input);
  if (stop < end && !chances_.empty())
    chances_[input].count(counted_times(position_ + stop - 1, position_ + stop), 0);
  return stop;
}

void EmptyVoltageFinder::look_at(std::size_t input, std::size_t first, std::size_t end,
                                 core::RawBlock& block, core::RawBlock* before, Pieces& pieces) {
  if (first == 0 && before != nullptr && open_[input].samples > 0) {
    first = go_on(input, end, block, *before, pieces);
    if (first == block.samples) return;
  } else {
    end_run(input);
  }
  const InputTimes samples(block, input);
  const auto equal = [&](std::size_t a, std::size_t b) { return samples.equal(a, b); };
  const auto around = [&](std::size_t k) {
    core::ConstantRun run{k, samples.end_of_run(k, end, pieces)};
    while (run.first > first && samples.equal(run.first - 1, k)) --run.first;
    return run;
  };
  const auto next = [&](std::size_t k) -> std::size_t {
    if (equal_probes_.empty()) return k;
    const std::vector<std::uint32_t>& probes = equal_probes_[input];
    const auto found = std::lower_bound(probes.begin(), probes.end(), k);
    return found == probes.end() ? end : *found;
  };
  while (const auto run = core::find_constant_run(equal, around, next, end, least_, first)) {
    count_repeats(input, first, run->first, samples);
    const std::size_t length = run->end - run->first;
    const std::uint64_t within = counted_times(position_ + run->first, position_ + run->end - 1);
    const bool finite = samples.finite(run->first);
    std::optional<std::size_t> entry;
    if (finite && is_empty(input, length))
      mark(block, input, run->first, run->end, position_, entry);
    OpenRun found{.first_sample = position_ + run->first,
                  .samples = length,
                  .entry = entry,
                  .value = {},
                  .uncounted = within,
                  .waiting = {}};
    const bool last = run->end == block.samples;
    if (finite && last) {
      found.value.resize(block.layout.channels);
      for (std::size_t c = 0; c < found.value.size(); ++c)
        found.value[c] = samples.value(run->first, c);
    }
    if (finite) open_[input] = std::move(found);
    if (last) return;
    end_run(input);
    if (finite && run->end < end && !chances_.empty())
      chances_[input].count(counted_times(position_ + run->end - 1, position_ + run->end), 0);
    first = run->end;
  }
}

void EmptyVoltageFinder::mark_together(core::RawBlock& block, std::size_t first, std::size_t end,
                                       std::uint64_t position) {
  if (end == first) return;
  const Run run{position + first, position + end};
  bool any = false;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    const OpenRun& open = open_[i];
    std::size_t samples = end - first - overlap(runs_[i], run);
    if (const Run own{open.first_sample, open.first_sample + open.samples}; open.entry)
      samples -= overlap({&own, 1}, run);
    any = any || samples > 0;
    found_.samples += samples;
    found_.inputs[i] += samples;
  }
  if (any) block.invalid.push_back({kAnyInput, first, end - first});
  together_runs_.push_back(run);
}

void EmptyVoltageFinder::list(const EmptyInput& one) {
  ++found_.stretches;
  if (found_.list.size() < EmptyVoltages::kListed) found_.list.push_back(one);
}

// Each input's own run is as long or longer, and is listed where it is empty; where that is not known yet, the stretch
// waits.
void EmptyVoltageFinder::list_together(const OpenRunTogether& run) {
  if (!run.empty || run.samples > repeats_) return;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    const EmptyInput one{i, run.first_sample, run.samples};
    OpenRun& open = open_[i];
    if (open.samples > 0 && open.first_sample <= run.first_sample) {
      if (!open.entry) open.waiting.push_back(one);
      continue;
    }
    const auto after = std::ranges::upper_bound(runs_[i], run.first_sample, {}, &Run::first);
    if (after == runs_[i].begin() || std::prev(after)->end <= run.first_sample) list(one);
  }
}

EmptyVoltages EmptyVoltageFinder::found() const {
  EmptyVoltageFinder ended = *this;
  ended.end_run_together();
  for (std::size_t i = 0; i < open_.size(); ++i) ended.end_run(i);
  return std::move(ended.found_);
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
  list_together(together_);
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
    if (!open.empty)
      mark_together(before, before.samples - there, before.samples, before_position_);
    open.empty = true;
    mark_together(block, 0, stop, position_);
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
    if (found.empty) mark_together(block, run->first, run->end, position_);
    if (finite && run->end == block.samples) {
      inputs.keep(run->first, found.values);
      together_ = std::move(found);
      return;
    }
    list_together(found);
    if (!found.empty) chance_.count(within, within);
    if (run->end < end)
      chance_.count(counted_times(position_ + run->end - 1, position_ + run->end), 0);
    first = run->end;
  }
}

void EmptyVoltageFinder::look(core::RawBlock& block, core::RawBlock* before) {
  Pieces pieces(block);
  find_equal_probes(block);
  const auto past = [&](const Run& run) { return run.end <= before_position_; };
  for (std::vector<Run>& runs : runs_) std::erase_if(runs, past);
  std::erase_if(together_runs_, past);
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
    if (parts[i].empty() || parts[i].front().first > 0) end_run(i);
    for (const core::ConstantRun& part : parts[i])
      look_at(i, part.first, part.end, block, before, pieces);
    if (parts[i].empty() || parts[i].back().end < block.samples) end_run(i);
  }
  if (of_all.empty() || of_all.front().first > 0) end_run_together();
  const InputsTogether inputs(block);
  for (const core::ConstantRun& part : of_all)
    look_together(part.first, part.end, block, before, inputs, pieces);
  if (of_all.empty() || of_all.back().end < block.samples) end_run_together();
  before_position_ = position_;
  position_ += block.samples;
}

}  // namespace tautline::stream
