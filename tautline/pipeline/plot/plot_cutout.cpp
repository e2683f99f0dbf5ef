// The cut-out of a candidate, as `search --cutouts` and `your` write it.
#include <fmt/format.h>

#include <algorithm>

#include "tautline/core/counted.h"
#include "tautline/formats/cutout_hdf5/cutout_hdf5.h"
#include "tautline/pipeline/plot/figures.h"
#include "tautline/pipeline/plot/kinds.h"
#include "tautline/pipeline/plot/texts.h"

namespace tautline::pipeline::plot {

namespace {

namespace figure = formats::figure;
using formats::cutout_hdf5::CutoutFile;

// Of the arrays; what `your` wrote otherwise is drawn as it is.
constexpr const char* kUnit = "standard deviations";

// The candidate is at the start of the middle column.
figure::Axis times(const CutoutFile& cutout, std::size_t columns) {
  double scale = 1;
  const double span_s = static_cast<double>(columns) * cutout.column_s();
  figure::Axis made =
      time_axis(-static_cast<double>(columns / 2) * cutout.column_s(), span_s, scale);
  made.label = "time after the candidate's";
  return made;
}

// [row][time], from the lowest frequency up.
std::vector<float> rows_of(const CutoutFile& cutout) {
  std::vector<float> made(cutout.frequency_time.size());
  for (std::size_t row = 0; row < cutout.rows; ++row) {
    const std::size_t from = cutout.foff_mhz < 0 ? cutout.rows - 1 - row : row;
    for (std::size_t time = 0; time < cutout.times; ++time)
      made[row * cutout.times + time] = cutout.frequency_time[time * cutout.rows + from];
  }
  return made;
}

figure::Panel profile_panel(const CutoutFile& cutout, const figure::Axis& time) {
  figure::Panel panel{"Dedispersed profile, mean over channels", time, axis("mean", kUnit)};
  figure::Line line;
  const double column = (time.high - time.low) / static_cast<double>(cutout.times);
  for (std::size_t k = 0; k < cutout.times; ++k) {
    double sum = 0;
    for (std::size_t row = 0; row < cutout.rows; ++row)
      sum += static_cast<double>(cutout.frequency_time[k * cutout.rows + row]);
    line.x.push_back(time.low + (static_cast<double>(k) + 0.5) * column);
    line.y.push_back(sum / static_cast<double>(cutout.rows));
  }
  figure::fit_axis(panel.y, line.y);
  panel.lines.push_back(std::move(line));
  return panel;
}

figure::Axis band(const CutoutFile& cutout) {
  const double first = cutout.fch1_mhz - cutout.foff_mhz / 2,
               last = first + static_cast<double>(cutout.channels) * cutout.foff_mhz;
  return axis("frequency", "MHz", std::min(first, last), std::max(first, last));
}

// Rows are DMs from 0 to twice the candidate's, ends included.
figure::Axis dms(const CutoutFile& cutout) {
  const double steps = static_cast<double>(cutout.dms - 1);
  const double step = cutout.dm > 0 && steps > 0 ? 2 * cutout.dm / steps : 1;
  return axis("DM", "pc cm\u207b\u00b3", -step / 2, (steps + 0.5) * step);
}

}  // namespace

Figure plot_cutout(const PlotConfig& config) {
  const CutoutFile cutout = formats::cutout_hdf5::read(config.input);
  const double width_s = static_cast<double>(cutout.width_samples) * cutout.tsamp_s;
  Figure made{name_of(config.input)};
  made.facts = {{"S/N", fmt::format("{:.1f}", cutout.snr)},
                {"DM", fmt::format("{:.6g} pc cm\u207b\u00b3", cutout.dm)},
                {"time", fmt::format("{:.6f} s", cutout.time_s)},
                {"width", fmt::format("{} ({})", core::counted(cutout.width_samples, "sample"),
                                      in_seconds(width_s))}};
  if (!cutout.source.empty()) made.facts.push_back({"source", cutout.source});
  if (!cutout.file.empty()) made.facts.push_back({"cut out of", name_of(cutout.file)});
  const figure::Axis time = times(cutout, cutout.times);
  made.panels.push_back(profile_panel(cutout, time));
  made.panels.push_back(pulse_image("Frequency against time, dedispersed", time, band(cutout),
                                    cutout.times, rows_of(cutout), axis("level", kUnit)));
  made.panels.push_back(pulse_image("DM against time", times(cutout, cutout.dm_times), dms(cutout),
                                    cutout.dm_times, cutout.dm_time, axis("level", kUnit)));
  cut_below_zero(made.panels.back());
  made.notes.push_back(
      "Levels are the file's: over the array's median, in units of its standard deviation, where "
      "search or your_candmaker.py wrote it.");
  return made;
}

}  // namespace tautline::pipeline::plot
