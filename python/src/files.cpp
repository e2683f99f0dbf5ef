// Files of filterbanks, series, voltages, counts and photons, read in any order, and what a file holds.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "bindings.h"
#include "tautline/core/dispersion.h"
#include "tautline/core/time.h"
#include "tautline/core/validity.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/npy/series.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/voltage_reader.h"
#include "tautline/stages/unpack/unpack.h"

namespace tautline::python {

namespace {

using core::SampleType;

constexpr std::size_t kHeadBytes = std::size_t{1} << 17;
constexpr std::size_t kBlockBytes = std::size_t{16} << 20;  // of what is read at once

// Each is read by one thread at a time, whichever.

class FilterbankFile {
 public:
  explicit FilterbankFile(const std::vector<std::string>& paths)
      : reader_(formats::open_filterbank(paths)) {}

  nb::dict header() const {
    const auto& d = reader_->description();
    nb::dict h;
    h["format"] = d.format;
    h["source"] = d.source;
    h["telescope"] = d.telescope;
    h["machine"] = d.machine;
    h["channels"] = d.channels;
    h["fch1_mhz"] = d.fch1_mhz;
    h["foff_mhz"] = d.foff_mhz;
    h["sample_time_s"] = d.tsamp_s;
    h["tstart_mjd"] = d.tstart_mjd;
    h["start_utc"] = core::to_iso(d.start);
    h["bits"] = d.bits;
    h["ifs"] = d.ifs;
    h["samples"] = d.samples;
    h["zero_level"] = d.zero_level;
    h["ra_deg"] = d.ra_deg;
    h["dec_deg"] = d.dec_deg;
    h["dm"] = d.refdm;
    h["dms"] = d.time_series ? d.dms_with(core::kDispersionConstant) : std::vector<double>();
    h["beam"] = d.beam;
    h["damage"] = reader_->damage().messages;
    return h;
  }
  nb::object frequencies() const { return as_array(reader_->description().channel_mhz); }
  std::vector<std::uint64_t> shape() const {
    return {reader_->description().samples, reader_->description().channels};
  }
  nb::object read(std::uint64_t first, std::size_t count) {
    const auto& d = reader_->description();
    const NewArray made = new_array(formats::sample_type(d.delivered), {count, d.channels});
    {
      const Unlocked unlocked;
      const std::lock_guard lock(mutex_);
      const std::size_t done = reader_->read_across(
          first, count, {static_cast<std::byte*>(made.data), count * d.sample_bytes()});
      if (done < count)
        throw core::Error(core::ErrorKind::format, "samples", std::to_string(first + done),
                          "fewer than the " + std::to_string(d.samples) + " of the file");
    }
    return made.array;
  }

 private:
  std::unique_ptr<formats::FilterbankReader> reader_;
  std::mutex mutex_;
};

class VoltageFile {
 public:
  VoltageFile(std::string path, const nb::dict& options) : path_(std::move(path)) {
    for (const auto& [name, text] : options) {
      core::set(options_, nb::cast<std::string>(name), nb::cast<std::string>(text));
      options_.named.push_back(nb::cast<std::string>(name));
    }
    reader_ = formats::open_voltages(path_, options_);
    description_ = reader_->description();
  }

  nb::dict header() const {
    const auto& d = description_;
    nb::dict h;
    h["format"] = core::to_string(d.format);
    h["antennas"] = d.antennas;
    h["polarisations"] = d.polarisations;
    h["channels"] = d.channels;
    h["rate_hz"] = d.rate_hz.value();
    h["rate_ratio"] = nb::make_tuple(d.rate_hz.numerator, d.rate_hz.denominator);
    h["centre_hz"] = d.centre_hz;
    h["bandwidth_hz"] = d.bandwidth_hz;
    h["start_utc"] = core::to_iso(d.start);
    h["samples"] = reader_->total_samples();
    h["telescope"] = d.telescope;
    h["instrument"] = d.instrument;
    h["source"] = d.source;
    h["antenna_names"] = d.antenna_names;
    h["assumed"] = d.assumed;
    h["damage"] = reader_->damage().messages;
    return h;
  }
  std::vector<std::uint64_t> shape() const {
    const auto& d = description_;
    return {d.channels, d.inputs(), reader_->total_samples()};
  }
  // [channel][input][time]; what is missing is zero.
  nb::object read(std::uint64_t first, std::size_t count) {
    const auto& d = description_;
    SampleType type = stages::unpack::unpacked_type(d.format);
    if (type == SampleType::f16 || type == SampleType::cf16)
      throw core::Error(core::ErrorKind::unsupported, path_, "16-bit floats", "other samples",
                        "correlate takes such files");
    const NewArray made = new_array(type, {d.channels, d.inputs(), count});
    const core::MutableSampleView<3> out{made.data, type, {d.channels, d.inputs(), count}};
    {
      const Unlocked unlocked;
      const std::lock_guard lock(mutex_);
      go_to(first);
      const std::size_t times = std::max<std::size_t>(
          1, std::min(count, kBlockBytes / (reader_->block_bytes(1024) / 1024 + 1)));
      if (times != block_samples_) {  // layouts may depend on it
        block_samples_ = times;
        open_again(first);
      }
      for (std::size_t done = 0; done < count;)
        done += read_block(count - done, out.slice(2, done, count - done));
    }
    return made.array;
  }

 private:
  void go_to(std::uint64_t first) {
    if (first != next_ || spent_) open_again(first);
  }
  void open_again(std::uint64_t first) {
    reader_ = formats::open_voltages(path_, options_);
    reader_->seek(first);
    next_ = first;
    spent_ = false;
  }
  // The next block, of which `most` samples are taken.
  std::size_t read_block(std::size_t most, const core::MutableSampleView<3>& out) {
    spent_ = true;  // if it fails
    const std::size_t got = reader_->read(block_samples_, block_);
    if (got == 0)
      throw core::Error(core::ErrorKind::format, path_ + ": samples", std::to_string(next_),
                        "as many as the file's size says");
    const std::size_t taken = std::min(got, most);
    const auto& d = description_;
    const std::size_t bytes = core::bytes_of(out.type()), rows = d.channels * d.inputs();
    unpacked_.resize(rows * got * bytes);
    core::ValidityMask valid(d.inputs(), got);
    stages::unpack::unpack(block_, {unpacked_.data(), out.type(), {d.channels, d.inputs(), got}},
                           valid.mutable_view());
    for (std::size_t c = 0; c < d.channels; ++c)
      for (std::size_t i = 0; i < d.inputs(); ++i)
        std::memcpy(out.slice(0, c, 1).slice(1, i, 1).data(),
                    unpacked_.data() + (c * d.inputs() + i) * got * bytes, taken * bytes);
    next_ += taken;
    spent_ = taken < got;  // the reader is beyond what was taken
    return taken;
  }

  std::string path_;
  formats::ReaderOptions options_;
  std::unique_ptr<formats::VoltageReader> reader_;  // opened again by reads, with the lock
  core::VoltageDescription description_;
  std::uint64_t next_ = 0;
  std::size_t block_samples_ = 0;
  bool spent_ = false;
  core::RawBlock block_;
  std::vector<std::byte> unpacked_;
  std::mutex mutex_;
};

class CountFile {
 public:
  explicit CountFile(std::string path) : path_(std::move(path)) {
    open_again(0);
    description_ = reader_->description();
  }

  nb::dict header() const {
    const auto& d = description_;
    nb::dict h;
    h["format"] = d.format;
    h["type"] = std::string(core::to_string(d.type));
    h["sensors"] = d.sensors;
    h["rows"] = d.rows;
    h["columns"] = d.columns;
    h["bin_s"] = d.bin_s;
    h["labels"] = d.labels;
    h["samples"] = reader_->total_samples();
    h["damage"] = reader_->damage().messages;
    return h;
  }
  std::vector<std::uint64_t> shape() const {
    return {reader_->total_samples(), description_.sensors};
  }
  nb::object read(std::uint64_t first, std::size_t count) {
    const auto& d = description_;
    const NewArray made = new_array(d.type, {count, d.sensors});
    {
      const Unlocked unlocked;
      const std::lock_guard lock(mutex_);
      if (first != next_) open_again(first);
      next_ = std::numeric_limits<std::uint64_t>::max();  // if it fails
      const std::size_t row_bytes = d.sensors * core::bytes_of(d.type);
      for (std::size_t done = 0; done < count;) {
        const std::size_t got = reader_->read(
            {static_cast<std::byte*>(made.data) + done * row_bytes, (count - done) * row_bytes});
        if (got == 0)
          throw core::Error(core::ErrorKind::format, path_ + ": times",
                            std::to_string(first + done), "as many as the file's size says");
        done += got;
      }
      next_ = first + count;
    }
    return made.array;
  }

 private:
  void open_again(std::uint64_t first) {
    reader_ = formats::open_counts(path_, {});
    reader_->seek(first);
    next_ = first;
  }

  std::string path_;
  std::unique_ptr<formats::CountReader> reader_;  // opened again by reads, with the lock
  formats::CountDescription description_;
  std::uint64_t next_ = 0;
  std::mutex mutex_;
};

/// Photons in the order of the file, by their number.
class PhotonFile {
 public:
  explicit PhotonFile(const std::string& path) : reader_(formats::open_photons(path)) {
    detectors_ = formats::count_detectors(*reader_);
    for (const formats::DetectorCount& one : detectors_) photons_ += one.photons;
  }

  nb::dict header() const {
    const formats::PhotonDescription& d = reader_->description();
    nb::dict h, detectors;
    for (const formats::DetectorCount& one : detectors_)
      detectors[nb::int_(one.channel)] = one.photons;
    h["format"] = d.format;
    h["record_type"] = d.record_type;
    h["mode"] = d.mode == formats::TagMode::t2 ? "T2" : "T3";
    h["time_unit_s"] = d.time_unit_s;
    h["microtime_unit_s"] = d.microtime_unit_s;
    h["microtimes"] = d.microtimes;
    h["sync_rate_hz"] = d.sync_rate_hz;
    h["acquisition_s"] = d.acquisition_s;
    h["records"] = d.records;
    h["samples"] = photons_;
    h["detectors"] = detectors;
    h["instrument"] = d.instrument;
    h["comment"] = d.comment;
    h["created"] = d.created;
    h["damage"] = reader_->damage().messages;
    return h;
  }
  std::vector<std::uint64_t> shape() const { return {photons_}; }
  // Bytes, of a Photon each.
  nb::object read(std::uint64_t first, std::size_t count) {
    const NewArray made = new_array(SampleType::u8, {count * sizeof(formats::Photon)});
    {
      const Unlocked unlocked;
      const std::lock_guard lock(mutex_);
      if (first < next_) {
        reader_->rewind();
        next_ = 0;
      }
      std::vector<formats::Photon> passed(
          static_cast<std::size_t>(std::min<std::uint64_t>(first - next_, kBlock)));
      while (next_ < first)
        next_ +=
            take({passed.data(),
                  static_cast<std::size_t>(std::min<std::uint64_t>(first - next_, passed.size()))});
      auto* const photons = static_cast<formats::Photon*>(made.data);
      for (std::size_t done = 0; done < count;) {
        const std::size_t got = take({photons + done, count - done});
        done += got;
        next_ += got;
      }
    }
    return made.array;
  }

 private:
  static constexpr std::uint64_t kBlock = 1 << 16;
  std::size_t take(std::span<formats::Photon> photons) {
    const std::size_t got = reader_->read(photons);
    if (got == 0)
      throw core::Error(core::ErrorKind::format, "photons", std::to_string(next_),
                        "as many as were counted when the file was opened");
    return got;
  }

  std::unique_ptr<formats::PhotonReader> reader_;
  std::vector<formats::DetectorCount> detectors_;
  std::uint64_t photons_ = 0, next_ = 0;
  std::mutex mutex_;
};
static_assert(sizeof(formats::Photon) == 16);  // as opening.py has it

// "filterbank" (of series, too), "photons", "counts", "voltages", "visibilities", "curves" or "candidates". An array
// that may be of counts is, unless a rate is known.
std::string kind_of(const std::string& path, bool rate_known) {
  using formats::FileFormat;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return formats::seeming_kind(path) == "a folder" ? "filterbank" : "visibilities";
  const auto head = formats::InputFile(path, formats::InputFile::IfEmpty::taken).head(kHeadBytes);
  if (path.ends_with(".uvh5") || formats::ending_by_contents(path) == ".uvh5")
    return "visibilities";
  if (formats::candidates::recognise(path)) return "candidates";
  if (formats::recognise_filterbank(head, path) || formats::npy::trials_of_series(path) > 0)
    return "filterbank";
  if (formats::curves::holds_curves(path)) return "curves";
  if (formats::recognise_photons(head, path)) return "photons";
  if (!rate_known && formats::recognise_counts(head, path)) return "counts";
  if (formats::find_format(&FileFormat::voltages, head, path) != nullptr) return "voltages";
  throw formats::other_kind(path, "a filterbank, voltages or counts",
                            "give the file the ending of its format");
}

}  // namespace

void bind_files(nb::module_& module) {
  module.def(
      "kind_of",
      [](const std::string& path, bool rate_known) {
        const Unlocked unlocked;
        return kind_of(path, rate_known);
      },
      nb::arg("path"), nb::arg("rate_known"));
  nb::class_<FilterbankFile>(module, "FilterbankFile")
      .def(nb::init<const std::vector<std::string>&>(), nb::arg("paths"))
      .def("header", &FilterbankFile::header)
      .def("frequencies", &FilterbankFile::frequencies)
      .def("shape", &FilterbankFile::shape)
      .def("read", &FilterbankFile::read, nb::arg("first"), nb::arg("count"));
  nb::class_<VoltageFile>(module, "VoltageFile")
      .def(nb::init<std::string, const nb::dict&>(), nb::arg("path"), nb::arg("options"))
      .def("header", &VoltageFile::header)
      .def("shape", &VoltageFile::shape)
      .def("read", &VoltageFile::read, nb::arg("first"), nb::arg("count"));
  nb::class_<PhotonFile>(module, "PhotonFile")
      .def(nb::init<const std::string&>(), nb::arg("path"))
      .def("header", &PhotonFile::header)
      .def("shape", &PhotonFile::shape)
      .def("read", &PhotonFile::read, nb::arg("first"), nb::arg("count"));
  nb::class_<CountFile>(module, "CountFile")
      .def(nb::init<std::string>(), nb::arg("path"))
      .def("header", &CountFile::header)
      .def("shape", &CountFile::shape)
      .def("read", &CountFile::read, nb::arg("first"), nb::arg("count"));
}

}  // namespace tautline::python
