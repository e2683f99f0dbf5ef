#include "tautline/stages/correlate/cpu/plan.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/correlate/backends.h"
#include "tautline/stages/correlate/cpu/counts.h"
#include "tautline/stages/correlate/cpu/dispatch.h"
#include "tautline/stages/correlate/cpu/layout.h"
#include "tautline/stages/correlate/cpu/sums.h"

namespace tautline::stages::correlate::cpu {

namespace {

class CpuState final : public State {
 public:
  CpuState(const Config& config, const Layout& layout, std::size_t workers)
      : State(state_plan(config)), sums(layout, workers), counts(config.inputs, workers) {}
  static std::size_t bytes(const Layout& layout, std::size_t inputs, std::size_t workers) {
    return layout.bytes(workers) + CountEngine::bytes(inputs, workers);
  }

  SumMemory sums;
  CountEngine counts;
};

template <class Row, class Sum, class Visibility>
class CpuPlan final : public Plan {
 public:
  CpuPlan(const Config& config, std::shared_ptr<const device::Device> device,
          const Kernel<Row, Sum>& kernel, const Tunables& tunables)
      : Plan(config),
        device_(std::move(device)),
        kernel_(kernel),
        loops_(choose_row_loops(*device_)),
        workers_(device_->make_queue()->workers()),
        layout_(make_layout(config, sizes(), tunables, workers_)),
        order_(layout_.panels, layout_.group_panels) {}

  std::string backend() const override { return kernel_.backend; }
  device::MemoryUse bytes() const override {
    return {CpuState::bytes(layout_, config().inputs, workers_), 0};
  }
  std::unique_ptr<State> make_state(const device::Queue& queue) const override {
    check_queue(queue);
    return std::make_unique<CpuState>(config(), layout_, workers_);
  }

 private:
  KernelSizes sizes() const {
    return {kernel_.step_samples, kernel_.step_bytes,     kernel_.max_chunk_samples,
            kernel_.group_panels, kernel_.step_row_bytes, sizeof(Row),
            sizeof(Sum)};
  }

  // The state's memory is laid out for the workers of the plan's device.
  void check_queue(const device::Queue& queue) const {
    if (queue.workers() <= workers_) return;
    throw core::Error(core::ErrorKind::config, "correlate queue workers",
                      std::to_string(queue.workers()), std::to_string(workers_) + " or fewer",
                      "make the queue from the device that the plan was made for");
  }

  void add(device::Queue& queue, State& state, const core::SampleView<3>& samples,
           const Validity& validity, const core::MutableSampleView<2>& visibilities,
           const Counts& counts) const override {
    check_queue(queue);
    auto& own = dynamic_cast<CpuState&>(state);
    if (own.take_begin()) clear_on_host(queue, visibilities, counts);
    own.counts.add(queue, loops_, validity, samples.extent(2), counts);
    const auto sums = visibilities.as<Visibility>();
    const auto add_sums = [&]<class Sample>(const Samples<Sample>& typed) {
      SumEngine<Row, Sum, Sample, Visibility>(kernel_, loops_, layout_, order_, own.sums, typed,
                                              validity, sums)
          .add(queue);
    };
    if constexpr (std::is_same_v<Row, core::ci8>)
      core::with_type<core::ci8, core::ci4>(samples, "samples", add_sums);
    else
      core::with_type<core::ci16, core::cf16, std::complex<float>>(samples, "samples", add_sums);
  }

  std::shared_ptr<const device::Device> device_;
  Kernel<Row, Sum> kernel_;
  const RowLoops& loops_;
  std::size_t workers_;
  Layout layout_;
  BlockOrder order_;
};

}  // namespace

std::shared_ptr<const Plan> make_integer_plan(const Config& config,
                                              std::shared_ptr<const device::Device> device,
                                              const IntegerKernel& kernel,
                                              const Tunables& tunables) {
  return std::make_shared<CpuPlan<core::ci8, std::int32_t, core::ci64>>(config, std::move(device),
                                                                        kernel, tunables);
}

std::shared_ptr<const Plan> make_float_plan(const Config& config,
                                            std::shared_ptr<const device::Device> device,
                                            const FloatKernel& kernel, const Tunables& tunables) {
  return std::make_shared<CpuPlan<std::complex<float>, double, std::complex<double>>>(
      config, std::move(device), kernel, tunables);
}

}  // namespace tautline::stages::correlate::cpu
