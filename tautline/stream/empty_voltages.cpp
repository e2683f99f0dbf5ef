#include "tautline/stream/empty_voltages.h"

#include <algorithm>
#include <cstring>

#include "tautline/core/constant_run.h"
#include "tautline/core/integers.h"
#include "tautline/core/threads.h"
#include "tautline/core/validity.h"
#include "tautline/stream/input_times.h"

namespace tautline::stream {

namespace {

// Fewer equal samples in all channels together are not worth a gap.
constexpr std::size_t kLeastRepeats = 16;
// Of all inputs together, and of one; one time in 24 is compared then. Of 16, one time in 8 would be, at 25 GB/s of 64
// inputs and 0.8 GB/s of one.
constexpr std::size_t kLeastTogether = 64, kLeastOfOne = 48;
// Comparisons take as long as reading their memory, which is fetched so many of them ahead.
constexpr std::size_t kFetched = 4;

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

// The block that is searched, and the one before it, or null.
struct EmptyVoltageFinder::Blocks {
  core::RawBlock& now;
  core::RawBlock* before;
  Pieces& pieces;
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
      together_{kAnyInput, std::min(kLeastTogether, repeats_),
                RepeatChance(core::log_chance_of_nothing(description.rate_hz.value()))} {
  const RepeatChance chance(core::log_chance_of_nothing(description.rate_hz.value() *
                                                        static_cast<double>(description.inputs())));
  for (std::size_t i = 0; i < description.inputs(); ++i)
    inputs_.push_back({i, std::min(kLeastOfOne, repeats_), chance});
  found_.inputs.resize(description.inputs());
}

// Compares inputs that lie side by side: at the probes, and at the times that are counted. Where these are many bytes,
// several threads do: one waits for memory most of the time.
void EmptyVoltageFinder::find_equal_probes(const core::RawBlock& block) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20, kMostPieces = 8;
  const std::size_t step = core::probe_step(least_of_probes());
  equal_probes_.resize(inputs_side_by_side(block.layout) ? inputs_.size() : 0);
  equal_counted_.resize(least_of_probes() < repeats_ ? equal_probes_.size() : 0);
  for (std::vector<std::uint32_t>& times : equal_probes_) times.clear();
  for (std::vector<std::uint32_t>& times : equal_counted_) times.clear();
  if (equal_probes_.empty()) return;
  struct EqualInput {
    std::uint32_t input, time;
  };
  struct Found {
    std::vector<EqualInput> probes, counted;
  };
  const std::size_t compared = (block.samples / step + block.samples / RepeatChance::kEvery) *
                               inputs_.size() * block.layout.format.bits_per_sample() / 8;
  std::vector<Found> found(std::clamp<std::size_t>(compared / kPieceBytes, 1, kMostPieces));
  const auto look_through = [&](const auto& inputs) {
    const auto compare = [&](std::size_t first, std::size_t end, std::size_t every,
                             std::size_t apart, std::vector<EqualInput>& equal) {
      for (std::size_t t = first; t < end && t + apart < block.samples; t += every) {
        if (const std::size_t later = t + kFetched * every; later + apart < block.samples) {
          if (apart < every) inputs.fetch(later);
          inputs.fetch(later + apart);
        }
        inputs.compare(t, t + apart, [&](std::size_t input) {
          equal.push_back({static_cast<std::uint32_t>(input), static_cast<std::uint32_t>(t)});
        });
      }
    };
    core::in_pieces(
        block.samples, found.size(), [&](std::size_t piece, std::size_t first, std::size_t end) {
          compare(core::divide_up(first, step) * step, end, step, step, found[piece].probes);
          if (!equal_counted_.empty())
            compare(first_counted(position_, first), end, RepeatChance::kEvery, 1,
                    found[piece].counted);
        });
  };
  switch (block.layout.format.bits_per_sample()) {
    case 8:
      look_through(SideBySide<std::uint8_t>(block));
      break;
    case 16:
      look_through(SideBySide<std::uint16_t>(block));
      break;
    case 32:
      look_through(SideBySide<std::uint32_t>(block));
      break;
    default:
      look_through(SideBySide<std::uint64_t>(block));
  }
  for (const Found& piece : found) {
    for (const EqualInput& one : piece.probes) equal_probes_[one.input].push_back(one.time);
    for (const EqualInput& one : piece.counted) equal_counted_[one.input].push_back(one.time);
  }
}

// What an input, or all together, repeat is among the repeats of this input.
std::size_t EmptyVoltageFinder::compared_input(const RepeatSearch& search) {
  return search.input == kAnyInput ? 0 : search.input;
}

// Samples of `run` that are in one of the runs, which are in order.
std::size_t EmptyVoltageFinder::overlap(std::span<const Run> runs, const Run& run) {
  std::uint64_t samples = 0;
  for (auto one = std::ranges::upper_bound(runs, run.first, {}, &Run::end);
       one != runs.end() && one->first < run.end; ++one)
    samples += std::min(one->end, run.end) - std::max(one->first, run.first);
  return static_cast<std::size_t>(samples);
}

// Marks samples of a run; its place in the list is assigned at the first mark.
void EmptyVoltageFinder::mark(core::RawBlock& block, const RepeatSearch& search, OpenRun& run,
                              std::size_t first, std::size_t end, std::uint64_t position) {
  run.empty = true;
  if (end == first) return;
  if (search.input == kAnyInput) return mark_together(block, first, end, position);
  const std::size_t samples =
      end - first - overlap(together_.runs, {position + first, position + end});
  block.invalid.push_back({search.input, first, end - first});
  found_.samples += samples;
  found_.inputs[search.input] += samples;
  if (!run.entry) {
    run.entry = found_.list.size();
    list({search.input, position + first, 0});
  }
  if (*run.entry < EmptyVoltages::kListed) found_.list[*run.entry].samples += end - first;
}

void EmptyVoltageFinder::mark_together(core::RawBlock& block, std::size_t first, std::size_t end,
                                       std::uint64_t position) {
  const Run run{position + first, position + end};
  bool any = false;
  for (const RepeatSearch& one : inputs_) {
    std::size_t samples = end - first - overlap(one.runs, run);
    if (const Run own{one.open.first_sample, one.open.first_sample + one.open.samples};
        one.open.empty)
      samples -= overlap({&own, 1}, run);
    any = any || samples > 0;
    found_.samples += samples;
    found_.inputs[one.input] += samples;
  }
  if (any) block.invalid.push_back({kAnyInput, first, end - first});
  together_.runs.push_back(run);
}

void EmptyVoltageFinder::list(const EmptyInput& one) {
  ++found_.stretches;
  if (found_.list.size() < EmptyVoltages::kListed) found_.list.push_back(one);
}

// Each input's own run is as long or longer, and is listed where it is empty; where that is not known yet, the stretch
// waits.
void EmptyVoltageFinder::list_together(const OpenRun& run) {
  if (!run.empty || run.samples > repeats_) return;
  for (RepeatSearch& one : inputs_) {
    const EmptyInput stretch{one.input, run.first_sample, run.samples};
    if (one.open.samples > 0 && one.open.first_sample <= run.first_sample) {
      if (!one.open.empty) one.open.waiting.push_back(stretch);
      continue;
    }
    const auto after = std::ranges::upper_bound(one.runs, run.first_sample, {}, &Run::first);
    if (after == one.runs.begin() || std::prev(after)->end <= run.first_sample) list(stretch);
  }
}

EmptyVoltages EmptyVoltageFinder::found() const {
  EmptyVoltageFinder ended = *this;
  ended.end_run(ended.together_);
  for (RepeatSearch& one : ended.inputs_) ended.end_run(one);
  return std::move(ended.found_);
}

bool EmptyVoltageFinder::is_empty(const RepeatSearch& search, const OpenRun& run) const {
  const std::size_t repeats = run.samples - 1;
  return run.finite && repeats >= search.least &&
         (repeats >= repeats_ || search.chance.too_rare(repeats));
}

// Counts how often the last sample is repeated at times [first, end) of a block; end is a time of the block, too.
template <class Samples>
void EmptyVoltageFinder::count_repeats(RepeatSearch& search, std::size_t first, std::size_t end,
                                       const Samples& samples) {
  if (search.least == repeats_) return;  // the chance decides nothing
  std::size_t t = first_counted(position_, first);
  if (equal_counted_.empty()) {
    for (; t < end; t += RepeatChance::kEvery)
      search.chance.count(1, samples.equal(t, t + 1) ? 1 : 0);
    return;
  }
  const std::vector<std::uint32_t>& equal = equal_counted_[compared_input(search)];
  for (auto next = std::lower_bound(equal.begin(), equal.end(), t);
       next != equal.end() && *next < end; ++next) {
    search.chance.count((*next - t) / RepeatChance::kEvery, 0);
    search.chance.count(1, samples.equal(*next, *next + 1) ? 1 : 0);
    t = *next + RepeatChance::kEvery;
  }
  if (t < end) search.chance.count(core::divide_up(end - t, RepeatChance::kEvery), 0);
}

// The sample that follows the one at position_ + time - 1 differs.
void EmptyVoltageFinder::count_other(RepeatSearch& search, std::size_t time) const {
  search.chance.count(counted_times(position_ + time - 1, position_ + time), 0);
}

// The open run has ended. One that may be a stretch counts as none of the noise's.
void EmptyVoltageFinder::end_run(RepeatSearch& search) {
  OpenRun& run = search.open;
  if (run.samples == 0) return;
  if (run.samples <= search.least) search.chance.count(run.uncounted, run.uncounted);
  if (search.input == kAnyInput)
    list_together(run);
  else if (run.empty)
    search.runs.push_back({run.first_sample, run.first_sample + run.samples});
  for (const EmptyInput& one : run.waiting)
    if (!run.empty) list(one);
  run = {};
}

// Continues in this block the run that the preceding block ended with; returns the run's end.
template <class Samples>
std::size_t EmptyVoltageFinder::go_on(RepeatSearch& search, std::size_t end, const Samples& samples,
                                      const Blocks& blocks) {
  OpenRun& run = search.open;
  const std::size_t stop =
      samples.equal(0, run.values) ? samples.end_of_run(0, end, blocks.pieces) : std::size_t{0};
  const std::size_t before = blocks.before->samples, there = std::min(run.samples, before);
  run.samples += stop;
  run.uncounted += counted_times(position_ - 1, position_ + stop - 1);
  if (run.empty) {
    mark(blocks.now, search, run, 0, stop, position_);
  } else if (is_empty(search, run)) {
    mark(*blocks.before, search, run, before - there, before, before_position_);
    mark(blocks.now, search, run, 0, stop, position_);
  }
  if (stop == blocks.now.samples) return stop;
  end_run(search);
  if (stop < end) count_other(search, stop);
  return stop;
}

template <class Samples>
void EmptyVoltageFinder::look_at(RepeatSearch& search, std::size_t first, std::size_t end,
                                 const Samples& samples, const Blocks& blocks) {
  if (first == 0 && blocks.before != nullptr && search.open.samples > 0) {
    first = go_on(search, end, samples, blocks);
    if (first == blocks.now.samples) return;
  } else {
    end_run(search);
  }
  const auto equal = [&](std::size_t a, std::size_t b) { return samples.equal(a, b); };
  const auto around = [&](std::size_t k) {
    core::ConstantRun run{k, samples.end_of_run(k, end, blocks.pieces)};
    while (run.first > first && samples.equal(run.first - 1, k)) --run.first;
    return run;
  };
  const auto next = [&](std::size_t k) -> std::size_t {
    if (equal_probes_.empty()) return k;
    const std::vector<std::uint32_t>& probes = equal_probes_[compared_input(search)];
    const auto found = std::lower_bound(probes.begin(), probes.end(), k);
    return found == probes.end() ? end : *found;
  };
  while (const auto run =
             core::find_constant_run(equal, around, next, end, least_of_probes(), first)) {
    count_repeats(search, first, run->first, samples);
    OpenRun& found = search.open;
    found.first_sample = position_ + run->first;
    found.samples = run->end - run->first;
    found.finite = samples.finite(run->first);
    found.uncounted = counted_times(position_ + run->first, position_ + run->end - 1);
    if (is_empty(search, found)) mark(blocks.now, search, found, run->first, run->end, position_);
    if (run->end == blocks.now.samples) return samples.keep(run->first, found.values);
    end_run(search);
    if (run->end < end) count_other(search, run->end);
    first = run->end;
  }
}

// Runs end where samples are invalid.
template <class Samples>
void EmptyVoltageFinder::look_in(RepeatSearch& search, const std::vector<core::ConstantRun>& parts,
                                 const Samples& samples, const Blocks& blocks) {
  if (parts.empty() || parts.front().first > 0) end_run(search);
  for (const core::ConstantRun& part : parts)
    look_at(search, part.first, part.end, samples, blocks);
  if (parts.empty() || parts.back().end < blocks.now.samples) end_run(search);
}

void EmptyVoltageFinder::look(core::RawBlock& block, core::RawBlock* before) {
  Pieces pieces(block);
  const Blocks blocks{block, before, pieces};
  find_equal_probes(block);
  // As they are before this search marks anything: a stretch of one search does not cut the runs of another.
  const auto of_all = valid_parts(block, kAnyInput);
  std::vector<std::vector<core::ConstantRun>> parts(inputs_.size(), of_all);
  if (!block.invalid.empty())
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = valid_parts(block, i);
  const auto forget = [&](RepeatSearch& search) {
    std::erase_if(search.runs, [&](const Run& run) { return run.end <= before_position_; });
  };
  forget(together_);
  for (RepeatSearch& one : inputs_) {
    forget(one);
    look_in(one, parts[one.input], InputTimes(block, one.input), blocks);
  }
  look_in(together_, of_all, InputsTogether(block), blocks);
  before_position_ = position_;
  position_ += block.samples;
}

}  // namespace tautline::stream
