// `run` with receivers that `send` plays: what comes over the network equals what is correlated from the files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tautline/core/complex_int.h"
#include "tautline/core/time.h"
#include "tautline/formats/dada/dada.h"
#include "tautline/formats/mwa32t/counters.h"
#include "tautline/formats/mwa32t/writer.h"
#include "tautline/stream/tcp.h"
#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/file_visibilities.h"
#include "tests/end_to_end/live_run.h"

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;
using formats::mwa32t::Mode;

class LiveReceivers : public LiveRun {
 protected:
  // Noise of four receivers, whose first counters differ by less than a millisecond.
  void write_receivers(std::size_t samples, Mode mode = Mode::two_byte) {
    std::normal_distribution<double> noise(0, mode == Mode::two_byte ? 4 : 2);
    const std::size_t inputs = formats::mwa32t::kInputsPerReceiver;
    for (std::size_t r = 0; r < 4; ++r) {
      files.push_back(scratch / ("mwa." + std::to_string(r)));
      first_counter.push_back(65'000 + random() % 1000);
      formats::mwa32t::Writer file(files[r], mode, static_cast<std::uint16_t>(first_counter[r]));
      std::vector<core::ci8> voltages(samples * inputs);
      const std::size_t phase = random() % 4096;
      std::vector<std::int8_t> values(4096);
      for (std::int8_t& value : values)
        value = static_cast<std::int8_t>(std::lround(noise(random)));
      for (std::size_t k = 0; k < voltages.size(); ++k)
        voltages[k] = {values[((k * 7 + phase) ^ (k >> 12)) % 4096],
                       values[((k * 13 + r) ^ (k >> 14)) % 4096]};
      file.write(voltages);
      file.finish();
    }
  }
  std::vector<std::string> with_files(std::vector<std::string> words,
                                      const std::vector<std::string>& more) {
    words.insert(words.end(), files.begin(), files.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  FileVisibilities from_files(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"--receivers", "-o",          scratch / "files.uvh5",
                                   "--channels",  "16",          "--integration",
                                   "0.02",        "--utc-start", "2026-03-20-14:00:00"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = correlate(with_files({}, words));
    EXPECT_TRUE(result.status == kDone || result.status == kDamaged) << result.err;
    return visibilities_in(scratch / "files.uvh5");
  }
  // Starts the example at a port that the system chooses, and returns where it listens.
  std::string start_run(const std::vector<std::string>& more = {}) {
    std::vector<std::string> sets{
        "receivers.listen=tcp://127.0.0.1:0",          "receivers.wait_s=1", "receivers.late_s=30",
        "receivers.utc_start=2026-03-20-14:00:00",     "f.channels=16",      "x.integration_s=0.02",
        "visibilities.path=" + (scratch / "live.uvh5")};
    sets.insert(sets.end(), more.begin(), more.end());
    start_pipeline(source_folder() + "/examples/pipelines/mwa32-live.toml", sets);
    const std::string said = "listening at ";
    std::string err;
    for (int wait = 0; wait < 60'000 && err.find(" receivers\n") == std::string::npos; ++wait) {
      std::this_thread::sleep_for(1ms);
      err = run_said();
    }
    const std::size_t at = err.find(said);
    EXPECT_NE(at, std::string::npos) << err;
    if (at == std::string::npos) return "";
    return err.substr(at + said.size(), err.find(" for ", at) - at - said.size());
  }
  nlohmann::json send(const std::string& to,
                      const std::vector<std::string>& more = {"--rate", "0"}) {
    std::vector<std::string> words = more;
    words.insert(words.end(), {"--to", to});
    const CommandResult result =
        run_command(with_files({"--json", "send"}, words), scratch / "send");
    EXPECT_EQ(result.status, kDone) << result.err;
    return nlohmann::json::parse(result.out);
  }
  static nlohmann::json counters_of(const CommandResult& result) {
    return nlohmann::json::parse(result.out.substr(result.out.rfind("{\"schema\""))).at("counters");
  }

  std::vector<std::string> files;
  std::vector<std::uint64_t> first_counter;  // of each
};

TEST_F(LiveReceivers, GiveWhatTheirFilesGiveToTheBit) {
  for (const Mode mode : {Mode::two_byte, Mode::one_byte}) {
    files.clear();
    first_counter.clear();
    for (int r = 0; r < 4; ++r) std::filesystem::remove(scratch / ("mwa." + std::to_string(r)));
    std::filesystem::remove(scratch / "live.uvh5");
    std::filesystem::remove(scratch / "files.uvh5");
    write_receivers(200'000, mode);
    const std::string layout = mode == Mode::two_byte ? "mwa32t" : "mwa32t-1byte";
    const auto sent =
        send(start_run({"receivers.layout=" + layout}), {"--rate", "2", "--layout", layout});
    EXPECT_EQ(keys_of(sent), documented_object("`tautline.send`"));
    EXPECT_EQ(sent.at("records"), 800'000);
    const CommandResult live = end_run();
    EXPECT_TRUE(live.status == kDone || live.status == kDamaged) << live.err;
    const FileVisibilities expected = from_files();
    EXPECT_GE(expected.middles.size(), 7U);
    EXPECT_TRUE(visibilities_in(scratch / "live.uvh5") == expected);
  }
}

// Gains that change at the same edges to the same bits, wherever blocks end.
TEST_F(LiveReceivers, FollowWithTheirGainsAsTheirFilesDo) {
  write_receivers(200'000);
  send(start_run({"f.settle_s=0.03", "f.follow_gains=true"}), {"--rate", "2"});
  const CommandResult live = end_run();
  EXPECT_TRUE(live.status == kDone || live.status == kDamaged) << live.err;
  EXPECT_GE(counters_of(live).at("f.gain_changes").get<std::uint64_t>(), 3U);
  const FileVisibilities given = visibilities_in(scratch / "live.uvh5");
  EXPECT_TRUE(given == from_files({"--settle", "0.03", "--follow-gains"}));
  std::filesystem::remove(scratch / "files.uvh5");
  EXPECT_FALSE(given == from_files());
}

// One file ends in the middle of a record, as a connection that dies: its baselines lose weight, and no others.
TEST_F(LiveReceivers, GiveWhatTheirFilesGiveWhenOneDies) {
  write_receivers(200'000);
  std::filesystem::resize_file(files[2], 34 * (50'000 + random() % 100'000) + 1 + random() % 33);
  send(start_run(), {"--rate", "2"});
  const CommandResult live = end_run();
  EXPECT_EQ(live.status, kDamaged) << live.err;
  const std::size_t said = live.err.find("receiver 3 has gone");
  EXPECT_NE(said, std::string::npos) << live.err;
  EXPECT_EQ(live.err.rfind("receiver 3 has gone"), said) << "said twice: " << live.err;
  const FileVisibilities given = visibilities_in(scratch / "live.uvh5");
  EXPECT_TRUE(given == from_files());
  EXPECT_GE(counters_of(live).at("receivers.lost_samples").get<std::uint64_t>(), 16U * 40'000);
  EXPECT_NE(std::count(given.counts.begin(), given.counts.end(), 0), 0);
}

// Sent twice without a gap, files are one recording of twice the length.
TEST_F(LiveReceivers, GiveTheSameOfFilesThatAreSentAgain) {
  write_receivers(2 * formats::mwa32t::kCounterPeriod);
  EXPECT_EQ(send(start_run(), {"--rate", "1", "--repeat", "2"}).at("records"),
            16 * std::uint64_t{formats::mwa32t::kCounterPeriod});
  const CommandResult live = end_run();
  EXPECT_TRUE(live.status == kDone || live.status == kDamaged) << live.err;
  for (const std::string& file : files) write_file(file, read_file(file) + read_file(file));
  const FileVisibilities expected = from_files();
  EXPECT_GE(expected.middles.size(), 10U);
  EXPECT_TRUE(visibilities_in(scratch / "live.uvh5") == expected);
}

// Stretches that one receiver never sent: the baselines of its inputs lose the weights that they lose in files, and
// every lost sample is counted, of the stretches and of the ends of receivers that began earlier than the last.
TEST_F(LiveReceivers, LoseWhatTheirFilesLackToTheBit) {
  constexpr std::uint64_t kTimes = 200'000;
  write_receivers(kTimes);
  const std::string whole = read_file(files[1]);
  std::string left;
  std::uint64_t cut = 0;
  for (std::uint64_t time = 0; time < kTimes;) {
    const std::uint64_t end = std::min(kTimes, time + (time == 0 ? 1100 : 100) + random() % 20'000);
    left += whole.substr(34 * time, 34 * (end - time));
    const std::uint64_t gap = end + 3200 < kTimes ? 1 + random() % 3000 : 0;
    cut += gap;
    time = gap > 0 ? end + gap : kTimes;
    if (gap == 0) left += whole.substr(34 * end);
  }
  write_file(files[1], left);
  send(start_run(), {"--rate", "2"});
  const CommandResult live = end_run();
  EXPECT_EQ(live.status, kDamaged) << live.err;
  EXPECT_GT(cut, 0U);
  const FileVisibilities given = visibilities_in(scratch / "live.uvh5");
  EXPECT_TRUE(given == from_files());
  std::uint64_t lost = cut;
  for (const std::uint64_t first : first_counter)
    lost += *std::max_element(first_counter.begin(), first_counter.end()) - first;
  const auto counters = counters_of(live);
  EXPECT_EQ(counters.at("receivers.lost_samples"), 16 * lost);
  EXPECT_EQ(counters.at("receivers.late_records"), 0);
  EXPECT_EQ(counters.at("receivers.trailing_bytes"), 0);
}

// A connection that dies and is made again: what the receiver did not send meanwhile is missing, as in its file without
// that stretch.
TEST_F(LiveReceivers, GiveWhatTheirFilesGiveWhenOneComesBack) {
  constexpr std::size_t kTimes = 120'000, kStep = 2000, kLeaving = 2;
  write_receivers(kTimes);
  const std::size_t leaves = kStep * (10 + random() % 20),
                    comes_back = leaves + kStep * (2 + random() % 5);
  const stream::Endpoint to =
      stream::parse_endpoint("to", start_run({"receivers.block_samples=1024"}));
  const auto until_said = [&](const std::string& text) {
    for (int wait = 0; wait < 60'000 && run_said().find(text) == std::string::npos; ++wait)
      std::this_thread::sleep_for(1ms);
    ASSERT_NE(run_said().find(text), std::string::npos) << run_said();
  };
  std::vector<std::optional<stream::TcpClient>> clients(4);
  for (auto& client : clients) client.emplace(to, 20s);
  std::vector<std::string> bytes;
  for (const std::string& file : files) bytes.push_back(read_file(file));
  for (std::size_t time = 0; time < kTimes; time += kStep) {
    if (time == leaves) clients[kLeaving].reset();
    const auto send_step = [&](std::size_t r, std::size_t first) {
      clients[r]->write(std::as_bytes(std::span(bytes[r]).subspan(34 * first, 34 * kStep)));
    };
    // Before the others have sent what it comes back with, so that none of it is late.
    if (time + kStep == comes_back) {
      until_said("receiver 3 has gone");
      clients[kLeaving].emplace(to, 20s);
      send_step(kLeaving, comes_back);
      until_said("receiver 3 has come back");
    }
    for (std::size_t r = 0; r < 4; ++r)
      if (r != kLeaving || time < leaves || time > comes_back) send_step(r, time);
    // All have begun before any is ahead by so much that its counters, which begin again every 51.2 ms, say too little.
    if (time == 0) std::this_thread::sleep_for(1s);
  }
  clients.clear();
  const CommandResult live = end_run();
  EXPECT_EQ(live.status, kDamaged) << live.err;
  write_file(files[kLeaving],
             bytes[kLeaving].substr(0, 34 * leaves) + bytes[kLeaving].substr(34 * comes_back));
  EXPECT_TRUE(visibilities_in(scratch / "live.uvh5") == from_files());
  std::uint64_t lost = comes_back - leaves;
  for (const std::uint64_t first : first_counter)
    lost += *std::max_element(first_counter.begin(), first_counter.end()) - first;
  EXPECT_EQ(counters_of(live).at("receivers.lost_samples"), 16 * lost);
  EXPECT_EQ(counters_of(live).at("receivers.late_records"), 0);
}

// Voltages of one file go out by four connections, and give what the file gives.
TEST_F(LiveReceivers, GiveWhatAFileOfAllAntennasGives) {
  core::VoltageDescription d;
  d.format = core::kCi8;
  d.antennas = 32;
  d.polarisations = 2;
  d.rate_hz = core::make_rational(1'280'000, 1);
  d.start = core::parse_utc("2026-03-20-14:00:00");
  d.centre_hz = 154.88e6;
  d.bandwidth_hz = 1.28e6;
  constexpr std::size_t kTimes = 100'000;
  std::vector<core::ci8> voltages(kTimes * d.inputs());
  for (core::ci8& voltage : voltages) {  // of 5 bits
    const std::uint64_t word = random();
    voltage = {static_cast<std::int8_t>(static_cast<int>(word & 31) - 16),
               static_cast<std::int8_t>(static_cast<int>(word >> 8 & 31) - 16)};
  }
  files = {scratch / "all.dada"};
  formats::dada::Writer writer(files[0], d, {});
  writer.write(std::as_bytes(std::span(voltages)));
  writer.finish();
  const auto sent = send(start_run());
  EXPECT_EQ(sent.at("records"), 4 * kTimes);
  EXPECT_EQ(sent.at("clipped"), 0);
  const CommandResult live = end_run();
  EXPECT_EQ(live.status, kDone) << live.err;
  ASSERT_EQ(correlate({files[0], "-o", scratch / "files.uvh5", "--channels", "16", "--integration",
                       "0.02"})
                .status,
            kDone);
  const FileVisibilities expected = visibilities_in(scratch / "files.uvh5");
  EXPECT_GE(expected.middles.size(), 3U);
  EXPECT_TRUE(visibilities_in(scratch / "live.uvh5") == expected);
}

// Records that are lost, repeated and corrupted on purpose: each that came is counted once.
TEST_F(LiveReceivers, CountWhatWasLostOnPurpose) {
  write_receivers(100'000);
  const auto sent =
      send(start_run(), {"--rate", "1", "--impair",
                         "loss=0.001,duplicate=0.001,corrupt=0.0003,jitter=1ms,seed=" +
                             std::to_string(random() % 99)});
  const CommandResult live = end_run();
  EXPECT_EQ(live.status, kDamaged) << live.err;
  const auto counters = counters_of(live);
  const auto of = [&](const char* name) {
    return counters.at("receivers." + std::string(name)).get<std::uint64_t>();
  };
  const auto sent_of = [&](const char* name) { return sent.at(name).get<std::uint64_t>(); };
  for (const char* name : {"lost", "duplicated", "corrupted"}) EXPECT_GT(sent_of(name), 0U) << name;
  EXPECT_EQ(sent_of("records") + sent_of("lost") - sent_of("duplicated"), 400'000U);
  EXPECT_EQ(of("received_bytes"), 34 * sent_of("records"));
  const std::uint64_t taken = 4 * of("samples") - of("lost_samples") / 16;
  EXPECT_EQ(34 * (taken + of("repeated_records") + of("late_records") + of("early_records")) +
                of("trailing_bytes"),
            of("received_bytes"));
  EXPECT_EQ(of("late_records"), 0U);
  // Repeats are told as such, but where another fault lies within the eight records that prove a counter.
  EXPECT_LE(of("repeated_records"), sent_of("duplicated"));
  EXPECT_GT(of("repeated_records"), sent_of("duplicated") / 2);
}

// One place is taken by a sender of random bytes, as fast as they go, and a fifth sender is turned away: the baselines
// of the others are those of their files, the others are empty, and memory is what it was.
TEST_F(LiveReceivers, AmongRandomBytesGiveWhatTheirFilesGive) {
  constexpr std::size_t kTimes = 200'000, kStep = 4000, kTaken = 3, kInputs = 64, kTheirs = 48,
                        kBaselines = kInputs * (kInputs + 1) / 2;
  write_receivers(kTimes);
  // The stream begins with the receiver that begins last, which is another one.
  const auto first =
      static_cast<std::size_t>(std::ranges::min_element(first_counter) - first_counter.begin());
  std::swap(files[first], files[kTaken]);
  const stream::Endpoint to = stream::parse_endpoint("to", start_run({"receivers.late_s=10"}));
  std::vector<stream::TcpClient> clients;
  std::vector<std::string> bytes;
  for (std::size_t r = 0; r < kTaken; ++r) {
    clients.emplace_back(to, 20s);
    bytes.push_back(read_file(files[r]));
  }
  std::atomic<std::uint64_t> rubbish = 0;
  std::atomic<bool> go_on = true;
  std::jthread hostile([&, seed = random(), client = stream::TcpClient(to, 20s)]() mutable {
    std::mt19937_64 noise(seed);
    std::vector<std::uint64_t> words(8192);
    try {
      for (; go_on; rubbish += words.size() * 8) {
        for (std::uint64_t& word : words) word = noise();
        client.write(std::as_bytes(std::span(words)));
      }
    } catch (const core::Error&) {  // a run that has ended: what is expected of it says more
    }
  });
  const stream::TcpClient fifth(to, 20s);
  const auto resident_bytes = [&] {
    std::size_t pages = 0, resident = 0;
    std::ifstream("/proc/" + std::to_string(*run_pid) + "/statm") >> pages >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  };
  std::size_t at_first = 0;
  for (std::size_t time = 0; time < kTimes; time += kStep) {
    for (std::size_t r = 0; r < kTaken; ++r)
      clients[r].write(std::as_bytes(std::span(bytes[r]).subspan(34 * time, 34 * kStep)));
    // All have begun before any is ahead by so much that its counters, which begin again every 51.2 ms, say too little.
    if (time == 0) std::this_thread::sleep_for(2s);
    if (time == kTimes / 2) at_first = resident_bytes();
    std::this_thread::sleep_for(20ms);
  }
  const std::size_t in_the_end = resident_bytes();
  go_on = false;
  hostile.join();
  clients.clear();
  const CommandResult live = end_run();
  EXPECT_EQ(live.status, kDamaged) << live.err;
  std::cout << "random bytes: " << rubbish << std::endl;
  const auto counters = counters_of(live);
  EXPECT_GT(rubbish, std::uint64_t{8} << 20);
  EXPECT_GE(counters.at("receivers.trailing_bytes").get<std::uint64_t>() + (8 << 20), rubbish);
  EXPECT_EQ(counters.at("receivers.refused_connections"), 1);
  EXPECT_EQ(counters.at("receivers.late_records"), 0);
  EXPECT_GT(at_first, 0U);
  EXPECT_LT(in_the_end, at_first + (std::size_t{48} << 20));
  const FileVisibilities given = visibilities_in(scratch / "live.uvh5"), expected = from_files();
  ASSERT_EQ(given.counts.size(), expected.counts.size());
  EXPECT_TRUE(given.middles == expected.middles);
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < given.counts.size(); ++k)
    if (k % kBaselines >= kTheirs * (kTheirs + 1) / 2)
      wrong += given.counts[k] == 0 ? 0 : 1;
    else
      wrong +=
          given.counts[k] == expected.counts[k] && given.values[k] == expected.values[k] ? 0 : 1;
  EXPECT_EQ(wrong, 0U);
}

// Everything that came before the signal is in the file, whole or as a short last integration.
TEST_F(LiveReceivers, AreWrittenWhenTheRunIsInterrupted) {
  write_receivers(150'000);
  const stream::Endpoint to =
      stream::parse_endpoint("to", start_run({"receivers.block_samples=1024"}));
  std::vector<stream::TcpClient> clients;
  for (int r = 0; r < 4; ++r) clients.emplace_back(to, 20s);
  std::vector<std::string> bytes;
  for (const std::string& file : files) bytes.push_back(read_file(file));
  for (std::size_t done = 0; done < bytes[0].size(); done += 34 * 4000) {
    for (std::size_t r = 0; r < 4; ++r)
      clients[r].write(std::as_bytes(std::span(bytes[r]).subspan(
          done, std::min<std::size_t>(34 * 4000, bytes[r].size() - done))));
    // All have begun before any is ahead by so much that its counters, which begin again every 51.2 ms, say too little.
    if (done == 0) std::this_thread::sleep_for(1s);
  }
  std::this_thread::sleep_for(3s);
  kill(*run_pid, SIGINT);
  const CommandResult live = end_run();
  expect_stopped(live);
  const auto samples = counters_of(live).at("receivers.samples").get<std::size_t>();
  EXPECT_GT(samples, 16 * 1032U);
  const FileVisibilities given = visibilities_in(scratch / "live.uvh5");
  EXPECT_GE(given.middles.size(), 1U);
  const FileVisibilities all = from_files();
  // Whole integrations are the files'.
  const std::size_t whole = (given.middles.size() - 1) * 16 * 64 * 65 / 2;
  ASSERT_GE(all.values.size(), whole);
  EXPECT_TRUE(std::equal(given.values.begin(),
                         given.values.begin() + static_cast<std::ptrdiff_t>(whole),
                         all.values.begin()));
}

TEST_F(LiveReceivers, ThatNeverComeCanBeInterrupted) {
  start_run();
  kill(*run_pid, SIGINT);
  const CommandResult live = end_run();
  EXPECT_EQ(live.status, 128 + SIGINT) << live.err;
  EXPECT_NE(live.err.find("interrupted"), std::string::npos) << live.err;
  EXPECT_FALSE(std::filesystem::exists(scratch / "live.uvh5"));
}

TEST_F(LiveReceivers, AndSendersThatCannotBeAreRefused) {
  write_receivers(1000);
  write_file(scratch / "none", std::string(5000, 'x'));
  const auto refused = [&](const std::vector<std::string>& words, const std::string& text) {
    const CommandResult result = run_command(words, scratch / "send");
    EXPECT_TRUE(result.status == kWrongUsage || result.status == kFailed) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  };
  const std::string file = files[0], to = "tcp://127.0.0.1:1";
  refused({"send", file, "--to", "127.0.0.1:1"}, "--to: 127.0.0.1:1, expected tcp://HOST:PORT");
  refused({"send", file, "--to", to, "udp://127.0.0.1:1"}, "expected addresses of one transport");
  refused({"send", file, "--to", to, to}, "expected one: receivers are numbered");
  refused({"send", file, "--to", to, "--layout", "meerkat-f"}, "expected mwa32t or mwa32t-1byte");
  refused({"send", scratch / "none", "--to", to},
          "none: records: none, expected records of 34 bytes");
  refused({"send", file, "--to", to, "--layout", "mwa32t-1byte"}, "of the other mode");
  refused({"send", file, "--to", to, "--repeat", "2"}, "--repeat: 2, expected 1 for a file of");
  refused({"send", file, "--to", to, "--impair", "reorder=0.1"}, "TCP keeps the order");
  refused({"send", file, "--to", to, "--impair", "loss=2"}, "--impair: loss=2, expected 0 to 1");
  refused({"send", file, "--to", to, "--impair", "los=1"}, "expected loss=");
  refused({"send", file, "--to", to, "--connect", "1e9"}, "--connect: 1e9, expected 0 to 86400");
  refused({"send", file, "--to", to, "--rate", "1e9"}, "--rate: 1e9, expected 0 to 1000000");
  refused({"send", file, "--to", to, "--connect", "0.1"},
          "refused; start whoever is to receive it");
  const std::string example = source_folder() + "/examples/pipelines/mwa32-live.toml";
  refused({"run", example, "--check", "--set", "receivers.listen=9032"},
          "expected tcp://HOST:PORT");
  refused({"run", example, "--check", "--set", "receivers.connections=0"}, "expected 1 to 1024");
  refused({"run", example, "--check", "--set", "receivers.duration_s=1e15"}, "expected -1 to");
  refused({"run", example, "--check", "--monitor-token", "word"}, "--monitor-token: given");
}

// Before anybody is waited for.
TEST_F(LiveReceivers, ThatCouldNotBeWrittenAreRefused) {
  const std::string example = source_folder() + "/examples/pipelines/mwa32-live.toml";
  std::filesystem::create_directory(scratch / "old.ms");
  write_file(scratch / "old.uvh5", "kept");
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {"old.uvh5", "old.uvh5: it exists, expected a new name; give --overwrite"},
           {"old.ms/", "old.ms/: it exists, expected a new name"},
           {"none/new.uvh5", "expected a name in a folder that is there"},
           {"old.uvh5/new.uvh5", "expected a name in a folder that is there"},
           {"new.xyz", "expected a name ending in "}})
    for (const bool check : {true, false}) {
      std::vector<std::string> words{"run",   example,
                                     "--set", "visibilities.path=" + (scratch / name),
                                     "--set", "receivers.listen=tcp://127.0.0.1:0"};
      if (check) words.emplace_back("--check");
      const CommandResult result = run_command(words, scratch / "run");
      EXPECT_EQ(result.status,
                name.starts_with("old.") && !name.ends_with("new.uvh5") ? kFailed : kWrongUsage)
          << result.err;
      EXPECT_NE(result.err.find("set visibilities.path: "), std::string::npos) << result.err;
      EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
      EXPECT_EQ(result.err.find("listening"), std::string::npos) << result.err;
    }
  EXPECT_EQ(read_file(scratch / "old.uvh5"), "kept");
  EXPECT_EQ(run_command({"run", example, "--check", "--overwrite", "--set",
                         "visibilities.path=" + (scratch / "old.uvh5")},
                        scratch / "run")
                .status,
            kDone);
}

}  // namespace
}  // namespace tautline::tests
