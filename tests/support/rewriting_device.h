// A real device whose kernels are changed before they are compiled: to see what a tool says of a
// variant that nobody else needs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tautline/device/device.h"

namespace tautline::tests {

class RewritingDevice : public device::Device {
 public:
  using Rewrite = std::function<void(device::ProgramSource&)>;

  RewritingDevice(std::shared_ptr<const device::Device> inner, Rewrite rewrite)
      : inner_(std::move(inner)), rewrite_(std::move(rewrite)) {}

  std::vector<std::byte> compile(const device::ProgramSource& source) const override {
    device::ProgramSource changed = source;
    rewrite_(changed);
    return inner_->compile(changed);
  }
  /// Another one, so that the cache keeps both programs.
  std::string compiler() const override { return inner_->compiler() + ", rewritten"; }

  device::Api api() const override { return inner_->api(); }
  std::string name() const override { return inner_->name(); }
  device::InstructionSet instruction_set() const override { return inner_->instruction_set(); }
  bool forced() const override { return inner_->forced(); }
  const device::Properties& properties() const override { return inner_->properties(); }
  std::shared_ptr<const device::Program> load(const std::string& name,
                                              std::span<const std::byte> binary) const override {
    return inner_->load(name, binary);
  }
  std::unique_ptr<device::Queue> make_queue() const override { return inner_->make_queue(); }
  std::unique_ptr<device::Event> make_event() const override { return inner_->make_event(); }
  double seconds_between(const device::Event& start, const device::Event& end) const override {
    return inner_->seconds_between(start, end);
  }
  std::shared_ptr<const device::FftPlan> make_fft(std::size_t length,
                                                  std::size_t batch) const override {
    return inner_->make_fft(length, batch);
  }
  device::Buffer allocate(std::size_t bytes) const override { return inner_->allocate(bytes); }
  device::Buffer allocate_pinned(std::size_t bytes) const override {
    return inner_->allocate_pinned(bytes);
  }
  bool holds(const void* address) const override { return inner_->holds(address); }
  std::size_t free_bytes() const override { return inner_->free_bytes(); }
  device::TensorMap make_tensor_map(const device::TensorLayout& layout) const override {
    return inner_->make_tensor_map(layout);
  }

 private:
  std::shared_ptr<const device::Device> inner_;
  Rewrite rewrite_;
};

}  // namespace tautline::tests
