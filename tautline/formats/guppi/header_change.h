// Fields of a header that have to stay the same throughout a file: layout, frequency, rate and date.
#pragma once

#include <optional>
#include <string>

#include "tautline/formats/guppi/cards.h"

namespace tautline::formats::guppi {

struct HeaderChange {
  std::string keyword, found, expected;
};

/// The first field of the layout that differs: BLOCSIZE, OBSNCHAN, NANTS, NPOL, NBITS or OVERLAP.
std::optional<HeaderChange> layout_change(const Cards& first, const Cards& other);

/// The first field that differs of OBSFREQ (by more than a thousandth of a channel), OBSBW and TBIN (by more than their
/// digits), and STT_IMJD, STT_SMJD and STT_OFFS (by more than a millisecond). Writers that give every block its own
/// date are allowed for: `block_s` is the time of the block behind the first, NaN where it is not known. Fields that
/// are absent from a header, or are no numbers, are none.
std::optional<HeaderChange> setting_change(const Cards& first, const Cards& other, double block_s);

/// Names the header's place, the field and both values, and says how to go on. `as`: where the expected one is from.
core::Error change_error(const std::string& path, const Cards& cards, const HeaderChange& change,
                         const std::string& as = " as in the headers before it");

}  // namespace tautline::formats::guppi
