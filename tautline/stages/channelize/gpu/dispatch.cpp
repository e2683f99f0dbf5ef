#include "tautline/stages/channelize/gpu/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "tautline/core/error.h"
#include "tautline/stages/channelize/gpu/layout.h"

namespace tautline::stages::channelize::gpu {

namespace {

constexpr std::size_t kMostSpectra = 1024;
constexpr std::size_t kWorkBytes = std::size_t{256} << 20;

[[noreturn]] void refuse_tunable(const char* field, std::size_t value, const std::string& limit) {
  throw core::Error(core::ErrorKind::config, std::string("channelize GPU tunable ") + field,
                    fmt::format("{}", value), limit);
}

bool power_of_two_up_to(std::size_t value, std::size_t most) {
  return std::has_single_bit(value) && value <= most;
}

// Whether GpuTunables::fetch is supported.
bool fits_fetch(const GpuTunables& t, const Bank& bank, const Target& target) {
  constexpr std::size_t kCopied = 16;  // bytes
  return bank.hop == bank.frame && t.filter_spectra * t.positions * (t.symmetry + 1) <= t.points &&
         bank.frame * bank.sample_bytes % kCopied == 0 &&
         // PoCL 3.1 with LLVM 15 computes wrong sums for some sizes with 32 points.
         (!target.host_cpu || t.points <= 16);
}

bool fits_fused(const GpuTunables& t, const Bank& bank, const Target& target) {
  constexpr std::size_t kFewest = 64;  // with fewer channels groups do too little work
  if (!std::has_single_bit(bank.channels) || bank.channels < kFewest) return false;
  if (t.points > bank.channels / 2) return false;
  if (radices_of(bank.channels, t.points)[0] == 0) return false;
  if (t.fetch == 1 && !fits_fetch(t, bank, target)) return false;
  const TransformSizes sizes = fused_sizes(t, bank);
  return sizes.threads <= target.group_threads && sizes.local_bytes <= target.local_bytes;
}

bool fits_split(const GpuTunables& t, const Bank& bank, const Target& target) {
  if (t.fetch == 1) return false;
  if (bank.real || bank.hop != bank.frame || !std::has_single_bit(bank.channels)) return false;
  const SplitSizes sizes = split_sizes(t, bank);
  return sizes.parts >= 4 && sizes.parts <= t.points && sizes.columns >= t.positions &&
         sizes.rest.radices[0] != 0 &&
         std::max(sizes.first.threads, sizes.rest.threads) <= target.group_threads &&
         std::max(sizes.first.local_bytes, sizes.rest.local_bytes) <= target.local_bytes;
}

bool fits(const GpuTunables& t, const Bank& bank, const Target& target) {
  switch (t.design) {
    case GpuDesign::fused:
      return fits_fused(t, bank, target);
    case GpuDesign::split:
      return fits_split(t, bank, target);
    default:
      return t.fetch == 0;
  }
}

void check_ranges(const GpuTunables& t) {
  constexpr std::size_t kLeastBytes = std::size_t{1} << 20;
  if (t.points < 4 || !power_of_two_up_to(t.points, 32))
    refuse_tunable("points", t.points, "4, 8, 16, 32");
  if (!power_of_two_up_to(t.spectra, kMostSpectra))
    refuse_tunable("spectra", t.spectra, fmt::format("a power of two up to {}", kMostSpectra));
  if (!power_of_two_up_to(t.positions, 8)) refuse_tunable("positions", t.positions, "1, 2, 4 or 8");
  if (t.filter_spectra < 1 || t.filter_spectra > 16 || t.spectra % t.filter_spectra != 0)
    refuse_tunable("filter_spectra", t.filter_spectra, "1 to 16, a divisor of spectra");
  if (t.groups < 1 || t.groups > 16) refuse_tunable("groups", t.groups, "1 to 16");
  if (t.conversion > 2)
    refuse_tunable("conversion", static_cast<std::size_t>(t.conversion), "0, 1 or 2");
  if (t.fetch > 1) refuse_tunable("fetch", static_cast<std::size_t>(t.fetch), "0 or 1");
  if (t.symmetry > 1) refuse_tunable("symmetry", static_cast<std::size_t>(t.symmetry), "0 or 1");
  if (t.slab_bytes < kLeastBytes) refuse_tunable("slab_bytes", t.slab_bytes, "1 MiB or more");
  if (t.work_bytes < kLeastBytes) refuse_tunable("work_bytes", t.work_bytes, "1 MiB or more");
}

template <class T>
void fill(T& field, T value) {
  if (field <= T{}) field = value;
}

// Values of a group: 128 threads of 32 points, so that one group filters while another transforms.
// More where such groups read coefficients or samples too often (many taps, long frames, real float
// samples), or write pieces of corner-turned rows that are too short.
std::size_t group_values(const Bank& bank) {
  constexpr std::size_t kManyTaps = 32;
  const bool real_float = bank.real && bank.config.input.is_float();
  if (bank.channels > 4096) return 16384;
  if (bank.channels == 4096) return bank.requantised() ? 16384 : 8192;
  if (bank.channels == 2048) return bank.requantised() ? 8192 : 4096;
  if (bank.taps >= kManyTaps || real_float) return 8192;
  return bank.requantised() && bank.channels == 1024 ? 8192 : 4096;
}

void complete_reading(GpuTunables& t, const Bank& bank, const Target& target) {
  // Mirror images need narrower loads. They are faster where coefficients or registers are the
  // limit.
  constexpr std::size_t kFewTaps = 8, kManyTaps = 32, kShortFrame = 1024;
  const bool crowded = bank.channels > kShortFrame || bank.taps >= kManyTaps ||
                       (bank.channels == kShortFrame &&
                        (bank.taps > kFewTaps || bank.real != bank.config.input.is_float()));
  constexpr std::size_t kMostSums = 16;  // of one side
  const bool paired = t.design == GpuDesign::fused && bank.hop == bank.frame &&
                      t.filter_spectra * t.positions <= kMostSums;
  if (t.symmetry < 0) t.symmetry = paired && crowded ? 1 : 0;
  if (t.fetch >= 0) return;
  // A group that fills a multiprocessor alternates between filter and transform, and nothing runs
  // while it waits for samples. Of smaller groups, others run meanwhile.
  constexpr std::size_t kLongFrame = 8192;
  GpuTunables fetching = t;
  fetching.fetch = 1;
  const bool bytes = !bank.real && bank.sample_bytes == 2;
  t.fetch = t.design == GpuDesign::fused && bank.channels >= kLongFrame && bytes &&
                    bank.config.output == Output::spectra_float && bank.hop == bank.frame &&
                    !target.host_cpu && t.points == 32 &&
                    t.filter_spectra * t.positions * (t.symmetry + 1) <= t.points &&
                    fused_sizes(fetching, bank).local_bytes <= target.local_bytes
                ? 1
                : 0;
}

std::size_t default_positions(const GpuTunables& t, const Bank& bank) {
  // With two positions a warp of the filter kernel stores whole lines.
  if (t.design == GpuDesign::separate || bank.config.input.is_float()) return 2;
  if (t.design == GpuDesign::split || t.fetch == 1) return 4;
  constexpr std::size_t kShortFrame = 1024, kLongFrame = 2048, kFewTaps = 8;
  if (t.symmetry == 1 && bank.channels <= kShortFrame) return 2;
  if (t.symmetry == 1)
    return bank.channels > 8192 || (bank.channels > 2048 && bank.taps <= 4 && !bank.requantised())
               ? 8
               : 4;
  const bool bytes = bank.sample_bytes * (bank.real ? 2 : 1) == 2;
  if (bank.channels >= kLongFrame && bytes) return 8;
  const bool narrow = bank.requantised() || bank.channels < kShortFrame;
  return narrow && bytes && !bank.real && bank.taps > kFewTaps ? 2 : 4;
}

// The conversion instruction's unit is the bottleneck where samples are converted more than a few
// times.
int default_conversion(const GpuTunables& t, const Bank& bank) {
  constexpr std::size_t kShortFrame = 1024, kFewTaps = 8, kManyTaps = 32;
  if (t.design == GpuDesign::separate) return 0;
  if (t.design == GpuDesign::split) return 2;
  if (bank.channels > kShortFrame) return 1;
  if (bank.taps <= kFewTaps) return t.symmetry == 1 || bank.requantised() ? 1 : 0;
  if (bank.channels < kShortFrame) return bank.requantised() && bank.taps >= kManyTaps ? 1 : 0;
  return bank.requantised() && bank.taps < kManyTaps ? 2 : 1;
}

std::size_t default_filter_spectra(const GpuTunables& t, const Bank& bank) {
  // Sums and coefficients share the registers: real input, with two coefficients a value, has half
  // as many spectra.
  const bool wide = bank.config.input.is_float();
  std::size_t spectra = bank.real && !wide ? 4 : 8;
  if (t.design == GpuDesign::separate) spectra = bank.hop != bank.frame || bank.real ? 8 : 16;
  const std::size_t sides = t.symmetry == 1 ? 2 : 1;
  if (t.fetch == 1)
    spectra = std::min(spectra, std::max<std::size_t>(1, t.points / sides / t.positions));
  return std::min(t.spectra, spectra);
}

void complete_filter(GpuTunables& t, const Bank& bank, bool host_cpu) {
  std::size_t positions = default_positions(t, bank);
  while (bank.channels % positions != 0) positions /= 2;
  if (t.fetch == 1) positions = std::min(positions, t.points);
  fill(t.positions, positions);
  fill(t.filter_spectra, default_filter_spectra(t, bank));
  if (t.conversion < 0) t.conversion = default_conversion(t, bank);
  // Where sums leave few registers, a loop keeps the compiler from loading too many rows ahead.
  const std::size_t unrolled = t.symmetry == 1 && !host_cpu ? 64 : 32;
  fill<std::size_t>(t.unrolled_taps, t.filter_spectra * t.positions > 16 ? 8 : unrolled);
}

void complete_groups(GpuTunables& t, const Bank& bank) {
  if (t.design == GpuDesign::split) fill<std::size_t>(t.groups, 2);
  const std::size_t values = t.spectra * bank.channels;
  // More taps and wider samples need more registers for loads in flight.
  constexpr std::size_t kFewTaps = 8;
  const bool complex_float = bank.config.input.is_float() && !bank.real;
  const bool light =
      t.filter_spectra * t.positions * (t.symmetry + 1) <= 16 &&
      (t.symmetry == 1
           ? bank.sample_bytes * (bank.real ? 2 : 1) == 2
           : bank.taps <= kFewTaps && ((bank.sample_bytes == 2 && !bank.real) || complex_float));
  fill<std::size_t>(t.groups, values <= 4096 ? (light ? 5 : 4) : values <= 8192 ? 2 : 1);
}

// The defaults of one design, or nothing if it does not support the bank or does not fit.
std::optional<GpuTunables> complete_design(GpuDesign design, const GpuTunables& tunables,
                                           const Bank& bank, const Target& target) {
  GpuTunables t = tunables;
  t.design = design;
  fill(t.work_bytes, kWorkBytes);
  const std::size_t points = target.host_cpu && bank.channels <= 4096 ? 16 : 32;
  fill(t.points, std::min(points, std::max<std::size_t>(4, std::bit_floor(bank.channels) / 2)));
  const bool given = t.spectra != 0;
  if (!given)
    t.spectra = design == GpuDesign::fused
                    ? std::clamp<std::size_t>(group_values(bank) / std::bit_ceil(bank.channels), 1,
                                              kMostSpectra)
                : design == GpuDesign::split ? 8
                                             : 16;
  for (;; t.spectra /= 2) {
    GpuTunables whole = t;
    complete_reading(whole, bank, target);
    complete_filter(whole, bank, target.host_cpu);
    complete_groups(whole, bank);
    check_ranges(whole);
    if (fits(whole, bank, target)) return whole;
    if (given || t.spectra == 1) return {};
  }
}

// Whether a separate filter and the device's FFT are faster. They are where few spectra fit a
// multiprocessor: groups then read samples and coefficients again, and write short pieces of
// corner-turned rows.
bool separate_pays(const Bank& bank, const Target& target) {
  constexpr std::size_t kLongFrame = 4096, kLongestFrame = 16384, kManyTaps = 64, kSomeTaps = 32;
  if (target.api != device::Api::cuda || bank.real || bank.hop != bank.frame ||
      bank.channels > kLongestFrame)
    return false;
  if (bank.channels == kLongestFrame) return bank.requantised() || bank.taps >= kSomeTaps;
  return bank.channels >= kLongFrame && bank.taps >= kManyTaps && !bank.requantised();
}

}  // namespace

Target Target::of(const device::Device& device) {
  const device::Properties& p = device.properties();
  return {device.api(), p.local_bytes, p.max_group_threads, p.host_cpu};
}

std::string name(GpuDesign design) {
  constexpr const char* kNames[] = {"automatic", "fused", "split", "separate"};
  return kNames[static_cast<std::size_t>(design)];
}

std::string describe(const GpuTunables& t) {
  std::string text = name(t.design);
  if (t.design != GpuDesign::separate)
    text += fmt::format(", {} spectra of {} points a thread", t.spectra, t.points);
  return text + fmt::format(", filter {} x {}{}", t.filter_spectra, t.positions,
                            t.fetch == 1 ? ", samples fetched" : "");
}

GpuTunables complete(const GpuTunables& tunables, const Bank& bank, const Target& target) {
  constexpr GpuDesign kBestFirst[] = {GpuDesign::fused, GpuDesign::split, GpuDesign::separate};
  if (tunables.design != GpuDesign::automatic) {
    if (const auto whole = complete_design(tunables.design, tunables, bank, target)) return *whole;
    throw core::Error(core::ErrorKind::unsupported, "channelize GPU design", name(tunables.design),
                      fmt::format("one that has code for {} channels and fits {} bytes of local "
                                  "memory and {} threads",
                                  bank.channels, target.local_bytes, target.group_threads),
                      "let the plan choose");
  }
  if (separate_pays(bank, target))
    if (const auto whole = complete_design(GpuDesign::separate, tunables, bank, target))
      return *whole;
  for (const GpuDesign design : kBestFirst)
    if (const auto whole = complete_design(design, tunables, bank, target)) return *whole;
  throw core::Error(core::ErrorKind::unsupported, "channelize GPU tunables", describe(tunables),
                    "values that fit the device together", "let the plan choose");
}

GpuTunables choose_tunables(const Tunables& tunables, const Bank& bank,
                            const device::Device& device) {
  GpuTunables gpu = tunables.gpu;
  if (gpu.design == GpuDesign::automatic && bank.channels > tunables.fused_max_channels)
    gpu.design = GpuDesign::separate;
  const GpuTunables whole = complete(gpu, bank, Target::of(device));
  constexpr std::size_t kMostFused = 16384;
  const bool has_kernel = std::has_single_bit(bank.channels) && bank.channels <= kMostFused;
  if (gpu.design != GpuDesign::automatic || whole.design != GpuDesign::separate || !has_kernel)
    return whole;
  try {
    device.make_fft(bank.channels, 1);
    return whole;
  } catch (const core::Error& error) {
    if (error.kind() != core::ErrorKind::unsupported) throw;
  }
  // The device has no FFT library, so a fused kernel runs where one fits.
  gpu.design = GpuDesign::fused;
  try {
    return complete(gpu, bank, Target::of(device));
  } catch (const core::Error&) {
    return whole;  // making its kernels throws an error that names the library
  }
}

std::unique_ptr<Kernels> make_kernels(const BankPointer& bank, const DevicePointer& device,
                                      const GpuTunables& tunables) {
  switch (tunables.design) {
    case GpuDesign::fused:
      return make_fused_kernels(bank, device, tunables);
    case GpuDesign::split:
      return make_split_kernels(bank, device, tunables);
    default:
      return make_separate_kernels(bank, device, tunables);
  }
}

}  // namespace tautline::stages::channelize::gpu
