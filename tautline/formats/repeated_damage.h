// Damage of one kind at many places of a file: the first places have messages of their own, the others one together.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tautline/formats/voltage_reader.h"

namespace tautline::formats {

class RepeatedDamage {
 public:
  /// Places of a kind that have messages of their own.
  static constexpr std::uint64_t kMostNamed = 3;

  /// `kind`: in the plural, as "damaged headers"; `offset`: the place, in bytes.
  void note(Damage& damage, const std::string& kind, std::uint64_t offset, std::string message) {
    Places& places = places_of(kind);
    if (++places.count <= kMostNamed) {
      damage.note(std::move(message));
      return;
    }
    if (places.count == kMostNamed + 1) places.first_other = offset;
    places.last_other = offset;
  }

  /// Whether places have no message of their own.
  bool any() const;
  /// Adds the message of these of each kind: "FILE: damaged headers at 397 more places, from byte 80 to byte 99".
  void add_to(Damage& damage, const std::string& file) const;
  void clear() { kinds_.clear(); }

 private:
  struct Places {
    std::string kind;
    std::uint64_t count = 0, first_other = 0, last_other = 0;
  };
  Places& places_of(const std::string& kind);

  std::vector<Places> kinds_;
};

}  // namespace tautline::formats
