// The state of plans on CPUs: parts of equal size, which are worked on in parallel. Not part of the stage's interface.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/backends.h"

namespace tautline::stages::autocorrelate::cpu {

struct Parts {
  std::size_t count = 0, bytes = 0;
  std::size_t together = 1;                       ///< parts that one worker feeds at a time
  std::size_t scratch_bytes = 0, rows_bytes = 0;  ///< for each worker
  std::size_t workers = 0;
  std::string layout = {};  ///< every other number that the content depends on

  std::size_t total_bytes() const {
    return count * bytes + workers * (scratch_bytes + bytes + rows_bytes);
  }
};

class PartsState final : public BaseState {
 public:
  PartsState(const Config& config, const std::string& backend, const Parts& parts)
      : BaseState(config, backend + " " + std::to_string(parts.bytes) + " " + parts.layout),
        sizes_(parts),
        parts_(parts.count * parts.bytes),
        scratch_(parts.workers * parts.scratch_bytes),
        copies_(parts.workers * parts.bytes),
        rows_(parts.workers * parts.rows_bytes) {}

  std::byte* part(std::size_t index) { return parts_.as<std::byte>() + index * sizes_.bytes; }
  const std::byte* part(std::size_t index) const {
    return parts_.as<std::byte>() + index * sizes_.bytes;
  }
  std::byte* scratch(std::size_t worker) const {
    return scratch_.as<std::byte>() + worker * sizes_.scratch_bytes;
  }
  /// Of one part.
  std::byte* copy(std::size_t worker) const {
    return copies_.as<std::byte>() + worker * sizes_.bytes;
  }
  std::byte* rows(std::size_t worker) const {
    return rows_.as<std::byte>() + worker * sizes_.rows_bytes;
  }

 private:
  std::span<std::byte> memory() const { return {parts_.as<std::byte>(), parts_.bytes()}; }
  void clear() override { std::memset(parts_.data(), 0, parts_.bytes()); }
  void save_content(core::ByteWriter& writer) const override { writer(memory()); }
  void load_content(core::ByteReader& reader) override { reader(memory()); }

  Parts sizes_;
  device::Buffer parts_, scratch_, copies_, rows_;
};

class PartsPlan : public BasePlan<> {
 public:
  PartsPlan(std::shared_ptr<const device::Device> device, Parts parts)
      : device_(std::move(device)), parts_(std::move(parts)) {
    parts_.workers = device_->make_queue()->workers();
  }
  device::MemoryUse bytes() const final { return {parts_.total_bytes(), 0}; }
  std::unique_ptr<State> make_state(const device::Queue& queue) const final {
    if (queue.workers() > parts_.workers)
      throw core::Error(core::ErrorKind::config, "autocorrelate queue",
                        std::to_string(queue.workers()) + " workers",
                        std::to_string(parts_.workers) + " or fewer",
                        "take a queue of the plan's device");
    return std::make_unique<PartsState>(config(), backend(), parts_);
  }

 protected:
  /// Adds samples to the parts [first, last).
  virtual void feed(PartsState& state, const core::SampleView<2>& samples, std::size_t first,
                    std::size_t last, std::size_t worker) const = 0;
  /// Multiplies the pending samples of part `index`, after which it can be read.
  virtual void flush(std::byte* part, std::size_t index, std::byte* scratch) const = 0;
  virtual bool refused(const std::byte* part) const = 0;
  /// Writes the sums of part `index`, which is flushed.
  virtual void write_part(const std::byte* part, std::size_t index, const Sums& out) const = 0;

 private:
  void take(device::Queue& queue, BaseState& state,
            const core::SampleView<2>& samples) const final {
    auto& own = static_cast<PartsState&>(state);
    std::atomic<bool> any{false};
    const std::size_t groups = (parts_.count + parts_.together - 1) / parts_.together;
    queue.parallel_for(groups, 1, [&](std::size_t begin, std::size_t end, std::size_t worker) {
      for (std::size_t group = begin; group < end; ++group) {
        const std::size_t first = group * parts_.together;
        const std::size_t last = std::min(first + parts_.together, parts_.count);
        feed(own, samples, first, last, worker);
        for (std::size_t index = first; index < last; ++index)
          if (refused(own.part(index))) any = true;
      }
    });
    own.taken += samples.extent(0);
    own.refused = any;
  }
  void write(device::Queue& queue, const BaseState& state, const Sums& out) const final {
    const auto& own = static_cast<const PartsState&>(state);
    std::atomic<bool> any{false};
    queue.parallel_for(parts_.count, 1,
                       [&](std::size_t first, std::size_t last, std::size_t worker) {
                         for (std::size_t index = first; index < last; ++index) {
                           std::byte* copy = own.copy(worker);
                           std::memcpy(copy, own.part(index), parts_.bytes);
                           flush(copy, index, own.scratch(worker));
                           if (refused(copy)) any = true;
                           write_part(copy, index, out);
                         }
                       });
    if (any) throw_overflow(own.taken);
  }

  std::shared_ptr<const device::Device> device_;
  Parts parts_;
};

}  // namespace tautline::stages::autocorrelate::cpu
