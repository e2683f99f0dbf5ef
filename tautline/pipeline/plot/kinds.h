// A function for each kind of file that makes its figure.
#pragma once

#include "tautline/formats/figure/figure.h"
#include "tautline/pipeline/plot/plot_config.h"
#include "tautline/pipeline/plot/plot_run.h"

namespace tautline::pipeline::plot {

using formats::figure::Figure;

/// Dynamic spectrum, bandpass and mean over channels; of one channel, the series.
Figure plot_filterbank(const PlotConfig& config, const PlotRun& run);
/// Dedispersed series as `dedisperse` writes them, [dm][time] with a .json beside them.
Figure plot_trials(const PlotConfig& config, const PlotRun& run);
bool holds_trials(const std::string& path);
/// A list of pulses: DM and S/N against time and each other.
Figure plot_candidates(const PlotConfig& config);
/// A candidate's cut-out: profile, frequency and DM against time.
Figure plot_cutout(const PlotConfig& config);
/// Power of all inputs against frequency and time, and each one's spectrum.
Figure plot_voltages(const PlotConfig& config, const PlotRun& run);
/// One baseline's amplitude and phase against frequency and time, and all amplitudes.
Figure plot_visibilities(const PlotConfig& config, const PlotRun& run);
Figure plot_curves(const PlotConfig& config);
/// Curves, the models of the table config.fit, and residuals.
Figure plot_fits(const PlotConfig& config);
/// Photon time tags: rates of detectors, and when in the laser's period photons come.
Figure plot_tags(const PlotConfig& config, const PlotRun& run);
/// The histogram that `inspect --tcspc` writes.
Figure plot_tcspc(const PlotConfig& config);
/// Photon counts [time][sensor]: the rate, and a map of sensors.
Figure plot_counts(const PlotConfig& config, const PlotRun& run);
/// Wisdom of `tune`, or what `bench --json` printed.
Figure plot_timings(const PlotConfig& config);
bool holds_timings(const std::string& path);

}  // namespace tautline::pipeline::plot
