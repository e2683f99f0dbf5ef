#include "tautline/engine/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <set>
#include <thread>

#include "tautline/engine/member.h"
#include "tautline/engine/transfer.h"

namespace tautline::engine {

namespace {

using core::Error;
using core::ErrorKind;

constexpr std::size_t kMostOnTheirWay = 2;  // blocks that one copying node has enqueued

// The host's memory is nobody's device's.
DevicePointer memory_of(const DevicePointer& device) {
  return device && device->compiles() ? device : nullptr;
}

}  // namespace

class Run::Impl {
 public:
  Impl(Graph graph, RunOptions options);
  ~Impl() {
    // Handles to blocks go before the blocks.
    while (!members_.empty()) {
      members_.back()->node.reset();
      members_.back()->forget();
      nodes_gone_.push_back(std::move(members_.back()));
      members_.pop_back();
    }
  }

  void go(std::stop_token stop);
  Profile profile() const;
  Counters counters() const;

  std::vector<PlannedNode> plan_;
  RunOptions options_;
  RunControl control_;
  std::vector<std::unique_ptr<Member>> members_;

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
  void open(Graph& graph);
  void choose_lanes();
  void make_outputs();
  void check_memory() const;
  void check_states() const;
  void wait_for_starts();
  void serve(Lane& lane);
  void serve(Lane& lane, const Entry& entry);
  void report_progress() const;
  void produce(Lane& lane);
  bool all_live() const;

  std::vector<Joint> joints_;
  std::map<std::tuple<Member*, std::size_t, const device::Device*>, Member*> copies_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::unique_ptr<Member>> nodes_gone_;
  std::map<Member*, std::string> wished_lanes_;
  double setup_s_ = 0, run_s_ = 0;
};

Run::Impl::Impl(Graph graph, RunOptions options) : options_(std::move(options)) {
  open(graph);
  choose_lanes();
  make_outputs();
  check_memory();
  check_states();
  control_.checkpointed = options_.checkpointed;
  control_.stop_all = [this] {
    control_.stopping = true;
    control_.live.request_stop();
    for (const auto& member : members_)
      for (Member::Output& output : member->outputs) output.pool->stop();
    for (const auto& lane : lanes_) lane->inbox.stop();
    {
      const std::lock_guard lock(control_.mutex);
    }  // whoever waits has seen `stopping`, or is woken
    control_.all_started.notify_all();
  };
}

Member& Run::Impl::add_member(std::string name, std::unique_ptr<Node> node, std::string lane) {
  auto member = std::make_unique<Member>();
  member->name = std::move(name);
  member->node = std::move(node);
  member->control = &control_;
  members_.push_back(std::move(member));
  wished_lanes_[members_.back().get()] = std::move(lane);
  return *members_.back();
}

// The member that gives the stream in that memory: one copy for all who read it there, as deep as the edge of the first.
Member& Run::Impl::moved(Member& from, std::size_t port, const DevicePointer& device,
                         std::size_t depth) {
  Member*& copy = copies_[{&from, port, device.get()}];
  if (copy != nullptr) return *copy;
  const Stream& stream = from.streams[port];
  if (stream.device && device) {  // by way of the host
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

void Run::Impl::open(Graph& graph) {
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
                    fmt::format("one of its {} outputs", from->streams.size()));
      needs[input] = node.needs(input, from->streams[port]);
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

// A stage goes on its producer's lane where all its inputs come from that lane and it works on the same device: then
// lanes that wait for each other cannot form a circle.
void Run::Impl::choose_lanes() {
  std::map<std::string, Lane*> by_name;
  std::map<Lane*, const device::Device*> device_of;
  for (const auto& member : members_) {
    const bool source = member->inputs.empty(), sink = member->streams.empty();
    const bool copy = dynamic_cast<Transfer*>(member->node.get()) != nullptr;
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
      lanes_.push_back(std::make_unique<Lane>());
      lane = lanes_.back().get();
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
  // Lanes that were set by hand could wait for each other: refuse circles.
  std::map<Lane*, std::set<Lane*>> behind;
  for (const Joint& joint : joints_)
    if (joint.from->lane != joint.to->lane) behind[joint.from->lane].insert(joint.to->lane);
  for (const auto& lane : lanes_) {
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

void Run::Impl::make_outputs() {
  for (const auto& member : members_) {
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
        const DevicePointer copier =
            needs.copies_with ? memory_of(needs.copies_with) : joint.to->reads[joint.input];
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
    plan_.push_back(std::move(planned));
  }
  for (const Joint& joint : joints_) {
    if (joint.from != members_.front().get()) continue;
    joint.to->counts_progress = true;
    break;
  }
}

void Run::Impl::check_memory() const {
  std::size_t needed = 0;
  const PlannedNode* largest = &plan_.front();
  const auto host_bytes = [](const PlannedNode& node) {
    const bool on_device = !node.outputs.empty() && node.outputs.front().device;
    return node.bytes.host_bytes + (on_device ? 0 : node.block_bytes);
  };
  for (const PlannedNode& node : plan_) {
    needed += host_bytes(node);
    if (host_bytes(node) > host_bytes(*largest)) largest = &node;
  }
  const auto mebibytes = [](std::size_t bytes) { return (bytes + (1 << 20) - 1) >> 20; };
  if (options_.memory_bytes > 0 && needed > options_.memory_bytes)
    throw Error(ErrorKind::memory, "memory_bytes", fmt::format("{} MiB needed", mebibytes(needed)),
                fmt::format("at most {} MiB", options_.memory_bytes >> 20),
                fmt::format("raise it, or make blocks shorter; most of it, {} MiB, is {}'s",
                            mebibytes(host_bytes(*largest)), largest->name));
}

void Run::Impl::check_states() const {
  for (const auto& [name, state] : options_.resume)
    if (std::none_of(members_.begin(), members_.end(),
                     [&](const auto& member) { return member->name == name; }))
      throw Error(ErrorKind::config, "resume", "state of node " + name,
                  "states of this graph's nodes");
}

bool Run::Impl::all_live() const {
  return std::all_of(members_.begin(), members_.end(), [](const auto& member) {
    return !member->inputs.empty() || member->node->live();
  });
}

void Run::Impl::go(std::stop_token stop) {
  for (const auto& member : members_) {
    try {
      for (Member::Output& output : member->outputs) output.pool->allocate();
    } catch (...) {
      control_.failed_node = member->name;
      throw;
    }
  }
  const std::stop_callback on_stop(stop, [this] {
    if (all_live()) {
      control_.live.request_stop();
      return;
    }
    try {
      throw Error(ErrorKind::io, "run", "interrupted", "", "nothing was kept");
    } catch (...) {
      control_.fail({});
    }
  });
  const auto started = std::chrono::steady_clock::now();
  const auto seconds = [](auto from, auto to) {
    return std::chrono::duration<double>(to - from).count();
  };
  control_.lanes_left = control_.lanes_to_start = lanes_.size();
  control_.started = started;
  {
    std::vector<std::jthread> threads;
    for (const auto& lane : lanes_) threads.emplace_back([this, &lane = *lane] { serve(lane); });
    std::unique_lock lock(control_.mutex);
    const auto ended = [this] { return control_.lanes_left == 0; };
    const auto pause = std::chrono::duration<double>(options_.progress_every_s);
    while (!control_.lane_ended.wait_for(lock, pause, ended)) {
      lock.unlock();
      report_progress();
      lock.lock();
    }
  }
  setup_s_ = seconds(started, control_.started);
  run_s_ = seconds(control_.started, std::chrono::steady_clock::now());
  if (control_.error) std::rethrow_exception(control_.error);
  report_progress();
  for (const auto& member : members_) member->node->publish();
}

void Run::Impl::report_progress() const {
  if (options_.progress && !members_.front()->streams.empty())
    options_.progress(control_.samples_taken, members_.front()->streams.front().total_samples);
}

// No block flows before every node has started: an error there costs no reading, and times are of work alone.
void Run::Impl::wait_for_starts() {
  std::unique_lock lock(control_.mutex);
  if (--control_.lanes_to_start == 0) {
    control_.started = std::chrono::steady_clock::now();
    control_.all_started.notify_all();
  }
  control_.all_started.wait(lock,
                            [this] { return control_.lanes_to_start == 0 || control_.stopping; });
  if (control_.stopping) throw Stopped{};
}

void Run::Impl::serve(Lane& lane) {
  try {
    for (Member* member : lane.members) {
      member->call(
          [&](Node& n) {
            n.start(*member);
            const auto state = options_.resume.find(member->name);
            if (state != options_.resume.end()) n.load(state->second);
          },
          &NodeProfile::setup_s);
    }
    lane.members.back()->call(  // what the lane's nodes have compiled side by side
        [&](Node&) {
          for (const auto& [device, queue] : lane.queues) device->shared().wait_for_programs();
        },
        &NodeProfile::setup_s);
    wait_for_starts();
    double waited_s = 0;  // nobody's
    lane.clock.credit(waited_s);
    if (lane.source != nullptr) produce(lane);
    while (lane.open_inputs > 0) {
      const Entry entry = lane.inbox.pop();
      lane.clock.credit(entry.edge->to->profile.waiting_for_input_s);
      serve(lane, entry);
    }
    lane.members.back()->call(
        [&](Node&) {
          for (const auto& [device, queue] : lane.queues) queue->synchronise();
          lane.device_clock.collect(true);
        },
        &NodeProfile::waiting_for_device_s);
  } catch (const Stopped&) {
    lane.drain();
  }
  lane.queues.clear();
  {
    const std::lock_guard lock(control_.mutex);
    --control_.lanes_left;
  }
  control_.lane_ended.notify_one();
}

void Run::Impl::serve(Lane& lane, const Entry& entry) {
  Member& to = *entry.edge->to;
  switch (entry.kind) {
    case Entry::Kind::block:
      to.take(entry.edge->input, *entry.block, entry.edge, *entry.edge->pool);
      entry.edge->pool->release(*entry.block);
      break;
    case Entry::Kind::end:
      to.end(entry.edge->input);
      --lane.open_inputs;
      break;
    case Entry::Kind::checkpoint:
      to.checkpoint(entry.edge->input);
      break;
  }
}

void Run::Impl::produce(Lane& lane) {
  Member& source = *lane.source;
  std::uint64_t saved = 0;
  for (bool more = true; more;) {
    if (control_.stopping) throw Stopped{};
    if (source.node->live() && control_.live.stop_requested()) break;
    if (control_.checkpoints > saved) {
      saved = control_.checkpoints;
      source.save();
    }
    more = source.call([&](Node& n) { return n.produce(source); });
  }
  source.finish();
}

Profile Run::Impl::profile() const {
  Profile all;
  all.setup_s = setup_s_;
  all.run_s = run_s_;
  for (const auto& member : members_) {
    all.nodes.push_back(member->profile);
    all.nodes.back().node = member->name;
    all.nodes.back().lane = member->lane->name;
  }
  for (std::size_t k = 0; k < members_.size(); ++k)
    for (const Member::Output& output : members_[k]->outputs)
      for (const auto& ring : output.rings)
        for (std::size_t to = 0; to < members_.size(); ++to)
          if (members_[to].get() == ring->to) all.nodes[to].dropped += ring->dropped;
  conclude(all);
  return all;
}

Counters Run::Impl::counters() const {
  Counters all;
  for (const auto& member : members_)
    for (const auto& [name, count] : member->node->counters())
      all[member->name + "." + name] = count;
  for (const NodeProfile& node : profile().nodes)
    if (node.dropped > 0) all[node.node + ".dropped_blocks"] = node.dropped;
  return all;
}

Run::Run(Graph graph, RunOptions options)
    : impl_(std::make_unique<Impl>(std::move(graph), std::move(options))) {}
Run::~Run() = default;
const std::vector<PlannedNode>& Run::plan() const {
  return impl_->plan_;
}
device::MemoryUse Run::bytes() const {
  device::MemoryUse sum;
  for (const PlannedNode& node : impl_->plan_) {
    const bool on_device = !node.outputs.empty() && node.outputs.front().device;
    sum.host_bytes += node.bytes.host_bytes + (on_device ? 0 : node.block_bytes);
    sum.device_bytes += node.bytes.device_bytes + (on_device ? node.block_bytes : 0);
  }
  return sum;
}
void Run::go(std::stop_token stop) {
  impl_->go(std::move(stop));
}
void Run::checkpoint() {
  {
    const std::lock_guard lock(impl_->control_.mutex);
    if (impl_->control_.unsaved > 0) return;  // one at a time
    impl_->control_.unsaved = impl_->members_.size();
  }
  ++impl_->control_.checkpoints;
}
const std::string& Run::failed_node() const {
  return impl_->control_.failed_node;
}
Node& Run::node(const std::string& name) const {
  for (const auto& member : impl_->members_)
    if (member->name == name) return *member->node;
  throw Error(ErrorKind::config, "node", name, "a node of this run");
}
Counters Run::counters() const {
  return impl_->counters();
}
Profile Run::profile() const {
  return impl_->profile();
}

}  // namespace tautline::engine
