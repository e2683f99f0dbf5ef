// run --monitor and top: a run that is watched gives what it gives unwatched; top shows what a server says, and no
// more.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "tautline/stream/http.h"
#include "tests/end_to_end/command_test.h"
#include "tests/end_to_end/documented_json.h"

namespace tautline::tests {
namespace {

class MonitorCommand : public CommandTest {
 protected:
  void simulate() {
    const CommandResult made = run({"simulate", "filterbank", "--nchans", "32", "--fch1", "1500",
                                    "--foff", "-4", "--tsamp", "1e-3", "--duration", "3", "--pulse",
                                    "dm=50,time=1,width=0.004,snr=20", "-o", scratch / "in.fil"});
    ASSERT_EQ(made.status, 0) << made.out << made.err;
  }
  // Series of a filterbank, whose bytes do not name the run.
  std::vector<std::string> dedispersion(const std::string& output) {
    return {"--device", "cpu",
            "run",      source_folder() + "/examples/pipelines/dedisperse.toml",
            "--set",    "filterbank.files=" + (scratch / "in.fil"),
            "--set",    "trials.dms.range=0:100",
            "--set",    "series.path=" + (scratch / output)};
  }
};

TEST_F(MonitorCommand, WatchingARunChangesNothingInItsResults) {
  simulate();
  const CommandResult plain = run(dedispersion("plain.npy"));
  ASSERT_EQ(plain.status, 0) << plain.err;
  std::vector<std::string> arguments = dedispersion("watched.npy");
  arguments.insert(arguments.end(), {"--monitor", "127.0.0.1:0"});
  const CommandResult watched = run(arguments);
  ASSERT_EQ(watched.status, 0) << watched.err;
  EXPECT_NE(watched.err.find("http://127.0.0.1:"), std::string::npos) << watched.err;
  EXPECT_EQ(watched.out.find("monitor of"), std::string::npos) << watched.out;
  EXPECT_EQ(read_file(scratch / "plain.npy"), read_file(scratch / "watched.npy"));
}

// Of a port that was asked for nothing need be said.
TEST_F(MonitorCommand, APortOfTheSystemsChoiceIsSaidEvenIfQuiet) {
  simulate();
  for (const std::vector<std::string>& less :
       {std::vector<std::string>{"--quiet"}, {"--log-level", "error"}, {"--quiet", "--json"}}) {
    std::vector<std::string> words = less;
    const std::vector<std::string> rest{
        "dedisperse", scratch / "in.fil", "-o",          scratch / "quiet.npy", "--dms",
        "0:50",       "--monitor",        "127.0.0.1:0", "--overwrite"};
    words.insert(words.end(), rest.begin(), rest.end());
    const CommandResult watched = run(words);
    ASSERT_EQ(watched.status, kDone) << watched.err;
    const std::string words_before = "tautline: info: the run can be watched at http://127.0.0.1:";
    const std::size_t at = watched.err.find(words_before);
    ASSERT_NE(at, std::string::npos) << watched.err;
    EXPECT_GT(std::atoi(watched.err.c_str() + at + words_before.size()), 0) << watched.err;
    if (less.front() == "--quiet") {
      EXPECT_EQ(std::count(watched.err.begin(), watched.err.end(), '\n'), 1) << watched.err;
    }
  }
}

// Each of the commands that run for long; what they write has their command line in it, so only that it is there is
// compared.
TEST_F(MonitorCommand, EveryLongCommandCanBeWatched) {
  simulate();
  write_file(scratch / "in.dada", DadaFile{}.bytes());
  write_file(scratch / "in.raw", std::string(9000, '\3'));
  const std::vector<std::vector<std::string>> commands{
      {"channelize", scratch / "in.dada", "-o", scratch / "out.npy", "--channels", "32"},
      {"dedisperse", scratch / "in.fil", "-o", scratch / "series.npy", "--dms", "0:50"},
      {"search", scratch / "in.fil", "-o", scratch / "found.csv", "--dms", "0:50"},
      {"autocorrelate", scratch / "in.raw", "-o", scratch / "curves.csv", "--dtype", "u8",
       "--sensors", "1", "--bin", "1e-3", "--keep-constant"},
#ifdef TAUTLINE_HDF5
      {"correlate", scratch / "in.dada", "-o", scratch / "out.uvh5", "--channels", "32",
       "--integration", "0.005"},
#endif
  };
  for (std::vector<std::string> words : commands) {
    const std::string name = words.front(), output = words[3];
    words.insert(words.begin(), {"--device", "cpu"});
    words.insert(words.end(), {"--monitor", "nowhere"});
    const CommandResult refused = run(words);
    EXPECT_EQ(refused.status, kWrongUsage) << name << refused.err;
    EXPECT_NE(refused.err.find("--monitor: nowhere"), std::string::npos) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(output)) << name;
    words.back() = "127.0.0.1:0";
    const CommandResult watched = run(words);
    EXPECT_EQ(watched.status, 0) << name << watched.err;
    EXPECT_NE(watched.err.find("can be watched at http://127.0.0.1:"), std::string::npos)
        << watched.err;
    EXPECT_TRUE(std::filesystem::exists(output)) << name;
    words.erase(words.end() - 2, words.end());
    words.insert(words.end(), {"--monitor-token", "0123456789abcdef", "--overwrite"});
    EXPECT_EQ(run(words).status, kWrongUsage) << name;
  }
}

TEST_F(MonitorCommand, AddressesThatItMayNotServeAreRefusedBeforeAnythingStarts) {
  simulate();
  for (const char* address : {"0.0.0.0:0", "nowhere", "127.0.0.1:70000"}) {
    std::vector<std::string> arguments = dedispersion("out.npy");
    arguments.insert(arguments.end(), {"--monitor", address});
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.status, kWrongUsage) << address << result.err;
    EXPECT_NE(result.err.find("--monitor"), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(scratch / "out.npy"));
  }
}

constexpr const char* kStatus =
    R"({"schema":"tautline.status","version":1,"time_unix_s":1.5,"pipeline":"night\u001b[2J.toml","state":"running","error":null,
"progress":{"run_s":12.0,"data_s":11.5,"total_data_s":null,"samples":5,"real_time_factor":0.9,"recent_real_time_factor":1.25,"unchanged_s":0.1},
"nodes":[{"node":"receivers","lane":"receivers","activity":"working","activity_s":0.0,"blocks":23,"bytes":1,"since_block_s":0.1,
"unchanged_s":0.1,"busy_s":1.0,"device_s":0.0,"waiting_for_input_s":0.0,"waiting_for_room_s":0.0,"load":0.42,"device_load":0.0,
"counters":{},"counters_age_s":0.1,"receiving":true,"stalled":false}],
"rings":[{"from":"receivers","to":"file","waiting":3,"in_use":4,"blocks":5,"policy":"wait","dropped":0}],
"files":[{"node":"file","path":"night.uvh5","exists":true,"bytes":1500000,"writing":true,"unchanged_s":0.2,"free_bytes":1000000000}],
"losses":[{"node":"receivers","kind":"lost_packets","count":17,"unchanged_s":4.0}],
"process":{"cpu_s":3.0,"memory_bytes":50000000,"descriptors":14,"threads":12},"problems":["receivers: lost_packets now 17"]})";

TEST_F(MonitorCommand, TopShowsTheStatusOfARun) {
  auto body = std::make_shared<const std::string>(kStatus);
  stream::HttpServerConfig config;
  config.token = "0123456789abcdef";
  config.answer = [&](const std::string& path) {
    return path == "/status.json" ? stream::HttpAnswer{200, "application/json", body}
                                  : stream::HttpAnswer{404, {}, {}};
  };
  const stream::HttpServer server(config);
  const CommandResult shown = run({"top", server.url()});
  ASSERT_EQ(shown.status, 0) << shown.err;
  for (const char* text :
       {"running", "1.25 x real time", "! receivers: lost_packets now 17", "42 %",
        "working, receiving", "receivers to file: 4 of 5 blocks in use",
        "night.uvh5: 1.5 MB, writing; 1 GB free", "lost_packets 17, last 4 s ago"})
    EXPECT_NE(shown.out.find(text), std::string::npos) << text << "\n" << shown.out;
  EXPECT_EQ(shown.out.find('\x1b'), std::string::npos);  // nothing that a terminal would obey
  const CommandResult json = run({"--json", "top", server.url()});
  EXPECT_EQ(documented_in(json.out, "tautline.status"), nlohmann::json::parse(kStatus));
  const CommandResult no_token = run({"top", "127.0.0.1:" + std::to_string(server.port())});
  EXPECT_EQ(no_token.status, kFailed);
  EXPECT_NE(no_token.err.find("token"), std::string::npos) << no_token.err;
}

TEST_F(MonitorCommand, TopRefusesWhatIsNoStatus) {
  std::string text;
  stream::HttpServerConfig config;
  config.answer = [&](const std::string&) {
    return stream::HttpAnswer{200, "text/plain", std::make_shared<const std::string>(text)};
  };
  const stream::HttpServer server(config);
  for (
      const char* answer :
      {"", "no JSON", "[]", "{}", R"({"schema":"tautline.status","version":2})",
       R"({"schema":"tautline.status","version":1})",
       R"({"schema":"tautline.status","version":1,"progress":1,"process":[],"problems":3,"nodes":{},"rings":"","files":0,"losses":null})"}) {
    text = answer;
    const CommandResult result = run({"top", server.url()});
    EXPECT_EQ(result.status, kFailed) << answer << result.out;
    EXPECT_NE(result.err.find("no status"), std::string::npos) << result.err;
  }
  for (const char* nobody : {"127.0.0.1:1", "1"}) {  // the number of a port is one of this machine
    const CommandResult nothing = run({"top", nobody});
    EXPECT_EQ(nothing.status, kFailed);
    EXPECT_NE(nothing.err.find("127.0.0.1:1/status.json"), std::string::npos) << nothing.err;
  }
  // Without a port it is the monitor's own, where nobody of this name is.
  const CommandResult no_port = run({"top", "127.255.255.254?token=x"});
  EXPECT_EQ(no_port.status, kFailed);
  EXPECT_NE(no_port.err.find("127.255.255.254:8470/status.json"), std::string::npos) << no_port.err;
}

}  // namespace
}  // namespace tautline::tests
