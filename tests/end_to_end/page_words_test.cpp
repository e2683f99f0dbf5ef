// Pages of the command's runs name options where the library names fields.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/pipeline/photons/autocorrelate_config.h"
#include "tautline/pipeline/photons/fit_config.h"
#include "tautline/pipeline/search/search_config.h"
#include "tautline/pipeline/voltages/channelize_config.h"
#include "tautline/pipeline/voltages/correlate_config.h"
#include "tests/end_to_end/command_test.h"

namespace tautline::tests {
namespace {

using Json = nlohmann::json;

/// Fields whose options have other names. Names of one word may be words of a sentence.
template <class Config>
void add_names(std::set<std::string>& names) {
  for (const auto& field : fields(Config{}).all()) {
    const std::string name = field.name.substr(field.name.rfind('.') + 1);
    if (name.find('_') != std::string::npos && core::option_name(field) != name) names.insert(name);
  }
}

std::set<std::string> names_of_fields() {
  std::set<std::string> names;
  add_names<pipeline::CorrelateConfig>(names);
  add_names<pipeline::ChannelizeConfig>(names);
  add_names<pipeline::SearchConfig>(names);
  add_names<pipeline::AutocorrelateConfig>(names);
  add_names<pipeline::FitConfig>(names);
  return names;
}

/// All sentences in JSON: a word alone names a column, and arrays in base64 have no blanks.
void add_texts(const Json& json, std::vector<std::string>& texts) {
  if (json.is_string() && json.get<std::string>().find(' ') != std::string::npos)
    texts.push_back(json.get<std::string>());
  if (json.is_structured())
    for (const Json& one : json) add_texts(one, texts);
}

std::vector<std::string> texts_of_page(const std::string& path) {
  const std::string page = read_file(path), begin = "class=\"message\">", end = "</script>";
  std::vector<std::string> texts;
  for (std::size_t at = 0; (at = page.find(begin, at)) != std::string::npos;) {
    at += begin.size();
    add_texts(Json::parse(page.substr(at, page.find(end, at) - at)), texts);
  }
  EXPECT_FALSE(texts.empty()) << path;
  return texts;
}

std::set<std::string> words_of(const std::string& text) {
  const auto is_letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  std::set<std::string> words;
  for (auto at = text.begin(); at != text.end();) {
    const auto begin = std::find_if(at, text.end(), is_letter);
    at = std::find_if_not(begin, text.end(), is_letter);
    words.emplace(begin, at);
  }
  return words;
}

bool says(const std::vector<std::string>& texts, const std::string& words) {
  return std::ranges::any_of(
      texts, [&](const std::string& text) { return text.find(words) != std::string::npos; });
}

class PageWords : public CommandTest {
 protected:
  static constexpr std::size_t kTimes = 60'000, kInputs = 4;

  // Noise whose level rises behind the spectra that gains are measured of; one input stops for half an integration.
  std::string voltages() {
    DadaFile dada;
    dada.payload_bytes = 0;
    std::string bytes = dada.bytes();
    std::normal_distribution<double> normal;
    for (std::size_t t = 0; t < 2 * kTimes; ++t)
      for (std::size_t i = 0; i < kInputs; ++i)
        for (int part = 0; part < 2; ++part) {
          const double level = t < kTimes ? 2 : 40;
          const bool stopped = i == 3 && t >= 26'000 && t < 40'000;
          bytes += static_cast<char>(
              stopped ? 1 : std::lround(std::clamp(level * normal(random), -127.0, 127.0)));
        }
    const std::string path = scratch / "x.dada";
    write_file(path, bytes);
    return path;
  }
  std::string array() {
    const std::string path = scratch / "array.toml";
    write_file(path,
               "latitude_deg = 0\nlongitude_deg = 0\naltitude_m = 0\n"
               "[[antenna]]\nenu_m = [0, 0, 0]\n[[antenna]]\nenu_m = [100000, 0, 0]\n");
    return path;
  }
  // Diffusion, and afterpulses that the model does not have.
  std::string curve() {
    std::normal_distribution<double> normal;
    std::string text = "lag_s,g,standard_error\n";
    for (int k = 0; k < 112; ++k) {
      const double lag_s = 1e-7 * std::pow(10, k / 16.0), error = 2e-4;
      const double g = 0.1 / ((1 + lag_s / 1e-3) * std::sqrt(1 + lag_s / 25e-3)) +
                       0.05 * std::exp(-lag_s / 1e-6) + error * normal(random);
      text += std::to_string(lag_s * 1e9) + "e-9," + std::to_string(g) + ",2e-4\n";
    }
    const std::string path = scratch / "g.csv";
    write_file(path, text);
    return path;
  }
  void expect_done(const std::vector<std::string>& words) {
    const CommandResult result = run(words);
    EXPECT_TRUE(result.status == kDone || result.status == kDamaged) << result.err;
  }
  std::vector<std::string> expect_options(const std::string& page,
                                          const std::vector<std::string>& options = {}) {
    std::vector<std::string> texts = texts_of_page(page);
    for (const std::string& text : texts) {
      EXPECT_EQ(text.find('`'), std::string::npos) << page << ": " << text;
      for (const std::string& word : words_of(text))
        EXPECT_FALSE(names.contains(word)) << page << ": " << word << " in " << text;
    }
    for (const std::string& option : options) EXPECT_TRUE(says(texts, option)) << option;
    return texts;
  }

  std::mt19937_64 random = generator();
  const std::set<std::string> names = names_of_fields();
};

TEST_F(PageWords, OfVisibilities) {
  ASSERT_TRUE(names.contains("settle_s") && names.contains("delays_path") &&
              names.contains("integration_s") && names.contains("follow_gains"));
  const std::string input = voltages(), page = scratch / "v.html", v = scratch / "v.uvh5";
  expect_done({"correlate", input, "-o", v, "--channels", "16", "--integration", "0.02", "--array",
               array(), "--report", page});
  expect_options(page, {"--settle measures them again, --follow-gains", "with --requantize off",
                        "A shorter --integration has", "(--delays) have none"});
  expect_done({"report", v, "-o", scratch / "r.html"});
  expect_options(scratch / "r.html");
  // A pipeline's file has the fields.
  write_file(scratch / "p.toml",
             correlate_pipeline(input, scratch / "p.uvh5", "channels = 16\n") +
                 "[page]\ntype = \"visibility_page\"\ninputs = \"x\"\npath = \"" +
                 (scratch / "p.html") + "\"\n");
  expect_done({"run", scratch / "p.toml"});
  EXPECT_TRUE(says(texts_of_page(scratch / "p.html"), "`settle_s` measures them again"));
}

TEST_F(PageWords, OfFits) {
  const std::string page = scratch / "f.html";
  expect_done({"fit", curve(), "-o", scratch / "f.csv", "--model", "3d", "--report", page});
  expect_options(page, {"spoil the fit of the curve ", "the model describes it; try --range "});
}

TEST_F(PageWords, OfSearchesAndPlots) {
  const std::string fil = scratch / "x.fil", g = curve(), input = voltages();
  expect_done({"simulate", "filterbank", "--nchans", "32", "--fch1", "1500", "--foff", "-10",
               "--tsamp", "1ms", "--duration", "8", "--pulse", "dm=50,time=3,width=4e-3,snr=30",
               "-o", fil});
  expect_done(
      {"search", fil, "-o", scratch / "c.csv", "--dms", "0:100", "--plot", scratch / "pictures"});
  expect_options(scratch / "pictures/candidates.html");
  for (const std::string& file : {fil, g, input, scratch / "c.csv"}) {
    const CommandResult result = run({"--json", "plot", file, "-o", file + ".html"});
    ASSERT_EQ(result.status, kDone) << result.err;
    EXPECT_EQ(result.out.find('`'), std::string::npos) << result.out;
    expect_options(file + ".html");
  }
}

}  // namespace
}  // namespace tautline::tests
