// Checks of the arguments of execute(), and the choice of backend. bank.cpp validates configs.
#include "tautline/stages/channelize/channelize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/validity.h"
#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/cpu/dispatch.h"
#include "tautline/stages/channelize/cpu/plan.h"
#include "tautline/stages/channelize/gpu/plan.h"
#include "tautline/stages/channelize/gpu/tuning.h"
#include "tautline/stages/channelize/tunables.h"

namespace tautline::stages::channelize {

namespace {

[[noreturn]] void refuse_argument(const char* field, const std::string& value,
                                  const std::string& limit) {
  throw core::Error(core::ErrorKind::config, field, value, limit);
}

// Extents must equal `wanted`; the last axis may be longer, and must be dense.
template <class View>
void check_view(const char* field, const View& view, const typename View::Extents& wanted) {
  constexpr std::size_t Rank = std::tuple_size_v<typename View::Extents>;
  bool fits = view.data() != nullptr && view.extent(Rank - 1) >= wanted[Rank - 1];
  for (std::size_t a = 0; a + 1 < Rank; ++a) fits = fits && view.extent(a) == wanted[a];
  if (!fits)
    refuse_argument(field, fmt::format("a view of [{}]", fmt::join(view.extents(), "][")),
                    fmt::format("[{}], the last axis that or longer", fmt::join(wanted, "][")));
  if (view.stride(Rank - 1) != 1)
    refuse_argument(field, fmt::format("a stride of {} on the last axis", view.stride(Rank - 1)),
                    "1");
}

void check_input(const Bank& bank, const Input& input) {
  const Config& config = bank.config;
  if (input.count > config.max_samples)
    refuse_argument("count", fmt::format("{}", input.count),
                    fmt::format("at most max_samples, {}", config.max_samples));
  if (!input.phases.empty() && input.phases.size() != config.inputs)
    refuse_argument("phases", fmt::format("{}", input.phases.size()),
                    fmt::format("0 or {}", config.inputs));
  if (input.count == 0) return;
  if (input.samples == nullptr) refuse_argument("samples", "null", "samples of every input");
  if (config.inputs > 1 && input.row_stride_bytes < input.count * bank.sample_bytes)
    refuse_argument("row_stride_bytes", fmt::format("{}", input.row_stride_bytes),
                    fmt::format("at least {}", input.count * bank.sample_bytes));
  if (input.validity.data() != nullptr)
    check_view("validity", input.validity, {config.inputs, core::validity_words(input.count)});
}

void check_output(const Bank& bank, const OutputViews& output, std::size_t spectra) {
  const std::size_t inputs = bank.config.inputs, channels = bank.channels;
  const auto& samples = output.samples;
  if (bank.config.output != Output::spectra_float)
    check_view("output", samples, {channels, inputs, spectra});
  // Channels are the last axis here and must match; spectra may be more.
  else if (samples.data() == nullptr || samples.extent(0) != inputs ||
           samples.extent(1) < spectra || samples.extent(2) != channels || samples.stride(2) != 1)
    refuse_argument(
        "output", fmt::format("a view of [{}]", fmt::join(samples.extents(), "][")),
        fmt::format("[{}][{} or more][{}], the last axis dense", inputs, spectra, channels));
  const core::SampleType type = bank.config.output_type();
  if (samples.type() != type) samples.refuse("output", std::string(to_string(type)));
  if (output.valid.data() != nullptr)
    check_view("valid", output.valid, {inputs, core::validity_words(spectra)});
  if (!bank.requantised()) return;
  const auto& gains = output.gains;
  if (gains.data() == nullptr || gains.extent(0) != channels || gains.extent(1) != inputs)
    refuse_argument("gains", fmt::format("a view of [{}]", fmt::join(gains.extents(), "][")),
                    fmt::format("[{}][{}]", channels, inputs));
  const auto& clipped = output.clipped;
  if (clipped.data() == nullptr || clipped.extent(0) != inputs)
    refuse_argument("clipped", fmt::format("a view of [{}]", clipped.extent(0)),
                    fmt::format("[{}]", inputs));
}

}  // namespace

const Config& Plan::config() const {
  return bank_->config;
}

std::size_t Plan::spectra(std::size_t held, std::size_t count) const {
  return bank_->spectra(held + count);
}

std::size_t Plan::execute(device::Queue& queue, State& state, const Input& input,
                          const OutputViews& output) const {
  check_input(*bank_, input);
  const std::size_t total = spectra(state.held_samples(), input.count);
  if (total > 0) check_output(*bank_, output, total);
  run(queue, state, input, output, total);
  return total;
}

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device) {
  if (device->compiles())
    return gpu::make_tuned_plan(std::make_shared<const Bank>(config), std::move(device));
  return make_plan(config, std::move(device), Tunables{});
}

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device,
                                      const Tunables& tunables) {
  auto bank = std::make_shared<const Bank>(config);
  if (device->compiles()) return gpu::make_gpu_plan(std::move(bank), std::move(device), tunables);
  auto kernel = device->api() == device::Api::reference ? make_reference_kernel(bank)
                                                        : make_cpu_kernel(bank, *device, tunables);
  return make_tiled_plan(std::move(bank), std::move(kernel), tunables,
                         device->make_queue()->workers());
}

core::SampleType Config::output_type() const {
  if (output == Output::corner_turned_ci8) return core::SampleType::ci8;
  return output == Output::corner_turned_ci4 ? core::SampleType::ci4 : core::SampleType::cf32;
}

core::MutableSampleView<3> Config::output_view(void* data, std::size_t spectra) const {
  if (output == Output::spectra_float) return {data, output_type(), {inputs, spectra, channels}};
  return {data, output_type(), {channels, inputs, spectra}};
}

std::size_t channelize(const Config& config, const Input& input, const OutputViews& output,
                       const device::Selection& selection) {
  Config sized = config;
  sized.max_samples = std::max<std::size_t>(1, input.count);
  const auto device = device::open(selection);
  const auto plan = make_plan(sized, device);
  const auto queue = device->make_queue();
  const auto state = plan->make_state(*queue);
  const std::size_t spectra = plan->execute(*queue, *state, input, output);
  queue->synchronise();
  return spectra;
}

}  // namespace tautline::stages::channelize
