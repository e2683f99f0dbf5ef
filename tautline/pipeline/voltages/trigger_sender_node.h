// Triggers to other programs and machines, as datagrams of JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/engine/node.h"
#include "tautline/stream/udp.h"

namespace tautline::pipeline {

struct TriggerSenderConfig {
  std::string to;              ///< udp://HOST:PORT
  std::string interface = {};  ///< of the network, for a multicast group
};
const core::Fields<TriggerSenderConfig>& fields(const TriggerSenderConfig&);

/// Takes any number of streams of "triggers". Each trigger is sent as a datagram (trigger_text()) when its block comes.
class TriggerSenderNode final : public engine::Node {
 public:
  /// Throws Error(config) where it cannot send to the address.
  explicit TriggerSenderNode(const TriggerSenderConfig& config);

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  void start(engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  /// "triggers".
  engine::Counters counters() const override;

 private:
  TriggerSenderConfig config_;
  stream::Endpoint to_;
  std::optional<stream::UdpSender> sender_;
  std::uint64_t sent_ = 0;
};

}  // namespace tautline::pipeline
