#include "tautline/pipeline/search/trial_sink_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/pipeline/search/dedisperse_node.h"
#include "tautline/pipeline/search/times_without_data.h"
#include "tautline/pipeline/time_writing.h"

namespace tautline::pipeline {

namespace {

// PRESTO's series have an even number of samples.
std::uint64_t whole_samples(SeriesFormat format) {
  return format == SeriesFormat::dat ? 2 : 1;
}

}  // namespace

std::string series_record_path(SeriesFormat format, const std::string& output) {
  if (format == SeriesFormat::npy || !std::filesystem::is_directory(output))
    return output + ".json";
  return (std::filesystem::path(output) / "dedisperse.json").string();
}

std::vector<engine::Stream> TrialSinkNode::open(std::span<const engine::Stream> inputs) {
  inputs_ = described_ = {inputs.begin(), inputs.end()};
  if (!parts_.several()) {
    make_sink(files_.output);
    return {};
  }
  if (inputs.size() > 1)
    throw core::Error(core::ErrorKind::config, "each_s",
                      fmt::format("given for trials of {} sample times", inputs.size()),
                      "one sample time, in a file of several",
                      "write each output of `dedisperse` (\"trials.0\", \"trials.1\" ...) by a "
                      "`trial_files` of its own");
  most_samples_ = parts_.most_samples(inputs.front().rate_hz,
                                      4 * inputs.front().detail<TrialStream>().dms.size());
  if (files_.format == SeriesFormat::dat) most_samples_ = most_samples_ / 2 * 2;
  most_samples_ = std::max<std::uint64_t>(whole_samples(files_.format), most_samples_);
  return {};
}

// The series of described_ to an array, a file or a folder.
void TrialSinkNode::make_sink(const std::string& path) {
  TrialSinkConfig config;
  config.format = files_.format;
  config.output = path;
  config.overwrite = files_.overwrite;
  filled_.clear();
  for (const engine::Stream& input : described_) {
    const auto& trials = input.detail<TrialStream>();
    config.description = trials.description;
    config.name = files_.name.empty() ? trials.name : files_.name;
    config.dm_constant = trials.dm_constant;
    config.float_samples = input.arrays.front().type == core::SampleType::f32;
    config.ranges.push_back({trials.dms, trials.downsample, trials.samples});
    filled_.emplace_back(trials);
  }
  path_ = path;
  written_.assign(described_.size(), 0);
  sink_ = files_.sink ? files_.sink(config) : make_trial_sink(config);
  if (files_.describe)
    record_ = std::make_unique<formats::AppendFile>(series_record_path(files_.format, path),
                                                    files_.overwrite);
}

// Of several: from a sample of a block on.
void TrialSinkNode::begin_file(const engine::Block& block, std::size_t sample) {
  const std::uint64_t first = block.first + sample;
  auto trials = inputs_.front().detail<TrialStream>();
  trials.description.start =
      core::advance(block.segment_start, static_cast<std::int64_t>(first), inputs_.front().rate_hz);
  trials.description.tstart_mjd = core::modified_julian_date(trials.description.start);
  if (trials.samples > 0)
    trials.samples = std::min(most_samples_, trials.samples - std::min(first, trials.samples));
  std::vector<std::pair<std::uint64_t, std::uint64_t>> segments;
  for (const auto& [from, end] : trials.data_segments)
    if (const std::uint64_t before = first * trials.downsample; end > before)
      segments.emplace_back(from - std::min(from, before), end - before);
  trials.data_segments = std::move(segments);
  described_.front().details = std::move(trials);
  make_sink(path_.empty() ? parts_.begin() : path_);
}

// Without the gaps that the source has filled up to now; of several files up to the last sample that one needs.
DataSegments TrialSinkNode::segments_with_data() const {
  const auto& trials = described_.front().detail<TrialStream>();
  DataSegments segments = trials.data_segments;
  if (!trials.filterbank || trials.filterbank->filled.empty()) return segments;
  const formats::FilterbankDescription& band = trials.filterbank->description();
  const auto before = static_cast<std::uint64_t>(std::max<std::int64_t>(
      0, core::samples_between(band.start, trials.description.start, band.rate_hz)));
  const std::uint64_t longest =
      trials.delays.empty() ? 0 : *std::max_element(trials.delays.begin(), trials.delays.end());
  const std::uint64_t needed = (written_.front() + longest) * trials.downsample;
  std::vector<FilledRun> gaps = trials.filterbank->filled.front()->gaps();
  if (segments.empty() && !gaps.empty()) segments = {{0, needed}};
  if (parts_.several()) {
    std::erase_if(segments, [&](const auto& one) { return one.first >= needed; });
    if (!segments.empty()) segments.back().second = std::min(segments.back().second, needed);
  }
  return without_gaps(segments, gaps, before);
}

// An array is read by its record, and a folder is whole when it has one.
void TrialSinkNode::finish_file(bool last) {
  if (parts_.several() && written_.front() < whole_samples(files_.format)) {
    record_.reset();
    sink_.reset();
    return;  // the next file has its name
  }
  DataSegments segments = segments_with_data();
  sink_->tell_data(segments);
  if (record_) record_->write(files_.describe({described_, written_, filled_, segments, last}));
  if (record_ && files_.format == SeriesFormat::npy)
    formats::finish_after_record(*record_, [this] { sink_->finish(); });
  else
    sink_->finish();
  if (record_ && files_.format != SeriesFormat::npy) record_->finish();
  if (!parts_.several()) return;
  complete_.push_back(std::exchange(path_, {}));
  last_described_ = described_;
  last_written_ = written_;
  last_filled_ = std::move(filled_);
  last_segments_ = std::move(segments);
  record_.reset();
  sink_.reset();
}

std::optional<engine::Load> TrialSinkNode::expected_load() const {
  if (files_.sink || files_.format != SeriesFormat::npy || inputs_.empty()) return {};
  return time_writing(files_.output, bytes_per_s(inputs_.front()));
}

void TrialSinkNode::begin_segment(std::size_t input, const engine::Block&, engine::Outputs&) {
  if (parts_.several()) {
    if (sink_) finish_file(false);
    return;
  }
  if (written_[input] > 0)
    throw core::Error(core::ErrorKind::config, "trials", "a gap", "series without gaps",
                      "fill gaps, set `each_s` (files then end at gaps, too), or take one part of "
                      "the data");
}

// Blocks are split where a file is full, so that files do not depend on the block size.
void TrialSinkNode::process(std::size_t input, const engine::Block& block,
                            engine::Outputs& outputs) {
  if (!parts_.several()) return write(input, block, 0, block.samples);
  const std::uint64_t rotations = outputs.rotations();
  new_file_wanted_ = sink_ && (new_file_wanted_ || rotations != rotations_);
  rotations_ = rotations;
  const std::uint64_t whole = whole_samples(files_.format);
  for (std::size_t done = 0; done < block.samples;) {
    const bool ends = new_file_wanted_ && written_.front() % whole == 0;
    if (sink_ && (written_.front() >= most_samples_ || ends)) finish_file(false);
    if (!sink_) {
      new_file_wanted_ = false;
      begin_file(block, done);
    }
    std::uint64_t room = most_samples_ - written_.front();
    if (new_file_wanted_) room = std::min(room, whole - written_.front() % whole);
    const auto samples =
        static_cast<std::size_t>(std::min<std::uint64_t>(block.samples - done, room));
    write(input, block, done, samples);
    done += samples;
  }
}

void TrialSinkNode::write(std::size_t input, const engine::Block& block, std::size_t first,
                          std::size_t samples) {
  sink_->write(input, block.view<2>().slice(1, first, samples));
  written_[input] += samples;
  const auto& trials = inputs_[input].detail<TrialStream>();
  if (!trials.filterbank) return;
  const formats::FilterbankDescription& band = trials.filterbank->description();
  const std::int64_t before = core::samples_between(band.start, block.segment_start, band.rate_hz);
  filled_[input].add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, before)) +
                         (block.first + first) * trials.downsample,
                     samples);
}

// Where nothing follows the last complete file, its record is written again.
void TrialSinkNode::publish() {
  const std::size_t complete = complete_.size();
  if (sink_) finish_file(true);
  if (!files_.describe || complete_.empty() || complete_.size() > complete) return;
  formats::AppendFile record(series_record_path(files_.format, complete_.back()), true);
  record.write(
      files_.describe({last_described_, last_written_, last_filled_, last_segments_, true}));
  record.finish();
}

std::vector<std::string> TrialSinkNode::files() const {
  return parts_.several() ? complete_ : sink_->paths();
}

}  // namespace tautline::pipeline
