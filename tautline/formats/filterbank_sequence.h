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

  const FilterbankDescription& description() const override { return description_; }
  const std::vector<Segment>& segments() const override { return segments_; }
  std::size_t read(std::uint64_t first_sample, std::size_t count,
                   std::span<std::byte> destination) override;
  const Damage& damage() const override;
  const std::vector<std::string>& remarks() const override { return remarks_; }

 private:
  void check_agreement(const Part& part) const;
  void join(Part& part, const Part* before);
  std::size_t read_part(Part& part, std::uint64_t first_sample, std::size_t count,
                        std::span<std::byte> destination);

  std::vector<Part> parts_;
  FilterbankDescription description_;
  std::vector<Segment> segments_;
  std::vector<std::string> remarks_;
  mutable Damage damage_;  // gathered when asked for
  std::vector<std::byte> narrow_;
};

}  // namespace tautline::formats
