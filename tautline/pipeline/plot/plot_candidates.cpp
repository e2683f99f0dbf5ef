#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "tautline/core/error.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/pipeline/plot/figures.h"
#include "tautline/pipeline/plot/kinds.h"
#include "tautline/pipeline/plot/texts.h"

namespace tautline::pipeline::plot {

namespace {

namespace figure = formats::figure;

// The largest disc is among the highest, and is drawn whole.
constexpr double kRoomAbove = 0.08;

figure::Panel discs(const std::string& title, const std::vector<double>& x,
                    const std::vector<double>& y, const std::vector<double>& snr,
                    figure::Axis x_axis, figure::Axis y_axis) {
  figure::Panel panel{title, std::move(x_axis), std::move(y_axis)};
  figure::fit_axis(panel.x, x);
  figure::fit_axis(panel.y, y);
  panel.y.high += kRoomAbove * (panel.y.high - panel.y.low);
  panel.lines.push_back({"", figure::Style::points, x, y, {}, snr});
  return panel;
}

// DMs and times are never below zero, and neither are their axes.
void begin_at_zero(figure::Panel& panel) {
  for (figure::Axis* const one : {&panel.x, &panel.y})
    if (one->label != "width" && one->label != "latency" && one->low < 0) one->low = 0;
}

// A tick stands at or below the weakest disc: of three ticks or more the steps divide this power of ten.
void begin_at_tick(figure::Axis& axis) {
  const double power = std::pow(10, std::ceil(std::log10((axis.high - axis.low) / 2)));
  axis.low = power * std::floor(axis.low / power);
}

figure::Axis dm_axis() {
  return axis("DM", "pc cm\u207b\u00b3");
}

// Of the candidates of a live search, which say how late they came.
void add_latency(const std::vector<core::Candidate>& candidates, Figure& made) {
  std::vector<double> time, latency, snr;
  for (const core::Candidate& one : candidates) {
    if (!one.latency_s) continue;
    time.push_back(one.time_s);
    latency.push_back(*one.latency_s);
    snr.push_back(one.snr);
  }
  if (latency.empty()) return;
  figure::Panel panel =
      discs("Latency", time, latency, snr, axis("time", "s"), axis("latency", "s"));
  panel.y.low = std::min(0.0, *std::min_element(latency.begin(), latency.end()));
  made.panels.push_back(std::move(panel));
  std::sort(latency.begin(), latency.end());
  made.facts.push_back({"latency", fmt::format("median {:.3g} s, largest {:.3g} s",
                                               latency[latency.size() / 2], latency.back())});
  made.notes.push_back(
      "Latency: data that had come behind the pulse in the lowest channel when its candidate was "
      "written.");
}

// How many have a part of their sweep that stands in for data.
void add_filled(const std::vector<core::Candidate>& candidates, Figure& made) {
  std::size_t some = 0;
  double most = 0;
  for (const core::Candidate& one : candidates) {
    some += one.filled.value_or(0) > 0 ? 1 : 0;
    most = std::max(most, one.filled.value_or(0));
  }
  if (some > 0)
    made.facts.push_back({"with filled data", fmt::format("{}; of a sweep {:.3g} % at most",
                                                          grouped(some), 100 * most)});
}

// Between the segments of data that the record beside the list names: gaps, and steps of level as gaps of no length.
void add_gaps(const std::string& list, figure::Panel& panel, std::vector<std::string>& notes) {
  std::ifstream file(list + ".json");
  const auto record = nlohmann::json::parse(file, nullptr, false);
  if (!record.is_object() || record.value("schema", "") != "tautline.search.record") return;
  try {
    const double tsamp_s = record.at("tsamp_s").get<double>();
    std::optional<double> done;
    for (const nlohmann::json& segment : record.value("data_segments", nlohmann::json::array())) {
      const double first = segment.at("first_sample").get<double>() * tsamp_s;
      if (done && first >= panel.x.low && *done <= panel.x.high)
        panel.empty.emplace_back(*done, first);
      done = first + segment.at("samples").get<double>() * tsamp_s;
    }
  } catch (const nlohmann::json::exception&) {  // not of this program
    panel.empty.clear();
  }
  if (!panel.empty.empty())
    notes.push_back(
        "Grey: no data; a line: the level steps, and each side was searched by itself.");
}

}  // namespace

figure::Panel pulse_panel(const std::string& title, const std::vector<double>& time_s,
                          const std::vector<double>& dm, const std::vector<double>& snr) {
  figure::Panel panel = discs(title, time_s, dm, snr, axis("time", "s"), dm_axis());
  begin_at_zero(panel);
  return panel;
}

figure::Panel pulse_image(const std::string& title, const figure::Axis& x, figure::Axis y,
                          std::size_t columns, std::vector<float> values, figure::Axis colour) {
  figure::Panel panel{title, x, std::move(y)};
  panel.image.rows = values.size() / columns;
  panel.image.columns = columns;
  panel.image.values = std::move(values);
  panel.image.colour = std::move(colour);
  figure::fit_colours(panel.image, 0.02, 0.9995);
  return panel;
}

void cut_below_zero(figure::Panel& panel) {
  constexpr std::size_t kMostRows = 300;  // of more, half a row is hardly seen
  figure::Image& image = panel.image;
  if (panel.y.low >= 0 || !panel.y.names.empty() || image.rows == 0) return;
  panel.y.low += (panel.y.high - panel.y.low) / static_cast<double>(image.rows) / 2;
  if (image.rows > kMostRows) return;
  std::vector<float> halves(image.values.begin(),
                            image.values.begin() + static_cast<std::ptrdiff_t>(image.columns));
  for (std::size_t half = 2; half < 2 * image.rows; ++half) {
    const auto row = image.values.begin() + static_cast<std::ptrdiff_t>(half / 2 * image.columns);
    halves.insert(halves.end(), row, row + static_cast<std::ptrdiff_t>(image.columns));
  }
  image.values = std::move(halves);
  image.rows = 2 * image.rows - 1;
}

Figure plot_candidates(const PlotConfig& config) {
  const std::vector<core::Candidate> candidates = formats::candidates::read(config.input);
  if (candidates.empty())
    throw core::Error(core::ErrorKind::format, config.input, "no candidates", "at least one");
  std::vector<double> time, dm, snr, width;
  for (const core::Candidate& one : candidates) {
    time.push_back(one.time_s);
    dm.push_back(one.dm);
    snr.push_back(one.snr);
    width.push_back(static_cast<double>(one.width_samples));
  }
  const auto best = std::max_element(candidates.begin(), candidates.end(),
                                     [](const auto& a, const auto& b) { return a.snr < b.snr; });
  Figure made{name_of(config.input)};
  made.facts = {{"candidates", grouped(candidates.size())},
                {"best S/N", fmt::format("{:.1f} at {:.6g} s, DM {:.6g} pc cm\u207b\u00b3",
                                         best->snr, best->time_s, best->dm)}};
  const auto snr_axis = axis("S/N", "");
  made.panels.push_back(pulse_panel("Candidates", time, dm, snr));
  made.panels.back().tall = true;
  made.panels.push_back(discs("Strength and DM", dm, snr, snr, dm_axis(), snr_axis));
  figure::Axis widths = axis("width", "samples");
  widths.scale = figure::Scale::logarithmic;
  made.panels.push_back(discs("Strength and width", width, snr, snr, widths, snr_axis));
  for (std::size_t k = 1; k < 3; ++k) {
    made.panels[k].wide = false;
    begin_at_tick(made.panels[k].y);
  }
  made.notes.push_back("Discs grow, and go from dark to light, with S/N.");
  add_filled(candidates, made);
  add_latency(candidates, made);
  for (figure::Panel& panel : made.panels) begin_at_zero(panel);
  add_gaps(config.input, made.panels.front(), made.notes);
  return made;
}

}  // namespace tautline::pipeline::plot
