#include <dlfcn.h>

#include <string>

#include "tautline/core/error.h"
#include "tautline/formats/modules/modules.h"

// Modules contain this file too, without the part of their own library, so that no module links another's library.
namespace tautline::formats {

namespace {

// Modules are found through the program's RUNPATH and stay open. `formats` need the module; `path` is such a file, for
// messages.
template <class Module>
const Module& open_module(const std::string& name, const std::string& formats,
                          const std::string& path) {
  const std::string file = "libtautline_" + name + ".so";
  const auto refuse = [&](const std::string& found, const std::string& expected) {
    throw core::Error(
        core::ErrorKind::unsupported, path + ": module " + file, found, expected,
        "without it there are no " + formats + "; install tautline with all of its files");
  };
  void* const library = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = ::dlerror();
    refuse(reason != nullptr ? reason : "cannot be opened", "the command's own module");
  }
  using Get = const Module*();
  auto* const get =
      reinterpret_cast<Get*>(::dlsym(library, ("tautline_" + name + "_module").c_str()));
  if (get == nullptr) refuse("not a module of tautline", "the command's own module");
  const Module& module = *get();
  if (std::string(module.version) != TAUTLINE_VERSION)
    refuse(std::string("version ") + module.version, TAUTLINE_VERSION);
  also_remove_partial_files_of(module.remove_partial_files);
  return module;
}

}  // namespace

#if defined(TAUTLINE_HDF5) && !defined(TAUTLINE_HDF5_MODULE)
static const modules::Hdf5Module& hdf5_module(const std::string& path) {
  static const auto& module =
      open_module<modules::Hdf5Module>("hdf5", "HDF5 files (UVH5, .h5, Photon-HDF5)", path);
  return module;
}

std::unique_ptr<VisibilityWriter> uvh5::create(const std::string& path,
                                               const VisibilityDescription& description,
                                               bool overwrite) {
  return hdf5_module(path).create_uvh5(path, description, overwrite);
}

std::unique_ptr<VisibilityReader> uvh5::open(const std::string& path) {
  return hdf5_module(path).open_uvh5(path);
}

bool uvh5::holds_visibilities(const std::string& path) {
  return hdf5_module(path).holds_visibilities(path);
}

void curves_hdf5::write(const std::string& path, const core::CorrelationCurves& curves,
                        const curves::CurvesFacts& facts, bool overwrite) {
  hdf5_module(path).write_curves(path, curves, facts, overwrite);
}

core::CorrelationCurves curves_hdf5::read(const std::string& path, curves::CurvesFacts* facts) {
  return hdf5_module(path).read_curves(path, facts);
}

bool curves_hdf5::holds_curves(const std::string& path) {
  return hdf5_module(path).holds_curves(path);
}

std::unique_ptr<PhotonReader> photon_hdf5::open(const std::string& path) {
  return hdf5_module(path).open_photons(path);
}

bool photon_hdf5::holds_photons(const std::string& path) {
  return hdf5_module(path).holds_photons(path);
}

void cutout_hdf5::require(const std::string& path) {
  hdf5_module(path);
}

void cutout_hdf5::write(const std::string& name, const std::string& path, const Cutout& cutout,
                        const FilterbankDescription& description) {
  hdf5_module(path).write_cutout(name, path, cutout, description);
}

bool cutout_hdf5::holds_cutout(const std::string& path) {
  return hdf5_module(path).holds_cutout(path);
}

cutout_hdf5::CutoutFile cutout_hdf5::read(const std::string& path) {
  return hdf5_module(path).read_cutout(path);
}
#endif

#if defined(TAUTLINE_CASACORE) && !defined(TAUTLINE_CASACORE_MODULE)
static const modules::CasacoreModule& casacore_module(const std::string& path) {
  static const auto& module =
      open_module<modules::CasacoreModule>("casacore", "Measurement Sets", path);
  return module;
}

std::unique_ptr<VisibilityWriter> measurement_set::create(const std::string& path,
                                                          const VisibilityDescription& description,
                                                          bool overwrite) {
  return casacore_module(path).create_measurement_set(path, description, overwrite);
}

std::unique_ptr<VisibilityReader> measurement_set::open(const std::string& path) {
  return casacore_module(path).open_measurement_set(path);
}

measurement_set::Contents measurement_set::contents_of(const std::string& path) {
  return casacore_module(path).contents_of_measurement_set(path);
}
#endif

#if defined(TAUTLINE_CFITSIO) && !defined(TAUTLINE_CFITSIO_MODULE)
std::unique_ptr<FilterbankReader> psrfits::open(const std::string& path,
                                                const FilterbankOptions& options) {
  static const auto& module = open_module<modules::CfitsioModule>("cfitsio", "PSRFITS files", path);
  return module.open_psrfits(path, options);
}
#endif

#if defined(TAUTLINE_CAIRO) && !defined(TAUTLINE_CAIRO_MODULE)
static const modules::CairoModule& cairo_module(const std::string& path) {
  static const auto& module =
      open_module<modules::CairoModule>("cairo", "pictures (PNG, SVG, PDF)", path);
  return module;
}

void picture::require(const std::string& path) {
  cairo_module(path);
}

void picture::write(const std::string& path, const figure::Figure& figure, bool overwrite) {
  cairo_module(path).write_picture(path, figure, overwrite);
}
#endif

}  // namespace tautline::formats
