#include "tautline/engine/opening.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "tautline/core/counted.h"
#include "tautline/engine/transfer.h"

namespace tautline::engine {

namespace {

using core::Error;
using core::ErrorKind;

constexpr std::size_t kMostOnTheirWay = 2;  // blocks that one copying node has enqueued

// Null for a device that works in the host's memory.
DevicePointer memory_of(const DevicePointer& device) {
  return device && device->compiles() ? device : nullptr;
}

}  // namespace

class Opening {
 public:
  explicit Opening(RunControl& control) : control_(control) {}
  void open_nodes(Graph& graph);
  void choose_lanes();
  void refuse_circles() const;
  void make_outputs();

  Opened opened;

 private:
  struct Joint {  // an edge of the graph, with the copies that were put on it
    Member* from;
    std::size_t port;
    Member* to;
    std::size_t input;
    EdgeOptions options;
  };

  Member& add_member(std::string name, std::unique_ptr<Node> node, std::string lane);
  Member& moved(Member& from, std::size_t port, const DevicePointer& device, std::size_t depth);

  RunControl& control_;
  std::vector<Joint> joints_;
  std::map<std::tuple<Member*, std::size_t, const device::Device*>, Member*> copies_;
  std::map<Member*, std::string> wished_lanes_;
};

Member& Opening::add_member(std::string name, std::unique_ptr<Node> node, std::string lane) {
  auto member = std::make_unique<Member>();
  member->name = std::move(name);
  member->node = std::move(node);
  member->control = &control_;
  opened.members.push_back(std::move(member));
  wished_lanes_[opened.members.back().get()] = std::move(lane);
  return *opened.members.back();
}

// The member that gives the stream in that memory: one copy for all its readers there, as deep as the edge of the
// first.
Member& Opening::moved(Member& from, std::size_t port, const DevicePointer& device,
                       std::size_t depth) {
  Member*& copy = copies_[{&from, port, device.get()}];
  if (copy != nullptr) return *copy;
  const Stream& stream = from.streams[port];
  if (stream.device && device) {  // through the host
    Member& host = moved(from, port, nullptr, depth);
    return *(copy = &moved(host, 0, device, depth));
  }
  const std::string where = device ? device->name() : "the host";
  copy = &add_member(fmt::format("{} to {}", from.name, where),
                     std::make_unique<Transfer>(device, std::min(depth, kMostOnTheirWay)), {});
  copy->streams = copy->node->open(std::span(&stream, 1));
  copy->inputs.resize(1);
  copy->needs = {copy->node->needs(0, stream)};
  copy->reads = {stream.device ? stream.device : device};
  if (!device) copy->writes_host_with = stream.device;
  joints_.push_back({&from, port, copy, 0, {.depth = std::min(depth, kMostOnTheirWay)}});
  return *copy;
}

void Opening::open_nodes(Graph& graph) {
  const std::vector<NodeId> order = graph.order();
  std::vector<Member*> of(graph.members_.size());
  for (const NodeId id : order) {
    const std::size_t inputs = graph.inputs_of(id);
    // Producers were opened before: each input's stream, in the memory that the node reads it in.
    Node& node = *graph.members_[id].node;
    std::vector<Stream> streams(inputs);
    std::vector<Joint> joints(inputs);
    std::vector<Needs> needs(inputs);
    for (const Edge& edge : graph.edges_) {
      if (edge.to.node != id) continue;
      const std::size_t input = edge.to.port;
      Member* from = of[edge.from.node];
      std::size_t port = edge.from.port;
      if (port >= from->streams.size())
        throw Error(ErrorKind::config, from->name + ": output", std::to_string(port),
                    fmt::format("a number below {}: it has {}", from->streams.size(),
                                core::counted(from->streams.size(), "output")));
      try {
        needs[input] = node.needs(input, from->streams[port]);
      } catch (const Error& error) {
        throw NodeError(graph.members_[id].name, error);
      }
      const DevicePointer device = memory_of(needs[input].device);
      if (!needs[input].anywhere && device != from->streams[port].device &&
          !from->streams[port].arrays.empty()) {
        from = &moved(*from, port, device, edge.options.depth);
        port = 0;
      }
      streams[input] = from->streams[port];
      streams[input].lent = false;
      joints[input] = {from, port, nullptr, input, edge.options};
    }
    Member& member = add_member(graph.members_[id].name, std::move(graph.members_[id].node),
                                graph.members_[id].lane);
    of[id] = &member;
    try {
      member.streams = member.node->open(streams);
    } catch (const Error& error) {
      throw NodeError(member.name, error);
    }
    for (Stream& stream : member.streams) stream.device = memory_of(stream.device);
    member.inputs.resize(inputs);
    member.needs = needs;
    for (std::size_t k = 0; k < inputs; ++k) {
      joints[k].to = &member;
      joints_.push_back(joints[k]);
      member.reads.push_back(needs[k].anywhere ? streams[k].device : memory_of(needs[k].device));
      member.in_step = member.in_step || needs[k].in_step;
    }
  }
}

// A stage joins its producer's lane where all its inputs come from that lane and it works on the same device: so no
// circle of lanes that wait for each other can form.
void Opening::choose_lanes() {
  std::map<std::string, Lane*> by_name;
  std::map<Lane*, const device::Device*> device_of;
  for (const auto& member : opened.members) {
    const bool source = member->inputs.empty(), sink = member->streams.empty();
    const bool copy = dynamic_cast<Transfer*>(member->node.get()) != nullptr;
    member->profile.kind = copy     ? NodeKind::copy
                           : source ? NodeKind::source
                           : sink   ? NodeKind::sink
                                    : NodeKind::stage;
    const DevicePointer device = member->reads.empty() ? nullptr : member->works_on(0);
    Lane* lane = nullptr;
    std::string name = wished_lanes_[member.get()];
    if (name.empty() && !source && !sink && !copy) {
      std::set<Lane*> before;
      for (const Joint& joint : joints_)
        if (joint.to == member.get()) before.insert(joint.from->lane);
      Lane* only = before.size() == 1 ? *before.begin() : nullptr;
      if (only != nullptr && device_of.contains(only) && device_of[only] == device.get())
        lane = only;
      name = device ? device->name() : "cpu";
      for (std::size_t k = 2; lane == nullptr && by_name.contains(name); ++k)
        name = fmt::format("{}.{}", device ? device->name() : "cpu", k);
    }
    if (name.empty()) name = member->name;
    if (lane == nullptr && by_name.contains(name)) lane = by_name[name];
    if (lane == nullptr) {
      opened.lanes.push_back(std::make_unique<Lane>());
      lane = opened.lanes.back().get();
      lane->name = name;
      by_name[name] = lane;
      if (!source && !sink && !copy) device_of[lane] = device.get();
    }
    member->lane = lane;
    lane->members.push_back(member.get());
    if (source) {
      if (lane->source != nullptr)
        throw Error(ErrorKind::config, "lane", lane->name, "one source a lane");
      lane->source = member.get();
    }
  }
  refuse_circles();
}

// Lanes that the caller set could wait for each other.
void Opening::refuse_circles() const {
  std::map<Lane*, std::set<Lane*>> behind;
  for (const Joint& joint : joints_)
    if (joint.from->lane != joint.to->lane) behind[joint.from->lane].insert(joint.to->lane);
  for (const auto& lane : opened.lanes) {
    std::set<Lane*> reached;
    std::vector<Lane*> left(behind[lane.get()].begin(), behind[lane.get()].end());
    while (!left.empty()) {
      Lane* next = left.back();
      left.pop_back();
      if (next == lane.get())
        throw Error(ErrorKind::config, "lane", lane->name,
                    "lanes that do not wait for each other in a circle");
      if (reached.insert(next).second)
        left.insert(left.end(), behind[next].begin(), behind[next].end());
    }
    if (lane->source != nullptr)
      for (const Joint& joint : joints_)
        if (joint.to->lane == lane.get() && joint.from->lane != lane.get())
          throw Error(ErrorKind::config, "lane", lane->name,
                      "no blocks of other lanes beside its source");
  }
}

void Opening::make_outputs() {
  for (const auto& member : opened.members) {
    PlannedNode planned{member->name,
                        member->lane->name,
                        member->node->kernels(),
                        member->streams,
                        member->node->bytes(),
                        0,
                        0};
    for (std::size_t port = 0; port < member->streams.size(); ++port) {
      const Stream& stream = member->streams[port];
      Member::Output output;
      std::size_t rings = 0, waiting = 0, dropping = 0, kept = 0;
      DevicePointer pinned;
      for (const Joint& joint : joints_) {
        if (joint.from != member.get() || joint.port != port) continue;
        const Needs& needs = joint.to->needs[joint.input];
        kept += needs.kept_blocks + (needs.in_step ? joint.options.depth : 0);
        const DevicePointer copier = joint.to->reads[joint.input];
        if (copier && !stream.device) pinned = copier;
        if (joint.to->lane == member->lane) {
          output.direct.push_back({joint.to, joint.input});
          continue;
        }
        auto ring = std::make_unique<RingEdge>();
        ring->to = joint.to;
        ring->input = joint.input;
        ring->reader = rings++;
        ring->options = joint.options;
        ring->written_by_device = stream.device || member->writes_host_with;
        if (joint.options.policy == Policy::wait) {
          waiting = std::max(waiting, joint.options.depth);
        } else {
          dropping += joint.options.depth + 1;
        }
        ++joint.to->lane->open_inputs;
        output.rings.push_back(std::move(ring));
      }
      if (member->writes_host_with) pinned = member->writes_host_with;
      const std::size_t blocks = stream.open_blocks + waiting + dropping + kept;
      output.pool = std::make_unique<BlockPool>(stream, blocks, rings, pinned);
      for (const auto& ring : output.rings) ring->pool = output.pool.get();
      planned.blocks += blocks;
      planned.block_bytes += blocks * stream.block_bytes();
      member->outputs.push_back(std::move(output));
    }
    opened.plan.push_back(std::move(planned));
  }
  for (const Joint& joint : joints_) {
    if (joint.from != opened.members.front().get()) continue;
    joint.to->counts_progress = true;
    break;
  }
}

Opened open(Graph graph, RunControl& control) {
  Opening opening(control);
  opening.open_nodes(graph);
  opening.choose_lanes();
  opening.make_outputs();
  return std::move(opening.opened);
}

}  // namespace tautline::engine
