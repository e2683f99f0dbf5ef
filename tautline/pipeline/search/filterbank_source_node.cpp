#include "tautline/pipeline/search/filterbank_source_node.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "tautline/core/error.h"
#include "tautline/engine/block_pool.h"
#include "tautline/pipeline/search/empty_rule.h"
#include "tautline/pipeline/time_reading.h"

namespace tautline::pipeline {

namespace {

core::Instant instant_of(const formats::FilterbankDescription& description,
                         std::uint64_t grid_sample) {
  return core::advance(description.start, static_cast<std::int64_t>(grid_sample),
                       description.rate_hz);
}

}  // namespace

FilterbankSourceNode::FilterbankSourceNode(
    std::vector<std::shared_ptr<formats::FilterbankReader>> readers, FilterbankSourceConfig config)
    : readers_(std::move(readers)),
      stream_{.beams = {},
              .parts = std::move(config.parts),
              .data_segments = std::move(config.data_segments),
              .files = std::move(config.files),
              .left_out = std::move(config.left_out),
              .input = std::move(config.input)},
      block_samples_(config.block_samples),
      mask_(std::move(config.mask)),
      masked_times_(config.masked_times),
      empty_config_(config.empty),
      device_(std::move(config.device)),
      long_stops_(readers_.front()->description().channels),
      replaced_(std::move(config.replaced)) {
  if (device_ && (mask_ || empty_config_ != Empty::keep))
    throw core::Error(core::ErrorKind::config, mask_ ? "mask" : "keep_constant",
                      mask_ ? "given" : "false",
                      "samples in the host's memory, or no mask and `keep_constant`");
  for (const auto& reader : readers_) {
    stream_.beams.push_back(reader->description());
    // Gaps that a reader fills are none of the data's; a series that tells what the filterbank lacked has sums there.
    if (empty_config_ == Empty::keep && !device_ && stream_.data_segments.size() < 2 &&
        reader->description().series_breaks.empty())
      kept_.emplace_back(reader->description());
    if (stream_.beams.back().time_series) continue;  // what was filled before is not known
    filled_.push_back(std::make_shared<FilledValues>(stream_.beams.back().channels));
    stream_.filled.push_back(filled_.back());
  }
  stream_.left_out.resize(readers_.size());
  read_for(std::move(stream_.parts), block_samples_);
  found_.channels.assign(stream_.description().channels, 0);
  found_.not_finite_channels = found_.channels;
  found_.clipped = found_.channels;
}

void FilterbankSourceNode::read_for(std::vector<FilterbankPart> parts, std::size_t block_samples) {
  stream_.parts = std::move(parts);
  block_samples_ = block_samples;
  segments_ = 0;
  for (const FilterbankPart& part : stream_.parts) segments_ += part.passes;
}

std::vector<engine::Stream> FilterbankSourceNode::open(std::span<const engine::Stream>) {
  const formats::FilterbankDescription& description = stream_.description();
  std::uint64_t total = 0;
  for (const FilterbankPart& part : stream_.parts) total += part.passes * part.placed.range.count;
  return {{.kind = "filterbank",
           .arrays = {{"samples",
                       formats::sample_type(description.delivered),
                       {"time", "channel"},
                       {block_samples_, description.channels}}},
           .rate_hz = description.rate_hz,
           .start = instant_of(description, stream_.parts.front().placed.grid_first),
           .total_samples = total,
           .max_samples = block_samples_,
           .device = device_,
           .pace = pace_,
           .details = stream_}};
}

// Another node reads a piece of the first part, which it cleans in the same way.
std::optional<engine::Load> FilterbankSourceNode::expected_load() const {
  if (pace_ > 0) return {};
  FilterbankPart part = stream_.parts.front();
  const PartToRead piece =
      part_to_read(part.placed.range.count, block_samples_, stream_.description().sample_bytes());
  part.placed = {{part.placed.range.first + piece.first, piece.samples},
                 part.placed.grid_first + piece.first};
  part.passes = 1;
  FilterbankSourceNode node(readers_, {.parts = {part},
                                       .block_samples = block_samples_,
                                       .mask = mask_,
                                       .masked_times = masked_times_,
                                       .empty = empty_config_,
                                       .left_out = stream_.left_out});
  engine::BlockPool pool(node.open({}).front(), 1, 0, nullptr);
  pool.allocate();
  engine::Block& block = *pool.take(false);
  std::memset(block.arrays.front().data, 0, block_samples_ * stream_.description().sample_bytes());
  node.begin_pass();
  return time_reading(stream_.beam_of(part).rate_hz.value(), [&]() -> std::size_t {
    const std::uint64_t before = node.done_;
    if (before == piece.samples || !node.fill(block, {})) return 0;
    return static_cast<std::size_t>(node.done_ - before);
  });
}

bool FilterbankSourceNode::produce(engine::Outputs& outputs) {
  if (segment_ == segments_) return false;
  if (done_ == 0) begin_pass();
  if (block_ == nullptr) block_ = &outputs.begin();
  if (device_) outputs.queue(device_).synchronise();  // it has read what the block had
  const FilterbankStream::Turn turn = stream_.turn_of(segment_);
  const bool filled = fill(*block_, turn);
  if (filled && block_->samples > 0) {
    block_ = nullptr;
    outputs.commit();
  }
  if (!filled || done_ == stream_.parts[turn.part].placed.range.count) {
    if (empty_ && turn.pass == 0) note_masked(turn);
    if (!kept_.empty() && turn.pass == 0) note_kept();
    ++segment_;
    done_ = 0;
  }
  return segment_ < segments_;
}

// At the end of a part.
void FilterbankSourceNode::note_masked(const FilterbankStream::Turn& turn) {
  found_.noise_samples += empty_->noise_samples();
  for (std::size_t c = 0; c < found_.channels.size(); ++c) {
    found_.channels[c] += empty_->masked()[c];
    found_.not_finite_channels[c] += empty_->not_finite()[c];
    found_.clipped[c] += empty_->clipped()[c];
  }
  const FilterbankPart& of = stream_.parts[turn.part];
  for (const FilledRun& one : long_stops_.take())
    if (found_.long_stops.size() < LongStops::kMost)
      found_.long_stops.push_back(
          {of.beam, one.channel, of.placed.range.first + one.first, one.end - one.first});
  if (found_.kept == 0 && empty_->kept() > 0)
    found_.first_kept = {of.beam, of.placed.grid_first + empty_->first_kept().first,
                         empty_->first_kept().count};
  found_.kept += empty_->kept();
  for (const SampleRange& one : empty_->mostly_masked())
    if (found_.mostly.size() < EmptyFound::kListed)
      found_.mostly.push_back({of.beam, of.placed.grid_first + one.first, one.count});
}

// At the end of a part.
void FilterbankSourceNode::note_kept() {
  kept_[part().beam].end();
  KeptAsData& found = found_.kept_as_data;
  found = {};
  for (std::size_t beam = 0; beam < kept_.size(); ++beam) {
    const KeptEmpty& kept = kept_[beam];
    found.stretches += kept.stretches();
    found.samples += kept.samples();
    for (const SampleRange& one : kept.list()) found.list.push_back({beam, one.first, one.count});
    found.channels = std::max(found.channels, kept.channels());
  }
}

// Means of channels are those of earlier samples, so each pass begins with none.
void FilterbankSourceNode::begin_pass() {
  if (mask_) masking_ = std::make_unique<MaskIntervals>(*mask_, masked_times_, reader());
  if (empty_config_ != Empty::keep)
    empty_ = std::make_unique<EmptyStretches>(reader(), part().placed.range,
                                              stream_.left_out[part().beam], MissingTimes::noise);
  finite_ = std::make_unique<FiniteValues>(reader(), part().placed.range);
  filling_ = {};
  skipping_ = false;
}

// Fills in the times of a block that belong to a stretch that began before or begins with it. Returns their number.
std::size_t FilterbankSourceNode::fill_stretch(std::span<std::byte> bytes, bool counting) {
  std::uint64_t end = filling_.first + filling_.count;
  if (filling_.count == 0 || end < done_) return 0;
  if (const std::uint64_t left = (end - done_) * repeated_.size(); left < bytes.size())
    filling_.count += goes_on(bytes.subspan(static_cast<std::size_t>(left)), counting);
  end = filling_.first + filling_.count;
  const auto times = static_cast<std::size_t>(
      std::min<std::uint64_t>(end - done_, bytes.size() / repeated_.size()));
  if (!as_read_)
    empty_->fill(bytes.first(times * repeated_.size()), done_,
                 filling_.count < kLeastGap ? MissingTimes::noise : MissingTimes::mean);
  filled_now_.push_back({FilledRun::kAllChannels, done_, done_ + times});
  if (counting) long_stops_.add(std::span(&filled_now_.back(), 1));
  return times;
}

// Whether a reader without gaps made this time up.
bool FilterbankSourceNode::filled_by_reader(std::uint64_t position) const {
  const auto& there = stream_.data_segments;
  return !there.empty() && std::none_of(there.begin(), there.end(), [&](const auto& segment) {
    return segment.first <= position && position < segment.second;
  });
}

// What stands in for data in the part from `first` to done_.
void FilterbankSourceNode::note_filled(std::uint64_t first) {
  const auto& there = stream_.data_segments;
  for (std::size_t k = 0; k + 1 < there.size(); ++k)  // gaps of the reader
    if (const FilledRun gap{FilledRun::kAllChannels, std::max(first, there[k].second),
                            std::min(done_, there[k + 1].first)};
        gap.first < gap.end)
      filled_now_.push_back(gap);
  if (replaced_) {
    const std::uint64_t from = part().placed.range.first;
    for (const FilledRun& run : replaced_(from + first, from + done_))
      filled_now_.push_back({run.channel, run.first - from, run.end - from});
  }
  if (filled_now_.empty() || filled_.empty()) return;
  for (FilledRun& run : filled_now_) {
    run.first += part().placed.grid_first;
    run.end += part().placed.grid_first;
  }
  filled_[part().beam]->add(filled_now_);
}

// A reader of live data reads a limited number of spectra ahead: a stretch may continue after its assumed end.
std::uint64_t FilterbankSourceNode::goes_on(std::span<const std::byte> bytes, bool counting) {
  std::uint64_t times = 0;
  for (; !bytes.empty() && std::ranges::equal(bytes.first(repeated_.size()), repeated_); ++times)
    bytes = bytes.subspan(repeated_.size());
  if (counting && times > 0) {
    found_.samples += times;
    if (found_.list.size() == found_.stretches) found_.list.back().samples += times;
    empty_->count_not_finite(repeated_, times);
  }
  return times;
}

// Where each spectrum stands twice, half of the samples are all that there is.
void FilterbankSourceNode::count_repeated(std::size_t from, std::size_t end) {
  const auto& description = stream_.description();
  const std::size_t left_out = stream_.left_out[part().beam].size();
  if (from == end || !spectra_differ(description, channels_counting(description, left_out))) return;
  found_.repeated += empty_->repeated(from, end);
  found_.compared += end - from - 1;
}

// Gives a block from position done_ on, which advances. Returns the number of its times.
std::uint64_t FilterbankSourceNode::treat_empty(std::span<std::byte> bytes, bool counting) {
  const std::size_t sample_bytes = stream_.description().sample_bytes();
  const std::uint64_t first = done_, samples = bytes.size() / sample_bytes;
  if (skipping_) {
    done_ += goes_on(bytes, counting);
    if (done_ > first) return 0;
    skipping_ = false;
  }
  for (;;) {
    const auto at = static_cast<std::size_t>(done_ - first);
    done_ += fill_stretch(bytes.subspan(at * sample_bytes), counting);
    const auto from = static_cast<std::size_t>(done_ - first);
    const auto stretch = empty_->find(bytes, first, from);
    const std::uint64_t end = stretch ? stretch->first - first : samples;
    if (counting) count_repeated(from, static_cast<std::size_t>(end));
    const std::uint64_t masked = empty_->mask_channels(
        bytes.subspan(from * sample_bytes, (end - from) * sample_bytes), done_, !stretch);
    filled_now_.insert(filled_now_.end(), empty_->replaced().begin(), empty_->replaced().end());
    if (counting) found_.values += masked;
    if (counting) long_stops_.add(empty_->drawn());
    done_ = first + end;
    if (!stretch) return samples;
    const auto spectrum = bytes.subspan(end * sample_bytes, sample_bytes);
    repeated_.assign(spectrum.begin(), spectrum.end());
    as_read_ = filled_by_reader(stretch->first);
    if (as_read_) {
      filling_ = *stretch;
      continue;
    }
    const bool left_out = empty_config_ == Empty::split && stretch->count >= kLeastGap;
    if (counting) {
      found_.samples += stretch->count;
      ++found_.stretches;
      found_.filled += left_out ? 0 : 1;
      empty_->count_not_finite(repeated_, stretch->count);
      if (found_.list.size() < EmptyFound::kListed)
        found_.list.push_back(
            {part().beam, part().placed.grid_first + stretch->first, stretch->count});
    }
    if (left_out) {
      skipping_ = true;
      done_ = stretch->first + stretch->count;
      return end;
    }
    filling_ = *stretch;
    empty_->measure_around(*stretch);
  }
}

// False: the reader has no more of this part.
bool FilterbankSourceNode::fill(engine::Block& block, const FilterbankStream::Turn& turn) {
  const auto& [range, grid_first] = stream_.parts[turn.part].placed;
  const std::size_t sample_bytes = stream_.description().sample_bytes();
  const std::span bytes(static_cast<std::byte*>(block.arrays.front().data),
                        block_samples_ * sample_bytes);
  const auto wanted =
      static_cast<std::size_t>(std::min<std::uint64_t>(block_samples_, range.count - done_));
  block.segment = segment_;
  block.segment_start = instant_of(stream_.beam_of(part()), grid_first);
  block.first = done_;
  block.samples = reader().read_across(range.first + done_, wanted, bytes);
  if (block.samples == 0) return false;
  filled_now_.clear();
  const std::uint64_t not_finite = empty_ ? empty_->not_finite_values() : 0;
  if (empty_)
    block.samples = treat_empty(bytes.first(block.samples * sample_bytes), turn.pass == 0);
  else
    done_ += block.samples;
  if (!kept_.empty() && turn.pass == 0)
    kept_[part().beam].look(bytes.first(block.samples * sample_bytes), grid_first + block.first);
  const std::uint64_t single =
      device_ ? 0 : finite_->replace(bytes.first(block.samples * sample_bytes), block.first);
  if (turn.pass == 0) {
    found_.single_not_finite += single;
    samples_ += done_ - block.first;
    note_filled(block.first);
    if (empty_) found_.not_finite += empty_->not_finite_values() - not_finite;
  }
  block.set_extent(0, 0, block.samples);
  if (masking_) {
    const std::uint64_t before = masking_->masked();
    masking_->apply(bytes.first(block.samples * sample_bytes), grid_first + block.first,
                    block.samples);
    if (turn.pass == 0) masked_ += masking_->masked() - before;
  }
  return true;
}

engine::Counters FilterbankSourceNode::counters() const {
  engine::Counters counters{{"samples", samples_},
                            {"masked", masked_},
                            {"empty_samples", found_.samples},
                            {"empty_values", found_.values},
                            {"not_finite", found_.not_finite + found_.single_not_finite}};
  for (const auto& reader : readers_) {
    counters["lost_samples"] += reader->damage().lost_samples;
    counters["dropped_samples"] += reader->damage().dropped_samples;
    counters["trailing_bytes"] += reader->damage().trailing_bytes;
  }
  return counters;
}

}  // namespace tautline::pipeline
