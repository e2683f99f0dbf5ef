// The meaning of sigproc's numbers: telescopes and machines, packed angles.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "tautline/formats/sigproc/header.h"
#include "tautline/formats/text.h"

namespace tautline::formats::sigproc {

namespace {

using Name = std::pair<int, std::string_view>;

// As sigproc and PRESTO number them.
constexpr std::array kTelescopes{
    Name{1, "Arecibo"}, Name{2, "Ooty"},  Name{3, "Nancay"},   Name{4, "Parkes"},
    Name{5, "Jodrell"}, Name{6, "GBT"},   Name{7, "GMRT"},     Name{8, "Effelsberg"},
    Name{9, "ATA"},     Name{10, "SRT"},  Name{11, "LOFAR"},   Name{12, "VLA"},
    Name{20, "CHIME"},  Name{21, "FAST"}, Name{64, "MeerKAT"}, Name{65, "KAT-7"}};
constexpr std::array kMachines{Name{1, "PSPM"},
                               Name{2, "WAPP"},
                               Name{3, "AOFTM"},
                               Name{4, "BPP"},
                               Name{5, "OOTY"},
                               Name{6, "SCAMP"},
                               Name{7, "GBT Pulsar Spigot"}};

template <std::size_t N>
std::string name_of(const std::array<Name, N>& names, int number) {
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const Name& n) { return n.first == number; });
  return found == names.end() ? "" : std::string(found->second);
}

}  // namespace

std::string telescope_name(int id) {
  return name_of(kTelescopes, id);
}
std::string machine_name(int id) {
  return name_of(kMachines, id);
}

int telescope_id(const std::string& name) {
  for (const Name& telescope : kTelescopes)
    if (lower(telescope.second) == lower(name)) return telescope.first;
  return 0;
}

double unpack_sexagesimal(double packed) {
  const double magnitude = std::abs(packed);
  const double whole = std::floor(magnitude / 10000);
  const double minutes = std::floor((magnitude - whole * 10000) / 100);
  const double seconds = magnitude - whole * 10000 - minutes * 100;
  return std::copysign(whole + minutes / 60 + seconds / 3600, packed);
}

double pack_sexagesimal(double value) {
  // To a tenth of a microsecond, so that 59.99999999 seconds become the next minute.
  const double ticks = std::nearbyint(std::abs(value) * 3600e7);
  const double whole = std::floor(ticks / 3600e7);
  const double minutes = std::floor((ticks - whole * 3600e7) / 60e7);
  const double seconds = (ticks - whole * 3600e7 - minutes * 60e7) / 1e7;
  return std::copysign(whole * 10000 + minutes * 100 + seconds, value);
}

}  // namespace tautline::formats::sigproc
