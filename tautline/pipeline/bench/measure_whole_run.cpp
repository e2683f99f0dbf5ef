#include "tautline/pipeline/bench/measure_whole_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/core/stopwatch.h"
#include "tautline/core/threads.h"
#include "tautline/formats/dada/dada.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/npy/npy.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/search/dedisperse_filterbank.h"
#include "tautline/pipeline/search/search_filterbank.h"
#include "tautline/pipeline/simulation/simulate_filterbank.h"
#include "tautline/pipeline/voltages/channelize_voltages.h"
#include "tautline/pipeline/voltages/correlate_voltages.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kPatternBytes = std::size_t{64} << 20;
constexpr std::size_t kPlainBytes = std::size_t{4} << 20;  // of one writing
constexpr std::size_t kLeastRuns = 5, kPlainWritings = 3;
// The simulated part of a filterbank, which is repeated; shorter where there are many pulses a
// second, each of which takes tens of milliseconds to make.
constexpr double kPartSeconds = 20, kShortPartSeconds = 5, kManyPulses_hz = 5;

// Files of one measurement.
class RunFolder {
 public:
  RunFolder() {
    std::random_device random;
    path_ = std::filesystem::path(formats::temporary_folder()) /
            ("tautline-bench-" + std::to_string(random()));
    std::filesystem::create_directories(path_);
  }
  ~RunFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

struct WholeRun {
  engine::Profile profile;
  std::string kernels;
  double stream_s = 0;
};

Measurement measure_whole(double bytes, double budget_s, const std::function<WholeRun()>& run) {
  run();
  std::vector<WholeRun> runs;
  // By the clock: a run's outputs wait for the disk after the time that it reports.
  const auto start = core::Clock::now();
  while (runs.size() < kLeastRuns || core::seconds_since(start) < budget_s) runs.push_back(run());
  std::sort(runs.begin(), runs.end(),
            [](const WholeRun& a, const WholeRun& b) { return a.profile.run_s < b.profile.run_s; });
  const WholeRun& middle = runs[runs.size() / 2];
  Measurement m;
  m.seconds = middle.profile.run_s;
  m.spread =
      (runs[runs.size() * 3 / 4].profile.run_s - runs[runs.size() / 4].profile.run_s) / m.seconds;
  m.bytes = bytes;
  m.rate = bytes / m.seconds;
  m.unit = "bytes/s in";
  m.fraction_of_limit = middle.profile.efficiency;
  m.limit = middle.profile.bound_by;
  m.instruction_set = middle.kernels;
  m.profile = middle.profile;
  m.real_time_factor = middle.stream_s / m.seconds;
  return m;
}

std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t mask) {
  std::vector<std::byte> bytes(count);
  std::mt19937_64 random(1);
  for (std::size_t at = 0; at + 8 <= count; at += 8) {
    const std::uint64_t word = random() & mask;
    std::copy_n(reinterpret_cast<const std::byte*>(&word), 8,
                bytes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return bytes;
}

// The first bytes of the pattern that are whole rows, repeated for `total` rows.
template <class Write>
void repeat_rows(const std::vector<std::byte>& pattern, std::size_t row_bytes, std::size_t total,
                 const Write& write) {
  const std::size_t rows = std::max<std::size_t>(1, pattern.size() / row_bytes);
  for (std::size_t done = 0; done < total; done += rows)
    write(std::span(pattern).first(std::min(rows, total - done) * row_bytes));
}

struct VoltageFile {
  double bytes = 0, bandwidth_hz = 0;
};

// Random voltages of the problem's inputs, rate and size.
VoltageFile make_voltages(const std::string& path, const Problem& sizes, std::size_t channels) {
  core::VoltageDescription description;
  description.format = core::kCi8;
  description.antennas = sizes.at("inputs") / 2;
  description.polarisations = 2;
  description.channels = channels;
  description.rate_hz = {static_cast<std::int64_t>(sizes.at("rate_hz")), 1};
  description.centre_hz = 1e9;
  description.bandwidth_hz = description.rate_hz.value() * static_cast<double>(channels);
  const std::size_t row_bytes = 2 * description.inputs() * channels;
  const std::size_t rows = sizes.at("megabytes") * 1'000'000 / row_bytes;
  formats::dada::Writer writer(path, description);
  repeat_rows(random_bytes(kPatternBytes, ~std::uint64_t{0}), row_bytes, rows,
              [&](std::span<const std::byte> bytes) { writer.write(bytes); });
  writer.finish();
  return {static_cast<double>(rows * row_bytes), description.bandwidth_hz};
}

// Sets the fields that runs over voltages share, and makes their input.
template <class Config>
VoltageFile prepare_voltages(Config& config, const RunFolder& folder, const std::string& output,
                             const Problem& sizes, std::size_t channels) {
  config.inputs = {folder / "run.dada"};
  config.output = folder / output;
  config.overwrite = true;
  config.filter.channels = sizes.at("channels");
  config.filter.taps = sizes.at("taps");
  return make_voltages(config.inputs.front(), sizes, channels);
}

struct PlainWriting {
  double bytes = 0, seconds = 0;
};

// New files of the sizes of a run's series, which are removed, written by a program that does nothing else: large
// pieces, several files at a time, which exist already and are empty, as the run's are. The fastest of a few times.
PlainWriting write_plainly(const std::string& series) {
  std::vector<std::size_t> sizes;
  if (std::filesystem::is_directory(series)) {
    for (const auto& entry : std::filesystem::directory_iterator(series))
      if (entry.path().extension() == ".dat") sizes.push_back(entry.file_size());
  } else {
    sizes.push_back(std::filesystem::file_size(series));
  }
  std::filesystem::remove_all(series);
  std::filesystem::create_directory(series);
  const std::vector<std::byte> pattern = random_bytes(kPatternBytes, ~std::uint64_t{0});
  const auto path_of = [&](std::size_t n) { return series + "/" + std::to_string(n); };
  PlainWriting plain;
  for (std::size_t k = 0; k < kPlainWritings; ++k) {
    for (std::size_t n = 0; n < sizes.size(); ++n) std::ofstream(path_of(n), std::ios::binary);
    const auto start = core::Clock::now();
    core::in_pieces(sizes.size(), sizes.size(), [&](std::size_t n, std::size_t, std::size_t) {
      const std::string path = path_of(n);
      std::ofstream file(path, std::ios::binary | std::ios::app);
      for (std::size_t left = sizes[n]; left > 0 && file;) {
        const std::size_t count = std::min(left, kPlainBytes);
        const std::size_t at = left % (pattern.size() - count + 1);
        file.write(reinterpret_cast<const char*>(pattern.data()) + at,
                   static_cast<std::streamsize>(count));
        left -= count;
      }
      file.close();
      if (!file)
        throw core::Error(core::ErrorKind::io, path, "cannot be written", "",
                          "set TMPDIR to a folder with more room, or measure fewer seconds");
    });
    const double seconds = core::seconds_since(start);
    plain.seconds = k == 0 ? seconds : std::min(plain.seconds, seconds);
    for (std::size_t n = 0; n < sizes.size(); ++n) std::filesystem::remove(path_of(n));
  }
  plain.bytes = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  return plain;
}

FilterbankRunConfig filterbank_config(const Problem& sizes, const std::string& path) {
  FilterbankRunConfig config;
  config.inputs = {path};
  config.overwrite = true;
  config.zero_dm = sizes.at("zero_dm") != 0;
  config.dms.low = 0;
  config.dms.step = 0.25;
  config.dms.high = 0.25 * static_cast<double>(sizes.at("trials") - 1);
  return config;
}

// Apertif's band with pulses, and with `interference` impulses a second.
std::string make_filterbank(const RunFolder& folder, const Problem& sizes) {
  SimulateFilterbankConfig made;
  made.scene.channels = sizes.at("channels");
  made.scene.fch1_mhz = 1719.854;
  made.scene.foff_mhz = -0.292969;
  made.scene.tsamp_s = 5e-5;
  made.scene.bits = 8;
  made.seed = 1;
  const auto seconds = static_cast<double>(sizes.at("seconds"));
  const bool many = static_cast<double>(sizes.at("pulses")) > kManyPulses_hz * seconds;
  made.duration_s = std::min(seconds, many ? kShortPartSeconds : kPartSeconds);
  const auto share = [&](std::size_t count) {
    return static_cast<std::size_t>(static_cast<double>(count) * made.duration_s / seconds + 0.5);
  };
  made.random_pulses.count = share(sizes.at("pulses"));
  made.random_pulses.dm_high = 0.25 * static_cast<double>(sizes.at("trials"));
  made.random_pulses.width_s_low = 0.0005;
  made.random_pulses.width_s_high = 0.01;
  made.random_pulses.snr_low = made.random_pulses.snr_high = static_cast<double>(sizes.at("snr"));
  for (std::size_t k = 0; k < share(sizes.at("impulses")); ++k)
    made.scene.impulses.push_back({.time_s = (static_cast<double>(k) + 0.5) * seconds /
                                             static_cast<double>(sizes.at("impulses")),
                                   .duration_s = 0.002,
                                   .amplitude = 1});
  made.output = folder / "part.fil";
  simulate_filterbank(made);
  const formats::InputFile part(made.output);
  const std::vector<std::byte> bytes = part.head(static_cast<std::size_t>(part.size()));
  const auto data = static_cast<std::size_t>(std::llround(made.duration_s / made.scene.tsamp_s)) *
                    made.scene.channels;
  const std::string path = folder / "run.fil";
  formats::PartialFile whole(path, true);
  whole.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  for (double more = made.duration_s; more < seconds - 0.5; more += made.duration_s)
    whole.write({reinterpret_cast<const char*>(bytes.data()) + bytes.size() - data, data});
  whole.finish();
  return path;
}

}  // namespace

Measurement measure_run_correlate(const Problem& sizes, const std::vector<DevicePointer>& devices,
                                  const Limits&, double budget_s) {
  const RunFolder folder;
  CorrelateConfig config;
  const VoltageFile file = prepare_voltages(
      config, folder, "run.uvh5", sizes, sizes.at("channelized") != 0 ? sizes.at("channels") : 1);
  config.integration_s = 1e-3 * static_cast<double>(sizes.at("integration_ms"));
  Measurement m = measure_whole(file.bytes, budget_s, [&] {
    const CorrelateSummary s = correlate_voltages(config, devices);
    return WholeRun{s.profile, s.backend, s.stream_s};
  });
  m.bandwidth_hz = *m.real_time_factor * file.bandwidth_hz;
  return m;
}

Measurement measure_run_channelize(const Problem& sizes, const std::vector<DevicePointer>& devices,
                                   const Limits&, double budget_s) {
  const RunFolder folder;
  const std::size_t bits = sizes.at("output_bits");
  if (bits != 8 && bits != 32)
    throw core::Error(core::ErrorKind::config, "`problem`: output_bits", std::to_string(bits),
                      "8 or 32");
  ChannelizeConfig config;
  const VoltageFile file = prepare_voltages(config, folder, "channels.dada", sizes, 1);
  config.requantise = bits == 8 ? Requantise::bits8 : Requantise::off;
  Measurement m = measure_whole(file.bytes, budget_s, [&] {
    const ChannelizeSummary s = channelize_voltages(config, devices.front());
    return WholeRun{s.profile, s.backend, s.stream_s};
  });
  m.bandwidth_hz = *m.real_time_factor * file.bandwidth_hz;
  return m;
}

Measurement measure_run_search(const Problem& sizes, const std::vector<DevicePointer>& devices,
                               const Limits&, double budget_s) {
  const RunFolder folder;
  SearchConfig config;
  static_cast<FilterbankRunConfig&>(config) =
      filterbank_config(sizes, make_filterbank(folder, sizes));
  config.output = folder / "run.csv";
  config.max_width_s = 1e-3 * static_cast<double>(sizes.at("width_ms"));
  const double bytes = static_cast<double>(std::filesystem::file_size(config.inputs.front()));
  return measure_whole(bytes, budget_s, [&] {
    const SearchSummary s = search_filterbank(config, devices.front());
    return WholeRun{s.profile, s.backend, s.stream_s};
  });
}

Measurement measure_run_dedisperse(const Problem& sizes, const std::vector<DevicePointer>& devices,
                                   const Limits&, double budget_s) {
  const RunFolder folder;
  DedisperseConfig config;
  static_cast<FilterbankRunConfig&>(config) =
      filterbank_config(sizes, make_filterbank(folder, sizes));
  const bool files = sizes.at("files") != 0;
  config.format = files ? SeriesFormat::dat : SeriesFormat::npy;
  config.output = folder / (files ? "run" : "run.npy");
  const double bytes = static_cast<double>(std::filesystem::file_size(config.inputs.front()));
  Measurement m = measure_whole(bytes, budget_s, [&] {
    const DedisperseSummary s = dedisperse_filterbank(config, devices.front());
    return WholeRun{s.profile, s.backend, s.stream_s};
  });
  const PlainWriting plain = write_plainly(config.output);
  m.fraction_of_limit = plain.seconds / m.seconds;
  m.limit = fmt::format("plain writing, {:.3g} GB/s", plain.bytes / plain.seconds / 1e9);
  return m;
}

Measurement measure_run_autocorrelate(const Problem& sizes,
                                      const std::vector<DevicePointer>& devices, const Limits&,
                                      double budget_s) {
  const RunFolder folder;
  const std::size_t sensors = sizes.at("sensors"), element = sizes.at("bits") / 8;
  if (element != 1 && element != 2)
    throw core::Error(core::ErrorKind::config, "`problem`: bits", std::to_string(sizes.at("bits")),
                      "8 or 16");
  const std::size_t row_bytes = sensors * element;
  const std::size_t rows = sizes.at("megabytes") * 1'000'000 / row_bytes;
  AutocorrelateConfig config;
  config.input = folder / "run.npy";
  {
    formats::npy::ArrayWriter writer(config.input, element == 1 ? "|u1" : "<u2", {rows, sensors},
                                     true);
    repeat_rows(random_bytes(kPatternBytes, element == 1 ? 0x0303030303030303 : 0x0003000300030003),
                row_bytes, rows, [&](std::span<const std::byte> bytes) { writer.write(bytes); });
    writer.finish();
  }
  config.output = folder / "run.h5";
  config.overwrite = true;
  config.bin_s = 1.6e-6;
  config.bins = sizes.at("bins");
  config.levels = sizes.at("levels");
  return measure_whole(static_cast<double>(rows * row_bytes), budget_s, [&] {
    const AutocorrelateSummary s = autocorrelate_counts(config, devices.front());
    return WholeRun{s.profile, s.backend, s.stream_s};
  });
}

}  // namespace tautline::pipeline
