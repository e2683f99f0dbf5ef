// The parsed DADA header: the stream, the order of its axes, and where the samples begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/formats/strided_source.h"

namespace tautline::formats::dada {

inline constexpr std::uint64_t kDefaultHeaderBytes = 4096;
inline constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{1} << 24;
/// TSAMP is a rounded decimal: where BW implies a rate within this of it, BW's rate is exact.
inline constexpr double kRateAgreement = 1e-6;

struct Header {
  core::VoltageDescription description;
  std::vector<SampleAxis> axes;  ///< ORDER, slowest first, with extents
  std::uint64_t header_bytes = kDefaultHeaderBytes;
  std::optional<std::uint64_t> data_bytes;  ///< FILE_SIZE, when the header has it
  bool has_record = false;  ///< spectra of which tautline writes a record beside the file
};

/// HDR_SIZE of the header that begins with `bytes`.
std::uint64_t header_size(std::span<const std::byte> bytes, const std::string& file);

/// `bytes` is the whole header. Throws Error(format) that names the file, the key, the value and
/// what was expected.
Header parse_header(std::span<const std::byte> bytes, const std::string& file);

/// The keys and values of a header, NUL-padded to a multiple of 4096 bytes, HDR_SIZE among them.
/// Besides the usual keys it holds EXACT_RATE_HZ and EXACT_START_S (numerator/denominator; the
/// fraction of the start's second), for rates and times that TSAMP and PICOSECONDS round. Of
/// `extra` the key must be one word and the value one line.
std::string format_header(const core::VoltageDescription& description, const std::string& order,
                          const std::vector<std::pair<std::string, std::string>>& extra);

/// Letters to axes; every axis longer than one must be named, T always, none twice.
/// Throws Error(config) when `order` is not such a word.
std::vector<SampleAxis> parse_order(const std::string& order,
                                    const core::VoltageDescription& description);

}  // namespace tautline::formats::dada
