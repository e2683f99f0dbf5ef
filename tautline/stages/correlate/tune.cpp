#include "tautline/stages/correlate/tune.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/jit/check_output.h"
#include "tautline/stages/correlate/case.h"
#include "tautline/stages/correlate/checks.h"
#include "tautline/stages/correlate/gpu/plan.h"
#include "tautline/stages/correlate/gpu/tuning.h"

namespace tautline::stages::correlate {

namespace {

template <class Sample>
struct SumOf {
  using Visibility = core::ci64;
  using Part = std::int64_t;
};
template <>
struct SumOf<core::ci16> {
  using Visibility = std::complex<double>;
  using Part = double;
};
template <>
struct SumOf<core::cf16> : SumOf<core::ci16> {};
template <>
struct SumOf<std::complex<float>> : SumOf<core::ci16> {};

// Every bit pattern of integers; for floats and halves, noise of unit power.
template <class Sample>
void fill_random(std::span<Sample> samples) {
  std::mt19937_64 random(1);
  if constexpr (std::is_same_v<Sample, std::complex<float>>) {
    std::normal_distribution<float> noise(0, std::sqrt(0.5f));
    for (auto& sample : samples) sample = {noise(random), noise(random)};
  } else if constexpr (std::is_same_v<Sample, core::cf16>) {
    std::normal_distribution<float> noise(0, std::sqrt(0.5f));
    for (auto& sample : samples)
      sample = {core::to_half(noise(random)), core::to_half(noise(random))};
  } else {
    auto bytes = std::as_writable_bytes(samples);
    for (std::size_t k = 0; k < bytes.size(); k += sizeof(std::uint64_t)) {
      const std::uint64_t word = random();
      std::memcpy(bytes.data() + k, &word, std::min(sizeof word, bytes.size() - k));
    }
  }
}

template <class Sample>
double mean_power(const std::vector<Sample>& samples) {
  double power = 0;
  for (const Sample& s : samples) {
    if constexpr (std::is_same_v<Sample, std::complex<float>>)
      power += std::norm(s);
    else if constexpr (std::is_same_v<Sample, core::cf16>)
      power += std::norm(std::complex<double>(core::to_float(s.re), core::to_float(s.im)));
    else
      power += double(s.re) * s.re + double(s.im) * s.im;
  }
  return power / static_cast<double>(samples.size());
}

// What all candidates of one tuning run share.
template <class Sample>
struct Data {
  using Visibility = typename SumOf<Sample>::Visibility;
  using Part = typename SumOf<Sample>::Part;

  Config config;
  std::shared_ptr<const device::Device> device;
  std::unique_ptr<device::Queue> queue;
  std::unique_ptr<device::Event> start, stop;
  device::Buffer samples, visibilities, counts;
  /// Sums added to kPoison bytes: `execute` adds to the buffer's contents.
  std::vector<Visibility> expected, found;
  double tolerance = 0;
  /// The state of the candidate that ran last. States of several candidates would fill a small
  /// card.
  std::unique_ptr<State> state;
  const Plan* state_of = nullptr;

  State& state_for(const Plan& plan) {
    if (state_of != &plan) {
      queue->synchronise();
      state.reset();
      state = plan.make_state(*queue);
      state_of = &plan;
    }
    return *state;
  }

  std::size_t results() const { return config.channels * core::baseline_count(config.inputs); }
  Samples<Sample> sample_view(const void* data) const {
    return {static_cast<const Sample*>(data), {config.channels, config.inputs, config.max_samples}};
  }
  template <class T>
  core::View<T, 2> result_view(void* data) const {
    return {static_cast<T*>(data), {config.channels, core::baseline_count(config.inputs)}};
  }

  void prepare() {
    queue = device->make_queue();
    start = device->make_event();
    stop = device->make_event();
    std::vector<Sample> values(config.channels * config.inputs * config.max_samples);
    fill_random<Sample>(values);
    make_expected(values);
    samples = device->allocate(values.size() * sizeof(Sample));
    visibilities = device->allocate(results() * sizeof(Visibility));
    counts = device->allocate(results() * sizeof(std::int64_t));
    queue->copy(samples.data(), values.data(), samples.bytes());
    queue->synchronise();
    found.resize(results());
  }

  void make_expected(const std::vector<Sample>& values) {
    const auto host = device::open({});
    const auto plan = correlate::make_plan(config, host);
    const auto host_queue = host->make_queue();
    const auto host_state = plan->make_state(*host_queue);
    expected.resize(results());
    std::memset(static_cast<void*>(expected.data()), jit::kPoison,
                expected.size() * sizeof(Visibility));
    std::vector<std::int64_t> host_counts(results());
    plan->execute(*host_queue, *host_state, sample_view(values.data()), {},
                  result_view<Visibility>(expected.data()),
                  result_view<std::int64_t>(host_counts.data()));
    host_queue->synchronise();
    if constexpr (std::is_same_v<Part, double>) {
      // The sums of both the CPU and the GPU are rounded.
      const double power = mean_power(values);
      tolerance = float_tolerance(static_cast<double>(config.max_samples), power, power) +
                  kTolerance<Sample> * static_cast<double>(config.max_samples) * power;
    }
  }
};

template <class Sample>
class Trial final : public jit::Candidate {
 public:
  Trial(std::shared_ptr<Data<Sample>> data, const GpuTunables& tunables)
      : data_(std::move(data)), plan_(gpu::make_gpu_plan(data_->config, data_->device, tunables)) {}

  ~Trial() override {
    if (data_->state_of != plan_.get()) return;
    data_->state.reset();
    data_->state_of = nullptr;
  }

  std::string check() override {
    auto& d = *data_;
    d.queue->fill(d.visibilities.data(), jit::kPoison, d.visibilities.bytes());
    execute();
    flush();
    d.queue->copy(d.found.data(), d.visibilities.data(), d.visibilities.bytes());
    d.queue->synchronise();
    using Part = typename Data<Sample>::Part;
    return jit::describe_difference<Part>(parts<Part>(d.found), parts<Part>(d.expected),
                                          d.tolerance);
  }

  double run(std::size_t times) override {
    auto& d = *data_;
    d.queue->record(*d.start);
    for (std::size_t t = 0; t < times; ++t) execute();
    flush();
    d.queue->record(*d.stop);
    return d.device->seconds_between(*d.start, *d.stop);
  }

 private:
  template <class Part, class Visibility>
  static std::span<const Part> parts(const std::vector<Visibility>& values) {
    return {reinterpret_cast<const Part*>(values.data()), 2 * values.size()};
  }

  void execute() {
    auto& d = *data_;
    plan_->execute(*d.queue, d.state_for(*plan_), d.sample_view(d.samples.data()), {},
                   d.template result_view<typename Data<Sample>::Visibility>(d.visibilities.data()),
                   d.template result_view<std::int64_t>(d.counts.data()));
  }
  // Called after each run, so that no deferred sums are left to the next candidate.
  void flush() {
    auto& d = *data_;
    plan_->flush(*d.queue, d.state_for(*plan_),
                 d.template result_view<typename Data<Sample>::Visibility>(d.visibilities.data()),
                 d.template result_view<std::int64_t>(d.counts.data()));
  }

  std::shared_ptr<Data<Sample>> data_;
  std::shared_ptr<const Plan> plan_;
};

template <class Sample>
jit::Tunable tunable_of(const Config& config, std::shared_ptr<const device::Device> device) {
  auto data = std::make_shared<Data<Sample>>();
  data->config = config;
  data->device = device;
  return {gpu::tuning_key(config, *device),
          gpu::tuning_space(config, *device),
          useful_operations(config, config.max_samples),
          "useful operations/s",
          [data] { data->prepare(); },
          [data](const jit::Configuration& c) {
            return std::make_unique<Trial<Sample>>(data, gpu::tunables_of(c));
          }};
}

}  // namespace

jit::Tunable make_tunable(const Config& config, std::shared_ptr<const device::Device> device) {
  check_config(config);
  if (device == nullptr || !device->compiles())
    throw core::Error(core::ErrorKind::unsupported, "tuning of correlate",
                      device == nullptr ? "no device" : device->name(), "cuda:N or opencl:N");
  if (config.format == core::kCi4) return tunable_of<core::ci4>(config, std::move(device));
  if (config.format == core::kCi16) return tunable_of<core::ci16>(config, std::move(device));
  if (config.format == core::kCf16) return tunable_of<core::cf16>(config, std::move(device));
  if (config.format == core::kCf32)
    return tunable_of<std::complex<float>>(config, std::move(device));
  return tunable_of<core::ci8>(config, std::move(device));
}

}  // namespace tautline::stages::correlate
