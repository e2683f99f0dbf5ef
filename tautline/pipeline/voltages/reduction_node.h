// Reduces visibilities: averages of channels and integrations, autocorrelations alone.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/pipeline/voltages/reduction.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

/// Sums neighbouring channels of several integrations into one.
///
/// | buffer       | axes                         | type            | written |
/// | visibilities | [channel][baseline]          | complex<float>  | read    |
/// | counts       | [channel][baseline]          | int64           | read    |
/// | sums         | [group of channels][kept]    | complex<double> | added   |
/// | sum counts   | [group of channels][kept]    | int64           | added   |
///
/// sum += counts x visibilities, sum count += counts: a sum over its count is the mean of all valid samples. `kept`
/// selects baselines of the input; channels in `left_out` are not added.
void add_to_groups(device::Queue& host_queue,
                   const core::View<const std::complex<float>, 2>& visibilities,
                   const core::View<const std::int64_t, 2>& counts,
                   const std::vector<std::size_t>& kept, const std::vector<std::size_t>& left_out,
                   const core::View<std::complex<double>, 2>& sums,
                   const core::View<std::int64_t, 2>& sum_counts);

/// Takes "visibilities", gives "visibilities". Averages of integrations begin with segments, and have fewer
/// integrations at the segments' ends.
class ReductionNode final : public engine::Node {
 public:
  /// `host`: the device whose threads work. The reduction's range of channels is not applied here.
  ReductionNode(std::shared_ptr<const device::Device> host, const Reduction& reduction)
      : host_(std::move(host)), reduction_(reduction) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  device::MemoryUse bytes() const override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void end_segment(std::size_t input, engine::Outputs& outputs) override;
  engine::Counters counters() const override { return {{"integrations", integrations_}}; }

 private:
  core::View<std::complex<double>, 2> sums();
  void give(engine::Outputs& outputs);

  std::shared_ptr<const device::Device> host_;
  Reduction reduction_;
  IntegrationClock clock_;
  std::uint64_t integration_spectra_ = 1;  // of a whole average
  std::size_t channels_ = 0;               // of the input
  std::vector<std::size_t> kept_;          // baselines of the input
  std::vector<std::size_t> left_out_;      // channels of the input
  std::vector<std::complex<double>> sums_;
  engine::Block* output_ = nullptr;  // its counts are those of the sums
  std::size_t added_ = 0;            // integrations added to output_
  GainValues gains_;                 // of the first of these
  ValidSpectra of_data_;             // of all of these
  std::uint64_t integrations_ = 0;
};

}  // namespace tautline::pipeline
