// What receiving threads take over UDP on the loopback, beside threads that send:
//   bench_receive [LAYOUT [ANTENNAS [SECONDS [GBIT_PER_S [THREADS [SENDERS]]]]]]
// In turns, so long each: packets are only received, which is the floor; received and placed in blocks, as the node
// `packets` does. Without GBIT_PER_S, or with 0, senders send as fast as they can. Without arguments: F-engines'
// packets of four antennas, 5 s, one thread that receives and one that sends.
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/packet_stream.h"
#include "tautline/stream/shared_capture.h"
#include "tautline/stream/udp.h"

namespace {

using namespace tautline;
namespace packets = formats::packets;
using bench::Bytes;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kKernelBuffer_bytes = std::size_t{64} << 20;

struct Wanted {
  std::string layout = "meerkat-f";
  std::size_t antennas = 4;
  double seconds = 5, gbit_per_s = 0;
  std::size_t threads = 1, senders = 1;
};

double since_s(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double thread_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Senders that stay within a part of a block of each other, as those of one clock do.
class Together {
 public:
  Together(std::size_t senders, std::uint64_t most_apart) : at_(senders), most_apart_(most_apart) {}
  // Sender k has come so far.
  void reach(std::size_t k, std::uint64_t time) {
    at_[k] = time;
    while (time > most_apart_ &&
           std::ranges::any_of(at_, [&](const auto& at) { return at < time - most_apart_; }))
      std::this_thread::yield();
  }
  void leave(std::size_t k) { at_[k] = UINT64_MAX; }

 private:
  std::vector<std::atomic<std::uint64_t>> at_;
  std::uint64_t most_apart_;
};

// The packets of every `senders`-th flow, until the time is over; returns how many were sent.
std::uint64_t send(const stream::CaptureConfig& config, const packets::Placement& placement,
                   const stream::Endpoint& to, const Wanted& wanted, std::size_t first_flow,
                   Together& together) {
  stream::UdpSender sender(to);
  const Bytes payload(config.layout.part_bytes(), std::byte{3});
  Bytes packet;
  std::uint64_t count = 0;
  const auto start = Clock::now();
  for (std::uint64_t time = 0;; ++time) {
    together.reach(first_flow, time);
    for (std::size_t flow = first_flow; flow < placement.flows(); flow += wanted.senders) {
      bench::make_packet(config.layout, placement, time, flow, payload, packet);
      sender.send(packet);
      if (++count % 64 != 0) continue;
      const double now_s = since_s(start);
      if (now_s > wanted.seconds) {
        sender.flush();
        together.leave(first_flow);
        return count;
      }
      const double due_s = wanted.gbit_per_s > 0
                               ? static_cast<double>(count * packet.size()) * 8e-9 /
                                     wanted.gbit_per_s * static_cast<double>(wanted.senders)
                               : 0;
      if (due_s > now_s) {
        sender.flush();
        std::this_thread::sleep_for(std::chrono::duration<double>(due_s - now_s));
      }
    }
  }
}

struct Result {
  std::uint64_t sent = 0, received = 0, dropped = 0, accepted = 0, missing = 0, late = 0;
  double took_s = 0, core_s = 0, gbit = 0;
};

Result measure(const Wanted& wanted, bool place) {
  stream::CaptureConfig config = bench::capture_of(wanted.layout, wanted.antennas);
  config.first_count = 0;
  if (wanted.threads > 1) config.window_blocks = 4;
  bench::ReusedBlocks blocks;
  stream::Capture capture(config, blocks);
  blocks.make(capture.open_blocks(), capture.block_bytes());
  auto receivers = stream::UdpReceiver::share(
      {.listen = std::vector<stream::Endpoint>(wanted.threads,
                                               {stream::Endpoint::Transport::udp, "127.0.0.1", 0}),
       .buffer_bytes = kKernelBuffer_bytes},
      wanted.threads);
  Result result;
  {
    stream::SharedCapture shared(capture);
    Together together(wanted.senders, config.shape.samples / config.layout.samples() / 4);
    std::atomic<std::size_t> sending{wanted.senders};
    std::atomic<std::uint64_t> sent{0}, core_ns{0};
    std::vector<std::jthread> threads;
    const auto start = Clock::now();
    for (std::size_t k = 0; k < wanted.senders; ++k)
      threads.emplace_back([&, k] {
        sent += send(config, capture.placement(),
                     receivers[k % receivers.size()]->listening().front(), wanted, k, together);
        --sending;
      });
    for (const auto& receiver : receivers)
      threads.emplace_back([&] {
        const double began_s = thread_s();
        stream::SharedCapture::Placer placer(shared);
        const auto take = [&](std::span<const stream::UdpReceiver::Packet> all, std::size_t from) {
          if (place) placer.place(all, from);
        };
        while (receiver->receive(std::chrono::milliseconds(20), take) > 0 || sending > 0) {
        }
        core_ns += static_cast<std::uint64_t>(1e9 * (thread_s() - began_s));
      });
    threads.clear();
    result.took_s = since_s(start);
    result.sent = sent;
    result.core_s = 1e-9 * static_cast<double>(core_ns);
  }
  for (const auto& receiver : receivers) {
    const stream::UdpCounters counters = receiver->counters();
    result.received += counters.packets;
    result.gbit += static_cast<double>(counters.bytes) * 8e-9;
  }
  result.dropped = result.sent - result.received;
  capture.finish();
  result.accepted = capture.counters().accepted;
  result.missing = capture.counters().missing;
  result.late = capture.counters().late;
  return result;
}

void print(const char* what, const Result& r) {
  std::printf(
      "  %-19s %6.2f Gb/s  %6.2f Gb for a second of a receiving core  %9llu packets sent, "
      "%llu dropped by the kernel",
      what, r.gbit / r.took_s, r.gbit / r.core_s, static_cast<unsigned long long>(r.sent),
      static_cast<unsigned long long>(r.dropped));
}

void measure_all(const Wanted& wanted) {
  double load[3] = {};
  if (getloadavg(load, 3) < 1) load[0] = -1;
  std::printf("%s, %zu antennas: %zu thread(s) receive, %zu send; load %.2f, nice %d, %ld cores\n",
              wanted.layout.c_str(), wanted.antennas, wanted.threads, wanted.senders, load[0],
              getpriority(PRIO_PROCESS, 0), sysconf(_SC_NPROCESSORS_ONLN));
  print("received", measure(wanted, false));
  std::printf("\n");
  const Result placed = measure(wanted, true);
  print("received and placed", placed);
  std::printf(", %llu accepted, %llu missing, %llu late\n",
              static_cast<unsigned long long>(placed.accepted),
              static_cast<unsigned long long>(placed.missing),
              static_cast<unsigned long long>(placed.late));
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int k, double otherwise) {
    return argc > k ? std::strtod(argv[k], nullptr) : otherwise;
  };
  Wanted wanted;
  if (argc > 1) wanted.layout = argv[1];
  wanted.antennas = static_cast<std::size_t>(number(2, 4));
  wanted.seconds = number(3, 5);
  wanted.gbit_per_s = number(4, 0);
  wanted.threads = static_cast<std::size_t>(number(5, 1));
  wanted.senders = static_cast<std::size_t>(number(6, 1));
  try {
    if (wanted.threads == 0 || wanted.senders == 0)
      throw std::runtime_error("THREADS and SENDERS are 1 at least");
    measure_all(wanted);
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "%s\n", wrong.what());
    return 1;
  }
}
