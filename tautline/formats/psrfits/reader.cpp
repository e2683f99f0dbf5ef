// Rows of a PSRFITS table become samples: unpacked, scaled, polarisations added up.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tautline/core/threads.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/packed_samples.h"
#include "tautline/formats/psrfits/geometry.h"
#include "tautline/formats/psrfits/psrfits.h"

namespace tautline::formats::psrfits {

namespace {

// Bytes of codes that are read at a time: enough for several threads, and few enough for caches.
constexpr std::size_t kStagingBytes = std::size_t{4} << 20;

// What turns the codes of one row into values: value = gain x code + level, for each chosen
// polarisation and channel.
struct RowScale {
  std::vector<double> gain, level;  // [chosen][channel]
  // Where values are codes less what stands for 0, or nothing, sums of whole and half numbers are exact in every type:
  // start[channel] + sum over chosen of code & kept[chosen][channel]. Empty: gains have to be applied.
  std::vector<std::uint16_t> kept;
  std::vector<double> start;
};

class Reader final : public FilterbankReader {
 public:
  Reader(const std::string& path, std::uint64_t file_bytes, const FilterbankOptions& options)
      : table_(path), geometry_(read_geometry(table_, file_bytes, options)) {
    description_ = geometry_.description;
    segments_ = std::move(geometry_.segments);
    damage_ = std::move(geometry_.damage);
    remarks_ = std::move(geometry_.remarks);
    choose_delivery();
  }

  std::size_t read(std::uint64_t first_sample, std::size_t count,
                   std::span<std::byte> destination) override {
    const FilterbankDescription& d = description_;
    if (first_sample >= d.samples) return 0;
    const DataSegment* segment = &segments_.back();
    while (segment->first_sample > first_sample) --segment;
    count = limit_to(count, segment->first_sample + segment->samples - first_sample, destination);
    for (std::size_t done = 0; done < count;)
      done += read_batch(first_sample + done, count - done,
                         destination.data() + done * d.sample_bytes());
    return count;
  }

 private:
  RowScale scale_of(std::uint64_t row) {
    const FilterbankDescription& d = description_;
    const Columns& columns = geometry_.columns;
    std::vector<float> weights(d.channels, 1), scales(d.channels), offsets(d.channels);
    if (columns.weights) table_.read(columns.weights, row, 0, weights);
    RowScale scale;
    for (const std::size_t k : d.summed_ifs) {
      std::fill(scales.begin(), scales.end(), 1.0F);
      std::fill(offsets.begin(), offsets.end(), 0.0F);
      if (columns.scales) table_.read(columns.scales, row, k * d.channels, scales);
      if (columns.offsets) table_.read(columns.offsets, row, k * d.channels, offsets);
      for (std::size_t c = 0; c < d.channels; ++c) {
        const double gain = static_cast<double>(scales[c]) * weights[c];
        // A weight of zero excludes values that may be NaN.
        scale.gain.push_back(weights[c] == 0 ? 0 : gain);
        scale.level.push_back(weights[c] == 0 ? 0
                                              : static_cast<double>(offsets[c]) * weights[c] -
                                                    geometry_.zero_off * gain);
      }
    }
    if (plain(scale)) without_gains(scale);
    return scale;
  }

  void without_gains(RowScale& scale) const {
    const FilterbankDescription& d = description_;
    const double zero = geometry_.zero_off + code_zero();
    const double most = std::ldexp(static_cast<double>(d.summed_ifs.size()), d.bits);
    if (d.bits > 16 || 2 * zero != std::floor(2 * zero) || std::abs(zero) > 65536 || most > 4e6)
      return;
    scale.start.assign(d.channels, d.zero_level);
    for (std::size_t k = 0; k < scale.gain.size(); ++k) {
      const bool silent = scale.gain[k] == 0;
      scale.kept.push_back(silent ? 0 : 0xffff);
      if (!silent) scale.start[k % d.channels] -= zero;
    }
  }

  // Half the range that signed codes are moved up by, so that they are unsigned.
  double code_zero() const {
    const FilterbankDescription& d = description_;
    return d.is_signed ? std::ldexp(1.0, d.bits - 1) : 0;
  }

  // Whether a row's values are its codes less ZERO_OFF, or nothing.
  bool plain(const RowScale& scale) const {
    for (std::size_t k = 0; k < scale.gain.size(); ++k) {
      const bool silent = scale.gain[k] == 0 && scale.level[k] == 0;
      if (!silent && !(scale.gain[k] == 1 && scale.level[k] == -geometry_.zero_off)) return false;
    }
    return true;
  }

  void choose_delivery() {
    FilterbankDescription& d = description_;
    const double ifs = static_cast<double>(d.summed_ifs.size());
    const double range = std::ldexp(1.0, std::min(d.bits, 16)),
                 zero = geometry_.zero_off + code_zero();
    d.delivered = Delivered::f32;
    if (d.bits == 32 || (range - 1) * ifs > 65535 || zero != std::floor(zero) || zero < 0 ||
        zero >= range)
      return;
    for (std::uint64_t row = 0; row < geometry_.rows; ++row)
      if (!plain(scale_of(row))) return;
    d.delivered = (range - 1) * ifs <= 255 ? Delivered::u8 : Delivered::u16;
    d.zero_level = static_cast<std::uint32_t>(zero * ifs);
  }

  // Times of one row in a batch.
  struct Range {
    std::shared_ptr<const RowScale> scale;
    std::size_t first = 0, times = 0;  // of the batch
    // For codes of less than a byte: their place in packed_, and in its byte.
    std::size_t packed_at = 0, packed_first = 0;
  };

  // cfitsio reads row after row; then several threads unpack and add up what it has read. Returns how many times.
  std::size_t read_batch(std::uint64_t first_sample, std::size_t count, std::byte* to) {
    const std::size_t per_sample = geometry_.values_per_sample();
    const auto code_bytes = static_cast<std::size_t>(std::max(8, description_.bits) / 8);
    count = std::min(count, std::max<std::size_t>(1, kStagingBytes / (per_sample * code_bytes)));
    if (description_.bits == 32)
      floats_.resize(count * per_sample);
    else if (description_.bits == 16)
      shorts_.resize(count * per_sample);
    else
      bytes_.resize(count * per_sample);
    packed_.clear();
    std::vector<Range> ranges;
    for (std::size_t first = 0; first < count; first += ranges.back().times) {
      const std::uint64_t row = (first_sample + first) / geometry_.row_samples,
                          in_row = (first_sample + first) % geometry_.row_samples;
      ranges.push_back(load(row, in_row, first,
                            static_cast<std::size_t>(std::min<std::uint64_t>(
                                count - first, geometry_.row_samples - in_row))));
    }
    // Fewer take less time than waking a thread.
    constexpr std::size_t kLeastValues = std::size_t{1} << 15;
    const auto decode_times = [&](std::size_t, std::size_t begin, std::size_t end) {
      for (const Range& range : ranges) {
        const std::size_t from = std::max(begin, range.first),
                          last = std::min(end, range.first + range.times);
        if (from < last) decode(range, from, last, to);
      }
    };
    core::in_pieces(count, std::min(core::spare_threads(), count * per_sample / kLeastValues),
                    decode_times);
    return count;
  }

  // Reads `times` times of a row, from in_row on, behind the `first` times that the batch has.
  Range load(std::uint64_t row, std::uint64_t in_row, std::size_t first, std::size_t times) {
    if (row != scale_row_) {
      scale_ = std::make_shared<const RowScale>(scale_of(row));
      scale_row_ = row;
    }
    Range range{scale_, first, times};
    const FitsTable::Column& column = geometry_.columns.data;
    const std::size_t per_sample = geometry_.values_per_sample(), values = times * per_sample;
    const std::uint64_t first_value = in_row * per_sample;
    const auto place = [&](auto& codes) {
      return std::span(codes).subspan(first * per_sample, values);
    };
    const int bits = description_.bits;
    if (bits == 32) table_.read(column, row, first_value, place(floats_));
    if (bits == 16) table_.read_raw(column, row, first_value, place(shorts_));
    if (bits == 8) table_.read_raw(column, row, first_value, place(bytes_));
    if (bits >= 8) return range;
    const auto in_byte = static_cast<std::uint64_t>(8 / bits);
    const std::uint64_t begin = first_value / in_byte,
                        end = (first_value + values + in_byte - 1) / in_byte;
    range.packed_at = packed_.size();
    range.packed_first = static_cast<std::size_t>(first_value % in_byte);
    packed_.resize(range.packed_at + static_cast<std::size_t>(end - begin));
    table_.read_raw(column, row, begin, std::span(packed_).subspan(range.packed_at));
    return range;
  }

  // Times [begin, end) of the batch, which are of one range.
  void decode(const Range& range, std::size_t begin, std::size_t end, std::byte* to) {
    const FilterbankDescription& d = description_;
    const std::size_t per_sample = geometry_.values_per_sample(), at = begin * per_sample;
    to += begin * d.sample_bytes();
    if (d.bits == 32) return deliver(*range.scale, floats_.data() + at, end - begin, 0U, to);
    // Both kinds of 16 bits become offset binary: unsigned codes, or signed ones moved up.
    if (d.bits == 16)
      return deliver(*range.scale, reinterpret_cast<const std::uint16_t*>(shorts_.data()) + at,
                     end - begin, 0x8000U, to);
    if (d.bits < 8)
      unpack_samples(std::as_bytes(std::span(packed_)).subspan(range.packed_at),
                     range.packed_first + (begin - range.first) * per_sample,
                     (end - begin) * per_sample, d.bits, BitOrder::high_first, bytes_.data() + at);
    deliver(*range.scale, bytes_.data() + at, end - begin, d.is_signed ? 1U << (d.bits - 1) : 0U,
            to);
  }

  // `flip` turns the stored codes into unsigned ones, which are code_zero() above their meaning.
  template <class Code>
  void deliver(const RowScale& scale, const Code* codes, std::size_t times, unsigned flip,
               std::byte* to) const {
    with_samples(description_.delivered, to,
                 [&](auto* sums) { sum(scale, codes, times, flip, sums); });
  }

  template <class Code, class Sum>
  void sum_codes(const RowScale& scale, const Code* codes, std::size_t times, unsigned flip,
                 Sum* to) const {
    const FilterbankDescription& d = description_;
    const std::vector<Sum> start(scale.start.begin(), scale.start.end());
    for (std::size_t t = 0; t < times; ++t, to += d.channels) {
      std::copy(start.begin(), start.end(), to);
      for (std::size_t n = 0; n < d.summed_ifs.size(); ++n) {
        const Code* from = codes + (t * geometry_.polarisations + d.summed_ifs[n]) * d.channels;
        const std::uint16_t* kept = scale.kept.data() + n * d.channels;
        for (std::size_t c = 0; c < d.channels; ++c) {
          const auto code = static_cast<int>((from[c] ^ flip) & kept[c]);
          to[c] = static_cast<Sum>(to[c] + static_cast<Sum>(code));
        }
      }
    }
  }

  template <class Code, class Sum>
  void sum(const RowScale& scale, const Code* codes, std::size_t times, unsigned flip,
           Sum* to) const {
    if constexpr (!std::is_floating_point_v<Code>)
      if (!scale.start.empty()) return sum_codes(scale, codes, times, flip, to);
    const FilterbankDescription& d = description_;
    const std::size_t channels = d.channels;
    const double zero = code_zero();
    std::vector<double> row(channels);
    for (std::size_t t = 0; t < times; ++t) {
      std::fill(row.begin(), row.end(), static_cast<double>(d.zero_level));
      for (std::size_t n = 0; n < d.summed_ifs.size(); ++n) {
        const Code* from = codes + (t * geometry_.polarisations + d.summed_ifs[n]) * channels;
        const double* gain = scale.gain.data() + n * channels;
        const double* level = scale.level.data() + n * channels;
        for (std::size_t c = 0; c < channels; ++c) {
          double code;
          if constexpr (std::is_floating_point_v<Code>)
            code = static_cast<double>(from[c]);
          else
            code = static_cast<double>(from[c] ^ flip) - zero;
          // The codes of a silenced row are not multiplied: a code may be no number.
          row[c] += gain[c] == 0 ? level[c] : gain[c] * code + level[c];
        }
      }
      for (std::size_t c = 0; c < channels; ++c) to[t * channels + c] = static_cast<Sum>(row[c]);
    }
  }

  FitsTable table_;
  Geometry geometry_;
  std::uint64_t scale_row_ = UINT64_MAX;
  std::shared_ptr<const RowScale> scale_;
  std::vector<std::uint8_t> packed_, bytes_;
  std::vector<std::int16_t> shorts_;
  std::vector<float> floats_;
};

}  // namespace

std::unique_ptr<FilterbankReader> open(const std::string& path, const FilterbankOptions& options) {
  // cfitsio is given plain FITS only: it would unpack other files into memory.
  const InputFile file(path);
  const std::vector<std::byte> head = file.head(6);
  if (head.size() < 6 || std::memcmp(head.data(), "SIMPLE", 6) != 0)
    throw format_error(path, "first bytes", "something else", "SIMPLE, as FITS files begin");
  return std::make_unique<Reader>(path, file.size(), options);
}

}  // namespace tautline::formats::psrfits
