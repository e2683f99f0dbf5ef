#include "tautline/formats/modules/modules.h"

namespace tautline::formats::modules {

extern "C" __attribute__((visibility("default"))) const CfitsioModule* tautline_cfitsio_module() {
  static const CfitsioModule module{TAUTLINE_VERSION, remove_partial_files, psrfits::open};
  return &module;
}

}  // namespace tautline::formats::modules
