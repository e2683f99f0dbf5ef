// The order of a visibility file: pairs of antennas and polarisations instead of pairs of inputs.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/formats/array_layout.h"
#include "tautline/formats/visibility_writer.h"

namespace tautline::formats {

/// Two antennas, as places in VisibilityLayout::antennas(), first <= second.
struct AntennaPair {
  std::size_t first = 0, second = 0;
};

/// The feeds of one product: of the pair's first antenna, then of its second.
struct Polarisation {
  char first = 'x', second = 'x';
};

/// Which conjugate a file keeps for the pair (ant_1, ant_2).
enum class Conjugation {
  first,  ///< mean of conj(x_ant1) x_ant2: UVH5
  second  ///< mean of x_ant1 conj(x_ant2): Measurement Set
};

/// The baselines of the packed lower triangle whose two inputs are of one antenna, ascending.
std::vector<std::size_t> baselines_of_antennas(const ArrayLayout& array);

/// Maps the packed lower triangle of inputs to rows of antenna pairs: first slow, second fast.
class VisibilityLayout {
 public:
  /// The antennas that have inputs, in data order: by the first input of each. Throws Error(config)
  /// when the layout has no input. `autos_only`: of integrations that have baselines_of_antennas() alone.
  explicit VisibilityLayout(const ArrayLayout& array, bool autos_only = false);

  const std::vector<std::size_t>& antennas() const { return antennas_; }
  const std::vector<AntennaPair>& pairs() const { return pairs_; }
  std::size_t inputs() const { return inputs_; }
  /// The feeds that occur, x before y.
  const std::vector<char>& feeds() const { return feeds_; }

  struct Product {
    std::size_t baseline = 0;  ///< in the packed lower triangle, or of the autocorrelations
    bool conjugate = false;    ///< of what the triangle holds
    bool present = false;      ///< false: one of the antennas lacks the feed
  };
  Product product(const AntennaPair& pair, const Polarisation& polarisation,
                  Conjugation conjugation) const;

 private:
  // Input of each antenna (a place in antennas_) and feed (x, y); kNone where there is none.
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::array<std::size_t, 2>> input_of_;
  std::vector<std::size_t> antennas_;
  std::vector<AntennaPair> pairs_;
  std::vector<std::size_t> kept_;  // baselines of the triangle; empty: all
  std::vector<char> feeds_;
  std::size_t inputs_ = 0;
};

/// Some pairs and channels of an integration.
struct RowRange {
  std::size_t first_pair = 0, pairs = 0, first_channel = 0, channels = 0;
};

/// Where rows go, [pair][channel][polarisation].
struct RowsOut {
  std::complex<float>* visibilities = nullptr;  ///< 0 where nothing valid was summed
  /// Valid over nominal samples, and 1 where that is 0. Both are null where the caller knows that every count is the
  /// nominal one; counts are then not read.
  float* fractions = nullptr;
  std::uint8_t* flags = nullptr;
  std::size_t row_channels = 0;  ///< from one pair to the next
};

/// Fills `out` with a range of an integration.
void gather_rows(const VisibilityLayout& layout, const std::vector<Polarisation>& polarisations,
                 Conjugation conjugation, const Integration& integration,
                 std::int64_t nominal_count, const RowRange& range, const RowsOut& out);

/// One block of rows as a file holds them, [pair][channel][polarisation]. Reused between blocks.
struct VisibilityRows {
  std::vector<std::complex<float>> visibilities;
  std::vector<float> fractions;
  std::vector<std::uint8_t> flags;

  void resize(std::size_t values) {
    visibilities.resize(values);
    fractions.resize(values);
    flags.resize(values);
  }
};

/// The same, of all channels of the pairs [first, first + count), on several threads.
void gather_rows(const VisibilityLayout& layout, const std::vector<Polarisation>& polarisations,
                 Conjugation conjugation, const Integration& integration,
                 std::int64_t nominal_count, std::size_t first, std::size_t count,
                 VisibilityRows& rows);

/// Flags of rows, [pair][channel][polarisation], of which each has `channels` from `first_channel` on, `row_channels`
/// from one pair to the next: sets those of the flagged channels among them.
void flag_channels(const std::vector<std::size_t>& flagged, std::size_t products,
                   const RowRange& range, std::size_t row_channels, std::uint8_t* flags);

/// Throws Error(config) naming the field that no file could hold.
void check(const VisibilityDescription& description);
void check(const Integration& integration, const VisibilityDescription& description);

/// The direction to which the phases of an integration refer.
ApparentPlace place_of(const Integration& integration, const VisibilityDescription& description,
                       const Site& site);
/// Throws Error(config) when a file would have no integration.
void require_integrations(const std::string& path, std::size_t integrations);

/// Position angle of one feed, from the x feed's, in (-90, 90]: the y feed is 90 degrees on.
double feed_position_angle_deg(double x_feed_angle_deg, char feed);

/// The name of the telescope and its receiver in the file: the given name, or the array's.
std::string telescope_name(const VisibilityDescription& description);
std::string instrument_name(const VisibilityDescription& description);

}  // namespace tautline::formats
