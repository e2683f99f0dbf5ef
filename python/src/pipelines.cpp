// Pipelines of TOML files: run, and the blocks of one of their nodes handed over to Python.
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "bindings.h"
#include "tautline/engine/run.h"
#include "tautline/pipeline/graph_file/graph_file.h"

namespace tautline::python {

namespace {

using core::Error;
using core::ErrorKind;

/// A block's arrays, dense and its own.
struct Piece {
  struct Part {
    std::string name;
    core::SampleType type{};
    std::vector<std::size_t> extents;
    std::vector<std::byte> bytes;
  };
  std::string kind;
  std::uint64_t segment = 0, first = 0;
  std::size_t samples = 0;
  core::Instant start;  // of the first sample
  double rate_hz = 0;
  std::vector<Part> parts;
};

// Rows of the last axis, one behind the other.
std::byte* copy_dense(const engine::Array& array, std::size_t axis, const std::byte* from,
                      std::byte* to) {
  const std::size_t bytes = core::bytes_of(array.type), extent = array.extents[axis];
  const std::ptrdiff_t step = array.strides[axis] * static_cast<std::ptrdiff_t>(bytes);
  const bool last = axis + 1 == array.rank;
  if (last && array.strides[axis] == 1) {
    std::memcpy(to, from, extent * bytes);
    return to + extent * bytes;
  }
  for (std::size_t k = 0; k < extent; ++k, from += step) {
    if (last) {
      std::memcpy(to, from, bytes);
      to += bytes;
    } else {
      to = copy_dense(array, axis + 1, from, to);
    }
  }
  return to;
}

/// From the node's thread to Python's: a few pieces wait, then the node does.
class Handover {
 public:
  /// False: nobody will take it.
  bool give(Piece piece, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (waiting_.size() >= kMost && !closed_ && !stop.stop_requested())
      changed_.wait_for(lock, kLook);
    if (closed_ || stop.stop_requested()) return false;
    waiting_.push_back(std::move(piece));
    changed_.notify_all();
    return true;
  }
  std::optional<Piece> take(std::chrono::milliseconds longest) {
    std::unique_lock lock(mutex_);
    if (waiting_.empty()) changed_.wait_for(lock, longest);
    if (waiting_.empty()) return std::nullopt;
    Piece piece = std::move(waiting_.front());
    waiting_.pop_front();
    changed_.notify_all();
    return piece;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  static constexpr std::size_t kMost = 2;
  static constexpr std::chrono::milliseconds kLook{50};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> waiting_;
  bool closed_ = false;
};

class HandoverNode final : public engine::Node {
 public:
  explicit HandoverNode(std::shared_ptr<Handover> to) : to_(std::move(to)) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    stream_ = inputs[0];
    return {};
  }
  void process(std::size_t, const engine::Block& block, engine::Outputs& outputs) override {
    Piece piece;
    piece.kind = stream_.kind;
    piece.segment = block.segment;
    piece.first = block.first;
    piece.samples = block.samples;
    piece.rate_hz = stream_.rate_hz.value();
    piece.start =
        core::advance(block.segment_start, static_cast<std::int64_t>(block.first), stream_.rate_hz);
    for (std::size_t k = 0; k < block.arrays.size(); ++k) {
      const engine::Array& array = block.arrays[k];
      Piece::Part part{stream_.arrays[k].name, array.type, {}, {}};
      std::size_t elements = 1;
      for (std::size_t a = 0; a < array.rank; ++a) {
        part.extents.push_back(array.extents[a]);
        elements *= array.extents[a];
      }
      part.bytes.resize(elements * core::bytes_of(array.type));
      if (elements > 0)
        copy_dense(array, 0, static_cast<const std::byte*>(array.data), part.bytes.data());
      piece.parts.push_back(std::move(part));
    }
    to_->give(std::move(piece), outputs.stop());
  }

 private:
  std::shared_ptr<Handover> to_;
  engine::Stream stream_;
};

/// One run of a pipeline.
class PipelineRun {
 public:
  PipelineRun(const std::string& path, const std::vector<std::string>& assignments, bool hands_over,
              const std::string& tap, std::size_t port, const std::string& device,
              std::size_t memory_bytes, bool overwrite, const std::string& history)
      : types_(pipeline::node_types()), file_(pipeline::read_graph_file(path, types_)) {
    for (const std::string& assignment : assignments) file_.set(assignment);
    pipeline::NodeContext context;
    context.devices = {open_device(device)};
    context.memory_bytes = memory_bytes == 0 ? core::half_of_memory() : memory_bytes;
    context.history = history;
    context.overwrite = overwrite;
    pipeline::GraphFile::NodeOutputs outputs;
    engine::Graph graph = file_.build(context, &outputs);
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
      run_ = std::make_unique<engine::Run>(std::move(graph), std::move(options));
    } catch (const engine::NodeError& error) {
      throw file_.placed(error.node(), error);
    }
  }
  ~PipelineRun() {
    const nb::gil_scoped_release release;
    end();
  }

  void start() {
    result_ = std::async(std::launch::async, [this] {
      try {
        run_->go(stop_.get_token());
      } catch (const Error& error) {
        to_->close();
        throw file_.placed(run_->failed_node(), error);
      }
      to_->close();
    });
  }
  // The next piece, or None at the end; throws the run's error then.
  nb::object next() {
    for (;;) {
      std::optional<Piece> piece;
      bool over = false;
      {
        const nb::gil_scoped_release release;
        over = !result_.valid() ||
               result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
        piece = to_->take(over ? std::chrono::milliseconds(0) : kLook);
      }
      if (piece) return object_of(*piece);
      if (over) {
        if (result_.valid()) result_.get();
        return nb::none();
      }
      check_signals();
    }
  }
  // To the end, without pieces.
  void finish(const nb::object& progress) {
    bool over = false;
    while (!over) {
      {
        const nb::gil_scoped_release release;
        over = result_.wait_for(kLook) == std::future_status::ready;
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
    result_.get();
  }
  // Whoever waits for pieces stops waiting; the run ends, and its nodes go with what they had begun to write.
  void stop() {
    const nb::gil_scoped_release release;
    end();
    run_.reset();
  }
  nb::dict counters() const {
    nb::dict all;
    for (const auto& [name, count] : run_->counters()) all[name.c_str()] = count;
    return all;
  }

 private:
  static constexpr std::chrono::milliseconds kLook{100};

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
  void end() {
    stop_.request_stop();
    to_->close();
    if (result_.valid()) result_.wait();
  }
  static nb::object object_of(Piece& piece) {
    nb::dict arrays;
    for (Piece::Part& part : piece.parts) {
      core::SampleType type = part.type;
      std::vector<std::size_t> shape = part.extents;
      if (type == core::SampleType::ci64) {
        type = core::SampleType::i64;
        shape.push_back(2);
      }
      const NewArray made = new_array(type, shape);
      std::memcpy(made.data, part.bytes.data(), part.bytes.size());
      arrays[part.name.c_str()] = made.array;
    }
    return nb::make_tuple(piece.kind, piece.segment, piece.first, piece.samples,
                          core::to_iso(piece.start), piece.rate_hz, arrays);
  }

  std::vector<pipeline::NodeType> types_;
  pipeline::GraphFile file_;
  std::shared_ptr<Handover> to_ = std::make_shared<Handover>();
  std::unique_ptr<engine::Run> run_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::uint64_t done_ = 0, total_ = 0;
  std::future<void> result_;
};

}  // namespace

void bind_pipelines(nb::module_& module) {
  nb::class_<PipelineRun>(module, "PipelineRun")
      .def(nb::init<const std::string&, const std::vector<std::string>&, bool, const std::string&,
                    std::size_t, const std::string&, std::size_t, bool, const std::string&>(),
           nb::call_guard<nb::gil_scoped_release>())
      .def("start", &PipelineRun::start)
      .def("next", &PipelineRun::next)
      .def("finish", &PipelineRun::finish, nb::arg("progress").none())
      .def("stop", &PipelineRun::stop)
      .def("counters", &PipelineRun::counters);
}

}  // namespace tautline::python
