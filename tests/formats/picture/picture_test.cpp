// Pictures, decoded: what is drawn lies where its axes say.
#include "tautline/formats/picture/picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tests/formats/picture/pixels.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"
#include "tests/support/small_disk.h"

namespace tautline::tests {
namespace {

namespace figure = formats::figure;

std::string written(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

figure::Panel line_panel(const std::vector<double>& x, const std::vector<double>& y) {
  figure::Panel panel{"A line", {"time", "s"}, {"level", "counts"}};
  panel.x.low = *std::min_element(x.begin(), x.end());
  panel.x.high = *std::max_element(x.begin(), x.end());
  figure::fit_axis(panel.y, y);
  panel.lines.push_back({"", figure::Style::line, x, y});
  return panel;
}

TEST(Picture, ALinesPeakLiesAtItsPlaceOnBothAxes) {
  const ScratchFolder scratch;
  auto random = generator();
  for (const bool logarithmic : {false, true}) {
    const double peak = 0.2 + 0.6 * static_cast<double>(random() % 1000) / 1000;
    const double at = logarithmic ? std::pow(10, -6 + 6 * peak) : 30 * peak;
    std::vector<double> x{logarithmic ? 1e-6 : 0.0, at * 0.999, at, at * 1.001,
                          logarithmic ? 1.0 : 30.0};
    figure::Panel panel = line_panel(x, {0, 0, 100, 0, 0});
    if (logarithmic) panel.x.scale = figure::Scale::logarithmic;
    formats::picture::write(scratch / "x.png", {"One peak", {}, {panel}}, true);
    const Pixels pixels(scratch / "x.png");
    EXPECT_EQ(pixels.width, 1200);
    const Pixels::Box line = pixels.box_of(kBlue);
    // The line runs from edge to edge of the frame, and to 4 per cent of its height from both others.
    int peak_x = 0, count = 0;
    for (int px = line.left; px <= line.right; ++px) {
      const auto value =
          pixels.values[static_cast<std::size_t>((line.top + 10) * pixels.width + px)];
      if (value == 0xFFFFFF || (value & 255) < 150 || (value >> 16) > 120) continue;
      peak_x += px;
      ++count;
    }
    ASSERT_GT(count, 0);
    const double part =
        (peak_x / static_cast<double>(count) - line.left) / (line.right - line.left);
    EXPECT_NEAR(part, peak, 0.006) << "logarithmic " << logarithmic;
    EXPECT_NEAR(line.bottom - line.top, 250 / 1.08, 4);
  }
}

void expect_cell_at_its_place(bool downwards) {
  const ScratchFolder scratch;
  auto random = generator();
  figure::Panel panel{"An image", {"time", "s"}, {"frequency", "MHz"}};
  panel.x.high = 40;
  panel.y.high = 25;
  panel.y.downwards = downwards;
  panel.image.rows = 25;
  panel.image.columns = 40;
  panel.image.values.assign(25 * 40, 0);
  panel.image.colour.label = "power";
  const std::size_t row = random() % 25, column = random() % 40;
  panel.image.values[row * 40 + column] = 1;
  formats::picture::write(scratch / "x.png", {"One cell", {}, {panel}}, true);
  Pixels pixels(scratch / "x.png");
  // Low values are the darkest of the map, which is nowhere else but at the foot of the colour bar.
  const Pixels::Box whole = pixels.box_of(0x150629);
  const int bar = 60;  // the bar and its gap, and the frame
  const double width = whole.right - bar - whole.left;
  for (int y = 0; y < pixels.height; ++y)  // the bar has the brightest colour too
    for (int x = whole.right - bar / 2; x < pixels.width; ++x)
      pixels.values[static_cast<std::size_t>(y * pixels.width + x)] = 0xFFFFFF;
  const Pixels::Box axes = pixels.box_of(0x150629);
  const Pixels::Box cell = pixels.box_of(0xF0EEC9);
  ASSERT_GE(cell.right, cell.left) << "seed's row " << row << " column " << column;
  EXPECT_GT(width, 900);
  EXPECT_NEAR((cell.x() - axes.left) / (axes.right + 1 - axes.left),
              (static_cast<double>(column) + 0.5) / 40, 0.004);
  const double from_top = (cell.y() - axes.top) / (axes.bottom + 1 - axes.top);
  EXPECT_NEAR(downwards ? from_top : 1 - from_top, (static_cast<double>(row) + 0.5) / 25, 0.006);
}

TEST(Picture, ACellOfAnImageLiesAtItsPlaceAndRowsRunUpwardsUnlessTheAxisSaysDownwards) {
  for (const bool downwards : {false, true}) expect_cell_at_its_place(downwards);
}

// Panels that share their margins with an image's: as narrow as that one, a key may need one row more.
TEST(Picture, AKeyOfSeveralRowsStaysAboveTheAxes) {
  const ScratchFolder scratch;
  constexpr std::uint32_t kEighth = 0xB81C4D;
  figure::Panel image{"An image", {"time", "s"}, {"frequency", "MHz"}};
  image.image.rows = image.image.columns = 1;
  image.image.values = {1};
  image.image.colour.label = "power";
  for (std::size_t length = 8; length <= 40; ++length) {
    figure::Panel lines = line_panel({0, 1}, {1, 1});  // along the top of the frame
    lines.y.low = 0;
    lines.y.high = 1;
    for (int k = 1; k < 8; ++k)
      lines.lines.push_back({std::string(length, 'n'), figure::Style::line, {0, 1}, {NAN, NAN}});
    formats::picture::write(scratch / "x.png", {"Keys", {}, {image, lines}}, true);
    const Pixels pixels(scratch / "x.png");
    const Pixels::Box last = pixels.box_of(kEighth), frame = pixels.box_of(kBlue);
    ASSERT_GE(last.bottom, 0) << length;
    EXPECT_LT(last.bottom + 6, frame.top) << length;
  }
}

TEST(Picture, TextIsDrawnAndNothingTouchesTheEdge) {
  const ScratchFolder scratch;
  figure::Figure made{
      std::string(300, 'W') + "\u00b5\u00b5", {}, {line_panel({0, 1}, {-1e5, 3e5})}};
  for (int k = 0; k < 20; ++k) made.facts.push_back({"fact " + std::to_string(k), "value"});
  made.panels[0].y.label = "a long label of the vertical axis";
  for (const bool title : {true, false}) {
    if (!title) made.title.clear();
    formats::picture::write(scratch / "x.png", made, true);
    const Pixels pixels(scratch / "x.png");
    std::size_t ink = 0;
    for (int y = 0; y < pixels.height; ++y)
      for (int x = 0; x < pixels.width; ++x) {
        const bool white =
            pixels.values[static_cast<std::size_t>(y * pixels.width + x)] == 0xFFFFFF;
        if (!white && y < 45) ++ink;
        if (x < 4 || y < 4 || x >= pixels.width - 4 || y >= pixels.height - 4) {
          ASSERT_TRUE(white) << x << " " << y;
        }
      }
    EXPECT_EQ(ink > 500, title);
  }
}

TEST(Picture, IsAlsoWrittenAsSvgAndPdf) {
  const ScratchFolder scratch;
  const figure::Figure made{"Title", {}, {line_panel({0, 1, 2}, {1, 3, 2})}};
  formats::picture::write(scratch / "x.svg", made, false);
  formats::picture::write(scratch / "x.pdf", made, false);
  EXPECT_NE(written(scratch / "x.svg").find("<svg"), std::string::npos);
  EXPECT_TRUE(written(scratch / "x.pdf").starts_with("%PDF"));
}

TEST(Picture, RefusesAnExistingFile) {
  const ScratchFolder scratch;
  std::ofstream(scratch / "x.png") << "mine";
  EXPECT_THROW(
      formats::picture::write(scratch / "x.png", {"T", {}, {line_panel({0, 1}, {1, 2})}}, false),
      core::Error);
  EXPECT_EQ(written(scratch / "x.png"), "mine");
}

TEST(Picture, AFullDiskLeavesNothing) {
  const ScratchFolder scratch;
  figure::Panel panel{"Noise", {"time", "s"}, {"frequency", "MHz"}};
  panel.image.rows = 300;
  panel.image.columns = 600;
  auto random = generator();
  for (int k = 0; k < 300 * 600; ++k)
    panel.image.values.push_back(static_cast<float>(random() % 1000) / 1000);
  const int status = on_small_disk(scratch.path().string(), 65536, [&] {
    for (const char* name : {"/x.png", "/x.svg", "/x.pdf"}) {
      try {
        formats::picture::write(scratch.path().string() + name, {"Too large", {}, {panel}}, false);
        return 1;
      } catch (const core::Error& error) {
        if (error.kind() != core::ErrorKind::io) return 2;
      }
      if (!std::filesystem::is_empty(scratch.path())) return 3;
    }
    return 0;
  });
  if (status == kNoSmallDisk) GTEST_SKIP() << "this machine does not allow mounts";
  EXPECT_EQ(status, 0) << "1: written, 2: another error, 3: something was left";
}

// Names as long as the panel: the points stay in the picture, and so do the names.
TEST(Picture, LongNamesOfRowsLeaveRoomForTheAxes) {
  const ScratchFolder scratch;
  for (const std::size_t rows : {2u, 25u}) {
    figure::Panel panel{"Rows", {"rate", ""}, {"", ""}};
    panel.tall = true;
    panel.x.high = 100;
    panel.y.high = static_cast<double>(rows);
    figure::Line line;
    line.style = figure::Style::points;
    for (std::size_t k = 0; k < rows; ++k) {
      std::string name = "row " + std::to_string(k);
      for (int word = 0; word < 30; ++word) name += " channels=1024";
      panel.y.names.push_back(name);
      line.x.push_back(k % 2 == 0 ? 5 : 95);
      line.y.push_back(static_cast<double>(k) + 0.5);
    }
    panel.lines.push_back(line);
    formats::picture::write(scratch / "x.png", {"Long names", {}, {panel}}, true);
    const Pixels::Box points = Pixels(scratch / "x.png").box_of(kBlue);
    EXPECT_GT(points.right - points.left, 500) << rows;
    EXPECT_LT(points.right, 1180) << rows;
  }
}

}  // namespace
}  // namespace tautline::tests
