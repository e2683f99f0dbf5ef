#include "tautline/pipeline/search/filterbank_run.h"

#include <fmt/format.h>

#include "tautline/core/error.h"

namespace tautline::pipeline {

void require_trials(const DmChoice& choice) {
  if (!choice.given())
    throw core::Error(core::ErrorKind::config, "dms.range", "not given",
                      "one of `dms.range` and `dms.list`");
}

void refuse_delay(double dm, double delay_s, double data_s) {
  throw core::Error(core::ErrorKind::config, "dms.range",
                    fmt::format("{} delays the lowest channel by {:.6f} s", dm, delay_s),
                    "less than the " + std::to_string(data_s) + " s of data",
                    "lower the highest DM");
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

stages::dedisperse::DmPlan make_dm_plan(const DmChoice& choice,
                                        const stages::dedisperse::Band& band) {
  std::vector<double> dms = choice.list;
  if (dms.empty())
    dms = choice.step > 0
              ? stages::dedisperse::linear_dms(choice.low, *choice.high, choice.step)
              : stages::dedisperse::tolerance_dms(band, choice.low, *choice.high,
                                                  choice.pulse_width_s, choice.tolerance);
  return stages::dedisperse::segment(band, dms, choice.pulse_width_s, choice.downsample_tolerance);
}

stages::dedisperse::Config stage_config(const FilterbankRunConfig& config,
                                        const formats::FilterbankDescription& description,
                                        const std::vector<std::size_t>& left_out) {
  stages::dedisperse::Config stage;
  stage.frequencies_mhz = description.channel_mhz;
  stage.sample_time_s = description.tsamp_s;
  switch (description.delivered) {
    case formats::Delivered::u8:
      stage.bits = 8;
      break;
    case formats::Delivered::u16:
      stage.bits = 16;
      break;
    case formats::Delivered::f32:
      stage.bits = 32;
      break;
  }
  if (description.delivered != formats::Delivered::f32) {
    stage.max_value = static_cast<std::uint32_t>(((std::uint64_t{1} << description.bits) - 1) *
                                                 description.summed_ifs.size());
    stage.zero_level = description.zero_level;
  }
  stage.dm_constant = config.dm_constant;
  stage.method = config.method;
  stage.max_loss = config.max_loss;
  stage.zero_dm = config.zero_dm;
  stage.measure_channels = config.bandpass;
  stage.ignored_channels = left_out;
  return stage;
}

bool reads_on_device(const stages::dedisperse::Plan& plan) {
  return plan.takes_device_memory() && plan.config().bits < 32;
}

}  // namespace tautline::pipeline
