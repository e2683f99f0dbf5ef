#include "tautline/pipeline/voltages/reduction_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"
#include "tautline/formats/visibility_layout.h"
#include "tautline/pipeline/voltages/visibility_facts.h"

namespace tautline::pipeline {

namespace {

void average_description(const Reduction& reduction, formats::VisibilityDescription& description) {
  const std::size_t group = reduction.average_channels, channels = description.channel_hz.size();
  if (group == 0 || channels % group != 0)
    throw core::Error(core::ErrorKind::config, "average_channels", std::to_string(group),
                      fmt::format("a divisor of the {} channels that are kept", channels),
                      "change it, or choose channels with `channel_range`");
  std::vector<double> centres;
  for (std::size_t first = 0; first < channels; first += group) {
    long double sum = 0;
    for (std::size_t c = first; c < first + group; ++c) sum += description.channel_hz[c];
    centres.push_back(static_cast<double>(sum / static_cast<long double>(group)));
  }
  description.channel_hz = std::move(centres);
  description.channel_width_hz *= static_cast<double>(group);
  description.integration_s *= static_cast<double>(reduction.average_time);
  description.nominal_count *= static_cast<std::int64_t>(group * reduction.average_time);
  if (group > 1) {
    description.extra[kAveragedChannels] = std::to_string(group);
    description.flagged_channels.clear();  // the averages are made without them
    description.extra.erase("flagged_edge_channels");
  }
  if (reduction.average_time > 1)
    description.extra[kAveragedIntegrations] = std::to_string(reduction.average_time);
  description.autos_only |= reduction.autos_only;
}

}  // namespace

void add_to_groups(device::Queue& host_queue,
                   const core::View<const std::complex<float>, 2>& visibilities,
                   const core::View<const std::int64_t, 2>& counts,
                   const std::vector<std::size_t>& kept, const std::vector<std::size_t>& left_out,
                   const core::View<std::complex<double>, 2>& sums,
                   const core::View<std::int64_t, 2>& sum_counts) {
  const std::size_t group = visibilities.extent(0) / sums.extent(0);
  const auto add = [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t g = begin; g < end; ++g)
      for (std::size_t c = g * group; c < (g + 1) * group; ++c) {
        if (std::binary_search(left_out.begin(), left_out.end(), c)) continue;
        for (std::size_t k = 0; k < kept.size(); ++k) {
          const std::int64_t count = counts(c, kept[k]);
          if (count <= 0) continue;
          sums(g, k) += static_cast<double>(count) * std::complex<double>(visibilities(c, kept[k]));
          sum_counts(g, k) += count;
        }
      }
  };
  host_queue.parallel_for(sums.extent(0), 1, add);
}

std::vector<engine::Stream> ReductionNode::open(std::span<const engine::Stream> inputs) {
  const engine::Stream& in = inputs[0];
  Visibilities details = in.detail<Visibilities>();
  clock_ = details.clock;
  integration_spectra_ = details.integration_spectra *= reduction_.average_time;
  const formats::ArrayLayout& array = details.description.array;
  const bool autos_come = details.description.autos_only;
  if (reduction_.average_channels > 1) left_out_ = details.description.flagged_channels;
  average_description(reduction_, details.description);
  channels_ = details.description.channel_hz.size();
  kept_ = formats::baselines_of_antennas(array);
  if (autos_come || !reduction_.autos_only) {
    if (!autos_come) kept_.resize(core::baseline_count(array.inputs.size()));
    std::iota(kept_.begin(), kept_.end(), std::size_t{0});
  }
  const std::vector<std::string> axes{"channel", "baseline"};
  return {{.kind = "visibilities",
           .arrays = {{"visibilities", core::SampleType::cf32, axes, {channels_, kept_.size()}},
                      {"counts", core::SampleType::i64, axes, {channels_, kept_.size()}}},
           .rate_hz = in.rate_hz,
           .start = in.start,
           .total_samples = in.total_samples,
           .max_samples = in.max_samples * reduction_.average_time,
           .details = std::move(details)}};
}

device::MemoryUse ReductionNode::bytes() const {
  return {.host_bytes = channels_ * kept_.size() * sizeof(std::complex<double>)};
}

core::View<std::complex<double>, 2> ReductionNode::sums() {
  return {sums_.data(), {channels_, kept_.size()}};
}

void ReductionNode::process(std::size_t, const engine::Block& block, engine::Outputs& outputs) {
  if (output_ == nullptr) {
    output_ = &outputs.begin(0, block);
    output_->samples = 0;
    gains_ = block.payload_of<IntegrationTime>().gains;
    of_data_ = {};
    sums_.assign(channels_ * kept_.size(), {});
    const auto counts = output_->view<2>(1).as<std::int64_t>();
    for (std::size_t c = 0; c < channels_; ++c) std::fill_n(counts.row(c), kept_.size(), 0);
  }
  add_to_groups(outputs.queue(host_), block.view<2>(0).as<const std::complex<float>>(),
                block.view<2>(1).as<const std::int64_t>(), kept_, left_out_, sums(),
                output_->view<2>(1).as<std::int64_t>());
  output_->samples += block.samples;
  of_data_.add(block.payload_of<IntegrationTime>().of_data);
  if (++added_ == reduction_.average_time) give(outputs);
}

void ReductionNode::end_segment(std::size_t, engine::Outputs& outputs) {
  if (output_ != nullptr) give(outputs);
}

void ReductionNode::give(engine::Outputs& outputs) {
  engine::Block& out = *std::exchange(output_, nullptr);
  added_ = 0;
  const auto visibilities = out.view<2>(0).as<std::complex<float>>();
  const auto counts = out.view<2>(1).as<std::int64_t>();
  for (std::size_t c = 0; c < channels_; ++c)
    for (std::size_t k = 0; k < kept_.size(); ++k)
      visibilities(c, k) =
          counts(c, k) > 0 ? std::complex<float>(sums()(c, k) / static_cast<double>(counts(c, k)))
                           : std::complex<float>();
  out.payload_of<IntegrationTime>() =
      clock_.time_of(out.segment_start, out.first, out.samples, integration_spectra_, of_data_);
  out.payload_of<IntegrationTime>().gains = gains_;
  ++integrations_;
  outputs.commit();
}

}  // namespace tautline::pipeline
