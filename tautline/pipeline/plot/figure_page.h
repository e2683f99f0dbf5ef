// A figure as a page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tautline/formats/figure/figure.h"

namespace tautline::pipeline::plot {

/// {"type": "figure"}: docs/design/plot.md lists its fields. Numbers of lines and images are base64 of
/// little-endian float64 and float32.
std::string figure_message(const formats::figure::Figure& figure);

/// Titles and axes without the data.
nlohmann::ordered_json describe(const formats::figure::Figure& figure);

/// A self-contained page, as compose_page makes them.
std::string compose_figure_page(const formats::figure::Figure& figure);

}  // namespace tautline::pipeline::plot
