// A search of packets of channelized voltages while they come: the candidate of the file that is sent, with losses too,
// and the voltages around it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <vector>

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
  static core::VoltageDescription description(core::SampleFormat format, std::size_t antennas,
                                              std::size_t channels) {
    core::VoltageDescription d;
    d.format = format;
    d.antennas = antennas;
    d.polarisations = 2;
    d.channels = channels;
    d.rate_hz = {static_cast<std::int64_t>(kSpectra_hz), 1};
    d.start = core::parse_utc("2026-11-23-12:16:40");
    d.centre_hz = kCentre_hz;
    d.bandwidth_hz = kSpectra_hz * static_cast<double>(channels);
    return d;
  }
  // The spectrum at which a pulse comes to each of so many channels: later in lower ones.
  static std::vector<std::size_t> pulse_begins(std::size_t channels, double dm,
                                               std::size_t in_highest) {
    const auto mhz = [&](std::size_t c) {
      const double from_middle = static_cast<double>(c) - (static_cast<double>(channels) - 1) / 2.0;
      return (kCentre_hz + from_middle * kSpectra_hz) / 1e6;
    };
    const double top = mhz(channels - 1);
    std::vector<std::size_t> begins(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      const double delay_s = 4148.808 * dm * (1 / (mhz(c) * mhz(c)) - 1 / (top * top));
      begins[c] = in_highest + static_cast<std::size_t>(std::lround(delay_s * kSpectra_hz));
    }
    return begins;
  }
  void write_file_of(const core::VoltageDescription& d, std::span<const std::byte> samples) const {
    formats::dada::Writer writer(scratch / "voltages.dada", d, {.overwrite = true});
    writer.write(samples);
    writer.finish();
  }
  // Noise whose power is threefold for 20 spectra.
  void write_voltages() {
    std::vector<core::ci8> samples(kTimes * kBand * 2);  // [time][channel][polarisation]
    std::normal_distribution<double> normal(0, 15);
    const std::vector<std::size_t> begins = pulse_begins(kBand, kDm, kPulse);
    for (std::size_t t = 0; t < kTimes; ++t)
      for (std::size_t c = 0; c < kBand; ++c) {
        const double scale = t >= begins[c] && t < begins[c] + kPulseTimes ? std::sqrt(3.0) : 1;
        for (std::size_t p = 0; p < 2; ++p) {
          const auto component = [&] {
            return static_cast<std::int8_t>(
                std::lround(std::min(127.0, std::max(-127.0, scale * normal(random)))));
          };
          samples[(t * kBand + c) * 2 + p] = {component(), component()};
        }
      }
    write_file_of(description(core::kCi8, 1, kBand), std::as_bytes(std::span(samples)));
  }
  void write_pipeline(const std::string& source) const {
    write_file(scratch / "search.toml",
               "[packets]\n" + source +
                   "[f]\ntype = \"filter_bank\"\ninputs = \"packets\"\n"
                   "[filterbank]\ntype = \"power\"\ninputs = \"f\"\nintegrate = 4\n"
                   "[pulses]\ntype = \"search\"\ninputs = \"filterbank\"\ndms.range = \"0:40:1\"\n"
                   "max_width_s = 0.01\nthreshold = 20\nlatency_s = 1\n"
                   "[list]\ntype = \"candidate_file\"\ninputs = \"pulses\"\npath = \"" +
                   (scratch / "list.csv") +
                   "\"\n[events]\ntype = \"candidate_events\"\n"
                   "inputs = \"pulses\"\npath = \"" +
                   (scratch / "events.jsonl") + "\"\n");
  }
  struct Outcome {
    nlohmann::json sent, summary, counters;
    int status = -1;
  };
  // Sends the voltages to a pipeline's node `packets` until this machine itself has lost none.
  Outcome send_to(const std::string& pipeline, const std::vector<std::string>& sets,
                  const std::string& layout, const std::string& impair = "") {
    Outcome outcome;
    for (int tries = 0; tries < 5; ++tries) {
      start_pipeline(pipeline, sets, {"--overwrite"});
      const auto to = listens_at();
      if (to.empty()) return outcome;
      std::vector<std::string> words{"--json",   "send", scratch / "voltages.dada",
                                     "--layout", layout, "--rate",
                                     "1",        "--to", to[0]};
      if (!impair.empty()) words.insert(words.end(), {"--impair", impair});
      const CommandResult sent = run_command(words, scratch / "send");
      EXPECT_EQ(sent.status, kDone) << sent.err;
      const CommandResult result = end_run();
      EXPECT_TRUE(result.status == kDone || result.status == kDamaged) << result.err;
      if (sent.status != kDone || result.out.empty()) return outcome;
      outcome.sent = nlohmann::json::parse(sent.out);
      outcome.status = result.status;
      outcome.summary = nlohmann::json::parse(result.out.substr(result.out.rfind("{\"schema\"")));
      outcome.counters = outcome.summary.at("counters");
      if (outcome.counters.at("packets.dropped_by_kernel") == 0) break;
    }
    EXPECT_EQ(outcome.counters.at("packets.dropped_by_kernel"), 0);
    return outcome;
  }
  // `above`: channels above those that are sent, of which nothing comes.
  Outcome search_packets(const std::string& impair, std::size_t above = 0) {
    write_pipeline("type = \"packets\"\nlisten = \"udp://127.0.0.1:0\"\nlayout = \"" +
                   (scratch / "layout.toml") + "\"\nantennas = 1\nchannels = " +
                   std::to_string(kBand + above) + "\nrate_hz = 20000\ncentre_hz = " +
                   std::to_string(kCentre_hz + static_cast<double>(above) / 2 * kSpectra_hz) +
                   "\n"
                   "utc_start = \"2026-11-23-12:16:40\"\nwait_s = 60\nsilence_s = 2.0\n");
    return send_to(scratch / "search.toml", {}, scratch / "layout.toml", impair);
  }
  // The only one of the file of events.
  nlohmann::json event() const {
    const auto events = json_lines(read_file(scratch / "events.jsonl"));
    EXPECT_EQ(events.size(), 1u);
    return events.empty() ? nlohmann::json{} : events.front();
  }
  static void expect_the_pulse(const nlohmann::json& event) {
    ASSERT_TRUE(event.is_object());
    EXPECT_NEAR(event.at("dm").get<double>(), kDm, 2);
    EXPECT_NEAR(event.at("sample").get<double>(), kPulse / kIntegrate, 10);
  }

  struct Listed {
    double snr = 0, sample = 0, dm = 0;
    std::string filled;
  };
  /// The only line of the list: snr,time_s,sample,width_samples,width_s,dm,...,filled
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
    pulse.filled = line.substr(line.rfind(',') + 1);
    return pulse;
  }

  static constexpr std::size_t kPulse = 50'000, kPulseTimes = 20;  // in the highest channel
};

TEST_F(PacketSearch, FindsThePulseOfTheFileWithLossesToo) {
  const Outcome clean = search_packets("");
  EXPECT_EQ(clean.status, kDone);
  EXPECT_EQ(clean.counters.at("filterbank.filled_values"), 0);
  EXPECT_EQ(clean.counters.at("filterbank.samples"), kTimes / 4);
  const nlohmann::json clean_event = event();
  expect_the_pulse(clean_event);
  EXPECT_EQ(clean_event.at("filled"), 0.0);
  const auto live = pulse_listed();

  const Outcome lossy = search_packets("loss=0.03,seed=" + std::to_string(random() % 999));
  EXPECT_EQ(lossy.status, kDamaged);
  const auto lost = lossy.sent.at("lost").get<std::uint64_t>();
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(lossy.counters.at("packets.missing"), lost);
  EXPECT_EQ(lossy.counters.at("filterbank.filled_values"), lost * kOfPacket * kTimesOfPacket / 4);
  const nlohmann::json lossy_event = event();
  expect_the_pulse(lossy_event);
  // Zeros in their place would be noise of their own, of half of the pulse's S/N. The pulse lies in 22 packets: more
  // than seven of them are lost once in ten million times.
  EXPECT_GT(lossy_event.at("snr").get<double>(), 0.65 * clean_event.at("snr").get<double>());
  EXPECT_NEAR(std::stod(pulse_listed().filled), lossy_event.at("filled").get<double>(), 1e-5);

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

// The example: the packets' voltages around the pulse that the search of the same packets finds.
TEST_F(PacketSearch, HasTheVoltagesAroundItsPulseDumped) {
  const Outcome outcome =
      send_to(source_folder() + "/examples/pipelines/search-packets-and-dump.toml",
              {"packets.listen=udp://127.0.0.1:0", "packets.layout=" + (scratch / "layout.toml"),
               "packets.antennas=1", "packets.channels=32", "packets.rate_hz=20000",
               "packets.centre_hz=150e6", "packets.silence_s=2", "power.integrate=4",
               "pulses.dms.range=0:40:1", "pulses.max_width_s=0.01", "event.keep_s=5",
               "event.before_s=0.05", "event.after_s=0.05", "event.path=" + (scratch / "e.dada")},
              scratch / "layout.toml");
  ASSERT_EQ(outcome.status, kDone);
  ASSERT_EQ(outcome.counters.at("event.dumps"), 1) << outcome.summary.dump(1);
  EXPECT_EQ(outcome.summary.at("files").at("event"),
            nlohmann::json::array({scratch / "e-0001.dada"}));
  const auto record = nlohmann::json::parse(read_file(scratch / "e-0001.dada.json"));
  EXPECT_EQ(record.at("trigger").at("kind"), "candidate");
  EXPECT_NEAR(record.at("trigger").at("dm").get<double>(), kDm, 2);
  EXPECT_TRUE(record.at("missed").empty()) << record.dump(1);
  EXPECT_TRUE(record.at("invalid").empty()) << record.dump(1);
  // From 0.05 s before the pulse in the highest channel to 0.05 s after it in the lowest.
  const auto first = record.at("start_sample").get<std::size_t>(),
             samples = record.at("samples").get<std::size_t>();
  const std::size_t beside = 1000, end = pulse_begins(kBand, kDm, kPulse).front() + kPulseTimes;
  EXPECT_NEAR(static_cast<double>(first), static_cast<double>(kPulse - beside), 100);
  EXPECT_NEAR(static_cast<double>(first + samples), static_cast<double>(end + beside), 100);
  constexpr std::size_t kHeader = 4096, kTimeBytes = kBand * 2 * 2;
  const std::string dump = read_file(scratch / "e-0001.dada"),
                    sent = read_file(scratch / "voltages.dada");
  ASSERT_EQ(sent.size(), kHeader + kTimes * kTimeBytes);
  ASSERT_GT(dump.size(), samples * kTimeBytes);
  EXPECT_TRUE(dump.substr(dump.size() - samples * kTimeBytes) ==
              sent.substr(kHeader + first * kTimeBytes, samples * kTimeBytes));
}

// The example of four antennas, at fewer spectra a second: whatever the antennas' noise, 15 % more of it for 20 spectra.
TEST_F(PacketSearch, OfSnapBoardsFindsTheirPulse) {
  constexpr std::size_t kAntennas = 4, kChannels = 256, kSpectra = 40'000, kAt = 20'000;
  constexpr double kSnapDm = 10;
  std::string samples(kSpectra * kChannels * kAntennas * 2, '\0');
  const std::vector<std::size_t> begins = pulse_begins(kChannels, kSnapDm, kAt);
  std::uint64_t word = random();
  for (std::size_t t = 0, at = 0; t < kSpectra; ++t)
    for (std::size_t c = 0; c < kChannels; ++c) {
      const bool pulse = t >= begins[c] && t < begins[c] + kPulseTimes;
      for (std::size_t input = 0; input < kAntennas * 2; ++input) {
        word = word * 6364136223846793005u + 1442695040888963407u;
        const auto both = static_cast<unsigned>(word >> 56);  // components of 4 bits
        const bool loud = pulse && random() % 20 == 0;        // -8 to 7, else -4 to 3
        samples[at++] = static_cast<char>(loud ? both : (both & 0x77u) | (both & 0x44u) << 1);
      }
    }
  write_file_of(description(core::kCi4, kAntennas, kChannels), std::as_bytes(std::span(samples)));
  const Outcome outcome = send_to(
      source_folder() + "/examples/pipelines/search-packets.toml",
      {"packets.listen=udp://127.0.0.1:0", "packets.rate_hz=20000", "packets.centre_hz=150e6",
       "packets.utc_start=2026-11-23-12:16:40", "packets.silence_s=2", "power.integrate=4",
       "pulses.dms.range=8:12:0.1", "pulses.max_width_s=0.01", "pulses.threshold=8",
       "events.path=" + (scratch / "events.jsonl"), "list.path=" + (scratch / "list.csv")},
      "ata-snap");
  ASSERT_EQ(outcome.status, kDone);
  EXPECT_EQ(outcome.counters.at("packets.accepted"), kAntennas * kSpectra / 16);
  EXPECT_EQ(outcome.counters.at("power.filled_values"), 0);
  const auto found = event();
  ASSERT_TRUE(found.is_object());
  EXPECT_NEAR(found.at("dm").get<double>(), kSnapDm, 0.3);
  EXPECT_NEAR(found.at("sample").get<double>(), kAt / kIntegrate, 10);
  const Listed listed = pulse_listed();
  EXPECT_NEAR(listed.dm, kSnapDm, 0.3);
  EXPECT_NEAR(listed.sample, kAt / kIntegrate, 10);
}

// The upper half of the channels never comes: it is in every pulse's sweep, and in no packet.
TEST_F(PacketSearch, SaysHowMuchOfASweepDidNotCome) {
  const Outcome outcome = search_packets("", kBand);
  EXPECT_EQ(outcome.status, kDamaged);
  EXPECT_EQ(outcome.counters.at("filterbank.filled_values"), kTimes / 4 * kBand);
  const nlohmann::json found = event();
  ASSERT_TRUE(found.is_object());
  EXPECT_NEAR(found.at("dm").get<double>(), kDm, 2);
  EXPECT_EQ(found.at("filled"), 0.5);
  EXPECT_EQ(pulse_listed().filled, "0.5");
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
