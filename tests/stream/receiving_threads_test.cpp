// Threads that receive, where the system does not give all of them.
#include "tautline/stream/receiving_threads.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tautline/core/error.h"
#include "tautline/stream/output_blocks.h"
#include "tests/stream/impaired_packets.h"
#include "tests/support/few_threads.h"

namespace {

using namespace tautline;

// Room that nobody makes any more: whoever asks for it would wait.
class NoRoom final : public stream::BlockStore {
 public:
  std::byte* begin() override {
    ++asked;
    throw stream::OutputEnded{};
  }
  void commit(const stream::CapturedBlock&) override {}
  std::atomic<int> asked = 0;
};

TEST(ReceivingThreads, ThatTheSystemRefusesAreAnErrorBeforeAnyReceives) {
  constexpr std::size_t kThreads = 8;
  const auto layout = tests::small_layout(48);
  NoRoom room;
  stream::Capture capture(tests::grid_config(layout, 0), room);
  stream::SharedCapture shared(capture);
  const std::vector<stream::Endpoint> listen(kThreads,
                                             {stream::Endpoint::Transport::udp, "127.0.0.1", 0});
  const auto receivers = stream::UdpReceiver::share({.listen = listen}, kThreads);
  for (std::size_t k = 0; k < kThreads; ++k) {  // a packet waits for each
    stream::UdpSender sender(receivers[k]->listening().front());
    sender.send(tests::packet_of(capture, layout, 0, 0, k % capture.placement().flows()));
    sender.flush();
  }
  const tests::FewThreads few;
  try {
    stream::ReceivingThreads threads(receivers, shared, -1, [] { return true; });
    FAIL() << "all of them began";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.kind(), core::ErrorKind::io);
    EXPECT_EQ(error.field(), "threads");
    EXPECT_NE(error.value().find(" of 8"), std::string::npos) << error.value();
    EXPECT_NE(error.advice().find("ulimit -u"), std::string::npos) << error.advice();
  }
  EXPECT_EQ(room.asked, 0);
  EXPECT_EQ(capture.counters().accepted, 0U);
}

}  // namespace
