// What the bindings share: arrays of Python as views of the library, fields of Configs from keyword arguments, and runs
// that Ctrl-C stops.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/candidate.h"
#include "tautline/core/fields.h"
#include "tautline/core/sample_view.h"
#include "tautline/device/device.h"
#include "tautline/pipeline/progress.h"
#include "unlocked.h"

namespace tautline::python {

namespace nb = nanobind;

/// Any array of the host's that is read; the Python files see to its type and strides.
using Array = nb::ndarray<nb::ro, nb::device::cpu>;
/// The same for any memory: plans take arrays of their device, too.
using AnyArray = nb::ndarray<nb::ro>;

void bind_stages(nb::module_& module);
void bind_files(nb::module_& module);
void bind_runs(nb::module_& module);
void bind_visibilities(nb::module_& module);
void bind_curves(nb::module_& module);
void bind_fits(nb::module_& module);
void bind_plans(nb::module_& module);
void bind_pipelines(nb::module_& module);

/// The type of an array's elements; `pairs`: integers whose last axis is re and im. Throws Error(config).
core::SampleType type_of(const AnyArray& array, bool pairs, const std::string& field);

/// An array of Rank axes (and one of 2 for `pairs`) as a view. Throws Error(config) that names `field`.
template <std::size_t Rank>
core::SampleView<Rank> view_of(const AnyArray& array, const std::string& field,
                               bool pairs = false) {
  const core::SampleType type = type_of(array, pairs, field);
  if (array.ndim() != Rank + (pairs ? 1 : 0))
    throw core::Error(core::ErrorKind::config, field, std::to_string(array.ndim()) + " axes",
                      std::to_string(Rank + (pairs ? 1 : 0)));
  typename core::SampleView<Rank>::Extents extents;
  typename core::SampleView<Rank>::Strides strides;
  for (std::size_t a = 0; a < Rank; ++a) {
    extents[a] = array.shape(a);
    if (pairs && extents[a] > 1 && array.stride(a) % 2 != 0)
      throw core::Error(core::ErrorKind::config, field,
                        "rows that begin in the middle of a complex number", "whole ones",
                        "copy the array");
    strides[a] = array.stride(a) / (pairs ? 2 : 1);
  }
  const bool complex =
      array.dtype().code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Complex);
  const std::size_t number_bytes = array.dtype().bits / (complex ? 16 : 8);
  if (array.size() > 0 && reinterpret_cast<std::uintptr_t>(array.data()) % number_bytes != 0)
    throw core::Error(core::ErrorKind::config, field, "numbers that are not aligned",
                      "an array whose numbers begin at multiples of their size", "copy the array");
  return {array.data(), type, extents, strides};
}

template <std::size_t Rank>
core::SampleView<Rank> view_of(const Array& array, const std::string& field, bool pairs = false) {
  return view_of<Rank>(AnyArray(array), field, pairs);
}

/// A new numpy array and where its elements lie. Pairs of integers get a last axis of 2.
struct NewArray {
  nb::object array;
  void* data = nullptr;
};
NewArray new_array(core::SampleType type, std::vector<std::size_t> shape);

/// A numpy array of `values`, which it takes over.
template <class T>
nb::object as_array(std::vector<T> values, std::vector<std::size_t> shape = {}) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  if (shape.empty()) shape = {kept->size()};
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), owner));
}

/// {name: array} of all of them; `with_filled`: of a run that knows what stands in for data, or of a file.
nb::dict columns_of(const std::vector<core::Candidate>& candidates, bool with_filled = false);

/// The device of a call: `name` or, where that is auto, TAUTLINE_DEVICE.
device::Selection selection_of(const std::string& name);
std::shared_ptr<const device::Device> open_device(const std::string& name,
                                                  const core::LogSink& log = {});

/// Sets fields from {name: text}.
template <class Config>
void set_fields(Config& config, const nb::dict& options) {
  for (const auto& [name, text] : options)
    core::set(config, nb::cast<std::string>(name), nb::cast<std::string>(text));
}

/// [(name, unit, help, allowed, form, option, default)] of a Config, for docstrings and names of arguments.
template <class Config>
nb::list described() {
  nb::list all;
  for (const auto& field : fields(Config{}).all())
    all.append(nb::make_tuple(field.name, field.unit, field.help, field.allowed, field.form,
                              core::option_name(field), core::default_text(field)));
  return all;
}

/// work(stop, progress) on a thread of its own, while this one looks for Ctrl-C and calls `progress`(done, total) of
/// Python, or None.
template <class Work>
auto run_interruptibly(const nb::object& progress, const Work& work) {
  constexpr std::chrono::milliseconds kLook{100};
  std::stop_source stop;
  std::mutex mutex;
  std::optional<pipeline::Progress> news;
  const pipeline::ProgressCallback take = [&](const pipeline::Progress& now) {
    const std::lock_guard lock(mutex);
    news = now;
  };
  const auto tell = [&] {
    std::optional<pipeline::Progress> now;
    {
      const std::lock_guard lock(mutex);
      now.swap(news);
    }
    if (now && !progress.is_none()) progress(now->samples, now->total_samples);
  };
  auto result = std::async(std::launch::async, [&] { return work(stop.get_token(), take); });
  std::exception_ptr raised;
  for (bool done = false; !done;) {
    {
      const Unlocked unlocked;
      done = result.wait_for(kLook) == std::future_status::ready;
      if (Unlocked::over()) {
        stop.request_stop();
        result.wait();
      }
    }
    if (raised) continue;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      tell();
    } catch (...) {
      raised = std::current_exception();
      stop.request_stop();
    }
  }
  if (!raised) return result.get();
  try {
    result.get();
  } catch (...) {  // NOLINT(bugprone-empty-catch): it was told to stop
  }
  std::rethrow_exception(raised);
}

}  // namespace tautline::python
