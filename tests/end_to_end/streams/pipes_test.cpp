// Files that come by pipes give what they give as files.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "tautline/formats/npy/header.h"
#include "tests/end_to_end/command_test.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

class PipedFiles : public CommandTest {
 protected:
  // The command with a file as its standard input, by way of a pipe; temporary files go to TMPDIR.
  CommandResult run_piped(const std::string& file, const std::vector<std::string>& words) {
    return run_shell("cat '" + file + "' | " + command_line(words), scratch.path().string(),
                     {{"TMPDIR", scratch / "meanwhile"}});
  }
  static bool has_open(pid_t pid, const std::string& path) {
    std::error_code gone;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", gone))
      if (std::filesystem::read_symlink(entry.path(), gone) == path) return true;
    return false;
  }
  void SetUp() override { std::filesystem::create_directory(scratch / "meanwhile"); }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(scratch / "meanwhile")) << "something was left";
  }

  // What inspect says of a file, which it must say of its bytes by a pipe.
  nlohmann::json inspected(const std::string& path) {
    const CommandResult file = run({"--json", "inspect", path}),
                        piped = run_piped(path, {"--json", "inspect", "-"});
    EXPECT_EQ(file.status, kDone) << file.err;
    EXPECT_EQ(piped.status, kDone) << piped.err;
    auto expected = nlohmann::json::parse(file.out, nullptr, false);
    expected["file"] = "standard input";
    EXPECT_EQ(nlohmann::json::parse(piped.out, nullptr, false), expected);
    return expected;
  }

  void make_filterbank() {
    const CommandResult made =
        run({"simulate", "filterbank", "--nchans", "64", "--fch1", "1500", "--foff", "-1",
             "--tsamp", "1e-4", "--duration", "1", "--pulse", "dm=30,time=0.4,width=1e-3,snr=20",
             "--seed", std::to_string(generator()() % 1000), "-o", scratch / "x.fil"});
    ASSERT_EQ(made.status, kDone) << made.err;
  }
};

TEST_F(PipedFiles, AFolderForThemThatIsNoneIsNamed) {
  make_filterbank();
  const std::string line =
      "cat '" + (scratch / "x.fil") + "' | exec '" + command_path() + "' inspect -";
  for (const std::string& folder : {std::string(), scratch / "none", scratch / "x.fil"}) {
    const CommandResult refused = finish_command(
        start_program("/bin/sh", {"-c", line}, scratch.path().string(), {{"TMPDIR", folder}}),
        scratch.path().string());
    EXPECT_EQ(refused.status, kFailed) << refused.err;
    EXPECT_NE(refused.err.find(
                  "tautline: TMPDIR: " + (folder.empty() ? "empty" : folder + ", not a folder") +
                  ", expected a folder for temporary files; let it name one"),
              std::string::npos)
        << refused.err;
  }
}

TEST_F(PipedFiles, AreSearchedAsFilesAre) {
  make_filterbank();
  const std::vector<std::string> options{"--dms", "0:60:1"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), options.begin(), options.end());
    return words;
  };
  ASSERT_EQ(run(with({"search", scratch / "x.fil", "-o", scratch / "file.cand"})).status, kDone);
  const CommandResult piped =
      run_piped(scratch / "x.fil", with({"search", "-", "-o", scratch / "pipe.cand"}));
  ASSERT_EQ(piped.status, kDone) << piped.err;
  const std::string expected = read_file(scratch / "file.cand");
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(read_file(scratch / "pipe.cand"), expected);
}

// A named pipe whose writer comes later.
TEST_F(PipedFiles, AreDedispersedAsFilesAre) {
  make_filterbank();
  const std::string pipe = scratch / "pipe.fil";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_EQ(
      run({"dedisperse", scratch / "x.fil", "-o", scratch / "file.npy", "--dms", "0:60:5"}).status,
      kDone);
  const pid_t pid =
      start_command({"dedisperse", pipe, "-o", scratch / "pipe.npy", "--dms", "0:60:5"},
                    scratch.path().string(), {{"TMPDIR", scratch / "meanwhile"}});
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  write_file(pipe, read_file(scratch / "x.fil"));
  const CommandResult piped = finish_command(pid, scratch.path().string());
  ASSERT_EQ(piped.status, kDone) << piped.err;
  EXPECT_EQ(read_file(scratch / "pipe.npy"), read_file(scratch / "file.npy"));
}

TEST_F(PipedFiles, OfVoltagesAreChannelizedAsFilesAre) {
  write_file(scratch / "array.toml",
             "name = \"two\"\nlatitude_deg = -30.7\nlongitude_deg = 21.4\n"
             "altitude_m = 1000.0\n[[antenna]]\nenu_m = [0.0, 0.0, 0.0]\n"
             "[[antenna]]\nenu_m = [50.0, 20.0, 0.0]\n");
  write_file(scratch / "scene.toml",
             "name = \"noise\"\nstart = \"2026-03-20-14:00:00\"\ncentre_hz = 1420.4e6\n"
             "bandwidth_hz = 320e3\n");
  const CommandResult made = run({"simulate", "voltages", "--array", scratch / "array.toml",
                                  "--scene", scratch / "scene.toml", "--duration", "0.2", "--seed",
                                  std::to_string(generator()() % 1000), "-o", scratch / "x.dada"});
  ASSERT_EQ(made.status, kDone) << made.err;
  ASSERT_EQ(run({"channelize", scratch / "x.dada", "--channels", "16", "-o", scratch / "file.npy"})
                .status,
            kDone);
  const CommandResult piped = run_piped(
      scratch / "x.dada", {"channelize", "-", "--channels", "16", "-o", scratch / "pipe.npy"});
  ASSERT_EQ(piped.status, kDone) << piped.err;
  EXPECT_EQ(read_file(scratch / "pipe.npy"), read_file(scratch / "file.npy"));
}

// Under the pipe's name.
// The temporary file in which it is kept is gone after the run.
TEST_F(PipedFiles, OfVoltagesAreNamedInVisibilitiesAsPipes) {
  DadaFile later;
  later.utc = "2026-03-20-14:00:01";
  write_file(scratch / "later.dada", later.bytes());
  write_file(scratch / "in.dada", DadaFile().bytes());
  for (const std::string& second : {std::string(), scratch / "later.dada"}) {
    std::vector<std::string> words{"correlate",   "-",  "--channels",      "16",
                                   "--overwrite", "-o", scratch / "v.uvh5"};
    if (second.empty())
      words.insert(words.end(), {"--format", "ci8", "--rate-hz", "1e6"});
    else
      words.insert(words.begin() + 2, second);
    const std::string input = second.empty() ? scratch / "in.npy" : scratch / "in.dada";
    if (second.empty()) {
      std::string array = formats::npy::format_header("|i1", {2, 40'000, 2});
      auto random = generator();
      for (int k = 0; k < 2 * 40'000 * 2; ++k) array.push_back(static_cast<char>(random()));
      write_file(input, array);
    }
    const CommandResult made = run_piped(input, words);
    ASSERT_TRUE(made.status == kDone || made.status == kDamaged) << made.err;
    const CommandResult inspected = run({"inspect", scratch / "v.uvh5"});
    EXPECT_NE(inspected.out.find("inputs      standard input" +
                                 (second.empty() ? "" : " " + second) + "\n"),
              std::string::npos)
        << inspected.out;
  }
}

TEST_F(PipedFiles, AreInspectedAsFilesAre) {
  make_filterbank();
  EXPECT_EQ(inspected(scratch / "x.fil").at("samples"), 10'000);
  const CommandResult text = run_piped(scratch / "x.fil", {"inspect", "-"});
  EXPECT_TRUE(text.out.starts_with("standard input: ")) << text.out;
}

// Lists have no format that their first bytes name, but headings or columns.
TEST_F(PipedFiles, OfCandidatesAreInspectedAsFilesAre) {
  make_filterbank();
  for (const std::string name : {"c.csv", "c.cand", "c.singlepulse", "c.your.csv"}) {
    SCOPED_TRACE(name);
    ASSERT_EQ(run({"search", scratch / "x.fil", "-o", scratch / name, "--dms", "0:60:1"}).status,
              kDone);
    const auto list = inspected(scratch / name);
    EXPECT_EQ(list["schema"], "tautline.inspect.candidates");
    EXPECT_GE(list["candidates"], 1);
    const CommandResult nameless = run_piped(scratch / name, {"inspect", "/dev/stdin"});
    EXPECT_EQ(nameless.status, kDone) << nameless.err;
  }
}

#ifdef TAUTLINE_HDF5
// Visibilities, curves, cut-outs and photons are told apart by what the file holds.
TEST_F(PipedFiles, OfHdf5AreInspectedAsFilesAre) {
  write_file(scratch / "v.dada", DadaFile().bytes());
  make_filterbank();
  const std::string visibilities = scratch / "v.uvh5", curves = scratch / "g.h5";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"correlate", scratch / "v.dada", "-o", visibilities, "--channels", "16"},
           {"simulate", "photons", "--sensors", "2", "--duration", "0.1", "--bin", "1e-4",
            "--model", "diffusion:n=1,tau=1e-3,rate=1e5", "-o", scratch / "n.npy"},
           {"autocorrelate", scratch / "n.npy", "--bin", "1e-4", "-o", curves},
           {"search", scratch / "x.fil", "-o", scratch / "c.csv", "--dms", "0:60:1", "--cutouts",
            scratch / "cutouts"}}) {
    const CommandResult made = run(words);
    ASSERT_EQ(made.status, kDone) << made.err;
  }
  EXPECT_EQ(inspected(visibilities)["schema"], "tautline.inspect.visibilities");
  EXPECT_EQ(inspected(curves)["schema"], "tautline.inspect.curves");
  std::string cutout;
  for (const auto& entry : std::filesystem::directory_iterator(scratch / "cutouts"))
    if (entry.path().extension() == ".h5") cutout = entry.path().string();
  EXPECT_EQ(inspected(cutout)["schema"], "tautline.inspect.cutout");
}
#endif

// A named pipe's picture has its name; that of standard input needs one.
TEST_F(PipedFiles, ArePlottedAsFilesAre) {
  make_filterbank();
  std::filesystem::create_directory(scratch / "pipes");
  const std::string pipe = scratch / "pipes/x.fil";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_EQ(run({"plot", scratch / "x.fil", "-o", scratch / "file.html"}).status, kDone);
  const pid_t pid = start_command({"plot", pipe, "-o", scratch / "pipe.html"},
                                  scratch.path().string(), {{"TMPDIR", scratch / "meanwhile"}});
  write_file(pipe, read_file(scratch / "x.fil"));
  const CommandResult piped = finish_command(pid, scratch.path().string());
  ASSERT_EQ(piped.status, kDone) << piped.err;
  EXPECT_EQ(read_file(scratch / "pipe.html"), read_file(scratch / "file.html"));
  const CommandResult nameless = run_piped(scratch / "x.fil", {"plot", "-"});
  EXPECT_EQ(nameless.status, kWrongUsage) << nameless.err;
  EXPECT_NE(nameless.err.find("-o: not given, expected X.html"), std::string::npos) << nameless.err;
}

// But for the line of the table that has the command's own words.
TEST_F(PipedFiles, OfCurvesAreFittedAndComparedAsFilesAre) {
  ASSERT_EQ(run({"simulate", "photons", "--sensors", "1", "--duration", "1", "--bin", "1e-4",
                 "--model", "diffusion:n=1,tau=1e-3,rate=1e5", "--seed",
                 std::to_string(generator()() % 1000), "-o", scratch / "n.npy"})
                .status,
            kDone);
  ASSERT_EQ(
      run({"autocorrelate", scratch / "n.npy", "--bin", "1e-4", "-o", scratch / "g.csv"}).status,
      kDone);
  const auto fit = [&](const std::string& input, const std::string& name) {
    return std::vector<std::string>{"fit",     input, "-o",          scratch / (name + ".csv"),
                                    "--model", "3d",  "--unweighted"};
  };
  const CommandResult file = run(fit(scratch / "g.csv", "file")),
                      piped = run_piped(scratch / "g.csv", fit("-", "pipe"));
  ASSERT_EQ(file.status, kDone) << file.err;
  ASSERT_EQ(piped.status, kDone) << piped.err;
  const auto rows = [&](const std::string& name) {
    const std::string text = read_file(scratch / name);
    return text.substr(text.find("\nsensor"));
  };
  ASSERT_NE(read_file(scratch / "file.csv").find("\nsensor"), std::string::npos);
  EXPECT_EQ(rows("pipe.csv"), rows("file.csv"));
  const CommandResult both = run({"compare", scratch / "g.csv", scratch / "g.csv"}),
                      one = run_piped(scratch / "g.csv", {"compare", "-", scratch / "g.csv"});
  EXPECT_EQ(both.status, kDone) << both.err;
  EXPECT_EQ(one.status, kDone) << one.err;
  EXPECT_GT(one.out.size(), 500U);
  EXPECT_EQ(one.out, both.out);
}

#ifdef TAUTLINE_HDF5
TEST_F(PipedFiles, OfVisibilitiesAreReportedAsFilesAre) {
  write_file(scratch / "v.dada", DadaFile().bytes());
  ASSERT_EQ(
      run({"correlate", scratch / "v.dada", "-o", scratch / "v.uvh5", "--channels", "16"}).status,
      kDone);
  const CommandResult file = run({"report", scratch / "v.uvh5", "-o", scratch / "file.html"}),
                      piped = run_piped(scratch / "v.uvh5",
                                        {"report", "-", "-o", scratch / "pipe.html"});
  ASSERT_EQ(file.status, kDone) << file.err;
  ASSERT_EQ(piped.status, kDone) << piped.err;
  std::string page = read_file(scratch / "pipe.html");
  const std::string name = "standard-input.uvh5";
  const std::size_t at = page.find(name);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(page.replace(at, name.size(), "v.uvh5"), read_file(scratch / "file.html"));
}
#endif

// Not of the file in which it is kept meanwhile.
TEST_F(PipedFiles, ErrorsSpeakOfThePipe) {
  write_file(scratch / "x.txt", "hello\n");
  const CommandResult piped =
      run_piped(scratch / "x.txt", {"search", "-", "-o", scratch / "c.csv", "--dms", "0:9"});
  EXPECT_EQ(piped.status, kFailed);
  EXPECT_NE(piped.err.find("tautline: standard input: kind of file: text, expected "),
            std::string::npos)
      << piped.err;
  EXPECT_EQ(piped.err.find("copies", piped.err.find("meanwhile\n")), std::string::npos)
      << piped.err;
}

TEST_F(PipedFiles, WarningsSpeakOfThePipe) {
  DadaFile dada;
  dada.freq = "0";
  write_file(scratch / "x.dada", dada.bytes());
  const CommandResult piped = run_piped(
      scratch / "x.dada", {"channelize", "-", "-o", scratch / "s.npy", "--channels", "16"});
  EXPECT_EQ(piped.status, kDone) << piped.err;
  EXPECT_NE(piped.err.find("standard input does not say the sky frequency"), std::string::npos)
      << piped.err;
}

// Before anything of them is kept: they may have no end.
TEST_F(PipedFiles, OfNoKnownKindAreRefusedByTheirFirstBytes) {
  const auto refused = [&](const std::string& stream, const std::vector<std::string>& words,
                           const std::string& text) {
    // No file may be larger than some 100 MB, so that a run that keeps them ends, too.
    const CommandResult result =
        run_shell("ulimit -f 200000; { " + stream + "; } 2> /dev/null | " + command_line(words),
                  scratch.path().string(), {{"TMPDIR", scratch / "meanwhile"}});
    EXPECT_EQ(result.status, kFailed) << words.front() << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << words.front() << result.err;
  };
  const std::string unknown = "standard input: first bytes: unknown, expected ";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"search", "-", "-o", scratch / "c.csv", "--dms", "1"},
        {"dedisperse", "-", "-o", scratch / "s.npy", "--dms", "1"},
        {"correlate", "-", "-o", scratch / "v.uvh5"},
        {"channelize", "-", "-o", scratch / "x.npy"},
        {"inspect", "-"},
        {"plot", "-", "-o", scratch / "p.html"},
        {"fit", "-", "-o", scratch / "f.csv", "--model", "3d"}})
    refused("printf '\\001'; cat /dev/urandom", words, unknown);  // no brace, as JSON begins
  refused("cat /dev/zero", {"inspect", "-"}, unknown);
  refused("printf '\\037\\213\\010\\000'; cat /dev/urandom", {"inspect", "-"},
          "first bytes: gzip-compressed, expected ");
  refused("yes 1,2", {"inspect", "-"}, "text of no known kind, more than 64 MiB");
}

TEST_F(PipedFiles, ThatCannotBeTakenAreRefusedBeforeTheyAreWaitedFor) {
  const auto refused = [&](const std::vector<std::string>& words, const std::string& text) {
    const CommandResult result = run_piped("/dev/null", words);
    EXPECT_TRUE(result.status == kFailed || result.status == kWrongUsage) << result.status;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  };
  refused({"search", "-", "-", "-o", scratch / "c.csv", "--dms", "1"}, "- given twice");
  refused({"search", "-", "-o", scratch / "none/c.csv", "--dms", "1"},
          "expected a name in a folder that is there");
  refused({"search", "-", "-o", scratch / "c.csv", "--dms", "1"}, "nothing came");
  // Ctrl-C while nothing comes.
  const std::string pipe = scratch / "silent";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const pid_t pid = start_command({"search", pipe, "-o", scratch / "c.csv", "--dms", "1"},
                                  scratch.path().string(), {{"TMPDIR", scratch / "meanwhile"}});
  for (int k = 0; k < 20'000 && !has_open(pid, pipe); ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(has_open(pid, pipe));
  kill(pid, SIGINT);
  EXPECT_EQ(finish_command(pid, scratch.path().string()).status, kInterrupted);
}

}  // namespace
}  // namespace tautline::tests
