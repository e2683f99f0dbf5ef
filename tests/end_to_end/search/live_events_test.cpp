// Events, triggers and sinks of searches of data that are still arriving.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>

#include "tautline/stream/udp.h"
#include "tests/end_to_end/interrupted.h"
#include "tests/end_to_end/search/live_search.h"
#include "tests/support/small_disk.h"

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;

class LiveEvents : public LiveSearch {};

// The events of a night in files that a hang-up begins; together they are the whole.
TEST_F(LiveEvents, BeginsNewFilesOfEventsOnHangUp) {
  const std::size_t times = 30'000, first = 9000 + random_() % 500, second = 24'000;
  write_filterbank(scratch_ / "a.fil", shape_,
                   noise_with_pulses(shape_, times, {{40, first, 40}, {25, second, 30}}, random_));
  const std::string bytes = read_file(scratch_ / "a.fil");
  const std::size_t header = bytes.size() - times * 32;
  ASSERT_EQ(mkfifo((scratch_ / "pipe").c_str(), 0600), 0);
  write_pipeline(std::string(kPipe) + "path = \"" + (scratch_ / "pipe") + "\"\n");
  pid_ = start_command(words({"--set", "events.each_s=3600"}), scratch_ / "run");
  const int pipe = open_pipe();
  ASSERT_GE(pipe, 0) << read_file(scratch_ / "run" + "/err");
  std::size_t fed = 0;
  const auto feed = [&](std::size_t until) {
    ASSERT_TRUE(put(pipe, std::string_view(bytes).substr(fed, until - fed)));
    fed = until;
  };
  const std::vector<std::string> names{scratch_ / "events-0001.jsonl",
                                       scratch_ / "events-0002.jsonl"};
  const auto is_in = [&](const std::string& name, std::size_t pulse) {
    return std::ranges::any_of(json_lines(read_file(name)), [&](const nlohmann::json& line) {
      return std::fabs(line["sample"].get<double>() - static_cast<double>(pulse)) < 5;
    });
  };
  feed(header + 32 * (first + 6000));
  for (int wait = 0; wait < 12'000 && !is_in(names[0], first); ++wait)
    std::this_thread::sleep_for(10ms);
  ASSERT_TRUE(is_in(names[0], first)) << read_file(scratch_ / "run" + "/err");
  kill(*pid_, SIGHUP);
  // The next block that comes after it was heard.
  for (int wait = 0; wait < 15 && !std::filesystem::exists(names[1]); ++wait) {
    std::this_thread::sleep_for(1s);
    feed(fed + std::size_t{32} * 400);
  }
  EXPECT_TRUE(std::filesystem::exists(names[1]));
  feed(bytes.size());
  close(pipe);
  const CommandResult result = finish_command(*pid_, scratch_ / "run");
  pid_.reset();
  ASSERT_EQ(result.status, kDone) << result.err;
  EXPECT_FALSE(is_in(names[0], second));
  EXPECT_TRUE(is_in(names[1], second));
  const nlohmann::json summary =
      nlohmann::json::parse(result.out.substr(result.out.rfind("{\"schema\"")));
  EXPECT_EQ(summary["files"]["events"], names);
  const auto parts = json_lines(read_file(names[0]) + read_file(names[1]));

  write_pipeline(std::string(kPipe));
  const CommandResult whole = run_from_file(words());
  ASSERT_EQ(whole.status, kDone) << whole.err;
  const auto all = events();
  ASSERT_EQ(parts.size(), all.size());
  for (std::size_t k = 0; k < all.size(); ++k)
    for (const char* key : {"snr", "sample", "dm", "utc"}) EXPECT_EQ(parts[k][key], all[k][key]);
}

// What other programs read meanwhile has whole lines alone.
TEST_F(LiveEvents, OnAFullDiskEndWithTheReason) {
  write_filterbank(scratch_ / "a.fil", shape_, noise_with_pulses(shape_, 40'000, {}, random_));
  write_pipeline(std::string(kPipe));
  std::filesystem::create_directory(scratch_ / "disk");
  const std::string file = scratch_ / "disk/events.jsonl";
  const int status = on_small_disk(scratch_ / "disk", 4096, [&] {
    const CommandResult result =
        run_from_file(words({"--set", "pulses.threshold=4", "--set", "events.path=" + file}));
    write_file(scratch_ / "said", result.err);
    write_file(scratch_ / "kept", read_file(file));
    return result.status;
  });
  if (status == kNoSmallDisk) GTEST_SKIP() << "no disk of its own can be made here";
  const std::string said = read_file(scratch_ / "said"), kept = read_file(scratch_ / "kept");
  EXPECT_EQ(status, kFailed) << said;
  EXPECT_NE(said.find("events.jsonl: cannot be written: No space left on device"),
            std::string::npos)
      << said;
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(kept.back(), '\n');
  for (const nlohmann::json& line : json_lines(kept))
    EXPECT_EQ(line["schema"], "tautline.candidate");
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "list.csv"));
}

// Found pulses, as datagrams to any listener.
TEST_F(LiveEvents, SendsTriggers) {
  write_filterbank(
      scratch_ / "a.fil", shape_,
      noise_with_pulses(shape_, 30'000, {{40, 12'000, 40}, {25, 20'000, 30}}, random_));
  write_pipeline(std::string(kPipe),
                 "[triggers]\ntype = \"candidate_triggers\"\ninputs = \"pulses\"\nthreshold = 15\n"
                 "[sender]\ntype = \"trigger_sender\"\ninputs = \"triggers\"\n");
  stream::UdpReceiver receiver({.listen = {stream::parse_endpoint("listen", "udp://127.0.0.1:0")},
                                .buffer_bytes = std::size_t{64} << 10});
  const CommandResult result =
      run_from_file(words({"--set", "sender.to=" + to_string(receiver.listening().front())}));
  ASSERT_EQ(result.status, kDone) << result.err;
  std::vector<nlohmann::json> sent;
  const auto take = [&](std::span<const stream::UdpReceiver::Packet> packets, std::size_t) {
    for (const auto& packet : packets)
      sent.push_back(nlohmann::json::parse(
          std::string_view(reinterpret_cast<const char*>(packet.data()), packet.size())));
  };
  while (receiver.receive(100ms, take) > 0) {
  }
  std::vector<nlohmann::json> bright;
  for (const nlohmann::json& event : events())
    if (event["snr"].get<double>() >= 15) bright.push_back(event);
  EXPECT_GE(bright.size(), 2u);
  ASSERT_EQ(sent.size(), bright.size());
  for (std::size_t k = 0; k < sent.size(); ++k) {
    EXPECT_TRUE(std::ranges::any_of(bright, [&](const nlohmann::json& event) {
      return event["dm"] == sent[k]["dm"] && event["utc"] == sent[k]["time"];
    })) << sent[k];
    EXPECT_EQ(sent[k]["reference_hz"], 1.5e9);
  }
}

// A run whose events fill a pipe that nobody reads any more.
class HeldUp : public LiveSearch {
 protected:
  void TearDown() override {
    LiveSearch::TearDown();
    if (feed_.joinable()) feed_.join();
    for (const int end : {pipe_, events_})
      if (end >= 0) close(end);
  }
  // Until nothing more comes.
  void start(const std::string& end_within_s) {
    write_filterbank(scratch_ / "a.fil", shape_, noise_with_pulses(shape_, 40'000, {}, random_));
    const std::string read = scratch_ / "pipe", written = scratch_ / "events.pipe";
    for (const std::string& name : {read, written}) ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
    write_pipeline(std::string(kPipe) + "path = \"" + read + "\"\n");
    events_ = open(written.c_str(), O_RDONLY | O_NONBLOCK);
    ASSERT_GE(fcntl(events_, F_SETPIPE_SZ, 4096), 4096);
    pid_ = start_command(words({"--set", "pulses.threshold=4", "--set", "events.path=" + written,
                                "--end-within", end_within_s}),
                         scratch_ / "run");
    pipe_ = open_pipe();
    ASSERT_GE(pipe_, 0) << read_file(scratch_ / "run" + "/err");
    feed_ = std::thread([this, bytes = read_file(scratch_ / "a.fil")] { put(pipe_, bytes); });
    for (int wait = 0, same = 0, before = 0; wait < 6000 && same < 100; ++wait) {
      std::this_thread::sleep_for(10ms);
      const int now = waiting();
      same = now > 2048 && now == before ? same + 1 : 0;  // of 4,096 bytes: all but a line
      before = now;
    }
    ASSERT_GT(waiting(), 0);
  }
  bool has_ended() const {
    siginfo_t gone{};
    EXPECT_EQ(waitid(P_PID, static_cast<id_t>(*pid_), &gone, WEXITED | WNOHANG | WNOWAIT), 0);
    return gone.si_pid != 0;
  }
  CommandResult end() {
    for (int wait = 0; wait < 6000 && !has_ended(); ++wait) std::this_thread::sleep_for(10ms);
    EXPECT_TRUE(has_ended()) << "it did not end";
    kill(*pid_, SIGKILL);
    const CommandResult result = finish_command(*pid_, scratch_ / "run");
    pid_.reset();
    return result;
  }
  void expect_nothing_left() const {
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path()))
      EXPECT_FALSE(entry.path().filename().string().starts_with("list.")) << entry.path();
  }

 private:
  int waiting() const {
    int bytes = 0;
    return ioctl(events_, FIONREAD, &bytes) == 0 ? bytes : -1;
  }
  int events_ = -1, pipe_ = -1;
  std::thread feed_;
};

TEST_F(HeldUp, IsEndedWhereASinkStandsStill) {
  ASSERT_NO_FATAL_FAILURE(start("1"));
  kill(*pid_, SIGTERM);
  const CommandResult result = end();
  EXPECT_EQ(result.status, kTerminated) << result.err;
  EXPECT_NE(result.err.find("not waited for [events], which has stood still for"),
            std::string::npos)
      << result.err;
  expect_nothing_left();
}

TEST_F(HeldUp, IsEndedByASecondSignal) {
  const int signal = random_() % 2 == 0 ? SIGINT : SIGTERM;
  ASSERT_NO_FATAL_FAILURE(start("86400"));
  kill(*pid_, signal);
  std::this_thread::sleep_for(2s);  // those within half a second count as one
  ASSERT_FALSE(has_ended()) << read_file(scratch_ / "run" + "/err");
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "list.csv.partial"));
  kill(*pid_, signal);
  const CommandResult result = end();
  EXPECT_EQ(result.status, 128 + signal) << result.err;
  EXPECT_NE(result.err.find("twice interrupted; nothing was kept"), std::string::npos)
      << result.err;
  expect_error_object(result);
  expect_nothing_left();
}

}  // namespace
}  // namespace tautline::tests
