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
  /// In the node's functions, without waiting and without the nodes that it hands blocks to.
  double busy_s = 0;
  /// Of its device, for work that the node enqueued, without the nodes that it hands blocks to.
  double device_s = 0;
  double waiting_for_input_s = 0;   ///< its lane was idle before a block for this node
  double waiting_for_room_s = 0;    ///< every block of an output was in use
  double waiting_for_device_s = 0;  ///< for copies to complete
  std::uint64_t blocks = 0;         ///< received; for sources: given
  std::uint64_t bytes = 0;          ///< of their arrays
  std::uint64_t dropped = 0;        ///< blocks that its inputs' rings dropped
  /// For a paced source: the largest delay of a block, because its consumers were too slow.
  bool paced = false;
  double behind_s = 0;
};

struct Profile {
  std::vector<NodeProfile> nodes;  ///< in the order of the graph
  double setup_s = 0;              ///< until every node had started
  double run_s = 0;                ///< from then to the end of the lanes
  std::string bound_by;   ///< the node with most of the time of the busiest thread or device
  double efficiency = 0;  ///< busy time of that thread or device over run_s
  /// The stages' own times, added up, over run_s: what of the run is not reading, copying and writing. Stages that work
  /// at the same time each count.
  double stages_share = 0;
};

/// Fills in bound_by, efficiency and stages_share.
void conclude(Profile& profile);
/// The profile as a table, and a last line with the node that bounds the run and advice. After conclude().
std::string to_text(const Profile& profile);

}  // namespace tautline::engine
