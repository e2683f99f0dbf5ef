#include "python_node.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "block_arrays.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/graph_file/graph_file.h"
#include "tautline/pipeline/graph_file/stream_facts.h"
#include "tautline/pipeline/graph_streams.h"

namespace tautline::python {

namespace {

using core::Error;
using core::ErrorKind;

nb::object object_of(const pipeline::StreamFact& fact) {
  if (const auto* number = std::get_if<double>(&fact)) return nb::cast(*number);
  if (const auto* text = std::get_if<std::string>(&fact)) return nb::cast(*text);
  return as_array(std::get<std::vector<double>>(fact));
}

// (kind, arrays, rate, start, total, max_samples, facts, input): what nodes.py makes a Stream of, and gives back.
nb::object object_of(const engine::Stream& stream, std::size_t input) {
  nb::list arrays;
  if (stream.kind != "raw voltages")
    for (const engine::ArrayType& array : stream.arrays) {
      const NumpyType type = numpy_type(array.type);
      std::vector<std::size_t> shape = array.extents;
      std::vector<std::string> axes = array.axes;
      if (type.pairs) {
        shape.push_back(2);
        axes.emplace_back("re_im");
      }
      arrays.append(nb::make_tuple(array.name, type.name, axes, shape));
    }
  nb::dict facts;
  for (const auto& [name, fact] : pipeline::facts_of(stream)) facts[name.c_str()] = object_of(fact);
  return nb::make_tuple(stream.kind, arrays, stream.rate_hz.numerator, stream.rate_hz.denominator,
                        core::to_iso(stream.start), stream.total_samples, stream.max_samples, facts,
                        input);
}

engine::ArrayType array_type_of(nb::handle described) {
  const nb::tuple parts = nb::cast<nb::tuple>(described);
  engine::ArrayType array;
  array.name = nb::cast<std::string>(parts[0]);
  array.axes = nb::cast<std::vector<std::string>>(parts[2]);
  array.extents = nb::cast<std::vector<std::size_t>>(parts[3]);
  const bool pairs = !array.axes.empty() && array.axes.back() == "re_im";
  array.type = sample_type_of(nb::cast<std::string>(parts[1]), pairs);
  if (array.axes.size() != array.extents.size() || (pairs && array.extents.back() != 2))
    throw Error(ErrorKind::config, array.name, "an array whose axes and shape differ",
                "an extent for each axis, of re_im 2");
  if (pairs) {
    array.axes.pop_back();
    array.extents.pop_back();
  }
  if (array.extents.empty() || array.extents.size() > engine::kMaxRank)
    throw Error(ErrorKind::config, array.name, std::to_string(array.extents.size()) + " axes",
                "1 to " + std::to_string(engine::kMaxRank));
  return array;
}

bool same_arrays(const engine::Stream& a, const engine::Stream& b) {
  return std::equal(a.arrays.begin(), a.arrays.end(), b.arrays.begin(), b.arrays.end(),
                    [](const auto& x, const auto& y) {
                      return x.name == y.name && x.type == y.type && x.axes == y.axes &&
                             x.extents == y.extents;
                    });
}

/// One output of the node.
struct Output {
  engine::Stream stream;
  /// The input whose details, which nodes of the library understand, it hands on: each block answers one of that input
  /// and has its time and its extents.
  std::optional<std::size_t> like;
  // Where the blocks so far end: the time of arrays that come without one, of sources and behind a segment.
  std::uint64_t segment = 0, next = 0;
  core::Instant segment_start;
};

Output output_of(nb::handle described, std::span<const engine::Stream> inputs) {
  const nb::tuple parts = nb::cast<nb::tuple>(described);
  Output output;
  engine::Stream& stream = output.stream;
  stream.kind = nb::cast<std::string>(parts[0]);
  for (const nb::handle array : nb::cast<nb::list>(parts[1]))
    stream.arrays.push_back(array_type_of(array));
  stream.rate_hz = {nb::cast<std::int64_t>(parts[2]), nb::cast<std::int64_t>(parts[3])};
  stream.total_samples = nb::cast<std::uint64_t>(parts[5]);
  stream.max_samples = nb::cast<std::size_t>(parts[6]);
  const auto start = nb::cast<std::string>(parts[4]);
  const int input = nb::cast<int>(parts[8]);
  if (input < 0) {
    if (!start.empty()) stream.start = core::parse_utc(start);
    return output;
  }
  const engine::Stream& from = inputs[static_cast<std::size_t>(input)];
  stream.start = start == core::to_iso(from.start) ? from.start : core::parse_utc(start);
  if (stream.kind != from.kind || !same_arrays(stream, from) || stream.rate_hz != from.rate_hz ||
      stream.max_samples != from.max_samples)
    return output;
  stream.details = from.details;
  output.like = static_cast<std::size_t>(input);
  return output;
}

/// One block that Python gave.
struct Given {
  std::size_t port = 0;
  std::vector<nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>> arrays;
  std::uint64_t segment = 0, first = 0;
  std::size_t samples = 0;
  bool same_time = false;  ///< as the block that it answers
  std::optional<nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>> valid;
};

/// Arrays of Python's go with the interpreter's lock, also where the run has failed.
struct Results {
  Results() = default;
  Results(Results&& other) noexcept = default;
  Results& operator=(Results&&) = delete;
  ~Results() {
    if (all.empty()) return;
    const nb::gil_scoped_acquire gil;
    all.clear();
  }
  std::vector<Given> all;
  bool ended = false;
};

Results results_of(const nb::object& given) {
  Results results;
  if (given.is_none()) {
    results.ended = true;
    return results;
  }
  for (const nb::handle item : nb::cast<nb::list>(given)) {
    const nb::tuple parts = nb::cast<nb::tuple>(item);
    Given one;
    one.port = nb::cast<std::size_t>(parts[0]);
    for (const nb::handle array : nb::cast<nb::list>(parts[1]))
      one.arrays.push_back(nb::cast<nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>>(array));
    one.segment = nb::cast<std::uint64_t>(parts[2]);
    one.first = nb::cast<std::uint64_t>(parts[3]);
    one.samples = nb::cast<std::size_t>(parts[4]);
    one.same_time = nb::cast<bool>(parts[5]);
    if (!parts[6].is_none())
      one.valid = nb::cast<nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>>(parts[6]);
    results.all.push_back(std::move(one));
  }
  return results;
}

// Dense rows into an array whose strides are those of the largest extents.
const std::byte* copy_into(const engine::Array& array, std::size_t axis, const std::byte* from,
                           std::byte* to) {
  const std::size_t bytes = core::bytes_of(array.type), extent = array.extents[axis];
  if (axis + 1 == array.rank) {
    std::memcpy(to, from, extent * bytes);
    return from + extent * bytes;
  }
  const std::ptrdiff_t step = array.strides[axis] * static_cast<std::ptrdiff_t>(bytes);
  for (std::size_t k = 0; k < extent; ++k, to += step) from = copy_into(array, axis + 1, from, to);
  return from;
}

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
      for (std::size_t k = 0; k < inputs_.size(); ++k) given.append(object_of(inputs_[k], k));
      const nb::list streams = nb::cast<nb::list>(adapter_.attr("open")(given));
      for (const nb::handle one : streams) outputs_.push_back(output_of(one, inputs_));
      return 0;
    });
    std::vector<engine::Stream> streams;
    for (const Output& output : outputs_) streams.push_back(output.stream);
    return streams;
  }
  engine::Needs needs(std::size_t, const engine::Stream&) const override {
    return {.in_step = in_step_};
  }
  std::string kernels() const override { return "Python"; }
  bool live() const override { return live_; }

  void start(engine::Outputs&) override {
    for (Output& output : outputs_) {
      output.segment = output.next = 0;
      output.segment_start = output.stream.start;
    }
    guarded("start", [&] {
      adapter_.attr("start")();
      return 0;
    });
  }
  bool produce(engine::Outputs& outputs) override {
    const Results results = call("produce");
    give(results, nullptr, 0, outputs);
    return !results.ended;
  }
  void begin_segment(std::size_t input, const engine::Block&, engine::Outputs& outputs) override {
    give(call("begin_segment", input), nullptr, input, outputs);
  }
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override {
    const TakenBlock taken = take_block(inputs_[input], block, buffers_);
    const Results results = guarded("process", [&] {
      return results_of(adapter_.attr("process")(python::object_of(taken, input)));
    });
    give(results, &block, input, outputs);
  }
  void process_together(std::span<const engine::Block* const> blocks,
                        engine::Outputs& outputs) override {
    std::vector<TakenBlock> taken;
    for (std::size_t k = 0; k < blocks.size(); ++k)
      taken.push_back(take_block(inputs_[k], *blocks[k], buffers_));
    const Results results = guarded("process_together", [&] {
      nb::list given;
      for (std::size_t k = 0; k < taken.size(); ++k) given.append(python::object_of(taken[k], k));
      return results_of(adapter_.attr("process_together")(given));
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
  Results call(const char* function, const Arguments&... arguments) const {
    return guarded(function, [&] { return results_of(adapter_.attr(function)(arguments...)); });
  }

  void give(const Results& results, const engine::Block* block, std::size_t input,
            engine::Outputs& outputs) {
    for (const Given& one : results.all) {
      if (one.port >= outputs_.size())
        throw Error(ErrorKind::config, "block", "for output " + std::to_string(one.port),
                    "one of the " + std::to_string(outputs_.size()) + " that open() gave");
      Output& output = outputs_[one.port];
      const bool answers = block != nullptr && one.same_time;
      if (output.like && (!answers || *output.like != input))
        throw Error(ErrorKind::config, "block", "not of the block that it answers",
                    "the time and shapes of that block, as the stream is handed on",
                    "give a stream of its own kind in open()");
      engine::Block& out = outputs.begin(one.port);
      set_time(out, one, answers ? block : nullptr, block, output);
      fill(out, one, output, answers && output.like ? block : nullptr);
      outputs.commit(one.port);
    }
  }
  static void set_time(engine::Block& out, const Given& one, const engine::Block* same,
                       const engine::Block* near, Output& output) {
    if (same != nullptr) {
      out.set_time(*same);
    } else if (one.same_time) {
      out.segment = output.segment;
      out.segment_start = output.segment_start;
      out.first = output.next;
    } else {
      out.segment = one.segment;
      out.segment_start = near != nullptr && near->segment == one.segment ? near->segment_start
                          : output.segment == one.segment                 ? output.segment_start
                                                                          : output.stream.start;
      out.first = one.first;
    }
    out.samples = one.samples;
    output.segment = out.segment;
    output.segment_start = out.segment_start;
    output.next = out.first + one.samples;
  }
  static void fill(engine::Block& out, const Given& one, const Output& output,
                   const engine::Block* like) {
    if (one.arrays.size() != output.stream.arrays.size() ||
        (output.stream.max_samples > 0 && one.samples > output.stream.max_samples))
      throw Error(ErrorKind::config, "block",
                  std::to_string(one.arrays.size()) + " arrays of " + std::to_string(one.samples) +
                      " samples",
                  std::to_string(output.stream.arrays.size()) + " of at most " +
                      std::to_string(output.stream.max_samples));
    for (std::size_t k = 0; k < one.arrays.size(); ++k)
      fill_array(out, k, one.arrays[k], output.stream.arrays[k],
                 like != nullptr ? &like->arrays[k] : nullptr);
    out.valid = like != nullptr ? like->valid : core::ValidityMask();
    out.payload = like != nullptr ? like->payload : std::any();
    if (!one.valid) return;
    if (like != nullptr) require_rows(one.valid->shape(0), *like, output.stream);
    set_valid(out, *one.valid);
  }
  // Nodes of the library read a row of each input, or of each channel and input, and none of other streams.
  static void require_rows(std::size_t rows, const engine::Block& like,
                           const engine::Stream& stream) {
    if (rows > 0 && rows == like.valid.rows()) return;
    std::size_t inputs = 0, channels = 1;
    if (!stream.arrays.empty()) {
      const engine::ArrayType& array = stream.arrays.front();
      for (std::size_t a = 0; a < array.axes.size(); ++a) {
        if (array.axes[a] == "input") inputs = array.extents[a];
        if (array.axes[a] == "channel") channels = array.extents[a];
      }
    }
    if (inputs == 0) {
      if (!stream.details.has_value()) return;  // a stream that Python nodes alone read
      throw Error(ErrorKind::config, "valid", "given for a stream of " + stream.kind,
                  "none: it has no inputs", "change the samples instead");
    }
    if (rows != inputs && rows != inputs * channels)
      throw Error(ErrorKind::config, "valid", std::to_string(rows) + " rows",
                  std::to_string(inputs) + ", of each input, or " +
                      std::to_string(inputs * channels) + ", of each channel and input",
                  "give an array [input][sample], or one [channel x input][sample]");
  }
  static void fill_array(engine::Block& out, std::size_t index,
                         const nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>& from,
                         const engine::ArrayType& type, const engine::Array* like) {
    engine::Array& to = out.arrays[index];
    const NumpyType numpy = numpy_type(type.type);
    bool fits = from.dtype() == numpy.dtype && from.ndim() == to.rank + (numpy.pairs ? 1 : 0) &&
                (!numpy.pairs || from.shape(to.rank) == 2);
    for (std::size_t a = 0; fits && a < to.rank; ++a) {
      fits = from.shape(a) <= type.extents[a] &&
             (like == nullptr || from.shape(a) == like->extents[a]);
      if (fits) out.set_extent(index, a, from.shape(a));
    }
    if (!fits)
      throw Error(ErrorKind::config, type.name, "an array of another shape or type",
                  std::string(numpy.name) + (like != nullptr ? ", the shape of the block's"
                                                             : ", at most as open() said"));
    if (from.size() > 0)
      copy_into(to, 0, static_cast<const std::byte*>(from.data()),
                static_cast<std::byte*>(to.data));
  }
  static void set_valid(engine::Block& out,
                        const nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>& valid) {
    out.valid = core::ValidityMask(valid.shape(0), valid.shape(1));
    const auto* from = static_cast<const std::uint8_t*>(valid.data());
    for (std::size_t r = 0; r < valid.shape(0); ++r)
      for (std::size_t t = 0; t < valid.shape(1); ++t, ++from)
        if (*from == 0) out.valid.set(r, t, 1, false);
  }

  nb::object adapter_;
  std::string name_;
  std::shared_ptr<Raised> raised_;
  bool live_ = false, in_step_ = false;
  std::vector<engine::Stream> inputs_;
  std::vector<Output> outputs_;
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

void Raised::raise() const {
  exception_.attr("add_note")("in node \"" + node_ + "\" of a pipeline");
  PyErr_SetObject(exception_.type().ptr(), exception_.ptr());
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
