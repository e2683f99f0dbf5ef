// correlate from every format of voltages but DADA: MWA receivers, VDIF, GUPPI RAW and NPY files,
// whole, with parts lost, that disagree, and whose headers lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>

#include "tautline/core/baseline.h"
#include "tautline/formats/mwa32t/writer.h"
#include "tautline/formats/npy/header.h"
#include "tautline/formats/visibility_reader.h"
#include "tests/end_to_end/command_test.h"
#include "tests/end_to_end/documented_json.h"

namespace tautline::tests {
namespace {

struct ReadVisibilities {
  std::vector<double> channel_hz;
  std::vector<std::complex<float>> values;  // [integration][channel][baseline]
  std::vector<std::int64_t> counts;
};

ReadVisibilities read_visibilities(const std::string& path) {
  const auto reader = formats::open_visibilities(path);
  ReadVisibilities all;
  all.channel_hz = reader->description().channel_hz;
  for (std::size_t k = 0; k < reader->integrations(); ++k) {
    const formats::Integration one = reader->read(k);
    for (std::size_t c = 0; c < one.counts.extent(0); ++c)
      for (std::size_t b = 0; b < one.counts.extent(1); ++b) {
        all.values.push_back(one.visibilities(c, b));
        all.counts.push_back(one.counts(c, b));
      }
  }
  return all;
}

class CorrelateFormats : public CommandTest {
 protected:
  CommandResult correlate(const std::vector<std::string>& inputs, const std::string& output,
                          const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"--json", "correlate"};
    for (const std::string& input : inputs) arguments.push_back(scratch / input);
    arguments.insert(arguments.end(), {"-o", scratch / output});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  void expect_nothing_left() {
    for (const auto& entry : std::filesystem::directory_iterator(scratch.path())) {
      const std::string name = entry.path().filename().string();
      EXPECT_FALSE(name.starts_with("out.")) << name;
    }
  }
  // [input][time] as a NPY file of ci8, channelized if there is more than one channel.
  void write_npy(const std::string& name, const std::vector<std::uint64_t>& shape,
                 const std::string& bytes) {
    std::vector<std::uint64_t> pairs = shape;
    pairs.push_back(2);
    write_file(scratch / name, formats::npy::format_header("|i1", pairs) + bytes);
  }
};

std::string random_bytes(std::size_t count) {
  auto random = generator();
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

void put_word(std::string& out, std::uint32_t word) {
  for (int k = 0; k < 4; ++k) out += static_cast<char>(word >> (8 * k) & 255);
}

// Frames of one complex sample of 8 + 8 bits after the other, two threads: the two inputs of
// `voltages` [input][time][re, im].
struct VdifFile {
  static constexpr std::size_t kSamples = 128;  // of a frame
  static constexpr std::size_t kFramesPerSecond = 10000;
  std::uint32_t lie_length = 0;  // told instead of a frame's length

  std::string bytes(const std::string& voltages) const {
    const std::size_t times = voltages.size() / 4;
    std::string out;
    for (std::size_t frame = 0; frame < times / kSamples; ++frame)
      for (std::uint32_t thread = 0; thread < 2; ++thread) {
        const std::uint32_t length = (32 + 2 * kSamples) / 8;
        put_word(out, 1000);                                           // seconds
        put_word(out, 52u << 24 | static_cast<std::uint32_t>(frame));  // from 2026 on
        put_word(out, 1u << 29 | (lie_length != 0 ? lie_length : length));
        put_word(out, 1u << 31 | 7u << 26 | thread << 16 | 7);  // complex, 8 bits
        for (int word = 4; word < 8; ++word) put_word(out, 0);
        const std::size_t from = (thread * times + frame * kSamples) * 2;
        for (std::size_t k = 0; k < 2 * kSamples; ++k)  // offset binary
          out += static_cast<char>(voltages[from + k] ^ 0x80);
      }
    return out;
  }
};

// One antenna of two polarisations in channels: `voltages` [channel][input][time][re, im].
struct GuppiFile {
  static constexpr std::size_t kChannels = 4, kTimes = 64;  // of a block
  std::string nbits = "8", block_bytes = "1024";

  std::string bytes(const std::string& voltages, const std::vector<std::size_t>& blocks) const {
    const std::size_t times = voltages.size() / (kChannels * 4);
    std::string out;
    for (const std::size_t block : blocks) {
      out += header(block);
      for (std::size_t c = 0; c < kChannels; ++c)
        for (std::size_t t = 0; t < kTimes; ++t)
          for (std::size_t p = 0; p < 2; ++p)
            out += voltages.substr(((c * 2 + p) * times + block * kTimes + t) * 2, 2);
    }
    return out;
  }

 private:
  std::string header(std::size_t block) const {
    std::string text;
    for (const auto& [key, value] :
         std::vector<std::pair<std::string, std::string>>{{"BACKEND", "'GUPPI   '"},
                                                          {"TELESCOP", "'GBT     '"},
                                                          {"OBSFREQ", "1378.125"},
                                                          {"OBSBW", "-12.5"},
                                                          {"OBSNCHAN", "4"},
                                                          {"NPOL", "4"},
                                                          {"NBITS", nbits},
                                                          {"TBIN", "3.2E-07"},
                                                          {"OVERLAP", "0"},
                                                          {"PKTFMT", "'1SFA    '"},
                                                          {"PKTSIZE", "256"},
                                                          {"PKTIDX", std::to_string(block * 8)},
                                                          {"STT_IMJD", "61000"},
                                                          {"STT_SMJD", "3600"},
                                                          {"STT_OFFS", "0.25"},
                                                          {"BLOCSIZE", block_bytes}}) {
      std::string card = key;
      card.resize(8, ' ');
      card += "= " + value;
      card.resize(80, ' ');
      text += card;
    }
    std::string end = "END";
    end.resize(80, ' ');
    return text + end;
  }
};

struct Span {
  std::size_t receiver, first, samples;
};

// From the simulator's files, with gaps that begin before and end behind a wrap of the counter.
TEST_F(CorrelateFormats, CountsOfMwaReceiversAreThoseOfTheMaskToTheLast) {
  constexpr std::size_t kReceivers = 4, kInputs = 64, kChannels = 32, kTaps = 4;
  constexpr std::size_t kSpectra = 800, kSamples = 140800;  // of an integration; in all
  const std::string array = source_folder() + "/examples/demo/array.toml";
  const std::vector<Span> gaps{
      {1, 38400, 5120}, {2, 64000, 3200}, {0, 100000, 1}, {2, 120000, 700}, {1, 120500, 700}};
  std::string scene =
      "start = \"2026-03-20-14:00:00\"\ncentre_hz = 154.88e6\nbandwidth_hz = 1.28e6\n";
  for (const Span& gap : gaps) {
    scene += "[[missing]]\nstart_s = " + std::to_string(static_cast<double>(gap.first) / 1.28e6) +
             "\nduration_s = " + std::to_string(static_cast<double>(gap.samples) / 1.28e6) +
             "\ninputs = [";
    for (std::size_t i = 0; i < 16; ++i)
      scene += (i == 0 ? "" : ", ") + std::to_string(16 * gap.receiver + i);
    scene += "]\n";
  }
  write_file(scratch / "scene.toml", scene);
  ASSERT_EQ(run({"simulate", "voltages", "--array", array, "--scene", scratch / "scene.toml",
                 "--duration", "0.11", "--format", "mwa32t", "-o", scratch / "mwa"})
                .status,
            kDone)
      << read_file(scratch / "err");
  const CommandResult result =
      correlate({"mwa.0", "mwa.1", "mwa.2", "mwa.3"}, "out.uvh5",
                {"--receivers", "--utc-start", "2026-03-20-14:00:00", "--array", array,
                 "--channels", std::to_string(kChannels), "--taps", std::to_string(kTaps),
                 "--integration", "0.02", "--keep-edge"});
  ASSERT_EQ(result.status, kDamaged) << result.err;
  EXPECT_NE(result.err.find("mwa.1"), std::string::npos) << result.err;
  const auto summary = nlohmann::json::parse(result.out);
  std::size_t lost = 0;
  for (const Span& gap : gaps) lost += 16 * gap.samples;
  EXPECT_EQ(summary["lost_samples"], lost);
  EXPECT_EQ(summary["samples"], kSamples);

  // A receiver's spectrum counts when all its samples are there.
  constexpr std::size_t kAll = (kSamples - kChannels * kTaps) / kChannels + 1;
  std::vector<std::array<bool, kReceivers>> valid(kAll, {true, true, true, true});
  for (std::size_t s = 0; s < kAll; ++s)
    for (const Span& gap : gaps)
      if (s * kChannels < gap.first + gap.samples && gap.first < (s + kTaps) * kChannels)
        valid[s][gap.receiver] = false;
  const ReadVisibilities found = read_visibilities(scratch / "out.uvh5");
  std::size_t at = 0, wrong = 0, reduced = 0;
  for (std::size_t first = 0; first < kAll; first += kSpectra) {
    std::int64_t expected[kReceivers][kReceivers] = {};
    for (std::size_t s = first; s < std::min(first + kSpectra, kAll); ++s)
      for (std::size_t a = 0; a < kReceivers; ++a)
        for (std::size_t b = 0; b < kReceivers; ++b)
          expected[a][b] += valid[s][a] && valid[s][b] ? 1 : 0;
    for (std::size_t c = 0; c < kChannels; ++c)
      for (std::size_t i = 0; i < kInputs; ++i)
        for (std::size_t j = 0; j <= i; ++j, ++at) {
          ASSERT_LT(at, found.counts.size());
          wrong += found.counts[at] != expected[i / 16][j / 16] ? 1 : 0;
          reduced += expected[i / 16][j / 16] != expected[3][3] ? 1 : 0;
        }
  }
  EXPECT_EQ(at, found.counts.size());
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(reduced, 0U);
  EXPECT_EQ(
      correlate({"mwa.0", "mwa.1", "mwa.2", "mwa.3"}, "strict.uvh5", {"--receivers", "--strict"})
          .status,
      kFailed);
}

TEST_F(CorrelateFormats, ReceiversThatDisagreeAreRefusedAndNothingIsLeft) {
  using formats::mwa32t::Mode;
  const auto write = [&](const char* name, Mode mode, std::uint16_t first) {
    formats::mwa32t::Writer writer(scratch / name, mode, first);
    writer.write(std::vector<core::ci8>(2000 * 16, core::ci8{3, -2}));
    writer.finish();
  };
  write("rec.0", Mode::two_byte, 0);
  write("far.1", Mode::two_byte, 32768);
  write("mode.1", Mode::one_byte, 0);
  write("good.1", Mode::two_byte, 0);
  const std::vector<std::string> options{"--receivers", "--channels", "16", "--integration",
                                         "0.001"};
  for (const char* other : {"far.1", "mode.1"}) {
    const CommandResult result = correlate({"rec.0", other}, "out.uvh5", options);
    EXPECT_EQ(result.status, kFailed) << other << result.err;
    EXPECT_NE(result.err.find(other), std::string::npos) << result.err;
    expect_nothing_left();
  }
  std::vector<std::string> kept = options;
  kept.emplace_back("--keep-constant");
  EXPECT_EQ(correlate({"rec.0", "good.1"}, "out.uvh5", kept).status, kDone)
      << read_file(scratch / "err");
}

TEST_F(CorrelateFormats, VdifGivesTheBitsOfTheSameVoltagesInNpy) {
  constexpr std::size_t kTimes = 40 * VdifFile::kSamples;
  const std::string voltages = random_bytes(2 * kTimes * 2);
  write_file(scratch / "x.vdif", VdifFile{}.bytes(voltages));
  write_npy("x.npy", {2, kTimes}, voltages);
  std::vector<std::string> options{"--rate-hz",  "1280000", "--centre-hz",   "1e9",
                                   "--channels", "16",      "--integration", "0.001"};
  const CommandResult vdif = correlate({"x.vdif"}, "vdif.uvh5", options);
  ASSERT_EQ(vdif.status, kDone) << vdif.err;
  options.insert(options.end(), {"--format", "ci8", "--polarisations", "2"});
  const CommandResult npy = correlate({"x.npy"}, "npy.uvh5", options);
  ASSERT_EQ(npy.status, kDone) << npy.err;
  const ReadVisibilities a = read_visibilities(scratch / "vdif.uvh5");
  const ReadVisibilities b = read_visibilities(scratch / "npy.uvh5");
  ASSERT_FALSE(a.values.empty());
  EXPECT_EQ(a.values, b.values);
  EXPECT_EQ(a.counts, b.counts);
  EXPECT_EQ(a.channel_hz, b.channel_hz);
}

// Noise of a usual level in each format: no input is clipped by its recorder, and none steps.
TEST_F(CorrelateFormats, CleanNoiseGivesNoWarningOfItsLevel) {
  constexpr std::size_t kTimes = 160 * VdifFile::kSamples;
  auto random = generator();
  std::normal_distribution<float> normal(0, 25);
  std::string bytes, floats;
  for (std::size_t k = 0; k < 2 * kTimes * 4; ++k) {
    const float value = normal(random);
    floats.append(reinterpret_cast<const char*>(&value), sizeof value);
    bytes += static_cast<char>(std::clamp(std::lround(value), -127L, 127L));
  }
  write_file(scratch / "x.vdif", VdifFile{}.bytes(bytes));
  std::vector<std::size_t> blocks(2 * kTimes * 4 / 16 / GuppiFile::kTimes);
  for (std::size_t k = 0; k < blocks.size(); ++k) blocks[k] = k;
  write_file(scratch / "x.raw", GuppiFile{}.bytes(bytes, blocks));
  write_npy("bytes.npy", {4, kTimes}, bytes);
  write_file(scratch / "floats.npy",
             formats::npy::format_header("<c8", std::vector<std::uint64_t>{4, kTimes}) + floats);
  const std::vector<std::string> array{"--rate-hz", "1280000",    "--centre-hz",
                                       "1e9",       "--channels", "16"};
  for (const auto& [name, options] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"x.vdif", array}, {"x.raw", {}}, {"bytes.npy", array}, {"floats.npy", array}}) {
    auto words = options;
    words.insert(words.end(), {"--integration", "0.001", "--overwrite"});
    const CommandResult result = correlate({name}, "out.uvh5", words);
    ASSERT_EQ(result.status, kDone) << name << ": " << result.err;
    const auto summary = nlohmann::json::parse(result.out);
    EXPECT_EQ(summary["level_steps"], nlohmann::json::array()) << name;
    const auto levels = summary["recorded_levels"];
    EXPECT_EQ(levels["clipped_inputs"], nlohmann::json::array()) << name;
    EXPECT_EQ(levels["at_ends"].is_null(), name == "floats.npy") << name;
    for (const auto& rms : levels["rms"]) EXPECT_NEAR(rms.get<double>(), 25, 1) << name;
    EXPECT_EQ(result.err.find("clipped by the recorder"), std::string::npos) << result.err;
  }
}

// Guessed and unknown facts are warnings when a run begins.
TEST_F(CorrelateFormats, WarningsComeAfterErrorsThatHaveNothingToDoWithThem) {
  write_file(scratch / "x.vdif", VdifFile{}.bytes(random_bytes(2 * 40 * VdifFile::kSamples * 2)));
  write_file(scratch / "there.uvh5", "mine");
  write_file(scratch / "there.npy", "mine");
  const std::vector<std::vector<std::string>> mistaken{
      {"correlate", "-o", scratch / "v.uvh5", "--array", scratch / "none.toml"},
      {"correlate", "-o", scratch / "v.uvh5", "--integration", "1e-9"},
      {"correlate", "-o", scratch / "v.uvh5", "--memory", "1"},
      {"correlate", "-o", scratch / "there.uvh5"},
      {"channelize", "-o", scratch / "there.npy"},
      {"channelize", "-o", scratch / "v.npy", "--memory", "1"}};
  const auto refused = [&](const std::vector<std::string>& more, const std::string& said) {
    std::vector<std::string> words{"correlate", scratch / "x.vdif", "-o", scratch / "v.uvh5"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run_command(words, scratch.path().string());
    EXPECT_EQ(result.status, kWrongUsage) << result.err;
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
  };
  refused({}, "sample rate: not in the headers");
  refused({"--rate-hz", "1280000", "--polarisations", "3"},
          "--polarisations: 3, expected 1 or 2, for 2 threads");
  const auto with_input = [&](std::vector<std::string> words) {
    words.insert(words.end(), {scratch / "x.vdif", "--rate-hz", "1280000", "--channels", "16"});
    return run_command(words, scratch.path().string());
  };
  for (const auto& words : mistaken) {
    const CommandResult result = with_input(words);
    EXPECT_TRUE(result.status == kFailed || result.status == kWrongUsage) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  for (const auto& words : {std::vector<std::string>{"correlate", "-o", scratch / "v.uvh5"},
                            {"channelize", "-o", scratch / "v.npy"}}) {
    const CommandResult result = with_input(words);
    EXPECT_EQ(result.status, kDone) << result.err;
    for (const char* warning : {"does not say the sky frequency", "--threads-are says"})
      EXPECT_NE(result.err.find(warning), std::string::npos) << result.err;
  }
}

// Headers whose stations and threads were changed make no antennas: their frames are lost, the others are the same.
TEST_F(CorrelateFormats, VdifWithChangedThreadsIsTheFramesThatAreWhole) {
  constexpr std::size_t kFrames = 40, kTimes = kFrames * VdifFile::kSamples;
  constexpr std::size_t kFrameBytes = 32 + 2 * VdifFile::kSamples;
  std::string file = VdifFile{}.bytes(random_bytes(2 * kTimes * 2));
  const std::vector<std::size_t> damaged{9, 22, 51, 76};  // of both threads
  for (const std::size_t frame : damaged) {
    file[frame * kFrameBytes + 12] = static_cast<char>(frame);           // station
    file[frame * kFrameBytes + 14] = static_cast<char>(frame % 20 + 2);  // thread
  }
  write_file(scratch / "x.vdif", file);
  const CommandResult result =
      correlate({"x.vdif"}, "v.uvh5",
                {"--rate-hz", "1280000", "--centre-hz", "1e9", "--channels", "16", "--taps", "1",
                 "--window", "rect", "--integration", "1", "--keep-edge"});
  ASSERT_EQ(result.status, kDamaged) << result.err;
  const auto summary = nlohmann::json::parse(result.out);
  EXPECT_EQ(summary["inputs"], 2);
  EXPECT_EQ(summary["lost_samples"], damaged.size() * VdifFile::kSamples);
  EXPECT_EQ(summary["dropped_samples"], damaged.size() * VdifFile::kSamples);
  const ReadVisibilities found = read_visibilities(scratch / "v.uvh5");
  const std::int64_t spectra = kTimes / 16, of_frame = VdifFile::kSamples / 16;
  // Frames 9 and 51 are of the second thread, 22 and 76 of the first.
  ASSERT_EQ(found.counts.size(), 16u * 3);
  for (std::size_t c = 0; c < 16; ++c) {
    EXPECT_EQ(found.counts[3 * c], spectra - 2 * of_frame);
    EXPECT_EQ(found.counts[3 * c + 1], spectra - 4 * of_frame);
    EXPECT_EQ(found.counts[3 * c + 2], spectra - 2 * of_frame);
  }
}

// A lost block is what the mask says, the rest are the sums of the samples.
TEST_F(CorrelateFormats, GuppiWithALostBlockIsTheSumOfTheOthers) {
  constexpr std::size_t kBlocks = 6, kTimes = kBlocks * GuppiFile::kTimes, kLong = 96;
  const std::string voltages = random_bytes(GuppiFile::kChannels * 2 * kTimes * 2);
  write_file(scratch / "x.raw", GuppiFile{}.bytes(voltages, {0, 1, 3, 4, 5}));
  const CommandResult result = correlate({"x.raw"}, "out.uvh5", {"--integration", "3.072e-05"});
  ASSERT_EQ(result.status, kDamaged) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["lost_samples"], 2 * GuppiFile::kTimes);
  const ReadVisibilities found = read_visibilities(scratch / "out.uvh5");
  ASSERT_EQ(found.channel_hz.size(), GuppiFile::kChannels);
  for (std::size_t c = 0; c < GuppiFile::kChannels; ++c)
    EXPECT_DOUBLE_EQ(found.channel_hz[c], 1378.125e6 - (static_cast<double>(c) - 1.5) * 3.125e6);
  ASSERT_EQ(found.counts.size(), kTimes / kLong * GuppiFile::kChannels * 3);
  const auto sample = [&](std::size_t c, std::size_t input, std::size_t t) {
    const std::size_t at = ((c * 2 + input) * kTimes + t) * 2;
    return std::complex<double>(static_cast<signed char>(voltages[at]),
                                static_cast<signed char>(voltages[at + 1]));
  };
  std::size_t at = 0;
  for (std::size_t first = 0; first < kTimes; first += kLong)
    for (std::size_t c = 0; c < GuppiFile::kChannels; ++c)
      for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t j = 0; j <= i; ++j, ++at) {
          std::complex<double> sum = 0;
          std::int64_t count = 0;
          for (std::size_t t = first; t < first + kLong; ++t) {
            if (t / GuppiFile::kTimes == 2) continue;
            sum += sample(c, i, t) * std::conj(sample(c, j, t));
            ++count;
          }
          EXPECT_EQ(found.counts[at], count) << at;
          const std::complex<double> mean = sum / static_cast<double>(count);
          EXPECT_NEAR(found.values[at].real(), mean.real(), 1e-6 * 32768) << at;
          EXPECT_NEAR(found.values[at].imag(), mean.imag(), 1e-6 * 32768) << at;
        }
}

TEST_F(CorrelateFormats, LyingHeadersAreRefusedByNameAndLeaveNothing) {
  const std::string voltages = random_bytes(GuppiFile::kChannels * 2 * 128 * 2);
  const auto guppi = [&](const char* nbits, const char* block_bytes) {
    GuppiFile file;
    file.nbits = nbits;
    file.block_bytes = block_bytes;
    return file.bytes(voltages, {0, 1});
  };
  VdifFile vdif;
  vdif.lie_length = 3;  // 24 bytes: less than its header
  const std::string samples = random_bytes(2 * 1280 * 2);
  const auto npy = [&](const std::vector<std::uint64_t>& shape) {
    return formats::npy::format_header("|i1", shape) + samples;
  };
  std::string overlong = npy({2, 1280, 2});
  overlong[8] = overlong[9] = '\xff';  // the header's own length
  const struct {
    const char* file;
    std::string bytes;
    const char* named;
  } lies[] = {{"nbits.raw", guppi("7", "1024"), "NBITS"},
              {"zero.raw", guppi("8", "0"), "BLOCSIZE"},
              {"negative.raw", guppi("8", "-1024"), "BLOCSIZE"},
              {"absurd.raw", guppi("8", "99999999999999"), "BLOCSIZE"},
              {"length.vdif", vdif.bytes(samples), "length"},
              {"shape.npy", npy({2, 99999999, 2}), "shape"},
              {"zero.npy", npy({0, 1280, 2}), "shape"},
              {"overlong.npy", overlong, "header"}};
  for (const auto& lie : lies) {
    write_file(scratch / lie.file, lie.bytes);
    std::vector<std::string> options{"--integration", "0.001"};
    const std::string name = lie.file;
    if (!name.ends_with(".raw")) options.insert(options.end(), {"--rate-hz", "1280000"});
    if (name.ends_with(".npy")) options.insert(options.end(), {"--format", "ci8"});
    const CommandResult result = correlate({name}, "out.uvh5", options);
    EXPECT_EQ(result.status, kFailed) << name << result.err;
    EXPECT_NE(result.err.find(name), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(lie.named), std::string::npos) << result.err;
    expect_nothing_left();
  }
}

TEST_F(CorrelateFormats, AnUnknownSkyFrequencyOrStartIsAWarning) {
  constexpr std::size_t kTimes = 20 * VdifFile::kSamples;
  const std::string voltages = random_bytes(2 * kTimes * 2);
  write_file(scratch / "x.vdif", VdifFile{}.bytes(voltages));
  write_npy("x.npy", {2, kTimes}, voltages);
  for (const std::string file : {"x.vdif", "x.npy"})
    for (const std::string command : {"correlate", "channelize"})
      for (const bool told : {false, true}) {
        std::vector<std::string> arguments{
            command,      scratch / file,
            "-o",         scratch / (command == "correlate" ? "v.uvh5" : "v.dada"),
            "--channels", "16",
            "--rate-hz",  "1280000",
            "--overwrite"};
        if (file == "x.npy") arguments.insert(arguments.end(), {"--format", "ci8"});
        if (command == "correlate") arguments.insert(arguments.end(), {"--integration", "0.001"});
        if (told) arguments.insert(arguments.end(), {"--centre-hz", "1e9"});
        const bool array = file == "x.npy";
        if (told && array)
          arguments.insert(arguments.end(), {"--utc-start", "2026-01-02-03:04:05"});
        const CommandResult result = run(arguments);
        EXPECT_EQ(result.status, kDone) << result.err;
        EXPECT_EQ(result.err.find("no --centre-hz") == std::string::npos, told)
            << command << " " << file << ": " << result.err;
        EXPECT_EQ(result.err.find("no --utc-start") == std::string::npos, told || !array)
            << command << " " << file << ": " << result.err;
      }
}

}  // namespace
}  // namespace tautline::tests
