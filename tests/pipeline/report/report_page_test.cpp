// The page as a file: complete, self-contained, safe whatever names are in it, and understood by
// its own scripts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "tautline/core/error.h"
#include "tautline/pipeline/report/assets.h"
#include "tautline/pipeline/report/base64.h"
#include "tautline/pipeline/report/report_builder.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"
#include "tests/support/synthetic_visibilities.h"

namespace tautline::pipeline::report {
namespace {

using nlohmann::json;
using tests::SyntheticVisibilities;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string build(const tests::ScratchFolder& folder, SyntheticVisibilities& sky,
                  const std::string& name = "page.html") {
  const std::string path = folder / name;
  ReportBuilder builder(path, sky.description, false);
  for (int k = 0; k < 4; ++k) builder.write(sky.make(k + 0.5));
  builder.add_extra("lost samples", "0");
  builder.finish();
  return path;
}

/// The JSON texts of a page's messages, as the HTML parser hands them to the scripts.
std::vector<std::string> messages_of(const std::string& page) {
  static const std::string kOpen = "<script type=\"application/json\" class=\"message\">";
  std::vector<std::string> found;
  for (std::size_t at = page.find(kOpen); at != std::string::npos; at = page.find(kOpen, at + 1)) {
    const std::size_t first = at + kOpen.size();
    found.push_back(page.substr(first, page.find("</script", first) - first));
  }
  return found;
}

TEST(ReportPage, Base64OfEveryLength) {
  const auto encode = [](const std::string& text) {
    return base64(std::as_bytes(std::span<const char>(text)));
  };
  // RFC 4648, section 10.
  EXPECT_EQ(encode(""), "");
  EXPECT_EQ(encode("f"), "Zg==");
  EXPECT_EQ(encode("fo"), "Zm8=");
  EXPECT_EQ(encode("foo"), "Zm9v");
  EXPECT_EQ(encode("foob"), "Zm9vYg==");
  EXPECT_EQ(encode("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encode("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encode("\xff\xfe\xfd"), "//79");
}

TEST(ReportPage, AppearsOnlyWhenWhole) {
  const tests::ScratchFolder folder;
  SyntheticVisibilities sky(3, 8);
  {
    ReportBuilder builder(folder / "page.html", sky.description, false);
    builder.write(sky.make(0.5));
  }
  EXPECT_TRUE(folder.empty());
  build(folder, sky);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_THROW(ReportBuilder(folder / "page.html", sky.description, false), core::Error);
  ReportBuilder again(folder / "page.html", sky.description, true);
  again.finish();  // a run without an integration still says so
  EXPECT_EQ(messages_of(read_file(folder / "page.html")).size(), 3U);
  ReportBuilder nowhere(folder / "absent/page.html", sky.description, false);
  EXPECT_THROW(nowhere.finish(), core::Error);
}

// No attribute, style or script of ours fetches anything, and the policy forbids the rest.
TEST(ReportPage, RefersToNothingOutside) {
  const tests::ScratchFolder folder;
  SyntheticVisibilities sky(4, 16);
  std::string page = read_file(build(folder, sky));
  EXPECT_NE(page.find("Content-Security-Policy\" content=\"default-src 'none';"),
            std::string::npos);
  EXPECT_NE(page.find("Permission is hereby granted"), std::string::npos) << "the licence";
  EXPECT_NE(page.find("Dygraph"), std::string::npos) << "the chart library";
  EXPECT_EQ(page.find("<!--scripts-->"), std::string::npos);
  EXPECT_EQ(page.find("sourceMappingURL"), std::string::npos);
  for (const char* pattern :
       {R"(<(link|iframe|object|embed|img|base)\b)", R"(<script[^>]*\bsrc\s*=)",
        R"(\bhref\s*=\s*["']?(https?:|//))", R"(@import)", R"(\burl\(\s*["']?(https?:|//))"})
    EXPECT_FALSE(std::regex_search(page, std::regex(pattern))) << pattern;
  // The library has addresses in comments; our files have none.
  for (const char* name :
       {"page.html", "page.css",    "messages.js", "store.js",         "colour.js",
        "format.js", "controls.js", "theme.js",    "canvas_axes.js",   "image.js",
        "chart.js",  "axes.js",     "delay.js",    "fringe_search.js", "map.js",
        "header.js", "fringes.js",  "spectra.js",  "quality.js",       "closures.js",
        "page.js"}) {
    const std::string text(asset(name));
    ASSERT_FALSE(text.empty()) << name;
    EXPECT_EQ(text.find("://"), std::string::npos) << name;
    EXPECT_EQ(text.find("innerHTML"), std::string::npos) << name << ": names must stay text";
    EXPECT_EQ(text, read_file(std::string(TAUTLINE_SOURCE_DIR "/web/") + name));
  }
  EXPECT_TRUE(asset("no such asset").empty());
}

TEST(ReportPage, SurvivesHostileNames) {
  const tests::ScratchFolder folder;
  SyntheticVisibilities sky(4, 8);
  const std::string hostile = "</script><script>alert(1)</script><!-- & \"'\\ \u2028 <b>";
  sky.description.telescope = hostile;
  sky.description.source = "<!--messages--><!--scripts-->";
  sky.description.history = "bytes that are no UTF-8: \xff\xfe\xc0\x80";
  sky.description.array.antennas[1].name = hostile;
  sky.description.extra[hostile] = "]]></style><img src=x onerror=alert(1)>";
  const std::string page = read_file(build(folder, sky));
  const std::vector<std::string> messages = messages_of(page);
  ASSERT_EQ(messages.size(), 3U);
  for (const std::string& message : messages) {
    EXPECT_EQ(message.find('<'), std::string::npos);
    ASSERT_TRUE(json::accept(message));
  }
  const json description = json::parse(messages[0]);
  EXPECT_EQ(description["telescope"], hostile);
  EXPECT_EQ(description["antennas"][1]["name"], hostile);
  EXPECT_EQ(description["inputs"][2]["label"], "2x");
  EXPECT_EQ(json::parse(messages[1])["facts"][0][0], hostile);
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  // The title is escaped, and it is the only place outside the messages that holds a name.
  EXPECT_NE(page.find("<title>&lt;/script&gt;"), std::string::npos);
  // Exactly our elements: page.html's, one for each script asset, three messages.
  const std::regex open("<script\\b");
  const auto count = [&](const std::string& text) {
    return std::distance(std::sregex_iterator(text.begin(), text.end(), open), {});
  };
  EXPECT_EQ(count(page), count(std::string(asset("page.html"))) + 20 + 3);
}

bool have_node() {
  return std::system("node --version > /dev/null 2>&1") == 0;
}

TEST(ReportPage, ScriptsAreValidJavaScript) {
  if (!have_node()) GTEST_SKIP() << "node is not installed: the scripts' syntax is not checked";
  for (const auto& entry : std::filesystem::directory_iterator(TAUTLINE_SOURCE_DIR "/web"))
    if (entry.path().extension() == ".js") {
      EXPECT_EQ(std::system(("node --check '" + entry.path().string() + "'").c_str()), 0);
    }
}

// The page's own decoder gives back what the digest holds, from one message and from many.
TEST(ReportPage, PayloadRoundTripThroughThePagesScripts) {
  if (!have_node()) GTEST_SKIP() << "node is not installed: the payload is not decoded";
  auto random = tests::generator();
  const tests::ScratchFolder folder;
  SyntheticVisibilities sky(4, 21, 100, 150e6, 1e6, random());
  for (std::size_t i = 0; i < sky.inputs(); ++i)
    for (std::size_t j = 0; j <= i; ++j) sky.count(3, i, j) = 0;
  DigestLimits limits;
  limits.times = 4;
  limits.channels = 8;
  VisibilityDigest digest(sky.description, limits);
  for (int k = 0; k < 11; ++k) digest.add(sky.make(k + 0.5));

  const std::size_t times = digest.times().size(), bins = digest.channel_bins().bins;
  std::ofstream(folder / "description.json") << description_message(digest);
  std::ofstream(folder / "all.json") << integrations_message(digest, 0, times);
  for (std::size_t time = 0; time < times; ++time)
    std::ofstream(folder / fmt::format("one{}.json", time))
        << integrations_message(digest, time, 1);
  std::ofstream(folder / "decode.js") << R"(
    const fs = require("fs"), path = require("path");
    const [web, folder, times] = process.argv.slice(2);
    for (const name of ["messages.js", "store.js"]) eval(fs.readFileSync(path.join(web, name), "utf8"));
    const read = (name) => fs.readFileSync(path.join(folder, name + ".json"), "utf8");
    const dump = (names) => {
      const store = new tautline.Store();
      store.receive(read("description"));
      for (const name of names) store.receive(read(name));
      const fringes = store.description.baselines.map((_, b) => {
        const { re, im } = store.fringes(b, false);
        return Array.from(re, (x, k) => isNaN(x) ? null : [x, im[k]]);
      });
      return {
        fringes, start_s: store.rows.map((row) => row.start_s),
        hz: Array.from(store.description.channels.bin_hz),
        power: store.rows.map((row) => Array.from(row.power)),
        valid: store.rows.map((row) => Array.from(row.valid)),
        bispectra: store.rows.map((row) => Array.from(row.bispectra)),
        spectra: Array.from(store.summary.spectra), closures: Array.from(store.summary.closure_spectra),
      };
    };
    const bulk = dump(["all"]);
    const stream = dump([...Array(Number(times)).keys()].map((k) => "one" + k));
    if (JSON.stringify(bulk) !== JSON.stringify(stream)) throw new Error("stream and bulk differ");
    console.log(JSON.stringify(bulk));
  )";
  const std::string command =
      fmt::format("node '{}' '{}/web' '{}' {} > '{}'", folder / "decode.js", TAUTLINE_SOURCE_DIR,
                  folder.path().string(), times, folder / "decoded.json");
  ASSERT_EQ(std::system(command.c_str()), 0);
  const json decoded = json::parse(read_file(folder / "decoded.json"));

  EXPECT_EQ(decoded["hz"].get<std::vector<double>>(),
            digest.channel_bins().centres_hz(sky.description.channel_hz));
  ASSERT_EQ(decoded["fringes"].size(), digest.choice().baselines.size());
  for (std::size_t time = 0; time < times; ++time) {
    EXPECT_EQ(decoded["start_s"][time], digest.times()[time].start_s);
    for (std::size_t input = 0; input < sky.inputs(); ++input) {
      EXPECT_FLOAT_EQ(decoded["power"][time][input].get<float>(),
                      static_cast<float>(digest.power(time, input)));
      EXPECT_NEAR(decoded["valid"][time][input].get<double>() / 255, digest.valid(time, input),
                  1.0 / 255);
    }
    for (std::size_t t = 0; t < digest.choice().triangles.size(); ++t)
      EXPECT_FLOAT_EQ(decoded["bispectra"][time][2 * t + 1].get<float>(),
                      static_cast<float>(digest.bispectrum(time, t).imag()));
    for (std::size_t b = 0; b < digest.choice().baselines.size(); ++b) {
      float largest = 0;
      for (std::size_t bin = 0; bin < bins; ++bin)
        largest = std::max(largest, std::abs(digest.visibility(time, b, bin)));
      for (std::size_t bin = 0; bin < bins; ++bin) {
        const json& cell = decoded["fringes"][b][time * bins + bin];
        ASSERT_EQ(cell.is_null(), digest.weight(time, b, bin) == 0);
        if (cell.is_null()) continue;
        const std::complex<float> got(cell[0].get<float>(), cell[1].get<float>());
        EXPECT_LT(std::abs(got - digest.visibility(time, b, bin)), largest / 30'000);
      }
    }
  }
  for (std::size_t input = 0; input < sky.inputs(); ++input)
    for (std::size_t bin = 0; bin < digest.spectrum_bins().bins; ++bin)
      EXPECT_FLOAT_EQ(decoded["spectra"][input * digest.spectrum_bins().bins + bin].get<float>(),
                      static_cast<float>(digest.spectrum(input, bin)));
}

// Noise alone, with one integration of 20 spectra among full ones: it is not a fringe.
TEST(ReportPage, AnIntegrationOfFewSpectraIsNoFringe) {
  if (!have_node()) GTEST_SKIP() << "node is not installed: the S/N is not measured";
  const tests::ScratchFolder folder;
  SyntheticVisibilities sky(2, 64, 100, 150e6, 1.28e6, tests::generator()());
  sky.sources.clear();
  VisibilityDigest digest(sky.description);
  for (int k = 0; k < 8; ++k) {
    for (std::size_t c = 0; c < sky.channels(); ++c)
      for (std::size_t i = 0; i < sky.inputs(); ++i)
        for (std::size_t j = 0; j <= i; ++j)
          sky.count(c, i, j) = k == 3 ? 20 : sky.description.nominal_count;
    digest.add(sky.make(k + 0.5));
  }
  std::ofstream(folder / "description.json") << description_message(digest);
  std::ofstream(folder / "rows.json") << integrations_message(digest, 0, digest.times().size());
  std::ofstream(folder / "snr.js") << R"(
    const fs = require("fs"), path = require("path");
    const [web, folder] = process.argv.slice(2);
    for (const name of ["messages.js", "store.js", "fringe_search.js"])
      eval(fs.readFileSync(path.join(web, name), "utf8"));
    const store = new tautline.Store();
    for (const name of ["description", "rows"])
      store.receive(fs.readFileSync(path.join(folder, name + ".json"), "utf8"));
    console.log(JSON.stringify(store.description.baselines.map((_, b) => tautline.fringeSnr(store, b))));
  )";
  const std::string command =
      fmt::format("node '{}' '{}/web' '{}' > '{}'", folder / "snr.js", TAUTLINE_SOURCE_DIR,
                  folder.path().string(), folder / "snr.json");
  ASSERT_EQ(std::system(command.c_str()), 0);
  const json found = json::parse(read_file(folder / "snr.json"));
  ASSERT_EQ(found.size(), 6U);
  for (const json& one : found) {
    EXPECT_LT(one["snr"].get<double>(), 2 * one["noise"].get<double>());
    EXPECT_GT(one["snr"].get<double>(), 1);
  }
}

}  // namespace
}  // namespace tautline::pipeline::report
