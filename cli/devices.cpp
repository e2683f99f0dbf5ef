// tautline devices: what can compute here, and how fast it is at most.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "cli/command.h"
#include "cli/limits.h"
#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/device/cpu/fft.h"
#include "tautline/device/cuda/cuda_device.h"
#include "tautline/device/opencl/opencl_device.h"

namespace tautline::cli {

namespace {

using device::InstructionSet;

constexpr InstructionSet kSets[] = {InstructionSet::portable, InstructionSet::avx2,
                                    InstructionSet::avx512, InstructionSet::vnni,
                                    InstructionSet::amx};

// The device of --device, or without it of `auto`; null when that device cannot be used.
std::shared_ptr<const device::Device> open_chosen(const Global& global) {
  try {
    return open_device(global);
  } catch (const core::Error& error) {
    if (error.kind() == core::ErrorKind::config) throw;
    spdlog::warn("{}", error.what());
    return nullptr;
  }
}

void list_cpu(const Global& global, bool measure, const device::Device* chosen) {
  const auto host = device::open({device::Api::cpu, std::nullopt}, {.threads = global.threads});
  const auto& measured = chosen != nullptr && !chosen->compiles() ? *chosen : *host;
  const std::size_t threads = host->make_queue()->workers();
  const char* fft = device::cpu::fftw_available() ? "fftw" : "kissfft";
  for (const InstructionSet set : kSets) {
    const std::string name = "cpu:" + std::string(device::to_string(set));
    const bool here = device::supported(set);
    const bool is_chosen =
        chosen != nullptr && chosen->api() == device::Api::cpu && chosen->instruction_set() == set;
    pipeline::Limits limits;
    const bool has_limits = measure && here && measured.instruction_set() == set;
    if (has_limits)
      limits = pipeline::measure_limits(
          device::open({device::Api::cpu, set}, {.threads = global.threads}));
    if (global.json) {
      nlohmann::ordered_json line{{"device", name},
                                  {"supported", here},
                                  {"chosen", is_chosen},
                                  {"threads", threads},
                                  {"fft", fft}};
      if (has_limits) line["limits"] = limits_json(limits);
      print_json("tautline.device", 1, std::move(line));
      continue;
    }
    fmt::print("{:<14} {:<14}{}\n", name, here ? "supported" : "not here",
               is_chosen ? fmt::format("chosen: {}, transforms by {}",
                                       core::counted(threads, "thread"), fft)
                         : "");
    if (has_limits) fmt::print("{}", limits_text(limits));
  }
  if (!global.json)
    fmt::print("{:<14} {:<14}plain loops that define every result\n", "reference", "supported");
}

std::string capability(const device::Properties& p) {
  return fmt::format("{}.{}", p.compute_capability / 10, p.compute_capability % 10);
}

void print_gpu(const std::string& name, const device::Device& gpu, bool chosen) {
  const device::Properties& p = gpu.properties();
  const auto gibibytes = [](std::size_t bytes) {
    return static_cast<double>(bytes) / (std::size_t{1} << 30);
  };
  fmt::print("{:<14} {:<14}{}{}\n", name, "supported", chosen ? "chosen: " : "", p.product);
  fmt::print("  {:.1f} GiB of memory ({:.1f} free), {} compute units, {} KiB of {}{}\n",
             gibibytes(p.total_bytes), gibibytes(gpu.free_bytes()), p.multiprocessors,
             p.local_bytes >> 10, gpu.api() == device::Api::cuda ? "shared memory" : "local memory",
             p.compute_capability > 0 ? ", compute capability " + capability(p) : "");
  fmt::print("  driver {}, {}, compiler {}{}\n", p.driver, p.architecture, gpu.compiler(),
             p.host_cpu ? "; the host's CPU" : "");
}

nlohmann::ordered_json gpu_json(const std::string& name, const device::Device& gpu, bool chosen) {
  const device::Properties& p = gpu.properties();
  nlohmann::ordered_json line{{"device", name},
                              {"supported", true},
                              {"chosen", chosen},
                              {"threads", gpu.make_queue()->workers()},
                              {"product", p.product},
                              {"driver", p.driver},
                              {"architecture", p.architecture},
                              {"compiler", gpu.compiler()},
                              {"compute_capability", nullptr},
                              {"compute_units", p.multiprocessors},
                              {"memory_bytes", p.total_bytes},
                              {"free_bytes", gpu.free_bytes()},
                              {"local_bytes", p.local_bytes},
                              {"host_cpu", p.host_cpu}};
  if (p.compute_capability > 0) line["compute_capability"] = capability(p);
  return line;
}

// A device that fails is named, with the reason, and does not hide the others.
void list_gpu(const Global& global, bool measure, const device::Selection& selection,
              const device::Device* chosen) {
  const std::string name = fmt::format(
      "{}:{}", selection.api == device::Api::cuda ? "cuda" : "opencl", selection.number);
  try {
    const auto gpu = device::open(selection, {.threads = global.threads});
    const bool is_chosen = chosen != nullptr && chosen->name() == gpu->name();
    pipeline::Limits limits;
    if (measure) limits = pipeline::measure_limits(gpu);
    if (global.json) {
      auto line = gpu_json(name, *gpu, is_chosen);
      if (measure) line["limits"] = limits_json(limits);
      print_json("tautline.device", 1, std::move(line));
    } else {
      print_gpu(name, *gpu, is_chosen);
      if (measure) fmt::print("{}", limits_text(limits));
    }
  } catch (const core::Error& error) {
    if (global.json)
      print_json(
          "tautline.device", 1,
          {{"device", name}, {"supported", false}, {"chosen", false}, {"reason", error.what()}});
    else
      fmt::print("{:<14} {:<14}{}\n", name, "not usable", error.what());
  }
}

int run_devices(const Global& global, bool measure) {
  const auto chosen = open_chosen(global);
  list_cpu(global, measure, chosen.get());
  for (unsigned n = 0; n < device::cuda::device_count(); ++n)
    list_gpu(global, measure, {device::Api::cuda, std::nullopt, n}, chosen.get());
  for (unsigned n = 0; n < device::opencl::device_count(); ++n)
    list_gpu(global, measure, {device::Api::opencl, std::nullopt, n}, chosen.get());
  return kDone;
}

}  // namespace

void add_devices(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("devices", "what can compute here");
  auto measure = std::make_shared<bool>(false);
  command->add_flag("--measure", *measure,
                    "measure copies and arithmetic rates too, about a second each");
  command->footer("Example: tautline devices --measure");
  when_chosen(*command, global, action, measure, run_devices);
}

}  // namespace tautline::cli
