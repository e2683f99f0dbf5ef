// Triggers as datagrams: what is understood, what is refused, how many are read.
#include "tautline/pipeline/voltages/trigger_listener.h"

#include <gtest/gtest.h>

#include "tautline/core/error.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using namespace std::chrono_literals;

TEST(TriggerDatagrams, AreUnderstood) {
  const Trigger plain = parse_trigger(R"({"time": 12345678901})");
  EXPECT_EQ(plain.sample, 12345678901);
  EXPECT_EQ(plain.before_s, -1);
  const Trigger full = parse_trigger(
      R"({"time": "2026-03-20T14:00:01.25", "before_s": 0, "after_s": 1.5, "id": "FRB-1.a_b", "dm": 56.7, "reference_hz": 1.4e9})");
  EXPECT_FALSE(full.sample.has_value());
  EXPECT_EQ(full.time, core::parse_utc("2026-03-20-14:00:01.25"));
  EXPECT_EQ(full.before_s, 0);
  EXPECT_EQ(full.after_s, 1.5);
  EXPECT_EQ(full.id, "FRB-1.a_b");
  EXPECT_EQ(full.dm, 56.7);
  EXPECT_EQ(full.reference_hz, 1.4e9);
}

TEST(TriggerDatagrams, AreRefusedWithTheField) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"", "datagram"},
      {"[1]", "datagram"},
      {"{\"time\": 1", "datagram"},
      {"{\"time\": \"\xff\"}", "datagram"},
      {"{}", "time"},
      {R"({"time": -1})", "time"},
      {R"({"time": 1.5})", "time"},
      {R"({"time": 1e3})", "time"},
      {R"({"time": 18446744073709551615})", "time"},
      {R"({"time": null})", "time"},
      {R"({"time": {"a": [1]}})", "time"},
      {R"({"time": 1, "before_s": -1})", "before_s"},
      {R"({"time": 1, "before_s": "2"})", "before_s"},
      {R"({"time": 1, "after_s": 1e9})", "after_s"},
      {R"({"time": 1, "id": ""})", "id"},
      {R"({"time": 1, "id": "a/b"})", "id"},
      {R"({"time": 1, "id": 7})", "id"},
      {R"({"time": 1, "id": ")" + std::string(65, 'a') + "\"}", "id"},
      {R"({"time": 1, "dm": 5})", "dm"},
      {R"({"time": 1, "reference_hz": 1e9})", "dm"},
      {R"({"time": 1, "path": "/etc/passwd"})", "path"},
      {R"({"time": 1})" + std::string(1000, ' '), "datagram"}};
  for (const auto& [text, field] : bad) try {
      parse_trigger(text);
      ADD_FAILURE() << text;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::format);
      EXPECT_NE(error.field().find(field), std::string::npos) << text << ": " << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  EXPECT_THROW(parse_trigger(R"({"time": "yesterday"})"), core::Error);
}

// Bytes of any value, and texts with some of theirs changed: understood or refused.
TEST(TriggerDatagrams, OfAnyBytesDoNoHarm) {
  auto random = tests::generator();
  const std::string good = R"({"time": "2026-03-20T14:00:01.25", "before_s": 0.5, "id": "a"})";
  std::size_t refused = 0;
  for (int k = 0; k < 20'000; ++k) {
    std::string text = good;
    if (k % 2 == 0) text.resize(random() % 200);
    for (std::size_t n = k % 2 == 0 ? text.size() : 1 + random() % 3; n > 0 && !text.empty(); --n)
      text[random() % text.size()] = static_cast<char>(random());
    try {
      parse_trigger(text);
    } catch (const core::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10'000U);
}

TEST(TriggerDatagrams, AreLimitedInRate) {
  RateLimit limit(5);
  RateLimit::Clock::time_point now = RateLimit::Clock::now();
  const auto allowed = [&](int asked) {
    int got = 0;
    for (int k = 0; k < asked; ++k) got += limit.allows(now) ? 1 : 0;
    return got;
  };
  EXPECT_EQ(allowed(100), 5);
  now += 450ms;
  EXPECT_EQ(allowed(100), 2);
  now += 1h;
  EXPECT_EQ(allowed(100), 5);
  RateLimit slow(0.1);
  EXPECT_TRUE(slow.allows(now));
  EXPECT_FALSE(slow.allows(now + 5s));
  EXPECT_TRUE(slow.allows(now + 11s));
}

TEST(TriggerDatagrams, ComeFromThisMachineUnlessToldOtherwise) {
  for (const char* address : {"udp://127.0.0.1:9050", "udp://localhost:0", "udp://[::1]:9050"})
    EXPECT_NO_THROW(trigger_endpoint({.listen = address}));
  for (const char* address : {"udp://0.0.0.0:9050", "udp://192.168.1.2:9050", "udp://[::]:9050",
                              "tcp://127.0.0.1:9050", "127.0.0.1:9050"})
    EXPECT_THROW(trigger_endpoint({.listen = address}), core::Error) << address;
  EXPECT_NO_THROW(trigger_endpoint({.listen = "udp://0.0.0.0:9050", .listen_beyond = true}));
}

}  // namespace
}  // namespace tautline::pipeline
