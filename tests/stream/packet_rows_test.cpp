// Filterbanks and counts that `send` makes packets of, received as rows: the file to the bit, and where packets were
// lost, their values and no others.
#include "tautline/stream/packet_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "tautline/core/error.h"
#include "tautline/stream/send.h"
#include "tests/formats/sigproc/sigproc_files.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

using namespace std::chrono_literals;

struct ReceivedRows {
  std::vector<std::byte> bytes;
  std::vector<LostRun> lost;
  std::map<std::string, std::uint64_t> counters;
  formats::Damage damage;
  SendSummary sent;
};

class RowsInPackets : public ::testing::Test {
 protected:
  // [time][channel] of random bytes behind a header of sigproc's.
  void write_filterbank(std::size_t times, std::int32_t channels) {
    tests::SigprocShape shape;
    shape.nchans = channels;
    shape.tsamp = 1e-4;
    fill(times * static_cast<std::size_t>(channels));
    std::vector<char> data(bytes_.size());
    std::memcpy(data.data(), bytes_.data(), data.size());
    const auto file = tests::sigproc_header(shape).data(data).bytes();
    std::ofstream(path_, std::ios::binary)
        .write(file.data(), static_cast<std::streamsize>(file.size()));
    send_.files = {path_};
    send_.layout = "filterbank";
    receive_.layout = "filterbank";
    receive_.channels = static_cast<std::size_t>(channels);
    receive_.rate_hz = {10'000, 1};
  }
  void write_counts(std::size_t times, std::size_t sensors) {
    fill(times * sensors * 2);
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes_.data()),
               static_cast<std::streamsize>(bytes_.size()));
    send_.files = {path_};
    send_.layout = "counts";
    send_.bin_s = 1e-4;
    send_.raw = {core::SampleType::u16, sensors, 0};
    receive_.layout = "counts";
    receive_.channels = sensors;
    receive_.rate_hz = {10'000, 1};
  }
  // Reads in pieces of any length while they come. Then also sends `again`, where given, and stops where more rows have
  // come than `most`.
  ReceivedRows send_and_receive(const std::string& impair,
                                const std::optional<SendConfig>& again = {},
                                std::uint64_t most = UINT64_MAX) {
    ReceivedRows received;
    std::stop_source stop;
    std::mutex mutex;
    std::condition_variable listens;
    std::string address;
    receive_.listen = "udp://127.0.0.1:0";
    receive_.silence_s = 10;  // or a while after everything was sent
    receive_.wait_s = 60;
    receive_.log = [&](core::LogLevel, const std::string& text) {
      const std::string said = "listening at ";
      if (!text.starts_with(said)) return;
      const std::lock_guard lock(mutex);
      address = text.substr(said.size(), text.find(" for ") - said.size());
      listens.notify_one();
    };
    std::jthread sender([&] {
      std::unique_lock lock(mutex);
      if (!listens.wait_for(lock, 60s, [&] { return !address.empty(); })) return;
      SendConfig config = send_;
      config.to = {address};
      config.impair = impair;
      received.sent = send_files(config);
      if (again) {
        config = *again;
        config.to = {address};
        send_files(config);
      }
      lock.unlock();
      std::this_thread::sleep_for(1s);
      if (most == UINT64_MAX) stop.request_stop();
    });
    PacketRows rows(receive_);
    std::vector<std::byte> some;
    while (rows.wait(100ms, stop.get_token())) {
      some.resize((1 + random_() % 3000) * rows.row_bytes());
      const std::size_t got = rows.take(some.size() / rows.row_bytes(), some, received.lost);
      received.bytes.insert(received.bytes.end(), some.begin(),
                            some.begin() + static_cast<std::ptrdiff_t>(got * rows.row_bytes()));
      if (received.bytes.size() / rows.row_bytes() > most) stop.request_stop();
    }
    sender.join();
    received.counters = rows.counters();
    received.damage = rows.damage();
    return received;
  }
  // `packet_times` of `packet_channels` are lost together; each value takes `value_bytes`.
  void expect_rows(const ReceivedRows& received, std::size_t packet_times,
                   std::size_t packet_channels, std::size_t value_bytes) const {
    const std::size_t channels = receive_.channels, row = channels * value_bytes;
    const std::size_t times = received.bytes.size() / row, all = bytes_.size() / row / packet_times;
    std::vector<std::uint8_t> lost(times * channels, 0);
    for (const LostRun& run : received.lost) {
      ASSERT_LE(run.end, times);
      for (std::uint64_t t = run.first; t < run.end; ++t)
        for (std::size_t c = 0; c < channels; ++c)
          if (run.channel == LostRun::kAllChannels || run.channel == c) lost[t * channels + c] = 1;
    }
    std::uint64_t packets = 0, wrong = 0;
    for (std::size_t k = 0; k < lost.size(); ++k) {
      const std::size_t t = k / channels, c = k % channels;
      const bool corner = t % packet_times == 0 && c % packet_channels == 0;
      const std::size_t of_packet = (t - t % packet_times) * channels + c - c % packet_channels;
      wrong += lost[k] != lost[of_packet] ? 1U : 0U;
      packets += corner && lost[k] != 0 ? 1U : 0U;
      for (std::size_t b = 0; b < value_bytes; ++b)
        wrong += received.bytes[k * value_bytes + b] !=
                         (lost[k] != 0 ? std::byte{0} : bytes_[k * value_bytes + b])
                     ? 1U
                     : 0U;
    }
    EXPECT_EQ(wrong, 0u);
    const std::uint64_t flows = channels / packet_channels,
                        behind = (all - times / packet_times) * flows;
    const auto& count = received.counters;
    EXPECT_EQ(count.at("missing") + count.at("late"), packets);
    EXPECT_EQ(count.at("accepted") + count.at("missing") + count.at("late") + behind, all * flows);
    EXPECT_EQ(received.sent.records + received.sent.lost,
              count.at("accepted") + count.at("missing") + behind + count.at("duplicate") +
                  count.at("late") + count.at("early") + count.at("malformed") +
                  count.at("foreign"));
    EXPECT_EQ(received.damage.lost_samples,
              (packets * packet_times * packet_channels + channels - 1) / channels);
  }
  void fill(std::size_t bytes) {
    bytes_.resize(bytes);
    for (std::byte& one : bytes_) one = static_cast<std::byte>(random_());
  }

  tests::ScratchFolder scratch_;
  std::mt19937_64 random_ = tests::generator();
  std::string path_ = scratch_ / "sent.data";
  std::vector<std::byte> bytes_;
  SendConfig send_;
  PacketRowsConfig receive_;
};

TEST_F(RowsInPackets, FilterbankIsTheFile) {
  write_filterbank(64 * (20 + random_() % 50), 48);
  const ReceivedRows received = send_and_receive("");
  EXPECT_TRUE(received.bytes == bytes_);
  EXPECT_EQ(received.sent.clipped + received.sent.trailing_samples, 0u);
  EXPECT_TRUE(received.lost.empty());
}

TEST_F(RowsInPackets, CountsAreTheFile) {
  write_counts(128 * (20 + random_() % 30), 3);
  EXPECT_TRUE(send_and_receive("").bytes == bytes_);
}

// Also the first packets may be lost: the run says which count its first row has.
TEST_F(RowsInPackets, LossesReachTheirValues) {
  const std::string seed = ",seed=" + std::to_string(random_() % 1'000'000);
  receive_.first_count = 0;
  write_filterbank(64 * (50 + random_() % 50), 32);
  expect_rows(send_and_receive("loss=0.1,reorder=0.05,duplicate=0.05" + seed), 64, 16, 1);
  write_counts(128 * (30 + random_() % 30), 2);
  expect_rows(send_and_receive("loss=0.1,reorder=0.05,duplicate=0.05" + seed), 128, 1, 2);
}

// Longer than the window: the jump of the count is confirmed, and rows keep their places.
TEST_F(RowsInPackets, AGapKeepsPlaces) {
  write_filterbank(64 * 60, 16);
  receive_.first_count = 0;
  send_.first_count = 64 * 100;
  send_.rate = 0.5;
  const ReceivedRows received = send_and_receive("");
  ASSERT_EQ(received.bytes.size(), bytes_.size() + 6400 * 16);
  EXPECT_TRUE(std::equal(bytes_.begin(), bytes_.end(), received.bytes.begin() + 6400 * 16));
  std::uint64_t until = 0;  // in as many runs as there were readings
  for (const LostRun& run : received.lost) {
    EXPECT_EQ(run.channel, LostRun::kAllChannels);
    EXPECT_EQ(run.first, until);
    until = run.end;
  }
  EXPECT_EQ(until, 6400u);
}

// As of counters that jump to other epochs, and of forged packets.
TEST_F(RowsInPackets, AGapThatIsTooLongEndsTheStream) {
  write_filterbank(64 * 60, 16);
  for (const std::uint64_t to : {std::uint64_t{64} * 10'000, std::uint64_t{1} << 54,
                                 std::uint64_t{1} << 60, std::uint64_t{1} << 62}) {
    SendConfig again = send_;
    again.first_count = to;
    const ReceivedRows received = send_and_receive("", again);
    EXPECT_LE(received.bytes.size(), bytes_.size());
    EXPECT_TRUE(std::equal(received.bytes.begin(), received.bytes.end(), bytes_.begin()));
    const auto& messages = received.damage.messages;
    EXPECT_TRUE(std::ranges::any_of(messages, [](const std::string& text) {
      return text.find(" s ahead after ") != std::string::npos;
    })) << to;
    EXPECT_GT(received.damage.dropped_samples, 0u) << to;
  }
}

TEST_F(RowsInPackets, AStopEndsAGap) {
  write_filterbank(64 * 60, 16);
  SendConfig again = send_;
  again.first_count = 64 * 8'000;  // 51 s behind
  const std::uint64_t most = 64 * 60 + random_() % 10'000;
  const ReceivedRows received = send_and_receive("", again, most);
  EXPECT_LE(received.bytes.size(), (most + 3000) * 16);
  EXPECT_GT(received.bytes.size(), most * 16);
}

TEST_F(RowsInPackets, SaysWhatDoesNotFit) {
  write_filterbank(64, 20);  // 16 channels a packet
  send_.to = {"udp://127.0.0.1:9"};
  EXPECT_THROW(send_files(send_), core::Error);
  receive_.listen = "udp://127.0.0.1:0";
  EXPECT_THROW(PacketRows{receive_}, core::Error);
  receive_.layout = send_.layout = "meerkat-f";
  EXPECT_THROW(PacketRows{receive_}, core::Error);
  EXPECT_THROW(send_files(send_), core::Error);
}

}  // namespace
}  // namespace tautline::stream
