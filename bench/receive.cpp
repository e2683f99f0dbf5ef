// What one core receives over UDP on the loopback and places in blocks, beside a sender on another core:
//   bench_receive [LAYOUT [ANTENNAS [SECONDS [GBIT_PER_S]]]]
// Without GBIT_PER_S the sender sends as fast as it can. Without arguments: F-engines' packets of four antennas, 5 s.
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "tautline/stream/capture.h"
#include "tautline/stream/udp.h"

namespace {

using namespace tautline;
namespace packets = formats::packets;
using Bytes = std::vector<std::byte>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBlock_bytes = std::size_t{1} << 24;
constexpr std::size_t kKernelBuffer_bytes = std::size_t{64} << 20;

// Blocks of memory that is used again and again.
class Blocks final : public stream::BlockStore {
 public:
  void make(std::size_t count, std::size_t bytes) {
    for (std::size_t k = 0; k < count; ++k) free_.emplace_back(bytes, std::byte{1});
  }
  std::byte* begin() override {
    begun_.push_back(std::move(free_.front()));
    free_.pop_front();
    return begun_.back().data();
  }
  void commit(const stream::CapturedBlock&) override {
    free_.push_back(std::move(begun_.front()));
    begun_.pop_front();
  }

 private:
  std::deque<Bytes> free_, begun_;
};

double since_s(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double thread_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Until `seconds` are over; returns how many packets were sent.
std::uint64_t send(const packets::PacketLayout& layout, packets::Placement placement,
                   const stream::Endpoint& to, double seconds, double gbit_per_s) {
  stream::UdpSender sender(to);
  const Bytes payload(layout.part_bytes(), std::byte{3});
  Bytes packet;
  std::uint64_t count = 0;
  const auto start = Clock::now();
  for (std::uint64_t time = 0;; ++time)
    for (std::size_t flow = 0; flow < placement.flows(); ++flow, ++count) {
      packets::PacketHeader header = placement.header(flow);
      header.count = time * layout.step;
      header.payload = payload;
      encode(layout, header, packet);
      sender.send(packet);
      if (count % 64 != 0) continue;
      const double now_s = since_s(start);
      if (now_s > seconds) {
        sender.flush();
        return count + 1;
      }
      const double due_s =
          gbit_per_s > 0 ? static_cast<double>(count * packet.size()) * 8e-9 / gbit_per_s : 0;
      if (due_s > now_s) {
        sender.flush();
        std::this_thread::sleep_for(std::chrono::duration<double>(due_s - now_s));
      }
    }
}

void measure(const std::string& name, std::size_t antennas, double seconds, double gbit_per_s) {
  stream::CaptureConfig config;
  config.layout = packets::read_layout(name);
  const packets::PacketLayout& layout = config.layout;
  if (layout.field(packets::Meaning::antenna) != nullptr)
    config.shape.antennas = antennas * layout.extent(packets::AxisName::antenna);
  const packets::Placement one(layout,
                               {.samples = layout.samples(), .antennas = config.shape.antennas});
  config.shape.samples =
      std::max<std::size_t>(4, kBlock_bytes / one.block_bytes()) * layout.samples();
  Blocks blocks;
  stream::Capture capture(config, blocks);
  blocks.make(capture.open_blocks(), capture.block_bytes());
  stream::UdpReceiver receiver({.listen = {{stream::Endpoint::Transport::udp, "127.0.0.1", 0}},
                                .buffer_bytes = kKernelBuffer_bytes});
  std::atomic<bool> sent_all{false};
  std::uint64_t sent = 0;
  std::thread sender([&] {
    sent = send(layout, capture.placement(), receiver.listening().front(), seconds, gbit_per_s);
    sent_all = true;
  });
  const auto start = Clock::now();
  const double core_start_s = thread_s();
  const auto take = [&](std::span<const std::byte> packet, std::size_t) { capture.place(packet); };
  while (receiver.receive(std::chrono::milliseconds(20), take) > 0 || !sent_all) {
  }
  const double took_s = since_s(start), core_s = thread_s() - core_start_s;
  sender.join();
  capture.finish();
  const auto& c = capture.counters();
  const double gbit = static_cast<double>(receiver.counters().bytes) * 8e-9;
  std::printf(
      "%s: %zu bytes a payload's packet, kernel's buffer %zu KiB\n"
      "  sent %llu in %.2f s; received %llu: %.2f Gb/s, %.2f Gb for a second of the receiving "
      "core\n"
      "  dropped by the kernel %llu, accepted %llu, missing %llu\n",
      name.c_str(), layout.part_bytes(), receiver.buffer_bytes() >> 10,
      static_cast<unsigned long long>(sent), took_s,
      static_cast<unsigned long long>(receiver.counters().packets), gbit / took_s, gbit / core_s,
      static_cast<unsigned long long>(sent - receiver.counters().packets),
      static_cast<unsigned long long>(c.accepted), static_cast<unsigned long long>(c.missing));
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int k, double otherwise) {
    return argc > k ? std::strtod(argv[k], nullptr) : otherwise;
  };
  try {
    measure(argc > 1 ? argv[1] : "meerkat-f", static_cast<std::size_t>(number(2, 4)), number(3, 5),
            number(4, 0));
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "%s\n", wrong.what());
    return 1;
  }
}
