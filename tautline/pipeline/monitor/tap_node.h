// A sink beside the others of a node's results, which draws them and is never waited for.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tautline/engine/graph.h"
#include "tautline/pipeline/monitor/drawing.h"

namespace tautline::pipeline::monitor {

/// What a tap and those who follow it share. From any thread.
class Tapped {
 public:
  explicit Tapped(std::string node) : node_(std::move(node)) {}
  const std::string& node() const { return node_; }
  void open(const engine::Stream& stream);
  /// Draws the block, unless that would take more than a twentieth of a processor's time. Never throws: a drawing that
  /// fails is given up, and its failure told.
  void take(const engine::Block& block);
  std::vector<std::string> all();
  std::vector<std::string> news();
  /// Why nothing is drawn any more; empty: it is.
  std::string failure();

 private:
  template <class Function>
  void attempt(Function function);

  std::string node_;
  std::mutex mutex_;
  std::unique_ptr<Drawing> drawing_;
  std::string failure_;
  double rests_until_s_ = 0;  // of the steady clock
};

}  // namespace tautline::pipeline::monitor
