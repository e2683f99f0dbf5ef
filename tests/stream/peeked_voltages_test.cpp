// What peeks of a stream have got is told while they wait, and what reads get afterwards is the same.
#include "tautline/stream/peeked_voltages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <semaphore>
#include <thread>

#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

using namespace std::chrono_literals;

// Gives a block each time that it may; counts how often it was asked to wait.
class Held final : public VoltageStream {
 public:
  explicit Held(std::uint64_t first) : next_(first) {}
  const core::VoltageDescription& description() const override { return description_; }
  core::RawLayout layout(std::size_t) const override { return {}; }
  std::size_t block_bytes(std::size_t samples) const override { return samples; }
  std::uint64_t total_samples() const override { return 0; }
  const core::Instant& end() const override { return description_.start; }
  const std::vector<std::string>& files() const override { return files_; }
  void start(const std::stop_token&, const Waits& waits) override { waits_ = waits; }
  std::size_t read(std::size_t samples, core::RawBlock& block, SegmentPlace& segment) override {
    for (bool given = false; !given; ++waited_) {
      waits_(true);
      given = may_give.try_acquire_for(5ms);
      waits_(false);
    }
    block.bytes.resize(samples);
    std::fill_n(block.bytes.data(), samples, static_cast<std::byte>(next_));
    block.first_sample = next_;
    block.samples = samples;
    segment = {0, {}, true};
    next_ += samples;
    return samples;
  }
  formats::Damage damage() const override { return {}; }
  bool live() const override { return true; }
  std::map<std::string, std::uint64_t> counters() const override { return {{"waits", waited_}}; }
  std::vector<std::string> problems() const override { return {"nobody sends"}; }

  std::counting_semaphore<> may_give{0};

 private:
  core::VoltageDescription description_;
  std::vector<std::string> files_;
  Waits waits_;
  std::uint64_t next_, waited_ = 0;
};

TEST(PeekedVoltages, TellWhatHasComeWhileTheyWait) {
  auto random = tests::generator();
  const std::uint64_t first = random() % 1000;
  const std::size_t samples = 1 + random() % 100;
  auto held = std::make_unique<Held>(first);
  std::counting_semaphore<>& may_give = held->may_give;
  PeekedVoltages peeked(std::move(held));
  EXPECT_FALSE(peeked.peeked());
  std::uint64_t waits_of_reads = 0;
  peeked.start({}, [&](bool begins) { waits_of_reads += begins; });
  EXPECT_FALSE(peeked.peeked());  // nobody reads yet
  core::RawBlock seen;
  SegmentPlace segment;
  std::jthread peeks([&] { EXPECT_EQ(peeked.peek(samples, seen, segment, {}), samples); });
  const auto until = [&](auto condition) {
    for (int wait = 0; wait < 60'000; ++wait) {
      if (const auto now = peeked.peeked(); now && condition(*now)) return *now;
      std::this_thread::sleep_for(1ms);
    }
    ADD_FAILURE() << "not within a minute";
    return engine::FirstData{};
  };
  const engine::FirstData waiting =
      until([](const engine::FirstData& now) { return now.counters.contains("waits"); });
  EXPECT_GT(waiting.reading_s, 0);
  EXPECT_EQ(waiting.counters.at("samples"), 0);
  EXPECT_EQ(waiting.problems, std::vector<std::string>{"nobody sends"});
  until([&](const engine::FirstData& now) {
    return now.counters.at("waits") > waiting.counters.at("waits") &&
           now.reading_s > waiting.reading_s;
  });
  may_give.release(2);
  peeks.join();
  EXPECT_EQ(until([](const engine::FirstData&) { return true; }).counters.at("samples"), samples);
  peeked.end_peeking();
  const engine::FirstData over = until([](const engine::FirstData&) { return true; });
  EXPECT_LT(over.reading_s, 0);
  EXPECT_EQ(over.counters.at("samples"), samples);
  EXPECT_TRUE(over.problems.empty());
  EXPECT_TRUE(peeked.counters().empty());
  core::RawBlock read;
  for (int block = 0; block < 2; ++block) {
    EXPECT_EQ(peeked.read(samples, read, segment), samples);
    EXPECT_EQ(read.bytes[0], static_cast<std::byte>(read.first_sample));
    EXPECT_EQ(read.first_sample, first + static_cast<std::size_t>(block) * samples);
    EXPECT_EQ(waits_of_reads > 0, block == 1);
  }
  EXPECT_EQ(peeked.problems(), std::vector<std::string>{"nobody sends"});
}

}  // namespace
}  // namespace tautline::stream
