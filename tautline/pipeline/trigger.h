// A call to keep a stretch of data: what flows to buffers along edges of kind "triggers" (docs/design/buffer.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tautline/core/dispersion.h"
#include "tautline/core/time.h"
#include "tautline/engine/block.h"

namespace tautline::pipeline {

struct Trigger {
  std::string kind;                      ///< who calls: "candidate", "datagram"
  std::string id;                        ///< the caller's name for it
  core::Instant time = {};               ///< of a pulse: at `reference_hz`
  std::optional<std::int64_t> sample{};  ///< instead of the time: of the buffer's stream, from 0
  double before_s = -1, after_s = -1;    ///< negative: the buffer's own
  double dm = 0;                         ///< pc cm^-3; 0: no dispersion
  double reference_hz = 0;               ///< where there is a dispersion
  double dm_constant = core::kDispersionConstant;
  std::map<std::string, double> facts{};  ///< more for the record: "snr"
};

/// Payload of blocks of kind "triggers", which have no arrays.
using Triggers = std::vector<Trigger>;

/// What a node gives whose triggers come with the blocks of `like`.
inline engine::Stream trigger_stream(engine::Stream like) {
  like.kind = "triggers";
  like.arrays.clear();
  like.device = nullptr;
  like.lent = false;
  like.open_blocks = 1;
  like.details = {};
  return like;
}

}  // namespace tautline::pipeline
