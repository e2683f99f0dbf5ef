#include "tautline/pipeline/photons/count_stops.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "tautline/core/random_bits.h"
#include "tautline/core/sample_view.h"
#include "tautline/pipeline/photons/longest_gaps.h"
#include "tautline/pipeline/photons/repeated_stops.h"

namespace tautline::pipeline {

namespace {

constexpr std::uint64_t kStopSteps = 1000;
// A part of this size is read once more whatever it seems to be: a copy and a glance take a few hundredths of a second.
constexpr std::uint64_t kReadAgainBytes = std::uint64_t{64} << 20;
// Bins that repeat a count other than zero are a stop from here on, if they are two steps or more and leave this part of
// all steps.
constexpr std::uint64_t kFewestConstantBins = 1000, kFewestConstantSteps = 2, kChangingPart = 4;

using CountRow = std::vector<std::byte>;

bool has_no_count(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{}; });
}

class CountLooker {
 public:
  explicit CountLooker(std::unique_ptr<formats::CountReader> reader)
      : reader_(std::move(reader)),
        row_bytes_(reader_->description().sensors * core::bytes_of(reader_->description().type)) {
    constexpr std::size_t kBytes = std::size_t{1} << 20;
    rows_.resize(std::max(kBytes / row_bytes_, std::size_t{1}) * row_bytes_);
  }

  std::size_t sensors() const { return reader_->description().sensors; }

  std::uint64_t row_bytes() const { return row_bytes_; }

  // Counts of all sensors together.
  double sum(const BinRange& bins) {
    double total = 0;
    in_blocks(bins, most_rows(), [&](std::uint64_t, std::span<const std::byte> bytes) {
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

  // The bins from `bin` on that have no count, up to `end`.
  std::uint64_t empty_from(std::uint64_t bin, std::uint64_t end) {
    std::uint64_t empty = 0;
    in_blocks({bin, end}, few_rows(), [&](std::uint64_t, std::span<const std::byte> bytes) {
      for (; !bytes.empty(); bytes = bytes.subspan(row_bytes_), ++empty)
        if (!is_zero(bytes.data())) return false;
      return true;
    });
    return empty;
  }

  // The stretches of these bins without a count, and the first and the end of the last bin with one. From a bin with a
  // count on it is enough to know the last one within reach, as shorter stretches are passed over.
  BinRange find_gaps(const BinRange& bins, LongestGaps& gaps) {
    BinRange counted{bins.end, bins.end};
    in_blocks(bins, most_rows(), [&](std::uint64_t first, std::span<const std::byte> bytes) {
      const std::size_t rows = bytes.size() / row_bytes_;
      const auto empty = [&](std::size_t row) { return is_zero(&bytes[row * row_bytes_]); };
      for (std::size_t row = 0; row < rows; ++row) {
        if (empty(row)) continue;
        if (counted.first == bins.end)
          counted.first = first + row;
        else
          gaps.add(counted.end, first + row);
        std::size_t ahead = 0;
        do {
          row += ahead;
          ahead = static_cast<std::size_t>(std::min<std::uint64_t>(gaps.least(), rows - 1 - row));
          while (ahead > 0 && empty(row + ahead)) --ahead;
        } while (ahead > 0);
        counted.end = first + row + 1;
      }
      return true;
    });
    return counted;
  }

  // The row that all of these bins have; none where they differ, or cannot be read.
  std::optional<CountRow> repeated(const BinRange& bins) {
    CountRow row;
    std::uint64_t equal = 0;
    in_blocks(bins, few_rows(), [&](std::uint64_t, std::span<const std::byte> bytes) {
      if (row.empty()) row.assign(bytes.begin(), bytes.begin() + of_row());
      const std::size_t rest = bytes.size() - row_bytes_;
      const bool same = std::equal(row.begin(), row.end(), bytes.begin()) &&
                        std::memcmp(bytes.data(), bytes.data() + row_bytes_, rest) == 0;
      equal += same ? bytes.size() / row_bytes_ : 0;
      return same;
    });
    if (equal == 0 || equal < bins.bins()) return std::nullopt;
    return row;
  }

  // The first and the end of the last of these bins that differ from the row; `otherwise` where none does.
  BinRange differing(const BinRange& bins, const CountRow& row, BinRange otherwise) {
    std::optional<std::uint64_t> first;
    in_blocks(bins, most_rows(), [&](std::uint64_t bin, std::span<const std::byte> bytes) {
      for (std::size_t at = 0; at < bytes.size(); at += row_bytes_, ++bin) {
        if (std::equal(row.begin(), row.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at)))
          continue;
        if (!first) first = bin;
        otherwise = {*first, bin + 1};
      }
      return true;
    });
    return otherwise;
  }

 private:
  bool is_zero(const std::byte* row) const {
    return row[0] == std::byte{} && std::memcmp(row, row + 1, row_bytes_ - 1) == 0;
  }
  // What shows of most parts whether their bins differ.
  std::size_t few_rows() const {
    constexpr std::size_t kFirstBytes = 4096;
    return std::max(kFirstBytes / row_bytes_, std::size_t{1});
  }
  std::ptrdiff_t of_row() const { return static_cast<std::ptrdiff_t>(row_bytes_); }
  std::size_t most_rows() const { return rows_.size() / row_bytes_; }

  // Reads until take(bin, bytes) returns false; first `rows` at a time, then more.
  template <class Take>
  void in_blocks(const BinRange& bins, std::size_t rows, const Take& take) {
    if (place_ != bins.first) reader_->seek(bins.first);
    place_ = bins.first;
    while (place_ < bins.end) {
      rows = std::min(rows, most_rows());
      const auto wanted =
          static_cast<std::size_t>(std::min<std::uint64_t>(bins.end - place_, rows));
      const std::size_t found = reader_->read(std::span(rows_).first(wanted * row_bytes_));
      const std::uint64_t bin = std::exchange(place_, place_ + found);
      if (found == 0 || !take(bin, std::span<const std::byte>(rows_).first(found * row_bytes_)))
        return;
      rows *= 4;
    }
  }

  std::unique_ptr<formats::CountReader> reader_;
  std::size_t row_bytes_;
  std::vector<std::byte> rows_;
  std::uint64_t place_ = 0;
};

// Neighbouring steps whose bins all have one row.
struct RepeatedSteps {
  StepRange steps;
  bool zero = false;
};

class StopSearch {
 public:
  StopSearch(std::unique_ptr<formats::CountReader> reader, std::uint64_t first,
             std::uint64_t samples, double bin_s)
      : looker_(std::move(reader)),
        first_(first),
        samples_(samples),
        step_(samples / kStopSteps),
        steps_(static_cast<std::size_t>(samples / step_)),
        bin_s_(bin_s) {}

  Stops find() {
    std::vector<StepRange> zero, constant;
    std::size_t ordinary = steps_;
    for (const auto& [steps, is_zero] : repeated_steps()) {
      ordinary -= steps.steps();
      (is_zero ? zero : constant).push_back(steps);
    }
    std::vector<BinRange> named, stops = without_counts(zero);
    if (ordinary * kChangingPart >= steps_)
      for (const StepRange& steps : constant)
        if (const BinRange stop = widened(steps); stop.bins() > kFewestConstantBins)
          stops.push_back(stop);
    sort_by_time(stops);
    if (samples_ * looker_.row_bytes() <= kReadAgainBytes || seems_to_stop_often())
      add_repeated(stops, named);
    sort_by_time(stops);
    for (std::vector<BinRange>* found : {&stops, &named})
      for (BinRange& stop : *found) stop = {stop.first - first_, stop.end - first_};
    return {std::move(stops), std::move(named)};
  }

 private:
  // The last step has the rest, too.
  BinRange bins_of(const StepRange& steps) const {
    return {first_ + steps.first * step_,
            steps.end == steps_ ? first_ + samples_ : first_ + steps.end * step_};
  }

  std::vector<RepeatedSteps> repeated_steps() {
    std::vector<RepeatedSteps> runs;
    CountRow last;  // of the last run
    const auto drop_short = [&] {
      if (!runs.empty() && !runs.back().zero && runs.back().steps.steps() < kFewestConstantSteps)
        runs.pop_back();
    };
    for (std::size_t k = 0; k < steps_; ++k) {
      std::optional<CountRow> row = looker_.repeated(bins_of({k, k + 1}));
      if (!row) continue;
      if (!runs.empty() && runs.back().steps.end == k && last == *row) {
        ++runs.back().steps.end;
        continue;
      }
      drop_short();
      runs.push_back({{k, k + 1}, has_no_count(*row)});
      last = std::move(*row);
    }
    drop_short();
    return runs;
  }

  // Whether it is worth to read the part once more: at a place in each step it is seen for how long no count comes.
  // Places are not evenly spaced, as stops may be.
  bool seems_to_stop_often() {
    constexpr std::size_t kFewest =
        3;  // places that chance leaves so long with probability 1e-5 each
    constexpr double kRare = 11.5;
    std::vector<std::uint64_t> empty;
    for (std::size_t k = 0; k < steps_; ++k) {
      const BinRange step = bins_of({k, k + 1});
      const std::uint64_t place = step.first + core::random_bits(k) % step.bins();
      empty.push_back(looker_.empty_from(place, std::min(first_ + samples_, place + step_)));
    }
    std::vector<std::uint64_t> sorted = empty;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(steps_ / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    const auto without = std::count_if(empty.begin(), empty.end(), [](auto n) { return n > 0; });
    // Counts a bin, if they come at random.
    const double rate = *middle > 0
                            ? std::log(2.0) / static_cast<double>(*middle)
                            : std::log(static_cast<double>(steps_) /
                                       static_cast<double>(std::max<std::ptrdiff_t>(1, without)));
    const double rare = std::max(2.0, kRare / rate);
    return static_cast<std::size_t>(std::count_if(empty.begin(), empty.end(), [&](auto n) {
             return static_cast<double>(n) >= rare;
           })) >= kFewest;
  }

  // By repeated_stops().
  void add_repeated(std::vector<BinRange>& stops, std::vector<BinRange>& named) {
    std::vector<double> counts;
    for (std::uint64_t bin = 0; bin < samples_; bin += step_)
      counts.push_back(looker_.sum({first_ + bin, first_ + std::min(samples_, bin + step_)}));
    const BinRange all{first_, first_ + samples_};
    LongestGaps gaps(least_gap(bin_s_));
    RepeatedStops repeated = repeated_stops({.counts = counts,
                                             .step = step_,
                                             .all = all,
                                             .counted = looker_.find_gaps(all, gaps),
                                             .unit_s = bin_s_,
                                             .sensors = looker_.sensors()},
                                            gaps, stops);
    std::vector<BinRange>& to = repeated.certain ? stops : named;
    to.insert(to.end(), repeated.stops.begin(), repeated.stops.end());
  }

  // Stops by the rule; `zero`: where no step has a count.
  std::vector<BinRange> without_counts(const std::vector<StepRange>& zero) {
    std::vector<BinRange> stops;
    const BinRange all{first_, first_ + samples_};
    const auto left_out = [&](const BinRange& stop) {
      return is_left_out(stop, all, bin_s_, looker_.sensors());
    };
    // With the steps on either side, which it may reach into.
    if (std::none_of(zero.begin(), zero.end(), [&](const StepRange& run) {
          const BinRange bins = bins_of(run);
          return left_out({std::max(all.first + step_, bins.first) - step_,
                           std::min(all.end, bins.end + step_)});
        }))
      return stops;
    std::vector<double> counts(steps_);
    for (std::size_t k = 0; k < steps_; ++k) counts[k] = looker_.sum(bins_of({k, k + 1}));
    for (const StepRange& steps : stopped_steps(counts, 1))
      if (const BinRange stop = widened(steps); left_out(stop)) stops.push_back(stop);
    return stops;
  }

  // To the nearest bins that differ, in the steps on either side.
  BinRange widened(const StepRange& steps) {
    BinRange stop = bins_of(steps);
    const CountRow row = looker_.repeated({stop.first, stop.first + 1}).value();
    if (steps.first > 0) {
      const BinRange before = bins_of({steps.first - 1, steps.first});
      stop.first = looker_.differing(before, row, {before.first, before.first}).end;
    }
    if (steps.end < steps_) {
      const BinRange after = bins_of({steps.end, steps.end + 1});
      stop.end = looker_.differing(after, row, {after.end, after.end}).first;
    }
    return stop;
  }

  CountLooker looker_;
  std::uint64_t first_, samples_, step_;
  std::size_t steps_;
  double bin_s_;
};

}  // namespace

Stops find_stops(const std::function<std::unique_ptr<formats::CountReader>()>& open,
                 std::uint64_t first, std::uint64_t samples, double bin_s) {
  if (samples < kStopSteps) return {};
  return StopSearch(open(), first, samples, bin_s).find();
}

}  // namespace tautline::pipeline
