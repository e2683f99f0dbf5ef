// Runs over files or arrays whose results are kept in memory.
#include <cstring>
#include <limits>
#include <type_traits>

#include "array_sources.h"
#include "bindings.h"
#include "kept_visibilities.h"
#include "tautline/core/dispersion.h"
#include "tautline/device/cuda/cuda_device.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/fit_config.h"
#include "tautline/pipeline/photons/photon_counts.h"
#include "tautline/pipeline/search/data_warnings.h"
#include "tautline/pipeline/search/dedisperse_filterbank.h"
#include "tautline/pipeline/search/search_filterbank.h"
#include "tautline/pipeline/voltages/correlate_voltages.h"
#include "tautline/pipeline/voltages/data_warnings.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/channelize/channelize.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/dedisperse/dedisperse.h"
#include "tautline/stages/detect/detect.h"
#include "warnings.h"

namespace tautline::python {

nb::dict columns_of(const std::vector<core::Candidate>& candidates, bool with_filled) {
  using core::Candidate;
  nb::dict columns;
  const auto add = [&]<class T>(const char* name, T Candidate::*member) {
    std::vector<std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>> values;
    values.reserve(candidates.size());
    for (const Candidate& one : candidates)
      values.push_back(static_cast<typename decltype(values)::value_type>(one.*member));
    columns[name] = as_array(std::move(values));
  };
  add("dm", &Candidate::dm);
  add("snr", &Candidate::snr);
  add("time_s", &Candidate::time_s);
  add("sample", &Candidate::sample);
  add("width_samples", &Candidate::width_samples);
  add("dm_index", &Candidate::dm_index);
  add("members", &Candidate::members);
  add("first_sample", &Candidate::first_sample);
  add("last_sample", &Candidate::last_sample);
  add("beam", &Candidate::beam);
  add("beams", &Candidate::beams);
  add("injected", &Candidate::injected);
  if (!with_filled) return columns;
  std::vector<double> filled;
  for (const Candidate& one : candidates)
    filled.push_back(one.filled.value_or(std::numeric_limits<double>::quiet_NaN()));
  columns["filled"] = as_array(std::move(filled));
  return columns;
}

namespace {

using core::Error;
using core::ErrorKind;

constexpr const char* kArray = "array";

// The device of a run. `stream`: of the library of an array in its memory, whose work there is done when this returns;
// 0: arrays lie in the host's.
std::shared_ptr<const device::Device> device_for(const std::string& name, std::uintptr_t stream,
                                                 const Warnings& warnings) {
  const Unlocked unlocked;
  auto device = open_device(name, warnings.sink());
  if (stream != 0)
    device::cuda::wrap_stream(*device, reinterpret_cast<void*>(stream))->synchronise();
  return device;
}

nb::dict damage_of(const formats::Damage& damage) {
  nb::dict facts;
  facts["lost_samples"] = damage.lost_samples;
  facts["dropped_samples"] = damage.dropped_samples;
  facts["trailing_bytes"] = damage.trailing_bytes;
  facts["damage"] = damage.messages;
  return facts;
}

// What a user gave of the fields of a part, as "reader.", without its name.
std::vector<std::string> given_of(const nb::dict& options, const std::string& part) {
  std::vector<std::string> given;
  for (const auto& [name, text] : options)
    if (const auto field = nb::cast<std::string>(name); field.starts_with(part))
      given.push_back(field.substr(part.size()));
  return given;
}

// `samples` [channel][input][time] or None with paths; options {field: text}; `stream` as device_for has it.
nb::object correlate(const std::vector<std::string>& paths, const std::optional<AnyArray>& samples,
                     bool pairs, const nb::dict& facts, const nb::dict& options,
                     const std::string& history, const std::string& device, std::uintptr_t stream,
                     const nb::object& progress) {
  pipeline::CorrelateConfig config;
  set_fields(config, options);
  config.reader.named = given_of(options, "reader.");
  config.filter.named = given_of(options, "filter.");
  if (options.contains("requantise")) config.filter.named.emplace_back("requantise");
  config.inputs = paths;
  config.history = history;
  const Warnings warnings;
  const auto on = device_for(device, stream, warnings);
  if (samples) {
    if (!config.reader.named.empty())
      throw Error(ErrorKind::config, config.reader.named.front(), "given for an array",
                  "only for files, whose headers may not say it",
                  "leave it out: an array says it itself or has no use for it");
    config.inputs = {kArray};
    config.samples_on_device = stream != 0;
    config.reader.source = source_of_voltages(*samples, pairs, facts, stream != 0 ? on : nullptr);
  }
  const auto kept = std::make_shared<KeptVisibilities>();
  config.writer = [kept](const formats::VisibilityDescription& description) {
    kept->description = description;
    return std::make_unique<KeepVisibilities>(kept);
  };
  const auto summary =
      run_interruptibly(progress, [&](const std::stop_token& stop, const auto& tell) {
        return pipeline::correlate_voltages(config, {on}, tell, stop);
      });
  nb::dict said = damage_of(summary.damage);
  said["backend"] = summary.backend;
  said["integration_s"] = summary.integration_s;
  said["spectra_per_integration"] = summary.spectra_per_integration;
  said["samples"] = summary.samples;
  said["clipped"] = summary.clipped;
  said["clipped_before"] = summary.clipped_before;
  said["not_finite"] = summary.not_finite;
  said["overflowed"] = summary.overflowed;
  said["empty_samples"] = summary.empty.samples;
  said["level_steps"] = summary.level_steps.size();
  said["recorder_clipped_inputs"] = summary.levels.clipped().size();
  said["elapsed_s"] = summary.elapsed_s;
  warnings.add(pipeline::data_warnings(summary));
  if (summary.overflowed > 0) warnings.add(pipeline::overflow_message(summary.overflowed));
  said["warnings"] = warnings.texts();
  return nb::make_tuple(kept, said);
}

// ---- Curves ----

// Whether no time of an array of them is below the one before it.
bool ascending(const Array& times) {
  const auto view = view_of<1>(times, "tags").as<const std::uint64_t>("tags");
  const Unlocked unlocked;
  bool back = false;
  for (std::size_t n = 1; n < view.extent(0); ++n) back |= view.data()[n] < view.data()[n - 1];
  return !back;
}

// `tags`: arrays of ticks of `tick_s` in place of counts; none of them otherwise.
nb::object autocorrelate(const std::string& path, const std::optional<AnyArray>& samples,
                         const std::vector<Array>& tags, double tick_s, const nb::dict& options,
                         const std::string& history, const std::string& device,
                         std::uintptr_t stream, const nb::object& progress) {
  pipeline::AutocorrelateConfig config;
  set_fields(config, options);
  config.input = path;
  config.history = history;
  const Warnings warnings;
  config.log = warnings.sink();
  const auto on = device_for(device, stream, warnings);
  if (samples) {
    config.input = kArray;
    config.samples_on_device = stream != 0;
    config.source = source_of_counts(*samples, {}, stream != 0 ? on : nullptr);
  }
  if (!tags.empty()) {
    std::vector<std::span<const std::uint64_t>> spans;
    for (const Array& one : tags) {
      const auto view = view_of<1>(one, "tags").as<const std::uint64_t>("tags");
      spans.emplace_back(view.data(), view.extent(0));
    }
    config.input = "tags";
    config.source = [config, open = source_of_tags(std::move(spans), tick_s)] {
      return std::make_unique<pipeline::PhotonCounts>(config, open);
    };
  }
  pipeline::AutocorrelateSummary summary;
  auto curves = std::make_shared<core::CorrelationCurves>(
      run_interruptibly(progress, [&](const std::stop_token& stop, const auto& tell) {
        return pipeline::correlate_counts(config, on, summary, tell, stop);
      }));
  nb::dict said = damage_of(summary.damage);
  said["format"] = summary.format;
  said["backend"] = summary.backend;
  said["bin_s"] = summary.bin_s;
  said["mean_rate_hz"] = summary.mean_rate_hz;
  said["samples"] = summary.samples;
  said["empty_samples"] = summary.empty.samples;
  warnings.add(summary.damage.messages);
  said["warnings"] = warnings.texts();
  said["counts_stop"] = pipeline::stops_text(summary.empty, summary.bin_s);
  said["stopped_sensors"] = pipeline::stopped_text(summary.empty);
  said["interrupted"] = summary.interrupted;
  said["elapsed_s"] = summary.elapsed_s;
  return nb::make_tuple(curves, said);
}

// ---- Pulses ----

/// Dedispersed series of trials that are sampled alike.
struct KeptTrials {
  std::vector<double> dms;
  std::size_t downsample = 1, room = 0, written = 0;
  core::SampleType type = core::SampleType::i32;
  std::unique_ptr<std::byte[]> data;  // [trial][room]
};

class KeepTrials final : public pipeline::TrialSink {
 public:
  KeepTrials(const pipeline::TrialSinkConfig& config, std::vector<KeptTrials>& kept) : kept_(kept) {
    for (const pipeline::TrialRange& range : config.ranges) {
      KeptTrials one;
      one.dms = range.dms;
      one.downsample = range.downsample;
      one.room = range.samples;
      one.type = config.float_samples ? core::SampleType::f32 : core::SampleType::i32;
      one.data = std::make_unique_for_overwrite<std::byte[]>(4 * one.dms.size() * one.room);
      kept_.push_back(std::move(one));
    }
  }
  void write(std::size_t range, const core::SampleView<2>& trials) override {
    KeptTrials& to = kept_[range];
    const std::size_t times = trials.extent(1);
    if (times > to.room - to.written)
      throw Error(ErrorKind::format, "series", std::to_string(to.written + times) + " times",
                  std::to_string(to.room) + ", as the file's size said");
    for (std::size_t k = 0; k < to.dms.size(); ++k)
      std::memcpy(to.data.get() + 4 * (k * to.room + to.written), trials.slice(0, k, 1).data(),
                  4 * times);
    to.written += times;
  }
  void finish() override {}
  std::vector<std::string> paths() const override { return {}; }

 private:
  std::vector<KeptTrials>& kept_;
};

nb::object array_of(KeptTrials& trials) {
  std::byte* const data = trials.data.release();
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<std::byte*>(p); });
  const std::size_t shape[] = {trials.dms.size(), trials.written};
  const std::int64_t strides[] = {static_cast<std::int64_t>(trials.room), 1};
  if (trials.type == core::SampleType::f32)
    return nb::cast(nb::ndarray<nb::numpy, float>(data, 2, shape, owner, strides));
  return nb::cast(nb::ndarray<nb::numpy, std::int32_t>(data, 2, shape, owner, strides));
}

// `there`: source_of_filterbank's.
template <class Config>
void set_filterbank(Config& config, const std::vector<std::string>& paths,
                    const std::optional<AnyArray>& samples, const nb::dict& facts,
                    const nb::dict& options, const std::vector<double>& dms,
                    const std::string& history,
                    const std::shared_ptr<const device::Device>& there = nullptr) {
  set_fields(config, options);
  config.inputs = paths;
  config.history = history;
  if (!dms.empty()) config.dms.list = dms;
  if (!samples) return;
  config.inputs = {kArray};
  config.samples_on_device = there != nullptr;
  config.reader.source = source_of_filterbank(*samples, facts, there);
}

nb::dict said_of(const pipeline::FilterbankRunSummary& s, const Warnings& warnings) {
  nb::dict said = damage_of(s.damage);
  said["backend"] = s.backend;
  said["methods"] = s.methods;
  said["samples"] = s.samples;
  said["gap_samples"] = s.gap_samples;
  said["masked"] = s.masked;
  said["not_finite"] = s.not_finite;
  said["trials"] = s.trials;
  said["f_ref_mhz"] = s.f_ref_mhz;
  said["loss"] = s.loss;
  said["spacing_loss"] = s.spacing_loss;
  said["empty_samples"] = s.empty.samples;
  said["constant_channels"] = s.constant_channels;
  said["level_steps"] = s.level_steps.size();
  said["elapsed_s"] = s.elapsed_s;
  warnings.add(pipeline::data_warnings(s));
  said["warnings"] = warnings.texts();
  return said;
}

// [(dms, downsample, series [trial][time])], facts.
nb::object dedisperse_files(const std::vector<std::string>& paths, const nb::dict& options,
                            const std::vector<double>& dms, const std::string& history,
                            const std::string& device, const nb::object& progress) {
  pipeline::DedisperseConfig config;
  set_filterbank(config, paths, std::nullopt, nb::dict(), options, dms, history);
  std::vector<KeptTrials> kept;
  const Warnings warnings;
  config.sink = [&](const pipeline::TrialSinkConfig& sink) {
    return std::make_unique<KeepTrials>(sink, kept);
  };
  const auto summary =
      run_interruptibly(progress, [&](const std::stop_token& stop, const auto& tell) {
        return pipeline::dedisperse_filterbank(config, open_device(device, warnings.sink()), tell,
                                               {}, stop);
      });
  nb::list segments;
  for (KeptTrials& one : kept)
    segments.append(nb::make_tuple(as_array(one.dms), one.downsample, array_of(one)));
  return nb::make_tuple(segments, said_of(summary, warnings));
}

// {name: array of all candidates}, facts.
nb::object search(const std::vector<std::string>& paths, const std::optional<AnyArray>& samples,
                  const nb::dict& facts, const nb::dict& options, const std::vector<double>& dms,
                  const std::string& output, bool overwrite, const std::string& history,
                  const std::string& device, std::uintptr_t stream, const nb::object& progress) {
  pipeline::SearchConfig config;
  const Warnings warnings;
  const auto on = device_for(device, stream, warnings);
  set_filterbank(config, paths, samples, facts, options, dms, history, stream != 0 ? on : nullptr);
  config.output = output;
  config.overwrite = overwrite;
  const auto summary =
      run_interruptibly(progress, [&](const std::stop_token& stop, const auto& tell) {
        return pipeline::search_filterbank(config, on, tell, {}, stop);
      });
  nb::dict said = said_of(summary, warnings);
  said["detect_backend"] = summary.detect_backend;
  said["whole_loss"] = summary.whole_loss;
  said["injected"] = summary.injections.injected;
  said["recalled"] = summary.injections.recalled;
  said["snr_ratio"] = summary.injections.snr_ratio;
  said["clipped"] = summary.clipped;
  return nb::make_tuple(columns_of(summary.candidates, true), said);
}

// {name: array of all candidates} of a list.
nb::dict read_candidates(const std::string& path) {
  std::vector<core::Candidate> candidates;
  {
    const Unlocked unlocked;
    candidates = formats::candidates::read(path);
  }
  return columns_of(candidates, true);
}

nb::list fields_of(const std::string& run) {
  if (run == "correlate") return described<pipeline::CorrelateConfig>();
  if (run == "autocorrelate") return described<pipeline::AutocorrelateConfig>();
  if (run == "dedisperse") return described<pipeline::DedisperseConfig>();
  if (run == "search") return described<pipeline::SearchConfig>();
  if (run == "fit") return described<pipeline::FitConfig>();
  if (run == "stages.channelize") return described<stages::channelize::Config>();
  if (run == "stages.correlate") return described<stages::correlate::Config>();
  if (run == "stages.dedisperse") return described<stages::dedisperse::Config>();
  if (run == "stages.detect") return described<stages::detect::Config>();
  if (run == "stages.autocorrelate") return described<stages::autocorrelate::Config>();
  throw Error(ErrorKind::config, "run", run,
              "correlate, autocorrelate, dedisperse, search, fit, or a stage as stages.correlate");
}

}  // namespace

void bind_runs(nb::module_& module) {
  module.def("fields", fields_of, nb::arg("run"));
  module.def("correlate", correlate, nb::arg("paths"), nb::arg("samples").none(), nb::arg("pairs"),
             nb::arg("facts"), nb::arg("options"), nb::arg("history"), nb::arg("device"),
             nb::arg("stream"), nb::arg("progress").none());
  module.def("ascending", ascending, nb::arg("times"));
  module.def("autocorrelate", autocorrelate, nb::arg("path"), nb::arg("samples").none(),
             nb::arg("tags"), nb::arg("tick_s"), nb::arg("options"), nb::arg("history"),
             nb::arg("device"), nb::arg("stream"), nb::arg("progress").none());
  module.def("dedisperse_files", dedisperse_files, nb::arg("paths"), nb::arg("options"),
             nb::arg("dms"), nb::arg("history"), nb::arg("device"), nb::arg("progress").none());
  module.def("read_candidates", read_candidates, nb::arg("path"));
  module.def("search", search, nb::arg("paths"), nb::arg("samples").none(), nb::arg("facts"),
             nb::arg("options"), nb::arg("dms"), nb::arg("output"), nb::arg("overwrite"),
             nb::arg("history"), nb::arg("device"), nb::arg("stream"), nb::arg("progress").none());
}

}  // namespace tautline::python
