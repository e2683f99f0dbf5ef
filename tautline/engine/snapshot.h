// The state of a running graph at one moment, for monitors: the activity and the profile of each node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/engine/graph.h"
#include "tautline/engine/profile.h"

namespace tautline::engine {

/// The activity of a node at that moment. A node that shares its thread waits for input while another one works. Before
/// the run begins nodes are starting, but for sources whose first data are read already: they wait for input.
enum class Activity {
  starting,
  working,
  waiting_for_input,
  waiting_for_room,
  waiting_for_device,
  finished
};
std::string to_string(Activity activity);

struct NodeSnapshot {
  NodeProfile profile;  ///< including the time of the present activity
  bool source = false;  ///< has no inputs
  Activity activity = Activity::starting;
  double activity_s = 0;     ///< duration of the activity
  double since_block_s = 0;  ///< since its last block, or since the run began
  Counters counters;
  std::vector<std::string> problems;  ///< Node::problems, as old as the counters
  double counters_age_s = 0;          ///< the node may have counted more since
};

/// Blocks between two threads. The blocks of an output are shared by its rings: one of them may hold them all, more
/// than its depth.
struct RingSnapshot {
  std::string from, to;
  std::size_t waiting = 0;  ///< blocks that its reader has not begun
  /// Blocks that its reader has not finished, of so many: when all are in use, its producer waits. Where blocks are
  /// dropped instead: those that wait, of as many as may.
  std::size_t in_use = 0, blocks = 0;
  Policy policy = Policy::wait;
  std::uint64_t dropped = 0;
};

struct Snapshot {
  bool running = false;   ///< every node has started, and not every thread has ended
  bool finished = false;  ///< every result has its final name
  std::string error;      ///< of a run that has failed: the first line
  double run_s = 0;       ///< since every node had started
  std::uint64_t samples = 0, total_samples = 0;  ///< as passed to RunOptions::progress
  std::vector<NodeSnapshot> nodes;               ///< in the order of the graph
  std::vector<RingSnapshot> rings;
};

}  // namespace tautline::engine
