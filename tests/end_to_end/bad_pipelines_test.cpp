// run --check: a file that cannot run is refused with status 2, the place in it and what is allowed; nothing is
// written.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

// Where each part of a good pipeline may be replaced.
struct Pipeline {
  std::string before = "";
  std::string source = "[voltages]\ntype = \"voltage_files\"\nfiles = [\"in.dada\"]\n";
  std::string bank = "[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\nchannels = 16\n";
  std::string correlator = "[x]\ntype = \"correlator\"\ninputs = \"f\"\nintegration_s = 0.004\n";
  std::string sink = "[file]\ntype = \"visibility_file\"\ninputs = \"x\"\npath = \"v.uvh5\"\n";
  std::string after = "";
  std::string text() const { return before + source + bank + correlator + sink + after; }
};

class BadPipeline : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(scratch / "in.dada", DadaFile{}.bytes());
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(scratch.path());  // commands inherit it
  }
  void TearDown() override { std::filesystem::current_path(before_); }

  CommandResult check(const std::string& text, const std::vector<std::string>& more = {}) {
    write_file(scratch / "bad.toml", text);
    std::vector<std::string> arguments{"run", "bad.toml", "--check"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments, scratch.path().string());
  }
  // Refused with all of these words in one line, and nothing lies in the folder that was not there.
  void expect_refused(const std::string& text, const std::vector<std::string>& words,
                      const std::vector<std::string>& more = {}) {
    const CommandResult result = check(text, more);
    EXPECT_EQ(result.status, kWrongUsage) << text << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    for (const std::string& word : words)
      EXPECT_NE(result.err.find(word), std::string::npos) << word << "\n" << result.err;
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
      files.insert(entry.path().filename().string());
    EXPECT_EQ(files, (std::set<std::string>{"bad.toml", "err", "in.dada", "out"}));
  }

  ScratchFolder scratch;
  std::filesystem::path before_;
};

TEST_F(BadPipeline, IsNoneAsItStands) {
  const CommandResult result = check(Pipeline{}.text());
  EXPECT_EQ(result.status, kDone) << result.err;
}

TEST_F(BadPipeline, ComesByStandardInputToo) {
  const auto given = [&](const std::string& text) {
    write_file(scratch / "bad.toml", text);
    return run_shell("cat bad.toml | (" + command_line({"run", "-", "--check"}) + ")",
                     scratch.path().string());
  };
  const CommandResult good = given(Pipeline{}.text());
  EXPECT_EQ(good.status, kDone) << good.err;
  EXPECT_EQ(good.out, "-: could run\n");
  const CommandResult bad = given("[v]\ntype = \"voltage_fiels\"\n");
  EXPECT_EQ(bad.status, kWrongUsage) << bad.err;
  EXPECT_TRUE(bad.err.starts_with("tautline: standard input: [v]: type (line 2): voltage_fiels"))
      << bad.err;
  EXPECT_EQ(given("").status, kWrongUsage);
}

TEST_F(BadPipeline, NodesAndTheirNames) {
  expect_refused("", {"bad.toml: an empty file, expected TOML"});
  expect_refused("# nothing\n\n", {"bad.toml: nodes: none"});
  Pipeline p;
  p.after = Pipeline{}.bank;  // the same name twice
  expect_refused(p.text(), {"bad.toml: line 16", "TOML"});
  p = {};
  p.bank = "[f]\ninputs = \"voltages\"\n";
  expect_refused(p.text(), {"bad.toml: [f]: type: missing"});
  p.bank = "[f]\ntpye = \"filter_bank\"\ninputs = \"voltages\"\n";
  expect_refused(p.text(), {"[f]: type: missing", "; tpye is no field: did you mean type"});
  p.bank = "[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\nwindow = \"haming\"\n";
  expect_refused(p.text(), {"[f]: window (line 7): haming", "; did you mean hamming"});
  p.bank = "[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\npolicy = \"drop_oldset\"\n";
  expect_refused(p.text(), {"policy (line 7): drop_oldset", "; did you mean drop_oldest"});
  p.bank = "[f]\ntype = \"filterbank\"\ninputs = \"voltages\"\n";
  expect_refused(p.text(), {"[f]: type (line 5): filterbank, expected one of", "filter_bank"});
  p.bank = "[f]\ntype = 3\ninputs = \"voltages\"\n";
  expect_refused(p.text(), {"[f]: type (line 5): 3"});
  p = {};
  p.before = "channels = 16\n";
  expect_refused(p.text(), {"bad.toml: channels (line 1)"});
  p = {};
  p.after = "[\"a.b\"]\ntype = \"filter_bank\"\n";
  expect_refused(p.text(), {"a.b", "(line 16)", "a name without a dot"});
  p.after = "[[g]]\ntype = \"filter_bank\"\n";
  expect_refused(p.text(), {"bad.toml: g (line 16)"});
}

TEST_F(BadPipeline, TextThatIsNoToml) {
  expect_refused(Pipeline{}.text() + "path = \"\xff\xfe\"\n", {"bad.toml: line 16", "TOML"});
  expect_refused("[f\n", {"bad.toml: line 1", "TOML"});
  expect_refused(std::string("\x80\x81\x00\x01", 4),
                 {"bad.toml: kind of file: unknown, expected TOML, which is text"});
  expect_refused(DadaFile{}.bytes(), {"bad.toml: kind of file: DADA voltages, expected TOML"});
}

TEST_F(BadPipeline, Fields) {
  const std::string head = "[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\n";
  for (const auto& [line, said] : std::vector<std::pair<std::string, std::string>>{
           {"chanels = 16", "chanels (line 7): unknown field, expected of a filter_bank: channels"},
           {"chanels = 16", "; did you mean channels"},
           {"array = \"a.toml\"", "; did you mean array_path"},
           {"channels = 1", "channels (line 7): 1, expected 2 to 65536"},
           {"channels = 1e9", "channels (line 7)"},
           {"channels = \"many\"", "channels (line 7): many"},
           {"channels = [16, 32]", "channels (line 7): a list of 2, expected one value"},
           {"channels = []", "channels (line 7): a list of 0, expected one value"},
           {"channels = true", "channels (line 7): true"},
           {"channels = {of = 3}", "[channels]: of (line 7): unknown field"},
           {"window = \"kaiser\"", "window (line 7): kaiser"},
           {"oversample = \"1/2\"", "oversample (line 7): 1/2, expected a ratio P/Q"},
           {"requantise = 5", "requantise (line 7): 5, expected 8, 4 or off"},
           {"depth = 0", "depth (line 7): 0, expected 1 or more"},
           {"depth = \"two\"", "depth (line 7)"},
           {"policy = \"hope\"", "policy (line 7): hope, expected wait"}}) {
    Pipeline p;
    p.bank = head + line + "\n";
    expect_refused(p.text(), {"bad.toml: [f]: ", said});
  }
  // Mistakes that only the input shows are reported with the place of the field all the same.
  Pipeline p;
  p.correlator += "average_channels = 3\n";
  expect_refused(p.text(), {"average_channels (line 12): 3, expected a divisor of the 16"});
  p = {};
  p.correlator += "channel_range = \"4:16\"\n";
  expect_refused(p.text(), {"channel_range (line 12)"});
  p = {};
  p.correlator = "[x]\ntype = \"correlator\"\ninputs = \"f\"\nintegration_s = 1e-9\n";
  expect_refused(p.text(), {"integration_s (line 11)", "at least one spectrum"});
  expect_refused(Pipeline{}.text(), {"set f.channels: 1, expected 2 to 65536"},
                 {"--set", "f.channels=1"});
  expect_refused(Pipeline{}.text(), {"one of the nodes voltages, f, x, file"},
                 {"--set", "g.channels=1"});
}

TEST_F(BadPipeline, Edges) {
  Pipeline p;
  p.correlator = "[x]\ntype = \"correlator\"\ninputs = \"spectra\"\n";
  expect_refused(p.text(), {"inputs (line 10): spectra, expected one of the nodes"});
  p.correlator = "[x]\ntype = \"correlator\"\n";
  expect_refused(p.text(), {"[x]: inputs: 0 inputs, expected one or more of a correlator"});
  p.correlator = "[x]\ntype = \"correlator\"\ninputs = \"f.1\"\n";
  expect_refused(
      p.text(),
      {"inputs (line 10): f.1, expected a number below 1 behind the dot: f has 1 output"});
  p.correlator = "[x]\ntype = \"correlator\"\ninputs = \"f.one\"\n";
  expect_refused(p.text(), {"inputs (line 10): f.one, expected NODE or NODE.OUTPUT"});
  p.correlator = "[x]\ntype = \"correlator\"\ninputs = [\"f\", \"f\"]\n";
  expect_refused(p.text(), {"inputs (line 10)", "2"});
  p = {};
  p.bank = "[f]\ntype = \"filter_bank\"\ninputs = \"x\"\n";
  expect_refused(p.text(), {"inputs (line 6): x, expected inputs that do not go round"});
  p.bank = "[f]\ntype = \"filter_bank\"\ninputs = \"f\"\n";
  expect_refused(p.text(), {"inputs (line 6): f, expected inputs that do not go round"});
  // Also where a source's file cannot be opened.
  p.source = "[voltages]\ntype = \"voltage_files\"\nfiles = [\"none.dada\"]\n";
  expect_refused(p.text(), {"inputs (line 6): f, expected inputs that do not go round"});
  p.bank = "[f]\ntype = \"filter_bank\"\ninputs = \"voltage\"\n";
  expect_refused(p.text(), {"inputs (line 6): voltage, expected one of the nodes"});
  p = {};
  p.after = "[again]\ntype = \"visibility_file\"\ninputs = \"file\"\npath = \"w.uvh5\"\n";
  expect_refused(p.text(), {"inputs (line 18): file, expected a node that has outputs"});
  p = {};
  p.source += "inputs = \"f\"\n";
  expect_refused(p.text(), {"inputs (line 4)"});
}

TEST_F(BadPipeline, StreamsOfAnotherKind) {
  Pipeline p;
  p.correlator = "[x]\ntype = \"correlator\"\ninputs = \"voltages\"\n";
  expect_refused(p.text(),
                 {"[x]: inputs (line 10): a stream of raw voltages, expected a stream of spectra"});
  p = {};
  p.sink = "[file]\ntype = \"visibility_file\"\ninputs = \"f\"\npath = \"v.uvh5\"\n";
  expect_refused(p.text(), {"a stream of spectra, expected a stream of visibilities"});
  p.sink = "[file]\ntype = \"spectra_file\"\ninputs = \"x\"\npath = \"v.npy\"\n";
  expect_refused(p.text(), {"a stream of visibilities, expected a stream of spectra"});
  p.sink = "[file]\ntype = \"candidate_file\"\ninputs = \"x\"\npath = \"v.csv\"\n";
  expect_refused(p.text(), {"a stream of visibilities, expected a stream of pulses"});
  p.sink = "[file]\ntype = \"curve_file\"\ninputs = \"x\"\npath = \"v.csv\"\n";
  expect_refused(p.text(), {"a stream of visibilities, expected a stream of curves"});
  for (const char* type : {"search", "dedisperse"}) {
    p = {};
    p.sink =
        std::string("[file]\ntype = \"") + type + "\"\ninputs = \"x\"\ndms.range = \"0:9:1\"\n";
    expect_refused(p.text(), {"a stream of visibilities, expected a stream of filterbank"});
  }
  p.sink = "[file]\ntype = \"autocorrelator\"\ninputs = \"x\"\n";
  expect_refused(p.text(), {"a stream of visibilities, expected a stream of counts or photons"});
  // Counts into a correlator.
  write_file(scratch / "in.dada", std::string(4096, '\1'));
  expect_refused(
      "[counts]\ntype = \"count_file\"\npath = \"in.dada\"\nbin_s = 1e-6\ndtype = "
      "\"u8\"\nheader_bytes = 96\n"
      "sensors = 4\n[x]\ntype = \"correlator\"\ninputs = \"counts\"\n",
      {"a stream of counts, expected a stream of spectra"});
}

TEST_F(BadPipeline, FilesThatAreWrittenTwiceOrReadToo) {
  Pipeline p;
  p.after = "[again]\ntype = \"visibility_file\"\ninputs = \"x\"\npath = \"./v.uvh5\"\n";
  expect_refused(p.text(),
                 {"[file]: path (line 15)", "[again]: path (line 19)", "a file for each output"});
  p.after = "[spectra]\ntype = \"spectra_file\"\ninputs = \"f\"\npath = \"in.dada\"\n";
  expect_refused(
      p.text(),
      {"[spectra]: path (line 19)", "[voltages]: files (line 3)", "a file that is not read"},
      {"--overwrite"});
  expect_refused(Pipeline{}.text(), {"set file.path", "a file that is not read"},
                 {"--overwrite", "--set", "file.path=in.dada"});
}

}  // namespace
}  // namespace tautline::tests
