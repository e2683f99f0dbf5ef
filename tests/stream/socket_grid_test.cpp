// The impairment grid over sockets of the loopback, received by one thread and by several: a sample of its 720 cases,
// all of them with TAUTLINE_FULL.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
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
bool send_all(const ImpairedCapture& run, Reception& reception) {
  std::vector<stream::UdpSender> senders;
  for (std::size_t flow = 0; flow < run.flows; ++flow) senders.emplace_back(reception.at());
  const std::size_t at_once = 4 * senders.size();
  for (std::size_t k = 0; k < run.arrivals.size();) {
    for (const std::size_t end = std::min(k + at_once, run.arrivals.size()); k < end; ++k)
      senders[run.arrivals[k].flow].send(run.packet(run.arrivals[k]));
    for (auto& sender : senders) sender.flush();
    if (!reception.wait_for(k)) return false;
  }
  return true;
}

// False: this machine has lost packets.
bool run_over_sockets(const GridCase& of, std::uint64_t& late) {
  ImpairedCapture run(of.how, of.seed);
  {
    Reception reception(run.capture, of.threads);
    if (!send_all(run, reception)) return false;
    reception.end();
  }
  const auto& c = run.finish();
  if (of.how.farthest < kWindow) {
    EXPECT_EQ(c.late, 0u);
  }
  late += c.late;
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
