#include "tautline/pipeline/search/candidate_page.h"

#include <nlohmann/json.hpp>

#include "tautline/core/hash.h"
#include "tautline/pipeline/report/base64.h"
#include "tautline/pipeline/report/html_page.h"

namespace tautline::pipeline::report {

namespace {

nlohmann::ordered_json to_json(const CandidatePictures& p) {
  return {{"bins", p.bins},
          {"bin_s", p.bin_s},
          {"first_s", p.first_s},
          {"dm_rows", p.dm_rows},
          {"low_dm", p.low_dm},
          {"high_dm", p.high_dm},
          {"sub_bands", p.sub_bands},
          {"low_mhz", p.low_mhz},
          {"high_mhz", p.high_mhz},
          {"profile", base64(p.profile)},
          {"dm_time", base64(p.dm_time)},
          {"frequency_time", base64(p.frequency_time)}};
}

}  // namespace

std::string candidates_message(const CandidatePage& page) {
  nlohmann::ordered_json message{
      {"type", "candidates"},
      {"schema", "tautline.candidates"},
      {"version", 1},
      {"id", core::hash_name(core::hash(page.history, core::hash(page.csv)))},
      {"title", page.title},
      {"first_s", page.first_s},
      {"duration_s", page.duration_s},
      {"low_dm", page.low_dm},
      {"high_dm", page.high_dm},
      {"threshold", page.threshold},
      {"sample_s", page.sample_s}};
  message["candidates"] = nlohmann::ordered_json::array();
  for (const core::Candidate& c : page.candidates) {
    message["candidates"].push_back({{"snr", c.snr},
                                     {"time_s", c.time_s},
                                     {"sample", c.sample},
                                     {"width_samples", c.width_samples},
                                     {"dm", c.dm},
                                     {"members", c.members}});
    if (c.injected) message["candidates"].back()["injected"] = true;
    if (c.filled.value_or(0) > 0) message["candidates"].back()["filled"] = *c.filled;
    if (page.beams.empty()) continue;
    message["candidates"].back().update(
        {{"beam", c.beam}, {"beams", c.beams}, {"in_many_beams", c.beams > page.most_beams}});
  }
  if (!page.beams.empty()) message["beams"] = page.beams;
  message["lists"] = {{"csv", page.csv}, {"your", page.your_csv}};
  message["empty"] = page.empty;
  if (!page.masked_shares.empty())
    message["masked"] = {{"mhz", page.channel_mhz}, {"share", page.masked_shares}};
  message["pictures"] = nlohmann::ordered_json::array();
  for (const CandidatePictures& pictures : page.pictures)
    message["pictures"].push_back(to_json(pictures));
  message["warnings"] = page.warnings;
  message["facts"] = nlohmann::ordered_json::array();
  for (const auto& [name, value] : page.facts) message["facts"].push_back({name, value});
  return message.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string compose_candidate_page(const CandidatePage& page) {
  return compose_page(page.title, {candidates_message(page)}, PageKind::candidates);
}

}  // namespace tautline::pipeline::report
