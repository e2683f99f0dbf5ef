#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <optional>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"
#include "tautline/core/time.h"
#include "tautline/formats/few_samples.h"
#include "tautline/formats/input_name.h"
#include "tautline/formats/visibility_reader.h"
#include "tautline/pipeline/plot/integration_columns.h"
#include "tautline/pipeline/plot/kinds.h"
#include "tautline/pipeline/plot/mean_grid.h"
#include "tautline/pipeline/plot/texts.h"

namespace tautline::pipeline::plot {

namespace {

namespace figure = formats::figure;

constexpr double kDegrees = 180 / std::numbers::pi;
constexpr std::size_t kMatrixIntegrations = 64, kMatrixChannels = 16, kMostMatrix = 600;
constexpr double kMostlyGaps =
    0.25;  // recorded part of the span below which times stand side by side

// A carrier in a few channels would leave all others black.
constexpr double kScaleQuantile = 0.95;

// Mean over times and channels, weighted by counts, of the amplitude of every baseline, and of the same over the
// geometric mean of both autocorrelations where there are any.
class Matrix {
 public:
  explicit Matrix(std::size_t inputs)
      : inputs_(inputs), sums_(core::baseline_count(inputs)), counts_(sums_.size()) {}

  void add(const formats::Integration& one) {
    const std::size_t channels = one.visibilities.extent(0);
    const std::size_t step = std::max<std::size_t>(1, channels / kMatrixChannels);
    for (std::size_t c = step / 2; c < channels; c += step)
      for (std::size_t i = 0; i < inputs_; ++i)
        for (std::size_t j = 0; j <= i; ++j) add(one, c, i, j);
  }
  /// NaN where nothing valid was found.
  double at(std::size_t i, std::size_t j) const {
    const std::size_t b = core::baseline_index(std::max(i, j), std::min(i, j));
    return counts_[b] > 0 ? sums_[b] / counts_[b] : std::numeric_limits<double>::quiet_NaN();
  }
  bool normalised() const { return normalised_; }
  /// Samples of a baseline in an integration and channel, on average; 0: of no baseline.
  double samples() const { return crosses_ > 0 ? crossed_ / crosses_ : 0; }

 private:
  void add(const formats::Integration& one, std::size_t channel, std::size_t i, std::size_t j) {
    const std::size_t b = core::baseline_index(i, j);
    const double amplitude = std::abs(std::complex<double>(one.visibilities(channel, b)));
    if (one.counts(channel, b) == 0 || !std::isfinite(amplitude)) return;
    const std::size_t auto_i = core::baseline_index(i, i), auto_j = core::baseline_index(j, j);
    const double level = std::sqrt(static_cast<double>(one.visibilities(channel, auto_i).real()) *
                                   static_cast<double>(one.visibilities(channel, auto_j).real()));
    // What the first value is decides for all of them.
    if (b == 0 || first_) normalised_ = level > 0;
    first_ = false;
    if (normalised_ && !(level > 0)) return;
    const auto count = static_cast<double>(one.counts(channel, b));
    double strength = normalised_ ? amplitude / level : amplitude;
    // Autocorrelations have samples that hold nothing beside those of the baseline: sums are compared instead.
    if (normalised_ && strength > 1)
      strength *=
          std::min(1.0, count / std::sqrt(static_cast<double>(one.counts(channel, auto_i)) *
                                          static_cast<double>(one.counts(channel, auto_j))));
    sums_[b] += count * strength;
    counts_[b] += count;
    if (i != j) {
      crossed_ += count;
      crosses_ += 1;
    }
  }

  std::size_t inputs_;
  bool normalised_ = false, first_ = true;
  std::vector<double> sums_, counts_;
  double crossed_ = 0, crosses_ = 0;  // samples of baselines; how many were added
};

struct Baseline {
  std::size_t first = 0, second = 0;  // inputs, first < second; equal: an autocorrelation
};

// "3-7 or 3x-7y" of the first two antennas that there are.
std::string example_of(const formats::ArrayLayout& array) {
  const auto& first = array.inputs.front();
  const auto other = std::find_if(array.inputs.begin(), array.inputs.end(),
                                  [&](const auto& one) { return one.antenna != first.antenna; });
  const auto& second = other == array.inputs.end() ? array.inputs.back() : *other;
  const auto number = [&](const auto& input) {
    return std::to_string(array.antennas[input.antenna].number);
  };
  return number(first) + "-" + number(second) + " or " + number(first) + first.feed + "-" +
         number(second) + second.feed;
}

// "3x" among the inputs; without a feed the first input of the antenna.
std::size_t input_named(const formats::ArrayLayout& array, const std::string& text,
                        const std::string& whole) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, number);
  const std::string feed(stop, end);
  if (failed == std::errc{})
    for (std::size_t k = 0; k < array.inputs.size(); ++k)
      if (array.antennas[array.inputs[k].antenna].number == number &&
          (feed.empty() || feed == std::string(1, array.inputs[k].feed)))
        return k;
  throw core::Error(core::ErrorKind::config, "baseline", whole,
                    "two of the file's antennas, as " + example_of(array), "`inspect` lists them");
}

Baseline baseline_named(const formats::ArrayLayout& array, const std::string& text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos)
    throw core::Error(core::ErrorKind::config, "baseline", text,
                      "two antennas, as " + example_of(array), "`inspect` lists them");
  const std::size_t a = input_named(array, text.substr(0, dash), text);
  const std::size_t b = input_named(array, text.substr(dash + 1), text);
  return {std::min(a, b), std::max(a, b)};
}

// Between different antennas and like feeds; where there is no such baseline, any.
Baseline strongest(const formats::ArrayLayout& array, const Matrix& matrix) {
  std::optional<Baseline> best;
  double most = -1;
  for (const bool strict : {true, false}) {
    for (std::size_t i = 0; i < array.inputs.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        if (strict && (array.inputs[i].antenna == array.inputs[j].antenna ||
                       array.inputs[i].feed != array.inputs[j].feed))
          continue;
        if (!(matrix.at(i, j) > most)) continue;
        most = matrix.at(i, j);
        best = Baseline{j, i};
      }
    if (best) return *best;
  }
  return {0, 0};
}

Matrix read_matrix(formats::VisibilityReader& reader, const PlotRun& run) {
  Matrix matrix(reader.description().array.inputs.size());
  const std::size_t count = reader.integrations();
  const std::size_t step = std::max<std::size_t>(1, count / kMatrixIntegrations);
  for (std::size_t k = 0; k < count; k += step) {
    matrix.add(reader.read(k));
    run.at(0.5 * static_cast<double>(k) / static_cast<double>(count));
  }
  return matrix;
}

Columns place_in_time(const formats::VisibilityReader& reader, const PlotConfig& config) {
  const auto& middles = reader.middles();
  const auto& lengths = reader.integration_lengths_s();
  const auto start_s = [&](std::size_t k) {
    return core::seconds_between(middles[0], middles[k]) + (lengths[0] - lengths[k]) / 2;
  };
  std::vector<std::size_t> taken;
  std::vector<double> starts_s, taken_s;  // their starts and lengths
  double end = -INFINITY, first = INFINITY, recorded = 0;
  double next_middle = INFINITY;  // behind the start
  for (std::size_t k = 0; k < middles.size(); ++k) {
    const double middle = start_s(k) + lengths[k] / 2;
    if (middle < config.start_s) continue;
    next_middle = std::min(next_middle, middle);
    if (config.duration_s >= 0 && middle >= config.start_s + config.duration_s) continue;
    taken.push_back(k);
    starts_s.push_back(start_s(k));
    first = std::min(first, start_s(k));
    end = std::max(end, start_s(k) + lengths[k]);
    recorded += lengths[k];
    taken_s.push_back(lengths[k]);
  }
  if (taken.empty() && std::isfinite(next_middle))
    throw core::Error(core::ErrorKind::config, "duration_s", fmt::format("{} s", config.duration_s),
                      fmt::format("more than {:.6g} s, which reach the middle of an integration",
                                  next_middle - config.start_s));
  if (taken.empty())
    throw core::Error(core::ErrorKind::config, "start_s", fmt::format("{} s", config.start_s),
                      "a time that the file has integrations of");
  Columns columns;
  columns.of.resize(middles.size());
  if (recorded < kMostlyGaps * (end - first)) {
    const Binning binning = Binning::of(taken.size(), config.columns);
    columns.count = binning.cells;
    columns.axis = axis("UTC of the integration", "", 0, static_cast<double>(binning.cells));
    for (std::size_t t = 0; t < taken.size(); ++t) {
      columns.of[taken[t]] = {binning.cell(t), binning.cell(t) + 1};
      if (t % binning.per_cell == 0)
        columns.axis.names.push_back(core::to_iso(middles[taken[t]]).substr(11, 8));
    }
  } else {
    std::vector<double> sorted_s = taken_s;
    const auto median = sorted_s.begin() + static_cast<std::ptrdiff_t>(sorted_s.size() / 2);
    std::nth_element(sorted_s.begin(), median, sorted_s.end());
    double cell_s = *median;
    if (on_grid(starts_s, taken_s, cell_s)) {
      cell_s = place_on_grid(taken, starts_s, taken_s, cell_s, config.columns, columns);
    } else {
      // Gaps cut some short, and the next ones begin anywhere: columns of any length that show each where it is.
      columns.count = config.columns;
      cell_s = (end - first) / static_cast<double>(columns.count);
      for (std::size_t t = 0; t < taken.size(); ++t)
        columns.of[taken[t]] =
            columns_within((starts_s[t] - first) / cell_s, taken_s[t] / cell_s, columns.count);
    }
    double scale = 1;
    columns.axis = time_axis(first, cell_s * static_cast<double>(columns.count), scale);
  }
  for (std::size_t c = 0; c < columns.count; ++c)
    columns.centre.push_back(columns.axis.low + (static_cast<double>(c) + 0.5) *
                                                    (columns.axis.high - columns.axis.low) /
                                                    static_cast<double>(columns.count));
  return columns;
}

struct Frequencies {
  std::vector<std::size_t> row_of;  // of each channel; row 0 is the lowest
  Binning binning;
  figure::Axis axis;
  std::vector<double> centre;
};

Frequencies place_in_frequency(const formats::VisibilityDescription& d, const PlotConfig& config) {
  const std::size_t channels = d.channel_hz.size();
  std::vector<std::size_t> order(channels);
  for (std::size_t c = 0; c < channels; ++c) order[c] = c;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return d.channel_hz[a] < d.channel_hz[b]; });
  Frequencies f;
  f.binning = Binning::of(channels, config.rows);
  f.row_of.resize(channels);
  for (std::size_t k = 0; k < channels; ++k) f.row_of[order[k]] = f.binning.cell(k);
  const double low = d.channel_hz[order.front()] - d.channel_width_hz / 2;
  const double step = channels > 1 ? (d.channel_hz[order.back()] - d.channel_hz[order.front()]) /
                                         static_cast<double>(channels - 1)
                                   : d.channel_width_hz;
  const double cell = step * static_cast<double>(f.binning.per_cell);
  f.axis = axis("frequency", "MHz", low / 1e6,
                (low + cell * static_cast<double>(f.binning.cells)) / 1e6);
  for (std::size_t r = 0; r < f.binning.cells; ++r)
    f.centre.push_back((low + (static_cast<double>(r) + 0.5) * cell) / 1e6);
  return f;
}

using Means = std::vector<std::complex<double>>;  // NaN: nothing valid

// The chosen baseline, [row][column], and its means over columns and over rows.
struct Fringes {
  std::size_t rows = 0, columns = 0;
  Means cells, spectrum, series;
};

// Weighted by counts; means of few samples beside the fullest are left out.
class ComplexMeans {
 public:
  explicit ComplexMeans(std::size_t count) : sums_(count), counts_(count) {}
  void add(std::size_t k, std::complex<double> value, double count) {
    sums_[k] += count * value;
    counts_[k] += count;
  }
  Means means() const {
    const double fullest = *std::max_element(counts_.begin(), counts_.end());
    Means made(sums_.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t k = 0; k < made.size(); ++k)
      if (formats::says_something(counts_[k], fullest)) made[k] = sums_[k] / counts_[k];
    return made;
  }

 private:
  Means sums_;
  std::vector<double> counts_;
};

Fringes read_fringes(formats::VisibilityReader& reader, const Baseline& baseline,
                     const Columns& columns, const Frequencies& frequencies, const PlotRun& run) {
  Fringes f;
  f.rows = frequencies.binning.cells;
  f.columns = columns.count;
  ComplexMeans cells(f.rows * f.columns), spectrum(f.rows), series(f.columns);
  const std::size_t b = core::baseline_index(baseline.second, baseline.first);
  for (std::size_t k = 0; k < reader.integrations(); ++k) {
    const ColumnRange& shown = columns.of[k];
    if (shown.first == shown.end) continue;
    const formats::Integration one = reader.read(k);
    for (std::size_t c = 0; c < frequencies.row_of.size(); ++c) {
      const std::complex<double> value(one.visibilities(c, b));
      if (one.counts(c, b) == 0 || !std::isfinite(std::abs(value))) continue;
      const std::size_t row = frequencies.row_of[c];
      const auto count = static_cast<double>(one.counts(c, b));
      spectrum.add(row, value, count);
      for (std::size_t column = shown.first; column < shown.end; ++column) {
        cells.add(row * f.columns + column, value, count);
        series.add(column, value, count);
      }
    }
    run.at(0.5 + 0.5 * static_cast<double>(k + 1) / static_cast<double>(reader.integrations()));
  }
  f.cells = cells.means();
  f.spectrum = spectrum.means();
  f.series = series.means();
  return f;
}

std::vector<double> amplitudes(const Means& means) {
  std::vector<double> made;
  for (const auto& value : means) made.push_back(std::abs(value));
  return made;
}

std::vector<double> phases(const Means& means) {
  std::vector<double> made;
  for (const auto& value : means) made.push_back(std::arg(value) * kDegrees);
  return made;
}

figure::Axis phase_axis() {
  return axis("phase", "degrees", -180, 180);
}

figure::Panel picture(const std::string& title, const Fringes& f, const std::vector<double>& values,
                      const Columns& columns, const Frequencies& frequencies, bool phase) {
  figure::Panel panel{title, columns.axis, frequencies.axis};
  panel.image.rows = f.rows;
  panel.image.columns = f.columns;
  panel.image.values.assign(values.begin(), values.end());
  panel.image.colour = phase ? phase_axis() : axis("amplitude", "units of the file");
  if (phase)
    panel.image.map = figure::ColourMap::phase;
  else
    figure::fit_colours(panel.image, 0.005, kScaleQuantile);
  return panel;
}

figure::Panel chart(const std::string& title, const figure::Axis& x, const std::vector<double>& at,
                    const std::vector<double>& values, bool phase) {
  figure::Panel panel{title, x, phase ? phase_axis() : axis("amplitude", "units of the file")};
  panel.wide = false;
  panel.lines.push_back({"", phase ? figure::Style::points : figure::Style::line, at, values});
  if (!phase) {
    figure::fit_axis(panel.y, values);
    panel.y.low = 0;
    panel.y.high *= 1.05;
  }
  return panel;
}

figure::Panel matrix_panel(const formats::ArrayLayout& array, const Matrix& matrix) {
  const std::size_t inputs = array.inputs.size();
  const Binning binning = Binning::of(inputs, kMostMatrix);
  MeanGrid grid(binning.cells, binning.cells);
  for (std::size_t i = 0; i < inputs; ++i)
    for (std::size_t j = 0; j < inputs; ++j)
      // An input with itself would outshine all others.
      if (i != j && std::isfinite(matrix.at(i, j)))
        grid.add(binning.cell(i), binning.cell(j), matrix.at(i, j), 1);
  figure::Axis one = axis("input", "", 0, static_cast<double>(binning.cells));
  for (std::size_t k = 0; k < inputs; k += binning.per_cell)
    one.names.push_back(formats::input_name(array, k));
  figure::Panel panel{
      array.antennas.size() > 1 ? "Strength of every baseline" : "Strength of every pair of inputs",
      one, one};
  panel.tall = true;
  panel.image.rows = panel.image.columns = binning.cells;
  panel.image.colour = matrix.normalised() ? axis("correlation coefficient", "")
                                           : axis("amplitude", "units of the file");
  for (std::size_t row = 0; row < binning.cells; ++row)
    for (std::size_t column = 0; column < binning.cells; ++column)
      panel.image.values.push_back(static_cast<float>(grid.mean(row, column)));
  figure::fit_colours(panel.image, 0, 1);
  return panel;
}

}  // namespace

Figure plot_visibilities(const PlotConfig& config, const PlotRun& run) {
  const auto reader = formats::open_visibilities(config.input);
  const formats::VisibilityDescription& d = reader->description();
  const Columns columns = place_in_time(*reader, config);
  const Frequencies frequencies = place_in_frequency(d, config);
  const Matrix matrix = read_matrix(*reader, run);
  const Baseline baseline = config.baseline.empty() ? strongest(d.array, matrix)
                                                    : baseline_named(d.array, config.baseline);
  const Fringes f = read_fringes(*reader, baseline, columns, frequencies, run);
  const std::string name = formats::input_name(d.array, baseline.first) + "\u2013" +
                           formats::input_name(d.array, baseline.second);
  // The feeds of one antenna, or an input with itself, are no baseline.
  const bool pair =
      d.array.inputs[baseline.first].antenna != d.array.inputs[baseline.second].antenna;
  Figure made{name_of(config.input)};
  made.facts = {{"inputs", grouped(d.array.inputs.size())},
                {"channels", fmt::format("{} of {}", grouped(d.channel_hz.size()),
                                         in_hertz(d.channel_width_hz))},
                {"integrations", fmt::format("{} of {}", grouped(reader->integrations()),
                                             in_seconds(d.integration_s))},
                {"first", core::to_iso(reader->middles().front()) + " UTC"},
                {pair ? "baseline" : "product",
                 name + (pair && config.baseline.empty() ? ", the strongest" : "")}};
  if (d.phase_centre.tracked) made.facts.push_back({"phase centre", d.phase_centre.name});
  const std::string of = (pair ? " of baseline " : " of ") + name;
  made.panels.push_back(
      picture("Amplitude" + of, f, amplitudes(f.cells), columns, frequencies, false));
  made.panels.push_back(picture("Phase" + of, f, phases(f.cells), columns, frequencies, true));
  made.panels.push_back(chart("Amplitude, mean over time", frequencies.axis, frequencies.centre,
                              amplitudes(f.spectrum), false));
  made.panels.push_back(chart("Phase, mean over time", frequencies.axis, frequencies.centre,
                              phases(f.spectrum), true));
  if (f.columns > 1) {
    made.panels.push_back(chart("Amplitude, mean over frequency", columns.axis, columns.centre,
                                amplitudes(f.series), false));
    made.panels.push_back(
        chart("Phase, mean over frequency", columns.axis, columns.centre, phases(f.series), true));
  }
  if (d.array.inputs.size() > 1 && !d.autos_only)
    made.panels.push_back(matrix_panel(d.array, matrix));
  if (std::ranges::all_of(f.spectrum, [](const auto& mean) { return std::isnan(mean.real()); }))
    made.notes.push_back(fmt::format(
        "No data: no sample of {} is valid{}.", (pair ? "baseline " : "") + name,
        config.start_s > 0 || config.duration_s >= 0 ? " in the times that are drawn" : ""));
  if (d.array.inputs.size() > 1 && matrix.normalised() && matrix.samples() > 0)
    made.notes.push_back(fmt::format(
        "Correlation coefficients of noise alone are about {:.2g}: 1/sqrt(n), of n = {} "
        "samples of an integration and channel on average.",
        1 / std::sqrt(matrix.samples()),
        grouped(static_cast<std::uint64_t>(std::llround(matrix.samples())))));
  made.notes.push_back(
      "Means are of complex visibilities: a fringe that turns within a mean lowers its amplitude.");
  made.notes.push_back(
      "The colours of amplitudes end where 95 % of the cells lie below: stronger ones have the "
      "last colour.");
  return made;
}

}  // namespace tautline::pipeline::plot
