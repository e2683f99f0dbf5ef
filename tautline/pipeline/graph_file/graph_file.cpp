#include "tautline/pipeline/graph_file/graph_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <set>
#include <string_view>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/nearest_name.h"
#include "tautline/core/time.h"
#include "tautline/engine/run.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/formats/input_stream.h"
#include "tautline/formats/numbered_name.h"
#include "tautline/formats/toml/toml_kind.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

constexpr const char* kSchedule = "observation";

// This second, as 20260320T140000Z.
std::string utc_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string text = core::to_iso({std::chrono::duration_cast<std::chrono::seconds>(now).count()});
  text.resize(text.find('.'));
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text + "Z";
}

std::string place_of(const formats::TomlTable& table, const std::string& key) {
  return table.error(key, "", "").field();
}

template <class Items>
std::vector<std::string> names_in(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

// How nodes are joined, which is the file's to say.
constexpr std::array<std::string_view, 5> kOfEveryNode{"type", "inputs", "lane", "depth", "policy"};

Error unknown_field(const std::string& place, const std::string& name, const NodeType& type) {
  std::vector<std::string> names = names_in(type.fields);
  const std::string of_type = fmt::format("of a {}: {}", type.name, fmt::join(names, ", "));
  names.insert(names.end(), kOfEveryNode.begin(), kOfEveryNode.end());
  std::string meant = core::did_you_mean(name, names);
  // Nodes read from one or from the other.
  for (const auto& [one, other] : {std::pair{"path", "files"}, {"files", "path"}})
    if (meant.empty() && name == one && std::ranges::count(names, other) > 0)
      meant = std::string("did you mean ") + other;
  return {ErrorKind::config, place, "unknown field", of_type, meant};
}

// A key that no node has may be a slip of the one that every node has.
Error no_type(const formats::TomlTable& table, const std::vector<NodeType>& types) {
  std::vector<std::string> unknown = table.keys();
  std::erase_if(unknown, [&](const std::string& key) {
    return std::any_of(types.begin(), types.end(), [&](const NodeType& type) {
      const std::vector<std::string> names = names_in(type.fields);
      return std::find(names.begin(), names.end(), key) != names.end();
    });
  });
  const std::string nearest = core::nearest_name("type", unknown);
  return {ErrorKind::config, place_of(table, "type"), "missing", "a type of nodes, in quotes",
          nearest.empty() ? "" : nearest + " is no field: did you mean type"};
}

// "f.1": output 1 of node f; "f": all that it has.
std::pair<std::string, std::optional<std::size_t>> split_port(const std::string& text,
                                                              const std::string& place) {
  const std::size_t dot = text.find('.');
  if (dot == std::string::npos) return {text, std::nullopt};
  try {
    return {text.substr(0, dot), core::text::read<std::size_t>(text.substr(dot + 1))};
  } catch (const Error&) {
    throw Error(ErrorKind::config, place, text, "NODE or NODE.OUTPUT");
  }
}

core::FieldText<engine::Policy> policies() {
  return core::choice<engine::Policy>({{"wait", engine::Policy::wait},
                                       {"drop_oldest", engine::Policy::drop_oldest},
                                       {"drop_newest", engine::Policy::drop_newest}});
}

// Names of files may have commas: items of a list end with a line each.
std::string joined(const std::vector<std::string>& texts, const core::FieldDescription* field) {
  if (field == nullptr || field->kind != core::FieldKind::list)
    return texts.empty() ? std::string() : texts.front();
  std::string text;
  for (std::size_t k = 0; k < texts.size(); ++k) {
    if (k > 0 && field->separator != '\n') text += field->separator;
    text += texts[k];
    if (field->separator == '\n') text += '\n';
  }
  return text;
}

}  // namespace

GraphFile::GraphFile(const formats::TomlTable& file, const std::vector<NodeType>& types)
    : utc_(utc_now()) {
  for (const std::string& name : file.keys()) {
    const std::string place = place_of(file, name);
    if (name == kSchedule && !file.is_table(name)) {
      schedule_ = read_schedule(file);
      continue;
    }
    if (name.find('.') != std::string::npos)
      throw Error(ErrorKind::config, place, name, "a name without a dot");
    nodes_.push_back(read(file.table(name), name, place, types));
  }
  if (nodes_.empty())
    throw Error(ErrorKind::config, place_of(file, "nodes"), "none",
                "a table for each node, as [voltages]");
}

GraphFile::NodeTable GraphFile::read(const formats::TomlTable& table, const std::string& name,
                                     const std::string& place, const std::vector<NodeType>& types) {
  NodeTable node;
  node.name = name;
  node.place = place;
  if (!table.has("type")) throw no_type(table, types);
  const std::string type_place = place_of(table, "type"), type = table.text("type");
  for (const NodeType& one : types)
    if (one.name == type) node.type = &one;
  if (node.type == nullptr)
    throw Error(ErrorKind::config, type_place, type,
                fmt::format("one of {}", fmt::join(names_in(types), ", ")),
                core::did_you_mean(type, names_in(types)));
  node.inputs_place = place_of(table, "inputs");
  for (const std::string& key : table.keys()) {
    const std::string at = place_of(table, key);
    if (key == "type") continue;
    if (table.is_table(key)) {
      read_field(table, key, key, node);
      continue;
    }
    const std::vector<std::string> texts = table.any_texts(key);
    const std::string text = texts.empty() ? "" : texts.front();
    if (key == "inputs") {
      node.inputs = texts;
    } else if (key == "lane") {
      node.lane = text;
    } else if (key == "depth") {
      node.edge.depth = static_cast<std::size_t>(table.integer(key));
      if (table.integer(key) < 1) throw Error(ErrorKind::config, at, text, "1 or more");
    } else if (key == "policy") {
      try {
        node.edge.policy = policies().read(text);
      } catch (const Error& error) {
        throw Error(ErrorKind::config, at, text, policies().allowed, error.advice());
      }
    } else {
      read_field(table, key, key, node);
    }
  }
  return node;
}

// Of a file that is written: with the time in its name.
std::string GraphFile::named(const NodeType& type, const core::FieldDescription& field,
                             std::string text) const {
  if (std::find(type.writes.begin(), type.writes.end(), field.name) == type.writes.end())
    return text;
  constexpr std::string_view kTime = "{utc}";
  for (std::size_t at = text.find(kTime); at != std::string::npos; at = text.find(kTime, at))
    text.replace(at, kTime.size(), utc_);
  return text;
}

// A field, or a table of fields whose names begin with the table's: dms.range = "0:100:1".
void GraphFile::read_field(const formats::TomlTable& table, const std::string& key,
                           const std::string& name, NodeTable& node) {
  if (table.is_table(key)) {
    const formats::TomlTable part = table.table(key);
    for (const std::string& inner : part.keys()) read_field(part, inner, name + "." + inner, node);
    return;
  }
  const std::string at = place_of(table, key);
  const auto& fields = node.type->fields;
  const auto field =
      std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == name; });
  if (field == fields.end()) throw unknown_field(at, name, *node.type);
  const std::vector<std::string> texts = table.any_texts(key);
  if (field->kind != core::FieldKind::list && texts.size() != 1)
    throw Error(ErrorKind::config, at, fmt::format("a list of {}", texts.size()), "one value");
  node.values.push_back({&*field, named(*node.type, *field, joined(texts, &*field)), at});
}

std::size_t GraphFile::index_of(const std::string& name, const std::string& place) const {
  for (std::size_t k = 0; k < nodes_.size(); ++k)
    if (nodes_[k].name == name) return k;
  throw Error(ErrorKind::config, place, name,
              fmt::format("one of the nodes {}", fmt::join(names_in(nodes_), ", ")),
              core::did_you_mean(name, names_in(nodes_)));
}

void GraphFile::set(const std::string& assignment) {
  const std::string expected = "NODE.FIELD=VALUE";
  const std::size_t equals = assignment.find('='), dot = assignment.find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot > equals)
    throw Error(ErrorKind::config, "set", assignment, expected);
  const std::string name = assignment.substr(0, dot),
                    field = assignment.substr(dot + 1, equals - dot - 1);
  NodeTable& node = nodes_[index_of(name, "set")];
  const auto& fields = node.type->fields;
  const auto described =
      std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == field; });
  if (described == fields.end() &&
      std::find(kOfEveryNode.begin(), kOfEveryNode.end(), field) != kOfEveryNode.end())
    throw Error(ErrorKind::config, "set " + name + "." + field, "a field of every node",
                "a field of a " + node.type->name,
                fmt::format("{} are changed in the file", fmt::join(kOfEveryNode, ", ")));
  if (described == fields.end())
    throw unknown_field("set " + name + "." + field, field, *node.type);
  std::erase_if(node.values, [&](const Value& value) { return value.field->name == field; });
  node.values.push_back({&*described, named(*node.type, *described, assignment.substr(equals + 1)),
                         "set " + name + "." + field});
}

core::Error GraphFile::placed(const std::string& name, const core::Error& error) const {
  for (const NodeTable& node : nodes_) {
    if (node.name != name.substr(0, name.find_first_of(". "))) continue;
    std::string place =
        error.field() == "inputs" ? node.inputs_place : node.place + ": " + error.field();
    for (const Value& value : node.values)
      if (value.means(error.field())) place = value.place;
    return {error.kind(), place, error.value(), error.limit(), error.advice()};
  }
  return error;
}

// A name alone stands for all outputs of that node.
std::vector<engine::Port> GraphFile::ports_of(const NodeTable& node, const Added& added) {
  std::vector<engine::Port> ports;
  for (const std::string& text : node.inputs) {
    const auto [from, port] = split_port(text, node.inputs_place);
    for (const auto& [name, outputs] : added) {
      if (name != from) continue;
      if (outputs.empty() || (port && *port >= outputs.size()))
        throw Error(ErrorKind::config, node.inputs_place, text,
                    outputs.empty()
                        ? "a node that has outputs"
                        : fmt::format("a number below {} behind the dot: {} has {}", outputs.size(),
                                      from, core::counted(outputs.size(), "output")));
      if (port)
        ports.push_back(outputs[*port]);
      else
        ports.insert(ports.end(), outputs.begin(), outputs.end());
    }
  }
  const std::size_t wanted = node.type->inputs;
  if (wanted == kAnyInputs ? ports.empty() : ports.size() != wanted)
    throw Error(ErrorKind::config, node.inputs_place, core::counted(ports.size(), "input"),
                wanted == kAnyInputs ? fmt::format("one or more of a {}", node.type->name)
                                     : fmt::format("{} of a {}", wanted, node.type->name),
                ports.empty() ? "name the node before it, as inputs = \"NODE\"" : "");
  return ports;
}

std::unique_ptr<NodeSettings> GraphFile::settings_of(const NodeTable& node) const {
  auto settings = node.type->make();
  for (const Value& value : node.values) try {
      settings->set(value.field->name, value.text);
    } catch (const Error& error) {
      throw Error(ErrorKind::config, value.place, error.value(), error.limit(), error.advice());
    }
  try {
    settings->check();
  } catch (const Error& error) {
    throw placed(node.name, error);
  }
  return settings;
}

void GraphFile::add(const NodeTable& node, const NodeContext& context, engine::Graph& graph,
                    Added& added) const {
  const auto settings = settings_of(node);
  const std::vector<engine::Port> inputs = ports_of(node, added);
  try {
    added.emplace_back(node.name, settings->add(graph, node.name, inputs, node.edge, context));
  } catch (const engine::NodeError&) {
    throw;  // of a node before this one
  } catch (const Error& error) {
    throw placed(node.name, error);
  }
  // Of several nodes that do the work of one, the last has its name.
  if (!node.lane.empty()) graph.set_lane(graph.members().size() - 1, node.lane);
}

std::vector<std::string> GraphFile::paths_in(const Value& value) {
  if (value.field->kind != core::FieldKind::list) return {value.text};
  return core::file_names().read(value.text);
}

// No output is another node's output or an input.
void GraphFile::require_distinct_files() const {
  std::vector<formats::NamedFile> reads, writes;
  for (const NodeTable& node : nodes_)
    for (const Value& value : node.values) {
      const auto names = [&](const std::vector<std::string>& fields) {
        return std::find(fields.begin(), fields.end(), value.field->name) != fields.end();
      };
      if (!names(node.type->reads) && !names(node.type->writes)) continue;
      auto& files = names(node.type->writes) ? writes : reads;
      for (const std::string& path : paths_in(value)) files.push_back({value.place, path});
    }
  formats::require_distinct(writes, reads);
}

void GraphFile::observe(const std::vector<std::string>& assignments, std::size_t number) {
  std::vector<std::pair<std::string, std::string>> named;  // node and field
  for (const std::string& assignment : assignments) {
    set(assignment);
    const std::size_t dot = assignment.find('.');
    named.emplace_back(assignment.substr(0, dot),
                       assignment.substr(dot + 1, assignment.find('=') - dot - 1));
  }
  for (NodeTable& node : nodes_)
    for (Value& value : node.values) {
      const auto& reads = node.type->reads;
      const auto& writes = node.type->writes;
      const bool is_input = std::find(reads.begin(), reads.end(), value.field->name) != reads.end();
      if (is_input && schedule_.size() > 1)
        for (const std::string& path : paths_in(value))
          if (formats::is_stream(path))
            throw Error(ErrorKind::config, value.place, path, "files, in several observations",
                        "a pipe has no beginning for each of them");
      const bool is_output =
          std::find(writes.begin(), writes.end(), value.field->name) != writes.end();
      const bool is_named = std::find(named.begin(), named.end(),
                                      std::pair(node.name, value.field->name)) != named.end();
      if (is_output && !is_named && !value.text.empty())
        value.text = formats::numbered_name(value.text, number);
    }
}

std::vector<WrittenFile> GraphFile::written() const {
  std::vector<WrittenFile> files;
  for (const NodeTable& node : nodes_)
    for (const Value& value : node.values)
      if (const auto& names = node.type->writes;
          !value.text.empty() &&
          std::find(names.begin(), names.end(), value.field->name) != names.end())
        files.push_back({node.name, value.text});
  return files;
}

std::vector<std::string> GraphFile::ends() const {
  std::set<std::string> taken;
  for (const NodeTable& node : nodes_)
    for (const std::string& input : node.inputs)
      taken.insert(split_port(input, node.inputs_place).first);
  std::vector<std::string> names;
  for (const NodeTable& node : nodes_)
    if (!taken.contains(node.name)) names.push_back(node.name);
  return names;
}

std::vector<std::string> GraphFile::drawn() const {
  std::vector<std::string> names;
  for (const NodeTable& node : nodes_)
    if (node.type->drawn) names.push_back(node.name);
  return names;
}

// Each node behind those that its inputs name.
auto GraphFile::in_order() const -> std::vector<const NodeTable*> {
  std::vector<const NodeTable*> ordered;
  const auto done = [&](const NodeTable& node) { return std::ranges::count(ordered, &node) > 0; };
  const auto is_ready = [&](const NodeTable& node) {
    return std::ranges::all_of(node.inputs, [&](const std::string& input) {
      return done(nodes_[index_of(split_port(input, node.inputs_place).first, node.inputs_place)]);
    });
  };
  while (ordered.size() < nodes_.size()) {
    const std::size_t before = ordered.size();
    for (const NodeTable& node : nodes_)
      if (!done(node) && is_ready(node)) ordered.push_back(&node);
    if (ordered.size() > before) continue;
    const NodeTable& node = *std::ranges::find_if_not(nodes_, done);
    throw Error(ErrorKind::config, node.inputs_place, node.inputs.front(),
                "inputs that do not go round");
  }
  return ordered;
}

engine::Graph GraphFile::build(const NodeContext& context, NodeOutputs* outputs) const {
  require_distinct_files();
  // Before a source opens its files or waits for data.
  const std::vector<const NodeTable*> ordered = in_order();
  for (const NodeTable& node : nodes_) (void)settings_of(node);
  engine::Graph graph;
  Added added;
  for (const NodeTable* node : ordered) add(*node, context, graph, added);
  if (outputs != nullptr) outputs->insert(added.begin(), added.end());
  return graph;
}

GraphFile read_graph_file(const std::string& path, const std::vector<NodeType>& types) {
  try {
    const formats::TomlTable file = formats::TomlTable::read(path);
    formats::require_kind(file, path, formats::TomlKind::pipeline);
    return {file, types};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::format) throw;
    throw Error(ErrorKind::config, error.field(), error.value(), error.limit(), error.advice());
  }
}

}  // namespace tautline::pipeline
