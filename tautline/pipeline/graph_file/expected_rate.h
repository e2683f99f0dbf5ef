// Predicts the speed of an opened graph, as far as its nodes can measure their own.
#pragma once

#include <string>
#include <vector>

#include "tautline/engine/run.h"

namespace tautline::pipeline {

struct ExpectedNode {
  std::string name;
  engine::Load load;
};

/// Nodes of one device take their turns, however many lanes they are on; devices work at the same time, and so do
/// reading (kReading) and writing (kWriting).
struct ExpectedRate {
  std::vector<ExpectedNode> measured;     ///< in the graph's order
  std::vector<std::string> not_measured;  ///< copies, live sources and most sinks
  double stream_s = 0;                    ///< of the first source; 0: not known
  double source_bytes_per_s = 0;          ///< of blocks that it gives, in real time
  engine::Load busiest;                   ///< the device that has most to do, and how much
  std::string bound_by;  ///< the node with most of that; empty: nothing was measured
  double real_time_factor() const { return 1 / busiest.seconds; }
};

/// Measures for some milliseconds a node. Before run.go(); throws what the nodes throw.
ExpectedRate expected_rate(const engine::Run& run);

/// For people, with line ends.
std::string describe(const ExpectedRate& rate);

}  // namespace tautline::pipeline
