#include "tautline/pipeline/bench/stage_table.h"

#include <fmt/format.h>

#include "tautline/core/error.h"
#include "tautline/core/nearest_name.h"
#include "tautline/pipeline/bench/measure_host_fed.h"
#include "tautline/pipeline/bench/measure_whole_run.h"
#include "tautline/pipeline/bench/stage_run.h"

namespace tautline::pipeline {

namespace {

Problem with(Problem sizes, const Problem& others) {
  for (const auto& [key, value] : others) sizes[key] = value;
  return sizes;
}

// Channels and samples of n64 to n1024 as correlators are compared in the literature.
NamedProblem antennas(std::size_t count, std::size_t channels) {
  return {fmt::format("n{}", count),
          {{"inputs", 2 * count}, {"channels", channels}, {"samples", 3072}},
          fmt::format("{} dual-polarisation antennas", count)};
}

// The telescopes of the dedispersion paper.
const Problem kApertif{{"channels", 1024},
                       {"top_khz", 1719854},
                       {"width_hz", 292969},
                       {"rate_hz", 20000},
                       {"step_millidm", 250}};
const Problem kLofar{{"channels", 32},
                     {"top_khz", 145000},
                     {"width_hz", 187500},
                     {"rate_hz", 200000},
                     {"step_millidm", 250}};
const Problem kNoDelays{{"step_millidm", 0}};  // so that all reads can be shared

const Problem kArray{{"sensors", 1024}, {"bins", 32},    {"levels", 10}, {"bits", 8},
                     {"float", 0},      {"standard", 0}, {"most", 255},  {"rate_hz", 625'000}};

const Problem kFilterbank{{"channels", 1024}, {"trials", 2000}, {"seconds", 600}, {"zero_dm", 0}};

std::vector<StageEntry> make_table() {
  return {
      {.name = "unpack",
       .sizes = {{"inputs", 64}, {"channels", 1}, {"samples", 1 << 20}, {"bits", 8}, {"layout", 0}},
       .on_host = {{"samples", 65536}},
       .set_up = set_up_unpack,
       .words = layout_words,
       .names_help = "layoutN (layout1), an instrument's"},
      {.name = "channelize",
       .sizes = {{"inputs", 64},
                 {"channels", 1024},
                 {"taps", 8},
                 {"spectra", 8192},
                 {"bits", 8},
                 {"output_bits", 8},
                 {"corner_turned", 0},
                 {"real", 0},
                 {"oversample_numerator", 1},
                 {"oversample_denominator", 1},
                 {"delays", 0},
                 {"design", 0}},
       .on_host = {{"inputs", 16}, {"spectra", 512}},
       .problems = {{"mwa32",
                     {{"inputs", 64}, {"channels", 128}, {"taps", 8}, {"spectra", 10000}},
                     "MWA, 32 tiles: a second of 1.28 MHz"}},
       .set_up = set_up_channelize,
       .tune = tune_channelize,
       .when_tuned = {{"inputs", 8}},
       .only_measured = {"delays", "design"},
       .words = filter_bank_words,
       .names_help = "cCtT (c1024t8)"},
      {.name = "corner_turn",
       .sizes = {{"inputs", 64}, {"channels", 1024}, {"spectra", 2048}, {"output_bits", 8}},
       .on_host = {{"channels", 128}, {"spectra", 1024}},
       .set_up = set_up_corner_turn},
      {.name = "correlate",
       .sizes = {{"inputs", 512},
                 {"channels", 240},
                 {"samples", 3072},
                 {"blocks", 1},
                 {"bits", 8},
                 {"half", 0},
                 {"design", 0}},
       .on_host = {{"inputs", 256}, {"channels", 8}, {"samples", 4096}},
       .problems = {{"mwa32",
                     {{"inputs", 64}, {"channels", 128}, {"samples", 10000}},
                     "MWA, 32 tiles: a second of 128 channels of 10 kHz"},
                    {"mwa128",
                     {{"inputs", 256}, {"channels", 3072}, {"samples", 1000}},
                     "MWA, 128 tiles: a tenth of a second of 3,072 channels of 10 kHz"},
                    antennas(64, 480),
                    antennas(128, 384),
                    antennas(256, 240),
                    antennas(576, 120),
                    antennas(1024, 48)},
       .set_up = set_up_correlate,
       .tune = tune_correlate,
       .when_tuned = {{"deferred", 0}},
       .only_measured = {"blocks", "design"}},
      {.name = "dedisperse",
       .sizes = with(kApertif, {{"trials", 2000},
                                {"samples", 20000},
                                {"bits", 8},
                                {"beams", 1},
                                {"method", 0},
                                {"pulse_us", 0}}),
       .on_host = {{"samples", 4096}},
       .problems = {{"apertif", with(kApertif, {{"samples", 20000}}),
                     "Apertif, a second of 20 kHz"},
                    {"lofar", with(kLofar, {{"samples", 200000}}), "LOFAR, a second of 200 kHz"},
                    {"apertif-no-delays", with(with(kApertif, {{"samples", 20000}}), kNoDelays),
                     "Apertif without delays"},
                    {"lofar-no-delays", with(with(kLofar, {{"samples", 200000}}), kNoDelays),
                     "LOFAR without delays"}},
       .set_up = set_up_dedisperse,
       .tune = tune_dedisperse,
       .only_measured = {"method", "pulse_us"}},
      {.name = "detect",
       .sizes = {{"trials", 2000},
                 {"samples", 32768},
                 {"rate_hz", 20000},
                 {"width_ms", 100},
                 {"float", 0},
                 {"pulses", 0},
                 {"snr", 60},
                 {"impulses_every", 0}},
       .on_host = {{"trials", 64}, {"samples", 65536}},
       .problems = {{"apertif",
                     {{"trials", 2000}, {"rate_hz", 20000}, {"samples", 32768}},
                     "2,000 trials of Apertif, blocks of 1.6 s"},
                    {"apertif-pulses",
                     {{"pulses", 20}},
                     "the same with 20 pulses of S/N 60 a block"},
                    {"apertif-interference",
                     {{"pulses", 50}, {"snr", 1000}, {"impulses_every", 200}},
                     "with 50 pulses of S/N 1,000 a block and an impulse every 10 ms"}},
       .set_up = set_up_detect},
      {.name = "search",
       .sizes = with(kApertif, {{"trials", 2000},
                                {"samples", 32768},
                                {"bits", 8},
                                {"method", 0},
                                {"beams", 1},
                                {"calls", 1},
                                {"from_host", 0},
                                {"width_ms", 100},
                                {"zero_dm", 0},
                                {"pulses", 0},
                                {"snr", 60},
                                {"impulses_every", 0}}),
       .on_host = {{"trials", 500}, {"samples", 4096}},
       .problems = {{"apertif", with(kApertif, {{"samples", 32768}}), "Apertif, blocks of 1.6 s"},
                    {"apertif-pulses",
                     {{"pulses", 20}},
                     "the same with 20 pulses of S/N 60 a block"},
                    {"apertif-interference",
                     {{"pulses", 50}, {"snr", 1000}, {"impulses_every", 200}},
                     "with 50 pulses of S/N 1,000 a block and an impulse every 10 ms"},
                    {"lofar", with(kLofar, {{"samples", 65536}}), "LOFAR, blocks of 0.3 s"}},
       .set_up = set_up_search},
      {.name = "autocorrelate",
       .sizes = with(kArray, {{"samples", 262144}}),
       .on_host = {{"samples", 8192}},
       .problems =
           {{"array1024", {{"sensors", 1024}}, "1,024 sensors, bytes, 10 groups of 32"},
            {"array1024-u16", {{"sensors", 1024}, {"bits", 16}}, "the same with counts of 16 bits"},
            {"array100000", {{"sensors", 100'000}, {"samples", 16384}}, "100,000 sensors, bytes"},
            {"detector",
             {{"sensors", 1},
              {"standard", 1},
              {"bins", 16},
              {"levels", 17},
              {"samples", 10'000'000}},
             "one detector, ten million bins, standard lags"}},
       .set_up = set_up_autocorrelate,
       .tune = tune_autocorrelate,
       .only_measured = {"most", "rate_hz"},
       .words = count_words},
      {.name = "host_fed_copy",
       .sizes = {{"bytes", std::size_t{1} << 28}},
       .measure_fed = measure_host_fed_copy},
      {.name = "host_fed_channelize",
       .sizes = {{"inputs", 64}, {"channels", 1024}, {"taps", 8}, {"spectra", 2048}},
       .measure_fed = measure_host_fed_channelize,
       .words = filter_bank_words},
      {.name = "host_fed_correlate",
       .sizes = {{"inputs", 256}, {"channels", 96}, {"samples", 10000}, {"rate_hz", 30'720'000}},
       .problems =
           {{"mwa128",
             {{"inputs", 256}, {"channels", 96}, {"samples", 10000}, {"rate_hz", 30'720'000}},
             "MWA, 128 tiles: blocks of 96 of 3,072 channels of 10 kHz, integrations of 1 s"}},
       .measure_fed = measure_host_fed_correlate},
      {.name = "host_fed_fx",
       .sizes = {{"inputs", 64},
                 {"channels", 128},
                 {"taps", 8},
                 {"spectra", 10000},
                 {"rate_hz", 1'280'000}},
       .problems = {{"mwa32",
                     {{"inputs", 64},
                      {"channels", 128},
                      {"taps", 8},
                      {"spectra", 10000},
                      {"rate_hz", 1'280'000}},
                     "MWA, 32 tiles: blocks and integrations of 1 s of 1.28 MHz"}},
       .measure_fed = measure_host_fed_fx},
      {.name = "host_fed_autocorrelate",
       .sizes = with(kArray, {{"samples", 65536}}),
       .problems = {{"array100000",
                     {{"sensors", 100'000}, {"samples", 8192}},
                     "100,000 sensors, bytes"}},
       .measure_fed = measure_host_fed_counts,
       .words = count_words},
      {.name = "run_correlate",
       .sizes = {{"inputs", 256},
                 {"channels", 128},
                 {"taps", 8},
                 {"channelized", 0},
                 {"rate_hz", 1'280'000},
                 {"integration_ms", 1000},
                 {"megabytes", 20'000}},
       .on_host = {{"megabytes", 500}},
       .problems = {{"mwa128",
                     {{"channelized", 1}, {"channels", 96}, {"rate_hz", 10'000}},
                     "MWA, 128 tiles: 96 of 3,072 channels of 10 kHz"}},
       .measure_whole = measure_run_correlate},
      {.name = "run_channelize",
       .sizes = {{"inputs", 256},
                 {"channels", 128},
                 {"taps", 8},
                 {"output_bits", 8},
                 {"rate_hz", 1'280'000},
                 {"megabytes", 10'000}},
       .on_host = {{"megabytes", 500}},
       .measure_whole = measure_run_channelize},
      {.name = "run_search",
       .sizes =
           with(kFilterbank, {{"pulses", 20}, {"snr", 15}, {"impulses", 0}, {"width_ms", 500}}),
       .on_host = {{"trials", 500}, {"seconds", 12}},
       .problems = {{"bright",
                     {{"pulses", 1000}, {"snr", 1000}, {"impulses", 3000}, {"seconds", 30}},
                     "1,000 pulses of S/N 1,000 and broad-band interference every 10 ms"},
                    {"interference",
                     {{"pulses", 1000}, {"snr", 100}, {"impulses", 600}},
                     "1,000 strong pulses and interference every second"}},
       .measure_whole = measure_run_search},
      {.name = "run_dedisperse",
       .sizes = with(kFilterbank,
                     {{"seconds", 60}, {"pulses", 0}, {"snr", 15}, {"impulses", 0}, {"files", 0}}),
       .on_host = {{"trials", 500}, {"seconds", 12}},
       .measure_whole = measure_run_dedisperse},
      {.name = "run_autocorrelate",
       .sizes =
           {{"sensors", 1024}, {"bits", 8}, {"bins", 32}, {"levels", 10}, {"megabytes", 25'600}},
       .on_host = {{"megabytes", 1000}},
       .measure_whole = measure_run_autocorrelate}};
}

}  // namespace

Problem StageEntry::sizes_on(const device::Device& device) const {
  // A CPU behind OpenCL is no GPU.
  const bool gpu = device.compiles() && !device.properties().host_cpu;
  return gpu ? sizes : with(sizes, on_host);
}

Problem StageEntry::sizes_when_tuned() const {
  Problem tuned = with(sizes, when_tuned);
  for (const std::string& key : only_measured) tuned.erase(key);
  return tuned;
}

const std::vector<StageEntry>& stage_table() {
  static const std::vector<StageEntry> table = make_table();
  return table;
}

const StageEntry& find_stage(const std::string& name) {
  std::vector<std::string> names;
  for (const StageEntry& stage : stage_table()) {
    if (name == stage.name) return stage;
    names.push_back(stage.name);
  }
  throw core::Error(core::ErrorKind::config, "stage", name,
                    fmt::format("one of {}", fmt::join(names, ", ")),
                    core::did_you_mean(name, names));
}

}  // namespace tautline::pipeline
