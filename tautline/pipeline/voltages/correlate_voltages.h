// Voltage files to a visibility file: reading, computing and writing at the same time, in bounded
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/device/device.h"
#include "tautline/formats/visibility_writer.h"
#include "tautline/formats/voltage_reader.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/run_watch.h"
#include "tautline/pipeline/voltages/f_engine.h"
#include "tautline/pipeline/voltages/reduction.h"
#include "tautline/pipeline/voltages/voltage_run.h"

namespace tautline::pipeline {

/// The samples' type between the filter bank and the correlator.
enum class Requantise { off, bits4, bits8 };
core::FieldText<Requantise> requantise_names();
/// The filter bank's corner-turned output in that type.
stages::channelize::Output output_of(Requantise requantise);

struct CorrelateConfig {
  std::vector<std::string> inputs;  ///< voltage files, consecutive or receivers
  /// The bytes of the input that is a pipe; none: files.
  std::shared_ptr<formats::ForwardBytes> piped = {};
  std::string output;                         ///< .uvh5 or .ms
  formats::MakeVisibilityWriter writer = {};  ///< instead of the file; none: the file
  std::string report_path;                    ///< a self-contained HTML page; empty: none
  bool overwrite = false;
  FilterConfig filter;
  double integration_s = 1.0;  ///< rounded to whole spectra
  Reduction reduction;         ///< of the output; the page shows the range of channels unreduced
  Requantise requantise = Requantise::bits8;
  std::string gains;          ///< chosen gains before rounding: read_gains(); empty: measured
  double settle_s = 0;        ///< gains are measured anew once, after so long
  bool follow_gains = false;  ///< and again after each further `settle_s`
  bool keep_edge = false;     ///< channels that contain both ends of a band are not flagged
  std::string array_path;     ///< array.toml; empty: positions unknown
  std::string delays_path;    ///< delays.toml: track by delaying the voltages
  /// NAME=RA_DEG,DEC_DEG: rotate the fringes to that place after correlation. NAME alone: rotate the fringes by the
  /// table of that name in delays_path, instead of delaying the voltages.
  std::string phase_centre;
  formats::EarthOrientation earth;      ///< for tracking and uvw
  double start_s = 0, duration_s = -1;  ///< part of the input; negative: all
  bool keep_constant = false;           ///< stretches that never change are data
  formats::ReaderOptions reader;
  std::size_t memory_bytes = core::half_of_memory();  ///< cap on what the run allocates
  std::string history;                                ///< version and command line, for the output
  /// Called with the input's description when the run begins: no check can fail any more.
  std::function<void(const core::VoltageDescription&)> opened;
  RunWatch watch;
};
const core::Fields<CorrelateConfig>& fields(const CorrelateConfig&);

/// The bytes sent to one of a run's devices.
struct DeviceShare {
  std::string device;
  std::uint64_t sent_bytes = 0;  ///< of samples and their masks; 0 on the host
};

/// `channels` and the integrations are those of the output.
struct CorrelateSummary : VoltageRunSummary {
  std::uint64_t integrations = 0, spectra_per_integration = 0;
  double integration_s = 0;
  std::uint64_t gap_samples = 0;  ///< between files
  /// Means of finite samples that overflow a float: flagged.
  std::uint64_t overflowed = 0;
  /// Channels of the stream that contain both ends of a band; they are flagged or left out of averages.
  std::vector<std::size_t> edge_channels;
  std::size_t memory_bytes = 0;
  std::vector<DeviceShare> devices;
  double setup_s = 0;  ///< of elapsed_s, before the first block
  bool damaged() const { return damage.any() || not_finite > 0 || overflowed > 0; }
};

/// The message about visibilities that overflowed.
std::string overflow_message(std::uint64_t overflowed);

/// Several devices (GPUs of one host) share the channels: each gets all samples, runs the whole filter bank over
/// voltages, and correlates its share. The results are the same bits. Throws core::Error; the final name exists only
/// when this returns. Stopping throws Error(io, "interrupted").
CorrelateSummary correlate_voltages(
    const CorrelateConfig& config,
    const std::vector<std::shared_ptr<const device::Device>>& devices,
    const ProgressCallback& progress = {}, std::stop_token stop = {});

}  // namespace tautline::pipeline
