// A pipeline as a TOML file: a table for each node, with its type, its inputs and the fields of its type.
//
//   [voltages]
//   type = "voltage_files"
//   files = ["night.dada"]
//
//   [f]
//   type = "filter_bank"
//   inputs = "voltages"          # or a list; all outputs of that node, "NODE.K" is output K alone, from 0
//   channels = 256              # a name with a dot, as dms.range, as it is or in a table
//
// {utc} in the name of a file that is written is the time when the pipeline was read, as 20260320T140000Z.
//
// Of every node that has inputs also: depth and policy of the rings before it, and lane, its thread's name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tautline/engine/graph.h"
#include "tautline/formats/toml/toml_table.h"
#include "tautline/pipeline/graph_file/schedule.h"
#include "tautline/pipeline/node_type.h"

namespace tautline::pipeline {

/// A file or folder that a node writes.
struct WrittenFile {
  std::string node, path;
};

class GraphFile {
 public:
  /// `types` outlives this. Throws Error(config) with the place in the file for a table that is no node, Error(io) or
  /// Error(format) for a file that cannot be read or is not TOML.
  GraphFile(const formats::TomlTable& file, const std::vector<NodeType>& types);

  /// "NODE.FIELD=VALUE" takes the place of what the file says. Throws Error(config).
  void set(const std::string& assignment);

  /// The tables [[observation]] of the file.
  const std::vector<Observation>& schedule() const { return schedule_; }
  /// For one of several observations: sets its values, and numbers the outputs that it does not name itself. Throws
  /// Error(config).
  void observe(const std::vector<std::string>& assignments, std::size_t number);

  /// What each node of the file gives, by its name.
  using NodeOutputs = std::map<std::string, std::vector<engine::Port>>;
  /// `outputs`, where there are any, are those of the graph. Throws Error(config) for a value that is not allowed,
  /// inputs that no node has, and circles.
  engine::Graph build(const NodeContext& context, NodeOutputs* outputs = nullptr) const;

  /// Files and folders that nodes write.
  std::vector<WrittenFile> written() const;
  /// Nodes that no other node takes anything from.
  std::vector<std::string> ends() const;
  /// Names of the nodes that a live page draws.
  std::vector<std::string> drawn() const;

  /// Throws Error(config) for a pipeline that no checkpoint can be kept of.
  void require_resumable() const;
  /// All that nodes are told, "f.channels" and so on, and the sizes and times of the files that they read. Throws
  /// Error(io).
  std::map<std::string, std::string> facts() const;

  /// An error of a node with the place of the field that it names.
  core::Error placed(const std::string& node, const core::Error& error) const;

 private:
  struct Value {
    const core::FieldDescription* field;  ///< of the node's type
    std::string text, place;
    /// Whether an error that names `name` is one of this field, whose option may be what it names.
    bool means(const std::string& name) const {
      return core::is_field(*field, name) || field->option == name;
    }
  };
  /// Of a field that names files.
  static std::vector<std::string> paths_in(const Value& value);
  struct NodeTable {
    std::string name, place, inputs_place, lane;
    const NodeType* type = nullptr;
    std::vector<std::string> inputs;
    std::vector<Value> values;
    engine::EdgeOptions edge;
  };
  NodeTable read(const formats::TomlTable& table, const std::string& name, const std::string& place,
                 const std::vector<NodeType>& types);
  void read_field(const formats::TomlTable& table, const std::string& key, const std::string& name,
                  NodeTable& node);
  std::string named(const NodeType& type, const core::FieldDescription& field,
                    std::string text) const;
  std::size_t index_of(const std::string& name, const std::string& place) const;
  std::vector<const NodeTable*> in_order() const;
  /// Nodes that are in the graph, with their outputs.
  using Added = std::vector<std::pair<std::string, std::vector<engine::Port>>>;
  static std::vector<engine::Port> ports_of(const NodeTable& node, const Added& added);
  std::unique_ptr<NodeSettings> settings_of(const NodeTable& node) const;
  void add(const NodeTable& node, const NodeContext& context, engine::Graph& graph,
           Added& added) const;
  void require_distinct_files() const;

  std::vector<NodeTable> nodes_;
  std::vector<Observation> schedule_;
  std::string utc_;  // when it was read
};

/// Throws Error(io) for a file that cannot be read, Error(config) for one that is no pipeline.
GraphFile read_graph_file(const std::string& path, const std::vector<NodeType>& types);

/// Every type there is.
std::vector<NodeType> node_types();

}  // namespace tautline::pipeline
