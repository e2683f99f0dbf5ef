#include "tautline/stages/channelize/cpu/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tautline/core/error.h"
#include "tautline/core/validity.h"
#include "tautline/stages/channelize/cpu/history.h"

namespace tautline::stages::channelize {

namespace {

std::size_t padded(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// The buffer in which the samples of a tile that begins in the history are joined.
std::size_t joined_bytes(const Bank& bank, const Kernel& kernel) {
  return padded(((kernel.tile_spectra() - 1) * bank.hop + bank.span()) * bank.sample_bytes);
}

std::size_t max_spectra(const Bank& bank) {
  return bank.spectra(bank.span() - 1 + bank.config.max_samples);
}

struct TiledState final : State {
  TiledState(const Bank& bank, const Kernel& kernel, std::size_t worker_count)
      : history(bank),
        workers(worker_count),
        worker_bytes(padded(kernel.scratch_bytes()) + joined_bytes(bank, kernel)),
        scratch(workers * worker_bytes),
        valid_words(core::validity_words(max_spectra(bank))),
        valid(bank.config.inputs * valid_words),
        gains(bank.requantised() ? bank.config.inputs * bank.channels : 0) {}

  void reset() override { history.reset(); }
  std::size_t held_samples() const override { return history.held(); }
  std::vector<std::byte> save() const override { return history.save(); }
  void load(std::span<const std::byte> saved) override { history.load(saved); }

  History history;
  std::size_t workers, worker_bytes;
  device::Buffer scratch;
  std::size_t valid_words;
  std::vector<std::uint64_t> valid;  // [input][word] by spectrum
  std::vector<float> gains;          // [input][channel]
};

std::uint64_t bits_at(const std::uint64_t* row, std::size_t first, std::size_t count) {
  const std::size_t word = first / 64, shift = first % 64;
  std::uint64_t bits = row[word] >> shift;
  if (shift != 0 && shift + count > 64) bits |= row[word + 1] << (64 - shift);
  return bits & core::low_bits(count);
}

class TiledPlan final : public Plan {
 public:
  TiledPlan(std::shared_ptr<const Bank> bank, std::unique_ptr<Kernel> kernel,
            const Tunables& tunables, std::size_t workers)
      : Plan(std::move(bank)), kernel_(std::move(kernel)), tunables_(tunables), workers_(workers) {}

  std::string backend() const override { return kernel_->name(); }

  device::MemoryUse bytes() const override {
    const Config& c = bank_->config;
    return {.host_bytes =
                History::bytes(*bank_) + kernel_->table_bytes() +
                workers_ * (padded(kernel_->scratch_bytes()) + joined_bytes(*bank_, *kernel_)) +
                c.inputs * core::validity_words(max_spectra(*bank_)) * 8 +
                (bank_->requantised() ? c.inputs * c.channels * sizeof(float) : 0),
            .device_bytes = 0};
  }

  std::unique_ptr<State> make_state(const device::Queue& queue) const override {
    return std::make_unique<TiledState>(*bank_, *kernel_, queue.workers());
  }

 private:
  void run(device::Queue& queue, State& state, const Input& input, const OutputViews& output,
           std::size_t total) const override {
    auto& s = dynamic_cast<TiledState&>(state);
    check_queue(queue, s);
    if (total > 0) {
      prepare(queue, s, input, output, total);
      run_tiles(queue, s, input, output, total);
    }
    s.history.advance(input, total);
  }

  static void check_queue(const device::Queue& queue, const TiledState& s) {
    if (queue.workers() > s.workers)
      throw core::Error(
          core::ErrorKind::config, "queue", fmt::format("{} threads", queue.workers()),
          fmt::format("at most the {} of the queue that the state was made for", s.workers));
  }

  // Computes the validity of spectra and copies the gains of each input, for the tiles.
  void prepare(device::Queue& queue, TiledState& s, const Input& input, const OutputViews& output,
               std::size_t total) const {
    const std::size_t words = core::validity_words(total);
    queue.parallel_for(bank_->config.inputs, 1,
                       [&](std::size_t first, std::size_t last, std::size_t) {
                         for (std::size_t i = first; i < last; ++i) {
                           std::uint64_t* bits = s.valid.data() + i * s.valid_words;
                           bits[words - 1] = 0;
                           spectrum_validity(*bank_, s.history.mask(), input.validity, input.count,
                                             i, total, bits);
                           if (!output.valid.empty())
                             for (std::size_t w = 0; w < words; ++w) output.valid(i, w) = bits[w];
                           if (!bank_->requantised()) continue;
                           float* gains = s.gains.data() + i * bank_->channels;
                           for (std::size_t c = 0; c < bank_->channels; ++c)
                             gains[c] = output.gains(c, i);
                         }
                       });
  }

  void run_tiles(device::Queue& queue, TiledState& s, const Input& input, const OutputViews& output,
                 std::size_t total) const {
    const std::size_t size = kernel_->tile_spectra();
    const auto rows = output.samples.extent(0) * static_cast<std::size_t>(output.samples.stride(0));
    const bool past_cache = rows * bank_->value_bytes() >= tunables_.stream_bytes;
    // The position of the call's first spectrum in its tile.
    const std::size_t skew = kernel_->aligned() ? s.history.index() % size : 0;
    const std::size_t tiles = (skew + total + size - 1) / size;
    const std::size_t grain =
        std::max<std::size_t>(1, tunables_.grain_samples / (size * bank_->hop));
    queue.parallel_for(bank_->config.inputs * tiles, grain,
                       [&](std::size_t first, std::size_t last, std::size_t worker) {
                         for (std::size_t item = first; item < last; ++item) {
                           const std::size_t t = item % tiles;
                           const std::size_t begin = t == 0 ? 0 : t * size - skew;
                           const std::size_t end = std::min(total, (t + 1) * size - skew);
                           run_tile(s, input, output, item / tiles, begin, end - begin, past_cache,
                                    worker);
                         }
                       });
  }

  void run_tile(TiledState& s, const Input& input, const OutputViews& output, std::size_t row,
                std::size_t first, std::size_t count, bool past_cache, std::size_t worker) const {
    std::byte* scratch = s.scratch.as<std::byte>() + worker * s.worker_bytes;
    Tile tile;
    tile.samples =
        samples_at(s, input, row, first, count, scratch + padded(kernel_->scratch_bytes()));
    tile.input = row;
    tile.first = first;
    tile.count = count;
    tile.index = s.history.index() + first;
    tile.valid = bits_at(s.valid.data() + row * s.valid_words, first, count);
    tile.phase = input.phases.empty() ? nullptr : &input.phases[row];
    tile.gains = bank_->requantised() ? s.gains.data() + row * bank_->channels : nullptr;
    tile.output = &output;
    tile.past_cache = past_cache;
    const std::uint64_t clipped = kernel_->run(tile, scratch);
    if (clipped != 0)
      std::atomic_ref(output.clipped(row)).fetch_add(clipped, std::memory_order_relaxed);
  }

  // The contiguous samples of `count` spectra: in the caller's memory, or joined to the history.
  const std::byte* samples_at(const TiledState& s, const Input& input, std::size_t row,
                              std::size_t first, std::size_t count, std::byte* joined) const {
    const std::size_t bytes = bank_->sample_bytes, held = s.history.held();
    const std::size_t start = first * bank_->hop;
    const auto* fresh = static_cast<const std::byte*>(input.samples) + row * input.row_stride_bytes;
    if (start >= held) return fresh + (start - held) * bytes;
    const std::size_t length = (count - 1) * bank_->hop + bank_->span();
    const std::size_t old = std::min(length, held - start);
    std::memcpy(joined, s.history.samples(row) + start * bytes, old * bytes);
    if (length > old) std::memcpy(joined + old * bytes, fresh, (length - old) * bytes);
    return joined;
  }

  std::unique_ptr<Kernel> kernel_;
  Tunables tunables_;
  std::size_t workers_;  // of the device's queues, for bytes()
};

}  // namespace

std::shared_ptr<const Plan> make_tiled_plan(std::shared_ptr<const Bank> bank,
                                            std::unique_ptr<Kernel> kernel,
                                            const Tunables& tunables, std::size_t workers) {
  return std::make_shared<TiledPlan>(std::move(bank), std::move(kernel), tunables, workers);
}

}  // namespace tautline::stages::channelize
