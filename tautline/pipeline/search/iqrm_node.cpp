#include "tautline/pipeline/search/iqrm_node.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "tautline/core/error.h"
#include "tautline/core/field_text.h"
#include "tautline/pipeline/search/channel_moments.h"

namespace tautline::pipeline {

namespace {

// A standard deviation of fewer samples says little.
constexpr std::size_t kLeastWindow = 64;
// Of a window: shorter ends of segments have the mask of the window before.
constexpr std::size_t kLeastShare = 4;
// Turns of neighbouring channels begin far apart: 2^32 over the golden ratio.
constexpr std::uint32_t kTurnStep = 2654435769u;
// Copies of the first spectra of a window: as they were, by channel, and for noise to be drawn from.
constexpr std::size_t kCopies = 3;

std::size_t mask_window_samples(const IqrmConfig& config,
                                const formats::FilterbankDescription& description) {
  if (config.radius >= description.channels)
    throw core::Error(
        core::ErrorKind::config, "radius", std::to_string(config.radius) + " channels",
        "less than the " + std::to_string(description.channels) + " channels of the data",
        "0 takes a tenth of them");
  const double samples = std::round(config.every_s * description.rate_hz.value());
  if (samples < static_cast<double>(kLeastWindow) || samples > 1e9)
    throw core::Error(core::ErrorKind::config, "every_s", core::text::write_number(config.every_s),
                      std::to_string(kLeastWindow) + " samples (" +
                          core::text::write_number(static_cast<double>(kLeastWindow) /
                                                   description.rate_hz.value()) +
                          " s) to 1e9");
  return static_cast<std::size_t>(samples);
}

}  // namespace

std::string iqrm_text(const IqrmConfig& config, const formats::FilterbankDescription& description) {
  return "IQRM: a mask for each " + std::to_string(mask_window_samples(config, description)) +
         " samples, channels " + core::text::write_number(config.threshold) +
         " robust standard deviations above neighbours up to " +
         std::to_string(iqrm_radius(config.radius, description.channels)) + " away";
}

std::size_t iqrm_window_bytes(const IqrmConfig& config,
                              const formats::FilterbankDescription& description) {
  const std::size_t window = mask_window_samples(config, description);
  return (window + kCopies * std::min<std::size_t>(window, kMeanSamples)) *
         description.sample_bytes();
}

IqrmNode::IqrmNode(const IqrmConfig& config) : config_(config) {}

std::vector<engine::Stream> IqrmNode::open(std::span<const engine::Stream> inputs) {
  const engine::Stream& input = inputs.front();
  filterbank_ = input.detail<FilterbankStream>();
  const formats::FilterbankDescription& description = filterbank_.description();
  if (description.channels < 2)
    throw core::Error(core::ErrorKind::config, "iqrm", "a series of one channel",
                      "filterbanks, whose channels have neighbours");
  sample_bytes_ = description.sample_bytes();
  bytes_ = iqrm_window_bytes(config_, description);
  window_samples_ = mask_window_samples(config_, description);
  most_samples_ = input.max_samples;
  found_.channels.assign(description.channels, 0);
  engine::Stream output = input;
  output.device = nullptr;
  output.lent = false;
  return {output};
}

void IqrmNode::start(engine::Outputs&) {
  const std::size_t channels = filterbank_.description().channels;
  window_.resize(window_samples_ * sample_bytes_);
  mask_.assign(channels, 0);
  known_.assign(channels, 0);
  level_.assign(channels, 0);
  phase_.assign(channels, 0);
}

void IqrmNode::begin_segment(std::size_t, const engine::Block& first, engine::Outputs&) {
  const FilterbankStream::Turn turn = filterbank_.turn_of(first.segment);
  counting_ = turn.pass == 0;
  part_ = &filterbank_.parts[turn.part];
  taking_part_.clear();
  const auto& left_out = filterbank_.left_out[part_->beam];
  for (std::size_t c = 0; c < mask_.size(); ++c)
    if (!std::binary_search(left_out.begin(), left_out.end(), c)) taking_part_.push_back(c);
  std::fill(mask_.begin(), mask_.end(), 0);
  std::fill(known_.begin(), known_.end(), 0);
  for (std::size_t c = 0; c < phase_.size(); ++c)
    phase_[c] = kTurnStep * static_cast<std::uint32_t>(c);
  masked_before_.assign(mask_.size(), 1);
  noise_of_.emplace(filterbank_.description(), left_out,
                    filterbank_.has_means() ? MissingTimes::mean : MissingTimes::noise);
  least_ = mask_.size();
  measured_ = false;
  time_.set_time(first);
  held_ = 0;
}

void IqrmNode::process(std::size_t, const engine::Block& block, engine::Outputs& outputs) {
  const auto* spectra = static_cast<const std::byte*>(block.arrays.front().data);
  for (std::size_t done = 0; done < block.samples;) {
    const std::size_t taken = std::min(block.samples - done, window_samples_ - held_);
    std::memcpy(window_.data() + held_ * sample_bytes_, spectra + done * sample_bytes_,
                taken * sample_bytes_);
    held_ += taken;
    done += taken;
    if (held_ == window_samples_) give(outputs);
  }
}

void IqrmNode::end_segment(std::size_t, engine::Outputs& outputs) {
  if (held_ > 0) give(outputs);
}

void IqrmNode::mask_window() {
  const formats::FilterbankDescription& description = filterbank_.description();
  const bool is_short = held_ < window_samples_ / kLeastShare;
  if ((is_short && measured_) || held_ < kLeastWindow) return;
  const ChannelMoments moments = measure_moments(std::span(window_).first(held_ * sample_bytes_),
                                                 description.delivered, description.channels);
  std::vector<double> statistic;
  for (const std::size_t c : taking_part_) statistic.push_back(moments.deviation[c]);
  const auto mask = iqrm_mask(statistic, {config_.threshold, config_.radius});
  for (std::size_t k = 0; k < taking_part_.size(); ++k) {
    const std::size_t c = taking_part_[k];
    mask_[c] = mask[k];
    if (mask[k] == 0 || known_[c] == 0) level_[c] = moments.mean[c];
    known_[c] = 1;
  }
  measured_ = true;
  if (counting_) ++found_.windows;
}

// Of channels that are masked from this window on: their samples in the window before.
void IqrmNode::measure_noise() {
  bool taken = false;
  for (std::size_t c = 0; c < mask_.size(); ++c) {
    if (mask_[c] == 0 || masked_before_[c] != 0) continue;
    if (!taken) noise_of_->take(before_);
    taken = true;
    noise_of_->measure(c);
  }
  masked_before_ = mask_;
  const std::size_t kept = std::min<std::size_t>(held_, kMeanSamples) * sample_bytes_;
  before_.assign(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(kept));
}

template <class Sample>
void IqrmNode::put_means(Sample* samples, std::span<const std::size_t> channels) {
  for (std::size_t t = 0; t < held_; ++t, samples += mask_.size())
    for (const std::size_t c : channels) {
      if constexpr (std::is_same_v<Sample, float>) {
        samples[c] = static_cast<float>(level_[c]);
      } else {
        // One more whenever the fractions add up to another whole.
        const double whole = std::floor(level_[c]);
        const auto step = static_cast<std::uint32_t>((level_[c] - whole) * 4294967296.0);
        phase_[c] += step;
        samples[c] = static_cast<Sample>(whole + (phase_[c] < step ? 1 : 0));
      }
    }
}

void IqrmNode::replace() {
  std::vector<std::size_t> masked;
  for (std::size_t c = 0; c < mask_.size(); ++c)
    if (mask_[c] != 0) masked.push_back(c);
  least_ = std::min(least_, masked.size());
  if (masked.empty()) return;
  std::vector<std::size_t> missing = masked;
  const std::size_t means = noise_of_->put_means_first(missing, least_, taking_part_.size());
  const std::span<const std::size_t> first = std::span(missing).first(means);
  formats::with_samples(filterbank_.description().delivered, window_.data(),
                        [&](auto* samples) { put_means(samples, first); });
  const std::uint64_t position = part_->placed.grid_first + time_.first;
  for (std::size_t k = means; k < missing.size(); ++k)
    noise_of_->draw(window_.data(), missing[k], 0, held_, position);
  if (!counting_) return;
  for (const std::size_t c : masked) found_.channels[c] += held_;
  found_.masked += masked.size() * held_;
  listed_ += masked.size();
  if (listed_ <= IqrmFound::kListed)
    found_.list.push_back({part_->beam,
                           part_->placed.grid_first + time_.first,
                           held_,
                           {masked.begin(), masked.end()}});
}

// The window as blocks.
void IqrmNode::give(engine::Outputs& outputs) {
  mask_window();
  if (counting_) found_.samples += held_;
  if (!filterbank_.has_means()) measure_noise();
  replace();
  for (std::size_t done = 0; done < held_;) {
    engine::Block& out = outputs.begin(0, time_);
    out.samples = std::min(most_samples_, held_ - done);
    out.set_extent(0, 0, out.samples);
    std::memcpy(out.arrays.front().data, window_.data() + done * sample_bytes_,
                out.samples * sample_bytes_);
    done += out.samples;
    time_.first += out.samples;
    outputs.commit();
  }
  held_ = 0;
}

engine::Counters IqrmNode::counters() const {
  return {{"windows", found_.windows}, {"masked", found_.masked}};
}

}  // namespace tautline::pipeline
