// The types of nodes that a pipeline file can name, each with the fields of its Config.
#pragma once

#include <any>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/core/log.h"
#include "tautline/device/device.h"
#include "tautline/engine/graph.h"

namespace tautline::pipeline {

class Checkpoint;

/// What the nodes of one run are given beside their fields.
struct NodeContext {
  /// Those that the stages work on; several share the work of stages that can be shared.
  std::vector<std::shared_ptr<const device::Device>> devices;
  std::size_t memory_bytes = 0;  ///< most that the run may take on the host
  std::string history;           ///< version and command line, for outputs
  bool overwrite = false;
  std::size_t threads = 0;  ///< of the host; 0: all
  /// Of sources that are not live, instead of their own (engine::Stream::pace); 0: those.
  double pace = 0;
  std::shared_ptr<Checkpoint> checkpoint = {};  ///< null: the run leaves none
  core::LogSink log = {};
  std::stop_token stop =
      {};  ///< sources that wait for a header while the graph is built end with it
  bool only_planned = false;  ///< the graph will not run: nothing is waited for or taken
};

/// One node as a file describes it.
class NodeSettings {
 public:
  virtual ~NodeSettings() = default;
  /// Throws Error(config) for an unknown field or a value that is not allowed.
  virtual void set(const std::string& field, const std::string& text) = 0;
  /// Throws Error(config) for the first field whose value is not allowed.
  virtual void check() const = 0;
  /// Of a source of files: the function that gives the reader of what is in no file (`source` of its reader's options).
  /// False: this node reads no such thing.
  virtual bool set_source(const std::any& source) = 0;
  /// Puts the node (or the few that do its work) into the graph and connects `inputs`. Returns its outputs.
  virtual std::vector<engine::Port> add(engine::Graph& graph, const std::string& name,
                                        const std::vector<engine::Port>& inputs,
                                        const engine::EdgeOptions& edge,
                                        const NodeContext& context) const = 0;
};

/// Of a type that takes any number of inputs, one at least.
inline constexpr std::size_t kAnyInputs = static_cast<std::size_t>(-1);

struct NodeType {
  std::string name;        ///< in files, as "filter_bank"
  std::string help;        ///< one line
  std::size_t inputs = 0;  ///< how many it has, or kAnyInputs
  std::vector<core::FieldDescription> fields;
  std::function<std::unique_ptr<NodeSettings>()> make;
  /// Fields that name files: no file is written that is read or written by another node.
  std::vector<std::string> reads = {}, writes = {};
  bool drawn = false;    ///< a live page draws its first output
  bool resumes = false;  ///< a run with a checkpoint may have one

  NodeType reading(std::vector<std::string> names) && {
    reads = std::move(names);
    return std::move(*this);
  }
  NodeType writing(std::vector<std::string> names) && {
    writes = std::move(names);
    return std::move(*this);
  }
  NodeType drawn_live() && {
    drawn = true;
    return std::move(*this);
  }
  NodeType resuming() && {
    resumes = true;
    return std::move(*this);
  }
};

/// The fields of a Config. GCC 12 takes a large temporary one, CONFIG{}, for uninitialised.
template <class Config>
const core::Fields<Config>& fields_of() {
  Config any;
  return fields(any);
}

/// Fields of a Base, as they are described there, for a Config that is a Base of which less can be said in a file.
/// "part." stands for all fields of that part, without its name before them: those of "filter." are "channels", "taps".
template <class Config, class Base>
core::Fields<Config> some_of(const core::Fields<Base>& all, const std::vector<std::string>& names) {
  core::Fields<Config> chosen;
  for (const std::string& name : names)
    for (const core::Field<Base>& field : all.all()) {
      const bool of_part = name.ends_with('.') && field.name.starts_with(name);
      if (!of_part && field.name != name) continue;
      core::FieldDescription description = field;
      if (of_part) description.name = field.name.substr(name.size());
      chosen.add_text(
          std::move(description), [field](const Config& config) { return field.text(config); },
          [field](Config& config, const std::string& text) { field.set(config, text); });
    }
  return chosen;
}

/// A Config's function that gives a reader instead of the files', null where there is none.
template <class Config>
auto* source_in(Config& config) {
  if constexpr (requires { config.reader.source; })
    return &config.reader.source;
  else if constexpr (requires { config.counts.source; })
    return &config.counts.source;
  else
    return static_cast<std::any*>(nullptr);
}

/// A type whose add(config, graph, name, inputs, edge, context) is NodeSettings::add.
template <class Config, class Add>
NodeType composite_type(std::string name, std::string help, std::size_t inputs, Add add) {
  class Settings final : public NodeSettings {
   public:
    explicit Settings(Add add_nodes) : add_(std::move(add_nodes)) {}
    void set(const std::string& field, const std::string& text) override {
      core::set(config_, field, text);
    }
    void check() const override { core::check(config_); }
    bool set_source(const std::any& source) override {
      auto* const to = source_in(config_);
      const auto* const from = std::any_cast<std::remove_pointer_t<decltype(to)>>(&source);
      if (to == nullptr || from == nullptr) return false;
      *to = *from;
      return true;
    }
    std::vector<engine::Port> add(engine::Graph& graph, const std::string& node,
                                  const std::vector<engine::Port>& from,
                                  const engine::EdgeOptions& edge,
                                  const NodeContext& context) const override {
      return add_(config_, graph, node, from, edge, context);
    }

   private:
    Config config_;
    Add add_;
  };
  std::vector<core::FieldDescription> described;
  for (const auto& field : fields_of<Config>().all()) described.push_back(field);
  return {std::move(name),
          std::move(help),
          inputs,
          std::move(described),
          [add] { return std::make_unique<Settings>(add); },
          {},
          {},
          false,
          false};
}

/// A type of one node, which make(config, context) makes.
template <class Config, class Make>
NodeType node_type(std::string name, std::string help, std::size_t inputs, Make make) {
  const auto add = [make](const Config& config, engine::Graph& graph, const std::string& node,
                          const std::vector<engine::Port>& from, const engine::EdgeOptions& edge,
                          const NodeContext& context) {
    const engine::NodeId id = graph.add(node, make(config, context));
    for (std::size_t k = 0; k < from.size(); ++k) graph.connect(from[k], {id, k}, edge);
    return std::vector<engine::Port>{id};
  };
  return composite_type<Config>(std::move(name), std::move(help), inputs, add);
}

/// A type of one node without outputs, which make(config, graph, output, context) makes: `output` is what it reads
/// first.
template <class Config, class Make>
NodeType sink_type(std::string name, std::string help, std::size_t inputs, Make make) {
  const auto add = [make](const Config& config, engine::Graph& graph, const std::string& node,
                          const std::vector<engine::Port>& from, const engine::EdgeOptions& edge,
                          const NodeContext& context) -> std::vector<engine::Port> {
    const engine::NodeId id = graph.add(node, make(config, graph, from.front(), context));
    for (std::size_t k = 0; k < from.size(); ++k) graph.connect(from[k], {id, k}, edge);
    return {};
  };
  return composite_type<Config>(std::move(name), std::move(help), inputs, add);
}

}  // namespace tautline::pipeline
