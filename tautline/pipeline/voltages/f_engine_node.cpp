#include "tautline/pipeline/voltages/f_engine_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <numeric>
#include <random>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/integers.h"
#include "tautline/pipeline/time_calls.h"
#include "tautline/pipeline/voltages/frequencies.h"
#include "tautline/pipeline/voltages/integrator.h"
#include "tautline/pipeline/voltages/rounding_watch.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kSpectraOfLine = 64;  // and of a validity word
// A filter bank works on 8 or 16 spectra at a time: with few such parts, a split of the block would cost more than
// copies.
constexpr std::size_t kFewestToCut = 128;

core::Rational divided(const core::Rational& rate_hz, std::size_t by) {
  const auto divisor = static_cast<std::int64_t>(by);
  const std::int64_t shared = std::gcd(rate_hz.numerator, divisor);
  return core::make_rational(rate_hz.numerator / shared, rate_hz.denominator * (divisor / shared));
}

// The first `samples` samples of the rows; none where all are valid.
void copy_validity(const core::ValidityView& from, std::size_t samples, core::ValidityMask& to) {
  if (from.empty()) {
    to = {};
    return;
  }
  if (to.rows() != from.extent(0) || to.samples() != samples)
    to = core::ValidityMask(from.extent(0), samples);
  for (std::size_t row = 0; row < to.rows(); ++row)
    core::copy_bits(from.row(row), 0, samples, to.row(row), 0);
}

// The channels that a filter bank makes of these, in ascending order of frequency; without one, the same.
std::vector<stream::ConstantChannel> after_filter(
    const std::vector<stream::ConstantChannel>& constant,
    const core::VoltageDescription& description, const FilterConfig& filter) {
  if (!is_filtered(description, filter)) return constant;
  const std::size_t fine = channels_of(description, filter) / description.channels;
  std::vector<stream::ConstantChannel> after;
  for (const stream::ConstantChannel& one : constant)
    for (std::size_t c = 0; c < fine; ++c)
      after.push_back(
          {(description.bandwidth_hz < 0 ? description.channels - 1 - one.channel : one.channel) *
                   fine +
               c,
           one.input});
  return after;
}

// Of this filter bank, times those of spectra that were rounded before they came here.
SharedGains gains_of_spectra(const SharedGains& own, const RawVoltages& voltages,
                             const FilterConfig& filter) {
  if (!voltages.gains) return own;
  if (own && own->schedule().changes())
    throw core::Error(core::ErrorKind::unsupported, "settle_s",
                      "given for spectra that were rounded before, by their record",
                      "gains that stay", "leave `settle_s` and `follow_gains` out");
  const core::VoltageDescription& description = voltages.description;
  const std::size_t inputs = description.inputs(), channels = channels_of(description, filter);
  const std::size_t fine = channels / description.channels;
  const bool mirrored = is_filtered(description, filter) && description.bandwidth_hz < 0;
  std::vector<float> gains(channels * inputs);
  for (std::size_t k = 0; k < gains.size(); ++k) {
    const std::size_t coarse = k / inputs / fine;
    gains[k] = (*voltages.gains)[(mirrored ? description.channels - 1 - coarse : coarse) * inputs +
                                 k % inputs];
  }
  if (!own) return std::make_shared<Gains>(std::move(gains));
  return std::make_shared<Gains>([own, gains](const std::stop_token& stop) {
    std::vector<float> product = own->values(stop);
    for (std::size_t k = 0; k < product.size(); ++k) product[k] *= gains[k];
    return product;
  });
}

}  // namespace

std::vector<engine::Stream> FEngineNode::open(std::span<const engine::Stream> inputs) {
  using stages::channelize::Output;
  voltages_ = inputs[0].detail<RawVoltages>();
  block_bytes_ = inputs[0].arrays.front().elements();
  block_samples_ = inputs[0].max_samples;
  blocks_on_device_ = takes_blocks_on_device(inputs[0]);
  const core::VoltageDescription& description = voltages_.description;
  if (!engine_) {
    engine_ =
        std::make_unique<FEngine>(config_.device, description, voltages_.layout, config_.filter,
                                  inputs[0].max_samples, config_.channels, blocks_on_device_);
    if (config_.delays) engine_->set_delays(config_.delays, voltages_.end);
    if (gains_change())
      renewal_ = std::make_unique<GainRenewal>(config_.host, voltages_, config_.filter,
                                               inputs[0].max_samples, config_.gains->schedule());
  }
  const Output form = config_.filter.output;
  const bool filtered = is_filtered(description, config_.filter);
  const bool rounded =
      filtered && (form == Output::corner_turned_ci8 || form == Output::corner_turned_ci4);
  const bool spectra_last = filtered && form == Output::spectra_float;
  auto extents = engine_->output_extents();
  choose_block_spectra();
  if (block_spectra_ > 0) extents[2] = block_row_;
  Spectra details{
      .voltages = description,
      .files = voltages_.files,
      .stream_channels = channels_of(description, config_.filter),
      .channels = engine_->range(),
      .hop_samples = engine_->hop_samples(),
      .span_samples = engine_->span_samples(),
      .format = engine_->sample_format(),
      .gains = gains_of_spectra(rounded ? config_.gains : nullptr, voltages_, config_.filter),
      .requantised_bits = !rounded                            ? 0
                          : form == Output::corner_turned_ci4 ? 4
                                                              : 8,
      .rounded_before = voltages_.rounded_bits,
      .device = config_.device->name(),
      .kernels = engine_->backend(),
      .phase_centre = config_.phase_centre,
      .end = voltages_.end,
      .constant_channels = after_filter(voltages_.constant_channels, description, config_.filter),
      .edge_channels = edge_channels(description, channels_of(description, config_.filter),
                                     voltages_.edge_channels)};
  if (rounded)
    clipping_ =
        std::make_unique<ClippingWatch>(config_.device, details.requantised_bits, engine_->range(),
                                        engine_->inputs(), spectra_of(inputs[0].total_samples),
                                        block_spectra_ > 0 ? block_row_ : engine_->max_spectra());
  using Axes = std::vector<std::string>;
  return {{.kind = "spectra",
           .arrays = {{"spectra",
                       core::sample_type(engine_->sample_format()),
                       spectra_last ? Axes{"input", "time", "channel"}
                                    : Axes{"channel", "input", "time"},
                       {extents.begin(), extents.end()}}},
           .rate_hz = divided(inputs[0].rate_hz, engine_->hop_samples()),
           .start = inputs[0].start,
           .total_samples = spectra_of(inputs[0].total_samples),
           .max_samples = block_spectra_ > 0 ? block_row_ : engine_->max_spectra(),
           .device = config_.device,
           .details = std::move(details)}};
}

device::MemoryUse FEngineNode::bytes() const {
  device::MemoryUse use = engine_->bytes();
  if (renewal_) use.host_bytes += renewal_->bytes();
  if (clipping_) use.host_bytes += clipping_->host_bytes();
  return use;
}

// Integers are unpacked on the device that computes with them. Floats are checked on the host unless they come from the
// device's memory. The host measures gains that change.
bool FEngineNode::takes_blocks_on_device(const engine::Stream& stream) const {
  const bool floats = stream.detail<RawVoltages>().description.format.is_float();
  return config_.device->compiles() && !gains_change() &&
         (!floats || stream.device == config_.device);
}

engine::Needs FEngineNode::needs(std::size_t, const engine::Stream& stream) const {
  if (takes_blocks_on_device(stream)) return {.device = config_.device};
  return {};
}

// Pushes one block repeatedly through an engine of its own.
std::optional<engine::Load> FEngineNode::expected_load() const {
  const core::VoltageDescription& description = voltages_.description;
  const device::Device& device = *config_.device;
  const bool there = blocks_on_device_;
  FEngine engine(config_.device, description, voltages_.layout, config_.filter, block_samples_,
                 config_.channels, there);
  if (config_.delays) engine.set_delays(config_.delays, voltages_.end);
  if (config_.gains)
    engine.set_gains(
        std::vector<float>(channels_of(description, config_.filter) * description.inputs(), 1.0F));
  device::Buffer noise(block_bytes_);
  const std::span<std::byte> bytes(static_cast<std::byte*>(noise.data()), block_bytes_);
  std::minstd_rand random(1);
  if (!description.format.is_float())
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 8);
  const auto queue = device.make_queue();
  const device::Buffer copy = there ? device.allocate(block_bytes_) : device::Buffer();
  if (there) queue->copy(copy.data(), noise.data(), block_bytes_);
  core::RawBlock block;
  block.layout = voltages_.layout;
  block.samples = block_samples_;
  block.bytes.lend({static_cast<std::byte*>(there ? copy.data() : noise.data()), block_bytes_});
  engine.begin_segment(description.start);
  const double seconds = time_calls(*queue, [&] {
    engine.push(*queue, block);
    while (engine.take(*queue, engine.max_spectra()).spectra > 0) {
    }
    block.first_sample += block_samples_;
  });
  return engine::Load{seconds / static_cast<double>(block_samples_) * description.rate_hz.value(),
                      device.name()};
}

std::uint64_t FEngineNode::spectra_of(std::uint64_t samples) const {
  const std::size_t span = engine_->span_samples();
  return samples < span ? 0 : (samples - span) / engine_->hop_samples() + 1;
}

void FEngineNode::start(engine::Outputs& outputs) {
  valid_ = ValidShares(engine_->inputs(), engine_->span_samples());
  if (config_.gains) engine_->set_gains(config_.gains->values(outputs.stop()));
  if (renewal_) {
    if (config_.gains->integration_spectra() == 0)
      throw core::Error(core::ErrorKind::config, "settle_s", "given",
                        "a correlator that integrates", "leave `settle_s` and `follow_gains` out");
    renewal_->start(config_.gains->values(), config_.gains->integration_spectra());
  }
  next_output(outputs);
  engine_->make_ready(outputs.queue(config_.device));
}

engine::Block& FEngineNode::next_output(engine::Outputs& outputs) {
  if (output_ == nullptr) output_ = &outputs.begin();
  engine_->set_output(output_->arrays[0].data, block_row_, in_block_);
  return *output_;
}

void FEngineNode::begin_segment(std::size_t, const engine::Block& first, engine::Outputs&) {
  // After a dropped block a segment does not begin with its first sample.
  segment_start_ = core::advance(first.segment_start, static_cast<std::int64_t>(first.first),
                                 voltages_.description.rate_hz);
  engine_->begin_segment(segment_start_);
  segment_first_ = first.first;
  next_spectrum_ = passed_spectra_ = 0;
  if (renewal_) renewal_->begin_segment(segment_start_);
}

// The number of spectra that the block may get from this one of the segment on: gains may change at an integration's
// edge.
std::size_t FEngineNode::spectra_until_edge(std::uint64_t spectrum, engine::Outputs& outputs) {
  std::uint64_t most = engine_->max_spectra();
  if (integration_spectra_ > 0)
    most = std::min<std::uint64_t>(block_spectra_ - in_block_,
                                   integration_spectra_ - spectrum % integration_spectra_);
  if (!renewal_) return static_cast<std::size_t>(most);
  const std::uint64_t left = renewal_->to_edge(spectrum);
  if (left == config_.gains->integration_spectra()) {
    renewal_->measure(outputs.queue(config_.host), spectrum);
    if (renewal_->renew()) engine_->set_gains(*renewal_->gains());
  }
  return static_cast<std::size_t>(std::min(left, most));
}

// Hands on the open block with these spectra of the segment.
void FEngineNode::give(const engine::Block& raw, std::uint64_t first, std::size_t spectra,
                       engine::Outputs& outputs) {
  output_->set_time(raw);
  hand_on(first, spectra, outputs);
}

void FEngineNode::hand_on(std::uint64_t first, std::size_t spectra, engine::Outputs& outputs) {
  output_->segment_start = segment_start_;
  output_->first = first;
  output_->samples = spectra;
  if (clipping_)
    clipping_->look(outputs, std::as_const(*output_).view<3>(0), output_->valid.view());
  if (renewal_) {
    output_->payload = renewal_->gains();
    renewal_->count(spectra);
  }
  output_ = nullptr;
  outputs.commit();
  spectra_ += spectra;
}

void FEngineNode::set_integration(double integration_s) {
  short_blocks_ = false;
  if (integration_s_ == 0) integration_s_ = integration_s;
}

// For floats: whole groups of the X-engine, which are counted from an integration's first spectrum.
void FEngineNode::choose_block_spectra() {
  block_spectra_ = short_blocks_ ? 0 : config_.block_spectra;
  block_row_ = 0;
  integration_spectra_ = 0;
  if (block_spectra_ == 0) return;
  block_row_ = core::round_up(block_spectra_ + engine_->max_spectra(), kSpectraOfLine);
  if (integration_s_ <= 0 || !engine_->sample_format().is_float()) return;
  const core::VoltageDescription& description = voltages_.description;
  const std::size_t group = spectra_of_group(
      channels_of(description, config_.filter) * engine_->inputs() * sizeof(std::complex<float>),
      false);
  const std::uint64_t integration =
      spectra_of_integration(integration_s_, description.rate_hz, engine_->hop_samples());
  if (group < kFewestToCut || integration < group || block_spectra_ < group) return;
  block_spectra_ -= block_spectra_ % group;
  block_row_ = block_spectra_;
  integration_spectra_ = integration;
}

// The chunk follows the spectra already in the block.
void FEngineNode::add_to_block(const engine::Block& raw, const SpectraChunk& chunk) {
  output_->set_time(raw);
  if (block_valid_.rows() < chunk.valid.extent(0)) {
    core::ValidityMask mask(chunk.valid.extent(0), block_row_);
    for (std::size_t row = 0; block_valid_.rows() > 0 && row < mask.rows(); ++row)
      core::copy_bits(block_valid_.row(row % block_valid_.rows()), 0, in_block_, mask.row(row), 0);
    block_valid_ = std::move(mask);
  }
  for (std::size_t row = 0; row < block_valid_.rows(); ++row)
    core::copy_bits(chunk.valid.row(row % chunk.valid.extent(0)), 0, chunk.spectra,
                    block_valid_.row(row), in_block_);
  in_block_ += chunk.spectra;
}

void FEngineNode::give_block(engine::Outputs& outputs) {
  output_->set_extent(0, 2, in_block_);
  copy_validity(block_valid_.view(), in_block_, output_->valid);
  hand_on(next_spectrum_ - in_block_, in_block_, outputs);
  in_block_ = 0;
}

void FEngineNode::end_segment(std::size_t, engine::Outputs& outputs) {
  if (in_block_ > 0) give_block(outputs);
}

void FEngineNode::process(std::size_t, const engine::Block& block, engine::Outputs& outputs) {
  samples_ += block.samples;
  if (config_.from && !reach_place(block)) return;
  core::RawBlock raw = block.payload_of<core::RawBlock>();
  const engine::Array& bytes = block.arrays.front();
  raw.bytes.lend({static_cast<std::byte*>(bytes.data), bytes.extents[0]});
  if (renewal_)
    renewal_->take_block(outputs.queue(config_.host), raw, block.first - segment_first_);
  filter(block, raw, outputs);
  if (renewal_) renewal_->measure(outputs.queue(config_.host), UINT64_MAX);
}

// False: the block ends before the start. Earlier segments are skipped.
bool FEngineNode::reach_place(const engine::Block& block) {
  const StreamPlace& from = *config_.from;
  if (segment_start_ != from.segment_start) {
    if (core::before(from.segment_start, segment_start_)) refuse_place();
    return false;
  }
  const std::uint64_t first = block.first - segment_first_;
  if (first + block.samples <= from.sample) return false;
  if (from.sample < first || from.sample % engine_->hop_samples() != 0) refuse_place();
  passed_samples_ = static_cast<std::size_t>(from.sample - first);
  passed_spectra_ = next_spectrum_ = from.sample / engine_->hop_samples();
  config_.from.reset();
  return true;
}

void FEngineNode::refuse_place() const {
  const StreamPlace& from = *config_.from;
  const core::Instant time = core::advance(
      from.segment_start, static_cast<std::int64_t>(from.sample), voltages_.description.rate_hz);
  throw core::Error(core::ErrorKind::format, voltages_.files.front() + ": samples",
                    "no spectrum from " + core::to_iso(time) + " on",
                    "that with which the run is to go on",
                    "begin anew: remove the checkpoint and the files that were written");
}

void FEngineNode::filter(const engine::Block& raw, core::RawBlock& block,
                         engine::Outputs& outputs) {
  device::Queue& queue = outputs.queue(config_.device);
  next_output(outputs);
  // The block's own times are those at which some channel is invalid.
  const bool by_channel = raw.valid.rows() > engine_->inputs();
  if (by_channel) block.invalid.clear();
  const std::uint64_t not_finite = engine_->not_finite();
  engine_->push(queue, block, by_channel ? raw.valid.view() : core::ValidityView());
  valid_.add_samples(block, engine_->not_finite() > not_finite ? engine_->validity_of_samples()
                                                               : core::ValidityView());
  if (passed_samples_ > 0) engine_->restart_at(passed_samples_);
  passed_samples_ = 0;
  std::uint64_t first = next_spectrum_;
  for (;;) {
    const std::size_t most = spectra_until_edge(first, outputs);
    engine::Block& out = next_output(outputs);
    const SpectraChunk chunk = engine_->take(queue, most);
    if (chunk.spectra == 0) break;
    valid_.add_spectra(chunk);
    if (block_spectra_ > 0) {
      add_to_block(raw, chunk);
      first = next_spectrum_ += chunk.spectra;
      if (chunk.spectra == most || in_block_ >= block_spectra_) give_block(outputs);
      continue;
    }
    // Unfiltered spectra may follow spectra before the start.
    out.arrays[0].data = const_cast<void*>(chunk.samples.data());
    std::copy_n(chunk.samples.extents().begin(), 3, out.arrays[0].extents.begin());
    std::copy_n(chunk.samples.strides().begin(), 3, out.arrays[0].strides.begin());
    copy_validity(chunk.valid, chunk.spectra, out.valid);
    first = passed_spectra_ + chunk.first_spectrum;
    give(raw, first, chunk.spectra, outputs);
    first += chunk.spectra;
  }
  next_spectrum_ = first;
}

void FEngineNode::finish(engine::Outputs& outputs) {
  if (config_.from) refuse_place();
  clipped_ = engine_->clipped(outputs.queue(config_.device));
  if (spectra_ == 0)
    throw core::Error(core::ErrorKind::format, voltages_.files.front() + ": samples",
                      std::to_string(samples_),
                      fmt::format("{} at least, one spectrum", engine_->span_samples()),
                      "give a longer stream, or fewer `channels`");
  if (clipping_) clipping_->finish(outputs);
  if (!config_.log) return;
  // The array, whose names of the inputs others give, is not known here.
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < engine_->inputs(); ++i) numbers.push_back(std::to_string(i));
  for (const std::string& text :
       {valid_.text(numbers), valid_.nothing_text(), clipped_channels().text(numbers)})
    if (!text.empty()) config_.log(core::LogLevel::warning, text);
}

ClippedChannels FEngineNode::clipped_channels() const {
  if (!clipping_) return {};
  ClippedChannels found = clipping_->found();
  found.correlates = config_.gains->integration_spectra() > 0;
  found.follows = config_.gains->schedule().follow;
  // Where visibilities are made, a warning names those of whose samples more are clipped.
  const double components = 2 * static_cast<double>(spectra_ * engine_->channels());
  if (found.correlates)
    std::erase_if(found.found, [&](const ClippedChannel& one) {
      return static_cast<double>(clipped_[one.input]) >
             RoundingWatch::most_clipped(found.bits) * components;
    });
  return found;
}

engine::Counters FEngineNode::counters() const {
  return {{"spectra", spectra_},
          {"clipped", std::accumulate(clipped_.begin(), clipped_.end(), std::uint64_t{0})},
          {"gain_changes", renewal_ ? renewal_->changes() : 0},
          {"not_finite", engine_->not_finite()},
          {"sent_bytes", engine_->sent_bytes()}};
}

}  // namespace tautline::pipeline
