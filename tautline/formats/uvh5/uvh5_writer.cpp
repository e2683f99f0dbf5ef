#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numbers>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/core/units.h"
#include "tautline/formats/astronomy.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/uvh5/data_writer.h"
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

// An array of Header with an entry of one type for each row. Entries are gathered before HDF5 is called: a call costs
// as much as thousands of them.
template <class Entry>
class Column {
 public:
  Column(File& file, hid_t header, const char* name, Handle type, std::vector<hsize_t> shape = {})
      : array_(file, header, name, std::move(type), std::move(shape), kHeaderChunkRows) {}

  void append(std::size_t rows, Entry value) { waiting_.insert(waiting_.end(), rows, value); }
  void append(const std::vector<Entry>& values) {
    waiting_.insert(waiting_.end(), values.begin(), values.end());
  }
  void flush() {
    const hsize_t first = array_.rows();
    array_.extend(waiting_.size());
    array_.write(first, waiting_.size(), waiting_.data());
    waiting_.clear();
  }

 private:
  Growing array_;
  std::vector<Entry> waiting_;
};

struct RowArrays {
  Column<double> time, integration_time, right_ascension, declination, position_angle;
  Column<Vector3> uvw;
  Column<std::int64_t> first, second, phase_centre;
  std::size_t waiting = 0;

  RowArrays(File& file, hid_t header)
      : time(file, header, "time_array", native(H5T_NATIVE_DOUBLE)),
        integration_time(file, header, "integration_time", native(H5T_NATIVE_DOUBLE)),
        right_ascension(file, header, "phase_center_app_ra", native(H5T_NATIVE_DOUBLE)),
        declination(file, header, "phase_center_app_dec", native(H5T_NATIVE_DOUBLE)),
        position_angle(file, header, "phase_center_frame_pa", native(H5T_NATIVE_DOUBLE)),
        uvw(file, header, "uvw_array", native(H5T_NATIVE_DOUBLE), {3}),
        first(file, header, "ant_1_array", native(H5T_NATIVE_INT64)),
        second(file, header, "ant_2_array", native(H5T_NATIVE_INT64)),
        phase_centre(file, header, "phase_center_id_array", native(H5T_NATIVE_INT64)) {}

  void flush() {
    if (std::exchange(waiting, 0) == 0) return;
    for (Column<double>* column :
         {&time, &integration_time, &right_ascension, &declination, &position_angle})
      column->flush();
    uvw.flush();
    for (Column<std::int64_t>* column : {&first, &second, &phase_centre}) column->flush();
  }
};

class Uvh5Writer final : public VisibilityWriter {
 public:
  Uvh5Writer(const std::string& path, const VisibilityDescription& description, bool overwrite)
      : description_(description),
        layout_(description.array, description.autos_only),
        polarisations_(polarisations_of(layout_.feeds())),
        site_(site_of(description.array)),
        name_(path, overwrite) {
    const QuietErrors quiet;
    file_.emplace(name_.partial(), path);
    name_.lock();
    header_ = file_->group(file_->root(), "Header");
    data_ = file_->group(file_->root(), "Data");
    write_axes();
    write_antennas();
    write_phase_centre();
    rows_.emplace(*file_, header_.get());
    data_writer_.emplace(*file_, data_.get(), layout_, polarisations_,
                         description_.channel_hz.size(), description_.nominal_count,
                         description_.flagged_channels);
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
    write_gain_change(integration.gains);
    write_row_header(integration);
    data_writer_->write(integration);
    ++integrations_;
  }

  void add_extra(const std::string& key, const std::string& value) override {
    description_.extra[key] = value;
  }

  void finish() override {
    require_integrations(name_.path(), integrations_);
    const QuietErrors quiet;
    rows_->flush();
    data_writer_->finish();
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

  void write_row_header(const Integration& integration) {
    const ApparentPlace place = place_of(integration, description_, site_);
    const std::size_t pairs = layout_.pairs().size();
    rows_->time.append(pairs, core::julian_date(integration.middle));
    rows_->integration_time.append(pairs, integration.integration_s);
    rows_->right_ascension.append(pairs, place.right_ascension_rad);
    rows_->declination.append(pairs, place.declination_rad);
    rows_->position_angle.append(pairs, place.frame_position_angle_rad);
    rows_->first.append(first_);
    rows_->second.append(second_);
    rows_->phase_centre.append(pairs, kPhaseCentreId);

    std::vector<Vector3> antenna_uvw, uvw;
    for (const Vector3& offset : offsets_m_) antenna_uvw.push_back(uvw_m(place.axes, offset));
    for (const AntennaPair& pair : layout_.pairs())
      uvw.push_back(difference(antenna_uvw[pair.second], antenna_uvw[pair.first]));
    rows_->uvw.append(uvw);
    rows_->waiting += pairs;
    if (rows_->waiting >= kHeaderChunkRows) rows_->flush();
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
    const hsize_t inputs = description_.array.inputs.size();
    const std::array<hsize_t, 2> shape{gains.size() / inputs, inputs};
    file_->write(own_group(), "requantisation_gains", gains, shape);
  }

  hid_t own_group() {
    if (!own_) own_ = file_->group(file_->root(), "tautline");
    return own_->get();
  }

  // A row for each integration whose gains differ from those before.
  void write_gain_change(std::span<const double> gains) {
    if (gains.empty() || std::ranges::equal(gains, last_gains_)) return;
    last_gains_.assign(gains.begin(), gains.end());
    const hsize_t inputs = description_.array.inputs.size();
    if (!gain_changes_) {
      gain_changes_.emplace(*file_, own_group(), "requantisation_gain_changes",
                            native(H5T_NATIVE_DOUBLE),
                            std::vector<hsize_t>{gains.size() / inputs, inputs}, hsize_t{1});
      gain_integrations_.emplace(*file_, own_group(), "requantisation_gain_integrations",
                                 native(H5T_NATIVE_INT64), std::vector<hsize_t>{},
                                 kHeaderChunkRows);
    }
    const hsize_t row = gain_changes_->rows();
    const auto integration = static_cast<std::int64_t>(integrations_);
    gain_changes_->extend(1);
    gain_changes_->write(row, 1, last_gains_.data());
    gain_integrations_->extend(1);
    gain_integrations_->write(row, 1, &integration);
  }

  void close_groups() {
    rows_.reset();
    gain_changes_.reset();
    gain_integrations_.reset();
    own_.reset();
    data_writer_.reset();
    header_.reset();
    data_.reset();
  }

  VisibilityDescription description_;
  std::optional<Handle> own_;  // the group of data that UVH5 has no place for
  std::optional<Growing> gain_changes_, gain_integrations_;
  std::vector<double> last_gains_;
  VisibilityLayout layout_;
  std::vector<Polarisation> polarisations_;
  Site site_;
  std::vector<Vector3> offsets_m_;            // of layout_.antennas()
  std::vector<std::int64_t> first_, second_;  // antenna numbers of the pairs
  std::size_t integrations_ = 0;
  // In this order: the file is closed before its partial name is removed.
  PartialPath name_;
  std::optional<File> file_;
  Handle header_, data_;
  std::optional<RowArrays> rows_;
  std::optional<DataWriter> data_writer_;
};

}  // namespace

std::unique_ptr<VisibilityWriter> create(const std::string& path,
                                         const VisibilityDescription& description, bool overwrite) {
  check(description);
  return std::make_unique<Uvh5Writer>(path, description, overwrite);
}

}  // namespace tautline::formats::uvh5
