#include "tautline/pipeline/search/node_types.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/input_stream.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/graph_streams.h"
#include "tautline/pipeline/pace.h"
#include "tautline/pipeline/search/candidate_events_node.h"
#include "tautline/pipeline/search/candidate_sink_node.h"
#include "tautline/pipeline/search/candidate_triggers_node.h"
#include "tautline/pipeline/search/dedisperse_node.h"
#include "tautline/pipeline/search/filterbank_input.h"
#include "tautline/pipeline/search/filterbank_record.h"
#include "tautline/pipeline/search/inject_node.h"
#include "tautline/pipeline/search/iqrm_node.h"
#include "tautline/pipeline/search/level_steps.h"
#include "tautline/pipeline/search/live_filterbank_node.h"
#include "tautline/pipeline/search/live_search_record.h"
#include "tautline/pipeline/search/search_plan.h"
#include "tautline/pipeline/search/search_report.h"
#include "tautline/pipeline/search/trial_sink_node.h"
#include "tautline/stream/live_filterbank.h"
#include "tautline/stream/packet_filterbank.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;
using Json = nlohmann::ordered_json;
using Plans = std::vector<std::shared_ptr<const stages::dedisperse::Plan>>;

// A sixteenth of the memory, in as many samples as a search takes at most.
std::size_t block_samples_of(const NodeContext& context, const FilterbankStream& stream) {
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
  const double pace = pace_of(config.rate, context);
  if (pace > 0 && config.beams)
    throw Error(ErrorKind::config, "beams", "given for data that come as if live",
                "beams that come together", "give each beam a filterbank_files of its own");
  auto input = open_filterbanks(config, config.beams, config.fill_gaps, *context.devices.front());
  input->block_samples = config.block_samples;
  if (pace > 0 && config.block_samples == 0)
    input->block_samples =
        paced_block_samples(kMostBlock, input->description().rate_hz.value(), kLiveBlock);
  const std::size_t block_samples = input->block_samples;
  auto source = make_filterbank_source(std::move(input), 1);
  source->set_pace(pace);
  const FilterbankStream& stream = source->stream();
  source->read_for(stream.parts,
                   block_samples > 0 ? block_samples : block_samples_of(context, stream));
  return source;
}

[[noreturn]] void refuse_other_passes(const std::string& found) {
  throw Error(ErrorKind::config, "inputs", found, "one reading of the files for all who share them",
              "give the search a filterbank_files of its own, or more memory");
}

// One beam without gaps, which is read once.
void require_whole(const FilterbankStream& stream, const char* field) {
  if (stream.beams.size() > 1)
    throw Error(ErrorKind::config, field, std::to_string(stream.beams.size()) + " beams", "one",
                "dedisperse beams one by one");
  if (stream.parts.size() > 1)
    throw Error(ErrorKind::config, field, "data with gaps, or steps of level",
                "series without them",
                "set fill_gaps of the files, or name one part with start_s and duration_s");
  if (stream.leaves_gaps)
    throw Error(ErrorKind::config, field, "live data, of which what holds nothing is left out",
                "series without gaps", "set fill_gaps or keep_constant of the live_filterbank");
  if (stream.parts.front().passes != 1)
    refuse_other_passes("a filterbank that a search reads several times");
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
  const ChosenTrials trials =
      choose_trials(config, config.dms, {band.channel_mhz, band.tsamp_s, config.dm_constant});
  trials.allow_loss(stage);
  const Plans plans = stages::dedisperse::make_plans(stage, trials.plan, device, 0);
  require_samples(plans, stream.parts.front().placed.range.count, band.rate_hz.value());
  const engine::NodeId node = graph.add(name, std::make_unique<DedisperseNode>(plans, device));
  graph.connect(inputs.front(), node, edge);
  std::vector<engine::Port> outputs;
  for (std::size_t k = 0; k < plans.size(); ++k) outputs.emplace_back(node, k);
  return outputs;
}

std::unique_ptr<engine::Node> make_iqrm(const IqrmConfig& config, const NodeContext&) {
  return std::make_unique<IqrmNode>(config);
}

std::unique_ptr<engine::Node> make_inject(const InjectStage& config, const NodeContext&) {
  if (config.pulses.every_s == 0)
    throw Error(ErrorKind::config, "pulses", "not given", "every=, dm=, width= and snr=");
  return std::make_unique<InjectNode>(config.pulses, config.dm_constant);
}

// A node's source, through masks.
struct FilterbankReading {
  FilterbankSourceNode* source = nullptr;
  const IqrmNode* iqrm = nullptr;
  const InjectNode* inject = nullptr;
  bool alone = true;  ///< no other node reads the source
};

FilterbankReading reading_of(const engine::Graph& graph, const engine::Port& from) {
  FilterbankReading reading;
  const auto readers = [&](engine::NodeId node) {
    return std::count_if(graph.edges().begin(), graph.edges().end(),
                         [&](const auto& edge) { return edge.from.node == node; });
  };
  engine::NodeId node = from.node;
  reading.alone = readers(node) == 0;
  for (;;) {
    engine::Node& at = *graph.members()[node].node;
    reading.source = dynamic_cast<FilterbankSourceNode*>(&at);
    const auto* masks = dynamic_cast<const IqrmNode*>(&at);
    const auto* injects = dynamic_cast<const InjectNode*>(&at);
    if (masks == nullptr && injects == nullptr) return reading;
    if (masks != nullptr) reading.iqrm = masks;
    if (injects != nullptr) reading.inject = injects;
    const auto edge = std::find_if(graph.edges().begin(), graph.edges().end(),
                                   [&](const auto& one) { return one.to.node == node; });
    if (edge == graph.edges().end()) return reading;
    node = edge->from.node;
    reading.alone = reading.alone && readers(node) == 1;
  }
}

// The Config of the files and the stage together.
SearchConfig search_config(const SearchStage& stage, const FilterbankStream& stream,
                           const IqrmNode* iqrm, const NodeContext& context) {
  SearchConfig config = stage;
  config.iqrm = iqrm != nullptr;
  if (iqrm != nullptr) config.iqrm_limits = iqrm->config();
  config.memory_bytes = context.memory_bytes;
  config.history = context.history;
  config.overwrite = context.overwrite;
  config.inputs = stream.files;
  config.held_samples = stream.held_samples;
  if (!stream.input) return config;
  const FilterbankRunConfig& read = stream.input->config;
  config.inputs = read.inputs;
  config.reader = read.reader;
  config.start_s = read.start_s;
  config.duration_s = read.duration_s;
  config.ignored_channels = read.ignored_channels;
  config.mask = read.mask;
  config.flag_channels = read.flag_channels;
  config.keep_constant = read.keep_constant;
  // So that the same latency gives the same result as with live data.
  config.held_samples =
      read.keep_constant ? 0 : spectra_ahead(stream.description(), stream.left_out.front());
  config.beams = stream.input->each_is_beam;
  return config;
}

void require_one_pass(const SearchPlan& plan) {
  const MemoryBound bound = memory_bound(plan.device());
  if (plan.passes().size() > 1)
    throw Error(ErrorKind::memory, bound.field,
                std::to_string(plan.passes().size()) + " passes over data that come once", "one",
                bound.advice + ", or try fewer DMs");
}

// Pulses at other DMs would be missed.
void require_injections_in_trials(const FilterbankReading& reading, const SearchPlan& plan,
                                  const formats::FilterbankDescription& description) {
  if (reading.inject == nullptr) return;
  const std::vector<double> dms = plan.trials().dms();
  require_injected_dms(reading.inject->config(), dms.front(), dms.back(),
                       injection_band(description, plan.config().dm_constant));
}

// Of data that pass once, in the blocks that they come in.
std::vector<engine::Port> add_live_search(const SearchStage& config, engine::Graph& graph,
                                          const std::string& name, const engine::Port& from,
                                          const engine::EdgeOptions& edge,
                                          const NodeContext& context) {
  const auto& device = context.devices.front();
  const engine::Stream input = stream_at(graph, from);
  const auto& stream = input.detail<FilterbankStream>();
  const FilterbankReading reading = reading_of(graph, from);
  auto plan = std::make_shared<const SearchPlan>(
      search_config(config, stream, reading.iqrm, context), stream.description(), stream.parts,
      stream.left_out, device, input.max_samples);
  require_one_pass(*plan);
  require_injections_in_trials(reading, *plan, stream.description());
  const engine::NodeId node =
      graph.add(name, std::make_unique<SearchNode>(node_config(std::move(plan)), device));
  graph.connect(from, node, edge);
  return {node};
}

// A search that is the first to read a source says how long its blocks are and how often it reads; others take what
// there is.
std::vector<engine::Port> add_search(const SearchStage& config, engine::Graph& graph,
                                     const std::string& name,
                                     const std::vector<engine::Port>& inputs,
                                     const engine::EdgeOptions& edge, const NodeContext& context) {
  const auto& device = context.devices.front();
  const engine::Port& from = inputs.front();
  const engine::Stream input = stream_at(graph, from);
  input.detail<FilterbankStream>();  // refuses other kinds
  const FilterbankReading reading = reading_of(graph, from);
  if (reading.source == nullptr) return add_live_search(config, graph, name, from, edge, context);
  FilterbankSourceNode& source = *reading.source;
  const FilterbankStream& stream = source.stream();
  const bool first = reading.alone;
  const bool sets_blocks = first && stream.input->block_samples == 0;
  auto plan = std::make_shared<const SearchPlan>(
      search_config(config, stream, reading.iqrm, context), stream.description(), stream.parts,
      stream.left_out, device, sets_blocks ? 0 : source.block_samples());
  if (input.pace > 0) require_one_pass(*plan);
  require_injections_in_trials(reading, *plan, stream.description());
  const std::vector<FilterbankPart> parts = plan->parts();
  const auto passes = [](const FilterbankPart& part) { return part.passes; };
  if (first)
    source.read_for(parts, sets_blocks ? plan->block_samples() : source.block_samples());
  else if (!std::ranges::equal(parts, stream.parts, {}, passes, passes))
    refuse_other_passes("a search that reads its files otherwise than another node");
  const engine::NodeId node =
      graph.add(name, std::make_unique<SearchNode>(node_config(std::move(plan)), device));
  graph.connect(from, node, edge);
  return {node};
}

// The first of a type among the nodes that blocks come through.
template <class Node>
const Node* find_node(const std::vector<NamedNode>& nodes) {
  for (const NamedNode& one : nodes)
    if (const auto* found = dynamic_cast<const Node*>(one.node)) return found;
  return nullptr;
}

// Of series with several sample times, a range of trials for each sample time.
std::string series_record(const NodeContext& context, const std::vector<NamedNode>& nodes,
                          const WrittenSeries& written) {
  const std::span<const engine::Stream> inputs = written.inputs;
  const auto& first = inputs.front().detail<TrialStream>();
  std::vector<double> dms;
  Json ranges, data_segments;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const auto& trials = inputs[k].detail<TrialStream>();
    ranges.push_back({{"first_trial", dms.size()},
                      {"trials", trials.dms.size()},
                      {"downsample", trials.downsample},
                      {"samples", written.samples[k]},
                      {"delays_samples", trials.delays},
                      {"method", trials.method},
                      {"filled", written.filled[k].record()}});
    dms.insert(dms.end(), trials.dms.begin(), trials.dms.end());
  }
  for (const auto& [from, end] : written.data_segments)
    data_segments.push_back({{"first_sample", from}, {"samples", end - from}});
  const formats::FilterbankDescription& band = first.description;
  Json record{{"schema", "tautline.dedisperse.record"},
              {"version", 1},
              {"history", context.history},
              {"device", context.devices.front()->name()},
              {"f_ref_mhz", band.highest_mhz()},
              {"dm_constant", first.dm_constant},
              {"start", core::to_iso(band.start)},
              {"start_mjd", core::modified_julian_date(band.start)},
              {"ignored_channels", first.left_out},
              {"dms", dms}};
  record["tsamp_s"] = band.tsamp_s * static_cast<double>(first.downsample);
  record["segments"] = ranges;
  if (!data_segments.empty()) record["data_segments"] = data_segments;
  if (!written.last) return record.dump(1) + "\n";  // the other nodes still count
  for (const auto& [node, counted] : nodes)
    for (const auto& [name, count] : counted->counters())
      record["counters"][node + "." + name] = count;
  const auto& moments = find_node<DedisperseNode>(nodes)->moments();
  if (!moments.empty()) {
    const Bandpass bandpass = bandpass_of(moments, band.zero_level);
    record["bandpass"] = {{"mean", bandpass.mean},
                          {"standard_deviation", bandpass.standard_deviation}};
  }
  const auto* source = find_node<FilterbankSourceNode>(nodes);
  if (source != nullptr && source->stream().input != nullptr) {
    const Beam& beam = source->stream().input->beams.front();
    record["level_steps"] = level_steps(beam.level_steps);
    record["uncut_levels"] = uncut_levels(beam.uncut_levels);
  }
  return record.dump(1) + "\n";
}

std::unique_ptr<engine::Node> make_trial_file(const TrialFile& config, const engine::Graph& graph,
                                              const engine::Port& output,
                                              const NodeContext& context) {
  TrialFiles files{config.format, config.path, context.overwrite};
  files.parts = config.parts;
  const FileParts parts(config.path, config.parts);
  // Folders that are there are written into again.
  const bool replaced = context.overwrite && config.format != SeriesFormat::npy;
  if (parts.several() && !replaced) parts.require_can_be_written("path", context.overwrite);
  files.describe = [context, nodes = nodes_before(graph, output)](const WrittenSeries& written) {
    return series_record(context, nodes, written);
  };
  return std::make_unique<TrialSinkNode>(std::move(files));
}

// They are drawn from the input, which is read again.
void refuse_pictures_of_live(const CandidateFile& config) {
  const auto refuse = [](const char* field) {
    throw Error(ErrorKind::config, field, "given for data that pass once", "files",
                "leave `" + std::string(field) + "` out");
  };
  if (!config.plot_folder.empty()) refuse("plot_folder");
  if (!config.cutout_folder.empty()) refuse("cutout_folder");
}

std::unique_ptr<engine::Node> make_candidate_events(const CandidateEvents& config,
                                                    const engine::Graph&, const engine::Port&,
                                                    const NodeContext& context) {
  return std::make_unique<CandidateEventsNode>(config.path, context.overwrite, config.parts);
}

std::unique_ptr<stream::LiveSpectra> open_packets(const LiveFilterbankConfig& config,
                                                  const NodeContext& context) {
  if (config.header.empty())
    throw Error(ErrorKind::config, "header", "not given",
                "a filterbank whose header describes the packets of " + config.path,
                "packets have neither frequencies nor times");
  stream::PacketRowsConfig packets{.listen = config.path,
                                   .layout = config.layout,
                                   .interface = config.interface,
                                   .first_count = config.first_count,
                                   .window_samples = config.window_samples,
                                   .wait_s = config.wait_s,
                                   .silence_s = config.silence_s,
                                   .longest_gap_s = config.longest_gap_s,
                                   .log = context.log};
  return std::make_unique<stream::PacketFilterbank>(
      std::move(packets), formats::open_filterbank({config.header}, config.reader)->description(),
      !context.only_planned, context.stop);
}

void refuse_fields_of_packets(const LiveFilterbankConfig& config) {
  const LiveFilterbankConfig none;
  const auto refuse = [](const char* field, bool given) {
    if (given)
      throw Error(ErrorKind::config, field, "of packets; `path` is a pipe", "",
                  "leave `" + std::string(field) + "` out, or give a `path` udp://HOST:PORT");
  };
  refuse("header", config.header != none.header);
  refuse("layout", config.layout != none.layout);
  refuse("first_count", config.first_count != none.first_count);
  refuse("window_samples", config.window_samples != none.window_samples);
  refuse("silence_s", config.silence_s != none.silence_s);
  refuse("longest_gap_s", config.longest_gap_s != none.longest_gap_s);
  refuse("interface", config.interface != none.interface);
}

std::unique_ptr<engine::Node> make_live_filterbank(const LiveFilterbankConfig& config,
                                                   const NodeContext& context) {
  constexpr std::size_t kShare = 16, kMost = std::size_t{256} << 20;
  const bool packets = config.path.starts_with("udp:");
  if (!packets) refuse_fields_of_packets(config);
  if (packets ? config.leave_out_constant : formats::is_stream(config.path))
    refuse_planned_pipe(context, "path", config.path);
  LiveFilterbankConfig in_run = config;
  in_run.log = context.log;
  in_run.stop = context.stop;
  std::unique_ptr<stream::LiveSpectra> filterbank;
  if (packets)
    filterbank = open_packets(config, context);
  else
    filterbank = std::make_unique<stream::LiveFilterbank>(
        config.path, std::min(context.memory_bytes / kShare, kMost), config.wait_s, context.stop,
        config.reader);
  for (const std::string& remark : filterbank->remarks())
    if (context.log) context.log(core::LogLevel::warning, remark);
  return std::make_unique<LiveFilterbankNode>(std::move(filterbank), in_run);
}

std::unique_ptr<engine::Node> make_candidate_file(const CandidateFile& config,
                                                  const engine::Graph& graph,
                                                  const engine::Port& output,
                                                  const NodeContext& context) {
  const engine::Stream stream = stream_at(graph, output);
  const auto& pulses = stream.detail<PulseStream>();
  formats::candidates::format_of(config.output);  // a file of candidates has a name
  formats::require_can_be_written("path", config.output, context.overwrite);
  if (!pulses.filterbank.input) refuse_pictures_of_live(config);
  auto sink = std::make_unique<CandidateSinkNode>(
      CandidateFiles{config.output, context.overwrite, config.plot_folder, config.cutout_folder,
                     config.max_beams});
  const std::vector<NamedNode> before = nodes_before(graph, output);
  if (!pulses.filterbank.input) {
    sink->describe = [plan = pulses.plan, list = sink.get(), before,
                      device = context.devices.front()](const std::stop_token&) {
      return live_search_record(*plan, *list, before, *device);
    };
    return sink;
  }
  SearchConfig reported = pulses.plan->config();
  if (const auto* injects = find_node<InjectNode>(before)) reported.inject = injects->config();
  reported.output = config.output;
  reported.max_beams = config.max_beams;
  reported.plot_folder = config.plot_folder;
  reported.most_plots = config.most_plots;
  reported.cutout_folder = config.cutout_folder;
  reported.most_cutouts = config.most_cutouts;
  const auto report = std::make_shared<SearchReport>(std::move(reported), pulses.filterbank.input,
                                                     pulses.plan, context.devices.front());
  const SearchRunNodes nodes{find_node<FilterbankSourceNode>(before), find_node<SearchNode>(before),
                             sink.get(), find_node<IqrmNode>(before),
                             find_node<InjectNode>(before)};
  sink->describe = [report, nodes](const std::stop_token& stop) {
    return report->describe(nodes, stop);
  };
  sink->draw = [report, nodes, files = sink.get()](const std::stop_token& stop) {
    report->draw(nodes, *files, {}, stop);
  };
  return sink;
}

}  // namespace

std::vector<NodeType> filterbank_node_types() {
  return {
      node_type<FilterbankFiles>("filterbank_files", "filterbanks from files of any format", 0,
                                 make_source)
          .reading({"files", "mask"})
          .drawn_live(),
      node_type<LiveFilterbankConfig>("live_filterbank",
                                      "a filterbank that is being written: a pipe, or standard "
                                      "input, in sigproc's form; or packets over UDP",
                                      0, make_live_filterbank)
          .reading({"layout", "header"})
          .drawn_live(),
      node_type<IqrmConfig>("iqrm",
                            "replaces channels of a filterbank by their means for as long as their "
                            "standard deviation stands out of their neighbours'",
                            1, make_iqrm)
          .drawn_live(),
      node_type<InjectStage>("inject",
                             "puts pulses into a filterbank, to see which of them a search finds",
                             1, make_inject),
      composite_type<DedisperseStage>(
          "dedisperse",
          "a filterbank to the series of every trial DM; an output for each sampling of them", 1,
          add_dedispersion),
      composite_type<SearchStage>("search", "filterbanks to the pulses in all trial DMs", 1,
                                  add_search)
          .drawn_live(),
      sink_type<TrialFile>("trial_files", "series to .npy, or to a folder of .dat or .tim",
                           kAnyInputs, make_trial_file)
          .writing({"path"}),
      node_type<CandidateTriggersConfig>(
          "candidate_triggers", "pulses to triggers, for buffers", 1,
          [](const CandidateTriggersConfig& config, const NodeContext&) {
            return std::make_unique<CandidateTriggersNode>(config);
          }),
      sink_type<CandidateFile>("candidate_file", "pulses to a list: .csv, .cand or .singlepulse", 1,
                               make_candidate_file)
          .writing({"path"}),
      sink_type<CandidateEvents>("candidate_events",
                                 "pulses to a file that grows, a line of JSON each as they come", 1,
                                 make_candidate_events)
          .writing({"path"})};
}

}  // namespace tautline::pipeline
