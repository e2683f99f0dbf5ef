#include "tautline/pipeline/search/filterbank_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/dispersion.h"
#include "tautline/core/error.h"
#include "tautline/stages/dedisperse/plan/spacing.h"

namespace tautline::pipeline {

namespace {

constexpr double kDefaultLoss = 0.02;
constexpr double kPulseOfTolerances = 40e-6;  // dedisp's

double pulse_of_tolerances(const DmChoice& choice) {
  return choice.pulse_width_s > 0 ? choice.pulse_width_s : kPulseOfTolerances;
}

}  // namespace

void require_trials(const DmChoice& choice) {
  if (!choice.given())
    throw core::Error(core::ErrorKind::config, "dms.range", "not given",
                      "one of `dms.range` and `dms.list`",
                      "as in `dms.range` 0:1000, up to the highest DM of interest");
}

void refuse_delay(double dm, double delay_s, double data_s) {
  // Two digits below the DM whose delay is as long as the data.
  const double allowed = dm * data_s / delay_s;
  const double digit = std::pow(10, std::floor(std::log10(std::max(allowed, 1e-6))) - 2);
  throw core::Error(core::ErrorKind::config, "dms.range",
                    fmt::format("DM {:.10g} delays the lowest channel by {:.6g} s", dm, delay_s),
                    fmt::format("less than the {:.6g} s of data", data_s),
                    fmt::format("the highest DM may be {:.10g}",
                                std::max(0.0, std::ceil(allowed / digit) - 1) * digit));
}

void require_delays(const DmChoice& choice, const stages::dedisperse::Band& band, double data_s) {
  const auto [low, high] =
      std::minmax_element(band.frequencies_mhz.begin(), band.frequencies_mhz.end());
  const double dm = choice.list.empty() ? choice.high.value_or(0) : choice.list.back();
  if (band.frequencies_mhz.empty() || !(dm >= 0)) return;  // refused elsewhere
  const double delay_s = core::dispersion_delay_s(dm, *low, *high, band.dm_constant);
  if (delay_s > 0 && delay_s >= data_s) refuse_delay(dm, delay_s, data_s);
}

void require_samples(const std::vector<std::shared_ptr<const stages::dedisperse::Plan>>& plans,
                     std::uint64_t samples, double rate_hz) {
  for (const auto& plan : plans) {
    if (samples / plan->config().downsample > plan->max_delay()) continue;
    const double delay_s = static_cast<double>(plan->max_delay()) *
                           static_cast<double>(plan->config().downsample) / rate_hz;
    refuse_delay(plan->config().dms.back(), delay_s, static_cast<double>(samples) / rate_hz);
  }
}

std::string enough_bytes(std::size_t bytes) {
  return std::to_string((bytes >> 20) + 1) + "M";
}

namespace {

stages::dedisperse::DmPlan make_dm_plan(const DmChoice& choice, double spacing_loss,
                                        const stages::dedisperse::Band& band) {
  namespace dedisperse = stages::dedisperse;
  std::vector<double> dms = choice.list;
  if (dms.empty() && choice.step > 0)
    dms = dedisperse::linear_dms(choice.low, *choice.high, choice.step);
  else if (dms.empty() && choice.by_loss())
    dms =
        dedisperse::spaced_dms(band, choice.low, *choice.high, choice.pulse_width_s, spacing_loss);
  else if (dms.empty())
    dms = dedisperse::tolerance_dms(band, choice.low, *choice.high, pulse_of_tolerances(choice),
                                    choice.tolerance);
  return dedisperse::make_dm_plan(band, dms, pulse_of_tolerances(choice),
                                  choice.downsample_tolerance);
}

}  // namespace

ChosenTrials choose_trials(const FilterbankRunConfig& config, const DmChoice& choice,
                           const stages::dedisperse::Band& band) {
  using stages::dedisperse::Method;
  const bool by_loss = choice.by_loss();
  const double whole = config.max_loss > 0 ? config.max_loss : by_loss ? kDefaultLoss : 0;
  const bool subbands = config.method == Method::subband ||
                        (config.method == Method::automatic && config.max_loss > 0);
  ChosenTrials chosen;
  chosen.plan = make_dm_plan(choice, subbands ? whole / 2 : whole, band);
  chosen.pulse_width_s = choice.pulse_width_s > 0 ? choice.pulse_width_s : band.sample_time_s;
  chosen.spacing_loss =
      stages::dedisperse::spacing_loss(band, chosen.plan.dms(), chosen.pulse_width_s);
  if (!by_loss && whole > 0 && chosen.spacing_loss >= whole)
    throw core::Error(
        core::ErrorKind::config, "max_loss", fmt::format("{:.4g} %", 100 * whole),
        fmt::format("more than the {:.2g} % that the spacing of the given trials loses",
                    100 * chosen.spacing_loss),
        "allow for more, or give `dms.range` LO:HI, whose steps keep `max_loss`");
  if (config.max_loss > 0 && chosen.spacing_loss > 1.01 * whole)
    throw core::Error(core::ErrorKind::config, "max_loss", fmt::format("{:.4g} %", 100 * whole),
                      fmt::format("{:.2g} % or more, which the narrowest trials' spacing loses",
                                  100 * chosen.spacing_loss),
                      "allow for more; 1 is one per cent on the command's line");
  if (subbands && whole > 0) chosen.subband_loss = 1 - (1 - whole) / (1 - chosen.spacing_loss);
  return chosen;
}

std::pair<double, double> dm_steps(const std::vector<double>& dms) {
  if (dms.size() < 2) return {};
  double least = dms[1] - dms[0], most = least;
  for (std::size_t k = 1; k + 1 < dms.size(); ++k) {
    least = std::min(least, dms[k + 1] - dms[k]);
    most = std::max(most, dms[k + 1] - dms[k]);
  }
  return {least, most};
}

std::string describe_trials(const stages::dedisperse::DmPlan& trials, const DmChoice& choice) {
  const std::vector<double> dms = trials.dms();
  std::string end;
  if (choice.list.empty() && choice.step > 0 && choice.high && !dms.empty() &&
      *choice.high - dms.back() > 1e-3 * choice.step)
    end = fmt::format("; {:.10g} is no trial, as steps of {:.10g} do not divide the range",
                      *choice.high, choice.step);
  const bool spaced = choice.list.empty() && choice.step <= 0 && choice.high;
  if (spaced && dms.size() == 2)
    end = "; the range is narrower than one step of trials for such a pulse (`dms.pulse_width_s`)";
  if (spaced && !dms.empty() && dms.back() > *choice.high + 1e-9 * std::abs(*choice.high))
    end += fmt::format("; the last one is beyond {:.10g}", *choice.high);
  if (dms.size() < 2)
    return fmt::format("1 trial, DM {:.10g}", dms.empty() ? 0 : dms.front()) + end;
  const auto [least, most] = dm_steps(dms);
  return fmt::format("{} trials, DM {:.10g} to {:.10g} in steps of {:.4g}{}", dms.size(),
                     dms.front(), dms.back(), least,
                     most > 1.001 * least ? fmt::format(" to {:.4g}", most) : "") +
         end;
}

std::string describe_loss(const ChosenTrials& trials, double subband_loss) {
  return fmt::format(
      "loss: at most {:.2g} % of the S/N of a pulse of {:.6g} ms, and less of a wider one: {:.2g} "
      "% by the spacing of trials, {:.2g} % by sub-bands",
      100 * (1 - (1 - trials.spacing_loss) * (1 - subband_loss)), 1000 * trials.pulse_width_s,
      100 * trials.spacing_loss, 100 * subband_loss);
}

stages::dedisperse::Config stage_config(const FilterbankRunConfig& config,
                                        const formats::FilterbankDescription& description,
                                        const std::vector<std::size_t>& left_out) {
  stages::dedisperse::Config stage;
  stage.frequencies_mhz = description.channel_mhz;
  stage.sample_time_s = description.tsamp_s;
  stage.bits = static_cast<int>(8 * formats::bytes_of(description.delivered));
  if (description.delivered != formats::Delivered::f32) {
    stage.max_value = description.largest_value();
    stage.zero_level = description.zero_level;
    stage.signed_samples = config.samples_on_device && description.is_signed;
  }
  stage.dm_constant = config.dm_constant;
  stage.method = config.method;
  stage.zero_dm = config.zero_dm;
  stage.measure_channels = config.bandpass;
  stage.ignored_channels = left_out;
  return stage;
}

bool reads_on_device(const stages::dedisperse::Plan& plan) {
  return plan.takes_device_memory() && plan.config().bits < 32;
}

}  // namespace tautline::pipeline
