// One thread of a run: its inbox of blocks, its queues, and the clock that assigns its time to nodes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tautline/engine/block_pool.h"
#include "tautline/engine/graph.h"
#include "tautline/engine/profile.h"

namespace tautline::engine {

class Member;

/// The largest age of published counters while their node works or waits for input.
inline constexpr std::chrono::milliseconds kCountEvery{100};

/// An edge between two lanes.
struct RingEdge {
  Member* to = nullptr;
  std::size_t input = 0;
  BlockPool* pool = nullptr;
  std::size_t reader = 0;  ///< index among the pool's readers
  EdgeOptions options;
  bool written_by_device = false;
  std::size_t waiting = 0;    ///< blocks in the inbox; guarded by its mutex
  std::uint64_t dropped = 0;  ///< guarded by the inbox's mutex
};

/// An entry of an inbox: a block, or one of two marks that come after the blocks before them.
struct Entry {
  enum class Kind { block, end, checkpoint };
  RingEdge* edge = nullptr;
  Kind kind = Kind::block;
  PooledBlock* block = nullptr;
};

class Inbox {
 public:
  /// Appends an entry, by the edge's policy; releases dropped blocks.
  void push(const Entry& entry);
  /// The oldest entry; waits for one. `idle`, if set, is called once in each wait that takes longer than kCountEvery.
  /// Throws Stopped after stop().
  Entry pop(const std::function<void()>& idle = {});
  void stop();
  /// Blocks that wait on an edge to this lane, and blocks that the edge dropped.
  std::pair<std::size_t, std::uint64_t> waiting_and_dropped(const RingEdge& edge) const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<Entry> entries_;
  bool stopped_ = false;
};

/// Adds the time of one thread to the profiles of its nodes. Other threads may read these while they have locked
/// `mutex`.
class LaneClock {
 public:
  using Sum = double NodeProfile::*;
  /// From now on time is added to `profile`; returns the previous destination.
  std::pair<NodeProfile*, Sum> turn_to(NodeProfile* profile, Sum sum);
  void turn_to(std::pair<NodeProfile*, Sum> before) { turn_to(before.first, before.second); }
  /// Adds the time since the last turn to `seconds`.
  void credit(double& seconds);

  using Clock = std::chrono::steady_clock;
  /// The present destination; with the mutex locked, or on the clock's own thread.
  const NodeProfile* profile() const { return profile_; }
  Sum sum() const { return sum_; }
  Clock::time_point since() const { return since_; }

  mutable std::mutex mutex;  ///< also of all profiles of the lane's nodes

 private:
  Clock::time_point since_ = Clock::now();
  NodeProfile* profile_ = nullptr;
  Sum sum_ = &NodeProfile::busy_s;
};

/// Adds the time of a device's queue to the profiles of nodes.
class DeviceClock {
 public:
  using DevicePointer = std::shared_ptr<const device::Device>;
  /// `profiles`: guards them.
  explicit DeviceClock(std::mutex& profiles) : profiles_(profiles) {}
  /// Work enqueued from now on belongs to `profile`'s node, until the matching end().
  void begin(NodeProfile& profile, const DevicePointer& device, device::Queue& queue);
  void end();
  /// Adds the times known by now; `all`: waits for the rest.
  void collect(bool all);

 private:
  struct Span {
    NodeProfile* profile = nullptr;
    NodeProfile* around = nullptr;  ///< the node whose span contains this one
    DevicePointer device;
    device::Queue* queue = nullptr;
    std::unique_ptr<device::Event> from, to;
  };
  std::mutex& profiles_;
  std::vector<Span> open_;
  std::deque<Span> done_;
  std::map<const device::Device*, std::vector<std::unique_ptr<device::Event>>> spare_;

  std::unique_ptr<device::Event> event(const DevicePointer& device);
};

struct Lane {
  std::string name;
  std::vector<Member*> members;
  Member* source = nullptr;
  std::size_t open_inputs = 0;  ///< rings that have not ended
  Inbox inbox;
  LaneClock clock;
  DeviceClock device_clock{clock.mutex};
  std::map<const device::Device*, std::unique_ptr<device::Queue>> queues;

  device::Queue& queue(const std::shared_ptr<const device::Device>& device);
  /// Waits for the queues' work, and ignores its errors.
  void drain();
};

}  // namespace tautline::engine
