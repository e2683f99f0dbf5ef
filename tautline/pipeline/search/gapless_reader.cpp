#include "tautline/pipeline/search/gapless_reader.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "tautline/core/error.h"
#include "tautline/pipeline/search/channel_substitutes.h"

namespace tautline::pipeline {

GaplessReader::GaplessReader(std::shared_ptr<formats::FilterbankReader> reader)
    : reader_(std::move(reader)),
      line_(reader_->description().sample_bytes()),
      measured_(reader_->segments().size()) {
  description_ = reader_->description();
  const formats::DataSegment& last = reader_->segments().back();
  const std::uint64_t times = last.grid_sample + last.samples, there = description_.samples;
  if (times - there > there)
    throw core::Error(
        core::ErrorKind::format, "input",
        "gaps of " + std::to_string(times - there) + " samples in all",
        "less than the " + std::to_string(there) + " samples of data",
        "name one segment with `start_s` and `duration_s`, or search it: a search takes "
        "each segment for itself");
  description_.samples = times;
  segments_ = {reader_->segments().front()};
  segments_.front().samples = times;
}

std::uint64_t GaplessReader::grid_of(std::uint64_t sample) const {
  const auto& segments = reader_->segments();
  std::size_t k = segments.size() - 1;
  while (k > 0 && sample < segments[k].first_sample) --k;
  return segments[k].grid_sample + (sample - segments[k].first_sample);
}

void GaplessReader::measure(std::size_t segment) {
  if (measured_ == segment) return;
  const formats::DataSegment& before = reader_->segments()[segment];
  const std::uint64_t count = std::min(kMeanSamples, before.samples);
  ChannelSubstitutes channels(description_, {}, MissingTimes::mean);
  channels.read(*reader_, before.first_sample + before.samples - count, count);
  channels.measure_all();
  line_ = channels.means();
  measured_ = segment;
}

void GaplessReader::fill(std::size_t before, std::size_t count, std::span<std::byte> destination) {
  measure(before);
  for (std::size_t t = 0; t < count; ++t)
    std::memcpy(destination.data() + t * line_.size(), line_.data(), line_.size());
}

std::size_t GaplessReader::read(std::uint64_t first_sample, std::size_t count,
                                std::span<std::byte> destination) {
  const auto& segments = reader_->segments();
  if (destination.size() < count * line_.size())
    throw core::Error(core::ErrorKind::config, "destination",
                      std::to_string(destination.size()) + " bytes",
                      std::to_string(count * line_.size()) + " or more");
  if (first_sample >= description_.samples) return 0;
  std::size_t k = segments.size() - 1;
  while (k > 0 && first_sample < segments[k].grid_sample) --k;
  const std::uint64_t into = first_sample - segments[k].grid_sample;
  if (into < segments[k].samples)
    return reader_->read(segments[k].first_sample + into, count, destination);
  const std::uint64_t left = segments[k + 1].grid_sample - first_sample;
  const auto filled = static_cast<std::size_t>(std::min<std::uint64_t>(count, left));
  fill(k, filled, destination);
  return filled;
}

void fill_gaps(std::shared_ptr<formats::FilterbankReader>& reader, SampleRange& range) {
  if (split_at_gaps(*reader, range).size() == 1) return;
  auto filled = std::make_unique<GaplessReader>(std::move(reader));
  const std::uint64_t first = filled->grid_of(range.first);
  range = {first, filled->grid_of(range.first + range.count - 1) + 1 - first};
  reader = std::move(filled);
}

}  // namespace tautline::pipeline
