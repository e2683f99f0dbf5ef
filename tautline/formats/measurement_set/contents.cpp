#include "tautline/formats/measurement_set/contents.h"

#include <casacore/casa/Arrays/Vector.h>
#include <casacore/casa/BasicSL/Constants.h>
#include <casacore/measures/Measures/Stokes.h>
#include <casacore/ms/MeasurementSets/MeasurementSet.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "tautline/core/error.h"

namespace tautline::formats::measurement_set {

namespace {

using casacore::ArrayColumn;
using casacore::Double;
using casacore::Float;
using casacore::IPosition;
using casacore::ScalarColumn;
using casacore::Slicer;
using casacore::String;
using casacore::Table;
using casacore::Vector;

constexpr std::uint64_t kRowsAtOnce = 65536;

std::vector<std::string> texts_of(const Table& table, const char* column) {
  std::vector<std::string> texts;
  const ScalarColumn<String> from(table, column);
  for (std::uint64_t row = 0; row < table.nrow(); ++row) texts.push_back(from(row));
  return texts;
}

void read_fields(const Table& table, Contents& contents) {
  const std::vector<std::string> names = texts_of(table, "NAME");
  const ArrayColumn<Double> direction(table, "PHASE_DIR");  // [term of a polynomial in time][2]
  for (std::uint64_t row = 0; row < names.size(); ++row) {
    if (row > 0 && names[row] == names[row - 1]) continue;
    const auto terms = direction.get(row).tovector();
    if (terms.size() < 2)
      throw core::Error(core::ErrorKind::format, "PHASE_DIR",
                        std::to_string(terms.size()) + " numbers", "two angles");
    contents.fields.push_back(names[row]);
    contents.field_positions_deg.push_back(
        {terms[0] / casacore::C::degree, terms[1] / casacore::C::degree});
  }
}

std::vector<SpectralWindow> windows_of(const Table& table) {
  std::vector<SpectralWindow> windows;
  const ArrayColumn<Double> frequencies(table, "CHAN_FREQ"), widths(table, "CHAN_WIDTH");
  for (std::uint64_t row = 0; row < table.nrow(); ++row) {
    const Vector<Double> hz = frequencies.get(row), width = widths.get(row);
    SpectralWindow window;
    window.channels = hz.nelements();
    if (window.channels > 0) {
      const auto ends = std::minmax_element(hz.begin(), hz.end());
      window.lowest_hz = *ends.first;
      window.highest_hz = *ends.second;
      window.channel_width_hz = width.nelements() > 0 ? std::fabs(width(0)) : 0;
    }
    windows.push_back(window);
  }
  return windows;
}

std::vector<std::string> polarisations_of(const Table& table) {
  std::vector<std::string> names;
  if (table.nrow() == 0) return names;
  const Vector<casacore::Int> codes = ArrayColumn<casacore::Int>(table, "CORR_TYPE").get(0);
  for (const casacore::Int code : codes)
    names.push_back(casacore::Stokes::name(casacore::Stokes::type(code)));
  return names;
}

// Adds the contents of rows [first, first + count).
void add_rows(const Table& main, std::uint64_t first, std::uint64_t count, std::set<double>& times,
              double& weight_sum, double& weights, Contents& contents) {
  const Slicer range(IPosition(1, static_cast<ssize_t>(first)),
                     IPosition(1, static_cast<ssize_t>(count)));
  const Vector<Double> time = ScalarColumn<Double>(main, "TIME").getColumnRange(range);
  const Vector<Double> length = ScalarColumn<Double>(main, "INTERVAL").getColumnRange(range);
  const Vector<casacore::Bool> flagged =
      ScalarColumn<casacore::Bool>(main, "FLAG_ROW").getColumnRange(range);
  const ArrayColumn<Float> weight(main, "WEIGHT");
  for (std::uint64_t k = 0; k < count; ++k) {
    times.insert(time(k));
    contents.integration_s = std::max(contents.integration_s, length(k));
    if (flagged(k)) {
      ++contents.flagged_rows;
      continue;
    }
    if (!weight.isDefined(first + k)) continue;
    for (const Float value : Vector<Float>(weight.get(first + k))) {
      const double one = static_cast<double>(value);
      contents.lowest_weight = weights > 0 ? std::min(contents.lowest_weight, one) : one;
      contents.highest_weight = weights > 0 ? std::max(contents.highest_weight, one) : one;
      weight_sum += one;
      weights += 1;
    }
  }
}

Contents read_contents(const std::string& path) {
  const casacore::MeasurementSet ms(path, casacore::TableLock(casacore::TableLock::NoLocking),
                                    Table::Old);
  Contents contents;
  contents.antennas = texts_of(ms.antenna(), "NAME");
  read_fields(ms.field(), contents);
  contents.polarisations = polarisations_of(ms.polarization());
  contents.windows = windows_of(ms.spectralWindow());
  const std::vector<std::string> telescopes = texts_of(ms.observation(), "TELESCOPE_NAME");
  if (!telescopes.empty()) contents.telescope = telescopes.front();
  contents.rows = ms.nrow();
  std::set<double> times;
  double weight_sum = 0, weights = 0;
  for (std::uint64_t row = 0; row < contents.rows; row += kRowsAtOnce)
    add_rows(ms, row, std::min(kRowsAtOnce, contents.rows - row), times, weight_sum, weights,
             contents);
  contents.integrations = times.size();
  if (!times.empty()) {
    contents.first_mjd_s = *times.begin();
    contents.last_mjd_s = *times.rbegin();
  }
  contents.mean_weight = weights > 0 ? weight_sum / weights : 0;
  return contents;
}

}  // namespace

void require_there(const std::string& path) {
  if (!std::filesystem::exists(path))
    throw core::Error(core::ErrorKind::io, path, "cannot be opened: No such file or directory", "",
                      "check the name");
}

Contents contents_of(const std::string& path) {
  require_there(path);
  try {
    return read_contents(path);
  } catch (const std::exception& error) {
    throw core::Error(core::ErrorKind::format, path, std::string("casacore says: ") + error.what(),
                      "a Measurement Set", "check that it was copied whole");
  }
}

}  // namespace tautline::formats::measurement_set
