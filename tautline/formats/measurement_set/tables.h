// The tables of a Measurement Set, behind plain types: casacore 3.5's headers compile as C++17 and
// no later, so files that include them include no other header of ours than this one and core/error.h.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tautline::formats::measurement_set {

struct AntennaRow {
  std::string name, station, type, mount;
  std::array<double, 3> position_m{};  ///< ITRF
  double dish_diameter_m = 0;
  std::vector<double> receptor_angles_rad;  ///< of each of Setup::receptors
};

/// Facts that are known before the first integration.
struct Setup {
  std::vector<AntennaRow> antennas;
  std::vector<std::string> receptors;         ///< "X", "Y"
  std::vector<std::pair<int, int>> products;  ///< correlations, as pairs of receptors
  std::vector<int> correlation_types;         ///< casacore's Stokes codes
  std::vector<double> channel_hz;
  double channel_width_hz = 0;
  std::string instrument;
};

struct Field {
  std::string name;
  double right_ascension_rad = 0, declination_rad = 0;  ///< ICRS
  double time_mjd_s = 0;
};

/// The common columns of all rows of one integration.
struct RowTime {
  double middle_mjd_s = 0, integration_s = 0;
  int field = 0;
};

/// Facts that are known only after the last integration.
struct Summary {
  std::string telescope, project;
  std::array<double, 3> telescope_location_m{};  ///< ITRF, the array's centre
  double start_mjd_s = 0, end_mjd_s = 0;
  std::vector<std::string> history;
  std::map<std::string, std::string> extra;  ///< kept as the keyword record "tautline" of MAIN
  std::vector<double> gains;                 ///< [channel][input], in the same record
  std::size_t inputs = 0;
};

/// The folder while it is being written. Every failure is thrown as std::exception; after one, only
/// abandon() and destruction are allowed.
class Tables {
 public:
  Tables(const std::string& folder, const Setup& setup);
  ~Tables();
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  /// Appends to FIELD and returns the row.
  int add_field(const Field& field);
  /// Appends a row for each pair of ANTENNA rows, without visibilities, and returns the first.
  std::size_t add_rows(const RowTime& time, const std::vector<std::pair<int, int>>& pairs,
                       const std::vector<std::array<double, 3>>& uvw_m);
  /// Fills rows [first, first + count): [row][channel][correlation], correlation fastest.
  void write(std::size_t first, std::size_t count, std::complex<float>* visibilities,
             float* weights, const std::uint8_t* flags);
  /// Appends to REQUANTISATION_GAINS, which is no table of the standard: gains [channel][input] from this integration
  /// on.
  void add_gains(int integration, double middle_mjd_s, const std::vector<double>& gains,
                 std::size_t inputs);
  /// Completes and closes the tables.
  void finish(const Summary& summary);
  /// Closes the tables without another write to the disk, because a write may have failed.
  void abandon() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tautline::formats::measurement_set
