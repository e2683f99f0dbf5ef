// A buffer in a run, between a source that waits for its writer and the writer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tautline/engine/run.h"
#include "tautline/pipeline/voltages/buffer_node.h"
#include "tautline/pipeline/voltages/dump_sink_node.h"
#include "tests/pipeline/voltages/buffer_dumps.h"
#include "tests/pipeline/voltages/buffer_oracle.h"
#include "tests/pipeline/voltages/buffer_source.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {

/// The writer of dumps, and how many samples of all stretches it has taken.
class CountedDumps final : public engine::Node {
 public:
  CountedDumps(const pipeline::DumpConfig& config, std::atomic<std::uint64_t>& taken)
      : writer_(config), taken_(taken) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    return writer_.open(inputs);
  }
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override {
    writer_.process(input, block, outputs);
    const auto& piece = block.payload_of<pipeline::StretchPiece>();
    if (piece.kind == pipeline::StretchPiece::Kind::data) taken_ += piece.samples;
  }
  engine::Counters counters() const override { return writer_.counters(); }
  std::vector<std::string> files() const override { return writer_.files(); }

 private:
  pipeline::DumpSinkNode writer_;
  std::atomic<std::uint64_t>& taken_;
};

/// A buffer between a BufferSource and its writer.
class BufferRun : public ::testing::Test {
 protected:
  static pipeline::Trigger at_sample(std::int64_t sample, double before_s, double after_s,
                                     const std::string& id = "a") {
    return {.kind = "test",
            .id = id,
            .sample = sample,
            .before_s = before_s,
            .after_s = after_s,
            .facts = {}};
  }
  engine::Graph graph_of(const BufferStream& stream, pipeline::BufferConfig config) {
    engine::Graph graph;
    const auto source = graph.add("voltages", std::make_unique<BufferSource>(stream));
    const auto buffer =
        graph.add("buffer", std::make_unique<pipeline::BufferNode>(std::move(config)));
    graph.set_lane(buffer, "buffer");
    graph.connect({source, 0}, {buffer, 0});
    graph.connect({source, 1}, {buffer, 1});
    graph.connect(buffer, graph.add("dumps", std::make_unique<CountedDumps>(dumps_, taken_)));
    return graph;
  }
  engine::Counters run(const BufferStream& stream, pipeline::BufferConfig config) {
    taken_ = 0;
    engine::Run run(graph_of(stream, std::move(config)));
    run.go();
    files_ = run.files()["dumps"];
    EXPECT_EQ(files_ending(scratch_.path(), ".partial"), 0U);
    return run.counters();
  }
  static void check(const BufferOracle& oracle, const engine::Counters& counters) {
    const auto with_file = std::count_if(oracle.accepted.begin(), oracle.accepted.end(),
                                         [&](const auto& one) { return oracle.has_file(one); });
    EXPECT_EQ(counters.at("dumps.dumps"), static_cast<std::uint64_t>(with_file));
    EXPECT_EQ(counters.at("dumps.empty_dumps"),
              oracle.accepted.size() - static_cast<std::size_t>(with_file));
    EXPECT_EQ(counters.at("dumps.failed_dumps"), 0U);
    EXPECT_EQ(counters.at("buffer.covered"), oracle.covered);
    EXPECT_EQ(counters.at("buffer.refused_old") + counters.at("buffer.refused_long"),
              oracle.refused);
    EXPECT_EQ(counters.at("buffer.refused_limit") + counters.at("buffer.refused_ahead"), 0U);
    EXPECT_EQ(counters.at("buffer.triggers"),
              oracle.accepted.size() + oracle.covered + oracle.refused);
  }

  std::mt19937_64 random_ = generator();
  ScratchFolder scratch_;
  pipeline::DumpConfig dumps_{.path = scratch_ / "event.dada", .history = "test", .log = {}};
  std::vector<std::string> files_;
  std::atomic<std::uint64_t> taken_ = 0;
};

}  // namespace tautline::tests
