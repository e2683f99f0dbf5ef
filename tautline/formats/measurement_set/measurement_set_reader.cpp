#include "tautline/formats/measurement_set/measurement_set_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"
#include "tautline/core/units.h"
#include "tautline/formats/astronomy.h"
#include "tautline/formats/measurement_set/contents.h"
#include "tautline/formats/measurement_set/input_tables.h"

namespace tautline::formats::measurement_set {

namespace {

using core::Error;
using core::ErrorKind;

constexpr std::size_t kReadBytes = std::size_t{8} << 20;
constexpr double kUnixEpochMjd_s = static_cast<double>(core::kUnixEpochMjd * core::kSecondsPerDay);
constexpr std::size_t kNoInput = static_cast<std::size_t>(-1);

std::optional<int> number_in(const std::string& text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, number);
  if (failed != std::errc{} || stop != end) return std::nullopt;
  return number;
}

std::vector<int> numbers_of(const std::vector<InputAntenna>& antennas) {
  std::vector<int> numbers, rows;
  std::set<int> different;
  for (std::size_t row = 0; row < antennas.size(); ++row) {
    rows.push_back(static_cast<int>(row));
    if (const auto number = number_in(antennas[row].station)) {
      numbers.push_back(*number);
      different.insert(*number);
    }
  }
  return different.size() == antennas.size() ? numbers : rows;
}

// casacore's Stokes::RR, RL, LR, LL = 5 to 8 and XX, XY, YX, YY = 9 to 12.
std::vector<std::array<char, 2>> products_of(const std::string& path, const InputHeader& header) {
  std::vector<std::array<char, 2>> products;
  for (const int type : header.correlation_types) {
    if (type < 5 || type > 12)
      throw Error(ErrorKind::unsupported, path + ": POLARIZATION",
                  fmt::format("correlation type {}", type), "XX, XY, YX, YY or RR, RL, LR, LL");
    const char* const feeds = type >= 9 ? "xy" : "rl";
    const int place = (type - 5) % 4;
    products.push_back({feeds[place / 2], feeds[place % 2]});
  }
  return products;
}

ArrayLayout array_of(const InputHeader& header) {
  ArrayLayout array;
  array.name = header.telescope;
  const std::vector<int> numbers = numbers_of(header.antennas);
  array.positions_known = false;
  for (std::size_t row = 0; row < header.antennas.size(); ++row) {
    const InputAntenna& from = header.antennas[row];
    Antenna antenna;
    antenna.number = numbers[row];
    antenna.name = from.name;
    antenna.ecef_m = from.position_m;
    antenna.diameter_m = from.dish_diameter_m;
    if (from.position_m != header.antennas.front().position_m) array.positions_known = true;
    array.antennas.push_back(std::move(antenna));
  }
  const Vector3 centre = header.telescope_location_m != Vector3{} ? header.telescope_location_m
                                                                  : array.antennas.front().ecef_m;
  if (centre == Vector3{}) return array;
  const Site site = site_at(centre);
  array.latitude_deg = site.latitude_rad / core::kRadPerDeg;
  array.longitude_deg = site.longitude_rad / core::kRadPerDeg;
  array.altitude_m = site.altitude_m;
  return array;
}

// Our own sets without tracking have the zenith of each integration as its field.
PhaseCentre centre_of(const std::vector<InputField>& fields) {
  if (fields.size() != 1 || fields.front().name == PhaseCentre{}.name) return {};
  const InputField& field = fields.front();
  return {true, field.name, field.right_ascension_rad / core::kRadPerDeg,
          field.declination_rad / core::kRadPerDeg};
}

class MeasurementSetReader final : public VisibilityReader {
 public:
  explicit MeasurementSetReader(const std::string& path) : path_(path) {
    require_there(path_);
    guard([&] { tables_ = std::make_unique<InputTables>(path_); });
    const InputHeader& header = tables_->header();
    products_ = products_of(path_, header);
    describe(header);
    for (const InputIntegration& one : header.integrations) {
      middles_.push_back(instant_of(one.middle_mjd_s - kUnixEpochMjd_s));
      lengths_s_.push_back(one.length_s);
    }
    description_.integration_s = *std::max_element(lengths_s_.begin(), lengths_s_.end());
    // In our own sets WEIGHT_SPECTRUM is the valid fraction of the nominal count. Weights of other writers have other
    // scales, so in their sets every value without a flag counts as complete.
    weights_count_ = take_nominal_count() && header.weight_spectrum;
    prepare_inputs(header);
  }

 private:
  void fill(std::size_t k) override {
    const InputIntegration& one = tables_->header().integrations[k];
    const std::uint64_t block =
        std::max<std::size_t>(1, kReadBytes / (channels() * products_.size() * 8));
    for (std::uint64_t done = 0; done < one.rows; done += block) {
      const auto count = static_cast<std::size_t>(std::min(block, one.rows - done));
      guard([&] { tables_->read(one.first_row + done, count, rows_); });
      for (std::size_t row = 0; row < count; ++row) place_row(row);
    }
  }

  template <class Action>
  void guard(Action&& action) const {
    try {
      action();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw Error(ErrorKind::format, path_, std::string("casacore says: ") + error.what(),
                  "a Measurement Set", "check that it was copied whole");
    }
  }

  void describe(const InputHeader& header) {
    description_.array = array_of(header);
    description_.channel_hz = header.channel_hz;
    description_.channel_width_hz = header.channel_width_hz;
    description_.phase_centre = centre_of(header.fields);
    description_.telescope = header.telescope;
    description_.instrument = header.instrument;
    description_.source = header.project;
    description_.history = header.history;
    description_.extra = header.extra;
    for (const double hz : header.channel_hz)
      if (!std::isfinite(hz))
        throw Error(ErrorKind::format, path_ + ": CHAN_FREQ", fmt::to_string(hz), "frequencies");
    if (!(header.channel_width_hz > 0) || !std::isfinite(header.channel_width_hz))
      throw Error(ErrorKind::format, path_ + ": CHAN_WIDTH",
                  fmt::to_string(header.channel_width_hz), "a width that is not 0");
  }

  void prepare_inputs(const InputHeader& header) {
    const std::vector<char> feeds = feeds_of(products_);
    input_of_.assign(header.antennas.size(), kNoInput);
    for (std::size_t row = 0; row < header.antennas.size(); ++row) {
      if (!header.antennas[row].occurs) continue;
      input_of_[row] = description_.array.inputs.size();
      for (const char feed : feeds) description_.array.inputs.push_back({row, feed});
    }
    for (const auto& pair : products_) {
      const auto place = [&](char feed) {
        return static_cast<std::size_t>(std::find(feeds.begin(), feeds.end(), feed) -
                                        feeds.begin());
      };
      places_.push_back({place(pair[0]), place(pair[1])});
    }
    allocate(path_);
  }

  // For an antenna with itself XY and YX are one baseline, which the first of them fills.
  void place_row(std::size_t row) {
    const auto first = input_of_[static_cast<std::size_t>(rows_.antenna1[row])];
    const auto second = input_of_[static_cast<std::size_t>(rows_.antenna2[row])];
    const double nominal = static_cast<double>(description_.nominal_count);
    for (std::size_t product = 0; product < products_.size(); ++product) {
      const std::size_t i = first + places_[product][0], j = second + places_[product][1];
      const std::size_t baseline = core::baseline_index(std::max(i, j), std::min(i, j));
      for (std::size_t channel = 0; channel < channels(); ++channel) {
        const std::size_t from = (row * channels() + channel) * products_.size() + product;
        const float weight = weights_count_ ? rows_.weights[from] : 1;
        const std::size_t to = channel * baselines() + baseline;
        if (rows_.flags[from] != 0 || !(weight > 0) || weight > 1e6F || counts_[to] != 0) continue;
        visibilities_[to] = i < j ? std::conj(rows_.visibilities[from]) : rows_.visibilities[from];
        counts_[to] =
            std::max<std::int64_t>(1, std::llround(nominal * static_cast<double>(weight)));
      }
    }
  }

  std::string path_;
  std::unique_ptr<InputTables> tables_;
  std::vector<Feeds> products_;                     // feeds of ANTENNA1 and ANTENNA2
  std::vector<std::array<std::size_t, 2>> places_;  // the same, as places among an antenna's inputs
  std::vector<std::size_t> input_of_;               // first input of each row of ANTENNA
  bool weights_count_ = false;
  InputRows rows_;
};

}  // namespace

std::unique_ptr<VisibilityReader> open(const std::string& path) {
  return std::make_unique<MeasurementSetReader>(path);
}

}  // namespace tautline::formats::measurement_set
