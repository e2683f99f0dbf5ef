// One stage on whole arrays.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "bindings.h"
#include "curve_sums.h"
#include "tautline/core/correlation_curve.h"
#include "tautline/core/window.h"
#include "tautline/pipeline/search/empty_found.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/normalise.h"
#include "tautline/stages/channelize/channelize.h"
#include "tautline/stages/dedisperse/dedisperse.h"
#include "written_arrays.h"

namespace tautline::python {

namespace {

using core::Error;
using core::ErrorKind;
using core::SampleType;

/// A computation of `total` samples without the interpreter's lock, but for looks: at signals (Ctrl-C raises), then
/// `progress`(done, total) of Python, or None.
class ObservedComputation {
 public:
  ObservedComputation(const nb::object& progress, std::size_t total)
      : progress_(progress), total_(total) {}

  /// Whether it is time for a look: ten times a second, and at the end.
  bool due(std::size_t done) const { return done >= total_ || Clock::now() >= next_; }

  void look(std::size_t done) {
    unlocked_.reset();
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!progress_.is_none()) progress_(done, total_);
    unlocked_.emplace();
    next_ = Clock::now() + kLook;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kLook{100};

  const nb::object& progress_;
  std::size_t total_;
  std::optional<UnlockedComputation> unlocked_{std::in_place};
  Clock::time_point next_ = Clock::now() + kLook;
};

/// piece(first, count) of [0, total) in order, at most `size` at a time; a look comes when the queue has done what it
/// was given.
template <class Piece>
void in_pieces(const nb::object& progress, device::Queue& queue, std::size_t total,
               std::size_t size, const Piece& piece) {
  ObservedComputation observed(progress, total);
  for (std::size_t done = 0; done < total;) {
    const std::size_t count = std::min(size, total - done);
    piece(done, count);
    done += count;
    if (!observed.due(done)) continue;
    queue.synchronise();
    observed.look(done);
  }
}

/// The arguments of one call of a stage.
template <class Config>
struct OpenStage {
  std::shared_ptr<const device::Device> device;
  decltype(make_plan(std::declval<const Config&>(), device)) plan;
  std::unique_ptr<device::Queue> queue;
  decltype(plan->make_state(*queue)) state;
};

std::atomic<std::size_t> plans_made = 0;  // by calls on arrays; for tests

template <class Config>
OpenStage<Config> open_stage(const Config& config, const std::string& name) {
  const Unlocked unlocked;
  OpenStage<Config> on;
  on.device = open_device(name);
  on.plan = make_plan(config, on.device);
  ++plans_made;
  on.queue = on.device->make_queue();
  on.state = on.plan->make_state(*on.queue);
  return on;
}

/// What a call on the host leaves for the next one of the same problem: its plan, and its state, reset. No queue: a
/// forked process lacks its threads.
template <class Config>
struct KeptStage {
  std::string device;
  std::size_t workers;
  decltype(OpenStage<Config>::plan) plan;
  decltype(OpenStage<Config>::state) state;
};

/// Used with the interpreter's lock. Never destroyed: threads may compute when the process ends.
template <class Config>
std::optional<KeptStage<Config>>& kept_stage() {
  static auto* const kept = new std::optional<KeptStage<Config>>;
  return *kept;
}

/// open_stage(), with what the call before kept where it fits. No other call has that meanwhile.
template <class Config>
OpenStage<Config> reopen_stage(const Config& config, const std::string& name) {
  auto kept = std::exchange(kept_stage<Config>(), std::nullopt);
  if (kept && kept->plan->config() == config) {
    const Unlocked unlocked;
    OpenStage<Config> on;
    on.device = open_device(name);
    on.queue = on.device->make_queue();
    if (kept->device == on.device->name() && kept->workers == on.queue->workers()) {
      on.plan = std::move(kept->plan);
      on.state = std::move(kept->state);
      return on;
    }
  }
  kept.reset();  // before there is a second state
  return open_stage(config, name);
}

/// Of a call that has ended well, for reopen_stage().
template <class Config>
void keep_stage(OpenStage<Config> on) {
  // 1,024 channels of bytes take 36 MB in pieces of 16,384 times.
  constexpr std::size_t kMostBytes = 128 << 20;
  if (on.device->compiles() || on.plan->bytes().host_bytes > kMostBytes) return;
  on.state->reset();
  kept_stage<Config>() = {on.device->name(), on.queue->workers(), std::move(on.plan),
                          std::move(on.state)};
}

/// A new array, or the caller's.
template <std::size_t Rank>
struct Result {
  nb::object array;
  core::MutableSampleView<Rank> view;
};

// `wanted`: the type and shape. An array of the caller's has both, and no memory of `samples`.
template <std::size_t Rank>
Result<Rank> result_in(const std::optional<OutputArray>& out,
                       const core::MutableSampleView<Rank>& wanted,
                       const core::SampleView<2>& samples) {
  const SampleType type = wanted.type();
  if (!out) {
    NewArray made = new_array(type, {wanted.extents().begin(), wanted.extents().end()});
    return {std::move(made.array), {made.data, type, wanted.extents()}};
  }
  auto view = written_view<Rank>(*out, "out", type == SampleType::ci8);
  if (type == SampleType::ci4 && view.type() == SampleType::u8)  // packed, re in the low half
    view = {view.data(), type, view.extents(), view.strides()};
  require_room(view, wanted, "out");
  require_apart(samples, view, "out");
  return {nb::none(), view};
}

// [input][time] to [input][spectrum][channel], or with gains to [channel][input][time] of int8 pairs. `out`: where to;
// the result is then None.
nb::object channelize(const Array& samples, bool pairs, std::size_t channels, std::size_t taps,
                      const std::string& window, double cutoff,
                      const std::vector<float>& coefficients,
                      std::pair<std::size_t, std::size_t> oversample, bool lower_sideband,
                      const std::string& output, bool corner_turned,
                      const std::optional<Array>& gains, const std::optional<OutputArray>& out,
                      const std::string& device, const nb::object& progress) {
  namespace stage = stages::channelize;
  const auto view = view_of<2>(samples, "samples", pairs);
  stage::Config config;
  config.inputs = view.extent(0);
  config.channels = channels;
  config.taps = taps;
  const auto format = core::voltage_format(view.type());
  if (!format) view.refuse("samples", "complex64, float32, int8 or int16");
  config.input = *format;
  config.window = core::parse_window(window);
  config.cutoff = cutoff;
  config.coefficients = coefficients;
  config.oversample_numerator = oversample.first;
  config.oversample_denominator = oversample.second;
  config.lower_sideband = lower_sideband;
  config.output = output == "ci8"   ? stage::Output::corner_turned_ci8
                  : output == "ci4" ? stage::Output::corner_turned_ci4
                  : corner_turned   ? stage::Output::corner_turned_float
                                    : stage::Output::spectra_float;
  const std::size_t count = view.extent(1);
  // Of each input: 2^24 samples of all inputs, or 16 of the histories that every execute copies.
  const std::size_t piece =
      std::max((std::size_t{1} << 24) / std::max<std::size_t>(1, config.inputs),
               16 * taps * config.frame_samples());
  config.max_samples = std::clamp<std::size_t>(count, 1, piece);
  const auto on = open_stage(config, device);
  const std::size_t spectra = on.plan->spectra(0, count);
  const auto made = result_in(out, config.output_view(nullptr, spectra), view);
  const std::size_t time_axis = config.output == stage::Output::spectra_float ? 1 : 2;
  stage::OutputViews views;
  std::vector<std::uint64_t> clipped(config.inputs);
  if (gains) {
    views.gains = view_of<2>(*gains, "gains").as<const float>("gains");
    views.clipped = {clipped.data(), {clipped.size()}};
  }
  stage::Input input;
  input.row_stride_bytes = static_cast<std::size_t>(view.stride(0)) * core::bytes_of(view.type());
  std::size_t written = 0;
  in_pieces(progress, *on.queue, count, config.max_samples,
            [&](std::size_t first, std::size_t some) {
              input.samples = view.slice(1, first, some).data();
              input.count = some;
              views.samples = made.view.slice(time_axis, written, spectra - written);
              written += on.plan->execute(*on.queue, *on.state, input, views);
            });
  return nb::make_tuple(made.array, as_array(std::move(clipped)));
}

// [time][channel] (`spectra`) or [channel][time] to [trial][time], and a text about values that are not finite. `out`
// as channelize has it.
nb::object dedisperse(const Array& samples, bool spectra, std::vector<double> frequencies_mhz,
                      double sample_time_s, std::vector<double> dms, double dm_constant,
                      double reference_mhz, std::vector<std::size_t> ignored_channels, bool zero_dm,
                      std::size_t downsample, const std::optional<OutputArray>& out,
                      const std::string& device, const nb::object& progress) {
  namespace stage = stages::dedisperse;
  const auto view = view_of<2>(samples, "samples");
  stage::Config config;
  config.frequencies_mhz = std::move(frequencies_mhz);
  config.sample_time_s = sample_time_s;
  config.dms = std::move(dms);
  config.dm_constant = dm_constant;
  config.reference_mhz = reference_mhz;
  const SampleType type = view.type();
  config.signed_samples = type == SampleType::i8 || type == SampleType::i16;
  if (!config.signed_samples && type != SampleType::u8 && type != SampleType::u16 &&
      type != SampleType::f32)
    view.refuse("samples", "uint8, int8, uint16, int16 or float32");
  config.bits = static_cast<int>(8 * core::bytes_of(type));
  config.ignored_channels = std::move(ignored_channels);
  config.zero_dm = zero_dm;
  config.downsample = downsample;
  const std::size_t count = view.extent(spectra ? 0 : 1);
  stage::Input input;
  input.layout = spectra ? stage::Input::Layout::spectra : stage::Input::Layout::rows;
  input.stride_bytes = static_cast<std::size_t>(view.stride(0)) * core::bytes_of(view.type());
  const std::size_t wanted = config.frequencies_mhz.size();
  if (view.extent(spectra ? 1 : 0) != wanted)
    throw Error(ErrorKind::config, "samples",
                std::to_string(view.extent(spectra ? 1 : 0)) + " channels",
                std::to_string(wanted) + ", as many as frequencies");
  config.max_samples = std::clamp<std::size_t>(count, 1, config.max_samples);
  auto on = reopen_stage(config, device);
  const std::size_t all = count / downsample;
  const std::size_t times = all > on.plan->max_delay() ? all - on.plan->max_delay() : 0;
  const core::MutableSampleView<2> series{
      nullptr, on.plan->output_type(), {config.dms.size(), times}};
  const auto made = result_in(out, series, view);
  const core::MutableSampleView<3> trials{
      made.view.data(),
      made.view.type(),
      {1, config.dms.size(), times},
      {static_cast<std::ptrdiff_t>(config.dms.size()) * made.view.stride(0), made.view.stride(0),
       1}};
  stage::Result sum;
  in_pieces(progress, *on.queue, count, config.max_samples,
            [&](std::size_t first, std::size_t some) {
              input.data = view.slice(spectra ? 0 : 1, first, some).data();
              input.count = some;
              const auto result = on.plan->execute(
                  *on.queue, *on.state, input, trials.slice(2, sum.samples, times - sum.samples));
              sum.samples += result.samples;
              sum.not_finite += result.not_finite;
            });
  keep_stage(std::move(on));
  return nb::make_tuple(made.array, pipeline::not_finite_text({}, sum.not_finite));
}

// multipletau's lag scheme of [time][sensor]: lags in samples, level, pairs of samples and values, [lag], [lag], [lag],
// [pair][lag], then of each pair the sums of the earlier series and of the products at lag 0. `normalization` none:
// sums.
nb::object standard_curves(const Array& samples, std::size_t m, std::size_t levels,
                           const std::string& coarsening, const std::string& normalization,
                           const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs,
                           const std::string& device, const nb::object& progress) {
  namespace stage = stages::autocorrelate;
  const auto view = view_of<2>(samples, "a");
  stage::Config config;
  config.sensors = view.extent(1);
  config.lag_scheme = stage::LagScheme::standard;
  config.bins = m;
  config.levels = levels;
  core::set(config, "coarsening", coarsening == "average" ? "sum" : coarsening);  // of multipletau
  config.type = view.type();
  for (const auto& [a, b] : pairs) config.pairs.push_back({a, b});
  const auto lags = stage::lags_of(config);
  const std::size_t count = config.pair_count();
  CurveSums sums(config);
  const stage::Sums all = sums.views();
  std::vector<double> g(all.sums.size());
  const auto how = core::parse_normalization(normalization);
  if (!how)
    throw Error(ErrorKind::config, "normalization", normalization, "none, global or symmetric");
  const auto selection = selection_of(device);
  {
    ObservedComputation observed(progress, view.extent(0));
    std::size_t most = 0;  // begins anew for floats that are no counts
    stage::autocorrelate(config, view, all, selection, [&](std::size_t done) {
      most = std::max(most, done);
      if (observed.due(done)) observed.look(most);
    });
    stage::normalise(config, *how, view.extent(0), all, {g.data(), all.sums.extents()});
  }
  const auto value = [&](const core::MutableSampleView<2>& of, std::size_t pair) {
    return config.floats() ? of.as<double>()(pair, 0)
                           : static_cast<double>(of.as<std::int64_t>()(pair, 0));
  };
  std::vector<double> totals_a, squares;
  for (std::size_t p = 0; p < count; ++p) {
    totals_a.push_back(value(all.totals, p));
    squares.push_back(value(all.sums, p));
  }
  std::vector<std::uint64_t> samples_of, level_of;
  for (const auto& lag : lags) {
    samples_of.push_back(lag.samples);
    level_of.push_back(lag.level);
  }
  return nb::make_tuple(as_array(std::move(samples_of)), as_array(std::move(level_of)),
                        as_array(sums.counts), as_array(std::move(g), {count, lags.size()}),
                        as_array(std::move(totals_a)), as_array(std::move(squares)));
}

}  // namespace

void bind_stages(nb::module_& module) {
  module.def("plans_made", [] { return plans_made.load(); });
  module.def("channelize", channelize, nb::arg("samples"), nb::arg("pairs"), nb::arg("channels"),
             nb::arg("taps"), nb::arg("window"), nb::arg("cutoff"), nb::arg("coefficients"),
             nb::arg("oversample"), nb::arg("lower_sideband"), nb::arg("output"),
             nb::arg("corner_turned"), nb::arg("gains").none(), nb::arg("out").none(),
             nb::arg("device"), nb::arg("progress").none());
  module.def("dedisperse", dedisperse, nb::arg("samples"), nb::arg("spectra"),
             nb::arg("frequencies_mhz"), nb::arg("sample_time_s"), nb::arg("dms"),
             nb::arg("dm_constant"), nb::arg("reference_mhz"), nb::arg("ignored_channels"),
             nb::arg("zero_dm"), nb::arg("downsample"), nb::arg("out").none(), nb::arg("device"),
             nb::arg("progress").none());
  module.def("standard_curves", standard_curves, nb::arg("samples"), nb::arg("m"),
             nb::arg("levels"), nb::arg("coarsening"), nb::arg("normalization"), nb::arg("pairs"),
             nb::arg("device"), nb::arg("progress").none());
}

}  // namespace tautline::python
