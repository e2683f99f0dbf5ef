#include "tautline/stages/dedisperse/fields.h"

#include "tautline/core/dispersion.h"

namespace tautline::stages::dedisperse {

core::FieldText<Method> method_text() {
  return core::choice_of<Method>(
      {Method::automatic, Method::exact, Method::shared, Method::subband});
}

core::FieldText<double> dm_constant_text() {
  constexpr double kPrestoConstant = 1 / 2.41e-4;
  const core::Limit limit =
      core::between(core::kLeastDispersionConstant, core::kGreatestDispersionConstant);
  auto form = core::plain_text<double>(limit);
  form.allowed = limit.words + " s MHz^2 per pc cm^-3, or presto";
  form.read = [allowed = form.allowed](const std::string& text) {
    if (text == "presto") return kPrestoConstant;
    try {
      return core::text::read_number(text);
    } catch (const core::Error&) {
      core::text::refuse(text, allowed);
    }
  };
  return form;
}

const core::Fields<Config>& fields(const Config&) {
  static const auto all = [] {
    core::Fields<Config> list;
    list.add({.name = "frequencies_mhz",
              .unit = "MHz",
              .help = "centre of each channel, in any order"},
             &Config::frequencies_mhz, core::above(0))
        .add({.name = "sample_time_s", .unit = "s", .help = "between two times of the input"},
             &Config::sample_time_s, core::above(0))
        .add({.name = "dms", .unit = "pc cm^-3", .help = "trials, in any order"}, &Config::dms,
             core::at_least(0));
    add_dm_constant_field(list)
        .add({.name = "reference_mhz",
              .unit = "MHz",
              .help = "frequency at which delays are 0; 0: the highest channel's centre"},
             &Config::reference_mhz, core::at_least(0))
        .add({.name = "bits", .help = "of an input sample; 32: a float"}, &Config::bits,
             core::one_of({1, 2, 4, 8, 16, 32}))
        .add({.name = "signed_samples", .help = "8 and 16 bits: in two's complement"},
             &Config::signed_samples)
        .add({.name = "beams", .help = "filterbanks that are summed together"}, &Config::beams,
             core::between(1, 4096))
        .add({.name = "max_samples", .help = "most times that one execute is given"},
             &Config::max_samples, core::between(1, 0x1p30))
        .add({.name = "ignored_channels", .help = "left out of every sum, from 0"},
             &Config::ignored_channels);
    return add_zero_dm_field(list)
        .add({.name = "measure_channels", .help = "keep sums over time of every channel"},
             &Config::measure_channels)
        .add({.name = "downsample", .help = "neighbouring times added before dedispersion"},
             &Config::downsample, core::between(1, 4096))
        .add(
            {.name = "method",
             .help = "exact, shared (exact sums, fewer adds), subband (loses `subband_loss`; 1 % "
                     "if that is 0) or auto: exact or shared; with `subband_loss` subband where it "
                     "saves a fifth"},
            &Config::method, method_text())
        .add({.name = "subband_loss", .help = "part of the S/N that sub-bands may cost"},
             &Config::subband_loss, core::between(0, 0.5))
        .add({.name = "pulse_width_s",
              .unit = "s",
              .help = "narrowest pulse that `subband_loss` holds for; 0: one of no width"},
             &Config::pulse_width_s, core::between(0, 1e6))
        .add({.name = "max_value", .help = "largest integer sample; 0: as `bits` has it"},
             &Config::max_value)
        .add({.name = "zero_level", .help = "integer sample that stands for 0"},
             &Config::zero_level);
  }();
  return all;
}

}  // namespace tautline::stages::dedisperse
