#include "python_node.h"

#include <type_traits>
#include <utility>

#include "block_arrays.h"
#include "python_output.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/graph_file/graph_file.h"
#include "tautline/pipeline/graph_streams.h"

namespace tautline::python {

namespace {

using core::Error;
using core::ErrorKind;

class PythonNode final : public engine::Node {
 public:
  PythonNode(nb::object adapter, std::string name, std::shared_ptr<Raised> raised)
      : adapter_(std::move(adapter)), name_(std::move(name)), raised_(std::move(raised)) {
    live_ = nb::cast<bool>(adapter_.attr("live"));
    in_step_ = nb::cast<bool>(adapter_.attr("in_step"));
  }
  ~PythonNode() override {
    const nb::gil_scoped_acquire gil;
    adapter_.reset();
  }

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    inputs_.assign(inputs.begin(), inputs.end());
    outputs_.clear();
    guarded("open", [&] {
      nb::list given;
      for (std::size_t k = 0; k < inputs_.size(); ++k)
        given.append(python::object_of(inputs_[k], k));
      const nb::list streams = nb::cast<nb::list>(adapter_.attr("open")(given));
      for (const nb::handle one : streams) outputs_.emplace_back(one, inputs_);
      return 0;
    });
    std::vector<engine::Stream> streams;
    for (const PythonOutput& output : outputs_) streams.push_back(output.stream());
    return streams;
  }
  engine::Needs needs(std::size_t, const engine::Stream&) const override {
    return {.in_step = in_step_};
  }
  std::string kernels() const override { return "Python"; }
  bool live() const override { return live_; }

  void start(engine::Outputs&) override {
    for (PythonOutput& output : outputs_) output.start();
    guarded("start", [&] {
      adapter_.attr("start")();
      return 0;
    });
  }
  bool produce(engine::Outputs& outputs) override {
    const GivenBlocks results = call("produce");
    give(results, nullptr, 0, outputs);
    return !results.ended;
  }
  void begin_segment(std::size_t input, const engine::Block& block,
                     engine::Outputs& outputs) override {
    for (PythonOutput& output : outputs_) output.begin_segment(inputs_[input], block);
    give(call("begin_segment", input), nullptr, input, outputs);
  }
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override {
    const TakenBlock taken = take_block(inputs_[input], block, buffers_);
    const GivenBlocks results = guarded("process", [&] {
      return given_blocks(adapter_.attr("process")(python::object_of(taken, input)));
    });
    give(results, &block, input, outputs);
  }
  void process_together(std::span<const engine::Block* const> blocks,
                        engine::Outputs& outputs) override {
    std::vector<TakenBlock> taken;
    for (std::size_t k = 0; k < blocks.size(); ++k)
      taken.push_back(take_block(inputs_[k], *blocks[k], buffers_));
    const GivenBlocks results = guarded("process_together", [&] {
      nb::list given;
      for (std::size_t k = 0; k < taken.size(); ++k) given.append(python::object_of(taken[k], k));
      return given_blocks(adapter_.attr("process_together")(given));
    });
    give(results, blocks[0], 0, outputs);
  }
  void end_segment(std::size_t input, engine::Outputs& outputs) override {
    give(call("end_segment", input), nullptr, input, outputs);
  }
  void finish(engine::Outputs& outputs) override { give(call("finish"), nullptr, 0, outputs); }
  void publish() override {
    guarded("publish", [&] {
      adapter_.attr("publish")();
      return 0;
    });
  }
  engine::Counters counters() const override {
    return guarded("counters", [&] {
      engine::Counters counters;
      for (const auto& [name, count] : nb::cast<nb::dict>(adapter_.attr("counters")()))
        counters[nb::cast<std::string>(name)] = nb::cast<std::uint64_t>(count);
      return counters;
    });
  }

 private:
  // With the interpreter's lock. What Python raises is kept for the caller of the run.
  template <class Work>
  std::invoke_result_t<const Work&> guarded(const char* function, const Work& work) const {
    const nb::gil_scoped_acquire gil;
    try {
      return work();
    } catch (const nb::python_error& error) {
      raised_->keep(name_, error);
      throw Error(ErrorKind::config, function,
                  nb::cast<std::string>(nb::str(error.type().attr("__name__"))), "no exception");
    } catch (const nb::cast_error&) {
      throw Error(ErrorKind::config, function, "a result of another type", "blocks");
    }
  }
  template <class... Arguments>
  GivenBlocks call(const char* function, const Arguments&... arguments) const {
    return guarded(function, [&] { return given_blocks(adapter_.attr(function)(arguments...)); });
  }

  void give(const GivenBlocks& results, const engine::Block* block, std::size_t input,
            engine::Outputs& outputs) {
    for (const GivenBlock& one : results.all) {
      if (one.port >= outputs_.size())
        throw Error(ErrorKind::config, "block", "for output " + std::to_string(one.port),
                    "one of the " + std::to_string(outputs_.size()) + " that open() gave");
      engine::Block& out = outputs.begin(one.port);
      outputs_[one.port].fill(out, one, block, input);
      outputs.commit(one.port);
    }
  }

  nb::object adapter_;
  std::string name_;
  std::shared_ptr<Raised> raised_;
  bool live_ = false, in_step_ = false;
  std::vector<engine::Stream> inputs_;
  std::vector<PythonOutput> outputs_;
  Buffers buffers_;
};

/// No fields: what a Python node needs, its object has.
class PythonSettings final : public pipeline::NodeSettings {
 public:
  PythonSettings(nb::object adapter, std::shared_ptr<Raised> raised)
      : adapter_(std::move(adapter)), raised_(std::move(raised)) {}
  ~PythonSettings() override {
    const nb::gil_scoped_acquire gil;
    adapter_.reset();
  }
  void set(const std::string& field, const std::string& text) override {
    throw Error(ErrorKind::config, field, text, "no fields: it is a Python node");
  }
  void check() const override {}
  bool set_source(const std::any&) override { return false; }
  std::vector<engine::Port> add(engine::Graph& graph, const std::string& name,
                                const std::vector<engine::Port>& inputs,
                                const engine::EdgeOptions& edge,
                                const pipeline::NodeContext&) const override {
    std::vector<engine::Stream> streams;
    for (const engine::Port& input : inputs) streams.push_back(pipeline::stream_at(graph, input));
    const engine::NodeId id = graph.add(name, copied());
    for (std::size_t k = 0; k < inputs.size(); ++k) graph.connect(inputs[k], {id, k}, edge);
    const std::size_t outputs = graph.members()[id].node->open(streams).size();
    std::vector<engine::Port> ports;
    for (std::size_t k = 0; k < outputs; ++k) ports.emplace_back(id, k);
    return ports;
  }
  std::string name;

 private:
  std::unique_ptr<engine::Node> copied() const {
    const nb::gil_scoped_acquire gil;
    return make_python_node(adapter_, name, raised_);
  }
  nb::object adapter_;
  std::shared_ptr<Raised> raised_;
};

/// Copies of the function that makes a node may go without the interpreter's lock.
struct SharedObject {
  explicit SharedObject(nb::object held) : object(std::move(held)) {}
  ~SharedObject() {
    const nb::gil_scoped_acquire gil;
    object.reset();
  }
  nb::object object;
};

}  // namespace

Raised::~Raised() {
  if (!exception_.is_valid()) return;
  const nb::gil_scoped_acquire gil;
  exception_.reset();
}

void Raised::keep(const std::string& node, const nb::python_error& error) {
  const std::lock_guard lock(mutex_);
  if (exception_.is_valid()) return;
  node_ = node;
  // Until 3.12 a raised exception may be a class and what it is made of, with its traceback beside it.
  PyObject* type = error.type().inc_ref().ptr();
  PyObject* value = error.value().inc_ref().ptr();
  PyObject* trace = error.traceback().inc_ref().ptr();
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  exception_ = nb::steal(value);
  Py_XDECREF(type);
  Py_XDECREF(trace);
}

bool Raised::of(const std::string& node) const {
  const std::lock_guard lock(mutex_);
  return exception_.is_valid() && (node.empty() || node == node_);
}

void Raised::raise() {
  nb::object exception;
  std::string node;
  {
    const std::lock_guard lock(mutex_);
    exception = std::move(exception_);
    node = node_;
  }
  exception.attr("add_note")("in node \"" + node + "\" of a pipeline");
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

std::unique_ptr<engine::Node> make_python_node(nb::object adapter, std::string name,
                                               std::shared_ptr<Raised> raised) {
  return std::make_unique<PythonNode>(std::move(adapter), std::move(name), std::move(raised));
}

pipeline::NodeType python_node_type(const std::string& name, std::size_t inputs, nb::object adapter,
                                    std::shared_ptr<Raised> raised) {
  const auto held = std::make_shared<SharedObject>(std::move(adapter));
  const auto make = [held, raised, name]() -> std::unique_ptr<pipeline::NodeSettings> {
    const nb::gil_scoped_acquire gil;
    auto settings = std::make_unique<PythonSettings>(held->object, raised);
    settings->name = name;
    return settings;
  };
  return {"python:" + name,
          "a node in Python",
          inputs == 0 ? 0 : pipeline::kAnyInputs,
          {},
          make,
          {},
          {},
          false};
}

}  // namespace tautline::python
