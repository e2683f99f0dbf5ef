// The profile of a run: the time that each thread spent working and waiting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tautline::engine {

/// A node's place in the graph; `copy`: between the host's memory and a device's.
enum class NodeKind { source, stage, sink, copy };

struct NodeProfile {
  std::string node, lane;
  NodeKind kind = NodeKind::stage;
  double setup_s = 0;  ///< in its start()
  double busy_s = 0;   ///< in the node's functions, less waiting and the nodes it handed blocks to
  double device_s =
      0;  ///< its device's, for what it enqueued there, less the nodes it handed blocks to
  double waiting_for_input_s = 0;   ///< its lane had nothing to do, and then a block for this node
  double waiting_for_room_s = 0;    ///< every block of an output was in use
  double waiting_for_device_s = 0;  ///< for copies to be done
  std::uint64_t blocks = 0;         ///< given to it; sources: that it gave
  std::uint64_t bytes = 0;          ///< of their arrays
  std::uint64_t dropped = 0;        ///< blocks that its inputs' rings gave up
  /// A source that gives its blocks as if their samples came now, and by how much one came too late at most: what reads
  /// them was not fast enough.
  bool paced = false;
  double behind_s = 0;
};

struct Profile {
  std::vector<NodeProfile> nodes;  ///< in the order of the graph
  double setup_s = 0;              ///< until every node had started
  double run_s = 0;                ///< from then to the end of the lanes
  std::string bound_by;   ///< the node with most of the time of the busiest thread or device
  double efficiency = 0;  ///< busy time of that thread or device over run_s
};

/// Fills in bound_by and efficiency.
void conclude(Profile& profile);
/// A table for people, and a last line that says what bounds the run and what would make it faster. After conclude().
std::string to_text(const Profile& profile);

}  // namespace tautline::engine
