// The Config of a run from voltages to channelized voltages or detected power.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/core/log.h"
#include "tautline/core/voltage.h"
#include "tautline/formats/forward_bytes.h"
#include "tautline/formats/voltage_reader.h"
#include "tautline/pipeline/run_watch.h"
#include "tautline/pipeline/voltages/filter_config.h"

namespace tautline::pipeline {

/// Polarisation products of detected power. X and Y are an antenna's first and second input:
///   I = |X|^2 + |Y|^2,  Q = |X|^2 - |Y|^2,  U = 2 Re(X conj(Y)),  V = -2 Im(X conj(Y))
enum class Stokes { i, iquv };

struct ChannelizeConfig {
  std::vector<std::string> inputs;
  std::shared_ptr<formats::ForwardBytes> piped = {};  ///< as CorrelateConfig's
  std::string output;                                 ///< .dada or .npy: voltages; .fil: power
  bool overwrite = false;
  FilterConfig filter;
  Requantise requantise = Requantise::off;  ///< of voltages
  std::uint64_t integrate = 1;              ///< spectra summed into one power sample
  Stokes stokes = Stokes::i;  ///< power of all antennas is summed (an incoherent beam)
  double start_s = 0, duration_s = -1;
  bool keep_constant = false;  ///< stretches that never change are data
  double longest_gap_s = 60;   ///< that is filled with zeros
  formats::ReaderOptions reader;
  std::size_t memory_bytes = core::half_of_memory();
  std::string history;
  core::LogSink log = {};  ///< of a node that writes a file; none: nothing is told
  /// Called with the input's description when the run begins: no check can fail any more.
  std::function<void(const core::VoltageDescription&)> opened;
  RunWatch watch;
};
const core::Fields<ChannelizeConfig>& fields(const ChannelizeConfig&);

}  // namespace tautline::pipeline
