#include "tautline/pipeline/voltages/buffer_type.h"

#include <memory>
#include <string>
#include <vector>

#include "tautline/formats/vdif/writer.h"
#include "tautline/pipeline/file_parts.h"
#include "tautline/pipeline/graph_streams.h"
#include "tautline/pipeline/voltages/buffer_node.h"
#include "tautline/pipeline/voltages/dump_sink_node.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

struct BufferStage : BufferConfig {
  std::string path;
};
const core::Fields<BufferStage>& fields(const BufferStage&) {
  using C = BufferStage;
  static const auto all = [] {
    core::Fields<C> list;
    list.add({.name = "path",
              .help =
                  "the files that are written, .dada or .vdif, or .fil of a filterbank; they are "
                  "numbered: event-0001.dada"},
             &C::path)
        .add({.name = "keep_s", .unit = "s", .help = "data that are kept in memory"}, &C::keep_s,
             core::above(0))
        .add({.name = "before_s",
              .unit = "s",
              .help = "of a stretch before its trigger, where that does not say"},
             &C::before_s, core::at_least(0))
        .add({.name = "after_s",
              .unit = "s",
              .help = "of a stretch behind its trigger, where that does not say"},
             &C::after_s, core::at_least(0))
        .add({.name = "ahead_s",
              .unit = "s",
              .help = "from the newest sample to the begin of a stretch at most; triggers of later "
                      "times are refused"},
             &C::ahead_s, core::at_least(0))
        .add({.name = "most_dumps", .help = "stretches that a run writes at most"}, &C::most_dumps,
             core::at_least(1))
        .add({.name = "most_bytes",
              .unit = "bytes",
              .help = "samples that a run writes at most; 0: no limit"},
             &C::most_bytes, byte_limit());
    return list.include(
        "", [](auto& config) -> auto& { return config.datagrams; },
        core::Fields<TriggerListenerConfig>()
            .add({.name = "listen",
                  .help = "address for triggers as JSON, udp://HOST:PORT; empty: none"},
                 &TriggerListenerConfig::listen)
            .add({.name = "listen_beyond",
                  .help = "listen at an address that other machines reach, too"},
                 &TriggerListenerConfig::listen_beyond)
            .add({.name = "most_per_s", .help = "datagrams that are read in a second"},
                 &TriggerListenerConfig::most_per_s, core::above(0)));
  }();
  return all;
}

namespace {

std::vector<engine::Port> add_buffer(const BufferStage& config, engine::Graph& graph,
                                     const std::string& name,
                                     const std::vector<engine::Port>& inputs,
                                     const engine::EdgeOptions& edge, const NodeContext& context) {
  const DumpConfig dumps{config.path, context.overwrite, context.history, context.log};
  require_dumps_can_be_written(dumps);
  BufferConfig ring = config;
  ring.datagrams.log = context.log;
  const engine::Stream data = stream_at(graph, inputs.front());
  if (config.path.ends_with(".vdif") && data.kind == "raw voltages")
    ring.align_samples =
        formats::vdif::Writer::frame_samples(data.detail<RawVoltages>().description);
  const engine::NodeId buffer = graph.add(name + ".ring", std::make_unique<BufferNode>(ring));
  graph.set_lane(buffer, name + ".ring");  // so that no computing node delays it
  for (std::size_t k = 0; k < inputs.size(); ++k) graph.connect(inputs[k], {buffer, k}, edge);
  graph.connect(buffer, graph.add(name, std::make_unique<DumpSinkNode>(dumps)));
  return {};
}

}  // namespace

NodeType buffer_node_type() {
  return composite_type<BufferStage>(
             "buffer",
             "keeps the last voltages, or spectra of a filterbank, in memory, and writes stretches "
             "around triggers",
             kAnyInputs, add_buffer)
      .writing({"path"});
}

}  // namespace tautline::pipeline
