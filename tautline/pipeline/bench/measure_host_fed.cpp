#include "tautline/pipeline/bench/measure_host_fed.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tautline/core/error.h"
#include "tautline/jit/timing.h"
#include "tautline/pipeline/bench/device_threads.h"
#include "tautline/pipeline/bench/host_fed_stream.h"
#include "tautline/pipeline/bench/stage_run.h"
#include "tautline/pipeline/voltages/channel_range.h"
#include "tautline/stages/channelize/case.h"
#include "tautline/stages/channelize/case_run.h"
#include "tautline/stages/correlate/case.h"
#include "tautline/stages/correlate/correlate.h"

namespace tautline::pipeline {

namespace {
using core::Error;
using core::ErrorKind;
using device::Buffer;
namespace channelize = stages::channelize;
namespace correlate = stages::correlate;

constexpr std::size_t kParts = 5;          // of the stream, for the spread
constexpr std::size_t kFewestBlocks = 10;  // of a part
constexpr std::size_t kWarmUpBlocks = 8;
constexpr std::size_t kSourceBytes = std::size_t{2} << 30;  // of blocks in pinned memory, about

// Sums, then counts.
std::size_t visibility_bytes(std::size_t channels, std::size_t inputs) {
  return channels * core::baseline_count(inputs) * (sizeof(core::ci64) + sizeof(std::int64_t));
}

// Correlates ci8 in the device's memory.
class Correlator {
 public:
  Correlator(std::size_t inputs, std::size_t channels, std::size_t samples,
             const DevicePointer& device)
      : config_{.channels = channels,
                .inputs = inputs,
                .max_samples = samples,
                .format = core::kCi8},
        plan_(correlate::make_plan(config_, device)) {}

  void prepare(device::Queue& queue) { state_ = plan_->make_state(queue); }
  void run(device::Queue& queue, const core::ci8* voltages, std::size_t samples, void* out) {
    const std::size_t baselines = core::baseline_count(config_.inputs);
    const std::array<std::size_t, 2> shape{config_.channels, baselines};
    auto* sums = static_cast<core::ci64*>(out);
    auto* counts = reinterpret_cast<std::int64_t*>(sums + config_.channels * baselines);
    queue.fill(out, 0, visibility_bytes(config_.channels, config_.inputs));
    plan_->execute(
        queue, *state_,
        correlate::Samples<core::ci8>(voltages, {config_.channels, config_.inputs, samples}), {},
        core::View<core::ci64, 2>(sums, shape), {counts, shape});
  }
  std::string backend() const { return plan_->backend(); }
  double operations(std::size_t samples) const {
    return correlate::useful_operations(config_, samples);
  }

 private:
  correlate::Config config_;
  std::shared_ptr<const correlate::Plan> plan_;
  std::unique_ptr<correlate::State> state_;
};

// Channelizes ci8 in the device's memory to rows of requantised ci8.
class FilterBank {
 public:
  FilterBank(std::size_t inputs, std::size_t channels, std::size_t taps, std::size_t spectra,
             const DevicePointer& device)
      : device_(device) {
    config_.inputs = inputs;
    config_.channels = channels;
    config_.taps = taps;
    config_.output = channelize::Output::corner_turned_ci8;
    config_.max_samples = spectra * config_.hop_samples();
    plan_ = channelize::make_plan(config_, device);
    require_on_device("channelize", plan_->backend(), *device);
  }

  void prepare(device::Queue& queue) {
    state_ = plan_->make_state(queue);
    const std::vector<float> gains(config_.channels * config_.inputs,
                                   channelize::case_gain(config_));
    gains_ = device_->allocate(gains.size() * sizeof(float));
    queue.copy(gains_.data(), gains.data(), gains_.bytes());
    clipped_ = device_->allocate(config_.inputs * sizeof(std::uint64_t));
    queue.fill(clipped_.data(), 0, clipped_.bytes());
    queue.synchronise();
  }
  /// Forgets the samples held back, as at the start of a stream.
  void reset() { state_->reset(); }
  /// Returns the spectra written, dense.
  std::size_t run(device::Queue& queue, const void* voltages, core::ci8* out) {
    channelize::Input input;
    input.samples = voltages;
    input.row_stride_bytes = config_.max_samples * sizeof(core::ci8);
    input.count = config_.max_samples;
    const std::size_t spectra = plan_->spectra(state_->held_samples(), input.count);
    return plan_->execute(queue, *state_, input,
                          channelize::case_views(config_, out, spectra, gains_, clipped_));
  }
  std::string backend() const { return plan_->backend(); }
  const channelize::Config& config() const { return config_; }
  std::size_t in_bytes() const { return config_.inputs * config_.max_samples * sizeof(core::ci8); }
  double operations() const {
    channelize::Case one;
    one.config = config_;
    return one.operations() *
           static_cast<double>(config_.inputs * config_.max_samples / config_.hop_samples());
  }

 private:
  DevicePointer device_;
  channelize::Config config_;
  std::shared_ptr<const channelize::Plan> plan_;
  std::unique_ptr<channelize::State> state_;
  Buffer gains_, clipped_;
};

// The input, work and output of a block.
struct Task {
  std::size_t in_bytes = 0, out_bytes = 0;
  double int8_operations = 0, float_operations = 0;
  double samples_per_input = 0;  // at the input's own rate: channels x samples
  std::size_t inputs = 0;
  std::string code;
  std::function<void(device::Queue&)> prepare;
  std::function<void()> reset;
  HostFedStream::Work work;
};

Task correlate_task(const Problem& p, const DevicePointer& device) {
  const std::size_t inputs = p.at("inputs"), channels = p.at("channels"), samples = p.at("samples");
  const auto x = std::make_shared<Correlator>(inputs, channels, samples, device);
  Task task;
  task.in_bytes = channels * inputs * samples * sizeof(core::ci8);
  task.out_bytes = visibility_bytes(channels, inputs);
  task.int8_operations = x->operations(samples);
  task.samples_per_input = static_cast<double>(channels * samples);
  task.inputs = inputs;
  task.code = x->backend();
  task.prepare = [x](device::Queue& queue) { x->prepare(queue); };
  task.reset = [] {};
  task.work = [x, samples](device::Queue& queue, const void* in, void* out) {
    x->run(queue, static_cast<const core::ci8*>(in), samples, out);
  };
  return task;
}

Task filter_task(const Problem& p, const DevicePointer& device) {
  const std::size_t inputs = p.at("inputs"), channels = p.at("channels"), spectra = p.at("spectra");
  const auto f = std::make_shared<FilterBank>(inputs, channels, p.at("taps"), spectra, device);
  Task task;
  task.in_bytes = f->in_bytes();
  task.out_bytes = inputs * channels * spectra * sizeof(core::ci8);
  task.float_operations = f->operations();
  task.samples_per_input = static_cast<double>(f->config().max_samples);
  task.inputs = inputs;
  task.code = f->backend();
  task.prepare = [f](device::Queue& queue) { f->prepare(queue); };
  task.reset = [f] { f->reset(); };
  task.work = [f](device::Queue& queue, const void* in, void* out) {
    f->run(queue, in, static_cast<core::ci8*>(out));
  };
  return task;
}

Task fx_task(const Problem& p, const DevicePointer& device) {
  const std::size_t inputs = p.at("inputs"), channels = p.at("channels"), spectra = p.at("spectra");
  const auto f = std::make_shared<FilterBank>(inputs, channels, p.at("taps"), spectra, device);
  const auto x = std::make_shared<Correlator>(inputs, channels, spectra, device);
  const auto corner_turned =
      std::make_shared<Buffer>(device->allocate(inputs * channels * spectra * sizeof(core::ci8)));
  Task task;
  task.in_bytes = f->in_bytes();
  task.out_bytes = visibility_bytes(channels, inputs);
  task.float_operations = f->operations();
  task.int8_operations = x->operations(spectra);
  task.samples_per_input = static_cast<double>(f->config().max_samples);
  task.inputs = inputs;
  task.code = f->backend() + "; " + x->backend();
  task.prepare = [f, x](device::Queue& queue) {
    f->prepare(queue);
    x->prepare(queue);
  };
  task.reset = [f] { f->reset(); };
  task.work = [f, x, corner_turned](device::Queue& queue, const void* in, void* out) {
    const std::size_t given = f->run(queue, in, corner_turned->as<core::ci8>());
    x->run(queue, corner_turned->as<core::ci8>(), given, out);
  };
  return task;
}

Task copy_task(const Problem& p, const DevicePointer&) {
  Task task;
  task.in_bytes = task.out_bytes = p.at("bytes");
  task.code = "copies alone";
  task.prepare = [](device::Queue&) {};
  task.reset = [] {};
  task.work = [bytes = task.in_bytes](device::Queue& queue, const void* in, void* out) {
    queue.copy(out, in, bytes);
  };
  return task;
}

// A kind of work: how the work of a block is made for a device, and whether devices share the
// channels of a block or take whole blocks in turn.
struct Kind {
  std::string name;
  Task (*make_task)(const Problem&, const DevicePointer&);
  bool by_channels = false;
};

void fill_in(Measurement& m, const Task& task, const Limits& limits) {
  const auto in = static_cast<double>(task.in_bytes), out = static_cast<double>(task.out_bytes);
  m.instruction_set = task.code;
  m.operations = task.int8_operations + task.float_operations;
  m.bytes = in + out;
  m.rate = in / m.seconds;
  m.unit = "bytes/s in";
  m.bandwidth_hz = task.samples_per_input / m.seconds;
  // Each direction of the link is independent; the device computes meanwhile.
  const double transfer =
      std::max(in / limits.to_device_bytes_per_s, out / limits.to_host_bytes_per_s);
  const double int8 = std::max(limits.int8_operations_per_s, limits.int8_matrix_operations_per_s);
  const double arithmetic =
      task.int8_operations / int8 + task.float_operations / limits.float_operations_per_s;
  m.limit = transfer >= arithmetic ? "transfer" : "arithmetic";
  m.fraction_of_limit = std::max(transfer, arithmetic) / m.seconds;
}

// The stream of one device; its results are compared with those of the same blocks alone.
class Fed {
 public:
  Fed(const Kind& kind, const Problem& problem, const DevicePointer& device)
      : stage_(kind.name),
        device_(device),
        task_(kind.make_task(problem, device)),
        stream_(device, task_.in_bytes, task_.out_bytes,
                std::clamp<std::size_t>(kSourceBytes / task_.in_bytes, 2, 16), task_.work) {
    task_.prepare(stream_.queue());
    first_s_ = stream_.run(kWarmUpBlocks, 1)[0];
  }

  const Task& task() const { return task_; }
  double first_s() const { return first_s_; }
  std::vector<double> run(std::size_t blocks) { return stream_.run(blocks + 3, kParts); }
  void check() {
    task_.reset();
    // Two blocks: the first spectra of the last block need samples of the block before.
    if (!stream_.same_one_at_a_time(2))
      throw Error(ErrorKind::device, device_->name() + ": " + stage_,
                  "results of overlapping blocks differ from those of the same blocks alone", "");
  }

 private:
  std::string stage_;
  DevicePointer device_;
  Task task_;
  HostFedStream stream_;
  double first_s_ = 0;
};

Problem part_of(const Kind& kind, Problem problem, std::size_t part, std::size_t parts) {
  if (kind.by_channels) problem["channels"] = share_of(problem["channels"], part, parts).count;
  return problem;
}

// Seconds of a block in each part. Shares of a block are complete with the last share; rates of
// whole blocks add up over the devices.
std::vector<double> together(const std::vector<std::vector<double>>& devices, bool shares) {
  std::vector<double> seconds;
  for (std::size_t part = 0; part < kParts; ++part) {
    double longest = 0, rate = 0;
    for (const auto& of_one : devices) {
      longest = std::max(longest, of_one[part]);
      rate += 1 / of_one[part];
    }
    seconds.push_back(shares ? longest : 1 / rate);
  }
  return seconds;
}

// The work of all devices on a block.
Task whole_task(const std::vector<std::unique_ptr<Fed>>& streams, bool shares) {
  Task whole = streams.front()->task();
  for (std::size_t d = 1; shares && d < streams.size(); ++d) {
    const Task& part = streams[d]->task();
    whole.in_bytes += part.in_bytes, whole.out_bytes += part.out_bytes;
    whole.int8_operations += part.int8_operations;
    whole.samples_per_input += part.samples_per_input;
  }
  return whole;
}

Limits of_all(Limits limits, std::size_t devices) {
  for (const LimitField& field : limit_fields())
    limits.*field.value *= static_cast<double>(devices);
  return limits;
}

Measurement measure_kind(const Kind& kind, const Problem& problem,
                         const std::vector<DevicePointer>& devices, const Limits& limits,
                         double budget_s) {
  if (kind.by_channels && problem.at("channels") < devices.size())
    throw Error(ErrorKind::config, "channels", std::to_string(problem.at("channels")),
                "one for each of the " + std::to_string(devices.size()) + " devices");
  DeviceThreads threads(devices.size());
  std::vector<std::unique_ptr<Fed>> streams(devices.size());
  threads.each([&](std::size_t d) {
    streams[d] = std::make_unique<Fed>(kind, part_of(kind, problem, d, devices.size()), devices[d]);
  });
  const double wanted = std::ceil(budget_s / std::max(streams.front()->first_s(), 1e-9));
  const auto blocks = static_cast<std::size_t>(
      std::clamp(wanted, static_cast<double>(kParts * kFewestBlocks), 1e5));
  std::vector<std::vector<double>> seconds(devices.size());
  threads.each([&](std::size_t d) { seconds[d] = streams[d]->run(blocks); });
  const jit::Timing timing = jit::summarise(together(seconds, kind.by_channels));
  Measurement m;
  m.seconds = timing.seconds;
  m.spread = timing.spread;
  fill_in(m, whole_task(streams, kind.by_channels), of_all(limits, devices.size()));
  if (problem.count("rate_hz") != 0)
    m.real_time_factor = m.bandwidth_hz / static_cast<double>(problem.at("rate_hz"));
  threads.each([&](std::size_t d) { streams[d]->check(); });
  return m;
}

}  // namespace

Measurement measure_host_fed_copy(const Problem& problem, const std::vector<DevicePointer>& devices,
                                  const Limits& limits, double budget_s) {
  return measure_kind({"host_fed_copy", copy_task}, problem, devices, limits, budget_s);
}

Measurement measure_host_fed_channelize(const Problem& problem,
                                        const std::vector<DevicePointer>& devices,
                                        const Limits& limits, double budget_s) {
  return measure_kind({"host_fed_channelize", filter_task}, problem, devices, limits, budget_s);
}

Measurement measure_host_fed_correlate(const Problem& problem,
                                       const std::vector<DevicePointer>& devices,
                                       const Limits& limits, double budget_s) {
  return measure_kind({"host_fed_correlate", correlate_task, true}, problem, devices, limits,
                      budget_s);
}

Measurement measure_host_fed_fx(const Problem& problem, const std::vector<DevicePointer>& devices,
                                const Limits& limits, double budget_s) {
  return measure_kind({"host_fed_fx", fx_task}, problem, devices, limits, budget_s);
}

}  // namespace tautline::pipeline
