#include "tautline/pipeline/search/live_filterbank_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tautline/core/error.h"

namespace tautline::pipeline {

namespace {

std::size_t live_block_samples(const LiveFilterbankConfig& config, double rate_hz) {
  if (config.block_samples > 0) return config.block_samples;
  return static_cast<std::size_t>(std::clamp(std::floor(kLiveBlock * rate_hz), 1.0, 1e6));
}

// In order, each once.
std::vector<std::size_t> channels_to_ignore(std::vector<std::size_t> ignored,
                                            std::size_t channels) {
  for (const std::size_t c : ignored)
    if (c >= channels)
      throw core::Error(core::ErrorKind::config, "ignored_channels", "channel " + std::to_string(c),
                        "channels 0 to " + std::to_string(channels - 1));
  std::sort(ignored.begin(), ignored.end());
  ignored.erase(std::unique(ignored.begin(), ignored.end()), ignored.end());
  if (ignored.size() == channels)
    throw core::Error(core::ErrorKind::config, "ignored_channels", "all channels",
                      "one at least that is not left out");
  return ignored;
}

}  // namespace

LiveFilterbankNode::LiveFilterbankNode(std::unique_ptr<stream::LiveSpectra> filterbank,
                                       const LiveFilterbankConfig& config) {
  const formats::FilterbankDescription description = filterbank->description();
  const double rate_hz = description.rate_hz.value();
  log_ = config.log;
  if (config.duration_s >= 0)
    total_samples_ = static_cast<std::uint64_t>(std::clamp(std::round(config.duration_s * rate_hz),
                                                           1.0, static_cast<double>(kLiveSamples)));
  FilterbankSourceConfig source;
  source.parts = {{{{0, kLiveSamples}, 0}, 1, 0}};
  source.block_samples = live_block_samples(config, rate_hz);
  source.empty = config.keep_constant ? Empty::keep : config.fill_gaps ? Empty::fill : Empty::split;
  leaves_gaps_ = source.empty == Empty::split;
  fills_gaps_ = config.fill_gaps;
  source.files = {filterbank->name()};
  left_out_.all = channels_to_ignore(config.ignored_channels, description.channels);
  reader_ = std::make_shared<PassingFilterbank>(
      std::move(filterbank), config.duration_s >= 0 ? total_samples_ : kLiveSamples,
      source.block_samples);
  if (!config.keep_constant) {
    look_ahead();
    if (config.leave_out_constant) {
      find_constant(config);
      look_ahead();
    }
  }
  source.left_out = {left_out_.all};
  source.replaced = [reader = reader_](std::uint64_t first, std::uint64_t end) {
    return reader->replaced(first, end);
  };
  source_.emplace(std::vector<std::shared_ptr<formats::FilterbankReader>>{reader_},
                  std::move(source));
}

engine::Counters LiveFilterbankNode::counters() const {
  engine::Counters all = source_->counters();
  for (const auto& [name, count] : reader_->packets()) all[name] = count;
  return all;
}

// As far as the search for empty stretches needs, beside the channels that are left out.
void LiveFilterbankNode::look_ahead() {
  const EmptyStretches rule(*reader_, {0, kLiveSamples}, left_out_.all);
  held_samples_ = spectra_ahead(reader_->description(), left_out_.all);
  reader_->look_around(std::max<std::uint64_t>({kLeastGap, rule.sure_repeats(), held_samples_}) + 1,
                       rule.sure_repeats() + 1, fills_gaps_);
}

// As for a file that ends with the first spectra.
void LiveFilterbankNode::find_constant(const LiveFilterbankConfig& config) {
  std::vector<std::byte> bytes(kFirstSpectra * reader_->description().sample_bytes());
  reader_->begin_block(config.stop);
  const std::size_t came = reader_->read(0, kFirstSpectra, bytes);
  FilterbankRunConfig look;
  look.ignored_channels = left_out_.all;
  left_out_ = channels_to_leave_out(*reader_, {0, came}, look);
}

void LiveFilterbankNode::shorten_blocks(std::size_t samples) {
  if (samples >= source_->block_samples()) return;
  source_->read_for(source_->stream().parts, samples);
  reader_->shorten_blocks(samples);
}

FilterbankStream LiveFilterbankNode::stream() const {
  FilterbankStream details = source_->stream();
  details.live = true;
  details.held_samples = held_samples_;
  details.leaves_gaps = leaves_gaps_;
  details.fills_gaps = fills_gaps_;
  return details;
}

std::vector<engine::Stream> LiveFilterbankNode::open(std::span<const engine::Stream> inputs) {
  std::vector<engine::Stream> streams = source_->open(inputs);
  streams.front().total_samples = total_samples_;
  streams.front().details = stream();
  return streams;
}

bool LiveFilterbankNode::produce(engine::Outputs& outputs) {
  reader_->begin_block(outputs.stop());
  more_ = source_->produce(outputs);
  return more_;
}

// After a stop: the spectra that had come.
void LiveFilterbankNode::finish(engine::Outputs& outputs) {
  while (more_) produce(outputs);
  for (const std::string& message : reader_->damage().not_logged())
    if (log_) log_(core::LogLevel::warning, message);
  const std::string stopped = channels_text(empty().channels);
  if (log_ && !stopped.empty())
    log_(core::LogLevel::warning,
         fmt::format("channels that do not change, replaced by their means or by noise: {}, of {} "
                     "samples",
                     stopped, counters().at("samples")));
  if (const std::string clipped = clipped_text(empty()); log_ && !clipped.empty())
    log_(core::LogLevel::warning, clipped);
  if (const std::string bad = not_finite_text(empty(), empty().not_finite); log_ && !bad.empty())
    log_(core::LogLevel::warning, bad);
}

}  // namespace tautline::pipeline
