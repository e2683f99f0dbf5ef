// The impairment grid over sockets of the loopback, received by one thread and by several: a sample of its 720 cases, all of
// them with TAUTLINE_FULL.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "tautline/stream/receiving_threads.h"
#include "tests/stream/impaired_packets.h"
#include "tests/support/seed.h"

namespace {

using namespace tautline;
using namespace tautline::tests;
using namespace std::chrono_literals;

constexpr std::size_t kGridSeeds = 20, kGridCases = 36 * kGridSeeds, kGridSample = 40;
// Where this machine itself loses packets, a case says nothing of the network's: it is sent again.
constexpr int kGridTries = 5;

struct GridCase {
  Impairment how;
  std::size_t threads;  // that receive; 0: the sender's own
  std::uint64_t seed;
};

GridCase grid_case(std::size_t number, std::uint64_t first_seed) {
  constexpr double kLoss[] = {0.0, 1e-4, 1e-3, 1e-2, 1e-1, 0.5}, kReorder[] = {0.0, 0.01, 0.1},
                   kDuplicate[] = {0.0, 0.01};
  const std::size_t seed = number % kGridSeeds, kind = number / kGridSeeds;
  return {{kLoss[kind % 6], kReorder[kind / 6 % 3], kDuplicate[kind / 18],
           seed % 2 == 0 ? kWindow / 2 : 3 * kWindow},
          seed % 4,
          first_seed + number};
}

// Everything that is received by threads, or by the thread that sends.
class Reception {
 public:
  Reception(stream::Capture& capture, std::size_t threads)
      : capture_(capture),
        receivers_(stream::UdpReceiver::share(
            {.listen = {{stream::Endpoint::Transport::udp, "127.0.0.1", 0}}},
            std::max<std::size_t>(1, threads))) {
    if (threads == 0) return;
    shared_.emplace(capture);
    threads_.emplace(receivers_, *shared_, -1, [] { return true; });
  }
  stream::Endpoint at() const { return receivers_.front()->listening().front(); }

  // False: the kernel has dropped some, or they do not come.
  bool wait_for(std::uint64_t packets) {
    const auto until = std::chrono::steady_clock::now() + 10s;
    while (received() < packets && std::chrono::steady_clock::now() < until) {
      if (threads_) {
        std::this_thread::yield();
        continue;
      }
      receivers_.front()->receive(
          20ms, [&](std::span<const stream::UdpReceiver::Packet> all, std::size_t address) {
            for (const auto& packet : all) capture_.place(packet, address);
          });
    }
    return received() == packets;
  }
  void end() {
    if (!threads_) return;
    threads_->stop();
    while (threads_->running()) std::this_thread::yield();
    threads_->rethrow();
    threads_.reset();
    shared_.reset();
  }

 private:
  // Placed, too: those of a thread that is held up do not come late.
  std::uint64_t received() const {
    const auto c = shared_ ? shared_->counters() : capture_.counters();
    return c.accepted + c.late + c.duplicate + c.invalid();
  }
  stream::Capture& capture_;
  std::vector<std::unique_ptr<stream::UdpReceiver>> receivers_;
  std::optional<stream::SharedCapture> shared_;
  std::optional<stream::ReceivingThreads> threads_;
};

// Each flow from a sender of its own, and never much more on its way than a few payload times.
bool send_all(const stream::Capture& capture, const formats::packets::PacketLayout& layout,
              std::uint64_t start, const std::vector<Arrival>& arrivals, Reception& reception) {
  std::vector<stream::UdpSender> senders;
  for (std::size_t flow = 0; flow < capture.placement().flows(); ++flow)
    senders.emplace_back(reception.at());
  const std::size_t at_once = 4 * senders.size();
  for (std::size_t k = 0; k < arrivals.size();) {
    for (const std::size_t end = std::min(k + at_once, arrivals.size()); k < end; ++k)
      senders[arrivals[k].flow].send(
          packet_of(capture, layout, start, arrivals[k].time, arrivals[k].flow));
    for (auto& sender : senders) sender.flush();
    if (!reception.wait_for(k)) return false;
  }
  return true;
}

// False: this machine has lost packets.
bool run_over_sockets(const GridCase& of, std::uint64_t& late) {
  std::mt19937_64 random(of.seed);
  const auto layout = small_layout(48);
  const std::uint64_t start = random() >> 17;
  KeepingStore store;
  stream::Capture capture(grid_config(layout, start), store);
  store.set_block_bytes(capture.block_bytes());
  const std::size_t flows = capture.placement().flows();
  std::uint64_t copies = 0;
  const auto arrivals = impair(of.how, flows, random, copies);
  std::set<std::pair<std::uint64_t, std::size_t>> distinct;
  for (const Arrival& a : arrivals) distinct.insert({a.time, a.flow});
  {
    Reception reception(capture, of.threads);
    if (!send_all(capture, layout, start, arrivals, reception)) return false;
    reception.end();
  }
  capture.finish(start + kTimes * layout.step);
  const auto& c = capture.counters();
  EXPECT_EQ(c.sent(), kTimes * flows + copies);
  EXPECT_EQ(c.missing, kTimes * flows - distinct.size());
  EXPECT_EQ(c.duplicate, copies);
  EXPECT_EQ(c.accepted + c.late, distinct.size());
  EXPECT_EQ(c.invalid(), 0u);
  if (of.how.farthest < kWindow) {
    EXPECT_EQ(c.late, 0u);
  }
  late += c.late;
  std::uint64_t missing = 0;
  EXPECT_EQ(check_blocks(capture, store, layout, missing), c.accepted);
  return true;
}

TEST(SocketGrid, CountsEveryPacketOnce) {
  auto random = generator();
  std::vector<std::size_t> cases(kGridCases);
  std::iota(cases.begin(), cases.end(), 0);
  std::ranges::shuffle(cases, random);
  if (std::getenv("TAUTLINE_FULL") == nullptr) cases.resize(kGridSample);
  const std::uint64_t first = random();
  std::uint64_t late = 0;
  for (const std::size_t number : cases) {
    const GridCase of = grid_case(number, first);
    int tries = 0;
    while (tries < kGridTries && !run_over_sockets(of, late)) ++tries;
    ASSERT_LT(tries, kGridTries) << "packets are lost on this machine";
    ASSERT_FALSE(HasFailure()) << "loss " << of.how.loss << " reorder " << of.how.reorder
                               << " duplicate " << of.how.duplicate << " delay " << of.how.farthest
                               << " threads " << of.threads << " seed " << of.seed;
  }
  EXPECT_GT(late, 0u);  // or nothing came beyond the window
}

}  // namespace
