// Validation and choice of backend.
#include "tautline/stages/correlate/correlate.h"

#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/correlate/checks.h"
#include "tautline/stages/correlate/cpu/dispatch.h"
#include "tautline/stages/correlate/cpu/plan.h"
#include "tautline/stages/correlate/gpu/tuning.h"
#include "tautline/stages/correlate/reference.h"

namespace tautline::stages::correlate {

namespace {

// Longest execute: keeps every byte count of a view within 64 bits with room to spare.
constexpr std::size_t kMaxSamples = std::size_t{1} << 40;

[[noreturn]] void throw_config(std::string field, std::string value, std::string limit,
                               std::string advice = {}) {
  throw core::Error(core::ErrorKind::config, std::move(field), std::move(value), std::move(limit),
                    std::move(advice));
}

void check_range(const char* field, std::size_t value, std::size_t most, const char* advice) {
  if (value < 1 || value > most)
    throw_config(field, std::to_string(value), "1 to " + std::to_string(most), advice);
}

template <std::size_t Rank>
std::string to_text(const std::array<std::size_t, Rank>& extents) {
  std::string text;
  for (const std::size_t e : extents) text += (text.empty() ? "" : " x ") + std::to_string(e);
  return text;
}

}  // namespace

void Plan::flush(device::Queue& queue, State& state, const IntegerVisibilities& visibilities,
                 const Counts& counts) const {
  if (state.take_begin()) clear_on_host(queue, visibilities, counts);
}
void Plan::flush(device::Queue& queue, State& state, const FloatVisibilities& visibilities,
                 const Counts& counts) const {
  if (state.take_begin()) clear_on_host(queue, visibilities, counts);
}

void check_config(const Config& config) {
  check_range("correlate channels", config.channels, kMaxSamples, "give at least one channel");
  check_range("correlate inputs", config.inputs, kMaxInputs,
              "an input is one antenna and polarisation; correlate fewer at a time");
  check_range("correlate max_samples", config.max_samples, kMaxSamples,
              "give execute fewer samples at a time; it adds to what is there");
  const core::SampleFormat& format = config.format;
  if (format != core::kCi4 && format != core::kCi8 && format != core::kCi16 &&
      format != core::kCf16 && format != core::kCf32)
    throw_config("correlate format", core::to_string(format), "ci4, ci8, ci16, cf16 or cf32",
                 "convert the samples first");
}

void check_shapes(const Config& config, const Shapes& shapes) {
  const auto& [channels, inputs, samples] = shapes.samples;
  if (channels != config.channels || inputs != config.inputs)
    throw_config(
        "correlate samples [channel][input][time]", to_text(shapes.samples),
        std::to_string(config.channels) + " x " + std::to_string(config.inputs) + " x time");
  if (samples > config.max_samples)
    throw_config("correlate samples [time]", std::to_string(samples),
                 "max_samples = " + std::to_string(config.max_samples) + " or fewer",
                 "split the call, or plan for more");
  const std::size_t words = core::validity_words(samples);
  if (!shapes.no_validity) {
    const auto& v = shapes.validity;
    if (v[0] != channels || v[1] != inputs || v[2] < words)
      throw_config("correlate validity [channel][input][word]", to_text(v),
                   std::to_string(channels) + " x " + std::to_string(inputs) + " x " +
                       std::to_string(words) + " or more",
                   "give one bit a sample, or an empty view when all are valid");
    if (shapes.word_stride != 1 && words > 1)
      throw_config("correlate validity word stride", std::to_string(shapes.word_stride), "1");
  }
  const std::size_t baselines = core::baseline_count(inputs);
  const std::string expected = std::to_string(channels) + " x " + std::to_string(baselines);
  if (shapes.visibilities[0] != channels || shapes.visibilities[1] != baselines)
    throw_config("correlate visibilities [channel][baseline]", to_text(shapes.visibilities),
                 expected);
  if (shapes.counts[0] != channels || shapes.counts[1] != baselines)
    throw_config("correlate counts [channel][baseline]", to_text(shapes.counts), expected);
}

void throw_wrong_type(const Config& config, const char* given) {
  throw_config("correlate sample type", given, core::to_string(config.format),
               "make the plan with the format of the samples");
}

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device) {
  check_config(config);
  if (device == nullptr) throw_config("correlate device", "null", "an open device");
  if (device->api() == device::Api::reference) return make_reference_plan(config);
  if (device->compiles()) return gpu::make_tuned_plan(config, std::move(device));
  const bool exact = config.format == core::kCi4 || config.format == core::kCi8;
  if (exact) {
    const auto& kernel = cpu::choose_integer_kernel(*device);
    return cpu::make_integer_plan(config, std::move(device), kernel, {});
  }
  const auto& kernel = cpu::choose_float_kernel(*device);
  return cpu::make_float_plan(config, std::move(device), kernel, {});
}

void correlate(const Samples<core::ci8>& samples, const IntegerVisibilities& visibilities,
               const Counts& counts) {
  const auto device = device::open({});
  const Config config{.channels = samples.extent(0),
                      .inputs = samples.extent(1),
                      .max_samples = std::max<std::size_t>(1, samples.extent(2))};
  const auto plan = make_plan(config, device);
  const auto queue = device->make_queue();
  const auto state = plan->make_state(*queue);
  plan->execute(*queue, *state, samples, {}, visibilities, counts);
  queue->synchronise();
}

double useful_operations(const Config& config, std::size_t samples) {
  constexpr double kOperationsPerProduct = 8;
  return kOperationsPerProduct * static_cast<double>(core::baseline_count(config.inputs)) *
         static_cast<double>(config.channels) * static_cast<double>(samples);
}

}  // namespace tautline::stages::correlate
