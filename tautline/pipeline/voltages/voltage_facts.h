// What a run of voltages counted and found, for the files and pages at its end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tautline/formats/voltage_reader.h"
#include "tautline/pipeline/voltages/clipped_channels.h"
#include "tautline/pipeline/voltages/invalid_spans.h"
#include "tautline/pipeline/voltages/valid_shares.h"
#include "tautline/pipeline/voltages/voltage_streams.h"
#include "tautline/stream/constant_channel.h"
#include "tautline/stream/empty_voltages.h"
#include "tautline/stream/recorded_level.h"
#include "tautline/stream/voltage_step.h"

namespace tautline::pipeline {

namespace report {
class ReportBuilder;
}

struct VoltageRunSummary;

/// Samples that rounding clipped, once the run has ended.
struct ClippedSamples {
  std::vector<std::uint64_t> components;  ///< [input]
  std::uint64_t all = 0;                  ///< components of an input
};

/// Of the source, the filter banks and the means of visibilities before an output, once the run has ended.
struct VoltageFacts {
  std::uint64_t samples = 0;                       ///< times
  std::map<std::string, std::uint64_t> of_source;  ///< the source's counts by name
  /// These, "spectra", "clipped", "not_finite", and of visibilities "overflowed".
  std::map<std::string, std::uint64_t> counts;
  ClippedSamples clipped;
  ClippedChannels clipped_channels;
  formats::Damage damage;
  stream::EmptyVoltages empty;
  stream::RecordedLevels levels;  ///< of the samples that were read
  std::vector<stream::VoltageStep> level_steps;
  std::vector<stream::ConstantChannel> constant_channels;
  std::uint64_t unchanging_spectra = 0;
  ValidShares valid;
  std::string rounding, partial, fringes;  ///< warnings of the visibilities; empty: none
};
/// Made by the builder of a graph for its sinks.
using AskVoltageFacts = std::function<VoltageFacts()>;

/// The part of a run's summary that its facts have.
void add_facts(const VoltageFacts& facts, VoltageRunSummary& summary);

/// Counts and damage, for the page of a run that has ended.
void finish_page(const VoltageFacts& facts, report::ReportBuilder& page);

/// The invalid spectra of a file, which are zeros there.
struct InvalidSpectra {
  InvalidSpans spans;         ///< of inputs, in spectra
  std::uint64_t spectra = 0;  ///< times x inputs
  std::uint64_t gaps = 0;     ///< times, of the spans, that the stream does not have
  std::uint64_t dropped = 0;  ///< times that came after later ones
  std::uint64_t values = 0;   ///< of single channels, where others of the input are valid
};
/// OUTPUT.json beside a file of spectra: history, device, kernels, counts, frequencies and gains. `times`: spectra of
/// the file, with gaps; `stokes`: the parameters of power; empty: voltages. Null `facts`: the run goes on after this
/// file, and its counts are in the record of the last one.
std::string spectra_record(const VoltageFacts* facts, const Spectra& spectra,
                           const std::string& history, std::uint64_t times,
                           const InvalidSpectra& invalid, const std::string& stokes);

}  // namespace tautline::pipeline
