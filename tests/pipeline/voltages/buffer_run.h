// A buffer in a run, between a source that waits for its writer and the writer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <utility>
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

  // Streams, rings, gaps and triggers as they come, until there are some hundred dumps; the source waits for what has
  // been written, so that nothing is overtaken. stream_of(samples) draws a stream, and check_file(file, stream) returns
  // the file's record.
  template <class StreamOf, class CheckFile>
  void check_random_streams(const std::string& ending, const StreamOf& stream_of,
                            const CheckFile& check_file) {
    const char* full = std::getenv("TAUTLINE_FULL");
    const std::size_t wanted = full != nullptr && *full != '\0' ? 1000 : 200;
    std::size_t dumps = 0, refused = 0, wrapped = 0, with_gaps = 0;
    for (int run_number = 0; dumps < wanted; ++run_number) {
      const std::uint64_t samples = 500 + random_() % 3000;
      BufferStream stream = stream_of(samples);
      stream.block_samples = 1 + random_() % 200;
      if (random_() % 3 == 0) stream.gaps[1 + random_() % (samples - 101)] = 1 + random_() % 100;
      const std::size_t ring = stream.block_samples + random_() % samples;
      const std::size_t blocks = BufferOracle(stream, ring).blocks();
      for (std::size_t triggers = 1 + random_() % 12; triggers > 0; --triggers) {
        const auto margin_s = [&] { return static_cast<double>(random_() % (ring + 1)) / 1000; };
        stream.triggers[random_() % blocks].push_back(at_sample(
            static_cast<std::int64_t>(random_() % (samples + 100)), margin_s(), margin_s()));
      }
      const BufferOracle oracle(stream, ring);
      const auto folder = scratch_ / ("run" + std::to_string(run_number));
      std::filesystem::create_directory(folder);
      dumps_.path = folder + "/event" + ending;
      stream.wait_after = [&](std::size_t block) { return taken_ >= oracle.written_after(block); };
      const engine::Counters counters =
          run(stream, {.keep_s = static_cast<double>(ring) / 1000, .before_s = 0, .after_s = 0});
      check(oracle, counters);
      std::multiset<std::pair<std::int64_t, std::int64_t>> given, expected;
      for (const auto& one : oracle.accepted)
        if (oracle.has_file(one)) expected.insert(oracle.file_of(one));
      for (const std::string& file : files_) {
        const nlohmann::json record = check_file(file, stream);
        for (const auto& one : record.at("missed")) EXPECT_NE(one.at("why"), "overtaken");
        const auto first = record.at("start_sample").get<std::int64_t>();
        given.emplace(first, first + record.at("samples").get<std::int64_t>());
        with_gaps += record.at("missed").empty() ? 0 : 1;
        wrapped += first >= oracle.longest ? 1 : 0;
      }
      EXPECT_TRUE(given == expected);
      if (HasFailure()) FAIL() << "run " << run_number;
      dumps += files_.size();
      refused += oracle.refused;
      std::filesystem::remove_all(folder);
    }
    std::cout << dumps << " dumps, " << refused << " triggers refused, " << wrapped
              << " dumps behind the ring's first turn, " << with_gaps
              << " with something missing\n";
    EXPECT_GT(refused, 0U);
    EXPECT_GT(wrapped, 0U);
    EXPECT_GT(with_gaps, 0U);
  }

  std::mt19937_64 random_ = generator();
  ScratchFolder scratch_;
  pipeline::DumpConfig dumps_{.path = scratch_ / "event.dada", .history = "test", .log = {}};
  std::vector<std::string> files_;
  std::atomic<std::uint64_t> taken_ = 0;
};

}  // namespace tautline::tests
