// Which reader a file of voltages needs, told by its first bytes and its name.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/dada/dada.h"
#include "tautline/formats/guppi/guppi.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/mwa32t/mwa32t.h"
#include "tautline/formats/npy/npy.h"
#include "tautline/formats/vdif/vdif.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats {

namespace {

// Enough for every format's mark: VDIF has none, but two headers a frame apart that agree.
constexpr std::size_t kFirstBytes = std::size_t{1} << 17;

std::vector<std::byte> first_bytes(const std::string& path) {
  return InputFile(path).head(kFirstBytes);
}

}  // namespace

void refuse_unused(const std::string& path, const std::string& format, const ReaderOptions& options,
                   std::initializer_list<std::string_view> used) {
  for (const std::string& name : options.named)
    if (std::find(used.begin(), used.end(), name) == used.end())
      throw core::Error(
          core::ErrorKind::config, name, fmt::format("given for {}", path),
          "only for files that need it",
          fmt::format("leave it out: a {} file says it itself or has no use for it", format));
}

std::unique_ptr<VoltageReader> open_voltages(const std::string& path,
                                             const ReaderOptions& options) {
  const std::vector<std::byte> head = first_bytes(path);
  if (dada::recognise(head, path)) {
    refuse_unused(path, "DADA", options, {});
    return dada::open(path);
  }
  if (npy::recognise(head, path)) {
    refuse_unused(path, "NPY", options,
                  {"format", "rate_hz", "centre_hz", "bandwidth_hz", "utc_start", "antennas",
                   "polarisations"});
    return npy::open(path, options.assumed);
  }
  if (guppi::recognise(head, path)) {
    refuse_unused(path, "GUPPI RAW", options, {});
    return guppi::open(path, options);
  }
  if (vdif::recognise(head, path)) {
    refuse_unused(path, "VDIF", options, {"rate_hz", "centre_hz", "bandwidth_hz", "polarisations"});
    return vdif::open(path, options);
  }
  if (mwa32t::recognise(head, path)) return mwa32t::open(path, options);
  throw format_error(path, "kind of file, told by its first bytes and its name",
                     head.empty() ? "an empty file" : "unknown",
                     "DADA (.dada), GUPPI RAW (.raw), VDIF (.vdif), MWA receiver (.mwa32t) or NPY "
                     "(.npy) voltages",
                     "give the file the ending of its format");
}

}  // namespace tautline::formats
