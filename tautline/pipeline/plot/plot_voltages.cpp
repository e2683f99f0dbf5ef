#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/time.h"
#include "tautline/engine/run.h"
#include "tautline/formats/input_name.h"
#include "tautline/pipeline/graph_run.h"
#include "tautline/pipeline/plot/kinds.h"
#include "tautline/pipeline/plot/mean_grid.h"
#include "tautline/pipeline/plot/texts.h"
#include "tautline/pipeline/voltages/block_size.h"
#include "tautline/pipeline/voltages/clipped_text.h"
#include "tautline/pipeline/voltages/empty_text.h"
#include "tautline/pipeline/voltages/engines.h"
#include "tautline/pipeline/voltages/frequencies.h"
#include "tautline/pipeline/voltages/rethrow_of_stage.h"
#include "tautline/pipeline/voltages/step_text.h"
#include "tautline/pipeline/voltages/voltage_source_node.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline::plot {

namespace {

namespace figure = formats::figure;

constexpr std::size_t kMemory = std::size_t{1} << 30, kMostInputs = 8;

// Mean power of spectra, against time and frequency of all inputs, and against frequency of each. Lives longer than the
// node that fills it.
struct PowerMeans {
  Binning time, frequency;
  MeanGrid picture{1, 1};            // [row][column]
  std::vector<double> sum, count;    // [input][channel]
  MeanGrid trace{1, 1};              // [one of the first inputs][column]
  std::vector<std::uint64_t> valid;  // [input][column]: spectra with a channel that has data
  // [row][column]: values of channels that stop, or never change, while others of their input have data.
  MeanGrid stopped{1, 1};
  std::uint64_t spectra = 0;  // to the last one, among them those that are invalid or lost
  std::size_t inputs = 0, channels = 0;
  // Of the samples that were read, once the run has ended.
  std::uint64_t samples = 0;
  stream::EmptyVoltages empty;
  std::vector<stream::ConstantChannel> constant;
  stream::RecordedLevels levels;
  std::vector<stream::VoltageStep> steps;
};

// The part of a column's spectra of an input that are invalid or lost.
double missing_part(const PowerMeans& m, std::size_t input, std::size_t column) {
  const std::uint64_t first = column * m.time.per_cell;
  if (m.spectra <= first) return 1;
  const std::uint64_t all = std::min(m.time.per_cell, m.spectra - first);
  return 1 - static_cast<double>(m.valid[input * m.time.cells + column]) / static_cast<double>(all);
}

// The end of a graph: spectra of a filter bank, or of a stream that is channelized already.
class MeanPowerNode final : public engine::Node {
 public:
  MeanPowerNode(std::shared_ptr<PowerMeans> means, core::Instant start, std::uint64_t spectra,
                const PlotConfig& config)
      : means_(std::move(means)),
        start_(start),
        spectra_(std::max<std::uint64_t>(1, spectra)),
        config_(config) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    const auto details = inputs[0].detail<Spectra>();
    rate_ = core::make_rational(
        details.voltages.rate_hz.numerator,
        details.voltages.rate_hz.denominator * static_cast<std::int64_t>(details.hop_samples));
    channels_first_ = inputs[0].arrays.front().axes.front() == "channel";
    PowerMeans& m = *means_;
    m.inputs = details.voltages.inputs();
    m.channels = details.stream_channels;
    m.time = Binning::of(spectra_, config_.columns);
    m.frequency = Binning::of(m.channels, config_.rows);
    m.picture = MeanGrid(m.frequency.cells, m.time.cells);
    m.sum.assign(m.inputs * m.channels, 0);
    m.count.assign(m.inputs * m.channels, 0);
    m.trace = MeanGrid(std::min(m.inputs, kMostInputs), m.time.cells);
    m.valid.assign(m.inputs * m.time.cells, 0);
    m.stopped = MeanGrid(m.frequency.cells, m.time.cells);
    constant_.assign(m.channels * m.inputs, false);
    for (const stream::ConstantChannel& one : details.constant_channels)
      constant_[one.channel * m.inputs + one.input] = true;
    return {};
  }

  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    const core::SampleView<3> from = block.view<3>();
    const core::SampleView<3> spectra =
        channels_first_ ? core::SampleView<3>(from.data(), from.type(),
                                              {from.extent(1), from.extent(2), from.extent(0)},
                                              {from.stride(1), from.stride(2), from.stride(0)})
                        : from;
    const std::int64_t first = core::samples_between(start_, block.segment_start, rate_) +
                               static_cast<std::int64_t>(block.first);
    core::with_type<std::complex<float>, core::ci8>(spectra, "spectra", [&](const auto& typed) {
      add(typed, block, static_cast<std::uint64_t>(std::max<std::int64_t>(0, first)));
    });
  }

 private:
  static double power(const std::complex<float>& v) { return std::norm(std::complex<double>(v)); }
  static double power(const core::ci8& v) {
    return static_cast<double>(v.re) * v.re + static_cast<double>(v.im) * v.im;
  }

  // Whether a channel of an input has data at each time, 64 of them in a word.
  std::uint64_t word_of(const core::ValidityView& valid, std::size_t input, std::size_t channel,
                        std::size_t word) const {
    const std::size_t row = channel * means_->inputs + input;
    if (constant_[row]) return 0;
    if (valid.empty()) return ~std::uint64_t{0};
    return valid(valid.extent(0) > means_->inputs ? row : input, word);
  }

  template <class View>
  void add(const View& spectra, const engine::Block& block, std::uint64_t first) {
    PowerMeans& m = *means_;
    const core::ValidityView valid = block.valid.view();
    m.spectra = std::max<std::uint64_t>(m.spectra, first + block.samples);
    words_.resize(m.channels);
    for (std::size_t input = 0; input < m.inputs; ++input)
      for (std::size_t t = 0; t < block.samples; ++t) {
        if (t % 64 == 0) {
          any_ = 0;
          for (std::size_t c = 0; c < m.channels; ++c)
            any_ |= words_[c] = word_of(valid, input, c, t / 64);
        }
        const std::size_t column = m.time.cell(first + t);
        if ((any_ >> t % 64 & 1) == 0 || column >= m.time.cells) continue;
        ++m.valid[input * m.time.cells + column];
        add_spectrum(spectra, input, t, column);
      }
  }

  template <class View>
  void add_spectrum(const View& spectra, std::size_t input, std::size_t t, std::size_t column) {
    PowerMeans& m = *means_;
    double sum = 0, count = 0;
    for (std::size_t c = 0; c < m.channels; ++c) {
      if ((words_[c] >> t % 64 & 1) == 0) {
        m.stopped.add(m.frequency.cell(c), column, 0, 1);
        continue;
      }
      const double p = power(spectra(input, t, c));
      if (!std::isfinite(p)) continue;
      sum += p;
      count += 1;
      m.sum[input * m.channels + c] += p;
      m.count[input * m.channels + c] += 1;
      m.picture.add(m.frequency.cell(c), column, p, 1);
    }
    if (input < m.trace.rows()) m.trace.add(input, column, sum, count);
  }

  std::shared_ptr<PowerMeans> means_;
  core::Instant start_;
  std::uint64_t spectra_;
  PlotConfig config_;
  core::Rational rate_;
  bool channels_first_ = false;
  std::vector<bool> constant_;        // [channel][input]
  std::vector<std::uint64_t> words_;  // [channel], of 64 times of an input
  std::uint64_t any_ = 0;             // of all of them
};

// Power of which ratios are shown, in decibels over the mean of all inputs and channels.
double decibels(double power, double level) {
  return power > 0 && level > 0 ? 10 * std::log10(power / level) : NAN;
}

double mean_level(const PowerMeans& m) {
  double sum = 0, count = 0;
  for (std::size_t k = 0; k < m.sum.size(); ++k) {
    sum += m.sum[k];
    count += m.count[k];
  }
  return count > 0 ? sum / count : 0;
}

std::shared_ptr<PowerMeans> measure(const PlotConfig& config, const PlotRun& run,
                                    core::VoltageDescription& description) {
  const stream::SequenceOptions options{config.reader, config.start_s, config.duration_s};
  auto source =
      std::make_unique<VoltageSourceNode>(VoltageSourceConfig{{config.input}, options, false});
  const VoltageSourceNode& samples = *source;  // owned by the run
  const stream::VoltageStream& sequence = source->sequence();
  description = sequence.description();
  const auto device = run.device();
  FilterConfig filter;
  filter.channels = config.channels;
  filter.taps = 4;
  filter.output = description.channelized() ? stages::channelize::Output::corner_turned_float
                                            : stages::channelize::Output::spectra_float;
  source->set_block_samples(choose_block_samples(sequence, filter, kMemory, device->compiles()));
  const std::uint64_t hop = description.channelized()    ? 1
                            : description.format.complex ? filter.channels
                                                         : 2 * filter.channels;
  engine::Graph graph;
  const engine::NodeId voltages = graph.add("voltages", std::move(source));
  const engine::Port f =
      add_f_engines(graph, "f", voltages, {.devices = {device}, .filter = filter}).front();
  const auto means = std::make_shared<PowerMeans>();
  const double span_s = core::seconds_between(description.start, sequence.end());
  // The first one spans all taps.
  const double before = description.channelized() ? 0 : static_cast<double>(filter.taps - 1);
  const auto spectra = static_cast<std::uint64_t>(std::max(
      1.0, std::floor(span_s * description.rate_hz.value() / static_cast<double>(hop)) - before));
  graph.connect(f,
                graph.add("power", std::make_unique<MeanPowerNode>(means, description.start,
                                                                   spectra, config)),
                {.depth = 1});
  const ProgressCallback progress = [&](const Progress& p) {
    if (run.progress && p.total_samples > 0)
      run.progress(static_cast<double>(p.samples) / static_cast<double>(p.total_samples));
  };
  ProgressReporter reporter(progress);
  engine::Run go(std::move(graph), run_options(reporter, description.rate_hz));
  try {
    go.go(run.stop);
  } catch (...) {
    rethrow_of_stage(go.failed_node(), false);
  }
  means->samples = samples.samples();
  means->empty = samples.empty();
  means->constant = samples.constant_channels();
  means->levels = samples.levels();
  means->steps = samples.level_steps();
  return means;
}

figure::Axis frequency_axis(const std::vector<double>& centres_hz, double width_hz,
                            const Binning& rows) {
  const double low = *std::min_element(centres_hz.begin(), centres_hz.end()) - width_hz / 2;
  return axis("frequency", "MHz", low / 1e6,
              (low + width_hz * static_cast<double>(rows.cells * rows.per_cell)) / 1e6);
}

// As `correlate` names them where it is not told otherwise.
formats::ArrayLayout array_of(const core::VoltageDescription& d) {
  const std::size_t feeds = d.polarisations == 2 ? 2 : 1;
  return formats::unknown_array(d.inputs() / feeds, feeds);
}

/// Columns, [first, end), in which the same inputs lack data.
struct Missing {
  std::size_t first = 0, end = 0;
  std::vector<std::size_t> inputs;
};

// The part of a column that is missing from which on it is marked: any, unless that would make much of the picture grey.
double least_missing(const PowerMeans& m) {
  constexpr double kMuch = 0.25, kMostOf = 0.5;
  std::size_t partly = 0;
  for (std::size_t column = 0; column < m.time.cells; ++column) {
    double most = 0;
    for (std::size_t input = 0; input < m.inputs; ++input)
      most = std::max(most, missing_part(m, input, column));
    partly += most > 0 && most < kMostOf ? 1 : 0;
  }
  return static_cast<double>(partly) > kMuch * static_cast<double>(m.time.cells) ? kMostOf : 0;
}

std::vector<Missing> missing_columns(const PowerMeans& m, double least) {
  std::vector<Missing> found;
  for (std::size_t column = 0; column < m.time.cells; ++column) {
    std::vector<std::size_t> inputs;
    for (std::size_t input = 0; input < m.inputs; ++input) {
      const double part = missing_part(m, input, column);
      if (part > 0 && part >= least) inputs.push_back(input);
    }
    if (inputs.empty()) continue;
    if (!found.empty() && found.back().end == column && found.back().inputs == inputs)
      ++found.back().end;
    else
      found.push_back({column, column + 1, std::move(inputs)});
  }
  return found;
}

std::string names_of(const std::vector<std::size_t>& inputs, const formats::ArrayLayout& array) {
  if (inputs.size() == array.inputs.size() && inputs.size() > 1) return "all inputs";
  std::vector<std::string> names;
  for (std::size_t k = 0; k < std::min(inputs.size(), kMostInputs); ++k)
    names.push_back(formats::input_name(array, inputs[k]));
  const std::size_t more = inputs.size() - names.size();
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {}", core::counted(more, "more input")) : "");
}

// Marks the columns in which one of the inputs lacks data, and says which inputs these are, and when, where they are not
// always the same or hardly seen.
void mark_missing(const PowerMeans& m, const formats::ArrayLayout& array, figure::Panel& panel,
                  std::vector<std::string>& notes) {
  constexpr std::size_t kMostNamed = 4;
  constexpr double kHardlySeen = 1.0 / 300;  // of the axis: some pixels
  const double least = least_missing(m);
  const std::vector<Missing> missing = missing_columns(m, least);
  if (least > 0)
    notes.push_back(
        fmt::format("Many columns lack some data. Those that lack less than {:g} % "
                    "are not grey.",
                    100 * least));
  if (missing.empty()) return;
  const double step = (panel.x.high - panel.x.low) / static_cast<double>(m.time.cells);
  std::vector<std::string> texts;
  for (const Missing& one : missing) {
    const double low = panel.x.low + static_cast<double>(one.first) * step,
                 high = panel.x.low + static_cast<double>(one.end) * step;
    if (!panel.empty.empty() && panel.empty.back().second == low)
      panel.empty.back().second = high;
    else
      panel.empty.emplace_back(low, high);
    if (texts.size() < kMostNamed)
      texts.push_back(fmt::format("{} from {:.6g} to {:.6g} {}", names_of(one.inputs, array), low,
                                  high, panel.x.unit));
  }
  const bool same = std::all_of(missing.begin(), missing.end(), [&](const Missing& one) {
    return one.inputs == missing.front().inputs;
  });
  const bool seen = std::any_of(panel.empty.begin(), panel.empty.end(), [&](const auto& range) {
    return range.second - range.first >= kHardlySeen * (panel.x.high - panel.x.low);
  });
  if (same && seen)
    texts = {names_of(missing.front().inputs, array)};
  else if (missing.size() > texts.size())
    texts.push_back(
        fmt::format("and so on, {} in all", core::counted(missing.size(), "stretch", "stretches")));
  notes.push_back(fmt::format("{} of {}.",
                              seen ? "Grey: no data" : "No data, too briefly to be seen as grey,",
                              fmt::join(texts, "; ")));
}

figure::Panel power_panel(const PowerMeans& m, const figure::Axis& time, double level,
                          const formats::ArrayLayout& array, std::vector<std::string>& notes) {
  figure::Panel panel{"Power of each input", time, axis("power", "dB of the mean")};
  const double step = (time.high - time.low) / static_cast<double>(m.time.cells);
  double fullest = 0;
  for (std::size_t input = 0; input < m.trace.rows(); ++input)
    for (std::size_t cell = 0; cell < m.time.cells; ++cell)
      fullest = std::max(fullest, m.trace.count(input, cell));
  std::vector<double> all;
  for (std::size_t input = 0; input < m.trace.rows(); ++input) {
    figure::Line line;
    line.name = formats::input_name(array, input);
    for (std::size_t cell = 0; cell < m.time.cells; ++cell) {
      line.x.push_back(time.low + (static_cast<double>(cell) + 0.5) * step);
      line.y.push_back(decibels(m.trace.mean(input, cell), level));
      // Few spectra, as at the end, scatter more than the others: they do not choose the range.
      if (m.trace.count(input, cell) >= fullest / 10) all.push_back(line.y.back());
    }
    panel.lines.push_back(std::move(line));
  }
  figure::fit_axis(panel.y, all);
  mark_missing(m, array, panel, notes);
  return panel;
}

// Marks the channels of which one of the inputs has no data at any time.
void mark_channels(const PowerMeans& m, const std::vector<double>& centres_hz, double width_hz,
                   figure::Panel& panel) {
  for (std::size_t c = 0; c < m.channels; ++c)
    for (std::size_t input = 0; input < panel.lines.size(); ++input) {
      if (m.count[input * m.channels + c] > 0) continue;
      panel.empty.emplace_back((centres_hz[c] - width_hz / 2) / 1e6,
                               (centres_hz[c] + width_hz / 2) / 1e6);
      break;
    }
}

// Whether channels of an input have stopped for half of a cell or more.
bool is_stopped(const PowerMeans& m, std::size_t row, std::size_t column) {
  const auto part_of = [](const Binning& binning, std::size_t cell, std::uint64_t count) {
    const std::uint64_t first = cell * binning.per_cell;
    return static_cast<double>(std::min(binning.per_cell, count - std::min(count, first)));
  };
  const double stopped = m.stopped.count(row, column);
  return stopped > 0 &&
         2 * stopped >= part_of(m.time, column, m.spectra) * part_of(m.frequency, row, m.channels);
}

figure::Panel picture_panel(const PowerMeans& m, const figure::Axis& time,
                            const figure::Axis& frequency, double level, bool descending,
                            std::vector<std::string>& notes) {
  figure::Panel panel{"Power, mean of all inputs", time, frequency};
  panel.image.rows = m.picture.rows();
  panel.image.columns = m.picture.columns();
  panel.image.colour = axis("power", "dB of the mean");
  bool any_stopped = false;
  for (std::size_t r = 0; r < panel.image.rows; ++r)
    for (std::size_t c = 0; c < panel.image.columns; ++c) {
      const std::size_t row = descending ? panel.image.rows - 1 - r : r;
      const bool stopped = is_stopped(m, row, c);
      any_stopped = any_stopped || stopped;
      panel.image.values.push_back(
          static_cast<float>(stopped ? NAN : decibels(m.picture.mean(row, c), level)));
    }
  figure::fit_colours(panel.image);
  if (any_stopped)
    notes.emplace_back(
        "Hatched: channels that stop, or never change, in one of the inputs or more.");
  return panel;
}

figure::Panel spectra_panel(const PowerMeans& m, const std::vector<double>& centres_hz,
                            double width_hz, const figure::Axis& frequency, double level,
                            const formats::ArrayLayout& array) {
  figure::Panel panel{"Bandpass of each input", frequency, axis("power", "dB of the mean")};
  std::vector<double> all;
  for (std::size_t input = 0; input < std::min(m.inputs, kMostInputs); ++input) {
    figure::Line line;
    line.name = formats::input_name(array, input);
    for (std::size_t c = 0; c < m.channels; ++c) {
      const std::size_t k = input * m.channels + c;
      line.x.push_back(centres_hz[c] / 1e6);
      line.y.push_back(m.count[k] > 0 ? decibels(m.sum[k] / m.count[k], level) : NAN);
    }
    all.insert(all.end(), line.y.begin(), line.y.end());
    panel.lines.push_back(std::move(line));
  }
  figure::fit_axis(panel.y, all);
  mark_channels(m, centres_hz, width_hz, panel);
  return panel;
}

}  // namespace

Figure plot_voltages(const PlotConfig& config, const PlotRun& run) {
  core::VoltageDescription d;
  const auto means = measure(config, run, d);
  const PowerMeans& m = *means;
  const double level = mean_level(m);
  if (!(level > 0))
    throw core::Error(core::ErrorKind::format, config.input, "no power at any time and frequency",
                      "voltages that are not all zero or invalid");
  const std::vector<double> centres = channel_frequencies_hz(d, m.channels);
  const double width = channel_width_hz(d, m.channels);
  const figure::Axis frequency = frequency_axis(centres, width, m.frequency);
  const double spectrum_s = static_cast<double>(d.channelized()    ? 1
                                                : d.format.complex ? m.channels
                                                                   : 2 * m.channels) /
                            d.rate_hz.value();
  double scale = 1;
  const figure::Axis time =
      time_axis(std::max(0.0, config.start_s),
                static_cast<double>(m.time.cells * m.time.per_cell) * spectrum_s, scale);
  const bool descending = centres.size() > 1 && centres.front() > centres.back();
  Figure made{name_of(config.input)};
  made.facts = {
      {"format", core::to_string(d.format)},
      {"inputs", fmt::format("{} of {}", d.inputs(), core::counted(d.antennas, "antenna"))},
      {"rate", in_hertz(d.rate_hz.value())},
      {"centre", d.centre_hz == 0 ? "not known" : in_hertz(d.centre_hz)},
      {"start", core::is_known_start(d.start) ? core::to_iso(d.start) + " UTC" : "not known"}};
  made.panels.push_back(picture_panel(m, time, frequency, level, descending, made.notes));
  const formats::ArrayLayout array = array_of(d);
  made.panels.push_back(power_panel(m, time, level, array, made.notes));
  made.panels.push_back(spectra_panel(m, centres, width, frequency, level, array));
  if (m.inputs > kMostInputs)
    made.notes.push_back(fmt::format("Lines of the first {} of {} inputs.", kMostInputs, m.inputs));
  const std::vector<std::string> names = names_of_inputs(array);
  if (const std::string shares = empty_shares(m.empty, m.samples, names); !shares.empty())
    made.notes.push_back("Samples that never change, taken for lost: " + shares + ".");
  if (const std::string stops = empty_channels_text(m.empty, names); !stops.empty())
    made.notes.push_back("Channels that stop: " + stops + ".");
  if (const std::string constant = constant_text(m.constant, names); !constant.empty())
    made.notes.push_back("Channels that never change, left out: " + constant + ".");
  if (const std::string steps = level_steps_text(m.steps, names); !steps.empty())
    made.notes.push_back("Steps of level: " + steps + ".");
  if (const std::string clipped = clipped_text(m.levels, names); !clipped.empty())
    made.notes.push_back("C" + clipped.substr(1) + ".");
  if (const std::string still = still_parts_text(m.levels, names); !still.empty())
    made.notes.push_back("T" + still.substr(1) + ".");
  const std::string note = averaged_note(m.time.per_cell, m.frequency.per_cell);
  if (!note.empty()) made.notes.push_back(note);
  return made;
}

}  // namespace tautline::pipeline::plot
