#include "tautline/stages/dedisperse/gpu/dispatch.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tautline/stages/dedisperse/gpu/tile_choice.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kReservedLocalBytes = 1024;  // the driver's own
// sum.kernel's, of a multiprocessor: 5.36 T adds/s on an H200. However few groups there are, they
// wait so many cycles for the rows of each position (LOFAR's 32, 16 to 64 trials;
// docs/performance/dedisperse.md).
constexpr double kAddsPerCycle = 23, kWaitForPosition = 950;
constexpr int kMatrixCapability = 80;  // mma.sync of bytes and cp.async
constexpr int kRolesCapability = 90;   // roles take registers as they need them

// What bands.kernel is tried with where nothing is told: bands of 16 channels in as large a block as
// local memory has room for the patterns of, else of 8, with four makers each. Measured on an H200
// (docs/performance/dedisperse.md).
struct UsualBands {
  std::size_t channels, elements_dm;
};
constexpr UsualBands kUsualBands[] = {{16, 16}, {16, 14}, {16, 12}, {8, 16}};
constexpr std::size_t kUsualMakers = 4, kMostSteps = 4;
// What tile.kernel takes beside that, of what it counts and of each row that a group stages: 17 lines
// on an H200, within 15 % but for one.
constexpr double kOfTiles = 0.83, kStagedRow = 190;
// Cycles of a group of bands until its first sums are made, and after the last: what two bands of
// LOFAR's without delays took beyond what is counted.
constexpr double kFillBands = 10000;

class Chooser {
 public:
  Chooser(const Problem& problem, const device::Device& device, std::size_t element_bytes,
          const GpuTunables& tunables)
      : problem_(problem), device_(device), element_bytes_(element_bytes) {
    made_.tunables = tunables;
    const bool usual = tunables == GpuTunables{};
    // An entry is one time where rows are no bytes: longer tiles waste less beside them.
    if (usual && element_bytes_ > 1 && device_.api() == device::Api::cuda)
      made_.tunables.elements_time = 8;
    choose_tiles();
    // Rows too far apart to stage are read best by fewer threads with more trials each.
    constexpr GpuTunables kWhereTheyLie{64, 4, 2, 8, 0};
    if (usual && (!made_.tile || tile_cycles(1, 0) > cycles_where_they_lie(kWhereTheyLie))) {
      made_.tunables = kWhereTheyLie;
      choose_tiles();
    }
    if (usual) {
      try_usual_bands();
    } else if (tunables.makers > 0 && bands_serve()) {
      made_.bands = make_band_program(problem_, made_.delays, band_shape(made_.tunables));
    }
    if (made_.bands) describe_bands();
    if (made_.bands && made_.tunables.tiles == 0) made_.tunables.tiles = most_tiles();
  }
  GpuChoice take() { return std::move(made_); }

 private:
  // Devices whose groups are small get fewer threads along trials, then along time.
  void fit_threads() {
    GpuTunables& t = made_.tunables;
    const std::size_t most = std::max<std::size_t>(16, device_.properties().max_group_threads);
    while (t.items_dm > 1 && t.items_time * t.items_dm > most) t.items_dm /= 2;
    while (t.items_time > 16 && t.items_time > most) t.items_time /= 2;
  }
  void choose_tiles() {
    fit_threads();
    const GpuTunables& t = made_.tunables;
    TileChoice chosen =
        choose_tile(problem_,
                    {t.items_time * t.elements_time, made_.tile_trials(), t.items_time * t.items_dm,
                     element_bytes_ == 1, local_bytes(t), channels_in_sum()},
                    t.levels);
    made_.delays = std::move(chosen.delays);
    made_.choice = std::move(chosen.choice);
    made_.tile = std::move(chosen.program);
  }
  // Whether calls that are too small for all multiprocessors count as longer than their share. Not
  // of floats: each kernel adds in an order of its own, so their sums would depend on the size of a
  // call. Not on OpenCL, whose compute units may be less than a group takes.
  bool sees_idle() const { return element_bytes_ == 1 && device_.api() == device::Api::cuda; }

  // Of a call: its groups take `cycles` for a tile of all trials, `dearest` in the block with most.
  double call_cycles(double cycles, double dearest, std::size_t tile_times) const {
    const auto times = static_cast<double>(problem_.max_new_samples() * problem_.config().beams);
    const auto all =
        static_cast<double>(std::max<std::size_t>(1, device_.properties().multiprocessors));
    const double share = cycles * times / static_cast<double>(tile_times) / all;
    return sees_idle() ? std::max(dearest, share) : share;
  }
  double blocks(std::size_t block_trials) const {
    return static_cast<double>((problem_.trials() + block_trials - 1) / block_trials);
  }
  // With the given parts of what is counted, and of each row that a group stages.
  double tile_cycles(double counted, double staged_row) const {
    const double rows = staged_row * static_cast<double>(problem_.positions());
    return call_cycles(counted * made_.tile->cycles + rows * blocks(made_.tile_trials()),
                       counted * made_.tile->dearest + rows, made_.tile_times(element_bytes_));
  }
  double band_cycles(const BandProgram& bands, const GpuTunables& t) const {
    return call_cycles(bands.cycles + kFillBands * blocks(t.items_dm * t.elements_dm),
                       bands.dearest + kFillBands, 2 * t.items_time * t.elements_time);
  }
  double cycles_where_they_lie(const GpuTunables& t) const {
    const std::size_t block = t.items_dm * t.elements_dm;
    const auto positions = static_cast<double>(problem_.positions());
    const double adds = positions * blocks(block) * static_cast<double>(block);
    return call_cycles(adds / kAddsPerCycle, positions * kWaitForPosition, 1);
  }
  std::size_t local_bytes(const GpuTunables& t) const {
    const std::size_t there = device_.properties().local_bytes;
    return std::min(t.local_kib << 10,
                    there > kReservedLocalBytes ? there - kReservedLocalBytes : 0);
  }
  std::size_t channels_in_sum() const {
    return element_bytes_ == 1 ? 65535 / problem_.max_value() : problem_.positions();
  }
  BandShape band_shape(const GpuTunables& t) const {
    return {t.items_time * t.elements_time,
            t.items_dm * t.elements_dm,
            t.band_channels,
            local_bytes(t),
            channels_in_sum(),
            t.elements_time * t.elements_dm % 4 == 0};
  }
  bool bands_serve() const {
    return element_bytes_ == 1 &&
           (made_.choice.method == Method::shared || made_.choice.method == Method::subband);
  }
  // By counting, against the tiles that there are already.
  void try_usual_bands() {
    if (!made_.tile || !bands_serve() || device_.api() != device::Api::cuda ||
        device_.properties().compute_capability != kRolesCapability)
      return;
    double least = tile_cycles(kOfTiles, kStagedRow);
    std::optional<GpuTunables> best;
    for (const UsualBands& usual : kUsualBands) {
      if (best && best->band_channels == usual.channels) continue;  // larger blocks come first
      GpuTunables t{64, 4, 8, usual.elements_dm};
      t.makers = kUsualMakers;
      t.band_channels = usual.channels;
      auto bands = make_band_program(problem_, made_.delays, band_shape(t));
      if (!bands || usual.channels * bands->window > kMostSteps * kTeamThreads) continue;
      const double cycles = band_cycles(*bands, t);
      if (cycles >= least) continue;
      least = cycles;
      best = t;
      made_.bands = std::move(bands);
    }
    if (!best) return;
    made_.tunables = *best;
    made_.tile.reset();
  }
  // Four makers have more registers each than eight.
  std::size_t most_tiles() const {
    const bool few_steps = made_.tunables.band_channels * made_.bands->window < 4 * kTeamThreads;
    if (made_.tunables.makers <= 4) return few_steps ? 6 : 5;
    return few_steps ? 4 : 3;
  }
  void describe_bands() {
    const GpuTunables& t = made_.tunables;
    made_.matrix = t.matrix && t.items_time * t.items_dm % kTeamThreads == 0 &&
                   device_.api() == device::Api::cuda &&
                   device_.properties().compute_capability >= kMatrixCapability;
    // Where roles have registers of their own: fetching takes next to none.
    if (made_.matrix && device_.properties().compute_capability == kRolesCapability &&
        t.items_time * t.items_dm % (4 * kTeamThreads) == 0 && t.makers == 4 && t.groups == 1)
      made_.fetchers = 4;
    Choice& choice = made_.choice;
    choice.adds = made_.bands->adds;
    choice.text = to_string(choice.method) + ", " +
                  std::to_string(choice.adds / choice.plain_adds).substr(0, 5) +
                  " of the plain adds, bands of " + std::to_string(t.band_channels) +
                  " channels with " + std::to_string(made_.bands->patterns).substr(0, 4) +
                  " patterns, " + std::to_string(t.makers) + " makers" +
                  (made_.matrix ? " by the matrix units, " : ", ");
    if (choice.method == Method::subband)
      choice.text += "loss of S/N " + std::to_string(100 * choice.loss).substr(0, 4) + " %, ";
    choice.text +=
        std::to_string((4 * made_.bands->local_words + 1023) / 1024) + " KiB of local memory";
  }

  const Problem& problem_;
  const device::Device& device_;
  std::size_t element_bytes_;
  GpuChoice made_;
};

}  // namespace

std::size_t GpuChoice::tile_times(std::size_t element_bytes) const {
  return tunables.items_time * tunables.elements_time * (bands ? 2 : element_bytes == 1 ? 4 : 1);
}

std::size_t GpuChoice::group_threads() const {
  return tunables.items_time * tunables.items_dm +
         (bands ? kTeamThreads * (tunables.makers + fetchers) : 0);
}

std::size_t gpu_element_bytes(const Problem& problem) {
  if (problem.float_sums()) return 4;
  return problem.max_value() <= 255 ? 1 : 2;
}

GpuChoice choose_gpu_sum(const Problem& problem, const device::Device& device,
                         std::size_t element_bytes, const GpuTunables& tunables) {
  return Chooser(problem, device, element_bytes, tunables).take();
}

}  // namespace tautline::stages::dedisperse
