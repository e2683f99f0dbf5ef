// Chooses the kernels for a layout, once, and cuts blocks into tiles.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "tautline/core/half.h"
#include "tautline/core/sample_decode.h"
#include "tautline/stages/unpack/backends.h"
#include "tautline/stages/unpack/cpu/kernels.h"

namespace tautline::stages::unpack {

namespace {

constexpr std::size_t kColumnBytes = 64;  // unpacked bytes of one time that are transposed together

// Rows whose samples are contiguous at every time.
struct Run {
  std::size_t offset_bits = 0;
  std::size_t first_row = 0;
  std::size_t rows = 0;
};

enum class Method {
  contiguous,  // the samples of a row are contiguous: copy or expand
  transposed,  // the samples of a time are contiguous: transpose
  plain        // all other layouts: sample by sample
};

class CpuPlan final : public Plan {
 public:
  CpuPlan(Config config, device::InstructionSet set, const Tunables& tunables)
      : config_(std::move(config)),
        layout_(unpacked_layout(config_)),
        tunables_(tunables),
        kernels_(kernels_for(set)),
        rows_(rows_by_place(layout_)) {
    find_runs();
    choose_method();
  }

  const Config& config() const override { return config_; }
  std::string backend() const override {
    const char* how = method_ == Method::contiguous   ? "contiguous"
                      : method_ == Method::transposed ? "transposed"
                                                      : "sample by sample";
    return std::string(device::to_string(kernels_.set)) + ", " + how;
  }
  device::MemoryUse bytes() const override {
    return {sizeof(*this) + rows_.capacity() * sizeof(PlacedRow) + runs_.capacity() * sizeof(Run),
            0};
  }

  std::unique_ptr<State> make_state(device::Queue&) const override {
    return std::make_unique<State>();
  }

  Result execute(device::Queue& queue, State&, const core::RawBlock& block,
                 const core::MutableSampleView<3>& samples,
                 const core::View<std::uint64_t, 2>& validity) const override {
    const Target target = checked_target(config_, block, samples, validity);
    std::atomic<std::uint64_t> not_finite{0};
    const std::size_t word_bytes = rows_.size() * element_bytes_ * kTileTimes;
    const std::size_t grain = std::max<std::size_t>(1, tunables_.task_bytes / word_bytes);
    queue.parallel_for(core::validity_words(block.samples), grain,
                       [&](std::size_t first_word, std::size_t last_word, std::size_t) {
                         const std::size_t first = first_word * 64;
                         const std::size_t last = std::min(last_word * 64, block.samples);
                         decode(block, target, first, last);
                         mark_lost(block, target, first, last);
                         if (layout_.format.is_float())
                           not_finite +=
                               layout_.format.bits == 16
                                   ? mark_not_finite<core::Half>(block, target, first, last)
                                   : mark_not_finite<float>(block, target, first, last);
                         if (!target.validity.empty()) zero_invalid(target, first, last);
                       });
    return {not_finite.load()};
  }

 private:
  void find_runs() {
    const auto bits = static_cast<std::size_t>(layout_.format.bits_per_sample());
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const std::size_t place = rows_[r].place_bits;
      if (runs_.empty() || runs_.back().offset_bits + runs_.back().rows * bits != place)
        runs_.push_back({place, r, 0});
      ++runs_.back().rows;
    }
    runs_.shrink_to_fit();
  }

  void choose_method() {
    const core::RawLayout& layout = layout_;
    const auto bits = static_cast<std::size_t>(layout.format.bits_per_sample());
    element_bytes_ = core::bytes_of(unpacked_type(layout.format));
    components_ = layout.format.complex ? 2 : 1;
    flip_ = flip_of(layout.format);
    if (layout.format.bits < 8) decoding_ = decoding_of(layout.format);
    const bool bytewise = std::all_of(rows_.begin(), rows_.end(),
                                      [](const PlacedRow& row) { return row.place_bits % 8 == 0; });
    const bool runs_bytewise = std::all_of(runs_.begin(), runs_.end(),
                                           [](const Run& r) { return r.offset_bits % 8 == 0; });
    // 64 times of a single short run fill whole bytes even if one time does not. They are expanded
    // together, with the gaps between times (for example a counter).
    stride_components_ = layout.time_stride_bits / static_cast<std::size_t>(layout.format.bits);
    spanned_ = layout.format.bits < 8 && runs_.size() == 1 &&
               layout.time_stride_bits >= rows_.size() * bits && stride_components_ <= kColumnBytes;
    if (layout.time_stride_bits == bits && bytewise) {
      method_ = Method::contiguous;
    } else if (runs_bytewise && (layout.time_stride_bits % 8 == 0 || spanned_)) {
      method_ = Method::transposed;
    }
  }

  // Decodes samples [first, last) of every row; first is a multiple of kTileTimes.
  void decode(const core::RawBlock& block, const Target& target, std::size_t first,
              std::size_t last) const {
    switch (method_) {
      case Method::contiguous:
        for (const PlacedRow& row : rows_) decode_row(block, target, row, first, last);
        break;
      case Method::transposed:
        for (std::size_t t = first; t < last; t += kTileTimes)
          for (const Run& run : runs_)
            transpose_tile(block, target, run, t, std::min(kTileTimes, last - t));
        break;
      case Method::plain:
        for (const PlacedRow& row : rows_)
          for (std::size_t t = first; t < last; ++t) decode_sample(block, target, row, t);
        break;
    }
  }

  void decode_row(const core::RawBlock& block, const Target& target, const PlacedRow& row,
                  std::size_t first, std::size_t last) const {
    const core::RawLayout& layout = layout_;
    const std::size_t bit = row.place_bits + first * layout.time_stride_bits;
    const std::byte* in = block.bytes.data() + bit / 8;
    std::byte* out = target.row(row.channel, row.input) + first * element_bytes_;
    if (layout.format.bits < 8) {
      kernels_.expand(in, (last - first) * components_, layout.format.bits, decoding_, out);
    } else {
      kernels_.copy_flipped(in, (last - first) * element_bytes_, flip_, out);
    }
  }

  void decode_sample(const core::RawBlock& block, const Target& target, const PlacedRow& row,
                     std::size_t t) const {
    const core::RawLayout& layout = layout_;
    const std::size_t bit = row.place_bits + t * layout.time_stride_bits;
    std::byte* out = target.row(row.channel, row.input) + t * element_bytes_;
    for (std::size_t k = 0; k < components_; ++k) {
      const std::size_t at = bit + k * static_cast<std::size_t>(layout.format.bits);
      if (layout.format.bits < 8) {
        out[k] = static_cast<std::byte>(
            core::decode_integer(block.bytes.data(), at, layout.format) & 0xff);
      } else {
        const std::size_t bytes = element_bytes_ / components_;
        kernels_.copy_flipped(block.bytes.data() + at / 8, bytes, flip_, out + k * bytes);
      }
    }
  }

  // Transposes up to kTileTimes times of one run.
  void transpose_tile(const core::RawBlock& block, const Target& target, const Run& run,
                      std::size_t t, std::size_t times) const {
    const core::RawLayout& layout = layout_;
    const std::byte* in = block.bytes.data() + (run.offset_bits + t * layout.time_stride_bits) / 8;
    const std::byte* end = block.bytes.data() + block.bytes.size();
    const std::size_t stride_bytes = layout.time_stride_bits / 8;
    // Kernels read at least 16 bytes of a column.
    const std::size_t width_bytes = run.rows * element_bytes_ + 15;
    const bool direct =
        layout.format.bits >= 8 && times == kTileTimes &&
        stride_bytes < tunables_.gather_stride_bytes &&
        static_cast<std::size_t>(end - in) >= (kTileTimes - 1) * stride_bytes + width_bytes;
    const std::size_t step = direct ? kTileRows : kColumnBytes / element_bytes_;
    std::array<std::byte*, kTileRows> out;
    for (std::size_t r = 0; r < run.rows; r += step) {
      const std::size_t rows = std::min(step, run.rows - r);
      for (std::size_t k = 0; k < rows; ++k) {
        const PlacedRow& row = rows_[run.first_row + r + k];
        out[k] = target.row(row.channel, row.input) + t * element_bytes_;
      }
      if (direct) {
        kernels_.transpose(element_bytes_)(in + r * element_bytes_, stride_bytes, rows, flip_,
                                           out.data());
      } else {
        transpose_gathered(in, r, rows, times, out.data());
      }
    }
  }

  // Transposes one column of a run from a buffer in the first-level cache, to which it is copied or
  // expanded.
  void transpose_gathered(const std::byte* in, std::size_t first_row, std::size_t rows,
                          std::size_t times, std::byte* const* out) const {
    alignas(64) std::array<std::byte, kTileTimes * kColumnBytes + 16> column;
    const std::size_t column_stride = gather(in, first_row, rows, times, column.data());
    const Kernels::Transpose transpose = kernels_.transpose(element_bytes_);
    if (times == kTileTimes) {
      transpose(column.data(), column_stride, rows, flip_, out);
      return;
    }
    std::memset(column.data() + times * column_stride, 0, (kTileTimes - times) * column_stride);
    alignas(64) std::array<std::byte, kTileTimes * kColumnBytes> transposed;
    std::array<std::byte*, kTileRows> transposed_rows;
    for (std::size_t k = 0; k < rows; ++k)
      transposed_rows[k] = transposed.data() + k * kTileTimes * element_bytes_;
    transpose(column.data(), column_stride, rows, flip_, transposed_rows.data());
    for (std::size_t k = 0; k < rows; ++k)
      std::memcpy(out[k], transposed_rows[k], times * element_bytes_);
  }

  // Fills `column` with [time][row] elements; returns the bytes between times.
  std::size_t gather(const std::byte* in, std::size_t first_row, std::size_t rows,
                     std::size_t times, std::byte* column) const {
    const core::RawLayout& layout = layout_;
    const std::size_t column_bytes = rows * element_bytes_;
    if (spanned_) {
      kernels_.expand(in, (times - 1) * stride_components_ + column_bytes, layout.format.bits,
                      decoding_, column);
      return stride_components_;
    }
    const auto bits = static_cast<std::size_t>(layout.format.bits_per_sample());
    const std::byte* from = in + first_row * bits / 8;
    const std::size_t stride_bytes = layout.time_stride_bits / 8;
    for (std::size_t t = 0; t < times; ++t) {
      if (layout.format.bits < 8) {
        kernels_.expand(from + t * stride_bytes, rows * components_, layout.format.bits, decoding_,
                        column + t * kColumnBytes);
      } else if (column_bytes == kColumnBytes) {
        std::memcpy(column + t * kColumnBytes, from + t * stride_bytes, kColumnBytes);
      } else {
        std::memcpy(column + t * kColumnBytes, from + t * stride_bytes, column_bytes);
      }
    }
    return kColumnBytes;
  }

  bool all_finite(const float* values, std::size_t count) const {
    return kernels_.all_finite(values, count);
  }
  static bool all_finite(const core::Half* values, std::size_t count) {
    unsigned bad = 0;
    for (std::size_t k = 0; k < count; ++k) bad |= core::is_finite(values[k]) ? 0u : 1u;
    return bad == 0;
  }

  // Flags times at which a sample is NaN or infinite in any channel; counts such samples, unless
  // they were lost.
  template <class Value>
  std::uint64_t mark_not_finite(const core::RawBlock& block, const Target& target,
                                std::size_t first, std::size_t last) const {
    const bool others = layout_.channels < block.layout.channels;
    std::uint64_t count = 0;
    const auto values = [&](std::size_t c, std::size_t i) {
      return reinterpret_cast<const Value*>(target.row(c, i));
    };
    for (std::size_t i = 0; i < layout_.inputs(); ++i) {
      bool whole = true;
      for (std::size_t c = 0; c < layout_.channels; ++c)
        whole =
            whole && all_finite(values(c, i) + first * components_, (last - first) * components_);
      if (whole && !others) continue;
      std::uint64_t* words = target.validity.row(i);
      for (std::size_t t = first; t < last; ++t) {
        if ((words[t / 64] >> (t % 64) & 1) == 0) continue;
        std::uint64_t bad = others ? not_finite_elsewhere(config_, block, i, t) : 0;
        for (std::size_t c = 0; c < layout_.channels; ++c) {
          const Value* sample = values(c, i) + t * components_;
          bad += all_finite(sample, components_) ? 0 : 1;
        }
        if (bad > 0) words[t / 64] &= ~(std::uint64_t{1} << (t % 64));
        count += bad;
      }
    }
    return count;
  }

  void zero_invalid(const Target& target, std::size_t first, std::size_t last) const {
    for (std::size_t i = 0; i < layout_.inputs(); ++i) {
      const std::uint64_t* words = target.validity.row(i);
      for (std::size_t w = first / 64; w < core::validity_words(last); ++w) {
        const std::size_t times = std::min<std::size_t>(64, last - w * 64);
        if (words[w] == core::low_bits(times)) continue;
        for (std::size_t c = 0; c < layout_.channels; ++c) {
          std::byte* out = target.row(c, i) + w * 64 * element_bytes_;
          for (std::size_t t = 0; t < times; ++t)
            if ((words[w] >> t & 1) == 0) std::memset(out + t * element_bytes_, 0, element_bytes_);
        }
      }
    }
  }

  Config config_;
  core::RawLayout layout_;  // of the unpacked channels
  Tunables tunables_;
  const Kernels& kernels_;
  std::vector<PlacedRow> rows_;  // in the order of the block
  std::vector<Run> runs_;
  Method method_ = Method::plain;
  bool spanned_ = false;
  std::size_t stride_components_ = 0;
  std::size_t element_bytes_ = 1;  // of one unpacked sample
  std::size_t components_ = 1;
  std::uint64_t flip_ = 0;
  Decoding decoding_;
};

}  // namespace

std::shared_ptr<const Plan> make_cpu_plan(const Config& config, device::InstructionSet set,
                                          const Tunables& tunables) {
  return std::make_shared<CpuPlan>(config, set, tunables);
}

}  // namespace tautline::stages::unpack
