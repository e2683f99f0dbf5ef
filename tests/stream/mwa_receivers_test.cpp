// Receivers that connect, die, come back, are late, never come or send rubbish; what is given is what was sent, or
// invalid.
#include "tautline/stream/mwa_receivers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <iostream>
#include <random>
#include <thread>
#include <utility>

#include "tautline/core/error.h"
#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kInputs = formats::mwa32t::kInputsPerReceiver;

// A component of a sample: of receiver, time and which of the record's 32.
int sent_value(std::size_t receiver, std::int64_t time, std::size_t component) {
  const auto mixed = (static_cast<std::uint64_t>(time) * 0x9e3779b97f4a7c15 + receiver * 977 +
                      component * 0x2545f4914f6cdd1d);
  return static_cast<int>(mixed >> 40 & 31) - 16;
}

std::vector<std::byte> records(std::size_t receiver, std::int64_t first, std::int64_t end) {
  std::vector<std::byte> bytes;
  for (std::int64_t time = first; time < end; ++time) {
    bytes.push_back(static_cast<std::byte>(time & 255));
    bytes.push_back(static_cast<std::byte>(time >> 8 & 255));
    for (std::size_t k = 0; k < 2 * kInputs; ++k)
      bytes.push_back(static_cast<std::byte>(sent_value(receiver, time, k) & 31));
  }
  return bytes;
}

class MwaReceiverConnections : public ::testing::Test {
 protected:
  void start(std::size_t receivers, double wait_s = 2, double late_s = 30) {
    receivers_ = receivers;
    stream = std::make_unique<MwaReceivers>(MwaReceiversConfig{
        .listen = std::vector<Endpoint>(receivers, Endpoint{.host = "127.0.0.1"}),
        .receivers = receivers,
        .wait_s = wait_s,
        .late_s = late_s,
        .log = [this](core::LogLevel, const std::string& text) {
          said += text + "\n";
          if (text.find(" connected from ") != text.npos && ++connected == 2 && at_second)
            at_second();
        }});
    stream->start(stop.get_token());
  }
  void TearDown() override {
    stop.request_stop();
    if (reader.joinable()) reader.join();
    if (HasFailure()) std::cout << said;
  }
  TcpClient connect(std::size_t receiver) { return {stream->listening()[receiver], 20s}; }

  // Reads to the end, on a thread of its own, and keeps all of it: a receiver whose sample is invalid has none.
  void read_all(std::size_t block_samples) {
    reader = std::jthread([this, block_samples] {
      core::RawBlock block;
      SegmentPlace segment;
      while (const std::size_t got = stream->read(block_samples, block, segment)) {
        EXPECT_EQ(segment.index, 0U);
        EXPECT_EQ(segment.first_block, given.empty());
        const std::size_t before = given.size(), row = receivers_ * 2 * kInputs;
        ASSERT_EQ(block.bytes.size(), got * row);
        given.resize(before + got, std::vector<std::vector<std::int8_t>>(receivers_));
        for (std::size_t t = 0; t < got; ++t)
          for (std::size_t r = 0; r < receivers_; ++r) {
            const auto* first =
                reinterpret_cast<const std::int8_t*>(&block.bytes[t * row + r * 2 * kInputs]);
            given[before + t][r].assign(first, first + 2 * kInputs);
          }
        for (const core::InvalidSpan& span : block.invalid)
          for (std::size_t t = span.first_sample; t < span.first_sample + span.samples; ++t) {
            if (span.input == core::InvalidSpan::kAllInputs)
              for (auto& one : given[before + t]) one.clear();
            else
              given[before + t][span.input / kInputs].clear();
          }
        samples = given.size();
      }
    });
  }
  // Several receivers' bytes side by side, in pieces of 3 ms, as a common clock gives them.
  static void send(std::vector<std::pair<TcpClient*, std::vector<std::byte>>> all) {
    constexpr std::size_t kPiece = 34 * 4000;
    bool more = true;
    for (std::size_t done = 0; more; done += kPiece) {
      more = false;
      for (auto& [client, bytes] : all) {
        if (done >= bytes.size()) continue;
        client->write(std::span(bytes).subspan(done, std::min(kPiece, bytes.size() - done)));
        more = true;
      }
    }
  }
  // The samples of [first, end) of a receiver are those it sent, in a stream that begins at `origin`.
  void expect_given(std::size_t receiver, std::int64_t origin, std::int64_t first,
                    std::int64_t end) const {
    ASSERT_GE(static_cast<std::int64_t>(given.size()), end - origin);
    for (std::int64_t time = first; time < end; ++time) {
      const auto& values = given[static_cast<std::size_t>(time - origin)][receiver];
      ASSERT_EQ(values.size(), 2 * kInputs) << "receiver " << receiver << " time " << time;
      std::size_t right = 0;
      while (right < values.size() && values[right] == sent_value(receiver, time, right)) ++right;
      ASSERT_EQ(right, values.size()) << "receiver " << receiver << " time " << time;
    }
  }
  void expect_lost(std::size_t receiver, std::int64_t origin, std::int64_t first,
                   std::int64_t end) const {
    for (std::int64_t time = first; time < end; ++time)
      ASSERT_TRUE(given[static_cast<std::size_t>(time - origin)][receiver].empty()) << time;
  }
  void wait_for_samples(std::size_t count) {
    for (int k = 0; k < 60'000 && samples < count; ++k) std::this_thread::sleep_for(1ms);
    ASSERT_GE(samples, count);
  }

  std::mt19937_64 random = tests::generator();
  std::stop_source stop;
  std::size_t receivers_ = 0;
  std::unique_ptr<MwaReceivers> stream;
  std::vector<std::vector<std::vector<std::int8_t>>> given;  // [time][receiver][component]
  std::atomic<std::size_t> samples = 0, connected = 0;
  std::function<void()> at_second;  // called by the reader when two have connected
  std::string said;
  std::jthread reader;
};

// The stream begins with the first sample that all have, and ends with the last that any has.
TEST_F(MwaReceiverConnections, AreAlignedByTheirCounters) {
  start(4);
  read_all(1000 + random() % 3000);
  const std::int64_t base = 60'000;
  std::vector<std::int64_t> first, end;
  std::int64_t origin = 0, last = 0;
  {
    std::vector<TcpClient> clients;
    std::vector<std::pair<TcpClient*, std::vector<std::byte>>> all;
    for (std::size_t r = 0; r < 4; ++r) clients.push_back(connect(r));
    for (std::size_t r = 0; r < 4; ++r) {
      first.push_back(base + static_cast<std::int64_t>(random() % 3000));
      end.push_back(base + 20'000 + static_cast<std::int64_t>(random() % 3000));
      origin = std::max(origin, first[r]);
      last = std::max(last, end[r]);
      all.emplace_back(&clients[r], records(r, first[r], end[r]));
    }
    send(std::move(all));
  }
  reader.join();
  ASSERT_EQ(static_cast<std::int64_t>(given.size()), last - origin);
  std::uint64_t lost = 0;
  for (std::size_t r = 0; r < 4; ++r) {
    expect_given(r, origin, origin, end[r]);
    expect_lost(r, origin, end[r], last);
    lost += static_cast<std::uint64_t>(last - end[r]) * kInputs;
  }
  EXPECT_EQ(stream->damage().lost_samples, lost);
  EXPECT_EQ(stream->damage().dropped_samples, 0U);
}

// One that connects long before the other is not taken for as many periods earlier: how long before says the clock, and
// which period that is, what is given.
TEST_F(MwaReceiverConnections, BeginTogetherHoweverEarlyOneCame) {
  start(2, 60);
  read_all(1000);
  TcpClient early(stream->listening()[0], 20s, stop.get_token()), late = connect(1);
  std::atomic<std::int64_t> sent = 0;
  const std::jthread sender([&] {
    const auto send_all = [&] {
      for (;; sent += 20'000) early.write(records(0, sent, sent + 20'000));
    };
    EXPECT_THROW(send_all(), core::Error);  // once it is stopped
  });
  for (int k = 0; k < 60'000 && sent < 120'000; ++k) std::this_thread::sleep_for(1ms);
  late.write(records(1, 140'000, 160'000));
  wait_for_samples(20'000);
  stop.request_stop();
  reader.join();
  const auto origin = static_cast<std::int64_t>(stream->counters().at("early_records"));
  ASSERT_EQ((origin - 140'000) % 65'536, 0);
  EXPECT_GT(origin, 0);
  expect_given(0, origin, origin, origin + 20'000);
  for (std::int64_t k = 0; k < 20'000; ++k)
    for (std::size_t c = 0; c < 2 * kInputs; ++c)
      ASSERT_EQ(given[static_cast<std::size_t>(k)][1].at(c), sent_value(1, 140'000 + k, c)) << k;
  EXPECT_EQ(said.find("before receiver 2") != std::string::npos, origin >= 16'384);
  EXPECT_EQ(stream->damage().dropped_samples, 0U);
}

// A reader that is held up for longer than a counter's period when one is there and the other has just connected.
TEST_F(MwaReceiverConnections, AreAlignedByWhatTheySentWhenTheReaderIsHeldUp) {
  const auto base = static_cast<std::int64_t>(random() % 65'536);
  at_second = [] { std::this_thread::sleep_for(70ms); };
  start(2, 60);
  {
    TcpClient first = connect(0);
    first.write(records(0, base, base + 1000));
    read_all(1000);
    std::this_thread::sleep_for(200ms);  // the first is there
    TcpClient second = connect(1);
    std::vector<std::pair<TcpClient*, std::vector<std::byte>>> all;
    all.emplace_back(&first, records(0, base + 1000, base + 21'300));
    all.emplace_back(&second, records(1, base + 1300, base + 21'300));
    send(std::move(all));
  }
  wait_for_samples(20'000);  // whole blocks: a stop waits for no more
  stop.request_stop();
  reader.join();
  ASSERT_EQ(given.size(), 20'000U);
  for (std::size_t r = 0; r < 2; ++r) expect_given(r, base + 1300, base + 1300, base + 21'300);
  EXPECT_EQ(stream->damage().lost_samples, 0U);
}

// One receiver sends more than is kept in memory while the others are waited for, and nothing is lost.
TEST_F(MwaReceiverConnections, AreGivenFromTheirFirstSampleWhenNoOtherComes) {
  start(3, 0.5);
  read_all(5000);
  connect(1).write(records(1, 7, 400'007));
  reader.join();
  ASSERT_EQ(given.size(), 400'000U);
  expect_lost(0, 7, 7, 400'007);
  expect_given(1, 7, 7, 400'007);
  expect_lost(2, 7, 7, 400'007);
  EXPECT_EQ(stream->counters().at("early_records"), 0U);
  EXPECT_EQ(stream->damage().lost_samples, 2 * 400'000U * kInputs);
  EXPECT_EQ(stream->damage().dropped_samples, 0U);
}

// Meanwhile the other receiver's data are delivered with the first one's inputs invalid; the first one comes back where
// its counter is.
TEST_F(MwaReceiverConnections, ThatDieAndComeBackLoseWhatTheyDidNotSend) {
  start(2, 5);
  read_all(500);
  TcpClient steady = connect(0);
  auto dying = std::make_unique<TcpClient>(connect(1));
  dying->write(records(1, 100, 10'100));
  auto torn = records(1, 10'100, 10'101);
  torn.resize(1 + random() % 33);
  dying->write(torn);
  steady.write(records(0, 100, 10'000));
  dying.reset();
  steady.write(records(0, 10'000, 100'000));  // across a wrap
  wait_for_samples(99'000);
  TcpClient back = connect(1);
  back.write(records(1, 100'000, 120'000));
  for (int k = 0; k < 10'000 && connected < 3; ++k) std::this_thread::sleep_for(1ms);
  steady.write(records(0, 100'000, 120'000));
  wait_for_samples(119'500);
  stop.request_stop();
  reader.join();
  expect_given(0, 100, 100, 119'600);
  expect_given(1, 100, 100, 10'100);
  // The block that the others were in when it came is theirs.
  std::int64_t again = 10'100;
  while (again < 119'600 && given[static_cast<std::size_t>(again - 100)][1].empty()) ++again;
  EXPECT_GE(again, 100'000);
  EXPECT_LT(again, 119'600);
  expect_given(1, 100, again, 119'600);
  EXPECT_EQ(stream->damage().lost_samples, static_cast<std::uint64_t>(again - 10'100) * kInputs);
  EXPECT_EQ(stream->damage().trailing_bytes, torn.size());
  EXPECT_EQ(stream->counters().at("connections"), 3U);
}

TEST_F(MwaReceiverConnections, ThatNeverComeAreInvalidAllThrough) {
  start(3, 2);  // long enough for a busy system to bring the two that come
  read_all(700);
  {
    TcpClient first = connect(0), third = connect(2);
    first.write(records(0, 5, 3000));
    third.write(records(2, 5, 3000));
  }
  reader.join();
  ASSERT_EQ(given.size(), 2995U);
  expect_given(0, 5, 5, 3000);
  expect_lost(1, 5, 5, 3000);
  expect_given(2, 5, 5, 3000);
  EXPECT_EQ(stream->damage().lost_samples, 2995U * kInputs);
}

// Gaps of single connections, and the inputs that they cost.
TEST_F(MwaReceiverConnections, LoseExactlyWhatTheirCountersSkip) {
  start(2);
  read_all(333);
  std::vector<std::byte> with_gaps;
  std::vector<bool> there(60'000, false);
  for (std::int64_t time = 0; time < 60'000 - 10;) {  // one record alone after a gap proves nothing
    const auto end =
        std::min<std::int64_t>(60'000, time + 10 + static_cast<std::int64_t>(random() % 3000));
    const auto some = records(1, time, end);
    with_gaps.insert(with_gaps.end(), some.begin(), some.end());
    for (; time < end; ++time) there[static_cast<std::size_t>(time)] = true;
    time += 1 + static_cast<std::int64_t>(random() % 2000);
  }
  {
    TcpClient one = connect(0), other = connect(1);
    send({{&one, records(0, 0, 60'000)}, {&other, with_gaps}});
  }
  reader.join();
  ASSERT_EQ(given.size(), 60'000U);
  expect_given(0, 0, 0, 60'000);
  std::uint64_t lost = 0;
  for (std::size_t time = 0; time < there.size(); ++time) {
    const auto at = static_cast<std::int64_t>(time);
    lost += there[time] ? 0 : kInputs;
    if (there[time])
      expect_given(1, 0, at, at + 1);
    else
      expect_lost(1, 0, at, at + 1);
  }
  EXPECT_EQ(stream->damage().lost_samples, lost);
}

// Records that are sent again, and records whose counter is broken: each is counted, and costs no other.
TEST_F(MwaReceiverConnections, CountWhatComesTwiceAndBrokenCounters) {
  constexpr std::int64_t kTimes = 60'000;
  start(2);
  read_all(333);
  std::vector<std::byte> bytes;
  const auto add = [&](const std::vector<std::byte>& more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
  std::vector<std::int64_t> broken;
  std::uint64_t repeated = 0, jumps = 0;
  std::int64_t time = 0;
  for (; time < kTimes - 5000; ++jumps) {
    const std::int64_t next = time + 100 + static_cast<std::int64_t>(random() % 2500);
    add(records(1, time, next));
    time = next;
    if (random() % 2 == 0) {
      const std::int64_t back =
          1 + static_cast<std::int64_t>(
                  random() % static_cast<std::uint64_t>(std::min<std::int64_t>(time, 3000)));
      add(records(1, time - back, time));
      repeated += static_cast<std::uint64_t>(back);
    } else {
      auto one = records(1, time, time + 1);
      one[random() % 2] ^= static_cast<std::byte>(1 + random() % 255);
      add(one);
      broken.push_back(time++);
    }
  }
  add(records(1, time, kTimes));
  {
    TcpClient one = connect(0), other = connect(1);
    send({{&one, records(0, 0, kTimes)}, {&other, bytes}});
  }
  reader.join();
  ASSERT_EQ(static_cast<std::int64_t>(given.size()), kTimes);
  expect_given(0, 0, 0, kTimes);
  std::int64_t from = 0;
  for (const std::int64_t at : broken) {
    expect_given(1, 0, from, at);
    expect_lost(1, 0, at, at + 1);
    from = at + 1;
  }
  expect_given(1, 0, from, kTimes);
  const auto counters = stream->counters();
  EXPECT_EQ(counters.at("repeated_records"), repeated);
  EXPECT_EQ(counters.at("counter_jumps"), jumps);
  EXPECT_EQ(counters.at("late_records"), 0U);
  const formats::Damage damage = stream->damage();
  EXPECT_EQ(damage.dropped_samples, repeated * kInputs);
  EXPECT_EQ(damage.lost_samples, broken.size() * kInputs);
  EXPECT_EQ(damage.trailing_bytes, broken.size() * 34);
}

// A clock that runs fast: its samples wait for the others' of the same counters, and none is lost.
TEST_F(MwaReceiverConnections, WhoseClocksDisagreeAreAlignedByTheirCounters) {
  start(2);
  read_all(777);
  constexpr std::int64_t kPieces = 40, kSlow = 4000, kFast = 4040;
  {
    TcpClient slow = connect(0), fast = connect(1);
    for (std::int64_t piece = 0; piece < kPieces; ++piece) {
      slow.write(records(0, piece * kSlow, (piece + 1) * kSlow));
      fast.write(records(1, piece * kFast, (piece + 1) * kFast));
    }
  }
  reader.join();
  ASSERT_EQ(given.size(), static_cast<std::size_t>(kPieces * kFast));
  expect_given(0, 0, 0, kPieces * kSlow);
  expect_given(1, 0, 0, kPieces * kFast);
  expect_lost(0, 0, kPieces * kSlow, kPieces * kFast);
  EXPECT_EQ(stream->damage().lost_samples,
            static_cast<std::uint64_t>(kPieces * (kFast - kSlow)) * kInputs);
}

// One that stays connected and sends nothing holds the others up once, and no more.
TEST_F(MwaReceiverConnections, ThatFallSilentAreNotWaitedForLong) {
  start(2, 2, 0.5);
  read_all(1000);
  TcpClient silent = connect(1);
  silent.write(records(1, 0, 1500));
  connect(0).write(records(0, 0, 40'000));
  wait_for_samples(40'000);
  silent.write(records(1, 1500, 41'000));  // too late, but for the last 1,000
  wait_for_samples(41'000);
  stop.request_stop();
  reader.join();
  expect_given(0, 0, 0, 40'000);
  expect_lost(0, 0, 40'000, 41'000);
  expect_given(1, 0, 0, 1500);
  expect_lost(1, 0, 1500, 40'000);
  expect_given(1, 0, 40'000, 41'000);
  const formats::Damage damage = stream->damage();
  for (const char* said_once : {"sends nothing", "sends again"})
    EXPECT_EQ(std::count_if(damage.messages.begin(), damage.messages.end(),
                            [&](const auto& m) { return m.find(said_once) != m.npos; }),
              1)
        << said_once;
  EXPECT_EQ(stream->counters().at("late_records"), 38'500U);
  EXPECT_EQ(damage.dropped_samples, 38'500U * kInputs);
  EXPECT_EQ(damage.lost_samples, 39'500U * kInputs);
}

// A receiver of rubbish costs its own inputs alone.
TEST_F(MwaReceiverConnections, ThatSendRubbishAreCounted) {
  start(2, 0.5);
  read_all(1000);
  std::vector<std::byte> rubbish(3'000'000);
  for (std::byte& byte : rubbish) byte = static_cast<std::byte>(random());
  {
    std::jthread other([&, client = connect(1)]() mutable { client.write(rubbish); });
    connect(0).write(records(0, 0, 10'000));
  }
  reader.join();
  ASSERT_GE(given.size(), 10'000U);
  expect_given(0, 0, 0, 10'000);
  EXPECT_GE(stream->damage().trailing_bytes + 100 * 34, rubbish.size());
}

// Rubbish alone ends the run when its sender has gone; a connection without a byte is nobody's.
TEST_F(MwaReceiverConnections, EndWhereNobodySendsARecord) {
  start(2, 0.2);
  std::string error;
  reader = std::jthread([&] {
    core::RawBlock block;
    SegmentPlace segment;
    try {
      stream->read(1000, block, segment);
    } catch (const core::Error& refused) {
      error = refused.what();
    }
  });
  connect(0);
  std::vector<std::byte> rubbish(300'000);
  for (std::byte& byte : rubbish) byte = static_cast<std::byte>(random());
  // Two records at the end would be believed, which once in 65,536 times follow each other.
  std::fill(rubbish.end() - 3 * 34, rubbish.end(), std::byte{0});
  connect(1).write(rubbish);
  reader.join();
  EXPECT_NE(error.find("300000 bytes without a record"), std::string::npos) << error;
}

TEST_F(MwaReceiverConnections, EndWhereTheyAreStopped) {
  start(2);
  stop.request_stop();
  read_all(100);
  reader.join();
  EXPECT_TRUE(given.empty());
  EXPECT_THROW(MwaReceivers({.listen = {{.transport = Endpoint::Transport::udp, .host = "::1"}}}),
               core::Error);
}

}  // namespace
}  // namespace tautline::stream
