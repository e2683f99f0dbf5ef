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
#include "tautline/pipeline/photons/single_stops.h"

namespace tautline::pipeline {

namespace {

constexpr std::uint64_t kStopSteps = 1000;
// A part of this size is read once more whatever it seems to be: a copy and a glance take a few hundredths of a second.
constexpr std::uint64_t kReadAgainBytes = std::uint64_t{64} << 20;
// Of so many sensors each is looked at by itself; more have their traces alone. So much is read of each thousandth for it.
constexpr std::size_t kMostSensors = 16, kLookBytes = std::size_t{1} << 16;
// Bins that repeat a count other than zero are a stop from here on, if they are two steps or more and leave this part of
// all steps.
constexpr std::uint64_t kFewestConstantBins = 1000, kFewestConstantSteps = 2, kChangingPart = 4;

using CountRow = std::vector<std::byte>;

bool has_no_count(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{}; });
}

// The stretches of one sensor without a count, and the first and the end of the last bin with one.
struct SensorGaps {
  LongestGaps gaps;
  BinRange counted;
};

// Adds rows that begin with bin `first`; empty(row): it has no count. From a bin with a count on it is enough to know the
// last one within reach, as shorter stretches are passed over. counted.first is `none` before the first count.
template <class Empty>
void add_gaps(std::uint64_t first, std::size_t rows, const Empty& empty, std::uint64_t none,
              LongestGaps& gaps, BinRange& counted) {
  for (std::size_t row = 0; row < rows; ++row) {
    if (empty(row)) continue;
    if (counted.first == none)
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

  // The stretches of these bins without a count, and the first and the end of the last bin with one; and those of each
  // sensor, where there is an `each` for it.
  BinRange find_gaps(const BinRange& bins, LongestGaps& gaps, std::vector<SensorGaps>& each) {
    BinRange counted{bins.end, bins.end};
    for (SensorGaps& one : each) one.counted = counted;
    in_blocks(bins, most_rows(), [&](std::uint64_t first, std::span<const std::byte> bytes) {
      const std::size_t rows = bytes.size() / row_bytes_;
      const auto empty = [&](std::size_t row) { return is_zero(&bytes[row * row_bytes_]); };
      add_gaps(first, rows, empty, bins.end, gaps, counted);
      for (std::size_t s = 0; s < each.size(); ++s)
        with_bits([&]<class Bits>(Bits) {
          const auto none = [&](std::size_t row) { return bits_of<Bits>(bytes, row, s) == 0; };
          add_gaps(first, rows, none, bins.end, each[s].gaps, each[s].counted);
        });
      return true;
    });
    return counted;
  }

  // Counts of each sensor in steps of `step` bins.
  std::vector<std::vector<double>> sums_of_each(const BinRange& bins, std::uint64_t step) {
    std::vector<std::vector<double>> sums(
        sensors(), std::vector<double>(static_cast<std::size_t>((bins.bins() + step - 1) / step)));
    in_blocks(bins, most_rows(), [&](std::uint64_t first, std::span<const std::byte> bytes) {
      const auto& description = reader_->description();
      const core::SampleView<2> view(bytes.data(), description.type,
                                     {bytes.size() / row_bytes_, description.sensors});
      core::with_type<std::uint8_t, std::uint16_t, std::uint32_t, float>(
          view, "samples", [&]<class Count>(const core::View<const Count, 2>& counts) {
            const std::size_t rows = bytes.size() / row_bytes_;
            for (std::size_t row = 0; row < rows;) {
              const std::uint64_t k = (first + row - bins.first) / step;
              const auto end = static_cast<std::size_t>(
                  std::min<std::uint64_t>(rows, bins.first + (k + 1) * step - first));
              for (std::size_t s = 0; s < sums.size(); ++s) {
                double sum = 0;
                for (std::size_t r = row; r < end; ++r)
                  sum += static_cast<double>(counts.data()[r * sums.size() + s]);
                sums[s][static_cast<std::size_t>(k)] += sum;
              }
              row = end;
            }
          });
      return true;
    });
    return sums;
  }

  // The bins of each sensor from `bin` on that have no count, up to `end` and as far as kLookBytes go.
  std::vector<std::uint64_t> empty_of_each(std::uint64_t bin, std::uint64_t end) {
    const std::uint64_t most =
        std::min<std::uint64_t>(end - bin, std::max(kLookBytes / row_bytes_, std::size_t{1}));
    std::vector<std::uint64_t> empty(sensors(), most);
    in_blocks({bin, bin + most}, few_rows(),
              [&](std::uint64_t first, std::span<const std::byte> bytes) {
                bool any = false;
                for (std::size_t s = 0; s < empty.size(); ++s) {
                  if (empty[s] < most) continue;
                  with_bits([&]<class Bits>(Bits) {
                    std::size_t row = 0;
                    const std::size_t rows = bytes.size() / row_bytes_;
                    while (row < rows && bits_of<Bits>(bytes, row, s) == 0) ++row;
                    if (row < rows) empty[s] = first + row - bin;
                  });
                  any = any || empty[s] == most;
                }
                return any;
              });
    return empty;
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
  // Calls with an unsigned integer of a count's size: all of its bits are zero where there is no count.
  template <class Take>
  void with_bits(const Take& take) const {
    switch (core::bytes_of(reader_->description().type)) {
      case 1:
        return take(std::uint8_t{});
      case 2:
        return take(std::uint16_t{});
      default:
        return take(std::uint32_t{});
    }
  }
  template <class Bits>
  Bits bits_of(std::span<const std::byte> bytes, std::size_t row, std::size_t sensor) const {
    Bits bits;
    std::memcpy(&bits, &bytes[row * row_bytes_ + sensor * sizeof(Bits)], sizeof bits);
    return bits;
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
             std::uint64_t samples, double bin_s, bool of_each)
      : looker_(std::move(reader)),
        first_(first),
        samples_(samples),
        step_(samples / kStopSteps),
        steps_(static_cast<std::size_t>(samples / step_)),
        bin_s_(bin_s),
        of_each_(of_each && looker_.sensors() > 1 && looker_.sensors() <= kMostSensors) {}

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
    std::vector<SensorStops> single;
    if (samples_ * looker_.row_bytes() <= kReadAgainBytes || seems_to_stop_often() ||
        (of_each_ && one_seems_to_stop_often()))
      add_repeated(stops, named, single);
    sort_by_time(stops);
    const auto count_from_first = [&](std::vector<BinRange>& found) {
      for (BinRange& stop : found) stop = {stop.first - first_, stop.end - first_};
    };
    count_from_first(stops);
    count_from_first(named);
    for (SensorStops& one : single) count_from_first(one.stops);
    return {std::move(stops), std::move(named), std::move(single)};
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

  // A place in a step. Places are not evenly spaced, as stops may be.
  std::uint64_t place_in(std::size_t k) const {
    const BinRange step = bins_of({k, k + 1});
    return step.first + core::random_bits(k) % step.bins();
  }

  // Whether it is worth to read the part once more: at a place in each step it is seen for how long no count comes.
  bool seems_to_stop_often() {
    std::vector<std::uint64_t> empty;
    for (std::size_t k = 0; k < steps_; ++k) {
      const std::uint64_t place = place_in(k);
      empty.push_back(looker_.empty_from(place, std::min(first_ + samples_, place + step_)));
    }
    return has_rare_places(empty);
  }

  // The same of each sensor by itself.
  bool one_seems_to_stop_often() {
    std::vector<std::vector<std::uint64_t>> empty(looker_.sensors());
    for (std::size_t k = 0; k < steps_; ++k) {
      const std::uint64_t place = place_in(k);
      const auto of_each = looker_.empty_of_each(place, std::min(first_ + samples_, place + step_));
      for (std::size_t s = 0; s < empty.size(); ++s) empty[s].push_back(of_each[s]);
    }
    return std::ranges::any_of(empty, [&](const auto& one) { return has_rare_places(one); });
  }

  // Whether some of these times without a count, one of each step, are too long for counts that come at random.
  bool has_rare_places(const std::vector<std::uint64_t>& empty) const {
    constexpr std::size_t kFewest =
        3;  // places that chance leaves so long with probability 1e-5 each
    constexpr double kRare = 11.5;
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

  // By repeated_stops(), and by single_stops().
  void add_repeated(std::vector<BinRange>& stops, std::vector<BinRange>& named,
                    std::vector<SensorStops>& single) {
    std::vector<double> counts;
    for (std::uint64_t bin = 0; bin < samples_; bin += step_)
      counts.push_back(looker_.sum({first_ + bin, first_ + std::min(samples_, bin + step_)}));
    const BinRange all{first_, first_ + samples_};
    LongestGaps gaps(least_gap(bin_s_));
    std::vector<SensorGaps> each(of_each_ ? looker_.sensors() : 0,
                                 {LongestGaps(least_gap(bin_s_), kMostGapsOfOne), {}});
    const BinRange counted = looker_.find_gaps(all, gaps, each);
    RepeatedStops repeated = repeated_stops({.counts = counts,
                                             .step = step_,
                                             .all = all,
                                             .counted = counted,
                                             .unit_s = bin_s_,
                                             .sensors = looker_.sensors()},
                                            gaps, stops);
    std::vector<BinRange>& to = repeated.certain ? stops : named;
    to.insert(to.end(), repeated.stops.begin(), repeated.stops.end());
    std::vector<BinRange> known = stops;
    known.insert(known.end(), named.begin(), named.end());
    add_single(all, each, known, single);
  }

  void add_single(const BinRange& all, const std::vector<SensorGaps>& each,
                  std::span<const BinRange> known, std::vector<SensorStops>& single) {
    std::vector<std::vector<double>> counts;
    for (std::size_t s = 0; s < each.size(); ++s) {
      const auto& [gaps, counted] = each[s];
      if (!may_be_repeated(counted, bin_s_, gaps, known)) continue;
      if (counts.empty()) counts = looker_.sums_of_each(all, step_);
      auto found = single_stops({.counts = counts[s],
                                 .step = step_,
                                 .all = all,
                                 .counted = counted,
                                 .unit_s = bin_s_,
                                 .sensors = 1},
                                gaps, known);
      if (!found.empty()) single.push_back({static_cast<std::uint32_t>(s), std::move(found)});
    }
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
  bool of_each_;  // whether sensors are looked at one by one
};

}  // namespace

Stops find_stops(const std::function<std::unique_ptr<formats::CountReader>()>& open,
                 std::uint64_t first, std::uint64_t samples, double bin_s, bool of_each) {
  if (samples < kStopSteps) return {};
  return StopSearch(open(), first, samples, bin_s, of_each).find();
}

}  // namespace tautline::pipeline
