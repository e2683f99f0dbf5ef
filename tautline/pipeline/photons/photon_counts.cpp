#include "tautline/pipeline/photons/photon_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/photons/default_bin.h"
#include "tautline/pipeline/photons/photon_steps.h"

namespace tautline::pipeline {

namespace {

// A selected detector without counts is most likely a mistake for another.
void check_detectors(const std::string& path, const std::vector<std::uint16_t>& wanted,
                     const std::vector<formats::DetectorCount>& there) {
  std::string names;
  for (const formats::DetectorCount& detector : there)
    names += (names.empty() ? "" : ", ") + std::to_string(detector.channel);
  for (const std::uint16_t detector : wanted)
    if (std::none_of(there.begin(), there.end(),
                     [&](const auto& one) { return one.channel == detector; }))
      throw core::Error(core::ErrorKind::config, "detectors", std::to_string(detector),
                        names.empty() ? "none: " + path + " holds no photons"
                                      : "detectors with photons in " + path + ": " + names);
}

// A detector that has less than one photon in so many may be a damaged tag's number.
constexpr std::uint64_t kManyPhotons = 100'000;
// Of a file in which records are known to be damaged.
constexpr std::uint64_t kManyOfDamaged = 100;
// A detector with fewer photons than this has no curve worth the name. It is left out where it has less than such a part
// of the brightest detector's, or kManyOfDamaged.
constexpr std::uint64_t kFewestPhotons = 10, kManyOfBrightest = 1000;

std::string names_with_photons(const std::vector<formats::DetectorCount>& detectors) {
  std::string names;
  for (const formats::DetectorCount& one : detectors)
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", one.channel,
                         core::counted(one.photons, "photon"));
  return (detectors.size() == 1 ? "detector " : "detectors ") + names;
}

// Pairs that are listed are of detectors that are meant.
bool lists_pairs(const AutocorrelateConfig& config) {
  return config.sensors.pairs != "auto" && config.sensors.pairs != "all";
}

// The detectors with photons, without the sync input of T2 files. To `left_out` go those with hardly any that the
// header's number of detectors does not allow, whether it counts from 0 or 1, and those with a few photons.
std::vector<std::uint16_t> all_detectors(const AutocorrelateConfig& config,
                                         const PhotonSurvey& survey,
                                         const formats::PhotonDescription& description,
                                         std::vector<formats::DetectorCount>& left_out) {
  std::vector<formats::DetectorCount> found, doubtful, beyond, vanishing;
  std::uint64_t all = 0, brightest = 0;
  for (const formats::DetectorCount& one : survey.detectors) {
    if (one.channel == formats::kSyncChannel && description.mode != formats::TagMode::t3) continue;
    found.push_back(one);
    all += one.photons;
    brightest = std::max(brightest, one.photons);
  }
  const bool damaged = !survey.breaks.empty();
  std::vector<std::uint16_t> detectors;
  for (const formats::DetectorCount& one : found) {
    const bool few = one.photons < all / (damaged ? kManyOfDamaged : kManyPhotons);
    const bool allowed = description.channels == 0 || one.channel <= description.channels;
    const bool vanishes = !lists_pairs(config) && one.photons < kFewestPhotons &&
                          one.photons < brightest / (damaged ? kManyOfDamaged : kManyOfBrightest);
    if (few && !allowed)
      beyond.push_back(one);
    else if (vanishes)
      vanishing.push_back(one);
    else if (few)
      doubtful.push_back(one);
    if (!(few && !allowed) && !vanishes) detectors.push_back(one.channel);
  }
  const auto warn = [&](const std::vector<formats::DetectorCount>& these, const std::string& text) {
    if (!these.empty() && config.log)
      config.log(core::LogLevel::warning,
                 fmt::format("{}: {} of {}: damaged tags make such detectors; {}", config.input,
                             names_with_photons(these), all, text));
  };
  warn(doubtful, "`detectors` chooses the ones that are real");
  warn(beyond,
       fmt::format("left out, since the header says that there are {}", description.channels));
  warn(vanishing, "left out; `detectors`, or pairs that name them, take them");
  left_out = std::move(beyond);
  left_out.insert(left_out.end(), vanishing.begin(), vanishing.end());
  if (detectors.empty()) detectors.push_back(0);
  return detectors;
}

std::uint64_t photons_of(const std::vector<formats::DetectorCount>& counts,
                         const std::vector<std::uint16_t>& detectors) {
  std::uint64_t photons = 0;
  for (const formats::DetectorCount& one : counts)
    if (std::find(detectors.begin(), detectors.end(), one.channel) != detectors.end())
      photons += one.photons;
  return photons;
}

void check_gate(const AutocorrelateConfig& config, const PhotonSurvey& survey,
                const std::vector<std::uint16_t>& detectors) {
  const std::uint64_t photons = photons_of(survey.detectors, detectors);
  if (!config.gate_s || photons == 0 || photons_of(survey.gated, detectors) > 0) return;
  throw core::Error(core::ErrorKind::config, "gate_s",
                    fmt::format("{:.6g}:{:.6g} s, in which {} has no photon", config.gate_s->first,
                                config.gate_s->second, config.input),
                    fmt::format("a range with some of the {}", photons),
                    "`tautline plot` shows when they came");
}

// Microtimes are shorter than the period.
void note_gate_beyond(const AutocorrelateConfig& config,
                      const formats::PhotonDescription& description) {
  const double period_s = description.macro_clock && description.sync_rate_hz > 0
                              ? 1 / description.sync_rate_hz
                              : description.time_unit_s;
  constexpr double kRounded = 1.01;
  if (!config.log || !config.gate_s || description.mode != formats::TagMode::t3 ||
      !(config.gate_s->second > period_s * kRounded))
    return;
  config.log(core::LogLevel::warning,
             fmt::format("{}: the gate ends at {:.6g} s, behind the period of {:.6g} s, so that it "
                         "keeps all photons from {:.6g} s on; see that its unit is right (ns, us)",
                         config.input, config.gate_s->second, period_s, config.gate_s->first));
}

void note_silent_end(const AutocorrelateConfig& config, const PhotonSurvey& survey, double tick_s) {
  std::uint64_t photons = 0;
  for (const formats::DetectorCount& one : survey.detectors) photons += one.photons;
  const std::string text =
      silent_end_text(config.input, photons, survey.ticks, survey.clock_ticks, tick_s);
  if (config.log && !text.empty()) config.log(core::LogLevel::warning, text);
}

}  // namespace

std::string silent_end_text(const std::string& name, std::uint64_t photons, std::uint64_t ticks,
                            std::uint64_t clock_ticks, double tick_s) {
  constexpr double kExpected = 30;  // photons: none by chance with probability 1e-13
  if (ticks == 0 || clock_ticks <= ticks) return "";
  const auto lasted = static_cast<double>(ticks);
  const auto silent = static_cast<double>(clock_ticks - ticks);
  const double expected = static_cast<double>(photons) * silent / lasted;
  if (expected < kExpected) return "";
  return fmt::format(
      "{}: the last photon came at {:.6g} s and the clock ran to {:.6g} s or longer, for which "
      "{:.3g} more would be expected. The run is taken to have ended with that photon: if light or "
      "detectors stopped before it, the last {:.6g} s are missing in rates and curves",
      name, lasted * tick_s, static_cast<double>(clock_ticks) * tick_s, expected, silent * tick_s);
}

BinPhotonsConfig bins_of(const AutocorrelateConfig& config) {
  BinPhotonsConfig bins;
  bins.bin_s = config.bin_s;
  bins.detectors = config.detectors;
  if (config.gate_s) bins.gate = MicrotimeGate{config.gate_s->first, config.gate_s->second};
  return bins;
}

// One reading finds detectors and length.
PhotonCounts::PhotonCounts(const AutocorrelateConfig& config, Open open)
    : path_(config.input), open_reader_(std::move(open)), bin_config_(bins_of(config)) {
  if (!open_reader_) open_reader_ = [path = path_] { return formats::open_photons(path); };
  const core::SampleType type = config.raw.dtype.value_or(core::SampleType::u8);
  if (core::bytes_of(type) > 2)
    throw core::Error(core::ErrorKind::config, "dtype", std::string(core::to_string(type)),
                      "u8 or u16 for time tags");
  std::vector<std::uint16_t>& detectors = bin_config_.detectors;
  if (config.detectors.empty()) detectors = {0};  // until the detectors are known
  const bool choose_bin = !(config.bin_s > 0);
  auto reader = open_reader_();
  const double unit_s = reader->description().time_unit_s;
  if (choose_bin) bin_config_.bin_s = unit_s;
  binner_ = std::make_unique<PhotonBinner>(std::move(reader), bin_config_);
  PhotonSteps steps(unit_s);
  const PhotonSurvey survey = binner_->survey(config.detectors, steps);
  note_silent_end(config, survey, unit_s);
  check_detectors(path_, config.detectors, survey.detectors);
  if (config.detectors.empty())
    detectors = all_detectors(config, survey, binner_->reader().description(), left_out_);
  check_gate(config, survey, detectors);
  note_gate_beyond(config, binner_->reader().description());
  photons_ = photons_of(survey.gated, detectors);
  std::uint64_t brightest = 0;
  for (const formats::DetectorCount& detector : survey.gated)
    if (std::find(detectors.begin(), detectors.end(), detector.channel) != detectors.end())
      brightest = std::max(brightest, detector.photons);
  std::string reason;
  if (choose_bin) {
    DefaultBin chosen =
        default_bin(path_, brightest, survey.ticks - steps.begin_of_run(survey.ticks), unit_s);
    bin_config_.bin_s = chosen.bin_s;
    reason = std::move(chosen.reason);
  }
  this->open();
  total_ = survey.ticks / binner_->ticks_per_bin();
  if (total_ == 0 && survey.ticks > 0)
    throw core::Error(core::ErrorKind::config, "bin_s", fmt::format("{:.9g} s", binner_->bin_s()),
                      fmt::format("at most {:.9g} s, the length of {}",
                                  static_cast<double>(survey.ticks) * unit_s, path_),
                      "choose shorter bins");
  if (total_ > 0)
    stops_ = steps.stops(survey.ticks, binner_->ticks_per_bin(), binner_->bin_s(), detectors.size(),
                         detectors);
  for (const formats::TagBreak& one : survey.breaks)
    if (const BinRange bins{one.before / binner_->ticks_per_bin(),
                            std::min(total_, one.after / binner_->ticks_per_bin() + 1)};
        bins.end > bins.first)
      breaks_.push_back(bins);
  description_ = binner_->description(type);
  description_.bin_reason = std::move(reason);
}

void PhotonCounts::seek(std::uint64_t first_sample) {
  bin_config_.start_s = static_cast<double>(first_sample) * description_.bin_s;
  open();
}

std::size_t PhotonCounts::read(std::span<std::byte> counts) {
  const std::size_t row_bytes = description_.sensors * core::bytes_of(description_.type);
  const std::size_t values =
      counts.size() / row_bytes * row_bytes / core::bytes_of(description_.type);
  if (description_.type == core::SampleType::u8)
    return binner_->read({reinterpret_cast<std::uint8_t*>(counts.data()), values});
  return binner_->read({reinterpret_cast<std::uint16_t*>(counts.data()), values});
}

void PhotonCounts::open() {
  binner_ = std::make_unique<PhotonBinner>(open_reader_(), bin_config_);
}

}  // namespace tautline::pipeline
