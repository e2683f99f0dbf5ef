// Makes blocks of a simulated filterbank, in any order and on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/formats/scene/filterbank_scene.h"
#include "tautline/pipeline/simulation/pulses.h"

namespace tautline::pipeline::simulation {

/// The scratch memory of one thread; as large as a piece.
struct FilterbankWorkspace {
  std::vector<float> values;
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint16_t> words;
  std::uint64_t clipped = 0;
};

class FilterbankSimulator {
 public:
  /// Places every pulse. Throws Error(config).
  FilterbankSimulator(const formats::scene::FilterbankScene& scene, double dm_constant,
                      std::uint64_t seed);

  const Receiver& receiver() const { return receiver_; }
  const std::vector<SimulatedPulse>& pulses() const { return pulses_; }
  double mean_steps() const { return mean_; }
  double rms_steps() const { return rms_; }
  /// Samples of a piece: the same for one number of channels, since noise is drawn piece by piece.
  std::size_t piece_samples() const { return piece_samples_; }
  /// The largest number of bytes of a workspace.
  std::size_t piece_bytes() const;

  /// Fills the workspace with the first `samples` samples of a piece: `values` for 32 bits, `words`
  /// for 16, `bytes` (one value a byte) for less.
  void make(std::uint64_t piece, std::size_t samples, FilterbankWorkspace& workspace) const;

 private:
  void place_pulses();
  void add_interference(std::uint64_t first, std::size_t samples, float* values) const;
  void quantise(std::size_t count, FilterbankWorkspace& workspace) const;

  formats::scene::FilterbankScene scene_;
  std::uint64_t seed_;
  Receiver receiver_;
  double mean_ = 0, rms_ = 0;
  std::vector<float> channel_mean_, channel_rms_;
  std::vector<SimulatedPulse> pulses_;
  std::size_t piece_samples_ = 1;
};

}  // namespace tautline::pipeline::simulation
