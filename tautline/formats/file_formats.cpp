#include "tautline/formats/file_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tautline/formats/dada/dada.h"
#include "tautline/formats/guppi/guppi.h"
#include "tautline/formats/measurement_set/measurement_set_reader.h"
#include "tautline/formats/measurement_set/measurement_set_writer.h"
#include "tautline/formats/mwa32t/mwa32t.h"
#include "tautline/formats/npy/npy.h"
#include "tautline/formats/npy/series.h"
#include "tautline/formats/photon_hdf5/photon_hdf5.h"
#include "tautline/formats/presto/dat.h"
#include "tautline/formats/psrfits/psrfits.h"
#include "tautline/formats/pt3/pt3.h"
#include "tautline/formats/ptu/ptu.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/sigproc/sigproc.h"
#include "tautline/formats/spc/spc.h"
#include "tautline/formats/text.h"
#include "tautline/formats/tiff/tiff.h"
#include "tautline/formats/uvh5/uvh5.h"
#include "tautline/formats/vdif/vdif.h"

namespace tautline::formats {

namespace {

using std::string_view_literals::operator""sv;
using Bytes = std::span<const std::byte>;

bool begins_with(Bytes bytes, std::string_view mark) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())
      .starts_with(mark);
}

// Photon time tags with a damaged header are recognised by their name.
template <bool (*Mark)(Bytes)>
bool mark_or(Bytes bytes, const std::string& name, std::string_view ending) {
  return Mark(bytes) || name.ends_with(ending);
}

void refuse_unused_by_npy(const std::string& path, const ReaderOptions& options) {
  refuse_unused(
      path, "NPY", options,
      {"format", "rate_hz", "centre_hz", "bandwidth_hz", "utc_start", "antennas", "polarisations"});
}

void refuse_unused_by_vdif(const std::string& path, const ReaderOptions& options) {
  refuse_unused(path, "VDIF", options,
                {"rate_hz", "centre_hz", "bandwidth_hz", "polarisations", "threads_are"});
}

// An array's type says all but whether pairs of integers or halves are complex: a format that differs is a mistake.
std::unique_ptr<VoltageReader> of_format_given(std::unique_ptr<VoltageReader> reader,
                                               const std::string& path,
                                               const ReaderOptions& options) {
  const core::SampleFormat is = reader->description().format;
  if (std::ranges::find(options.named, "format") != options.named.end() &&
      is != options.assumed.format)
    throw core::Error(core::ErrorKind::config, "format", core::to_string(options.assumed.format),
                      core::to_string(is) + ", which the array of " + path + " is",
                      "leave it out, or name the array that was meant");
  return reader;
}

std::vector<FileFormat> make_formats() {
  return {
      {.name = "UVH5",
       .endings = {".uvh5"},
       .kind = "HDF5",
       .recognise =
           [](Bytes bytes, const std::string& name) {
             return name.ends_with(".uvh5") || begins_with(bytes, "\x89HDF\r\n\x1a\n"sv);
           },
       .visibilities = uvh5::open,
       .write_visibilities = uvh5::create},
      {.name = "Measurement Set",
       .endings = {".ms"},
       .visibilities = measurement_set::open,
       .write_visibilities = measurement_set::create},
      {.name = "sigproc",
       .endings = {".fil", ".tim"},
       .kind = "a sigproc filterbank",
       .recognise = [](Bytes bytes, const std::string&) { return sigproc::recognise(bytes); },
       .filterbank = sigproc::open,
       .series = sigproc::open},
      {.name = "PSRFITS",
       .endings = {".sf", ".fits"},
       .kind = "FITS",
       .recognise = [](Bytes bytes, const std::string&) { return begins_with(bytes, "SIMPLE  ="); },
       .filterbank = psrfits::open},
      {.name = "PRESTO",
       .endings = {".dat", ".inf"},
       .recognise = [](Bytes, const std::string& name) { return presto::recognise(name); },
       .series = presto::open},
      {.name = "PTU",
       .endings = {".ptu"},
       .kind = "photon time tags (PTU)",
       .recognise =
           [](Bytes bytes, const std::string& name) {
             return mark_or<ptu::recognise>(bytes, name, ".ptu");
           },
       .photons = ptu::open},
      {.name = "PT3",
       .endings = {".pt3"},
       .kind = "photon time tags (PT3)",
       .recognise =
           [](Bytes bytes, const std::string& name) {
             return mark_or<pt3::recognise>(bytes, name, ".pt3");
           },
       .photons = pt3::open},
      {.name = "SPC",
       .endings = {".spc"},
       .recognise = [](Bytes, const std::string& name) { return spc::recognise(name); },
       .photons = spc::open},
#ifdef TAUTLINE_HDF5
      {.name = "Photon-HDF5",
       .endings = {".hdf5", ".h5"},
       .recognise = [](Bytes bytes,
                       const std::string&) { return begins_with(bytes, "\x89HDF\r\n\x1a\n"sv); },
       .photons = photon_hdf5::open},
#endif
      {.name = "TIFF",
       .endings = {".tif", ".tiff"},
       .kind = "TIFF",
       .recognise = [](Bytes bytes, const std::string&) { return tiff::recognise(bytes); },
       .counts = [](const std::string& path, const RawCounts&) { return tiff::open(path); }},
      {.name = "DADA",
       .endings = {".dada"},
       .kind = "DADA voltages",
       .recognise = dada::recognise,
       .voltages =
           [](const std::string& path, const ReaderOptions& options) {
             refuse_unused(path, "DADA", options, {});
             return dada::open(InputFile(path));
           },
       .voltages_in_order =
           [](InputFile bytes, const ReaderOptions& options) {
             refuse_unused(bytes.path(), "DADA", options, {});
             return dada::open(std::move(bytes));
           },
       .in_order = dada::comes_in_order},
      {.name = "NPY",
       .endings = {".npy"},
       .kind = "an array of NumPy (.npy)",
       .recognise = npy::recognise,
       .voltages =
           [](const std::string& path, const ReaderOptions& options) {
             refuse_unused_by_npy(path, options);
             return of_format_given(npy::open(path, options.assumed), path, options);
           },
       .voltages_in_order =
           [](InputFile bytes, const ReaderOptions& options) {
             refuse_unused_by_npy(bytes.path(), options);
             const std::string path = bytes.path();
             return of_format_given(npy::open_in_order(std::move(bytes), options.assumed), path,
                                    options);
           },
       .in_order = npy::comes_in_order,
       .counts = open_npy_counts},
      {.name = "NPY series",
       .endings = {".npy"},
       .recognise = [](Bytes, const std::string& name) { return npy::recognise_series(name); },
       .series = npy::open_series},
      {.name = "GUPPI RAW",
       .endings = {".raw"},
       .kind = "GUPPI RAW voltages",
       .recognise = guppi::recognise,
       .voltages =
           [](const std::string& path, const ReaderOptions& options) {
             refuse_unused(path, "GUPPI RAW", options, {});
             return guppi::open(InputFile(path), options);
           },
       .voltages_in_order =
           [](InputFile bytes, const ReaderOptions& options) {
             refuse_unused(bytes.path(), "GUPPI RAW", options, {});
             return guppi::open(std::move(bytes), options);
           }},
      {.name = "VDIF",
       .endings = {".vdif"},
       .kind = "VDIF voltages",
       .recognise = vdif::recognise,
       .voltages =
           [](const std::string& path, const ReaderOptions& options) {
             refuse_unused_by_vdif(path, options);
             return vdif::open(path, options);
           },
       .voltages_in_order =
           [](InputFile bytes, const ReaderOptions& options) {
             refuse_unused_by_vdif(bytes.path(), options);
             return vdif::open(std::move(bytes), options);
           }},
      {.name = "MWA receiver",
       .endings = {".mwa32t"},
       .recognise = mwa32t::recognise,
       .voltages = mwa32t::open,
       .voltages_in_order = mwa32t::open_in_order},
      {.name = "CSV", .endings = {".csv"}, .read_curves = curves::read_csv},
      {.name = "ZIP", .endings = {".zip"}, .read_curves = curves::read_zip},
      {.name = "SIN", .endings = {".SIN"}, .read_curves = curves::read_sin},
      {.name = "ASC", .endings = {".ASC"}, .read_curves = curves::read_asc},
      {.name = "HDF5", .endings = {".h5", ".hdf5"}, .read_curves = curves::read_hdf5_file},
  };
}

// "a, b or c".
std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t w = 0; w < words.size(); ++w)
    text += (w == 0 ? "" : w + 1 == words.size() ? " or " : ", ") + words[w];
  return text;
}

}  // namespace

bool FileFormat::is(Bytes first_bytes, const std::string& path) const {
  // Bytes of formats without a kind may be any, those of a compressed file among them.
  if (!kind.empty() && is_compressed(first_bytes)) return false;
  if (recognise != nullptr) return recognise(first_bytes, path);
  const std::string lower_case = lower(path);
  return std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) {
    return lower_case.ends_with(lower(ending));
  });
}

const std::vector<FileFormat>& file_formats() {
  static const std::vector<FileFormat> formats = make_formats();
  return formats;
}

std::string names_of(const std::vector<FileFormat>& formats) {
  std::vector<std::string> names;
  for (const FileFormat& format : formats) names.push_back(format.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string names_and_endings_of(const std::vector<FileFormat>& formats) {
  std::vector<std::string> words;
  for (const FileFormat& format : formats)
    words.push_back(fmt::format("{} ({})", format.name, fmt::join(format.endings, ", ")));
  return list_of(words);
}

std::string endings_of(const std::vector<FileFormat>& formats, const std::string& stem) {
  std::vector<std::string> words;
  for (const FileFormat& format : formats) words.push_back(stem + format.endings.front());
  return list_of(words);
}

}  // namespace tautline::formats
