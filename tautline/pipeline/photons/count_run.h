// One run of the autocorrelator over counts or tags, of a file or live: opened, fed, and read at any
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>

#include "tautline/core/correlation_curve.h"
#include "tautline/device/device.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/curve_output.h"
#include "tautline/pipeline/photons/curve_state.h"
#include "tautline/pipeline/photons/curve_stream.h"
#include "tautline/pipeline/photons/photon_counts.h"
#include "tautline/pipeline/photons/sensor_map.h"

namespace tautline::pipeline {

class CountRun {
 public:
  /// Opens the input and, with config.resume, takes up its state. All checking happens here.
  CountRun(const AutocorrelateConfig& config, std::shared_ptr<const device::Device> device,
           std::stop_token stop);

  bool live() const { return source_.file == nullptr; }
  /// Correlates until the input ends. `done` is called after every block, and of live input at least
  /// ten times a second; it may throw.
  void feed(const std::function<void()>& done);

  /// Of this run alone; 0: not known how many there will be.
  std::uint64_t samples_done() const { return stream_->samples() - resumed_; }
  std::uint64_t samples_planned() const { return to_take_; }
  double bin_s() const { return bin_s_; }

  /// The curves of what came by now, and what is to be said of them; the run may go on.
  core::CorrelationCurves curves(AutocorrelateSummary& summary) const;
  /// For config.save_state.
  std::vector<std::byte> state() const;

 private:
  void open(const device::Device& device);
  void plan(const std::shared_ptr<const device::Device>& device);
  void check_memory(std::size_t needed, std::size_t without_segments) const;
  void require_samples() const;
  void check_resumed_input(const StateFile& state);
  StateProblem problem() const;
  nlohmann::ordered_json input_record() const;
  void feed_tags(const std::function<void()>& done);
  void feed_counts(const std::function<void()>& done);
  void feed_live_tags(const std::function<void()>& done);
  void feed_live_counts(const std::function<void()>& done);
  void push_tags(std::span<const BinnedPhoton> tags, std::uint64_t until);
  void push(std::span<const std::byte> bytes, std::size_t samples);

  AutocorrelateConfig config_;
  std::stop_token stop_;
  CountSource source_;
  PhotonCounts* tags_ = nullptr;  ///< the file's, where they are taken one by one
  double bin_s_ = 0;
  std::unique_ptr<SensorMap> map_;
  std::uint64_t to_take_ = 0;  ///< samples; of live input 0: all that come
  CurveStreamConfig stream_config_;
  std::unique_ptr<CurveStream> stream_;
  std::uint64_t first_ = 0;          ///< of the input's samples, the first that is taken
  std::uint64_t resumed_ = 0;        ///< samples of the state that was taken up
  std::string resume_warning_;       ///< what does not follow on the state's part; empty: all well
  std::vector<std::byte> added_;     ///< a block with its sensors added together
  std::vector<BinnedPhoton> later_;  ///< tags, their bins counted from the resumed run's first
};

}  // namespace tautline::pipeline
