#include "tautline/pipeline/voltages/f_engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "tautline/core/error.h"
#include "tautline/pipeline/device_memory.h"

namespace tautline::pipeline {

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
      channels_(!description.channelized() ? config.channels
                : share.count > 0          ? share.count
                                           : description.channels),
      hop_(1),
      span_(1),
      max_block_samples_(max_block_samples),
      max_spectra_(max_block_samples),
      output_(config.output) {
  unpack_ = of_stage("unpack", [&] {
    return stages::unpack::make_plan({.layout = layout,
                                      .max_samples = max_block_samples,
                                      .first_channel = share.first,
                                      .channels = share.count,
                                      .blocks_on_device = blocks_on_device},
                                     device_);
  });
  if (description.channelized()) {
    if (!config.named.empty())
      throw core::Error(core::ErrorKind::config, config.named.front(),
                        fmt::format("given for input of {} channels", channels_),
                        "only for voltages that are not channelized yet",
                        "leave it out: this input is correlated in the channels it has");
    if (!description.format.complex)
      throw core::Error(core::ErrorKind::unsupported, "input", "channelized real samples",
                        "complex samples when the input is already channelized");
  } else {
    stages::channelize::Config filter;
    filter.inputs = inputs_;
    filter.channels = config.channels;
    filter.taps = config.taps;
    filter.input = unpacked_;
    filter.window = config.window;
    filter.cutoff = config.cutoff;
    filter.coefficients = config.coefficients;
    filter.oversample_numerator = config.oversample_numerator;
    filter.oversample_denominator = config.oversample_denominator;
    filter.lower_sideband = description.bandwidth_hz < 0;
    filter.output = config.output;
    filter.max_samples = max_block_samples;
    filter_ =
        of_stage("channelize", [&] { return stages::channelize::make_plan(filter, device_); });
    hop_ = filter.hop_samples();
    span_ = filter.frame_samples() * filter.taps;
    // Enough for a whole block behind the longest history.
    max_spectra_ = filter_->spectra(span_ + hop_, max_block_samples);
  }
  clipped_.assign(inputs_, 0);
  // Rows start on cache lines, and are not a power of two apart.
  row_samples_ = (max_block_samples_ + 63) / 64 * 64 + 64;
}

std::size_t FEngine::sample_buffer_bytes() const {
  return filter_ ? inputs_ * row_samples_ * sample_bytes_ : 0;
}

// A channelized stream's samples are results already.
std::array<std::size_t, 3> FEngine::output_extents() const {
  if (!filter_) return {channels_, inputs_, row_samples_};
  return filter_->config().output_view(nullptr, max_spectra_).extents();
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
  if (filter_) add_plan(filter_->bytes());
  return use;
}

const std::vector<std::uint64_t>& FEngine::clipped(device::Queue& queue) {
  if (clipped_on_device_.data() != nullptr && state_) {
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

void FEngine::begin_segment(const core::Instant& start) {
  allocate();
  description_.start = start;
  if (state_) state_->reset();
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
  if (!filter_ || state_) return;
  state_ = of_stage("channelize", [&] { return filter_->make_state(queue); });
  queue.fill(clipped_on_device_.data(), 0, clipped_on_device_.bytes());
}

void FEngine::push(device::Queue& queue, const core::RawBlock& block) {
  make_ready(queue);
  if (line_) {
    not_finite_ +=
        unpack(queue, block, line_->rows(queue), line_->row_stride_bytes(), line_->mask());
    line_->append(block.samples);
    return;
  }
  not_finite_ += unpack(queue, block, filter_ ? samples_.data() : output_memory_,
                        row_samples_ * sample_bytes_, validity_);
  filled_ = block.samples;
  consumed_ = 0;
}

// Returns how many samples are not finite.
std::uint64_t FEngine::unpack(device::Queue& queue, const core::RawBlock& block, void* rows,
                              std::size_t row_bytes, core::ValidityMask& valid) {
  const auto row = static_cast<std::ptrdiff_t>(row_bytes / sample_bytes_);
  const stages::unpack::Result result =
      unpack_->execute(queue, *unpack_state_, block,
                       {rows,
                        core::sample_type(unpacked_),
                        {unpack_->config().unpacked_channels(), inputs_, block.samples},
                        {row * static_cast<std::ptrdiff_t>(inputs_), row, 1}},
                       valid.mutable_view());
  sent_bytes_ += result.sent_bytes + (unpack_->config().blocks_on_device ? block.bytes.size() : 0);
  return result.not_finite;
}

// Whoever had these samples first has counted those that are not finite.
void FEngine::go_on_after(device::Queue& queue, const core::RawBlock& block) {
  make_ready(queue);
  state_->reset();
  unpack(queue, block, samples_.data(), row_samples_ * sample_bytes_, validity_);
  filled_ = block.samples;
  consumed_ = 0;
  if (filled_ > 0) take_filtered(queue, 1);
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
  for (std::size_t i = 0; i < inputs_; ++i) {
    core::copy_bits(validity_.row(i), consumed_, count, spectra_valid_.row(i), 0);
    if (count % 64 != 0) spectra_valid_.row(i)[count / 64] &= core::low_bits(count % 64);
  }
  chunk.valid = spectra_valid_.view();
  consumed_ += count;
  next_spectrum_ += count;
  return chunk;
}

SpectraChunk FEngine::take_filtered(device::Queue& queue, std::size_t limit) {
  // Samples that complete exactly `limit` spectra, or all there are.
  const std::size_t held = state_->held_samples();
  const std::size_t needed = (limit - 1) * hop_ + span_;
  const std::size_t count =
      std::min(filled_ - consumed_, needed > held ? needed - held : std::size_t{0});
  stages::channelize::Input input;
  const std::size_t size = sample_bytes_;
  input.samples = samples_.as<std::byte>() + consumed_ * size;
  input.count = count;
  for (std::size_t i = 0; i < inputs_; ++i)
    core::copy_bits(validity_.row(i), consumed_, count, input_valid_.row(i), 0);
  consumed_ += count;
  return filter(queue, input);
}

SpectraChunk FEngine::filter(device::Queue& queue, stages::channelize::Input& input) {
  input.row_stride_bytes = row_samples_ * sample_bytes_;
  input.validity = input_valid_.view();
  const std::size_t expected = filter_->spectra(state_->held_samples(), input.count);

  stages::channelize::OutputViews out;
  out.samples = filter_->config().output_view(output_memory_, expected);
  out.valid = spectra_valid_.mutable_view();
  out.gains = {gains_.data(), {channels_, inputs_}};
  out.clipped = {device_->compiles() ? clipped_on_device_.as<std::uint64_t>() : clipped_.data(),
                 {inputs_}};
  const std::size_t spectra = filter_->execute(queue, *state_, input, out);

  SpectraChunk chunk;
  chunk.spectra = spectra;
  chunk.first_spectrum = next_spectrum_;
  chunk.samples = out.samples;
  chunk.valid = spectra_valid_.view();
  next_spectrum_ += spectra;
  return chunk;
}

}  // namespace tautline::pipeline
