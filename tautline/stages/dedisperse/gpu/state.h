// One stream on a GPU: its rows there, the lists that its kernels read, and what has been measured.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/stages/dedisperse/clean.h"
#include "tautline/stages/dedisperse/gpu/clean.h"
#include "tautline/stages/dedisperse/gpu/sum.h"
#include "tautline/stages/dedisperse/saved_state.h"

namespace tautline::stages::dedisperse {

class GpuState final : public State {
 public:
  GpuState(const DelayPlan& plan, const device::Device& device,
           std::shared_ptr<const GpuCleaner> there, std::size_t workers)
      : work(plan, workers),
        queue(device.make_queue()),
        done(device.make_event()),
        cleaner(std::move(there)),
        cleaned(cleaner->make_work(*queue)) {}
  ~GpuState() override { done->synchronise(); }

  void reset() override {
    done->synchronise();
    first = front;
    held = phase = 0;
    begun_there = false;
    work.reset_moments();
    cleaner->reset(*queue, cleaned);
    queue->synchronise();
  }
  std::size_t held_samples() const override { return held; }
  std::vector<Moments> moments() const override {
    std::vector<Moments> moments = work.moments();
    done->synchronise();
    cleaner->add_moments(*queue, cleaned, moments);
    return moments;
  }
  std::vector<std::byte> save() const override {
    done->synchronise();  // the caller's queue may still be at the last call
    SavedState saved;
    saved.put(held);
    saved.put(phase);
    std::vector<std::byte> bytes(count * held * element_bytes);
    if (!bytes.empty())
      queue->copy_rows(bytes.data(), held * element_bytes,
                       rows.as<std::byte>() + first * element_bytes, stride_bytes,
                       held * element_bytes, count);
    queue->synchronise();
    saved.put_all(bytes);
    std::vector<std::byte> begun(count * element_bytes);  // times that no element is complete with
    fetch_begun(*queue, begun.data(), element_bytes);
    for (std::size_t r = 0; r < count; ++r)
      saved.put_raw(begun.data() + r * element_bytes, element_bytes);
    saved.put_all(moments());
    return saved.bytes();
  }
  void load(const std::vector<std::byte>& from) override {
    done->synchronise();
    SavedState saved(from);
    first = front;
    held = saved.get<std::size_t>();
    phase = saved.get<std::size_t>();
    std::vector<std::byte> bytes;
    saved.get_all(bytes);
    if ((front + held) * element_bytes > stride_bytes ||
        bytes.size() != count * held * element_bytes)
      throw core::Error(core::ErrorKind::format, "dedisperse saved state",
                        std::to_string(held) + " times", "what a state of this plan saved");
    for (std::size_t r = 0; r < count; ++r)
      saved.get_raw(staging.as<std::byte>() + r * staging_bytes, element_bytes);
    std::vector<Moments> moments;
    saved.get_all(moments);
    saved.require_end();
    work.set_moments(moments);
    cleaner->reset(*queue, cleaned);
    begun_there = false;
    if (!bytes.empty())
      queue->copy_rows(rows.as<std::byte>() + front * element_bytes, stride_bytes, bytes.data(),
                       held * element_bytes, held * element_bytes, count);
    queue->synchronise();
  }

  // The element of each row that is not complete, from where it is.
  void fetch_begun(device::Queue& by, std::byte* to, std::size_t to_stride) const {
    if (begun_there && phase > 0) {
      by.copy_rows(to, to_stride, rows.as<std::byte>() + (first + held) * element_bytes,
                   stride_bytes, element_bytes, count);
      by.synchronise();
    } else {
      for (std::size_t r = 0; r < count && to != staging.as<std::byte>(); ++r)
        std::memcpy(to + r * to_stride, staging.as<std::byte>() + r * staging_bytes, element_bytes);
    }
  }

  Cleaner::Work work;
  std::unique_ptr<device::Queue> queue;  ///< of save, load and reset
  device::Buffer rows, positions, out;
  GpuSum::Lists lists;
  device::Buffer staging;  ///< rows on their way from the host
  std::unique_ptr<device::Event> staged;
  std::unique_ptr<device::Event> done;        ///< with all of the last call
  std::shared_ptr<const GpuCleaner> cleaner;  ///< a state may outlive its plan
  GpuCleaner::Work cleaned;
  bool begun_there = false;  ///< the element not complete lies in rows, else in staging
  std::size_t count = 0, stride_bytes = 0, element_bytes = 0, staging_bytes = 0;
  std::size_t front = 0;                       ///< times that are left free before the first
  std::size_t first = 0, held = 0, phase = 0;  ///< as on the CPU
};

}  // namespace tautline::stages::dedisperse
