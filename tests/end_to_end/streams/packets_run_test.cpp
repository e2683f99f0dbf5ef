// Runs that take packets over UDP: their threads, few packets, and runs that are killed and started again.
#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <map>
#include <thread>

#include "tautline/formats/packets/packet_layout.h"
#include "tautline/formats/voltage_reader.h"
#include "tautline/stream/packetiser.h"
#include "tautline/stream/udp.h"
#include "tests/end_to_end/streams/live_packets.h"

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;

// The threads of a process that may use one processor alone, by their names.
std::map<std::string, int> pinned_threads(pid_t pid) {
  std::map<std::string, int> pinned;
  std::error_code gone;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    cpu_set_t allowed;
    if (sched_getaffinity(std::stoi(task.path().filename()), sizeof allowed, &allowed) != 0 ||
        CPU_COUNT(&allowed) != 1)
      continue;
    std::string name = read_file(task.path() / "comm");
    name.resize(name.find('\n'));
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &allowed)) pinned[name] = cpu;
  }
  return pinned;
}

TEST_F(LivePackets, AreReceivedOnTheProcessorsThatAreNamed) {
  cpu_set_t own;
  ASSERT_EQ(sched_getaffinity(0, sizeof own, &own), 0);
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(static_cast<std::size_t>(last), &own)) --last;
  if (CPU_COUNT(&own) < 2)
    GTEST_SKIP() << "this process may use one processor alone: all threads are on it";
  write_voltages(kFEngines);
  write_pipeline(fields_of(kFEngines));
  const bool two = CPU_ISSET(static_cast<std::size_t>(last - 1), &own);
  std::cout << (two ? "" : "not of two threads: no neighbours among the processors\n");
  for (int threads = 1; threads <= (two ? 2 : 1); ++threads) {
    const int processor = last - threads + 1;
    const auto to = start_run(1, {"packets.processor=" + std::to_string(processor),
                                  "packets.threads=" + std::to_string(threads)});
    ASSERT_EQ(to.size(), 1U);
    std::map<std::string, int> expected{{"packets", processor}}, pinned;
    if (threads == 2) expected = {{"receive 0", processor}, {"receive 1", processor + 1}};
    for (int wait = 0; wait < 3000 && pinned != expected; ++wait) {
      std::this_thread::sleep_for(10ms);
      pinned = pinned_threads(*run_pid);
    }
    EXPECT_EQ(pinned, expected);
    send(to, {"--layout", "meerkat-f", "--rate", "1"});
    EXPECT_EQ(pinned_threads(*run_pid), expected);  // none that works beside it
    const CommandResult result = end_run();
    EXPECT_TRUE(result.status == kDone || result.status == kDamaged) << result.err;
  }
}

// Started again by a loop of the shell after it was killed, a run goes on with new files; all that have their names are
// whole.
TEST_F(LivePackets, OfARunThatIsKilledAndStartedAgainGoToNewFiles) {
  write_voltages({"meerkat-f", core::kCi8, 32, 3, 256 * 390, 40'000});
  write_pipeline(fields_of(kFEngines));
  std::filesystem::create_directory(scratch / "night");
  // The same for both runs, and not of those that the system gives to whoever asks for any while no run has it.
  std::string to;
  for (int tries = 0; tries < 100 && to.empty(); ++tries) {
    const std::string tried = "udp://127.0.0.1:" + std::to_string(10'000 + random() % 20'000);
    try {
      const stream::UdpReceiver listens({.listen = {stream::parse_endpoint("to", tried)}});
      to = tried;
    } catch (const core::Error&) {  // taken by another program
    }
  }
  const std::string pid_file = scratch / "pid";
  const std::string loop = "while :; do " + command_path() + " --device cpu run " + pipeline +
                           " --set packets.listen=" + to + " --set x.integration_s=0.0064" +
                           " --set visibilities.each_s=0.0064 --set packets.silence_s=5" +
                           " --set 'visibilities.path=" + (scratch / "night/v-{utc}.uvh5") +
                           "' & echo $! > " + pid_file + ".new; mv " + pid_file + ".new " +
                           pid_file + "; wait $!; status=$?; " +
                           "[ $status = 137 ] || exit $status; sleep 1.1; done";
  run_pid = start_program("/bin/sh", {"-c", loop}, scratch / "run");
  const auto runs = [&] {  // their files, by the time in their names
    std::map<std::string, std::vector<std::string>> found;
    for (const auto& file : std::filesystem::directory_iterator(scratch / "night"))
      if (file.path().extension() == ".uvh5")
        found[file.path().stem().string().substr(0, 18)].push_back(file.path());
    return found;
  };
  const auto wait_for = [&](const auto& condition) {
    for (int wait = 0; wait < 3000 && !condition(); ++wait) std::this_thread::sleep_for(10ms);
    return condition();
  };
  const auto sender = [&] {
    return start_command({"send", files[0], "--layout", "meerkat-f", "--rate", "0.25", "--to", to},
                         scratch / "send");
  };
  ASSERT_EQ(listens_at().size(), 1U);
  pid_t sends = sender();
  ASSERT_TRUE(wait_for([&] { return !runs().empty() && runs().begin()->second.size() >= 3; }))
      << run_said();
  const std::string first = read_file(pid_file);
  kill(std::stoi(first), SIGKILL);
  const auto before = runs();
  EXPECT_TRUE(wait_for([&] { return read_file(pid_file) != first; }));
  EXPECT_TRUE(wait_for([&] { return runs().size() == 2; })) << run_said();
  EXPECT_EQ(finish_command(sends, scratch / "send").status, kDone);
  const CommandResult result = end_run();
  EXPECT_TRUE(result.status == kDone || result.status == kDamaged) << result.err;
  const auto after = runs();
  ASSERT_EQ(after.size(), 2U);
  EXPECT_GE(after.rbegin()->second.size(), 3U);
  for (const auto& [time, names] : before) {
    ASSERT_EQ(time.size(), std::string("v-20260320T140000Z").size()) << time;
    EXPECT_EQ(time.back(), 'Z') << time;
    for (const std::string& name : names) EXPECT_TRUE(std::filesystem::exists(name)) << name;
  }
  for (const auto& [time, names] : after)
    for (const std::string& name : names) {
      const FileVisibilities one = visibilities_in(name);
      EXPECT_EQ(one.values.size(), 32U * 21) << name;  // channels, baselines
    }
}

// Too few packets to confirm the stream's position: taken when the wait for more is over, without a warning before.
TEST_F(LivePackets, OfTheLayoutAreNotCalledNothing) {
  write_voltages(kFEngines);
  write_pipeline(fields_of(kFEngines, "2") + "late_s = 0.2\n");
  const auto to = start_run();
  ASSERT_EQ(to.size(), 1U);
  stream::UdpSender sender(stream::parse_endpoint("to", to[0]));
  const auto reader = formats::open_voltages(files[0], {});
  int left = 5;
  stream::Packetiser packetiser(formats::packets::read_layout("meerkat-f"), reader->description(),
                                0, [&](auto packet, std::uint64_t) {
                                  if (left-- > 0) sender.send(packet);
                                });
  core::RawBlock block;
  while (reader->read(1000, block) > 0) packetiser.take(block);
  sender.flush();
  const CommandResult result = end_run();
  EXPECT_TRUE(result.status == kDone || result.status == kDamaged) << result.err;
  EXPECT_EQ(result.err.find("nothing of"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("no stream of"), std::string::npos) << result.err;
  EXPECT_EQ(counters_of(result).at("accepted"), 5);
}

// Those that were received with the last ones of the duration, too. The run sleeps until they wait for it.
TEST_F(LivePackets, BehindTheDurationAreCounted) {
  constexpr std::uint64_t kPacketsOfABlock = 3 * 4;
  write_voltages(kFEngines);
  write_pipeline(fields_of(kFEngines) + "block_samples = 256\nduration_s = 0.0064\n");
  const auto to = start_run();
  ASSERT_EQ(to.size(), 1U);
  kill(*run_pid, SIGSTOP);
  send(to, {"--layout", "meerkat-f", "--rate", "0"});
  kill(*run_pid, SIGCONT);
  const nlohmann::json c = counters_of(end_run());
  expect_all_counted(c);
  EXPECT_GE(c.at("accepted"), kPacketsOfABlock);
  EXPECT_EQ(c.at("after_end") > 0, c.at("packets") > c.at("accepted")) << c;
}

}  // namespace
}  // namespace tautline::tests
