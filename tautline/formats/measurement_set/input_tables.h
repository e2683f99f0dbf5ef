// A Measurement Set that is read, behind plain types for the same reason as tables.h.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tautline::formats::measurement_set {

struct InputAntenna {
  std::string name, station;
  std::array<double, 3> position_m{};  ///< ITRF
  double dish_diameter_m = 0;
  bool occurs = false;  ///< in a row of MAIN
};

struct InputField {
  std::string name;
  double right_ascension_rad = 0, declination_rad = 0;
};

/// Rows that follow each other and share a time.
struct InputIntegration {
  double middle_mjd_s = 0, length_s = 0;
  std::uint64_t first_row = 0, rows = 0;
};

struct InputHeader {
  std::string telescope, instrument, project, history;
  std::array<double, 3> telescope_location_m{};  ///< ITRF; zero: not said
  std::vector<InputAntenna> antennas;
  std::vector<int> correlation_types;  ///< casacore's Stokes codes
  std::vector<double> channel_hz;
  double channel_width_hz = 0;  ///< of the first channel, positive
  std::vector<InputField> fields;
  std::map<std::string, std::string> extra;  ///< texts of the keyword record "tautline" of MAIN
  std::vector<InputIntegration> integrations;
  bool weight_spectrum = false;
};

/// Some rows of MAIN. Cells are [row][channel][correlation], correlation fastest.
struct InputRows {
  std::vector<int> antenna1, antenna2;
  std::vector<std::complex<float>> visibilities;
  std::vector<float> weights;  ///< WEIGHT_SPECTRUM; empty where the set has none
  std::vector<std::uint8_t> flags;
};

/// The folder, opened without locks. Failures are thrown as std::exception; what is legal but not read as
/// core::Error(unsupported).
class InputTables {
 public:
  explicit InputTables(const std::string& folder);
  ~InputTables();
  InputTables(const InputTables&) = delete;
  InputTables& operator=(const InputTables&) = delete;

  const InputHeader& header() const;
  void read(std::uint64_t first, std::size_t count, InputRows& rows) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tautline::formats::measurement_set
