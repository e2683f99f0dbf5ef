// Dedispersed series as `dedisperse` writes them: an array [dm][time] with a .json beside it, or a folder with a file of
// each trial.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/dispersion.h"
#include "tautline/core/error.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/npy/header.h"
#include "tautline/formats/npy/npy.h"
#include "tautline/formats/series_set.h"
#include "tautline/pipeline/plot/figures.h"
#include "tautline/pipeline/plot/kinds.h"
#include "tautline/pipeline/plot/mean_grid.h"
#include "tautline/pipeline/plot/texts.h"

namespace tautline::pipeline::plot {

namespace {

namespace figure = formats::figure;

constexpr std::size_t kReadSamples = std::size_t{1} << 18, kMostSidecar = std::size_t{256} << 20;

nlohmann::json read_sidecar(const std::string& path) {
  const std::string beside = path + ".json";
  const std::vector<std::byte> bytes = formats::InputFile(beside).head(kMostSidecar);
  return nlohmann::json::parse(reinterpret_cast<const char*>(bytes.data()),
                               reinterpret_cast<const char*>(bytes.data()) + bytes.size(), nullptr,
                               false);
}

class Trials {
 public:
  explicit Trials(const std::string& path) {
    if (formats::is_folder_of_series(path))
      open_folder(path);
    else
      open_array(path);
  }

  /// Of a step with lost data, what part of each trial's values was filled.
  struct FilledStep {
    std::uint64_t first = 0, end = 0;  // samples
    std::vector<double> fraction;      // [trial]
  };
  const std::vector<FilledStep>& filled() const { return filled_; }

  const std::vector<double>& dms() const { return dms_; }
  std::uint64_t samples() const { return samples_; }
  double tsamp_s() const { return tsamp_s_; }
  const std::vector<std::string>& notes() const { return notes_; }
  /// Between the parts of the filterbank that held data, in samples; of no length where two of them touch.
  const std::vector<std::pair<double, double>>& breaks() const { return breaks_; }

  /// Hands over [first, first + count) of a trial in pieces: use(first of the piece, values).
  template <class Use>
  void read(std::size_t trial, std::uint64_t first, std::uint64_t count, Use&& use) {
    std::vector<float> values;
    const auto reader = files_.empty() ? nullptr : formats::open_filterbank({files_[trial].second});
    for (std::uint64_t done = 0; done < count; done += values.size()) {
      values.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kReadSamples, count - done)));
      if (reader)
        read_file(*reader, first + done, values);
      else
        read_array(trial, first + done, values);
      use(done, values);
    }
  }

 private:
  void open_folder(const std::string& path) {
    const auto all = formats::open_filterbank({path});
    for (const std::string& one : formats::series_in_folder(path).paths)
      files_.emplace_back(
          formats::open_filterbank({one})->description().dm_with(core::kDispersionConstant), one);
    std::sort(files_.begin(), files_.end());
    for (const auto& [dm, file] : files_) dms_.push_back(dm);
    tsamp_s_ = all->description().tsamp_s;
    samples_ = all->description().samples;
    notes_ = all->remarks();
    for (const std::string& damage : all->damage().messages) notes_.push_back("Damaged: " + damage);
    if (samples_ == 0) refuse(path, "no samples");
  }

  void open_array(const std::string& path) {
    file_.emplace(path);
    const formats::npy::Header header =
        formats::npy::parse_header(file_->head(formats::npy::kMaxHeaderBytes), path);
    const nlohmann::json beside = read_sidecar(path);
    if (!beside.is_object() || !beside.contains("dms") || !beside["dms"].is_array() ||
        !beside.contains("tsamp_s") || !beside["tsamp_s"].is_number())
      refuse(path + ".json", "no list of DMs and no sample time");
    for (const nlohmann::json& dm : beside["dms"]) {
      if (!dm.is_number()) refuse(path + ".json", "a DM that is no number");
      dms_.push_back(dm.get<double>());
    }
    tsamp_s_ = beside["tsamp_s"].get<double>();
    if (header.shape.size() != 2 || header.fortran_order || header.shape[0] != dms_.size() ||
        (header.type != "<f4" && header.type != "<i4"))
      refuse(path, "an array of " + header.type + " " + formats::npy::shape_text(header.shape));
    floats_ = header.type == "<f4";
    samples_ = header.shape[1];
    offset_ = header.data_offset_bytes;
    if (samples_ == 0 || dms_.empty()) refuse(path, "no samples");
    if (!(tsamp_s_ > 0)) refuse(path + ".json", "no sample time above zero");
    read_filled(beside);
    read_breaks(beside);
  }

  void read_array(std::size_t trial, std::uint64_t first, std::vector<float>& values) {
    const auto bytes = std::as_writable_bytes(std::span(values));
    if (file_->read(offset_ + 4 * (trial * samples_ + first), bytes) != bytes.size())
      refuse(file_->path(), "an array that is cut short");
    if (floats_) return;
    for (float& value : values) value = static_cast<float>(std::bit_cast<std::int32_t>(value));
  }

  static void read_file(formats::FilterbankReader& reader, std::uint64_t first,
                        std::vector<float>& values) {
    const formats::FilterbankDescription& d = reader.description();
    std::vector<std::byte> bytes(values.size() * d.sample_bytes());
    const std::size_t got = reader.read(first, values.size(), bytes);
    std::fill(values.begin(), values.end(), std::numeric_limits<float>::quiet_NaN());
    formats::with_samples(d.delivered, bytes.data(), [&](const auto* from) {
      for (std::size_t k = 0; k < got; ++k) values[k] = static_cast<float>(from[k]);
    });
  }

  // Of the filterbank's samples, of which a sample of the series may add several.
  void read_breaks(const nlohmann::json& beside) {
    const nlohmann::json parts = beside.value("data_segments", nlohmann::json());
    const nlohmann::json segments = beside.value("segments", nlohmann::json());
    if (!parts.is_array() || !segments.is_array() || segments.size() != 1) return;
    const auto number = [](const nlohmann::json& of, const char* name) {
      const nlohmann::json found = of.is_object() ? of.value(name, nlohmann::json()) : of;
      return found.is_number() ? found.get<double>() : NAN;
    };
    const double scale = 1 / number(segments[0], "downsample");
    double end = 0;
    for (const nlohmann::json& part : parts) {
      const double first = number(part, "first_sample");
      if (!std::isfinite(scale * (first + number(part, "samples")))) return;
      if (first > 0) breaks_.emplace_back(scale * end, scale * first);
      end = first + number(part, "samples");
    }
    if (const auto all = static_cast<double>(samples_); end > 0 && scale * end < all)
      breaks_.emplace_back(scale * end, all);
  }

  // Records of before have none; steps of which nothing is known are left out.
  void read_filled(const nlohmann::json& beside) {
    const nlohmann::json segments = beside.value("segments", nlohmann::json());
    if (!segments.is_array() || segments.size() != 1 || !segments[0].is_object()) return;
    const nlohmann::json filled = segments[0].value("filled", nlohmann::json());
    if (!filled.is_object() || !filled.value("step_samples", nlohmann::json()).is_number_unsigned())
      return;
    const auto step_samples = filled["step_samples"].get<std::uint64_t>();
    for (const nlohmann::json& step : filled.value("steps", nlohmann::json::array())) {
      if (!step.is_object() || !step.value("step", nlohmann::json()).is_number_unsigned()) continue;
      const nlohmann::json fraction = step.value("fraction", nlohmann::json());
      if (!fraction.is_array() || fraction.size() != dms_.size()) continue;
      const auto first = step["step"].get<std::uint64_t>() * step_samples;
      FilledStep one{first, std::min(samples_, first + step_samples), {}};
      for (const nlohmann::json& value : fraction)
        one.fraction.push_back(value.is_number() ? value.get<double>() : 0);
      if (one.first < one.end) filled_.push_back(std::move(one));
    }
  }

  [[noreturn]] static void refuse(const std::string& path, const std::string& found) {
    throw core::Error(
        core::ErrorKind::format, path, found,
        "dedispersed series [dm][time] with `dms` and `tsamp_s` in the .json beside them",
        "make both again with `dedisperse`");
  }

  std::optional<formats::InputFile> file_;             // the array
  std::vector<std::pair<double, std::string>> files_;  // or DM and name of each trial's
  std::vector<std::string> notes_;
  std::vector<double> dms_;
  std::vector<FilledStep> filled_;
  std::vector<std::pair<double, double>> breaks_;
  double tsamp_s_ = 0;
  bool floats_ = false;
  std::uint64_t samples_ = 0, offset_ = 0;
};

struct Range {
  std::uint64_t first = 0, count = 0;
};

Range range_of(const Trials& trials, const PlotConfig& config) {
  const auto first = static_cast<std::uint64_t>(config.start_s / trials.tsamp_s());
  if (first >= trials.samples())
    throw core::Error(core::ErrorKind::config, "start_s", fmt::format("{} s", config.start_s),
                      fmt::format("less than {:.6g} s",
                                  static_cast<double>(trials.samples()) * trials.tsamp_s()));
  std::uint64_t count = trials.samples() - first;
  if (config.duration_s >= 0)
    count = std::clamp<std::uint64_t>(
        static_cast<std::uint64_t>(std::llround(config.duration_s / trials.tsamp_s())), 1, count);
  return {first, count};
}

// Largest sample of a trial over its own mean, in its standard deviations.
struct TrialPeaks {
  MeanGrid grid;
  std::vector<double> peak, deviation;
};

TrialPeaks read_trials(Trials& trials, const Range& range, const Binning& rows,
                       const Binning& columns, const PlotRun& run) {
  TrialPeaks found{MeanGrid(rows.cells, columns.cells), {}, {}};
  for (std::size_t t = 0; t < trials.dms().size(); ++t) {
    double sum = 0, squares = 0, largest = -INFINITY, count = 0, origin = NAN;
    trials.read(t, range.first, range.count,
                [&](std::uint64_t at, const std::vector<float>& values) {
                  for (std::size_t k = 0; k < values.size(); ++k) {
                    const auto value = static_cast<double>(values[k]);
                    if (!std::isfinite(value)) continue;
                    if (std::isnan(origin)) origin = value;
                    sum += value - origin;
                    squares += (value - origin) * (value - origin);
                    count += 1;
                    largest = std::max(largest, value - origin);
                    found.grid.add(rows.cell(t), columns.cell(at + k), value, 1);
                  }
                });
    const double mean = sum / count;
    const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
    found.deviation.push_back(deviation);
    found.peak.push_back(deviation > 0 ? (largest - mean) / deviation : NAN);
    run.at(static_cast<double>(t + 1) / static_cast<double>(trials.dms().size() + 1));
  }
  return found;
}

figure::Panel trial_picture(const TrialPeaks& found, const Trials& trials, const Binning& rows,
                            const figure::Axis& time) {
  figure::Panel panel{"DM against time", time, axis("DM", "pc cm\u207b\u00b3")};
  const auto& dms = trials.dms();
  // Trials may stand unevenly: then rows are numbered, and named by their DMs.
  const double step =
      dms.size() > 1 ? (dms.back() - dms.front()) / static_cast<double>(dms.size() - 1) : 1;
  bool even = step > 0;
  for (std::size_t t = 0; t < dms.size(); ++t)
    even = even && std::fabs(dms[t] - dms.front() - step * static_cast<double>(t)) < 0.05 * step;
  if (even) {
    panel.y.low = dms.front() - step / 2;
    panel.y.high = panel.y.low + step * static_cast<double>(rows.cells * rows.per_cell);
    if (rows.per_cell > 1) panel.y.low = std::max(panel.y.low, std::min(0.0, dms.front()));
  } else {
    panel.y.label = "trial's DM";
    panel.y.high = static_cast<double>(rows.cells);
    for (std::size_t r = 0; r < rows.cells; ++r)
      panel.y.names.push_back(fmt::format("{:.4g}", dms[r * rows.per_cell]));
  }
  panel.image.rows = found.grid.rows();
  panel.image.columns = found.grid.columns();
  panel.image.colour = axis("deviation from the trial's mean", "sigma");
  for (std::size_t r = 0; r < found.grid.rows(); ++r) {
    const double mean = found.grid.row_mean(r);
    const double sigma = found.deviation[r * rows.per_cell];
    for (std::size_t c = 0; c < found.grid.columns(); ++c)
      panel.image.values.push_back(
          sigma > 0 ? static_cast<float>((found.grid.mean(r, c) - mean) / sigma) : NAN);
  }
  figure::fit_colours(panel.image, 0.01, 0.9999);
  return panel;
}

figure::Panel best_series(Trials& trials, std::size_t best, const Range& range,
                          const Binning& columns, const figure::Axis& time) {
  std::vector<double> high(columns.cells, NAN), x;
  MeanGrid means(1, columns.cells);
  trials.read(best, range.first, range.count,
              [&](std::uint64_t at, const std::vector<float>& values) {
                for (std::size_t k = 0; k < values.size(); ++k) {
                  const auto value = static_cast<double>(values[k]);
                  if (!std::isfinite(value)) continue;
                  const std::size_t cell = columns.cell(at + k);
                  means.add(0, cell, value, 1);
                  high[cell] = std::isnan(high[cell]) ? value : std::max(high[cell], value);
                }
              });
  const double step = (time.high - time.low) / static_cast<double>(columns.cells);
  std::vector<double> mean;
  for (std::size_t c = 0; c < columns.cells; ++c) {
    x.push_back(time.low + (static_cast<double>(c) + 0.5) * step);
    mean.push_back(means.mean(0, c));
  }
  figure::Panel panel{
      fmt::format("Series of DM {:.6g} pc cm\u207b\u00b3, which has the largest deviation",
                  trials.dms()[best]),
      time, axis("level", "units of the file")};
  const bool averaged = columns.per_cell > 1;
  std::vector<double> all = mean;
  panel.lines.push_back({averaged ? "mean" : "", figure::Style::line, x, mean});
  if (averaged) {
    panel.lines.push_back({"largest", figure::Style::line, x, high});
    all.insert(all.end(), high.begin(), high.end());
  }
  figure::fit_axis(panel.y, all);
  return panel;
}

// Seconds of the steps of which some is filled.
double filled_s(const Trials& trials, const Range& range) {
  std::uint64_t samples = 0;
  for (const Trials::FilledStep& step : trials.filled()) {
    const std::uint64_t from = std::max(step.first, range.first),
                        end = std::min(step.end, range.first + range.count);
    if (from < end) samples += end - from;
  }
  return static_cast<double>(samples) * trials.tsamp_s();
}

// What part of the trials' values was lost and filled; none: nothing.
std::optional<figure::Panel> filled_picture(const Trials& trials, const Range& range,
                                            const Binning& rows, const Binning& columns,
                                            const figure::Panel& like) {
  std::vector<double> sums(rows.cells * columns.cells, 0);
  double most = 0;
  for (const Trials::FilledStep& step : trials.filled())
    for (std::uint64_t at = std::max(step.first, range.first),
                       end = std::min(step.end, range.first + range.count);
         at < end;) {
      const std::size_t column = columns.cell(at - range.first);
      const std::uint64_t next =
          std::min(end, range.first + (std::uint64_t{column} + 1) * columns.per_cell);
      for (std::size_t t = 0; t < step.fraction.size(); ++t) {
        sums[rows.cell(t) * columns.cells + column] +=
            step.fraction[t] * static_cast<double>(next - at);
        most = std::max(most, step.fraction[t]);
      }
      at = next;
    }
  if (most == 0) return std::nullopt;
  figure::Panel panel{"Lost data, which were filled", like.x, like.y};
  panel.image.rows = rows.cells;
  panel.image.columns = columns.cells;
  panel.image.colour = axis("filled", "% of a trial's values");
  panel.image.colour.high = 100 * most;
  for (std::size_t r = 0; r < rows.cells; ++r) {
    const std::uint64_t in_row =
        std::min<std::uint64_t>(rows.per_cell, trials.dms().size() - r * rows.per_cell);
    for (std::size_t c = 0; c < columns.cells; ++c) {
      const std::uint64_t in_column =
          std::min<std::uint64_t>(columns.per_cell, range.count - c * columns.per_cell);
      panel.image.values.push_back(static_cast<float>(100 * sums[r * columns.cells + c] /
                                                      static_cast<double>(in_row * in_column)));
    }
  }
  return panel;
}

}  // namespace

bool holds_trials(const std::string& path) {
  if (formats::is_folder_of_series(path)) return true;
  if (!path.ends_with(".npy")) return false;
  try {
    const nlohmann::json beside = read_sidecar(path);
    return beside.is_object() && beside.contains("dms");
  } catch (const core::Error&) {
    return false;  // nothing beside it
  }
}

Figure plot_trials(const PlotConfig& config, const PlotRun& run) {
  Trials trials(config.input);
  const Range range = range_of(trials, config);
  const Binning rows = Binning::of(trials.dms().size(), config.rows);
  const Binning columns = Binning::of(range.count, config.columns);
  const TrialPeaks found = read_trials(trials, range, rows, columns, run);
  std::size_t best = 0;
  for (std::size_t t = 1; t < found.peak.size(); ++t)
    if (found.peak[t] > found.peak[best] || std::isnan(found.peak[best])) best = t;
  double scale = 1;
  const figure::Axis time =
      time_axis(static_cast<double>(range.first) * trials.tsamp_s(),
                static_cast<double>(columns.cells * columns.per_cell) * trials.tsamp_s(), scale);
  Figure made{name_of(config.input)};
  made.facts = {{"trials", fmt::format("{} from DM {:.6g} to {:.6g} pc cm\u207b\u00b3",
                                       grouped(trials.dms().size()), trials.dms().front(),
                                       trials.dms().back())},
                {"samples", grouped(trials.samples()) + " of " + in_seconds(trials.tsamp_s())}};
  figure::Panel picture = trial_picture(found, trials, rows, time);
  auto filled = filled_picture(trials, range, rows, columns, picture);
  cut_below_zero(picture);
  if (trials.dms().size() > 1) made.panels.push_back(std::move(picture));
  if (filled) {
    cut_below_zero(*filled);
    made.facts.push_back(
        {"lost data", fmt::format("filled; sums of {:.3g} s need them", filled_s(trials, range))});
    made.panels.push_back(std::move(*filled));
  }
  made.panels.push_back(best_series(trials, best, range, columns, time));
  const auto first = static_cast<double>(range.first),
             end = first + static_cast<double>(range.count);
  auto& breaks = made.panels.back().empty;
  for (const auto& [from, to] : trials.breaks())
    if (from < end && to > first && to > 0)
      breaks.emplace_back(std::max(from, first) * trials.tsamp_s() / scale,
                          std::min(to, end) * trials.tsamp_s() / scale);
  const bool with_breaks = !breaks.empty();
  if (trials.dms().size() > 1) {
    figure::Panel peaks{"Largest sample of each trial", axis("DM", "pc cm\u207b\u00b3"),
                        axis("deviation from the mean", "sigma")};
    figure::fit_axis(peaks.x, trials.dms());
    peaks.x.low = std::max(peaks.x.low, std::min(0.0, trials.dms().front()));
    figure::fit_axis(peaks.y, found.peak);
    peaks.lines.push_back({"", figure::Style::line, trials.dms(), found.peak});
    made.panels.push_back(std::move(peaks));
  }
  made.notes = trials.notes();
  if (with_breaks)
    made.notes.push_back(
        "Grey or a line in the series: the filterbank held no data, or its level steps.");
  const std::string note = averaged_note(columns.per_cell, 1);
  if (!note.empty()) made.notes.push_back(note);
  return made;
}

}  // namespace tautline::pipeline::plot
