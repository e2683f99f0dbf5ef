// Makes blocks of simulated samples. Any block can be made alone, in any order, on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/pipeline/simulation/plan.h"

namespace tautline::pipeline::simulation {

/// One thread's scratch memory.
class Workspace {
 public:
  explicit Workspace(const SimulationPlan& plan);
  /// The bytes of a workspace for this plan.
  static std::size_t bytes(const SimulationPlan& plan);

 private:
  friend class VoltageSimulator;
  // Sizes in plan.blocks' terms; a component is the real or the imaginary part of a sample.
  std::vector<float> signals;      // [source][x re, x im, y re, y im][bin]
  std::vector<float> shared;       // [re, im][bin]: the polarised part of one source
  std::vector<float> rotation;     // [re, im][bin]
  std::vector<float> spectra;      // [input of one antenna][re, im][bin]
  std::vector<float> tails;        // [input][fade][component]: the last block's end, faded out
  std::vector<float> tones;        // [tone][hop][component]
  std::vector<float> values;       // [hop][component] of one input
  std::vector<std::int8_t> parts;  // [hop][component] of one input of 4 bits, before packing
  std::vector<std::byte> rounded;  // [input][hop] samples of sample_bytes() each
  std::vector<std::byte> nibbles;  // [hop][input] one byte each, where two share a byte of output
  device::Buffer transform;        // complex, one block
};

/// | buffer | axes                       | type                     | written     |
/// | out    | [time][input][component]   | 4-, 8- or 16-bit integer | overwritten |
class VoltageSimulator {
 public:
  explicit VoltageSimulator(std::shared_ptr<const SimulationPlan> plan);

  const SimulationPlan& plan() const { return *plan_; }
  std::size_t segment_samples() const { return plan_->blocks.hop; }
  /// Bytes of `samples` samples of all inputs; a last half byte of 4-bit real samples is padded.
  std::size_t bytes(std::size_t samples) const;

  /// Makes segments [first, first + count), each of segment_samples() samples, into `out`. Adds the
  /// components clipped of each input to `clipped`.
  void make(std::uint64_t first, std::size_t count, Workspace& workspace, std::byte* out,
            std::vector<std::uint64_t>& clipped) const;

 private:
  void draw_sources(std::uint64_t block, Workspace& w) const;
  void draw_tones(std::uint64_t segment, Workspace& w) const;
  void hear(std::size_t antenna, std::uint64_t block, Workspace& w) const;
  void transform(std::size_t lane, std::size_t lanes, Workspace& w) const;
  void overlap(std::size_t input, std::size_t part, Workspace& w) const;
  void keep_tail(std::size_t input, std::size_t part, Workspace& w) const;
  template <class Receive>
  void for_each_input(std::uint64_t block, Workspace& w, const Receive& receive) const;
  void finish(std::size_t input, std::uint64_t segment, Workspace& w,
              std::vector<std::uint64_t>& clipped) const;
  void blank_missing(std::size_t input, std::uint64_t segment, Workspace& w) const;
  void interleave(Workspace& w, std::byte* out) const;

  std::shared_ptr<const SimulationPlan> plan_;
  std::shared_ptr<const device::FftPlan> fft_;
  std::vector<float> fade_;  // in: rising
};

}  // namespace tautline::pipeline::simulation
