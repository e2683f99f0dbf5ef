#include "tautline/jit/tuning_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>

#include "tautline/jit/tuning_figures.h"

namespace tautline::jit {

namespace {

using figures::escape;
using figures::with_prefix;

struct Place {
  std::string problem, key;
  std::size_t value = 0;
};

// The inverse of swept_name.
std::optional<Place> place_of(const std::string& name) {
  const std::size_t comma = name.rfind(','), equals = name.rfind('=');
  if (comma == std::string::npos || equals == std::string::npos || equals < comma) return {};
  Place place{name.substr(0, comma), name.substr(comma + 1, equals - comma - 1), 0};
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + equals + 1, end, place.value);
  if (error != std::errc() || stop != end) return {};
  return place;
}

SweepPoint point_of(const TunedProblem& problem, std::size_t value, double fixed_fraction) {
  SweepPoint point;
  point.value = value;
  const Distribution d = distribution(problem);
  point.mean = d.mean;
  point.optimum_sigmas = d.optimum_sigmas;
  point.candidates = d.count;
  const Result* best = problem.report.best();
  if (best == nullptr) return point;
  point.best = best->configuration;
  point.tuned = problem.rate(best->seconds);
  point.fixed = point.tuned * fixed_fraction;
  if (const double gain = gain_over_default(problem); gain > 0)
    point.default_rate = point.tuned / gain;
  return point;
}

Sweep sweep_of(const std::vector<const TunedProblem*>& problems) {
  const Place first = *place_of(problems.front()->name);
  Sweep sweep{first.problem, first.key, problems.front()->unit, {}, {}};
  const auto fixed = best_fixed(problems);
  if (fixed) sweep.fixed = fixed->configuration;
  for (std::size_t k = 0; k < problems.size(); ++k)
    sweep.points.push_back(point_of(*problems[k], place_of(problems[k]->name)->value,
                                    fixed ? fixed->fractions[k] : 0));
  return sweep;
}

// One chart: curves of values against sizes, which double from one to the next.
class Chart {
 public:
  Chart(const Sweep& sweep, std::string title) : sweep_(sweep), title_(std::move(title)) {}

  void add(std::string name, std::string style, std::function<double(const SweepPoint&)> value) {
    for (const SweepPoint& point : sweep_.points) most_ = std::max(most_, value(point));
    curves_.push_back({std::move(name), std::move(style), std::move(value)});
  }

  std::string draw(const std::string& unit, const std::function<std::string(double)>& words) const {
    if (!(most_ > 0) || sweep_.points.size() < 2) return {};
    std::string body;
    const double step = tick_step();
    for (double v = 0; v <= most_ * 1.02; v += step) {
      body += fmt::format(R"(<line x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}" class="grid"/>)", kLeft,
                          y(v), kRight, y(v));
      body += fmt::format(R"(<text x="{}" y="{:.1f}" text-anchor="end" class="tick">{}</text>)",
                          kLeft - 6, y(v) + 4, words(v));
    }
    for (std::size_t k = 0; k < sweep_.points.size(); ++k)
      body += fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="middle" class="tick">{}</text>)",
                          x(k), kBottom + 16, sweep_.points[k].value);
    body += fmt::format(R"(<text x="{}" y="{}" text-anchor="middle" class="label">{}</text>)",
                        (kLeft + kRight) / 2, kBottom + 34, escape(sweep_.key));
    body += fmt::format(R"(<text x="{}" y="14" text-anchor="start" class="label">{}</text>)", kLeft,
                        escape(unit));
    for (std::size_t c = 0; c < curves_.size(); ++c) body += draw_curve(curves_[c], c);
    return fmt::format(
        R"(<h3>{}</h3><svg viewBox="0 0 720 {}" role="img" aria-label="{}">{}</svg>)",
        escape(title_), kBottom + 42, escape(title_), body);
  }

 private:
  struct Curve {
    std::string name, style;
    std::function<double(const SweepPoint&)> value;
  };
  static constexpr double kLeft = 60, kRight = 560, kTop = 24, kBottom = 220;

  double x(std::size_t k) const {
    return kLeft + 14 +
           (kRight - kLeft - 28) * static_cast<double>(k) /
               static_cast<double>(sweep_.points.size() - 1);
  }
  double y(double v) const { return kBottom - (kBottom - kTop) * v / (most_ * 1.02); }

  double tick_step() const {
    const double rough = most_ / 5, power = std::pow(10, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0})
      if (rough <= factor * power) return factor * power;
    return 10 * power;
  }

  std::string draw_curve(const Curve& curve, std::size_t number) const {
    std::string path, dots;
    for (std::size_t k = 0; k < sweep_.points.size(); ++k) {
      const double v = curve.value(sweep_.points[k]);
      if (!(v > 0)) continue;
      path += fmt::format("{}{:.1f} {:.1f} ", path.empty() ? "M" : "L", x(k), y(v));
      dots += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3" class="dot {}"/>)", x(k), y(v),
                          curve.style);
    }
    const double at = kTop + 8 + 18 * static_cast<double>(number);
    return fmt::format(
        R"(<path d="{}" class="curve {}"/>{}<line x1="{}" y1="{}" x2="{}" y2="{}" class="curve {}"/>)"
        R"(<text x="{}" y="{}" class="{}">{}</text>)",
        path, curve.style, dots, kRight + 14, at, kRight + 34, at, curve.style, kRight + 40, at + 4,
        curve.style, escape(curve.name));
  }

  const Sweep& sweep_;
  std::string title_;
  double most_ = 0;
  std::vector<Curve> curves_;
};

std::string charts(const Sweep& sweep) {
  Chart rates(sweep, sweep.problem + ": rates");
  rates.add("tuned", "best", [](const SweepPoint& p) { return p.tuned; });
  rates.add("best fixed", "fixed", [](const SweepPoint& p) { return p.fixed; });
  rates.add("default", "default", [](const SweepPoint& p) { return p.default_rate; });
  rates.add("mean of the space", "mean", [](const SweepPoint& p) { return p.mean; });
  Chart sigmas(sweep, sweep.problem + ": how far the optimum is above the mean");
  sigmas.add("optimum", "best", [](const SweepPoint& p) { return p.optimum_sigmas; });
  Chart gains(sweep, sweep.problem + ": speed-up over the best fixed configuration");
  gains.add("tuned", "best", [](const SweepPoint& p) { return p.gain_over_fixed(); });
  const auto plain = [](double v) { return fmt::format("{:.3g}", v); };
  return rates.draw(sweep.unit, [](double v) { return with_prefix(v); }) +
         sigmas.draw("standard deviations", plain) + gains.draw("x", plain);
}

std::string table(const Sweep& sweep) {
  std::string html = fmt::format(
      "<table><tr><th class=n>{}<th class=n>tuned<th class=n>best fixed<th class=n>default<th "
      "class=n>mean<th class=n>deviations above it<th class=n>gain over fixed<th "
      "class=n>candidates<th>configuration</tr>\n",
      escape(sweep.key));
  for (const SweepPoint& p : sweep.points)
    html += fmt::format(
        "<tr><td class=n>{}<td class=n>{}<td class=n>{}<td class=n>{}<td class=n>{}<td "
        "class=n>{:.1f}<td class=n>{:.2f} x<td class=n>{}<td>{}</tr>\n",
        p.value, with_prefix(p.tuned), with_prefix(p.fixed), with_prefix(p.default_rate),
        with_prefix(p.mean), p.optimum_sigmas, p.gain_over_fixed(), p.candidates,
        escape(describe(p.best)));
  return html + "</table>\n";
}

}  // namespace

std::string swept_name(const std::string& problem, const std::string& key, std::size_t value) {
  return problem + "," + key + "=" + std::to_string(value);
}

std::vector<std::vector<std::size_t>> swept_together(std::span<const TunedProblem> problems) {
  using Member = std::pair<std::size_t, std::size_t>;  // size, place among the problems
  std::vector<std::pair<std::string, std::string>> order;
  std::map<std::pair<std::string, std::string>, std::vector<Member>> members;
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const auto place = place_of(problems[p].name);
    if (!place) continue;
    auto& list = members[{place->problem, place->key}];
    if (list.empty()) order.emplace_back(place->problem, place->key);
    list.emplace_back(place->value, p);
  }
  std::vector<std::vector<std::size_t>> groups;
  for (const auto& sweep : order) {
    auto& list = members[sweep];
    if (list.size() < 2) continue;
    std::sort(list.begin(), list.end());
    groups.emplace_back();
    for (const Member& member : list) groups.back().push_back(member.second);
  }
  return groups;
}

std::vector<Sweep> sweeps_of(std::span<const TunedProblem> problems) {
  std::vector<Sweep> sweeps;
  for (const auto& group : swept_together(problems)) {
    std::vector<const TunedProblem*> members;
    for (const std::size_t p : group) members.push_back(&problems[p]);
    sweeps.push_back(sweep_of(members));
  }
  return sweeps;
}

Json sweeps_json(const std::vector<Sweep>& sweeps) {
  Json list = Json::array();
  for (const Sweep& sweep : sweeps) {
    Json points = Json::array();
    for (const SweepPoint& p : sweep.points)
      points.push_back({{"value", p.value},
                        {"tuned_rate", p.tuned},
                        {"fixed_rate", p.fixed},
                        {"default_rate", p.default_rate},
                        {"mean_rate", p.mean},
                        {"optimum_sigmas", p.optimum_sigmas},
                        {"gain_over_fixed", p.gain_over_fixed()},
                        {"candidates", p.candidates},
                        {"configuration", p.best}});
    Json object{{"problem", sweep.problem}, {"key", sweep.key}, {"unit", sweep.unit}};
    object["best_fixed"] = sweep.fixed ? Json(*sweep.fixed) : Json();
    object["points"] = std::move(points);
    list.push_back(std::move(object));
  }
  return list;
}

std::string sweep_section(const std::vector<Sweep>& sweeps) {
  std::string html;
  for (const Sweep& sweep : sweeps) {
    html += fmt::format("<h2>{} against {}</h2>\n<div class=card>", escape(sweep.problem),
                        escape(sweep.key));
    html += charts(sweep);
    html += sweep.fixed ? "<p>Best fixed configuration: " + escape(describe(*sweep.fixed)) + "</p>"
                        : "<p>No configuration was measured at every size.</p>";
    html += "</div>\n<div class=card><h3>Rates, " + escape(sweep.unit) + "</h3>" + table(sweep) +
            "</div>\n";
  }
  return html;
}

}  // namespace tautline::jit
