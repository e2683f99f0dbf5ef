// Correlator.com's .SIN files: modes with names, and files that are cut short.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::formats::curves {
namespace {

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The columns that each named mode has, made from what the correlator's software documents.
TEST(CurveSin, ModesWithNames) {
  const tests::ScratchFolder folder;
  const std::vector<std::pair<std::string, std::vector<std::pair<int, int>>>> modes{
      {"Single Auto", {{0, 0}}},
      {"Single-Cross", {{0, 1}}},
      {"Dual Auto", {{0, 0}, {1, 1}}},
      {"DUAL CROSS", {{0, 1}, {1, 0}}},
      {"Quad", {{0, 0}, {1, 1}, {0, 1}, {1, 0}}}};
  for (const auto& [mode, pairs] : modes) {
    std::string text =
        "FLXA\r\nVersion= 1d\r\n\r\n[Parameters]\r\nDuration= 30.0\r\nMode= " + mode +
        "\r\n\r\n[CorrelationFunction]\r\n";
    for (int l = 1; l <= 6; ++l) {
      text += std::to_string(l) + "e-6";
      // The last two lags were not reached, and no coincidence came at the first one.
      for (std::size_t k = 0; k < pairs.size(); ++k)
        text += l == 1 || l > 4
                    ? "\t0.000000e+00"
                    : "\t" + std::to_string(1.5 + 0.1 * static_cast<double>(k) - 0.01 * l);
      text += "\r\n";
    }
    text +=
        "\r\n[IntensityHistory]\r\nTraceNumber= 2\r\n0.0\t1000\t2000\r\n0.5\t3000\t2000\r\n"
        "\r\n[Histogram]\r\n";
    write_text(folder / "x.SIN", text);
    const CurveFile file = read(folder / "x.SIN");
    ASSERT_EQ(file.curves.size(), pairs.size()) << mode;
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const core::CorrelationCurve& curve = file.curves[k];
      const auto [a, b] = pairs[k];
      EXPECT_EQ(curve.cross, a != b) << mode;
      EXPECT_EQ(curve.first.label, "input " + std::to_string(a));
      EXPECT_EQ(curve.second.label, a != b ? "input " + std::to_string(b) : "");
      EXPECT_EQ(curve.first.mean_rate_hz, 2000);
      EXPECT_EQ(curve.first.trace.rate_khz[1], a == 0 ? 3 : 2);
      EXPECT_EQ(curve.duration_s, 30);
      ASSERT_EQ(curve.g.size(), 6u);
      EXPECT_EQ(curve.g[0], -1);
      EXPECT_NEAR(curve.g[2], 0.5 + 0.1 * static_cast<double>(k) - 0.03, 1e-9);
      EXPECT_TRUE(std::isnan(curve.g[4]) && std::isnan(curve.g[5])) << mode;
    }
    EXPECT_EQ(read_set(folder / "x.SIN").curves, pairs.size());
  }
  write_text(folder / "x.SIN",
             "[Parameters]\nMode= Triple\n[CorrelationFunction]\n1e-6\t1.5\n[IntensityHistory]\n");
  EXPECT_THROW(read(folder / "x.SIN"), core::Error);
}

// At every place behind the first lag: the curve, or the digits of its last numbers, would be shorter in silence.
TEST(CurveSin, FilesThatAreCutShortAreRefused) {
  const tests::ScratchFolder folder;
  auto random = tests::generator();
  std::string text = "FLXA\n[Parameters]\nMode= Dual Auto\n[CorrelationFunction]\n";
  const std::size_t first = text.size();
  for (int l = 1; l <= 12; ++l)
    text += std::to_string(l) + "e-6\t" + std::to_string(1.5 - 0.01 * l) + "\t1.25\n";
  text += "[IntensityHistory]\nTraceNumber= 14\n";
  for (int k = 0; k < 14; ++k)
    text += std::to_string(k) + "\t" + std::to_string(random() % 10'000) + "\t2000\n";
  const std::size_t end = text.size();
  text += "[Histogram]\n1\n";
  for (std::size_t size = first; size < end; ++size) {
    write_text(folder / "x.SIN", text.substr(0, size));
    EXPECT_THROW(read(folder / "x.SIN"), core::Error) << text.substr(0, size);
  }
  for (const std::string& whole : {text.substr(0, end), text}) {
    write_text(folder / "x.SIN", whole);
    EXPECT_EQ(read(folder / "x.SIN").curves.size(), 2u);
  }
  const auto said_of = [&](const std::string& part) {
    write_text(folder / "x.SIN", part);
    try {
      read(folder / "x.SIN");
    } catch (const core::Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string of_curve = said_of(text.substr(0, text.find("7e-6"))),
                    of_trace = said_of(text.substr(0, text.find("\n9\t") + 1));
  EXPECT_NE(of_curve.find("missing behind 6 lags"), std::string::npos) << of_curve;
  EXPECT_NE(of_trace.find("9 lines, expected 14, its TraceNumber; the file is cut short"),
            std::string::npos)
      << of_trace;
}

}  // namespace
}  // namespace tautline::formats::curves
