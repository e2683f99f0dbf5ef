#include "tautline/pipeline/search/gapless_reader.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/pipeline/search/channel_substitutes.h"
#include "tautline/pipeline/search/filterbank_source_node.h"

namespace tautline::pipeline {

namespace {

// Times that are missing before a segment.
std::uint64_t gap_before(const std::vector<formats::DataSegment>& segments, std::size_t k) {
  const formats::DataSegment& before = segments[k - 1];
  return segments[k].grid_sample - (before.grid_sample + before.samples);
}

}  // namespace

GaplessReader::GaplessReader(std::shared_ptr<formats::FilterbankReader> reader,
                             std::uint64_t longest_gap)
    : reader_(std::move(reader)),
      line_(reader_->description().sample_bytes()),
      measured_(reader_->segments().size()) {
  description_ = reader_->description();
  const auto& segments = reader_->segments();
  for (std::size_t k = 0; k < segments.size(); ++k) {
    const std::uint64_t gap = k > 0 ? gap_before(segments, k) : 0;
    const bool filled = k > 0 && gap <= longest_gap;
    places_.push_back(k > 0 ? places_.back() + segments[k - 1].samples + (filled ? gap : 0) : 0);
    if (filled) {
      segments_.back().samples += gap + segments[k].samples;
      continue;
    }
    segments_.push_back(segments[k]);
    segments_.back().first_sample = places_.back();
  }
  const std::uint64_t times = places_.back() + segments.back().samples;
  const std::uint64_t there = description_.samples;
  if (longest_gap == kAnyGap && times - there > there)
    throw core::Error(
        core::ErrorKind::format, "input",
        "gaps of " + std::to_string(times - there) + " samples in all",
        "less than the " + std::to_string(there) + " samples of data",
        "name one segment with `start_s` and `duration_s`, or search it: a search takes "
        "each segment for itself");
  description_.samples = times;
  for (formats::FileJoin join : reader_->joins()) {
    join.sample = place_of(join.sample);
    joins_.push_back(join);
  }
}

std::uint64_t GaplessReader::place_of(std::uint64_t sample) const {
  const auto& segments = reader_->segments();
  std::size_t k = segments.size() - 1;
  while (k > 0 && sample < segments[k].first_sample) --k;
  return places_[k] + (sample - segments[k].first_sample);
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
  while (k > 0 && first_sample < places_[k]) --k;
  const std::uint64_t into = first_sample - places_[k];
  if (into < segments[k].samples)
    return reader_->read(segments[k].first_sample + into, count, destination);
  const std::uint64_t left = places_[k + 1] - first_sample;
  const auto filled = static_cast<std::size_t>(std::min<std::uint64_t>(count, left));
  fill(k, filled, destination);
  return filled;
}

std::uint64_t fill_gaps(std::shared_ptr<formats::FilterbankReader>& reader, SampleRange& range,
                        std::uint64_t longest_gap) {
  const std::vector<PlacedRange> parts = split_at_gaps(*reader, range);
  bool any = false;
  for (std::size_t k = 1; k < parts.size(); ++k)
    any = any ||
          parts[k].grid_first - (parts[k - 1].grid_first + parts[k - 1].range.count) <= longest_gap;
  if (!any) return 0;
  auto filled = std::make_unique<GaplessReader>(std::move(reader), longest_gap);
  const std::uint64_t first = filled->place_of(range.first), before = range.count;
  range = {first, filled->place_of(range.first + range.count - 1) + 1 - first};
  reader = std::move(filled);
  return range.count - before;
}

CleanedReader::CleanedReader(formats::FilterbankReader& reader, const SampleRange& range,
                             std::vector<std::size_t> left_out)
    : reader_(reader), range_(range), left_out_(std::move(left_out)) {
  description_ = reader_.description();
  segments_ = reader_.segments();
  joins_ = reader_.joins();
}

std::size_t CleanedReader::read(std::uint64_t first_sample, std::size_t count,
                                std::span<std::byte> destination) {
  const std::uint64_t end = range_.first + range_.count;
  const bool inside = first_sample >= range_.first && first_sample < end;
  if (inside) count = static_cast<std::size_t>(std::min<std::uint64_t>(count, end - first_sample));
  const std::size_t got = reader_.read(first_sample, count, destination);
  if (!inside) return got;
  const std::uint64_t position = first_sample - range_.first;
  if (!empty_ || position != done_) begin_before(position);
  clean(destination.first(got * description_.sample_bytes()));
  return got;
}

// So far that a stretch which is filled, and a channel's stop, are seen to go on; in the first piece, whose stretches
// are measured behind them, from the start.
void CleanedReader::begin_before(std::uint64_t position) {
  empty_.emplace(reader_, range_, left_out_, MissingTimes::noise);
  stretch_ = {};
  const auto before = std::max<std::uint64_t>(kLeastGap, spectra_ahead(description_, left_out_));
  done_ = position < kMeanSamples + before ? 0 : position - before;
  std::vector<std::byte> spectra(static_cast<std::size_t>(position - done_) *
                                 description_.sample_bytes());
  const std::size_t got = reader_.read_across(range_.first + done_,
                                              static_cast<std::size_t>(position - done_), spectra);
  clean(std::span(spectra).first(got * description_.sample_bytes()));
  done_ = position;
}

// Spectra from done_ on, which advances.
void CleanedReader::clean(std::span<std::byte> spectra) {
  const std::size_t sample_bytes = description_.sample_bytes();
  const std::uint64_t first = done_, end = first + spectra.size() / sample_bytes;
  const auto part = [&](std::uint64_t to) {
    return spectra.subspan(static_cast<std::size_t>(done_ - first) * sample_bytes,
                           static_cast<std::size_t>(to - done_) * sample_bytes);
  };
  for (;;) {
    if (const std::uint64_t to = std::min(end, stretch_.first + stretch_.count); to > done_) {
      if (stretch_.count < kLeastGap) empty_->fill(part(to), done_, MissingTimes::noise);
      done_ = to;
    }
    const auto found = empty_->find(spectra, first, static_cast<std::size_t>(done_ - first));
    const std::uint64_t to = found ? found->first : end;
    empty_->mask_channels(part(to), done_, !found);
    done_ = to;
    if (!found) return;
    stretch_ = *found;
    if (stretch_.count < kLeastGap) empty_->measure_around(stretch_);
  }
}

}  // namespace tautline::pipeline
