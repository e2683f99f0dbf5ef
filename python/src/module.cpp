// The module _tautline: errors, devices, arrays.
#include <cstdlib>

#include "bindings.h"
#include "tautline/core/error.h"
#include "tautline/core/field_text.h"
#include "tautline/core/frequency_text.h"

namespace tautline::python {

namespace {

const char* name_of(core::ErrorKind kind) {
  switch (kind) {
    case core::ErrorKind::config:
      return "config";
    case core::ErrorKind::format:
      return "format";
    case core::ErrorKind::io:
      return "io";
    case core::ErrorKind::unsupported:
      return "unsupported";
    case core::ErrorKind::memory:
      return "memory";
    case core::ErrorKind::device:
      break;
  }
  return "device";
}

// Texts hold names of files, which need not be UTF-8.
nb::object text_of(const std::string& text) {
  PyObject* const object =
      PyUnicode_DecodeFSDefaultAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  if (object == nullptr) throw nb::python_error();
  return nb::steal(object);
}

// To the class of errors.py that goes with the kind.
void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const core::Error& error) {
    const nb::object made =
        nb::module_::import_("tautline.errors")
            .attr("make")(name_of(error.kind()), text_of(error.what()), text_of(error.field()),
                          text_of(error.value()), text_of(error.limit()), text_of(error.advice()));
    PyErr_SetObject(made.type().ptr(), made.ptr());
  }
}

struct Named {
  core::SampleType type;
  nb::dlpack::dtype_code code;
  std::uint8_t bits;
  const char* numpy;
};
using Code = nb::dlpack::dtype_code;
constexpr Named kTypes[] = {
    {core::SampleType::i8, Code::Int, 8, "int8"},
    {core::SampleType::i16, Code::Int, 16, "int16"},
    {core::SampleType::i32, Code::Int, 32, "int32"},
    {core::SampleType::i64, Code::Int, 64, "int64"},
    {core::SampleType::u8, Code::UInt, 8, "uint8"},
    {core::SampleType::u16, Code::UInt, 16, "uint16"},
    {core::SampleType::u32, Code::UInt, 32, "uint32"},
    {core::SampleType::u64, Code::UInt, 64, "uint64"},
    {core::SampleType::f32, Code::Float, 32, "float32"},
    {core::SampleType::f64, Code::Float, 64, "float64"},
    {core::SampleType::cf32, Code::Complex, 64, "complex64"},
    {core::SampleType::cf64, Code::Complex, 128, "complex128"},
};

core::SampleType pair_of(core::SampleType part) {
  return part == core::SampleType::i8    ? core::SampleType::ci8
         : part == core::SampleType::i16 ? core::SampleType::ci16
                                         : part;
}

}  // namespace

core::SampleType type_of(const AnyArray& array, bool pairs, const std::string& field) {
  const auto dtype = array.dtype();
  for (const Named& one : kTypes) {
    if (dtype.code != static_cast<std::uint8_t>(one.code) || dtype.bits != one.bits) continue;
    if (!pairs) return one.type;
    const core::SampleType pair = pair_of(one.type);
    const bool is_pair = array.ndim() > 0 && array.shape(array.ndim() - 1) == 2 &&
                         array.stride(array.ndim() - 1) == 1;
    if (pair != one.type && is_pair) return pair;
  }
  throw core::Error(core::ErrorKind::config, field, "an array of another type",
                    pairs ? "int8 or int16 with a last axis of 2, re and im"
                          : "integers, floats or complex numbers");
}

NewArray new_array(core::SampleType type, std::vector<std::size_t> shape) {
  if (type == core::SampleType::ci8 || type == core::SampleType::ci16) {
    shape.push_back(2);
    type = type == core::SampleType::ci8 ? core::SampleType::i8 : core::SampleType::i16;
  }
  if (type == core::SampleType::ci4) type = core::SampleType::u8;  // packed, re in the low half
  const char* name = nullptr;
  for (const Named& one : kTypes)
    if (one.type == type) name = one.numpy;
  if (name == nullptr)
    throw core::Error(core::ErrorKind::unsupported, "samples", std::string(core::to_string(type)),
                      "types that numpy has");
  nb::object array = nb::module_::import_("tautline.devices")
                         .attr("on_a_cache_line")(nb::tuple(nb::cast(shape)), name);
  void* const data = nb::cast<nb::ndarray<nb::device::cpu>>(array).data();
  return {std::move(array), data};
}

device::Selection selection_of(const std::string& name) {
  const char* const environment = std::getenv("TAUTLINE_DEVICE");
  const bool told = name == "auto" && environment != nullptr && *environment != '\0';
  return device::parse_selection(told ? environment : name);
}

std::shared_ptr<const device::Device> open_device(const std::string& name,
                                                  const core::LogSink& log) {
  device::Options options;
  options.log = log;
  return device::open(selection_of(name), options);
}

}  // namespace tautline::python

NB_MODULE(_tautline, module) {
  namespace python = tautline::python;
  module.def("version", [] { return TAUTLINE_VERSION; });
  // A thread that is in a call when the interpreter ends keeps what it holds, which is no fault: only tests are told.
  nanobind::set_leak_warnings(false);
  module.def("end_calls", &python::Unlocked::end);
  module.def("warn_of_leaks", &nanobind::set_leak_warnings, nanobind::arg("wanted"));
  nanobind::register_exception_translator(python::translate);
  // The text of a quantity in `unit` (s, Hz or MHz), which may have a unit of its own, without it.
  module.def(
      "without_unit",
      [](const std::string& text, const std::string& unit) {
        namespace core = tautline::core;
        return unit == "s" ? core::text::in_seconds(text)
                           : core::in_hertz(text, unit == "MHz" ? 6 : 0);
      },
      nanobind::arg("text"), nanobind::arg("unit"));
  module.def(
      "device_name",
      [](const std::string& name) {
        const python::Unlocked unlocked;
        return python::open_device(name)->name();
      },
      nanobind::arg("device") = "auto");
  python::bind_stages(module);
  python::bind_files(module);
  python::bind_visibilities(module);
  python::bind_curves(module);
  python::bind_runs(module);
  python::bind_fits(module);
  python::bind_plans(module);
  python::bind_pipelines(module);
}
