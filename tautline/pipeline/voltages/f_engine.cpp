#include "tautline/pipeline/voltages/f_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tautline/core/error.h"
#include "tautline/pipeline/device_memory.h"

namespace tautline::pipeline {

namespace {

// A rate that deviates from the bandwidth by less than this is rounded, not oversampled.
constexpr double kRateRounding = 1e-6;

void require_fitting(const core::VoltageDescription& description, const FilterConfig& config) {
  using core::Error;
  using core::ErrorKind;
  if (!config.coefficients.empty())
    for (const std::string& name : config.named)
      if (name == "window" || name == "cutoff")
        throw Error(ErrorKind::config, name, "given with `coefficients`",
                    "one of them: coefficients are the whole filter", "leave one out");
  if (!description.channelized()) {
    if (config.fine > 0)
      throw Error(ErrorKind::config, "fine", std::to_string(config.fine),
                  "input that is channelized already", "take `channels` for these voltages");
    return;
  }
  if (!description.format.complex)
    throw Error(ErrorKind::unsupported, "input", "channelized real samples",
                "complex samples when the input is already channelized");
  if (config.fine == 0) {
    if (!config.named.empty())
      throw Error(ErrorKind::config, config.named.front(),
                  fmt::format("given for input of {} channels", description.channels),
                  "only for voltages that are not channelized yet",
                  "leave it out: this input is correlated in the channels it has; or give `fine` "
                  "channels inside each of them");
    return;
  }
  if (std::find(config.named.begin(), config.named.end(), "channels") != config.named.end())
    throw Error(ErrorKind::config, "channels",
                fmt::format("given for input of {} channels", description.channels),
                "`fine` alone: channels inside each of them", "leave it out");
  if (config.fine == 1)
    throw Error(ErrorKind::config, "fine", "1", "2 or more, or 0: the channels are kept");
  const double width_hz =
      std::abs(description.bandwidth_hz) / static_cast<double>(description.channels);
  const double rate_hz = description.rate_hz.value();
  if (std::abs(rate_hz / width_hz - 1) > kRateRounding)
    throw Error(ErrorKind::unsupported, "fine",
                fmt::format("input whose channels are {:.9g} Hz apart, of {:.9g} samples a second",
                            width_hz, rate_hz),
                "channels that are sampled critically: as many samples a second as Hz apart",
                "oversampled channels overlap; correlate them as they are, or resample them first");
}

}  // namespace

core::SampleFormat output_format(stages::channelize::Output output) {
  using stages::channelize::Output;
  if (output == Output::corner_turned_ci8) return core::kCi8;
  return output == Output::corner_turned_ci4 ? core::kCi4 : core::kCf32;
}

FEngine::FEngine(std::shared_ptr<const device::Device> device,
                 const core::VoltageDescription& description, const core::RawLayout& layout,
                 const FilterConfig& config, std::size_t max_block_samples,
                 const ChannelRange& share, bool blocks_on_device)
    : device_(std::move(device)),
      description_(description),
      unpacked_(stages::unpack::unpacked_format(description.format)),
      sample_bytes_(static_cast<std::size_t>(unpacked_.bits_per_sample()) / 8),
      inputs_(description.inputs()),
      coarse_(share.count > 0 ? share.count : description.channels),
      first_coarse_(share.first),
      channels_(is_filtered(description, config) ? coarse_ * bank_channels(description, config)
                                                 : coarse_),
      hop_(1),
      span_(1),
      max_block_samples_(max_block_samples),
      max_spectra_(max_block_samples),
      output_(config.output) {
  require_fitting(description, config);
  unpack_ = of_stage("unpack", [&] {
    return stages::unpack::make_plan({.layout = layout,
                                      .max_samples = max_block_samples,
                                      .first_channel = share.first,
                                      .channels = share.count,
                                      .blocks_on_device = blocks_on_device},
                                     device_);
  });
  const std::size_t banks_before = description.channelized() && description.bandwidth_hz < 0
                                       ? description.channels - share.first - coarse_
                                       : share.first;
  range_ = {share.first, channels_};
  if (is_filtered(description, config)) {
    range_.first = banks_before * bank_channels(description, config);
    stages::channelize::Config filter;
    filter.inputs = inputs_;
    filter.channels = bank_channels(description, config);
    filter.taps = config.taps;
    filter.input = unpacked_;
    filter.window = config.window;
    filter.cutoff = config.cutoff;
    filter.coefficients = config.coefficients;
    filter.oversample_numerator = config.oversample_numerator;
    filter.oversample_denominator = config.oversample_denominator;
    // Coarse channels of a negative bandwidth are only in descending order.
    filter.lower_sideband = !description.channelized() && description.bandwidth_hz < 0;
    filter.output = config.output;
    filter.max_samples = max_block_samples;
    filter_ =
        of_stage("channelize", [&] { return stages::channelize::make_plan(filter, device_); });
    hop_ = filter.hop_samples();
    span_ = filter.frame_samples() * filter.taps;
    // Enough for a whole block after the longest history.
    max_spectra_ = filter_->spectra(span_ + hop_, max_block_samples);
  }
  clipped_.assign(inputs_, 0);
  // Rows start on cache lines, and their distance is no power of two.
  row_samples_ = (max_block_samples_ + 63) / 64 * 64 + 64;
}

std::size_t FEngine::sample_buffer_bytes() const {
  return filter_ ? coarse_ * inputs_ * row_samples_ * sample_bytes_ : 0;
}

// A channelized stream's samples are final already.
std::array<std::size_t, 3> FEngine::output_extents() const {
  if (!filter_) return {channels_, inputs_, row_samples_};
  if (output_ == stages::channelize::Output::spectra_float)
    return {inputs_, max_spectra_, channels_};
  return {channels_, inputs_, max_spectra_};
}

std::size_t FEngine::output_bytes() const {
  const auto [a, b, c] = output_extents();
  return a * b * c * core::bytes_of(core::sample_type(sample_format()));
}

void FEngine::allocate() {
  if (validity_.rows() > 0) return;
  if (delays_)
    line_ = of_stage("delays", [&] {
      return std::make_unique<DelayLine>(*device_, inputs_, sample_bytes_, delay_history_,
                                         max_block_samples_);
    });
  if (filter_)
    samples_ = of_stage("unpack", [&] { return device_->allocate(sample_buffer_bytes()); });
  validity_ = core::ValidityMask(inputs_, max_block_samples_);
  input_valid_ = core::ValidityMask(inputs_, max_block_samples_);
  spectra_valid_ = core::ValidityMask(inputs_, std::max<std::size_t>(1, max_spectra_));
  of_stage("channelize", [&] {
    if (output_memory_ == nullptr) {
      own_output_ = device_->allocate(output_bytes());
      output_memory_ = own_output_.data();
    }
    if (device_->compiles())
      clipped_on_device_ = device_->allocate(inputs_ * sizeof(std::uint64_t));
  });
}

device::MemoryUse FEngine::bytes() const {
  device::MemoryUse use;
  (device_->compiles() ? use.device_bytes : use.host_bytes) =
      sample_buffer_bytes() +
      (delays_ ? DelayLine::bytes(inputs_, sample_bytes_, delay_history_, max_block_samples_) : 0);
  use.host_bytes +=
      3 * inputs_ * core::validity_words(std::max(max_block_samples_, max_spectra_)) * 8;
  const auto add_plan = [&](const device::MemoryUse& plan) {
    use.host_bytes += plan.host_bytes;
    use.device_bytes += plan.device_bytes;
  };
  add_plan(unpack_->bytes());
  for (std::size_t k = 0; filter_ && k < coarse_; ++k) add_plan(filter_->bytes());
  return use;
}

const std::vector<std::uint64_t>& FEngine::clipped(device::Queue& queue) {
  if (clipped_on_device_.data() != nullptr && !states_.empty()) {
    queue.copy(clipped_.data(), clipped_on_device_.data(), clipped_on_device_.bytes());
    queue.synchronise();
  }
  return clipped_;
}

core::SampleFormat FEngine::sample_format() const {
  return filter_ ? output_format(output_) : unpacked_;
}

std::string FEngine::backend() const {
  const std::string unpack = "unpack " + unpack_->backend();
  return filter_ ? unpack + ", channelize " + filter_->backend() : unpack;
}

void FEngine::reset_filters() {
  for (const auto& state : states_) state->reset();
}

void FEngine::begin_segment(const core::Instant& start) {
  allocate();
  description_.start = start;
  reset_filters();
  filled_ = consumed_ = 0;
  next_spectrum_ = 0;
  if (line_) {
    line_->clear();
    next_sample_ = 0;
    begin_run();
  }
}

void FEngine::make_ready(device::Queue& queue) {
  allocate();
  if (!unpack_state_)
    unpack_state_ = of_stage("unpack", [&] { return unpack_->make_state(queue); });
  if (!filter_ || !states_.empty()) return;
  of_stage("channelize", [&] {
    while (states_.size() < coarse_) states_.push_back(filter_->make_state(queue));
  });
  queue.fill(clipped_on_device_.data(), 0, clipped_on_device_.bytes());
}

void FEngine::push(device::Queue& queue, const core::RawBlock& block, core::ValidityView channels) {
  make_ready(queue);
  if (line_) {
    not_finite_ += unpack(queue, block, line_->rows(queue), line_->row_stride_bytes(),
                          line_->mask().mutable_view());
    line_->append(block.samples);
    return;
  }
  not_finite_ += unpack(queue, block, filter_ ? samples_.data() : output_memory_,
                        row_samples_ * sample_bytes_, validity_of(block));
  take_validity(block, channels);
  filled_ = block.samples;
  consumed_ = 0;
}

// The mask of the next block: none if all of it is valid, since masks of every sample take longer than a GPU's filter.
core::View<std::uint64_t, 2> FEngine::validity_of(const core::RawBlock& block) {
  all_valid_ = stages::unpack::all_valid(block);
  return all_valid_ ? core::View<std::uint64_t, 2>() : validity_.mutable_view();
}

// After unpack, which invalidates samples that are not finite.
void FEngine::take_validity(const core::RawBlock& block, const core::ValidityView& channels) {
  by_channel_ = !channels.empty();
  if (!by_channel_) return;
  if (channel_validity_.rows() == 0)
    channel_validity_ = core::ValidityMask(coarse_ * inputs_, max_block_samples_);
  for (std::size_t row = 0; row < channel_validity_.rows(); ++row) {
    std::uint64_t* to = channel_validity_.row(row);
    const std::uint64_t* from = channels.row(first_coarse_ * inputs_ + row);
    core::copy_bits(from, 0, block.samples, to, 0);
    if (all_valid_) continue;
    const std::uint64_t* of_input = validity_.row(row % inputs_);
    for (std::size_t w = 0; w < core::validity_words(block.samples); ++w) to[w] &= of_input[w];
  }
  all_valid_ = false;
  if (!filter_ || spectra_by_channel_) return;
  spectra_by_channel_ = true;
  spectra_valid_ = core::ValidityMask(coarse_ * inputs_, std::max<std::size_t>(1, max_spectra_));
  fine_valid_ = core::ValidityMask(channels_ * inputs_, std::max<std::size_t>(1, max_spectra_));
}

// Returns the number of samples that are not finite.
std::uint64_t FEngine::unpack(device::Queue& queue, const core::RawBlock& block, void* rows,
                              std::size_t row_bytes, core::View<std::uint64_t, 2> valid) {
  const auto row = static_cast<std::ptrdiff_t>(row_bytes / sample_bytes_);
  const stages::unpack::Result result =
      unpack_->execute(queue, *unpack_state_, block,
                       {rows,
                        core::sample_type(unpacked_),
                        {unpack_->config().unpacked_channels(), inputs_, block.samples},
                        {row * static_cast<std::ptrdiff_t>(inputs_), row, 1}},
                       valid);
  sent_bytes_ += result.sent_bytes + (unpack_->config().blocks_on_device ? block.bytes.size() : 0);
  return result.not_finite;
}

void FEngine::restart_at(std::size_t sample) {
  reset_filters();
  consumed_ = sample;
}

SpectraChunk FEngine::take(device::Queue& queue, std::size_t limit) {
  if (line_) return take_delayed(queue, limit);
  if (consumed_ == filled_ || limit == 0) return {};
  return filter_ ? take_filtered(queue, limit) : take_channelized(limit);
}

SpectraChunk FEngine::take_channelized(std::size_t limit) {
  const std::size_t count = std::min(limit, filled_ - consumed_);
  SpectraChunk chunk;
  chunk.spectra = count;
  chunk.first_spectrum = next_spectrum_;
  chunk.samples = core::SampleView<3>(output_memory_, core::sample_type(unpacked_),
                                      {channels_, inputs_, row_samples_})
                      .slice(2, consumed_, count);
  if (!all_valid_) chunk.valid = copy_validity(count, spectra_valid_);
  consumed_ += count;
  next_spectrum_ += count;
  return chunk;
}

// The validity of the block's next `count` samples.
core::ValidityView FEngine::copy_validity(std::size_t count, core::ValidityMask& to) const {
  const core::ValidityMask& from = by_channel_ ? channel_validity_ : validity_;
  if (to.rows() != from.rows()) to = core::ValidityMask(from.rows(), to.samples());
  for (std::size_t i = 0; i < from.rows(); ++i) {
    core::copy_bits(from.row(i), consumed_, count, to.row(i), 0);
    if (count % 64 != 0) to.row(i)[count / 64] &= core::low_bits(count % 64);
  }
  return to.view();
}

SpectraChunk FEngine::take_filtered(device::Queue& queue, std::size_t limit) {
  // Samples that complete exactly `limit` spectra, or all that are left.
  const std::size_t held = states_.front()->held_samples();
  const std::size_t needed = (limit - 1) * hop_ + span_;
  const std::size_t count =
      std::min(filled_ - consumed_, needed > held ? needed - held : std::size_t{0});
  stages::channelize::Input input;
  const std::size_t size = sample_bytes_;
  input.samples = samples_.as<std::byte>() + consumed_ * size;
  input.count = count;
  if (!all_valid_) input.validity = copy_validity(count, input_valid_);
  consumed_ += count;
  return filter(queue, input);
}

// Runs the banks of the coarse channels one after the other, each to its place in ascending order of frequency.
SpectraChunk FEngine::filter(device::Queue& queue, stages::channelize::Input& input) {
  input.row_stride_bytes = row_samples_ * sample_bytes_;
  const auto* samples = static_cast<const std::byte*>(input.samples);
  const core::ValidityView valid = input.validity;
  const std::size_t expected = filter_->spectra(states_.front()->held_samples(), input.count);
  const bool spectra_last = output_ == stages::channelize::Output::spectra_float;
  const std::size_t each = channels_ / coarse_;
  const bool descending = coarse_ > 1 && description_.bandwidth_hz < 0;
  const std::size_t row = output_row_ > 0 ? output_row_ : expected;
  const core::MutableSampleView<3> rows(output_memory_, filter_->config().output_type(),
                                        spectra_last
                                            ? std::array<std::size_t, 3>{inputs_, row, channels_}
                                            : std::array<std::size_t, 3>{channels_, inputs_, row});
  const auto all = rows.slice(spectra_last ? 1 : 2, output_place_, expected);

  stages::channelize::OutputViews out;
  const core::View<std::uint64_t, 2> spectra_valid = spectra_valid_.mutable_view();
  out.valid = spectra_valid;
  out.clipped = {device_->compiles() ? clipped_on_device_.as<std::uint64_t>() : clipped_.data(),
                 {inputs_}};
  std::size_t spectra = 0;
  for (std::size_t k = 0; k < coarse_; ++k) {
    const std::size_t first = (descending ? coarse_ - 1 - k : k) * each;
    input.samples = samples + k * inputs_ * input.row_stride_bytes;
    if (valid.extent(0) > inputs_) input.validity = valid.slice(0, k * inputs_, inputs_);
    if (spectra_by_channel_) out.valid = spectra_valid.slice(0, k * inputs_, inputs_);
    out.samples = all.slice(spectra_last ? 2 : 0, first, each);
    out.gains = {gains_.empty() ? nullptr : gains_.data() + (range_.first + first) * inputs_,
                 {each, inputs_}};
    spectra = filter_->execute(queue, *states_[k], input, out);
  }

  SpectraChunk chunk;
  chunk.spectra = spectra;
  chunk.first_spectrum = next_spectrum_;
  chunk.samples = all;
  chunk.valid = spectra_by_channel_ ? of_fine_channels() : spectra_valid_.view();
  next_spectrum_ += spectra;
  return chunk;
}

// Fine channels have the validity of their coarse channel.
core::ValidityView FEngine::of_fine_channels() {
  const std::size_t each = channels_ / coarse_;
  const bool descending = coarse_ > 1 && description_.bandwidth_hz < 0;
  for (std::size_t c = 0; c < channels_; ++c) {
    const std::size_t k = descending ? coarse_ - 1 - c / each : c / each;
    for (std::size_t i = 0; i < inputs_; ++i)
      std::copy_n(spectra_valid_.row(k * inputs_ + i), core::validity_words(max_spectra_),
                  fine_valid_.row(c * inputs_ + i));
  }
  return fine_valid_.view();
}

}  // namespace tautline::pipeline
