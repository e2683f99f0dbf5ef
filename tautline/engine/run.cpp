#include "tautline/engine/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>

#include "tautline/core/byte_text.h"
#include "tautline/core/threads.h"
#include "tautline/engine/member.h"
#include "tautline/engine/opening.h"

namespace tautline::engine {

namespace {

using core::Error;
using core::ErrorKind;

}  // namespace

class Run::Impl {
 public:
  Impl(Graph graph, RunOptions options);
  ~Impl() {
    // Handles to blocks are destroyed before the blocks.
    std::vector<std::unique_ptr<Member>> nodes_gone;
    while (!members_.empty()) {
      members_.back()->node.reset();
      members_.back()->forget();
      nodes_gone.push_back(std::move(members_.back()));
      members_.pop_back();
    }
  }

  void go(std::stop_token stop);
  Profile profile() const;
  Counters counters() const;
  Snapshot snapshot() const;
  bool all_live() const;

  std::vector<PlannedNode> plan_;
  RunOptions options_;
  mutable RunControl control_;
  std::vector<std::unique_ptr<Member>> members_;

 private:
  void check_memory() const;
  void check_states() const;
  void wait_for_starts();
  void serve(Lane& lane);
  void serve(Lane& lane, const Entry& entry);
  void start_lanes(std::vector<std::jthread>& threads);
  void report_progress() const;
  // Before the run begins.
  static void add_first_data(const Member& member, NodeSnapshot& node);
  void produce(Lane& lane);
  // On the thread that calls go(); an error is attributed to that member.
  template <class Function>
  void for_each_member(Function function) {
    for (const auto& member : members_) try {
        function(*member);
      } catch (...) {
        const std::lock_guard lock(control_.mutex);
        control_.note_error(member->name);
        throw;
      }
  }

  std::vector<std::unique_ptr<Lane>> lanes_;
  double setup_s_ = 0, run_s_ = 0;
};

Run::Impl::Impl(Graph graph, RunOptions options) : options_(std::move(options)) {
  Opened opened = open(std::move(graph), control_);
  plan_ = std::move(opened.plan);
  members_ = std::move(opened.members);
  lanes_ = std::move(opened.lanes);
  check_memory();
  check_states();
  for (const auto& member : members_)
    if (member->inputs.empty() && !member->node->live() && !member->streams.empty()) {
      member->pace = options_.pace > 0 ? options_.pace : member->streams.front().pace;
      member->profile.paced = member->pace > 0;
    }
  control_.checkpointed = options_.checkpointed;
  control_.counting = options_.live_counters;
  control_.unfinished = members_.size();
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
                "at most " + core::byte_text(options_.memory_bytes),
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
  for_each_member([](Member& member) {
    for (Member::Output& output : member.outputs) output.pool->allocate();
  });
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
  {
    const std::lock_guard lock(control_.mutex);
    control_.lanes_left = control_.lanes_to_start = lanes_.size();
    control_.started = started;
  }
  {
    std::vector<std::jthread> threads;
    start_lanes(threads);
    std::unique_lock lock(control_.mutex);
    const auto ended = [this] { return control_.lanes_left == 0; };
    const auto pause = std::chrono::duration<double>(options_.progress_every_s);
    while (!control_.lane_ended.wait_for(lock, pause, ended)) {
      lock.unlock();
      report_progress();
      lock.lock();
    }
  }
  {
    const std::lock_guard lock(control_.mutex);
    control_.running = false;
    setup_s_ = seconds(started, control_.started);
    run_s_ = seconds(control_.started, std::chrono::steady_clock::now());
  }
  if (control_.error) std::rethrow_exception(control_.error);
  report_progress();
  for_each_member([](Member& member) { member.node->publish(); });
  {
    const std::lock_guard lock(control_.mutex);
    control_.published = true;
  }
  for_each_member([](Member& member) { member.node->conclude(); });
}

void Run::Impl::start_lanes(std::vector<std::jthread>& threads) {
  try {
    for (const auto& lane : lanes_)
      threads.emplace_back([this, &lane = *lane] {
        core::name_this_thread(lane.name);
        serve(lane);
      });
  } catch (const std::system_error& refused) {
    // The threads started so far wait for the others before they take any block.
    try {
      throw Error(
          ErrorKind::io, "threads", fmt::format("{} ({})", threads.size(), refused.what()),
          fmt::format("{}, one for each part of the pipeline that works by itself", lanes_.size()),
          "let this user have more processes: ulimit -u");
    } catch (...) {
      control_.fail({});
    }
    const std::lock_guard lock(control_.mutex);
    control_.lanes_left -= lanes_.size() - threads.size();
  }
}

void Run::Impl::report_progress() const {
  if (options_.progress && !members_.front()->streams.empty())
    options_.progress(control_.samples_taken, members_.front()->streams.front().total_samples);
}

// No block is handed on before every node has started: so an error there costs no reading, and times are of work alone.
void Run::Impl::wait_for_starts() {
  std::unique_lock lock(control_.mutex);
  if (--control_.lanes_to_start == 0) {
    control_.started = std::chrono::steady_clock::now();
    control_.running = true;
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
    double waited_s = 0;  // attributed to no node
    lane.clock.credit(waited_s);
    if (lane.source != nullptr) produce(lane);
    const auto idle = [&lane] {
      for (Member* member : lane.members) member->count();
    };
    while (lane.open_inputs > 0) {
      const Entry entry = control_.counting ? lane.inbox.pop(idle) : lane.inbox.pop();
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
      entry.edge->pool->release(*entry.block, entry.edge->reader);
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

void Run::Impl::add_first_data(const Member& member, NodeSnapshot& node) {
  std::optional<FirstData> first = member.node->first_data();
  if (!first) return;
  node.counters = std::move(first->counters);
  node.problems = std::move(first->problems);
  node.counters_age_s = 0;
  if (first->reading_s < 0) return;
  node.activity = Activity::waiting_for_input;
  node.activity_s = first->reading_s;
}

Snapshot Run::Impl::snapshot() const {
  Snapshot all;
  {
    const std::lock_guard lock(control_.mutex);
    all.running = control_.running;
    all.finished = control_.published;
    all.error = control_.error_text;
    all.run_s = run_s_;
    if (all.running)
      all.run_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - control_.started)
                      .count();
  }
  all.samples = control_.samples_taken;
  if (!members_.front()->streams.empty())
    all.total_samples = members_.front()->streams.front().total_samples;
  for (const auto& member : members_) {
    all.nodes.push_back(member->snapshot());
    NodeSnapshot& node = all.nodes.back();
    if (node.profile.blocks == 0) node.since_block_s = all.run_s;
    if (all.running || node.activity == Activity::finished) continue;
    node.activity = Activity::starting;
    if (all.run_s == 0) add_first_data(*member, node);
  }
  for (const auto& member : members_)
    for (const Member::Output& output : member->outputs)
      for (const auto& ring : output.rings) {
        const auto [waiting, dropped] = ring->to->lane->inbox.waiting_and_dropped(*ring);
        const bool waits = ring->options.policy == Policy::wait;
        all.rings.push_back({member->name, ring->to->name, waiting,
                             waits ? ring->pool->used_by(ring->reader) : waiting,
                             waits ? ring->pool->blocks() : ring->options.depth,
                             ring->options.policy, dropped});
        for (NodeSnapshot& node : all.nodes)
          if (node.profile.node == ring->to->name) node.profile.dropped += dropped;
      }
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
  impl_->control_.begin_checkpoint();
}
void Run::rotate() {
  ++impl_->control_.rotations;
}
bool Run::rotates() const {
  return std::any_of(impl_->members_.begin(), impl_->members_.end(),
                     [](const auto& member) { return member->node->rotates(); });
}
bool Run::live() const {
  return impl_->all_live();
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
std::map<std::string, std::vector<std::string>> Run::files() const {
  std::map<std::string, std::vector<std::string>> all;
  for (const auto& member : impl_->members_)
    if (auto files = member->node->files(); !files.empty()) all[member->name] = std::move(files);
  return all;
}
std::string Run::findings() const {
  std::string text;
  for (const auto& member : impl_->members_) text += member->node->findings();
  return text;
}
Profile Run::profile() const {
  return impl_->profile();
}
Snapshot Run::snapshot() const {
  return impl_->snapshot();
}

}  // namespace tautline::engine
