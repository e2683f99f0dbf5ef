#include "tautline/stream/send_packets.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/stream/impairment.h"
#include "tautline/stream/packetiser.h"
#include "tautline/stream/sent_rows.h"
#include "tautline/stream/tcp.h"
#include "tautline/stream/udp.h"
#include "tautline/stream/voltage_sequence.h"

namespace tautline::stream {

namespace {

using formats::packets::PacketLayout;
using SendClock = std::chrono::steady_clock;

// Packets between two looks at the clock: few enough for the buffers on the way, many enough for one system call.
constexpr std::uint64_t kPacketsBetweenLooks = 32;
// Of records of one connection: about 3 ms, well inside the tolerance of receivers.
constexpr std::uint64_t kRecordsBetweenLooks = 4096;
// A reordered packet is sent after at most so many later ones.
constexpr std::size_t kFarthestReordered = 16;
// Samples of voltages that are read at a time.
constexpr std::size_t kSendBlock_bytes = std::size_t{1} << 20;

// A source's connection, and what it has not sent yet.
struct Connection {
  TcpClient client;
  std::vector<std::byte> waiting = {};

  void send() {
    client.write(waiting);
    waiting.clear();
  }
};

// Sends packets at their times, after the simulated faults: over UDP to an address for each source, over TCP by a
// connection for each.
class ImpairedSenders {
 public:
  ImpairedSenders(const SendConfig& config, const std::vector<Endpoint>& to, std::uint64_t sources,
                  const Impairment& impairment, std::stop_token stop, SendSummary& summary)
      : rate_(config.rate),
        impairment_(impairment),
        fate_(impairment, 0),
        stop_(std::move(stop)),
        summary_(summary) {
    if (to.front().transport == Endpoint::Transport::udp) {
      for (const Endpoint& address : to) senders_.emplace_back(address, config.interface);
    } else {
      between_looks_ = kRecordsBetweenLooks * sources;
      const std::chrono::milliseconds patience(static_cast<std::int64_t>(config.connect_s * 1e3));
      while (connections_.size() < sources)
        connections_.push_back({TcpClient(to.front(), patience, stop_)});
    }
    started_ = SendClock::now();
  }

  // The due time of the next packet, and the number of packets a second.
  void set_time(double begin_s, double packets_per_s) {
    begin_s_ = begin_s;
    packets_per_s_ = packets_per_s;
    since_begin_ = 0;
  }

  void send(std::span<const std::byte> packet, std::uint64_t source) {
    if (since_begin_ % between_looks_ == 0)
      wait_for(begin_s_ + static_cast<double>(since_begin_) / packets_per_s_);
    ++since_begin_;
    send_due(false);
    if (fate_.is_lost()) {
      ++summary_.lost;
      return;
    }
    if (fate_.is_corrupted()) {
      ++summary_.corrupted;
      damaged_.assign(packet.begin(), packet.end());
      damaged_[fate_.below(packet.size())] ^= std::byte{1} << fate_.below(8);
      packet = damaged_;
    }
    if (fate_.is_repeated()) {
      ++summary_.duplicated;
      put(packet, source);
    }
    if (!fate_.is_reordered()) return put(packet, source);
    ++summary_.reordered;
    delayed_.push_back(
        {{packet.begin(), packet.end()}, source, 1 + fate_.below(kFarthestReordered)});
  }

  void finish() {
    send_due(true);
    flush();
    summary_.elapsed_s = since_start_s();
  }

 private:
  struct DelayedPacket {
    std::vector<std::byte> packet;
    std::uint64_t source;
    std::size_t wait;  // packets to send before it
  };

  double since_start_s() const {
    return std::chrono::duration<double>(SendClock::now() - started_).count();
  }
  void put(std::span<const std::byte> packet, std::uint64_t source) {
    if (connections_.empty()) {
      senders_[static_cast<std::size_t>(source)].send(packet);
    } else {
      Connection& connection = connections_[static_cast<std::size_t>(source)];
      connection.waiting.insert(connection.waiting.end(), packet.begin(), packet.end());
      if (connection.waiting.size() >= kRecordsBetweenLooks * packet.size()) connection.send();
    }
    ++summary_.records;
    summary_.bytes += packet.size();
  }
  void flush() {
    for (UdpSender& sender : senders_) sender.flush();
    for (Connection& connection : connections_) connection.send();
  }
  void send_due(bool all) {
    for (DelayedPacket& one : delayed_)
      if (all || --one.wait == 0) {
        put(one.packet, one.source);
        one.wait = 0;
      }
    std::erase_if(delayed_, [](const DelayedPacket& one) { return one.wait == 0; });
  }
  void wait_for(double stream_s) {
    const double late_s = impairment_.jitter_s > 0 ? fate_.delay_s() : 0;
    if (rate_ == 0 && late_s == 0) {
      if (stop_.stop_requested()) wait_until_due(SendClock::now(), stop_);
      return;
    }
    flush();
    const double due_s = rate_ > 0 ? stream_s / rate_ : since_start_s();
    summary_.behind_s = std::max(summary_.behind_s, since_start_s() - due_s);
    wait_until_due(started_ + std::chrono::duration_cast<SendClock::duration>(
                                  std::chrono::duration<double>(due_s + late_s)),
                   stop_);
  }

  double rate_;
  Impairment impairment_;
  Fate fate_;
  std::stop_token stop_;
  SendSummary& summary_;
  std::vector<UdpSender> senders_;
  std::vector<Connection> connections_;
  std::uint64_t between_looks_ = kPacketsBetweenLooks;
  std::vector<DelayedPacket> delayed_;
  std::vector<std::byte> damaged_;
  SendClock::time_point started_;
  double begin_s_ = 0, packets_per_s_ = 1;
  std::uint64_t since_begin_ = 0;
};

std::uint64_t first_count_of(const SendConfig& config, const PacketLayout& layout,
                             const core::Instant& start) {
  if (config.first_count) return *config.first_count;
  return formats::packets::count_at(layout, start).value_or(0);
}

void require_address_each(const PacketLayout& layout, std::uint64_t sources, std::size_t given) {
  if (sources == given) return;
  throw core::Error(
      core::ErrorKind::config, "to", core::counted(given, "address", "addresses"),
      fmt::format("{}", sources),
      (sources > 1 ? fmt::format("by {} each sender has an address of its own", layout.name)
                   : fmt::format("packets of {} all go to one address", layout.name)) +
          "; `layout` names another");
}

}  // namespace

void wait_until_due(SendClock::time_point time, const std::stop_token& stop) {
  using namespace std::chrono_literals;
  while (!stop.stop_requested() && SendClock::now() < time)
    std::this_thread::sleep_until(
        std::min(time, SendClock::now() + std::chrono::nanoseconds(50ms)));
  if (stop.stop_requested())
    throw core::Error(core::ErrorKind::io, "run", "interrupted", "", "the rest was not sent");
}

SendSummary send_packets(const SendConfig& config, const std::vector<Endpoint>& to,
                         const SendProgress& progress, const std::stop_token& stop) {
  const PacketLayout layout =
      formats::packets::read_layout(config.layout.empty() ? "mwa32t" : config.layout);
  const Impairment impairment = parse_impairment(config.impair);
  const SentKind kind = kind_to_send(config);
  const SentRows* rows = nullptr;  // of a filterbank, or of counts
  const auto open_files = [&]() -> std::unique_ptr<VoltageStream> {
    if (kind == SentKind::voltages)
      return std::make_unique<VoltageSequence>(config.files,
                                               SequenceOptions{.reader = config.reader,
                                                               .start_s = config.start_s,
                                                               .duration_s = config.duration_s,
                                                               .keep_constant = true});
    auto opened = open_rows_to_send(config, kind, layout);
    rows = opened.get();
    return opened;
  };
  auto files = open_files();
  const core::VoltageDescription voltages = files->description();
  SendSummary summary;
  std::optional<ImpairedSenders> senders;
  Packetiser packetiser(layout, voltages, first_count_of(config, layout, voltages.start),
                        [&](std::span<const std::byte> packet, std::uint64_t source) {
                          senders->send(packet, source);
                        });
  if (to.front().transport == Endpoint::Transport::udp)
    require_address_each(layout, packetiser.sources(), to.size());
  senders.emplace(config, to, packetiser.sources(), impairment, stop, summary);

  const std::size_t payload_bytes = std::max<std::size_t>(1, files->block_bytes(layout.samples()));
  const std::size_t samples =
      layout.samples() * std::max<std::size_t>(1, kSendBlock_bytes / payload_bytes);
  const double rate_hz = voltages.rate_hz.value();
  core::RawBlock block;
  SegmentPlace segment;
  const double total =
      static_cast<double>(files->total_samples()) * static_cast<double>(config.repeat);
  std::uint64_t sent = 0;  // samples, with gaps
  for (std::uint64_t turn = 0; turn < config.repeat; ++turn) {
    if (turn > 0) {
      summary.clipped += rows != nullptr ? rows->clipped() : 0;
      files = open_files();
    }
    const std::uint64_t begin = sent;
    while (files->read(samples, block, segment) > 0) {
      if (segment.first_block)
        sent = begin + static_cast<std::uint64_t>(
                           core::samples_between(voltages.start, segment.start, voltages.rate_hz));
      block.first_sample = sent;
      sent += block.samples;
      senders->set_time(static_cast<double>(block.first_sample) / rate_hz,
                        packetiser.packets_per_s());
      packetiser.take(block);
      if (progress && total > 0) progress(std::min(1.0, static_cast<double>(sent) / total));
    }
  }
  packetiser.finish();
  senders->finish();
  summary.stream_s = static_cast<double>(sent) / rate_hz;
  summary.left_out = packetiser.counters().left_out;
  summary.clipped += packetiser.counters().clipped + (rows != nullptr ? rows->clipped() : 0);
  summary.trailing_samples = packetiser.counters().trailing_samples;
  return summary;
}

}  // namespace tautline::stream
