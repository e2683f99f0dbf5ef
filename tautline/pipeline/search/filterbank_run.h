// The Config and the summary that runs over filterbanks share: which files are read, how they are cleaned and
// dedispersed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/engine/profile.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/empty_found.h"
#include "tautline/pipeline/search/filterbank_run_config.h"
#include "tautline/pipeline/search/iqrm_found.h"
#include "tautline/pipeline/search/level_step.h"
#include "tautline/stages/dedisperse/dedisperse.h"
#include "tautline/stages/dedisperse/plan/trials.h"

namespace tautline::pipeline {

/// [channel] in the file's order, those left out too: of the samples as they are summed, before
/// zero-DM (masked ones replaced, gaps filled). The variance is the mean square's distance from the
/// mean's square.
struct Bandpass {
  std::vector<double> mean, standard_deviation;
};

struct FilterbankRunSummary {
  std::size_t trials = 0, channels = 0, ignored_channels = 0, flagged_channels = 0;
  std::size_t ifs = 1;                  ///< in the input
  std::vector<std::size_t> summed_ifs;  ///< the IFs that are added up
  std::uint64_t samples = 0;            ///< of the input
  std::uint64_t gap_samples = 0;        ///< times of the input that are missing
  std::uint64_t masked = 0;  ///< samples (times x channels) replaced because a mask said so
  std::size_t constant_channels = 0;   ///< left out
  EmptyFound empty;                    ///< empty stretches
  IqrmFound iqrm;                      ///< masked for a while
  std::vector<LevelStep> level_steps;  ///< where files join or inside them
  std::vector<UncutLevel> uncut_levels;
  std::uint64_t not_finite = 0;
  std::size_t bytes = 0;
  double elapsed_s = 0, stream_s = 0;
  double expected_s = 0;  ///< that the run was expected to take, reading and cleaning aside
  double f_ref_mhz = 0;
  double loss = 0;          ///< of S/N, the worst trial's, by sub-bands
  double spacing_loss = 0;  ///< of S/N, half-way between two trials, beside that
  std::string backend;
  std::vector<std::string> methods;  ///< of each range of the DM plan, for people
  Bandpass bandpass;                 ///< empty unless configured
  std::vector<std::string> paths;
  formats::Damage damage;
  engine::Profile profile;
};

/// Whether a pipe that begins with these bytes can be read as it comes.
bool filterbank_comes_in_order(std::span<const std::byte> first_bytes, const std::string& name);

/// Throws Error(config) naming dms.range when no trials are given.
void require_trials(const DmChoice& choice);

/// Throws Error(config): the highest trial's delay is as long as the data or longer. Says which DM
/// the data allow.
[[noreturn]] void refuse_delay(double dm, double delay_s, double data_s);

/// Throws Error(config) for a plan whose largest delay is as long as the data or longer: it gives
/// nothing.
void require_samples(const std::vector<std::shared_ptr<const stages::dedisperse::Plan>>& plans,
                     std::uint64_t samples, double rate_hz);

/// The trials of a band, and the S/N that the narrowest pulse may lose in them.
struct ChosenTrials {
  stages::dedisperse::DmPlan plan;
  double pulse_width_s = 0;  ///< of the narrowest pulse: `dms.pulse_width_s`, or one sample
  double spacing_loss = 0;   ///< half-way between two trials
  double subband_loss = 0;   ///< allowed to sub-bands, as dedisperse::Config has it

  void allow_loss(stages::dedisperse::Config& stage) const {
    stage.subband_loss = subband_loss;
    stage.pulse_width_s = pulse_width_s;
  }
};
/// max_loss is for the spacing of trials and for sub-bands together. Trials by loss take half of it (2 % where none is
/// given), or all where sums are exact; sub-bands get what the spacing leaves. Throws Error(config), also where given
/// trials lose max_loss by their spacing alone.
ChosenTrials choose_trials(const FilterbankRunConfig& config, const DmChoice& choice,
                           const stages::dedisperse::Band& band);

/// Throws Error(config): no trial may be delayed as long as the data, and says which DM may.
void require_delays(const DmChoice& choice, const stages::dedisperse::Band& band, double data_s);

/// Least and greatest step from one trial to the next; zeros for one trial.
std::pair<double, double> dm_steps(const std::vector<double>& dms);

/// The number of trials and their steps, as text; of LO:HI:STEP also that the last one is below HI.
std::string describe_trials(const stages::dedisperse::DmPlan& trials, const DmChoice& choice);
/// "loss: at most 2 % of the S/N of a pulse of 1 ms, ...", as text: the loss that max_loss limits. `subband_loss`: as
/// planned.
std::string describe_loss(const ChosenTrials& trials, double subband_loss);

/// The stage's Config for a reader's samples without the channels left out, without trials.
stages::dedisperse::Config stage_config(const FilterbankRunConfig& config,
                                        const formats::FilterbankDescription& description,
                                        const std::vector<std::size_t>& left_out);

/// "4M", as `memory_bytes` is given: whole mebibytes that hold this many bytes.
std::string enough_bytes(std::size_t bytes);

/// Whether spectra are copied to the memory of the plan's device: floats are cleaned by the host.
bool reads_on_device(const stages::dedisperse::Plan& plan);

}  // namespace tautline::pipeline
