// Receivers that do not come are waited for, and the log says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <thread>

#include "tautline/stream/mwa_receivers.h"

namespace tautline::stream {
namespace {

using namespace std::chrono_literals;

TEST(MwaReceiversWait, IsSaidWithItsAddresses) {
  std::mutex mutex;
  std::vector<std::string> said;
  std::stop_source stop;
  MwaReceivers stream(
      MwaReceiversConfig{.listen = std::vector<Endpoint>(2, Endpoint{.host = "127.0.0.1"}),
                         .receivers = 2,
                         .remind_s = 1e-3,
                         .log = [&](core::LogLevel level, const std::string& text) {
                           if (!text.ends_with(": waiting")) return;
                           EXPECT_EQ(level, core::LogLevel::info);
                           const std::lock_guard lock(mutex);
                           said.push_back(text);
                         }});
  stream.start(stop.get_token());
  std::string addresses;
  for (const Endpoint& endpoint : stream.listening())
    addresses += (addresses.empty() ? "" : ", ") + to_string(endpoint);
  const auto count = [&](const std::string& begin) {
    const std::lock_guard lock(mutex);
    return std::ranges::count_if(said, [&](const std::string& text) {
      return text.starts_with(begin + " from receivers at " + addresses + " in ");
    });
  };
  const auto wait_for = [&](const std::string& begin, std::ptrdiff_t times) {
    for (int wait = 0; wait < 60'000 && count(begin) < times; ++wait)
      std::this_thread::sleep_for(1ms);
    EXPECT_GE(count(begin), times) << begin;
  };
  std::jthread reader([&] {
    core::RawBlock block;
    SegmentPlace segment;
    EXPECT_EQ(stream.read(1000, block, segment), 0U);
  });
  wait_for("nothing has come", 3);
  EXPECT_EQ(count("no record has come"), 0);
  // Bytes that are no record.
  TcpClient client(stream.listening()[1], 20s);
  client.write(std::array<std::byte, 3>{});
  wait_for("no record has come", 1);
  stop.request_stop();
}

}  // namespace
}  // namespace tautline::stream
