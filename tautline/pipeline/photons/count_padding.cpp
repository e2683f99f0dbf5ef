#include "tautline/pipeline/photons/count_padding.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "tautline/core/sample_view.h"
#include "tautline/pipeline/photons/empty_counts.h"

namespace tautline::pipeline {

namespace {

constexpr std::uint64_t kPaddingSteps = 1000;

// Reads on from one place.
class CountLooker {
 public:
  CountLooker(std::unique_ptr<formats::CountReader> reader, std::uint64_t first)
      : reader_(std::move(reader)),
        row_bytes_(reader_->description().sensors * core::bytes_of(reader_->description().type)) {
    constexpr std::size_t kBytes = std::size_t{1} << 20;
    rows_.resize(std::max(kBytes / row_bytes_, std::size_t{1}) * row_bytes_);
    if (first > 0) reader_->seek(first);
  }

  std::size_t sensors() const { return reader_->description().sensors; }

  // Counts of all sensors together in the next bins.
  double sum(std::uint64_t samples) {
    double total = 0;
    in_blocks(samples, [&](std::span<const std::byte> bytes) {
      const auto& description = reader_->description();
      const core::SampleView<2> view(bytes.data(), description.type,
                                     {bytes.size() / row_bytes_, description.sensors});
      core::with_type<std::uint8_t, std::uint16_t, std::uint32_t, float>(
          view, "samples", [&]<class Count>(const core::View<const Count, 2>& counts) {
            using Sum = std::conditional_t<std::is_same_v<Count, float>, double, std::uint64_t>;
            Sum block = 0;
            for (std::size_t i = 0; i < bytes.size() / sizeof(Count); ++i)
              block += static_cast<Sum>(counts.data()[i]);
            total += static_cast<double>(block);
          });
      return true;
    });
    return total;
  }

  bool any(std::uint64_t samples) {
    bool found = false;
    in_blocks(samples, [&](std::span<const std::byte> bytes) {
      found = std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{}; });
      return !found;
    });
    return found;
  }

  // The first and the last of the next bins with a count.
  std::pair<std::uint64_t, std::uint64_t> counting(std::uint64_t samples) {
    std::optional<std::uint64_t> first;
    std::uint64_t last = 0, done = 0;
    in_blocks(samples, [&](std::span<const std::byte> bytes) {
      for (std::size_t at = 0; at < bytes.size(); at += row_bytes_, ++done) {
        const auto row = bytes.subspan(at, row_bytes_);
        if (std::all_of(row.begin(), row.end(), [](std::byte b) { return b == std::byte{}; }))
          continue;
        if (!first) first = done;
        last = done;
      }
      return true;
    });
    return {first.value_or(0), last};
  }

 private:
  // Reads until `take` returns false.
  template <class Take>
  void in_blocks(std::uint64_t samples, const Take& take) {
    while (samples > 0) {
      const auto wanted =
          static_cast<std::size_t>(std::min<std::uint64_t>(samples, rows_.size() / row_bytes_));
      const std::size_t found = reader_->read(std::span(rows_).first(wanted * row_bytes_));
      if (found == 0 || !take(std::span<const std::byte>(rows_).first(found * row_bytes_))) return;
      samples -= found;
    }
  }

  std::unique_ptr<formats::CountReader> reader_;
  std::size_t row_bytes_;
  std::vector<std::byte> rows_;
};

}  // namespace

Padding find_padding(const std::function<std::unique_ptr<formats::CountReader>()>& open,
                     std::uint64_t first, std::uint64_t samples, double bin_s) {
  if (samples < kPaddingSteps) return {};
  const std::uint64_t step = samples / kPaddingSteps, steps = samples / step;
  const bool counts_at_begin = CountLooker(open(), first).any(step);
  const bool counts_at_end = CountLooker(open(), first + samples - step).any(step);
  if (counts_at_begin && counts_at_end) return {};
  CountLooker all(open(), first);
  std::vector<double> counts(steps);
  for (double& sum : counts) sum = all.sum(step);
  const auto stops = stopped_steps(counts, 1);
  Padding padding;
  if (stops.empty()) return padding;
  if (stops.front().first == 0) {
    const std::uint64_t until = stops.front().end * step;
    padding.before = until + CountLooker(open(), first + until).counting(step).first;
  }
  if (stops.back().end == steps && !all.any(samples - steps * step)) {
    const std::uint64_t from = (stops.back().first - 1) * step;
    const std::uint64_t last = CountLooker(open(), first + from).counting(step).second;
    padding.after = samples - (from + last + 1);
  }
  for (std::uint64_t* const bins : {&padding.before, &padding.after})
    if (!beyond_darkness(static_cast<double>(*bins) * bin_s, all.sensors())) *bins = 0;
  return padding;
}

}  // namespace tautline::pipeline
