// The interface of every reader of visibility files: a description, and one integration at a time.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tautline/core/time.h"
#include "tautline/formats/visibility_writer.h"

namespace tautline::formats {

/// Not thread-safe: one thread reads at a time. Constructors throw Error(format) when the file
/// contradicts itself, Error(unsupported) for what is legal but not read, and Error(io).
class VisibilityReader {
 public:
  virtual ~VisibilityReader() = default;
  /// Inputs are in the file's order of antennas, feed x before y; positions_known is false when all
  /// antennas stand on one spot.
  const VisibilityDescription& description() const { return description_; }
  /// The middle of every integration and its length, in the file's order.
  const std::vector<core::Instant>& middles() const { return middles_; }
  const std::vector<double>& integration_lengths_s() const { return lengths_s_; }
  std::size_t integrations() const { return middles_.size(); }
  /// Integration k; its views are good until the next read. Flagged values have a count of 0.
  Integration read(std::size_t k);

 protected:
  using Feeds = std::array<char, 2>;

  std::size_t channels() const { return description_.channel_hz.size(); }
  std::size_t baselines() const;
  /// Memory for one integration. Throws Error(memory) that names `path` where the file claims too much.
  void allocate(const std::string& path);
  /// Puts the values of integration k into visibilities_ and counts_, which are zero.
  virtual void fill(std::size_t k) = 0;
  /// Takes description_.nominal_count from the extra facts and returns true; where they lack it, the count is that of
  /// samples at the Nyquist rate.
  bool take_nominal_count();
  /// The feeds that occur in any product, in the order of an antenna's inputs.
  static std::vector<char> feeds_of(const std::vector<Feeds>& products);
  /// The instant, rounded to a microsecond, the precision of dates in doubles.
  static core::Instant instant_of(double unix_s);

  VisibilityDescription description_;
  std::vector<core::Instant> middles_;
  std::vector<double> lengths_s_;
  std::vector<std::complex<float>> visibilities_;  // [channel][baseline]
  std::vector<std::int64_t> counts_;               // [channel][baseline]
};

/// Opens a UVH5 file or a Measurement Set. Throws Error(unsupported) when this build lacks its library.
std::unique_ptr<VisibilityReader> open_visibilities(const std::string& path);

}  // namespace tautline::formats
