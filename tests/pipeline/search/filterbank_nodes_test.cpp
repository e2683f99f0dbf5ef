// The nodes of a search in graphs of the tests' own.
#include <gtest/gtest.h>

#include <filesystem>

#include "tautline/core/error.h"
#include "tautline/engine/run.h"
#include "tautline/formats/sigproc/writers.h"
#include "tautline/pipeline/search/candidate_sink_node.h"
#include "tautline/pipeline/search/dedisperse_node.h"
#include "tautline/pipeline/search/filterbank_run.h"
#include "tautline/pipeline/search/trial_sink_node.h"
#include "tests/pipeline/search/noise_in_memory.h"
#include "tests/support/error_of.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kLines = 16, kLineTimes = 9000, kLineBlock = 1024;

// With a pulse every 2,000 times, DM 0; fails at a sample where it is told to.
class NoiseReader final : public NoiseInMemory {
 public:
  explicit NoiseReader(std::uint64_t fails_at = kLineTimes,
                       std::mt19937_64 random = tests::generator())
      : NoiseInMemory(kLines, kLineTimes, random), fails_at_(fails_at) {
    most = 700;  // as at the ends of files
    for (std::size_t t = 1000; t < kLineTimes; t += 2000)
      for (std::size_t c = 0; c < kLines; ++c) {
        std::byte& value = bytes[t * kLines + c];
        value = static_cast<std::byte>(std::to_integer<int>(value) + 25);
      }
  }
  std::size_t read(std::uint64_t first, std::size_t count, std::span<std::byte> to) override {
    if (first + count > fails_at_)
      throw core::Error(core::ErrorKind::io, "noise.fil", "the disk is gone", "");
    return NoiseInMemory::read(first, count, to);
  }

 private:
  std::uint64_t fails_at_;
};

// The received blocks, pass by pass.
class Recorder final : public engine::Node {
 public:
  explicit Recorder(std::vector<std::vector<std::byte>>& passes) : passes_(passes) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    EXPECT_EQ(inputs[0].kind, "filterbank");
    return {};
  }
  void begin_segment(std::size_t, const engine::Block& first, engine::Outputs&) override {
    EXPECT_EQ(first.segment, passes_.size());
    EXPECT_EQ(first.first, 0u);
    passes_.emplace_back();
  }
  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    const auto samples = block.view<2>().as<const std::uint8_t>();
    for (std::size_t t = 0; t < block.samples; ++t) {
      const auto* row = reinterpret_cast<const std::byte*>(samples.row(t));
      passes_.back().insert(passes_.back().end(), row, row + samples.extent(1));
    }
  }

 private:
  std::vector<std::vector<std::byte>>& passes_;
};

stages::dedisperse::DmPlan plan_of_trials() {
  stages::dedisperse::DmPlan trials;
  trials.ranges = {{{}, 1, 0}};
  for (int i = 0; i < 12; ++i) trials.ranges[0].dms.push_back(5.0 * i);
  return trials;
}

PassRequest request_of_noise() {
  PassRequest request;
  for (std::size_t c = 0; c < kLines; ++c)
    request.dedisperse.frequencies_mhz.push_back(1500 - 10 * static_cast<double>(c));
  request.dedisperse.sample_time_s = 1e-3;
  request.dedisperse.method = stages::dedisperse::Method::exact;
  request.detect.max_width_s = 0.02;
  request.samples = kLineTimes;
  request.sample_bytes = kLines;
  request.memory_bytes = std::size_t{1} << 30;
  request.most_block_samples = kLineBlock;
  return request;
}

class FilterbankNodes : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    device = device::open(device::parse_selection(GetParam()), {.threads = 2});
  }
  std::unique_ptr<CandidateSinkNode> make_sink() {
    auto sink = std::make_unique<CandidateSinkNode>(CandidateFiles{folder / "c.csv", true, {}});
    sink->describe = [](const std::stop_token&) { return std::string(); };
    return sink;
  }
  std::unique_ptr<SearchNode> make_search(const std::vector<PassPlan>& passes) {
    SearchNodeConfig config{plan_of_trials(), {}, [passes](std::size_t) { return passes; }};
    config.reads_on_device = reads_on_device(*passes.front().parts.front().dedisperse);
    return std::make_unique<SearchNode>(std::move(config), device);
  }
  // The candidates of a search with these passes, and what a recorder beside it was given.
  std::vector<core::Candidate> search(formats::FilterbankReader& reader,
                                      const std::vector<PassPlan>& passes,
                                      std::vector<std::vector<std::byte>>& recorded) {
    engine::Graph graph;
    FilterbankSourceConfig config{{{{{0, kLineTimes}, 0}, passes.size()}},
                                  passes.front().block_samples};
    const auto source =
        graph.add("filterbank", std::make_unique<FilterbankSourceNode>(reader, std::move(config)));
    const auto searching = graph.add("search", make_search(passes));
    auto sink = make_sink();
    const CandidateSinkNode& found = *sink;
    graph.connect(source, searching);
    graph.connect(searching, graph.add("candidates", std::move(sink)));
    graph.connect(source, graph.add("recorder", std::make_unique<Recorder>(recorded)));
    engine::Run run(std::move(graph));
    run.go();
    EXPECT_EQ(run.counters()["filterbank.samples"], kLineTimes);
    return found.candidates();
  }
  std::shared_ptr<const device::Device> device;
  tests::ScratchFolder folder;
};

TEST_P(FilterbankNodes, ASecondConsumerIsGivenTheSameSamples) {
  NoiseReader reader;
  const auto once = plan_passes(request_of_noise(), plan_of_trials(), device);
  ASSERT_EQ(once.size(), 1u);
  std::vector<std::vector<std::byte>> recorded;
  const auto found = search(reader, once, recorded);
  ASSERT_EQ(recorded.size(), 1u);
  EXPECT_EQ(recorded[0], reader.bytes);
  EXPECT_GE(found.size(), 3u);  // the first ones are within the first baseline
  EXPECT_TRUE(std::filesystem::exists(folder / "c.csv"));

  // Trials in two passes, as a memory that is too short for all would have it.
  const auto dms = plan_of_trials().ranges[0].dms;
  std::vector<PassPlan> twice;
  for (const std::size_t first : {0, 6}) {
    const auto from = dms.begin() + static_cast<std::ptrdiff_t>(first);
    stages::dedisperse::DmPlan half;
    half.ranges = {{{from, from + 6}, 1, 0}};
    auto request = request_of_noise();
    request.detect.links.join = false;
    twice.push_back(plan_passes(request, half, device).front());
    twice.back().parts.front().first_trial = first;
  }
  recorded.clear();
  EXPECT_EQ(search(reader, twice, recorded), found);
  ASSERT_EQ(recorded.size(), 2u);
  EXPECT_EQ(recorded[0], reader.bytes);
  EXPECT_EQ(recorded[1], reader.bytes);
}

TEST_P(FilterbankNodes, AReaderThatFailsLeavesNothing) {
  for (const bool series : {false, true}) {
    NoiseReader reader(5000);
    const auto passes = plan_passes(request_of_noise(), plan_of_trials(), device);
    engine::Graph graph;
    FilterbankSourceConfig config{{{{{0, kLineTimes}, 0}, 1}}, kLineBlock};
    const auto source =
        graph.add("filterbank", std::make_unique<FilterbankSourceNode>(reader, std::move(config)));
    if (series) {
      std::vector<std::shared_ptr<const stages::dedisperse::Plan>> plans{
          passes.front().parts.front().dedisperse};
      const auto summing = graph.add("dedisperse", std::make_unique<DedisperseNode>(plans, device));
      graph.connect(source, summing);
      graph.connect(summing,
                    graph.add("series", std::make_unique<TrialSinkNode>(TrialFiles{
                                            SeriesFormat::npy, folder / "o.npy", true, "o"})));
    } else {
      const auto searching = graph.add("search", make_search(passes));
      graph.connect(source, searching);
      graph.connect(searching, graph.add("candidates", make_sink()));
    }
    {
      engine::Run run(std::move(graph));
      const core::Error error = tests::error_of([&] { run.go(); });
      EXPECT_NE(std::string(error.what()).find("the disk is gone"), std::string::npos);
      EXPECT_EQ(run.failed_node(), "filterbank");
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
}

// PRESTO's series have an even number of samples: one that is left at a gap is no file, and takes no number.
TEST_P(FilterbankNodes, ASampleThatIsLeftAtAGapTakesNoNumber) {
  NoiseReader reader;
  const auto passes = plan_passes(request_of_noise(), plan_of_trials(), device);
  std::vector<std::shared_ptr<const stages::dedisperse::Plan>> plans{
      passes.front().parts.front().dedisperse};
  const std::uint64_t each = 1000, samples = each + 1 + plans.front()->max_delay();
  engine::Graph graph;
  FilterbankSourceConfig config;
  config.parts = {{{{0, samples}, 0}, 1}, {{{samples, samples}, samples + 5000}, 1}};
  config.block_samples = kLineBlock;
  TrialFiles files{SeriesFormat::dat, folder / "o", false, "o"};
  files.parts.each_bytes = each * sizeof(float) * plans.front()->config().dms.size();
  auto series = std::make_unique<TrialSinkNode>(std::move(files));
  const TrialSinkNode& written = *series;
  const auto source =
      graph.add("filterbank", std::make_unique<FilterbankSourceNode>(reader, std::move(config)));
  const auto summing = graph.add("dedisperse", std::make_unique<DedisperseNode>(plans, device));
  graph.connect(source, summing);
  graph.connect(summing, graph.add("series", std::move(series)));
  engine::Run run(std::move(graph));
  run.go();
  EXPECT_EQ(written.files(), (std::vector<std::string>{folder / "o-0001", folder / "o-0002"}));
}

INSTANTIATE_TEST_SUITE_P(Devices, FilterbankNodes, ::testing::ValuesIn(tests::gpu_names_and_cpu()),
                         [](const auto& info) { return tests::test_name(info.param); });

// Segments count passes; a part without one is left out, and what counts samples counts each once.
TEST(FilterbankSource, GivesEachPartAsOftenAsAsked) {
  NoiseReader reader;
  formats::presto::Mask mask;
  mask.interval_s = 1;
  mask.low_channel_mhz = 1350;
  mask.channel_width_mhz = 10;
  mask.channels = kLines;
  mask.intervals = 9;
  mask.samples_per_interval = 1000;
  mask.interval_channels.assign(9, {});
  mask.interval_channels[1] = {0};  // the last channel of the file
  std::vector<std::vector<std::byte>> passes;
  FilterbankSourceConfig config;
  config.parts = {{{{0, 2500}, 0}, 2}, {{{2500, 500}, 2600}, 0}, {{{3000, 1300}, 4000}, 3}};
  config.block_samples = 600;
  config.mask = mask;
  engine::Graph graph;
  graph.connect(
      graph.add("filterbank", std::make_unique<FilterbankSourceNode>(reader, std::move(config))),
      graph.add("recorder", std::make_unique<Recorder>(passes)));
  engine::Run run(std::move(graph));
  const auto& stream = run.plan().front().outputs.front();
  EXPECT_EQ(stream.total_samples, 2 * 2500u + 3 * 1300u);
  const auto turn = stream.detail<FilterbankStream>().turn_of(3);
  EXPECT_EQ(turn.part, 2u);
  EXPECT_EQ(turn.pass, 1u);
  run.go();
  ASSERT_EQ(passes.size(), 5u);
  EXPECT_EQ(passes[0].size(), 2500 * kLines);
  EXPECT_EQ(passes[1], passes[0]);
  EXPECT_EQ(passes[3], passes[2]);
  EXPECT_EQ(passes[4], std::vector(reader.bytes.begin() + 3000 * kLines,
                                   reader.bytes.begin() + 4300 * kLines));
  EXPECT_EQ(run.counters()["filterbank.samples"], 3800u);
  EXPECT_EQ(run.counters()["filterbank.masked"], 1000u);
}

}  // namespace
}  // namespace tautline::pipeline
