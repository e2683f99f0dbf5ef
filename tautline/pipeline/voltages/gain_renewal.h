// Gains that settle, or follow the voltages, during a run: measured continuously, changed at the edges of integrations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/pipeline/voltages/f_engine.h"
#include "tautline/pipeline/voltages/gains.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

/// The first kGainSpectra spectra of each integration (all, where there are hardly more) are computed a second time in
/// floats, and their power is measured. At the first edge of an integration after `settle_s` (at least one integration)
/// since the last change, the gains become those of the power since then. They depend on the stream's samples alone,
/// not on block sizes or devices: the host measures them.
class GainRenewal {
 public:
  GainRenewal(std::shared_ptr<const device::Device> host, const RawVoltages& voltages,
              FilterConfig filter, std::size_t max_block_samples, const GainSchedule& schedule);
  std::size_t bytes() const;

  /// Before the first block.
  void start(const std::vector<float>& gains, std::uint64_t integration_spectra);
  void begin_segment(const core::Instant& start);
  /// The next block of the segment, which begins with this sample; it must stay until the next call.
  void take_block(device::Queue& host_queue, const core::RawBlock& block, std::uint64_t first);
  /// Measures the spectra of its block before this one.
  void measure(device::Queue& host_queue, std::uint64_t until_spectrum);
  /// So many spectra were handed on; they advance the time to the next change of gains.
  void count(std::uint64_t spectra) { since_change_ += spectra; }

  /// Spectra from this one to the next edge of an integration.
  std::uint64_t to_edge(std::uint64_t spectrum) const { return length_ - spectrum % length_; }
  /// At an edge: whether gains() have changed.
  bool renew();
  const std::shared_ptr<const std::vector<float>>& gains() const { return gains_; }
  std::uint64_t changes() const { return changes_; }

 private:
  bool begin_window(device::Queue& host_queue);

  FEngine engine_;  // with output in floats
  PowerMeter meter_;
  double target_;
  GainSchedule schedule_;
  double spectra_per_s_;
  std::uint64_t length_ = 1, window_length_ = 1, period_ = 1;  // spectra
  bool unbroken_ = false;                                      // windows adjoin each other
  bool measuring_ = true;
  std::shared_ptr<const std::vector<float>> gains_;
  std::uint64_t since_change_ = 0, changes_ = 0;

  core::Instant segment_start_;
  const core::RawBlock* block_ = nullptr;
  std::uint64_t first_ = 0;   // first sample of the block
  bool pushed_ = false;       // the block is in the engine
  std::uint64_t window_ = 0;  // the integration that is measured now, or next
  std::uint64_t left_ = 0;    // its spectra still to measure; 0: not begun
};

}  // namespace tautline::pipeline
