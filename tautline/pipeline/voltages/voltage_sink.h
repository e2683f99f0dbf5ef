// A writer of channelized voltages.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tautline/core/voltage.h"
#include "tautline/pipeline/voltages/f_engine.h"

namespace tautline::pipeline {

class VoltageSink {
 public:
  virtual ~VoltageSink() = default;
  /// The form of spectra that the sink takes.
  virtual stages::channelize::Output wants() const = 0;
  virtual void write(const SpectraChunk& chunk) = 0;
  /// Times in the output so far.
  virtual std::uint64_t written() const = 0;
  virtual void finish() = 0;
};

/// The stream's properties that the sink needs.
struct SinkDescription {
  core::VoltageDescription input;
  core::SampleFormat format;  ///< of the spectra; power is floats
  std::size_t channels = 1;
  std::size_t hop_samples = 1;
  std::size_t span_samples = 1;  ///< of one spectrum
  std::uint64_t spectra = 0;     ///< expected, as far as sizes tell
};

}  // namespace tautline::pipeline
