#include "tautline/formats/repeated_damage.h"

#include <fmt/format.h>

#include <algorithm>

#include "tautline/core/counted.h"

namespace tautline::formats {

bool RepeatedDamage::any() const {
  return std::ranges::any_of(kinds_,
                             [](const Places& places) { return places.count > kMostNamed; });
}

void RepeatedDamage::add_to(Damage& damage, const std::string& file) const {
  for (const Places& places : kinds_) {
    if (places.count <= kMostNamed) continue;
    const std::uint64_t others = places.count - kMostNamed;
    damage.note(fmt::format(
        "{}: {} at {}, {}", file, places.kind, core::counted(others, "more place"),
        others == 1
            ? fmt::format("byte {}", places.first_other)
            : fmt::format("from byte {} to byte {}", places.first_other, places.last_other)));
  }
}

RepeatedDamage::Places& RepeatedDamage::places_of(const std::string& kind) {
  const auto found = std::ranges::find(kinds_, kind, &Places::kind);
  if (found != kinds_.end()) return *found;
  return kinds_.emplace_back(Places{kind});
}

}  // namespace tautline::formats
