// Live spectra in a file, where packets stop for longer than the window and go on, or begin again.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "tautline/core/time.h"
#include "tautline/core/voltage.h"
#include "tautline/formats/dada/dada.h"
#include "tautline/formats/voltage_reader.h"
#include "tests/end_to_end/streams/live_packets.h"

namespace tautline::tests {
namespace {

class PacketGaps : public LivePackets {
 protected:
  static constexpr std::size_t kPart = 256 * 13, kGap = 256 * 211;

  // Two files of random voltages, with a gap of whole packets between them.
  void SetUp() override {
    LivePackets::SetUp();
    Telescope part = kFEngines;
    part.samples = kPart;
    for (const char* name : {"a.dada", "b.dada"}) {
      write_voltages(part);
      core::VoltageDescription d = formats::open_voltages(files[0], {})->description();
      const std::string bytes = read_file(files[0]);
      const std::size_t payload = kPart * d.channels * d.inputs() * 2;
      if (std::string_view(name) == "b.dada")
        d.start = core::advance(d.start, kPart + kGap, d.rate_hz);
      formats::dada::Writer writer(scratch / name, d, {.overwrite = true});
      writer.write(std::as_bytes(std::span(bytes).last(payload)));
      writer.finish();
    }
  }
  // A second filter bank of the source's channels, whose spectra go to NAME.npy.
  void write_spectra(const std::string& name, const std::string& packets) const {
    write_file(scratch / (name + ".toml"),
               "[packets]\n" + packets +
                   "\n[f]\ntype = \"filter_bank\"\ninputs = \"packets\"\nfine = 4\ntaps = 2\n"
                   "requantise = \"off\"\n[spectra]\ntype = \"spectra_file\"\ninputs = \"f\"\n"
                   "path = \"" +
                   (scratch / (name + ".npy")) + "\"\n");
  }
  std::string packets() { return "type = \"packets\"\n" + fields_of(kFEngines); }
  nlohmann::json times_in(const std::string& name) const {
    const auto record = nlohmann::json::parse(read_file(scratch / (name + ".npy.json")));
    nlohmann::json times;
    for (const char* key : {"start_utc", "start_fraction_s", "rate_hz", "spectra", "gap_spectra",
                            "invalid", "invalid_spectra"})
      times[key] = record.at(key);
    return times;
  }
};

// As the spectra of the same voltages in files.
TEST_F(PacketGaps, AreFilledInSpectra) {
  write_spectra("files", "type = \"voltage_files\"\nfiles = [\"" + (scratch / "a.dada") + "\", \"" +
                             (scratch / "b.dada") + "\"]\n");
  ASSERT_EQ(run_command({"--device", "cpu", "run", scratch / "files.toml"}, scratch / "run").status,
            kDone);
  write_spectra("live", packets());
  files = {scratch / "a.dada", scratch / "b.dada"};
  pipeline = scratch / "live.toml";
  nlohmann::json counters;
  for (int tries = 0; tries < kPacketTries; ++tries) {
    const auto to = start_run();
    ASSERT_EQ(to.size(), 1U);
    const auto sent = send(to, {"--layout", "meerkat-f", "--rate", "1"});
    const CommandResult result = end_run();
    ASSERT_TRUE(result.status == kDone || result.status == kDamaged) << result.err;
    counters = counters_of(result);
    expect_all_counted(counters);
    if (counters.at("accepted") == sent.at("records")) break;
    std::cout << "dropped by the kernel: " << counters.at("dropped_by_kernel") << '\n';
  }
  EXPECT_EQ(counters.at("jumps"), 1);
  EXPECT_EQ(counters.at("missing"), kGap / 256 * 3 * 2 * 2);
  const nlohmann::json times = times_in("live");
  EXPECT_EQ(times, times_in("files"));
  EXPECT_EQ(times["spectra"], (2 * kPart + kGap) / 4 - 1);
  EXPECT_EQ(times["gap_spectra"], kGap / 4 + 1);
  EXPECT_TRUE(read_file(scratch / "live.npy") == read_file(scratch / "files.npy"));
}

// One file holds times that ascend: what comes behind a step back is left out until they do. VDIF's senders tell the
// time.
TEST_F(PacketGaps, StepsBackAreLeftOut) {
  pipeline = scratch / "live.toml";
  write_file(pipeline,
             "[source]\ntype = \"packets\"\nlayout = \"vdif\"\nlisten = \"udp://127.0.0.1:0\"\n"
             "centre_hz = 1.4e9\nwait_s = 60\nsilence_s = 2.0\n"
             "[f]\ntype = \"filter_bank\"\ninputs = \"source\"\nchannels = 16\n"
             "requantise = \"off\"\n[spectra]\ntype = \"spectra_file\"\ninputs = \"f\"\npath = \"" +
                 (scratch / "live.npy") + "\"\n");
  const auto to = start_run();
  ASSERT_EQ(to.size(), 1U);
  for (const auto& [second, first] : {std::pair{1003u, 0u}, {1000u, 0u}, {1003u, 60u}}) {
    std::string bytes;
    for (std::uint32_t k = 0; k < 60; ++k) put_vdif_frame(bytes, second, first + k, 0);
    files = {scratch / "station.vdif"};
    write_file(files[0], bytes);
    send(to, {"--rate-hz", "64e6", "--centre-hz", "1.4e9", "--layout", "vdif", "--rate", "0.2"});
  }
  const CommandResult result = end_run();
  EXPECT_EQ(result.status, kDamaged) << result.err;
  EXPECT_NE(result.err.find("a step back of 3.0"), std::string::npos) << result.err;
  const auto record = nlohmann::json::parse(read_file(scratch / "live.npy.json"));
  const auto dropped = record["dropped_spectra"].get<std::uint64_t>();
  EXPECT_GT(dropped, 59'000u);  // 60 frames of 32,000 samples less those of the taps
  EXPECT_LE(dropped, 60'000u);
  EXPECT_EQ(record["spectra"].get<std::uint64_t>() - record["gap_spectra"].get<std::uint64_t>(),
            2 * dropped);
  EXPECT_LT(record["gap_spectra"], 100);
}

}  // namespace
}  // namespace tautline::tests
