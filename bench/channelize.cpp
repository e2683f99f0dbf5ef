// Rate of the filter bank on every instruction set of this machine, beside a plain filter loop, the
// device's FFT library and a plain loop that rounds and corner-turns, on as many threads, in one
// run.
//
//   bench_channelize [--threads N] [--repeats N] [--only TEXT] [--set avx2]
#include "bench/baseline/channelize.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tautline/stages/channelize/case.h"
#include "tautline/stages/channelize/tunables.h"

namespace {

using namespace tautline;
using stages::channelize::Case;
using stages::channelize::Config;
using stages::channelize::Output;

struct Options {
  std::size_t threads = 2, repeats = 7;
  std::string only, set;
};

struct Problem {
  const char* format;
  std::size_t channels, taps;
  Output output;
  std::size_t p = 1, q = 1;
  bool delays = false;
};

const std::vector<Problem> kProblems = {
    {"ci8", 1024, 8, Output::corner_turned_ci8},
    {"ci8", 1024, 4, Output::corner_turned_ci8},
    {"ci8", 1024, 16, Output::corner_turned_ci8},
    {"ci8", 1024, 8, Output::corner_turned_ci4},
    {"ci8", 1024, 8, Output::corner_turned_float},
    {"ci8", 1024, 8, Output::spectra_float},
    {"ci8", 1024, 8, Output::corner_turned_ci8, 1, 1, true},
    {"ci8", 1024, 8, Output::corner_turned_ci8, 32, 27},
    {"ci16", 1024, 8, Output::corner_turned_ci8},
    {"cf32", 1024, 8, Output::corner_turned_ci8},
    {"i8", 1024, 8, Output::corner_turned_ci8},
    {"ci8", 1000, 8, Output::corner_turned_ci8},
    {"ci8", 2, 8, Output::corner_turned_ci8},
    {"ci8", 4, 8, Output::corner_turned_ci8},
    {"ci8", 8, 8, Output::corner_turned_ci8},
    {"ci8", 16, 8, Output::corner_turned_ci8},
    {"ci8", 32, 8, Output::corner_turned_ci8},
    {"ci8", 64, 8, Output::corner_turned_ci8},
    {"ci8", 128, 8, Output::corner_turned_ci8},
    {"ci8", 256, 8, Output::corner_turned_ci8},
    {"ci8", 512, 8, Output::corner_turned_ci8},
    {"ci8", 2048, 8, Output::corner_turned_ci8},
    {"ci8", 4096, 8, Output::corner_turned_ci8},
    {"ci8", 8192, 8, Output::corner_turned_ci8},
    {"ci8", 16384, 8, Output::corner_turned_ci8},
    {"ci8", 32768, 8, Output::corner_turned_ci8},
    {"ci8", 65536, 8, Output::corner_turned_ci8},
};

const char* name(Output output) {
  switch (output) {
    case Output::spectra_float:
      return "spectra cf32";
    case Output::corner_turned_float:
      return "corner-turned cf32";
    case Output::corner_turned_ci8:
      return "corner-turned ci8";
    case Output::corner_turned_ci4:
      return "corner-turned ci4";
  }
  return "";
}

std::string name(const Problem& p) {
  std::string text =
      fmt::format("{} {} channels {} taps {}", p.format, p.channels, p.taps, name(p.output));
  if (p.p != p.q) text += fmt::format(" {}/{}", p.p, p.q);
  if (p.delays) text += " delays";
  return text;
}

Config config_of(const Problem& problem) {
  Config c;
  c.inputs = 8;
  c.max_samples = 1 << 24;
  c.channels = problem.channels, c.taps = problem.taps;
  c.input = core::parse_sample_format(problem.format);
  c.output = problem.output;
  c.oversample_numerator = problem.p, c.oversample_denominator = problem.q;
  return c;
}

// One block of samples, and a buffer for every type of output.
struct Block {
  Case problem;
  std::size_t samples, row_bytes;
  device::Buffer in, out;
  std::vector<float> gains;
  std::vector<std::uint64_t> clipped;

  explicit Block(const Config& config) : problem{config, 1} {
    // 2^20 samples of each input, at least 32 spectra.
    problem.spectra = std::max<std::size_t>(32, (std::size_t{1} << 20) / config.hop_samples());
    samples = problem.samples();
    row_bytes = samples * static_cast<std::size_t>(config.input.bits_per_sample()) / 8;
    in = device::Buffer(config.inputs * row_bytes);
    out = device::Buffer(config.inputs * problem.spectra * config.channels * 8);
    // Scales an input rms of 74 to 20 steps of 127, or 3 of 7.
    const float gain = config.output == Output::corner_turned_ci4 ? 0.04f : 0.27f;
    gains.assign(config.channels * config.inputs, gain);
    clipped.assign(config.inputs, 0);
    std::mt19937 random(1);
    if (config.input.is_float()) {
      for (std::size_t n = 0; n < in.bytes() / 4; ++n)
        in.as<float>()[n] = static_cast<float>(random() % 256) - 128;
    } else {
      for (std::size_t n = 0; n < in.bytes(); ++n)
        in.as<std::uint8_t>()[n] = static_cast<std::uint8_t>(random());
    }
  }

  stages::channelize::Input input(bool delays) const {
    stages::channelize::Input input;
    input.samples = in.data();
    input.row_stride_bytes = row_bytes;
    input.count = samples;
    if (delays) input.phases.assign(problem.config.inputs, {0.3, 1e-3, 0.7, 1e-6});
    return input;
  }

  stages::channelize::OutputViews views() {
    const std::size_t channels = problem.config.channels, inputs = problem.config.inputs;
    const std::array<std::size_t, 3> extents{channels, inputs, problem.spectra};
    stages::channelize::OutputViews views;
    views.spectra = {out.as<std::complex<float>>(), {inputs, problem.spectra, channels}};
    views.corner_turned_float = {out.as<std::complex<float>>(), extents};
    views.corner_turned_ci8 = {out.as<core::ci8>(), extents};
    views.corner_turned_ci4 = {out.as<core::ci4>(), extents};
    views.gains = {gains.data(), {channels, inputs}};
    views.clipped = {clipped.data(), {inputs}};
    return views;
  }
};

struct Contender {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds;

  double median() {
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }
};

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const auto set : {device::InstructionSet::portable, device::InstructionSet::avx2,
                         device::InstructionSet::avx512})
    if (device::supported(set)) names.push_back("cpu:" + std::string(to_string(set)));
  return names;
}

void add_ours(const Problem& problem, Block& block, const Options& options,
              std::vector<Contender>& contenders) {
  for (const std::string& device_name : device_names()) {
    if (device_name.find(options.set) == std::string::npos) continue;
    for (const bool fused : {true, false}) {
      const auto device =
          device::open(device::parse_selection(device_name), {.threads = options.threads});
      const auto plan = stages::channelize::make_plan(
          config_of(problem), device,
          stages::channelize::Tunables{.fused_max_channels = fused ? std::size_t{65536} : 0});
      // Without fusion only if the default is fused.
      if (!fused && contenders.back().name == plan->backend()) continue;
      std::shared_ptr<device::Queue> queue = device->make_queue();
      std::shared_ptr<stages::channelize::State> state = plan->make_state(*queue);
      contenders.push_back({plan->backend(),
                            [plan, queue, state, &block, delays = problem.delays] {
                              state->reset();
                              plan->execute(*queue, *state, block.input(delays), block.views());
                            },
                            {}});
    }
  }
}

void add_baseline(const Problem& problem, Block& block, const Options& options,
                  std::vector<Contender>& contenders) {
  if (std::strcmp(problem.format, "ci8") != 0 || problem.output != Output::corner_turned_ci8 ||
      problem.p != problem.q || problem.delays)
    return;
  const auto device = device::open({}, {.threads = options.threads});
  std::shared_ptr<device::Queue> queue = device->make_queue();
  const auto baseline = std::make_shared<bench::PlainChannelizer>(
      problem.channels, problem.taps, core::prototype_filter(problem.channels, problem.taps, {}),
      *device);
  contenders.push_back({"baseline",
                        [baseline, queue, &block] {
                          baseline->run(*queue, block.in.as<core::ci8>(),
                                        block.problem.config.inputs, block.samples,
                                        block.problem.spectra, 0.27f, block.out.as<core::ci8>());
                        },
                        {}});
}

void measure(const Problem& problem, const Options& options) {
  Block block(config_of(problem));
  std::vector<Contender> contenders;
  add_baseline(problem, block, options, contenders);
  const bool has_baseline = !contenders.empty();
  if (!has_baseline) contenders.push_back({"none", [] {}, {}});
  add_ours(problem, block, options, contenders);
  for (auto& c : contenders) c.run();  // touches every page
  for (std::size_t repeat = 0; repeat < options.repeats; ++repeat)
    for (auto& c : contenders) {
      const auto start = std::chrono::steady_clock::now();
      c.run();
      c.seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  const auto samples = static_cast<double>(block.problem.config.inputs * block.problem.spectra *
                                           block.problem.config.hop_samples());
  const double baseline = has_baseline ? contenders[0].median() : 0;
  fmt::print("{}\n", name(problem));
  for (auto& c : contenders) {
    if (c.name == "none") continue;
    const double seconds = c.median();
    const double spread = (c.seconds.back() - c.seconds.front()) / seconds;
    fmt::print("  {:28} {:7.3f} G samples/s  {:7.1f} GFLOP/s  {:6.1f} GB/s  spread {:3.0f} %",
               c.name, samples / seconds / 1e9,
               block.problem.operations() * samples /
                   static_cast<double>(block.problem.config.hop_samples()) / seconds / 1e9,
               block.problem.bytes() * samples /
                   static_cast<double>(block.problem.config.hop_samples()) / seconds / 1e9,
               100 * spread);
    if (has_baseline) fmt::print("  {:5.2f} x baseline", baseline / seconds);
    fmt::print("\n");
  }
  std::fflush(stdout);
}

Options parse(int count, char** arguments) {
  Options options;
  for (int n = 1; n + 1 < count; n += 2) {
    const std::string key = arguments[n];
    if (key == "--threads") options.threads = std::stoul(arguments[n + 1]);
    if (key == "--repeats") options.repeats = std::stoul(arguments[n + 1]);
    if (key == "--set") options.set = arguments[n + 1];
    if (key == "--only") options.only = arguments[n + 1];
  }
  return options;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  fmt::print("{} threads, median of {} interleaved repeats, 8 inputs\n", options.threads,
             options.repeats);
  for (const Problem& problem : kProblems)
    if (name(problem).find(options.only) != std::string::npos) measure(problem, options);
  return 0;
}
