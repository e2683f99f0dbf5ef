#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/photon_hdf5/photon_hdf5.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/uvh5/hdf5_input.h"

namespace tautline::formats::photon_hdf5 {

namespace {

constexpr int kMostSpots = 1024;
constexpr std::size_t kPhotonsAtOnce = std::size_t{1} << 16;
constexpr const char* kExpected = "Photon-HDF5 (.h5, .hdf5)";

// "photon_data", or of several spots the only one with photons.
std::string group_of(const hdf5::Hdf5Input& file) {
  if (file.has("photon_data/timestamps")) return "photon_data";
  std::vector<std::string> spots;
  for (int spot = 0; spot < kMostSpots; ++spot)
    if (const std::string name = fmt::format("photon_data{}", spot); file.has(name + "/timestamps"))
      spots.push_back(name);
  if (spots.size() == 1) return spots.front();
  if (spots.empty() && !file.has("photon_data") && !file.has("photon_data0"))
    throw other_kind(file.path(), kExpected, "is this a Photon-HDF5 file?");
  file.fail("photon_data/timestamps",
            spots.empty() ? "missing" : fmt::format("{} spots", spots.size()),
            "the photons of one spot",
            spots.empty() ? "convert the file again" : "save each spot as a file of its own");
}

class Reader final : public PhotonReader {
 public:
  explicit Reader(const std::string& path) : file_(path, kExpected), group_(group_of(file_) + "/") {
    description_.format = "Photon-HDF5";
    description_.records = length_of("timestamps");
    description_.time_unit_s = positive("timestamps_specs/timestamps_unit");
    has_detectors_ = file_.has(group_ + "detectors");
    has_microtimes_ = file_.has(group_ + "nanotimes");
    for (const char* name : {"detectors", "nanotimes"})
      if (file_.has(group_ + name) && length_of(name) != description_.records)
        file_.fail(group_ + name, fmt::format("{} values", length_of(name)),
                   fmt::format("{}, as there are timestamps", description_.records));
    description_.mode = has_microtimes_ ? TagMode::t3 : TagMode::t2;
    description_.macro_clock = true;
    description_.record_type = has_microtimes_ ? "timestamps with nanotimes" : "timestamps";
    if (has_microtimes_) {
      description_.microtime_unit_s = positive("nanotimes_specs/tcspc_unit");
      if (const std::string bins = group_ + "nanotimes_specs/tcspc_num_bins"; file_.has(bins))
        description_.microtimes =
            static_cast<std::uint32_t>(std::clamp<std::int64_t>(file_.integer(bins), 0, 65536));
    }
    if (file_.has("acquisition_duration"))
      description_.acquisition_s = std::max(0.0, file_.number("acquisition_duration"));
    if (file_.has("description")) description_.comment = file_.text("description").value_or("");
  }

  const PhotonDescription& description() const override { return description_; }
  const TagCounts& counts() const override { return counts_; }
  const Damage& damage() const override { return damage_; }
  void rewind() override {
    counts_ = {};
    damage_ = {};
  }

  std::size_t read(std::span<Photon> photons) override {
    const hdf5::QuietErrors quiet;
    std::size_t found = 0;
    while (found == 0 && !photons.empty() && counts_.records < description_.records) {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(
          std::min(kPhotonsAtOnce, photons.size()), description_.records - counts_.records));
      load("timestamps", true, times_, count);
      load("detectors", has_detectors_, detectors_, count);
      load("nanotimes", has_microtimes_, microtimes_, count);
      for (std::size_t n = 0; n < count; ++n, ++counts_.records)
        if (take(times_[n], detectors_[n], microtimes_[n], photons[found])) ++found;
    }
    return found;
  }

 private:
  std::uint64_t length_of(const std::string& name) const {
    const auto shape = file_.shape(group_ + name);
    if (shape.size() != 1)
      file_.fail(group_ + name, fmt::format("{} axes", shape.size()), "one axis, photons");
    return shape[0];
  }
  double positive(const std::string& name) const {
    const double value = file_.number(group_ + name);
    if (!(value > 0) || value > 1)
      file_.fail(group_ + name, fmt::format("{}", value), "seconds, above 0 and at most 1");
    return value;
  }
  void load(const char* name, bool there, std::vector<std::int64_t>& values, std::size_t count) {
    values.assign(count, 0);
    if (there)
      file_.rows(group_ + name, H5T_NATIVE_INT64, counts_.records, count, 1, values.data());
  }
  // False for a photon that cannot be one.
  bool take(std::int64_t time, std::int64_t detector, std::int64_t microtime, Photon& photon) {
    constexpr std::int64_t kMost = std::numeric_limits<std::uint16_t>::max();
    const bool back = time < 0 || static_cast<std::uint64_t>(time) < counts_.last_time;
    if (back || detector < 0 || detector > kMost || microtime < 0 || microtime > kMost) {
      ++(back ? counts_.backwards : counts_.unknown_records);
      ++(back ? damage_.dropped_samples : damage_.lost_samples);
      if (damage_.messages.size() < Damage::kMaxMessages)
        damage_.note(fmt::format(
            "{}: {}, photon {}: time {}, detector {}, nanotime {}; the photon is left out",
            file_.path(), back ? "the timestamps go backwards" : "a number beyond its range",
            counts_.records, time, detector, microtime));
      return false;
    }
    photon = {static_cast<std::uint64_t>(time), static_cast<std::uint16_t>(detector),
              static_cast<std::uint16_t>(microtime)};
    counts_.last_time = photon.time;
    ++counts_.photons;
    return true;
  }

  hdf5::Hdf5Input file_;
  std::string group_;
  PhotonDescription description_;
  bool has_detectors_ = false, has_microtimes_ = false;
  TagCounts counts_;
  Damage damage_;
  std::vector<std::int64_t> times_, detectors_, microtimes_;
};

}  // namespace

std::unique_ptr<PhotonReader> open(const std::string& path) {
  const hdf5::QuietErrors quiet;
  return std::make_unique<Reader>(path);
}

bool holds_photons(const std::string& path) {
  const hdf5::QuietErrors quiet;
  try {
    const hdf5::Hdf5Input file(path, kExpected);
    return file.has("photon_data") || file.has("photon_data0");
  } catch (const core::Error&) {
    return false;
  }
}

}  // namespace tautline::formats::photon_hdf5
