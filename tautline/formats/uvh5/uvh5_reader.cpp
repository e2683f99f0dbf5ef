#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"
#include "tautline/formats/astronomy.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/uvh5/hdf5_file.h"
#include "tautline/formats/uvh5/hdf5_input.h"
#include "tautline/formats/uvh5/uvh5.h"

namespace tautline::formats::uvh5 {
namespace {

using core::Error;
using core::ErrorKind;
using hdf5::Hdf5Input;
using hdf5::QuietErrors;

constexpr const char* kExpected = "UVH5 visibilities (.uvh5)";
constexpr double kDegPerRad = 180 / std::numbers::pi;
constexpr double kUnixEpochJd = 2440587.5;
constexpr double kSecondsPerDay = 86400;
// Rows read by one call of HDF5.
constexpr std::size_t kReadBlockBytes = std::size_t{8} << 20;
constexpr std::size_t kMostAntennas = 65'536;

// Where one product of one row goes in the packed triangle.
struct Target {
  std::size_t baseline = 0;
  bool conjugate = false;
  bool used = false;  // false: the conjugate of another product of the same row
};

class Uvh5Reader final : public VisibilityReader {
 public:
  explicit Uvh5Reader(const std::string& path) : file_(path, kExpected) {
    if (!file_.has("Header") && !file_.has("Data"))
      throw other_kind(path, kExpected, "is this a UVH5 file?");
    read_axes();
    read_antennas();
    read_rows();
    read_facts();
    read_phase_centre();
    prepare();
  }

 private:
  void fill(std::size_t k) override {
    const QuietErrors quiet;
    check_pairs(k);
    const std::size_t block = block_rows();
    for (std::size_t first = 0; first < pairs_; first += block)
      read_block(k, first, std::min(block, pairs_ - first));
  }

  std::size_t block_rows() const {
    return std::clamp<std::size_t>(kReadBlockBytes / (channels() * products_ * 8), 1, pairs_);
  }

  void read_axes() {
    const std::vector<hsize_t> shape = file_.shape("Data/visdata");
    if (shape.size() != 3)
      file_.fail("Data/visdata", fmt::format("{} axes", shape.size()),
                 "3 (rows, channels, products)", "write the file again with a present pyuvdata");
    rows_ = shape[0];
    products_ = shape[2];
    if (rows_ == 0 || shape[1] == 0 || products_ == 0 || products_ > 4)
      file_.fail("Data/visdata", fmt::format("{} x {} x {}", rows_, shape[1], products_),
                 "rows, channels and 1 to 4 products");
    for (const char* same : {"Data/flags", "Data/nsamples"})
      if (file_.shape(same) != shape) file_.fail(same, "another shape", "that of Data/visdata");
    description_.channel_hz = file_.numbers("Header/freq_array", shape[1]);
    const std::vector<double> widths =
        file_.shape("Header/channel_width").empty()
            ? std::vector<double>{file_.number("Header/channel_width")}
            : file_.numbers("Header/channel_width", shape[1]);
    description_.channel_width_hz = std::abs(widths.front());
    if (!(description_.channel_width_hz > 0) || !std::isfinite(description_.channel_width_hz))
      file_.fail("Header/channel_width", fmt::to_string(widths.front()), "a positive width");
    for (double hz : description_.channel_hz)
      if (!std::isfinite(hz)) file_.fail("Header/freq_array", fmt::to_string(hz), "frequencies");
    for (std::int64_t code : file_.integers("Header/polarization_array", products_)) {
      if (code < -8 || code > -5)
        throw Error(ErrorKind::unsupported, file_.path() + ": Header/polarization_array",
                    fmt::to_string(code), "-5 to -8 (XX, YY, XY, YX)");
      static constexpr char kFeeds[4][2] = {{'x', 'x'}, {'y', 'y'}, {'x', 'y'}, {'y', 'x'}};
      feeds_.push_back({kFeeds[-code - 5][0], kFeeds[-code - 5][1]});
    }
  }

  void read_antennas() {
    ArrayLayout& array = description_.array;
    const std::vector<hsize_t> shape = file_.shape("Header/antenna_numbers");
    if (shape.size() != 1 || shape[0] == 0 || shape[0] > kMostAntennas)
      file_.fail("Header/antenna_numbers", "another shape", "a list of 1 to 65,536 numbers");
    const std::size_t count = shape[0];
    const std::vector<std::int64_t> numbers = file_.integers("Header/antenna_numbers", count);
    const std::vector<std::string> names = file_.texts("Header/antenna_names", count);
    const std::vector<double> positions = file_.numbers("Header/antenna_positions", 3 * count);
    array.latitude_deg = file_.number("Header/latitude");
    array.longitude_deg = file_.number("Header/longitude");
    array.altitude_m = file_.number("Header/altitude");
    const Vector3 centre = ecef_m(site_of(array));
    array.positions_known = false;
    for (std::size_t a = 0; a < count; ++a) {
      Antenna antenna;
      antenna.number = static_cast<int>(numbers[a]);
      antenna.name = names[a];
      for (std::size_t axis = 0; axis < 3; ++axis) {
        antenna.ecef_m[axis] = centre[axis] + positions[3 * a + axis];
        if (positions[3 * a + axis] != positions[axis]) array.positions_known = true;
      }
      array.antennas.push_back(antenna);
      if (!antenna_of_.emplace(numbers[a], a).second)
        file_.fail("Header/antenna_numbers", fmt::format("{} twice", numbers[a]),
                   "a number of its own for every antenna");
    }
  }

  // The first integration's rows define the pairs; every later integration must repeat them.
  void read_rows() {
    const auto declared = static_cast<std::size_t>(
        std::clamp<std::int64_t>(file_.integer("Header/Nbls"), 0, std::int64_t{1} << 40));
    if (declared == 0 || rows_ % declared != 0)
      file_.fail("Header/Nbls", fmt::to_string(declared),
                 fmt::format("a divisor of the {} rows", rows_),
                 "pyuvdata's reorder_blts(\"time\") puts rows in order");
    pairs_ = declared;
    for (const char* name : {"Header/ant_1_array", "Header/ant_2_array", "Header/time_array",
                             "Header/integration_time"})
      if (file_.shape(name) != std::vector<hsize_t>{rows_})
        file_.fail(name, "another shape", fmt::format("{} values", rows_));
    first_.resize(pairs_);
    second_.resize(pairs_);
    file_.rows("Header/ant_1_array", H5T_NATIVE_INT64, 0, pairs_, 1, first_.data());
    file_.rows("Header/ant_2_array", H5T_NATIVE_INT64, 0, pairs_, 1, second_.data());
    const std::size_t integrations = rows_ / pairs_;
    std::vector<double> dates(integrations);
    lengths_s_.resize(integrations);
    file_.rows("Header/time_array", H5T_NATIVE_DOUBLE, 0, integrations, pairs_, dates.data());
    file_.rows("Header/integration_time", H5T_NATIVE_DOUBLE, 0, integrations, pairs_,
               lengths_s_.data());
    for (std::size_t k = 0; k < integrations; ++k) {
      if (!(dates[k] > 0 && dates[k] < 1e8))
        file_.fail("Header/time_array", fmt::to_string(dates[k]), "Julian dates");
      if (!(lengths_s_[k] > 0) || !std::isfinite(lengths_s_[k]))
        file_.fail("Header/integration_time", fmt::to_string(lengths_s_[k]), "positive seconds");
      middles_.push_back(instant_of((dates[k] - kUnixEpochJd) * kSecondsPerDay));
    }
    description_.integration_s = *std::max_element(lengths_s_.begin(), lengths_s_.end());
  }

  void read_facts() {
    const auto text = [&](const char* name) {
      return file_.has(name) ? file_.text(name).value_or("") : std::string();
    };
    description_.telescope = text("Header/telescope_name");
    description_.array.name = description_.telescope;
    description_.instrument = text("Header/instrument");
    description_.history = text("Header/history");
    if (file_.has("Header/dut1")) description_.earth.ut1_minus_utc_s = file_.number("Header/dut1");
    for (const std::string& name : file_.names("Header/extra_keywords"))
      if (const auto value = file_.text("Header/extra_keywords/" + name))
        description_.extra[name] = *value;
    if (const auto source = description_.extra.find("source"); source != description_.extra.end()) {
      description_.source = source->second;
      description_.extra.erase(source);
    }
    take_nominal_count();
  }

  void read_phase_centre() {
    const std::string catalogue = "Header/phase_center_catalog";
    const std::vector<std::string> entries = file_.names(catalogue);
    if (entries.size() > 1)
      throw Error(ErrorKind::unsupported, file_.path() + ": " + catalogue,
                  fmt::format("{} phase centres", entries.size()), "one",
                  "split the file with pyuvdata");
    if (entries.empty()) return;
    const std::string entry = catalogue + "/" + entries.front() + "/";
    PhaseCentre& centre = description_.phase_centre;
    centre.name = file_.text(entry + "cat_name").value_or("");
    const std::string type = file_.text(entry + "cat_type").value_or("");
    if (type == "unprojected") return;
    if (type != "sidereal")
      throw Error(ErrorKind::unsupported, file_.path() + ": " + entry + "cat_type", type,
                  "\"sidereal\" or \"unprojected\"");
    centre.tracked = true;
    centre.ra_deg = file_.number(entry + "cat_lon") * kDegPerRad;
    centre.dec_deg = file_.number(entry + "cat_lat") * kDegPerRad;
  }

  // Inputs in the order in which the antennas first appear, and where each product goes.
  void prepare() {
    const std::vector<char> feeds = feeds_of(feeds_);
    std::map<std::int64_t, std::size_t> place;  // of each antenna that occurs, by its number
    for (std::size_t row = 0; row < pairs_; ++row)
      for (std::int64_t number : {first_[row], second_[row]}) {
        const auto antenna = antenna_of_.find(number);
        if (antenna == antenna_of_.end())
          file_.fail("Header/ant_1_array", fmt::format("antenna {}", number),
                     "a number of Header/antenna_numbers");
        if (!place.emplace(number, place.size()).second) continue;
        for (char feed : feeds) description_.array.inputs.push_back({antenna->second, feed});
      }
    allocate(file_.path());
    const auto input = [&](std::int64_t number, char feed) {
      return place.at(number) * feeds.size() + (feeds.size() == 2 && feed == 'y' ? 1 : 0);
    };
    targets_.resize(pairs_ * products_);
    std::vector<bool> filled(baselines());
    for (std::size_t row = 0; row < pairs_; ++row)
      for (std::size_t product = 0; product < products_; ++product) {
        const std::size_t j = input(first_[row], feeds_[product][0]);
        const std::size_t i = input(second_[row], feeds_[product][1]);
        const std::size_t baseline = core::baseline_index(std::max(i, j), std::min(i, j));
        const bool used = !filled[baseline];
        if (!used && first_[row] != second_[row])
          file_.fail("Header/ant_2_array",
                     fmt::format("antennas {} and {} twice", first_[row], second_[row]),
                     "every pair once in an integration",
                     "pyuvdata's reorder_blts(\"time\") puts rows in order");
        filled[baseline] = true;
        targets_[row * products_ + product] = {baseline, i < j, used};
      }
  }

  void check_pairs(std::size_t k) {
    std::vector<std::int64_t> first(pairs_), second(pairs_);
    std::vector<double> dates(pairs_);
    file_.rows("Header/ant_1_array", H5T_NATIVE_INT64, k * pairs_, pairs_, 1, first.data());
    file_.rows("Header/ant_2_array", H5T_NATIVE_INT64, k * pairs_, pairs_, 1, second.data());
    file_.rows("Header/time_array", H5T_NATIVE_DOUBLE, k * pairs_, pairs_, 1, dates.data());
    if (first != first_ || second != second_ ||
        std::any_of(dates.begin(), dates.end(), [&](double date) { return date != dates[0]; }))
      throw Error(ErrorKind::unsupported, file_.path() + ": Header/time_array",
                  fmt::format("integration {} lists other pairs or times", k),
                  "the same pairs in every integration",
                  "pyuvdata's reorder_blts(\"time\") puts rows in order");
  }

  void read_block(std::size_t k, std::size_t first, std::size_t count) {
    const std::size_t values = count * channels() * products_;
    block_.resize(values);
    fractions_.resize(values);
    flags_.resize(values);
    const hsize_t at = k * pairs_ + first;
    const hdf5::Handle complex = hdf5::complex_type(), boolean = hdf5::bool_type();
    file_.rows("Data/visdata", complex.get(), at, count, 1, block_.data());
    file_.rows("Data/nsamples", H5T_NATIVE_FLOAT, at, count, 1, fractions_.data());
    file_.rows("Data/flags", boolean.get(), at, count, 1, flags_.data());
    const double nominal = static_cast<double>(description_.nominal_count);
    for (std::size_t row = 0; row < count; ++row)
      for (std::size_t channel = 0; channel < channels(); ++channel)
        for (std::size_t product = 0; product < products_; ++product) {
          const Target& target = targets_[(first + row) * products_ + product];
          const std::size_t from = (row * channels() + channel) * products_ + product;
          const float fraction = fractions_[from];
          if (!target.used || flags_[from] != 0 || !(fraction > 0) || fraction > 1e6F) continue;
          const std::size_t to = channel * baselines() + target.baseline;
          visibilities_[to] = target.conjugate ? std::conj(block_[from]) : block_[from];
          counts_[to] = std::llround(nominal * static_cast<double>(fraction));
        }
  }

  Hdf5Input file_;
  std::size_t rows_ = 0, pairs_ = 0, products_ = 0;
  std::vector<Feeds> feeds_;                        // of each product: ant_1's, ant_2's
  std::map<std::int64_t, std::size_t> antenna_of_;  // by number
  std::vector<std::int64_t> first_, second_;        // antenna numbers of each pair
  std::vector<Target> targets_;                     // [pair][product]
  std::vector<std::complex<float>> block_;
  std::vector<float> fractions_;
  std::vector<std::uint8_t> flags_;
};

}  // namespace

std::unique_ptr<VisibilityReader> open(const std::string& path) {
  const QuietErrors quiet;
  return std::make_unique<Uvh5Reader>(path);
}

bool holds_visibilities(const std::string& path) {
  const QuietErrors quiet;
  try {
    const Hdf5Input file(path, kExpected);
    return file.has("Data/visdata");
  } catch (const Error&) {
    return false;
  }
}

}  // namespace tautline::formats::uvh5
