#include <filesystem>
#include <limits>

#include "tautline/core/time.h"
#include "tautline/formats/astronomy.h"
#include "tautline/formats/cutout_hdf5/cutout_hdf5.h"
#include "tautline/formats/uvh5/hdf5_file.h"

namespace tautline::formats::cutout_hdf5 {

namespace {

using hdf5::File;
using hdf5::Handle;

// Attributes of one object, in the types that h5py gives to Python's.
class Attributes {
 public:
  Attributes(File& file, hid_t object) : file_(file), object_(object) {}

  void add(const char* name, double value) { put(name, H5T_NATIVE_DOUBLE, &value, {}); }
  void add(const char* name, std::int64_t value) { put(name, H5T_NATIVE_INT64, &value, {}); }
  void add(const char* name, const std::string& text) {
    const char* const pointer = text.c_str();
    put(name, text_type().get(), &pointer, {});
  }
  void add(const char* name, const std::vector<std::string>& texts) {
    std::vector<const char*> pointers;
    for (const std::string& text : texts) pointers.push_back(text.c_str());
    put(name, text_type().get(), pointers.data(), {pointers.size()});
  }
  void add(const char* name, const std::vector<bool>& values) {
    const std::vector<std::int8_t> bytes(values.begin(), values.end());
    put(name, hdf5::bool_type().get(), bytes.data(), {bytes.size()});
  }

 private:
  static Handle text_type() {
    Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), H5T_VARIABLE);
    H5Tset_cset(type.get(), H5T_CSET_UTF8);
    return type;
  }
  void put(const char* name, hid_t type, const void* values, const std::vector<hsize_t>& shape) {
    const Handle space(
        shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, shape.data(), nullptr),
        H5Sclose);
    const Handle attribute(H5Acreate2(object_, name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose);
    const std::string doing = std::string("writing ") + name;
    file_.check(attribute.get(), doing.c_str());
    file_.check(H5Awrite(attribute.get(), type, values), doing.c_str());
  }

  File& file_;
  hid_t object_;
};

void write_array(File& file, const char* name, const std::vector<float>& values, const char* slow,
                 const char* fast) {
  constexpr hsize_t kShape[] = {kSide, kSide}, kChunk[] = {kSide / 4, kSide};
  constexpr unsigned kCompression = 6;
  const Handle space(H5Screate_simple(2, kShape, nullptr), H5Sclose);
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(creation.get(), false);  // the same candidate gives the same bytes
  H5Pset_chunk(creation.get(), 2, kChunk);
  if (H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0) H5Pset_deflate(creation.get(), kCompression);
  const Handle dataset(H5Dcreate2(file.root(), name, H5T_NATIVE_FLOAT, space.get(), H5P_DEFAULT,
                                  creation.get(), H5P_DEFAULT),
                       H5Dclose);
  const std::string doing = std::string("writing ") + name;
  file.check(dataset.get(), doing.c_str());
  file.check(
      H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
      doing.c_str());
  Attributes(file, dataset.get()).add("DIMENSION_LABELS", std::vector<std::string>{slow, fast});
}

void add_candidate(Attributes& to, const Cutout& cutout, const FilterbankDescription& d) {
  const candidates::YourCandidate& c = cutout.candidate;
  to.add("cand_id", candidates::your_id(c, d.tstart_mjd));
  to.add("tcand", c.time_s);
  to.add("dm", c.dm);
  to.add("snr", c.snr);
  to.add("width", std::int64_t{1} << c.width_octaves);
  // Neither was optimised, nobody has judged it yet, and no channel was flagged by `your`.
  to.add("dm_opt", std::int64_t{-1});
  to.add("snr_opt", std::int64_t{-1});
  to.add("label", std::int64_t{0});
  to.add("rfi_mask", std::vector<bool>{false});
  to.add("kill_mask", cutout.left_out.empty() ? std::vector<bool>{false} : cutout.left_out);
}

void add_observation(Attributes& to, const Cutout& cutout, const FilterbankDescription& d) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const std::filesystem::path path = cutout.files.front();
  to.add("filelist", cutout.files);
  to.add("filename", cutout.files.front());
  to.add("basename", path.stem().string());
  to.add("format", std::string(d.format == "PSRFITS" ? "fits" : "fil"));
  to.add("source_name", d.source.empty() ? std::string("TEMP") : d.source);
  to.add("ra_deg", d.ra_deg.value_or(kUnknown));
  to.add("dec_deg", d.dec_deg.value_or(kUnknown));
  const bool known = d.ra_deg && d.dec_deg;
  const GalacticPlace place = known ? galactic_place(*d.ra_deg, *d.dec_deg) : GalacticPlace{};
  to.add("gl", known ? place.longitude_deg - 180 : kUnknown);
  to.add("gb", known ? place.latitude_deg : kUnknown);
  to.add("tstart", d.tstart_mjd);
  const std::string utc = core::to_iso(d.start);
  to.add("tstart_utc", utc.substr(0, utc.size() - 3));  // to the millisecond
}

void add_sampling(Attributes& to, const FilterbankDescription& d) {
  const auto channels = static_cast<double>(d.channels);
  const auto whole = [](auto value) { return static_cast<std::int64_t>(value); };
  for (const char* name : {"foff", "native_foff"}) to.add(name, d.foff_mhz);
  for (const char* name : {"tsamp", "native_tsamp"}) to.add(name, d.tsamp_s);
  for (const char* name : {"nchans", "native_nchans"}) to.add(name, whole(d.channels));
  for (const char* name : {"nspectra", "native_nspectra"}) to.add(name, whole(d.samples));
  to.add("fch1", d.fch1_mhz);
  to.add("bw", channels * d.foff_mhz);
  to.add("center_freq", d.fch1_mhz + (channels - 1) / 2 * d.foff_mhz);
  to.add("native_nbits", whole(d.bits));
  to.add("nbits", whole(std::max(8, d.bits)));
  to.add("dtype", std::string(d.bits <= 8 ? "uint8" : d.bits == 16 ? "uint16" : "float32"));
  to.add("npol", whole(d.ifs));
  to.add("poln_order", std::string("I"));
  for (const char* name : {"time_decimation_factor", "frequency_decimation_factor"})
    to.add(name, std::int64_t{1});
}

}  // namespace

void require(const std::string&) {}

void write(const std::string& name, const std::string& path, const Cutout& cutout,
           const FilterbankDescription& description) {
  const hdf5::QuietErrors quiet;
  File file(name, path);
  Attributes attributes(file, file.root());
  add_candidate(attributes, cutout, description);
  add_observation(attributes, cutout, description);
  add_sampling(attributes, description);
  write_array(file, "data_freq_time", cutout.frequency_time, "time", "frequency");
  write_array(file, "data_dm_time", cutout.dm_time, "dm", "time");
  file.close();
}

}  // namespace tautline::formats::cutout_hdf5
