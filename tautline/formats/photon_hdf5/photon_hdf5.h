// Photon-HDF5: photons of one spot in HDF5, as phconvert writes them.
//
// | dataset                                    | content                                          |
// | photon_data/timestamps                     | [photon] integers                                |
// | photon_data/timestamps_specs/timestamps_unit | seconds                                        |
// | photon_data/detectors                      | [photon] numbers of detectors; absent: all 0     |
// | photon_data/nanotimes                      | [photon] microtimes; absent: none                |
// | photon_data/nanotimes_specs/tcspc_unit, tcspc_num_bins | seconds, and how many there are      |
// | acquisition_duration                       | seconds                                          |
// | setup/detectors/id and others              | not read                                         |
// Source: the Photon-HDF5 reference documentation, version 0.5.
#pragma once

#include <memory>
#include <string>

#include "tautline/formats/photon_reader.h"

namespace tautline::formats::photon_hdf5 {

/// Throws Error(format): no photon_data (files of several spots have photon_data0, photon_data1, ...: one of them, the
/// only one, is read), arrays of unequal length, a unit that is none.
std::unique_ptr<PhotonReader> open(const std::string& path);

/// Whether an HDF5 file has photons; false for any other file.
bool holds_photons(const std::string& path);

}  // namespace tautline::formats::photon_hdf5
