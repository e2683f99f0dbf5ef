#include "tautline/pipeline/voltages/x_engine_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"
#include "tautline/formats/visibility_layout.h"
#include "tautline/pipeline/time_calls.h"

namespace tautline::pipeline {

namespace {

// The smallest number of inputs that a correlator multiplies with each other: a panel of the CPU, a tile of the GPU.
std::size_t least_group(const device::Device& device) {
  return device.compiles() ? 128 : 16;
}

// The times, of 64, at which some row is valid.
std::uint64_t valid_times(const core::ValidityView& valid, std::size_t word) {
  std::uint64_t times = 0;
  for (std::size_t row = 0; row < valid.extent(0) && ~times != 0; ++row) times |= valid(row, word);
  return times;
}

ValidSpectra valid_spectra(const SpectraChunk& chunk) {
  constexpr std::size_t kWordBits = 64;
  const std::uint64_t begin = chunk.first_spectrum;
  if (chunk.valid.empty()) return {begin, begin + chunk.spectra};
  const std::size_t words = core::validity_words(chunk.spectra);
  std::size_t first = 0, last = words;
  while (first < words && valid_times(chunk.valid, first) == 0) ++first;
  if (first == words) return {};
  while (valid_times(chunk.valid, last - 1) == 0) --last;
  const auto before = static_cast<std::size_t>(std::countr_zero(valid_times(chunk.valid, first))),
             behind =
                 static_cast<std::size_t>(std::countl_zero(valid_times(chunk.valid, last - 1)));
  return {begin + first * kWordBits + before, begin + last * kWordBits - behind};
}

}  // namespace

std::vector<engine::Stream> XEngineNode::open(std::span<const engine::Stream> inputs) {
  const engine::Stream& in = inputs[0];
  sums_.spectra = in.detail<Spectra>();
  ChannelRange& channels = sums_.spectra.channels;
  if (in.kind != "spectra" || in.arrays.front().axes.front() != "channel")
    throw core::Error(core::ErrorKind::config, "input", in.kind, "spectra [channel][input][time]");
  const ChannelRange come = come_ = channels;
  max_spectra_ = in.max_samples;
  if (config_.channels.count > 0) channels = config_.channels;
  if (channels.first < come.first || channels.first + channels.count > come.first + come.count)
    throw core::Error(core::ErrorKind::config, "channel_range",
                      fmt::format("{}:{}", channels.first, channels.first + channels.count - 1),
                      fmt::format("within {}:{}", come.first, come.first + come.count - 1));
  sums_.integration_spectra = spectra_of_integration(
      config_.integration_s, sums_.spectra.voltages.rate_hz, sums_.spectra.hop_samples);
  if (sums_.spectra.gains) sums_.spectra.gains->set_integration(sums_.integration_spectra);
  const std::size_t inputs_count = sums_.spectra.voltages.inputs();
  sums_.autos = autos();
  sums_.groups = choose_groups(inputs_count, sums_.autos, least_group(*config_.device));
  if (!integrator_) integrator_ = make_integrator();
  sums_.spectra.kernels += ", correlate " + integrator_->backend();
  const std::size_t rows = sums_.groups.count() * channels.count;
  const std::size_t baselines = core::baseline_count(sums_.groups.size);
  const std::vector<std::string> axes{"channel", "baseline"};
  return {{.kind = "sums",
           .arrays = {{"sums", integrator_->sum_type(), axes, {rows, baselines}},
                      {"counts", core::SampleType::i64, axes, {rows, baselines}}},
           .rate_hz = in.rate_hz,
           .start = in.start,
           .total_samples = in.total_samples,
           .max_samples = static_cast<std::size_t>(sums_.integration_spectra),
           .device = config_.device,
           .details = sums_}};
}

// The needed baselines; none: all.
std::vector<std::size_t> XEngineNode::autos() const {
  const Spectra& spectra = sums_.spectra;
  const bool exact = stages::correlate::Config{.format = spectra.format}.exact();
  if (!config_.autos_only || !exact) return {};
  return formats::baselines_of_antennas(
      config_.array.antennas.empty()
          ? formats::unknown_array(spectra.voltages.antennas, spectra.voltages.polarisations)
          : config_.array);
}

std::unique_ptr<Integrator> XEngineNode::make_integrator() const {
  const Spectra& spectra = sums_.spectra;
  return std::make_unique<Integrator>(
      config_.device, ChannelRange{spectra.channels.first - come_.first, spectra.channels.count},
      spectra.stream_channels, sums_.groups, spectra.format, max_spectra_);
}

std::optional<engine::Load> XEngineNode::expected_load() const {
  const Spectra& spectra = sums_.spectra;
  const std::size_t inputs = spectra.voltages.inputs();
  const core::SampleType type = core::sample_type(spectra.format);
  const std::array<std::size_t, 3> extents{come_.count, inputs, max_spectra_};
  const std::size_t bytes = extents[0] * extents[1] * extents[2] * core::bytes_of(type);
  const std::array<std::size_t, 2> results{sums_.groups.count() * spectra.channels.count,
                                           core::baseline_count(sums_.groups.size)};
  const auto queue = config_.device->make_queue();
  const auto zeros = [&](std::size_t size) {
    device::Buffer buffer = config_.device->allocate(size);
    queue->fill(buffer.data(), 0, size);
    return buffer;
  };
  const auto integrator = make_integrator();
  const device::Buffer samples = zeros(bytes);
  const device::Buffer sums =
      zeros(results[0] * results[1] * core::bytes_of(integrator->sum_type()));
  const device::Buffer counts = zeros(results[0] * results[1] * sizeof(std::int64_t));
  SpectraChunk chunk;
  chunk.spectra = max_spectra_;
  chunk.samples = core::SampleView<3>(samples.data(), type, extents);
  integrator->make_ready(*queue);
  const double seconds = time_calls(*queue, [&] {
    integrator->begin({sums.data(), integrator->sum_type(), results},
                      {static_cast<std::int64_t*>(counts.data()), results});
    integrator->add(*queue, chunk);
    integrator->finish(*queue);
  });
  const double rate_hz =
      spectra.voltages.rate_hz.value() / static_cast<double>(spectra.hop_samples);
  return engine::Load{seconds / static_cast<double>(max_spectra_) * rate_hz,
                      config_.device->name()};
}

engine::Needs XEngineNode::needs(std::size_t, const engine::Stream&) const {
  return {.device = config_.device};
}

void XEngineNode::start(engine::Outputs& outputs) {
  integrator_->make_ready(outputs.queue(config_.device));
  since_ready_ = {};
}

void XEngineNode::begin(const engine::Block& block, std::uint64_t first, engine::Outputs& outputs) {
  output_ = &outputs.begin(0, block);
  output_->first = first;
  output_->samples = 0;
  of_data_ = {};
  const SharedGains& gains = sums_.spectra.gains;
  gains_ = gains && gains->schedule().changes() ? block.payload_of<GainValues>() : nullptr;
  integrator_->begin(output_->view<2>(0), output_->view<2>(1).as<std::int64_t>());
}

void XEngineNode::process(std::size_t, const engine::Block& block, engine::Outputs& outputs) {
  // After a dropped block, changes of gains may lie inside an integration, which ends there.
  if (output_ != nullptr && gains_ && block.payload_of<GainValues>() != gains_)
    finish_integration(outputs);
  for (std::size_t done = 0; done < block.samples;) {
    if (output_ == nullptr) begin(block, block.first + done, outputs);
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(
        sums_.integration_spectra - output_->samples, block.samples - done));
    add(block, done, count, outputs);
    output_->samples += count;
    done += count;
    if (output_->samples == sums_.integration_spectra) finish_integration(outputs);
  }
}

void XEngineNode::add(const engine::Block& block, std::size_t first, std::size_t count,
                      engine::Outputs& outputs) {
  SpectraChunk chunk;
  chunk.spectra = count;
  chunk.first_spectrum = block.first + first;
  chunk.samples = block.view<3>().slice(2, first, count);
  if (count == block.samples) {
    chunk.valid = block.valid.view();
  } else if (block.valid.rows() > 0) {
    part_ = core::ValidityMask(block.valid.rows(), count);
    for (std::size_t i = 0; i < part_.rows(); ++i)
      core::copy_bits(block.valid.row(i), first, count, part_.row(i), 0);
    chunk.valid = part_.view();
  }
  of_data_.add(valid_spectra(chunk));
  const bool last = output_->samples + count == sums_.integration_spectra;
  integrator_->add(outputs.queue(config_.device), chunk, last);
}

void XEngineNode::end_segment(std::size_t, engine::Outputs& outputs) {
  if (output_ != nullptr) finish_integration(outputs);
}

void XEngineNode::finish_integration(engine::Outputs& outputs) {
  integrator_->finish(outputs.queue(config_.device));
  output_->payload_of<IntegrationTime>() = {.gains = gains_, .of_data = of_data_};
  output_ = nullptr;
  ++integrations_;
  outputs.commit();
}

engine::Counters XEngineNode::counters() const {
  return {{"integrations", integrations_}};
}

}  // namespace tautline::pipeline
