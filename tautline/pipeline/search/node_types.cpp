#include "tautline/pipeline/search/node_types.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/file_formats.h"
#include "tautline/pipeline/graph_streams.h"
#include "tautline/pipeline/search/candidate_sink_node.h"
#include "tautline/pipeline/search/dedisperse_node.h"
#include "tautline/pipeline/search/filterbank_record.h"
#include "tautline/pipeline/search/gapless_reader.h"
#include "tautline/pipeline/search/left_out_channels.h"
#include "tautline/pipeline/search/search_plan.h"
#include "tautline/pipeline/search/trial_sink_node.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;
using Json = nlohmann::ordered_json;
using Plans = std::vector<std::shared_ptr<const stages::dedisperse::Plan>>;

// A sixteenth of the memory, in as many samples as a search takes at most.
std::size_t block_samples_of(const FilterbankFiles& config, const NodeContext& context,
                             const FilterbankStream& stream) {
  if (config.block_samples > 0) return config.block_samples;
  constexpr std::size_t kShare = 16, kLeast = 1024;
  std::uint64_t longest = 1;
  for (const FilterbankPart& part : stream.parts)
    longest = std::max(longest, part.placed.range.count);
  const std::size_t fitting =
      context.memory_bytes / kShare / std::max<std::size_t>(1, stream.description().sample_bytes());
  return static_cast<std::size_t>(
      std::min<std::uint64_t>(longest, std::clamp(fitting, kLeast, kMostBlock)));
}

std::unique_ptr<engine::Node> make_source(const FilterbankFiles& config,
                                          const NodeContext& context) {
  if (config.inputs.empty())
    throw Error(ErrorKind::config, "files", "none", "one filterbank or more");
  auto reader = formats::open_filterbank(config.inputs, config.reader);
  log_remarks(*reader, *context.devices.front());
  SampleRange range = choose_range(*reader, config.start_s, config.duration_s);
  FilterbankSourceConfig source;
  source.files = config.inputs;
  source.left_out = {channels_to_leave_out(*reader, range, config).all};
  if (config.fill_gaps) source.data_segments = fill_gaps(reader, range);
  for (const PlacedRange& data : split_at_gaps(*reader, range)) source.parts.push_back({data});
  if (!config.keep_constant) source.empty = config.fill_gaps ? Empty::fill : Empty::split;
  if (!config.mask.empty()) source.mask = formats::presto::read_mask(config.mask);
  source.block_samples =
      block_samples_of(config, context, {{reader->description()}, source.parts, {}, {}, {}});
  return std::make_unique<FilterbankSourceNode>(
      std::vector<std::shared_ptr<formats::FilterbankReader>>{std::move(reader)},
      std::move(source));
}

void require_whole(const FilterbankStream& stream, const char* field) {
  if (stream.parts.size() > 1)
    throw Error(ErrorKind::config, field, "data with gaps", "series without gaps",
                "set fill_gaps of the files, or name one part with start_s and duration_s");
}

// An output for each sampling: how many there are depends on the input's band.
std::vector<engine::Port> add_dedispersion(const DedisperseStage& config, engine::Graph& graph,
                                           const std::string& name,
                                           const std::vector<engine::Port>& inputs,
                                           const engine::EdgeOptions& edge,
                                           const NodeContext& context) {
  const auto& device = context.devices.front();
  require_trials(config.dms);
  const engine::Stream input = stream_at(graph, inputs.front());
  const auto& stream = input.detail<FilterbankStream>();
  const formats::FilterbankDescription& band = stream.description();
  if (band.time_series)
    throw Error(ErrorKind::config, "inputs", "series that are dedispersed already", "filterbanks");
  require_whole(stream, "inputs");
  auto stage = stage_config(config, band, stream.left_out.front());
  stage.max_samples = input.max_samples;
  const auto trials = make_dm_plan(config.dms, share_loss(config, config.dms).spacing,
                                   {band.channel_mhz, band.tsamp_s, config.dm_constant});
  const Plans plans = stages::dedisperse::make_plans(stage, trials, device, 0);
  require_samples(plans, stream.parts.front().placed.range.count, band.rate_hz.value());
  const engine::NodeId node = graph.add(name, std::make_unique<DedisperseNode>(plans, device));
  graph.connect(inputs.front(), node, edge);
  std::vector<engine::Port> outputs;
  for (std::size_t k = 0; k < plans.size(); ++k) outputs.emplace_back(node, k);
  return outputs;
}

// All trials in one pass: the source gives each part once.
std::unique_ptr<engine::Node> make_search(const SearchStage& config, const NodeContext& context) {
  const auto& device = context.devices.front();
  SearchConfig search = config;
  search.memory_bytes = context.memory_bytes;
  return std::make_unique<SearchNode>(
      [search, device](const FilterbankStream& stream, std::size_t block_samples) {
        auto plan = std::make_shared<const SearchPlan>(search, stream.description(), stream.parts,
                                                       stream.left_out, device, block_samples);
        if (plan->passes().size() > 1)
          throw Error(ErrorKind::memory, "memory_bytes",
                      std::to_string(search.memory_bytes) + " bytes",
                      "enough for all trials at once",
                      "allow for more, take fewer trials, or use `tautline search`, which reads "
                      "the input several times");
        return node_config(std::move(plan));
      },
      device);
}

// What a record says of the band and of what the run met.
Json record_of(const std::string& schema, const NodeContext& context,
               const std::vector<NamedNode>& nodes, const formats::FilterbankDescription& band,
               const std::vector<double>& dms, double dm_constant,
               const std::vector<std::size_t>& left_out) {
  Json record{{"schema", schema},
              {"version", 1},
              {"history", context.history},
              {"device", context.devices.front()->name()},
              {"f_ref_mhz", band.highest_mhz()},
              {"dm_constant", dm_constant},
              {"start", core::to_iso(band.start)},
              {"start_mjd", core::modified_julian_date(band.start)},
              {"ignored_channels", left_out},
              {"dms", dms}};
  for (const auto& [node, counted] : nodes)
    for (const auto& [name, count] : counted->counters())
      record["counters"][node + "." + name] = count;
  return record;
}

// Of series that are sampled differently, a segment of the trials for each sampling.
std::string series_record(const NodeContext& context, const std::vector<NamedNode>& nodes,
                          std::span<const engine::Stream> inputs,
                          std::span<const std::uint64_t> written) {
  const auto& first = inputs.front().detail<TrialStream>();
  std::vector<double> dms;
  Json segments, data_segments;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const auto& trials = inputs[k].detail<TrialStream>();
    segments.push_back({{"first_trial", dms.size()},
                        {"trials", trials.dms.size()},
                        {"downsample", trials.downsample},
                        {"samples", written[k]},
                        {"method", trials.method}});
    dms.insert(dms.end(), trials.dms.begin(), trials.dms.end());
  }
  for (const auto& [from, end] : first.data_segments)
    data_segments.push_back({{"first_sample", from}, {"samples", end - from}});
  Json record = record_of("tautline.dedisperse.record", context, nodes, first.description, dms,
                          first.dm_constant, first.left_out);
  record["tsamp_s"] = first.description.tsamp_s * static_cast<double>(first.downsample);
  record["segments"] = segments;
  if (!data_segments.empty()) record["data_segments"] = data_segments;
  return record.dump(1) + "\n";
}

std::unique_ptr<engine::Node> make_trial_file(const TrialFile& config, const engine::Graph& graph,
                                              const engine::Port& output,
                                              const NodeContext& context) {
  TrialFiles files{config.format, config.path, context.overwrite};
  files.describe = [context, nodes = nodes_before(graph, output)](auto inputs, auto written) {
    return series_record(context, nodes, inputs, written);
  };
  return std::make_unique<TrialSinkNode>(std::move(files));
}

std::unique_ptr<engine::Node> make_candidate_file(const CandidateFile& config,
                                                  const engine::Graph& graph,
                                                  const engine::Port& output,
                                                  const NodeContext& context) {
  auto sink = std::make_unique<CandidateSinkNode>(
      CandidateFiles{.output = config.path, .overwrite = context.overwrite});
  sink->describe = [context, node = sink.get(), nodes = nodes_before(graph, output)] {
    const PulseStream& pulses = node->stream();
    const FilterbankStream& filterbank = pulses.filterbank;
    Json record = record_of("tautline.search.record", context, nodes, filterbank.description(),
                            pulses.trials.dms(), pulses.dm_constant, filterbank.left_out.front());
    record["inputs"] = filterbank.files;
    record["tsamp_s"] = filterbank.description().tsamp_s;
    record["candidates"] = node->candidates().size();
    return CandidateTexts{"", record.dump(1) + "\n"};
  };
  return sink;
}

}  // namespace

std::vector<NodeType> filterbank_node_types() {
  return {
      node_type<FilterbankFiles>("filterbank_files", "filterbanks from files of any format", 0,
                                 make_source)
          .reading({"files", "mask"}),
      composite_type<DedisperseStage>(
          "dedisperse",
          "a filterbank to the series of every trial DM; an output for each sampling of them", 1,
          add_dedispersion),
      node_type<SearchStage>("search", "a filterbank to the pulses in all trial DMs", 1,
                             make_search),
      sink_type<TrialFile>("trial_files", "series to .npy, or to a folder of .dat or .tim",
                           kAnyInputs, make_trial_file)
          .writing({"path"}),
      sink_type<CandidateFile>("candidate_file", "pulses to a list: .csv, .cand or .singlepulse", 1,
                               make_candidate_file)
          .writing({"path"})};
}

}  // namespace tautline::pipeline
