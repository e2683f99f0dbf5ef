#include "tautline/formats/measurement_set/subtables.h"

#include <casacore/casa/Arrays/Matrix.h>
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/measures/Measures/MDirection.h>
#include <casacore/measures/Measures/MFrequency.h>
#include <casacore/ms/MeasurementSets/MSColumns.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ArrayColumn.h>

#include <algorithm>

namespace tautline::formats::measurement_set {
namespace {

using casacore::Complex;
using casacore::Double;
using casacore::Int;
using casacore::Matrix;
using casacore::rownr_t;
using casacore::String;
using casacore::Vector;

template <class T = Double, class List>
Vector<T> casa(const List& list) {
  Vector<T> result(list.size());
  std::copy(list.begin(), list.end(), result.cbegin());
  return result;
}

}  // namespace

void write_antennas(casacore::MeasurementSet& ms, const Setup& setup) {
  ms.antenna().addRow(setup.antennas.size());
  casacore::MSAntennaColumns columns(ms.antenna());
  for (std::size_t row = 0; row < setup.antennas.size(); ++row) {
    const AntennaRow& antenna = setup.antennas[row];
    columns.name().put(row, antenna.name);
    columns.station().put(row, antenna.station);
    columns.type().put(row, antenna.type);
    columns.mount().put(row, antenna.mount);
    columns.position().put(row, casa(antenna.position_m));
    columns.offset().put(row, Vector<Double>(3, 0.0));
    columns.dishDiameter().put(row, antenna.dish_diameter_m);
    columns.flagRow().put(row, false);
  }
}

void write_feeds(casacore::MeasurementSet& ms, const Setup& setup) {
  const std::size_t count = setup.receptors.size();
  const Vector<String> types = casa<String>(setup.receptors);
  Matrix<Complex> response(count, count, Complex(0));
  for (std::size_t f = 0; f < count; ++f) response(f, f) = 1;

  ms.feed().addRow(setup.antennas.size());
  casacore::MSFeedColumns columns(ms.feed());
  for (std::size_t row = 0; row < setup.antennas.size(); ++row) {
    columns.antennaId().put(row, static_cast<Int>(row));
    columns.feedId().put(row, 0);
    columns.spectralWindowId().put(row, -1);
    columns.time().put(row, 0);
    columns.interval().put(row, 0);  // valid at any time
    columns.numReceptors().put(row, static_cast<Int>(count));
    columns.beamId().put(row, -1);
    columns.beamOffset().put(row, Matrix<Double>(2, count, 0.0));
    columns.polarizationType().put(row, types);
    columns.polResponse().put(row, response);
    columns.position().put(row, Vector<Double>(3, 0.0));
    columns.receptorAngle().put(row, casa(setup.antennas[row].receptor_angles_rad));
  }
}

void write_spectral_window(casacore::MeasurementSet& ms, const Setup& setup) {
  const std::size_t channels = setup.channel_hz.size();
  const Vector<Double> frequencies = casa(setup.channel_hz);
  const Vector<Double> widths(channels, setup.channel_width_hz);
  ms.spectralWindow().addRow(1);
  casacore::MSSpWindowColumns window(ms.spectralWindow());
  window.numChan().put(0, static_cast<Int>(channels));
  window.name().put(0, setup.instrument);
  window.refFrequency().put(0, frequencies(0));
  window.chanFreq().put(0, frequencies);
  window.chanWidth().put(0, widths);
  window.effectiveBW().put(0, widths);
  window.resolution().put(0, widths);
  window.totalBandwidth().put(0, setup.channel_width_hz * static_cast<double>(channels));
  window.measFreqRef().put(0, casacore::MFrequency::TOPO);
  window.netSideband().put(0, 0);
  window.ifConvChain().put(0, 0);
  window.freqGroup().put(0, 0);
  window.freqGroupName().put(0, "");
  window.flagRow().put(0, false);

  ms.dataDescription().addRow(1);
  casacore::MSDataDescColumns data(ms.dataDescription());
  data.spectralWindowId().put(0, 0);
  data.polarizationId().put(0, 0);
  data.flagRow().put(0, false);
}

void write_polarization(casacore::MeasurementSet& ms, const Setup& setup) {
  const std::size_t count = setup.products.size();
  Matrix<Int> products(2, count);
  for (std::size_t p = 0; p < count; ++p) {
    products(0, p) = setup.products[p].first;
    products(1, p) = setup.products[p].second;
  }
  ms.polarization().addRow(1);
  casacore::MSPolarizationColumns columns(ms.polarization());
  columns.numCorr().put(0, static_cast<Int>(count));
  columns.corrType().put(0, casa<Int>(setup.correlation_types));
  columns.corrProduct().put(0, products);
  columns.flagRow().put(0, false);
}

void write_backend(casacore::MeasurementSet& ms) {
  ms.state().addRow(1);
  casacore::MSStateColumns state(ms.state());
  state.sig().put(0, true);
  state.ref().put(0, false);
  state.cal().put(0, 0);
  state.load().put(0, 0);
  state.subScan().put(0, 0);
  state.obsMode().put(0, "OBSERVE_TARGET#ON_SOURCE");
  state.flagRow().put(0, false);

  ms.processor().addRow(1);
  casacore::MSProcessorColumns processor(ms.processor());
  processor.type().put(0, "CORRELATOR");
  processor.subType().put(0, "tautline");
  processor.typeId().put(0, -1);
  processor.modeId().put(0, -1);
  processor.flagRow().put(0, false);
}

void prepare_field(casacore::MeasurementSet& ms) {
  casacore::MSFieldColumns(ms.field()).setDirectionRef(casacore::MDirection::ICRS);
}

int append_field(casacore::MeasurementSet& ms, const Field& field) {
  const rownr_t row = ms.field().nrow();
  ms.field().addRow(1);
  casacore::MSFieldColumns columns(ms.field());
  Matrix<Double> direction(2, 1);
  direction(0, 0) = field.right_ascension_rad;
  direction(1, 0) = field.declination_rad;
  columns.name().put(row, field.name);
  columns.code().put(row, "");
  columns.time().put(row, field.time_mjd_s);
  columns.numPoly().put(row, 0);
  columns.delayDir().put(row, direction);
  columns.phaseDir().put(row, direction);
  columns.referenceDir().put(row, direction);
  columns.sourceId().put(row, -1);
  columns.flagRow().put(row, false);
  return static_cast<int>(row);
}

void write_observation(casacore::MeasurementSet& ms, const Summary& summary) {
  // Not in the standard, but the only way to give the array's centre; pyuvdata reads it.
  ms.observation().addColumn(casacore::ArrayColumnDesc<Double>(
      "TELESCOPE_LOCATION", "the array's centre, ITRF, m", casacore::IPosition(1, 3),
      casacore::ColumnDesc::FixedShape));
  ms.observation().addRow(1);
  casacore::MSObservationColumns columns(ms.observation());
  Vector<Double> span(2);
  span(0) = summary.start_mjd_s;
  span(1) = summary.end_mjd_s;
  columns.telescopeName().put(0, summary.telescope);
  columns.timeRange().put(0, span);
  columns.observer().put(0, "");
  columns.log().put(0, Vector<String>(1, ""));
  columns.scheduleType().put(0, "");
  columns.schedule().put(0, Vector<String>(1, ""));
  columns.project().put(0, summary.project);
  columns.releaseDate().put(0, summary.end_mjd_s);
  columns.flagRow().put(0, false);
  casacore::ArrayColumn<Double>(ms.observation(), "TELESCOPE_LOCATION")
      .put(0, casa(summary.telescope_location_m));
}

void write_history(casacore::MeasurementSet& ms, const Summary& summary) {
  ms.history().addRow(summary.history.size());
  casacore::MSHistoryColumns columns(ms.history());
  for (std::size_t row = 0; row < summary.history.size(); ++row) {
    columns.time().put(row, summary.end_mjd_s);
    columns.observationId().put(row, 0);
    columns.message().put(row, summary.history[row]);
    columns.priority().put(row, "NORMAL");
    columns.origin().put(row, "tautline");
    columns.objectId().put(row, 0);
    columns.application().put(row, "tautline");
    columns.cliCommand().put(row, Vector<String>(1, ""));
    columns.appParams().put(row, Vector<String>(1, ""));
  }
}

}  // namespace tautline::formats::measurement_set
