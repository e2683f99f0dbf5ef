#include "tautline/pipeline/curve_output.h"

#include <algorithm>

#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/pipeline/photon_counts.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

formats::curves::CurvesFacts facts_of(const AutocorrelateConfig& config,
                                      const AutocorrelateSummary& s, const std::string& device) {
  using stages::autocorrelate::Coarsening;
  using stages::autocorrelate::Ladder;
  formats::curves::CurvesFacts facts{config.history, {}};
  facts.extra = {{"device", device},
                 {"kernels", s.backend},
                 {"input", config.input},
                 {"input_format", s.format},
                 {"lags", config.ladder == Ladder::chain ? "chain" : "standard"},
                 {"bins", std::to_string(config.bins)},
                 {"levels", std::to_string(config.levels)},
                 {"coarsening", config.coarsening == Coarsening::sum     ? "sum"
                                : config.coarsening == Coarsening::first ? "first"
                                                                         : "second"},
                 {"segments", std::to_string(config.segments)},
                 {"lost_samples", std::to_string(s.damage.lost_samples)},
                 {"dropped_samples", std::to_string(s.damage.dropped_samples)},
                 {"trailing_bytes", std::to_string(s.damage.trailing_bytes)}};
  return facts;
}

}  // namespace

std::unique_ptr<formats::CountReader> open_count_source(const AutocorrelateConfig& config) {
  constexpr std::size_t kFirstBytes = 64;
  const auto first = formats::InputFile(config.input).head(kFirstBytes);
  if (formats::recognise_photons(first, config.input)) {
    if (!(config.bin_s > 0))
      throw Error(ErrorKind::config, config.input + ": length of a bin", "unknown",
                  "seconds, above 0", "give --bin");
    return std::make_unique<PhotonCounts>(config);
  }
  if (!config.detectors.empty())
    throw Error(ErrorKind::config, "--detectors", "given for " + config.input, "only for time tags",
                "leave it out");
  if (config.gate_s)
    throw Error(ErrorKind::config, "--gate", "given for " + config.input, "only for time tags",
                "leave it out");
  return formats::open_counts(config.input, config.raw);
}

void check_curve_output(const AutocorrelateConfig& config) {
  const std::string& name = config.output;
  if (!name.ends_with(".csv") && !name.ends_with(".zip") && !name.ends_with(".h5"))
    throw Error(ErrorKind::config, "output", name, "a name that ends in .csv, .zip or .h5");
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
  if (config.output.ends_with(".h5")) {
    formats::curves::write_hdf5(config.output, curves, facts_of(config, summary, device),
                                config.overwrite);
    return;
  }
  std::vector<core::CorrelationCurve> chosen;
  for (std::size_t p = 0; p < curves.curves; ++p)
    if (curves.mask[p] != 0) chosen.push_back(curves.curve(p));
  if (config.output.ends_with(".zip")) {
    formats::curves::write_zip(config.output, chosen, config.history, config.overwrite);
    return;
  }
  formats::curves::write_csv(config.output, chosen.front(), config.history, config.overwrite);
}

}  // namespace tautline::pipeline
