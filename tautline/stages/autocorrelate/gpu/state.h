// The state of one stream on a GPU.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/backends.h"
#include "tautline/stages/autocorrelate/gpu/layout.h"

namespace tautline::stages::autocorrelate::gpu {

/// A buffer for rows of counts, which the state's queue uploads while the caller's queue computes.
struct Slot {
  device::Buffer rows;
  std::unique_ptr<device::Event> uploaded, consumed;
};

class GpuState final : public BaseState {
 public:
  GpuState(const GpuLayout& layout, std::shared_ptr<const device::Device> device);

  static device::MemoryUse bytes(const GpuLayout& layout);
  /// Pairs that `read` copies to the host at a time.
  static std::size_t read_pairs(const GpuLayout& layout);

  std::byte* at(std::size_t offset) const { return memory.as<std::byte>() + offset; }
  /// The counts kept by the last chunk, and where the next chunk keeps them.
  std::byte* kept() const {
    return at(parity == 0 ? layout.levels[0].d_at : layout.levels[0].e_at);
  }
  std::byte* to_keep() const {
    return at(parity == 0 ? layout.levels[0].e_at : layout.levels[0].d_at);
  }
  const void* a() const { return lists.as<std::byte>(); }
  const void* b() const { return lists.as<std::byte>() + lists.bytes() / 2; }

  /// Size of a level in `table`.
  static constexpr std::size_t kTableLevelBytes = 64;

  const GpuLayout layout;
  std::uint64_t parity = 0;
  /// [level] rows that are multiplied. `read` multiplies pending rows, which does not change
  /// results.
  mutable std::vector<std::uint64_t> done;
  /// The largest total of a sensor after `known_at` samples.
  std::uint64_t known_total = 0, known_at = 0;

  device::Buffer memory, lists, table, out;
  std::unique_ptr<device::Queue> queue;  ///< of uploads, reset, save and load
  std::array<Slot, 2> slots;
  std::size_t next_slot = 0;
  std::unique_ptr<device::Event> ready;   ///< the state's queue has finished with memory
  std::unique_ptr<device::Event> latest;  ///< the caller's queue has finished with memory
  std::vector<std::byte> gathered;        ///< dense copies of strided rows in host memory

 private:
  void clear() override;
  void save_content(core::ByteWriter& writer) const override;
  void load_content(core::ByteReader& reader) override;
};

}  // namespace tautline::stages::autocorrelate::gpu
