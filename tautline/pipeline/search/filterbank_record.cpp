#include "tautline/pipeline/search/filterbank_record.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tautline/pipeline/search/level_steps.h"

namespace tautline::pipeline {

void log_remarks(const formats::FilterbankReader& reader, const device::Device& device) {
  for (const std::string& remark : reader.remarks())
    device.shared().log(core::LogLevel::warning, remark);
}

void add_moments(const std::vector<stages::dedisperse::Moments>& moments,
                 std::vector<stages::dedisperse::Moments>& total) {
  total.resize(moments.size());
  for (std::size_t c = 0; c < moments.size(); ++c) {
    total[c].count += moments[c].count;
    total[c].sum += moments[c].sum;
    total[c].sum_of_squares += moments[c].sum_of_squares;
  }
}

Bandpass bandpass_of(const std::vector<stages::dedisperse::Moments>& moments, double zero_level) {
  Bandpass bandpass;
  for (const auto& channel : moments) {
    const double mean = channel.count > 0 ? channel.sum / channel.count : 0;
    const double variance =
        channel.count > 0 ? channel.sum_of_squares / channel.count - mean * mean : 0;
    bandpass.mean.push_back(mean - zero_level);
    bandpass.standard_deviation.push_back(std::sqrt(std::max(0.0, variance)));
  }
  return bandpass;
}

nlohmann::ordered_json filterbank_record(const std::string& schema,
                                         const FilterbankRunConfig& config,
                                         const FilterbankRunSummary& s,
                                         const formats::FilterbankDescription& description,
                                         const LeftOutChannels& left_out,
                                         const device::Device& device) {
  nlohmann::ordered_json bandpass, iqrm;
  if (config.iqrm) {
    iqrm = {{"threshold", config.iqrm_limits.threshold},
            {"radius", config.iqrm_limits.radius},
            {"every_s", config.iqrm_limits.every_s}};
    iqrm.update(s.iqrm.record());
  }
  if (config.bandpass)
    bandpass = {{"mean", s.bandpass.mean}, {"standard_deviation", s.bandpass.standard_deviation}};
  return {{"schema", schema},
          {"version", 1},
          {"history", config.history},
          {"device", device.name()},
          {"kernels", s.backend},
          {"inputs", config.inputs},
          {"summed_ifs", description.summed_ifs},
          {"f_ref_mhz", s.f_ref_mhz},
          {"dm_constant", config.dm_constant},
          {"start", core::to_iso(description.start)},
          {"start_mjd", core::modified_julian_date(description.start)},
          {"loss_of_snr", s.loss},
          {"loss_of_snr_by_spacing", s.spacing_loss},
          {"ignored_channels", left_out.all},
          {"flagged_channels", left_out.flagged},
          {"constant_channels", left_out.constant},
          {"zero_dm", config.zero_dm},
          {"mask", config.mask},
          {"iqrm", iqrm},
          {"bandpass", bandpass},
          {"samples", s.samples},
          {"masked_samples", s.masked},
          {"not_finite", s.not_finite},
          {"not_finite_channels", not_finite_channels(s.empty)},
          {"gap_samples", s.gap_samples},
          {"level_steps", level_steps(s.level_steps)},
          {"uncut_levels", uncut_levels(s.uncut_levels)},
          {"empty_samples", s.empty.samples},
          {"empty_values", s.empty.values},
          {"empty_stretches", empty_stretches(s.empty)},
          {"empty_channels", empty_channels(s.empty)},
          {"lost_samples", s.damage.lost_samples},
          {"dropped_samples", s.damage.dropped_samples},
          {"trailing_bytes", s.damage.trailing_bytes},
          {"bytes", s.bytes},
          {"expected_s", s.expected_s},
          {"elapsed_s", s.elapsed_s}};
}

}  // namespace tautline::pipeline
