#include "tautline/pipeline/voltages/power_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "tautline/core/error.h"
#include "tautline/core/units.h"
#include "tautline/pipeline/filterbank_stream.h"
#include "tautline/pipeline/voltages/frequencies.h"

namespace tautline::pipeline {

namespace {

// A spectrum is centred on its span of samples.
core::Instant begin_of(const Spectra& spectra, const core::Instant& of_segment) {
  return core::advance_half(of_segment,
                            static_cast<std::int64_t>(spectra.span_samples) -
                                static_cast<std::int64_t>(spectra.hop_samples),
                            spectra.voltages.rate_hz);
}

formats::FilterbankDescription power_description(const Spectra& spectra,
                                                 const core::Rational& rate_hz) {
  const core::VoltageDescription& voltages = spectra.voltages;
  formats::FilterbankDescription power;
  power.format = "voltages";
  power.channels = spectra.stream_channels;
  std::vector<double> centres = channel_frequencies_hz(voltages, power.channels);
  std::reverse(centres.begin(), centres.end());
  for (const double hz : centres) power.channel_mhz.push_back(hz / core::kHzPerMhz);
  power.fch1_mhz = power.channel_mhz.front();
  power.foff_mhz = power.channels > 1
                       ? power.channel_mhz[1] - power.channel_mhz[0]
                       : -channel_width_hz(voltages, power.channels) / core::kHzPerMhz;
  power.rate_hz = rate_hz;
  power.tsamp_s = 1 / rate_hz.value();
  power.start = begin_of(spectra, voltages.start);
  power.tstart_mjd = core::modified_julian_date(power.start);
  power.bits = 32;
  power.summed_ifs = {0};
  power.delivered = formats::Delivered::f32;
  power.source = voltages.source;
  power.telescope = voltages.telescope;
  return power;
}

}  // namespace

const core::Fields<PowerConfig>& fields(const PowerConfig&) {
  static const auto all = core::Fields<PowerConfig>().add(
      {.name = "integrate", .help = "spectra that are added up to a sample"},
      &PowerConfig::integrate, core::between(1, 1e9));
  return all;
}

std::vector<engine::Stream> PowerNode::open(std::span<const engine::Stream> inputs) {
  const engine::Stream& input = inputs.front();
  spectra_ = input.detail<Spectra>();
  if (spectra_.channels.count != spectra_.stream_channels)
    throw core::Error(core::ErrorKind::config, "inputs", "spectra of one of several devices",
                      "all spectra", "run on one device");
  if (spectra_.requantised_bits > 0)
    throw core::Error(core::ErrorKind::config, "inputs",
                      fmt::format("spectra rounded to {} bits", spectra_.requantised_bits),
                      "spectra that were not rounded",
                      "set `requantise` of the filter bank to off");
  channels_ = spectra_.stream_channels;
  channels_first_ = input.arrays.front().axes.front() == "channel";
  sums_.assign(1, PowerSums(spectra_.voltages.antennas, spectra_.voltages.polarisations, channels_,
                            1, config_.integrate));
  rate_hz_ = input.rate_hz;
  const core::Rational rate_hz =
      core::make_rational(input.rate_hz.numerator,
                          input.rate_hz.denominator * static_cast<std::int64_t>(config_.integrate));
  most_samples_ = static_cast<std::size_t>(input.max_samples / config_.integrate) + 1;
  const std::uint64_t total = input.total_samples / config_.integrate;
  FilterbankStream details;
  description_ = power_description(spectra_, rate_hz);
  details.beams = {description_};
  details.parts = {{{{0, input.total_samples > 0 ? total : kLiveSamples}, 0}, 1, 0}};
  details.files = spectra_.files;
  details.left_out = {{}};
  details.live = true;
  filled_values_ = std::make_shared<FilledValues>(channels_);
  details.filled = {filled_values_};
  return {
      {.kind = "filterbank",
       .arrays =
           {{"samples", core::SampleType::f32, {"time", "channel"}, {most_samples_, channels_}}},
       .rate_hz = rate_hz,
       .start = description_.start,
       .total_samples = total,
       .max_samples = most_samples_,
       .details = std::move(details)}};
}

void PowerNode::begin_segment(std::size_t, const engine::Block& first, engine::Outputs&) {
  if (any_) ++segment_;
  any_ = true;
  first_ = 0;
  sums_.front().reset();
  segment_start_ = core::advance(begin_of(spectra_, first.segment_start),
                                 static_cast<std::int64_t>(first.first), rate_hz_);
  grid_first_ = static_cast<std::uint64_t>(std::max<std::int64_t>(
      0, core::samples_between(description_.start, segment_start_, description_.rate_hz)));
}

void PowerNode::process(std::size_t, const engine::Block& block, engine::Outputs& outputs) {
  SpectraChunk chunk;
  chunk.spectra = block.samples;
  chunk.samples = block.view<3>();
  if (channels_first_) {
    const core::SampleView<3> from = chunk.samples;
    chunk.samples = {from.data(),
                     from.type(),
                     {from.extent(1), from.extent(2), from.extent(0)},
                     {from.stride(1), from.stride(2), from.stride(0)}};
  }
  chunk.valid = block.valid.view();
  PowerSums& sums = sums_.front();
  const std::size_t samples = sums.samples_of(block.samples);
  engine::Block* const out = samples > 0 ? &outputs.begin() : nullptr;
  std::span<float> power;
  if (out != nullptr) power = {static_cast<float*>(out->arrays.front().data), samples * channels_};
  const auto empty = sums.add(chunk, power, WithoutData::mean, &outputs.queue(host_));
  filled_ += empty.size();
  for (auto begin = empty.begin(); begin != empty.end();) {
    std::vector<std::size_t> channels;
    const std::size_t sample = begin->sample;
    for (; begin != empty.end() && begin->sample == sample; ++begin)
      channels.push_back(begin->channel);
    filled_values_->add(grid_first_ + first_ + sample, channels);
  }
  if (out == nullptr) return;
  out->samples = samples;
  out->segment = segment_;
  out->segment_start = segment_start_;
  out->first = first_;
  out->set_extent(0, 0, out->samples);
  first_ += out->samples;
  samples_ += out->samples;
  outputs.commit();
}

void PowerNode::end_segment(std::size_t, engine::Outputs&) {
  sums_.front().reset();
}

engine::Counters PowerNode::counters() const {
  return {{"samples", samples_}, {"filled_values", filled_}};
}

}  // namespace tautline::pipeline
