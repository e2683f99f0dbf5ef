// The kept plans of the stages, into arrays of the caller's.
#include <nanobind/stl/map.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "curve_sums.h"
#include "kept_plan.h"
#include "tautline/core/candidate.h"
#include "tautline/core/correlation_curve.h"
#include "tautline/core/fields.h"
#include "tautline/core/window.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/normalise.h"
#include "tautline/stages/channelize/channelize.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/dedisperse/dedisperse.h"
#include "tautline/stages/detect/detect.h"

namespace tautline::python {

namespace {

using core::Error;
using core::ErrorKind;
using core::SampleType;

bool is_pair(SampleType type) {
  return type == SampleType::ci8 || type == SampleType::ci16;
}

class ChannelizePlan : public KeptPlan<stages::channelize::Plan, stages::channelize::State> {
 public:
  ChannelizePlan(std::size_t inputs, std::size_t channels, const std::string& dtype,
                 std::size_t max_samples, std::size_t taps, const std::string& window,
                 double cutoff, bool corner_turned, bool lower_sideband, const std::string& device)
      : KeptPlan(device) {
    stages::channelize::Config config;
    config.inputs = inputs;
    config.channels = channels;
    config.input = core::parse_sample_format(dtype);
    config.max_samples = max_samples;
    config.taps = taps;
    config.window = core::parse_window(window);
    config.cutoff = cutoff;
    config.lower_sideband = lower_sideband;
    config.output = corner_turned ? stages::channelize::Output::corner_turned_float
                                  : stages::channelize::Output::spectra_float;
    plan_ = stages::channelize::make_plan(config, kept_.device);
    state_ = plan_->make_state(*kept_.queue);
  }
  std::size_t spectra(std::size_t count) const {
    return plan_->spectra(state_->held_samples(), count);
  }
  std::size_t execute(const AnyArray& samples, const OutputArray& out, std::uintptr_t stream) {
    kept_.require_place(stream, samples, out);
    const auto type = core::sample_type(plan_->config().input);
    const auto view = view_of<2>(samples, "samples", is_pair(type));
    if (view.type() != type) view.refuse("samples", std::string(core::to_string(type)));
    if (view.extent(0) != plan_->config().inputs)
      throw Error(ErrorKind::config, "samples", std::to_string(view.extent(0)) + " inputs",
                  std::to_string(plan_->config().inputs));
    require_rows<2>(view, "samples");
    const auto to = written_view<3>(out, "out", false);
    require_rows<3>(to, "out");
    require_apart(view, to, "out");
    stages::channelize::Input input;
    input.samples = view.data();
    input.row_stride_bytes = static_cast<std::size_t>(view.stride(0)) * core::bytes_of(type);
    input.count = view.extent(1);
    return kept_.run(stream, [&](device::Queue& queue) {
      return plan_->execute(queue, *state_, input, {to, {}, {}, {}});
    });
  }
};

class CorrelatePlan : public KeptPlan<stages::correlate::Plan, stages::correlate::State> {
 public:
  CorrelatePlan(std::size_t channels, std::size_t inputs, const std::string& dtype,
                std::size_t max_samples, const std::string& device)
      : KeptPlan(device) {
    plan_ = stages::correlate::make_plan({.channels = channels,
                                          .inputs = inputs,
                                          .max_samples = max_samples,
                                          .format = core::parse_sample_format(dtype)},
                                         kept_.device);
    state_ = plan_->make_state(*kept_.queue);
  }
  // Adds to visibilities [channel][baseline], complex128 or int64 pairs, and to counts.
  void execute(const AnyArray& samples, const OutputArray& visibilities, const OutputArray& counts,
               std::uintptr_t stream) {
    kept_.require_place(stream, samples, visibilities, counts);
    const auto type = core::sample_type(plan_->config().format);
    auto view = view_of<3>(samples, "samples", is_pair(type));
    if (type == SampleType::ci4) {  // packed in uint8
      if (view.type() != SampleType::u8) view.refuse("samples", "uint8, re in the low half");
      view = {view.data(), type, view.extents(), view.strides()};
    }
    require_rows<3>(view, "samples");
    const bool exact = plan_->config().exact();
    core::MutableSampleView<2> sums;
    if (exact) {
      const auto parts = written_view<3>(visibilities, "out", false);
      if (parts.type() != SampleType::i64 || parts.extent(2) != 2 || parts.stride(2) != 1 ||
          parts.stride(0) % 2 != 0 || parts.stride(1) != 2)
        throw Error(ErrorKind::config, "out", "another array",
                    "dense int64 [channel][baseline][2]");
      sums = {parts.data(),
              SampleType::ci64,
              {parts.extent(0), parts.extent(1)},
              {parts.stride(0) / 2, 1}};
    } else {
      sums = written_view<2>(visibilities, "out", false);
    }
    require_rows<2>(sums, "out");
    const auto counted = written_view<2>(counts, "counts", false);
    require_rows<2>(counted, "counts");
    const auto typed = counted.as<std::int64_t>("counts");
    kept_.run(stream,
              [&](device::Queue& queue) { plan_->execute(queue, *state_, view, {}, sums, typed); });
  }
  void begin() {
    const std::lock_guard lock(kept_.mutex);
    state_->begin();
  }
  bool exact() const { return plan_->config().exact(); }
};

class DedispersePlan : public KeptPlan<stages::dedisperse::Plan, stages::dedisperse::State> {
 public:
  DedispersePlan(std::vector<double> frequencies_mhz, double sample_time_s, std::vector<double> dms,
                 const std::string& dtype, std::size_t max_samples, double dm_constant,
                 bool zero_dm, std::size_t downsample, const std::string& device)
      : KeptPlan(device) {
    const core::SampleFormat format = core::parse_sample_format(dtype);
    if (format.complex) throw Error(ErrorKind::config, "dtype", dtype, "u8, i8, u16, i16 or f32");
    stages::dedisperse::Config config;
    config.frequencies_mhz = std::move(frequencies_mhz);
    config.sample_time_s = sample_time_s;
    config.dms = std::move(dms);
    config.bits = format.bits;
    config.signed_samples = format.encoding == core::Encoding::twos_complement;
    config.max_samples = max_samples;
    config.dm_constant = dm_constant;
    config.zero_dm = zero_dm;
    config.downsample = downsample;
    dtype_ = dtype;
    plan_ = stages::dedisperse::make_plan(config, kept_.device);
    state_ = plan_->make_state(*kept_.queue);
  }
  // [time][channel] to [trial][time]; how many times were written.
  std::size_t execute(const AnyArray& samples, const OutputArray& out, std::uintptr_t stream) {
    kept_.require_place(stream, samples, out);
    if (stream != 0 && !plan_->takes_device_memory())
      throw Error(ErrorKind::unsupported, "samples", "an array of a GPU",
                  "one in the host's memory");
    const auto view = view_of<2>(samples, "samples");
    if (core::to_string(view.type()) != dtype_) view.refuse("samples", dtype_);
    if (view.extent(1) != plan_->config().frequencies_mhz.size())
      throw Error(ErrorKind::config, "samples", std::to_string(view.extent(1)) + " channels",
                  std::to_string(plan_->config().frequencies_mhz.size()));
    require_rows<2>(view, "samples");
    const auto to = written_view<2>(out, "out", false);
    require_rows<2>(to, "out");
    require_apart(view, to, "out");
    stages::dedisperse::Input input;
    input.data = view.data();
    input.count = view.extent(0);
    input.stride_bytes = static_cast<std::size_t>(view.stride(0)) * core::bytes_of(view.type());
    const core::MutableSampleView<3> trials{
        to.data(),
        to.type(),
        {1, to.extent(0), to.extent(1)},
        {to.stride(0) * static_cast<std::ptrdiff_t>(to.extent(0)), to.stride(0), 1}};
    return kept_.run(stream, [&](device::Queue& queue) {
      return plan_->execute(queue, *state_, input, trials).samples;
    });
  }
  std::size_t max_delay() const { return plan_->max_delay(); }
  std::size_t room() const { return plan_->max_output_samples(); }
  bool floats() const { return plan_->float_output(); }

 private:
  std::string dtype_;
};

class DetectPlan : public KeptPlan<stages::detect::Plan, stages::detect::State> {
 public:
  // `options`: fields of the stage's Config; `dms`: of each trial, for its pulses.
  DetectPlan(const std::map<std::string, std::string>& options, std::vector<double> dms,
             const std::string& device)
      : KeptPlan(device), dms_(std::move(dms)) {
    stages::detect::Config config;
    for (const auto& [name, text] : options) core::set(config, name, text);
    plan_ = stages::detect::make_plan(config, kept_.device);
    state_ = plan_->make_state(*kept_.queue);
  }
  // Searches series [trial][time].
  void execute(const AnyArray& series, std::uintptr_t stream) {
    kept_.require_place(stream, series);
    const auto view = view_of<2>(series, "series");
    require_rows<2>(view, "series");
    kept_.run(stream, [&](device::Queue& queue) { plan_->execute(queue, *state_, view); });
  }
  void finish() {
    kept_.run(0, [&](device::Queue& queue) { plan_->finish(queue, *state_); });
  }
  // Pulses that are complete and were not taken, best first: {name: array}, facts of the stream.
  nb::object take() {
    std::vector<stages::detect::Pulse> pulses;
    stages::detect::Counters counters;
    {
      const UnlockedComputation unlocked;
      const std::lock_guard lock(kept_.mutex);
      pulses = state_->take();
      counters = state_->counters();
    }
    std::ranges::stable_sort(pulses, std::greater{}, &stages::detect::Pulse::snr);
    std::vector<core::Candidate> found;
    for (const auto& pulse : pulses)
      found.push_back(
          {.dm = dms_.at(pulse.trial),
           .dm_index = pulse.trial,
           .snr = pulse.snr,
           .sample = pulse.sample(),
           .time_s = static_cast<double>(pulse.sample()) * plan_->config().sample_time_s,
           .width_samples = pulse.width,
           .members = pulse.members,
           .first_sample = pulse.begin,
           .last_sample = pulse.end - 1});
    nb::dict said;
    said["detect_backend"] = plan_->backend();
    said["widths"] =
        as_array(std::vector<std::uint64_t>(plan_->widths().begin(), plan_->widths().end()));
    said["samples"] = counters.samples;
    said["missing"] = counters.missing;
    said["detections"] = counters.detections;
    return nb::make_tuple(columns_of(found), said);
  }
  std::size_t latency_samples() const { return plan_->latency_samples(); }

 private:
  std::vector<double> dms_;
};

class AutocorrelatePlan
    : public KeptPlan<stages::autocorrelate::Plan, stages::autocorrelate::State> {
 public:
  AutocorrelatePlan(std::size_t sensors, const std::string& dtype, const std::string& lag_scheme,
                    std::size_t bins, std::size_t levels, const std::string& coarsening,
                    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs,
                    std::size_t max_samples, const std::string& device)
      : KeptPlan(device) {
    namespace stage = stages::autocorrelate;
    stage::Config config;
    config.sensors = sensors;
    config.type = type_named(dtype);
    core::set(config, "lag_scheme", lag_scheme);
    config.bins = bins;
    config.levels = levels;
    core::set(config, "coarsening", coarsening);
    for (const auto& [a, b] : pairs) config.pairs.push_back({a, b});
    config.max_samples = max_samples;
    plan_ = stage::make_plan(config, kept_.device);
    state_ = plan_->make_state(*kept_.queue);
  }
  // Adds counts [time][sensor].
  void execute(const AnyArray& samples, std::uintptr_t stream) {
    kept_.require_place(stream, samples);
    const auto view = view_of<2>(samples, "samples");
    if (view.type() != plan_->config().type)
      view.refuse("samples", std::string(core::to_string(plan_->config().type)));
    require_rows<2>(view, "samples");
    kept_.run(stream, [&](device::Queue& queue) { plan_->execute(queue, *state_, view); });
  }
  // Lags in samples, products [lag], sums [pair][lag] and g [pair][lag] of all samples so far.
  nb::object read(const std::string& normalization) {
    namespace stage = stages::autocorrelate;
    const auto how = core::parse_normalization(normalization);
    if (!how)
      throw Error(ErrorKind::config, "normalization", normalization, "none, global or symmetric");
    const stage::Config& config = plan_->config();
    const auto lags = stage::lags_of(config);
    const std::vector<std::size_t> shape{config.pair_count(), lags.size()};
    CurveSums sums(config);
    const stage::Sums all = sums.views();
    std::vector<double> g(all.sums.size());
    {
      kept_.run(0, [&](device::Queue& queue) { plan_->read(queue, *state_, all); });
      const UnlockedComputation unlocked;
      stage::normalise(config, *how, state_->samples(), all, {g.data(), all.sums.extents()});
    }
    std::vector<std::uint64_t> samples_of;
    for (const auto& lag : lags) samples_of.push_back(lag.samples);
    const auto products = [&]<class T>(const T* first) {
      return as_array(std::vector<T>(first, first + g.size()), shape);
    };
    return nb::make_tuple(as_array(std::move(samples_of)), as_array(sums.counts),
                          config.floats() ? products(all.sums.as<double>().data())
                                          : products(all.sums.as<std::int64_t>().data()),
                          as_array(g, shape));
  }
  std::uint64_t samples() const { return state_->samples(); }

 private:
  static SampleType type_named(const std::string& name) {
    for (const SampleType one :
         {SampleType::u8, SampleType::u16, SampleType::u32, SampleType::f32, SampleType::f64})
      if (core::to_string(one) == name) return one;
    throw Error(ErrorKind::config, "dtype", name, "u8, u16, u32, f32 or, on the host, f64");
  }
};

}  // namespace

void bind_plans(nb::module_& module) {
  bind_plan<ChannelizePlan>(module, "ChannelizePlan")
      .def(nb::init<std::size_t, std::size_t, const std::string&, std::size_t, std::size_t,
                    const std::string&, double, bool, bool, const std::string&>(),
           nb::call_guard<Unlocked>())
      .def("spectra", &ChannelizePlan::spectra);
  bind_plan<CorrelatePlan>(module, "CorrelatePlan")
      .def(
          nb::init<std::size_t, std::size_t, const std::string&, std::size_t, const std::string&>(),
          nb::call_guard<Unlocked>())
      .def("begin", &CorrelatePlan::begin, nb::call_guard<Unlocked>())
      .def("exact", &CorrelatePlan::exact);
  bind_plan<AutocorrelatePlan>(module, "AutocorrelatePlan")
      .def(nb::init<std::size_t, const std::string&, const std::string&, std::size_t, std::size_t,
                    const std::string&, const std::vector<std::pair<std::uint32_t, std::uint32_t>>&,
                    std::size_t, const std::string&>(),
           nb::call_guard<Unlocked>())
      .def("read", &AutocorrelatePlan::read)
      .def("samples", &AutocorrelatePlan::samples);
  bind_plan<DedispersePlan>(module, "DedispersePlan")
      .def(nb::init<std::vector<double>, double, std::vector<double>, const std::string&,
                    std::size_t, double, bool, std::size_t, const std::string&>(),
           nb::call_guard<Unlocked>())
      .def("max_delay", &DedispersePlan::max_delay)
      .def("room", &DedispersePlan::room)
      .def("floats", &DedispersePlan::floats);
  bind_plan<DetectPlan>(module, "DetectPlan")
      .def(nb::init<const std::map<std::string, std::string>&, std::vector<double>,
                    const std::string&>(),
           nb::call_guard<Unlocked>())
      .def("finish", &DetectPlan::finish)
      .def("take", &DetectPlan::take)
      .def("latency_samples", &DetectPlan::latency_samples);
}

}  // namespace tautline::python
