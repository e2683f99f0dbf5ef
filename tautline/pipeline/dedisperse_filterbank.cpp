#include "tautline/pipeline/dedisperse_filterbank.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/append_file.h"
#include "tautline/pipeline/block_reader.h"
#include "tautline/pipeline/expected_rate.h"
#include "tautline/pipeline/filterbank_blocks.h"
#include "tautline/pipeline/gapless_reader.h"
#include "tautline/pipeline/left_out_channels.h"
#include "tautline/pipeline/mask_intervals.h"

namespace tautline::pipeline {

namespace {

using stages::dedisperse::DmPlan;
using stages::dedisperse::Plan;
using stages::dedisperse::Summary;

constexpr std::size_t kLeastBlock = 1024, kMostBlock = 65536;

// One segment's stream: its plan, its state, and room for a block of its trials.
struct SegmentStream {
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<stages::dedisperse::State> state;
  std::vector<std::int32_t> integers;
  std::vector<float> floats;
  stages::dedisperse::OutputViews views;

  SegmentStream(std::shared_ptr<const Plan> made, device::Queue& queue)
      : plan(std::move(made)), state(plan->make_state(queue)) {
    const std::size_t trials = plan->config().dms.size(), room = plan->max_output_samples();
    const std::array<core::Axis, 3> axes{core::Axis::beam, core::kTrialAxis, core::Axis::time};
    if (plan->float_output()) {
      floats.resize(trials * room);
      views.floats = {floats.data(), axes, {1, trials, room}};
    } else {
      integers.resize(trials * room);
      views.integers = {integers.data(), axes, {1, trials, room}};
    }
  }
};

// Blocks about as long as memory allows: raw blocks, rows that hold the overlap, and trials.
std::size_t first_guess(const formats::FilterbankDescription& description, const DmPlan& plan,
                        std::size_t memory_bytes, std::uint64_t samples) {
  std::size_t trial_bytes = 0;
  for (const auto& segment : plan.segments)
    trial_bytes += 4 * segment.dms.size() / segment.downsample;
  const std::size_t each =
      (FilterbankBlocks::kBlocks + 2 * plan.segments.size()) * description.sample_bytes() +
      trial_bytes;
  std::size_t block = kMostBlock;
  while (block > kLeastBlock && (block / 2 >= samples || block * each > memory_bytes * 3 / 4))
    block /= 2;
  return block;
}

std::string record_path(const DedisperseConfig& config) {
  if (config.format == SeriesFormat::npy || !std::filesystem::is_directory(config.output))
    return config.output + ".json";
  return (std::filesystem::path(config.output) / "dedisperse.json").string();
}

std::string record(const DedisperseConfig& config, const device::Device& device,
                   const formats::FilterbankDescription& description, const DmPlan& plan,
                   const std::vector<std::uint64_t>& written, const LeftOutChannels& left_out,
                   const std::vector<std::pair<std::uint64_t, std::uint64_t>>& there,
                   const DedisperseSummary& s) {
  nlohmann::ordered_json object{
      {"schema", "tautline.dedisperse.record"},
      {"version", 1},
      {"history", config.history},
      {"device", device.name()},
      {"kernels", s.backend},
      {"inputs", config.inputs},
      {"dms", plan.dms()},
      {"tsamp_s", description.tsamp_s * static_cast<double>(plan.segments[0].downsample)},
      {"f_ref_mhz", s.f_ref_mhz},
      {"dm_constant", config.dm_constant},
      {"start", core::to_iso(description.start)},
      {"start_mjd", core::modified_julian_date(description.start)},
      {"samples", s.samples},
      {"loss_of_snr", s.loss},
      {"ignored_channels", left_out.all},
      {"flagged_channels", left_out.flagged},
      {"zero_dm", config.zero_dm},
      {"mask", config.mask},
      {"masked_samples", s.masked},
      {"not_finite", s.not_finite},
      {"gap_samples", s.gap_samples},
      {"bytes", s.bytes},
      {"expected_s", s.expected_s},
      {"lost_samples", s.damage.lost_samples},
      {"dropped_samples", s.damage.dropped_samples},
      {"trailing_bytes", s.damage.trailing_bytes}};
  for (std::size_t k = 0; k < plan.segments.size(); ++k)
    object["segments"].push_back({{"first_trial", plan.segments[k].first_trial},
                                  {"trials", plan.segments[k].dms.size()},
                                  {"downsample", plan.segments[k].downsample},
                                  {"samples", written[k]},
                                  {"method", s.methods[k]}});
  for (const auto& [first, end] : there)
    object["stretches"].push_back({{"first_sample", first}, {"samples", end - first}});
  return object.dump(1) + "\n";
}

// A plan whose largest delay is longer than the data gives nothing: say so before the run.
std::vector<TrialSegment> lengths_of(const std::vector<std::shared_ptr<const Plan>>& plans,
                                     std::uint64_t samples, double rate_hz) {
  std::vector<TrialSegment> segments;
  for (const auto& plan : plans) {
    const std::uint64_t times = samples / plan->config().downsample;
    if (times <= plan->max_delay()) {
      const double delay_s = static_cast<double>(plan->max_delay()) *
                             static_cast<double>(plan->config().downsample) / rate_hz;
      throw core::Error(
          core::ErrorKind::config, "--dms",
          std::to_string(plan->config().dms.back()) + " delays the lowest channel by " +
              std::to_string(delay_s) + " s",
          "less than the " + std::to_string(static_cast<double>(samples) / rate_hz) + " s of data",
          "lower the highest DM");
    }
    segments.push_back({plan->config().dms, plan->config().downsample, times - plan->max_delay()});
  }
  return segments;
}

// Puts a reader without gaps in the place of one whose data have gaps inside the range, which then
// counts the missing times too. Returns the stretches of the range that hold data, first and
// last + 1, from its start.
std::vector<std::pair<std::uint64_t, std::uint64_t>> fill_gaps(
    std::unique_ptr<formats::FilterbankReader>& reader, SampleRange& range) {
  if (split_at_gaps(*reader, range).size() == 1) return {{0, range.count}};
  auto filled = std::make_unique<GaplessReader>(std::move(reader));
  const std::uint64_t first = filled->grid_of(range.first);
  const std::uint64_t end = filled->grid_of(range.first + range.count - 1) + 1;
  range = {first, end - first};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> there;
  for (const auto& [from, to] : filled->filled_stretches())
    if (from < end && to > first)
      there.emplace_back(std::max(from, first) - first, std::min(to, end) - first);
  reader = std::move(filled);
  return there;
}

std::string name_of(const std::string& input) {
  return std::filesystem::path(input).stem().string();
}

}  // namespace

DedisperseSummary dedisperse_filterbank(const DedisperseConfig& config,
                                        std::shared_ptr<const device::Device> device,
                                        const ProgressCallback& progress,
                                        const std::function<void(const std::string&)>& announce,
                                        std::stop_token stop) {
  ProgressReporter reporter(progress);
  std::unique_ptr<formats::FilterbankReader> reader =
      formats::open_filterbank(config.inputs, config.reader);
  SampleRange range = choose_range(*reader, config.start_s, config.duration_s);
  const LeftOutChannels left_out = channels_to_leave_out(*reader, range, config);
  const auto there = fill_gaps(reader, range);
  formats::FilterbankDescription description = reader->description();
  const double rate_hz = description.rate_hz.value();
  description.start =
      core::advance(description.start, static_cast<std::int64_t>(range.first), description.rate_hz);
  description.tstart_mjd = core::modified_julian_date(description.start);

  stages::dedisperse::Config stage = stage_config(config, description, left_out.all);
  std::unique_ptr<MaskIntervals> mask;
  if (!config.mask.empty())
    mask = std::make_unique<MaskIntervals>(formats::presto::read_mask(config.mask), *reader);
  const DmPlan plan =
      make_dm_plan(config.dms, {description.channel_mhz, description.tsamp_s, config.dm_constant});
  stage.max_samples = first_guess(description, plan, config.memory_bytes, range.count);
  const std::size_t raw_bytes =
      FilterbankBlocks::kBlocks * stage.max_samples * description.sample_bytes();
  const std::size_t limit = config.memory_bytes > raw_bytes ? config.memory_bytes - raw_bytes : 1;
  const auto plans = make_plans(stage, plan, device, limit);
  const std::size_t block_samples = plans.front()->config().max_samples;
  const Summary needs = summarise(plans);
  auto segments = lengths_of(plans, range.count, rate_hz);
  DedisperseSummary s;
  double seconds = 0;
  for (const auto& made : plans) seconds += seconds_per_sample(*made, device);
  s.expected_s = seconds * static_cast<double>(range.count);
  if (announce)
    announce(to_string(needs) + "\nexpected: " +
             describe_expected(seconds * rate_hz, static_cast<double>(range.count) / rate_hz));

  TrialSinkConfig output{config.format,
                         config.output,
                         config.overwrite,
                         name_of(config.inputs.front()),
                         description,
                         config.dm_constant,
                         plans.front()->float_output(),
                         std::move(segments),
                         there};
  const auto sink = make_trial_sink(output);
  formats::AppendFile beside(record_path(config), config.overwrite);

  const auto queue = device->make_queue();
  std::vector<SegmentStream> streams;
  for (const auto& made : plans) streams.emplace_back(made, *queue);
  std::vector<std::uint64_t> written(streams.size(), 0);
  FilterbankBlocks::Edit edit;
  if (mask)
    edit = [&](std::span<std::byte> bytes, std::uint64_t first, std::size_t samples) {
      mask->apply(bytes, first, samples);
    };
  FilterbankBlocks blocks(*reader, range, block_samples, stop, edit);
  while (const SpectraBlock* block = blocks.next()) {
    for (std::size_t k = 0; k < streams.size(); ++k) {
      require_running(stop);
      SegmentStream& stream = streams[k];
      stages::dedisperse::Input input;
      input.data = block->bytes.data();
      input.count = block->samples;
      const auto result = stream.plan->execute(*queue, *stream.state, input, stream.views);
      if (k == 0) s.not_finite += result.not_finite;
      written[k] += result.samples;
      if (result.samples == 0) continue;
      if (stream.plan->float_output()) {
        sink->write(k, stream.views.floats, result.samples);
      } else {
        sink->write(k, stream.views.integers, result.samples);
      }
    }
    s.samples += block->samples;
    blocks.release();
    s.elapsed_s = reporter.elapsed_s();
    s.stream_s = static_cast<double>(s.samples) / rate_hz;
    reporter.report(s.samples, range.count, s.stream_s);
  }
  sink->finish();

  s.trials = plan.trials();
  s.channels = description.channels;
  s.ignored_channels = left_out.all.size();
  s.flagged_channels = left_out.flagged.size();
  s.gap_samples = range.count;
  for (const auto& [first, end] : there) s.gap_samples -= end - first;
  s.written = written.front();
  s.masked = mask ? mask->masked() : 0;
  s.block_samples = block_samples;
  s.bytes = needs.bytes + FilterbankBlocks::kBlocks * block_samples * description.sample_bytes();
  s.f_ref_mhz = description.highest_mhz();
  s.backend = plans.front()->backend();
  for (const auto& made : plans) {
    s.methods.push_back(made->choice().text);
    s.loss = std::max(s.loss, made->choice().loss);
  }
  s.paths = sink->paths();
  s.damage = reader->damage();
  beside.write(record(config, *device, description, plan, written, left_out, there, s));
  beside.finish();
  return s;
}

}  // namespace tautline::pipeline
