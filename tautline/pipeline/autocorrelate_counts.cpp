#include "tautline/pipeline/autocorrelate_counts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <future>

#include "tautline/core/error.h"
#include "tautline/pipeline/block_reader.h"
#include "tautline/pipeline/curve_output.h"
#include "tautline/pipeline/curve_stream.h"
#include "tautline/pipeline/photon_counts.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

// Bytes read at a time: large beside a state's levels, so that those are seldom left and entered
// again, and small beside everything else.
constexpr std::size_t kBlockBytes = std::size_t{16} << 20;

/// Blocks of a reader, the next one read while this one is worked on.
class CountBlocks {
 public:
  CountBlocks(formats::CountReader& reader, std::size_t block_samples, std::uint64_t samples)
      : reader_(reader),
        row_bytes_(reader.description().sensors * core::bytes_of(reader.description().type)),
        left_(samples) {
    for (auto& block : blocks_) block.resize(block_samples * row_bytes_);
    start();
  }
  ~CountBlocks() {
    if (next_.valid()) next_.wait();
  }
  CountBlocks(const CountBlocks&) = delete;
  CountBlocks& operator=(const CountBlocks&) = delete;

  /// The next block, valid until the next call; no samples at the end.
  std::pair<std::span<const std::byte>, std::size_t> next() {
    if (!next_.valid()) return {};
    const std::size_t samples = next_.get();
    const std::span<const std::byte> block(blocks_[place_]);
    left_ -= samples;
    place_ = 1 - place_;
    if (samples > 0 && left_ > 0) start();
    return {block.first(samples * row_bytes_), samples};
  }

 private:
  void start() {
    if (left_ == 0) return;
    const auto wanted = static_cast<std::size_t>(
        std::min<std::uint64_t>(left_, blocks_[place_].size() / row_bytes_));
    const std::span<std::byte> to(blocks_[place_].data(), wanted * row_bytes_);
    next_ = std::async(std::launch::async, [this, to] { return reader_.read(to); });
  }

  formats::CountReader& reader_;
  std::size_t row_bytes_;
  std::uint64_t left_;
  std::size_t place_ = 0;
  std::vector<std::byte> blocks_[2];
  std::future<std::size_t> next_;
};

double bin_of(const AutocorrelateConfig& config, const formats::CountDescription& description) {
  const double bin_s = description.bin_s > 0 ? description.bin_s : config.bin_s;
  if (!(bin_s > 0) || !std::isfinite(bin_s))
    throw Error(ErrorKind::config, config.input + ": length of a bin", "unknown",
                "seconds, above 0", "give --bin");
  return bin_s;
}

/// The part of the run that --start and --duration choose.
struct Part {
  std::uint64_t first = 0, samples = 0;
};

Part part_of(const AutocorrelateConfig& config, std::uint64_t total, double bin_s) {
  if (!(config.start_s >= 0))
    throw Error(ErrorKind::config, "--start", std::to_string(config.start_s), "0 s or more");
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
    throw Error(ErrorKind::config, "--detrend", std::to_string(config.segments) + " segments",
                "2 or more --segments, between which the mean may change");
  if (config.normalization != core::Normalization::symmetric)
    throw Error(ErrorKind::config, "--detrend",
                std::string("with --normalize ") + core::to_string(config.normalization),
                "--normalize symmetric, whose means it takes segment by segment",
                "leave one of them out");
}

std::string label_of(const formats::CountDescription& description, const MappedSensor& sensor,
                     std::size_t index) {
  if (sensor.row >= 0)
    return "pixel " + std::to_string(sensor.row) + "," + std::to_string(sensor.column);
  if (index < description.labels.size()) return description.labels[index];
  return "sensor " + std::to_string(index);
}

// Places and names; bins become seconds.
void name_signal(core::CurveSignal& signal, const formats::CountDescription& description,
                 const SensorMap& map, std::uint32_t sensor, double bin_s) {
  const MappedSensor& mapped = map.sensors()[sensor];
  signal.label = label_of(description, mapped, sensor);
  signal.row = mapped.row;
  signal.column = mapped.column;
  signal.mean_rate_hz /= bin_s;
  for (double& time : signal.trace.time_s) time *= bin_s;
  for (double& rate : signal.trace.rate_khz) rate /= bin_s * 1000;
}

void name_curves(core::CorrelationCurves& curves, const formats::CountDescription& description,
                 const SensorMap& map, double bin_s) {
  curves.bin_s = bin_s;
  curves.duration_s = static_cast<double>(curves.samples) * bin_s;
  curves.lag_s.clear();
  for (const std::uint64_t lag : curves.lag_samples)
    curves.lag_s.push_back(static_cast<double>(lag) * bin_s);
  curves.mask.assign(curves.curves, 1);
  for (std::size_t p = 0; p < curves.curves; ++p) {
    const auto own = static_cast<std::uint32_t>(p);
    const auto pair = map.pairs().empty() ? stages::autocorrelate::Pair{own, own} : map.pairs()[p];
    name_signal(curves.first[p], description, map, pair.a, bin_s);
    if (curves.cross) name_signal(curves.second[p], description, map, pair.b, bin_s);
    if (!map.sensors()[pair.a].good() || !map.sensors()[pair.b].good()) curves.mask[p] = 0;
  }
}

void summarise(const core::CorrelationCurves& curves, const SensorMap& map,
               AutocorrelateSummary& s) {
  s.curves = curves.curves;
  s.lags = curves.lags;
  s.samples = curves.samples;
  s.sensors = map.sensors().size();
  for (const MappedSensor& sensor : map.sensors()) s.masked += sensor.good() ? 0 : 1;
  for (const std::int64_t count : curves.counts) s.lags_too_long += count == 0 ? 1 : 0;
  std::size_t counted = 0;
  for (std::size_t p = 0; p < curves.curves; ++p) {
    if (curves.mask[p] == 0) continue;
    const auto g = curves.g.begin() + static_cast<std::ptrdiff_t>(p * curves.lags);
    if (std::all_of(g, g + static_cast<std::ptrdiff_t>(curves.lags),
                    [](double x) { return std::isnan(x); }))
      ++s.undefined;
    if (std::isfinite(curves.first[p].mean_rate_hz)) {
      s.mean_rate_hz += curves.first[p].mean_rate_hz;
      ++counted;
    }
  }
  if (counted > 0) s.mean_rate_hz /= static_cast<double>(counted);
  if (s.samples == 0)
    s.warnings.push_back("the input holds no bin at all: every g is undefined (NaN)");
  else if (s.undefined > 0)
    s.warnings.push_back(std::to_string(s.undefined) + " of " + std::to_string(s.curves) +
                         " curves have no counts: their g is undefined (NaN)");
  if (s.samples > 0 && s.lags_too_long > 0)
    s.warnings.push_back(std::to_string(s.lags_too_long) + " of " + std::to_string(s.lags) +
                         " lags are longer than the data: their counts are 0 and g is NaN; "
                         "fewer --levels leave them out");
}

// A curve that never changes is 0 at every lag, whatever the light did.
void warn_constant(const core::CorrelationCurves& curves, AutocorrelateSummary& s) {
  std::size_t constant = 0;
  if (curves.normalization == core::Normalization::none) return;
  for (std::size_t p = 0; p < curves.curves; ++p) {
    bool any = false, zero = true;
    for (std::size_t l = 0; l < curves.lags; ++l) {
      const double g = curves.g[p * curves.lags + l];
      if (std::isnan(g)) continue;
      any = true;
      zero = zero && g == 0;
    }
    constant += any && zero ? 1 : 0;
  }
  if (constant > 0)
    s.warnings.push_back(std::to_string(constant) + " of " + std::to_string(s.curves) +
                         " curves are of counts that never change: g is 0 at every lag");
}

// Detrended, a lag that fits the run but no segment has no g.
void warn_beyond_segments(const AutocorrelateConfig& config, const core::CorrelationCurves& curves,
                          AutocorrelateSummary& s) {
  std::size_t beyond = 0;
  for (std::size_t l = 0; l < curves.lags; ++l)
    beyond += curves.counts[l] > 0 && curves.lag_samples[l] >= curves.samples / config.segments;
  if (beyond > 0)
    s.warnings.push_back(std::to_string(beyond) + " of " + std::to_string(s.lags) +
                         " lags are longer than a segment: with --detrend their g is NaN; fewer "
                         "--segments or --levels leave them out");
}

void add_warnings(const AutocorrelateConfig& config, const core::CorrelationCurves& curves,
                  AutocorrelateSummary& s) {
  warn_constant(curves, s);
  if (curves.detrended) warn_beyond_segments(config, curves, s);
  if (config.segments > 1 && curves.standard_error.empty())
    s.warnings.push_back("fewer bins than segments: no standard errors");
}

// A photon costs about as much one by one as this many bins (docs/performance/photons.md).
constexpr std::uint64_t kBinsForAPhoton = 100;

// The time tags to be taken one by one, or null.
PhotonCounts* tags_to_take(const AutocorrelateConfig& config, formats::CountReader& reader,
                           const SensorMap& map, const device::Device& device) {
  auto* photons = dynamic_cast<PhotonCounts*>(&reader);
  const bool possible = photons != nullptr && !map.adds() &&
                        config.coarsening == stages::autocorrelate::Coarsening::sum;
  if (config.tag_method == TagMethod::direct && !possible)
    throw Error(ErrorKind::config, "--tags", "direct",
                "time tags, without --bin-sensors, and --coarsen sum", "leave it out");
  if (!possible || config.tag_method == TagMethod::bins) return nullptr;
  const bool rare = photons->total_samples() / kBinsForAPhoton >= photons->total_photons();
  const bool chosen = rare && device.api() == device::Api::cpu;
  return config.tag_method == TagMethod::direct || chosen ? photons : nullptr;
}

// Tags of one bin are given together, and the last bin of a block may go on in the next one.
class TagBlocks {
 public:
  TagBlocks(PhotonCounts& photons, std::uint64_t samples)
      : photons_(photons), samples_(samples), tags_(std::size_t{1} << 15) {}

  /// The tags of the bins before the second value, which is the run's length at the end.
  std::pair<std::span<const BinnedPhoton>, std::uint64_t> next() {
    std::copy(tags_.begin() + static_cast<std::ptrdiff_t>(given_),
              tags_.begin() + static_cast<std::ptrdiff_t>(held_), tags_.begin());
    held_ -= given_;
    // One bin that fills the block: make room.
    if (held_ == tags_.size()) tags_.resize(2 * tags_.size());
    const std::span<BinnedPhoton> room = std::span(tags_).subspan(held_);
    const std::size_t found = photons_.read_tags(room);
    held_ += found;
    std::uint64_t until = samples_;
    if (found == room.size()) until = std::min(until, tags_[held_ - 1].bin);
    given_ = static_cast<std::size_t>(
        std::partition_point(tags_.begin(), tags_.begin() + static_cast<std::ptrdiff_t>(held_),
                             [&](const BinnedPhoton& tag) { return tag.bin < until; }) -
        tags_.begin());
    return {std::span<const BinnedPhoton>(tags_).first(given_), until};
  }

 private:
  PhotonCounts& photons_;
  std::uint64_t samples_;
  std::vector<BinnedPhoton> tags_;
  std::size_t held_ = 0, given_ = 0;
};

// Bytes of one time: as it is read, and with its sensors added together.
std::size_t row_bytes_of(const formats::CountDescription& description, const SensorMap& map) {
  const std::size_t read = description.sensors * core::bytes_of(description.type);
  if (!map.adds()) return read;
  return read + map.sensors().size() * core::bytes_of(map.type_of_sums(description.type));
}

CurveStreamConfig stream_config_of(const AutocorrelateConfig& config,
                                   const formats::CountDescription& description,
                                   const SensorMap& map, std::uint64_t samples) {
  const std::size_t block_samples = std::max<std::size_t>(
      1, std::min(kBlockBytes, config.memory_bytes / 8) / row_bytes_of(description, map));
  return {.stage = {.sensors = map.sensors().size(),
                    .ladder = config.ladder,
                    .bins = config.bins,
                    .levels = config.levels,
                    .coarsening = config.coarsening,
                    .type = map.type_of_sums(description.type),
                    .pairs = map.pairs(),
                    .max_samples = block_samples},
          .normalization = config.normalization,
          .total_samples = samples,
          .segments = config.segments,
          .detrend = config.detrend};
}

void check_memory(const AutocorrelateConfig& config, std::size_t needed) {
  if (needed > config.memory_bytes)
    throw Error(ErrorKind::memory, "memory", std::to_string((needed >> 20) + 1) + " MiB needed",
                "at most " + std::to_string(config.memory_bytes >> 20) + " MiB",
                "raise --memory, or take fewer sensors, pairs or levels");
}

/// Called after every block; throws when the run is to stop.
using BlockDone = std::function<void()>;

void feed_tags(PhotonCounts& tags, std::uint64_t samples, CurveStream& stream,
               const BlockDone& done) {
  TagBlocks blocks(tags, samples);
  while (stream.samples() < samples) {
    const auto [some, until] = blocks.next();
    stream.push_tags(some, until);
    done();
  }
}

void feed_counts(formats::CountReader& reader, const SensorMap& map,
                 const stages::autocorrelate::Config& stage, std::uint64_t samples,
                 CurveStream& stream, const BlockDone& done) {
  std::vector<std::byte> added(
      map.adds() ? stage.max_samples * stage.sensors * core::bytes_of(stage.type) : 0);
  CountBlocks blocks(reader, stage.max_samples, samples);
  for (auto [bytes, count] = blocks.next(); count > 0; std::tie(bytes, count) = blocks.next()) {
    if (map.adds()) map.add_sensors(reader.description().type, bytes, count, added);
    stream.push(map.adds() ? added.data() : bytes.data(), count);
    done();
  }
}

}  // namespace

core::CorrelationCurves correlate_counts(const AutocorrelateConfig& config,
                                         std::shared_ptr<const device::Device> device,
                                         AutocorrelateSummary& s, const ProgressCallback& progress,
                                         std::stop_token stop) {
  ProgressReporter reporter(progress);
  check_detrending(config);
  const auto reader = open_count_source(config);
  const formats::CountDescription& description = reader->description();
  const double bin_s = bin_of(config, description);
  const SensorMap map(config.sensors, description.sensors, description.rows, description.columns);
  if (!config.output.empty()) check_curve_count(config, map.good_curves());
  const Part part = part_of(config, reader->total_samples(), bin_s);
  if (part.first > 0) reader->seek(part.first);

  const CurveStreamConfig stream_config = stream_config_of(config, description, map, part.samples);
  PhotonCounts* const tags = tags_to_take(config, *reader, map, *device);
  std::shared_ptr<const stages::autocorrelate::TagPlan> tag_plan;
  if (tags != nullptr) {
    tag_plan = stages::autocorrelate::make_tag_plan(stream_config.stage);
    check_memory(config, CurveStream::bytes(stream_config, *tag_plan));
  } else {
    const auto plan = stages::autocorrelate::make_plan(stream_config.stage, device);
    check_memory(config, CurveStream::bytes(stream_config, *plan) +
                             3 * stream_config.stage.max_samples * row_bytes_of(description, map));
  }
  CurveStream stream(stream_config, device, tag_plan);
  const BlockDone done = [&] {
    reporter.report(stream.samples(), part.samples, static_cast<double>(stream.samples()) * bin_s);
    require_running(stop);
  };
  require_running(stop);
  if (tags != nullptr)
    feed_tags(*tags, part.samples, stream, done);
  else
    feed_counts(*reader, map, stream_config.stage, part.samples, stream, done);

  core::CorrelationCurves curves;
  curves.cross = map.cross();
  stream.finish(curves);
  name_curves(curves, description, map, bin_s);
  s.format = description.format;
  s.bin_s = bin_s;
  s.backend = stream.backend();
  s.damage = reader->damage();
  summarise(curves, map, s);
  add_warnings(config, curves, s);
  s.stream_s = static_cast<double>(s.samples) * bin_s;
  s.elapsed_s = reporter.elapsed_s();
  return curves;
}

AutocorrelateSummary autocorrelate_counts(const AutocorrelateConfig& config,
                                          std::shared_ptr<const device::Device> device,
                                          const ProgressCallback& progress, std::stop_token stop) {
  const Stopwatch stopwatch;
  check_curve_output(config);
  AutocorrelateSummary summary;
  const std::string name = device->name();
  const auto curves = correlate_counts(config, std::move(device), summary, progress, stop);
  write_curves(config, curves, summary, name);
  summary.elapsed_s = stopwatch.elapsed_s();
  return summary;
}

}  // namespace tautline::pipeline
