// Packets from `send` over UDP to a pipeline's node `packets`: what `correlate` gives of the same voltages as files, to
// the bit, and what is lost reaches exactly the weights that it touches.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "tautline/core/constant_run.h"
#include "tautline/formats/dada/dada.h"
#include "tautline/formats/voltage_reader.h"
#include "tautline/stream/packetiser.h"
#include "tautline/stream/udp.h"
#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/streams/live_packets.h"

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;

TEST_F(LivePackets, OfFEnginesGiveWhatTheirFileGives) {
  write_voltages(kFEngines);
  write_pipeline(fields_of(kFEngines));
  const Outcome outcome = run_and_send({"--layout", "meerkat-f", "--rate", "1"});
  EXPECT_EQ(keys_of(outcome.sent), documented_object("`tautline.send`"));
  EXPECT_EQ(outcome.sent.at("records"), 39 * 3 * 2 * 2);
  expect_the_files(outcome);
}

TEST_F(LivePackets, ToThePipelineOfTheExamplesGiveWhatTheirFileGives) {
  write_voltages({"meerkat-f", core::kCi8, 64, 4, 256 * 40, 5000});
  correlate_words = {"--integration", "1"};
  pipeline = source_folder() + "/examples/pipelines/packets-live.toml";
  expect_the_files(
      run_and_send({"--layout", "meerkat-f", "--rate", "1"}, 1,
                   {"visibilities.path=" + (scratch / "live.uvh5"),
                    "packets.listen=udp://127.0.0.1:0", "packets.centre_hz=1.4e9",
                    "packets.silence_s=2", std::string("packets.utc_start=") + kPacketsStart}));
}

// Sent three times without a gap, a file is one of three times the length, though it ends inside a packet.
TEST_F(LivePackets, OfAFileThatIsSentAgainAreALongerFiles) {
  constexpr std::size_t kPart = 256 * 13 + 100, kPackets = 3 * kPart / 256;
  write_voltages({"meerkat-f", core::kCi8, 32, 3, kPart, kFEngines.rate_hz});
  write_pipeline(fields_of(kFEngines));
  const Outcome outcome = run_and_send({"--layout", "meerkat-f", "--rate", "1", "--repeat", "3"});
  EXPECT_EQ(outcome.sent.at("records"), kPackets * 3 * 2 * 2);
  EXPECT_EQ(outcome.sent.at("trailing_samples"), 3 * kPart % 256);
  constexpr std::size_t kTimeBytes = 32 * 3 * 2 * 2;
  const std::string bytes = read_file(files[0]),
                    part = bytes.substr(bytes.size() - kPart * kTimeBytes);
  const std::string all = (part + part + part).substr(0, kPackets * 256 * kTimeBytes);
  const core::VoltageDescription description = formats::open_voltages(files[0], {})->description();
  formats::dada::Writer writer(files[0], description, {.overwrite = true});
  writer.write(std::as_bytes(std::span(all)));
  writer.finish();
  expect_the_files(outcome);
}

TEST_F(LivePackets, OfSnapBoardsGiveWhatTheirFileGives) {
  const Telescope snap{"ata-snap", core::kCi4, 256, 2, 16 * 251, 20'000};
  write_voltages(snap);
  write_pipeline(fields_of(snap));
  expect_the_files(run_and_send({"--layout", "ata-snap", "--rate", "1"}));
}

// All packets of a file from so many ports in turn; returns how many.
std::uint64_t send_from_ports(const std::string& file, const std::string& to, std::size_t ports) {
  const auto reader = formats::open_voltages(file, {});
  std::vector<stream::UdpSender> senders;
  for (std::size_t k = 0; k < ports; ++k) senders.emplace_back(stream::parse_endpoint("to", to));
  std::uint64_t count = 0;
  stream::Packetiser packetiser(formats::packets::read_layout("meerkat-f"), reader->description(),
                                0, [&](auto packet, std::uint64_t) {
                                  senders[count++ % ports].send(packet);
                                  if (count % ports != 0) return;
                                  for (auto& sender : senders) sender.flush();
                                  std::this_thread::sleep_for(2ms);
                                });
  core::RawBlock block;
  while (reader->read(1000, block) > 0) packetiser.take(block);
  packetiser.finish();
  for (auto& sender : senders) sender.flush();
  return count;
}

TEST_F(LivePackets, ReceivedBySeveralThreads) {
  write_voltages(kFEngines);
  write_pipeline(fields_of(kFEngines) +
                 "threads = 3\nblock_samples = 1024\nwindow_samples = 9984\n");
  nlohmann::json counters;
  for (int tries = 0; tries < kPacketTries; ++tries) {
    const auto to = start_run();
    ASSERT_EQ(to.size(), 1U);
    const std::uint64_t sent = send_from_ports(files[0], to[0], 12);
    const CommandResult result = end_run();
    EXPECT_EQ(result.status, kDone) << result.err;
    counters = counters_of(result);
    expect_all_counted(counters);
    EXPECT_EQ(sent, 39U * 3 * 2 * 2);
    if (counters.at("dropped_by_kernel") == 0) break;
    std::cout << "dropped by the kernel: " << counters.at("dropped_by_kernel") << '\n';
  }
  EXPECT_EQ(counters.at("accepted"), 39 * 3 * 2 * 2);
  EXPECT_EQ(counters.at("missing"), 0);
  EXPECT_TRUE(visibilities_in(scratch / "live.uvh5") == from_files());
}

// Two threads of 2-bit samples, through the filter bank: polarisations, or antennas that have an address each.
class LiveVdif : public LivePackets, public ::testing::WithParamInterface<bool> {};

TEST_P(LiveVdif, GivesWhatItsFileGives) {
  const bool antennas = GetParam();
  std::string bytes;
  for (std::uint32_t frame = 0; frame < 150; ++frame)
    for (std::uint32_t thread = 0; thread < 2; ++thread) {
      const std::uint32_t number = 1900 + frame;  // of 2,000 a second
      put_vdif_frame(bytes, 1000 + number / 2000, number % 2000, thread);
    }
  files = {scratch / "station.vdif"};
  write_file(files[0], bytes);
  const std::vector<std::string> reader{"--threads-are", antennas ? "antennas" : "polarisations",
                                        "--rate-hz",     "64e6",
                                        "--centre-hz",   "1.4e9"};
  correlate_words = reader;
  correlate_words.insert(correlate_words.end(),
                         {"--integration", "0.03", "--channels", "16", "--bandwidth-hz", "32e6"});
  send_words = reader;
  write_pipeline(
      std::string("layout = \"vdif\"\ncentre_hz = 1.4e9\nwait_s = 60\nsilence_s = 2.0\n") +
          (antennas ? "antennas = 2\nlisten = [\"udp://127.0.0.1:0\", \"udp://127.0.0.1:0\"]\n"
                    : "polarisations = 2\nlisten = \"udp://127.0.0.1:0\"\n"),
      "channels = 16\n");
  expect_the_files(run_and_send({"--layout", "vdif", "--rate", "0.2"}, antennas ? 2 : 1));
}

INSTANTIATE_TEST_SUITE_P(OfAntennas, LiveVdif, ::testing::Bool());

// The layout that the guide writes for a telescope of its own.
TEST_F(LivePackets, OfTheGuidesTelescopeGiveWhatTheirFileGives) {
  const std::string guide = read_file(source_folder() + "/docs/guide/packets.md");
  const std::size_t begin = guide.find("# hilltop.toml"), end = guide.find("```", begin);
  ASSERT_NE(end, std::string::npos);
  write_file(scratch / "hilltop.toml", guide.substr(begin, end - begin));
  const Telescope hilltop{scratch / "hilltop.toml", core::kCi8, 128, 3, 32 * 1500, 1'000'000};
  write_voltages(hilltop);
  std::string fields = fields_of(hilltop);
  const std::string start = "utc_start = \"" + std::string(kPacketsStart) + "\"\n";
  fields.erase(fields.find(start), start.size());  // the packets say it
  write_pipeline(fields);
  expect_the_files(run_and_send({"--layout", hilltop.layout, "--rate", "0.05"}));
}

// An array of `channelize` says its rate, start and inputs by the record beside it, as a DADA file does.
TEST_F(LivePackets, OfAChannelizedArrayNeedNoOptions) {
  const std::string guide = read_file(source_folder() + "/docs/guide/packets.md");
  const std::size_t begin = guide.find("# hilltop.toml"), end = guide.find("```", begin);
  std::string layout = guide.substr(begin, end - begin);
  const std::string rate = "rate_hz = 1e6";
  ASSERT_NE(layout.find(rate), std::string::npos);
  layout.replace(layout.find(rate), rate.size(), "rate_hz = 1e5");
  const Telescope slow{scratch / "slow.toml", core::kCi8, 128, 3, 32 * 200, 100'000};
  write_file(slow.layout, layout);
  write_voltages({"", core::kCi8, 1, 3, slow.channels * slow.samples, 12'800'000});
  for (const char* name : {"s.npy", "s.dada"})
    ASSERT_EQ(run_command({"channelize", scratch / "voltages.dada", "-o", scratch / name,
                           "--channels", "128", "--requantize", "8"},
                          scratch.path().string())
                  .status,
              kDone);
  std::string fields = fields_of(slow);
  const std::string start = "utc_start = \"" + std::string(kPacketsStart) + "\"\n";
  fields.erase(fields.find(start), start.size());
  write_pipeline(fields);
  files = {scratch / "s.dada"};
  const Outcome of_dada = run_and_send({"--layout", slow.layout, "--rate", "0.5"});
  files = {scratch / "s.npy"};
  const Outcome of_array = run_and_send({"--layout", slow.layout, "--rate", "0.5"});
  EXPECT_GE(of_array.live.middles.size(), 2U);
  EXPECT_TRUE(of_array.live == of_dada.live);
  EXPECT_EQ(of_array.sent["records"], of_dada.sent["records"]);
  EXPECT_EQ(of_array.sent["data_s"], of_dada.sent["data_s"]);
  std::filesystem::remove(scratch / "s.npy.json");
  const CommandResult without =
      run_command({"send", scratch / "s.npy", "--layout", slow.layout, "--to", "udp://127.0.0.1:9"},
                  scratch.path().string());
  EXPECT_EQ(without.status, kWrongUsage);
  EXPECT_NE(without.err.find("--rate-hz"), std::string::npos) << without.err;
}

// Lost packets lower the weights of their channels, antenna and times alone; all else is the clean run's to the bit.
TEST_F(LivePackets, ThatAreLostReachTheWeightsThatTheyTouch) {
  write_voltages(kFEngines);
  write_pipeline(fields_of(kFEngines));
  const FileVisibilities whole = from_files();
  const Outcome outcome = run_and_send(
      {"--layout", "meerkat-f", "--rate", "1", "--impair",
       "loss=0.03,reorder=0.05,duplicate=0.02,seed=" + std::to_string(random() % 999)});
  const auto of = [](const nlohmann::json& object, const char* name) {
    return object.at(name).get<std::uint64_t>();
  };
  const nlohmann::json &c = outcome.counters, &sent = outcome.sent;
  EXPECT_EQ(outcome.status, of(sent, "lost") > 0 ? kDamaged : kDone);
  EXPECT_EQ(of(c, "missing"), of(sent, "lost"));
  EXPECT_EQ(of(c, "duplicate"), of(sent, "duplicated"));
  EXPECT_EQ(of(c, "accepted") + of(c, "missing"), 39U * 3 * 2 * 2);
  EXPECT_EQ(of(sent, "records") + of(sent, "lost"),
            of(c, "accepted") + of(c, "missing") + of(c, "late") + of(c, "duplicate") +
                of(c, "early") + of(c, "malformed") + of(c, "foreign"));
  // A packet has 8 channels of 256 spectra of both polarisations.
  EXPECT_EQ(of(c, "lost_samples"), (of(sent, "lost") * 8 * 256 * 2 + 31) / 32);
  ASSERT_EQ(outcome.live.values.size(), whole.values.size());
  EXPECT_TRUE(outcome.live.middles == whole.middles);
  constexpr std::size_t kBaselines = 6 * 7 / 2;
  std::uint64_t missing_autos = 0, touched = 0, wrong = 0;
  for (std::size_t k = 0; k < whole.values.size(); ++k) {
    const std::size_t baseline = k % kBaselines;
    const std::int64_t less = whole.counts[k] - outcome.live.counts[k];
    if (less == 0) {
      wrong += outcome.live.values[k] == whole.values[k] ? 0 : 1;
      continue;
    }
    ++touched;
    EXPECT_GT(less, 0);
    for (std::size_t i = 0; i < 6; ++i)
      if (baseline == i * (i + 1) / 2 + i) missing_autos += static_cast<std::uint64_t>(less);
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(missing_autos, of(sent, "lost") * 8 * 256 * 2);
  EXPECT_LT(touched, whole.values.size());
}

// Within the window, packets out of order and twice cost nothing.
TEST_F(LivePackets, OutOfOrderAndTwiceGiveWhatTheirFileGives) {
  write_voltages(kFEngines);
  write_pipeline(fields_of(kFEngines) + "window_samples = " + std::to_string(kFEngines.samples) +
                 "\n");
  const Outcome outcome =
      run_and_send({"--layout", "meerkat-f", "--rate", "1", "--impair",
                    "reorder=0.1,duplicate=0.05,seed=" + std::to_string(random() % 999)});
  const nlohmann::json &c = outcome.counters, &sent = outcome.sent;
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_GT(c.at("reordered"), 0);
  EXPECT_GT(c.at("duplicate"), 0);
  EXPECT_EQ(c.at("duplicate"), sent.at("duplicated"));
  EXPECT_EQ(c.at("accepted"), 39 * 3 * 2 * 2);
  for (const char* name : {"missing", "late", "lost_samples"}) EXPECT_EQ(c.at(name), 0) << name;
  const FileVisibilities expected = from_files();
  EXPECT_GE(expected.middles.size(), 2U);
  EXPECT_TRUE(outcome.live == expected);
}

TEST_F(LivePackets, OfAChannelThatNeverChangesAreInvalid) {
  write_voltages(kFEngines);
  constexpr std::size_t kInputs = 6, kChannel = 11, kInput = 3;
  std::string bytes = read_file(files[0]);
  const std::size_t header = bytes.size() - kFEngines.samples * kFEngines.channels * kInputs * 2;
  for (std::size_t t = 0; t < kFEngines.samples; ++t)
    for (std::size_t part = 0; part < 2; ++part)
      bytes[header + ((t * kFEngines.channels + kChannel) * kInputs + kInput) * 2 + part] = '\5';
  write_file(files[0], bytes);
  write_pipeline(fields_of(kFEngines));
  const FileVisibilities whole = from_files();
  const auto repeats = static_cast<std::int64_t>(core::repeats_of_nothing(
      1, kFEngines.rate_hz * static_cast<double>(kFEngines.channels * kInputs)));
  for (const auto& [keep, threads] : {std::pair(false, "1"), {false, "3"}, {true, "1"}}) {
    SCOPED_TRACE(threads);
    const Outcome outcome =
        run_and_send({"--layout", "meerkat-f", "--rate", "1"}, 1,
                     {"packets.keep_constant=" + std::string(keep ? "true" : "false"),
                      "packets.threads=" + std::string(threads)});
    ASSERT_EQ(outcome.status, kDone);
    // Blocks are handed on without the next one: a first one of fewer samples than tell is used.
    const auto empty = outcome.counters.at("empty_values").get<std::int64_t>(),
               used = static_cast<std::int64_t>(kFEngines.samples) - empty;
    EXPECT_TRUE(keep ? empty == 0 : used <= repeats) << empty;
    ASSERT_EQ(outcome.live.counts.size(), whole.counts.size());
    constexpr std::size_t kBaselines = kInputs * (kInputs + 1) / 2;
    std::vector<std::int64_t> counts(kBaselines);  // of the channel
    std::size_t changed = 0;
    for (std::size_t k = 0; k < whole.counts.size(); ++k) {
      if (k / kBaselines % kFEngines.channels == kChannel)
        counts[k % kBaselines] += outcome.live.counts[k];
      else
        changed += outcome.live.counts[k] == whole.counts[k] ? 0 : 1;
      changed +=
          outcome.live.counts[k] != whole.counts[k] || outcome.live.values[k] == whole.values[k]
              ? 0
              : 1;
    }
    EXPECT_EQ(changed, 0u);
    for (std::size_t i = 0, baseline = 0; i < kInputs; ++i)
      for (std::size_t j = 0; j <= i; ++j, ++baseline)
        EXPECT_EQ(counts[baseline], !keep && (i == kInput || j == kInput)
                                        ? used
                                        : static_cast<std::int64_t>(kFEngines.samples))
            << i << " " << j;
  }
}

TEST_F(LivePackets, ThatAreDamagedAreCounted) {
  write_voltages(kFEngines);
  write_pipeline(fields_of(kFEngines));
  const Outcome outcome =
      run_and_send({"--layout", "meerkat-f", "--rate", "1", "--impair",
                    "corrupt=0.2,jitter=2ms,loss=0.01,seed=" + std::to_string(random() % 999)});
  EXPECT_GT(outcome.sent.at("corrupted"), 0);
  const auto of = [&](const char* name) { return outcome.counters.at(name).get<std::uint64_t>(); };
  EXPECT_GE(of("accepted") + of("missing"), 39U * 3 * 2 * 2);
  EXPECT_GE(of("missing"), outcome.sent.at("lost").get<std::uint64_t>());
  EXPECT_EQ(of("lost_samples"), (of("missing") * 8 * 256 * 2 + 31) / 32);
}

// Everything that came before the signal is in the file.
TEST_F(LivePackets, AreWrittenWhenTheRunIsInterrupted) {
  write_voltages(kFEngines);
  write_pipeline(fields_of(kFEngines));
  const auto to = start_run(1, {"packets.silence_s=-1"});
  const auto sent = send(to, {"--layout", "meerkat-f", "--rate", "1"});
  std::this_thread::sleep_for(500ms);
  kill(*run_pid, SIGINT);
  const CommandResult result = end_run();
  expect_stopped(result);
  const auto counters = counters_of(result);
  if (counters.at("accepted") == sent.at("records")) {
    EXPECT_TRUE(visibilities_in(scratch / "live.uvh5") == from_files());
  } else {  // on a busy machine
    EXPECT_LT(counters.at("packets"), sent.at("records")) << counters;
  }
}

// Random bytes as fast as they go, among them packets of the right length, beside a telescope: counted, and nothing
// else.
TEST_F(LivePackets, AmongRandomBytesAreFound) {
  write_voltages(kFEngines);
  write_pipeline(fields_of(kFEngines) + "buffer_bytes = \"16M\"\n");
  const auto to = start_run();
  ASSERT_EQ(to.size(), 1U);
  std::atomic<bool> go_on{true};
  std::thread noise([&, seed = random()] {
    std::mt19937_64 bytes(seed);
    stream::UdpSender sender(stream::parse_endpoint("to", to[0]));
    std::vector<std::byte> packet(9000);
    for (std::byte& byte : packet) byte = static_cast<std::byte>(bytes());
    while (go_on) {
      const std::size_t length = bytes() % 3 == 0 ? 8192 + 72 : bytes() % packet.size();
      for (int k = 0; k < 8; ++k) packet[bytes() % 128] = static_cast<std::byte>(bytes());
      sender.send(std::span(packet).first(length));
    }
  });
  const auto sent = send(to, {"--layout", "meerkat-f", "--rate", "0.5"});
  go_on = false;
  noise.join();
  const CommandResult result = end_run();
  EXPECT_TRUE(result.status == kDone || result.status == kDamaged) << result.err;
  const auto c = counters_of(result);
  expect_all_counted(c);
  EXPECT_GT(c.at("malformed"), 100);
  EXPECT_LE(c.at("accepted"), sent.at("records"));
  EXPECT_GT(c.at("accepted"), 0);
  EXPECT_EQ(c.at("jumps"), 0);
}

// Samples of files as if they came live, at a rate: in short blocks, and otherwise the same.
TEST_F(LivePackets, OfFilesAsIfLiveAreTheFiles) {
  write_voltages(kFEngines);
  write_pipeline("");
  std::string text = read_file(pipeline);
  const std::string type = "type = \"packets\"\n";
  text.replace(
      text.find(type), type.size(),
      "type = \"voltage_files\"\nrate = 4\nkeep_constant = true\nfiles = \"" + files[0] + "\"\n");
  write_file(pipeline, text);
  const CommandResult result = run_command({"--device", "cpu", "run", pipeline}, scratch / "run");
  ASSERT_EQ(result.status, kDone) << result.err;
  EXPECT_TRUE(visibilities_in(scratch / "live.uvh5") == from_files());
}

TEST_F(LivePackets, ThatNeverComeEndTheRun) {
  write_pipeline(fields_of(kFEngines, "0.5"));
  start_run();
  const CommandResult result = end_run();
  EXPECT_EQ(result.status, kFailed);
  EXPECT_NE(result.err.find("0 packets in 0.5 s, expected packets of meerkat-f"), std::string::npos)
      << result.err;
  EXPECT_FALSE(std::filesystem::exists(scratch / "live.uvh5"));
  start_run(1, {"packets.wait_s=-1"});
  kill(*run_pid, SIGTERM);
  EXPECT_EQ(end_run().status, kTerminated);
}

// Packets of somebody else: the log says why none is taken, and so does the error in the end.
TEST_F(LivePackets, OfAnotherTelescopeAreNamed) {
  write_pipeline(fields_of(kFEngines, "10") + "late_s = 3\n");
  const auto to = start_run();
  ASSERT_EQ(to.size(), 1U);
  stream::UdpSender sender(stream::parse_endpoint("to", to[0]));
  for (int k = 0; k < 10; ++k) sender.send(std::vector<std::byte>(100));
  sender.flush();
  const CommandResult result = end_run();
  EXPECT_EQ(result.status, kFailed);
  EXPECT_NE(result.err.find("nothing of meerkat-f yet: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.rfind("10 packets, 10 "), std::string::npos) << result.err;
}

TEST_F(LivePackets, ThatCannotBeAreRefused) {
  write_pipeline(fields_of(kFEngines));
  const auto refused = [&](const std::string& set, const std::string& text) {
    const CommandResult result =
        run_command({"run", pipeline, "--check", "--set", set}, scratch / "run");
    EXPECT_TRUE(result.status == kWrongUsage || result.status == kFailed) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << set << ": " << result.err;
  };
  refused("packets.listen=tcp://127.0.0.1:0", "expected udp://HOST:PORT");
  refused("packets.listen=7148", "expected tcp://HOST:PORT or udp://HOST:PORT");
  refused("packets.layout=nobodys", "expected one of ata-snap");
  refused("packets.channels=17", "expected a multiple of 16");
  refused("packets.block_samples=100", "expected a multiple of 256");
  refused("packets.window_samples=100", "expected a multiple of a payload's 256 samples");
  refused("packets.layout=mwa32t", "expected 1: packets do not say which they are of");
  refused("packets.layout=vdif", "given for packets that count seconds");
  refused("packets.late_s=0", "expected above 0");
  refused("packets.threads=0", "expected");
  refused("packets.processor=100000", "expected below");
  write_voltages(kFEngines);
  const auto send_refused = [&](std::vector<std::string> words, const std::string& text) {
    words.insert(words.begin(), {"send", files[0]});
    const CommandResult result = run_command(words, scratch / "send");
    EXPECT_TRUE(result.status == kWrongUsage || result.status == kFailed) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  };
  const std::string to = "udp://127.0.0.1:9";
  send_refused({"--to", to, "--layout", "vdif"},
               "layout: vdif, expected packets of the 32 channels that the voltages have; this "
               "layout takes 1: packets do not "
               "say which they are of");
  send_refused({"--to", to, to, "--layout", "meerkat-f"}, "2 addresses, expected 1");
  send_refused({"--to", to, "--layout", "none.toml"}, "none.toml");
}

}  // namespace
}  // namespace tautline::tests
