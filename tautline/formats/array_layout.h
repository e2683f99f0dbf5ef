// array.toml: where the antennas stand and which input is which.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace tautline::formats {

struct Antenna {
  int number = 0;  ///< a label, not an index
  std::string name;
  std::array<double, 3> ecef_m{};  ///< from the earth's centre
  double diameter_m = 0;           ///< 0: unknown
  std::string mount_type = "fixed";
  std::vector<char> feeds{'x', 'y'};
  bool feeds_listed = false;  ///< false: the two above were assumed
  double feed_angle_deg = 0;  ///< of the x feed, east from north; docs/maths/conventions.md
};

struct InputLabel {
  std::size_t antenna = 0;  ///< index into antennas
  char feed = 'x';
};

/// The array as every writer needs it. inputs[i] labels input i in data order.
struct ArrayLayout {
  std::string name = "unknown";
  double latitude_deg = 0, longitude_deg = 0, altitude_m = 0;
  std::vector<Antenna> antennas;
  std::vector<InputLabel> inputs;
  bool inputs_listed = false;   ///< the file says what each input is
  bool feeds_assumed = false;   ///< neither feeds nor inputs were listed: x and y of every antenna
  bool positions_known = true;  ///< false: no array was given and positions are zero
};

/// Throws Error(format) naming the field.
ArrayLayout read_array_layout(const std::string& path);

/// Where nothing was listed and the data has one polarisation, each antenna has its x feed alone.
void assume_polarisations(ArrayLayout& layout, std::size_t polarisations);

/// For `antennas` x `polarisations` inputs with nothing known but, perhaps, names: zero positions, antenna slow.
ArrayLayout unknown_array(std::size_t antennas, std::size_t polarisations,
                          const std::vector<std::string>& names = {});

/// Throws Error(config) for an array of another number of antennas than data of two polarisations have, unless it lists
/// what each input is.
void require_antennas(const ArrayLayout& layout, std::size_t antennas, std::size_t polarisations);

/// Throws Error(config) unless the layout labels exactly `inputs` inputs.
void require_inputs(const ArrayLayout& layout, std::size_t inputs);

}  // namespace tautline::formats
