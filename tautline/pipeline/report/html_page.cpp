#include "tautline/pipeline/report/html_page.h"

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "tautline/core/error.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/report/assets.h"

namespace tautline::pipeline::report {
namespace {

using core::Error;
using core::ErrorKind;

/// The order in which the scripts run.
constexpr std::string_view kVisibilityScripts[] = {
    "dygraph.min.js", "messages.js", "store.js",         "colour.js",   "format.js",
    "controls.js",    "theme.js",    "canvas_axes.js",   "image.js",    "chart.js",
    "axes.js",        "delay.js",    "fringe_search.js", "map.js",      "header.js",
    "fringes.js",     "spectra.js",  "quality.js",       "closures.js", "page.js"};
constexpr std::string_view kFitScripts[] = {
    "dygraph.min.js", "messages.js",    "colour.js", "format.js", "controls.js",
    "theme.js",       "canvas_axes.js", "image.js",  "chart.js",  "fit.js"};
constexpr std::string_view kCandidateScripts[] = {
    "dygraph.min.js", "messages.js", "colour.js",         "format.js",
    "controls.js",    "theme.js",    "canvas_axes.js",    "image.js",
    "chart.js",       "scatter.js",  "candidate_list.js", "candidates.js"};
constexpr std::string_view kFigureScripts[] = {
    "dygraph.min.js", "messages.js", "colour.js", "format.js",  "controls.js", "theme.js",
    "canvas_axes.js", "image.js",    "chart.js",  "scatter.js", "figure.js"};
constexpr std::string_view kMonitorScripts[] = {
    "dygraph.min.js",   "messages.js",    "store.js",   "colour.js",  "format.js",  "controls.js",
    "theme.js",         "canvas_axes.js", "image.js",   "chart.js",   "axes.js",    "delay.js",
    "fringe_search.js", "map.js",         "fringes.js", "spectra.js", "quality.js", "closures.js",
    "scatter.js",       "figure.js",      "health.js",  "live.js"};
constexpr std::string_view kStyles[] = {"dygraph.min.css", "page.css"};

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

/// Inside a script element only "</script" and "<!--" can end or derail the text; in JSON, "<" can
/// only stand inside a string, where its escape means the same.
std::string escape_json(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size());
  for (char c : json) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

/// Debuggers would fetch the source map that a minified file names.
std::string_view without_source_map(std::string_view text) {
  for (std::string_view mark : {"//# sourceMappingURL=", "/*# sourceMappingURL="}) {
    const std::size_t at = text.rfind(mark);
    if (at != std::string_view::npos) text = text.substr(0, at);
  }
  return text;
}

/// Replaces the one mark <!--NAME--> of the template.
void fill(std::string& page, std::string_view name, std::string_view content) {
  const std::string mark = fmt::format("<!--{}-->", name);
  const std::size_t at = page.find(mark);
  if (at == std::string::npos)
    throw Error(ErrorKind::format, "page template", "no " + mark, "each mark once");
  page.replace(at, mark.size(), content);
}

struct Section {
  std::string_view id, name;
};

constexpr Section kVisibilitySections[] = {{"fringes", "Fringes"},
                                           {"spectra", "Spectra"},
                                           {"closures", "Closure phases"},
                                           {"quality", "Data quality"},
                                           {"run", "Run"}};
constexpr Section kFitSections[] = {
    {"curves", "Curves"}, {"maps", "Maps"}, {"table", "Table"}, {"run", "Run"}};
constexpr Section kCandidateSections[] = {
    {"overview", "Overview"}, {"candidate", "Candidate"}, {"list", "List"}, {"run", "Run"}};
constexpr Section kMonitorSections[] = {{"health", "Health"},        {"fringes", "Fringes"},
                                        {"spectra", "Spectra"},      {"closures", "Closure phases"},
                                        {"quality", "Data quality"}, {"drawings", "Pictures"}};
constexpr Section kFigureSections[] = {{"panels", "Figure"}};
constexpr std::string_view kWideHead = R"(<div class="wide" id="head"></div>)";

// The scripts of a page, in the order in which they run, and the texts in place of the template's marks.
struct Parts {
  std::span<const std::string_view> scripts;
  std::span<const Section> sections;
  std::string_view head = {}, start = {}, receive = {}, policy = {};
};

Parts parts_of(PageKind kind) {
  switch (kind) {
    case PageKind::candidates:
      return {.scripts = kCandidateScripts,
              .sections = kCandidateSections,
              .head = kWideHead,
              .start = "startCandidates",
              .receive = "receiveCandidates(JSON.parse(message.textContent))"};
    case PageKind::fit:
      return {.scripts = kFitScripts,
              .sections = kFitSections,
              .start = "startFitPage",
              .receive = "receiveFit(message.textContent)"};
    case PageKind::figure:
      return {.scripts = kFigureScripts,
              .sections = kFigureSections,
              .head = kWideHead,
              .start = "startFigure",
              .receive = "receiveFigure(JSON.parse(message.textContent))"};
    case PageKind::monitor:
      return {.scripts = kMonitorScripts,
              .sections = kMonitorSections,
              .head = kWideHead,
              .start = "startMonitor",
              .receive = "receive(message.textContent)",
              .policy = "; connect-src 'self'"};
    case PageKind::visibilities:
      break;
  }
  return {.scripts = kVisibilityScripts,
          .sections = kVisibilitySections,
          .start = "startPage",
          .receive = "receive(message.textContent)"};
}

}  // namespace

std::string compose_page(const std::string& title, const std::vector<std::string>& messages,
                         PageKind kind) {
  const Parts parts = parts_of(kind);
  std::string styles, scripts;
  for (std::string_view name : kStyles)
    styles += fmt::format("<style>\n{}\n</style>\n", without_source_map(asset(name)));
  for (std::string_view name : parts.scripts)
    scripts += fmt::format("<script>\n{}\n</script>\n", without_source_map(asset(name)));
  std::string data;
  for (const std::string& message : messages)
    data += "<script type=\"application/json\" class=\"message\">" + escape_json(message) +
            "</script>\n";

  std::string links, sections;
  for (const auto& [id, name] : parts.sections) {
    links += fmt::format("    <a href=\"#{}\">{}</a>\n", id, name);
    sections += fmt::format("  <section id=\"{}\"></section>\n", id);
  }
  std::string page(asset("page.html"));
  fill(page, "policy", parts.policy);
  fill(page, "head", parts.head);
  fill(page, "links", links);
  fill(page, "sections", sections);
  fill(page, "start", parts.start);
  fill(page, "receive", parts.receive);
  // The messages last: they hold names from files, which must not be taken for a mark.
  fill(page, "title", escape_html(title));
  fill(page, "styles", styles);
  fill(page, "licence", escape_html(asset("dygraphs licence")));
  fill(page, "scripts", scripts);
  fill(page, "messages", data);
  return page;
}

void write_page(const std::string& path, const std::string& content, bool overwrite) {
  formats::PartialFile file(path, overwrite);
  file.write(std::string_view(content));
  file.finish();
}

}  // namespace tautline::pipeline::report
