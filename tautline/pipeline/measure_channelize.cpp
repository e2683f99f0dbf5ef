#include "tautline/pipeline/measure_channelize.h"

#include <array>
#include <complex>
#include <string>

#include "tautline/core/error.h"
#include "tautline/pipeline/measure_runner.h"
#include "tautline/stages/channelize/case.h"
#include "tautline/stages/channelize/channelize.h"
#include "tautline/stages/channelize/tunables.h"
#include "tautline/stages/channelize/tune.h"

namespace tautline::pipeline {

namespace {
using core::Error;
using core::ErrorKind;
using device::Buffer;
using DevicePointer = std::shared_ptr<const device::Device>;

stages::channelize::Config channelize_config(const Problem& p) {
  using stages::channelize::Output;
  const std::size_t out_bits = p.at("output_bits");
  if (out_bits != 4 && out_bits != 8 && out_bits != 32)
    throw Error(ErrorKind::config, "`problem` of channelize: output_bits", std::to_string(out_bits),
                "4, 8 (corner-turned and requantised) or 32 (float spectra)");
  stages::channelize::Config config;
  config.inputs = p.at("inputs");
  config.channels = p.at("channels");
  config.taps = p.at("taps");
  config.input = complex_format("channelize", p.at("bits"));
  config.output = out_bits == 8   ? Output::corner_turned_ci8
                  : out_bits == 4 ? Output::corner_turned_ci4
                                  : Output::spectra_float;
  config.max_samples = p.at("spectra") * config.hop_samples();
  return config;
}

// The plan that runs by itself, or on GPUs one of a design that was asked for, with its defaults.
std::shared_ptr<const stages::channelize::Plan> channelize_plan(
    const stages::channelize::Config& config, std::size_t design, const DevicePointer& device) {
  using stages::channelize::GpuDesign;
  if (design == 0) return stages::channelize::make_plan(config, device);
  if (!device->compiles() || design > static_cast<std::size_t>(GpuDesign::separate))
    throw Error(ErrorKind::config, "`problem` of channelize: design", std::to_string(design),
                "1 (fused), 2 (split) or 3 (a filter kernel, then the device's FFT), on a GPU");
  stages::channelize::Tunables tunables;
  tunables.gpu.design = static_cast<GpuDesign>(design);
  return stages::channelize::make_plan(config, device, tunables);
}

}  // namespace

Measurement measure_channelize(const Problem& p, const DevicePointer& device, const Limits& limits,
                               double budget_s) {
  const std::size_t inputs = p.at("inputs"), spectra = p.at("spectra"), channels = p.at("channels"),
                    out_bits = p.at("output_bits");
  const stages::channelize::Case problem{channelize_config(p), spectra};
  const auto& config = problem.config;
  const std::size_t count = config.max_samples;
  const auto plan = channelize_plan(config, p.at("design"), device);
  require_on_device("channelize", plan->backend(), *device);
  Runner runner(device, budget_s);
  const auto state = plan->make_state(runner.queue());
  const Buffer voltages = runner.random_samples(config.input, inputs * count);
  // A call may give one spectrum more than it brings samples for.
  const Buffer out = runner.zeros(channels * inputs * (spectra + 1) * 2 * out_bits / 8);
  // Uniform bytes have an rms of 74, which this brings to 22 steps.
  const Buffer gains = runner.floats(channels * inputs, 0.3f);
  const Buffer clipped = runner.zeros(inputs * sizeof(std::uint64_t));
  stages::channelize::Input input;
  input.samples = voltages.data();
  input.row_stride_bytes = count * static_cast<std::size_t>(config.input.bits_per_sample()) / 8;
  input.count = count;
  Measurement m;
  runner.time(m, [&] {
    const std::size_t given = plan->spectra(state->held_samples(), count);
    const std::array<std::size_t, 3> extents{channels, inputs, given};
    stages::channelize::OutputViews views;
    if (out_bits == 8) views.corner_turned_ci8 = {out.as<core::ci8>(), extents};
    if (out_bits == 4) views.corner_turned_ci4 = {out.as<core::ci4>(), extents};
    if (out_bits == 32) views.spectra = {out.as<std::complex<float>>(), {inputs, given, channels}};
    if (out_bits != 32) {
      views.gains = {gains.as<float>(), {channels, inputs}};
      views.clipped = {clipped.as<std::uint64_t>(), {inputs}};
    }
    plan->execute(runner.queue(), *state, input, views);
  });
  m.instruction_set = plan->backend();
  m.operations = problem.operations() * static_cast<double>(inputs * spectra);
  m.bytes = problem.bytes() * static_cast<double>(inputs * spectra);
  m.rate = static_cast<double>(inputs * count) / m.seconds;
  m.unit = "samples/s";
  m.bandwidth_hz = static_cast<double>(count) / m.seconds;
  relate_to_limits(m, m.operations / limits.float_operations_per_s,
                   m.bytes / limits.copy_bytes_per_s);
  return m;
}

jit::Tunable tune_channelize(const Problem& p,
                             const std::shared_ptr<const device::Device>& device) {
  return stages::channelize::make_tunable(channelize_config(p), device);
}

Problem filter_bank_words(std::string_view text) {
  if (!text.starts_with('c')) return {};
  text.remove_prefix(1);
  const auto channels = take_number(text);
  if (!channels || !text.starts_with('t')) return {};
  text.remove_prefix(1);
  const auto taps = take_number(text);
  if (!taps || !text.empty()) return {};
  return {{"channels", *channels}, {"taps", *taps}};
}

}  // namespace tautline::pipeline
