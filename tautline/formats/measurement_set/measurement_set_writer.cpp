#include "tautline/formats/measurement_set/measurement_set_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/core/units.h"
#include "tautline/formats/astronomy.h"
#include "tautline/formats/measurement_set/tables.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/visibility_layout.h"

namespace tautline::formats::measurement_set {
namespace {

// casacore ends the process when certain writes fail, so the writer makes sure of disk space before it calls casacore:
// for the contents of casacore's caches and the tables without their visibilities, and for the data to come, in
// portions so large that the checks cost little.
constexpr std::uint64_t kSpareBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kPortionBytes = std::uint64_t{16} << 20;
constexpr std::size_t kOtherColumnsBytes = 256;
// Visibilities gathered before one call of casacore.
constexpr std::size_t kBlockBytes = std::size_t{8} << 20;

std::string upper(const std::string& text) {
  std::string result = text;
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

// XX, XY, YX, YY, or one of the ends.
std::vector<Polarisation> polarisations_of(const std::vector<char>& feeds) {
  std::vector<Polarisation> result;
  for (const char first : feeds)
    for (const char second : feeds) result.push_back({first, second});
  return result;
}

// casacore's Stokes::XX, XY, YX, YY = 9, 10, 11, 12.
int correlation_type(const Polarisation& p) {
  return 9 + (p.first == 'y' ? 2 : 0) + (p.second == 'y' ? 1 : 0);
}

// The antennas of the data in data order, then the rest, so that ANTENNA1 <= ANTENNA2 is the order of the data.
std::vector<std::size_t> antenna_rows(const VisibilityLayout& layout, const ArrayLayout& array) {
  std::vector<std::size_t> rows = layout.antennas();
  for (std::size_t a = 0; a < array.antennas.size(); ++a)
    if (std::find(rows.begin(), rows.end(), a) == rows.end()) rows.push_back(a);
  return rows;
}

Setup setup_of(const VisibilityDescription& description, const VisibilityLayout& layout,
               const std::vector<Polarisation>& polarisations) {
  Setup setup;
  for (const std::size_t a : antenna_rows(layout, description.array)) {
    const Antenna& antenna = description.array.antennas[a];
    AntennaRow row;
    row.name = antenna.name;
    row.station = std::to_string(antenna.number);
    row.type = antenna.mount_type == "orbiting" ? "SPACE-BASED" : "GROUND-BASED";
    row.mount = upper(antenna.mount_type);
    row.position_m = antenna.ecef_m;
    row.dish_diameter_m = antenna.diameter_m;
    for (const char feed : layout.feeds())
      row.receptor_angles_rad.push_back(feed_position_angle_deg(antenna.feed_angle_deg, feed) *
                                        core::kRadPerDeg);
    setup.antennas.push_back(std::move(row));
  }
  for (const char feed : layout.feeds()) setup.receptors.push_back(upper({feed}));
  const auto receptor = [&](char feed) { return feed == layout.feeds().front() ? 0 : 1; };
  for (const Polarisation& p : polarisations) {
    setup.products.emplace_back(receptor(p.first), receptor(p.second));
    setup.correlation_types.push_back(correlation_type(p));
  }
  setup.channel_hz = description.channel_hz;
  setup.channel_width_hz = description.channel_width_hz;
  setup.instrument = instrument_name(description);
  return setup;
}

[[noreturn]] void fail(const std::string& path, const std::string& doing,
                       const std::string& reason) {
  throw core::Error(core::ErrorKind::io, path + ": " + doing, reason, {},
                    "see that there is room and that the folder may be written, and run again; "
                    "nothing was left under the final name");
}

// Reserves `bytes` in a file of its own in `folder` and frees them at once. Returns 0, or the errno for the lack of
// room (ENOSPC, EDQUOT). File systems that cannot reserve are asked how much is free.
int probe_free_space(const std::string& folder, std::uint64_t bytes) {
  std::string name = folder + "/room-XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor >= 0) {
    ::unlink(name.c_str());
    const int failed = ::fallocate(descriptor, 0, 0, static_cast<off_t>(bytes));
    const int error = failed == 0 ? 0 : errno;
    ::close(descriptor);
    if (error == 0 || error == ENOSPC || error == EDQUOT) return error;
  }
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) != 0 || space.f_blocks == 0) return 0;  // nothing is known
  return space.f_bavail * space.f_frsize < bytes ? ENOSPC : 0;
}

// While one exists, another process waits for its own in the same folder. Tables take some time to be made, and can be
// locked then.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path)
      : descriptor_(::open(std::filesystem::absolute(path).parent_path().c_str(),
                           O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    // Where a file system has no locks, there is none.
    if (descriptor_ >= 0)
      while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) continue;
  }
  ~FolderLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

class MeasurementSetWriter final : public VisibilityWriter {
 public:
  MeasurementSetWriter(const std::string& path, const VisibilityDescription& description,
                       bool overwrite)
      : description_(description),
        layout_(description.array, description.autos_only),
        polarisations_(polarisations_of(layout_.feeds())),
        site_(site_of(description.array)),
        making_(std::in_place, path),
        name_(path, overwrite) {
    for (const std::size_t antenna : layout_.antennas())
      offsets_m_.push_back(antenna_offset_m(description_.array, antenna));
    for (const AntennaPair& pair : layout_.pairs())
      pairs_.emplace_back(static_cast<int>(pair.first), static_cast<int>(pair.second));
    require_room("creating", 0);
    guard("creating", [&] {
      tables_.emplace(name_.partial(), setup_of(description_, layout_, polarisations_));
      name_.lock();
    });
    making_.reset();
  }

  void write(const Integration& integration) override {
    check(integration, description_);
    require_open();
    const std::size_t row_bytes =
        description_.channel_hz.size() * polarisations_.size() * sizeof(std::complex<float>);
    // Weights and flags take 5/8 of that again; a row's other columns are small.
    const bool gains_change =
        !integration.gains.empty() && !std::ranges::equal(integration.gains, last_gains_);
    require_room("writing", pairs_.size() * (row_bytes + row_bytes * 5 / 8 + kOtherColumnsBytes) +
                                (gains_change ? integration.gains.size_bytes() : 0));
    guard("writing", [&] {
      if (gains_change) {
        last_gains_.assign(integration.gains.begin(), integration.gains.end());
        tables_->add_gains(static_cast<int>(integrations_), core::mjd_seconds(integration.middle),
                           last_gains_, description_.array.inputs.size());
      }
      const std::size_t start = add_rows(integration);
      const std::size_t block = std::max<std::size_t>(1, kBlockBytes / row_bytes);
      for (std::size_t first = 0; first < pairs_.size(); first += block) {
        const std::size_t count = std::min(block, pairs_.size() - first);
        gather_rows(layout_, polarisations_, Conjugation::second, integration,
                    description_.nominal_count, first, count, buffer_);
        const std::size_t channels = description_.channel_hz.size();
        flag_channels(description_.flagged_channels, polarisations_.size(),
                      {first, count, 0, channels}, channels, buffer_.flags.data());
        tables_->write(start + first, count, buffer_.visibilities.data(), buffer_.fractions.data(),
                       buffer_.flags.data());
      }
    });
    const double middle = core::mjd_seconds(integration.middle);
    const double half = integration.integration_s / 2;
    summary_.start_mjd_s =
        integrations_ == 0 ? middle - half : std::min(summary_.start_mjd_s, middle - half);
    summary_.end_mjd_s =
        integrations_ == 0 ? middle + half : std::max(summary_.end_mjd_s, middle + half);
    ++integrations_;
  }

  void add_extra(const std::string& key, const std::string& value) override {
    description_.extra[key] = value;
  }

  void finish() override {
    require_open();
    require_integrations(name_.path(), integrations_);
    summary_.telescope = telescope_name(description_);
    summary_.project = description_.source;
    summary_.telescope_location_m = ecef_m(site_);
    summary_.extra = description_.extra;
    summary_.extra["nominal_count"] = std::to_string(description_.nominal_count);
    summary_.gains = description_.requantisation_gains;
    summary_.inputs = description_.array.inputs.size();
    summary_.history = {description_.history};
    for (const auto& [key, value] : summary_.extra)
      summary_.history.push_back(fmt::format("{} = {}", key, value));
    require_room("finishing", 0);
    guard("finishing", [&] {
      tables_->finish(summary_);
      tables_.reset();
    });
    name_.finish();
  }

 private:
  // casacore's exceptions become ours, and the tables, of no more use after one, are dropped.
  template <class Action>
  void guard(const char* doing, Action&& action) {
    try {
      action();
    } catch (const core::Error&) {
      tables_.reset();
      throw;
    } catch (const std::exception& error) {
      const std::string reason = std::string("casacore says: ") + error.what();
      tables_.reset();
      fail(name_.path(), doing, reason);
    }
  }

  // Makes sure of room for `bytes` more, with a margin; asks the disk only when the last portion is used up.
  void require_room(const char* doing, std::uint64_t bytes) {
    if (bytes > 0 && bytes <= room_bytes_) {
      room_bytes_ -= bytes;
      return;
    }
    const std::string folder = std::filesystem::absolute(name_.path()).parent_path().string();
    const std::uint64_t portion = bytes > 0 ? bytes + kPortionBytes : 0;
    const int error = probe_free_space(folder, portion + kSpareBytes);
    if (error != 0) {
      tables_.reset();
      fail(name_.path(), doing, std::generic_category().message(error));
    }
    room_bytes_ = portion - bytes;
  }

  void require_open() const {
    if (!tables_)
      throw core::Error(core::ErrorKind::io, name_.path(), "closed after an earlier failure", {});
  }

  std::size_t add_rows(const Integration& integration) {
    const PhaseCentre& centre = description_.phase_centre;
    const ApparentPlace place = place_of(integration, description_, site_);
    const double middle = core::mjd_seconds(integration.middle);
    // A Measurement Set knows no unprojected data: without tracking, each integration gets the
    // zenith of its own middle as its field.
    if (!centre.tracked || integrations_ == 0) {
      const SkyDirection direction =
          centre.tracked ? SkyDirection{centre.ra_deg, centre.dec_deg}
                         : icrs_direction(place, integration.middle, site_, description_.earth);
      field_ = tables_->add_field({centre.name, direction.right_ascension_deg * core::kRadPerDeg,
                                   direction.declination_deg * core::kRadPerDeg, middle});
    }
    std::vector<Vector3> antenna_uvw, uvw;
    for (const Vector3& offset : offsets_m_) antenna_uvw.push_back(uvw_m(place.axes, offset));
    for (const AntennaPair& pair : layout_.pairs()) {
      uvw.push_back(difference(antenna_uvw[pair.first], antenna_uvw[pair.second]));
      // W is the path length whose phase was removed: none without tracking.
      if (!centre.tracked) uvw.back()[2] = 0;
    }
    return tables_->add_rows({middle, integration.integration_s, field_}, pairs_, uvw);
  }

  VisibilityDescription description_;
  VisibilityLayout layout_;
  std::vector<Polarisation> polarisations_;
  Site site_;
  std::vector<Vector3> offsets_m_;          // of layout_.antennas()
  std::vector<std::pair<int, int>> pairs_;  // rows of ANTENNA
  VisibilityRows buffer_;
  std::vector<double> last_gains_;  // of an integration, where they change
  Summary summary_;
  std::size_t integrations_ = 0;
  int field_ = 0;
  std::uint64_t room_bytes_ = 0;  // of the last portion, not used up yet
  std::optional<FolderLock> making_;
  // In this order: the tables are closed before their folder is removed.
  PartialPath name_;
  std::optional<Tables> tables_;
};

}  // namespace

std::unique_ptr<VisibilityWriter> create(const std::string& path,
                                         const VisibilityDescription& description, bool overwrite) {
  check(description);
  return std::make_unique<MeasurementSetWriter>(path, description, overwrite);
}

}  // namespace tautline::formats::measurement_set
