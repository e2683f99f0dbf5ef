// Live runs in parts: a hang-up begins a new file, the clock ends an observation, a datagram has voltages dumped.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <span>

#include "tautline/formats/mwa32t/writer.h"
#include "tautline/formats/partial_file.h"
#include "tautline/stream/tcp.h"
#include "tautline/stream/udp.h"
#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/file_visibilities.h"
#include "tests/end_to_end/live_run.h"

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPartReceivers = 4, kRecordBytes = 34;

class LiveReceiverParts : public LiveRun {
 protected:
  void SetUp() override {
    LiveRun::SetUp();
    if (IsSkipped()) return;
    const std::size_t inputs = formats::mwa32t::kInputsPerReceiver;
    for (std::size_t r = 0; r < kPartReceivers; ++r) {
      formats::mwa32t::Writer file(scratch / ("mwa." + std::to_string(r)),
                                   formats::mwa32t::Mode::two_byte, 100);
      std::vector<core::ci8> voltages(200'000 * inputs);
      for (core::ci8& sample : voltages)
        sample = {static_cast<std::int8_t>(random() % 15 - 7),
                  static_cast<std::int8_t>(random() % 15 - 7)};
      file.write(voltages);
      file.finish();
      bytes.push_back(read_file(scratch / ("mwa." + std::to_string(r))));
    }
  }
  void start(const std::string& pipeline, const std::vector<std::string>& more) {
    write_file(scratch / "live.toml", pipeline);
    std::vector<std::string> sets{"receivers.listen=tcp://127.0.0.1:0",
                                  "receivers.wait_s=30",
                                  "receivers.late_s=30",
                                  "receivers.block_samples=4096",
                                  "receivers.utc_start=2026-03-20-14:00:00",
                                  "f.channels=16",
                                  "x.integration_s=0.01",
                                  "visibilities.path=" + (scratch / "live.uvh5")};
    sets.insert(sets.end(), more.begin(), more.end());
    start_pipeline(scratch / "live.toml", sets);
  }
  static std::string example() {
    return read_file(source_folder() + "/examples/pipelines/mwa32-live.toml");
  }
  // The time in the log behind these words, the last one of at least `times`.
  std::string said(const std::string& words, int times = 1) const {
    for (int wait = 0; wait < 60'000; ++wait) {
      const std::string err = run_said();
      int found = 0;
      std::size_t at = 0, last = 0;
      while ((at = err.find(words, at)) != std::string::npos) last = ++at, ++found;
      const std::size_t from = last + words.size() - 1, end = err.find_first_of(" \n", from);
      if (found >= times && end != std::string::npos) return err.substr(from, end - from);
      std::this_thread::sleep_for(1ms);
    }
    ADD_FAILURE() << words << " was not said: " << run_said();
    return "";
  }
  std::vector<stream::TcpClient> connect(int times = 1) const {
    const stream::Endpoint to =
        stream::parse_endpoint("to", said("listening at tcp://", times).insert(0, "tcp://"));
    std::vector<stream::TcpClient> clients;
    for (std::size_t r = 0; r < kPartReceivers; ++r) clients.emplace_back(to, 20s);
    return clients;
  }
  // Samples [first, end) of every receiver.
  void send(std::vector<stream::TcpClient>& clients, std::size_t first, std::size_t end) const {
    constexpr std::size_t kAtOnce = 4000;
    for (; first < end; first += kAtOnce)
      for (std::size_t r = 0; r < kPartReceivers; ++r)
        clients[r].write(std::as_bytes(std::span(bytes[r]).subspan(
            first * kRecordBytes, std::min(kAtOnce, end - first) * kRecordBytes)));
  }
  void wait_for(const std::string& path) const {
    for (int wait = 0; wait < 60'000 && !std::filesystem::exists(path); ++wait)
      std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(std::filesystem::exists(path)) << path << run_said();
  }
  // Integrations in each file of the run, and what all of them hold.
  static std::vector<std::size_t> lengths_of_files(const CommandResult& live,
                                                   FileVisibilities& parts) {
    const auto files = nlohmann::json::parse(live.out.substr(live.out.rfind("{\"schema\"")))
                           .at("files")
                           .at("visibilities");
    std::vector<std::size_t> lengths;
    for (const auto& file : files) {
      const std::size_t before = parts.middles.size();
      append_visibilities(parts, file.get<std::string>());
      lengths.push_back(parts.middles.size() - before);
    }
    return lengths;
  }
  // All but the last integration, which ends where the run was stopped, are the files'.
  void expect_from_files(const FileVisibilities& given) const {
    const FileVisibilities all = from_files();
    ASSERT_GE(given.middles.size(), 14U);
    const std::size_t whole = given.middles.size() - 1;
    ASSERT_LE(whole, all.middles.size());
    EXPECT_TRUE(std::equal(given.middles.begin(),
                           given.middles.begin() + static_cast<std::ptrdiff_t>(whole),
                           all.middles.begin()));
    const std::size_t values = whole * 16 * 64 * 65 / 2;
    EXPECT_TRUE(std::equal(given.values.begin(),
                           given.values.begin() + static_cast<std::ptrdiff_t>(values),
                           all.values.begin()));
  }
  FileVisibilities from_files() const {
    std::vector<std::string> words;
    for (std::size_t r = 0; r < kPartReceivers; ++r)
      words.push_back(scratch / ("mwa." + std::to_string(r)));
    words.insert(words.end(), {"--receivers", "-o", scratch / "files.uvh5", "--channels", "16",
                               "--integration", "0.01", "--utc-start", "2026-03-20-14:00:00"});
    const CommandResult result = correlate(words);
    EXPECT_EQ(result.status, kDone) << result.err;
    return visibilities_in(scratch / "files.uvh5");
  }

  std::vector<std::string> bytes;  // [receiver]
};

// Integrations of 12,800 samples: 5 in a file, and fewer where a hang-up ends it.
TEST_F(LiveReceiverParts, BeginNewFilesOnHangUp) {
  start(example(), {"visibilities.each_s=0.05"});
  auto clients = connect();
  send(clients, 0, 12'800 * 7 + 5000);
  wait_for(formats::partial_name(scratch / "live-0002.uvh5"));  // which has its first integration
  kill(*run_pid, SIGHUP);
  std::this_thread::sleep_for(1s);
  send(clients, 12'800 * 7 + 5000, 200'000);
  clients.clear();
  wait_for(scratch / "live-0003.uvh5");
  kill(*run_pid, SIGTERM);  // nobody waits for receivers to come back
  const CommandResult live = end_run();
  expect_stopped(live);
  FileVisibilities parts;
  const std::vector<std::size_t> lengths = lengths_of_files(live, parts);
  ASSERT_GE(lengths.size(), 4U);
  EXPECT_EQ(lengths[0], 5U);
  EXPECT_LT(lengths[1], 5U);
  EXPECT_EQ(lengths[2], 5U);
  expect_from_files(parts);
}

// A file of one integration is there while the senders hold the next one back.
TEST_F(LiveReceiverParts, AreWholeBeforeTheNextIntegrationComes) {
  start(example(), {"visibilities.each_s=0.01", "receivers.block_samples=1024"});
  auto clients = connect();
  // 1.8 integrations, and the blocks that gains are measured of.
  send(clients, 0, 24'000);
  wait_for(scratch / "live-0001.uvh5");
  EXPECT_FALSE(std::filesystem::exists(scratch / "live-0002.uvh5"));
  EXPECT_EQ(visibilities_in(scratch / "live-0001.uvh5").middles.size(), 1U);
  send(clients, 24'000, 200'000);
  clients.clear();
  wait_for(scratch / "live-0015.uvh5");
  kill(*run_pid, SIGTERM);
  const CommandResult live = end_run();
  expect_stopped(live);
  FileVisibilities parts;
  for (const std::size_t length : lengths_of_files(live, parts)) EXPECT_EQ(length, 1U);
  expect_from_files(parts);
}

// The run ends when its last file is whole: 15 integrations, and what their last spectrum spans.
TEST_F(LiveReceiverParts, EndWithAFileThatIsFull) {
  start(example(), {"visibilities.each_s=0.05", "receivers.duration_s=0.1500875"});
  auto clients = connect();
  send(clients, 0, 192'112);
  wait_for(scratch / "live-0003.uvh5");
  const CommandResult live = end_run();
  ASSERT_EQ(live.status, kDone) << live.err;
  FileVisibilities parts;
  EXPECT_EQ(lengths_of_files(live, parts), (std::vector<std::size_t>{5, 5, 5}));
  EXPECT_FALSE(std::filesystem::exists(scratch / "live-0004.uvh5"));
  expect_from_files(parts);
}

// The first one gets nothing and fails; the second is ended by the clock while its receivers are still there.
TEST_F(LiveReceiverParts, AreObservationsThatTheClockEnds) {
  start(example() +
            "[[observation]]\nduration_s = 0.5\n"
            "[[observation]]\nduration_s = 8\nset.receivers.source = \"3C286\"\n"
            "set.receivers.centre_hz = 182.4e6\n"
            "[[observation]]\nstop = \"2020-01-01T00:00:00\"\n",
        {});
  auto clients = connect(2);
  send(clients, 0, 200'000);
  const CommandResult live = end_run();
  EXPECT_EQ(live.status, kDamaged) << live.err;
  EXPECT_NE(live.err.find("observation 1 of 3 failed"), std::string::npos) << live.err;
  EXPECT_NE(live.err.find("observation 3 of 3 is left out"), std::string::npos) << live.err;
  EXPECT_FALSE(std::filesystem::exists(scratch / "live-0001.uvh5"));
  expect_from_files(visibilities_in(scratch / "live-0002.uvh5"));
  const auto description = formats::open_visibilities(scratch / "live-0002.uvh5")->description();
  EXPECT_EQ(description.source, "3C286");
  EXPECT_NEAR(description.channel_hz[8], 182.4e6, 1);
}

// As a run that is stopped: what had come is kept, and the status says that it was cut short.
TEST_F(LiveReceiverParts, AreKeptOfTheObservationThatIsStopped) {
  start(example() + "[[observation]]\nduration_s = 600\n[[observation]]\nduration_s = 600\n",
        {"receivers.block_samples=1024"});
  auto clients = connect();
  send(clients, 0, 200'000);
  constexpr std::uintmax_t kSomeIntegrations = 1'000'000;  // bytes
  const std::string growing = formats::partial_name(scratch / "live-0001.uvh5");
  const auto written = [&] {
    std::error_code none;
    const auto size = std::filesystem::file_size(growing, none);
    return none ? 0 : size;
  };
  for (int wait = 0; wait < 60'000 && written() < kSomeIntegrations; ++wait)
    std::this_thread::sleep_for(1ms);
  kill(*run_pid, SIGTERM);
  const CommandResult live = end_run();
  expect_stopped(live);
  EXPECT_NE(live.err.find("observation 2 of 2 was not begun"), std::string::npos) << live.err;
  EXPECT_TRUE(std::filesystem::exists(scratch / "live-0001.uvh5"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "live-0002.uvh5"));
}

// While the correlator goes on; the end of a stretch that is still to come is that of the run.
TEST_F(LiveReceiverParts, HaveVoltagesDumpedByDatagrams) {
  start(example() +
            "[event]\ntype = \"buffer\"\ninputs = \"receivers\"\nlisten = \"udp://127.0.0.1:0\"\n"
            "keep_s = 1\nbefore_s = 0\nafter_s = 0\n",
        {"event.path=" + (scratch / "event.dada")});
  const std::string at = "udp://" + said("listening for triggers at udp://");
  auto clients = connect();
  stream::UdpSender sender(stream::parse_endpoint("to", at));
  for (const std::string& text :
       {std::string(R"({"time": 51200, "before_s": 0.01, "after_s": 0.02, "id": "past"})"),
        std::string(R"({"time": 150000, "before_s": 0.01, "after_s": 0.5, "id": "open"})")})
    sender.send(std::as_bytes(std::span(text)));
  sender.flush();
  send(clients, 0, 200'000);
  wait_for(scratch / "event-0001.dada.json");
  wait_for(scratch / "event-0002.dada.partial");
  kill(*run_pid, SIGINT);
  const CommandResult live = end_run();
  expect_stopped(live);
  const auto first = nlohmann::json::parse(read_file(scratch / "event-0001.dada.json"));
  EXPECT_EQ(first.at("trigger").at("id"), "past");
  EXPECT_EQ(first.at("start_sample"), 38'400);
  EXPECT_EQ(first.at("samples"), 38'400);
  const auto second = nlohmann::json::parse(read_file(scratch / "event-0002.dada.json"));
  EXPECT_EQ(second.at("trigger").at("id"), "open");
  EXPECT_EQ(second.at("missed").at(0).at("why"), "after the end");
  EXPECT_EQ(second.at("samples").get<std::uint64_t>() +
                second.at("missed").at(0).at("samples").get<std::uint64_t>(),
            second.at("wanted_samples").get<std::uint64_t>());
  EXPECT_FALSE(std::filesystem::exists(scratch / "event-0002.dada.partial"));
  // Visibilities from the dump equal those from the same times of the files.
  const std::vector<std::string> options{"--channels", "16",           "--integration",
                                         "0.01",       "--requantize", "off"};
  std::vector<std::string> dumped{
      "--quiet", "--device",           "cpu", "correlate", scratch / "event-0001.dada",
      "-o",      scratch / "dump.uvh5"},
      files{"--quiet",
            "--device",
            "cpu",
            "correlate",
            "--receivers",
            "-o",
            scratch / "stretch.uvh5",
            "--start",
            "0.03",
            "--duration",
            "0.03",
            "--utc-start",
            "2026-03-20-14:00:00"};
  for (std::size_t r = 0; r < kPartReceivers; ++r)
    files.push_back(scratch / ("mwa." + std::to_string(r)));
  for (auto* words : {&dumped, &files}) {
    words->insert(words->end(), options.begin(), options.end());
    const CommandResult result = run_command(*words, scratch / "correlate");
    ASSERT_EQ(result.status, kDone) << result.err;
  }
  const FileVisibilities of_dump = visibilities_in(scratch / "dump.uvh5"),
                         of_files = visibilities_in(scratch / "stretch.uvh5");
  EXPECT_EQ(of_dump.middles.size(), 3U);
  EXPECT_TRUE(of_dump.middles == of_files.middles);
  EXPECT_TRUE(of_dump.values == of_files.values);
}

}  // namespace
}  // namespace tautline::tests
