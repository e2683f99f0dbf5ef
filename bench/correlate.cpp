// The X-engine's rate on every instruction set of this machine, beside OpenBLAS's single-precision
// cherk on the same data in the same run (rounds interleaved), and its cost against inputs.
//
// - bench_correlate: 256 inputs on two threads, more data than the caches hold;
// - bench_correlate --scaling --sets vnni: time against inputs;
// - taskset -c 0,1 bench_correlate --csv: comma-separated values, on two given cores.
//
// Options: --threads N --inputs N --channels N --samples N --rounds N --sets a,b,... --no-blas
//          --no-float --csv --data BYTES (scaling)
//          --chunk SAMPLES --cache BYTES --group PANELS (tunables.h)
#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdlib>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/stages/correlate/case.h"
#include "tautline/stages/correlate/cpu/dispatch.h"
#include "tautline/stages/correlate/cpu/plan.h"

namespace {

namespace core = tautline::core;
namespace device = tautline::device;
namespace correlate = tautline::stages::correlate;
using device::InstructionSet;

struct Options {
  std::size_t threads = 2;
  std::size_t rounds = 9;
  correlate::Case problem = correlate::kLargeArray;
  correlate::Tunables tunables;
  std::string sets = "portable,avx2,avx512,vnni,amx";
  std::size_t scaling_bytes = std::size_t{8} << 20;
  bool blas = true;
  bool floats = true;
  bool csv = false;
  bool scaling = false;

  bool wants(InstructionSet set) const {
    return ("," + sets + ",").find("," + std::string(device::to_string(set)) + ",") !=
           std::string::npos;
  }
};

/// 8 x N(N+1)/2 x 4 x channels x samples for N dual-polarisation antennas; for an odd number of
/// inputs, 8 for each baseline.
double dual_polarisation_operations(const correlate::Config& config, std::size_t samples) {
  if (config.inputs % 2 != 0) return useful_operations(config, samples);
  const double antennas = static_cast<double>(config.inputs / 2);
  return 8 * antennas * (antennas + 1) / 2 * 4 * static_cast<double>(config.channels * samples);
}

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// One line of a table.
struct Entry {
  std::string name;
  double operations;
  std::function<void()> work;
  std::size_t repeats = 1;  ///< in one timing
  std::vector<double> times;

  double quantile(double q) const {
    auto sorted = times;
    std::sort(sorted.begin(), sorted.end());
    const double at = q * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(at);
    const auto high = std::min(low + 1, sorted.size() - 1);
    return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
  }
  double median() const { return quantile(0.5); }
  /// Interquartile range over the median.
  double spread() const { return (quantile(0.75) - quantile(0.25)) / median(); }
  double best() const { return quantile(0); }
  double tops() const { return operations / median() * 1e-12; }
};

/// Times all entries in every round, so that changes of the clock rate affect all entries.
void measure(std::vector<Entry>& entries, std::size_t rounds) {
  for (auto& entry : entries) entry.work();  // caches, pages and clocks warm up
  for (std::size_t round = 0; round < rounds; ++round)
    for (auto& entry : entries)
      entry.times.push_back(seconds([&] {
                              for (std::size_t k = 0; k < entry.repeats; ++k) entry.work();
                            }) /
                            static_cast<double>(entry.repeats));
}

void fill_random(core::ci8* samples, std::size_t count) {
  std::mt19937_64 random(1);
  auto* words = reinterpret_cast<std::uint64_t*>(samples);
  for (std::size_t k = 0; k < count * sizeof(core::ci8) / sizeof(std::uint64_t); ++k)
    words[k] = random();
}

/// A plan with its queue, state and sums.
template <class Visibility>
struct Engine {
  Engine(const correlate::Config& config, std::shared_ptr<const correlate::Plan> made,
         const device::Device& device)
      : plan(std::move(made)),
        queue(device.make_queue()),
        state(plan->make_state(*queue)),
        channels(config.channels),
        baselines(core::baseline_count(config.inputs)),
        visibilities(channels * baselines),
        counts(channels * baselines) {}

  template <class Sample>
  void run(const correlate::Samples<Sample>& samples) {
    plan->execute(*queue, *state, samples, {}, view(visibilities.data()), view(counts.data()));
  }
  template <class T>
  core::View<T, 2> view(T* data) const {
    return {data, {channels, baselines}};
  }

  std::shared_ptr<const correlate::Plan> plan;
  std::unique_ptr<device::Queue> queue;
  std::unique_ptr<correlate::State> state;
  std::size_t channels, baselines;
  std::vector<Visibility> visibilities;
  std::vector<std::int64_t> counts;
};

using IntegerEngine = Engine<core::ci64>;
using FloatEngine = Engine<std::complex<double>>;

std::shared_ptr<const device::Device> open(InstructionSet set, const Options& options) {
  return device::open({device::Api::cpu, set}, {.threads = options.threads});
}

std::shared_ptr<IntegerEngine> integer_engine(const correlate::Config& config, InstructionSet set,
                                              const Options& options) {
  const auto device = open(set, options);
  const auto& kernel = correlate::cpu::choose_integer_kernel(*device);
  auto plan = correlate::cpu::make_integer_plan(config, device, kernel, options.tunables);
  return std::make_shared<IntegerEngine>(config, std::move(plan), *device);
}

/// OpenBLAS, opened at run time: cherk computes the lower triangle of A A^H.
class Blas {
 public:
  explicit Blas(std::size_t threads) : library_(dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    const auto set_threads =
        reinterpret_cast<void (*)(int)>(dlsym(library_, "openblas_set_num_threads"));
    cherk_ = reinterpret_cast<decltype(cherk_)>(dlsym(library_, "cblas_cherk"));
    const auto describe =
        reinterpret_cast<const char* (*)()>(dlsym(library_, "openblas_get_config"));
    if (set_threads != nullptr) set_threads(static_cast<int>(threads));
    if (describe != nullptr) name_ = describe();
  }
  bool available() const { return cherk_ != nullptr; }
  const std::string& name() const { return name_; }
  /// c[n][n] += a[n][k] a^H.
  void cherk(int n, int k, const std::complex<float>* a, std::complex<float>* c) const {
    constexpr int kRowMajor = 101, kLower = 122, kNoTranspose = 111;
    cherk_(kRowMajor, kLower, kNoTranspose, n, k, 1.0f, a, k, 1.0f, c, n);
  }

 private:
  void* library_;
  void (*cherk_)(int, int, int, int, int, float, const void*, int, float, void*, int) = nullptr;
  std::string name_;
};

std::vector<InstructionSet> sets_to_run(const Options& options) {
  std::vector<InstructionSet> sets;
  for (const InstructionSet set :
       {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512,
        InstructionSet::vnni, InstructionSet::amx}) {
    if (!options.wants(set)) continue;
    if (device::supported(set)) {
      sets.push_back(set);
    } else {
      fmt::print(stderr, "skipped: this processor has no {}\n", device::to_string(set));
    }
  }
  return sets;
}

void print_table(const std::vector<Entry>& entries, const Options& options) {
  const double baseline = entries.back().tops();
  const bool has_baseline = entries.back().name.starts_with("cherk");
  if (options.csv)
    fmt::print("name,seconds,spread,best_seconds,tops,ratio_to_cherk\n");
  else
    fmt::print("{:<24} {:>10} {:>8} {:>9} {:>12} {:>8}\n", "code", "median ms", "spread", "best ms",
               "useful TOPS", "x cherk");
  for (const auto& entry : entries) {
    const std::string ratio = has_baseline ? fmt::format("{:.2f}", entry.tops() / baseline) : "";
    if (options.csv)
      fmt::print("{},{:.6f},{:.4f},{:.6f},{:.4f},{}\n", entry.name, entry.median(), entry.spread(),
                 entry.best(), entry.tops(), ratio);
    else
      fmt::print("{:<24} {:>10.2f} {:>7.1f}% {:>9.2f} {:>12.3f} {:>8}\n", entry.name,
                 entry.median() * 1e3, entry.spread() * 100, entry.best() * 1e3, entry.tops(),
                 ratio);
  }
}

void run_table(const Options& options) {
  const correlate::Config& config = options.problem.config;
  const std::size_t samples = options.problem.samples;
  const std::size_t total = config.channels * config.inputs * samples;
  const double operations = dual_polarisation_operations(config, samples);
  const std::array<std::size_t, 3> extents{config.channels, config.inputs, samples};

  const device::Buffer bytes(total * sizeof(core::ci8));
  fill_random(bytes.as<core::ci8>(), total);
  const correlate::Samples<core::ci8> integers(bytes.as<core::ci8>(), extents);
  std::vector<std::complex<float>> floats(options.blas || options.floats ? total : 0);
  for (std::size_t k = 0; k < floats.size(); ++k)
    floats[k] = {static_cast<float>(bytes.as<core::ci8>()[k].re),
                 static_cast<float>(bytes.as<core::ci8>()[k].im)};
  const correlate::Samples<std::complex<float>> float_samples(floats.data(), extents);

  std::vector<Entry> entries;
  std::vector<std::shared_ptr<IntegerEngine>> engines;
  for (const InstructionSet set : sets_to_run(options)) {
    auto engine = engines.emplace_back(integer_engine(config, set, options));
    entries.push_back({"ci8 " + engine->plan->backend(),
                       operations,
                       [engine, integers] { engine->run(integers); },
                       1,
                       {}});
  }
  auto float_config = config;
  float_config.format = core::kCf32;
  for (const InstructionSet set : sets_to_run(options)) {
    if (!options.floats || set > InstructionSet::avx512) continue;
    const auto device = open(set, options);
    auto engine = std::make_shared<FloatEngine>(
        float_config, correlate::make_plan(float_config, device), *device);
    entries.push_back({"cf32 " + engine->plan->backend(),
                       operations,
                       [engine, float_samples] { engine->run(float_samples); },
                       1,
                       {}});
  }
  const Blas blas(options.threads);
  std::vector<std::complex<float>> products(config.inputs * config.inputs);
  if (options.blas && blas.available())
    entries.push_back({"cherk (cf32, OpenBLAS)",
                       operations,
                       [&] {
                         for (std::size_t c = 0; c < config.channels; ++c)
                           blas.cherk(static_cast<int>(config.inputs), static_cast<int>(samples),
                                      floats.data() + c * config.inputs * samples, products.data());
                       },
                       1,
                       {}});
  fmt::print(stderr,
             "{} inputs x {} channels x {} samples, {:.0f} MB of ci8, {} threads, {} rounds\n",
             config.inputs, config.channels, samples, static_cast<double>(bytes.bytes()) * 1e-6,
             options.threads, options.rounds);
  if (blas.available()) fmt::print(stderr, "{}\n", blas.name());
  measure(entries, options.rounds);
  for (const auto& engine : engines)
    if (engine->visibilities != engines.front()->visibilities)
      throw std::runtime_error(engine->plan->backend() + " gave other sums than " +
                               engines.front()->plan->backend());
  print_table(entries, options);
}

void run_scaling(const Options& options) {
  constexpr std::size_t kSamples = 4096;
  const std::vector<std::size_t> sizes{4, 8, 16, 32, 64, 128, 256, 384, 512, 768, 1024};
  for (const InstructionSet set : sets_to_run(options)) {
    std::vector<Entry> entries;
    std::vector<double> baselines;
    const device::Buffer bytes(std::max(
        options.scaling_bytes, options.threads * sizes.back() * kSamples * sizeof(core::ci8)));
    fill_random(bytes.as<core::ci8>(), bytes.bytes() / sizeof(core::ci8));
    for (const std::size_t inputs : sizes) {
      const std::size_t channel_bytes = inputs * kSamples * sizeof(core::ci8);
      const std::size_t rounds =
          std::max<std::size_t>(1, options.scaling_bytes / channel_bytes / options.threads);
      const correlate::Config config{
          .channels = rounds * options.threads, .inputs = inputs, .max_samples = kSamples};
      auto engine = integer_engine(config, set, options);
      const correlate::Samples<core::ci8> samples(bytes.as<core::ci8>(),
                                                  {config.channels, inputs, kSamples});
      Entry entry{std::to_string(inputs),
                  useful_operations(config, kSamples),
                  [engine, samples] { engine->run(samples); },
                  1,
                  {}};
      const double once = seconds(entry.work);
      entry.repeats = std::clamp<std::size_t>(static_cast<std::size_t>(0.02 / once), 1, 200);
      entries.push_back(std::move(entry));
      baselines.push_back(static_cast<double>(core::baseline_count(inputs) * config.channels));
    }
    measure(entries, options.rounds);
    const double largest = entries.back().median() / baselines.back();
    if (options.csv)
      fmt::print("set,inputs,us_per_channel,spread,tops,relative_cost_per_baseline\n");
    else
      fmt::print("{}, {} threads, {} samples\n{:>7} {:>15} {:>8} {:>13} {:>20}\n",
                 device::to_string(set), options.threads, kSamples, "inputs", "us per channel",
                 "spread", "useful TOPS", "cost per baseline");
    for (std::size_t k = 0; k < entries.size(); ++k) {
      const auto& entry = entries[k];
      const double per_channel =
          entry.median() * 1e6 * static_cast<double>(core::baseline_count(sizes[k])) / baselines[k];
      const double relative = entry.median() / baselines[k] / largest;
      if (options.csv)
        fmt::print("{},{},{:.3f},{:.4f},{:.4f},{:.4f}\n", device::to_string(set), entry.name,
                   per_channel, entry.spread(), entry.tops(), relative);
      else
        fmt::print("{:>7} {:>15.2f} {:>7.1f}% {:>13.3f} {:>20.3f}\n", entry.name, per_channel,
                   entry.spread() * 100, entry.tops(), relative);
    }
  }
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
    auto& config = options.problem.config;
    if (name == "--threads")
      options.threads = number();
    else if (name == "--rounds")
      options.rounds = number();
    else if (name == "--inputs")
      config.inputs = number();
    else if (name == "--channels")
      config.channels = number();
    else if (name == "--samples")
      options.problem.samples = config.max_samples = number();
    else if (name == "--sets")
      options.sets = text();
    else if (name == "--chunk")
      options.tunables.chunk_samples = number();
    else if (name == "--cache")
      options.tunables.cache_bytes = number();
    else if (name == "--group")
      options.tunables.group_panels = number();
    else if (name == "--data")
      options.scaling_bytes = number();
    else if (name == "--no-blas")
      options.blas = false;
    else if (name == "--no-float")
      options.floats = false;
    else if (name == "--csv")
      options.csv = true;
    else if (name == "--scaling")
      options.scaling = true;
    else
      throw std::runtime_error("unknown option " + name + "; the file's head lists them");
  }
  return options;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const Options options = parse(count, arguments);
    options.scaling ? run_scaling(options) : run_table(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_correlate: {}\n", error.what());
    return 1;
  }
}
