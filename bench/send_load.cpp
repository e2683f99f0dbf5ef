// Senders for measurements of live pipelines, of data that are made in memory, at a rate and for a while:
//   bench_send_load udp LAYOUT ANTENNAS CHANNELS GBIT_PER_S SECONDS HOST:PORT...
//       a thread for each address, each with a part of the flows
//   bench_send_load pool FILE LAYOUT ...
//       the same with payloads from a file: the packet of time t and flow f has its bytes from
//       8 * ((t * flows + f) * 5000011 % (words - words of a payload)) on, so that the output can be compared with it
//   bench_send_load mwa SECONDS PORT...    four connections of records of the MWA's prototype to each port, 174 MB/s
// At the end it prints a line of JSON: what was sent, and how far behind its time the latest sender was after a quarter
// of the time and at the end.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/packet_stream.h"
#include "tautline/stream/udp.h"

namespace {

using namespace tautline;
using bench::Bytes;
using Clock = std::chrono::steady_clock;

// Of all senders.
class Log {
 public:
  explicit Log(double seconds) : seconds_(seconds) {}
  double since_s() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double seconds() const { return seconds_; }
  // Something was due at `due_s` and is sent now.
  void note(double due_s) {
    const double behind_s = since_s() - due_s;
    if (due_s < seconds_ / 4) raise(quarter_us_, behind_s);
    if (due_s > 0.9 * seconds_) raise(end_us_, behind_s);
  }
  void add(std::uint64_t records, std::uint64_t bytes) { records_ += records, bytes_ += bytes; }
  void print() const {
    std::printf(
        "{\"seconds\": %.3f, \"records\": %llu, \"bytes\": %llu, \"behind_quarter_s\": %.4f, "
        "\"behind_end_s\": %.4f}\n",
        since_s(), static_cast<unsigned long long>(records_.load()),
        static_cast<unsigned long long>(bytes_.load()), 1e-6 * static_cast<double>(quarter_us_),
        1e-6 * static_cast<double>(end_us_));
  }

 private:
  static void raise(std::atomic<std::int64_t>& most, double seconds) {
    const auto us = static_cast<std::int64_t>(1e6 * seconds);
    for (std::int64_t old = most; us > old && !most.compare_exchange_weak(old, us);) {
    }
  }
  const Clock::time_point start_ = Clock::now();
  double seconds_;
  std::atomic<std::uint64_t> records_{0}, bytes_{0};
  std::atomic<std::int64_t> quarter_us_{0}, end_us_{0};
};

void wait_until(const Log& log, double due_s) {
  const double early_s = due_s - log.since_s();
  if (early_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(early_s));
}

struct UdpLoad {
  formats::packets::PacketLayout layout;
  formats::packets::BlockShape shape;
  double gbit_per_s = 1;
  std::vector<std::string> to;
  Bytes pool;  // empty: all packets have the same payload
};

Bytes read_pool(const std::string& path, std::size_t payload_bytes) {
  std::ifstream file(path, std::ios::binary);
  Bytes pool(std::filesystem::file_size(path));
  if (!file.read(reinterpret_cast<char*>(pool.data()), static_cast<std::streamsize>(pool.size())) ||
      pool.size() < 8 + payload_bytes)
    throw std::runtime_error(path + ": it must hold a payload and more");
  return pool;
}

std::span<const std::byte> from_pool(const Bytes& pool, std::uint64_t packet,
                                     std::size_t payload_bytes) {
  const std::uint64_t places = (pool.size() - payload_bytes) / 8;
  return std::span(pool).subspan(static_cast<std::size_t>(packet * 5'000'011 % places) * 8,
                                 payload_bytes);
}

void send_udp(const UdpLoad& load, std::size_t sender_number, Log& log) {
  const formats::packets::Placement placement(load.layout, load.shape);
  stream::UdpSender sender(stream::parse_endpoint("to", "udp://" + load.to[sender_number]));
  std::mt19937_64 random(sender_number + 1);
  Bytes payload(load.layout.part_bytes());
  for (std::byte& byte : payload) byte = static_cast<std::byte>(random());
  Bytes packet;
  const double time_s = static_cast<double>(load.layout.part_bytes() * placement.flows()) * 8e-9 /
                        load.gbit_per_s;  // of a payload of every flow
  std::uint64_t sent = 0, bytes = 0;
  for (std::uint64_t time = 0; static_cast<double>(time) * time_s < log.seconds(); ++time) {
    const double due_s = static_cast<double>(time) * time_s;
    std::uint64_t of_time = 0;
    for (std::size_t flow = sender_number; flow < placement.flows(); flow += load.to.size()) {
      if (of_time++ % 64 == 0) {
        const double now_due_s =
            due_s + time_s * static_cast<double>(flow) / static_cast<double>(placement.flows());
        wait_until(log, now_due_s);
        log.note(now_due_s);
      }
      const auto from = load.pool.empty()
                            ? std::span<const std::byte>(payload)
                            : from_pool(load.pool, time * placement.flows() + flow, payload.size());
      bench::make_packet(load.layout, placement, time, flow, from, packet);
      sender.send(packet);
      bytes += packet.size();
      ++sent;
    }
    sender.flush();
  }
  log.add(sent, bytes);
}

constexpr std::size_t kReceivers = 4, kRecord_bytes = 34;
constexpr std::size_t kRecords = 65'536;  // then their counters begin again
constexpr double kRecords_per_s = 1.28e6;

// A period of the counter; noise of 5 bits.
Bytes mwa_records() {
  std::mt19937_64 random(5);
  std::normal_distribution<float> noise(0, 3);
  Bytes records(kRecords * kRecord_bytes);
  for (std::size_t n = 0; n < kRecords; ++n) {
    std::byte* const record = records.data() + n * kRecord_bytes;
    record[0] = static_cast<std::byte>(n);
    record[1] = static_cast<std::byte>(n >> 8);
    for (std::size_t k = 2; k < kRecord_bytes; ++k)
      record[k] =
          static_cast<std::byte>(static_cast<int>(std::clamp(noise(random), -16.0F, 15.0F)) & 31);
  }
  return records;
}

int connect_to(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket < 0 || ::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
    throw std::runtime_error("port " + std::to_string(port) + ": " + std::strerror(errno));
  return socket;
}

// The connections of one array, in small steps, so that none is far ahead.
void send_mwa(std::uint16_t port, const Bytes& records, Log& log) {
  constexpr std::size_t kStep = 2048;  // records: 70 kB
  std::vector<int> sockets;
  for (std::size_t k = 0; k < kReceivers; ++k) sockets.push_back(connect_to(port));
  std::uint64_t sent = 0;
  for (; static_cast<double>(sent) / kRecords_per_s < log.seconds(); sent += kStep) {
    const double due_s = static_cast<double>(sent) / kRecords_per_s;
    wait_until(log, due_s);
    log.note(due_s);
    const std::byte* const from = records.data() + sent % kRecords * kRecord_bytes;
    for (const int socket : sockets)
      for (std::size_t done = 0; done < kStep * kRecord_bytes;) {
        const ssize_t some =
            ::send(socket, from + done, kStep * kRecord_bytes - done, MSG_NOSIGNAL);
        if (some < 0 && errno == EINTR) continue;
        if (some < 0)
          throw std::runtime_error(std::string("a connection: ") + std::strerror(errno));
        done += static_cast<std::size_t>(some);
      }
  }
  for (const int socket : sockets) ::close(socket);
  log.add(sent * kReceivers, sent * kReceivers * kRecord_bytes);
}

// Each on a thread; the first failure ends the program.
template <class Send>
void send_by_threads(std::size_t count, Log& log, Send send) {
  std::vector<std::jthread> threads;
  for (std::size_t k = 0; k < count; ++k)
    threads.emplace_back([&, k] {
      try {
        send(k);
      } catch (const std::exception& wrong) {
        std::fprintf(stderr, "%s\n", wrong.what());
        std::_Exit(1);
      }
    });
  threads.clear();
  log.print();
}

int usage() {
  std::fprintf(stderr,
               "usage: bench_send_load [pool FILE | udp] LAYOUT ANTENNAS CHANNELS GBIT_PER_S "
               "SECONDS HOST:PORT... | "
               "mwa SECONDS PORT...\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  try {
    std::string pool;
    if (words.size() >= 2 && words[0] == "pool") {
      pool = words[1];
      words.erase(words.begin());
      words[0] = "udp";
    }
    if (words.size() >= 7 && words[0] == "udp") {
      UdpLoad load{.layout = formats::packets::read_layout(words[1]),
                   .shape = {},
                   .gbit_per_s = std::stod(words[4]),
                   .to = {words.begin() + 6, words.end()},
                   .pool = {}};
      load.shape = {.samples = load.layout.samples(),
                    .channels = std::stoul(words[3]),
                    .antennas = std::stoul(words[2])};
      if (!pool.empty()) load.pool = read_pool(pool, load.layout.part_bytes());
      std::printf("sending\n");
      std::fflush(stdout);
      Log log(std::stod(words[5]));
      send_by_threads(load.to.size(), log, [&](std::size_t k) { send_udp(load, k, log); });
      return 0;
    }
    if (words.size() >= 3 && words[0] == "mwa") {
      const Bytes records = mwa_records();
      std::printf("sending\n");
      std::fflush(stdout);
      Log log(std::stod(words[1]));
      send_by_threads(words.size() - 2, log, [&](std::size_t k) {
        send_mwa(static_cast<std::uint16_t>(std::stoul(words[k + 2])), records, log);
      });
      return 0;
    }
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "%s\n", wrong.what());
    return 1;
  }
  return usage();
}
