#include "tautline/engine/node.h"

namespace tautline::engine {

Needs Node::needs(std::size_t, const Stream&) const {
  return {};
}
std::string Node::kernels() const {
  return {};
}

device::MemoryUse Node::bytes() const {
  return {};
}
std::optional<Load> Node::expected_load() const {
  return {};
}
void Node::start(Outputs&) {}
bool Node::produce(Outputs&) {
  return false;
}
void Node::begin_segment(std::size_t, const Block&, Outputs&) {}
void Node::process(std::size_t, const Block&, Outputs&) {}
void Node::process_together(std::span<const Block* const>, Outputs&) {}
void Node::publish() {}
void Node::conclude() {}
void Node::end_segment(std::size_t, Outputs&) {}
void Node::finish(Outputs&) {}
Counters Node::counters() const {
  return {};
}
std::vector<std::string> Node::problems() const {
  return {};
}
std::optional<FirstData> Node::first_data() const {
  return {};
}
std::vector<std::byte> Node::save() const {
  return {};
}
void Node::load(std::span<const std::byte> state) {
  if (!state.empty())
    throw core::Error(core::ErrorKind::format, "saved state",
                      std::to_string(state.size()) + " bytes", "none: this node has no state");
}

}  // namespace tautline::engine
