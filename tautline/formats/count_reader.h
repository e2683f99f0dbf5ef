// The interface of every reader of counts: [time][sensor], block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/sample_type.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats::npy {
struct Header;
}

namespace tautline::formats {

struct CountDescription {
  std::string format;  ///< "NPY", "raw"
  core::SampleType type = core::SampleType::u8;
  std::size_t sensors = 1;
  std::size_t rows = 0, columns = 0;     ///< of an array of sensors, row by row; 0: not known
  double bin_s = 0;                      ///< 0: the file does not say
  /// The reason for bin_s, where the reader chose it or a file beside the counts says it; empty: it was given.
  std::string bin_reason = {};
  std::vector<std::string> labels = {};  ///< of sensors; empty: numbers
  /// The name of a sensor where pairs are named: the detectors of time tags; empty: 0, 1, ...
  std::vector<std::uint16_t> numbers = {};
};

/// Not thread-safe: one thread reads at a time. Constructors throw Error(format) when a header
/// contradicts itself or its file and Error(io) when the system refuses.
class CountReader {
 public:
  virtual ~CountReader() = default;
  const CountDescription& description() const { return description_; }
  /// Times in the whole stream, as far as its size is known.
  virtual std::uint64_t total_samples() const = 0;
  /// Goes to a time.
  virtual void seek(std::uint64_t first_sample) = 0;
  /// Fills the front of `counts` with whole times of every sensor and returns how many; 0 at the
  /// end only. Throws Error(format) on a count that the type cannot hold, naming its place.
  virtual std::size_t read(std::span<std::byte> counts) = 0;
  virtual const Damage& damage() const { return damage_; }

 protected:
  CountDescription description_;
  Damage damage_;
};

/// The place of the first of these floats that is no count, NaN, infinite or below zero; how many
/// there are when all are counts.
std::size_t first_bad_float(std::span<const std::byte> floats);

/// Properties that a file without a header lacks.
struct RawCounts {
  std::optional<core::SampleType> dtype;  ///< needed for raw files; NPY: the type to count in
  std::size_t sensors = 0;                ///< needed for raw files
  std::uint64_t header_bytes = 0;         ///< skipped
};

/// Throws Error(config) when dtype or sensors are missing. `name`: of the file or stream.
CountDescription describe_raw(const RawCounts& raw, const std::string& name);

/// Whether a file with a header holds counts: a TIFF stack, or a NPY array of real numbers and at most three axes that
/// has no record of `channelize` beside it. Such an array may hold voltages, too, whose rate is then known to the
/// caller.
bool recognise_counts(std::span<const std::byte> first_bytes, const std::string& path);

/// Opens a NPY array or a TIFF stack, told by their first bytes, or a raw file of little-endian
/// counts. Throws Error(config) when a raw file's type or sensors are not given.
std::unique_ptr<CountReader> open_counts(const std::string& path, const RawCounts& raw);
/// Whether a file may hold raw counts, which have no header: it is named .raw and is of no known kind.
bool may_be_raw_counts(const std::string& path);
/// The description of counts in an array with this header; the type is that of its elements, which need not be a type
/// of counts.
/// Throws Error(format) for other shapes and types.
CountDescription describe_npy(const npy::Header& header, const std::string& path);
std::unique_ptr<CountReader> open_npy_counts(const std::string& path, const RawCounts& raw);

}  // namespace tautline::formats
