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

// Where one product of one row comes from and goes to.
struct Source {
  std::size_t baseline, to;
  float imaginary_sign;
};

// A product that the pair lacks.
void clear(std::size_t channels, std::size_t products, std::size_t to, const RowsOut& out) {
  for (std::size_t c = 0; c < channels; ++c, to += products) {
    out.visibilities[to] = {};
    if (out.fractions == nullptr) continue;
    out.fractions[to] = 0;
    out.flags[to] = 1;
  }
}

template <bool WithCounts>
void gather_tile(const std::vector<Source>& sources, const Integration& integration,
                 std::size_t first_channel, std::size_t channels, std::size_t products,
                 std::size_t to_tile, double nominal_count, const RowsOut& out) {
  const auto visibilities = integration.visibilities.slice(0, first_channel, channels);
  const auto counts = integration.counts.slice(0, first_channel, channels);
  const std::ptrdiff_t next = visibilities.stride(0), next_count = counts.stride(0);
  for (const Source& source : sources) {
    const std::complex<float>* mean = visibilities.data() + source.baseline;
    const std::int64_t* count = counts.data() + source.baseline;
    std::size_t to = source.to + to_tile;
    for (std::size_t c = 0; c < channels; ++c, to += products, mean += next) {
      if (!WithCounts) {
        out.visibilities[to] = {mean->real(), source.imaginary_sign * mean->imag()};
        continue;
      }
      const std::int64_t valid = *count;
      count += next_count;
      out.visibilities[to] =
          valid > 0 ? std::complex<float>(mean->real(), source.imaginary_sign * mean->imag())
                    : std::complex<float>();
      out.fractions[to] = static_cast<float>(static_cast<double>(valid) / nominal_count);
      out.flags[to] = valid > 0 ? 0 : 1;
    }
  }
}

}  // namespace

std::vector<std::size_t> baselines_of_antennas(const ArrayLayout& array) {
  std::vector<std::size_t> baselines;
  for (std::size_t i = 0; i < array.inputs.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j)
      if (array.inputs[i].antenna == array.inputs[j].antenna)
        baselines.push_back(core::baseline_index(i, j));
  return baselines;
}

VisibilityLayout::VisibilityLayout(const ArrayLayout& array, bool autos_only)
    : inputs_(array.inputs.size()) {
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
  for (std::size_t first = 0; first < antennas_.size(); ++first)
    for (std::size_t second = first; second < (autos_only ? first + 1 : antennas_.size()); ++second)
      pairs_.push_back({first, second});
  if (autos_only) kept_ = baselines_of_antennas(array);
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
  std::size_t baseline = core::baseline_index(std::max(i, j), std::min(i, j));
  if (!kept_.empty())
    baseline = static_cast<std::size_t>(std::lower_bound(kept_.begin(), kept_.end(), baseline) -
                                        kept_.begin());
  return {baseline, reversed != (conjugation == Conjugation::second), true};
}

void gather_rows(const VisibilityLayout& layout, const std::vector<Polarisation>& polarisations,
                 Conjugation conjugation, const Integration& integration,
                 std::int64_t nominal_count, const RowRange& range, const RowsOut& out) {
  const std::size_t products = polarisations.size();
  std::vector<Source> sources;
  sources.reserve(range.pairs * products);
  for (std::size_t row = 0; row < range.pairs; ++row)
    for (std::size_t p = 0; p < products; ++p) {
      const auto product =
          layout.product(layout.pairs()[range.first_pair + row], polarisations[p], conjugation);
      if (product.present)
        sources.push_back({product.baseline, row * out.row_channels * products + p,
                           product.conjugate ? -1.0F : 1.0F});
      else
        clear(range.channels, products, row * out.row_channels * products + p, out);
    }
  // In the order in which the triangle holds them, so that neighbours in a cache line are read together.
  std::sort(sources.begin(), sources.end(),
            [](const Source& a, const Source& b) { return a.baseline < b.baseline; });
  const auto gather = out.fractions == nullptr ? gather_tile<false> : gather_tile<true>;
  for (std::size_t tile = 0; tile < range.channels; tile += kChannelTile)
    gather(sources, integration, range.first_channel + tile,
           std::min(kChannelTile, range.channels - tile), products, tile * products,
           static_cast<double>(nominal_count), out);
}

void gather_rows(const VisibilityLayout& layout, const std::vector<Polarisation>& polarisations,
                 Conjugation conjugation, const Integration& integration,
                 std::int64_t nominal_count, std::size_t first, std::size_t count,
                 VisibilityRows& rows) {
  const std::size_t channels = integration.visibilities.extent(0);
  const std::size_t row_values = channels * polarisations.size(), values = count * row_values;
  rows.resize(values);
  const auto gather = [&](std::size_t, std::size_t begin, std::size_t end) {
    const std::size_t at = begin * row_values;
    gather_rows(layout, polarisations, conjugation, integration, nominal_count,
                {first + begin, end - begin, 0, channels},
                {rows.visibilities.data() + at, rows.fractions.data() + at, rows.flags.data() + at,
                 channels});
  };
  constexpr std::size_t kLeastValues = std::size_t{1} << 17;
  core::in_pieces(count, values / kLeastValues, gather);
}

void flag_channels(const std::vector<std::size_t>& flagged, std::size_t products,
                   const RowRange& range, std::size_t row_channels, std::uint8_t* flags) {
  for (const std::size_t channel : flagged) {
    if (channel < range.first_channel || channel >= range.first_channel + range.channels) continue;
    for (std::size_t row = 0; row < range.pairs; ++row)
      std::fill_n(flags + (row * row_channels + channel - range.first_channel) * products, products,
                  std::uint8_t{1});
  }
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
  for (const std::size_t channel : description.flagged_channels)
    if (channel >= description.channel_hz.size())
      throw wrong("flagged_channels", std::to_string(channel),
                  fmt::format("below {}", description.channel_hz.size()));
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
  const std::size_t baselines = description.autos_only
                                    ? baselines_of_antennas(description.array).size()
                                    : core::baseline_count(description.array.inputs.size());
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
