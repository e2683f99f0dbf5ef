// The fields of the runs over filterbanks.
#include <fmt/format.h>

#include <cmath>

#include "tautline/pipeline/pace.h"
#include "tautline/pipeline/range_fields.h"
#include "tautline/pipeline/search/dedisperse_config.h"
#include "tautline/pipeline/search/filterbank_run_config.h"
#include "tautline/pipeline/search/live_filterbank_node.h"
#include "tautline/pipeline/search/node_types.h"
#include "tautline/pipeline/search/search_config.h"
#include "tautline/stages/dedisperse/fields.h"
#include "tautline/stages/detect/fields.h"

namespace tautline::pipeline {

namespace {

// "LO:HI:STEP", "LO:HI" or one DM.
void set_trials(DmChoice& dms, const std::string& text) {
  constexpr const char* kForms = "LO:HI:STEP, LO:HI or one DM, the step above 0";
  const auto parts = core::text::split(text, ':');
  try {
    if (parts.size() > 3) core::text::refuse(text, kForms);
    dms.low = core::text::read_number(parts[0]);
    dms.high = parts.size() > 1 ? core::text::read_number(parts[1]) : dms.low;
    dms.step = parts.size() > 2 ? core::text::read_number(parts[2]) : parts.size() == 1 ? 1 : 0;
    const bool finite =
        std::isfinite(dms.low) && std::isfinite(*dms.high) && std::isfinite(dms.step);
    if (!finite || (parts.size() > 2 && !(dms.step > 0))) core::text::refuse(text, kForms);
  } catch (const core::Error&) {
    core::text::refuse(text, kForms);
  }
  if (*dms.high < dms.low)
    core::text::refuse(text, "the lower DM before the higher one, as " + parts[1] + ":" + parts[0] +
                                 (parts.size() > 2 ? ":" + parts[2] : ""));
}

std::string trials_text(const DmChoice& dms) {
  if (!dms.high) return "";
  std::string text = core::text::write_number(dms.low) + ":" + core::text::write_number(*dms.high);
  return dms.step > 0 ? text + ":" + core::text::write_number(dms.step) : text;
}

// "0:5,34": channels 0 to 5 and 34.
std::vector<std::size_t> read_channels(const std::string& text) {
  constexpr std::size_t kMostChannels = 65536;
  constexpr const char* kForm = "channels and ranges of them from 0, as 0:5,34";
  std::vector<std::size_t> channels;
  if (text.empty()) return channels;
  for (const std::string& part : core::text::split(text, ',')) {
    const auto ends = core::text::split(part, ':');
    std::size_t first = 0, last = 0;
    try {
      first = core::text::read<std::size_t>(ends.front());
      last = core::text::read<std::size_t>(ends.back());
    } catch (const core::Error&) {
      core::text::refuse(text, kForm);
    }
    if (ends.size() == 2 && last < first)
      core::text::refuse(text, "a range from its lower channel to its higher, as " + ends.back() +
                                   ":" + ends.front());
    if (ends.size() > 2 || last >= kMostChannels) core::text::refuse(text, kForm);
    for (std::size_t c = first; c <= last; ++c) channels.push_back(c);
  }
  return channels;
}

core::FieldText<std::vector<std::size_t>> channels_text() {
  return {
      core::FieldKind::text, "", {}, read_channels, core::text::write<std::vector<std::size_t>>};
}

core::Limit zero_or_above_one(const char* zero) {
  return {fmt::format("0 ({}) or more than 1", zero),
          [](double value) { return value == 0 || (value > 1 && value < 1e300); }};
}

core::FieldText<SeriesFormat> series_format_text() {
  return core::choice<SeriesFormat>(
      {{"npy", SeriesFormat::npy}, {"dat", SeriesFormat::dat}, {"tim", SeriesFormat::tim}});
}

template <class C>
void add_dedispersion_fields(core::Fields<C>& to) {
  to.include("dms", &C::dms, fields(DmChoice{}));
  stages::dedisperse::add_dm_constant_field(to)
      .add({.name = "method",
            .help =
                "exact, shared (exact sums, fewer adds), subband (loses what the spacing leaves of "
                "`max_loss`; 1 % if not given) or auto: exact or shared; with `max_loss` subband "
                "where it saves a fifth"},
           &C::method, stages::dedisperse::method_text())
      .add({.name = "max_loss",
            .help =
                "most S/N that the narrowest pulse (one sample, or `dms.pulse_width_s`) loses by "
                "trial spacing and sub-bands together; 0: 2 % for LO:HI, and auto sums exactly",
            .in_option = {"%", 100, "0 to 50"}},
           &C::max_loss, core::between(0, 0.5));
  stages::dedisperse::add_zero_dm_field(to);
}

template <class C>
void add_cleaning_fields(core::Fields<C>& to) {
  to.add({.name = "ignored_channels",
          .help = "channels of the file to leave out, from 0",
          .option = "ignorechan",
          .form = "0:5,34"},
         &C::ignored_channels, channels_text())
      .add({.name = "mask", .help = "rfifind's NAME_rfifind.mask"}, &C::mask)
      .add({.name = "flag_channels",
            .help = "leave out channels whose level, noise or spectral kurtosis stands out"},
           &C::flag_channels)
      .add({.name = "keep_constant",
            .help = "take stretches and channels that never change for data (simulations without "
                    "noise), not for gaps, and steps of level too"},
           &C::keep_constant);
}

template <class C>
void add_iqrm_fields(core::Fields<C>& to) {
  to.add({.name = "iqrm",
          .help = "replace channels by their means for as long as their standard deviation stands "
                  "out of their neighbours' (IQRM)"},
         &C::iqrm)
      .include("iqrm_limits", &C::iqrm_limits, fields(IqrmConfig{}));
}

template <class C>
void add_reading_fields(core::Fields<C>& to) {
  to.add(
      {.name = "reader.ifs",
       .help = "IFs (polarisations) to add up, from 0; default: total intensity, where the "
               "file or its record says what they are, else all"},
      [](auto& c) -> auto& { return c.reader.ifs; }, core::plain_text<std::vector<std::size_t>>());
  add_range_fields(to);
}

template <class C>
void add_bandpass_field(core::Fields<C>& to) {
  to.add({.name = "bandpass",
          .help = "record every channel's mean and standard deviation (OUTPUT.json)"},
         &C::bandpass);
}

template <class C>
void add_beams_field(core::Fields<C>& to) {
  to.add({.name = "beams",
          .help = "each input is a beam; they are searched together, and a candidate that "
                  "many have at once is marked"},
         &C::beams);
}

// Of the list and its page.
template <class C>
void add_max_beams_field(core::Fields<C>& to) {
  to.add({.name = "max_beams",
          .help = "beams that may have a candidate at once before it is marked; 0: a quarter "
                  "of them, and at least 2"},
         &C::max_beams);
}

template <class C>
void add_page_fields(core::Fields<C>& to) {
  to.add({.name = "plot_folder",
          .help = "a folder for candidates.html: the candidates against DM and time, and "
                  "pictures of the best ones",
          .option = "plot"},
         &C::plot_folder)
      .add({.name = "most_plots", .help = "candidates with pictures"}, &C::most_plots);
}

template <class C>
void add_cutout_fields(core::Fields<C>& to) {
  to.add({.name = "cutout_folder",
          .help = "a folder for cut-outs of the best candidates, as FETCH and your read them: "
                  "frequency-time and DM-time, one .h5 each",
          .option = "cutouts"},
         &C::cutout_folder)
      .add({.name = "most_cutouts", .help = "candidates with cut-outs", .option = "max-cutouts"},
           &C::most_cutouts);
}

// Any run's, whose FilterbankRunConfig is its base.
template <class C>
core::Fields<C> filterbank_run_fields() {
  return core::Fields<C>().include(
      "", [](auto& config) -> auto& { return config; }, fields(FilterbankRunConfig{}));
}

}  // namespace

const core::Fields<DmChoice>& fields(const DmChoice&) {
  using C = DmChoice;
  static const auto all =
      core::Fields<C>()
          .add_text(
              {.name = "range",
               .unit = "pc cm^-3",
               .help =
                   "trials: LO:HI:STEP from LO on, none above HI; LO:HI in steps that lose at most "
                   "`max_loss`; or one",
               .option = "dms",
               .form = "LO:HI:STEP"},
              trials_text, set_trials)
          .add({.name = "tolerance",
                .help = "LO:HI in Levin's steps, as dedisp and heimdall have them: how many times "
                        "wider a pulse may get between trials",
                .option = "dm-tolerance"},
               &C::tolerance, zero_or_above_one("steps by loss"))
          .add({.name = "pulse_width_s",
                .unit = "s",
                .help = "of the narrowest pulse that trials are for; 0: one sample, or 40 us for "
                        "tolerances",
                .in_option = {"us", 1e6, "microseconds, or with a unit (4ms), 0 or more"}},
               &C::pulse_width_s, core::at_least(0))
          .add({.name = "list",
                .unit = "pc cm^-3",
                .help = "trials, instead of `range`",
                .option = "dm-list"},
               &C::list)
          .add({.name = "downsample_tolerance",
                .help = "add neighbouring samples where that widens a smeared pulse at most so "
                        "many times (1.15)"},
               &C::downsample_tolerance, zero_or_above_one("never"));
  return all;
}

const core::Fields<FilterbankRunConfig>& fields(const FilterbankRunConfig&) {
  using C = FilterbankRunConfig;
  static const auto all = [] {
    core::Fields<C> list;
    add_dedispersion_fields(list);
    add_cleaning_fields(list);
    add_iqrm_fields(list);
    add_reading_fields(list);
    add_bandpass_field(list);
    return list.add({.name = "memory_bytes", .unit = "bytes", .help = "cap on the memory used"},
                    &C::memory_bytes, core::memory_size());
  }();
  return all;
}

const core::Fields<DedisperseConfig>& fields(const DedisperseConfig&) {
  static const auto all = filterbank_run_fields<DedisperseConfig>().add(
      {.name = "format", .help = "of the series' files: NumPy, PRESTO or sigproc"},
      &DedisperseConfig::format, series_format_text());
  return all;
}

const core::Fields<SearchConfig>& fields(const SearchConfig&) {
  using C = SearchConfig;
  static const auto all = [] {
    auto list = filterbank_run_fields<C>();
    add_beams_field(list);
    add_max_beams_field(list);
    stages::detect::add_detection_fields(list);
    add_page_fields(list);
    add_cutout_fields(list);
    return list
        .add_text(
            {.name = "inject",
             .help = "every=S,dm=LOW:HIGH,width=LOW:HIGH,snr=LOW:HIGH,seed=N: put a pulse into "
                     "each S seconds of the data; the list marks what is found of them",
             .form = "LIST"},
            [](const C& c) { return to_text(c.inject); },
            [](C& c, const std::string& text) { c.inject = parse_injection(text); })
        .add(
            {.name = "events",
             .help = "a file to which each candidate is added as soon as it is known, as a line of "
                     "JSON",
             .option = "events"},
            &C::events)
        .add({.name = "latency_s",
              .unit = "s",
              .help =
                  "how long after a pulse, and the longest trial's delay, its candidate is known "
                  "at most, in data; 0: without a limit",
              .option = "latency"},
             &C::latency_s, core::at_least(0))
        .add({.name = "picture_folder",
              .help =
                  "a folder for candidate_0001.png ...: profile, frequency and DM against time of "
                  "each of the best candidates",
              .option = "pictures"},
             &C::picture_folder)
        .add({.name = "memory_bytes",
              .unit = "bytes",
              .help = "cap on the memory used; with a GPU on its blocks in the host's"},
             &C::memory_bytes, core::memory_size());
  }();
  return all;
}

const core::Fields<FilterbankFiles>& fields(const FilterbankFiles&) {
  using C = FilterbankFiles;
  static const auto all = [] {
    core::Fields<C> list;
    list.add(
        {.name = "files", .help = "filterbanks, consecutive or of a beam each", .separator = '\n'},
        &C::inputs, core::file_names());
    add_beams_field(list);
    add_reading_fields(list);
    add_cleaning_fields(list);
    return list
        .add({.name = "fill_gaps",
              .help = "give means of the channels where data are missing, as dedisperse does; else "
                      "each part is given for itself"},
             &C::fill_gaps)
        .add({.name = "block_samples", .help = "times in a block; 0: 32768, or as memory allows"},
             &C::block_samples)
        .add(rate_field(), &C::rate, core::between(0, 1e6));
  }();
  return all;
}

const core::Fields<DedisperseStage>& fields(const DedisperseStage&) {
  static const auto all = [] {
    core::Fields<DedisperseStage> list;
    add_dedispersion_fields(list);
    add_bandpass_field(list);
    return list;
  }();
  return all;
}

const core::Fields<SearchStage>& fields(const SearchStage&) {
  static const auto all = [] {
    core::Fields<SearchStage> list;
    add_dedispersion_fields(list);
    stages::detect::add_detection_fields(list);
    list.add(
        {.name = "latency_s",
         .unit = "s",
         .help = "how long after a pulse, and the longest trial's delay, its candidate comes at "
                 "most, in data; 0: 1 s of live data, without a limit of files"},
        &SearchStage::latency_s, core::at_least(0));
    add_bandpass_field(list);
    return list;
  }();
  return all;
}

const core::Fields<TrialFile>& fields(const TrialFile&) {
  static const auto all =
      core::Fields<TrialFile>()
          .add({.name = "path", .help = "the array, or the folder of series"}, &TrialFile::path)
          .add({.name = "format", .help = "of the series' files: NumPy, PRESTO or sigproc"},
               &TrialFile::format, series_format_text())
          .include("", &TrialFile::parts, fields_of<PartLimits>());
  return all;
}

const core::Fields<InjectStage>& fields(const InjectStage&) {
  using C = InjectStage;
  static const auto all = [] {
    core::Fields<C> list;
    list.add_text(
        {.name = "pulses",
         .help = "every=S,dm=LOW:HIGH,width=LOW:HIGH,snr=LOW:HIGH,seed=N: a pulse in "
                 "each S seconds of the data",
         .option = "inject",
         .form = "LIST"},
        [](const C& c) { return to_text(c.pulses); },
        [](C& c, const std::string& text) { c.pulses = parse_injection(text); });
    return stages::dedisperse::add_dm_constant_field(list);
  }();
  return all;
}

const core::Fields<CandidateEvents>& fields(const CandidateEvents&) {
  using C = CandidateEvents;
  static const auto all =
      core::Fields<C>()
          .add({.name = "path", .help = "a line of JSON for each candidate, written as it comes"},
               &C::path)
          .include("", &C::parts, fields(PartLimits{}));
  return all;
}

const core::Fields<LiveFilterbankConfig>& fields(const LiveFilterbankConfig&) {
  using C = LiveFilterbankConfig;
  static const auto all =
      core::Fields<C>()
          .add(
              {.name = "path",
               .help = "a named pipe, or - for standard input, that a sigproc filterbank comes "
                       "from, or "
                       "udp://HOST:PORT, of this machine or of a multicast group, to which packets "
                       "are sent"},
              &C::path)
          .add({.name = "wait_s",
                .unit = "s",
                .help = "how long the header, or the first packets, are waited for"},
               &C::wait_s, core::at_least(0))
          .add({.name = "header",
                .help = "of packets: a filterbank whose header describes them; its samples are not "
                        "read"},
               &C::header)
          .add({.name = "layout", .help = "of packets: a preset's name or a TOML file"}, &C::layout)
          .add({.name = "first_count",
                .help = "of packets: count of the one that begins where the header says; none: the "
                        "first that comes"},
               &C::first_count)
          .add({.name = "window_samples",
                .help = "of packets: how far they may lie behind the latest one before they are "
                        "late; 0: 50 ms"},
               &C::window_samples)
          .add({.name = "silence_s",
                .unit = "s",
                .help = "of packets: ends when none has come for so long; negative: never"},
               &C::silence_s)
          .add(
              {.name = "longest_gap_s",
               .unit = "s",
               .help = "of packets: a count that jumps ahead by more ends the stream; shorter gaps "
                       "are lost samples"},
              &C::longest_gap_s, core::between(0, 1e6))
          .add({.name = "interface",
                .help = "of packets: address of the network interface by which multicast groups "
                        "come"},
               &C::interface)
          .add({.name = "duration_s",
                .unit = "s",
                .help = "ends after this much data; negative: when the stream ends"},
               &C::duration_s)
          .add(
              {.name = "reader.ifs", .help = "IFs (polarisations) to add up, from 0; default: all"},
              [](auto& c) -> auto& { return c.reader.ifs; },
              core::plain_text<std::vector<std::size_t>>())
          .add({.name = "ignored_channels",
                .help = "channels to leave out, from 0",
                .option = "ignorechan",
                .form = "0:5,34"},
               &C::ignored_channels, channels_text())
          .add({.name = "fill_gaps",
                .help = "give means of the channels where nothing changes; else long stretches of "
                        "that are left out, as gaps"},
               &C::fill_gaps)
          .add({.name = "keep_constant", .help = "take stretches that never change for data"},
               &C::keep_constant)
          .add({.name = "leave_out_constant",
                .help = "leave out channels that do not change in the first 16,384 spectra, as of "
                        "files; the run begins when these have come"},
               &C::leave_out_constant)
          .add({.name = "block_samples", .help = "times in a block; 0: those of 50 ms"},
               &C::block_samples);
  return all;
}

const core::Fields<CandidateFile>& fields(const CandidateFile&) {
  static const auto all = [] {
    core::Fields<CandidateFile> list;
    list.add(
        {.name = "path",
         .help =
             "the list: .csv, .cand (heimdall's), .singlepulse (PRESTO's) or .your.csv (your's)",
         .option = "output"},
        &CandidateFile::output);
    add_max_beams_field(list);
    add_page_fields(list);
    add_cutout_fields(list);
    return list;
  }();
  return all;
}

}  // namespace tautline::pipeline
