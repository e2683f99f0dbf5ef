#include "tautline/stages/autocorrelate/tune.h"

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/jit/check_output.h"
#include "tautline/stages/autocorrelate/backend.h"
#include "tautline/stages/autocorrelate/gpu/plan.h"
#include "tautline/stages/autocorrelate/gpu/tuning.h"
#include "tautline/stages/autocorrelate/lag_scheme.h"

namespace tautline::stages::autocorrelate {

namespace {

std::vector<std::byte> random_counts(const Config& config) {
  std::mt19937 random(1);
  const std::size_t size = core::bytes_of(config.type);
  std::vector<std::byte> bytes(config.max_samples * config.sensors * size);
  if (config.type == SampleType::f32) {
    auto* counts = reinterpret_cast<float*>(bytes.data());
    for (std::size_t i = 0; i < bytes.size() / size; ++i)
      counts[i] = static_cast<float>(random() % 1000);
    return bytes;
  }
  // Only the lower 16 bits of 32-bit counts are set, so that no sum can reach 2^63.
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = i % size < 2 ? static_cast<std::byte>(random()) : std::byte{0};
  return bytes;
}

// Data shared by all candidates of one problem.
struct Data {
  Config config;
  std::shared_ptr<const device::Device> device;
  std::unique_ptr<device::Queue> queue;
  std::unique_ptr<device::Event> start, stop;
  device::Buffer samples;
  std::vector<std::uint64_t> expected, found;  ///< int64 or double, [pair][lag]
  std::unique_ptr<State> state;                ///< of the last candidate
  const Plan* state_of = nullptr;

  // Executes one call and reads its sums.
  void sum(const Plan& plan, device::Queue& on, State& of, const void* in,
           std::vector<std::uint64_t>& out) const {
    feed(plan, on, of, in);
    Sums all;
    all.sums = {out.data(), config.sums_type(), {config.pair_count(), lag_count(config)}};
    plan.read(on, of, all);
    on.synchronise();
  }
  void feed(const Plan& plan, device::Queue& on, State& of, const void* in) const {
    plan.execute(on, of, {in, config.type, {config.max_samples, config.sensors}});
  }
  State& state_for(const Plan& plan) {
    if (state_of == &plan) return *state;
    queue->synchronise();
    state.reset();
    state = plan.make_state(*queue);
    state_of = &plan;
    return *state;
  }

  void prepare() {
    queue = device->make_queue();
    start = device->make_event();
    stop = device->make_event();
    const auto bytes = random_counts(config);
    expected.resize(config.pair_count() * lag_count(config));
    found.resize(expected.size());
    const auto host = device::open({});
    const auto plan = autocorrelate::make_plan(config, host);
    const auto host_queue = host->make_queue();
    sum(*plan, *host_queue, *plan->make_state(*host_queue), bytes.data(), expected);
    samples = device->allocate(bytes.size());
    queue->copy(samples.data(), bytes.data(), bytes.size());
    queue->synchronise();
  }

  std::string difference() const {
    if (config.type == SampleType::f32)
      return jit::describe_difference<double>(
          std::span(reinterpret_cast<const double*>(found.data()), found.size()),
          std::span(reinterpret_cast<const double*>(expected.data()), expected.size()), 0);
    return jit::describe_difference<std::int64_t>(
        std::span(reinterpret_cast<const std::int64_t*>(found.data()), found.size()),
        std::span(reinterpret_cast<const std::int64_t*>(expected.data()), expected.size()), 0);
  }
};

class PlanCandidate final : public jit::Candidate {
 public:
  PlanCandidate(std::shared_ptr<Data> data, const GpuTunables& tunables)
      : data_(std::move(data)), plan_(gpu::make_plan(data_->config, data_->device, tunables)) {}
  ~PlanCandidate() override {
    if (data_->state_of != plan_.get()) return;
    data_->queue->synchronise();
    data_->state.reset();
    data_->state_of = nullptr;
  }

  std::string check() override {
    Data& d = *data_;
    State& state = d.state_for(*plan_);
    state.reset();
    std::fill(d.found.begin(), d.found.end(), 0x5a5a5a5a5a5a5a5a);
    d.sum(*plan_, *d.queue, state, d.samples.data(), d.found);
    return d.difference();
  }

  double run(std::size_t times) override {
    Data& d = *data_;
    State& state = d.state_for(*plan_);
    if (largest_count(d.config.type) > 0xff) state.reset();  // sums stay far from 2^63
    d.queue->record(*d.start);
    for (std::size_t t = 0; t < times; ++t) d.feed(*plan_, *d.queue, state, d.samples.data());
    d.queue->record(*d.stop);
    return d.device->seconds_between(*d.start, *d.stop);
  }

 private:
  std::shared_ptr<Data> data_;
  std::shared_ptr<const Plan> plan_;
};

}  // namespace

jit::Tunable make_tunable(const Config& config, std::shared_ptr<const device::Device> device) {
  check_config(config);
  if (device == nullptr || !device->compiles())
    throw core::Error(core::ErrorKind::unsupported, "tuning of autocorrelate",
                      device == nullptr ? "no device" : device->name(), "cuda:N or opencl:N");
  auto data = std::make_shared<Data>();
  data->config = config;
  data->device = device;
  return {gpu::tuning_key(config, *device),
          gpu::tuning_space(config, *device),
          static_cast<double>(config.pair_count()) * static_cast<double>(config.max_samples),
          "samples/s",
          [data] { data->prepare(); },
          [data](const jit::Configuration& c) {
            return std::make_unique<PlanCandidate>(data, gpu::tunables_of(c));
          }};
}

}  // namespace tautline::stages::autocorrelate
