// The source of counts or photons, from a file or live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/pipeline/photons/count_input.h"

namespace tautline::pipeline {

/// The details of streams of kind "counts" (array [time][sensor]) and "photons" (blocks without arrays).
struct CountStream {
  static constexpr const char* kKind = "counts or photons";
  std::string input;                      ///< as CountInput::name
  formats::CountDescription description;  ///< of the input, before sensors were added together
  std::shared_ptr<const SensorMap> sensors;
  double bin_s = 0;
  std::uint64_t first = 0;        ///< the sample of the input that is the stream's first
  std::uint64_t rest = 0;         ///< samples from there to the end of the file; live: 0
  std::size_t block_samples = 0;  ///< longest block, where the stream is long enough
  std::size_t row_bytes = 0;      ///< CountInput::row_bytes()
  bool live = false;
  bool loses = false;           ///< live: counts may be lost
  Padding padding;              ///< of the file, left out before and after the stream
  std::vector<BinRange> stops;  ///< CountInput::stops
  std::vector<BinRange> named_stops;
  std::vector<SensorStops> single_stops;
  std::vector<BinRange> breaks;
  bool keep_constant = false;  ///< stopped sensors are not searched
};

/// The payload of these streams' blocks.
struct CountPayload {
  formats::Damage damage;  ///< of the input so far
  /// Photons so far, of a live stream's unselected detectors.
  std::vector<formats::DetectorCount> ignored;
  std::string silent_end;    ///< of live tags that are over: silent_end_text()
  bool interrupted = false;  ///< a stop ended the live stream
  /// For kind "photons": the photons of the block's bins, counted from the stream's first one.
  std::vector<BinnedPhoton> photons;
  /// Bins, counted likewise, of a live stream in which records or packets were lost; known since the block before, and
  /// not of blocks before.
  std::vector<BinRange> breaks;
};

class CountSourceNode : public engine::Node {
 public:
  /// Sets another block length, before the run is made.
  virtual void set_block_samples(std::size_t block_samples) = 0;
  /// engine::Stream::pace.
  void set_pace(double pace) { pace_ = pace; }

 protected:
  double pace_ = 0;
};

/// Gives blocks of at most `block_samples`; a short file has short ones. Live blocks may be empty: at least ten come in
/// a second, so that consumers can check the time. `device`: in whose memory the input's reader fills blocks, without
/// sensors that are added together; null: the host.
std::unique_ptr<CountSourceNode> make_count_source(
    CountInput input, std::size_t block_samples,
    std::shared_ptr<const device::Device> device = nullptr);

}  // namespace tautline::pipeline
