// Writes PTU files that PicoQuant's tools and their readers open.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tautline/formats/partial_file.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/ptu/record_encoder.h"

namespace tautline::formats::ptu {

/// Appends photons as they come. `description` gives the header's values: mode, time_unit_s,
/// microtime_unit_s, sync_rate_hz, rates_hz, acquisition_s, channels, comment, software. A file
/// destroyed before finish() leaves nothing. Failures are Error(io) with the path and the reason.
class Writer {
 public:
  /// `record_type` is one of kRecordTypes and decides the mode. Throws Error(config) when the
  /// clock's unit is not positive.
  Writer(const std::string& path, const RecordType& record_type,
         const PhotonDescription& description, bool overwrite);
  /// Photons in order of time.
  void write(std::span<const Photon> photons);
  std::uint64_t records() const { return records_; }
  /// Writes the number of records and the rates into the header. `rates_hz` has as many as the
  /// description had.
  void finish(std::span<const double> rates_hz);

 private:
  std::string header(std::span<const double> rates_hz) const;

  const RecordType* type_;
  PhotonDescription description_;
  RecordEncoder encoder_;
  PartialFile file_;
  std::vector<std::uint32_t> words_;
  std::uint64_t records_ = 0;
};

}  // namespace tautline::formats::ptu
