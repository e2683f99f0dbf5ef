// Plans that are kept: one stream through one stage, into arrays of the caller's.
#include <cstring>
#include <mutex>

#include "bindings.h"
#include "tautline/core/window.h"
#include "tautline/stages/channelize/channelize.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/dedisperse/dedisperse.h"

namespace tautline::python {

namespace {

using core::Error;
using core::ErrorKind;
using core::SampleType;

/// An array of the host's that is written.
using Output = nb::ndarray<nb::device::cpu>;

template <std::size_t Rank>
core::MutableSampleView<Rank> written_view(const Output& array, const std::string& field,
                                           bool pairs) {
  const auto view = view_of<Rank>(Array(array), field, pairs);
  return {array.data(), view.type(), view.extents(), view.strides()};
}

// Stages take dense last axes, and rows that do not overlap.
template <std::size_t Rank>
void require_rows(const core::SampleView<Rank>& view, const std::string& field) {
  if (view.size() == 0) return;
  std::ptrdiff_t below = 1;
  for (std::size_t a = Rank; a-- > 0;) {
    const bool fits = a + 1 == Rank ? view.stride(a) == 1 : view.stride(a) >= below;
    if (view.extent(a) > 1 && !fits)
      throw Error(ErrorKind::config, field,
                  "a stride of " + std::to_string(view.stride(a)) + " on axis " + std::to_string(a),
                  "a dense last axis, and rows in order", "give numpy.ascontiguousarray of it");
    below = std::max(below, view.stride(a) * static_cast<std::ptrdiff_t>(view.extent(a)));
  }
}

bool is_pair(SampleType type) {
  return type == SampleType::ci8 || type == SampleType::ci16;
}

/// What every kept plan has. One thread at a time uses a state.
struct Kept {
  explicit Kept(const std::string& name) : device(open_device(name)), queue(device->make_queue()) {}
  std::shared_ptr<const device::Device> device;
  std::unique_ptr<device::Queue> queue;
  std::mutex mutex;
};

class ChannelizePlan {
 public:
  ChannelizePlan(std::size_t inputs, std::size_t channels, const std::string& dtype,
                 std::size_t max_samples, std::size_t taps, const std::string& window,
                 double cutoff, bool corner_turned, bool lower_sideband, const std::string& device)
      : kept_(device) {
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
  std::size_t execute(const Array& samples, const Output& out) {
    const auto type = core::sample_type(plan_->config().input);
    const auto view = view_of<2>(samples, "samples", is_pair(type));
    if (view.type() != type) view.refuse("samples", std::string(core::to_string(type)));
    if (view.extent(0) != plan_->config().inputs)
      throw Error(ErrorKind::config, "samples", std::to_string(view.extent(0)) + " inputs",
                  std::to_string(plan_->config().inputs));
    require_rows<2>(view, "samples");
    const auto to = written_view<3>(out, "out", false);
    require_rows<3>(to, "out");
    const nb::gil_scoped_release release;
    const std::lock_guard lock(kept_.mutex);
    stages::channelize::Input input;
    input.samples = view.data();
    input.row_stride_bytes = static_cast<std::size_t>(view.stride(0)) * core::bytes_of(type);
    input.count = view.extent(1);
    const std::size_t spectra = plan_->execute(*kept_.queue, *state_, input, {to, {}, {}, {}});
    kept_.queue->synchronise();
    return spectra;
  }
  void reset() {
    const std::lock_guard lock(kept_.mutex);
    state_->reset();
  }
  std::string backend() const { return plan_->backend(); }

 private:
  Kept kept_;
  std::shared_ptr<const stages::channelize::Plan> plan_;
  std::unique_ptr<stages::channelize::State> state_;
};

class CorrelatePlan {
 public:
  CorrelatePlan(std::size_t channels, std::size_t inputs, const std::string& dtype,
                std::size_t max_samples, const std::string& device)
      : kept_(device) {
    plan_ = stages::correlate::make_plan({.channels = channels,
                                          .inputs = inputs,
                                          .max_samples = max_samples,
                                          .format = core::parse_sample_format(dtype)},
                                         kept_.device);
    state_ = plan_->make_state(*kept_.queue);
  }
  // Adds to visibilities [channel][baseline], complex128 or int64 pairs, and to counts.
  void execute(const Array& samples, const Output& visibilities, const Output& counts) {
    const auto type = core::sample_type(plan_->config().format);
    const auto view = view_of<3>(samples, "samples", is_pair(type));
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
    const nb::gil_scoped_release release;
    const std::lock_guard lock(kept_.mutex);
    plan_->execute(*kept_.queue, *state_, view, {}, sums, typed);
    kept_.queue->synchronise();
  }
  bool exact() const { return plan_->config().exact(); }
  std::string backend() const { return plan_->backend(); }

 private:
  Kept kept_;
  std::shared_ptr<const stages::correlate::Plan> plan_;
  std::unique_ptr<stages::correlate::State> state_;
};

class DedispersePlan {
 public:
  DedispersePlan(std::vector<double> frequencies_mhz, double sample_time_s, std::vector<double> dms,
                 const std::string& dtype, std::size_t max_samples, double dm_constant,
                 bool zero_dm, std::size_t downsample, const std::string& device)
      : kept_(device) {
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
  std::size_t execute(const Array& samples, const Output& out) {
    const auto view = view_of<2>(samples, "samples");
    if (core::to_string(view.type()) != dtype_) view.refuse("samples", dtype_);
    if (view.extent(1) != plan_->config().frequencies_mhz.size())
      throw Error(ErrorKind::config, "samples", std::to_string(view.extent(1)) + " channels",
                  std::to_string(plan_->config().frequencies_mhz.size()));
    require_rows<2>(view, "samples");
    const auto to = written_view<2>(out, "out", false);
    require_rows<2>(to, "out");
    stages::dedisperse::Input input;
    input.data = view.data();
    input.count = view.extent(0);
    input.stride_bytes = static_cast<std::size_t>(view.stride(0)) * core::bytes_of(view.type());
    const core::MutableSampleView<3> trials{
        to.data(),
        to.type(),
        {1, to.extent(0), to.extent(1)},
        {to.stride(0) * static_cast<std::ptrdiff_t>(to.extent(0)), to.stride(0), 1}};
    const nb::gil_scoped_release release;
    const std::lock_guard lock(kept_.mutex);
    const auto result = plan_->execute(*kept_.queue, *state_, input, trials);
    kept_.queue->synchronise();
    return result.samples;
  }
  void reset() {
    const std::lock_guard lock(kept_.mutex);
    state_->reset();
  }
  std::size_t max_delay() const { return plan_->max_delay(); }
  std::size_t room() const { return plan_->max_output_samples(); }
  bool floats() const { return plan_->float_output(); }
  std::string backend() const { return plan_->backend(); }

 private:
  Kept kept_;
  std::string dtype_;
  std::shared_ptr<const stages::dedisperse::Plan> plan_;
  std::unique_ptr<stages::dedisperse::State> state_;
};

}  // namespace

void bind_plans(nb::module_& module) {
  nb::class_<ChannelizePlan>(module, "ChannelizePlan")
      .def(nb::init<std::size_t, std::size_t, const std::string&, std::size_t, std::size_t,
                    const std::string&, double, bool, bool, const std::string&>(),
           nb::call_guard<nb::gil_scoped_release>())
      .def("spectra", &ChannelizePlan::spectra)
      .def("execute", &ChannelizePlan::execute)
      .def("reset", &ChannelizePlan::reset, nb::call_guard<nb::gil_scoped_release>())
      .def("backend", &ChannelizePlan::backend);
  nb::class_<CorrelatePlan>(module, "CorrelatePlan")
      .def(
          nb::init<std::size_t, std::size_t, const std::string&, std::size_t, const std::string&>(),
          nb::call_guard<nb::gil_scoped_release>())
      .def("execute", &CorrelatePlan::execute)
      .def("exact", &CorrelatePlan::exact)
      .def("backend", &CorrelatePlan::backend);
  nb::class_<DedispersePlan>(module, "DedispersePlan")
      .def(nb::init<std::vector<double>, double, std::vector<double>, const std::string&,
                    std::size_t, double, bool, std::size_t, const std::string&>(),
           nb::call_guard<nb::gil_scoped_release>())
      .def("execute", &DedispersePlan::execute)
      .def("reset", &DedispersePlan::reset, nb::call_guard<nb::gil_scoped_release>())
      .def("max_delay", &DedispersePlan::max_delay)
      .def("room", &DedispersePlan::room)
      .def("floats", &DedispersePlan::floats)
      .def("backend", &DedispersePlan::backend);
}

}  // namespace tautline::python
