#include "tautline/formats/modules/modules.h"

namespace tautline::formats::modules {

extern "C" __attribute__((visibility("default"))) const CairoModule* tautline_cairo_module() {
  static const CairoModule module{TAUTLINE_VERSION, remove_partial_files, picture::write};
  return &module;
}

}  // namespace tautline::formats::modules
