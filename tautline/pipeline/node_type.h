// What a pipeline file can be made of: types of nodes by name, each with the fields of its Config.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/core/log.h"
#include "tautline/device/device.h"
#include "tautline/engine/graph.h"

namespace tautline::pipeline {

/// What the nodes of one run are given beside their fields.
struct NodeContext {
  /// Those that the stages work on; several share the work of stages that can be shared.
  std::vector<std::shared_ptr<const device::Device>> devices;
  std::size_t memory_bytes = 0;  ///< most that the run may take on the host
  std::string history;           ///< version and command line, for outputs
  bool overwrite = false;
  core::LogSink log = {};
  /// The counters of the run, once it has ended: for what outputs say of it.
  std::shared_ptr<std::function<engine::Counters()>> counters =
      std::make_shared<std::function<engine::Counters()>>([] { return engine::Counters(); });
};

/// One node as a file describes it.
class NodeSettings {
 public:
  virtual ~NodeSettings() = default;
  /// Throws Error(config) for an unknown field or a value that is not allowed.
  virtual void set(const std::string& field, const std::string& text) = 0;
  /// Throws Error(config) for the first field whose value is not allowed.
  virtual void check() const = 0;
  /// Puts the node (or the few that do its work) into the graph and connects `inputs`. Returns its outputs.
  virtual std::vector<engine::Port> add(engine::Graph& graph, const std::string& name,
                                        const std::vector<engine::Port>& inputs,
                                        const engine::EdgeOptions& edge,
                                        const NodeContext& context) const = 0;
};

struct NodeType {
  std::string name;        ///< in files, as "filter_bank"
  std::string help;        ///< one line
  std::size_t inputs = 0;  ///< how many it has
  std::vector<core::FieldDescription> fields;
  std::function<std::unique_ptr<NodeSettings>()> make;
};

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
  for (const auto& field : fields(Config{}).all()) described.push_back(field);
  return {std::move(name), std::move(help), inputs, std::move(described),
          [add] { return std::make_unique<Settings>(add); }};
}

/// A type of one node with one output, which make(config, context) makes.
template <class Config, class Make>
NodeType node_type(std::string name, std::string help, std::size_t inputs, Make make) {
  const auto add = [make](const Config& config, engine::Graph& graph, const std::string& node,
                          const std::vector<engine::Port>& from, const engine::EdgeOptions& edge,
                          const NodeContext& context) -> std::vector<engine::Port> {
    const engine::NodeId id = graph.add(node, make(config, context));
    for (std::size_t k = 0; k < from.size(); ++k) graph.connect(from[k], {id, k}, edge);
    return {{id, 0}};
  };
  return composite_type<Config>(std::move(name), std::move(help), inputs, add);
}

}  // namespace tautline::pipeline
