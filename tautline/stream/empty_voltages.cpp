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

// The samples of one input in a block, all channels together.
class InputTimes {
 public:
  InputTimes(const core::RawBlock& block, std::size_t input)
      : samples_(block, input), channels_(block.layout.channels) {}

  std::uint64_t value(std::size_t t, std::size_t channel) const {
    return samples_.value(t, channel);
  }
  bool equal(std::size_t a, std::size_t b) const {
    for (std::size_t c = 0; c < channels_; ++c)
      if (value(a, c) != value(b, c)) return false;
    return true;
  }
  // The first sample after `first`, before `end`, that differs from it.
  template <class Pieces>
  std::size_t end_of_run(std::size_t first, std::size_t end, Pieces& pieces) const {
    std::size_t t = first + 1;
    while (t < end) {
      const std::size_t piece = (t - 1) / kPiece, next = (piece + 1) * kPiece;
      if ((t - 1) % kPiece == 0 && next < end &&
          (samples_.constant(t - 1, next) || pieces.constant(piece))) {
        t = next + 1;
        continue;
      }
      for (const std::size_t stop = std::min(end, next + 1); t < stop; ++t)
        if (!equal(first, t)) return t;
    }
    return end;
  }
  // Samples that are not finite are counted as such, not as empty.
  bool finite(std::size_t t) const {
    for (std::size_t c = 0; c < channels_; ++c)
      if (!samples_.finite(value(t, c))) return false;
    return true;
  }

 private:
  InputSamples samples_;
  std::size_t channels_;
};

// Parts of a block in which an input's samples are valid.
std::vector<core::ConstantRun> valid_parts(const core::RawBlock& block, std::size_t input) {
  std::vector<core::ConstantRun> lost;
  for (const core::InvalidSpan& span : block.invalid)
    if (span.input == input || span.input == core::InvalidSpan::kAllInputs)
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

EmptyVoltageFinder::EmptyVoltageFinder(const core::VoltageDescription& description)
    : repeats_(std::max(
          kLeastRepeats,
          core::divide_up(
              core::repeats_of_nothing(kFewestBits, description.rate_hz.value() *
                                                        static_cast<double>(description.inputs())),
              description.channels))),
      open_(description.inputs()) {
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
  block.invalid.push_back({input, first, end - first});
  found_.samples += end - first;
  found_.inputs[input] += end - first;
  if (!entry) {
    entry = found_.stretches++;
    if (*entry < EmptyVoltages::kListed) found_.list.push_back({input, position + first, 0});
  }
  if (*entry < found_.list.size()) found_.list[*entry].samples += end - first;
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

void EmptyVoltageFinder::look(core::RawBlock& block, core::RawBlock* before) {
  Pieces pieces(block);
  find_equal_probes(block);
  std::vector<std::vector<core::ConstantRun>> parts;
  const bool whole = block.invalid.empty();
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
  before_position_ = position_;
  position_ += block.samples;
}

}  // namespace tautline::stream
