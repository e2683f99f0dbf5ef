// Pipelines as TOML files, of nodes that count.
#include "tautline/pipeline/graph_file/graph_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/nodes.h"
#include "tests/support/error_of.h"

namespace tautline::pipeline {

struct NumbersConfig {
  std::uint64_t count = 10;
  std::size_t block = 3;
};
const core::Fields<NumbersConfig>& fields(const NumbersConfig&) {
  static const auto all =
      core::Fields<NumbersConfig>()
          .add({.name = "count", .help = "how many"}, &NumbersConfig::count, core::at_least(1))
          .add({.name = "block", .help = "numbers in a block"}, &NumbersConfig::block,
               core::between(1, 100));
  return all;
}

struct AddConfig {
  std::int32_t number = 1, more = 0;
};
const core::Fields<AddConfig>& fields(const AddConfig&) {
  static const auto all =
      core::Fields<AddConfig>()
          .add({.name = "number", .help = "what is added"}, &AddConfig::number)
          .add({.name = "further.number", .help = "what is added, too"}, &AddConfig::more);
  return all;
}

struct CollectConfig {
  std::vector<std::string> paths;
};
const core::Fields<CollectConfig>& fields(const CollectConfig&) {
  static const auto all = core::Fields<CollectConfig>().add(
      {.name = "paths", .help = "names of files", .separator = '\n'}, &CollectConfig::paths,
      core::file_names());
  return all;
}

namespace {

using engine::Came;

NodeType collect_type(const std::string& name, std::size_t inputs, std::vector<Came>& came,
                      std::vector<std::string>* paths) {
  return sink_type<CollectConfig>(
             name, "keeps what comes", inputs,
             [&came, paths](const CollectConfig& c, const engine::Graph&, const engine::Port&,
                            const NodeContext&) {
               if (paths != nullptr) *paths = c.paths;
               came.reserve(8);
               return std::make_unique<engine::Collecting>(came.emplace_back());
             })
      .writing({"paths"});
}

// The types of these tests; what arrives at "collect" nodes goes to `came`, in the order in which they are made.
std::vector<NodeType> types_with(std::vector<Came>& came,
                                 std::vector<std::string>* paths = nullptr) {
  return {
      node_type<NumbersConfig>("numbers", "0, 1, 2, ...", 0,
                               [](const NumbersConfig& c, const NodeContext&) {
                                 return std::make_unique<engine::Counting>(c.count, c.block);
                               }),
      node_type<AddConfig>("add", "adds a number", 1,
                           [](const AddConfig& c, const NodeContext&) {
                             return std::make_unique<engine::Adding>(c.number + c.more);
                           }),
      // Adds its number at one output, and a hundred more at another.
      composite_type<AddConfig>("both", "adds numbers", 1,
                                [](const AddConfig& c, engine::Graph& graph,
                                   const std::string& name, const std::vector<engine::Port>& from,
                                   const engine::EdgeOptions& edge, const NodeContext&) {
                                  std::vector<engine::Port> outputs;
                                  for (const int more : {0, 100}) {
                                    outputs.emplace_back(graph.add(
                                        name + "." + std::to_string(more),
                                        std::make_unique<engine::Adding>(c.number + more)));
                                    graph.connect(from.front(), outputs.back(), edge);
                                  }
                                  return outputs;
                                }),
      collect_type("collect", 1, came, paths), collect_type("gather", kAnyInputs, came, paths)};
}

GraphFile graph_of(const std::string& text, const std::vector<NodeType>& types) {
  return {formats::TomlTable::parse(text, "graph.toml"), types};
}

constexpr const char* kFork = R"(
# Consumers may stand before what they read.
[sums]
type = "collect"
inputs = "add"

[add]
type = "add"
inputs = ["numbers"]
number = 100

[numbers]
type = "numbers"
count = 7

[plain]
type = "collect"
inputs = "numbers"
depth = 5
lane = "other"
)";

void run(const GraphFile& file) {
  engine::Run run(file.build({}));
  run.go();
}

TEST(GraphFile, RunsAForkAsItIsWritten) {
  std::vector<Came> came;
  const auto types = types_with(came);
  run(graph_of(kFork, types));
  ASSERT_EQ(came.size(), 2u);
  const bool first_adds = came[0].values.front() == 100;
  EXPECT_EQ(came[first_adds ? 0 : 1].values,
            (std::vector<std::int32_t>{100, 101, 102, 103, 104, 105, 106}));
  EXPECT_EQ(came[first_adds ? 1 : 0].values, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6}));
}

// As a name with a dot, as a table and by assignment.
TEST(GraphFile, FieldsOfParts) {
  const std::string nodes =
      "[n]\ntype='numbers'\ncount=2\n[c]\ntype='collect'\ninputs='a'\n"
      "[a]\ntype='add'\ninputs='n'\nnumber=10\n";
  for (const char* part : {"further.number=5", "further={number=5}", "[a.further]\nnumber=5"}) {
    std::vector<Came> came;
    const auto types = types_with(came);
    GraphFile file = graph_of(nodes + part + "\n", types);
    run(file);
    EXPECT_EQ(came.at(0).values, (std::vector<std::int32_t>{15, 16})) << part;
    came.clear();
    file.set("a.further.number=6");
    run(file);
    EXPECT_EQ(came.at(0).values, (std::vector<std::int32_t>{16, 17})) << part;
  }
  std::vector<Came> came;
  const auto types = types_with(came);
  const core::Error error =
      tests::error_of([&] { graph_of(nodes + "[a.further]\nnothing=5\n", types); });
  EXPECT_NE(std::string(error.what()).find("further.number"), std::string::npos) << error.what();
  EXPECT_NE(std::string(error.what()).find("line 12"), std::string::npos) << error.what();
}

// A name alone is all outputs of the node.
TEST(GraphFile, NodesWithSeveralOutputs) {
  for (const auto& [inputs, values] :
       std::vector<std::pair<std::string, std::vector<std::int32_t>>>{
           {"'b'", {5, 105}}, {"'b.0'", {5}}, {"'b.1'", {105}}, {"['b.1', 'n']", {0, 105}}}) {
    std::vector<Came> came;
    const auto types = types_with(came);
    run(
        graph_of("[n]\ntype='numbers'\ncount=1\n[b]\ntype='both'\ninputs='n'\nnumber=5\n"
                 "[g]\ntype='gather'\ninputs=" +
                     inputs + "\n",
                 types));
    std::sort(came.at(0).values.begin(), came.at(0).values.end());
    EXPECT_EQ(came.at(0).values, values) << inputs;
  }
}

TEST(GraphFile, AssignmentsTakeThePlaceOfWhatTheFileSays) {
  std::vector<Came> came;
  std::vector<std::string> paths;
  const auto types = types_with(came, &paths);
  GraphFile file = graph_of(
      "[n]\ntype='numbers'\ncount=50\n[c]\ntype='collect'\ninputs='n'\npaths=['a,b','c']\n", types);
  file.set("n.count=2");
  file.set("n.block=1");
  run(file);
  EXPECT_EQ(came.at(0).values, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(paths, (std::vector<std::string>{"a,b", "c"}));
  came.clear();
  file.set("c.paths=x.fil,y.fil");
  run(file);
  EXPECT_EQ(paths, (std::vector<std::string>{"x.fil", "y.fil"}));
  // How nodes are joined is the file's to say.
  for (const std::string field : {"type", "inputs", "lane", "depth", "policy"}) {
    std::string said;
    try {
      file.set("n." + field + "=x");
    } catch (const core::Error& refused) {
      said = refused.what();
    }
    EXPECT_NE(said.find("set n." + field + ": a field of every node"), std::string::npos) << said;
    EXPECT_EQ(said.find("unknown"), std::string::npos) << said;
  }
}

// Mistakes of users: each is refused before anything starts, with the place and the allowed values.
TEST(GraphFile, SaysWhereAFileIsWrongAndWhatIsAllowed) {
  std::vector<Came> came;
  const auto types = types_with(came);
  const std::string good = "[n]\ntype = 'numbers'\n", sink = "[c]\ntype = 'collect'\n";
  struct Wrong {
    std::string text, said;
  };
  for (const Wrong& wrong : std::vector<Wrong>{
           {"", "a table for each node"},
           {"[n]\n", "graph.toml: [n]: type: missing"},
           {"[n]\ntype = 'nombres'\n",
            "graph.toml: [n]: type (line 2): nombres, expected one of numbers, add, both, collect, "
            "gather"},
           {good + "counts = 3\n",
            "graph.toml: [n]: counts (line 3): unknown field, expected of a numbers: count, block; "
            "did "
            "you mean count"},
           {good + sink + "input = 'n'\n",
            "input (line 5): unknown field, expected of a collect: "},
           {good + sink + "input = 'n'\n", "; did you mean inputs"},
           {"[n]\ntype = 'number'\n", "gather; did you mean numbers"},
           {"[count]\ntype = 'numbers'\n" + sink + "inputs = 'cuont'\n",
            "one of the nodes count, c; did you mean count"},
           {good + "block = 300\n", "graph.toml: [n]: block (line 3): 300, expected 1 to 100"},
           {good + "block = [1, 2]\n", "block (line 3): a list of 2, expected one value"},
           {good + "block = 'many'\n", "block (line 3): many"},
           {good + sink, "graph.toml: [c]: inputs: 0 inputs, expected 1 of a collect"},
           {good + sink + "inputs = 'm'\n", "inputs (line 5): m, expected one of the nodes n, c"},
           {good + sink + "inputs = 'n.3'\n",
            "inputs (line 5): n.3, expected a number below 1 behind the dot: n has 1 output"},
           {good + sink + "inputs = 'n'\ndepth = 0\n", "depth (line 6): 0, expected 1 or more"},
           {good + sink + "inputs = 'n'\npolicy = 'hope'\n",
            "policy (line 6): hope, expected wait, drop_oldest or drop_newest"},
           {"[a]\ntype = 'add'\ninputs = 'b'\n[b]\ntype = 'add'\ninputs = 'a'\n",
            "inputs that do not go round"},
           {"[a]\ntype = 'add'\ninputs = 'a'\n", "inputs (line 3): a, expected inputs that do not"},
           {good + "[b]\ntype = 'both'\ninputs = 'n'\n" + sink + "inputs = 'b'\n",
            "inputs (line 8): 2 inputs, expected 1 of a collect"},
           {good + "[b]\ntype = 'both'\ninputs = 'n'\n" + sink + "inputs = 'b.2'\n",
            "inputs (line 8): b.2, expected a number below 2 behind the dot: b has 2 outputs"},
           {good + sink + "inputs = 'n'\n[d]\ntype = 'collect'\ninputs = 'c'\n",
            "inputs (line 8): c, expected a node that has outputs"},
           {good + sink + "inputs = 'n'\npaths = ['a', 'b/../a']\n",
            "graph.toml: [c]: paths (line 6)"},
           {"[n]\ntype = [\n", "expected TOML"}})
    try {
      run(graph_of(wrong.text, types));
      ADD_FAILURE() << wrong.text;
    } catch (const core::Error& error) {
      EXPECT_NE(std::string(error.what()).find(wrong.said), std::string::npos)
          << error.what() << "\n"
          << wrong.said;
    }
  GraphFile file = graph_of(good + sink + "inputs = 'n'\n", types);
  for (const char* assignment : {"n", "n.count", "=", "n=3", "m.count=3", "n.size=3"})
    EXPECT_THROW(file.set(assignment), core::Error) << assignment;
  file.set("n.block=101");
  try {
    run(file);
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_STREQ(error.what(), "set n.block: 101, expected 1 to 100");
  }
}

}  // namespace
}  // namespace tautline::pipeline
