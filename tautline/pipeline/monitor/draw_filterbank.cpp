// A filterbank: its last minute against frequency and time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>

#include "tautline/core/time.h"
#include "tautline/pipeline/monitor/figure_drawing.h"
#include "tautline/pipeline/plot/mean_grid.h"
#include "tautline/pipeline/plot/texts.h"
#include "tautline/pipeline/search/filterbank_source_node.h"

namespace tautline::pipeline::monitor {

namespace {

namespace figure = formats::figure;

constexpr double kMostWindow_s = 60;
constexpr std::size_t kWaterfallColumns = 300, kWaterfallRows = 200;

class FilterbankDrawing final : public FigureDrawing {
 public:
  explicit FilterbankDrawing(const engine::Stream& stream)
      : filterbank_(stream.detail<FilterbankStream>()),
        start_(stream.start),
        rate_hz_(stream.rate_hz.value()),
        block_samples_(stream.max_samples),
        rows_(plot::Binning::of(filterbank_.description().channels, kWaterfallRows)) {
    const double length_s = stream.total_samples > 0
                                ? static_cast<double>(stream.total_samples) / rate_hz_
                                : kMostWindow_s;
    widest_s_ = std::max(
        1 / rate_hz_, std::min(kMostWindow_s, length_s) / static_cast<double>(kWaterfallColumns));
    column_s_ = widest_s_;
    while (column_s_ / 2 >= 1 / rate_hz_) column_s_ /= 2;
    const std::vector<double>& mhz = filterbank_.description().channel_mhz;
    std::vector<std::size_t> order(mhz.size());
    for (std::size_t c = 0; c < order.size(); ++c) order[c] = c;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return mhz[a] < mhz[b]; });
    row_of_.resize(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) row_of_[order[k]] = rows_.cell(k);
  }

  void take(const engine::Block& block) override {
    const FilterbankStream::Turn turn = filterbank_.turn_of(block.segment);
    if (turn.pass != 0 || filterbank_.parts[turn.part].beam != 0) return;
    passed_over_ = follows_passed_over(block);
    whole_ = block.samples > 0 && block.samples == block_samples_;
    segment_ = block.segment;
    next_ = block.first + block.samples;
    const double first_s = core::seconds_between(start_, block.segment_start) +
                           static_cast<double>(block.first) / rate_hz_;
    const auto* bytes = static_cast<const std::byte*>(block.arrays.front().data);
    formats::with_samples(filterbank_.description().delivered, bytes,
                          [&](const auto* spectra) { add(spectra, block.samples, first_s); });
    note_change();
  }

 private:
  struct Column {
    std::int64_t place = 0;  // its time over column_s_
    std::vector<double> sums, counts;
    bool repeated = false;  // the values of the column before
  };

  // Whole blocks of this length are passed over where the page cannot keep up; data that are missing have any length.
  bool follows_passed_over(const engine::Block& block) const {
    return whole_ && block.segment == segment_ && block.first > next_ &&
           (block.first - next_) % block_samples_ == 0;
  }

  template <class Sample>
  void add(const Sample* spectra, std::size_t samples, double first_s) {
    const std::size_t channels = row_of_.size();
    for (std::size_t t = 0; t < samples; ++t, spectra += channels) {
      Column* column = column_at(first_s + static_cast<double>(t) / rate_hz_);
      if (column == nullptr) continue;
      for (std::size_t c = 0; c < channels; ++c) {
        const auto value = static_cast<double>(spectra[c]);
        if (!std::isfinite(value)) continue;
        column->sums[row_of_[c]] += value;
        column->counts[row_of_[c]] += 1;
      }
    }
  }

  // Of the sample at this time. Columns are as narrow as the window that the data fill allows.
  Column* column_at(double time_s) {
    const auto place = [&] { return static_cast<std::int64_t>(std::floor(time_s / column_s_)); };
    while (!columns_.empty() && column_s_ < widest_s_ &&
           columns_.front().place <= place() - static_cast<std::int64_t>(kWaterfallColumns))
      merge_columns();
    return column_of(place());
  }

  void merge_columns() {
    column_s_ *= 2;
    std::deque<Column> merged;
    for (Column& one : columns_) {
      one.place = one.place >= 0 ? one.place / 2 : (one.place - 1) / 2;
      if (merged.empty() || merged.back().place != one.place) {
        merged.push_back(std::move(one));
        continue;
      }
      if (one.repeated && !merged.back().repeated) continue;
      if (merged.back().repeated && !one.repeated) {
        merged.back() = std::move(one);
        continue;
      }
      for (std::size_t row = 0; row < rows_.cells; ++row) {
        merged.back().sums[row] += one.sums[row];
        merged.back().counts[row] += one.counts[row];
      }
    }
    columns_ = std::move(merged);
  }

  Column* column_of(std::int64_t place) {
    if (columns_.empty() || columns_.back().place < place) {
      if (passed_over_ && !columns_.empty()) repeat_last(place);
      passed_over_ = false;
      columns_.push_back(
          {place, std::vector<double>(rows_.cells), std::vector<double>(rows_.cells)});
      while (columns_.front().place <= place - static_cast<std::int64_t>(kWaterfallColumns))
        columns_.pop_front();
    }
    return columns_.back().place == place ? &columns_.back() : nullptr;
  }

  // Up to that place.
  void repeat_last(std::int64_t end) {
    const auto most = static_cast<std::int64_t>(kWaterfallColumns);
    Column last = columns_.back();
    last.repeated = true;
    for (last.place = std::max(last.place + 1, end - most); last.place < end; ++last.place)
      columns_.push_back(last);
  }

  std::string title() const {
    const auto repeated = std::ranges::count_if(columns_, &Column::repeated);
    const std::string title = "The last of the filterbank";
    if (repeated == 0) return title;
    return fmt::format(
        "{}; {:.0f} % of these times were not looked at and repeat those before", title,
        100.0 * static_cast<double>(repeated) / static_cast<double>(columns_.size()));
  }

  static double mean(const Column& column, std::size_t row) {
    return column.counts[row] > 0 ? column.sums[row] / column.counts[row] : std::nan("");
  }

  // Deviations of the cells of each channel from their mean, in units of their scatter: channels differ in level.
  figure::Figure figure() override {
    const std::int64_t last = columns_.back().place + 1, first = columns_.front().place;
    figure::Panel panel;
    panel.title = title();
    figure::Image& image = panel.image;
    image.rows = rows_.cells;
    image.columns = static_cast<std::size_t>(last - first);
    image.values.assign(image.rows * image.columns, std::numeric_limits<float>::quiet_NaN());
    for (std::size_t row = 0; row < image.rows; ++row) {
      double sum = 0, squares = 0, count = 0;
      for (const Column& column : columns_)
        if (const double value = mean(column, row); !column.repeated && std::isfinite(value)) {
          sum += value;
          squares += value * value;
          ++count;
        }
      const double centre = sum / count;
      const double scatter = std::sqrt(std::max(0.0, squares / count - centre * centre));
      for (const Column& column : columns_) {
        const auto at = static_cast<std::size_t>(column.place - first);
        const double value = mean(column, row);
        if (std::isfinite(value))
          image.values[row * image.columns + at] =
              static_cast<float>(scatter > 0 ? (value - centre) / scatter : 0);
      }
    }
    image.colour = plot::axis("power", "standard deviations from the channel's mean");
    figure::fit_colours(image);
    const formats::FilterbankDescription& band = filterbank_.description();
    const double half = 0.5 * std::max(1e-9, std::abs(band.foff_mhz));
    panel.x = plot::axis("time", "s", static_cast<double>(first) * column_s_,
                         static_cast<double>(last) * column_s_);
    panel.y = plot::axis("frequency", "MHz", band.lowest_mhz() - half, band.highest_mhz() + half);
    panel.tall = true;
    figure::Figure made{"Filterbank"};
    made.panels.push_back(std::move(panel));
    return made;
  }

  FilterbankStream filterbank_;
  core::Instant start_;
  double rate_hz_, column_s_ = 1, widest_s_ = 1;
  std::size_t block_samples_;
  // The last block's: of full length, segment, end. Blocks before this one were passed over.
  bool whole_ = false, passed_over_ = false;
  std::uint64_t segment_ = 0, next_ = 0;
  plot::Binning rows_;
  std::vector<std::size_t> row_of_;  // of each channel; row 0: the lowest frequencies
  std::deque<Column> columns_;
};

}  // namespace

std::unique_ptr<Drawing> draw_filterbank(const engine::Stream& stream) {
  return std::make_unique<FilterbankDrawing>(stream);
}

}  // namespace tautline::pipeline::monitor
