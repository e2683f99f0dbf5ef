// The filter bank's rate on a GPU, data in device memory: the default configuration and, in the
// same run, a filter kernel followed by the device's FFT (the separate design).
//
//   bench_channelize_gpu [--device cuda:0] [--only TEXT] [--rounds N] [--samples N] [--designs]
//                        [--problem "FORMAT CHANNELS TAPS OUTPUT"] ... [--tunables "DESIGN POINTS
//                        SPECTRA POSITIONS FILTER_SPECTRA GROUPS CONVERSION UNROLLED_TAPS [FETCH
//                        SYMMETRY WORK_MIB]"] ...
//
// --designs adds every design that supports a problem, --tunables configurations (0: default;
// designs: 1 fused, 2 split, 3 separate), --problem replaces the problems listed here (outputs: 0
// spectra, 1 corner-turned cf32, 2 corner-turned ci8, 3 corner-turned ci4).
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/stages/channelize/case.h"
#include "tautline/stages/channelize/tunables.h"

namespace {

using namespace tautline;
using stages::channelize::Case;
using stages::channelize::Config;
using stages::channelize::GpuDesign;
using stages::channelize::GpuTunables;
using stages::channelize::Output;

struct Options {
  std::string device = "cuda:0", only;
  std::size_t rounds = 7, samples = std::size_t{1} << 28;
  bool designs = false;
  std::vector<std::string> tunables, problems;
};

struct Problem {
  std::string format;
  std::size_t channels, taps;
  Output output;
  bool delays = false;
  std::size_t p = 1, q = 1;
};

const std::vector<Problem> kProblems = {{"ci8", 1024, 4, Output::spectra_float},
                                        {"ci8", 1024, 8, Output::spectra_float},
                                        {"ci8", 1024, 16, Output::spectra_float},
                                        {"ci8", 1024, 32, Output::spectra_float},
                                        {"ci8", 1024, 64, Output::spectra_float},
                                        {"ci8", 1024, 8, Output::corner_turned_ci8},
                                        {"ci8", 1024, 16, Output::corner_turned_ci8},
                                        {"ci8", 1024, 32, Output::corner_turned_ci8},
                                        {"ci8", 1024, 8, Output::corner_turned_ci8, true},
                                        {"ci8", 1024, 8, Output::corner_turned_ci4},
                                        {"ci8", 1024, 8, Output::corner_turned_float},
                                        {"ci8", 1024, 8, Output::corner_turned_ci8, false, 32, 27},
                                        {"ci8", 64, 8, Output::spectra_float},
                                        {"ci8", 128, 8, Output::spectra_float},
                                        {"ci8", 256, 8, Output::spectra_float},
                                        {"ci8", 512, 8, Output::spectra_float},
                                        {"ci8", 2048, 8, Output::spectra_float},
                                        {"ci8", 4096, 8, Output::spectra_float},
                                        {"ci8", 8192, 8, Output::spectra_float},
                                        {"ci8", 16384, 8, Output::spectra_float},
                                        {"ci8", 32768, 8, Output::spectra_float},
                                        {"ci8", 65536, 8, Output::spectra_float},
                                        {"ci8", 96, 8, Output::spectra_float},
                                        {"ci8", 1000, 8, Output::spectra_float},
                                        {"ci8", 3072, 8, Output::spectra_float},
                                        {"ci8", 1000, 8, Output::corner_turned_ci8},
                                        {"ci8", 4096, 8, Output::corner_turned_ci8},
                                        {"ci16", 1024, 8, Output::spectra_float},
                                        {"cf32", 1024, 8, Output::spectra_float},
                                        {"i8", 1024, 8, Output::spectra_float},
                                        {"i16", 1024, 8, Output::spectra_float},
                                        {"f32", 1024, 8, Output::spectra_float}};

const char* name(Output output) {
  constexpr const char* kNames[] = {"spectra", "corner-turned cf32", "corner-turned ci8",
                                    "corner-turned ci4"};
  return kNames[static_cast<int>(output)];
}

std::string name(const Problem& p) {
  std::string text =
      fmt::format("{} {} channels {} taps {}", p.format, p.channels, p.taps, name(p.output));
  if (p.p != p.q) text += fmt::format(" {}/{}", p.p, p.q);
  return text + (p.delays ? " delays" : "");
}

Problem parse_problem(const std::string& text) {
  char format[16];
  Problem p{};
  int output = 0;
  if (std::sscanf(text.c_str(), "%15s %zu %zu %d", format, &p.channels, &p.taps, &output) != 4)
    throw std::runtime_error("--problem " + text + ": expected \"ci8 1024 8 0\"");
  p.format = format;
  p.output = static_cast<Output>(output);
  p.p = p.q = 1;
  return p;
}

GpuTunables parse_tunables(const std::string& text) {
  GpuTunables t;
  int design = 0;
  if (std::sscanf(text.c_str(), "%d %zu %zu %zu %zu %zu %d %zu %d %d %zu", &design, &t.points,
                  &t.spectra, &t.positions, &t.filter_spectra, &t.groups, &t.conversion,
                  &t.unrolled_taps, &t.fetch, &t.symmetry, &t.work_bytes) < 8)
    throw std::runtime_error("--tunables " + text + ": expected \"1 32 4 4 4 5 0 16 0 0\"");
  t.design = static_cast<GpuDesign>(design);
  t.work_bytes <<= 20;
  return t;
}

/// Samples and buffers for results on the device, and the arguments of a call.
class Bench {
 public:
  Bench(const Problem& problem, const Options& options, std::shared_ptr<const device::Device> gpu)
      : delays_(problem.delays),
        rounds_(options.rounds),
        gpu_(std::move(gpu)),
        queue_(gpu_->make_queue()) {
    Config& c = problem_.config;
    c.inputs = 8;
    c.channels = problem.channels, c.taps = problem.taps, c.output = problem.output;
    c.input = core::parse_sample_format(problem.format);
    c.oversample_numerator = problem.p, c.oversample_denominator = problem.q;
    problem_.spectra = std::max<std::size_t>(64, options.samples / c.inputs / c.hop_samples());
    problem_.spectra = problem_.spectra / 64 * 64;
    c.max_samples = problem_.samples();
    make_memory();
  }

  double samples() const {
    return static_cast<double>(problem_.config.inputs * problem_.spectra *
                               problem_.config.hop_samples());
  }
  double bytes() const {
    return problem_.bytes() * static_cast<double>(problem_.config.inputs * problem_.spectra);
  }

  /// `given`: the tunables as given on the command line, to print.
  void measure(const GpuTunables& tunables, const std::string& given = "") {
    try {
      stages::channelize::Tunables all;
      all.gpu = tunables;
      const auto plan = make_plan(problem_.config, gpu_, all);
      const auto state = plan->make_state(*queue_);
      std::vector<double> times;
      const auto start = gpu_->make_event(), end = gpu_->make_event();
      // The first rounds after a pause are slower.
      constexpr std::size_t kWarmUp = 8;
      for (std::size_t round = 0; round < rounds_ + kWarmUp; ++round) {
        state->reset();
        queue_->record(*start);
        plan->execute(*queue_, *state, input(), views());
        queue_->record(*end);
        const double seconds = gpu_->seconds_between(*start, *end);
        if (round >= kWarmUp) times.push_back(seconds);
      }
      std::sort(times.begin(), times.end());
      const double median = times[times.size() / 2];
      fmt::print("  {:66} {:6.1f} G samples/s {:6.0f} GB/s  spread {:2.0f} %  {}\n",
                 plan->backend(), samples() / median / 1e9, bytes() / median / 1e9,
                 100 * (times.back() - times.front()) / median, given);
    } catch (const core::Error& error) {
      if (error.kind() != core::ErrorKind::unsupported) fmt::print("  {}\n", error.what());
    }
    std::fflush(stdout);
  }

 private:
  void make_memory() {
    const Config& c = problem_.config;
    constexpr std::size_t kBlock = 8 << 20;
    row_bytes_ = problem_.samples() * static_cast<std::size_t>(c.input.bits_per_sample()) / 8;
    row_bytes_ = (row_bytes_ + 255) / 256 * 256;
    std::vector<std::byte> block(kBlock);
    std::mt19937 random(1);
    if (c.input.is_float())
      for (std::size_t n = 0; n < kBlock / 4; ++n)
        reinterpret_cast<float*>(block.data())[n] = static_cast<float>(random() % 256) - 128;
    else
      for (auto& byte : block) byte = static_cast<std::byte>(random());
    in_ = gpu_->allocate(c.inputs * row_bytes_);
    for (std::size_t at = 0; at < in_.bytes(); at += kBlock)
      queue_->copy(in_.as<std::byte>() + at, block.data(), std::min(kBlock, in_.bytes() - at));
    // The stride of rows is not a power of two.
    out_row_ = problem_.spectra + 64;
    out_ = gpu_->allocate(c.inputs * c.channels * out_row_ * 8);
    // Scales an input rms of 74 to 20 steps of 127, or 3 of 7.
    const std::vector<float> gains(c.inputs * c.channels,
                                   c.output == Output::corner_turned_ci4 ? 0.04f : 0.27f);
    gains_ = gpu_->allocate(gains.size() * sizeof(float));
    queue_->copy(gains_.data(), gains.data(), gains_.bytes());
    clipped_ = gpu_->allocate(c.inputs * sizeof(std::uint64_t));
    queue_->fill(clipped_.data(), 0, clipped_.bytes());
  }

  stages::channelize::Input input() const {
    stages::channelize::Input input;
    input.samples = in_.data();
    input.row_stride_bytes = row_bytes_;
    input.count = problem_.samples();
    if (delays_) input.phases.assign(problem_.config.inputs, {0.3, 1e-3, 0.7, 1e-6});
    return input;
  }

  stages::channelize::OutputViews views() const {
    const std::size_t channels = problem_.config.channels, inputs = problem_.config.inputs;
    const std::array<std::size_t, 3> extents{channels, inputs, out_row_};
    stages::channelize::OutputViews views;
    views.spectra = {out_.as<std::complex<float>>(), {inputs, problem_.spectra, channels}};
    views.corner_turned_float = {out_.as<std::complex<float>>(), extents};
    views.corner_turned_ci8 = {out_.as<core::ci8>(), extents};
    views.corner_turned_ci4 = {out_.as<core::ci4>(), extents};
    views.gains = {gains_.as<float>(), {channels, inputs}};
    views.clipped = {clipped_.as<std::uint64_t>(), {inputs}};
    return views;
  }

  bool delays_;
  std::size_t rounds_;
  std::shared_ptr<const device::Device> gpu_;
  std::unique_ptr<device::Queue> queue_;
  Case problem_;
  std::size_t row_bytes_ = 0, out_row_ = 0;
  device::Buffer in_, out_, gains_, clipped_;
};

Options parse(int count, char** arguments) {
  Options options;
  for (int n = 1; n < count; ++n) {
    const std::string key = arguments[n];
    if (key == "--designs") {
      options.designs = true;
      continue;
    }
    if (n + 1 == count) throw std::runtime_error(key + ": a value");
    const std::string value = arguments[++n];
    if (key == "--device")
      options.device = value;
    else if (key == "--only")
      options.only = value;
    else if (key == "--rounds")
      options.rounds = std::stoul(value);
    else if (key == "--samples")
      options.samples = std::stoul(value);
    else if (key == "--problem")
      options.problems.push_back(value);
    else if (key == "--tunables")
      options.tunables.push_back(value);
    else
      throw std::runtime_error("unknown option " + key);
  }
  return options;
}

void run(const Options& options) {
  const auto gpu = device::open(device::parse_selection(options.device));
  fmt::print("{}, median of {} rounds, 8 inputs, {} samples in all\n", gpu->name(), options.rounds,
             options.samples);
  std::vector<Problem> problems;
  for (const std::string& given : options.problems) problems.push_back(parse_problem(given));
  if (problems.empty()) problems = kProblems;
  for (const Problem& problem : problems) {
    if (name(problem).find(options.only) == std::string::npos) continue;
    fmt::print("{}\n", name(problem));
    Bench bench(problem, options, gpu);
    bench.measure({});
    bench.measure({.design = GpuDesign::separate});
    for (const std::string& given : options.tunables) bench.measure(parse_tunables(given), given);
    if (!options.designs) continue;
    for (const GpuDesign design : {GpuDesign::fused, GpuDesign::split})
      bench.measure({.design = design});
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    run(parse(count, arguments));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
