// tautline run: any graph of sources, stages and sinks, from a TOML file.
#include "tautline/engine/run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <utility>

#include "cli/common_options.h"
#include "cli/field_options.h"
#include "cli/interrupts.h"
#include "cli/monitor_options.h"
#include "cli/run_output.h"
#include "tautline/core/counted.h"
#include "tautline/core/field_text.h"
#include "tautline/core/nearest_name.h"
#include "tautline/pipeline/checkpoint.h"
#include "tautline/pipeline/graph_file/expected_rate.h"
#include "tautline/pipeline/graph_file/graph_file.h"
#include "tautline/pipeline/graph_file/observation_clock.h"
#include "tautline/pipeline/monitor/monitor.h"
#include "tautline/pipeline/monitor/taps.h"

namespace tautline::cli {

namespace {

struct RunOptions {
  std::string path, memory, checkpoint;
  MonitorOptions monitor;
  std::vector<std::string> assignments;
  double as_live = 0;  // 0: not
  double end_within_s = 30;
  bool check = false, plan = false, overwrite = false, strict = false, types = false;
};

std::string mebibytes(std::size_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string shape_of(const engine::ArrayType& array) {
  std::string text = fmt::format("{} {} [", array.name, core::to_string(array.type));
  for (std::size_t a = 0; a < array.axes.size(); ++a)
    text += fmt::format("{}{} {}", a > 0 ? ", " : "", array.axes[a], array.extents[a]);
  return text + "]";
}

// Nodes, their threads, what they give and the memory that they take.
std::string plan_of(const engine::Run& run) {
  std::string text;
  for (const engine::PlannedNode& node : run.plan()) {
    text += fmt::format("{} on {}", node.name, node.lane);
    if (!node.kernels.empty()) text += ": " + node.kernels;
    text += '\n';
    for (const engine::Stream& stream : node.outputs) {
      text += fmt::format("  gives {}", stream.kind);
      for (const engine::ArrayType& array : stream.arrays) text += "; " + shape_of(array);
      if (stream.device) text += "; in the memory of " + stream.device->name();
      text += '\n';
    }
    text += fmt::format("  takes {} of the host", mebibytes(node.bytes.host_bytes));
    if (node.bytes.device_bytes > 0)
      text += fmt::format(", {} of the device", mebibytes(node.bytes.device_bytes));
    if (node.blocks > 0)
      text +=
          fmt::format("; {}, {}", core::counted(node.blocks, "block"), mebibytes(node.block_bytes));
    text += '\n';
  }
  const device::MemoryUse all = run.bytes();
  return text + fmt::format("memory: {} of the host, {} of devices\n", mebibytes(all.host_bytes),
                            mebibytes(all.device_bytes));
}

nlohmann::ordered_json node_json(const engine::PlannedNode& node) {
  auto outputs = nlohmann::ordered_json::array();
  for (const engine::Stream& stream : node.outputs) {
    auto arrays = nlohmann::ordered_json::array();
    for (const engine::ArrayType& array : stream.arrays)
      arrays.push_back({{"name", array.name},
                        {"type", core::to_string(array.type)},
                        {"axes", array.axes},
                        {"extents", array.extents}});
    outputs.push_back({{"kind", stream.kind},
                       {"arrays", arrays},
                       {"device", stream.device ? stream.device->name() : ""}});
  }
  return {{"node", node.name},
          {"lane", node.lane},
          {"kernels", node.kernels},
          {"outputs", outputs},
          {"host_bytes", node.bytes.host_bytes},
          {"device_bytes", node.bytes.device_bytes},
          {"blocks", node.blocks},
          {"block_bytes", node.block_bytes}};
}

// The same as JSON, with the rate to expect; null where nothing was measured.
nlohmann::ordered_json plan_json(const std::string& path, const engine::Run& run,
                                 const pipeline::ExpectedRate& rate) {
  auto nodes = nlohmann::ordered_json::array(), measured = nlohmann::ordered_json::array();
  for (const engine::PlannedNode& node : run.plan()) nodes.push_back(node_json(node));
  for (const pipeline::ExpectedNode& node : rate.measured)
    measured.push_back({{"node", node.name},
                        {"device", node.load.device},
                        {"seconds_per_data_s", node.load.seconds}});
  nlohmann::ordered_json expected_s, factor;
  if (!rate.bound_by.empty()) factor = rate.real_time_factor();
  if (!rate.bound_by.empty() && rate.stream_s > 0)
    expected_s = rate.busiest.seconds * rate.stream_s;
  return {{"pipeline", path},
          {"nodes", nodes},
          {"host_bytes", run.bytes().host_bytes},
          {"device_bytes", run.bytes().device_bytes},
          {"measured", measured},
          {"not_measured", rate.not_measured},
          {"bound_by", rate.bound_by},
          {"data_s", rate.stream_s},
          {"expected_s", expected_s},
          {"expected_real_time_factor", factor}};
}

// The types of nodes, with their fields; with a name, that type alone.
std::string types_text(const std::vector<pipeline::NodeType>& types, const std::string& name) {
  std::string text;
  for (const pipeline::NodeType& type : types) {
    if (!name.empty() && type.name != name) continue;
    text += fmt::format(
        "{}: {}; inputs: {}\n", type.name, type.help,
        type.inputs == pipeline::kAnyInputs ? "1 or more" : std::to_string(type.inputs));
    for (const core::FieldDescription& field : type.fields) {
      text += fmt::format("  {:<24} {}", field.name, field.help);
      if (!field.unit.empty()) text += ", in " + field.unit;
      if (!field.allowed.empty()) text += "; " + field.allowed;
      text += '\n';
    }
  }
  std::vector<std::string> names;
  for (const pipeline::NodeType& type : types) names.push_back(type.name);
  const std::string nearest = core::did_you_mean(name, names);
  if (text.empty())
    throw core::Error(core::ErrorKind::config, "pipeline", name, "with --types a type of nodes",
                      nearest.empty() ? "leave it out: all are listed then" : nearest);
  return text;
}

// The counters of the data's way through the run: blocks that only a page skips are no loss.
engine::Counters counters_of(const engine::Run& run) {
  engine::Counters counters = run.counters();
  std::erase_if(counters, [](const auto& one) { return pipeline::monitor::is_tap(one.first); });
  return counters;
}

void summarise_run(const Global& global, const RunOptions& options, const engine::Run& run,
                   double elapsed_s, bool interrupted) {
  const engine::Profile profile = run.profile();
  const engine::Counters counters = counters_of(run);
  const auto files = run.files();
  nlohmann::ordered_json object{{"pipeline", options.path},
                                {"counters", counters},
                                {"files", nlohmann::ordered_json::object()},
                                {"behind_s", nlohmann::ordered_json::object()},
                                {"interrupted", interrupted},
                                {"elapsed_s", elapsed_s}};
  for (const auto& [node, names] : files) object["files"][node] = names;
  std::string text = fmt::format("{}: {:.3f} s\n", options.path, elapsed_s);
  for (const auto& [name, count] : counters) text += fmt::format("  {}: {}\n", name, count);
  for (const auto& [node, names] : files)
    for (const std::string& name : names) text += fmt::format("  {} wrote {}\n", node, name);
  for (const engine::NodeProfile& node : profile.nodes) {
    if (!node.paced) continue;
    object["behind_s"][node.node] = node.behind_s;
    text += fmt::format("  {} was {:.3f} s behind its rate at most\n", node.node, node.behind_s);
  }
  text += run.findings();
  print_summary(global, "tautline.run", object, text, &profile);
}

// Whether a source or a stage got past damage.
bool damaged(const engine::Counters& counters) {
  return std::any_of(counters.begin(), counters.end(), [](const auto& one) {
    const std::string name = one.first.substr(one.first.find('.') + 1);
    const bool harm = name == "lost_samples" || name == "dropped_samples" ||
                      name == "trailing_bytes" || name == "not_finite" || name == "overflowed" ||
                      name == "dropped_blocks" || name == "dropped_spectra" ||
                      name == "failed_dumps";
    return harm && one.second > 0;
  });
}

/// One run of a pipeline.
struct OneRun {
  const Global& global;
  const RunOptions& options;
  pipeline::GraphFile file;
  pipeline::NodeContext context;
};

// The facts by which a resumed run is recognised as the same run: bits of files depend on the device and the version,
// too.
std::shared_ptr<pipeline::Checkpoint> open_checkpoint(const OneRun& run) {
  run.file.require_resumable();
  auto checkpoint = std::make_shared<pipeline::Checkpoint>(run.options.checkpoint);
  auto facts = run.file.facts();
  facts["version"] = TAUTLINE_VERSION;
  for (const auto& device : run.context.devices) facts["device"] += device->name() + " ";
  checkpoint->require_same(facts);
  return checkpoint;
}

std::unique_ptr<engine::Run> make_run(const OneRun& one, engine::RunOptions options,
                                      const pipeline::RunWatch* watch) {
  try {
    engine::Graph graph = one.file.build(one.context);
    if (watch != nullptr && watch->prepare) watch->prepare(graph, one.file.drawn());
    options.memory_bytes = one.context.memory_bytes;
    options.live_counters = watch != nullptr && watch->begin;
    options.pace = one.context.pace;
    auto run = std::make_unique<engine::Run>(std::move(graph), std::move(options));
    if (one.context.pace > 0 && run->live())
      throw core::Error(core::ErrorKind::config, "--as-live", "given",
                        "a pipeline that reads files", "its sources are live: leave it out");
    return run;
  } catch (const engine::NodeError& error) {
    throw one.file.placed(error.node(), error);
  }
}

void print_run_plan(const OneRun& one, const engine::Run& run) {
  const pipeline::ExpectedRate rate = pipeline::expected_rate(run);
  if (one.global.json)
    print_json("tautline.plan", 1, plan_json(one.options.path, run, rate));
  else
    fmt::print("{}{}", plan_of(run), pipeline::describe(rate));
}

void say_checked(const Global& global, const RunOptions& options) {
  if (options.plan) return;  // which says so, too
  if (global.json)
    print_json("tautline.check", 1, {{"pipeline", options.path}, {"could_run", true}});
  else if (!global.quiet)
    fmt::print("{}: could run\n", options.path);
}

// A chain without a file at its end is a slip.
void warn_of_open_ends(const pipeline::GraphFile& file, const engine::Run& run) {
  const std::vector<std::string> ends = file.ends();
  for (const engine::PlannedNode& node : run.plan())
    if (!node.outputs.empty() && std::find(ends.begin(), ends.end(), node.name) != ends.end())
      spdlog::warn("[{}]: no node takes what it gives: add one with inputs = \"{}\"", node.name,
                   node.name);
}

// Which node does not come back, as from the write to a pipe that nobody reads. A long write to a disk is no
// standstill.
struct Standstill {
  const engine::Run& run;
  double limit_s;
  std::uint64_t disk_bytes = 0;  // that the process has written
  double written_s = 0;          // when it last had written more

  std::string operator()(double since_s) {
    std::ifstream lines("/proc/self/io");
    std::uint64_t bytes = 0;
    for (std::string name; bytes == 0 && lines >> name;)
      if (name == "write_bytes:") lines >> bytes;
    if (std::exchange(disk_bytes, bytes) != bytes) written_s = since_s;
    if (since_s - written_s < limit_s) return {};
    const engine::Snapshot now = run.snapshot();
    if (!now.running) return {};
    for (const engine::NodeSnapshot& node : now.nodes)
      if (node.activity == engine::Activity::working && node.activity_s > limit_s)
        return fmt::format("[{}], which has stood still for {:.1f} s", node.profile.node,
                           node.activity_s);
    return {};
  }
};

// `observation`: null where the run goes on until its sources end.
int run_once(OneRun one, const pipeline::Observation* observation) {
  auto& [global, options, file, context] = one;
  // A time at which it ends also ends the wait of sources for what describes their data.
  std::optional<pipeline::ObservationClock> clock;
  if (observation != nullptr && observation->stop && !context.only_planned) {
    clock.emplace(global.stop, observation);
    context.stop = clock->stop();
  }
  ProgressLine line(global);
  const auto progress = drawn_on(line);
  pipeline::ProgressReporter reporter(progress);
  double rate_hz = 1;
  const auto tell = [&](std::uint64_t samples, std::uint64_t total) {
    reporter.report(samples, total, static_cast<double>(samples) / rate_hz);
  };
  const pipeline::RunWatch watch = options.monitor.watch(options.path, file.written());
  // Instead of messages about a run that was stopped before enough data had come.
  const auto require_enough = [&](const core::Error& error) {
    const bool stopped = one.global.stop.stop_requested();
    const bool too_little =
        error.kind() == core::ErrorKind::format || (!stopped && error.value() == "interrupted");
    if (clock && clock->stop().stop_requested() && too_little)
      throw core::Error(core::ErrorKind::io, "run", stopped ? "interrupted" : "over", "",
                        "too little had come to write anything");
  };
  const std::unique_ptr<engine::Run> run = [&] {
    try {
      return make_run(one, {.progress = tell}, &watch);
    } catch (const core::Error& error) {
      require_enough(error);
      throw;
    }
  }();
  rate_hz = run->plan().front().outputs.front().rate_hz.value();
  warn_of_open_ends(file, *run);
  if (observation != nullptr && observation->is_ended() && !run->live())
    throw core::Error(core::ErrorKind::config, observation->place, "an end by the clock",
                      "live sources alone",
                      "of files, set start_s and duration_s of the source instead");
  if (options.plan) print_run_plan(one, *run);
  if (options.check) say_checked(global, options);
  if (options.check || options.plan) return kDone;
  std::shared_ptr<void> watching;
  if (watch.begin) watching = watch.begin(*run);
  finish_when_stopped();  // live sources end there, and what came is written
  const EndsWhereHeldUp ends(Standstill{*run, options.end_within_s});
  std::optional<HangupsRotate> rotation;
  if (run->rotates()) rotation.emplace([&run] { run->rotate(); });
  if (!clock) clock.emplace(global.stop, observation);
  const char* kept = "finished files were kept, and the same command goes on behind them";
  if (context.checkpoint) say_when_ended(std::string("interrupted; ") + kept);
  try {
    run->go(clock->stop());
  } catch (const core::Error& error) {
    if (context.checkpoint && error.value() == "interrupted")
      throw core::Error(error.kind(), error.field(), error.value(), "", kept);
    require_enough(error);
    throw file.placed(run->failed_node(), error);
  }
  // Of files alone it would have been an error.
  const bool interrupted = run->live() && global.stop.stop_requested();
  summarise_run(global, options, *run, reporter.elapsed_s(), interrupted);
  if (interrupted)
    spdlog::warn("{}: stopped before its input ended; the outputs hold what had come",
                 options.path);
  if (!interrupted && !damaged(counters_of(*run))) return kDone;
  return options.strict ? kFailed : kDamagedInput;
}

// Each is a run of its own: a receiver that is retuned, files that are closed. One that fails does not end the others.
int run_schedule(const OneRun& whole) {
  const auto& schedule = whole.file.schedule();
  std::vector<OneRun> runs;
  bool rotates = false;
  for (std::size_t k = 0; k < schedule.size(); ++k) {
    runs.push_back(whole);
    runs.back().file.observe(schedule[k].assignments, k + 1);
    OneRun planned = runs.back();  // all are checked before the first begins
    planned.context.only_planned = true;
    const auto run = make_run(planned, {}, nullptr);
    rotates = rotates || run->rotates();
    if (schedule[k].is_ended() && !run->live())
      run_once(runs.back(), &schedule[k]);  // says why not
    if (whole.options.plan) print_run_plan(runs.back(), *run);
  }
  if (whole.options.check) say_checked(whole.global, whole.options);
  if (whole.options.check || whole.options.plan) return kDone;
  if (rotates) HangupsRotate([] {});  // between observations, too, a SIGHUP ends nothing
  int status = kDone;
  bool kept = false;  // what an observation wrote
  const auto& stop = whole.global.stop;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const std::string name = fmt::format("observation {} of {}", k + 1, runs.size());
    try {
      const bool begins = pipeline::wait_for_observation(schedule[k], name, stop, log_text);
      if (stop.stop_requested())
        throw core::Error(core::ErrorKind::io, "run", "interrupted", "", name + " was not begun");
      if (!begins) continue;
      status = std::max(status, run_once(runs[k], &schedule[k]));
      kept = true;
    } catch (const core::Error& error) {
      // One that is stopped ends all, and what those before it wrote is kept.
      const bool last = k + 1 == runs.size();
      if (stop.stop_requested() ? !kept : last) throw;
      log_text(core::LogLevel::warning,
               name + (stop.stop_requested() ? ": " : " failed: ") + error.what());
      status = kDamagedInput;
      if (stop.stop_requested()) break;
    }
  }
  return status == kDamagedInput && whole.options.strict ? kFailed : status;
}

int run_pipeline(const Global& global, const RunOptions& options) {
  const auto types = pipeline::node_types();
  if (options.types) {
    fmt::print("{}", types_text(types, options.path));
    return kDone;
  }
  if (options.path.empty())
    throw core::Error(core::ErrorKind::config, "pipeline", "not given", "a TOML file, or --types");
  (void)options.monitor.watch(options.path, {});  // refused before the file is read
  const std::string path = options.path == "-" ? "/dev/stdin" : options.path;
  if (path != options.path) say_instead(path, "standard input");
  OneRun run{global,
             options,
             pipeline::read_graph_file(path, types),
             {.devices = open_devices(global),
              .memory_bytes =
                  options.memory.empty() ? core::half_of_memory() : parse_bytes(options.memory),
              .history = history_line(global),
              .overwrite = options.overwrite,
              .threads = global.threads,
              .pace = options.as_live,
              .log = log_text,
              .stop = global.stop,
              .only_planned = options.check || options.plan}};
  for (const std::string& assignment : options.assignments) run.file.set(assignment);
  if (!options.checkpoint.empty()) {
    run.context.checkpoint = open_checkpoint(run);
    const auto files = run.context.checkpoint->files();
    if (run.context.checkpoint->over()) {
      log_text(
          core::LogLevel::warning,
          fmt::format("nothing to do: all {} files are whole, as {} says; remove it to begin anew",
                      files, options.checkpoint));
      return kDone;
    }
    if (files > 0)
      log_text(core::LogLevel::info, fmt::format("the run goes on behind file {}, as {} says",
                                                 files, options.checkpoint));
  }
  return run.file.schedule().empty() ? run_once(run, nullptr) : run_schedule(run);
}

}  // namespace

void add_run(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("run", "a pipeline: any graph of sources, stages and sinks");
  auto options = std::make_shared<RunOptions>();
  command->add_option("pipeline", options->path,
                      "a TOML file: a table for each node; - for standard input");
  command
      ->add_option("--set", options->assignments, "NODE.FIELD=VALUE instead of what the file says")
      ->allow_extra_args(false);
  command->add_flag("--check", options->check, "only say whether the pipeline could run");
  add_plan(*command, options->plan,
           "the nodes, their threads, memory and kernels, and the expected rate");
  command->add_flag("--types", options->types,
                    "only print the types of nodes and their fields; of the one type that is named "
                    "where the pipeline would be");
  command
      ->add_option("--memory", options->memory,
                   "most memory that the run may take on the host; " + core::byte_size().allowed)
      ->default_str("half of the machine's");
  add_own(*command, options->as_live,
          {.name = "as_live",
           .help = "read files as if their samples came now, at so many times real time; behind "
                   "the pipeline's name"},
          core::plain_text<double>(core::between(1e-3, 1e6)))
      ->expected(0, 1)
      ->default_str("1");
  command->add_option("--checkpoint", options->checkpoint,
                      "file that says which output files are whole; where it is there, the run "
                      "goes on behind them");
  add_own(*command, options->end_within_s,
          {.name = "end_within_s",
           .unit = "s",
           .help = "ends a run that was stopped without its last results where a node stands still "
                   "for longer"},
          core::plain_text<double>(core::between(0.1, 86'400)));
  options->monitor.add_to(*command);
  add_overwrite(*command, options->overwrite);
  add_strict(*command, options->strict);
  command->footer(
      "Example: tautline run correlate.toml --set voltages.files=night.dada --set "
      "visibilities.path=night.uvh5");
  when_chosen(*command, global, action, options, run_pipeline);
}

}  // namespace tautline::cli
