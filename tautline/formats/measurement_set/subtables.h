// The subtables of a Measurement Set: everything but the visibilities. For tables.cpp only.
#pragma once

#include <casacore/ms/MeasurementSets/MeasurementSet.h>

#include "tautline/formats/measurement_set/tables.h"

namespace tautline::formats::measurement_set {

void write_antennas(casacore::MeasurementSet& ms, const Setup& setup);
void write_feeds(casacore::MeasurementSet& ms, const Setup& setup);
void write_spectral_window(casacore::MeasurementSet& ms, const Setup& setup);
void write_polarization(casacore::MeasurementSet& ms, const Setup& setup);
/// STATE and PROCESSOR, one row each.
void write_backend(casacore::MeasurementSet& ms);
/// Sets the directions of FIELD to the ICRS; called once, while the table is empty.
void prepare_field(casacore::MeasurementSet& ms);
int append_field(casacore::MeasurementSet& ms, const Field& field);
void write_observation(casacore::MeasurementSet& ms, const Summary& summary);
void write_history(casacore::MeasurementSet& ms, const Summary& summary);

}  // namespace tautline::formats::measurement_set
