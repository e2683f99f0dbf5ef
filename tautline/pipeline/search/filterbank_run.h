// The Config and the summary that runs over filterbanks share: which files are read, how they are cleaned and
// dedispersed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/engine/profile.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/forward_bytes.h"
#include "tautline/pipeline/run_watch.h"
#include "tautline/pipeline/search/empty_found.h"
#include "tautline/pipeline/search/iqrm_found.h"
#include "tautline/pipeline/search/level_step.h"
#include "tautline/stages/dedisperse/dedisperse.h"
#include "tautline/stages/dedisperse/plan/trials.h"

namespace tautline::pipeline {

/// Which trials, before the band is known.
struct DmChoice {
  std::vector<double> list;  ///< when given, the rest is not used
  double low = 0;
  std::optional<double> high;  ///< none: not given
  double step = 0;             ///< linear; 0: by tolerance or by loss
  double tolerance = 0;        ///< more than 1: Levin's steps; 0: by loss
  double pulse_width_s = 0;    ///< of the narrowest pulse; 0: one sample, or 40 us for tolerances
  double downsample_tolerance = 0;  ///< more than 1: add neighbouring samples where smearing allows

  /// Somebody said which.
  bool given() const { return !list.empty() || high; }
  /// The steps follow from the S/N that may be lost.
  bool by_loss() const { return list.empty() && high && step == 0 && tolerance == 0; }
};
const core::Fields<DmChoice>& fields(const DmChoice&);

struct FilterbankRunConfig {
  std::vector<std::string> inputs;
  std::shared_ptr<formats::ForwardBytes> piped =
      {};  ///< what comes by the one that is a pipe; none: files
  std::string output;
  bool overwrite = false;
  DmChoice dms;
  double dm_constant = core::kDispersionConstant;
  stages::dedisperse::Method method = stages::dedisperse::Method::automatic;
  double max_loss =
      0;  ///< of S/N that trial spacing and sub-bands may cost together; 0: none given
  std::vector<std::size_t> ignored_channels;  ///< in the file's order, from 0
  std::string mask;                           ///< rfifind's; empty: none
  bool zero_dm = false;
  bool flag_channels = false;  ///< leave out channels that channel_flags.h finds bad
  bool keep_constant = false;  ///< stretches and channels that never change are data
  bool iqrm = false;           ///< mask channels that stand out for a while, as iqrm.h finds them
  IqrmConfig iqrm_limits = {};
  bool bandpass = false;  ///< measure every channel on the way
  formats::FilterbankOptions reader;
  double start_s = 0, duration_s = -1;
  std::size_t memory_bytes = core::half_of_memory();
  std::string history;
  RunWatch watch;
};
const core::Fields<FilterbankRunConfig>& fields(const FilterbankRunConfig&);

/// [channel] in the file's order, those left out too: of the samples as they are summed, before
/// zero-DM (masked ones replaced, gaps filled). The variance is the mean square's distance from the
/// mean's square.
struct Bandpass {
  std::vector<double> mean, standard_deviation;
};

struct FilterbankRunSummary {
  std::size_t trials = 0, channels = 0, ignored_channels = 0, flagged_channels = 0;
  std::uint64_t samples = 0;      ///< of the input
  std::uint64_t gap_samples = 0;  ///< times of the input that are missing
  std::uint64_t masked = 0;       ///< samples (times x channels) replaced because a mask said so
  std::size_t constant_channels = 0;   ///< left out
  EmptyFound empty;                    ///< empty stretches
  IqrmFound iqrm;                      ///< masked for a while
  std::vector<LevelStep> level_steps;  ///< where files join
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

/// The number of trials and their steps, as text.
std::string describe_trials(const stages::dedisperse::DmPlan& trials);
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
