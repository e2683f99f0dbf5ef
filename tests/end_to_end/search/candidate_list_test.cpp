// The list of a search's page in a browser: it sorts, takes marks and notes, keeps them and gives them back.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

class CandidateList : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* path :
         {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"})
      if (std::filesystem::exists(path)) browser_ = path;
    if (browser_.empty()) GTEST_SKIP() << "no Chromium here: install the package chromium";
    const std::string fil = folder_ / "obs.fil";
    CommandResult done = run_command({"simulate",   "filterbank",
                                      "--nchans",   "64",
                                      "--fch1",     "1500",
                                      "--foff",     "-4",
                                      "--tsamp",    "512e-6",
                                      "--duration", "8",
                                      "--pulse",    "dm=80,time=3,width=0.004,snr=60",
                                      "--pulse",    "dm=20,time=6,width=0.002,snr=25",
                                      "--seed",     std::to_string(generator()()),
                                      "-o",         fil},
                                     folder_.path().string());
    ASSERT_EQ(done.status, 0) << done.err;
    done = run_command({"search", fil, "-o", csv_, "--dms", "0:120:1", "--plot", folder_ / "plot"},
                       folder_.path().string());
    ASSERT_EQ(done.status, 0) << done.err;
  }

  // What `script`, run at the end of the page, returns. The page keeps its address and the browser its profile.
  nlohmann::json in_page(const std::string& script) {
    const std::string page = folder_ / "plot/candidates.html";
    if (html_.empty()) html_ = read_file(page);
    std::string html = html_;
    const std::string run = "<script>{ const result = (() => {" + script +
                            "})(); const told = document.createElement('pre'); told.id = 'told';"
                            "told.textContent = encodeURIComponent(JSON.stringify(result));"
                            "document.body.append(told); }</script>";
    html.insert(html.rfind("</body>"), run);
    write_file(page, html);
    const CommandResult shown = run_program(
        browser_,
        {"--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + (folder_ / "profile"),
         "--virtual-time-budget=4000", "--dump-dom", "file://" + page},
        folder_.path().string());
    const std::string lead = "<pre id=\"told\">";
    const std::size_t at = shown.out.rfind(lead);
    EXPECT_NE(at, std::string::npos) << shown.err.substr(0, 2000);
    if (at == std::string::npos) return {};
    const std::size_t from = at + lead.size();
    return nlohmann::json::parse(decoded(shown.out.substr(from, shown.out.find('<', from) - from)));
  }

  static std::string decoded(const std::string& text) {
    std::string plain;
    for (std::size_t k = 0; k < text.size(); ++k) {
      if (text[k] != '%') {
        plain += text[k];
        continue;
      }
      plain += static_cast<char>(std::stoi(text.substr(k + 1, 2), nullptr, 16));
      k += 2;
    }
    return plain;
  }

  static std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

  const ScratchFolder folder_;
  const std::string csv_ = folder_ / "c.csv";
  std::string browser_, html_;
};

// What the tests' scripts share: rows as they stand, and a change as a reader makes it.
const std::string kHelpers = R"(
  const rows = () => [...document.querySelectorAll('#list tbody tr')];
  const column = (k) => rows().map((row) => row.children[k].textContent);
  const press = (name) => document.querySelector(`th[data-column=${name}] button`).click();
  const set = (field, value) => { field.value = value; field.dispatchEvent(new Event('change')); };
)";

TEST_F(CandidateList, SortsByAnyColumn) {
  const nlohmann::json told = in_page(kHelpers + R"(
    const orders = {};
    for (const [name, k] of [['snr', 1], ['time_s', 2], ['dm', 3], ['width_samples', 4], ['members', 5]]) {
      const numbers = () => column(k).map(parseFloat);
      press('place');
      press(name);
      orders[name] = [numbers()];
      orders[name].push(document.querySelector(`th[data-column=${name}]`).getAttribute('aria-sort'));
      press(name);
      orders[name].push(numbers());
    }
    return orders;)");
  ASSERT_EQ(told.size(), 5u);
  for (const auto& [name, one] : told.items()) {
    std::vector<double> falling = one[0], rising = one[2];
    EXPECT_GE(falling.size(), 2u);
    EXPECT_TRUE(std::is_sorted(falling.rbegin(), falling.rend())) << name << one;
    EXPECT_EQ(one[1], "descending") << name;
    EXPECT_TRUE(std::is_sorted(rising.begin(), rising.end())) << name << one;
  }
}

TEST_F(CandidateList, MarksAndNotesSurviveAndAreDownloaded) {
  const nlohmann::json before = in_page(kHelpers + R"(
    set(rows()[0].querySelector('select'), 'pulse');
    set(rows()[0].querySelector('input'), 'bright, "wide"');
    set(rows()[1].querySelector('select'), 'interference');
    rows()[0].click();
    return [document.querySelector('#candidate .controls select').value];)");
  EXPECT_EQ(before[0], "pulse");
  // In a new process of the browser; and the mark of the chosen candidate is that of its row.
  const nlohmann::json after = in_page(kHelpers + R"(
    const list = page.list, texts = [list.text('csv'), list.text('your')];
    const marks = rows().map((row) => row.querySelector('select').value);
    const note = rows()[0].querySelector('input').value;
    rows()[1].click();
    set(document.querySelector('#candidate .controls select'), 'unsure');
    const changed = rows()[1].querySelector('select').value;
    press('mark');
    return [texts, marks, note, changed, column(0).slice(0, 2)];)");
  ASSERT_EQ(after.size(), 5u);
  EXPECT_EQ(after[1][0], "pulse");
  EXPECT_EQ(after[1][1], "interference");
  EXPECT_EQ(after[2], "bright, \"wide\"");
  EXPECT_EQ(after[3], "unsure");
  EXPECT_EQ(after[4],
            nlohmann::json({"1", "2"}));  // pulse, unsure; rows without a mark behind them
  const auto written = split(read_file(csv_)), csv = split(after[0][0]), yours = split(after[0][1]);
  ASSERT_EQ(csv.size(), written.size());
  EXPECT_EQ(csv[0], written[0] + ",mark,note");
  EXPECT_EQ(csv[1], written[1] + ",pulse,\"bright, \"\"wide\"\"\"");
  EXPECT_EQ(csv[2], written[2] + ",interference,");
  EXPECT_EQ(yours[0], "file,snr,stime,width,dm,label,chan_mask_path,num_files,mark,note");
  EXPECT_NE(yours[1].find(",1,,1,pulse,"), std::string::npos) << yours[1];
  EXPECT_NE(yours[2].find(",0,,1,interference,"), std::string::npos) << yours[2];
}

TEST_F(CandidateList, AnotherSearchHasMarksOfItsOwn) {
  in_page(kHelpers + "set(rows()[0].querySelector('select'), 'pulse'); return [];");
  const CommandResult again = run_command({"search", folder_ / "obs.fil", "-o", csv_, "--dms",
                                           "0:100:1", "--plot", folder_ / "plot", "--overwrite"},
                                          folder_.path().string());
  ASSERT_EQ(again.status, 0) << again.err;
  html_.clear();
  const nlohmann::json told =
      in_page(kHelpers + "return rows().map((row) => row.querySelector('select').value);");
  ASSERT_FALSE(told.empty());
  for (const auto& mark : told) EXPECT_EQ(mark, "");
}

}  // namespace
}  // namespace tautline::tests
