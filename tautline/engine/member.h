// A node in its run: receives its blocks and hands on its results.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/engine/lane.h"
#include "tautline/engine/run_options.h"
#include "tautline/engine/snapshot.h"

namespace tautline::engine {

using DevicePointer = std::shared_ptr<const device::Device>;

/// The state that the members of a run share.
struct RunControl {
  std::atomic<bool> stopping = false;
  std::stop_source live;  // ends live sources
  std::mutex mutex;       // guards the members below
  std::exception_ptr error;
  std::string failed_node, error_text;  // of the error: its first line
  std::condition_variable lane_ended;
  bool running = false;    // every node has started, and not every lane has ended
  bool published = false;  // every node's files have their names
  std::size_t lanes_left = 0, lanes_to_start = 0;
  std::condition_variable all_started;
  std::chrono::steady_clock::time_point started = {};  // when the last lane had started
  std::atomic<std::uint64_t> samples_taken = 0, checkpoints = 0, rotations = 0;
  bool saving = false;      // a checkpoint is in progress
  States states;            // of the nodes that have saved for it
  States finished;          // of the nodes that have finished, if checkpoints are possible
  std::size_t unsaved = 0;  // nodes that the checkpoint waits for
  std::size_t unfinished = 0;
  std::function<void()> stop_all;
  std::function<void(States)> checkpointed;
  bool counting = false;  // snapshots need the nodes' counters

  /// Requests a checkpoint; one at a time.
  void begin_checkpoint();
  /// Stores a node's state, at a mark or after its end. The last state completes the checkpoint, and `checkpointed` is
  /// called.
  void save(const std::string& node, std::vector<std::byte> state, bool has_finished);

  /// Called where the exception is caught.
  void fail(const std::string& node) {
    {
      const std::lock_guard lock(mutex);
      if (!error && !stopping) note_error(node);
    }
    stop_all();
  }
  /// With the mutex locked.
  void note_error(const std::string& node);
};

/// A node in its run: receives its blocks and hands on its results.
class Member final : public Outputs {
 public:
  struct DirectEdge {
    Member* to;
    std::size_t input;
  };
  struct Output {
    std::unique_ptr<BlockPool> pool;
    std::vector<std::unique_ptr<RingEdge>> rings;
    std::vector<DirectEdge> direct;
    std::deque<PooledBlock*> begun;
  };
  struct Input {
    bool ended = false;
    bool marked = false;  // a checkpoint's mark has come: later entries are deferred
    bool in_segment = false;
    std::uint64_t segment = 0, next = 0;  // the sample that would continue the stream
    // Until the blocks of inputs in step with it have come.
    std::deque<std::shared_ptr<const Block>> waiting;
  };

  std::string name;
  std::unique_ptr<Node> node;
  Lane* lane = nullptr;
  RunControl* control = nullptr;
  std::vector<Stream> streams;  // of its outputs
  std::vector<Output> outputs;
  std::vector<Input> inputs;
  std::vector<Needs> needs;  // of each input
  // The device whose memory each input is read from; null: the host.
  std::vector<DevicePointer> reads;
  DevicePointer writes_host_with;  // for copies to the host: the device that copies
  bool in_step = false;
  bool counts_progress = false;
  double pace = 0;      // of a paced source, times real time; 0: unpaced
  NodeProfile profile;  // guarded by its lane's clock

  // Outputs.
  using Outputs::begin;
  Block& begin(std::size_t port) override;
  Block* try_begin(std::size_t port) override;

  void commit(std::size_t port) override;

  std::shared_ptr<const Block> keep(const Block& block) override;

  device::Queue& queue(const DevicePointer& device) override { return lane->queue(device); }
  void wait(const device::Event& event) override {
    const auto before = lane->clock.turn_to(&profile, &NodeProfile::waiting_for_device_s);
    event.synchronise();
    lane->clock.turn_to(before);
  }
  void waits_for_others(bool waits) override {
    lane->clock.turn_to(&profile, waits ? &NodeProfile::waiting_for_input_s : &NodeProfile::busy_s);
    if (!waits) count_if_due();
  }
  std::stop_token stop() const override { return control->live.get_token(); }
  std::uint64_t rotations() const override { return control->rotations; }

  /// The device that works on blocks of an input; null: the host.
  const DevicePointer& works_on(std::size_t input) const {
    if (writes_host_with || reads[input]) return writes_host_with ? writes_host_with : reads[input];
    return streams.empty() ? reads[input] : streams.front().device;
  }

  void forget() {
    for (Input& in : inputs) in.waiting.clear();
    for (Output& output : outputs) output.pool->forget();
  }

  /// Calls a function with the node: its time is the node's, and so is its error.
  template <class Function>
  auto call(Function function, LaneClock::Sum time = &NodeProfile::busy_s) {
    const auto before = lane->clock.turn_to(&profile, time);
    try {
      if constexpr (std::is_void_v<decltype(function(*node))>) {
        function(*node);
        lane->clock.turn_to(before);
        count_if_due();
      } else {
        auto result = function(*node);
        lane->clock.turn_to(before);
        count_if_due();
        return result;
      }
    } catch (const Stopped&) {
      throw;
    } catch (...) {
      control->fail(name);
      throw Stopped{};
    }
  }

  /// Takes a block of an input, from a ring or (null) on this thread.
  void take(std::size_t input, PooledBlock& block, RingEdge* edge, BlockPool& pool);

  /// Ends an input.
  void end(std::size_t input);

  void finish();

  /// Takes a checkpoint's mark of an input.
  void checkpoint(std::size_t input);

  void save();

  /// Publishes the node's counters; on its thread, between two calls. Does nothing if they are published already.
  void count();
  /// From any thread.
  NodeSnapshot snapshot() const;

 private:
  struct Taken {
    PooledBlock* block = nullptr;  // null: the end of the input
    BlockPool* pool = nullptr;
    RingEdge* edge = nullptr;
    std::size_t input = 0;
    std::size_t ring() const { return edge == nullptr ? BlockPool::kNoRing : edge->reader; }
  };

  Block* begun(std::size_t port, PooledBlock* block);

  void wait_for(const Taken& taken);

  void follow(Node& n, std::size_t input, const Block& block);

  [[noreturn]] void refuse_steps(const Block& block, const std::string& other) const;

  void step(Node& n);

  void record_read(const Taken& taken);

  // The device that writes blocks: in its own memory, or, for a copying node, in the host's.
  DevicePointer writer_of(std::size_t port) const {
    return streams[port].device ? streams[port].device : writes_host_with;
  }

  device::Queue* queue_of(std::size_t input) const;

  void pass_on(Entry::Kind kind);

  void save_where_marked();

  // Whether the published counters are old.
  void count_if_due() {
    uncounted_ = true;
    if (lane->clock.since() - counted_at_ >= kCountEvery) count();
  }

  void note_block(const Block& block);

  void wait_for_pace(const Block& block);

  Taken taken_;                      // the entry that `process` works on
  std::vector<Taken> put_off_;       // after a checkpoint's mark
  std::uint64_t given_samples_ = 0;  // of a source with a pace

  bool uncounted_ = false;  // called since its counters were published
  // Guarded by the lane's clock.
  LaneClock::Clock::time_point counted_at_ = {}, last_block_ = {};
  Counters counters_;
  std::vector<std::string> problems_;
  bool finished_ = false;
};

}  // namespace tautline::engine
