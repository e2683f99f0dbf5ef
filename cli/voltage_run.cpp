#include "cli/voltage_run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "cli/run_output.h"
#include "tautline/core/counted.h"
#include "tautline/pipeline/voltages/clipped_text.h"
#include "tautline/pipeline/voltages/data_warnings.h"
#include "tautline/pipeline/voltages/empty_text.h"
#include "tautline/pipeline/voltages/step_text.h"

namespace tautline::cli {

void summarise(const Global& global, const std::string& schema, const std::string& output,
               const pipeline::VoltageRunSummary& s, const OwnSummary& own) {
  constexpr std::size_t kNamed = 20;  // stretches
  const formats::Damage& damage = s.damage;
  for (const std::string& text : pipeline::input_warnings(s)) spdlog::warn("{}", text);
  const std::string at_ends = pipeline::at_ends_text(s.levels, s.input_names);
  nlohmann::ordered_json object{{"output", output},
                                {"inputs", s.inputs},
                                {"antenna_names", s.antenna_names},
                                {"channels", s.channels}};
  object.update(own.fields);
  object.update({{"lost_samples", damage.lost_samples},
                 {"dropped_samples", damage.dropped_samples},
                 {"trailing_bytes", damage.trailing_bytes},
                 {"empty_samples", s.empty.samples},
                 {"empty_spectra", s.unchanging_spectra},
                 {"empty_stretches", pipeline::empty_stretches(s.empty, kNamed)},
                 {"empty_inputs", pipeline::empty_inputs(s.empty)},
                 {"empty_values", s.empty.values},
                 {"empty_channels", pipeline::empty_channels(s.empty, kNamed)},
                 {"level_steps", pipeline::level_steps(s.level_steps)},
                 {"constant_channels", pipeline::constant_channels(s.constant_channels)},
                 {"recorded_levels", pipeline::recorded_levels(s.levels)},
                 {"clipped", s.clipped},
                 {"clipped_before", s.clipped_before},
                 {"clipped_channels", s.clipped_channels.json(kNamed)},
                 {"not_finite", s.not_finite}});
  object.update(own.fields_of_kernels);
  object.update({{"elapsed_s", s.elapsed_s},
                 {"real_time_factor", real_time_factor(s.stream_s, s.elapsed_s)}});
  print_summary(
      global, schema, object,
      fmt::format(
          "{}: {}, {}, {}\n{}\n  kernels: {}\n"
          "  samples: {} lost, {} dropped, {}{} empty{}, {} not finite; {} clipped in rounding{}, "
          "{}\n{}{}",
          output, own.made, core::counted(s.inputs, "input"), core::counted(s.channels, "channel"),
          speed_line(s.stream_s, s.elapsed_s), s.backend, damage.lost_samples,
          damage.dropped_samples, own.in_gaps.empty() ? "" : own.in_gaps + ", ", s.empty.samples,
          s.empty.values > 0
              ? fmt::format(" and {} of single channels", core::counted(s.empty.values, "value"))
              : "",
          s.not_finite, core::counted(s.clipped, "component"),
          s.clipped_before > 0 ? fmt::format(" and {} before", s.clipped_before) : "", own.results,
          s.antenna_names.empty()
              ? ""
              : fmt::format("  antennas: {}\n", fmt::join(s.antenna_names, ", ")),
          at_ends.empty() ? "" : "  recorded at the ends of their range: " + at_ends + "\n"),
      &s.profile);
}

int voltage_status(const pipeline::VoltageRunSummary& s, bool strict) {
  const int status =
      damage_status(s.damage, s.not_finite, strict, pipeline::not_finite_message(s.not_finite));
  const std::string nothing = s.valid.nothing_text();
  if (nothing.empty()) return status;
  spdlog::warn("{}", nothing);
  return strict ? kFailed : kDamagedInput;
}

}  // namespace tautline::cli
