// The definition, in int64 and double:
//
//   V(i, j) += sum over t of x_i[t] conj(x_j[t]),   n(i, j) += number of t summed,
//
// over the t at which both inputs are valid.
#include "tautline/stages/correlate/backends.h"

namespace tautline::stages::correlate {

namespace {

core::ci64 widen(core::ci8 x) {
  return {x.re, x.im};
}
core::ci64 widen(core::ci4 x) {
  return {x.re(), x.im()};
}
std::complex<double> widen(core::ci16 x) {
  return {double(x.re), double(x.im)};
}
std::complex<double> widen(core::cf16 x) {
  return {core::to_float(x.re), core::to_float(x.im)};
}
std::complex<double> widen(std::complex<float> x) {
  return x;
}

core::ci64 product(core::ci64 x, core::ci64 y) {
  return {x.re * y.re + x.im * y.im, x.im * y.re - x.re * y.im};
}
std::complex<double> product(std::complex<double> x, std::complex<double> y) {
  return {x.real() * y.real() + x.imag() * y.imag(), x.imag() * y.real() - x.real() * y.imag()};
}

template <class Sample>
void sum_all(const Samples<Sample>& samples, const Validity& validity,
             const core::View<VisibilityOf<Sample>, 2>& visibilities, const Counts& counts) {
  const auto valid = [&](std::size_t c, std::size_t input, std::size_t t) {
    return validity.data() == nullptr || (validity(c, input, t / 64) >> (t % 64) & 1) != 0;
  };
  for (std::size_t c = 0; c < samples.extent(0); ++c)
    for (std::size_t i = 0; i < samples.extent(1); ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        const std::size_t b = core::baseline_index(i, j);
        for (std::size_t t = 0; t < samples.extent(2); ++t) {
          if (!valid(c, i, t) || !valid(c, j, t)) continue;
          visibilities(c, b) += product(widen(samples(c, i, t)), widen(samples(c, j, t)));
          ++counts(c, b);
        }
      }
}

class ReferencePlan final : public Plan {
 public:
  explicit ReferencePlan(const Config& config) : Plan(config) {}
  std::string backend() const override { return "reference"; }
  device::MemoryUse bytes() const override { return {}; }
  std::unique_ptr<State> make_state(const device::Queue&) const override {
    return std::make_unique<State>(state_plan(config()));
  }

 private:
  void add(device::Queue& queue, State& state, const core::SampleView<3>& samples,
           const Validity& validity, const core::MutableSampleView<2>& visibilities,
           const Counts& counts) const override {
    if (state.take_begin()) clear_on_host(queue, visibilities, counts);
    core::with_type<core::ci8, core::ci4, core::ci16, core::cf16, std::complex<float>>(
        samples, "samples", [&]<class Sample>(const Samples<Sample>& typed) {
          sum_all<Sample>(typed, validity, visibilities.as<VisibilityOf<Sample>>(), counts);
        });
  }
};

}  // namespace

std::shared_ptr<const Plan> make_reference_plan(const Config& config) {
  return std::make_shared<ReferencePlan>(config);
}

}  // namespace tautline::stages::correlate
