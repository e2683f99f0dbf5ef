// A live source of visibilities that can be told what to do, for tests of the monitor.
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "tautline/engine/node.h"
#include "tautline/pipeline/voltages/voltage_streams.h"
#include "tests/support/synthetic_visibilities.h"

namespace tautline::tests {

/// Commands to the nodes of a test, from any thread.
struct LiveControl {
  std::atomic<bool> silent = false;  ///< the source gives nothing
  std::atomic<bool> held = false;    ///< the sink stays at its block
  std::atomic<std::uint64_t> lost = 0;
  std::atomic<bool> end = false;
  std::atomic<bool> fail = false;  ///< the sink cannot write
};

/// An integration each `every`; each one stands for `every` of data.
class LiveVisibilities final : public engine::Node {
 public:
  LiveVisibilities(LiveControl& control, std::size_t antennas, std::size_t channels,
                   std::chrono::milliseconds every, std::uint64_t integrations = 0)
      : control_(control),
        visibilities_(antennas, channels, 120, 150e6, 1.28e6, 7),
        every_(every),
        most_(integrations) {
    visibilities_.description.integration_s = std::chrono::duration<double>(every).count();
    visibilities_.sources[0].power = 0.6;
    visibilities_.turn_rad_per_s = 0.02;
  }
  std::vector<engine::Stream> open(std::span<const engine::Stream>) override {
    const std::vector<std::string> axes{"channel", "baseline"};
    const std::vector<std::size_t> extents{visibilities_.channels(),
                                           core::baseline_count(visibilities_.inputs())};
    return {{.kind = "visibilities",
             .arrays = {{"visibilities", core::SampleType::cf32, axes, extents},
                        {"counts", core::SampleType::i64, axes, extents}},
             .rate_hz = core::make_rational(1000, every_.count()),
             .max_samples = 1,
             .details = pipeline::Visibilities{visibilities_.description, {}, {}, {}}}};
  }
  bool live() const override { return true; }
  bool produce(engine::Outputs& outputs) override {
    if (control_.end || outputs.stop().stop_requested()) return false;
    if (every_.count() > 1) std::this_thread::sleep_until(next_);
    if (control_.silent) {
      next_ = std::chrono::steady_clock::now() + every_;
      return true;
    }
    next_ += every_;
    engine::Block& block = outputs.begin();
    const double middle_s =
        (static_cast<double>(given_) + 0.5) * visibilities_.description.integration_s;
    const formats::Integration made = visibilities_.make(middle_s);
    const std::size_t values = made.visibilities.extent(0) * made.visibilities.extent(1);
    std::memcpy(block.arrays[0].data, made.visibilities.data(),
                values * sizeof(std::complex<float>));
    std::memcpy(block.arrays[1].data, made.counts.data(), values * sizeof(std::int64_t));
    block.payload_of<pipeline::IntegrationTime>() = {made.middle, made.integration_s};
    block.first = given_++;
    block.samples = 1;
    outputs.commit();
    return most_ == 0 || given_ < most_;
  }
  engine::Counters counters() const override {
    return {{"integrations", given_}, {"lost_packets", control_.lost}};
  }

 private:
  LiveControl& control_;
  SyntheticVisibilities visibilities_;
  std::chrono::milliseconds every_;
  std::uint64_t most_, given_ = 0;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
};

}  // namespace tautline::tests
