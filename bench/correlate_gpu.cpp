// The X-engine's rate on a GPU, data in device memory, over the portable kernel's configurations.
// Sums are checked before a configuration is timed: integers against the CPU's, floats against the
// reference's.
//
// - bench_correlate_gpu --device cuda:0: the default configuration, at 512 inputs;
// - bench_correlate_gpu --device cuda:0 --sweep: a table of configurations, best first; the best
//   ten are timed again;
// - bench_correlate_gpu --config "8x4 8x16 128 2 16 1" --config ...: given configurations (register
//   tile, thread tile, bytes of a stage, local buffers, bytes of a load, groups of a
//   multiprocessor).
//
// Options: --device D --format ci8|cf32|ci16|ci4 --inputs N --channels N --samples N --rounds N
//          --masked (random masks in device memory) --emulate (dot4) --csv
#include <fmt/core.h>

#include <algorithm>
#include <complex>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/stages/correlate/case.h"
#include "tautline/stages/correlate/gpu/plan.h"

namespace {

namespace core = tautline::core;
namespace device = tautline::device;
namespace correlate = tautline::stages::correlate;
using correlate::TiledTunables;

struct Options {
  std::string device = "cuda:0";
  std::string format = "ci8";
  correlate::Config config{.channels = 240, .inputs = 512, .max_samples = 3072};
  std::size_t samples = 3072;
  std::size_t rounds = 5;
  bool sweep = false, masked = false, csv = false, emulate = false;
  std::vector<TiledTunables> configs;
};

struct Result {
  std::string name;
  double seconds = 0, spread = 0;
};

TiledTunables parse_config(const std::string& text) {
  TiledTunables t;
  std::size_t buffers = 0;
  if (std::sscanf(text.c_str(), "%zux%zu %zux%zu %zu %zu %zu %zu", &t.register_rows,
                  &t.register_columns, &t.thread_rows, &t.thread_columns, &t.stage_bytes, &buffers,
                  &t.vector_bytes, &t.groups_per_multiprocessor) < 7)
    throw std::runtime_error("--config " + text + ": expected \"8x4 8x16 128 2 16 1\"");
  t.local_buffers = static_cast<int>(buffers);
  return t;
}

// Configurations to time: tiles of 32 to 128 inputs a side, and one of each simpler design.
std::vector<TiledTunables> sweep_configs() {
  std::vector<TiledTunables> list{
      {1, 1, 16, 16, 128, 0, 16, false, 1}, {1, 1, 16, 16, 128, 2, 16, false, 1},
      {2, 2, 16, 16, 128, 0, 16, false, 1}, {2, 2, 16, 16, 128, 2, 16, false, 1},
      {4, 4, 16, 16, 128, 0, 16, false, 1}, {4, 4, 16, 16, 128, 2, 4, false, 1}};
  for (const auto& [rows, columns] : {std::pair{4, 4}, {8, 4}, {4, 8}, {8, 8}})
    for (const auto& [thread_rows, thread_columns] : {std::pair{8, 8}, {8, 16}, {16, 8}, {16, 16}})
      for (const std::size_t stage : {64, 128})
        for (const int buffers : {1, 2})
          for (const std::size_t groups : {1, 2, 3}) {
            const auto n = [](int value) { return static_cast<std::size_t>(value); };
            const std::size_t threads = n(thread_rows * thread_columns);
            // A multiprocessor has 65,536 registers, and a thread needs more than its sums.
            if (groups > 1 && 65536 / (groups * threads) < n(rows * columns) * 2 + 32) continue;
            if (groups > 1 && groups * threads < 256) continue;  // fit without the tunable
            list.push_back({n(rows), n(columns), n(thread_rows), n(thread_columns), stage, buffers,
                            16, false, groups});
          }
  return list;
}

// Device memory that repeats a block of random bytes of an odd length, so that all channels differ.
device::Buffer random_memory(const device::Device& gpu, device::Queue& queue, std::size_t bytes,
                             const std::vector<std::byte>& block) {
  device::Buffer buffer = gpu.allocate(bytes);
  for (std::size_t first = 0; first < bytes; first += block.size())
    queue.copy(buffer.as<std::byte>() + first, block.data(), std::min(block.size(), bytes - first));
  return buffer;
}

template <class Sample>
std::vector<std::byte> random_block() {
  constexpr std::size_t kSamples = 1000003 * 4;
  std::vector<std::byte> block(kSamples * sizeof(Sample));
  std::mt19937_64 random(1);
  if constexpr (std::is_same_v<Sample, std::complex<float>>) {
    std::normal_distribution<float> normal;
    for (std::size_t k = 0; k < kSamples; ++k)
      reinterpret_cast<Sample*>(block.data())[k] = {normal(random), normal(random)};
  } else {
    for (auto& byte : block) byte = static_cast<std::byte>(random());
  }
  return block;
}

/// One problem on the device, its expected sums of the last channel, and the timing of plans.
template <class Sample, class Visibility>
class Bench {
 public:
  Bench(const Options& options, std::shared_ptr<const device::Device> gpu)
      : options_(options), gpu_(std::move(gpu)), queue_(gpu_->make_queue()) {
    const auto& c = options_.config;
    baselines_ = core::baseline_count(c.inputs);
    block_ = random_block<Sample>();
    samples_memory_ = random_memory(
        *gpu_, *queue_, c.channels * c.inputs * options_.samples * sizeof(Sample), block_);
    if (options_.masked) {
      const std::size_t words = core::validity_words(options_.samples);
      mask_memory_ = random_memory(*gpu_, *queue_,
                                   c.channels * c.inputs * words * sizeof(std::uint64_t), block_);
      mask_ = {mask_memory_.as<const std::uint64_t>(), {c.channels, c.inputs, words}};
    }
    visibilities_ = gpu_->allocate(c.channels * baselines_ * sizeof(Visibility));
    counts_ = gpu_->allocate(c.channels * baselines_ * sizeof(std::int64_t));
    expected_ = answer();
  }

  Result measure(const TiledTunables* tunables) {
    correlate::GpuTunables all{.slab_bytes = std::size_t{256} << 20};
    if (tunables != nullptr) {
      all.design = correlate::GpuDesign::tiled;
      all.tiled = *tunables;
      all.tiled.emulate_dot4 = options_.emulate;
      if (!options_.masked) all.slab_bytes = 1 << 20;
    }
    const auto plan = correlate::gpu::make_gpu_plan(options_.config, gpu_, all);
    const auto state = plan->make_state(*queue_);
    queue_->fill(visibilities_.data(), 0, visibilities_.bytes());
    queue_->fill(counts_.data(), 0, counts_.bytes());
    execute(*plan, *state);
    check(plan->backend());
    std::vector<double> times;
    const auto start = gpu_->make_event(), end = gpu_->make_event();
    for (std::size_t round = 0; round < options_.rounds; ++round) {
      queue_->record(*start);
      execute(*plan, *state);
      queue_->record(*end);
      times.push_back(gpu_->seconds_between(*start, *end));
    }
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2];
    return {plan->backend(), median, (times.back() - times.front()) / median};
  }

 private:
  core::View<Visibility, 2> visibility_view() const {
    return {visibilities_.as<Visibility>(), {options_.config.channels, baselines_}};
  }
  void execute(const correlate::Plan& plan, correlate::State& state) {
    const auto& c = options_.config;
    plan.execute(*queue_, state,
                 correlate::Samples<Sample>(samples_memory_.as<const Sample>(),
                                            {c.channels, c.inputs, options_.samples}),
                 mask_, visibility_view(), {counts_.as<std::int64_t>(), {c.channels, baselines_}});
  }

  // The sums of the last channel by the CPU, without the mask.
  std::vector<Visibility> answer() {
    const auto& c = options_.config;
    const std::size_t channel_bytes = c.inputs * options_.samples * sizeof(Sample);
    std::vector<Sample> samples(c.inputs * options_.samples);
    queue_->copy(samples.data(), samples_memory_.as<std::byte>() + (c.channels - 1) * channel_bytes,
                 channel_bytes);
    correlate::Config one = c;
    one.channels = 1;
    const bool exact = std::is_same_v<Visibility, core::ci64>;
    const auto host = device::open({exact ? device::Api::cpu : device::Api::reference});
    const auto plan = correlate::make_plan(one, host);
    const auto queue = host->make_queue();
    const auto state = plan->make_state(*queue);
    std::vector<Visibility> sums(baselines_);
    std::vector<std::int64_t> counts(baselines_);
    plan->execute(*queue, *state,
                  correlate::Samples<Sample>(samples.data(), {1, c.inputs, options_.samples}), {},
                  core::View<Visibility, 2>(sums.data(), {1, baselines_}),
                  {counts.data(), {1, baselines_}});
    return sums;
  }

  void check(const std::string& what) {
    if (options_.masked) return;
    std::vector<Visibility> got(baselines_);
    queue_->copy(got.data(),
                 visibilities_.as<Visibility>() + (options_.config.channels - 1) * baselines_,
                 baselines_ * sizeof(Visibility));
    queue_->synchronise();
    if constexpr (std::is_same_v<Visibility, core::ci64>) {
      if (got != expected_) throw std::runtime_error(what + " gave wrong sums");
    } else {
      double worst = 0;
      const double scale = std::is_same_v<Sample, core::ci16> ? 2.0 * 18918 * 18918 : 2.0;
      for (std::size_t b = 0; b < baselines_; ++b)
        worst = std::max(worst, std::abs(got[b] - expected_[b]) /
                                    (scale * static_cast<double>(options_.samples)));
      if (!(worst < correlate::kFloatTolerance))
        throw std::runtime_error(fmt::format("{} is {:.2e} off", what, worst));
      worst_ = worst;
    }
  }

 public:
  double worst() const { return worst_; }

 private:
  Options options_;
  std::shared_ptr<const device::Device> gpu_;
  std::unique_ptr<device::Queue> queue_;
  std::size_t baselines_ = 0;
  double worst_ = 0;
  std::vector<std::byte> block_;
  device::Buffer samples_memory_, mask_memory_, visibilities_, counts_;
  correlate::Validity mask_;
  std::vector<Visibility> expected_;
};

void print(const Result& result, const Options& options) {
  // 8 x N(N+1)/2 x 4 for N dual-polarisation antennas.
  const double antennas = static_cast<double>(options.config.inputs) / 2;
  const double operations = 8 * antennas * (antennas + 1) / 2 * 4 *
                            static_cast<double>(options.config.channels * options.samples);
  const double rate = operations / result.seconds * 1e-12;
  if (options.csv)
    fmt::print("{:.4f},{:.2f},{:.4f},{}\n", result.seconds * 1e3, rate, result.spread, result.name);
  else
    fmt::print("{:>9.3f} ms {:>8.2f} T/s {:>6.1f}%  {}\n", result.seconds * 1e3, rate,
               result.spread * 100, result.name);
  std::fflush(stdout);
}

template <class Sample, class Visibility>
void run(const Options& options) {
  const auto gpu = device::open(device::parse_selection(options.device));
  fmt::print("{}: {} {} inputs x {} channels x {} samples{}\n", gpu->name(), options.format,
             options.config.inputs, options.config.channels, options.samples,
             options.masked ? ", masked" : "");
  Bench<Sample, Visibility> bench(options, gpu);
  if (!options.sweep && options.configs.empty()) {
    print(bench.measure(nullptr), options);
    if (bench.worst() > 0) fmt::print("largest error {:.2e}\n", bench.worst());
    return;
  }
  const auto configs = options.sweep ? sweep_configs() : options.configs;
  std::vector<std::pair<Result, const TiledTunables*>> results;
  for (const TiledTunables& tunables : configs) {
    try {
      results.emplace_back(bench.measure(&tunables), &tunables);
    } catch (const core::Error& error) {
      fmt::print("left out: {}\n", error.what());
    }
  }
  const auto by_time = [](const auto& a, const auto& b) {
    return a.first.seconds < b.first.seconds;
  };
  std::sort(results.begin(), results.end(), by_time);
  for (const auto& [result, tunables] : results) print(result, options);
  if (!options.sweep) return;
  fmt::print("again, the best ten\n");
  for (std::size_t k = 0; k < std::min<std::size_t>(10, results.size()); ++k)
    print(bench.measure(results[k].second), options);
  if (bench.worst() > 0) fmt::print("largest error {:.2e}\n", bench.worst());
}

Options parse(int count, char** arguments) {
  Options options;
  for (int k = 1; k < count; ++k) {
    const std::string name = arguments[k];
    const auto text = [&]() -> std::string {
      if (++k >= count) throw std::runtime_error(name + " wants a value");
      return arguments[k];
    };
    const auto number = [&] { return static_cast<std::size_t>(std::stoull(text())); };
    if (name == "--device")
      options.device = text();
    else if (name == "--format")
      options.format = text();
    else if (name == "--inputs")
      options.config.inputs = number();
    else if (name == "--channels")
      options.config.channels = number();
    else if (name == "--samples")
      options.samples = options.config.max_samples = number();
    else if (name == "--rounds")
      options.rounds = number();
    else if (name == "--config")
      options.configs.push_back(parse_config(text()));
    else if (name == "--sweep")
      options.sweep = true;
    else if (name == "--masked")
      options.masked = true;
    else if (name == "--emulate")
      options.emulate = true;
    else if (name == "--csv")
      options.csv = true;
    else
      throw std::runtime_error("unknown option " + name + "; the file's head lists them");
  }
  options.config.format = core::parse_sample_format(options.format);
  return options;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const Options options = parse(count, arguments);
    if (options.format == "ci8")
      run<core::ci8, core::ci64>(options);
    else if (options.format == "ci4")
      run<core::ci4, core::ci64>(options);
    else if (options.format == "ci16")
      run<core::ci16, std::complex<double>>(options);
    else
      run<std::complex<float>, std::complex<double>>(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_correlate_gpu: {}\n", error.what());
    return 1;
  }
}
