// What `tune` and `bench` found.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "tautline/core/error.h"
#include "tautline/formats/input_file.h"
#include "tautline/jit/configuration.h"
#include "tautline/jit/wisdom.h"
#include "tautline/pipeline/plot/kinds.h"
#include "tautline/pipeline/plot/texts.h"

namespace tautline::pipeline::plot {

namespace {

namespace figure = formats::figure;

constexpr std::size_t kFirstBytes = 4096, kMostBytes = std::size_t{64} << 20,
                      kMostRows = 25;  // a picture has room for their names

enum class Timings { none, wisdom, bench };

Timings kind_of(const std::string& path) {
  const std::vector<std::byte> head = formats::InputFile(path).head(kFirstBytes);
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (!text.starts_with('{')) return Timings::none;
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.find("\"tautline.wisdom\"") != std::string_view::npos) return Timings::wisdom;
  if (line.find("\"tautline.bench\"") != std::string_view::npos) return Timings::bench;
  return Timings::none;
}

// One point on a line of its own for each name.
figure::Panel named_points(const std::string& title, figure::Axis x,
                           const std::vector<std::pair<std::string, double>>& found) {
  figure::Panel panel{title, std::move(x), axis("", "", 0, static_cast<double>(found.size()))};
  panel.tall = true;
  figure::Line line;
  line.style = figure::Style::points;
  for (std::size_t k = 0; k < found.size(); ++k) {
    panel.y.names.push_back(found[k].first);
    line.x.push_back(found[k].second);
    line.y.push_back(static_cast<double>(k) + 0.5);
  }
  figure::fit_axis(panel.x, line.x);
  if (panel.x.scale == figure::Scale::linear) panel.x.low = std::min(0.0, panel.x.low);
  panel.lines.push_back(std::move(line));
  return panel;
}

// The last of those of one name counts, and the best stand on top.
void keep(std::vector<std::pair<std::string, double>>& found, const std::string& name,
          double value) {
  const auto same =
      std::find_if(found.begin(), found.end(), [&](const auto& one) { return one.first == name; });
  if (same != found.end())
    same->second = value;
  else
    found.emplace_back(name, value);
}

Figure finish(Figure made, std::vector<std::pair<std::string, double>> found,
              const std::string& title, const figure::Axis& x) {
  if (found.empty())
    throw core::Error(core::ErrorKind::format, made.title, "no timings", "at least one line");
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.second < b.second; });
  if (found.size() > kMostRows) {
    made.notes.push_back(fmt::format("The best {} of {}.", kMostRows, grouped(found.size())));
    found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(kMostRows));
  }
  made.panels.push_back(named_points(title, x, found));
  return made;
}

Figure plot_wisdom(const PlotConfig& config) {
  const jit::Wisdom wisdom = jit::read_wisdom(config.input);
  std::vector<std::pair<std::string, double>> found;
  for (const jit::WisdomEntry& entry : wisdom.entries) {
    if (!(entry.default_seconds > 0) || !(entry.seconds > 0)) continue;
    keep(found,
         fmt::format("{} {} {}: {}", entry.key.stage, entry.key.variant, entry.key.product,
                     jit::describe(entry.key.problem)),
         entry.default_seconds / entry.seconds);
  }
  Figure made{name_of(config.input)};
  made.facts = {{"results of tuning", grouped(wisdom.entries.size())}};
  if (wisdom.damaged_lines > 0)
    made.notes.push_back(fmt::format("{} damaged lines were left out.", wisdom.damaged_lines));
  made.notes.push_back("1: as fast as the configuration that a plan takes without tuning.");
  return finish(std::move(made), std::move(found), "What tuning gained",
                axis("speed over the default configuration's", ""));
}

Figure plot_bench(const PlotConfig& config) {
  const formats::InputFile file(config.input);
  if (file.size() > kMostBytes)
    throw core::Error(core::ErrorKind::format, config.input, grouped(file.size()) + " bytes",
                      "at most " + grouped(kMostBytes));
  const std::vector<std::byte> bytes = file.head(kMostBytes);
  std::istringstream lines(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  std::vector<std::pair<std::string, double>> found;
  std::string text;
  std::size_t count = 0;
  while (std::getline(lines, text)) {
    ++count;
    const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
    if (!line.is_object())
      throw core::Error(core::ErrorKind::format, config.input + ": line " + std::to_string(count),
                        "no JSON object", "what `bench` prints as JSON Lines");
    if (line.value("schema", "") != "tautline.bench" || !line["fraction_of_limit"].is_number())
      continue;
    keep(found,
         fmt::format("{} {} on {}", line.value("stage", ""), line.value("problem", ""),
                     line.value("device", "")),
         100 * line["fraction_of_limit"].get<double>());
  }
  Figure made{name_of(config.input)};
  made.facts = {{"measurements", grouped(found.size())}};
  return finish(std::move(made), std::move(found), "Measured rates",
                axis("rate over the device's limit", "per cent"));
}

}  // namespace

bool holds_timings(const std::string& path) {
  return kind_of(path) != Timings::none;
}

Figure plot_timings(const PlotConfig& config) {
  return kind_of(config.input) == Timings::wisdom ? plot_wisdom(config) : plot_bench(config);
}

}  // namespace tautline::pipeline::plot
