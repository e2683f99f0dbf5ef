#include "tautline/formats/modules/modules.h"

namespace tautline::formats::modules {

extern "C" __attribute__((visibility("default"))) const CasacoreModule* tautline_casacore_module() {
  static const CasacoreModule module{TAUTLINE_VERSION, remove_partial_files,
                                     measurement_set::create, measurement_set::open,
                                     measurement_set::contents_of};
  return &module;
}

}  // namespace tautline::formats::modules
