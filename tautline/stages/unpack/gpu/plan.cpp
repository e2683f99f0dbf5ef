// Integers are decoded on the GPU, to rows in its memory, and floats that lie there already are
// checked there. Other floats, which must be checked for values that are not finite, and rows in
// host memory are unpacked by the CPU's kernels (and copied).
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/stages/unpack/backends.h"
#include "tautline/stages/unpack/gpu/gather.h"
#include "tautline/stages/unpack/gpu/kernels.h"

namespace tautline::stages::unpack {

namespace {

// Blocks in flight: one is filled, one is copied, one is unpacked.
constexpr std::size_t kBlocksInFlight = 3;

// The buffers of one block in flight.
struct Slot {
  device::Buffer pinned, raw, mask_pinned, mask;
  std::unique_ptr<device::Event> copied, read;
};

struct GpuState final : State {
  std::unique_ptr<device::Queue> copies;
  std::array<Slot, kBlocksInFlight> slots;
  std::size_t next = 0;
  device::Buffer places, targets, inputs, targets_pinned;
  std::size_t channel_stride = 0, row_stride = 0;  // strides that `targets` is for
  device::Buffer rows_pinned;                      // rows unpacked on the host, to copy
  device::Buffer found, found_pinned;              // validity and counts of floats on the device
  std::unique_ptr<State> host;
};

class GpuPlan final : public Plan {
 public:
  GpuPlan(Config config, std::shared_ptr<const device::Device> device, const Tunables& tunables)
      : config_(std::move(config)),
        device_(std::move(device)),
        gather_(config_),
        layout_(config_.blocks_on_device ? unpacked_layout(config_) : gather_.layout()),
        rows_(rows_by_place(layout_)),
        on_host_(make_cpu_plan(config_, device_->instruction_set(), tunables)),
        kernels_(make_kernels(config_, layout_, *device_)) {}

  const Config& config() const override { return config_; }
  std::string backend() const override {
    const std::string api = device_->api() == device::Api::cuda ? "cuda" : "opencl";
    if (kernels_.check) return api + ", checked";
    if (!kernels_.unpack) return on_host_->backend() + ", copied to " + api;
    return api + (kernels_.by_row ? ", transposed" : ", contiguous");
  }
  device::MemoryUse bytes() const override {
    const std::size_t raw = gather_.bytes(config_.max_samples);
    if (kernels_.check) return {mask_bytes() + found_bytes(), mask_bytes() + found_bytes()};
    if (!kernels_.unpack) return {on_host_->bytes().host_bytes + row_bytes() * rows_.size(), 0};
    if (config_.blocks_on_device)
      return {kBlocksInFlight * mask_bytes(), kBlocksInFlight * mask_bytes() + rows_.size() * 20};
    return {kBlocksInFlight * (raw + mask_bytes()),
            kBlocksInFlight * (raw + mask_bytes()) + rows_.size() * 20};
  }
  std::unique_ptr<State> make_state(device::Queue& queue) const override;
  Result execute(device::Queue& queue, State& state, const core::RawBlock& block,
                 const core::MutableSampleView<3>& samples,
                 const core::View<std::uint64_t, 2>& validity) const override;

 private:
  std::size_t mask_bytes() const {
    return config_.layout.inputs() * core::validity_words(config_.max_samples) * 8;
  }
  // Validity, and a count for each of its words.
  std::size_t found_bytes() const { return mask_bytes() / 2 * 3; }
  std::size_t row_bytes() const {
    return config_.max_samples * core::bytes_of(unpacked_type(config_.layout.format));
  }

  Result copy_rows(device::Queue& queue, GpuState& state, const core::RawBlock& block,
                   const Target& target) const;
  Result check_floats(device::Queue& queue, GpuState& state, const core::RawBlock& block,
                      const Target& target) const;
  void aim(device::Queue& queue, GpuState& state, const Target& target) const;
  void launch(device::Queue& queue, const GpuState& state, const Slot& slot, const void* raw,
              const core::RawBlock& block, std::byte* samples, bool masked) const;
  void gather(device::Queue& queue, const core::RawBlock& block, std::byte* pinned) const;

  Config config_;
  std::shared_ptr<const device::Device> device_;
  Gather gather_;
  core::RawLayout layout_;  // of the bytes on the device, for the unpacked channels
  std::vector<PlacedRow> rows_;
  std::shared_ptr<const Plan> on_host_;
  GpuKernels kernels_;
};

std::unique_ptr<State> GpuPlan::make_state(device::Queue& queue) const {
  auto state = std::make_unique<GpuState>();
  state->host = on_host_->make_state(queue);
  if (kernels_.check) {
    Slot& slot = state->slots[0];
    slot.mask_pinned = device_->allocate_pinned(mask_bytes());
    slot.mask = device_->allocate(mask_bytes());
    state->found_pinned = device_->allocate_pinned(found_bytes());
    state->found = device_->allocate(found_bytes());
    return state;
  }
  if (!kernels_.unpack) {
    state->rows_pinned = device_->allocate_pinned(rows_.size() * row_bytes());
    return state;
  }
  state->copies = device_->make_queue();
  const std::size_t raw = config_.blocks_on_device ? 0 : gather_.bytes(config_.max_samples);
  for (Slot& slot : state->slots)
    slot = {raw > 0 ? device_->allocate_pinned(raw) : device::Buffer(),
            raw > 0 ? device_->allocate(raw) : device::Buffer(),
            device_->allocate_pinned(mask_bytes()),
            device_->allocate(mask_bytes()),
            device_->make_event(),
            device_->make_event()};
  std::vector<std::uint64_t> places;
  std::vector<std::uint32_t> inputs;
  for (const PlacedRow& row : rows_) {
    places.push_back(row.place_bits);
    inputs.push_back(row.input);
  }
  state->places = device_->allocate(places.size() * 8);
  state->inputs = device_->allocate(inputs.size() * 4);
  state->targets = device_->allocate(rows_.size() * 8);
  state->targets_pinned = device_->allocate_pinned(rows_.size() * 8);
  queue.copy(state->places.data(), places.data(), places.size() * 8);
  queue.copy(state->inputs.data(), inputs.data(), inputs.size() * 4);
  queue.synchronise();
  return state;
}

// Updates the addresses of rows if the caller's strides have changed.
void GpuPlan::aim(device::Queue& queue, GpuState& state, const Target& target) const {
  if (state.channel_stride == target.channel_stride_bytes &&
      state.row_stride == target.row_stride_bytes)
    return;
  queue.synchronise();
  for (std::size_t r = 0; r < rows_.size(); ++r)
    state.targets_pinned.as<std::uint64_t>()[r] =
        rows_[r].channel * target.channel_stride_bytes + rows_[r].input * target.row_stride_bytes;
  queue.copy(state.targets.data(), state.targets_pinned.data(), rows_.size() * 8);
  state.channel_stride = target.channel_stride_bytes;
  state.row_stride = target.row_stride_bytes;
}

Result GpuPlan::execute(device::Queue& queue, State& state, const core::RawBlock& block,
                        const core::MutableSampleView<3>& samples,
                        const core::View<std::uint64_t, 2>& validity) const {
  auto& own = dynamic_cast<GpuState&>(state);
  if (config_.blocks_on_device &&
      !(device_->holds(samples.data()) && device_->holds(block.bytes.data())))
    throw core::Error(core::ErrorKind::config, "unpack block and samples", "in the host's memory",
                      "both in the device's, as blocks_on_device says");
  if (!device_->holds(samples.data()))
    return on_host_->execute(queue, *own.host, block, samples, validity);
  const Target target = checked_target(config_, block, samples, validity);
  if (block.samples == 0) return {};
  if (kernels_.check) return check_floats(queue, own, block, target);
  if (!kernels_.unpack) return copy_rows(queue, own, block, target);
  const bool masked = !block.invalid.empty();
  mark_lost(block, target, 0, block.samples);
  aim(queue, own, target);

  Slot& slot = own.slots[own.next];
  own.next = (own.next + 1) % kBlocksInFlight;
  slot.copied->synchronise();  // the pinned memory may be overwritten
  Result result;
  const void* raw = block.bytes.data();
  if (!config_.blocks_on_device) {
    result.sent_bytes = gather_.bytes(block.samples);
    gather(queue, block, slot.pinned.as<std::byte>());
    own.copies->wait(*slot.read);
    own.copies->copy(slot.raw.data(), slot.pinned.data(), result.sent_bytes);
    raw = slot.raw.data();
  } else if (masked) {
    own.copies->wait(*slot.read);
  }
  if (masked) {
    const std::size_t words = core::validity_words(block.samples);
    for (std::size_t i = 0; i < config_.layout.inputs(); ++i)
      std::memcpy(slot.mask_pinned.as<std::uint64_t>() + i * words, validity.row(i), words * 8);
    const std::size_t mask = config_.layout.inputs() * words * 8;
    own.copies->copy(slot.mask.data(), slot.mask_pinned.data(), mask);
    result.sent_bytes += mask;
  }
  own.copies->record(*slot.copied);
  queue.wait(*slot.copied);
  launch(queue, own, slot, raw, block, target.samples, masked);
  queue.record(*slot.read);
  return result;
}

// Waits for what it finds.
Result GpuPlan::check_floats(device::Queue& queue, GpuState& state, const core::RawBlock& block,
                             const Target& target) const {
  const core::RawLayout& layout = config_.layout;
  const std::size_t inputs = layout.inputs(), words = core::validity_words(block.samples);
  const std::size_t all = inputs * words;
  const Slot& slot = state.slots[0];
  const bool masked = !block.invalid.empty();
  Result result;
  if (masked) {
    mark_lost(block, target, 0, block.samples);
    for (std::size_t i = 0; i < inputs; ++i)
      std::memcpy(slot.mask_pinned.as<std::uint64_t>() + i * words, target.validity.row(i),
                  words * 8);
    queue.copy(slot.mask.data(), slot.mask_pinned.data(), all * 8);
    result.sent_bytes = all * 8;
  }
  const auto words_of = [](std::size_t bits) { return static_cast<std::uint64_t>(bits / 32); };
  const auto u32 = [](std::size_t value) { return static_cast<std::uint32_t>(value); };
  std::byte* const found = state.found.as<std::byte>();
  queue.run(*kernels_.check, {.groups = {all, 1, 1}, .threads = {kFloatTimes, 1, 1}},
            block.bytes.data(), slot.mask.data(), found, found + all * 8, target.samples,
            words_of(layout.offset_bits), words_of(layout.time_stride_bits),
            words_of(layout.channel_stride_bits), words_of(layout.antenna_stride_bits),
            words_of(layout.polarisation_stride_bits),
            static_cast<std::uint64_t>(target.channel_stride_bytes / 4),
            static_cast<std::uint64_t>(target.row_stride_bytes / 4),
            static_cast<std::uint64_t>(block.samples), u32(layout.polarisations),
            u32(layout.channels), u32(config_.first_channel), u32(config_.unpacked_channels()),
            u32(words), u32(masked ? 1 : 0));
  queue.copy(state.found_pinned.data(), found, all * 12);
  queue.synchronise();
  const auto* valid = state.found_pinned.as<std::uint64_t>();
  const auto* counts = state.found_pinned.as<std::uint32_t>() + 2 * all;
  for (std::size_t i = 0; i < inputs; ++i)
    std::copy_n(valid + i * words, words, target.validity.row(i));
  result.not_finite = std::accumulate(counts, counts + all, std::uint64_t{0});
  return result;
}

// Copies a block's pieces to pinned memory on all threads; a single piece is divided among them.
void GpuPlan::gather(device::Queue& queue, const core::RawBlock& block, std::byte* pinned) const {
  constexpr std::size_t kGrain = std::size_t{1} << 20;
  const std::size_t pieces = gather_.pieces(block.samples);
  if (pieces > 1) {
    const std::size_t together =
        std::max<std::size_t>(1, kGrain / gather_.piece_bytes(block.samples));
    queue.parallel_for((pieces + together - 1) / together, 1,
                       [&](std::size_t first, std::size_t last, std::size_t) {
                         gather_.copy(block.bytes, pinned, block.samples, first * together,
                                      std::min(pieces, last * together));
                       });
    return;
  }
  const std::size_t bytes = gather_.bytes(block.samples);
  const std::byte* piece = block.bytes.data() + gather_.first_byte();
  queue.parallel_for((bytes + kGrain - 1) / kGrain, 1,
                     [&](std::size_t first, std::size_t last, std::size_t) {
                       const std::size_t from = first * kGrain, to = std::min(bytes, last * kGrain);
                       std::memcpy(pinned + from, piece + from, to - from);
                     });
}

void GpuPlan::launch(device::Queue& queue, const GpuState& state, const Slot& slot, const void* raw,
                     const core::RawBlock& block, std::byte* samples, bool masked) const {
  const core::SampleFormat& format = config_.layout.format;
  queue.run(*kernels_.unpack,
            {.groups = {(block.samples + kGroupTimes - 1) / kGroupTimes,
                        (rows_.size() + kGroupRows - 1) / kGroupRows, 1},
             .threads = {kGroupThreads, 1, 1}},
            raw, state.places.data(), state.targets.data(), state.inputs.data(), slot.mask.data(),
            samples, static_cast<std::uint64_t>(layout_.time_stride_bits),
            static_cast<std::uint64_t>(block.samples), static_cast<std::uint32_t>(rows_.size()),
            static_cast<std::uint32_t>(core::validity_words(block.samples)),
            static_cast<std::uint32_t>(masked ? 1 : 0),
            static_cast<std::uint32_t>(format.encoding == core::Encoding::offset_binary ? 1 : 0));
}

// Unpacks on the host, then copies rows to the device.
Result GpuPlan::copy_rows(device::Queue& queue, GpuState& state, const core::RawBlock& block,
                          const Target& target) const {
  const std::size_t channels = config_.unpacked_channels(), inputs = config_.layout.inputs();
  queue.synchronise();  // the previous block's rows have been copied
  const core::SampleType type = unpacked_type(config_.layout.format);
  const core::MutableSampleView<3> rows(state.rows_pinned.data(), type,
                                        {channels, inputs, config_.max_samples});
  Result result = on_host_->execute(queue, *state.host, block, rows, target.validity);
  const std::size_t bytes = block.samples * core::bytes_of(type);
  for (std::size_t c = 0; c < channels; ++c)
    queue.copy_rows(target.row(c, 0), target.row_stride_bytes,
                    state.rows_pinned.as<std::byte>() + c * inputs * row_bytes(), row_bytes(),
                    bytes, inputs);
  result.sent_bytes = channels * inputs * bytes;
  return result;
}

}  // namespace

std::shared_ptr<const Plan> make_gpu_plan(const Config& config,
                                          std::shared_ptr<const device::Device> device,
                                          const Tunables& tunables) {
  return std::make_shared<GpuPlan>(config, std::move(device), tunables);
}

}  // namespace tautline::stages::unpack
