#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "tautline/jit/program.h"
#include "tautline/stages/autocorrelate/gpu/kernels.h"
#include "tautline/stages/autocorrelate/gpu/plan.h"

namespace tautline::stages::autocorrelate::gpu {

namespace {

constexpr std::size_t kThreads = 64, kFoldThreads = 128, kCoarsenThreads = 256;

std::int64_t number(std::size_t value) {
  return static_cast<std::int64_t>(value);
}

// Threads go along the items first, so that the times of a single sensor fill a group.
Threads spread(std::size_t threads, std::size_t items) {
  const std::size_t x = std::min(threads, std::bit_ceil(items));
  return {x, threads / x};
}

// At most 32 threads along a row, which coalesces its loads; the others go along time.
Threads split(std::size_t threads, std::size_t items) {
  const std::size_t x = std::min({threads, std::bit_ceil(items), std::size_t{32}});
  return {x, threads / x};
}

class Builder {
 public:
  Builder(const GpuLayout& layout, const GpuTunables& tunables, const device::Device& device,
          GpuKernels& kernels)
      : layout_(layout),
        tunables_(tunables),
        device_(device),
        kernels_(kernels),
        most_threads_(std::max<std::size_t>(16, device.properties().max_group_threads)) {}

  void build_all() {
    kernels_.threads = split(std::min(kCoarsenThreads, most_threads_), layout_.config.sensors);
    kernels_.read_threads = std::min(kThreads, most_threads_);
    kernels_.enough_groups = 4 * device_.properties().multiprocessors;
    kernels_.gather = build("gather", with_threads(typed(0), kernels_.threads));
    if (layout_.folds == 0) {
      kernels_.totals = build("totals", with_threads(typed(0), kernels_.threads));
    } else {
      kernels_.fold_threads =
          spread(std::min(kFoldThreads, most_threads_), (layout_.config.sensors + 3) / 4);
      kernels_.fold =
          build("fold",
                with_threads(typed(0), kernels_.fold_threads).set("FOLDS", number(layout_.folds)));
    }
    kernels_.keep = build("keep", with_threads({}, kernels_.threads));
    build_matrix();
    for (std::size_t l = 0; l < layout_.levels.size(); ++l) {
      if (l + 1 < layout_.levels.size())
        kernels_.coarsen.push_back(l < layout_.folds ? nullptr : build_coarsen(l));
      kernels_.products.push_back(build_products(l));
      kernels_.read.push_back(build("read", typed(l)
                                                .set("SEPARATE", layout_.levels[l].separate ? 1 : 0)
                                                .set("COUNT", layout_.levels[0].type)
                                                .set("PAIRS", pairs())
                                                .set("THREADS", number(kernels_.read_threads))));
    }
  }

 private:
  KernelPointer build(const std::string& name, const jit::Defines& defines) {
    auto program = jit::build(device_, "autocorrelate/gpu/" + name + ".kernel", defines);
    auto kernel = program->kernel(name.substr(0, name.find('.')));
    kernels_.programs.push_back(std::move(program));
    return kernel;
  }
  jit::Defines typed(std::size_t level) const {
    return jit::Defines()
        .set("SAMPLE", layout_.levels[level].type)
        .set("VALUE", layout_.floats() ? "double" : "u64")
        .set("FLOATS", layout_.floats() ? 1 : 0);
  }
  static jit::Defines with_threads(jit::Defines defines, const Threads& threads) {
    return defines.set("THREADS_X", number(threads.x)).set("THREADS_Y", number(threads.y));
  }
  int pairs() const { return layout_.config.pairs.empty() ? 0 : 1; }

  KernelPointer build_coarsen(std::size_t level) {
    const GpuLevel& next = layout_.levels[level + 1];
    return build("coarsen", with_threads(typed(level), kernels_.threads)
                                .set("NEXT", next.type)
                                .set("COARSENING", static_cast<int>(layout_.config.coarsening))
                                .set("SEPARATE", next.separate ? 1 : 0));
  }

  bool on_matrix_units(const GpuLevel& level) const {
    return tunables_.design == GpuDesign::matrix && has_matrix_design(device_) &&
           fits_matrix_units(level);
  }
  static std::size_t planes_of(const GpuLevel& level) {
    return static_cast<std::size_t>((std::bit_width(level.largest) + 7) / 8);
  }
  static std::size_t blocks_of(const GpuLevel& level) {
    return level.range.steps <= 9 ? 2 : level.range.steps <= 25 ? 4 : 5;
  }

  void build_matrix() {
    for (std::size_t l = 0; l < layout_.levels.size(); ++l) {
      const GpuLevel& level = layout_.levels[l];
      if (!on_matrix_units(level)) break;
      // One launch takes consecutive levels of one kind. Level 0 has its own, since its rows lie in
      // other memory.
      if (l > 1) {
        const GpuLevel& last = layout_.levels[l - 1];
        if (kernels_.matrix.back().count < MatrixLevels::kMostLevels &&
            planes_of(level) == planes_of(last) && level.sample_bytes == last.sample_bytes &&
            blocks_of(level) == blocks_of(last)) {
          ++kernels_.matrix.back().count;
          continue;
        }
      }
      kernels_.matrix.push_back(matrix_levels(l));
    }
  }

  MatrixLevels matrix_levels(std::size_t first) {
    constexpr std::size_t kGroupBytes = 32, kStages = 2;
    constexpr std::size_t kSameWords = 580, kWords = 1156;  // COLUMN_WORDS of the kernel
    const GpuLevel& level = layout_.levels[first];
    const std::size_t blocks = blocks_of(level);
    MatrixLevels levels;
    levels.first = first;
    levels.count = 1;
    levels.lags = 8 * blocks - 7;
    levels.part = (tunables_.part_rows + MatrixLevels::kTileRows - 1) / MatrixLevels::kTileRows *
                  MatrixLevels::kTileRows;
    levels.group_pairs = kGroupBytes / level.sample_bytes;
    const bool same = first == 0 && pairs() == 0 && blocks == 5 && level.range.steps <= levels.lags;
    levels.local_bytes = kStages * 8 * 4 * (same ? kSameWords : kWords);
    levels.kernel = build("matrix.cuda", typed(first)
                                             .set("BYTES", number(level.sample_bytes))
                                             .set("PLANES", number(planes_of(level)))
                                             .set("BLOCKS", number(blocks))
                                             .set("PAIRS", pairs())
                                             .set("COUNTS", first == 0 ? 1 : 0)
                                             .set("SAME", same ? 1 : 0)
                                             .set("STAGES", number(kStages)));
    return levels;
  }

  Products build_products(std::size_t index) {
    const GpuLevel& level = layout_.levels[index];
    if (on_matrix_units(level)) return {};
    Products products;
    products.threads =
        spread(std::min(tunables_.threads, most_threads_), layout_.config.pair_count());
    products.lags = std::min(tunables_.lags, std::bit_ceil(level.range.steps));
    products.part = tunables_.part_rows;
    std::string product = layout_.floats() ? "double" : "u64";
    // 32-bit sums where enough of the largest possible products fit.
    constexpr std::size_t kEnough = 1024;
    if (level.largest > 0 && level.largest < 65536) {
      const auto fit = static_cast<std::size_t>(0xffffffff / (level.largest * level.largest));
      if (fit >= std::min(kEnough, products.part)) {
        product = "u32";
        products.part = std::min(products.part, fit);
      }
    }
    products.kernel = build("products", with_threads(typed(index), products.threads)
                                            .set("PRODUCT", product)
                                            .set("LAGS", number(products.lags))
                                            .set("PAIRS", pairs()));
    return products;
  }

  const GpuLayout& layout_;
  const GpuTunables& tunables_;
  const device::Device& device_;
  GpuKernels& kernels_;
  std::size_t most_threads_;
};

}  // namespace

GpuKernels make_kernels(const GpuLayout& layout, const GpuTunables& tunables,
                        const device::Device& device) {
  GpuKernels kernels;
  Builder(layout, tunables, device, kernels).build_all();
  return kernels;
}

}  // namespace tautline::stages::autocorrelate::gpu
