#include "tautline/pipeline/photons/count_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/hash.h"
#include "tautline/pipeline/photons/count_blocks.h"
#include "tautline/pipeline/photons/curve_summary.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

// Bytes read at a time: large beside a state's levels, so that those are seldom left and entered
// again, and small beside everything else.
constexpr std::size_t kBlockBytes = std::size_t{16} << 20;
// What live input waits for to fill a block before it takes what there is.
constexpr std::chrono::milliseconds kPatience{100};

double bin_of(const AutocorrelateConfig& config, const formats::CountDescription& description) {
  const double bin_s = description.bin_s > 0 ? description.bin_s : config.bin_s;
  if (!(bin_s > 0) || !std::isfinite(bin_s))
    throw Error(ErrorKind::config, config.input + ": length of a bin", "unknown",
                "seconds, above 0", "give `bin_s`");
  return bin_s;
}

// Of live input: more than anybody will wait for.
constexpr std::uint64_t kAllThatCome = std::uint64_t{1} << 62;

/// The part of the run that start_s and duration_s choose.
struct Part {
  std::uint64_t first = 0, samples = 0;
};

Part part_of(const AutocorrelateConfig& config, std::uint64_t total, double bin_s) {
  const auto whole = [&](double seconds) {
    const double bins = std::round(seconds / bin_s);
    return bins >= static_cast<double>(total) ? total : static_cast<std::uint64_t>(bins);
  };
  Part part{whole(config.start_s), 0};
  part.samples = total - part.first;
  if (config.duration_s >= 0) part.samples = std::min(part.samples, whole(config.duration_s));
  return part;
}

void check_detrending(const AutocorrelateConfig& config) {
  if (!config.detrend) return;
  if (config.segments < 2)
    throw Error(ErrorKind::config, "detrend", std::to_string(config.segments) + " segments",
                "2 or more `segments`, between which the mean may change");
  if (config.normalization != core::Normalization::symmetric)
    throw Error(ErrorKind::config, "detrend",
                std::string("with `normalization` ") + core::to_string(config.normalization),
                "`normalization` symmetric, whose means it takes segment by segment",
                "leave one of them out");
}

// A photon costs about as much one by one as this many bins (docs/performance/autocorrelate.md).
constexpr std::uint64_t kBinsForAPhoton = 100;

// The time tags to be taken one by one, or null.
PhotonCounts* tags_to_take(const AutocorrelateConfig& config, formats::CountReader& reader,
                           const SensorMap& map, const device::Device& device) {
  auto* photons = dynamic_cast<PhotonCounts*>(&reader);
  const bool possible = photons != nullptr && !map.adds() &&
                        config.coarsening == stages::autocorrelate::Coarsening::sum;
  if (config.tag_method == TagMethod::direct && !possible)
    throw Error(ErrorKind::config, "tag_method", "direct",
                "time tags, without `bin_sensors`, and `coarsening` sum", "leave it out");
  if (!possible || config.tag_method == TagMethod::bins) return nullptr;
  const bool rare = photons->total_samples() / kBinsForAPhoton >= photons->total_photons();
  const bool chosen = rare && device.api() == device::Api::cpu;
  return config.tag_method == TagMethod::direct || chosen ? photons : nullptr;
}

// Bytes of one time: as it is read, and with its sensors added together.
std::size_t row_bytes_of(const formats::CountDescription& description, const SensorMap& map) {
  const std::size_t read = description.sensors * core::bytes_of(description.type);
  if (!map.adds()) return read;
  return read + map.sensors().size() * core::bytes_of(map.type_of_sums(description.type));
}

// Which of the file's sensors are which of the run's.
std::string digest_of(const SensorMap& map) {
  std::uint64_t value = core::kHashStart;
  for (const MappedSensor& sensor : map.sensors()) {
    value = core::hash(";", value);
    for (const std::uint32_t member : sensor.members)
      value = core::hash(std::to_string(member) + " ", value);
  }
  return core::hash_name(value);
}

// Of a live run nobody could look before which detectors there are.
void add_ignored(const std::vector<formats::DetectorCount>& ignored, AutocorrelateSummary& s) {
  std::string names;
  for (const formats::DetectorCount& one : ignored) {
    s.ignored_photons += one.photons;
    names += (names.empty() ? "" : ", ") + std::to_string(one.channel);
  }
  if (!ignored.empty())
    s.warnings.push_back(fmt::format(
        "{} photon{} of detector{} {} were not asked for by `detectors`", s.ignored_photons,
        s.ignored_photons == 1 ? "" : "s", ignored.size() == 1 ? "" : "s", names));
}

}  // namespace

CountRun::CountRun(const AutocorrelateConfig& config, std::shared_ptr<const device::Device> device,
                   std::stop_token stop)
    : config_(config), stop_(std::move(stop)) {
  check_detrending(config_);
  // Before anything is waited for.
  std::unique_ptr<StateFile> state;
  if (!config_.resume.empty())
    state = std::make_unique<StateFile>(config_.resume, config_.memory_bytes);
  open(*device);
  if (state != nullptr) stream_config_.stage.max_samples = state->block_samples();
  plan(device);
  if (state == nullptr) return;
  state->require(problem());
  state->load(*stream_);
  resumed_ = stream_->samples();
  check_resumed_input(*state);
}

// The source, which part of it, and how it is cut into blocks.
void CountRun::open(const device::Device& device) {
  source_ = open_count_source(config_, stop_);
  const formats::CountDescription& description = source_.description();
  bin_s_ = bin_of(config_, description);
  map_ = std::make_unique<SensorMap>(config_.sensors, description.sensors, description.rows,
                                     description.columns);
  if (!config_.output.empty()) check_curve_count(config_, map_->good_curves());
  const bool kept = !config_.save_state.empty() || !config_.resume.empty();
  stream_config_ = {.stage = {.sensors = map_->sensors().size(),
                              .lag_scheme = config_.lag_scheme,
                              .bins = config_.bins,
                              .levels = config_.levels,
                              .coarsening = config_.coarsening,
                              .type = map_->type_of_sums(description.type),
                              .pairs = map_->pairs()},
                    .normalization = config_.normalization,
                    .segments = config_.segments,
                    .detrend = config_.detrend,
                    .open_ended = live() || kept};
  stream_config_.stage.max_samples = std::max<std::size_t>(
      1, std::min(kBlockBytes, config_.memory_bytes / 8) / row_bytes_of(description, *map_));
  const std::uint64_t total = live() ? kAllThatCome : source_.file->total_samples();
  const Part part = part_of(config_, total, bin_s_);
  first_ = part.first;
  if (live()) {
    if (source_.live_counts != nullptr) source_.live_counts->skip(part.first);
    if (source_.live_tags != nullptr) source_.live_tags->skip(part.first);
    // What was asked for need not come: nothing is planned by it.
    to_take_ = config_.duration_s >= 0 ? part.samples : 0;
    return;
  }
  if (part.first > 0) source_.file->seek(part.first);
  to_take_ = part.samples;
  stream_config_.planned_samples = kept ? total - part.first : part.samples;
  tags_ = tags_to_take(config_, *source_.file, *map_, device);
}

void CountRun::plan(const std::shared_ptr<const device::Device>& device) {
  const stages::autocorrelate::Config& stage = stream_config_.stage;
  const std::size_t buffer = live() ? live_buffer_bytes(config_) : 0;
  // The state as it is written, and as it is read.
  const std::size_t copies = config_.save_state.empty() && config_.resume.empty() ? 1 : 2;
  std::shared_ptr<const stages::autocorrelate::TagPlan> tag_plan;
  std::shared_ptr<const stages::autocorrelate::Plan> plan;
  std::size_t rows = 0;
  if (tags_ != nullptr || source_.live_tags != nullptr) {
    plan = tag_plan = stages::autocorrelate::make_tag_plan(stage);
  } else {
    plan = stages::autocorrelate::make_plan(stage, device);
    rows = 3 * stage.max_samples * row_bytes_of(source_.description(), *map_);
  }
  const auto needed = [&](const CurveStreamConfig& stream) {
    return copies * CurveStream::bytes(stream, *plan) + buffer + rows;
  };
  CurveStreamConfig without_segments = stream_config_;
  without_segments.segments = 1;
  without_segments.detrend = false;
  check_memory(needed(stream_config_), needed(without_segments));
  if (tag_plan == nullptr && map_->adds())
    added_.resize(stage.max_samples * stage.sensors * core::bytes_of(stage.type));
  stream_ = std::make_unique<CurveStream>(stream_config_, device, tag_plan);
}

// Blocks and the buffer of live input are shorter where there is little memory: what is advised has
// room for whole ones.
void CountRun::check_memory(std::size_t needed, std::size_t without_segments) const {
  if (needed <= config_.memory_bytes) return;
  AutocorrelateConfig ample = config_;
  ample.memory_bytes = std::numeric_limits<std::size_t>::max();
  std::size_t more = 3 * (kBlockBytes - std::min(kBlockBytes, config_.memory_bytes / 8));
  if (live()) more += live_buffer_bytes(ample) - live_buffer_bytes(config_);
  const auto mebibytes = [](std::size_t bytes) { return std::to_string((bytes >> 20) + 1); };
  std::string advice = "give `memory_bytes` " + mebibytes(needed + more) + "M";
  if (without_segments < needed)
    advice += ", or `segments` 1 (no standard errors), which needs " +
              mebibytes(without_segments + more) + " MiB";
  throw Error(ErrorKind::memory, "memory", mebibytes(needed) + " MiB needed",
              "at most " + std::to_string(config_.memory_bytes >> 20) + " MiB",
              advice + ", or take fewer sensors, pairs or levels");
}

StateProblem CountRun::problem() const {
  const formats::CountDescription& description = source_.description();
  StateProblem problem = state_problem(stream_config_, stream_->backend());
  problem["bin_s"] = bin_s_;
  problem["sensors of the input"] = description.sensors;
  problem["detectors"] = description.labels;
  problem["mask and sensors added together"] = digest_of(*map_);
  problem["gate_s"] = nullptr;
  if (config_.gate_s) problem["gate_s"] = {config_.gate_s->first, config_.gate_s->second};
  return problem;
}

std::vector<std::byte> CountRun::state() const {
  StateProblem saved = problem();
  saved["input"] = input_record();
  return state_bytes(saved, *stream_);
}

// Which file, and where in it this run has come to. Of live input null: what follows cannot be again.
nlohmann::ordered_json CountRun::input_record() const {
  if (live()) return nullptr;
  return {{"file", std::filesystem::weakly_canonical(config_.input).string()},
          {"end_sample", first_ + samples_done()}};
}

// Of the same file the next part should begin where the state's part ended.
void CountRun::check_resumed_input(const StateFile& state) {
  const StateProblem before = state.input(), now = input_record();
  if (!before.is_object() || !now.is_object() || before["file"] != now["file"]) return;
  const auto end = before["end_sample"].get<std::uint64_t>();
  if (end == first_) return;
  const auto seconds = [&](std::uint64_t samples) {
    return fmt::format("{:.9g} s", static_cast<double>(samples) * bin_s_);
  };
  resume_warning_ = fmt::format(
      "{}: the state's part of this file ended at {} (sample {}), and this one begins at "
      "{} (sample {}): {} {}; `start_s` {:.15g} follows on",
      config_.input, seconds(end), end, seconds(first_), first_,
      seconds(end > first_ ? end - first_ : first_ - end),
      end > first_ ? "may be counted twice" : "are left out", static_cast<double>(end) * bin_s_);
}

// Of nothing there are no curves: what lies under the output's name stays.
void CountRun::require_samples() const {
  if (!live() || samples_done() > 0 || config_.duration_s == 0) return;
  const auto& messages = source_.damage().messages;
  throw Error(ErrorKind::io, config_.input == "-" ? "standard input" : config_.input,
              std::string("no samples came") + (messages.empty() ? "" : " (" + messages[0] + ")"),
              config_.start_s > 0
                  ? fmt::format("one or more whole ones after the first {:g} s", config_.start_s)
                  : "one or more whole ones",
              "nothing was written; see what the program before the pipe said");
}

void CountRun::feed(const std::function<void()>& done) {
  if (source_.live_counts != nullptr) {
    feed_live_counts(done);
  } else if (source_.live_tags != nullptr) {
    feed_live_tags(done);
  } else {
    tags_ != nullptr ? feed_tags(done) : feed_counts(done);
  }
  require_samples();
}

void CountRun::push_tags(std::span<const BinnedPhoton> tags, std::uint64_t until) {
  if (resumed_ > 0) {
    later_.assign(tags.begin(), tags.end());
    for (BinnedPhoton& tag : later_) tag.bin += resumed_;
    tags = later_;
  }
  stream_->push_tags(tags, until + resumed_);
}

void CountRun::feed_tags(const std::function<void()>& done) {
  TagBlocks blocks(*tags_, to_take_);
  while (samples_done() < to_take_) {
    const auto [tags, until] = blocks.next();
    push_tags(tags, until);
    done();
  }
}

void CountRun::push(std::span<const std::byte> bytes, std::size_t samples) {
  const formats::CountDescription& input = source_.description();
  const stages::autocorrelate::Config& stage = stream_config_.stage;
  const core::SampleView<2> counts(bytes.data(), input.type, {samples, input.sensors});
  const core::MutableSampleView<2> added(added_.data(), stage.type, {samples, stage.sensors});
  if (map_->adds()) map_->add_sensors(counts, added);
  stream_->push(map_->adds() ? added : counts);
}

void CountRun::feed_counts(const std::function<void()>& done) {
  CountBlocks blocks(*source_.file, stream_config_.stage.max_samples, to_take_);
  for (auto [bytes, count] = blocks.next(); count > 0; std::tie(bytes, count) = blocks.next()) {
    push(bytes, count);
    done();
  }
}

void CountRun::feed_live_tags(const std::function<void()>& done) {
  const std::uint64_t most = config_.duration_s < 0 ? kAllThatCome : to_take_;
  while (!source_.live_tags->ended() && samples_done() < most) {
    auto [tags, until] = source_.live_tags->read();
    until = std::min(until, most);
    const auto in_time = std::partition_point(
        tags.begin(), tags.end(), [&](const BinnedPhoton& tag) { return tag.bin < until; });
    push_tags(tags.first(static_cast<std::size_t>(in_time - tags.begin())), until);
    done();
  }
}

void CountRun::feed_live_counts(const std::function<void()>& done) {
  const std::uint64_t most = config_.duration_s < 0 ? kAllThatCome : to_take_;
  while (!source_.live_counts->ended() && samples_done() < most) {
    const auto samples = static_cast<std::size_t>(
        std::min<std::uint64_t>(stream_config_.stage.max_samples, most - samples_done()));
    const auto [bytes, count] = source_.live_counts->read(samples, kPatience);
    if (count > 0) push(bytes, count);
    done();
  }
}

core::CorrelationCurves CountRun::curves(AutocorrelateSummary& s) const {
  core::CorrelationCurves curves;
  curves.cross = map_->cross();
  stream_->finish(curves);
  s.format = source_.description().format;
  s.bin_s = bin_s_;
  s.backend = stream_->backend();
  s.damage = source_.damage();
  s.live = live();
  s.interrupted = live() && stop_.stop_requested();
  s.resumed_samples = resumed_;
  describe_curves(config_, source_.description(), *map_, curves, s);
  s.stream_s = static_cast<double>(samples_done()) * bin_s_;
  if (!resume_warning_.empty()) s.warnings.push_back(resume_warning_);
  if (source_.live_tags != nullptr) add_ignored(source_.live_tags->ignored(), s);
  return curves;
}

}  // namespace tautline::pipeline
