// Formats whose libraries take long to load, each in a module beside the command: HDF5, casacore, cfitsio and Cairo
// need 60 shared libraries and 30 ms before a program's first line. A program that links open_modules.cpp opens a
// module when it first reads or writes such a file; any other program links the libraries themselves.
#pragma once

#include "tautline/formats/curves_hdf5/curves_hdf5.h"
#include "tautline/formats/cutout_hdf5/cutout_hdf5.h"
#include "tautline/formats/measurement_set/contents.h"
#include "tautline/formats/measurement_set/measurement_set_reader.h"
#include "tautline/formats/measurement_set/measurement_set_writer.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/photon_hdf5/photon_hdf5.h"
#include "tautline/formats/picture/picture.h"
#include "tautline/formats/psrfits/psrfits.h"
#include "tautline/formats/uvh5/uvh5.h"

namespace tautline::formats::modules {

/// The functions of a module, returned by its function "tautline_NAME_module". `version` is the first member: of a
/// module of another version no other member is read. Each module has its own list of partial files.
struct Hdf5Module {
  const char* version;
  decltype(&formats::remove_partial_files) remove_partial_files;
  decltype(&uvh5::create) create_uvh5;
  decltype(&uvh5::open) open_uvh5;
  decltype(&uvh5::holds_visibilities) holds_visibilities;
  decltype(&curves_hdf5::write) write_curves;
  decltype(&curves_hdf5::read) read_curves;
  decltype(&curves_hdf5::holds_curves) holds_curves;
  decltype(&photon_hdf5::open) open_photons;
  decltype(&photon_hdf5::holds_photons) holds_photons;
  decltype(&cutout_hdf5::write) write_cutout;
  decltype(&cutout_hdf5::holds_cutout) holds_cutout;
  decltype(&cutout_hdf5::read) read_cutout;
};
struct CasacoreModule {
  const char* version;
  decltype(&formats::remove_partial_files) remove_partial_files;
  decltype(&measurement_set::create) create_measurement_set;
  decltype(&measurement_set::open) open_measurement_set;
  decltype(&measurement_set::contents_of) contents_of_measurement_set;
};
struct CfitsioModule {
  const char* version;
  decltype(&formats::remove_partial_files) remove_partial_files;
  decltype(&psrfits::open) open_psrfits;
};
struct CairoModule {
  const char* version;
  decltype(&formats::remove_partial_files) remove_partial_files;
  decltype(&picture::write) write_picture;
};

}  // namespace tautline::formats::modules
