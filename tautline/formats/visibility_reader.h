// What every reader of visibility files offers: a description, and one integration at a time.
#pragma once

#include <cstddef>
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
  virtual const VisibilityDescription& description() const = 0;
  /// The middle of every integration and its length, in the file's order.
  virtual const std::vector<core::Instant>& middles() const = 0;
  virtual const std::vector<double>& integration_lengths_s() const = 0;
  /// Integration k; its views are good until the next read. Flagged values have a count of 0.
  virtual Integration read(std::size_t k) = 0;

  std::size_t integrations() const { return middles().size(); }
};

/// Opens a UVH5 file or a Measurement Set. Throws Error(unsupported) when this build lacks its library.
std::unique_ptr<VisibilityReader> open_visibilities(const std::string& path);

}  // namespace tautline::formats
