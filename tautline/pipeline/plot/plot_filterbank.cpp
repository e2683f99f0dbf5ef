// Filterbanks and dedispersed series.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/time.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/plot/cell_flags.h"
#include "tautline/pipeline/plot/kinds.h"
#include "tautline/pipeline/plot/mean_grid.h"
#include "tautline/pipeline/plot/texts.h"
#include "tautline/pipeline/search/empty_stretches.h"
#include "tautline/pipeline/search/level_steps.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline::plot {

namespace {

namespace figure = formats::figure;

constexpr std::size_t kReadBytes = std::size_t{4} << 20;

// Sums over samples that share a column, of every channel.
class ColumnSums {
 public:
  explicit ColumnSums(std::size_t channels) : sums_(channels), counts_(channels) {}

  template <class Sample>
  void add(const Sample* spectra, std::size_t samples, double zero_level) {
    const std::size_t channels = sums_.size();
    for (std::size_t t = 0; t < samples; ++t)
      for (std::size_t c = 0; c < channels; ++c) {
        const double value = static_cast<double>(spectra[t * channels + c]) - zero_level;
        if (!std::isfinite(value)) continue;
        sums_[c] += value;
        counts_[c] += 1;
        low_ = std::min(low_, value);
        high_ = std::max(high_, value);
      }
  }
  void add(const formats::FilterbankDescription& d, const std::byte* bytes, std::size_t samples) {
    formats::with_samples(d.delivered, bytes, [&](const auto* spectra) {
      add(spectra, samples, static_cast<double>(d.zero_level));
    });
  }
  double sum(std::size_t channel) const { return sums_[channel]; }
  double count(std::size_t channel) const { return counts_[channel]; }
  double low() const { return low_; }
  double high() const { return high_; }
  void clear() {
    std::fill(sums_.begin(), sums_.end(), 0);
    std::fill(counts_.begin(), counts_.end(), 0);
    low_ = std::numeric_limits<double>::infinity();
    high_ = -low_;
  }

 private:
  std::vector<double> sums_, counts_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -low_;
};

struct Spectrogram {
  Binning time, frequency;
  std::vector<std::size_t> row_of;  // of each channel; row 0: the lowest frequencies
  MeanGrid grid;
  MeanGrid stopped;  // counts values that stand in for those that a stopped channel repeats
  std::vector<double> channel_sum, channel_count, channel_stopped;  // of the whole range
  std::vector<double> low, high;                                    // of each column
  std::uint64_t grid_first = 0;
  // With flags: what they leave, and the channels that they leave nothing of.
  std::optional<MeanGrid> kept = {};
  std::vector<std::size_t> flagged_channels = {};
  double flagged = 0, counted = 0;                       // samples of channels
  std::uint64_t empty_samples = 0, empty_stretches = 0;  // in which no channel changes
  std::vector<LevelStep> steps = {};

  bool has_data(std::size_t row, std::size_t column) const {
    return grid.count(row, column) > stopped.count(row, column);
  }
};

std::vector<std::size_t> rows_by_frequency(const std::vector<double>& channel_mhz,
                                           const Binning& frequency) {
  std::vector<std::size_t> order(channel_mhz.size()), row_of(channel_mhz.size());
  for (std::size_t c = 0; c < order.size(); ++c) order[c] = c;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return channel_mhz[a] < channel_mhz[b]; });
  for (std::size_t k = 0; k < order.size(); ++k) row_of[order[k]] = frequency.cell(k);
  return row_of;
}

void keep_unflagged(Spectrogram& s, const std::vector<std::uint8_t>& flags, const ColumnSums& sums,
                    std::size_t column) {
  for (std::size_t c = 0; c < flags.size(); ++c) {
    s.counted += sums.count(c);
    if (flags[c] == 0)
      s.kept->add(s.row_of[c], column, sums.sum(c), sums.count(c));
    else
      s.flagged += sums.count(c);
  }
}

// Parts of a file into a spectrogram, without stretches that hold nothing: these would set the scale of all others.
// Single channels that stop get their mean there, as in a search, so that the mean over channels has no step.
class SpectraReader {
 public:
  // `span`: samples, with gaps.
  SpectraReader(formats::FilterbankReader& reader, const PlotRun& run, Spectrogram& into,
                std::optional<CellFlags>& flags, std::uint64_t span)
      : reader_(reader), run_(run), into_(into), flags_(flags), span_(span) {}

  void add(const PlacedRange& part, std::uint64_t grid_first) {
    const formats::FilterbankDescription& d = reader_.description();
    EmptyStretches empty(reader_, part.range, {});
    std::vector<std::byte> bytes(std::max<std::size_t>(1, kReadBytes / d.sample_bytes()) *
                                 d.sample_bytes());
    const std::uint64_t place = part.grid_first - grid_first;
    std::uint64_t done = 0;
    while (done < part.range.count) {
      const auto wanted = static_cast<std::size_t>(
          std::min<std::uint64_t>(part.range.count - done, bytes.size() / d.sample_bytes()));
      const std::size_t got = reader_.read(part.range.first + done, wanted, bytes);
      if (got == 0) break;
      const std::span<std::byte> block(bytes.data(), got * d.sample_bytes());
      const std::uint64_t end = done + got;
      while (done < end) {
        const auto from = static_cast<std::size_t>(done + got - end);
        const auto stretch = empty.find(block, end - got, from);
        const std::uint64_t stop = stretch ? std::min(end, stretch->first) : end;
        const std::span<std::byte> piece =
            block.subspan(from * d.sample_bytes(), (stop - done) * d.sample_bytes());
        empty.mask_channels(piece, done, !stretch);
        for (const FilledRun& run : empty.replaced()) add_stopped(piece, done, run, place);
        add_pieces(piece, place + done, stop - done, grid_first);
        done = stop;
        if (!stretch) continue;
        into_.empty_samples += stretch->count;
        into_.empty_stretches += 1;
        done = stretch->first + stretch->count;
      }
      run_.at(static_cast<double>(place + done) / static_cast<double>(span_));
    }
  }

 private:
  // What took the place of a channel's values in a piece from `first` on; values that are not finite count nowhere.
  void add_stopped(std::span<const std::byte> piece, std::uint64_t first, const FilledRun& run,
                   std::uint64_t place) {
    const formats::FilterbankDescription& d = reader_.description();
    const std::uint64_t value = (run.first - first) * d.channels + run.channel;
    bool finite = true;
    formats::with_samples(d.delivered, piece.data(), [&](const auto* spectra) {
      finite = std::isfinite(static_cast<double>(spectra[value]));
    });
    if (!finite) return;
    std::uint64_t next = 0;
    for (std::uint64_t at = place + run.first; at < place + run.end; at = next) {
      next = std::min(place + run.end, (at / into_.time.per_cell + 1) * into_.time.per_cell);
      into_.stopped.add(into_.row_of[run.channel], into_.time.cell(at), 0,
                        static_cast<double>(next - at));
    }
    into_.channel_stopped[run.channel] += static_cast<double>(run.end - run.first);
  }

  // `count` spectra from `place` on, cut at the edges of columns and where flags change.
  void add_pieces(std::span<const std::byte> bytes, std::uint64_t place, std::uint64_t count,
                  std::uint64_t grid_first) {
    const formats::FilterbankDescription& d = reader_.description();
    std::uint64_t piece = 0;
    for (std::uint64_t done = 0; done < count; done += piece) {
      const std::uint64_t at = place + done;
      piece = std::min(count - done, into_.time.per_cell - at % into_.time.per_cell);
      if (flags_) piece = std::min(piece, flags_->same_until(grid_first + at));
      sums_.clear();
      sums_.add(d, bytes.data() + done * d.sample_bytes(), static_cast<std::size_t>(piece));
      const std::size_t column = into_.time.cell(at);
      for (std::size_t c = 0; c < d.channels; ++c) {
        into_.grid.add(into_.row_of[c], column, sums_.sum(c), sums_.count(c));
        into_.channel_sum[c] += sums_.sum(c);
        into_.channel_count[c] += sums_.count(c);
      }
      if (flags_) keep_unflagged(into_, flags_->at(grid_first + at), sums_, column);
      if (sums_.low() > sums_.high()) continue;
      into_.low[column] = std::fmin(into_.low[column], sums_.low());
      into_.high[column] = std::fmax(into_.high[column], sums_.high());
    }
  }

  formats::FilterbankReader& reader_;
  const PlotRun& run_;
  Spectrogram& into_;
  std::optional<CellFlags>& flags_;
  std::uint64_t span_;
  ColumnSums sums_{reader_.description().channels};
};

Spectrogram read_spectrogram(formats::FilterbankReader& reader, const PlotConfig& config,
                             const PlotRun& run) {
  const formats::FilterbankDescription& d = reader.description();
  const SampleRange range = choose_range(reader, config.start_s, config.duration_s);
  const std::vector<PlacedRange> parts = split_at_gaps(reader, range);
  const std::uint64_t first = parts.front().grid_first;
  const std::uint64_t span = parts.back().grid_first + parts.back().range.count - first;
  const Binning time = Binning::of(span, config.columns);
  const Binning frequency = Binning::of(d.channels, config.rows);
  Spectrogram s{time,
                frequency,
                rows_by_frequency(d.channel_mhz, frequency),
                MeanGrid(frequency.cells, time.cells),
                MeanGrid(frequency.cells, time.cells),
                std::vector<double>(d.channels),
                std::vector<double>(d.channels),
                std::vector<double>(d.channels),
                std::vector<double>(time.cells, std::numeric_limits<double>::quiet_NaN()),
                std::vector<double>(time.cells, std::numeric_limits<double>::quiet_NaN()),
                first};
  std::optional<CellFlags> flags;
  if (!config.mask.empty() || config.flag_channels) {
    flags.emplace(reader, range, config);
    s.kept.emplace(frequency.cells, time.cells);
    s.flagged_channels = flags->channels();
  }
  SpectraReader spectra(reader, run, s, flags, span);
  for (const PlacedRange& part : parts) spectra.add(part, first);
  if (s.empty_samples == range.count)
    throw core::Error(core::ErrorKind::format, config.input,
                      "the same spectrum at all times: nothing to draw", "spectra that change",
                      "check what wrote the file");
  if (d.channels > 1) s.steps = find_level_steps(reader, parts, s.flagged_channels).steps;
  return s;
}

std::string level_unit(const formats::FilterbankDescription& d) {
  return d.delivered == formats::Delivered::f32 ? "units of the file" : "counts";
}

// Cells over their row's mean, so that the bandpass does not hide what changes.
figure::Panel waterfall(const std::string& title, const Spectrogram& s, const MeanGrid& grid,
                        const formats::FilterbankDescription& d, const figure::Axis& time) {
  figure::Panel panel{title, time, axis("frequency", "MHz")};
  const double half = d.channels > 1 ? std::fabs(d.highest_mhz() - d.lowest_mhz()) /
                                           static_cast<double>(d.channels - 1) / 2
                                     : 0.5;
  panel.y.low = d.lowest_mhz() - half;
  // The last row may have fewer channels than the others: its cells are drawn as large.
  panel.y.high =
      panel.y.low + 2 * half * static_cast<double>(s.frequency.cells * s.frequency.per_cell);
  panel.image.rows = grid.rows();
  panel.image.columns = grid.columns();
  panel.image.colour = axis("power", "of the channel's mean");
  for (std::size_t row = 0; row < grid.rows(); ++row) {
    const double mean = grid.row_mean(row);
    for (std::size_t column = 0; column < grid.columns(); ++column)
      panel.image.values.push_back(static_cast<float>(
          mean != 0 && s.has_data(row, column) ? grid.mean(row, column) / mean
                                               : std::numeric_limits<double>::quiet_NaN()));
  }
  figure::fit_colours(panel.image, 0.01, 0.995);
  return panel;
}

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

figure::Panel bandpass(const Spectrogram& s, const formats::FilterbankDescription& d) {
  figure::Panel panel{"Bandpass, mean over time", axis("frequency", "MHz"),
                      axis("power", level_unit(d))};
  std::vector<std::size_t> order(d.channels);
  for (std::size_t c = 0; c < order.size(); ++c) order[c] = c;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return d.channel_mhz[a] < d.channel_mhz[b]; });
  figure::Line line;
  for (const std::size_t c : order) {
    line.x.push_back(d.channel_mhz[c]);
    line.y.push_back(s.channel_count[c] > s.channel_stopped[c]
                         ? s.channel_sum[c] / s.channel_count[c]
                         : std::numeric_limits<double>::quiet_NaN());
  }
  figure::fit_axis(panel.y, line.y);
  figure::fit_axis(panel.x, line.x);
  const bool marked = !s.flagged_channels.empty();
  if (marked) line.name = "all channels";
  panel.lines.push_back(std::move(line));
  if (!marked) return panel;
  figure::Line flagged;
  flagged.name = "flagged";
  flagged.style = figure::Style::points;
  for (const std::size_t c : order) {
    if (std::find(s.flagged_channels.begin(), s.flagged_channels.end(), c) ==
        s.flagged_channels.end())
      continue;
    flagged.x.push_back(d.channel_mhz[c]);
    flagged.y.push_back(s.channel_sum[c] / s.channel_count[c]);
  }
  panel.lines.push_back(std::move(flagged));
  return panel;
}

std::vector<double> column_means(const Spectrogram& s) {
  std::vector<double> means;
  for (std::size_t column = 0; column < s.grid.columns(); ++column) {
    double sum = 0, rows = 0;
    for (std::size_t row = 0; row < s.grid.rows(); ++row) {
      const double mean = s.grid.mean(row, column);
      if (!std::isfinite(mean)) continue;
      sum += mean;
      rows += 1;
    }
    means.push_back(rows > 0 ? sum / rows : std::numeric_limits<double>::quiet_NaN());
  }
  return means;
}

figure::Panel level_against_time(const Spectrogram& s, const formats::FilterbankDescription& d,
                                 const figure::Axis& time) {
  figure::Panel panel{d.channels > 1 ? "Mean over channels" : "Series", time,
                      axis(d.channels > 1 ? "power" : "level", level_unit(d))};
  const auto centres = [&] {
    std::vector<double> x;
    const double step = (time.high - time.low) / static_cast<double>(s.grid.columns());
    for (std::size_t k = 0; k < s.grid.columns(); ++k)
      x.push_back(time.low + (static_cast<double>(k) + 0.5) * step);
    return x;
  }();
  const bool averaged = d.channels == 1 && s.time.per_cell > 1;
  std::vector<double> all;
  const auto add = [&](const std::string& name, const std::vector<double>& y) {
    panel.lines.push_back({name, figure::Style::line, centres, y});
    all.insert(all.end(), y.begin(), y.end());
  };
  // A mean would hide pulses that are shorter than a cell.
  add(averaged ? "mean" : "", column_means(s));
  if (averaged) add("largest", s.high);
  if (averaged) add("smallest", s.low);
  figure::fit_axis(panel.y, all);
  return panel;
}

void add_facts(const formats::FilterbankDescription& d, const Spectrogram& s, Figure& made) {
  made.facts = {{"format", d.format},
                {"samples", grouped(d.samples) + " of " + in_seconds(1 / d.rate_hz.value())},
                {"start", core::to_iso(d.start) + " UTC"}};
  if (d.channels > 1)
    made.facts.push_back(
        {"channels", fmt::format("{} from {:.6g} to {:.6g} MHz", grouped(d.channels),
                                 d.lowest_mhz(), d.highest_mhz())});
  if (d.refdm) made.facts.push_back({"DM", fmt::format("{:.6g} pc cm\u207b\u00b3", *d.refdm)});
  if (!d.source.empty()) made.facts.push_back({"source", d.source});
  if (s.kept)
    made.facts.push_back(
        {"flagged", fmt::format("{} of {}, {:.3g} % of the samples",
                                grouped(s.flagged_channels.size()) +
                                    (s.flagged_channels.size() == 1 ? " channel" : " channels"),
                                grouped(d.channels), 100 * s.flagged / s.counted)});
  if (s.empty_stretches > 0)
    made.facts.push_back(
        {"empty", fmt::format("{} in {}, in which no channel changes: left out",
                              core::counted(s.empty_samples, "sample"),
                              core::counted(s.empty_stretches, "stretch", "stretches"))});
  if (!s.steps.empty()) made.facts.push_back({"steps of level", grouped(s.steps.size())});
  std::uint64_t stopped_channels = 0, stopped_values = 0;
  for (const double values : s.channel_stopped) {
    stopped_channels += values > 0 ? 1 : 0;
    stopped_values += static_cast<std::uint64_t>(values);
  }
  if (stopped_channels > 0)
    made.facts.push_back({"stopped", fmt::format("{}, {} samples: means take their place",
                                                 core::counted(stopped_channels, "channel"),
                                                 grouped(stopped_values))});
}

}  // namespace

Figure plot_filterbank(const PlotConfig& config, const PlotRun& run) {
  const auto reader = formats::open_filterbank({config.input});
  const formats::FilterbankDescription& d = reader->description();
  if (d.samples == 0)
    throw core::Error(core::ErrorKind::format, config.input, "no samples", "at least one");
  const Spectrogram s = read_spectrogram(*reader, config, run);
  const double tsamp = 1 / d.rate_hz.value();
  double scale = 1;
  const figure::Axis time =
      time_axis(static_cast<double>(s.grid_first) * tsamp,
                static_cast<double>(s.time.cells * s.time.per_cell) * tsamp, scale);
  Figure made{name_of(config.input)};
  add_facts(d, s, made);
  if (d.channels > 1)
    made.panels.push_back(waterfall(s.kept ? "Dynamic spectrum, before flags" : "Dynamic spectrum",
                                    s, s.grid, d, time));
  if (d.channels > 1 && !s.kept && !all_finite(made.panels.back().image.values))
    made.notes.push_back("Hatched: no data.");
  if (d.channels > 1 && s.kept) {
    made.panels.push_back(waterfall("Dynamic spectrum, after flags", s, *s.kept, d, time));
    made.notes.push_back(
        "Hatched cells are flagged whole or have no data; others are means of what is left.");
  }
  made.panels.push_back(level_against_time(s, d, time));
  for (const LevelStep& step : s.steps) {
    const double at = static_cast<double>(step.sample) * tsamp / scale;
    made.panels.back().empty.emplace_back(at, at);
  }
  if (!s.steps.empty())
    made.notes.push_back("Lines in the mean over channels: the level, or the noise, steps.");
  if (d.channels > 1) made.panels.push_back(bandpass(s, d));
  const std::string note = averaged_note(s.time.per_cell, s.frequency.per_cell);
  if (!note.empty()) made.notes.push_back(note);
  for (const std::string& damage : reader->damage().messages)
    made.notes.push_back("Damaged: " + damage);
  return made;
}

}  // namespace tautline::pipeline::plot
