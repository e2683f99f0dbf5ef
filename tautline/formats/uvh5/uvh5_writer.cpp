#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/core/units.h"
#include "tautline/formats/astronomy.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/uvh5/hdf5_file.h"
#include "tautline/formats/uvh5/uvh5.h"
#include "tautline/formats/visibility_layout.h"

namespace tautline::formats::uvh5 {
namespace {

using hdf5::File;
using hdf5::Growing;
using hdf5::Handle;
using hdf5::native;
using hdf5::QuietErrors;

// Visibilities gathered before one call of HDF5.
constexpr std::size_t kWriteBlockBytes = std::size_t{8} << 20;
// Chunks this large cost little for each call, and waste little where a short file ends in one.
constexpr std::size_t kChunkBytes = std::size_t{256} << 10;
constexpr hsize_t kHeaderChunkRows = 4096;
constexpr std::int64_t kPhaseCentreId = 0;

std::vector<Polarisation> polarisations_of(const std::vector<char>& feeds) {
  if (feeds.size() == 1) return {{feeds[0], feeds[0]}};
  return {{'x', 'x'}, {'y', 'y'}, {'x', 'y'}, {'y', 'x'}};
}

// AIPS's numbers: XX, YY, XY, YX = -5, -6, -7, -8.
std::int64_t code(const Polarisation& p) {
  if (p.first == p.second) return p.first == 'x' ? -5 : -6;
  return p.first == 'x' ? -7 : -8;
}

// Rows of one chunk: a whole number of integrations when one is small, an even part of one when
// not.
hsize_t chunk_rows(std::size_t pairs, std::size_t row_bytes) {
  const std::size_t fit = std::max<std::size_t>(1, kChunkBytes / row_bytes);
  if (pairs <= fit) return pairs * (fit / pairs);
  const std::size_t parts = (pairs + fit - 1) / fit;
  return (pairs + parts - 1) / parts;
}

// The arrays of Header with one entry for each row, and the three of Data.
struct RowArrays {
  Growing time, integration_time, uvw, first, second, phase_centre, right_ascension, declination,
      position_angle;
  Growing visibilities, flags, fractions;

  RowArrays(File& file, hid_t header, hid_t data, std::size_t pairs, hsize_t channels,
            hsize_t products)
      : time(column(file, header, "time_array")),
        integration_time(column(file, header, "integration_time")),
        uvw(file, header, "uvw_array", native(H5T_NATIVE_DOUBLE), {3}, kHeaderChunkRows),
        first(labels(file, header, "ant_1_array")),
        second(labels(file, header, "ant_2_array")),
        phase_centre(labels(file, header, "phase_center_id_array")),
        right_ascension(column(file, header, "phase_center_app_ra")),
        declination(column(file, header, "phase_center_app_dec")),
        position_angle(column(file, header, "phase_center_frame_pa")),
        visibilities(cube(file, data, "visdata", hdf5::complex_type(), pairs, channels, products)),
        flags(cube(file, data, "flags", hdf5::bool_type(), pairs, channels, products)),
        fractions(
            cube(file, data, "nsamples", native(H5T_NATIVE_FLOAT), pairs, channels, products)) {}

  void extend(hsize_t rows) {
    for (Growing* array :
         {&time, &integration_time, &uvw, &first, &second, &phase_centre, &right_ascension,
          &declination, &position_angle, &visibilities, &flags, &fractions})
      array->extend(rows);
  }

 private:
  static Growing column(File& file, hid_t header, const char* name) {
    return Growing(file, header, name, native(H5T_NATIVE_DOUBLE), {}, kHeaderChunkRows);
  }
  static Growing labels(File& file, hid_t header, const char* name) {
    return Growing(file, header, name, native(H5T_NATIVE_INT64), {}, kHeaderChunkRows);
  }
  // All three take the chunks that suit the visibilities, so that one reader's slice cuts them
  // alike.
  static Growing cube(File& file, hid_t data, const char* name, Handle type, std::size_t pairs,
                      hsize_t channels, hsize_t products) {
    const std::size_t product_bytes = products * sizeof(std::complex<float>);
    const hsize_t chunk_channels =
        std::min<hsize_t>(channels, std::max<hsize_t>(1, kChunkBytes / product_bytes));
    return Growing(file, data, name, std::move(type), {channels, products},
                   chunk_rows(pairs, channels * product_bytes), {chunk_channels, products});
  }
};

class Uvh5Writer final : public VisibilityWriter {
 public:
  Uvh5Writer(const std::string& path, const VisibilityDescription& description, bool overwrite)
      : description_(description),
        layout_(description.array),
        polarisations_(polarisations_of(layout_.feeds())),
        site_(site_of(description.array)),
        name_(path, overwrite) {
    const QuietErrors quiet;
    file_.emplace(name_.partial(), path);
    header_ = file_->group(file_->root(), "Header");
    data_ = file_->group(file_->root(), "Data");
    write_axes();
    write_antennas();
    write_phase_centre();
    rows_.emplace(*file_, header_.get(), data_.get(), layout_.pairs().size(),
                  description_.channel_hz.size(), polarisations_.size());
    for (std::size_t a = 0; a < layout_.antennas().size(); ++a)
      offsets_m_.push_back(antenna_offset_m(description_.array, layout_.antennas()[a]));
    for (const AntennaPair& pair : layout_.pairs()) {
      first_.push_back(number(pair.first));
      second_.push_back(number(pair.second));
    }
  }

  ~Uvh5Writer() override {
    const QuietErrors quiet;
    close_groups();
    file_.reset();
  }

  void write(const Integration& integration) override {
    check(integration, description_);
    const QuietErrors quiet;
    const hsize_t start = integrations_ * layout_.pairs().size();
    rows_->extend(layout_.pairs().size());
    write_row_header(integration, start);
    write_data(integration, start);
    ++integrations_;
  }

  void add_extra(const std::string& key, const std::string& value) override {
    description_.extra[key] = value;
  }

  void finish() override {
    require_integrations(name_.path(), integrations_);
    const QuietErrors quiet;
    const auto integrations = static_cast<std::int64_t>(integrations_);
    file_->write(header_.get(), "Ntimes", integrations);
    file_->write(header_.get(), "Nblts",
                 integrations * static_cast<std::int64_t>(layout_.pairs().size()));
    file_->write(header_.get(), "history", description_.history);
    write_extra();
    write_gains();
    close_groups();
    file_->close();
    name_.finish();
  }

 private:
  std::int64_t number(std::size_t place) const {
    return description_.array.antennas[layout_.antennas()[place]].number;
  }

  void write_axes() {
    const hid_t h = header_.get();
    const auto channels = static_cast<std::int64_t>(description_.channel_hz.size());
    file_->write(h, "version", std::string("1.2"));
    file_->write(h, "Nants_data", static_cast<std::int64_t>(layout_.antennas().size()));
    file_->write(h, "Nbls", static_cast<std::int64_t>(layout_.pairs().size()));
    file_->write(h, "Nfreqs", channels);
    file_->write(h, "Npols", static_cast<std::int64_t>(polarisations_.size()));
    file_->write(h, "Nspws", std::int64_t{1});
    file_->write(h, "vis_units", std::string("uncalib"));
    file_->write(h, "timesys", std::string("UTC"));
    file_->write(h, "dut1", description_.earth.ut1_minus_utc_s);
    file_->write_bool(h, "blts_are_rectangular", true);
    file_->write_bool(h, "time_axis_faster_than_bls", false);
    if (numbers_ascend()) file_->write(h, "blt_order", std::string("time, baseline"));

    const std::array<hsize_t, 1> shape{description_.channel_hz.size()};
    const std::vector<double> widths(description_.channel_hz.size(), description_.channel_width_hz);
    const std::vector<std::int64_t> windows(description_.channel_hz.size(), 0);
    file_->write(h, "freq_array", description_.channel_hz, shape);
    file_->write(h, "channel_width", widths, shape);
    file_->write(h, "flex_spw_id_array", windows, shape);
    file_->write(h, "spw_array", std::array<std::int64_t, 1>{0}, std::array<hsize_t, 1>{1});
    std::vector<std::int64_t> codes;
    for (const Polarisation& p : polarisations_) codes.push_back(code(p));
    file_->write(h, "polarization_array", codes, std::array<hsize_t, 1>{codes.size()});
  }

  // Readers order baselines by their antennas' numbers; ours are in data order.
  bool numbers_ascend() const {
    for (std::size_t a = 1; a < layout_.antennas().size(); ++a)
      if (number(a) < number(a - 1)) return false;
    return true;
  }

  void write_antennas() {
    const hid_t h = header_.get();
    const ArrayLayout& array = description_.array;
    const std::size_t count = array.antennas.size(), feeds = layout_.feeds().size();
    file_->write(h, "telescope_frame", std::string("itrs"));
    file_->write(h, "telescope_name", telescope_name(description_));
    file_->write(h, "instrument", instrument_name(description_));
    file_->write(h, "latitude", array.latitude_deg);
    file_->write(h, "longitude", array.longitude_deg);
    file_->write(h, "altitude", array.altitude_m);
    file_->write(h, "Nants_telescope", static_cast<std::int64_t>(count));
    file_->write(h, "Nfeeds", static_cast<std::int64_t>(feeds));

    std::vector<std::int64_t> numbers;
    std::vector<double> positions, diameters, feed_angles;
    std::vector<std::string> names, mounts, feed_names;
    for (std::size_t a = 0; a < count; ++a) {
      const Antenna& antenna = array.antennas[a];
      numbers.push_back(antenna.number);
      names.push_back(antenna.name);
      mounts.push_back(antenna.mount_type);
      diameters.push_back(antenna.diameter_m);
      for (const double m : antenna_offset_m(array, a)) positions.push_back(m);
      for (const char feed : layout_.feeds()) {
        feed_names.emplace_back(1, feed);
        feed_angles.push_back(feed_position_angle_deg(antenna.feed_angle_deg, feed) *
                              core::kRadPerDeg);
      }
    }
    const std::array<hsize_t, 1> list{count};
    const std::array<hsize_t, 2> by_feed{count, feeds}, by_axis{count, 3};
    file_->write(h, "antenna_numbers", numbers, list);
    file_->write(h, "antenna_names", names, list);
    file_->write(h, "antenna_positions", positions, by_axis);
    file_->write(h, "mount_type", mounts, list);
    file_->write(h, "feed_array", feed_names, by_feed);
    file_->write(h, "feed_angle", feed_angles, by_feed);
    if (std::all_of(diameters.begin(), diameters.end(), [](double d) { return d > 0; }))
      file_->write(h, "antenna_diameters", diameters, list);
  }

  void write_phase_centre() {
    const hid_t h = header_.get();
    const PhaseCentre& centre = description_.phase_centre;
    file_->write(h, "Nphase", std::int64_t{1});
    const Handle catalogue = file_->group(h, "phase_center_catalog");
    const Handle entry = file_->group(catalogue.get(), std::to_string(kPhaseCentreId));
    const hid_t e = entry.get();
    file_->write(e, "cat_name", centre.name);
    file_->write(e, "cat_type", std::string(centre.tracked ? "sidereal" : "unprojected"));
    file_->write(e, "cat_frame", std::string(centre.tracked ? "icrs" : "altaz"));
    file_->write(e, "cat_lon", centre.tracked ? centre.ra_deg * core::kRadPerDeg : 0.0);
    file_->write(e, "cat_lat",
                 centre.tracked ? centre.dec_deg * core::kRadPerDeg : std::numbers::pi / 2);
    file_->write(e, "info_source", std::string("file"));
    for (const char* name :
         {"cat_epoch", "cat_times", "cat_pm_ra", "cat_pm_dec", "cat_vrad", "cat_dist"})
      file_->write_empty(e, name);
  }

  void write_row_header(const Integration& integration, hsize_t start) {
    const ApparentPlace place = place_of(integration, description_, site_);
    const std::size_t pairs = layout_.pairs().size();
    std::vector<double> column(pairs);
    const auto same = [&](Growing& array, double value) {
      std::fill(column.begin(), column.end(), value);
      array.write(start, pairs, column.data());
    };
    same(rows_->time, core::julian_date(integration.middle));
    same(rows_->integration_time, integration.integration_s);
    same(rows_->right_ascension, place.right_ascension_rad);
    same(rows_->declination, place.declination_rad);
    same(rows_->position_angle, place.frame_position_angle_rad);
    rows_->first.write(start, pairs, first_.data());
    rows_->second.write(start, pairs, second_.data());
    rows_->phase_centre.write(start, pairs,
                              std::vector<std::int64_t>(pairs, kPhaseCentreId).data());

    std::vector<Vector3> antenna_uvw, uvw;
    for (const Vector3& offset : offsets_m_) antenna_uvw.push_back(uvw_m(place.axes, offset));
    for (const AntennaPair& pair : layout_.pairs())
      uvw.push_back(difference(antenna_uvw[pair.second], antenna_uvw[pair.first]));
    rows_->uvw.write(start, pairs, uvw.data());
  }

  void write_data(const Integration& integration, hsize_t start) {
    const std::size_t pairs = layout_.pairs().size();
    const std::size_t row_bytes =
        description_.channel_hz.size() * polarisations_.size() * sizeof(std::complex<float>);
    const std::size_t block = std::max<std::size_t>(1, kWriteBlockBytes / row_bytes);
    for (std::size_t first = 0; first < pairs; first += block) {
      const std::size_t count = std::min(block, pairs - first);
      gather_rows(layout_, polarisations_, Conjugation::first, integration,
                  description_.nominal_count, first, count, buffer_);
      rows_->visibilities.write(start + first, count, buffer_.visibilities.data());
      rows_->flags.write(start + first, count, buffer_.flags.data());
      rows_->fractions.write(start + first, count, buffer_.fractions.data());
    }
  }

  void write_extra() {
    if (!description_.source.empty()) description_.extra.emplace("source", description_.source);
    description_.extra["nominal_count"] = std::to_string(description_.nominal_count);
    const Handle group = file_->group(header_.get(), "extra_keywords");
    for (const auto& [key, value] : description_.extra) {
      std::string name = key;
      std::replace(name.begin(), name.end(), '/', '_');  // HDF5's own separator
      file_->write(group.get(), name, value);
    }
  }

  // In a group of our own: readers of UVH5 pass over it.
  void write_gains() {
    const std::vector<double>& gains = description_.requantisation_gains;
    if (gains.empty()) return;
    const Handle group = file_->group(file_->root(), "tautline");
    const std::array<hsize_t, 2> shape{description_.channel_hz.size(),
                                       description_.array.inputs.size()};
    file_->write(group.get(), "requantisation_gains", gains, shape);
  }

  void close_groups() {
    rows_.reset();
    header_.reset();
    data_.reset();
  }

  VisibilityDescription description_;
  VisibilityLayout layout_;
  std::vector<Polarisation> polarisations_;
  Site site_;
  std::vector<Vector3> offsets_m_;            // of layout_.antennas()
  std::vector<std::int64_t> first_, second_;  // antenna numbers of the pairs
  VisibilityRows buffer_;
  std::size_t integrations_ = 0;
  // In this order: the file is closed before its partial name is removed.
  PartialPath name_;
  std::optional<File> file_;
  Handle header_, data_;
  std::optional<RowArrays> rows_;
};

}  // namespace

std::unique_ptr<VisibilityWriter> create(const std::string& path,
                                         const VisibilityDescription& description, bool overwrite) {
  check(description);
  return std::make_unique<Uvh5Writer>(path, description, overwrite);
}

}  // namespace tautline::formats::uvh5
