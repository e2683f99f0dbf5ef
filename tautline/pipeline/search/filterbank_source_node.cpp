#include "tautline/pipeline/search/filterbank_source_node.h"

#include <algorithm>
#include <span>

namespace tautline::pipeline {

namespace {

core::SampleType type_of(formats::Delivered delivered) {
  switch (delivered) {
    case formats::Delivered::u8:
      return core::SampleType::u8;
    case formats::Delivered::u16:
      return core::SampleType::u16;
    case formats::Delivered::f32:
      break;
  }
  return core::SampleType::f32;
}

core::Instant instant_of(const formats::FilterbankDescription& description,
                         std::uint64_t grid_sample) {
  return core::advance(description.start, static_cast<std::int64_t>(grid_sample),
                       description.rate_hz);
}

}  // namespace

FilterbankStream::Turn FilterbankStream::turn_of(std::uint64_t segment) const {
  Turn turn{0, static_cast<std::size_t>(segment)};
  while (turn.pass >= parts.at(turn.part).passes) turn.pass -= parts[turn.part++].passes;
  return turn;
}

FilterbankSourceNode::FilterbankSourceNode(
    std::vector<std::shared_ptr<formats::FilterbankReader>> readers, FilterbankSourceConfig config)
    : readers_(std::move(readers)),
      stream_{{},
              std::move(config.parts),
              std::move(config.data_segments),
              std::move(config.files),
              std::move(config.left_out)},
      block_samples_(config.block_samples),
      mask_(std::move(config.mask)) {
  for (const auto& reader : readers_) stream_.beams.push_back(reader->description());
  stream_.left_out.resize(readers_.size());
  for (const FilterbankPart& part : stream_.parts) segments_ += part.passes;
}

std::vector<engine::Stream> FilterbankSourceNode::open(std::span<const engine::Stream>) {
  const formats::FilterbankDescription& description = stream_.description();
  std::uint64_t total = 0;
  for (const FilterbankPart& part : stream_.parts) total += part.passes * part.placed.range.count;
  return {{.kind = "filterbank",
           .arrays = {{"samples",
                       type_of(description.delivered),
                       {"time", "channel"},
                       {block_samples_, description.channels}}},
           .rate_hz = description.rate_hz,
           .start = instant_of(description, stream_.parts.front().placed.grid_first),
           .total_samples = total,
           .max_samples = block_samples_,
           .details = stream_}};
}

bool FilterbankSourceNode::produce(engine::Outputs& outputs) {
  if (segment_ == segments_) return false;
  if (done_ == 0) begin_pass();
  if (block_ == nullptr) block_ = &outputs.begin();
  const FilterbankStream::Turn turn = stream_.turn_of(segment_);
  const bool filled = fill(*block_, turn);
  if (filled) {
    block_ = nullptr;
    outputs.commit();
  }
  if (!filled || done_ == stream_.parts[turn.part].placed.range.count) {
    ++segment_;
    done_ = 0;
  }
  return segment_ < segments_;
}

// Means of channels are those before, so that each pass begins with none.
void FilterbankSourceNode::begin_pass() {
  if (mask_) masking_ = std::make_unique<MaskIntervals>(*mask_, reader());
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
  block.samples = 0;
  while (block.samples < wanted) {
    const std::size_t got =
        reader().read(range.first + done_ + block.samples, wanted - block.samples,
                      bytes.subspan(block.samples * sample_bytes));
    if (got == 0) break;
    block.samples += got;
  }
  if (block.samples == 0) return false;
  block.set_extent(0, 0, block.samples);
  if (masking_) {
    const std::uint64_t before = masking_->masked();
    masking_->apply(bytes.first(block.samples * sample_bytes), grid_first + done_, block.samples);
    if (turn.pass == 0) masked_ += masking_->masked() - before;
  }
  if (turn.pass == 0) samples_ += block.samples;
  done_ += block.samples;
  return true;
}

engine::Counters FilterbankSourceNode::counters() const {
  engine::Counters counters{{"samples", samples_}, {"masked", masked_}};
  for (const auto& reader : readers_) {
    counters["lost_samples"] += reader->damage().lost_samples;
    counters["dropped_samples"] += reader->damage().dropped_samples;
    counters["trailing_bytes"] += reader->damage().trailing_bytes;
  }
  return counters;
}

}  // namespace tautline::pipeline
