// Files of spectra that pipelines write: gaps of the stream are zeros that the record lists as invalid, so that the times
// behind them are right, and samples are in the format of the stream.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/end_to_end/file_visibilities.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

constexpr std::size_t kChannels = 32, kTaps = 4, kInputs = 4;
constexpr std::size_t kValueBytes = 8;  // complex floats
const std::vector<std::string> kParts{"a.dada", "b.dada"};
constexpr const char* kBank = "channels = 32\ntaps = 4\nrequantise = \"off\"\n";

std::size_t spectra_of(std::size_t samples) {
  return samples / kChannels + 1 - kTaps;
}

// The bytes behind the header of a .fil file.
std::string power_in(const std::string& path) {
  const std::string file = read_file(path), end = "HEADER_END";
  return file.substr(file.find(end) + end.size());
}

// The bytes of each row [channel x input] of a .npy file.
std::vector<std::string> rows_in(const std::string& path) {
  const std::string file = read_file(path);
  const std::size_t header = 10 + static_cast<unsigned char>(file.at(8)) +
                             256 * std::size_t{static_cast<unsigned char>(file.at(9))},
                    bytes = (file.size() - header) / (kChannels * kInputs);
  std::vector<std::string> rows;
  for (std::size_t row = 0; row < kChannels * kInputs; ++row)
    rows.push_back(file.substr(header + row * bytes, bytes));
  return rows;
}

class SpectraFiles : public ::testing::Test {
 protected:
  CommandResult run(std::vector<std::string> words) const {
    words.insert(words.begin(), {"--device", "cpu"});
    words.emplace_back("--overwrite");
    return run_command(words, scratch.path().string());
  }
  // Noise at 1.28 MHz that begins `first` samples behind a whole second.
  void write_voltages(const std::string& name, std::size_t first, std::size_t samples) const {
    DadaFile dada;
    dada.payload_bytes = samples * kInputs * 2;
    std::string bytes = dada.bytes();
    const std::string zero = "PICOSECONDS 0\n",
                      value = "PICOSECONDS " + std::to_string(first * 781'250) + "\n";
    bytes.replace(bytes.find(zero), zero.size(), value);
    bytes.erase(4096, value.size() - zero.size());  // of the header's padding
    write_file(scratch / name, bytes);
  }
  // To files of spectra of these endings.
  void write_pipeline(const std::vector<std::string>& parts, const std::string& bank,
                      const std::vector<std::string>& endings) const {
    std::string text = "[voltages]\ntype = \"voltage_files\"\nfiles = [";
    for (const std::string& part : parts) text += "\"" + (scratch / part) + "\", ";
    text += "]\n[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\n" + bank;
    for (const std::string& ending : endings)
      text += "[" + ending + "]\ntype = \"spectra_file\"\ninputs = \"f\"\npath = \"" +
              (scratch / "both." + ending) + "\"\n";
    write_file(scratch / "p.toml", text);
  }
  void channelize(const std::string& part, const std::string& ending) const {
    const CommandResult result =
        run({"channelize", scratch / (part + ".dada"), "-o", scratch / (part + "." + ending),
             "--channels", "32", "--taps", "4"});
    EXPECT_EQ(result.status, kDone) << result.err;
  }
  FileVisibilities correlate(const std::string& input, std::uint64_t gap_spectra,
                             const std::string& more = "") const {
    std::vector<std::string> words{"correlate",        scratch / input, "-o",
                                   scratch / "x.uvh5", "--integration", "1"};
    if (!more.empty()) words.insert(words.begin() + 2, scratch / more);
    const CommandResult result = run(words);
    EXPECT_EQ(result.status, kDone) << result.err;
    const std::string said =
        "data had gaps, by the record beside the file: " + std::to_string(gap_spectra * kInputs) +
        " (times x inputs)";
    EXPECT_EQ(result.err.find(said) != std::string::npos, gap_spectra > 0) << result.err;
    return visibilities_in(scratch / "x.uvh5");
  }

  std::mt19937_64 random = generator();
  ScratchFolder scratch;
};

TEST_F(SpectraFiles, FillGapsAndKeepTheTimesBehindThem) {
  for (const std::size_t longest : {1, 100, 20'000}) {
    const std::size_t a = 20'000 + random() % 5'000, gap = 1 + random() % longest,
                      b = 20'000 + random() % 5'000;
    SCOPED_TRACE("samples " + std::to_string(a) + ", gap " + std::to_string(gap));
    write_voltages("a.dada", 0, a);
    write_voltages("b.dada", a + gap, b);
    write_pipeline(kParts, kBank, {"npy", "dada", "fil"});
    const CommandResult result = run({"run", scratch / "p.toml"});
    ASSERT_EQ(result.status, kDone) << result.err;
    for (const char* part : {"a", "b"})
      for (const char* ending : {"npy", "fil"}) channelize(part, ending);

    // Behind the gap, at the nearest spectrum.
    const std::size_t place = (a + gap + kChannels / 2) / kChannels,
                      missing = place - spectra_of(a);
    const auto is = rows_in(scratch / "both.npy"), first = rows_in(scratch / "a.npy"),
               second = rows_in(scratch / "b.npy");
    for (std::size_t row = 0; row < is.size(); ++row)
      ASSERT_TRUE(is[row] == first[row] + std::string(missing * kValueBytes, '\0') + second[row])
          << "row " << row;
    EXPECT_TRUE(power_in(scratch / "both.fil") == power_in(scratch / "a.fil") +
                                                      std::string(missing * kChannels * 4, '\0') +
                                                      power_in(scratch / "b.fil"));
    for (const std::string file : {"both.npy", "both.dada", "both.fil"}) {
      const auto record = nlohmann::json::parse(read_file(scratch / (file + ".json")));
      EXPECT_EQ(record["invalid"],
                nlohmann::json::array(
                    {{{"input", nullptr}, {"first_sample", spectra_of(a)}, {"samples", missing}}}));
      EXPECT_EQ(record["gap_spectra"], missing);
      EXPECT_EQ(record["invalid_spectra"], missing * kInputs);
      EXPECT_EQ(record["spectra"], place + spectra_of(b));
    }
    if (missing == 0) continue;
    // What reads the file gives the gap no weight.
    const FileVisibilities both = correlate("both.npy", missing), before = correlate("a.npy", 0),
                           behind = correlate("b.npy", 0);
    EXPECT_TRUE(correlate("both.dada", missing) == both);
    ASSERT_EQ(both.counts.size(), before.counts.size());
    ASSERT_EQ(both.counts.size(), behind.counts.size());
    for (std::size_t k = 0; k < both.counts.size(); ++k)
      ASSERT_EQ(both.counts[k], before.counts[k] + behind.counts[k]);
    // The parts in files of their own, in any order.
    const FileVisibilities parts = correlate("a.npy", 0, "b.npy");
    EXPECT_TRUE(correlate("b.npy", 0, "a.npy") == parts);
    std::int64_t of_parts = 0, of_both = 0;
    for (const auto count : parts.counts) of_parts += count;
    for (const auto count : both.counts) of_both += count;
    EXPECT_EQ(of_parts, of_both);
  }
}

// Voltages that are channelized already have the samples of the input in the file.
TEST_F(SpectraFiles, OfChannelizedVoltagesHaveTheSamplesOfTheInput) {
  constexpr std::size_t kTimes = 1'000;
  DadaFile dada;
  dada.nchan = std::to_string(kChannels);
  dada.payload_bytes = kTimes * kChannels * kInputs * 2;
  const std::string input = dada.bytes();
  write_file(scratch / "a.dada", input);
  write_pipeline({"a.dada"}, "", {"dada", "npy"});
  const CommandResult result = run({"run", scratch / "p.toml"});
  ASSERT_EQ(result.status, kDone) << result.err;
  EXPECT_TRUE(read_file(scratch / "both.dada").substr(4096) == input.substr(4096));
  const auto rows = rows_in(scratch / "both.npy");
  for (std::size_t row = 0; row < rows.size(); ++row) {
    ASSERT_EQ(rows[row].size(), kTimes * 2);
    for (std::size_t t = 0; t < kTimes; ++t)
      ASSERT_EQ(rows[row].substr(2 * t, 2), input.substr(4096 + (t * rows.size() + row) * 2, 2))
          << "row " << row << " time " << t;
  }
}

TEST_F(SpectraFiles, RefuseGapsThatAreTooLong) {
  const std::size_t gap = 6'400;  // 5 ms
  write_voltages("a.dada", 0, 20'000);
  write_voltages("b.dada", 20'000 + gap, 20'000);
  write_pipeline(kParts, kBank, {"npy"});
  const CommandResult refused =
      run({"run", scratch / "p.toml", "--set", "npy.longest_gap_s=0.005"});
  EXPECT_EQ(refused.status, kFailed);
  for (const char* said : {"a gap of 0.00507", "before 2026-03-20T14:00:00.02", "longest_gap_s"})
    EXPECT_NE(refused.err.find(said), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(scratch / "both.npy"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "both.npy.json"));
  EXPECT_EQ(run({"run", scratch / "p.toml", "--set", "npy.longest_gap_s=0.0051"}).status, kDone);
}

}  // namespace
}  // namespace tautline::tests
