#include "tautline/pipeline/voltages/trigger_sender_node.h"

#include "tautline/core/error.h"
#include "tautline/pipeline/trigger.h"
#include "tautline/pipeline/voltages/trigger_listener.h"

namespace tautline::pipeline {

const core::Fields<TriggerSenderConfig>& fields(const TriggerSenderConfig&) {
  using C = TriggerSenderConfig;
  static const auto all =
      core::Fields<C>()
          .add({.name = "to",
                .help = "address to send to, udp://HOST:PORT, also of a multicast group"},
               &C::to)
          .add({.name = "interface",
                .help =
                    "address of the network interface by which datagrams to a multicast group go"},
               &C::interface);
  return all;
}

TriggerSenderNode::TriggerSenderNode(const TriggerSenderConfig& config)
    : config_(config), to_(stream::parse_endpoint("to", config.to)) {
  if (to_.transport != stream::Endpoint::Transport::udp)
    throw core::Error(core::ErrorKind::config, "to", config.to, "udp://HOST:PORT");
}

std::vector<engine::Stream> TriggerSenderNode::open(std::span<const engine::Stream> inputs) {
  for (const engine::Stream& input : inputs)
    if (input.kind != "triggers")
      throw core::Error(core::ErrorKind::config, "inputs", input.kind, "triggers",
                        "make pulses triggers with a candidate_triggers");
  return {};
}

void TriggerSenderNode::start(engine::Outputs&) {
  sender_.emplace(to_, config_.interface);
}

void TriggerSenderNode::process(std::size_t, const engine::Block& block, engine::Outputs&) {
  for (const Trigger& trigger : block.payload_of<Triggers>()) {
    const std::string text = trigger_text(trigger);
    sender_->send(std::as_bytes(std::span(text)));
    ++sent_;
  }
  sender_->flush();
}

engine::Counters TriggerSenderNode::counters() const {
  return {{"triggers", sent_}};
}

}  // namespace tautline::pipeline
