#include "tautline/jit/program.h"

#include <fmt/format.h>

#include <future>
#include <mutex>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/stopwatch.h"
#include "tautline/jit/folders.h"
#include "tautline/jit/program_cache.h"

namespace tautline::jit {

namespace {

using core::Error;
using device::Device;
using device::Program;
using device::ProgramSource;

// Everything on which the binary depends, as text, so that an entry describes itself. The driver is
// included because the compiler of OpenCL is part of the driver.
std::string cache_key(const Device& device, const ProgramSource& source) {
  const auto& properties = device.properties();
  std::string key;
  const auto add = [&key](const char* name, const std::string& value) {
    key += std::string(name) + " " + std::to_string(value.size()) + " " + value + "\n";
  };
  add("kernel", source.name);
  add("api", device.api() == device::Api::cuda ? "cuda" : "opencl");
  add("product", properties.product);
  add("architecture", properties.architecture);
  add("driver", properties.driver);
  add("compiler", device.compiler());
  for (const auto& option : source.options) add("option", option);
  for (const auto& define : source.defines) add("define", define);
  add("text", source.text);
  return key;
}

std::string name_of(const ProgramSource& source) {
  std::string text = "kernel file " + source.name;
  for (std::size_t d = 0; d < source.defines.size(); ++d)
    text += (d == 0 ? " with " : " ") + source.defines[d];
  return text;
}

// Runs `work`; an error of `work` is thrown again with the kernel file and its definitions named.
template <class Work>
auto named(const ProgramSource& source, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.kind(), name_of(source), error.what(), {});
  }
}

std::shared_ptr<const Program> load_cached(const Device& device, const ProgramSource& source,
                                           const std::string& key, const ProgramCache& cache) {
  const auto binary = cache.find(key);
  if (!binary) return nullptr;
  try {
    return device.load(source.name, *binary);
  } catch (const Error& error) {
    // The driver refused the cached binary: compile again. A fault of the program itself comes back
    // then.
    device.shared().log(core::LogLevel::debug, name_of(source) +
                                                   ": the cached program was refused (" +
                                                   error.what() + "); compiling again");
    cache.remove(key);
    return nullptr;
  }
}

std::shared_ptr<const Program> compile(const Device& device, const ProgramSource& source,
                                       const std::string& key, const ProgramCache& cache) {
  return named(source, [&] {
    const auto start = core::Clock::now();
    const auto binary = device.compile(source);
    device.shared().log(core::LogLevel::debug,
                        fmt::format("kernel file {} compiled in {:.2f} s", source.name,
                                    core::seconds_since(start)));
    auto loaded = device.load(source.name, binary);
    if (const std::string problem = cache.store(key, binary); !problem.empty())
      device.shared().warn_once("compiled kernels are not kept, so each run compiles again: " +
                                problem + "; TAUTLINE_CACHE can name another folder");
    return loaded;
  });
}

using Compilation = std::shared_future<std::shared_ptr<const Program>>;

class CompilingKernel final : public device::Kernel {
 public:
  CompilingKernel(std::shared_ptr<const Program> program, std::string name)
      : program_(std::move(program)), name_(std::move(name)) {}

  const std::string& name() const override { return name_; }
  const device::KernelResources& resources() const override { return loaded().resources(); }
  const device::Kernel& loaded() const override {
    std::call_once(once_, [this] { kernel_ = program_->loaded().kernel(name_); });
    return *kernel_;
  }

 private:
  std::shared_ptr<const Program> program_;  // waiting for programs in use waits for this one
  std::string name_;
  mutable std::once_flag once_;
  mutable std::shared_ptr<const device::Kernel> kernel_;
};

class CompilingProgram final : public Program,
                               public std::enable_shared_from_this<CompilingProgram> {
 public:
  explicit CompilingProgram(Compilation program) : program_(std::move(program)) {}

  std::shared_ptr<const device::Kernel> kernel(const std::string& name) const override {
    return std::make_shared<CompilingKernel>(shared_from_this(), name);
  }
  const Program& loaded() const override { return *program_.get(); }

 private:
  Compilation program_;
};

}  // namespace

std::shared_ptr<const Program> build(const Device& device, const ProgramSource& source) {
  const std::string key = named(source, [&] { return cache_key(device, source); });
  auto& shared = device.shared();
  if (auto held = shared.find_program(key)) return held;

  const auto folder = cache_folder();
  const ProgramCache cache(folder.empty() ? folder : folder / "programs");
  auto program = load_cached(device, source, key, cache);
  // One program at a time is compiled for the host's own cores: PoCL 3.1 has ended processes in
  // which several threads compiled.
  if (program == nullptr && device.properties().host_cpu)
    program = compile(device, source, key, cache);
  else if (program == nullptr)
    program = std::make_shared<CompilingProgram>(
        std::async(std::launch::async, [&device, source, key, cache] {
          return compile(device, source, key, cache);
        }).share());
  return shared.keep_program(key, std::move(program));
}

std::shared_ptr<const Program> build(const Device& device, std::string_view kernel_file,
                                     const Defines& defines,
                                     const std::vector<std::string>& options) {
  ProgramSource source = make_source(device.api(), kernel_file, defines);
  source.options = options;
  return build(device, source);
}

std::shared_ptr<const Program> build_uncached(const Device& device, const ProgramSource& source) {
  return named(source, [&] { return device.load(source.name, device.compile(source)); });
}

}  // namespace tautline::jit
