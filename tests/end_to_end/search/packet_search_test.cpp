// A search of packets of channelized voltages while they come: the candidate of the file that is sent, with losses too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "tautline/core/complex_int.h"
#include "tautline/formats/dada/dada.h"
#include "tests/end_to_end/live_run.h"
#include "tests/end_to_end/search/search_files.h"

namespace tautline::tests {
namespace {

constexpr std::size_t kBand = 32, kOfPacket = 16, kTimesOfPacket = 32,
                      kTimes = 3000 * kTimesOfPacket;
constexpr double kSpectra_hz = 20'000, kCentre_hz = 150e6, kDm = 20, kIntegrate = 4;

// One antenna: a lost packet takes all that there is of its channels and times.
class PacketSearch : public LiveRun {
 protected:
  void SetUp() override {  // needs no HDF5
    for (const char* name : {"run", "send"}) std::filesystem::create_directory(scratch / name);
    write_file(scratch / "layout.toml",
               "about = \"a test's\"\nbyte_order = \"big\"\nheader_bytes = 12\n"
               "axes = [[16, \"channel\"], [32, \"time\"], [2, \"polarisation\"]]\n"
               "sample = \"ci8\"\nstep = 32\n[fields]\n"
               "channel = { offset_bits = 0, bits = 32 }\n"
               "counter = { offset_bits = 32, bits = 64 }\n");
    write_voltages();
  }
  // Noise whose power is threefold for 20 spectra, later in lower channels.
  void write_voltages() {
    core::VoltageDescription d;
    d.format = core::kCi8;
    d.antennas = 1;
    d.polarisations = 2;
    d.channels = kBand;
    d.rate_hz = {static_cast<std::int64_t>(kSpectra_hz), 1};
    d.start = core::parse_utc("2026-11-23-12:16:40");
    d.centre_hz = kCentre_hz;
    d.bandwidth_hz = kSpectra_hz * kBand;
    std::vector<core::ci8> samples(kTimes * kBand * 2);  // [time][channel][polarisation]
    std::normal_distribution<double> normal(0, 15);
    const auto mhz = [](std::size_t c) {
      return (kCentre_hz + (static_cast<double>(c) - (kBand - 1) / 2.0) * kSpectra_hz) / 1e6;
    };
    std::vector<std::size_t> begins(kBand);
    for (std::size_t c = 0; c < kBand; ++c) {
      const double top = mhz(kBand - 1);
      const double delay_s = 4148.808 * kDm * (1 / (mhz(c) * mhz(c)) - 1 / (top * top));
      begins[c] = kPulse + static_cast<std::size_t>(std::lround(delay_s * kSpectra_hz));
    }
    for (std::size_t t = 0; t < kTimes; ++t)
      for (std::size_t c = 0; c < kBand; ++c) {
        const double scale = t >= begins[c] && t < begins[c] + 20 ? std::sqrt(3.0) : 1;
        for (std::size_t p = 0; p < 2; ++p) {
          const auto component = [&] {
            return static_cast<std::int8_t>(
                std::lround(std::min(127.0, std::max(-127.0, scale * normal(random)))));
          };
          samples[(t * kBand + c) * 2 + p] = {component(), component()};
        }
      }
    formats::dada::Writer writer(scratch / "voltages.dada", d, {.overwrite = true});
    writer.write(std::as_bytes(std::span(samples)));
    writer.finish();
  }
  void write_pipeline(const std::string& source) const {
    write_file(scratch / "search.toml",
               "[voltages]\n" + source +
                   "[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\n"
                   "[filterbank]\ntype = \"power\"\ninputs = \"f\"\nintegrate = 4\n"
                   "[pulses]\ntype = \"search\"\ninputs = \"filterbank\"\ndms.range = \"0:40:1\"\n"
                   "max_width_s = 0.01\nthreshold = 10\nlatency_s = 1\n"
                   "[list]\ntype = \"candidate_file\"\ninputs = \"pulses\"\npath = \"" +
                   (scratch / "list.csv") +
                   "\"\n[events]\ntype = \"candidate_events\"\n"
                   "inputs = \"pulses\"\npath = \"" +
                   (scratch / "events.jsonl") + "\"\n");
  }
  struct Outcome {
    nlohmann::json sent, counters, event;
    int status = -1;
  };
  // Until this machine itself has lost none.
  Outcome search_packets(const std::string& impair) {
    write_pipeline("type = \"packets\"\nlisten = \"udp://127.0.0.1:0\"\nlayout = \"" +
                   (scratch / "layout.toml") +
                   "\"\nantennas = 1\nchannels = 32\nrate_hz = 20000\ncentre_hz = 150e6\n"
                   "utc_start = \"2026-11-23-12:16:40\"\nwait_s = 60\nsilence_s = 2.0\n");
    Outcome outcome;
    for (int tries = 0; tries < 5; ++tries) {
      start_pipeline(scratch / "search.toml", {}, {"--overwrite"});
      const auto to = listens_at();
      if (to.empty()) return outcome;
      std::vector<std::string> words{"--json",
                                     "send",
                                     scratch / "voltages.dada",
                                     "--layout",
                                     scratch / "layout.toml",
                                     "--rate",
                                     "1",
                                     "--to",
                                     to[0]};
      if (!impair.empty()) words.insert(words.end(), {"--impair", impair});
      const CommandResult sent = run_command(words, scratch / "send");
      EXPECT_EQ(sent.status, kDone) << sent.err;
      const CommandResult result = end_run();
      EXPECT_TRUE(result.status == kDone || result.status == kDamaged) << result.err;
      if (sent.status != kDone || result.out.empty()) return outcome;
      outcome.sent = nlohmann::json::parse(sent.out);
      outcome.status = result.status;
      outcome.counters =
          nlohmann::json::parse(result.out.substr(result.out.rfind("{\"schema\""))).at("counters");
      if (outcome.counters.at("voltages.dropped_by_kernel") == 0) break;
    }
    EXPECT_EQ(outcome.counters.at("voltages.dropped_by_kernel"), 0);
    const auto events = json_lines(read_file(scratch / "events.jsonl"));
    EXPECT_EQ(events.size(), 1u);
    if (!events.empty()) outcome.event = events.front();
    return outcome;
  }
  static void expect_the_pulse(const nlohmann::json& event) {
    ASSERT_TRUE(event.is_object());
    EXPECT_NEAR(event.at("dm").get<double>(), kDm, 2);
    EXPECT_NEAR(event.at("sample").get<double>(), kPulse / kIntegrate, 10);
  }

  struct Listed {
    double snr = 0, sample = 0, dm = 0;
  };
  /// The only line of the list: snr,time_s,sample,width_samples,width_s,dm,...
  Listed pulse_listed() const {
    std::istringstream lines(read_file(scratch / "list.csv"));
    std::string header, line, more;
    std::getline(lines, header);
    std::getline(lines, line);
    EXPECT_FALSE(std::getline(lines, more)) << more;
    Listed pulse;
    double time_s = 0, width_samples = 0, width_s = 0;
    EXPECT_EQ(std::sscanf(line.c_str(), "%lf,%lf,%lf,%lf,%lf,%lf", &pulse.snr, &time_s,
                          &pulse.sample, &width_samples, &width_s, &pulse.dm),
              6)
        << line;
    return pulse;
  }

  static constexpr std::size_t kPulse = 50'000;  // in the highest channel
};

TEST_F(PacketSearch, FindsThePulseOfTheFileWithLossesToo) {
  const Outcome clean = search_packets("");
  EXPECT_EQ(clean.status, kDone);
  EXPECT_EQ(clean.counters.at("filterbank.filled_values"), 0);
  EXPECT_EQ(clean.counters.at("filterbank.samples"), kTimes / 4);
  expect_the_pulse(clean.event);
  const auto live = pulse_listed();

  const Outcome lossy = search_packets("loss=0.03,seed=" + std::to_string(random() % 999));
  EXPECT_EQ(lossy.status, kDamaged);
  const auto lost = lossy.sent.at("lost").get<std::uint64_t>();
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(lossy.counters.at("voltages.missing"), lost);
  EXPECT_EQ(lossy.counters.at("filterbank.filled_values"), lost * kOfPacket * kTimesOfPacket / 4);
  expect_the_pulse(lossy.event);
  // Zeros in their place would be noise of their own, of half of the pulse's S/N.
  EXPECT_GT(lossy.event.at("snr").get<double>(), 0.75 * clean.event.at("snr").get<double>());

  write_pipeline(
      "type = \"voltage_files\"\nkeep_constant = true\nblock_samples = 4096\nfiles = [\"" +
      (scratch / "voltages.dada") + "\"]\n");
  const CommandResult file = run_command(
      {"--device", "cpu", "run", scratch / "search.toml", "--overwrite"}, scratch / "run");
  ASSERT_EQ(file.status, kDone) << file.err;
  // Baselines, and so the S/N, depend on where live blocks end.
  const auto listed = pulse_listed();
  EXPECT_NEAR(listed.sample, live.sample, 10);
  EXPECT_NEAR(listed.dm, live.dm, 2);
  EXPECT_NEAR(listed.snr, live.snr, 0.2 * live.snr);
}

// Power of spectra that a filter bank multiplied with gains and rounded is not the antennas'.
TEST_F(PacketSearch, RefusesSpectraThatWereRounded) {
  write_pipeline("type = \"voltage_files\"\nfiles = [\"" + (scratch / "voltages.dada") + "\"]\n");
  const CommandResult result = run_command(
      {"--device", "cpu", "run", scratch / "search.toml", "--set", "f.fine=4"}, scratch / "run");
  EXPECT_EQ(result.status, kWrongUsage) << result.err;
  EXPECT_NE(result.err.find("spectra rounded to 8 bits"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("set requantise of the filter bank to off"), std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace tautline::tests
