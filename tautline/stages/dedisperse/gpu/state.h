// One stream on a GPU: its rows there, the lists that its kernels read, and what has been measured.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "tautline/stages/dedisperse/backends.h"
#include "tautline/stages/dedisperse/clean.h"
#include "tautline/stages/dedisperse/gpu/clean.h"
#include "tautline/stages/dedisperse/gpu/kernels.h"

namespace tautline::stages::dedisperse {

class GpuState final : public BaseState {
 public:
  GpuState(const std::shared_ptr<const DelayPlan>& plan, std::size_t element_bytes,
           const device::Device& device, std::shared_ptr<const GpuCleaner> there,
           std::size_t workers)
      : BaseState(plan, "gpu", plan->config().beams * plan->positions(), element_bytes),
        work(*plan, workers),
        queue(device.make_queue()),
        done(device.make_event()),
        cleaner(std::move(there)),
        cleaned(cleaner->make_work(*queue)) {}
  ~GpuState() override {
    try {
      done->synchronise();
    } catch (...) {  // NOLINT(bugprone-empty-catch): whoever waits for the results is told
    }
  }

  void reset() override {
    done->synchronise();
    first = kMostTimesBefore;
    held = phase = 0;
    work.reset_moments();
    cleaner->reset(*queue, cleaned);
    queue->synchronise();
  }
  std::vector<Moments> moments() const override {
    std::vector<Moments> moments = work.moments();
    done->synchronise();
    cleaner->add_moments(*queue, cleaned, moments);
    return moments;
  }

  std::byte* row(std::size_t time) const { return rows.as<std::byte>() + time * element_bytes_; }

  Cleaner::Work work;
  std::unique_ptr<device::Queue> queue;  ///< of save, load and reset
  device::Buffer rows, out;
  GpuSum::Lists lists;
  device::Buffer staging;  ///< rows on their way from the host
  std::unique_ptr<device::Event> staged;
  std::unique_ptr<device::Event> done;        ///< with all of the last call
  std::shared_ptr<const GpuCleaner> cleaner;  ///< a state may outlive its plan
  GpuCleaner::Work cleaned;
  std::size_t stride_bytes = 0, staging_bytes = 0;
  std::size_t first = kMostTimesBefore;  ///< time of the rows of the first one held

 private:
  std::vector<std::byte> kept() const override {
    done->synchronise();  // the caller's queue may still be at the last call
    const std::size_t row_bytes = (held + 1) * element_bytes_;
    std::vector<std::byte> bytes(rows_ * row_bytes);
    queue->copy_rows(bytes.data(), row_bytes, row(first), stride_bytes, row_bytes, rows_);
    queue->synchronise();
    return bytes;
  }
  void restore(const std::vector<std::byte>& kept, const std::vector<Moments>& moments) override {
    work.set_moments(moments);
    const std::size_t row_bytes = (held + 1) * element_bytes_;
    queue->copy_rows(row(first), stride_bytes, kept.data(), row_bytes, row_bytes, rows_);
    queue->synchronise();
  }
};

}  // namespace tautline::stages::dedisperse
