#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/error.h"
#include "tautline/formats/cutout_hdf5/cutout_hdf5.h"
#include "tautline/formats/uvh5/hdf5_input.h"

namespace tautline::formats::cutout_hdf5 {

namespace {

constexpr const char* kExpected = "a cut-out of a candidate (.h5)";
constexpr hsize_t kLongestSide = 16384;

std::vector<float> read_array(const hdf5::Hdf5Input& file, const std::string& name,
                              std::size_t& slow, std::size_t& fast) {
  const auto shape = file.shape(name);
  bool fits = shape.size() == 2;
  for (const hsize_t side : shape) fits = fits && side > 0 && side <= kLongestSide;
  if (!fits)
    file.fail(name, fmt::format("shape ({})", fmt::join(shape, ", ")),
              fmt::format("two axes of 1 to {}", kLongestSide));
  slow = static_cast<std::size_t>(shape[0]);
  fast = static_cast<std::size_t>(shape[1]);
  std::vector<float> values(slow * fast);
  file.rows(name, H5T_NATIVE_FLOAT, 0, shape[0], 1, values.data());
  return values;
}

double positive(const hdf5::Hdf5Input& file, const std::string& name) {
  const double value = file.attribute(name);
  if (!(value > 0) || !std::isfinite(value))
    file.fail(name, fmt::format("{}", value), "an attribute above 0");
  return value;
}

}  // namespace

bool holds_cutout(const std::string& path) {
  const hdf5::QuietErrors quiet;
  try {
    const hdf5::Hdf5Input file(path, kExpected);
    return file.has("data_freq_time") && file.has("data_dm_time");
  } catch (const core::Error&) {
    return false;
  }
}

CutoutFile read(const std::string& path) {
  const hdf5::QuietErrors quiet;
  const hdf5::Hdf5Input file(path, kExpected);
  CutoutFile c;
  c.id = file.text_attribute("cand_id");
  c.source = file.text_attribute("source_name");
  c.file = file.text_attribute("filename");
  c.time_s = file.attribute("tcand");
  c.dm = file.attribute("dm");
  c.snr = file.attribute("snr");
  constexpr double kWidest = 1e15;
  c.width_samples = static_cast<std::uint64_t>(std::min(kWidest, positive(file, "width")));
  c.tsamp_s = positive(file, "tsamp");
  c.fch1_mhz = file.attribute("fch1");
  c.foff_mhz = file.attribute("foff");
  c.channels = static_cast<std::size_t>(std::min(kWidest, positive(file, "nchans")));
  c.frequency_time = read_array(file, "data_freq_time", c.times, c.rows);
  c.dm_time = read_array(file, "data_dm_time", c.dms, c.dm_times);
  return c;
}

}  // namespace tautline::formats::cutout_hdf5
