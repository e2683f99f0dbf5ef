#include "tautline/pipeline/voltages/receivers_type.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tautline/formats/assumed_values.h"
#include "tautline/formats/voltage_reader.h"
#include "tautline/pipeline/pace.h"
#include "tautline/pipeline/voltages/block_size.h"
#include "tautline/pipeline/voltages/voltage_source_node.h"
#include "tautline/stream/mwa_receivers.h"

namespace tautline::pipeline {

enum class ReceiverLayout { mwa32t, mwa32t_1byte };

// Connections from telescopes.
struct Receivers : formats::ReaderOptions {
  std::vector<std::string> listen{"tcp://127.0.0.1:9032"};
  ReceiverLayout layout = ReceiverLayout::mwa32t;
  std::size_t connections = 4;
  double wait_s = 5, late_s = 1, duration_s = -1;
  bool keep_constant = false;
  std::size_t block_samples = 0;  ///< 0: by bytes
};
const core::Fields<Receivers>& fields(const Receivers&) {
  using C = Receivers;
  static const auto all =
      core::Fields<C>()
          .add({.name = "listen",
                .help = "address to listen at, tcp://HOST:PORT, for all connections, which are "
                        "numbered as they come, or one for each; port 0: one that is free"},
               &C::listen)
          .add({.name = "layout", .help = "what the connections carry"}, &C::layout,
               core::choice<ReceiverLayout>({{"mwa32t", ReceiverLayout::mwa32t},
                                             {"mwa32t-1byte", ReceiverLayout::mwa32t_1byte}}))
          .add({.name = "connections", .help = "receivers that make the array"}, &C::connections,
               core::between(1, 1024))
          .add({.name = "wait_s",
                .unit = "s",
                .help = "how long the others are waited for when the first receiver has come, and "
                        "all of them when the last has gone"},
               &C::wait_s, core::between(0, 86'400))
          .add({.name = "late_s",
                .unit = "s",
                .help = "how long a receiver is waited for that is connected and silent while "
                        "others go on"},
               &C::late_s, core::between(0, 86'400))
          .add({.name = "duration_s",
                .unit = "s",
                .help = "ends after this much data; negative: when the receivers end"},
               &C::duration_s, core::between(-1, 1e9))
          .add_text(
              {.name = "source", .help = "name of what is observed, for headers"},
              [](const C& c) { return c.assumed.source; },
              [](C& c, const std::string& text) { c.assumed.source = text; })
          .add({.name = "keep_constant",
                .help = "take stretches in which an input never changes for data"},
               &C::keep_constant)
          .add({.name = "block_samples",
                .help = "samples (times) in a block; 0: about 16 MiB, for a GPU 64"},
               &C::block_samples)
          .include(
              "", [](auto& config) -> auto& { return config; },
              some_of<C>(fields_of<formats::ReaderOptions>(),
                         {"rate_hz", "centre_hz", "bandwidth_hz", "utc_start"}));
  return all;
}

namespace {

std::unique_ptr<engine::Node> make_receivers(const Receivers& config, const NodeContext& context) {
  using formats::mwa32t::Mode;
  stream::MwaReceiversConfig receivers{
      .listen = {},
      .receivers = config.connections,
      .mode = config.layout == ReceiverLayout::mwa32t ? Mode::two_byte : Mode::one_byte,
      .assumed = config.assumed,
      .wait_s = config.wait_s,
      .late_s = config.late_s,
      .duration_s = config.duration_s,
      .log = context.log};
  for (const std::string& address : config.listen)
    receivers.listen.push_back(stream::parse_endpoint("listen", address));
  auto live = std::make_shared<stream::PeekedVoltages>(
      std::make_unique<stream::MwaReceivers>(std::move(receivers)));
  formats::require_possible(config.assumed, live->description());
  const std::size_t samples = paced_block_samples(
      source_block_samples(*live, context.memory_bytes, context.devices.front()->compiles()),
      live->description().rate_hz.value(), kLongestLive_s);
  auto node =
      std::make_unique<VoltageSourceNode>(std::move(live), config.keep_constant, context.log);
  node->set_block_samples(config.block_samples > 0 ? config.block_samples : samples);
  return node;
}

}  // namespace

NodeType receivers_node_type() {
  return node_type<Receivers>("receivers", "antenna voltages live, from receivers that connect", 0,
                              make_receivers);
}

}  // namespace tautline::pipeline
