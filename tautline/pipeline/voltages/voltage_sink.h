// Writers of channelized voltages: DADA or NPY voltages, or detected power.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tautline/core/voltage.h"
#include "tautline/pipeline/voltages/channelize_voltages.h"
#include "tautline/pipeline/voltages/f_engine.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

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
  std::size_t channels = 1;
  std::size_t hop_samples = 1;
  std::size_t span_samples = 1;  ///< of one spectrum
  std::uint64_t spectra = 0;     ///< expected, as far as sizes tell
};

/// The description of the channelized stream: time stamps such that a spectrum's sample is centred on its span of input
/// samples, and a band whose channel centres are the filter bank's.
core::VoltageDescription channelized_description(const Spectra& spectra);

/// Throws Error(config) of `field` where the name's ending is of no format.
void require_voltage_sink_name(const std::string& field, const std::string& path);

/// The writer for the output's ending. Throws core::Error.
std::unique_ptr<VoltageSink> make_voltage_sink(const ChannelizeConfig& config,
                                               const SinkDescription& description);

/// The form that an output of this name takes, known before the filter is planned.
stages::channelize::Output form_wanted(const ChannelizeConfig& config);

}  // namespace tautline::pipeline
