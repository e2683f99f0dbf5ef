#include "tautline/jit/tuning_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace tautline::jit::figures {

namespace {

constexpr double kWidth = 720;

std::string text(double x, double y, std::string_view anchor, std::string_view words,
                 std::string_view style = "") {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" class="{}">{}</text>)", x, y,
                     anchor, style, escape(words));
}

std::string rectangle(double x, double y, double width, double height, std::string_view style,
                      const std::string& title) {
  return fmt::format(
      R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" class="{}"><title>{}</title></rect>)",
      x, y, std::max(width, 0.0), std::max(height, 0.0), style, escape(title));
}

std::string line(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}"/>)", x1,
                     y1, x2, y2, style);
}

std::string svg(double height, std::string_view label, const std::string& body) {
  return fmt::format(R"(<svg viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}</svg>)",
                     kWidth, height, escape(label), body);
}

// A round step that gives five or so ticks below `most`.
double tick_step(double most) {
  const double rough = most / 5, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

// A horizontal axis of rates from 0 to `most`.
struct RateAxis {
  double left, right, most;
  double x(double rate) const { return left + (right - left) * rate / most; }

  std::string draw(double top, double bottom, const std::string& unit) const {
    std::string body;
    const double step = tick_step(most);
    for (double rate = 0; rate <= most * 1.0001; rate += step) {
      body += line(x(rate), top, x(rate), bottom, "grid");
      body += text(x(rate), bottom + 16, "middle", with_prefix(rate), "tick");
    }
    return body + text((left + right) / 2, bottom + 34, "middle", unit, "label");
  }
};

struct Mark {
  double rate;
  std::string words, style;
};

// Marks with their words in rows, the fastest on top: each line begins below the words to the left
// of it.
std::string draw_marks(std::vector<Mark> marks, const RateAxis& axis, double top, double bottom) {
  std::erase_if(marks, [](const Mark& mark) { return mark.rate <= 0; });
  std::sort(marks.begin(), marks.end(),
            [](const Mark& a, const Mark& b) { return a.rate < b.rate; });
  std::string body;
  for (std::size_t k = 0; k < marks.size(); ++k) {
    const double x = axis.x(marks[k].rate), y = top - 8 - 15 * static_cast<double>(k);
    const bool left = x > axis.left + (axis.right - axis.left) / 3;
    body += line(x, y - 10, x, bottom, "mark " + marks[k].style);
    body += text(left ? x - 5 : x + 5, y, left ? "end" : "start", marks[k].words, marks[k].style);
  }
  return body;
}

}  // namespace

std::string with_prefix(double value) {
  constexpr std::array<std::string_view, 6> kPrefixes{"", " k", " M", " G", " T", " P"};
  if (!(value > 0)) return "0";
  std::size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{:.3g}{}", value, kPrefixes[prefix]);
}

std::string escape(std::string_view words) {
  std::string out;
  for (const char c : words) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string histogram(const TunedProblem& problem, double fixed_rate) {
  const Distribution d = distribution(problem);
  if (d.count == 0) return {};
  const Result* best = problem.report.best();
  const double best_rate = best == nullptr ? 0 : problem.rate(best->seconds);
  const double gain = gain_over_default(problem);
  constexpr double kTop = 74, kBottom = 260;
  const RateAxis axis{52, kWidth - 28, std::max(d.most, best_rate) * 1.02};
  const auto highest = static_cast<double>(*std::max_element(d.bins.begin(), d.bins.end()));

  std::string body = axis.draw(kTop, kBottom, problem.unit);
  const auto height = [&](double count) { return (kBottom - kTop) * count / highest; };
  const double step = std::max(1.0, tick_step(highest));
  for (double count = step; count <= highest; count += step) {
    body += line(axis.left, kBottom - height(count), axis.right, kBottom - height(count), "grid");
    body += text(axis.left - 6, kBottom - height(count) + 4, "end", fmt::format("{:.0f}", count),
                 "tick");
  }
  for (std::size_t b = 0; b < d.bins.size(); ++b) {
    const double from = static_cast<double>(b) * d.bin_width, to = from + d.bin_width;
    const double tall = height(static_cast<double>(d.bins[b]));
    if (d.bins[b] > 0)
      body +=
          rectangle(axis.x(from) + 0.5, kBottom - tall, axis.x(to) - axis.x(from) - 1, tall, "bar",
                    fmt::format("{} candidates from {} to {}", d.bins[b], with_prefix(from),
                                with_prefix(to)));
  }
  body += line(axis.left, kBottom, axis.right, kBottom, "axis");
  body += draw_marks(
      {{d.mean, "mean " + with_prefix(d.mean), "mean"},
       {gain > 0 ? best_rate / gain : 0, "default", "default"},
       {fixed_rate, "best fixed", "fixed"},
       {best_rate,
        fmt::format("best {}: mean + {:.1f} deviations", with_prefix(best_rate), d.optimum_sigmas),
        "best"}},
      axis, kTop, kBottom);
  return svg(kBottom + 42, "Histogram of the rates of all candidates", body);
}

std::string parameters(const TunedProblem& problem) {
  std::map<std::pair<std::string, std::int64_t>, double> best;
  double most = 0;
  for (const Result& result : problem.report.results) {
    if (result.outcome != Outcome::measured) continue;
    const double rate = problem.rate(result.seconds);
    most = std::max(most, rate);
    for (const auto& [name, value] : result.configuration) {
      double& known = best[{name, value}];
      known = std::max(known, rate);
    }
  }
  const Result* winner = problem.report.best();
  if (most == 0 || winner == nullptr) return {};
  constexpr double kName = 190, kRow = 20, kGap = 8, kLeft = kName + 44;
  const RateAxis axis{kLeft, kWidth - 60, most * 1.02};
  std::string body;
  double y = 6;
  for (const Parameter& parameter : problem.space.parameters()) {
    if (parameter.values.size() < 2) continue;
    body += text(kName, y + 14, "end", parameter.name, "name");
    for (const std::int64_t value : parameter.values) {
      const double rate = best[{parameter.name, value}];
      const bool chosen = winner->configuration.at(parameter.name) == value;
      const std::string words = std::to_string(value);
      body += text(kLeft - 6, y + 14, "end", words, chosen ? "chosen" : "tick");
      if (rate > 0)
        body += rectangle(
            axis.left, y + 3, axis.x(rate) - axis.left, kRow - 6, chosen ? "bar chosen" : "bar",
            fmt::format("{} = {}: {} at best", parameter.name, value, with_prefix(rate)));
      body += text(rate > 0 ? axis.x(rate) + 5 : axis.left, y + 14, "start",
                   rate > 0 ? with_prefix(rate) : "none ran", "tick");
      y += kRow;
    }
    y += kGap;
  }
  body += line(axis.left, 2, axis.left, y - kGap + 4, "axis");
  return svg(y, "Best rate by the value of each parameter", body);
}

std::string comparison(const std::vector<Comparison>& rows) {
  constexpr double kLeft = 8, kBar = 14, kName = 18, kRow = kName + 3 * kBar + 14;
  const RateAxis axis{kLeft, kWidth - 150, 1};
  std::string body;
  double y = 8;
  for (const Comparison& row : rows) {
    body += text(kLeft, y + 12, "start", row.problem, "name");
    double top = y + kName;
    const auto bar = [&](double rate, const char* style, const std::string& words) {
      if (rate > 0 && row.tuned > 0) {
        const double end = axis.x(std::min(1.0, rate / row.tuned));
        body += rectangle(axis.left, top, end - axis.left, kBar - 2, std::string("bar ") + style,
                          words);
        body += text(end + 6, top + 10, "start", words, "tick");
      }
      top += kBar;
    };
    const auto share = [&](double rate) { return fmt::format("{:.0f} %", 100 * rate / row.tuned); };
    bar(row.default_rate, "default", "default: " + share(row.default_rate));
    bar(row.fixed, "fixed", "best fixed: " + share(row.fixed));
    bar(row.tuned, "best", "tuned: " + with_prefix(row.tuned));
    y += kRow;
  }
  body += line(axis.left, 2, axis.left, y - 8, "axis");
  return svg(y, "Default, best fixed and tuned configurations", body);
}

}  // namespace tautline::jit::figures
