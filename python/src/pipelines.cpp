// Pipelines: run, and the blocks of one of their nodes handed over to Python.
#include <unistd.h>

#include <algorithm>
#include <any>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <iterator>
#include <mutex>

#include "array_sources.h"
#include "bindings.h"
#include "block_arrays.h"
#include "python_node.h"
#include "tautline/engine/run.h"
#include "tautline/pipeline/graph_file/graph_file.h"
#include "tautline/pipeline/graph_file/observation_clock.h"
#include "warnings.h"

namespace tautline::python {

namespace {

using core::Error;
using core::ErrorKind;

/// From the node's thread to Python's: a few blocks wait, then the node does.
class Handover {
 public:
  /// Drops it when nobody will take it.
  void give(TakenBlock block) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.size() < kMost || closed_; });
    if (closed_) return;
    waiting_.push_back(std::move(block));
    changed_.notify_all();
  }
  std::optional<TakenBlock> take(std::chrono::milliseconds longest) {
    std::unique_lock lock(mutex_);
    if (waiting_.empty()) changed_.wait_for(lock, longest);
    if (waiting_.empty()) return std::nullopt;
    TakenBlock block = std::move(waiting_.front());
    waiting_.pop_front();
    changed_.notify_all();
    return block;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  static constexpr std::size_t kMost = 2;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TakenBlock> waiting_;
  bool closed_ = false;
};

class HandoverNode final : public engine::Node {
 public:
  explicit HandoverNode(std::shared_ptr<Handover> to) : to_(std::move(to)) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    stream_ = inputs[0];
    return {};
  }
  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    to_->give(take_block(stream_, block, buffers_));
  }

 private:
  std::shared_ptr<Handover> to_;
  engine::Stream stream_;
  Buffers buffers_;
};

/// What a pipeline is made of, beside files: [(name, inputs, adapter)] of nodes in Python and
/// [(name, type, array, pairs, facts)] of arrays in place of files, which both outlive the run.
struct Parts {
  nb::list nodes, arrays;
};

std::any source_of(const std::string& type, const AnyArray& array, bool pairs,
                   const nb::dict& facts) {
  if (type == "voltage_files") return source_of_voltages(array, pairs, facts);
  if (type == "filterbank_files") return source_of_filterbank(array, facts);
  return source_of_counts(array, facts);
}

// A type that reads the array instead of files: "array:NAME".
pipeline::NodeType array_type(const std::string& name, const pipeline::NodeType& of,
                              std::any source) {
  pipeline::NodeType type = of;
  type.name = "array:" + name;
  type.reads.clear();
  type.make = [make = of.make, source, field = of.name == "count_file" ? "path" : "files"] {
    auto settings = make();
    settings->set(field, "array");
    settings->set_source(source);
    return settings;
  };
  return type;
}

std::vector<pipeline::NodeType> types_with(const Parts& parts,
                                           const std::shared_ptr<Raised>& raised) {
  std::vector<pipeline::NodeType> types = pipeline::node_types();
  const std::size_t own = types.size();
  for (const nb::handle one : parts.arrays) {
    const nb::tuple facts = nb::cast<nb::tuple>(one);
    const auto type = nb::cast<std::string>(facts[1]);
    std::any source = source_of(type, AnyArray(nb::cast<Array>(facts[2])), nb::cast<bool>(facts[3]),
                                nb::cast<nb::dict>(facts[4]));
    for (std::size_t k = 0; k < own; ++k)
      if (types[k].name == type)
        types.push_back(array_type(nb::cast<std::string>(facts[0]), types[k], source));
  }
  for (const nb::handle one : parts.nodes) {
    const nb::tuple facts = nb::cast<nb::tuple>(one);
    types.push_back(python_node_type(nb::cast<std::string>(facts[0]),
                                     nb::cast<std::size_t>(facts[1]), nb::borrow(facts[2]),
                                     raised));
  }
  return types;
}

// A file, a text, or a file with a text behind it.
pipeline::GraphFile graph_of(const std::string& path, const std::string& text,
                             const std::vector<pipeline::NodeType>& types) {
  if (text.empty() && !path.empty()) return pipeline::read_graph_file(path, types);
  std::string whole;
  if (!path.empty()) {
    (void)formats::TomlTable::read(path);  // its errors
    std::ifstream file(path);
    whole.assign(std::istreambuf_iterator<char>(file), {});
    whole += '\n';
  }
  return {formats::TomlTable::parse(whole + text, path.empty() ? "pipeline" : path), types};
}

std::vector<pipeline::Observation> schedule_of(const std::string& path) {
  const Unlocked unlocked;
  return pipeline::read_schedule(formats::TomlTable::read(path));
}

// Of observation `number`, from 1: (whether it begins now, warnings).
nb::tuple wait_for(const std::string& path, std::size_t number) {
  const std::vector<pipeline::Observation> schedule = schedule_of(path);
  const std::string name =
      "observation " + std::to_string(number) + " of " + std::to_string(schedule.size());
  const Warnings warnings;
  const bool begins = run_interruptibly(nb::none(), [&](const std::stop_token& stop, const auto&) {
    return pipeline::wait_for_observation(schedule.at(number - 1), name, stop, warnings.sink());
  });
  return nb::make_tuple(begins, warnings.texts());
}

/// One run of a pipeline, of observation `number` (from 1) of a schedule, or 0. With `only_planned` it cannot be
/// started.
class PipelineRun {
 public:
  PipelineRun(const std::string& path, const std::string& text, nb::list nodes, nb::list arrays,
              const std::vector<std::string>& assignments, std::size_t number, bool only_planned,
              bool hands_over, const std::string& tap, std::size_t port, const std::string& device,
              std::size_t memory_bytes, bool overwrite, const std::string& history)
      : parts_{std::move(nodes), std::move(arrays)}, types_(types_with(parts_, raised_)) {
    try {
      // Sources may wait for a header.
      run_interruptibly(nb::none(), [&](const std::stop_token& stop, const auto&) {
        pipeline::NodeContext context;
        context.devices = {open_device(device, warnings_.sink())};
        context.log = warnings_.sink();
        context.memory_bytes = memory_bytes == 0 ? core::half_of_memory() : memory_bytes;
        context.history = history;
        context.overwrite = overwrite;
        context.stop = stop;
        context.only_planned = only_planned;
        file_.emplace(graph_of(path, text, types_));
        for (const std::string& assignment : assignments) file_->set(assignment);
        if (number > 0) {
          observation_ = file_->schedule().at(number - 1);
          file_->observe(observation_->assignments, number);
        }
        std::optional<pipeline::ObservationClock> clock;
        if (observation_ && observation_->stop && !only_planned) {
          clock.emplace(stop, &*observation_);
          context.stop = clock->stop();
        }
        try {
          make_run(context, hands_over, tap, port);
        } catch (const Error& error) {
          if (clock && clock->stop().stop_requested() && !stop.stop_requested() &&
              error.value() == "interrupted")
            throw Error(ErrorKind::io, "run", "over", "", "too little had come to write anything");
          throw;
        }
        if (observation_ && observation_->is_ended() && !run_->live())
          throw Error(ErrorKind::config, observation_->place, "an end by the clock",
                      "live sources alone",
                      "of files, set start_s and duration_s of the source instead");
      });
    } catch (const Error&) {
      if (raised_->of("")) raised_->raise();
      throw;
    }
  }
  ~PipelineRun() {
    if (is_forked()) {
      abandon();
      return;
    }
    const Unlocked unlocked;
    end();
    run_.reset();  // its nodes before the arrays that they read
  }

  void start() {
    if (!run_)
      throw Error(ErrorKind::config, "run", "stopped", "one that was not",
                  "run the pipeline again");
    result_ = std::async(std::launch::async, [this, run = run_.get()] {
                const pipeline::ObservationClock clock(stop_.get_token(),
                                                       observation_ ? &*observation_ : nullptr);
                try {
                  run->go(clock.stop());
                } catch (const Error& error) {
                  failed_node_ = run->failed_node();
                  to_->close();
                  if (clock.stop().stop_requested() && !stop_.stop_requested() &&
                      error.kind() == ErrorKind::format)
                    throw Error(ErrorKind::io, "run", "over", "",
                                "too little had come to write anything");
                  throw file_->placed(failed_node_, error);
                }
                to_->close();
              }).share();
  }
  // The next block, or None at the end; throws the run's error then.
  nb::object next() {
    require_own_process();
    const auto result = result_;
    for (;;) {
      std::optional<TakenBlock> block;
      bool over = false;
      {
        const Unlocked unlocked;
        over = result.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
        block = to_->take(over ? std::chrono::milliseconds(0) : kLook);
      }
      if (block) return object_of(*block, 0);
      if (over) {
        get_result();
        return nb::none();
      }
      check_signals();
    }
  }
  // To the end, without blocks.
  void finish(const nb::object& progress) {
    require_own_process();
    const auto result = result_;
    bool over = false;
    while (!over) {
      {
        const Unlocked unlocked;
        over = result.wait_for(kLook) == std::future_status::ready;
      }
      check_signals();
      if (progress.is_none()) continue;
      std::unique_lock lock(mutex_);
      const auto done = done_, total = total_;
      lock.unlock();
      try {
        progress(done, total);
      } catch (...) {
        stop();
        throw;
      }
    }
    get_result();
  }
  // Whoever waits for blocks stops waiting; the run ends, and its nodes go with what they had begun to write. Another
  // thread may be in one of these functions.
  void stop() {
    if (is_forked()) return abandon();
    {
      const Unlocked unlocked;
      end();
    }
    std::shared_ptr<engine::Run> run = std::move(run_);
    {
      const Unlocked unlocked;
      run.reset();
    }
    // A node in Python may hold what holds this run.
    file_.reset();
    types_.clear();
    parts_ = {};
  }
  std::vector<std::string> warnings() const { return warnings_.texts(); }
  nb::dict counters() {
    require_own_process();
    const std::shared_ptr<engine::Run> run = run_;
    if (!run)
      throw Error(ErrorKind::config, "run", "ended", "one that goes on", "run the pipeline again");
    try {
      nb::dict all;
      for (const auto& [name, count] : run->counters()) all[name.c_str()] = count;
      return all;
    } catch (const Error&) {
      if (raised_->of("")) raised_->raise();
      throw;
    }
  }

 private:
  static constexpr std::chrono::milliseconds kLook{100};

  void make_run(const pipeline::NodeContext& context, bool hands_over, const std::string& tap,
                std::size_t port) {
    pipeline::GraphFile::NodeOutputs outputs;
    engine::Graph graph = file_->build(context, &outputs);
    if (hands_over)
      graph.connect(tap.empty() ? unread_of(graph, outputs) : port_of(outputs, tap, port),
                    graph.add("blocks to Python", std::make_unique<HandoverNode>(to_)));
    engine::RunOptions options;
    options.memory_bytes = context.memory_bytes;
    options.progress = [this](std::uint64_t samples, std::uint64_t total) {
      const std::lock_guard lock(mutex_);
      done_ = samples;
      total_ = total;
    };
    try {
      run_ = std::make_shared<engine::Run>(std::move(graph), std::move(options));
    } catch (const engine::NodeError& error) {
      throw file_->placed(error.node(), error);
    }
  }
  // The error of a node in Python is the exception that it raised.
  void get_result() {
    const auto result = result_;
    try {
      result.get();
    } catch (const Error&) {
      if (raised_->of(failed_node_)) raised_->raise();
      throw;
    }
  }
  static std::string names_of(const pipeline::GraphFile::NodeOutputs& outputs) {
    std::string names;
    for (const auto& [name, ports] : outputs)
      if (!ports.empty()) names += (names.empty() ? "" : ", ") + name;
    return names;
  }
  static engine::Port port_of(const pipeline::GraphFile::NodeOutputs& outputs,
                              const std::string& tap, std::size_t port) {
    const auto found = outputs.find(tap);
    if (found == outputs.end() || found->second.empty())
      throw Error(ErrorKind::config, "node", tap, "one of " + names_of(outputs));
    if (port >= found->second.size())
      throw Error(ErrorKind::config, "port", std::to_string(port),
                  "0 to " + std::to_string(found->second.size() - 1));
    return found->second[port];
  }
  // The only output that no node of the file takes.
  static engine::Port unread_of(const engine::Graph& graph,
                                const pipeline::GraphFile::NodeOutputs& outputs) {
    std::vector<engine::Port> unread;
    for (const auto& [name, ports] : outputs)
      for (const engine::Port& port : ports)
        if (std::none_of(graph.edges().begin(), graph.edges().end(), [&](const engine::Edge& edge) {
              return edge.from.node == port.node && edge.from.port == port.port;
            }))
          unread.push_back(port);
    if (unread.size() == 1) return unread.front();
    throw Error(ErrorKind::config, "node",
                std::to_string(unread.size()) + " outputs that no node takes",
                "one, or the name of a node", "name one of " + names_of(outputs));
  }
  void check_signals() {
    if (PyErr_CheckSignals() == 0) return;
    nb::python_error raised;
    stop();
    throw raised;
  }
  // The threads of the run, and whoever held its locks, are the parent's alone.
  bool is_forked() const { return process_ != getpid(); }
  void require_own_process() const {
    if (is_forked())
      throw Error(ErrorKind::unsupported, "pipeline",
                  "run in the process that this one was forked from", "one of this process",
                  "begin the run, or the loop, in this process");
  }
  // Nothing of it can be waited for in this process: its memory stays.
  void abandon() {
    new std::shared_ptr<engine::Run>(std::move(run_));
    new std::shared_future<void>(std::move(result_));
  }
  void end() {
    stop_.request_stop();
    to_->close();
    if (result_.valid()) result_.wait();
  }
  Warnings warnings_;
  Parts parts_;
  std::shared_ptr<Raised> raised_ = std::make_shared<Raised>();
  std::vector<pipeline::NodeType> types_;
  std::optional<pipeline::GraphFile> file_;
  std::optional<pipeline::Observation> observation_;
  std::shared_ptr<Handover> to_ = std::make_shared<Handover>();
  std::shared_ptr<engine::Run> run_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::uint64_t done_ = 0, total_ = 0;
  std::shared_future<void> result_;
  std::string failed_node_;  // before the result is there
  const pid_t process_ = getpid();
};

}  // namespace

void bind_pipelines(nb::module_& module) {
  nb::class_<PipelineRun>(module, "PipelineRun", nb::is_weak_referenceable())
      .def(nb::init<const std::string&, const std::string&, nb::list, nb::list,
                    const std::vector<std::string>&, std::size_t, bool, bool, const std::string&,
                    std::size_t, const std::string&, std::size_t, bool, const std::string&>())
      .def("start", &PipelineRun::start)
      .def("next", &PipelineRun::next)
      .def("finish", &PipelineRun::finish, nb::arg("progress").none())
      .def("stop", &PipelineRun::stop)
      .def("warnings", &PipelineRun::warnings)
      .def("counters", &PipelineRun::counters);
  module.def("observations", [](const std::string& path) { return schedule_of(path).size(); });
  module.def("wait_for_observation", &wait_for);
  // [(name, help, inputs or -1 for any number, fields)]
  module.def("node_types", [] {
    nb::list all;
    for (const pipeline::NodeType& type : pipeline::node_types()) {
      nb::list fields;
      for (const core::FieldDescription& field : type.fields)
        fields.append(nb::make_tuple(field.name, field.unit, field.help, field.allowed, field.form,
                                     core::option_name(field), nb::none()));
      all.append(nb::make_tuple(
          type.name, type.help,
          type.inputs == pipeline::kAnyInputs ? -1 : static_cast<int>(type.inputs), fields));
    }
    return all;
  });
}

}  // namespace tautline::python
