// The GPU plan. Counts in device memory are used in place if their rows start at multiples of 16
// bytes. Other counts are copied to one of two slots while the other slot is processed.
#include "tautline/stages/autocorrelate/gpu/plan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/integers.h"
#include "tautline/stages/autocorrelate/backends.h"
#include "tautline/stages/autocorrelate/gpu/launch.h"

namespace tautline::stages::autocorrelate::gpu {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::size_t kRowAlignment = 16;

class GpuPlan final : public BasePlan<> {
 public:
  GpuPlan(const Config& config, std::shared_ptr<const device::Device> device,
          const GpuTunables& tunables, std::string origin)
      : device_(std::move(device)),
        layout_(make_layout(config, tunables, device_->properties().total_bytes)),
        kernels_(make_kernels(layout_, tunables, *device_)),
        origin_(std::move(origin)) {}

  const Config& config() const override { return layout_.config; }
  std::string backend() const override {
    return std::string(device_->api() == device::Api::cuda ? "cuda " : "opencl ") +
           (kernels_.matrix.empty() ? "portable" : "mma") +
           (origin_.empty() ? "" : " (" + origin_ + ")");
  }
  device::MemoryUse bytes() const override { return GpuState::bytes(layout_); }
  std::unique_ptr<State> make_state(const device::Queue&) const override {
    return std::make_unique<GpuState>(layout_, device_);
  }

 private:
  void take(device::Queue& queue, BaseState& state,
            const core::SampleView<2>& samples) const override;
  void write(device::Queue& queue, const BaseState& state, const Sums& out) const override;
  bool usable_in_place(const core::SampleView<2>& samples) const;
  void upload(GpuState& state, Slot& slot, const core::SampleView<2>& samples) const;
  void gather(device::Queue& queue, const Slot& slot, const core::SampleView<2>& samples) const;
  bool could_overflow(device::Queue& queue, GpuState& state) const;
  void write_totals(device::Queue& queue, const GpuState& state,
                    const core::MutableSampleView<2>& out) const;
  std::size_t count_bytes() const { return layout_.levels[0].sample_bytes; }

  std::shared_ptr<const device::Device> device_;
  GpuLayout layout_;
  GpuKernels kernels_;
  std::string origin_;  ///< of the tunables
};

bool GpuPlan::usable_in_place(const core::SampleView<2>& samples) const {
  const std::size_t pitch = static_cast<std::size_t>(samples.stride(0)) * count_bytes();
  return samples.stride(1) == 1 && samples.stride(0) > 0 && pitch % kRowAlignment == 0 &&
         pitch <= 0xffffffff &&
         reinterpret_cast<std::uintptr_t>(samples.data()) % kRowAlignment == 0 &&
         samples.extent(1) * count_bytes() % kRowAlignment == 0;
}

void GpuPlan::take(device::Queue& queue, BaseState& state,
                   const core::SampleView<2>& samples) const {
  auto& own = static_cast<GpuState&>(state);
  queue.wait(*own.ready);
  const std::size_t count = samples.extent(0);
  const bool there = count > 0 && device_->holds(samples.data());
  const bool in_place = there && usable_in_place(samples);
  const std::size_t pitch = layout_.levels[0].pitch_bytes;
  for (std::size_t t = 0; t < count; t += layout_.chunk) {
    const auto part = samples.slice(0, t, std::min(layout_.chunk, count - t));
    if (in_place) {
      enqueue_rows(
          queue, kernels_, own,
          {part.data(), static_cast<std::size_t>(part.stride(0)) * count_bytes(), part.extent(0)});
      continue;
    }
    Slot& slot = own.slots[own.next_slot];
    own.next_slot = 1 - own.next_slot;
    if (there) {
      gather(queue, slot, part);
    } else {
      upload(own, slot, part);
      queue.wait(*slot.uploaded);
    }
    enqueue_rows(queue, kernels_, own, {slot.rows.data(), pitch, part.extent(0)});
    queue.record(*slot.consumed);
  }
  queue.record(*own.latest);
  own.refused = could_overflow(queue, own);
}

// Copies counts in device memory whose rows are strided or not aligned.
void GpuPlan::gather(device::Queue& queue, const Slot& slot,
                     const core::SampleView<2>& samples) const {
  queue.wait(*slot.consumed);
  const Threads& t = kernels_.threads;
  queue.run(*kernels_.gather,
            {.groups = {core::divide_up(samples.extent(1), t.x),
                        std::min<std::size_t>(core::divide_up(samples.extent(0), t.y), 1024), 1},
             .threads = {t.x, t.y, 1}},
            samples.data(), slot.rows.data(), static_cast<std::int64_t>(samples.stride(0)),
            static_cast<std::int64_t>(samples.stride(1)), std::uint64_t{layout_.padded_sensors},
            static_cast<std::uint32_t>(samples.extent(0)),
            static_cast<std::uint32_t>(samples.extent(1)));
}

void GpuPlan::upload(GpuState& state, Slot& slot, const core::SampleView<2>& samples) const {
  device::Queue& queue = *state.queue;
  const std::size_t size = count_bytes();
  const std::size_t rows = samples.extent(0), row_bytes = samples.extent(1) * size;
  const std::size_t pitch = layout_.levels[0].pitch_bytes;
  queue.wait(*slot.consumed);
  const auto* from = static_cast<const std::byte*>(samples.data());
  auto stride = samples.stride(0) * static_cast<std::ptrdiff_t>(size);
  const bool dense = samples.stride(1) == 1 || samples.extent(1) == 1;
  if (!dense || (stride < static_cast<std::ptrdiff_t>(row_bytes) && rows > 1)) {
    state.gathered.resize(rows * row_bytes);
    core::with_type<std::uint8_t, std::uint16_t, std::uint32_t, float>(
        samples, "samples", [&]<class Count>(const core::View<const Count, 2>& counts) {
          auto* to = reinterpret_cast<Count*>(state.gathered.data());
          for (std::size_t t = 0; t < rows; ++t)
            for (std::size_t s = 0; s < counts.extent(1); ++s) *to++ = counts(t, s);
        });
    from = state.gathered.data();
    stride = static_cast<std::ptrdiff_t>(row_bytes);
  }
  queue.copy_rows(slot.rows.data(), pitch, from, static_cast<std::size_t>(stride), row_bytes, rows);
  queue.record(*slot.uploaded);
}

// Every sum is at most the largest window times the sum of the other series. The totals are read
// from the device, which waits for it, only when full-scale counts could have reached the limit
// since the last time.
bool GpuPlan::could_overflow(device::Queue& queue, GpuState& state) const {
  if (layout_.floats()) return false;
  const Config& config = layout_.config;
  const Wide limit = Wide{1} << 63;
  const Wide window =
      config.coarsening == Coarsening::sum ? Wide{1} << (config.levels - 1) : Wide{1};
  const auto reaches = [&](Wide largest, Wide total) {
    return total >= limit || std::min(largest * window, total) * total >= limit;
  };
  const Wide scale = largest_count(config.type);
  if (!reaches(scale, state.known_total + scale * (state.taken - state.known_at))) return false;
  std::vector<std::uint64_t> totals(config.sensors);
  std::uint32_t largest = 0;
  queue.copy(totals.data(), state.at(layout_.levels[0].total_d_at), totals.size() * 8);
  queue.copy(&largest, state.at(layout_.largest_at), sizeof largest);
  queue.synchronise();
  state.known_total = *std::max_element(totals.begin(), totals.end());
  state.known_at = state.taken;
  if (config.type == SampleType::u8) largest = 255;  // fold.kernel does not measure it
  return reaches(largest, state.known_total);
}

void GpuPlan::write_totals(device::Queue& queue, const GpuState& state,
                           const core::MutableSampleView<2>& out) const {
  std::vector<std::uint64_t> totals(layout_.config.sensors), values;
  queue.copy(totals.data(), state.at(layout_.levels[0].total_d_at), totals.size() * 8);
  queue.synchronise();
  for (std::size_t p = 0; p < layout_.config.pair_count(); ++p) {
    values.push_back(totals[layout_.config.pair(p).a]);
    values.push_back(totals[layout_.config.pair(p).b]);
  }
  if (device_->holds(out.data())) {
    queue.copy_rows(out.data(), static_cast<std::size_t>(out.stride(0)) * 8, values.data(), 16, 16,
                    out.extent(0));
    queue.synchronise();
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    std::memcpy(out.slice(0, i / 2, 1).slice(1, i % 2, 1).data(), &values[i], 8);
}

void GpuPlan::write(device::Queue& queue, const BaseState& state, const Sums& out) const {
  const auto& own = static_cast<const GpuState&>(state);
  const std::size_t lags = layout_.lags, pairs = layout_.config.pair_count();
  const core::MutableSampleView<2> views[] = {out.sums, out.lead_in, out.monitor_direct,
                                              out.monitor_delayed};
  for (const auto& view : views)
    if (view.data() != nullptr && ((view.stride(1) != 1 && lags > 1) || view.stride(0) < 0 ||
                                   (static_cast<std::size_t>(view.stride(0)) < lags && pairs > 1)))
      throw core::Error(core::ErrorKind::unsupported, "autocorrelate sums [pair][lag]",
                        "lags " + std::to_string(view.stride(1)) + " apart",
                        "rows of lags side by side");
  queue.wait(*own.ready);
  queue.wait(*own.latest);
  enqueue_flush(queue, kernels_, own);
  const std::size_t together = GpuState::read_pairs(layout_);
  const bool any = std::any_of(std::begin(views), std::end(views),
                               [](const auto& view) { return view.data() != nullptr; });
  for (std::size_t first = 0; first < pairs && any; first += together) {
    const std::size_t count = std::min(together, pairs - first);
    enqueue_read(queue, kernels_, own, first, count);
    for (std::size_t v = 0; v < std::size(views); ++v)
      if (views[v].data() != nullptr)
        queue.copy_rows(views[v].slice(0, first, count).data(),
                        static_cast<std::size_t>(views[v].stride(0)) * 8,
                        own.out.as<std::byte>() + v * count * lags * 8, lags * 8, lags * 8, count);
  }
  if (out.totals.data() != nullptr) write_totals(queue, own, out.totals);
  queue.record(*own.latest);
}

}  // namespace

bool has_matrix_design(const device::Device& device) {
  return device.api() == device::Api::cuda && device.properties().compute_capability >= 80;
}

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device,
                                      const GpuTunables& tunables, const std::string& origin) {
  return std::make_shared<GpuPlan>(config, std::move(device), tunables, origin);
}

}  // namespace tautline::stages::autocorrelate::gpu
