// Cuts a corner turn into tiles that fit the first-level cache, and divides them among threads.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "tautline/stages/corner_turn/backends.h"
#include "tautline/stages/corner_turn/cpu/kernels.h"

namespace tautline::stages::corner_turn {

namespace {

constexpr std::size_t kKernelChannels = 8;  // kernels transpose multiples of this

// A tile's pieces of spectra are too far apart for hardware prefetchers, so they are prefetched
// this many spectra ahead.
constexpr std::size_t kAheadSpectra = 8;

void prefetch(const std::complex<float>* spectrum, std::size_t channels) {
  constexpr std::size_t kLineChannels = 64 / sizeof(std::complex<float>);
  for (std::size_t c = 0; c < channels; c += kLineChannels) __builtin_prefetch(spectrum + c);
}

struct Tile {
  std::size_t input, first_spectrum, spectra, first_channel, channels;
};

class CpuPlan final : public Plan {
 public:
  CpuPlan(const Config& config, device::InstructionSet set, const Tunables& tunables)
      : config_(config), tunables_(tunables), kernels_(kernels_for(set)) {}

  const Config& config() const override { return config_; }
  std::string backend() const override { return std::string(device::to_string(kernels_.set)); }
  device::MemoryUse bytes() const override { return {sizeof(*this), 0}; }

  void execute(device::Queue& queue, const Spectra& spectra, const core::ValidityView& validity,
               const Gains& gains, const core::MutableSampleView<3>& samples,
               const Clipped& clipped) const override {
    require_views(config_, spectra, validity, gains, samples, clipped);
    with_samples(samples,
                 [&](const auto& typed) { run(queue, spectra, validity, gains, typed, clipped); });
  }

 private:
  template <class Sample>
  void run(device::Queue& queue, const Spectra& spectra, const core::ValidityView& validity,
           const Gains& gains, const core::View<Sample, 3>& samples, const Clipped& clipped) const {
    const std::size_t count = spectra.extent(1);
    const std::size_t spectrum_tiles = (count + kTileSpectra - 1) / kTileSpectra;
    const std::size_t channel_tiles = (config_.channels + kTileChannels - 1) / kTileChannels;
    const bool dense = spectra.stride(2) == 1 && samples.stride(2) == 1;
    queue.parallel_for(config_.inputs * channel_tiles * spectrum_tiles, tunables_.task_tiles,
                       [&](std::size_t first, std::size_t last, std::size_t) {
                         for (std::size_t k = first; k < last; ++k) {
                           const std::size_t s = k % spectrum_tiles * kTileSpectra;
                           const std::size_t c = k / spectrum_tiles % channel_tiles * kTileChannels;
                           const Tile tile{k / spectrum_tiles / channel_tiles, s,
                                           std::min(kTileSpectra, count - s), c,
                                           std::min(kTileChannels, config_.channels - c)};
                           std::uint64_t lost = 0;
                           if (dense) {
                             run_tile(spectra, validity, gains, samples, tile, lost);
                           } else {
                             transpose_plain(spectra, validity, gains, samples, tile.input, s,
                                             s + tile.spectra, c, c + tile.channels, lost);
                           }
                           if (lost > 0)
                             std::atomic_ref<std::uint64_t>(clipped(tile.input))
                                 .fetch_add(lost, std::memory_order_relaxed);
                         }
                       });
  }

  // Integers: requantises row by row into a tile of bytes, and transposes the tile.
  template <class Sample>
  void run_tile(const Spectra& spectra, const core::ValidityView& validity, const Gains& gains,
                const core::View<Sample, 3>& samples, const Tile& tile,
                std::uint64_t& clipped) const {
    alignas(64) std::array<float, 2 * kTileChannels> pairs;
    for (std::size_t c = 0; c < tile.channels; ++c)
      pairs[2 * c] = pairs[2 * c + 1] = gains(tile.first_channel + c, tile.input);
    alignas(64) std::array<core::ci8, kTileSpectra * kTileChannels> quantised;
    const int limit = core::requantise_limit(std::is_same_v<Sample, core::ci8> ? 8 : 4);
    for (std::size_t s = 0; s < tile.spectra; ++s) {
      core::ci8* row = quantised.data() + s * kTileChannels;
      if (s + kAheadSpectra < tile.spectra)
        prefetch(&spectra(tile.input, tile.first_spectrum + s + kAheadSpectra, tile.first_channel),
                 tile.channels);
      if (valid_spectrum(validity, tile.input, tile.first_spectrum + s)) {
        clipped +=
            kernels_.quantise(&spectra(tile.input, tile.first_spectrum + s, tile.first_channel),
                              pairs.data(), tile.channels, limit, row);
      } else {
        std::fill_n(row, tile.channels, core::ci8{});
      }
    }
    Sample* out = &samples(tile.first_channel, tile.input, tile.first_spectrum);
    const std::size_t vectors =
        tile.spectra == kTileSpectra ? tile.channels / kKernelChannels * kKernelChannels : 0;
    if constexpr (std::is_same_v<Sample, core::ci8>) {
      kernels_.transpose_ci8(quantised.data(), kTileChannels, vectors, out, samples.stride(0));
    } else {
      kernels_.transpose_ci4(quantised.data(), kTileChannels, vectors, out, samples.stride(0));
    }
    for (std::size_t c = vectors; c < tile.channels; ++c)
      for (std::size_t s = 0; s < tile.spectra; ++s) {
        const core::ci8 value = quantised[s * kTileChannels + c];
        Sample* to = out + static_cast<std::ptrdiff_t>(c) * samples.stride(0) + s;
        if constexpr (std::is_same_v<Sample, core::ci8>) {
          *to = value;
        } else {
          *to = core::ci4::pack(value.re, value.im);
        }
      }
  }

  // Floats: transposes the input, then clears invalid spectra.
  void run_tile(const Spectra& spectra, const core::ValidityView& validity, const Gains& gains,
                const core::View<std::complex<float>, 3>& samples, const Tile& tile,
                std::uint64_t& clipped) const {
    const std::size_t vectors =
        tile.spectra == kTileSpectra ? tile.channels / kKernelChannels * kKernelChannels : 0;
    kernels_.transpose_float(
        &spectra(tile.input, tile.first_spectrum, tile.first_channel), spectra.stride(1), vectors,
        &samples(tile.first_channel, tile.input, tile.first_spectrum), samples.stride(0));
    transpose_plain(spectra, validity, gains, samples, tile.input, tile.first_spectrum,
                    tile.first_spectrum + tile.spectra, tile.first_channel + vectors,
                    tile.first_channel + tile.channels, clipped);
    for (std::size_t s = tile.first_spectrum; s < tile.first_spectrum + tile.spectra; ++s) {
      if (valid_spectrum(validity, tile.input, s)) continue;
      for (std::size_t c = 0; c < vectors; ++c) samples(tile.first_channel + c, tile.input, s) = 0;
    }
  }

  Config config_;
  Tunables tunables_;
  const Kernels& kernels_;
};

}  // namespace

std::shared_ptr<const Plan> make_cpu_plan(const Config& config, device::InstructionSet set,
                                          const Tunables& tunables) {
  return std::make_shared<CpuPlan>(config, set, tunables);
}

}  // namespace tautline::stages::corner_turn
