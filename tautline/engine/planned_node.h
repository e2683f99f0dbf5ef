// A node of an opened run, and the error of one that a run could not open.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/device/device.h"
#include "tautline/engine/block.h"

namespace tautline::engine {

/// An error of a node that a run could not open.
class NodeError : public core::Error {
 public:
  NodeError(std::string node, const core::Error& error)
      : core::Error(error), node_(std::move(node)) {}
  const std::string& node() const { return node_; }

 private:
  std::string node_;
};

/// One node of the opened run: for `--plan`.
struct PlannedNode {
  std::string name, lane, kernels;
  std::vector<Stream> outputs;
  device::MemoryUse bytes;      ///< of the node itself
  std::size_t block_bytes = 0;  ///< of all blocks of its outputs
  std::size_t blocks = 0;
};

}  // namespace tautline::engine
