#include "tautline/pipeline/photons/curve_output.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/partial_file.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

formats::curves::CurvesFacts facts_of(const AutocorrelateConfig& config,
                                      const AutocorrelateSummary& s, const std::string& device) {
  using stages::autocorrelate::Coarsening;
  using stages::autocorrelate::LagScheme;
  formats::curves::CurvesFacts facts{config.history, {}};
  facts.extra = {{"device", device},
                 {"kernels", s.backend},
                 {"input", config.input},
                 {"input_format", s.format},
                 {"lags", config.lag_scheme == LagScheme::chain ? "chain" : "standard"},
                 {"bins", std::to_string(config.bins)},
                 {"levels", std::to_string(config.levels)},
                 {"coarsening", config.coarsening == Coarsening::sum     ? "sum"
                                : config.coarsening == Coarsening::first ? "first"
                                                                         : "second"},
                 {"segments", std::to_string(config.segments)},
                 {"segments_used", std::to_string(s.segments)},
                 {"samples", std::to_string(s.samples)},
                 {"resumed", config.resume.empty() ? "none" : config.resume},
                 {"resumed_samples", std::to_string(s.resumed_samples)},
                 {"live", s.live ? "true" : "false"},
                 {"interrupted", s.interrupted ? "true" : "false"},
                 {"lost_samples", std::to_string(s.damage.lost_samples)},
                 {"dropped_samples", std::to_string(s.damage.dropped_samples)},
                 {"trailing_bytes", std::to_string(s.damage.trailing_bytes)},
                 {"ignored_photons", std::to_string(s.ignored_photons)}};
  return facts;
}

}  // namespace

void check_curve_output(const AutocorrelateConfig& config) {
  const std::string& name = config.output;
  if (!name.ends_with(".csv") && !name.ends_with(".zip") && !name.ends_with(".h5"))
    throw Error(ErrorKind::config, "output", name, "a name that ends in .csv, .zip or .h5");
  const bool only_zero = config.lag_scheme == stages::autocorrelate::LagScheme::chain &&
                         config.bins == 1 && config.levels == 1;
  if (only_zero && !name.ends_with(".h5"))
    throw Error(ErrorKind::config, "output", name + " for lag 0 alone", "lags above 0 in a .csv",
                "take more `bins` or `levels`, or write .h5");
  // Refused now rather than after the work.
  formats::PartialPath(name, config.overwrite);
}

void check_curve_count(const AutocorrelateConfig& config, std::size_t curves) {
  if (curves == 0)
    throw Error(ErrorKind::config, "sensors", "none is good", "at least one", "check the mask");
  if (config.output.ends_with(".csv") && curves > 1)
    throw Error(ErrorKind::config, "output",
                config.output + " for " + std::to_string(curves) + " curves", "one curve in a .csv",
                "name a .zip of CSVs, or a .h5");
}

void write_curves(const AutocorrelateConfig& config, const core::CorrelationCurves& curves,
                  const AutocorrelateSummary& summary, const std::string& device) {
  const formats::curves::CurvesFacts facts = facts_of(config, summary, device);
  if (config.output.ends_with(".h5")) {
    formats::curves::write_hdf5(config.output, curves, facts, config.overwrite);
    return;
  }
  std::vector<core::CorrelationCurve> chosen;
  for (std::size_t p = 0; p < curves.curves; ++p)
    if (curves.mask[p] != 0) chosen.push_back(curves.curve(p));
  if (config.output.ends_with(".zip")) {
    formats::curves::write_zip(config.output, chosen, facts, config.overwrite);
    return;
  }
  formats::curves::write_csv(config.output, chosen.front(), facts, config.overwrite);
}

}  // namespace tautline::pipeline
