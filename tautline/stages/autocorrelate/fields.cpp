#include "tautline/stages/autocorrelate/fields.h"

namespace tautline::stages::autocorrelate {

core::FieldText<LagScheme> lag_scheme_text() {
  return core::choice<LagScheme>({{"chain", LagScheme::chain}, {"standard", LagScheme::standard}});
}

core::FieldText<Coarsening> coarsening_text() {
  return core::choice<Coarsening>(
      {{"sum", Coarsening::sum}, {"first", Coarsening::first}, {"second", Coarsening::second}});
}

const core::Fields<Config>& fields(const Config&) {
  using enum SampleType;
  static const auto all = [] {
    core::Fields<Config> list;
    list.add({.name = "sensors", .help = "sensors in a row of counts"}, &Config::sensors,
             core::between(1, kMaxSensors));
    return add_lag_fields(list)
        .add({.name = "type", .help = "of a count; f64 on the host"}, &Config::type,
             core::choice_of<SampleType>({u8, u16, u32, f32, f64}))
        .add({.name = "max_samples", .help = "most times that one execute is given"},
             &Config::max_samples, core::between(1, 0x1p40));
  }();
  return all;
}

}  // namespace tautline::stages::autocorrelate
