#include "tautline/formats/measurement_set/tables.h"

#include <casacore/casa/Arrays/Array.h>
#include <casacore/casa/Arrays/Matrix.h>
#include <casacore/casa/Arrays/Slicer.h>
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/ms/MeasurementSets/MSMainColumns.h>
#include <casacore/ms/MeasurementSets/MeasurementSet.h>
#include <casacore/tables/DataMan/IncrementalStMan.h>
#include <casacore/tables/DataMan/StandardStMan.h>
#include <casacore/tables/DataMan/TiledColumnStMan.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScaColDesc.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/SetupNewTab.h>
#include <casacore/tables/Tables/TableDesc.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <cmath>

#include "tautline/formats/measurement_set/subtables.h"

namespace tautline::formats::measurement_set {
namespace {

using casacore::Array;
using casacore::Bool;
using casacore::Complex;
using casacore::Double;
using casacore::Float;
using casacore::Int;
using casacore::IPosition;
using casacore::MS;
using casacore::Slicer;
using casacore::String;
using casacore::Vector;

// Bytes of a tile: so large that a tile costs little, so small that a cache of a few tiles is small.
constexpr std::size_t kTileBytes = std::size_t{256} << 10;
constexpr std::size_t kTileCacheBytes = std::size_t{1} << 20;
constexpr std::size_t kLargestTileRows = 4096;
// CASA's own value where there is no weight.
constexpr Float kNoSigma = -1;

ssize_t extent(std::size_t n) {
  return static_cast<ssize_t>(n);
}

Slicer row_range(std::size_t first, std::size_t count) {
  return Slicer(IPosition(1, extent(first)), IPosition(1, extent(count)));
}

// Stores a column whose cells all have one shape in tiles of whole rows, or, where a cell is larger
// than a tile, of parts of one.
void store_in_tiles(casacore::SetupNewTable& setup, const String& column, const IPosition& cell,
                    std::size_t value_bytes) {
  const std::size_t cell_bytes = static_cast<std::size_t>(cell.product()) * value_bytes;
  IPosition shape = cell;
  ssize_t& last = shape[shape.nelements() - 1];
  last = std::max<ssize_t>(1, last / extent(std::max<std::size_t>(1, cell_bytes / kTileBytes)));
  const std::size_t rows =
      std::min(std::max<std::size_t>(1, kTileBytes / cell_bytes), kLargestTileRows);
  shape.append(IPosition(1, extent(rows)));
  setup.bindColumn(column, casacore::TiledColumnStMan("Tiled" + column, shape, kTileCacheBytes));
}

casacore::TableDesc main_description(const IPosition& cell, const IPosition& by_product) {
  casacore::TableDesc description = MS::requiredTableDesc();
  MS::addColumnToDesc(description, MS::DATA, 2);
  MS::addColumnToDesc(description, MS::WEIGHT_SPECTRUM, 2);
  const auto tiled = [&](const String& column, std::size_t axes) {
    description.defineHypercolumn("Tiled" + column, static_cast<casacore::uInt>(axes),
                                  casacore::stringToVector(column));
  };
  for (const char* column : {"DATA", "FLAG", "WEIGHT_SPECTRUM"}) {
    description.rwColumnDesc(column).setShape(cell, true);
    tiled(column, 3);
  }
  for (const char* column : {"WEIGHT", "SIGMA"}) {
    description.rwColumnDesc(column).setShape(by_product, true);
    tiled(column, 2);
  }
  tiled("UVW", 2);
  return description;
}

// Tables flush when they are destroyed, and end the process when that fails. Marked for deletion
// they close without another write.
void mark_for_deletion(casacore::MeasurementSet& ms) noexcept {
  const auto mark = [](casacore::Table table) {
    try {
      table.markForDelete();
    } catch (const std::exception&) {  // a table that was never created
    }
  };
  try {
    const casacore::TableRecord& keywords = ms.keywordSet();
    for (casacore::uInt k = 0; k < keywords.nfields(); ++k)
      if (keywords.type(static_cast<Int>(k)) == casacore::TpTable)
        mark(keywords.asTable(static_cast<Int>(k)));
  } catch (const std::exception&) {
  }
  mark(ms);
}

casacore::MeasurementSet create(const std::string& folder, std::size_t channels,
                                std::size_t products) {
  const IPosition cell(2, extent(products), extent(channels)), by_product(1, extent(products));
  casacore::SetupNewTable setup(folder, main_description(cell, by_product), casacore::Table::New);
  setup.bindAll(casacore::StandardStMan("Standard"));
  // Columns that stay the same for many rows.
  const casacore::IncrementalStMan incremental("Incremental");
  for (const char* column :
       {"TIME", "TIME_CENTROID", "INTERVAL", "EXPOSURE", "FIELD_ID", "ARRAY_ID", "DATA_DESC_ID",
        "FEED1", "FEED2", "OBSERVATION_ID", "PROCESSOR_ID", "SCAN_NUMBER", "STATE_ID"})
    setup.bindColumn(column, incremental);
  store_in_tiles(setup, "DATA", cell, sizeof(Complex));
  store_in_tiles(setup, "FLAG", cell, sizeof(Bool));
  store_in_tiles(setup, "WEIGHT_SPECTRUM", cell, sizeof(Float));
  store_in_tiles(setup, "WEIGHT", by_product, sizeof(Float));
  store_in_tiles(setup, "SIGMA", by_product, sizeof(Float));
  store_in_tiles(setup, "UVW", IPosition(1, 3), sizeof(Double));
  casacore::MeasurementSet ms(setup, casacore::TableLock(casacore::TableLock::PermanentLocking), 0);
  try {
    ms.createDefaultSubtables(casacore::Table::New);
  } catch (...) {
    mark_for_deletion(ms);
    throw;
  }
  return ms;
}

}  // namespace

struct Tables::State {
  casacore::MeasurementSet ms;
  casacore::MSMainColumns columns;
  std::size_t channels, products;

  State(const std::string& folder, const Setup& setup)
      : ms(create(folder, setup.channel_hz.size(), setup.products.size())),
        columns(ms),
        channels(setup.channel_hz.size()),
        products(setup.products.size()) {}

  void write_weights(std::size_t first, std::size_t count, const float* fractions);
};

Tables::Tables(const std::string& folder, const Setup& setup)
    : state_(std::make_unique<State>(folder, setup)) {
  try {
    write_antennas(state_->ms, setup);
    write_feeds(state_->ms, setup);
    write_spectral_window(state_->ms, setup);
    write_polarization(state_->ms, setup);
    write_backend(state_->ms);
    prepare_field(state_->ms);
  } catch (...) {
    abandon();
    throw;
  }
}

Tables::~Tables() {
  abandon();
}

void Tables::abandon() noexcept {
  if (!state_) return;
  mark_for_deletion(state_->ms);
  state_.reset();
}

int Tables::add_field(const Field& field) {
  return append_field(state_->ms, field);
}

std::size_t Tables::add_rows(const RowTime& time, const std::vector<std::pair<int, int>>& pairs,
                             const std::vector<std::array<double, 3>>& uvw_m) {
  auto& columns = state_->columns;
  const std::size_t first = state_->ms.nrow(), count = pairs.size();
  state_->ms.addRow(count);
  const Slicer rows = row_range(first, count);
  const Vector<Double> middle(count, time.middle_mjd_s), length(count, time.integration_s);
  columns.time().putColumnRange(rows, middle);
  columns.timeCentroid().putColumnRange(rows, middle);
  columns.interval().putColumnRange(rows, length);
  columns.exposure().putColumnRange(rows, length);
  columns.fieldId().putColumnRange(rows, Vector<Int>(count, time.field));
  columns.scanNumber().putColumnRange(rows, Vector<Int>(count, 1));
  const Vector<Int> zero(count, 0);
  for (casacore::ScalarColumn<Int>* column :
       {&columns.arrayId(), &columns.dataDescId(), &columns.feed1(), &columns.feed2(),
        &columns.observationId(), &columns.processorId(), &columns.stateId()})
    column->putColumnRange(rows, zero);

  Vector<Int> antenna1(count), antenna2(count);
  casacore::Matrix<Double> uvw(3, count);
  for (std::size_t row = 0; row < count; ++row) {
    antenna1(row) = pairs[row].first;
    antenna2(row) = pairs[row].second;
    for (std::size_t k = 0; k < 3; ++k) uvw(k, row) = uvw_m[row][k];
  }
  columns.antenna1().putColumnRange(rows, antenna1);
  columns.antenna2().putColumnRange(rows, antenna2);
  columns.uvw().putColumnRange(rows, uvw);
  return first;
}

void Tables::write(std::size_t first, std::size_t count, std::complex<float>* visibilities,
                   float* weights, const std::uint8_t* flags) {
  const IPosition shape(3, extent(state_->products), extent(state_->channels), extent(count));
  const Slicer range = row_range(first, count);
  state_->columns.data().putColumnRange(range,
                                        Array<Complex>(shape, visibilities, casacore::SHARE));
  state_->columns.weightSpectrum().putColumnRange(range,
                                                  Array<Float>(shape, weights, casacore::SHARE));
  Array<Bool> flagged(shape);
  std::transform(flags, flags + flagged.nelements(), flagged.cbegin(),
                 [](std::uint8_t flag) { return flag != 0; });
  state_->columns.flag().putColumnRange(range, flagged);
  state_->write_weights(first, count, weights);
}

void Tables::State::write_weights(std::size_t first, std::size_t count, const float* fractions) {
  casacore::Matrix<Float> weight(products, count), sigma(products, count);
  Vector<Bool> all_flagged(count);
  for (std::size_t row = 0; row < count; ++row) {
    bool any = false;
    for (std::size_t p = 0; p < products; ++p) {
      double sum = 0;
      for (std::size_t c = 0; c < channels; ++c)
        sum += static_cast<double>(fractions[(row * channels + c) * products + p]);
      const double mean = sum / static_cast<double>(channels);
      weight(p, row) = static_cast<Float>(mean);
      sigma(p, row) = mean > 0 ? static_cast<Float>(1 / std::sqrt(mean)) : kNoSigma;
      any = any || mean > 0;
    }
    all_flagged(row) = !any;
  }
  const Slicer range = row_range(first, count);
  columns.weight().putColumnRange(range, weight);
  columns.sigma().putColumnRange(range, sigma);
  columns.flagRow().putColumnRange(range, all_flagged);
}

void Tables::add_gains(int integration, double middle_mjd_s, const std::vector<double>& gains,
                       std::size_t inputs) {
  constexpr const char* kName = "REQUANTISATION_GAINS";
  // casacore's arrays have their first axis fastest: [input][channel] there is [channel][input].
  const IPosition shape(2, extent(inputs), extent(gains.size() / inputs));
  MS& ms = state_->ms;
  if (!ms.keywordSet().isDefined(kName)) {
    casacore::TableDesc description;
    description.addColumn(casacore::ScalarColumnDesc<Int>("INTEGRATION"));
    description.addColumn(casacore::ScalarColumnDesc<Double>("TIME"));
    description.addColumn(
        casacore::ArrayColumnDesc<Double>("GAINS", shape, casacore::ColumnDesc::FixedShape));
    casacore::SetupNewTable setup(ms.tableName() + "/" + kName, description, casacore::Table::New);
    ms.rwKeywordSet().defineTable(kName, casacore::Table(setup));
  }
  casacore::Table table = ms.keywordSet().asTable(kName);
  table.reopenRW();
  const auto row = table.nrow();
  table.addRow();
  casacore::ScalarColumn<Int>(table, "INTEGRATION").put(row, integration);
  casacore::ScalarColumn<Double>(table, "TIME").put(row, middle_mjd_s);
  casacore::ArrayColumn<Double>(table, "GAINS").put(row, Array<Double>(shape, gains.data()));
}

void Tables::finish(const Summary& summary) {
  write_observation(state_->ms, summary);
  write_history(state_->ms, summary);
  casacore::TableRecord extra;
  for (const auto& [key, value] : summary.extra) extra.define(key, String(value));
  if (!summary.gains.empty()) {
    // casacore's arrays have their first axis fastest: [input][channel] there is [channel][input].
    const casacore::IPosition shape(2, static_cast<ssize_t>(summary.inputs),
                                    static_cast<ssize_t>(summary.gains.size() / summary.inputs));
    extra.define("requantisation_gains", casacore::Array<double>(shape, summary.gains.data()));
  }
  state_->ms.rwKeywordSet().defineRecord("tautline", extra);
  state_->ms.flush(true);
  state_.reset();
}

}  // namespace tautline::formats::measurement_set
