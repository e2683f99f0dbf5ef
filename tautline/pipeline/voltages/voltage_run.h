// The summary and a message that runs over antenna voltages share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/engine/profile.h"
#include "tautline/formats/voltage_reader.h"
#include "tautline/pipeline/voltages/clipped_channels.h"
#include "tautline/pipeline/voltages/valid_shares.h"
#include "tautline/stream/constant_channel.h"
#include "tautline/stream/empty_voltages.h"
#include "tautline/stream/recorded_level.h"
#include "tautline/stream/voltage_step.h"

namespace tautline::pipeline {

struct VoltageRunSummary {
  std::size_t inputs = 0, channels = 0;
  std::uint64_t spectra = 0, samples = 0;
  std::uint64_t clipped = 0;  ///< components in rounding, of valid spectra
  /// Of the files' spectra when they were rounded, by their records: of whole files, whatever part was read.
  std::uint64_t clipped_before = 0;
  ClippedChannels clipped_channels;
  std::uint64_t not_finite = 0;  ///< float samples
  double elapsed_s = 0, stream_s = 0;
  std::vector<std::string> antenna_names;  ///< as the format has them; empty: none
  std::vector<std::string> input_names;    ///< for people, as pages and plots have them
  formats::Damage damage;
  stream::EmptyVoltages empty;
  std::uint64_t unchanging_spectra = 0;          ///< as in VoltageFacts
  stream::RecordedLevels levels;                 ///< of the samples that were read
  std::vector<stream::VoltageStep> level_steps;  ///< where files join, and inside files
  std::vector<stream::ConstantChannel> constant_channels;
  ValidShares valid;
  std::string backend;
  engine::Profile profile;
};

/// The message about visibilities that overflowed.
std::string overflow_message(std::uint64_t overflowed);

}  // namespace tautline::pipeline
