// The sensors and pairs of an array that are correlated: its shape, its mask, sensors added together, and the selected
// pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/core/sample_view.h"
#include "tautline/pipeline/photons/sensor_config.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::pipeline {

/// A correlated sensor: one of the file's, or the sum of several.
struct MappedSensor {
  std::int64_t row = -1, column = -1;
  std::vector<std::uint32_t> members;  ///< good sensors of the file; none: a bad sensor
  bool good() const { return !members.empty(); }
};

class SensorMap {
 public:
  /// `sensors`, `file_rows` and `file_columns`: of the file (0: unknown). Throws Error(config) when shape, mask,
  /// binning or pairs do not match. `numbers`: formats::CountDescription::numbers.
  SensorMap(const SensorConfig& config, std::size_t sensors, std::size_t file_rows,
            std::size_t file_columns, const std::vector<std::uint16_t>& numbers = {});

  const std::vector<MappedSensor>& sensors() const { return sensors_; }
  std::vector<std::uint8_t> good_sensors() const;  ///< 1 or 0 of each
  /// Empty: every sensor with itself.
  const std::vector<stages::autocorrelate::Pair>& pairs() const { return pairs_; }
  bool cross() const { return cross_; }
  /// Pairs, or sensors with themselves, that the mask does not exclude.
  std::size_t good_curves() const;
  /// Whether sensors are added together.
  bool adds() const { return adds_; }
  /// The type of sums of `type`.
  core::SampleType type_of_sums(core::SampleType type) const;
  /// [time][file sensor] to [time][sensor] of type_of_sums. Throws Error(format) when a sum overflows.
  void add_sensors(const core::SampleView<2>& counts, const core::MutableSampleView<2>& sums) const;

 private:
  void find_sensors(const SensorConfig& config, const std::vector<bool>& good);
  void find_pairs(const std::string& text, const std::vector<std::uint16_t>& numbers);

  std::size_t file_sensors_, rows_ = 0, columns_ = 0;  ///< shape of the file's array
  std::size_t map_rows_ = 0, map_columns_ = 0;         ///< of the map's
  bool adds_ = false, cross_ = false;
  std::vector<MappedSensor> sensors_;
  std::vector<stages::autocorrelate::Pair> pairs_;
};

}  // namespace tautline::pipeline
