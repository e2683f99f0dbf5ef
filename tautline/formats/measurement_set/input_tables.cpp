#include "tautline/formats/measurement_set/input_tables.h"

#include <casacore/casa/Arrays/Array.h>
#include <casacore/casa/Arrays/Matrix.h>
#include <casacore/casa/Arrays/Slicer.h>
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/ms/MeasurementSets/MeasurementSet.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tautline/core/error.h"

namespace tautline::formats::measurement_set {

namespace {

using casacore::Array;
using casacore::ArrayColumn;
using casacore::Bool;
using casacore::Complex;
using casacore::Double;
using casacore::Float;
using casacore::Int;
using casacore::IPosition;
using casacore::ScalarColumn;
using casacore::Slicer;
using casacore::String;
using casacore::Table;
using casacore::Vector;

constexpr std::uint64_t kScannedRows = 65536;

Slicer range_of(std::uint64_t first, std::uint64_t count) {
  return Slicer(IPosition(1, static_cast<ssize_t>(first)),
                IPosition(1, static_cast<ssize_t>(count)));
}

[[noreturn]] void refuse(const std::string& folder, const std::string& table,
                         const std::string& found, const std::string& expected,
                         const std::string& hint) {
  throw core::Error(core::ErrorKind::unsupported, folder + ": " + table, found, expected, hint);
}

std::string first_text(const Table& table, const char* column) {
  return table.nrow() > 0 ? std::string(ScalarColumn<String>(table, column)(0)) : std::string();
}

std::array<double, 3> three(const Array<Double>& values) {
  std::array<double, 3> made{};
  const Vector<Double> from(values.reform(IPosition(1, static_cast<ssize_t>(values.nelements()))));
  for (std::size_t k = 0; k < std::min<std::size_t>(3, from.nelements()); ++k) made[k] = from(k);
  return made;
}

std::vector<InputAntenna> antennas_of(const Table& table) {
  const ScalarColumn<String> name(table, "NAME"), station(table, "STATION");
  const ArrayColumn<Double> position(table, "POSITION");
  const ScalarColumn<Double> diameter(table, "DISH_DIAMETER");
  std::vector<InputAntenna> antennas;
  for (std::uint64_t row = 0; row < table.nrow(); ++row)
    antennas.push_back({name(row), station(row), three(position.get(row)), diameter(row), false});
  return antennas;
}

std::vector<InputField> fields_of(const Table& table) {
  const ScalarColumn<String> name(table, "NAME");
  const ArrayColumn<Double> direction(table, "PHASE_DIR");  // [term of a polynomial in time][2]
  std::vector<InputField> fields;
  for (std::uint64_t row = 0; row < table.nrow(); ++row) {
    const std::array<double, 3> at = three(direction.get(row));
    fields.push_back({name(row), at[0], at[1]});
  }
  return fields;
}

// The one spectral window and polarisation setup that MAIN's rows have.
void read_axes(const std::string& folder, const casacore::MeasurementSet& ms, Int data_description,
               InputHeader& header) {
  const Table& descriptions = ms.dataDescription();
  const auto row = static_cast<casacore::rownr_t>(data_description);
  const Int window = ScalarColumn<Int>(descriptions, "SPECTRAL_WINDOW_ID")(row);
  const Int setup = ScalarColumn<Int>(descriptions, "POLARIZATION_ID")(row);
  const Vector<Double> hz = ArrayColumn<Double>(ms.spectralWindow(), "CHAN_FREQ")
                                .get(static_cast<casacore::rownr_t>(window));
  const Vector<Double> width = ArrayColumn<Double>(ms.spectralWindow(), "CHAN_WIDTH")
                                   .get(static_cast<casacore::rownr_t>(window));
  const Vector<Int> types =
      ArrayColumn<Int>(ms.polarization(), "CORR_TYPE").get(static_cast<casacore::rownr_t>(setup));
  header.channel_hz.assign(hz.begin(), hz.end());
  header.correlation_types.assign(types.begin(), types.end());
  header.channel_width_hz = width.nelements() > 0 ? std::fabs(width(0)) : 0;
  header.instrument =
      ScalarColumn<String>(ms.spectralWindow(), "NAME")(static_cast<casacore::rownr_t>(window));
  if (header.channel_hz.empty() || header.correlation_types.empty())
    refuse(folder, "SPECTRAL_WINDOW", "no channels", "at least one",
           "see that it was copied whole");
}

// Integrations, the antennas that occur, and that all rows are of one spectral window. Returns its data description.
Int scan_rows(const std::string& folder, const Table& main, InputHeader& header) {
  const ScalarColumn<Double> time(main, "TIME"), length(main, "INTERVAL");
  const ScalarColumn<Int> antenna1(main, "ANTENNA1"), antenna2(main, "ANTENNA2"),
      description(main, "DATA_DESC_ID");
  if (main.nrow() == 0)
    refuse(folder, "MAIN", "no rows", "at least one", "see that it was written to its end");
  const Int chosen = description(0);
  std::set<double> times;
  std::vector<InputIntegration>& found = header.integrations;
  for (std::uint64_t first = 0; first < main.nrow(); first += kScannedRows) {
    const std::uint64_t count = std::min<std::uint64_t>(kScannedRows, main.nrow() - first);
    const Slicer range = range_of(first, count);
    const Vector<Double> middles = time.getColumnRange(range),
                         lengths = length.getColumnRange(range);
    const Vector<Int> ones = antenna1.getColumnRange(range), twos = antenna2.getColumnRange(range),
                      windows = description.getColumnRange(range);
    for (std::uint64_t k = 0; k < count; ++k) {
      if (windows(k) != chosen)
        refuse(folder, "MAIN", "several spectral windows", "one",
               "CASA's split writes one of them by itself");
      for (const Int antenna : {ones(k), twos(k)}) {
        if (antenna < 0 || static_cast<std::size_t>(antenna) >= header.antennas.size())
          refuse(folder, "MAIN", "antenna " + std::to_string(antenna),
                 "a row of ANTENNA, of which there are " + std::to_string(header.antennas.size()),
                 "see that it was copied whole");
        header.antennas[static_cast<std::size_t>(antenna)].occurs = true;
      }
      if (found.empty() || middles(k) != found.back().middle_mjd_s) {
        if (!std::isfinite(middles(k)) || !(lengths(k) > 0) || !std::isfinite(lengths(k)))
          refuse(folder, "MAIN", "row " + std::to_string(first + k) + " without a time or length",
                 "a TIME and a positive INTERVAL in every row",
                 "see that it was written to its end");
        if (!times.insert(middles(k)).second)
          refuse(folder, "MAIN", "rows of one time that stand apart", "rows in the order of time",
                 "casacore's Table.sort('TIME') makes a table in order");
        found.push_back({middles(k), lengths(k), first + k, 0});
      }
      ++found.back().rows;
    }
  }
  return chosen;
}

InputHeader header_of(const std::string& folder, const casacore::MeasurementSet& ms) {
  InputHeader header;
  header.antennas = antennas_of(ms.antenna());
  header.fields = fields_of(ms.field());
  const Int data_description = scan_rows(folder, ms, header);
  read_axes(folder, ms, data_description, header);
  header.telescope = first_text(ms.observation(), "TELESCOPE_NAME");
  header.project = first_text(ms.observation(), "PROJECT");
  if (ms.observation().nrow() > 0 && ms.observation().tableDesc().isColumn("TELESCOPE_LOCATION"))
    header.telescope_location_m =
        three(ArrayColumn<Double>(ms.observation(), "TELESCOPE_LOCATION").get(0));
  header.history = first_text(ms.history(), "MESSAGE");
  if (ms.keywordSet().isDefined("tautline")) {
    const casacore::TableRecord& record = ms.keywordSet().asRecord("tautline");
    for (casacore::uInt k = 0; k < record.nfields(); ++k)
      if (record.type(static_cast<Int>(k)) == casacore::TpString)
        header.extra[record.name(static_cast<Int>(k))] = record.asString(k);
  }
  if (!ms.tableDesc().isColumn("DATA"))
    refuse(folder, "MAIN", "no column DATA", "visibilities in the column DATA",
           "CASA's split writes other columns as DATA");
  header.weight_spectrum = ms.tableDesc().isColumn("WEIGHT_SPECTRUM") &&
                           ArrayColumn<Float>(ms, "WEIGHT_SPECTRUM").isDefined(0);
  return header;
}

template <class Value>
void read_cells(const Table& main, const char* column, const Slicer& range, const IPosition& shape,
                std::vector<Value>& into) {
  into.resize(static_cast<std::size_t>(shape.product()));
  Array<Value> shared(shape, into.data(), casacore::SHARE);
  ArrayColumn<Value>(main, column).getColumnRange(range, shared);
}

}  // namespace

struct InputTables::State {
  casacore::MeasurementSet ms;
  InputHeader header;

  explicit State(const std::string& folder)
      : ms(folder, casacore::TableLock(casacore::TableLock::NoLocking), Table::Old),
        header(header_of(folder, ms)) {}
};

InputTables::InputTables(const std::string& folder) : state_(std::make_unique<State>(folder)) {}

InputTables::~InputTables() = default;

const InputHeader& InputTables::header() const {
  return state_->header;
}

void InputTables::read(std::uint64_t first, std::size_t count, InputRows& rows) const {
  const Table& main = state_->ms;
  const InputHeader& header = state_->header;
  const Slicer range = range_of(first, count);
  const IPosition shape(3, static_cast<ssize_t>(header.correlation_types.size()),
                        static_cast<ssize_t>(header.channel_hz.size()),
                        static_cast<ssize_t>(count));
  const Vector<Int> antenna1 = ScalarColumn<Int>(main, "ANTENNA1").getColumnRange(range),
                    antenna2 = ScalarColumn<Int>(main, "ANTENNA2").getColumnRange(range);
  rows.antenna1.assign(antenna1.begin(), antenna1.end());
  rows.antenna2.assign(antenna2.begin(), antenna2.end());
  read_cells<Complex>(main, "DATA", range, shape, rows.visibilities);
  rows.weights.clear();
  if (header.weight_spectrum)
    read_cells<Float>(main, "WEIGHT_SPECTRUM", range, shape, rows.weights);
  Array<Bool> flags(shape);
  ArrayColumn<Bool>(main, "FLAG").getColumnRange(range, flags);
  const Vector<Bool> whole = ScalarColumn<Bool>(main, "FLAG_ROW").getColumnRange(range);
  rows.flags.resize(flags.nelements());
  const std::size_t cell = flags.nelements() / count;
  std::size_t k = 0;
  for (auto flag = flags.cbegin(); flag != flags.cend(); ++flag, ++k)
    rows.flags[k] = *flag || whole(k / cell) ? 1 : 0;
}

}  // namespace tautline::formats::measurement_set
