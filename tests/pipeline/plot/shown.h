// What a figure's panels should be: titles, axes with their units, and how many values they show.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tautline/formats/figure/figure.h"

namespace tautline::tests {

struct Shown {
  std::string title;                  ///< how it begins
  std::string x, y;                   ///< "time (s)"
  std::size_t rows = 0, columns = 0;  ///< of an image
  std::size_t lines = 0,
              points = 0;  ///< how many lines, and the points of each; 0 points: not looked at
};

inline std::string caption_of(const nlohmann::json& axis) {
  const std::string label = axis["label"], unit = axis["unit"];
  return unit.empty() ? label : label + " (" + unit + ")";
}

/// `described`: what `plot --json` prints.
inline void expect_shown(const nlohmann::json& described, const std::vector<Shown>& panels) {
  ASSERT_TRUE(described.is_object());
  ASSERT_EQ(described["panels"].size(), panels.size()) << described;
  for (std::size_t k = 0; k < panels.size(); ++k) {
    const nlohmann::json& panel = described["panels"][k];
    const Shown& shown = panels[k];
    EXPECT_TRUE(panel["title"].get<std::string>().starts_with(shown.title)) << panel["title"];
    EXPECT_EQ(caption_of(panel["x"]), shown.x) << shown.title;
    EXPECT_EQ(caption_of(panel["y"]), shown.y) << shown.title;
    EXPECT_EQ(panel.value("rows", std::size_t{0}), shown.rows) << shown.title;
    EXPECT_EQ(panel.value("columns", std::size_t{0}), shown.columns) << shown.title;
    EXPECT_EQ(panel["lines"].size(), shown.lines) << shown.title;
    for (const nlohmann::json& line : panel["lines"]) {
      if (shown.points > 0) {
        EXPECT_EQ(line["points"], shown.points) << shown.title;
      }
    }
  }
}

/// The seconds of an axis of time, whatever its unit.
inline double seconds_of(const formats::figure::Axis& axis) {
  const double unit_s = axis.unit == "s"     ? 1
                        : axis.unit == "ms"  ? 1e-3
                        : axis.unit == "min" ? 60
                                             : 0;
  return (axis.high - axis.low) * unit_s;
}

/// The photons of a line of rates (kHz) in steps that fill the panel.
inline double photons_of(const formats::figure::Panel& panel, const formats::figure::Line& line) {
  double sum = 0;
  for (const double rate : line.y) sum += rate;
  return sum * 1e3 * seconds_of(panel.x) / static_cast<double>(line.y.size());
}

}  // namespace tautline::tests
