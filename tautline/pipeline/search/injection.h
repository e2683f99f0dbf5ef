// Pulses that are injected into data, to measure how many of them a search finds: their choice, and their recall.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/candidate.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/injected_pulses.h"

namespace tautline::pipeline {

struct InjectionConfig {
  double every_s = 0;  ///< data for each pulse, which is in the middle half of it; 0: none
  double low_dm = 0, high_dm = 0;
  double low_width_s = 0, high_width_s = 0;  ///< full width at half maximum
  double low_snr = 10, high_snr = 10;
  std::uint64_t seed = 1;
};

/// "every=10,dm=5:300,width=0.001:0.02,snr=8:30,seed=1", and back. Throws Error(config) naming the key.
InjectionConfig parse_injection(const std::string& text);
std::string to_text(const InjectionConfig& config);

/// Pulse `number` of the configured ones: the same whatever the data and their blocks.
InjectedPulse injected_pulse(const InjectionConfig& config, std::uint64_t number);

/// The recall of injected pulses in a list of candidates.
struct InjectionsFound {
  std::size_t injected = 0;  ///< whole pulses
  std::size_t recalled = 0;  ///< injected pulses with a candidate
  double snr_ratio = 0;      ///< mean of the candidates' S/N over the pulses'; 0 without one
};

/// Delay of the lowest channel against the highest, for a DM of 1, and a sample.
struct InjectionBand {
  double sweep_s_per_dm = 0, sample_s = 0;
};

InjectionBand injection_band(const formats::FilterbankDescription& description, double dm_constant);

/// Of a Gaussian's full width at half maximum.
inline constexpr double kSigmaPerWidth = 1 / 2.3548200450309493;
/// Half of the samples that a pulse takes in a channel: of a Gaussian, beyond lies 5e-5.
double injected_reach(double width_s, double sample_s);
/// Of the noise that a pulse's S/N is over: a second, 1,024 at least.
std::size_t injection_noise_samples(double sample_s);

/// Throws Error(config) where pulses come faster than the noise that their S/N is over can be measured.
void require_injected_spacing(const InjectionConfig& config, double sample_s);
/// Throws Error(config) where pulses may have DMs so far from trials of `low_dm` to `high_dm` that no candidate is of
/// them.
void require_injected_dms(const InjectionConfig& config, double low_dm, double high_dm,
                          const InjectionBand& band);
/// Throws Error(config) where pulses may be wider than the widest boxcar.
void require_injected_widths(const InjectionConfig& config, double max_width_s,
                             const InjectionBand& band);
/// Throws Error(config) where no pulse lies wholly in one of these stretches of data (begin and end), behind the noise
/// that its S/N is over.
void require_injected_times(const InjectionConfig& config,
                            std::span<const std::pair<double, double>> stretches_s,
                            const InjectionBand& band);

/// "c.injected.truth.json" of "c.csv".
std::string injection_truth_path(const std::string& list);
/// The pulses as the truth of a simulated filterbank, which `compare` reads.
std::string injection_truth(const std::vector<InjectedPulse>& pulses,
                            const formats::FilterbankDescription& description, double dm_constant);

/// Whether a candidate is of a pulse, as `compare` has it.
bool is_injected(const core::Candidate& candidate, const InjectedPulse& pulse,
                 const InjectionBand& band);

/// Sets Candidate::injected of all that are of a pulse, cut ones among them.
InjectionsFound mark_injected(std::vector<core::Candidate>& candidates,
                              const std::vector<InjectedPulse>& pulses, const InjectionBand& band);

}  // namespace tautline::pipeline
