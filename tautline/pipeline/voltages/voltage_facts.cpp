#include "tautline/pipeline/voltages/voltage_facts.h"

#include <nlohmann/json.hpp>

#include "tautline/core/counted.h"
#include "tautline/pipeline/report/report_builder.h"
#include "tautline/pipeline/voltages/clipped_text.h"
#include "tautline/pipeline/voltages/empty_text.h"
#include "tautline/pipeline/voltages/spectra_record.h"
#include "tautline/pipeline/voltages/step_text.h"
#include "tautline/pipeline/voltages/voltage_run.h"

namespace tautline::pipeline {

std::string overflow_message(std::uint64_t overflowed) {
  return core::counted(overflowed, "visibility", "visibilities") +
         " overflowed: finite samples, but no float holds their products; flagged. Scale the "
         "samples down";
}

void add_facts(const VoltageFacts& facts, VoltageRunSummary& s) {
  s.spectra = facts.counts.at("spectra");
  s.samples = facts.samples;
  s.clipped = facts.counts.at("clipped");
  if (const auto before = facts.counts.find("clipped_before"); before != facts.counts.end())
    s.clipped_before = before->second;
  s.clipped_channels = facts.clipped_channels;
  s.not_finite = facts.counts.at("not_finite");
  s.damage = facts.damage;
  s.empty = facts.empty;
  s.unchanging_spectra = facts.unchanging_spectra;
  s.levels = facts.levels;
  s.level_steps = facts.level_steps;
  s.constant_channels = facts.constant_channels;
  s.valid = facts.valid;
}

void finish_page(const VoltageFacts& facts, report::ReportBuilder& page) {
  for (const auto& [name, count] : facts.counts) page.add_extra(name, std::to_string(count));
  page.set_clipped(facts.clipped.components, facts.clipped.all);
  page.set_at_ends(at_ends(facts.levels));
  for (const std::string& message : facts.damage.messages) page.add_warning(message);
  const std::vector<std::string> names = names_of_inputs(page.digest().description().array);
  const std::string empty = empty_text(facts.empty, facts.samples, names);
  if (!empty.empty()) page.add_warning("samples that never change, taken for lost: " + empty);
  const std::string steps = level_steps_text(facts.level_steps, names);
  const std::string constant = constant_text(facts.constant_channels, names);
  if (!constant.empty()) page.add_warning("never change, flagged: " + constant);
  if (facts.unchanging_spectra > 0) page.add_warning(unchanging_text(facts.unchanging_spectra));
  if (!steps.empty()) page.add_warning("steps of level, left as they are: " + steps);
  const std::string clipped = clipped_text(facts.levels, names);
  if (!clipped.empty()) page.add_warning(clipped);
  if (const std::string still = still_parts_text(facts.levels, names); !still.empty())
    page.add_warning(still);
  for (const std::string& text : {facts.valid.text(names), facts.valid.nothing_text()})
    if (!text.empty()) page.add_warning(text);
  for (const std::string& text :
       {facts.rounding, facts.clipped_channels.text(names), facts.partial, facts.fringes})
    if (!text.empty()) page.add_warning(text);
  if (const std::uint64_t overflowed = facts.counts.at("overflowed"); overflowed > 0)
    page.add_warning(overflow_message(overflowed));
}

std::string spectra_record(const VoltageFacts* facts, const Spectra& spectra,
                           const std::string& history, std::uint64_t times,
                           const InvalidSpectra& invalid, const std::string& stokes) {
  nlohmann::ordered_json record{{"schema", "tautline.channelize.record"},
                                {"version", 1},
                                {"history", history},
                                {"device", spectra.device},
                                {"kernels", spectra.kernels},
                                {"inputs", spectra.files}};
  if (facts != nullptr) record["samples"] = facts->samples;
  record["spectra"] = times;
  record["invalid_spectra"] = invalid.spectra;
  record["gap_spectra"] = invalid.gaps;
  record["dropped_spectra"] = invalid.dropped;
  if (facts != nullptr) {
    for (const char* name : {"lost_samples", "dropped_samples", "empty_samples", "empty_values",
                             "clipped", "not_finite"})
      record[name] = facts->counts.at(name);
    if (const auto before = facts->counts.find("clipped_before"); before != facts->counts.end())
      record["clipped_before"] = before->second;
    record["empty_stretches"] = empty_stretches(facts->empty);
    record["empty_inputs"] = empty_inputs(facts->empty);
    record["empty_channels"] = empty_channels(facts->empty);
    record["level_steps"] = level_steps(facts->level_steps);
    record["recorded_levels"] = recorded_levels(facts->levels);
  }
  add_channels(record, spectra);
  if (!stokes.empty()) record["stokes"] = stokes;
  invalid.spans.write_to(record);
  if (invalid.values > 0) record["invalid_values"] = invalid.values;
  return record.dump(1) + "\n";
}

}  // namespace tautline::pipeline
