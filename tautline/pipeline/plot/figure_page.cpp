#include "tautline/pipeline/plot/figure_page.h"

#include "tautline/pipeline/report/base64.h"
#include "tautline/pipeline/report/html_page.h"

namespace tautline::pipeline::plot {

namespace {

using formats::figure::Axis;
using formats::figure::Figure;
using formats::figure::Line;
using formats::figure::Panel;
using formats::figure::Style;
using report::base64;
using Json = nlohmann::ordered_json;

Json axis_json(const Axis& axis) {
  Json json{{"label", axis.label},
            {"unit", axis.unit},
            {"logarithmic", axis.scale == formats::figure::Scale::logarithmic},
            {"low", axis.low},
            {"high", axis.high}};
  if (!axis.names.empty()) json["names"] = axis.names;
  if (axis.downwards) json["downwards"] = true;
  return json;
}

Json line_json(const Line& line) {
  const char* style = line.style == Style::points   ? "points"
                      : line.style == Style::dashes ? "dashes"
                                                    : "line";
  Json json{{"name", line.name}, {"style", style}, {"x", base64(line.x)}, {"y", base64(line.y)}};
  if (!line.error.empty()) json["error"] = base64(line.error);
  if (!line.strength.empty()) json["strength"] = base64(line.strength);
  return json;
}

Json panel_axes(const Panel& panel) {
  Json json{{"title", panel.title}, {"x", axis_json(panel.x)}, {"y", axis_json(panel.y)}};
  if (panel.image.rows > 0) {
    json["colour"] = axis_json(panel.image.colour);
    json["rows"] = panel.image.rows;
    json["columns"] = panel.image.columns;
  }
  return json;
}

Json panel_json(const Panel& panel) {
  Json json = panel_axes(panel);
  json["wide"] = panel.wide;
  json["tall"] = panel.tall;
  if (panel.image.rows > 0) {
    json["map"] = panel.image.map == formats::figure::ColourMap::phase ? "phase" : "amplitude";
    json["values"] = base64(panel.image.values);
  }
  json["lines"] = Json::array();
  for (const Line& line : panel.lines) json["lines"].push_back(line_json(line));
  json["empty"] = panel.empty;
  return json;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string figure_message(const Figure& figure) {
  Json message{{"type", "figure"},       {"schema", "tautline.figure"}, {"version", 1},
               {"title", figure.title},  {"facts", figure.facts},       {"notes", figure.notes},
               {"panels", Json::array()}};
  for (const Panel& panel : figure.panels) message["panels"].push_back(panel_json(panel));
  return text_of(message);
}

Json describe(const Figure& figure) {
  Json panels = Json::array();
  for (const Panel& panel : figure.panels) {
    panels.push_back(panel_axes(panel));
    panels.back()["lines"] = Json::array();
    for (const Line& line : panel.lines)
      panels.back()["lines"].push_back({{"name", line.name}, {"points", line.x.size()}});
  }
  return {{"title", figure.title}, {"panels", panels}, {"notes", figure.notes}};
}

std::string compose_figure_page(const Figure& figure) {
  return report::compose_page(figure.title, {figure_message(figure)}, report::PageKind::figure);
}

}  // namespace tautline::pipeline::plot
