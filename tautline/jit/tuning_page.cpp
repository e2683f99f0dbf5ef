// The report of a tuning run as one HTML file.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tautline/jit/tuning_figures.h"
#include "tautline/jit/tuning_summary.h"
#include "tautline/jit/tuning_sweep.h"

namespace tautline::jit {

namespace {

using figures::escape;
using figures::with_prefix;

constexpr std::string_view kStyle = R"(
:root { --page: #f4f6f8; --surface: #fff; --line: #d9dfe5; --text: #16202b; --muted: #55636f;
  --axis: #8a97a3; --grid: #e6eaee; --bar: #9db9d6; --best: #0b63b5; --default: #7b8794; --fixed: #bf4d00;
  color-scheme: light; }
@media screen and (prefers-color-scheme: dark) { :root { --page: #0e1318; --surface: #171e25; --line: #2a343e;
  --text: #e6ecf1; --muted: #9aa8b4; --axis: #6b7884; --grid: #28323b; --bar: #3d5f80; --best: #6cb6ff;
  --default: #8d9aa6; --fixed: #ff9f50; color-scheme: dark; } }
body { margin: 0 auto; max-width: 980px; padding: 22px 20px 40px; background: var(--page); color: var(--text);
  font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
h1 { font-size: 24px; margin: 0; } h2 { font-size: 18px; margin: 30px 0 8px; } h3 { font-size: 14px; margin: 0 0 6px; }
p { color: var(--muted); margin: 4px 0 0; } h1, h2, h3, p { overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; margin: 12px 0; }
.tile, .card { background: var(--surface); border: 1px solid var(--line); border-radius: 10px; padding: 10px 14px; }
.card { margin: 12px 0; overflow-x: auto; }
.tile span { display: block; color: var(--muted); font-size: 12px; }
.tile b { font-size: 17px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tile small { display: block; color: var(--muted); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 4px 14px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--muted); font-weight: 500; } td.n, th.n { text-align: right; } td.n { white-space: nowrap; } tr.winner td { font-weight: 600; }
td.why { overflow-wrap: anywhere; }
svg { display: block; width: 100%; min-width: 600px; height: auto; font-size: 12px; }
svg text { fill: var(--text); } svg .tick { fill: var(--muted); font-size: 11px; } svg .label { fill: var(--muted); }
svg .grid { stroke: var(--grid); } svg .axis { stroke: var(--axis); } svg .bar { fill: var(--bar); }
svg .mark { stroke-width: 1.5; } svg line.mean { stroke: var(--axis); stroke-dasharray: 4 3; }
svg line.default { stroke: var(--default); } svg line.fixed { stroke: var(--fixed); } svg line.best { stroke: var(--best); }
svg text.mean, svg text.default { fill: var(--muted); } svg text.fixed { fill: var(--fixed); }
svg text.best, svg text.chosen { fill: var(--best); font-weight: 600; }
svg .bar.default { fill: var(--default); } svg .bar.fixed { fill: var(--fixed); } svg .bar.best, svg .bar.chosen { fill: var(--best); }
svg .curve { fill: none; stroke-width: 2; stroke: var(--axis); } svg .dot { fill: var(--axis); }
svg .curve.best { stroke: var(--best); } svg .curve.default { stroke: var(--default); } svg .curve.fixed { stroke: var(--fixed); }
svg .curve.mean { stroke: var(--axis); stroke-dasharray: 4 3; }
svg .dot.best { fill: var(--best); } svg .dot.default { fill: var(--default); } svg .dot.fixed { fill: var(--fixed); }
summary { cursor: pointer; }
@media print { body { padding: 0; } .card { overflow-x: visible; } }
)";

std::string tile(std::string_view name, const std::string& value, const std::string& note) {
  return fmt::format("<div class=tile><span>{}</span><b>{}</b><small>{}</small></div>\n", name,
                     escape(value), escape(note));
}

std::string rate_text(const TunedProblem& problem, double seconds) {
  return with_prefix(problem.rate(seconds)) + " " + problem.unit;
}

std::string tried_note(const TunedProblem& problem) {
  const TuningSearchReport& report = problem.report;
  std::string note = problem.report.whole_space ? "the whole space"
                     : report.legal > 0
                         ? "of " + std::to_string(report.legal) + " legal ones"
                         : "of " + std::to_string(problem.space.combinations()) + " combinations";
  return note + fmt::format(", {}, seed {}", to_string(problem.strategy), problem.seed);
}

std::string tiles(const TunedProblem& problem) {
  const TuningSearchReport& report = problem.report;
  const Distribution d = distribution(problem);
  std::string html = "<div class=tiles>\n";
  if (const Result* best = report.best()) {
    html +=
        tile("Best", rate_text(problem, best->seconds),
             fmt::format("{:.4g} ms, spread {:.1f} %", 1e3 * best->seconds, 100 * best->spread));
    if (const double gain = gain_over_default(problem); gain > 0)
      html += tile("Over the default", fmt::format("{:.2f} x", gain), "timed in the same rounds");
    html +=
        tile("Over the mean", fmt::format("{:.1f} deviations", d.optimum_sigmas),
             fmt::format("mean {}, deviation {}", with_prefix(d.mean), with_prefix(d.deviation)));
  }
  html += tile("Candidates tried", std::to_string(report.results.size()), tried_note(problem));
  html += tile("Dropped", std::to_string(report.results.size() - d.count),
               "did not build or run, or were wrong");
  return html + "</div>\n";
}

std::string finalists_table(const TunedProblem& problem) {
  std::string html = fmt::format(
      "<div class=card><h3>Timed again, in turn</h3><table><tr><th class=n>time<th "
      "class=n>spread<th class=n>{}<th>configuration</tr>\n",
      escape(problem.unit));
  bool first = true;
  for (const Result& r : problem.report.finalists) {
    html +=
        fmt::format("<tr{}><td class=n>{:.4g} ms<td class=n>{:.1f} %<td class=n>{}<td>{}{}</tr>\n",
                    first ? " class=winner" : "", 1e3 * r.seconds, 100 * r.spread,
                    with_prefix(problem.rate(r.seconds)), escape(describe(r.configuration)),
                    r.configuration == problem.space.default_configuration() ? " (default)" : "");
    first = false;
  }
  return html + "</table></div>\n";
}

// Equal reasons are counted together, with one example each: thousands of candidates may not fit
// into shared or local memory.
std::string dropped_table(const TunedProblem& problem) {
  constexpr std::size_t kMostRows = 40;
  std::map<std::pair<Outcome, std::string>, std::pair<std::size_t, Configuration>> reasons;
  std::size_t dropped = 0;
  for (const Result& r : problem.report.results) {
    if (r.outcome == Outcome::measured) continue;
    ++dropped;
    auto& [count, example] = reasons[{r.outcome, r.reason}];
    if (count++ == 0) example = r.configuration;
  }
  if (dropped == 0) return {};
  std::string html = fmt::format(
      "<details class=card{}><summary>Dropped: {}</summary><table><tr><th>what<th "
      "class=n>candidates<th>why<th>for example</tr>\n",
      dropped <= 12 ? " open" : "", dropped);
  std::size_t rows = 0;
  for (const auto& [key, value] : reasons) {
    if (rows++ == kMostRows) break;
    html +=
        fmt::format("<tr><td>{}<td class=n>{}<td class=why>{}<td>{}</tr>\n", to_string(key.first),
                    value.first, escape(key.second.substr(0, 400)), escape(describe(value.second)));
  }
  html += "</table>";
  if (reasons.size() > kMostRows)
    html += fmt::format("<p>{} more reasons: see the JSON beside this page.</p>",
                        reasons.size() - kMostRows);
  return html + "</details>\n";
}

std::string parameters_card(const TunedProblem& problem) {
  std::string html = "<div class=card><h3>Best rate by the value of each parameter, " +
                     escape(problem.unit) + "</h3>" + figures::parameters(problem) +
                     "<table><tr><th>parameter<th>what it trades</tr>\n";
  for (const Parameter& parameter : problem.space.parameters())
    html += fmt::format("<tr><td>{}<td>{}</tr>\n", escape(parameter.name), escape(parameter.why));
  return html + "</table></div>\n";
}

std::string section(const TunedProblem& problem, double fixed_rate) {
  std::string html =
      fmt::format("<h2>{}</h2><p>{} {}: {}</p>\n", escape(problem.name), escape(problem.key.stage),
                  escape(problem.key.variant), escape(describe(problem.key.problem)));
  html += tiles(problem);
  if (problem.report.best() == nullptr) html += "<p>No candidate could be timed again.</p>";
  html += "<div class=card><h3>Number of candidates by rate, of all that were measured</h3>" +
          figures::histogram(problem, fixed_rate) + "</div>\n";
  if (problem.report.best() != nullptr) html += finalists_table(problem) + parameters_card(problem);
  return html + dropped_table(problem);
}

std::string overview(std::span<const TunedProblem> problems,
                     const std::optional<FixedChoice>& fixed) {
  std::vector<figures::Comparison> rows;
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const Result* best = problems[p].report.best();
    if (best == nullptr) continue;
    const double rate = problems[p].rate(best->seconds), gain = gain_over_default(problems[p]);
    rows.push_back({problems[p].name, gain > 0 ? rate / gain : 0,
                    fixed ? rate * fixed->fractions[p] : 0, rate});
  }
  std::string html = "<h2>What tuning is worth</h2><div class=card>" + figures::comparison(rows);
  html += fixed ? "<p>Best fixed configuration for all problems: " +
                      escape(describe(fixed->configuration)) + "</p>"
                : "<p>No configuration was measured in every problem.</p>";
  return html + "</div>\n";
}

}  // namespace

std::string report_page(std::span<const TunedProblem> problems) {
  const auto fixed = best_fixed(problems);
  std::string html =
      "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport "
      "content=\"width=device-width,initial-scale=1\"><title>tautline: tuning</title><style>";
  html += kStyle;
  html += "</style></head><body>\n";
  if (!problems.empty()) {
    const TuningKey& key = problems[0].key;
    html +=
        fmt::format("<h1>Tuning of {} on {}</h1><p>{}, driver {}, {}, kernel {}, tautline {}</p>\n",
                    escape(key.stage), escape(key.product), escape(key.api), escape(key.driver),
                    escape(key.compiler), escape(key.kernel_hash), TAUTLINE_VERSION);
  }
  const std::vector<Sweep> sweeps = sweeps_of(problems);
  html += sweep_section(sweeps);
  if (problems.size() > 1 && sweeps.empty()) html += overview(problems, fixed);
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const Result* best = problems[p].report.best();
    const bool several = problems.size() > 1 && fixed && best != nullptr;
    html +=
        section(problems[p], several ? problems[p].rate(best->seconds) * fixed->fractions[p] : 0);
  }
  return html + "</body></html>\n";
}

}  // namespace tautline::jit
