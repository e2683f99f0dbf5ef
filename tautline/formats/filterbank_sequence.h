// Several filterbank files of one observation as one: ordered by start time, gaps and overlaps
// found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/formats/filterbank_reader.h"

namespace tautline::formats {

/// Throws Error(format) when two files overlap or disagree about what they hold. Where some deliver
/// wider samples than others (PSRFITS files with and without scales), all are delivered so.
class FilterbankSequence final : public FilterbankReader {
 public:
  struct Part {
    std::string path;
    std::unique_ptr<FilterbankReader> reader;
    std::uint64_t first_sample = 0;  ///< of the sequence
  };

  explicit FilterbankSequence(std::vector<Part> parts);

  std::size_t read(std::uint64_t first_sample, std::size_t count,
                   std::span<std::byte> destination) override;
  const Damage& damage() const override;

 private:
  void check_agreement(const Part& part) const;
  void join(Part& part, const Part* before);
  std::size_t read_part(Part& part, std::uint64_t first_sample, std::size_t count,
                        std::span<std::byte> destination);

  std::vector<Part> parts_;
  mutable Damage gathered_;  // when damage() is called
  std::vector<std::byte> narrow_;
};

}  // namespace tautline::formats
