// A device that compiles nothing real, and counts what it is asked: for the logic around it.
#pragma once

#include <future>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/device/device.h"
#include "tests/support/environment.h"

namespace tautline::tests {

class FakeProgram final : public device::Program {
 public:
  explicit FakeProgram(std::string binary) : binary(std::move(binary)) {}
  std::shared_ptr<const device::Kernel> kernel(const std::string&) const override {
    throw core::Error(core::ErrorKind::device, "kernel", "none", "a real device");
  }
  const std::string binary;
};

class FakeDevice final : public device::Device {
 public:
  explicit FakeDevice(device::Api api = device::Api::opencl) : api_(api) {
    properties_value.product = "Fake 1";
    properties_value.driver = "1.0";
    properties_value.architecture = "sm_00";
  }

  // The settings of tests.
  device::Properties properties_value;
  std::string compiler_value = "fakec 1";
  bool refuses_binaries = false;         ///< load fails for whatever was compiled before this call
  std::shared_future<void> may_compile;  ///< compile waits for it, where there is one
  mutable std::atomic<int> compiled{0}, loaded{0};

  device::Api api() const override { return api_; }
  std::string name() const override { return "fake"; }
  device::InstructionSet instruction_set() const override {
    return device::InstructionSet::portable;
  }
  bool forced() const override { return false; }
  const device::Properties& properties() const override { return properties_value; }
  std::string compiler() const override { return compiler_value; }

  /// The "binary" is the text with a serial number, so that tests see which compilation they got. A
  /// text with "#error" does not compile.
  std::vector<std::byte> compile(const device::ProgramSource& source) const override {
    const int serial = ++compiled;
    if (may_compile.valid()) may_compile.wait();
    if (source.text.find("#error") != std::string::npos)
      throw core::Error(core::ErrorKind::device, source.name, "error: refused",
                        "text that compiles");
    const std::string binary = "serial " + std::to_string(serial) + "\n" + source.text;
    const auto* bytes = reinterpret_cast<const std::byte*>(binary.data());
    return {bytes, bytes + binary.size()};
  }
  std::shared_ptr<const device::Program> load(const std::string&,
                                              std::span<const std::byte> binary) const override {
    if (refuses_binaries && compiled == 0)
      throw core::Error(core::ErrorKind::device, "load", "another driver's binary", "ours");
    ++loaded;
    return std::make_shared<FakeProgram>(
        std::string(reinterpret_cast<const char*>(binary.data()), binary.size()));
  }

  std::unique_ptr<device::Queue> make_queue() const override { refuse(); }
  std::unique_ptr<device::Event> make_event() const override { refuse(); }
  double seconds_between(const device::Event&, const device::Event&) const override { refuse(); }
  std::shared_ptr<const device::FftPlan> make_fft(std::size_t, std::size_t) const override {
    refuse();
  }
  device::Buffer allocate(std::size_t) const override { refuse(); }
  device::Buffer allocate_pinned(std::size_t) const override { refuse(); }
  bool holds(const void*) const override { return false; }
  std::size_t free_bytes() const override { return 0; }
  device::TensorMap make_tensor_map(const device::TensorLayout&) const override { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    throw core::Error(core::ErrorKind::unsupported, "device", "fake", "a real one");
  }
  device::Api api_;
};

inline const std::string& binary_of(const std::shared_ptr<const device::Program>& program) {
  return dynamic_cast<const FakeProgram&>(program->loaded()).binary;
}

}  // namespace tautline::tests
