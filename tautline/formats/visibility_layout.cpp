#include "tautline/formats/visibility_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"
#include "tautline/core/threads.h"

namespace tautline::formats {
namespace {

using core::Error;
using core::ErrorKind;

// Channels moved at a time, so that the rows being written and the triangles being read both stay
// in the cache: 16 channels of 4 products are 512 bytes of a row.
constexpr std::size_t kChannelTile = 16;

std::size_t feed_index(char feed) {
  return feed == 'y' ? 1 : 0;
}

}  // namespace

VisibilityLayout::VisibilityLayout(const ArrayLayout& array) : inputs_(array.inputs.size()) {
  if (inputs_ == 0)
    throw Error(ErrorKind::config, "inputs of array " + array.name, "0", "at least 1");
  std::vector<std::size_t> place(array.antennas.size(), kNone);
  for (std::size_t i = 0; i < inputs_; ++i) {
    const InputLabel& input = array.inputs[i];
    if (input.antenna >= array.antennas.size())
      throw Error(ErrorKind::config, fmt::format("antenna of input {}", i),
                  std::to_string(input.antenna),
                  fmt::format("less than {}", array.antennas.size()));
    std::size_t& p = place[input.antenna];
    if (p == kNone) {
      p = antennas_.size();
      antennas_.push_back(input.antenna);
      input_of_.push_back({kNone, kNone});
    }
    std::size_t& slot = input_of_[p][feed_index(input.feed)];
    if (slot != kNone)
      throw Error(ErrorKind::config, fmt::format("label of input {}", i),
                  fmt::format("antenna {} {}", array.antennas[input.antenna].number, input.feed),
                  "every antenna and feed at most once");
    slot = i;
  }
  for (const char feed : {'x', 'y'})
    if (std::any_of(array.inputs.begin(), array.inputs.end(),
                    [&](const InputLabel& input) { return input.feed == feed; }))
      feeds_.push_back(feed);
  pairs_.reserve(core::baseline_count(antennas_.size()));
  for (std::size_t first = 0; first < antennas_.size(); ++first)
    for (std::size_t second = first; second < antennas_.size(); ++second)
      pairs_.push_back({first, second});
}

// The triangle holds V(i, j) = mean of x_i conj(x_j), i >= j. With i the input of the second
// antenna and j that of the first, this is mean of conj(x_first) x_second as it stands.
VisibilityLayout::Product VisibilityLayout::product(const AntennaPair& pair,
                                                    const Polarisation& polarisation,
                                                    Conjugation conjugation) const {
  const std::size_t j = input_of_[pair.first][feed_index(polarisation.first)];
  const std::size_t i = input_of_[pair.second][feed_index(polarisation.second)];
  if (i == kNone || j == kNone) return {};
  const bool reversed = i < j;
  return {core::baseline_index(std::max(i, j), std::min(i, j)),
          reversed != (conjugation == Conjugation::second), true};
}

void gather_rows(const VisibilityLayout& layout, const std::vector<Polarisation>& polarisations,
                 Conjugation conjugation, const Integration& integration,
                 std::int64_t nominal_count, std::size_t first, std::size_t count,
                 VisibilityRows& rows) {
  const auto& visibilities = integration.visibilities;
  const auto& counts = integration.counts;
  const std::size_t channels = visibilities.extent(0), products = polarisations.size();
  const std::size_t values = count * channels * products;
  rows.visibilities.resize(values);
  rows.fractions.resize(values);
  rows.flags.resize(values);
  const double nominal = static_cast<double>(nominal_count);

  const auto gather = [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t tile = 0; tile < channels; tile += kChannelTile) {
      const std::size_t tile_end = std::min(channels, tile + kChannelTile);
      for (std::size_t row = begin; row < end; ++row) {
        for (std::size_t p = 0; p < products; ++p) {
          const auto product =
              layout.product(layout.pairs()[first + row], polarisations[p], conjugation);
          for (std::size_t c = tile; c < tile_end; ++c) {
            const std::size_t to = (row * channels + c) * products + p;
            const std::int64_t valid = product.present ? counts(c, product.baseline) : 0;
            const std::complex<float> mean =
                valid > 0 ? visibilities(c, product.baseline) : std::complex<float>{};
            rows.visibilities[to] = product.conjugate ? std::conj(mean) : mean;
            rows.fractions[to] = static_cast<float>(static_cast<double>(valid) / nominal);
            rows.flags[to] = valid > 0 ? 0 : 1;
          }
        }
      }
    }
  };
  constexpr std::size_t kLeastValues = std::size_t{1} << 17;
  core::in_pieces(count, values / kLeastValues, gather);
}

void check(const VisibilityDescription& description) {
  const auto wrong = [](const std::string& field, const std::string& value,
                        const std::string& limit) {
    return Error(ErrorKind::config, field, value, limit);
  };
  if (description.channel_hz.empty()) throw wrong("channel_hz", "no channel", "at least 1");
  for (const double f : description.channel_hz)
    if (!std::isfinite(f)) throw wrong("channel_hz", fmt::format("{}", f), "finite frequencies");
  const auto positive = [&](const char* field, double value) {
    if (!(value > 0) || !std::isfinite(value))
      throw wrong(field, fmt::format("{}", value), "a positive number");
  };
  positive("channel_width_hz", description.channel_width_hz);
  positive("integration_s", description.integration_s);
  if (description.nominal_count < 1)
    throw wrong("nominal_count", std::to_string(description.nominal_count), "at least 1");
  const PhaseCentre& centre = description.phase_centre;
  if (centre.tracked && !(std::abs(centre.dec_deg) <= 90))
    throw wrong("phase centre dec_deg", fmt::format("{}", centre.dec_deg), "-90 to 90");
  if (centre.tracked && !std::isfinite(centre.ra_deg))
    throw wrong("phase centre ra_deg", fmt::format("{}", centre.ra_deg), "a finite angle");
}

void check(const Integration& integration, const VisibilityDescription& description) {
  const std::size_t channels = description.channel_hz.size();
  const std::size_t baselines = core::baseline_count(description.array.inputs.size());
  const auto require = [&](const char* field, const auto& view) {
    if (view.extent(0) != channels || view.extent(1) != baselines)
      throw Error(ErrorKind::config, field,
                  fmt::format("{} channels x {} baselines", view.extent(0), view.extent(1)),
                  fmt::format("{} x {}", channels, baselines));
  };
  require("visibilities of an integration", integration.visibilities);
  require("counts of an integration", integration.counts);
  if (!(integration.integration_s > 0) || !std::isfinite(integration.integration_s))
    throw Error(ErrorKind::config, "integration_s", fmt::format("{}", integration.integration_s),
                "a positive number");
}

ApparentPlace place_of(const Integration& integration, const VisibilityDescription& description,
                       const Site& site) {
  const PhaseCentre& centre = description.phase_centre;
  return centre.tracked ? apparent_place(centre.ra_deg, centre.dec_deg, integration.middle, site,
                                         description.earth)
                        : zenith_place(integration.middle, site, description.earth);
}

void require_integrations(const std::string& path, std::size_t integrations) {
  if (integrations == 0)
    throw Error(ErrorKind::config, path + ": integrations", "0", "at least 1",
                "give a longer stream or a shorter integration");
}

double feed_position_angle_deg(double x_feed_angle_deg, char feed) {
  const double angle = x_feed_angle_deg + (feed == 'y' ? 90 : 0);
  return angle - 180 * std::ceil((angle - 90) / 180);
}

std::string telescope_name(const VisibilityDescription& description) {
  return description.telescope.empty() ? description.array.name : description.telescope;
}

std::string instrument_name(const VisibilityDescription& description) {
  return description.instrument.empty() ? telescope_name(description) : description.instrument;
}

}  // namespace tautline::formats
