#include "curves_state.h"

#include <cstring>
#include <type_traits>

#include "tautline/core/error.h"

namespace tautline::python {

namespace {

template <class Of, class Visit>
void each_field(Of& of, const Visit& visit) {
  using Bare = std::remove_const_t<Of>;
  if constexpr (std::is_same_v<Bare, core::CurveSignal>) {
    visit(of.label), visit(of.row), visit(of.column), visit(of.mean_rate_hz);
    visit(of.trace.time_s), visit(of.trace.rate_khz);
  } else {
    visit(of.curves), visit(of.lags), visit(of.cross), visit(of.bin_s), visit(of.duration_s);
    visit(of.samples), visit(of.normalization), visit(of.detrended), visit(of.lag_s);
    visit(of.lag_samples), visit(of.counts), visit(of.sums), visit(of.monitor_direct);
    visit(of.monitor_delayed), visit(of.sums_float), visit(of.monitor_direct_float);
    visit(of.monitor_delayed_float), visit(of.lead_in), visit(of.lead_in_float), visit(of.totals);
    visit(of.totals_float), visit(of.g), visit(of.standard_error), visit(of.segments);
    visit(of.segment_samples), visit(of.segment_g), visit(of.segment_counts), visit(of.first);
    visit(of.second), visit(of.mask);
  }
}

struct Writer {
  nb::list& to;
  void operator()(core::Normalization one) const { to.append(static_cast<int>(one)); }
  void operator()(const std::vector<core::CurveSignal>& signals) const {
    to.append(signals.size());
    for (const core::CurveSignal& signal : signals) each_field(signal, *this);
  }
  template <class T>
  void operator()(const std::vector<T>& values) const {
    to.append(nb::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
  }
  template <class T>
  void operator()(const T& value) const {
    to.append(value);
  }
};

struct Reader {
  const nb::tuple& from;
  std::size_t& next;
  nb::handle take() const {
    if (next == from.size())
      throw core::Error(core::ErrorKind::format, "state", std::to_string(next) + " fields",
                        "curves of this version");
    return from[next++];
  }
  void operator()(core::Normalization& one) const {
    one = static_cast<core::Normalization>(nb::cast<int>(take()));
  }
  void operator()(std::vector<core::CurveSignal>& signals) const {
    for (auto left = nb::cast<std::size_t>(take()); left > 0; --left)
      each_field(signals.emplace_back(), *this);
  }
  template <class T>
  void operator()(std::vector<T>& values) const {
    const auto bytes = nb::cast<nb::bytes>(take());
    values.resize(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.c_str(), values.size() * sizeof(T));
  }
  template <class T>
  void operator()(T& value) const {
    value = nb::cast<T>(take());
  }
};

}  // namespace

nb::tuple state_of(const core::CorrelationCurves& curves) {
  nb::list fields;
  each_field(curves, Writer{fields});
  return nb::tuple(fields);
}

core::CorrelationCurves curves_of(const nb::tuple& state) {
  core::CorrelationCurves curves;
  std::size_t next = 0;
  each_field(curves, Reader{state, next});
  return curves;
}

}  // namespace tautline::python
