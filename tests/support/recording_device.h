// A CUDA device that is not here: plans can be made on it, and it remembers what they compile. So
// tests see the very text that a GPU of some compute capability would be given.
#pragma once

#include <algorithm>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/device/device.h"
#include "tautline/device/shared_state.h"

namespace tautline::tests {

class RecordingDevice final : public device::Device {
 public:
  /// "sm_90a" and what such GPUs have.
  RecordingDevice(std::string architecture, int compute_capability, std::size_t local_bytes) {
    properties_.product = "recording";
    properties_.driver = "0";
    properties_.architecture = std::move(architecture);
    properties_.compute_capability = compute_capability;
    properties_.multiprocessors = 100;
    properties_.local_bytes = local_bytes;
    properties_.max_group_threads = 1024;
    properties_.warp_threads = 32;
    properties_.total_bytes = std::size_t{64} << 30;
  }

  std::shared_future<void> may_compile;  ///< compile waits for it, where there is one

  /// The programs of the plans so far, in order of name and definitions.
  std::vector<device::ProgramSource> sources() const {
    shared().wait_for_programs();
    const std::lock_guard lock(mutex_);
    auto sources = sources_;
    std::sort(sources.begin(), sources.end(), [](const auto& a, const auto& b) {
      return std::tie(a.name, a.defines) < std::tie(b.name, b.defines);
    });
    return sources;
  }

  device::Api api() const override { return device::Api::cuda; }
  std::string name() const override { return "recording"; }
  device::InstructionSet instruction_set() const override { return host_->instruction_set(); }
  bool forced() const override { return false; }
  const device::Properties& properties() const override { return properties_; }
  std::string compiler() const override { return "recording"; }
  std::vector<std::byte> compile(const device::ProgramSource& source) const override {
    if (may_compile.valid()) may_compile.wait();
    const std::lock_guard lock(mutex_);
    sources_.push_back(source);
    return {std::byte{1}};
  }
  std::shared_ptr<const device::Program> load(const std::string&,
                                              std::span<const std::byte>) const override {
    return std::make_shared<Program>();
  }

  std::unique_ptr<device::Queue> make_queue() const override { return host_->make_queue(); }
  std::unique_ptr<device::Event> make_event() const override { return host_->make_event(); }
  double seconds_between(const device::Event&, const device::Event&) const override { return 0; }
  std::shared_ptr<const device::FftPlan> make_fft(std::size_t length,
                                                  std::size_t batch) const override {
    return host_->make_fft(length, batch);
  }
  device::Buffer allocate(std::size_t bytes) const override { return device::Buffer(bytes); }
  device::Buffer allocate_pinned(std::size_t bytes) const override { return device::Buffer(bytes); }
  bool holds(const void*) const override { return false; }
  std::size_t free_bytes() const override { return properties_.total_bytes; }
  device::TensorMap make_tensor_map(const device::TensorLayout&) const override { return {}; }

 private:
  struct Kernel final : device::Kernel {
    explicit Kernel(std::string name) : name_(std::move(name)) {}
    const std::string& name() const override { return name_; }
    const device::KernelResources& resources() const override { return resources_; }
    std::string name_;
    device::KernelResources resources_{64, 0, 0, 1024};
  };
  struct Program final : device::Program {
    std::shared_ptr<const device::Kernel> kernel(const std::string& name) const override {
      return std::make_shared<Kernel>(name);
    }
  };

  std::shared_ptr<const device::Device> host_ = device::open({});
  device::Properties properties_;
  mutable std::mutex mutex_;
  mutable std::vector<device::ProgramSource> sources_;
};

}  // namespace tautline::tests
