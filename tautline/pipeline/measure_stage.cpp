#include "tautline/pipeline/measure_stage.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/pipeline/device_memory.h"
#include "tautline/pipeline/measure_autocorrelate.h"
#include "tautline/pipeline/measure_dedisperse.h"
#include "tautline/pipeline/measure_host_fed.h"
#include "tautline/pipeline/measure_runner.h"
#include "tautline/pipeline/measure_search.h"
#include "tautline/stages/channelize/case.h"
#include "tautline/stages/channelize/channelize.h"
#include "tautline/stages/channelize/tunables.h"
#include "tautline/stages/corner_turn/case.h"
#include "tautline/stages/correlate/case.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/correlate/gpu/plan.h"
#include "tautline/stages/unpack/case.h"

namespace tautline::pipeline {

namespace {

using core::Axis;
using core::Error;
using core::ErrorKind;
using device::Buffer;
using DevicePointer = std::shared_ptr<const device::Device>;

constexpr std::array<Axis, 2> kSumAxes{Axis::channel, Axis::baseline};
constexpr std::array<Axis, 3> kTurnedAxes{Axis::channel, Axis::input, Axis::time};

// Of arithmetic, memory and transfers to the device, what takes longest at the device's limits.
void relate_to_limits(Measurement& m, double arithmetic_s, double memory_s, double transfer_s = 0) {
  const double longest = std::max({arithmetic_s, memory_s, transfer_s});
  m.fraction_of_limit = longest / m.seconds;
  m.limit = longest == transfer_s ? "transfer" : longest == memory_s ? "memory" : "arithmetic";
}

Buffer random_samples(Runner& runner, const core::SampleFormat& format, std::size_t count) {
  const std::size_t bytes = count * static_cast<std::size_t>(format.bits_per_sample()) / 8;
  if (!format.is_float()) return runner.random_integers(bytes);
  return format.bits == 16 ? runner.random_halves(bytes) : runner.random_floats(bytes);
}

// The plan that runs by itself, or on GPUs one of a design that was asked for, with its defaults.
std::shared_ptr<const stages::correlate::Plan> correlate_plan(
    const stages::correlate::Config& config, std::size_t design, const DevicePointer& device) {
  using stages::correlate::GpuDesign;
  if (design == 0) return stages::correlate::make_plan(config, device);
  if (!device->compiles() || design > static_cast<std::size_t>(GpuDesign::wgmma))
    throw Error(ErrorKind::config, "`problem` of correlate: design", std::to_string(design),
                "1 (tiled), 2 (mma) or 3 (wgmma), on a GPU");
  stages::correlate::GpuTunables tunables;
  tunables.design = static_cast<GpuDesign>(design);
  return stages::correlate::gpu::make_gpu_plan(config, device, tunables);
}

template <class Sample, class Visibility>
void time_correlate(Runner& runner, Measurement& m, const stages::correlate::Plan& plan,
                    std::size_t blocks) {
  const auto& config = plan.config();
  const std::size_t baselines = core::baseline_count(config.inputs);
  const std::array<std::size_t, 2> shape{config.channels, baselines};
  const Buffer voltages =
      random_samples(runner, config.format, config.channels * config.inputs * config.max_samples);
  const Buffer sums = runner.zeros(config.channels * baselines * sizeof(Visibility));
  const Buffer counts = runner.zeros(config.channels * baselines * sizeof(std::int64_t));
  const auto state = plan.make_state(runner.queue());
  const core::View<Visibility, 2> visibilities(sums.as<Visibility>(), kSumAxes, shape);
  const stages::correlate::Counts numbers(counts.as<std::int64_t>(), kSumAxes, shape);
  runner.time(m, [&] {
    state->begin();
    for (std::size_t block = 0; block < blocks; ++block)
      plan.execute(
          runner.queue(), *state,
          stages::correlate::Samples<Sample>(voltages.as<Sample>(), kTurnedAxes,
                                             {config.channels, config.inputs, config.max_samples}),
          {}, visibilities, numbers);
    plan.release(runner.queue(), *state, visibilities, numbers);
  });
}

Measurement measure_correlate(const Problem& p, const DevicePointer& device, const Limits& limits,
                              double budget_s) {
  const std::size_t samples = p.at("samples");
  const stages::correlate::Config config{
      .channels = p.at("channels"),
      .inputs = p.at("inputs"),
      .max_samples = samples,
      .format = complex_format("correlate", p.at("bits"), p.at("half")),
      .hold_sums = p.at("blocks") > 1};
  const auto plan = correlate_plan(config, p.at("design"), device);
  Runner runner(device, budget_s);
  Measurement m;
  const std::size_t blocks = p.at("blocks");
  if (config.format == core::kCi4) time_correlate<core::ci4, core::ci64>(runner, m, *plan, blocks);
  if (config.format == core::kCi8) time_correlate<core::ci8, core::ci64>(runner, m, *plan, blocks);
  if (config.format == core::kCi16)
    time_correlate<core::ci16, std::complex<double>>(runner, m, *plan, blocks);
  if (config.format == core::kCf16)
    time_correlate<core::cf16, std::complex<double>>(runner, m, *plan, blocks);
  if (config.format == core::kCf32)
    time_correlate<std::complex<float>, std::complex<double>>(runner, m, *plan, blocks);
  const stages::correlate::Case problem{"", config, samples};
  m.instruction_set = plan->backend();
  m.operations = problem.operations() * static_cast<double>(blocks);
  m.bytes = problem.bytes(blocks);
  m.rate = m.operations / m.seconds;
  m.unit = "useful operations/s";
  m.bandwidth_hz = static_cast<double>(config.channels * samples * blocks) / m.seconds;
  const bool exact = config.format == core::kCi4 || config.format == core::kCi8;
  const bool matrix_halves =
      config.format == core::kCf16 && plan->backend().find("mma ") != std::string::npos;
  const double arithmetic = matrix_halves ? limits.half_matrix_operations_per_s
                            : exact
                                ? std::max(limits.int8_operations_per_s /
                                               stages::correlate::products_made(plan->backend()),
                                           limits.int8_matrix_operations_per_s)
                                : limits.float_operations_per_s;
  relate_to_limits(m, m.operations / arithmetic, m.bytes / limits.copy_bytes_per_s);
  return m;
}

// The same for the filter bank.
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

Measurement measure_channelize(const Problem& p, const DevicePointer& device, const Limits& limits,
                               double budget_s) {
  const std::size_t inputs = p.at("inputs"), spectra = p.at("spectra"), channels = p.at("channels"),
                    out_bits = p.at("output_bits");
  stages::channelize::Case problem;
  auto& config = problem.config;
  config.inputs = inputs;
  config.channels = channels;
  config.taps = p.at("taps");
  config.input = complex_format("channelize", p.at("bits"));
  using stages::channelize::Output;
  config.output = out_bits == 8   ? Output::turned_ci8
                  : out_bits == 4 ? Output::turned_ci4
                                  : Output::spectra_float;
  if (out_bits != 4 && out_bits != 8 && out_bits != 32)
    throw Error(ErrorKind::config, "`problem` of channelize: output_bits", std::to_string(out_bits),
                "4, 8 (turned and requantised) or 32 (float spectra)");
  const std::size_t count = spectra * config.hop_samples();
  config.max_samples = count;
  problem.spectra = spectra;
  const auto plan = channelize_plan(config, p.at("design"), device);
  require_on_device("channelize", plan->backend(), *device);
  Runner runner(device, budget_s);
  const auto state = plan->make_state(runner.queue());
  const Buffer voltages = random_samples(runner, config.input, inputs * count);
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
    const std::array<std::size_t, 3> turned{channels, inputs, given};
    stages::channelize::OutputViews views;
    if (out_bits == 8) views.turned_ci8 = {out.as<core::ci8>(), kTurnedAxes, turned};
    if (out_bits == 4) views.turned_ci4 = {out.as<core::ci4>(), kTurnedAxes, turned};
    if (out_bits == 32)
      views.spectra = {out.as<std::complex<float>>(),
                       {Axis::input, Axis::spectrum, Axis::channel},
                       {inputs, given, channels}};
    if (out_bits != 32) {
      views.gains = {gains.as<float>(), {Axis::channel, Axis::input}, {channels, inputs}};
      views.clipped = {clipped.as<std::uint64_t>(), {Axis::input}, {inputs}};
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

// The block is in host memory: to a device it has to be carried.
Measurement measure_unpack(const Problem& p, const DevicePointer& device, const Limits& limits,
                           double budget_s) {
  stages::unpack::Case problem{.name = "", .format = complex_format("unpack", p.at("bits"))};
  problem.channels = p.at("channels");
  problem.antennas = p.at("inputs");
  problem.samples = p.at("samples");
  const auto plan = stages::unpack::make_plan(problem.config(), device);
  Runner runner(device, budget_s);
  const auto state = plan->make_state(runner.queue());
  std::mt19937_64 random(1);
  const core::RawBlock block = stages::unpack::make_block(problem, random, false);
  const std::size_t row =
      problem.samples *
      static_cast<std::size_t>(stages::unpack::unpacked_format(problem.format).bits_per_sample()) /
      8;
  const Buffer samples = runner.zeros(problem.channels * problem.antennas * row);
  const std::size_t words = core::validity_words(problem.samples);
  const Buffer validity(problem.antennas * words * sizeof(std::uint64_t));
  Measurement m;
  runner.time(m, [&] {
    plan->execute(
        runner.queue(), *state, block, samples.data(), problem.antennas * row, row,
        {validity.as<std::uint64_t>(), {Axis::input, Axis::word}, {problem.antennas, words}});
  });
  m.instruction_set = plan->backend();
  m.bytes = problem.bytes();
  const auto count = static_cast<double>(problem.channels * problem.antennas * problem.samples);
  m.rate = count / m.seconds;
  m.unit = "samples/s";
  m.bandwidth_hz = static_cast<double>(problem.channels * problem.samples) / m.seconds;
  const double transfer_s =
      device->compiles() ? static_cast<double>(problem.block_bytes()) / limits.to_device_bytes_per_s
                         : 0;
  relate_to_limits(m, 0, m.bytes / limits.copy_bytes_per_s, transfer_s);
  return m;
}

Measurement measure_corner_turn(const Problem& p, const DevicePointer& device, const Limits& limits,
                                double budget_s) {
  const std::size_t inputs = p.at("inputs"), channels = p.at("channels"), spectra = p.at("spectra"),
                    bits = p.at("output_bits");
  const stages::corner_turn::Case problem{"", inputs, channels, spectra, static_cast<int>(bits)};
  const auto plan = stages::corner_turn::make_plan(problem.config(), device);
  require_on_device("corner_turn", plan->backend(), *device);
  Runner runner(device, budget_s);
  const Buffer in = runner.random_floats(problem.elements() * sizeof(std::complex<float>));
  const Buffer out = runner.zeros(problem.elements() * 2 * bits / 8);
  const Buffer gains = runner.floats(channels * inputs, 20.0f);
  const Buffer clipped = runner.zeros(inputs * sizeof(std::uint64_t));
  const stages::corner_turn::Spectra spectra_view{in.as<std::complex<float>>(),
                                                  {Axis::input, Axis::spectrum, Axis::channel},
                                                  {inputs, spectra, channels}};
  const std::array<std::size_t, 3> turned{channels, inputs, spectra};
  const stages::corner_turn::Gains gains_view{
      gains.as<float>(), {Axis::channel, Axis::input}, {channels, inputs}};
  const stages::corner_turn::Clipped clipped_view{
      clipped.as<std::uint64_t>(), {Axis::input}, {inputs}};
  const auto turn = [&]<class Sample>(const Sample*) {
    const core::View<Sample, 3> samples(out.as<Sample>(), kTurnedAxes, turned);
    if constexpr (std::is_same_v<Sample, std::complex<float>>)
      plan->execute(runner.queue(), spectra_view, {}, samples);
    else
      plan->execute(runner.queue(), spectra_view, {}, gains_view, samples, clipped_view);
  };
  Measurement m;
  runner.time(m, [&] {
    if (bits == 4) turn(static_cast<core::ci4*>(nullptr));
    if (bits == 8) turn(static_cast<core::ci8*>(nullptr));
    if (bits == 32) turn(static_cast<std::complex<float>*>(nullptr));
  });
  m.instruction_set = plan->backend();
  m.operations = problem.operations();
  m.bytes = problem.bytes();
  m.rate = static_cast<double>(problem.elements()) / m.seconds;
  m.unit = "samples/s";
  m.bandwidth_hz = static_cast<double>(channels * spectra) / m.seconds;
  relate_to_limits(m, m.operations / limits.float_operations_per_s,
                   m.bytes / limits.copy_bytes_per_s);
  return m;
}

struct Stage {
  const char* name;
  Problem host, gpu;  // default problems
  Measurement (*measure)(const Problem&, const DevicePointer&, const Limits&, double);
};

const std::vector<Stage>& stages() {
  static const std::vector<Stage> all{
      {"unpack",
       {{"inputs", 64}, {"channels", 1}, {"samples", 65536}, {"bits", 8}},
       {{"inputs", 64}, {"channels", 1}, {"samples", 1 << 20}, {"bits", 8}},
       measure_unpack},
      {"channelize",
       {{"inputs", 16},
        {"channels", 1024},
        {"taps", 8},
        {"spectra", 512},
        {"bits", 8},
        {"output_bits", 8},
        {"design", 0}},
       {{"inputs", 64},
        {"channels", 1024},
        {"taps", 8},
        {"spectra", 8192},
        {"bits", 8},
        {"output_bits", 8},
        {"design", 0}},
       measure_channelize},
      {"corner_turn",
       {{"inputs", 64}, {"channels", 128}, {"spectra", 1024}, {"output_bits", 8}},
       {{"inputs", 64}, {"channels", 1024}, {"spectra", 2048}, {"output_bits", 8}},
       measure_corner_turn},
      {"correlate",
       {{"inputs", 256},
        {"channels", 8},
        {"samples", 4096},
        {"blocks", 1},
        {"bits", 8},
        {"half", 0},
        {"design", 0}},
       {{"inputs", 512},
        {"channels", 240},
        {"samples", 3072},
        {"blocks", 1},
        {"bits", 8},
        {"half", 0},
        {"design", 0}},
       measure_correlate},
      {"dedisperse",
       {{"channels", 1024},
        {"trials", 2000},
        {"samples", 4096},
        {"bits", 8},
        {"top_khz", 1719854},
        {"width_hz", 292969},
        {"rate_hz", 20000},
        {"step_millidm", 250},
        {"method", 0}},
       {{"channels", 1024},
        {"trials", 2000},
        {"samples", 20000},
        {"bits", 8},
        {"top_khz", 1719854},
        {"width_hz", 292969},
        {"rate_hz", 20000},
        {"step_millidm", 250},
        {"method", 0}},
       measure_dedisperse},
      {"detect", default_detect_problem(false), default_detect_problem(true), measure_detect},
      {"search", default_search_problem(false), default_search_problem(true), measure_search},
      {"autocorrelate",
       {{"sensors", 1024},
        {"bins", 32},
        {"levels", 10},
        {"samples", 8192},
        {"bits", 8},
        {"float", 0},
        {"standard", 0},
        {"most", 255},
        {"rate_hz", 625'000}},
       {{"sensors", 1024},
        {"bins", 32},
        {"levels", 10},
        {"samples", 262144},
        {"bits", 8},
        {"float", 0},
        {"standard", 0},
        {"most", 255},
        {"rate_hz", 625'000}},
       measure_autocorrelate}};
  return all;
}

const Stage& find_stage(const std::string& name) {
  std::string names;
  for (const Stage& stage : stages()) {
    if (name == stage.name) return stage;
    names += (names.empty() ? "" : ", ") + std::string(stage.name);
  }
  for (const std::string& fed : host_fed_stages()) names += ", " + fed;
  throw Error(ErrorKind::config, "stage", name, "one of " + names);
}

bool host_fed(const std::string& stage) {
  const auto names = host_fed_stages();
  return std::find(names.begin(), names.end(), stage) != names.end();
}

// A CPU behind OpenCL is no GPU.
bool large(const device::Device& device) {
  return device.compiles() && !device.properties().host_cpu;
}

// Without what was not asked for.
std::string describe_sizes(Problem sizes) {
  if (sizes.count("blocks") != 0 && sizes.at("blocks") == 1) sizes.erase("blocks");
  for (const char* key : {"design", "half", "method", "float", "standard", "zero_dm"})
    if (sizes.count(key) != 0 && sizes.at(key) == 0) sizes.erase(key);
  return describe(sizes);
}

}  // namespace

std::vector<std::string> measurable_stages() {
  std::vector<std::string> names;
  for (const Stage& stage : stages()) names.emplace_back(stage.name);
  return names;
}

Problem default_problem(const std::string& stage, const device::Device& device) {
  if (host_fed(stage)) return default_host_fed_problem(stage);
  const Stage& known = find_stage(stage);
  return large(device) ? known.gpu : known.host;
}

std::string describe_asked(const std::string& stage, const Problem& problem,
                           const device::Device& device) {
  return describe_sizes(complete(stage, default_problem(stage, device), problem));
}

Measurement measure_stage(const std::string& stage, const Problem& problem, DevicePointer device,
                          const Limits& limits, double budget_s) {
  return measure_stage(stage, problem, std::vector{std::move(device)}, limits, budget_s);
}

Measurement measure_stage(const std::string& stage, const Problem& problem,
                          const std::vector<DevicePointer>& devices, const Limits& limits,
                          double budget_s) {
  if (devices.size() > 1 && !host_fed(stage))
    throw Error(ErrorKind::config, "device", std::to_string(devices.size()) + " devices",
                "one device for " + stage, "the host_fed stages share their work among several");
  const Problem sizes = complete(stage, default_problem(stage, *devices.front()), problem);
  Measurement m = of_stage(stage, [&] {
    return host_fed(stage) ? measure_host_fed(stage, sizes, devices, limits, budget_s)
                           : find_stage(stage).measure(sizes, devices.front(), limits, budget_s);
  });
  m.stage = stage;
  m.problem = describe_sizes(sizes);
  m.has_inputs = sizes.count("inputs") != 0;
  for (const DevicePointer& device : devices)
    m.device += (m.device.empty() ? "" : ", ") + device->name();
  return m;
}

}  // namespace tautline::pipeline
