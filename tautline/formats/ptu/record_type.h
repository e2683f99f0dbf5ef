// The 32-bit records of PicoQuant's instruments: which layout each type has.
//
// | family    | mode | bits, from the highest                            | clock wraps after       |
// | PicoHarp  | T2   | channel 4, time 28                                | 210,698,240             |
// | PicoHarp  | T3   | channel 4, microtime 12, sync count 16            | 65,536                  |
// | HydraHarp | T2   | special 1, channel 6, time 25                     | 33,552,000 (v1) or 2^25 |
// | HydraHarp | T3   | special 1, channel 6, microtime 15, sync count 10 | 1,024                   |
//
// PicoHarp: channel 15 is special. T3: microtime 0 is an overflow, else its low 4 bits are markers.
// T2: the low 4 bits of the time are markers, and none of them an overflow. Photons have the
// channels 0 to 4 in T2 (0 is the sync input) and 1 to 4 in T3.
// HydraHarp and all later instruments: a special record of channel 63 is an overflow, which since
// version 2 stands for as many as its clock field says (0 for one); of channel 1 to 15 it is a
// marker; of channel 0, in T2, an event of the sync input.
// Source: the tag and record tables that PicoQuant publishes with its file format demos.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tautline/formats/photon_reader.h"

namespace tautline::formats::ptu {

enum class Family { picoharp, hydraharp };

struct RecordType {
  std::uint32_t code;  ///< the header's TTResultFormat_TTTRRecType
  std::string_view name;
  Family family;
  TagMode mode;
  std::uint64_t wrap;     ///< clock ticks of one overflow
  bool counted_overflow;  ///< an overflow record has the number of its overflows

  constexpr std::uint32_t microtimes() const {
    if (mode == TagMode::t2) return 0;
    return family == Family::picoharp ? 1u << 12 : 1u << 15;
  }
};

inline constexpr std::uint64_t kPicoHarpT2Wrap = 210'698'240;
inline constexpr std::uint64_t kPicoHarpT3Wrap = 65'536;
inline constexpr std::uint64_t kHydraHarp1T2Wrap = 33'552'000;
inline constexpr std::uint64_t kHydraHarpT2Wrap = std::uint64_t{1} << 25;
inline constexpr std::uint64_t kHydraHarpT3Wrap = 1024;

inline constexpr std::array<RecordType, 12> kRecordTypes{{
    {0x00010203, "PicoHarp 300 T2", Family::picoharp, TagMode::t2, kPicoHarpT2Wrap, false},
    {0x00010303, "PicoHarp 300 T3", Family::picoharp, TagMode::t3, kPicoHarpT3Wrap, false},
    {0x00010204, "HydraHarp v1 T2", Family::hydraharp, TagMode::t2, kHydraHarp1T2Wrap, false},
    {0x00010304, "HydraHarp v1 T3", Family::hydraharp, TagMode::t3, kHydraHarpT3Wrap, false},
    {0x01010204, "HydraHarp v2 T2", Family::hydraharp, TagMode::t2, kHydraHarpT2Wrap, true},
    {0x01010304, "HydraHarp v2 T3", Family::hydraharp, TagMode::t3, kHydraHarpT3Wrap, true},
    {0x00010205, "TimeHarp 260 N T2", Family::hydraharp, TagMode::t2, kHydraHarpT2Wrap, true},
    {0x00010305, "TimeHarp 260 N T3", Family::hydraharp, TagMode::t3, kHydraHarpT3Wrap, true},
    {0x00010206, "TimeHarp 260 P T2", Family::hydraharp, TagMode::t2, kHydraHarpT2Wrap, true},
    {0x00010306, "TimeHarp 260 P T3", Family::hydraharp, TagMode::t3, kHydraHarpT3Wrap, true},
    {0x00010207, "MultiHarp T2", Family::hydraharp, TagMode::t2, kHydraHarpT2Wrap, true},
    {0x00010307, "MultiHarp T3", Family::hydraharp, TagMode::t3, kHydraHarpT3Wrap, true},
}};

/// The type with this code; null when the code is unknown.
constexpr const RecordType* find_record_type(std::uint32_t code) {
  for (const RecordType& type : kRecordTypes)
    if (type.code == code) return &type;
  return nullptr;
}

}  // namespace tautline::formats::ptu
