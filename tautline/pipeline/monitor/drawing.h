// The part of a live page that draws one node's results: keeps a small digest as blocks pass, and sends messages.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tautline/engine/block.h"

namespace tautline::pipeline::monitor {

/// Used by one thread at a time.
class Drawing {
 public:
  virtual ~Drawing() = default;
  virtual void take(const engine::Block& block) = 0;
  /// Blocks may be passed over: the picture says so, or has a gap there.
  virtual bool may_skip() const { return true; }
  /// JSON messages that make the whole picture, as it is.
  virtual std::vector<std::string> all() = 0;
  /// Those that bring a picture up to date that was made of what all() and news() gave before; none where nothing
  /// changed.
  virtual std::vector<std::string> news() = 0;
};

/// Of a stream of visibilities, filterbanks, pulses or curves; null: other kinds are not drawn.
std::unique_ptr<Drawing> make_drawing(const engine::Stream& stream);

}  // namespace tautline::pipeline::monitor
