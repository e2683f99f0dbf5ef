// The HDF5 file driver behind File: plain reads and writes of one descriptor, none of which fails.
#pragma once

#include <hdf5.h>

#include "tautline/formats/uvh5/hdf5_file.h"

namespace tautline::formats::hdf5 {

/// Registers the driver with HDF5, as one handle to be kept while a file is open.
Handle register_driver();

/// Makes `access` (a file access list) open `state`'s descriptor. `state` must outlive the file.
herr_t use_driver(hid_t access, hid_t driver, DriverState* state);

}  // namespace tautline::formats::hdf5
