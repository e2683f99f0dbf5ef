#include "tautline/stages/dedisperse/tune.h"

#include <array>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/jit/check_output.h"
#include "tautline/stages/dedisperse/backends.h"
#include "tautline/stages/dedisperse/case.h"
#include "tautline/stages/dedisperse/gpu/tuning.h"

namespace tautline::stages::dedisperse {

namespace {

// What the candidates of one problem share. Every call is given the same samples, so that once the
// overlap is there every call gives the same sums.
struct Data {
  std::shared_ptr<const DelayPlan> problem;
  std::shared_ptr<const device::Device> device;
  Method runs = Method::exact;
  std::unique_ptr<device::Queue> queue;
  std::unique_ptr<device::Event> start, stop;
  device::Buffer samples, results;
  std::vector<std::uint32_t> expected, found;  // int32 or float
  std::unique_ptr<State> state;                // of the candidate that ran last
  const Plan* state_of = nullptr;

  const Config& config() const { return problem->config(); }
  std::size_t elements() const {
    return config().beams * problem->trials() * problem->max_new_samples();
  }
  OutputViews views(void* data) const {
    const std::array<std::size_t, 3> extents{config().beams, problem->trials(),
                                             problem->max_new_samples()};
    return {{static_cast<std::int32_t*>(data), extents}, {static_cast<float*>(data), extents}};
  }
  Input input(const void* data) const {
    Input in;
    in.data = data;
    in.count = config().max_samples;
    return in;
  }
  void fill_overlap(const Plan& plan, device::Queue& on, State& of, const void* in,
                    void* out) const {
    while (of.held_samples() < plan.max_delay()) plan.execute(on, of, input(in), views(out));
  }
  State& state_for(const Plan& plan) {
    if (state_of == &plan) return *state;
    queue->synchronise();
    state.reset();
    state = plan.make_state(*queue);
    state_of = &plan;
    fill_overlap(plan, *queue, *state, samples.data(), results.data());
    return *state;
  }

  void prepare() {
    queue = device->make_queue();
    start = device->make_event();
    stop = device->make_event();
    std::mt19937_64 random(1);
    const auto spectra = make_spectra(config(), config().max_samples, random);
    expected.resize(elements());
    found.resize(elements());
    Config any = config();
    any.method = Method::shared;  // exact, and the fastest way to it
    const auto host = device::open({});
    const auto plan = dedisperse::make_plan(any, host);
    const auto host_queue = host->make_queue();
    const auto host_state = plan->make_state(*host_queue);
    fill_overlap(*plan, *host_queue, *host_state, spectra.data(), expected.data());
    plan->execute(*host_queue, *host_state, input(spectra.data()), views(expected.data()));
    samples = device->allocate(spectra.size());
    results = device->allocate(4 * elements());
    queue->copy(samples.data(), spectra.data(), spectra.size());
    queue->synchronise();
  }

  std::string difference() const {
    if (!problem->float_sums())
      return jit::describe_difference<std::int32_t>(
          std::span(reinterpret_cast<const std::int32_t*>(found.data()), found.size()),
          std::span(reinterpret_cast<const std::int32_t*>(expected.data()), expected.size()), 0);
    return jit::describe_difference<float>(
        std::span(reinterpret_cast<const float*>(found.data()), found.size()),
        std::span(reinterpret_cast<const float*>(expected.data()), expected.size()),
        2 * Case::kFloatTolerance * static_cast<double>(problem->positions()));
  }
};

class Trial final : public jit::Candidate {
 public:
  Trial(std::shared_ptr<Data> data, const GpuTunables& tunables) : data_(std::move(data)) {
    Tunables all;
    all.gpu = tunables;
    plan_ = make_gpu_plan(problem_of_candidate(data_->problem, data_->runs, tunables),
                          data_->device, all);
  }
  ~Trial() override {
    if (data_->state_of != plan_.get()) return;
    data_->queue->synchronise();
    data_->state.reset();
    data_->state_of = nullptr;
  }

  std::string check() override {
    Data& d = *data_;
    State& state = d.state_for(*plan_);
    d.queue->fill(d.results.data(), jit::kPoison, d.results.bytes());
    plan_->execute(*d.queue, state, d.input(d.samples.data()), d.views(d.results.data()));
    d.queue->copy(d.found.data(), d.results.data(), d.results.bytes());
    d.queue->synchronise();
    return d.difference();
  }

  double run(std::size_t times) override {
    Data& d = *data_;
    State& state = d.state_for(*plan_);
    d.queue->record(*d.start);
    for (std::size_t t = 0; t < times; ++t)
      plan_->execute(*d.queue, state, d.input(d.samples.data()), d.views(d.results.data()));
    d.queue->record(*d.stop);
    return d.device->seconds_between(*d.start, *d.stop);
  }

 private:
  std::shared_ptr<Data> data_;
  std::shared_ptr<const Plan> plan_;
};

}  // namespace

jit::Tunable make_tunable(const Config& config, std::shared_ptr<const device::Device> device) {
  if (device == nullptr || !device->compiles())
    throw core::Error(core::ErrorKind::unsupported, "tuning of dedisperse",
                      device == nullptr ? "no device" : device->name(), "cuda:N or opencl:N");
  // Sub-bands change the sums, which could not be compared: what is tuned are exact and shared
  // ones, whichever of them a plan without a loss comes to.
  Config exact = config;
  exact.max_loss = 0;
  if (exact.method == Method::subband) exact.method = Method::automatic;
  auto data = std::make_shared<Data>();
  data->problem = std::make_shared<const DelayPlan>(exact);
  data->device = device;
  data->runs = method_that_runs(*data->problem, *device);
  const double adds =
      static_cast<double>(exact.beams) * static_cast<double>(data->problem->trials()) *
      static_cast<double>(data->problem->positions()) * static_cast<double>(exact.max_samples);
  return {tuning_key(*data->problem, *device, data->runs),
          tuning_space(*device, exact.method),
          adds,
          "adds/s",
          [data] { data->prepare(); },
          [data](const jit::Configuration& c) {
            return std::make_unique<Trial>(data, tunables_of(c));
          }};
}

}  // namespace tautline::stages::dedisperse
