#include "tautline/pipeline/voltages/buffer_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/error.h"
#include "tautline/pipeline/filterbank_stream.h"
#include "tautline/pipeline/voltages/dump_file.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

// Limits of a trigger's times, so that sums of them fit in 64 bits.
constexpr double kFarthestSample = 1e17;

}  // namespace

// One more block: a stretch as long as the ring begins inside a block.
std::size_t BufferNode::ring_blocks(const engine::Stream& stream, double seconds) {
  const double samples = seconds * stream.rate_hz.value();
  const std::size_t each = std::max<std::size_t>(1, stream.max_samples);
  if (!(samples / static_cast<double>(each) < 1e9))
    throw Error(ErrorKind::config, "keep_s", fmt::format("{:g}", seconds),
                "fewer blocks than a billion");
  const auto whole = static_cast<std::size_t>(std::max(1LL, std::llround(samples)));
  return (whole + each - 1) / each + 1;
}

engine::Needs BufferNode::needs(std::size_t input, const engine::Stream& stream) const {
  if (input > 0) return {.anywhere = true};
  const std::size_t ring = ring_blocks(stream, config_.keep_s);
  return {.kept_blocks = ring + held_blocks(ring)};
}

// The description of the data.
void BufferNode::describe() {
  if (stream_.kind == "raw voltages") {
    const auto& d = stream_.detail<RawVoltages>().description;
    of_.of = d;
    const double half_hz = std::abs(d.bandwidth_hz) / 2;
    lowest_hz_ = d.centre_hz - half_hz, highest_hz_ = d.centre_hz + half_hz;
    time_bits_ = static_cast<std::size_t>(d.format.bits_per_sample()) * d.inputs() * d.channels;
  } else if (stream_.kind == FilterbankStream::kKind) {
    const auto& filterbank = stream_.detail<FilterbankStream>();
    if (filterbank.beams.size() > 1 ||
        std::any_of(filterbank.parts.begin(), filterbank.parts.end(),
                    [](const FilterbankPart& part) { return part.passes > 1; }))
      throw Error(ErrorKind::config, "inputs", "a filterbank of several beams or readings",
                  "one beam that is read once",
                  "give the search a filterbank_files of its own, or more memory");
    const formats::FilterbankDescription& d = filterbank.description();
    of_.of = d;
    const double half_mhz = std::abs(d.foff_mhz) / 2;
    lowest_hz_ = (d.lowest_mhz() - half_mhz) * 1e6;
    highest_hz_ = (d.highest_mhz() + half_mhz) * 1e6;
    time_bits_ = spectrum_bits(d);
  } else {
    throw Error(ErrorKind::config, "inputs", stream_.kind, "raw voltages or a filterbank first");
  }
}

// The part of a ring's block that a piece lends.
std::span<const std::byte> BufferNode::bytes_in(const engine::Block& block) const {
  if (const auto* filterbank = std::get_if<formats::FilterbankDescription>(&of_.of))
    return {static_cast<const std::byte*>(block.arrays.front().data),
            block.samples * filterbank->sample_bytes()};
  const auto& raw = block.payload_of<core::RawBlock>();
  return {raw.bytes.data(), raw.bytes.size()};
}

std::vector<engine::Stream> BufferNode::open(std::span<const engine::Stream> inputs) {
  stream_ = inputs[0];
  describe();
  for (std::size_t k = 1; k < inputs.size(); ++k)
    if (inputs[k].kind != "triggers")
      throw Error(ErrorKind::config, "inputs", inputs[k].kind, "triggers behind the data",
                  "make pulses triggers with a candidate_triggers");
  if (inputs.size() == 1 && config_.datagrams.listen.empty())
    throw Error(ErrorKind::config, "inputs", "no triggers", "a node that gives some, or `listen`");
  if (!config_.datagrams.listen.empty()) trigger_endpoint(config_.datagrams);
  if (config_.before_s + config_.after_s > config_.keep_s)
    throw Error(
        ErrorKind::config, "keep_s", fmt::format("{:g}", config_.keep_s),
        fmt::format("{:g} or more, `before_s` + `after_s`", config_.before_s + config_.after_s));
  ring_blocks_ = ring_blocks(stream_, config_.keep_s);
  engine::Stream stretches = stream_;
  stretches.kind = "stretches";
  if (const auto* filterbank = std::get_if<formats::FilterbankDescription>(&of_.of))
    stretches.arrays = {{"bytes",
                         core::SampleType::u8,
                         {"byte"},
                         {stream_.max_samples * filterbank->sample_bytes()}}};
  stretches.lent = true;
  stretches.device = nullptr;
  stretches.total_samples = 0;
  // A block without memory costs nothing; there are so many that all blocks that the writer may keep can be on their
  // way at once.
  stretches.open_blocks = 2 * held_blocks(ring_blocks_) + kMostOpen;
  stretches.details = of_;
  return {stretches};
}

void BufferNode::start(engine::Outputs&) {
  if (!config_.datagrams.listen.empty()) listener_.emplace(config_.datagrams);
}

void BufferNode::process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) {
  if (input == 0)
    take(block, outputs);
  else
    for (const Trigger& trigger : block.payload_of<Triggers>()) come(trigger, true);
  listen();
  hand_on(outputs, Waits::no);
}

// Ends all stretches that wait for data after the end of the stream.
void BufferNode::finish(engine::Outputs& outputs) {
  listen();
  ended_ = true;
  for (const auto& [trigger, of_node] : std::exchange(early_, {}))
    refuse(trigger, refused_old_, "no data came");
  hand_on(outputs, Waits::yes);
  ring_.clear();
}

void BufferNode::take(const engine::Block& block, engine::Outputs& outputs) {
  if (!origin_) origin_ = block.segment_start;
  const std::int64_t first = core::samples_between(*origin_, block.segment_start, stream_.rate_hz) +
                             static_cast<std::int64_t>(block.first);
  const std::int64_t end = first + static_cast<std::int64_t>(block.samples);
  // Where the stream's clock was set back, the ring has each time once, from the latest data.
  while (!ring_.empty() && ring_.back().end > first) {
    let_go(ring_.back());
    ring_.pop_back();
  }
  while (ring_.size() >= ring_blocks_) {
    forgotten_ = std::max(forgotten_, ring_.front().end);
    let_go(ring_.front());
    ring_.pop_front();
  }
  ring_.push_back({outputs.keep(block), first, end});
  for (auto& [trigger, of_node] : std::exchange(early_, {})) accept(std::move(trigger), of_node);
}

// The writer may still use it.
void BufferNode::let_go(const Slot& slot) {
  if (slot.block.use_count() > 1) outside_.emplace_back(slot.block);
}

// With a dispersion, from the pulse at the top of the band to the pulse at the bottom.
Stretch BufferNode::stretch_of(Trigger trigger) const {
  if (trigger.before_s < 0) trigger.before_s = config_.before_s;
  if (trigger.after_s < 0) trigger.after_s = config_.after_s;
  double begin_s = -trigger.before_s, end_s = trigger.after_s;
  if (trigger.dm > 0) {
    const auto delay_s = [&](double hz) {
      return core::dispersion_delay_s(trigger.dm, hz / 1e6, trigger.reference_hz / 1e6,
                                      trigger.dm_constant);
    };
    begin_s += delay_s(highest_hz_);
    end_s += delay_s(std::max(1.0, lowest_hz_));
  }
  const double rate_hz = stream_.rate_hz.value();
  const auto samples = [&](double seconds) {
    return std::clamp(seconds * rate_hz, -kFarthestSample, kFarthestSample);
  };
  std::int64_t at = 0;
  if (trigger.sample)
    at = std::clamp(*trigger.sample, -static_cast<std::int64_t>(kFarthestSample),
                    static_cast<std::int64_t>(kFarthestSample));
  else if (std::abs(core::seconds_between(*origin_, trigger.time)) * rate_hz < kFarthestSample)
    at = core::samples_between(*origin_, trigger.time, stream_.rate_hz);
  else
    at = static_cast<std::int64_t>(samples(core::seconds_between(*origin_, trigger.time)));
  Stretch stretch;
  stretch.first = at + std::llround(samples(begin_s));
  stretch.end = std::max<std::int64_t>(at + std::llround(samples(end_s)), stretch.first + 1);
  const auto align = static_cast<std::int64_t>(config_.align_samples);
  const std::int64_t from =
      core::samples_between({origin_->seconds, 0, 1}, *origin_, stream_.rate_hz);
  const auto over = [&](std::int64_t sample) { return ((from + sample) % align + align) % align; };
  stretch.first -= over(stretch.first);
  stretch.end += (align - over(stretch.end)) % align;
  stretch.trigger = std::move(trigger);
  return stretch;
}

void BufferNode::refuse(const Trigger& trigger, std::uint64_t& counter, const std::string& why) {
  ++counter;
  if (config_.datagrams.log)
    config_.datagrams.log(core::LogLevel::warning, fmt::format("trigger {} of a {}: refused, {}",
                                                               trigger.id, trigger.kind, why));
}

std::uint64_t BufferNode::bytes_of(std::uint64_t samples) const {
  return samples * time_bits_ / 8;
}

void BufferNode::listen() {
  if (listener_) listener_->poll([this](Trigger trigger) { come(std::move(trigger), false); });
}

void BufferNode::come(Trigger trigger, bool of_node) {
  ++triggers_;
  accept(std::move(trigger), of_node);
}

void BufferNode::accept(Trigger trigger, bool of_node) {
  if (!origin_) {  // no data yet: the time cannot be placed
    if (early_.size() < kMostOpen)
      early_.emplace_back(std::move(trigger), of_node);
    else
      refuse(trigger, refused_limit_, "too many before the first data");
    return;
  }
  Stretch stretch = stretch_of(std::move(trigger));
  const double rate_hz = stream_.rate_hz.value();
  const auto longest = static_cast<std::int64_t>((ring_blocks_ - 1) * stream_.max_samples);
  if (stretch.end - stretch.first > longest)
    return refuse(stretch.trigger, refused_long_,
                  fmt::format("{:g} s are longer than the buffer's {:g} s",
                              static_cast<double>(stretch.end - stretch.first) / rate_hz,
                              static_cast<double>(longest) / rate_hz));
  if (stretch.end <= forgotten_)
    return refuse(stretch.trigger, refused_old_,
                  fmt::format("it ends {:g} s before what the buffer still has",
                              static_cast<double>(forgotten_ - stretch.end) / rate_hz));
  // Otherwise triggers of times far ahead would take the places of current ones.
  if (const double ahead_s = static_cast<double>(stretch.first - ring_.back().end) / rate_hz;
      ahead_s > config_.ahead_s)
    return refuse(stretch.trigger, refused_ahead_,
                  fmt::format("it begins {:g} s after the newest sample; `ahead_s` is {:g}",
                              ahead_s, config_.ahead_s));
  if (of_node) {
    const std::int64_t at = stretch.first + std::llround(stretch.trigger.before_s * rate_hz);
    for (const auto& [first, end] : taken_)
      if (at >= first && at < end) {
        ++covered_;
        return;
      }
  }
  if (taken_.size() >= config_.most_dumps)
    return refuse(stretch.trigger, refused_limit_,
                  fmt::format("there were {} already, `most_dumps`", taken_.size()));
  if (open_.size() >= kMostOpen)
    return refuse(stretch.trigger, refused_limit_,
                  fmt::format("{} others are not complete", open_.size()));
  const std::uint64_t bytes = bytes_of(stretch.samples());
  if (config_.most_bytes > 0 && accepted_bytes_ + bytes > config_.most_bytes)
    return refuse(stretch.trigger, refused_limit_, "no room within `most_bytes`");
  accepted_bytes_ += bytes;
  taken_.emplace_back(stretch.first, stretch.end);
  stretch.start = core::advance(*origin_, stretch.first, stream_.rate_hz);
  const std::int64_t first = stretch.first;
  open_.push_back({std::make_shared<const Stretch>(std::move(stretch)), first, forgotten_});
}

void BufferNode::hand_on(engine::Outputs& outputs, Waits waits) {
  std::erase_if(open_, [&](Open& open) { return hand_on(open, outputs, waits); });
}

// Hands on the available part of a stretch, in order of time. True: the stretch is complete.
bool BufferNode::hand_on(Open& open, engine::Outputs& outputs, Waits waits) {
  const Stretch& stretch = *open.stretch;
  const auto missed = [&](std::int64_t until, const char* why) {
    StretchPiece piece{.stretch = open.stretch,
                       .kind = StretchPiece::Kind::missed,
                       .first = open.next,
                       .samples = static_cast<std::uint64_t>(until - open.next),
                       .why = why,
                       .start = {},
                       .layout = {},
                       .invalid = {}};
    const std::uint64_t samples = piece.samples;
    if (!give(std::move(piece), nullptr, outputs, waits)) return false;
    missed_ += samples;
    open.next = until;
    return true;
  };
  while (open.next < stretch.end) {
    if (open.next < 0) {
      if (!missed(std::min<std::int64_t>(0, stretch.end), "before the stream")) return false;
      continue;
    }
    if (open.next < forgotten_) {
      const bool before = open.next < open.forgotten;
      const std::int64_t until = std::min(before ? open.forgotten : forgotten_, stretch.end);
      if (!missed(until, before ? "older than the buffer" : "overtaken")) return false;
      continue;
    }
    const Slot* slot = slot_at(open.next);
    if (slot == nullptr) {
      if (!ended_) return false;
      if (!missed(stretch.end, "after the end")) return false;
      continue;
    }
    if (slot->first > open.next) {
      if (!missed(std::min(slot->first, stretch.end), "gap")) return false;
      continue;
    }
    if (waits == Waits::no && !may_hold(*slot)) return false;
    StretchPiece piece{.stretch = open.stretch,
                       .first = open.next,
                       .why = {},
                       .start = {},
                       .layout = {},
                       .invalid = {}};
    const std::int64_t until = std::min(slot->end, stretch.end);
    piece.samples = static_cast<std::uint64_t>(until - open.next);
    if (!give(std::move(piece), slot, outputs, waits)) return false;
    open.next = until;
  }
  return give({.stretch = open.stretch,
               .kind = StretchPiece::Kind::end,
               .first = open.next,
               .why = {},
               .start = {},
               .layout = {},
               .invalid = {}},
              nullptr, outputs, waits);
}

// The first slot that ends after a sample.
const BufferNode::Slot* BufferNode::slot_at(std::int64_t sample) const {
  const auto slot = std::partition_point(ring_.begin(), ring_.end(),
                                         [&](const Slot& s) { return s.end <= sample; });
  return slot == ring_.end() ? nullptr : &*slot;
}

// Whether the writer may keep this block beside those that it has: the source must always find a free block. Blocks
// that the writer returns meanwhile are counted too late, never too early.
bool BufferNode::may_hold(const Slot& slot) {
  if (slot.block.use_count() > 1) return true;
  std::erase_if(outside_, [](const auto& gone) { return gone.expired(); });
  const auto held = static_cast<std::size_t>(std::count_if(
      ring_.begin(), ring_.end(), [](const Slot& s) { return s.block.use_count() > 1; }));
  return held + outside_.size() < held_blocks(ring_blocks_);
}

// False: the writer's ring is full.
bool BufferNode::give(StretchPiece piece, const Slot* slot, engine::Outputs& outputs, Waits waits) {
  engine::Block* const out = waits == Waits::yes ? &outputs.begin() : outputs.try_begin();
  if (out == nullptr) return false;
  out->segment = 0;
  out->segment_start = *origin_;
  out->first = static_cast<std::uint64_t>(std::max<std::int64_t>(0, piece.first));
  out->samples = static_cast<std::size_t>(piece.samples);
  out->set_extent(0, 0, 0);
  if (slot != nullptr) {
    const engine::Block& block = *slot->block;
    piece.block_first = static_cast<std::size_t>(piece.first - slot->first);
    piece.start =
        core::advance(block.segment_start,
                      static_cast<std::int64_t>(block.first + piece.block_first), stream_.rate_hz);
    if (std::holds_alternative<core::VoltageDescription>(of_.of)) {
      const auto& raw = block.payload_of<core::RawBlock>();
      piece.layout = raw.layout;
      piece.invalid = raw.invalid;
    }
    const std::span<const std::byte> bytes = bytes_in(block);
    out->lend<1>(0, {bytes.data(), core::SampleType::u8, {bytes.size()}, {1}}, slot->block);
  }
  out->payload_of<StretchPiece>() = std::move(piece);
  outputs.commit();
  return true;
}

engine::Counters BufferNode::counters() const {
  engine::Counters counters{{"triggers", triggers_},          {"covered", covered_},
                            {"missed_samples", missed_},      {"refused_old", refused_old_},
                            {"refused_long", refused_long_},  {"refused_ahead", refused_ahead_},
                            {"refused_limit", refused_limit_}};
  if (listener_) {
    counters["malformed_datagrams"] = listener_->malformed();
    counters["too_many_datagrams"] = listener_->too_many();
  }
  return counters;
}

}  // namespace tautline::pipeline
