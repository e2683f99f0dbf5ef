// Threads of VDIF are antennas, polarisations or bands: what is assumed is said, and what cannot be is refused.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/end_to_end/mistakes.h"
#include "tests/formats/vdif/vdif_frames.h"

namespace tautline::tests {
namespace {

TEST_F(Mistakes, ThreadsOfRealSamplesAreNoBands) {
  std::string bytes;
  for (std::uint32_t frame = 0; frame < 150; ++frame)
    for (std::uint32_t thread = 0; thread < 2; ++thread) {
      formats::vdif::FrameSpec spec;
      spec.seconds += frame / 100;
      spec.frame = frame % 100;
      spec.thread = thread;
      std::vector<std::uint32_t> payload(500);
      for (std::uint32_t& word : payload) word = frame * 2654435761u + thread;
      const std::vector<char> made = formats::vdif::make_frame(spec, payload);
      bytes.append(made.begin(), made.end());
    }
  write_file(scratch / "two.vdif", bytes);
  std::vector<std::string> words{
      "correlate", scratch / "two.vdif", "-o",  scratch / "two.uvh5", "--channels",
      "16",        "--centre-hz",        "1e9", "--threads-are",      "antennas"};
  const CommandResult antennas = run(words);
  EXPECT_EQ(antennas.status, kDone) << antennas.err;
  words.back() = "bands";
  for (const auto& bands : std::vector<std::vector<std::string>>{
           words, {"inspect", scratch / "two.vdif", "--threads-are", "bands"}})
    refused(bands, kWrongUsage,
            "--threads-are: bands, of real samples, expected complex samples where threads are "
            "bands; as antennas or polarisations the threads would be correlated with each other");
}

// Two threads of each of the stations Wz and On.
TEST_F(Mistakes, WhatThreadsOfVdifAreTakenForIsSaid) {
  std::string bytes;
  for (std::uint32_t frame = 0; frame < 200; ++frame)
    for (const std::uint32_t station : {0x577au, 0x4f6eu})
      for (const std::uint32_t thread : {0u, 1u}) {
        formats::vdif::FrameSpec spec;
        spec.seconds += frame / 100;
        spec.frame = frame % 100;
        spec.station = station;
        spec.thread = thread;
        std::vector<std::uint32_t> payload(50);
        for (std::uint32_t& word : payload) word = (frame + station + payload.size()) * 2654435761u;
        const std::vector<char> made = formats::vdif::make_frame(spec, payload);
        bytes.append(made.begin(), made.end());
      }
  const std::string
      file = scratch / "guess.vdif",
      visibilities = scratch / "guess.uvh5",
      guess =
          "4 threads of stations On to Wz are taken for polarisations; --threads-are says what "
          "they are\n";
  write_file(file, bytes);
  const auto inspected = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"inspect", file};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run(words);
    EXPECT_EQ(result.status, kDone) << result.err;
    return result.out;
  };
  EXPECT_NE(inspected({}).find("  antennas    On, Wz\n  assumed     " + guess), std::string::npos)
      << inspected({});
  const std::string told = inspected({"--threads-are", "antennas"});
  EXPECT_NE(told.find("  antennas    On.0, On.1, Wz.0, Wz.1\n"), std::string::npos) << told;
  EXPECT_EQ(told.find("assumed"), std::string::npos) << told;
  std::vector<std::string> words{"correlate", file,          "-o",  visibilities, "--channels",
                                 "16",        "--centre-hz", "1e9", "--overwrite"};
  const CommandResult guessed = run(words);
  EXPECT_EQ(guessed.status, kDone) << guessed.err;
  EXPECT_NE(guessed.err.find("warning: " + file + ": " + guess), std::string::npos) << guessed.err;
  EXPECT_NE(guessed.out.find("antennas: On, Wz\n"), std::string::npos) << guessed.out;
#ifdef TAUTLINE_HDF5
  const CommandResult held = run({"inspect", visibilities});
  EXPECT_NE(held.out.find("  antennas    0 (On) 1 (Wz)\n"), std::string::npos) << held.out;
  const auto described = nlohmann::json::parse(run({"--json", "inspect", visibilities}).out);
  EXPECT_EQ(described["antenna_names"], nlohmann::json({"On", "Wz"}));
#endif
  words.insert(words.end(), {"--threads-are", "polarisations"});
  const CommandResult said = run(words);
  EXPECT_EQ(said.status, kDone) << said.err;
  EXPECT_EQ(said.err.find("--threads-are"), std::string::npos) << said.err;
}

// A file of each station.
TEST_F(Mistakes, StationsInFilesOfTheirOwnAreToldWhatToDo) {
  for (const std::uint32_t station : {0x577au, 0x4f6eu}) {
    std::string bytes;
    for (std::uint32_t frame = 0; frame < 200; ++frame) {
      formats::vdif::FrameSpec spec;
      spec.seconds += frame / 100;
      spec.frame = frame % 100;
      spec.station = station;
      std::vector<std::uint32_t> payload(50);
      for (std::uint32_t& word : payload) word = (frame + station + payload.size()) * 2654435761u;
      const std::vector<char> made = formats::vdif::make_frame(spec, payload);
      bytes.append(made.begin(), made.end());
    }
    write_file(scratch / (std::to_string(station) + ".vdif"), bytes);
  }
  refused({"correlate", scratch / (std::to_string(0x577a) + ".vdif"),
           scratch / (std::to_string(0x4f6e) + ".vdif"), "-o", scratch / "two.uvh5", "--channels",
           "16", "--centre-hz", "1e9"},
          kFailed,
          "the files overlap: stations of one array have to be in one file: of VDIF one with the "
          "frames of all in the order of time, else a NPY array of (inputs, times); otherwise "
          "leave one out, or shorten one with --duration");
}

}  // namespace
}  // namespace tautline::tests
