// Stretches of a stream around triggers: to the bit what the stream had, at the ring's wrap, in its past and future, at
// its gaps and its end, with a writer that is too slow, on a full disk and when the run is interrupted.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "tautline/formats/vdif/writer.h"
#include "tautline/pipeline/voltages/pack_times.h"
#include "tautline/stream/udp.h"
#include "tests/pipeline/voltages/buffer_run.h"
#include "tests/support/error_of.h"
#include "tests/support/small_disk.h"

namespace tautline::pipeline {
namespace {

using tests::BufferSource;
using tests::BufferStream;
using tests::check_dump;
using tests::DumpFiles;
using tests::files_ending;
using tests::read_dump;
using Json = nlohmann::json;

class Buffers : public tests::BufferRun {};

TEST_F(Buffers, DumpsAreTheStreamToTheBit) {
  const auto stream_of = [&](std::uint64_t samples) {
    BufferStream stream = tests::random_buffer_stream(random_, samples);
    for (int k = 0; k < 3; ++k)
      stream.invalid.push_back({random_() % 2 == 0 ? core::InvalidSpan::kAllInputs
                                                   : random_() % stream.description.inputs(),
                                random_() % samples, 1 + random_() % 300});
    return stream;
  };
  check_random_streams(".dada", stream_of, [](const std::string& file, const BufferStream& stream) {
    const DumpFiles dump = read_dump(file);
    check_dump(dump, stream);
    tests::check_read_back(dump, stream);
    return dump.record;
  });
}

// Frames, of which those are invalid that have an invalid or missing sample of their input.
TEST_F(Buffers, DumpsToVdifAreTheStream) {
  dumps_.path = scratch_ / "event.vdif";
  for (int time = 0; time < 30; ++time) {
    const std::uint64_t samples = 3000 + random_() % 3000;
    BufferStream stream = tests::random_buffer_stream(random_, samples);
    core::VoltageDescription& d = stream.description;
    d.channels = std::size_t{1} << random_() % 3;
    d.rate_hz = core::make_rational(40, 1);  // frames of 40 samples at most
    d.bandwidth_hz = time % 2 == 0 ? 40 : -40;
    d.start = core::advance(d.start, static_cast<std::int64_t>(random_() % 5000), d.rate_hz);
    stream.bytes.resize(samples * stream.time_bytes());
    for (std::byte& byte : stream.bytes) byte = static_cast<std::byte>(random_());
    for (int k = 0; k < 5; ++k)
      stream.invalid.push_back(
          {random_() % 2 == 0 ? core::InvalidSpan::kAllInputs : random_() % d.inputs(),
           random_() % samples, 1 + random_() % 40});
    if (time % 3 == 0) stream.gaps[1 + random_() % 2500] = 1 + random_() % 100;
    const auto at = static_cast<std::int64_t>(random_() % samples);
    stream.triggers[0] = {at_sample(at, 10, 15)};
    const std::size_t frame = formats::vdif::Writer::frame_samples(d);
    ASSERT_EQ(
        run(stream,
            {.keep_s = 200, .before_s = 0, .after_s = 0, .ahead_s = 200, .align_samples = frame})
            .at("dumps.dumps"),
        1U);
    const Json record = Json::parse(tests::text_of(files_.at(0) + ".json"));
    const auto file_first = record.at("start_sample").get<std::int64_t>();
    std::int64_t first = file_first, end = first + record.at("samples").get<std::int64_t>();
    for (const Json& missed : record.at("missed")) {  // a gap may be all that is before or behind
      const std::int64_t from = file_first + missed.at("first_sample").get<std::int64_t>();
      first = std::min(first, from);
      end = std::max(end, from + missed.at("samples").get<std::int64_t>());
    }
    EXPECT_LE(first, std::max<std::int64_t>(0, at - 400));
    EXPECT_GE(end, std::min<std::int64_t>(at + 600, static_cast<std::int64_t>(samples)));
    tests::check_vdif(files_.at(0), record, stream, frame);
    std::filesystem::remove(files_[0]);
    std::filesystem::remove(files_[0] + ".json");
    if (HasFailure()) FAIL() << time << record.dump(1);
  }
}

/// Holds the first block until it is told to go on, then keeps what comes.
class HoldingSink final : public engine::Node {
 public:
  struct KeptPiece {
    StretchPiece piece;
    std::vector<std::byte> times;
  };
  HoldingSink(const std::atomic<bool>& go_on, std::vector<KeptPiece>& pieces)
      : go_on_(go_on), pieces_(pieces) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream>) override { return {}; }
  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    while (!go_on_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto& piece = block.payload_of<StretchPiece>();
    KeptPiece kept{piece, {}};
    if (piece.kind == StretchPiece::Kind::data) {
      const engine::Array& array = block.arrays.front();
      std::vector<std::byte> packed;
      const auto times = pack_times({static_cast<const std::byte*>(array.data), array.extents[0]},
                                    piece.layout, piece.block_first, piece.samples, packed);
      kept.times.assign(times.begin(), times.end());
    }
    pieces_.push_back(std::move(kept));
  }

 private:
  const std::atomic<bool>& go_on_;
  std::vector<KeptPiece>& pieces_;
};

// A writer that stands still costs the source nothing, and the stretch exactly what is said to be missing.
TEST_F(Buffers, SlowWritersAreOvertakenAndSaySo) {
  for (int time = 0; time < 20; ++time) {
    BufferStream stream = tests::random_buffer_stream(random_, 6000);
    stream.block_samples = 20 + random_() % 80;
    const auto at = static_cast<std::int64_t>(1000 + random_() % 500);
    stream.triggers[2000 / stream.block_samples] = {at_sample(at, 0.5, 0.4)};
    std::atomic<bool> go_on = false;
    const std::size_t last = (stream.samples - 1) / stream.block_samples;
    stream.wait_after = [&](std::size_t block) {
      if (block == last) go_on = true;
      return true;
    };
    std::vector<HoldingSink::KeptPiece> pieces;
    engine::Graph graph;
    const auto source = graph.add("voltages", std::make_unique<BufferSource>(stream));
    const auto buffer =
        graph.add("buffer", std::make_unique<BufferNode>(BufferConfig{
                                .keep_s = 1.2 + 0.1 * time, .before_s = 0, .after_s = 0}));
    graph.set_lane(buffer, "buffer");
    graph.connect({source, 0}, {buffer, 0});
    graph.connect({source, 1}, {buffer, 1});
    graph.connect(buffer, graph.add("sink", std::make_unique<HoldingSink>(go_on, pieces)));
    engine::Run run(std::move(graph));
    run.go();
    std::int64_t next = at - 500;
    std::uint64_t missed = 0, given = 0;
    for (const auto& [piece, times] : pieces) {
      EXPECT_EQ(piece.first, next);
      next += static_cast<std::int64_t>(piece.samples);
      if (piece.kind == StretchPiece::Kind::missed) {
        missed += piece.samples;
        EXPECT_TRUE(piece.why == "overtaken" || piece.why == "older than the buffer") << piece.why;
      } else if (piece.kind == StretchPiece::Kind::data) {
        given += piece.samples;
        const std::size_t bytes = stream.time_bytes();
        EXPECT_TRUE(
            std::equal(times.begin(), times.end(),
                       stream.bytes.begin() + piece.first * static_cast<std::int64_t>(bytes)));
      }
    }
    EXPECT_EQ(next, at + 400);
    EXPECT_EQ(pieces.back().piece.kind, StretchPiece::Kind::end);
    EXPECT_EQ(run.counters().at("buffer.missed_samples"), missed);
    EXPECT_GT(missed, 0U);
    EXPECT_GT(given, 0U);
  }
}

// From the pulse at the top of the band to that at the bottom.
TEST_F(Buffers, StretchesCoverTheSweep) {
  BufferStream stream = tests::random_buffer_stream(random_, 4000);
  stream.description.bandwidth_hz = 20e6;
  Trigger trigger{.kind = "test",
                  .id = "pulse",
                  .time = core::advance(stream.description.start, 500, stream.description.rate_hz),
                  .before_s = 0.1,
                  .after_s = 0.2,
                  .dm = 10,
                  .reference_hz = 170e6,
                  .facts = {{"snr", 12.5}}};
  stream.triggers[0] = {trigger};
  EXPECT_EQ(run(stream, {.keep_s = 4}).at("dumps.dumps"), 1U);
  const DumpFiles dump = read_dump(files_.at(0));
  check_dump(dump, stream);
  const double top = 4148.808 * 10 * (1 / (160.0 * 160) - 1 / (170.0 * 170)),
               bottom = 4148.808 * 10 * (1 / (140.0 * 140) - 1 / (170.0 * 170));
  const auto first = dump.record.at("start_sample").get<double>(),
             end = first + dump.record.at("samples").get<double>();
  EXPECT_NEAR(first, 500 + (top - 0.1) * 1000, 1);
  EXPECT_NEAR(end, 500 + (bottom + 0.2) * 1000, 1);
  EXPECT_EQ(dump.record.at("trigger").at("snr"), 12.5);
  EXPECT_EQ(dump.record.at("trigger").at("dm"), 10);
}

TEST_F(Buffers, DumpsAreLimited) {
  BufferStream stream = tests::random_buffer_stream(random_, 4000);
  for (int k = 0; k < 5; ++k)
    stream.triggers[0].push_back(at_sample(500 * k, 0, 0.1, "t" + std::to_string(k)));
  std::vector<std::string> said;
  BufferConfig config{.keep_s = 4, .most_dumps = 3};
  config.datagrams.log = [&](core::LogLevel, const std::string& text) { said.push_back(text); };
  engine::Counters counters = run(stream, config);
  EXPECT_EQ(counters.at("dumps.dumps"), 3U);
  EXPECT_EQ(counters.at("buffer.refused_limit"), 2U);
  ASSERT_EQ(said.size(), 2U);
  EXPECT_NE(said[0].find("trigger t3 of a test: refused"), std::string::npos) << said[0];
  dumps_.path = scratch_ / "bytes.dada";
  counters = run(stream, {.keep_s = 4, .most_bytes = 250 * stream.time_bytes()});
  EXPECT_EQ(counters.at("dumps.dumps"), 2U);
  EXPECT_EQ(counters.at("buffer.refused_limit"), 3U);
}

// Triggers of times far ahead are refused, so that any number of them leaves room for those of now.
TEST_F(Buffers, DoNotWaitForTriggersFarAhead) {
  BufferStream stream = tests::random_buffer_stream(random_, 4000);
  constexpr std::size_t kFlood = 3 * BufferNode::kMostOpen;
  for (std::size_t k = 0; k < kFlood; ++k) {
    Trigger far = at_sample(static_cast<std::int64_t>(20'000 + random_() % 1'000'000'000), 0, 0.1);
    if (k % 2 == 0) {
      far.time = core::advance(stream.description.start, *far.sample, stream.description.rate_hz);
      far.sample.reset();
    }
    if (k == 1) far.sample = std::numeric_limits<std::int64_t>::max();
    stream.triggers[0].push_back(std::move(far));
  }
  const auto newest = static_cast<std::int64_t>(stream.block_samples);
  stream.triggers[0].push_back(at_sample(newest + 2000, 0, 0.1, "within the limit"));
  stream.triggers[0].push_back(at_sample(newest + 2001, 0, 0.1, "beyond it"));
  stream.triggers[0].push_back(at_sample(5, 0, 0.5, "now"));
  std::vector<std::string> said;
  BufferConfig config{.keep_s = 4, .ahead_s = 2};
  config.datagrams.log = [&](core::LogLevel, const std::string& text) { said.push_back(text); };
  const engine::Counters counters = run(stream, config);
  EXPECT_EQ(counters.at("buffer.refused_ahead"), kFlood + 1);
  EXPECT_EQ(counters.at("buffer.refused_limit"), 0U);
  ASSERT_EQ(counters.at("dumps.dumps"), 2U);
  for (const std::string& file : files_) check_dump(read_dump(file), stream);
  ASSERT_EQ(said.size(), kFlood + 1);
  EXPECT_NE(said.back().find("refused, it begins 2.001 s after the newest sample"),
            std::string::npos)
      << said.back();
}

// Memory is known before the start.
TEST_F(Buffers, TheirMemoryIsPlanned) {
  BufferStream stream = tests::random_buffer_stream(random_, 1000);
  stream.block_samples = 50;
  const BufferConfig config{.keep_s = 2};
  const std::size_t ring_bytes = 2000 * stream.time_bytes();
  const engine::Run planned(graph_of(stream, config));
  EXPECT_GE(planned.bytes().host_bytes, ring_bytes * 5 / 4);
  EXPECT_LE(planned.bytes().host_bytes, (ring_bytes + 64 * 60) * 3 / 2 + (1 << 16));
  const core::Error error = tests::error_of(
      [&] { const engine::Run refused(graph_of(stream, config), {.memory_bytes = ring_bytes}); });
  EXPECT_EQ(error.kind(), core::ErrorKind::memory);
}

// Of times that are sent twice, the samples that came last are kept.
TEST_F(Buffers, OfAClockThatIsSetBackHaveEachTimeOnce) {
  BufferStream stream = tests::random_buffer_stream(random_, 1000);
  stream.set_back[600] = 300;
  stream.triggers[9] = {at_sample(200, 0, 0.3)};
  const engine::Counters counters = run(stream, {.keep_s = 1, .before_s = 0, .after_s = 0});
  EXPECT_EQ(counters.at("buffer.missed_samples"), 0U);
  ASSERT_EQ(files_.size(), 1U);
  const DumpFiles dump = read_dump(files_[0]);
  const auto samples_of = [&](std::size_t first, std::size_t count) {
    return std::string(
        reinterpret_cast<const char*>(stream.bytes.data()) + first * stream.time_bytes(),
        count * stream.time_bytes());
  };
  EXPECT_EQ(dump.record.at("start_sample"), 200);
  EXPECT_TRUE(dump.samples == samples_of(200, 100) + samples_of(600, 200));
}

TEST_F(Buffers, NeedATriggerAndRoomForAStretch) {
  const BufferStream stream = tests::random_buffer_stream(random_, 1000);
  EXPECT_THROW(engine::Run(graph_of(stream, {.keep_s = 0.5, .before_s = 0.3, .after_s = 0.3})),
               core::Error);
  engine::Graph graph;
  const auto source = graph.add("voltages", std::make_unique<BufferSource>(stream));
  graph.connect({source, 0}, graph.add("buffer", std::make_unique<BufferNode>(BufferConfig{})));
  EXPECT_THROW(engine::Run(std::move(graph)), core::Error);
}

// A disk without room loses its dump, and nothing else; what is complete stays.
TEST_F(Buffers, FullDisksCostADump) {
  const int status = tests::on_small_disk(scratch_.path().string(), std::size_t{1} << 20, [&] {
    BufferStream stream = tests::random_buffer_stream(random_, 20'000);
    stream.description.format = core::kCi16;
    stream.description.channels = 4, stream.description.antennas = 4,
    stream.description.polarisations = 2;
    stream.bytes.assign(stream.samples * stream.time_bytes(), std::byte{7});
    stream.triggers[0] = {at_sample(1000, 0, 1, "fits"), at_sample(2500, 0, 15, "does-not"),
                          at_sample(18'000, 0, 1, "fits-too")};
    std::vector<std::string> said;
    dumps_.log = [&](core::LogLevel, const std::string& text) { said.push_back(text); };
    const engine::Counters counters = run(stream, {.keep_s = 20, .ahead_s = 20});
    EXPECT_EQ(counters.at("dumps.dumps"), 2U);
    EXPECT_EQ(counters.at("dumps.failed_dumps"), 1U);
    EXPECT_EQ(said.size(), 1U);
    for (const std::string& file : files_) check_dump(read_dump(file), stream);
    EXPECT_EQ(files_ending(scratch_.path(), ".dada"), 2U);
    return HasFailure() ? 1 : 0;
  });
  if (status == tests::kNoSmallDisk) GTEST_SKIP() << "no disk of its own can be made here";
  EXPECT_EQ(status, 0);
}

// A run of files that is interrupted in the middle of a stretch leaves nothing of it; what is complete stays.
TEST_F(Buffers, InterruptedRunsLeaveNothingHalfWritten) {
  BufferStream stream = tests::random_buffer_stream(random_, 4000);
  stream.triggers[0] = {at_sample(50, 0.05, 0.05, "complete"), at_sample(1500, 1.4, 1.5, "not")};
  std::stop_source stop;
  stream.wait_after = [&](std::size_t block) {
    if (block < 20) return true;
    if (files_ending(scratch_.path(), ".dada.json") < 1) return false;
    stop.request_stop();
    return true;
  };
  {
    engine::Run run(graph_of(stream, {.keep_s = 4}));
    EXPECT_THROW(run.go(stop.get_token()), core::Error);
  }
  EXPECT_EQ(files_ending(scratch_.path(), ""), 2U);
  const DumpFiles dump = read_dump(scratch_ / "event-0001.dada");
  EXPECT_EQ(dump.record.at("samples"), 100);
  check_dump(dump, stream);
}

// Live data that are stopped: the stretch has what came, and says what did not.
TEST_F(Buffers, StoppedStreamsEndTheirStretches) {
  BufferStream stream = tests::random_buffer_stream(random_, 3000);
  stream.live = true;
  stream.triggers[0] = {at_sample(2000, 0.5, 2, "half"), at_sample(9000, 0.5, 0.5, "none")};
  const std::size_t last = (stream.samples - 1) / stream.block_samples;
  std::stop_source stop;
  stream.wait_after = [&](std::size_t block) {
    if (block == last) stop.request_stop();
    return true;
  };
  engine::Run run(graph_of(stream, {.keep_s = 3}));
  run.go(stop.get_token());
  ASSERT_EQ(run.counters().at("dumps.dumps"), 1U);
  EXPECT_EQ(run.counters().at("dumps.empty_dumps"), 1U);
  const DumpFiles dump = read_dump(run.files()["dumps"].at(0));
  check_dump(dump, stream);
  EXPECT_EQ(dump.record.at("samples"), 1500);
  EXPECT_EQ(dump.record.at("missed").at(0).at("why"), "after the end");
  EXPECT_EQ(dump.record.at("missed").at(0).at("samples"), 1000);
  EXPECT_EQ(files_ending(scratch_.path(), ".partial"), 0U);
}

// Datagrams while data go on arriving; what is not understood is counted.
TEST_F(Buffers, HearDatagrams) {
  BufferStream stream = tests::random_buffer_stream(random_, 4000);
  std::string address;
  BufferConfig config{.keep_s = 4};
  config.datagrams.listen = "udp://127.0.0.1:0";
  config.datagrams.most_per_s = 1e6;
  config.datagrams.log = [&](core::LogLevel, const std::string& text) {
    if (const std::size_t at = text.find("udp://"); at != std::string::npos)
      address = text.substr(at);
  };
  const std::vector<std::string> bad{"",
                                     "no json",
                                     "{}",
                                     R"({"time": 1, "other": 2})",
                                     R"({"time": "yesterday"})",
                                     std::string(5000, ' ')};
  stream.wait_after = [&](std::size_t block) {
    if (block == 10) {
      stream::UdpSender sender(stream::parse_endpoint("to", address));
      for (const std::string& text : bad) sender.send(std::as_bytes(std::span(text)));
      for (
          const std::string& text :
          {std::string(R"({"time": 900, "before_s": 0.1, "after_s": 0.2, "id": "by-sample"})"),
           std::string(
               R"({"time": "2026-03-20T14:00:02.5", "before_s": 0.5, "after_s": 0.5, "id": "by-utc"})")})
        sender.send(std::as_bytes(std::span(text)));
      sender.flush();
    }
    return block != 30 || files_ending(scratch_.path(), ".dada.json") == 2;
  };
  const engine::Counters counters = run(stream, config);
  EXPECT_EQ(counters.at("buffer.malformed_datagrams"), bad.size());
  ASSERT_EQ(counters.at("dumps.dumps"), 2U);
  std::map<std::string, std::pair<int, int>> found;
  for (const std::string& file : files_) {
    const DumpFiles dump = read_dump(file);
    check_dump(dump, stream);
    found[dump.record.at("trigger").at("id")] = {dump.record.at("start_sample"),
                                                 dump.record.at("samples")};
  }
  EXPECT_EQ(found["by-sample"], std::pair(800, 300));
  EXPECT_EQ(found["by-utc"], std::pair(2000, 1000));
}

}  // namespace
}  // namespace tautline::pipeline
