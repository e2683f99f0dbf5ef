#include "tautline/pipeline/search/live_filterbank_node.h"

#include <algorithm>
#include <cmath>

#include "tautline/core/error.h"

namespace tautline::pipeline {

namespace {

core::SampleType sample_type_of(formats::Delivered delivered) {
  return delivered == formats::Delivered::u8    ? core::SampleType::u8
         : delivered == formats::Delivered::u16 ? core::SampleType::u16
                                                : core::SampleType::f32;
}

}  // namespace

LiveFilterbankNode::LiveFilterbankNode(std::unique_ptr<stream::LiveFilterbank> filterbank,
                                       LiveFilterbankConfig config)
    : filterbank_(std::move(filterbank)), config_(std::move(config)) {
  const formats::FilterbankDescription& description = filterbank_->description();
  const double rate_hz = description.rate_hz.value();
  block_samples_ =
      config_.block_samples > 0
          ? config_.block_samples
          : static_cast<std::size_t>(std::clamp(std::floor(kLiveBlock * rate_hz), 1.0, 1e6));
  if (config_.duration_s >= 0)
    most_samples_ = static_cast<std::uint64_t>(std::clamp(std::round(config_.duration_s * rate_hz),
                                                          1.0, static_cast<double>(kLiveSamples)));
  for (const std::size_t c : config_.ignored_channels)
    if (c >= description.channels)
      throw core::Error(core::ErrorKind::config, "ignored_channels", "channel " + std::to_string(c),
                        "channels 0 to " + std::to_string(description.channels - 1));
  std::sort(config_.ignored_channels.begin(), config_.ignored_channels.end());
  const auto end = std::unique(config_.ignored_channels.begin(), config_.ignored_channels.end());
  config_.ignored_channels.erase(end, config_.ignored_channels.end());
  if (config_.ignored_channels.size() == description.channels)
    throw core::Error(core::ErrorKind::config, "ignored_channels", "all channels",
                      "one at least that is not left out");
}

std::vector<engine::Stream> LiveFilterbankNode::open(std::span<const engine::Stream>) {
  const formats::FilterbankDescription& description = filterbank_->description();
  FilterbankStream details;
  details.beams = {description};
  details.parts = {{{{0, kLiveSamples}, 0}, 1, 0}};
  details.files = {filterbank_->name()};
  details.left_out = {config_.ignored_channels};
  details.live = true;
  return {{.kind = "filterbank",
           .arrays = {{"samples",
                       sample_type_of(description.delivered),
                       {"time", "channel"},
                       {block_samples_, description.channels}}},
           .rate_hz = description.rate_hz,
           .start = description.start,
           .total_samples = config_.duration_s >= 0 ? most_samples_ : 0,
           .max_samples = block_samples_,
           .details = std::move(details)}};
}

bool LiveFilterbankNode::produce(engine::Outputs& outputs) {
  if (block_ == nullptr) block_ = &outputs.begin();
  engine::Block& block = *block_;
  const engine::Array& array = block.arrays.front();
  const std::size_t wanted =
      static_cast<std::size_t>(std::min<std::uint64_t>(block_samples_, most_samples_ - samples_));
  const std::size_t bytes = block_samples_ * filterbank_->description().sample_bytes();
  block.samples =
      filterbank_->read(wanted, {static_cast<std::byte*>(array.data), bytes}, outputs.stop());
  const bool ended = block.samples < wanted;
  if (block.samples == 0) return false;
  block.segment = 0;
  block.segment_start = filterbank_->description().start;
  block.first = samples_;
  block.set_extent(0, 0, block.samples);
  samples_ += block.samples;
  block_ = nullptr;
  outputs.commit();
  return !ended && samples_ < most_samples_;
}

engine::Counters LiveFilterbankNode::counters() const {
  return {{"samples", samples_}, {"trailing_bytes", filterbank_->trailing_bytes()}};
}

}  // namespace tautline::pipeline
