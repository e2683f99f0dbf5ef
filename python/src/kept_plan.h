// A plan that is kept: one stream through one stage, on a queue of its own or the caller's stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "bindings.h"
#include "tautline/core/error.h"
#include "tautline/device/cuda/cuda_device.h"
#include "tautline/device/device.h"
#include "written_arrays.h"

namespace tautline::python {

/// The common base of all kept plans. One thread at a time uses a state.
class Kept {
 public:
  explicit Kept(const std::string& name)
      : selection_(selection_of(name)),
        device(device::open(selection_)),
        queue(device->make_queue()),
        done_(device->make_event()) {}

  /// Until the caller's stream has done what it was given: before the host reads or changes the state.
  void wait() {
    if (last_ != 0) done_->synchronise();
  }
  /// The same with the interpreter's lock, which others may take meanwhile: before the state goes.
  void wait_unlocked() {
    if (last_ == 0) return;
    const Unlocked unlocked;
    wait();
  }
  /// The number of the CUDA device whose arrays are taken; -1: none.
  int cuda() const {
    return device->api() == device::Api::cuda ? static_cast<int>(selection_.number) : -1;
  }
  /// Throws Error(config) unless the arrays lie where `stream` says: 0, the host's memory; else the device's.
  template <class... Arrays>
  void require_place(std::uintptr_t stream, const Arrays&... arrays) const {
    const auto check = [&](const auto& array) {
      const bool there = array.device_type() == nb::device::cuda::value;
      const bool fits = stream == 0 ? array.device_type() == nb::device::cpu::value ||
                                          array.device_type() == nb::device::cuda_host::value
                                    : there && array.device_id() == cuda();
      if (!fits)
        throw core::Error(core::ErrorKind::config, "samples", "arrays of different memory",
                          "all in the host's, or all in that of the plan's device");
    };
    (check(arrays), ...);
  }
  /// work(queue) with the lock, without the interpreter's: on the queue of the plan, until it is done, or on the
  /// caller's stream, where it may go on when this returns. Each call waits for the work of the one before, also where
  /// the streams' handles are equal: a new stream may have the handle of one that is gone.
  template <class Work>
  auto run(std::uintptr_t stream, const Work& work) {
    const UnlockedComputation unlocked;
    const std::lock_guard lock(mutex);
    device::Queue& on = stream == 0 ? *queue : caller(stream);
    if (last_ != 0) on.wait(*done_);
    last_ = stream;
    const auto finish = [&] {
      if (stream == 0)
        on.synchronise();
      else
        on.record(*done_);
    };
    if constexpr (std::is_void_v<decltype(work(on))>) {
      work(on);
      finish();
    } else {
      const auto result = work(on);
      finish();
      return result;
    }
  }

 private:
  device::Queue& caller(std::uintptr_t stream) {
    if (wrapped_ == nullptr || wrapped_stream_ != stream)
      wrapped_ = device::cuda::wrap_stream(*device, reinterpret_cast<void*>(stream));
    wrapped_stream_ = stream;
    return *wrapped_;
  }

  device::Selection selection_;

 public:
  std::shared_ptr<const device::Device> device;
  std::unique_ptr<device::Queue> queue;
  std::mutex mutex;

 private:
  std::unique_ptr<device::Event> done_;  // of the caller's stream before
  std::unique_ptr<device::Queue> wrapped_;
  std::uintptr_t wrapped_stream_ = 0, last_ = 0;
};

/// A plan and the state of its one stream.
template <class Plan, class State>
class KeptPlan {
 public:
  explicit KeptPlan(const std::string& device) : kept_(device) {}
  ~KeptPlan() { kept_.wait_unlocked(); }
  /// Without the interpreter's lock.
  void reset() {
    const std::lock_guard lock(kept_.mutex);
    kept_.wait();
    state_->reset();
  }
  nb::bytes save() {
    std::vector<std::byte> saved;
    {
      const UnlockedComputation unlocked;
      const std::lock_guard lock(kept_.mutex);
      kept_.wait();
      saved = state_->save();
    }
    return nb::bytes(saved.data(), saved.size());
  }
  void load(const nb::bytes& saved) {
    const std::span bytes(static_cast<const std::byte*>(saved.data()), saved.size());
    const UnlockedComputation unlocked;
    const std::lock_guard lock(kept_.mutex);
    kept_.wait();
    try {
      state_->load(bytes);
    } catch (...) {
      state_->reset();
      throw;
    }
  }
  std::string backend() const { return plan_->backend(); }
  int cuda() const { return kept_.cuda(); }

 protected:
  Kept kept_;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<State> state_;
};

/// The functions that all plans have.
template <class Plan>
nb::class_<Plan> bind_plan(nb::module_& module, const char* name) {
  nb::class_<Plan> bound(module, name);
  bound.def("execute", &Plan::execute)
      .def("reset", &Plan::reset, nb::call_guard<Unlocked>())
      .def("save", &Plan::save)
      .def("load", &Plan::load)
      .def("cuda", &Plan::cuda)
      .def("backend", &Plan::backend);
  return bound;
}

}  // namespace tautline::python
