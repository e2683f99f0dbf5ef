#include "tautline/stages/channelize/tune.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/jit/check_output.h"
#include "tautline/stages/channelize/case.h"
#include "tautline/stages/channelize/gpu/plan.h"
#include "tautline/stages/channelize/gpu/tuning.h"

namespace tautline::stages::channelize {

namespace {

// Integers of all codes; for floats, uniform noise of about unit power.
std::vector<std::byte> random_samples(const core::SampleFormat& format, std::size_t bytes) {
  std::vector<std::byte> samples(bytes);
  std::mt19937 random(1);
  for (std::size_t n = 0; n + 4 <= bytes; n += 4) {
    const auto word = static_cast<std::uint32_t>(random());
    const float number = static_cast<float>(word >> 8) * 0x1p-22f - 2.0f;
    std::memcpy(samples.data() + n, format.is_float() ? static_cast<const void*>(&number) : &word,
                4);
  }
  return samples;
}

// Gains that give components an rms of 20 steps of 127, or 3 of 7.
float gain_of(const Config& config) {
  const double target = config.output == Output::corner_turned_ci4 ? 3 : 20;
  double rms = 1.15;
  if (!config.input.is_float()) rms = (config.input.bits == 8 ? 256 : 65536) / std::sqrt(12.0);
  return static_cast<float>(target / (config.input.complex ? rms : rms / std::sqrt(2.0)));
}

std::size_t result_bytes(Output output) {
  if (output == Output::corner_turned_ci8) return 2;
  return output == Output::corner_turned_ci4 ? 1 : 8;
}

// What all candidates of one tuning run share.
struct Data {
  std::shared_ptr<const Bank> bank;
  std::shared_ptr<const device::Device> device;
  std::size_t spectra = 0, row_bytes = 0;
  std::unique_ptr<device::Queue> queue;
  std::unique_ptr<device::Event> start, stop;
  device::Buffer samples, results, gains, clipped;
  std::vector<std::byte> expected, found;
  /// The state of the candidate that ran last. States of several candidates would fill a small
  /// card.
  std::unique_ptr<State> state;
  const Plan* state_of = nullptr;

  const Config& config() const { return bank->config; }
  std::size_t values() const { return config().inputs * config().channels * spectra; }

  State& state_for(const Plan& plan) {
    if (state_of != &plan) {
      queue->synchronise();
      state.reset();
      state = plan.make_state(*queue);
      state_of = &plan;
    }
    state->reset();
    return *state;
  }

  Input input(const void* data) const {
    Input in;
    in.samples = data;
    in.row_stride_bytes = row_bytes;
    in.count = config().max_samples;
    return in;
  }
  OutputViews views(void* data, float* gain_data, std::uint64_t* counts) const {
    const std::array<std::size_t, 3> extents{config().channels, config().inputs, spectra};
    OutputViews out;
    out.spectra = {static_cast<std::complex<float>*>(data),
                   {config().inputs, spectra, config().channels}};
    out.corner_turned_float = {static_cast<std::complex<float>*>(data), extents};
    out.corner_turned_ci8 = {static_cast<core::ci8*>(data), extents};
    out.corner_turned_ci4 = {static_cast<core::ci4*>(data), extents};
    out.gains = {gain_data, {config().channels, config().inputs}};
    out.clipped = {counts, {config().inputs}};
    return out;
  }

  void prepare() {
    constexpr std::size_t kAlignment = 256;
    queue = device->make_queue();
    start = device->make_event();
    stop = device->make_event();
    row_bytes =
        (config().max_samples * bank->sample_bytes + kAlignment - 1) / kAlignment * kAlignment;
    const auto values_in = random_samples(config().input, config().inputs * row_bytes);
    std::vector<float> gain_values(config().inputs * config().channels, gain_of(config()));
    expected.resize(values() * result_bytes(config().output));
    found.resize(expected.size());
    make_expected(values_in.data(), gain_values.data());
    samples = device->allocate(values_in.size());
    results = device->allocate(expected.size());
    gains = device->allocate(gain_values.size() * sizeof(float));
    clipped = device->allocate(config().inputs * sizeof(std::uint64_t));
    queue->copy(samples.data(), values_in.data(), values_in.size());
    queue->copy(gains.data(), gain_values.data(), gains.bytes());
    queue->fill(clipped.data(), 0, clipped.bytes());
    queue->synchronise();
  }

  void make_expected(const void* data, float* gain_data) {
    const auto host = device::open({});
    const auto plan = channelize::make_plan(config(), host);
    const auto host_queue = host->make_queue();
    const auto host_state = plan->make_state(*host_queue);
    std::vector<std::uint64_t> counts(config().inputs);
    plan->execute(*host_queue, *host_state, input(data),
                  views(expected.data(), gain_data, counts.data()));
  }

  std::string difference() const {
    if (config().output == Output::spectra_float ||
        config().output == Output::corner_turned_float) {
      const std::span<const float> is(reinterpret_cast<const float*>(found.data()), 2 * values());
      const std::span<const float> should(reinterpret_cast<const float*>(expected.data()),
                                          2 * values());
      double power = 0;
      for (const float x : should) power += double{x} * x;
      const double rms = std::sqrt(2 * power / static_cast<double>(should.size()));
      return jit::describe_difference<float>(is, should, Case::kFloatTolerance * rms);
    }
    return step_difference();
  }

  // Rounded components: some may be one step apart.
  std::string step_difference() const {
    std::size_t steps = 0, worse = 0;
    const auto compare = [&](int a, int b) {
      steps += a != b;
      worse += std::abs(a - b) > 1;
    };
    for (std::size_t n = 0; n < values(); ++n) {
      if (config().output == Output::corner_turned_ci8) {
        const auto a = reinterpret_cast<const core::ci8*>(found.data())[n];
        const auto b = reinterpret_cast<const core::ci8*>(expected.data())[n];
        compare(a.re, b.re), compare(a.im, b.im);
      } else {
        const auto a = reinterpret_cast<const core::ci4*>(found.data())[n];
        const auto b = reinterpret_cast<const core::ci4*>(expected.data())[n];
        compare(a.re(), b.re()), compare(a.im(), b.im());
      }
    }
    const double allowed = 1 + Case::kStepFraction * 2 * static_cast<double>(values());
    if (worse == 0 && static_cast<double>(steps) <= allowed) return {};
    return std::to_string(worse) + " of " + std::to_string(2 * values()) +
           " components are more than a step away, " + std::to_string(steps) + " one step or more";
  }
};

class Trial final : public jit::Candidate {
 public:
  Trial(std::shared_ptr<Data> data, const GpuTunables& tunables) : data_(std::move(data)) {
    Tunables all;
    all.gpu = tunables;
    plan_ = gpu::make_gpu_plan(data_->bank, data_->device, all);
  }
  ~Trial() override {
    if (data_->state_of != plan_.get()) return;
    data_->queue->synchronise();
    data_->state.reset();
    data_->state_of = nullptr;
  }

  std::string check() override {
    Data& d = *data_;
    d.queue->fill(d.results.data(), jit::kPoison, d.results.bytes());
    execute();
    d.queue->copy(d.found.data(), d.results.data(), d.results.bytes());
    d.queue->synchronise();
    return d.difference();
  }

  double run(std::size_t times) override {
    Data& d = *data_;
    d.queue->record(*d.start);
    for (std::size_t t = 0; t < times; ++t) execute();
    d.queue->record(*d.stop);
    return d.device->seconds_between(*d.start, *d.stop);
  }

 private:
  void execute() {
    Data& d = *data_;
    plan_->execute(*d.queue, d.state_for(*plan_), d.input(d.samples.data()),
                   d.views(d.results.data(), d.gains.as<float>(), d.clipped.as<std::uint64_t>()));
  }

  std::shared_ptr<Data> data_;
  std::shared_ptr<const Plan> plan_;
};

}  // namespace

jit::Tunable make_tunable(const Config& config, std::shared_ptr<const device::Device> device) {
  if (device == nullptr || !device->compiles())
    throw core::Error(core::ErrorKind::unsupported, "tuning of channelize",
                      device == nullptr ? "no device" : device->name(), "cuda:N or opencl:N");
  auto data = std::make_shared<Data>();
  data->bank = std::make_shared<const Bank>(config);
  data->device = device;
  data->spectra = data->bank->spectra(config.max_samples);
  if (data->spectra == 0)
    throw core::Error(core::ErrorKind::config, "samples to tune channelize with",
                      std::to_string(config.max_samples),
                      std::to_string(data->bank->span()) + " or more, for one spectrum");
  return {gpu::tuning_key(*data->bank, *device),
          gpu::tuning_space(*data->bank, *device),
          static_cast<double>(config.inputs * data->spectra * data->bank->hop),
          "samples/s",
          [data] { data->prepare(); },
          [data](const jit::Configuration& c) {
            return std::make_unique<Trial>(data, gpu::tunables_of(c));
          }};
}

}  // namespace tautline::stages::channelize
