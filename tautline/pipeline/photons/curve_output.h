// Where curves come from and go to, by the names of the files.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/live_counts.h"
#include "tautline/pipeline/photons/live_tags.h"

namespace tautline::pipeline {

/// Where counts come from: one of these.
struct CountSource {
  std::unique_ptr<formats::CountReader> file = nullptr;
  std::unique_ptr<LiveCounts> live_counts = nullptr;
  std::unique_ptr<LiveTags> live_tags = nullptr;

  const formats::CountDescription& description() const;
  const formats::Damage& damage() const;
};

/// Counts from an array, a raw file or time tags (binned as they are read), or through a pipe; then this
/// waits for the first bytes, which tell the format, unless a stop is requested. Throws what the formats
/// throw, and Error(config) on options that the input has no use for.
CountSource open_count_source(const AutocorrelateConfig& config, std::stop_token stop);

/// What live input is gathered in while others work: bytes.
std::size_t live_buffer_bytes(const AutocorrelateConfig& config);

/// Throws Error(config) unless the output's name ends as one that can be written, before anything
/// is computed.
void check_curve_output(const AutocorrelateConfig& config);

/// Throws Error(config) when so many curves of good sensors do not fit the output.
void check_curve_count(const AutocorrelateConfig& config, std::size_t curves);

/// One curve as CSV, several as a .zip of CSVs (masked ones left out), all as HDF5.
void write_curves(const AutocorrelateConfig& config, const core::CorrelationCurves& curves,
                  const AutocorrelateSummary& summary, const std::string& device);

}  // namespace tautline::pipeline
