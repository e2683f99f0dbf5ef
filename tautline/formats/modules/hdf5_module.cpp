#include "tautline/formats/modules/modules.h"

namespace tautline::formats::modules {

extern "C" __attribute__((visibility("default"))) const Hdf5Module* tautline_hdf5_module() {
  static const Hdf5Module module{TAUTLINE_VERSION,
                                 remove_partial_files,
                                 uvh5::create,
                                 uvh5::open,
                                 uvh5::holds_visibilities,
                                 curves_hdf5::write,
                                 curves_hdf5::read,
                                 curves_hdf5::holds_curves,
                                 photon_hdf5::open,
                                 photon_hdf5::holds_photons,
                                 cutout_hdf5::write,
                                 cutout_hdf5::holds_cutout,
                                 cutout_hdf5::read};
  return &module;
}

}  // namespace tautline::formats::modules
