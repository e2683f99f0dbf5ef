// Packets from `send` over UDP to a pipeline's node `packets`, and what `correlate` gives of the same voltages as files.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tautline/formats/dada/dada.h"
#include "tests/end_to_end/file_visibilities.h"
#include "tests/end_to_end/live_run.h"

namespace tautline::tests {

inline constexpr const char* kPacketsStart = "2026-11-23-12:16:40";

// Where the kernel's buffer is small and the machine busy, packets are lost on this machine itself; they are counted,
// and the stream is sent again.
inline constexpr int kPacketTries = 5;

struct Telescope {
  std::string layout;
  core::SampleFormat format;
  std::size_t channels, antennas, samples;
  double rate_hz;
};

class LivePackets : public LiveRun {
 protected:
  // Random samples of two polarisations.
  void write_voltages(const Telescope& of) {
    core::VoltageDescription d;
    d.format = of.format;
    d.antennas = of.antennas;
    d.polarisations = 2;
    d.channels = of.channels;
    d.rate_hz = core::make_rational(static_cast<std::int64_t>(of.rate_hz), 1);
    d.start = core::parse_utc(kPacketsStart);
    d.centre_hz = 1.4e9;
    d.bandwidth_hz = of.rate_hz * static_cast<double>(of.channels);
    formats::dada::Writer writer(scratch / "voltages.dada", d, {.overwrite = true});
    std::vector<std::byte> bytes(of.samples * of.channels * of.antennas * 2 *
                                 static_cast<std::size_t>(of.format.bits_per_sample()) / 8);
    std::uint64_t word = random();
    for (std::byte& byte : bytes) {
      word = word * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<std::byte>(word >> 56);
    }
    writer.write(bytes);
    writer.finish();
    files = {scratch / "voltages.dada"};
    correlate_words = {"--integration", "0.03"};
  }

  void write_pipeline(const std::string& fields, const std::string& bank = "") {
    write_file(pipeline, "[packets]\ntype = \"packets\"\n" + fields +
                             "\n[f]\ntype = \"filter_bank\"\ninputs = \"packets\"\n" + bank +
                             "\n[x]\ntype = \"correlator\"\ninputs = \"f\"\n"
                             "integration_s = 0.03\n"
                             "[visibilities]\ntype = \"visibility_file\"\n"
                             "inputs = \"x\"\npath = \"" +
                             (scratch / "live.uvh5") + "\"\n");
  }
  std::string fields_of(const Telescope& of, const std::string& wait_s = "60") {
    return "listen = \"udp://127.0.0.1:0\"\nlayout = \"" + of.layout +
           "\"\nantennas = " + std::to_string(of.antennas) +
           "\nchannels = " + std::to_string(of.channels) +
           "\nrate_hz = " + std::to_string(static_cast<int>(of.rate_hz)) +
           "\ncentre_hz = 1.4e9\nutc_start = \"" + kPacketsStart + "\"\nwait_s = " + wait_s +
           "\nsilence_s = 2.0\n";
  }

  // Returns where it listens, in the order of the fields.
  std::vector<std::string> start_run(std::size_t addresses = 1,
                                     const std::vector<std::string>& sets = {}) {
    start_pipeline(pipeline, sets, {"--overwrite"});
    return listens_at(addresses);
  }
  std::vector<std::string> words_to_send(const std::vector<std::string>& to,
                                         const std::vector<std::string>& more) const {
    std::vector<std::string> words{"--json", "send"};
    words.insert(words.end(), files.begin(), files.end());
    words.insert(words.end(), send_words.begin(), send_words.end());
    words.insert(words.end(), more.begin(), more.end());
    words.emplace_back("--to");
    words.insert(words.end(), to.begin(), to.end());
    return words;
  }
  nlohmann::json send(const std::vector<std::string>& to, const std::vector<std::string>& more) {
    const CommandResult result = run_command(words_to_send(to, more), scratch / "send");
    EXPECT_EQ(result.status, kDone) << result.err;
    return nlohmann::json::parse(result.out.empty() ? "{}" : result.out);
  }
  FileVisibilities from_files() {
    std::vector<std::string> words = files;
    words.insert(words.end(), correlate_words.begin(), correlate_words.end());
    words.insert(words.end(), {"--overwrite", "-o", scratch / "files.uvh5", "--keep-constant"});
    const CommandResult result = correlate(words);
    EXPECT_EQ(result.status, kDone) << result.err;
    return visibilities_in(scratch / "files.uvh5");
  }
  static nlohmann::json counters_of(const CommandResult& result) {
    const nlohmann::json all =
        nlohmann::json::parse(result.out.substr(result.out.rfind("{\"schema\""))).at("counters");
    nlohmann::json packets;
    for (const auto& [name, count] : all.items())
      if (name.starts_with("packets.")) packets[name.substr(8)] = count;
    return packets;
  }
  // Every packet that came is counted once.
  static void expect_all_counted(const nlohmann::json& c) {
    const auto of = [&](const char* name) { return c.at(name).get<std::uint64_t>(); };
    EXPECT_EQ(of("packets"), of("accepted") + of("late") + of("duplicate") + of("early") +
                                 of("malformed") + of("foreign") + of("after_end"))
        << c;
  }

  struct Outcome {
    nlohmann::json sent, counters;
    FileVisibilities live;
    int status = -1;
  };
  Outcome run_and_send(const std::vector<std::string>& more, std::size_t addresses = 1,
                       const std::vector<std::string>& sets = {}) {
    return run_and([&](const std::vector<std::string>& to) { return send(to, more); }, addresses,
                   sets);
  }
  // Until this machine has lost none. send_all(addresses) returns the summary of what was sent.
  template <class SendAll>
  Outcome run_and(const SendAll& send_all, std::size_t addresses = 1,
                  const std::vector<std::string>& sets = {}) {
    Outcome outcome;
    for (int tries = 0; tries < kPacketTries; ++tries) {
      const auto to = start_run(addresses, sets);
      if (to.size() != addresses) return outcome;
      outcome.sent = send_all(to);
      const CommandResult result = end_run();
      EXPECT_TRUE(result.status == kDone || result.status == kDamaged) << result.err;
      if (result.status != kDone && result.status != kDamaged) return outcome;
      outcome.status = result.status;
      outcome.counters = counters_of(result);
      expect_all_counted(outcome.counters);
      if (outcome.counters.at("dropped_by_kernel") == 0) break;
      std::cout << "dropped by the kernel: " << outcome.counters.at("dropped_by_kernel") << '\n';
    }
    EXPECT_EQ(outcome.counters.at("dropped_by_kernel"), 0);
    EXPECT_EQ(outcome.counters.at("packets"), outcome.sent.at("records"));
    outcome.live = visibilities_in(scratch / "live.uvh5");
    return outcome;
  }
  void expect_the_files(const Outcome& outcome) {
    EXPECT_EQ(outcome.status, kDone);
    EXPECT_EQ(outcome.counters.at("accepted"), outcome.sent.at("records"));
    EXPECT_EQ(outcome.counters.at("missing"), 0);
    const FileVisibilities expected = from_files();
    EXPECT_GE(expected.middles.size(), 2U);
    EXPECT_TRUE(outcome.live == expected);
  }

  // A VDIF frame of 2-bit samples, of 2026's first half.
  void put_vdif_frame(std::string& out, std::uint32_t second, std::uint32_t frame,
                      std::uint32_t thread) {
    for (const std::uint32_t word :
         {second, 52u << 24 | frame, 1u << 29 | 8032 / 8, 1u << 26 | thread << 16 | 7})
      for (int k = 0; k < 4; ++k) out.push_back(static_cast<char>(word >> 8 * k));
    out.append(16, '\0');
    for (int k = 0; k < 8000; ++k) out.push_back(static_cast<char>(random()));
  }

  std::string pipeline = scratch / "pipeline.toml";
  std::vector<std::string> files, send_words, correlate_words;
};

inline const Telescope kFEngines{"meerkat-f", core::kCi8, 32, 3, 256 * 39, 40'000};

}  // namespace tautline::tests
