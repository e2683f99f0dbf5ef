// Channels of a filterbank that stop together, for fewer samples than it takes to say so of one channel
// (docs/design/empty.md).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/empty_rule.h"

namespace tautline::pipeline {

/// Spectra of which the first `count` lie in one place and the following ones in another.
struct SpectraInTwoPlaces {
  const std::byte* data = nullptr;
  std::size_t count = 0;
  const std::byte* more = nullptr;
  std::size_t sample_bytes = 0;

  const std::byte* at(std::size_t t) const {
    return t < count ? data + t * sample_bytes : more + (t - count) * sample_bytes;
  }
};

/// Whether two spectra are equal. Looks at the middle first: most spectra that differ differ there.
inline bool equal_spectra(const std::byte* a, const std::byte* b, std::size_t bytes) {
  std::uint64_t x = 0, y = 0;
  if (bytes >= sizeof x) {
    const std::size_t middle = (bytes - sizeof x) / 2;
    std::memcpy(&x, a + middle, sizeof x);
    std::memcpy(&y, b + middle, sizeof y);
  }
  return x == y && std::memcmp(a, b, bytes) == 0;
}

/// Sets flags[c] to 0 where channel c differs in two spectra of u8, u16 or 32-bit values. Returns how many are left.
std::size_t keep_equal(const std::byte* a, const std::byte* b, std::size_t value_bytes,
                       std::span<std::uint8_t> flags);

/// How many of `count` values of two spectra are equal.
std::size_t count_equal(const std::byte* a, const std::byte* b, std::size_t value_bytes,
                        std::size_t count);
/// The same, and how many values of `a` are `value`, in one pass.
struct EqualValues {
  std::size_t others = 0, value = 0;
};
EqualValues count_equal(const std::byte* a, const std::byte* b, const std::byte* value,
                        std::size_t value_bytes, std::size_t count);

/// Whether a channel's value is less than another one, or not finite where that is.
template <class Value>
bool falls_from(Value other, Value value) {
  return std::isfinite(static_cast<double>(other)) &&
         (value < other || !std::isfinite(static_cast<double>(value)));
}

/// The first flag, not before `c`, that is set; their number if there is none.
std::size_t next_set(std::span<const std::uint8_t> flags, std::size_t c);

/// A rule for channels that stop together: windows of repeats() + 1 spectra, which begin at positions that are whole
/// multiples of every(), in which so many channels do not change, but others do.
class CommonStops {
 public:
  /// `left_out`: channels that do not count.
  CommonStops(const formats::FilterbankDescription& description,
              std::span<const std::size_t> left_out, const CommonRule& rule);

  /// 0: no channels of such a filterbank are looked at together.
  std::size_t repeats() const { return rule_.repeats; }
  std::size_t every() const { return rule_.every; }
  /// The first window that begins at spectrum k or later of spectra from `position` on.
  std::size_t next_window(std::size_t k, std::uint64_t position) const;
  /// A quick test of the window that begins at spectrum k: false where stop_at would be false, which is nearly always.
  /// Prefetches the last spectrum of a later window: hardware does not predict such strides.
  bool may_stop_at(const SpectraInTwoPlaces& spectra, std::size_t k) const;
  /// The same; `value_count` becomes the number of channels whose value is `value` in the window's first spectrum.
  bool may_stop_at(const SpectraInTwoPlaces& spectra, std::size_t k, const std::byte* value,
                   std::size_t& value_count) const;
  /// Whether channels stop in the window that begins at spectrum k.
  bool stop_at(const SpectraInTwoPlaces& spectra, std::size_t k);
  /// [channel] 1 where the channel did not change in the last window of stop_at, if that was true.
  std::span<const std::uint8_t> stopped() const { return stopped_; }

 private:
  void prefetch_behind(const SpectraInTwoPlaces& spectra, std::size_t k) const;

  std::size_t value_bytes_, counting_channels_;
  CommonRule rule_;
  std::vector<std::uint8_t> counting_, stopped_;  // [channel]
};

}  // namespace tautline::pipeline
