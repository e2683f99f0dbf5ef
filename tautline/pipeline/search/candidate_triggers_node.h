// Turns the pulses of a running search into triggers for buffers. docs/design/buffer.md
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/engine/node.h"
#include "tautline/pipeline/search/found_candidates.h"
#include "tautline/pipeline/search/search_node.h"
#include "tautline/pipeline/trigger.h"

namespace tautline::pipeline {

struct CandidateTriggersConfig {
  double threshold = 0;  ///< S/N; lower than the search's: all of its pulses
  double least_dm = 0;   ///< interference mostly lies below
};
const core::Fields<CandidateTriggersConfig>& fields(const CandidateTriggersConfig&);

/// Takes "pulses" and gives "triggers", best first in each block. Pulses that were put into the data trigger nothing.
class CandidateTriggersNode final : public engine::Node {
 public:
  explicit CandidateTriggersNode(CandidateTriggersConfig config) : config_(config) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  void begin_segment(std::size_t input, const engine::Block& first,
                     engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void end_segment(std::size_t input, engine::Outputs& outputs) override;
  engine::Counters counters() const override;

 private:
  void give(const std::vector<FoundCandidate>& found, const engine::Block& block,
            engine::Outputs& outputs);

  CandidateTriggersConfig config_;
  PulseStream stream_;
  std::optional<FoundCandidates> found_;
  engine::Block last_;  // the time of the last block
  std::uint64_t given_ = 0, injected_ = 0;
};

}  // namespace tautline::pipeline
