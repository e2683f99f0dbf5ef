// Photon time tags, and counts in bins.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include "tautline/core/error.h"
#include "tautline/formats/count_reader.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/pipeline/photons/count_stops.h"
#include "tautline/pipeline/photons/photon_steps.h"
#include "tautline/pipeline/photons/tcspc_histogram.h"
#include "tautline/pipeline/plot/kinds.h"
#include "tautline/pipeline/plot/mean_grid.h"
#include "tautline/pipeline/plot/stopped.h"
#include "tautline/pipeline/plot/texts.h"

namespace tautline::pipeline::plot {

namespace {

namespace figure = formats::figure;

constexpr std::size_t kPhotons = std::size_t{1} << 14, kCountBytes = std::size_t{4} << 20;
constexpr std::size_t kMostDetectors = 8, kMostPixels = 512, kTraceCells = 500;

// `steps` get the photons of all detectors, without the sync input of T2, and `detectors` their numbers.
std::uint64_t last_time(formats::PhotonReader& reader, const PlotRun& run, PhotonSteps& steps,
                        std::vector<std::uint16_t>& detectors) {
  std::vector<bool> seen(std::size_t{std::numeric_limits<std::uint16_t>::max()} + 1);
  if (reader.description().mode != formats::TagMode::t3) seen[formats::kSyncChannel] = true;
  const std::vector<bool> left_out = seen;
  std::vector<formats::Photon> photons(kPhotons);
  std::uint64_t last = 0;
  reader.rewind();
  while (const std::size_t count = reader.read(photons)) {
    last = photons[count - 1].time;
    for (const formats::Photon& photon : std::span(photons).first(count)) {
      if (left_out[photon.channel]) continue;
      if (!seen[photon.channel]) detectors.push_back(photon.channel);
      seen[photon.channel] = true;
      steps.add(photon.time, photon.channel);
    }
    run.at(0.3 * static_cast<double>(reader.counts().records) /
           static_cast<double>(std::max<std::uint64_t>(1, reader.description().records)));
  }
  return last;
}

struct Window {
  double first_s = 0, end_s = 0;
};

Window window_of(const PlotConfig& config, double length_s) {
  Window window{config.start_s, length_s};
  if (config.duration_s >= 0) window.end_s = std::min(length_s, config.start_s + config.duration_s);
  if (!(window.first_s < window.end_s))
    throw core::Error(core::ErrorKind::config, "start_s", fmt::format("{} s", config.start_s),
                      fmt::format("less than the {:.6g} s that were recorded", length_s));
  return window;
}

std::string name_of_detector(std::uint16_t detector) {
  return fmt::format("detector {}", detector);
}

// `stops`, of the `detectors` in this order, are in ticks.
figure::Panel rate_panel(formats::PhotonReader& reader, const Window& window, const PlotRun& run,
                         const Stops& stops, std::span<const std::uint16_t> detectors,
                         std::vector<std::string>& notes) {
  const double unit = reader.description().time_unit_s;
  const double cell = (window.end_s - window.first_s) / kTraceCells;
  std::map<std::uint16_t, std::vector<double>> counts;
  std::vector<formats::Photon> photons(kPhotons);
  reader.rewind();
  while (const std::size_t count = reader.read(photons)) {
    for (std::size_t n = 0; n < count; ++n) {
      const double at = static_cast<double>(photons[n].time) * unit;
      if (at < window.first_s || at >= window.end_s) continue;
      std::vector<double>& of = counts[photons[n].channel];
      of.resize(kTraceCells);
      of[std::min(kTraceCells - 1, static_cast<std::size_t>((at - window.first_s) / cell))] += 1;
    }
    run.at(0.3 + 0.4 * static_cast<double>(reader.counts().records) /
                     static_cast<double>(std::max<std::uint64_t>(1, reader.description().records)));
  }
  double scale = 1;
  figure::Panel panel{"Count rate", time_axis(window.first_s, window.end_s - window.first_s, scale),
                      axis("count rate", "kHz")};
  std::vector<double> all;
  std::vector<CountLine> counted;
  for (const auto& [detector, of] : counts) {
    if (panel.lines.size() == kMostDetectors) break;
    figure::Line line;
    line.name = name_of_detector(detector);
    counted.push_back({line.name, of, window.first_s / scale, cell / scale});
    for (std::size_t k = 0; k < of.size(); ++k) {
      line.x.push_back((window.first_s + (static_cast<double>(k) + 0.5) * cell) / scale);
      line.y.push_back(of[k] / cell / 1e3);
    }
    all.insert(all.end(), line.y.begin(), line.y.end());
    panel.lines.push_back(std::move(line));
  }
  std::vector<std::string> names;
  for (const std::uint16_t detector : detectors) names.push_back(name_of_detector(detector));
  mark_stops(counted, repeated_ranges(stops, names, unit, 0, {window.first_s, window.end_s}, scale),
             panel, notes);
  figure::fit_axis(panel.y, all);
  panel.y.low = 0;
  return panel;
}

// Microtimes in bins of several, where there are more of them than a picture has room for.
figure::Panel tcspc_panel(const TcspcHistogram& histogram) {
  const std::size_t microtimes = histogram.counts.empty() ? 0 : histogram.counts.front().size();
  const Binning bins = Binning::of(microtimes, kTraceCells);
  const double bin_s = static_cast<double>(bins.per_cell) * histogram.unit_s;
  figure::Panel panel{"Photons within the period of the laser", axis("time since the pulse", "ns"),
                      axis("photons", "in " + in_seconds(bin_s))};
  panel.y.scale = figure::Scale::logarithmic;
  std::vector<double> all;
  for (std::size_t k = 0; k < histogram.detectors.size() && k < kMostDetectors; ++k) {
    figure::Line line;
    line.name = fmt::format("detector {}", histogram.detectors[k]);
    line.y.assign(bins.cells, 0);
    for (std::size_t at = 0; at < microtimes; ++at)
      line.y[bins.cell(at)] += static_cast<double>(histogram.counts[k][at]);
    for (std::size_t cell = 0; cell < bins.cells; ++cell)
      line.x.push_back((static_cast<double>(cell) + 0.5) * bin_s * 1e9);
    all.insert(all.end(), line.y.begin(), line.y.end());
    panel.lines.push_back(std::move(line));
  }
  figure::fit_axis(panel.y, all);
  panel.x.high = static_cast<double>(bins.cells) * bin_s * 1e9;
  panel.y.low = 0.8;
  return panel;
}

template <class Count>
void decode(std::span<const std::byte> bytes, std::vector<double>& counts) {
  const auto* const from = reinterpret_cast<const Count*>(bytes.data());
  for (std::size_t k = 0; k < counts.size(); ++k) counts[k] = static_cast<double>(from[k]);
}

void decode(core::SampleType type, std::span<const std::byte> bytes, std::vector<double>& counts) {
  switch (type) {
    case core::SampleType::u8:
      return decode<std::uint8_t>(bytes, counts);
    case core::SampleType::u16:
      return decode<std::uint16_t>(bytes, counts);
    case core::SampleType::u32:
      return decode<std::uint32_t>(bytes, counts);
    case core::SampleType::f32:
      return decode<float>(bytes, counts);
    default:
      throw core::Error(core::ErrorKind::unsupported, "dtype", std::string(core::to_string(type)),
                        "u8, u16, u32 or f32");
  }
}

// Each has a trace, in which it may stop; of cameras that have more pixels all together have one.
constexpr std::size_t kMostTraces = 4096;

struct CountMeans {
  Binning time;
  MeanGrid trace;
  std::vector<double> traces;   // sums, [sensor][cell]; empty: too many sensors
  std::vector<double> sensors;  // sums
  std::uint64_t samples = 0;
};

CountMeans read_counts(formats::CountReader& reader, std::uint64_t first, std::uint64_t samples,
                       const PlotRun& run) {
  const formats::CountDescription& d = reader.description();
  CountMeans m{
      Binning::of(samples, kTraceCells), MeanGrid(1, 1), {}, std::vector<double>(d.sensors), 0};
  m.trace = MeanGrid(1, m.time.cells);
  if (d.sensors > 1 && d.sensors <= kMostTraces) m.traces.resize(d.sensors * m.time.cells);
  const std::size_t row_bytes = d.sensors * core::bytes_of(d.type);
  std::vector<std::byte> bytes(std::max<std::size_t>(1, kCountBytes / row_bytes) * row_bytes);
  std::vector<double> counts;
  if (first > 0) reader.seek(first);
  while (m.samples < samples) {
    const std::size_t rows = reader.read(bytes);
    if (rows == 0) break;
    counts.resize(rows * d.sensors);
    decode(d.type, bytes, counts);
    for (std::size_t t = 0; t < rows && m.samples < samples; ++t, ++m.samples) {
      double sum = 0;
      for (std::size_t s = 0; s < d.sensors; ++s) {
        sum += counts[t * d.sensors + s];
        m.sensors[s] += counts[t * d.sensors + s];
      }
      const std::size_t cell = m.time.cell(m.samples);
      for (std::size_t s = 0; s < d.sensors && !m.traces.empty(); ++s)
        m.traces[s * m.time.cells + cell] += counts[t * d.sensors + s];
      m.trace.add(0, cell, sum, 1);
    }
    run.at(static_cast<double>(m.samples) / static_cast<double>(samples));
  }
  return m;
}

// All sensors together, and each that stops at another time than all.
std::vector<CountLine> lines_that_may_stop(const CountMeans& m, std::size_t sensors, double first,
                                           double cell) {
  const std::size_t whole = m.samples / m.time.per_cell;
  CountLine all{sensors > 1 ? "all sensors" : "", {}, first, cell};
  for (std::size_t k = 0; k < whole; ++k)
    all.counts.push_back(m.trace.mean(0, k) * static_cast<double>(m.time.per_cell));
  const auto stops_of_all = stopped_steps(all.counts, 1);
  const auto of_all = [&](const StepRange& stop) {
    return std::ranges::any_of(stops_of_all, [&](const StepRange& one) {
      return stop.first + 1 >= one.first && stop.end <= one.end + 1;
    });
  };
  std::vector<CountLine> lines{std::move(all)};
  for (std::size_t s = 0; s * m.time.cells < m.traces.size(); ++s) {
    const auto begin = m.traces.begin() + static_cast<std::ptrdiff_t>(s * m.time.cells);
    CountLine one{fmt::format("sensor {}", s),
                  {begin, begin + static_cast<std::ptrdiff_t>(whole)},
                  first,
                  cell};
    if (!std::ranges::all_of(stopped_steps(one.counts, sensors), of_all))
      lines.push_back(std::move(one));
  }
  return lines;
}

// Of counts in bins, from bin `first` on.
std::vector<RepeatedRanges> repeated_stops_of(const PlotConfig& config, std::uint64_t first,
                                              std::uint64_t samples, double bin_s,
                                              std::size_t sensors, double scale) {
  const Stops stops = find_stops([&] { return formats::open_counts(config.input, config.raw); },
                                 first, samples, bin_s);
  std::vector<std::string> names(sensors);
  for (std::size_t s = 0; s < sensors && sensors > 1; ++s) names[s] = fmt::format("sensor {}", s);
  const double first_s = static_cast<double>(first) * bin_s;
  return repeated_ranges(stops, names, bin_s, first_s,
                         {first_s, first_s + static_cast<double>(samples) * bin_s}, scale);
}

figure::Axis places(const std::string& label, const Binning& binning) {
  figure::Axis made = axis(label, "", 0, static_cast<double>(binning.cells));
  for (std::size_t k = 0; k < binning.cells; ++k)
    made.names.push_back(std::to_string(k * binning.per_cell));
  return made;
}

figure::Panel sensor_map(const formats::CountDescription& d, const CountMeans& m, double per_bin,
                         const figure::Axis& quantity) {
  const std::size_t rows = d.rows > 0 ? d.rows : 1, columns = d.rows > 0 ? d.columns : d.sensors;
  const Binning down = Binning::of(rows, kMostPixels), across = Binning::of(columns, kMostPixels);
  MeanGrid grid(down.cells, across.cells);
  for (std::size_t s = 0; s < d.sensors; ++s)
    grid.add(down.cell(s / columns), across.cell(s % columns),
             m.sensors[s] / static_cast<double>(m.samples) * per_bin, 1);
  figure::Panel panel{"Mean of each sensor", places("column", across), places("row", down)};
  panel.y.downwards = true;  // as cameras and `fit` count
  panel.tall = true;
  panel.image.rows = down.cells;
  panel.image.columns = across.cells;
  panel.image.colour = quantity;
  for (std::size_t row = 0; row < down.cells; ++row)
    for (std::size_t column = 0; column < across.cells; ++column)
      panel.image.values.push_back(static_cast<float>(grid.mean(row, column)));
  figure::fit_colours(panel.image, 0.001, 0.999);
  return panel;
}

}  // namespace

Figure plot_tags(const PlotConfig& config, const PlotRun& run) {
  const auto reader = formats::open_photons(config.input);
  const formats::PhotonDescription& d = reader->description();
  PhotonSteps steps(d.time_unit_s);
  std::vector<std::uint16_t> detectors;
  const std::uint64_t last = last_time(*reader, run, steps, detectors);
  std::ranges::sort(detectors);
  const double length_s = static_cast<double>(last) * d.time_unit_s;
  const std::uint64_t photons = reader->counts().photons;
  if (photons == 0)
    throw core::Error(core::ErrorKind::format, config.input, "no photons", "at least one");
  Figure made{name_of(config.input)};
  made.facts = {{"format", d.record_type.empty() ? d.format : d.record_type},
                {"photons", grouped(photons)},
                {"length", in_seconds(length_s)},
                {"mean rate", in_hertz(static_cast<double>(photons) / length_s)}};
  // One behind the last photon, which counts too.
  const Stops stops = steps.stops(last + 1, 1, d.time_unit_s, detectors.size(), detectors);
  made.panels.push_back(rate_panel(*reader, window_of(config, length_s + d.time_unit_s), run, stops,
                                   detectors, made.notes));
  if (d.microtime_unit_s > 0)
    made.panels.push_back(tcspc_panel(tcspc_histogram(*reader, config.input)));
  for (const std::string& damage : reader->damage().messages)
    made.notes.push_back("Damaged: " + damage);
  return made;
}

Figure plot_tcspc(const PlotConfig& config) {
  const TcspcHistogram histogram = read_tcspc(config.input);
  std::uint64_t photons = 0;
  for (const auto& counts : histogram.counts)
    for (const std::uint64_t one : counts) photons += one;
  Figure made{name_of(config.input)};
  made.facts = {{"photons", grouped(photons)},
                {"detectors", grouped(histogram.detectors.size())},
                {"bins", fmt::format("{} of {}", grouped(histogram.counts.front().size()),
                                     in_seconds(histogram.unit_s))}};
  made.panels.push_back(tcspc_panel(histogram));
  made.panels.back().tall = true;
  if (histogram.detectors.size() > kMostDetectors)
    made.notes.push_back(fmt::format("The first {} of {} detectors.", kMostDetectors,
                                     grouped(histogram.detectors.size())));
  return made;
}

Figure plot_counts(const PlotConfig& config, const PlotRun& run) {
  const auto reader = formats::open_counts(config.input, config.raw);
  const formats::CountDescription& d = reader->description();
  const double bin_s = config.bin_s > 0 ? config.bin_s : d.bin_s;
  const std::uint64_t total = reader->total_samples();
  if (total == 0)
    throw core::Error(core::ErrorKind::format, config.input, "no counts", "at least one");
  // Without a bin, times are counted in bins.
  const double step = bin_s > 0 ? bin_s : 1;
  const Window window = window_of(config, static_cast<double>(total) * step);
  const auto first = static_cast<std::uint64_t>(window.first_s / step);
  const auto samples = std::max<std::uint64_t>(
      1, std::min(total - first, static_cast<std::uint64_t>(
                                     std::llround((window.end_s - window.first_s) / step))));
  const CountMeans m = read_counts(*reader, first, samples, run);
  const double per_bin = bin_s > 0 ? 1 / bin_s / 1e3 : 1;
  const figure::Axis quantity = bin_s > 0 ? axis("count rate", "kHz") : axis("counts", "a bin");
  double scale = 1;
  const double cell = static_cast<double>(m.time.per_cell) * step;
  const double first_s = static_cast<double>(first) * step;
  figure::Panel panel{
      d.sensors > 1 ? "Count rate of all sensors" : "Count rate",
      bin_s > 0 ? time_axis(first_s, cell * static_cast<double>(m.time.cells), scale)
                : axis("time", "bins", first_s, first_s + cell * static_cast<double>(m.time.cells)),
      quantity};
  figure::Line line;
  for (std::size_t k = 0; k < m.time.cells; ++k) {
    line.x.push_back((first_s + (static_cast<double>(k) + 0.5) * cell) / scale);
    line.y.push_back(m.trace.mean(0, k) * per_bin);
  }
  figure::fit_axis(panel.y, line.y);
  panel.y.low = 0;
  panel.lines.push_back(std::move(line));
  Figure made{name_of(config.input)};
  if (total < d.sensors)
    made.notes.push_back(
        fmt::format("Taken for photon counts, {} {} of {} {}. A dedispersed series needs "
                    "the .json that was written with it beside it.",
                    grouped(total), total == 1 ? "time" : "times", grouped(d.sensors),
                    d.sensors == 1 ? "sensor" : "sensors"));
  mark_stops(lines_that_may_stop(m, d.sensors, first_s / scale, cell / scale),
             bin_s > 0 ? repeated_stops_of(config, first, samples, bin_s, d.sensors, scale)
                       : std::vector<RepeatedRanges>{},
             panel, made.notes);
  made.facts = {{"format", d.format}, {"sensors", grouped(d.sensors)}, {"times", grouped(total)}};
  if (bin_s > 0) made.facts.push_back({"bin", in_seconds(bin_s)});
  made.panels.push_back(std::move(panel));
  if (d.sensors > 1) made.panels.push_back(sensor_map(d, m, per_bin, quantity));
  return made;
}

}  // namespace tautline::pipeline::plot
