#include "tautline/stream/send_packets.h"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
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

// Sends the packets of one sender at their times, after its simulated faults: over UDP to an address for each source,
// over TCP by a connection for each.
class ImpairedSenders {
 public:
  ImpairedSenders(const SendConfig& config, const std::vector<Endpoint>& to, std::uint64_t sources,
                  std::uint64_t sender, const Impairment& impairment, std::stop_token stop,
                  SendSummary& summary)
      : rate_(config.rate),
        impairment_(impairment),
        fate_(impairment, sender),
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
  }

  /// Times of packets count from here.
  void start(SendClock::time_point time) { started_ = time; }

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

// Those of the packets of one sender: one for each source, or the sender's own.
std::vector<Endpoint> addresses_of(const PacketLayout& layout, std::uint64_t sources,
                                   const SenderShare& share, const std::vector<Endpoint>& given) {
  if (given.front().transport != Endpoint::Transport::udp || given.size() == sources) return given;
  if (sources == 1 && given.size() == share.senders)
    return {given[static_cast<std::size_t>(share.sender)]};
  throw core::Error(
      core::ErrorKind::config, "to", core::counted(given.size(), "address", "addresses"),
      sources == 1 && share.senders > 1
          ? fmt::format("1, or {} for as many `senders`", share.senders)
          : fmt::format("{}", sources),
      (sources > 1 ? fmt::format("by {} each sender has an address of its own", layout.name)
                   : fmt::format("packets of {} all go to one address", layout.name)) +
          "; `layout` names another");
}

// The blocks of the files, as often as these are sent, as one stream.
class SentBlocks {
 public:
  SentBlocks(const SendConfig& config, const PacketLayout& layout, const SendProgress& progress)
      : config_(config), layout_(layout), progress_(progress), kind_(kind_to_send(config)) {
    open();
    voltages_ = files_->description();
    const std::size_t payload_bytes =
        std::max<std::size_t>(1, files_->block_bytes(layout.samples()));
    samples_ = layout.samples() * std::max<std::size_t>(1, kSendBlock_bytes / payload_bytes);
    total_ = static_cast<double>(files_->total_samples()) * static_cast<double>(config.repeat);
  }

  const core::VoltageDescription& voltages() const { return voltages_; }
  const core::RawBlock& block() const { return block_; }
  double begin_s() const { return seconds(block_.first_sample); }
  double end_s() const { return seconds(sent_); }
  /// Of filterbanks and counts, by the layout's range.
  std::uint64_t clipped() const { return clipped_ + (rows_ != nullptr ? rows_->clipped() : 0); }

  /// Reads the next block; false at the end.
  bool next() {
    if (progress_ && total_ > 0 && sent_ > 0)
      progress_(std::min(1.0, static_cast<double>(sent_) / total_));
    SegmentPlace segment;
    while (files_->read(samples_, block_, segment) == 0) {
      if (++turn_ == config_.repeat) return false;
      clipped_ = clipped();
      open();
      turn_began_ = sent_;
    }
    if (segment.first_block)
      sent_ = turn_began_ + static_cast<std::uint64_t>(core::samples_between(
                                voltages_.start, segment.start, voltages_.rate_hz));
    block_.first_sample = sent_;
    sent_ += block_.samples;
    return true;
  }

 private:
  double seconds(std::uint64_t samples) const {
    return static_cast<double>(samples) / voltages_.rate_hz.value();
  }
  void open() {
    if (kind_ == SentKind::voltages) {
      files_ = std::make_unique<VoltageSequence>(config_.files,
                                                 SequenceOptions{.reader = config_.reader,
                                                                 .start_s = config_.start_s,
                                                                 .duration_s = config_.duration_s,
                                                                 .keep_constant = true});
      return;
    }
    auto opened = open_rows_to_send(config_, kind_, layout_);
    rows_ = opened.get();
    files_ = std::move(opened);
  }

  const SendConfig& config_;
  const PacketLayout& layout_;
  const SendProgress& progress_;
  SentKind kind_;
  std::unique_ptr<VoltageStream> files_;
  const SentRows* rows_ = nullptr;  // the files, of a filterbank or of counts
  core::VoltageDescription voltages_;
  core::RawBlock block_;
  std::size_t samples_ = 0;  // of a block
  double total_ = 0;
  std::uint64_t sent_ = 0, turn_ = 0, turn_began_ = 0;  // samples, with gaps
  std::uint64_t clipped_ = 0;                           // of earlier turns
};

// One sender of an array.
class ArraySender {
 public:
  ArraySender(const SendConfig& config, const std::vector<Endpoint>& to, const PacketLayout& layout,
              const core::VoltageDescription& voltages, const SenderShare& share,
              const Impairment& impairment, const std::stop_token& stop)
      : packetiser_(
            layout, voltages, first_count_of(config, layout, voltages.start),
            [this](std::span<const std::byte> packet, std::uint64_t source) {
              network_->send(packet, source);
            },
            share) {
    network_.emplace(config, addresses_of(layout, packetiser_.sources(), share, to),
                     packetiser_.sources(), share.sender, impairment, stop, summary_);
  }

  void start(SendClock::time_point time) { network_->start(time); }
  void take(const SentBlocks& blocks) {
    network_->set_time(blocks.begin_s(), packetiser_.packets_per_s());
    packetiser_.take(blocks.block());
  }
  void finish() {
    packetiser_.finish();
    network_->finish();
  }
  void add_to(SendSummary& all) const {
    all.records += summary_.records;
    all.bytes += summary_.bytes;
    all.lost += summary_.lost;
    all.duplicated += summary_.duplicated;
    all.corrupted += summary_.corrupted;
    all.reordered += summary_.reordered;
    all.left_out += packetiser_.counters().left_out;
    all.clipped += packetiser_.counters().clipped;
    all.trailing_samples = packetiser_.counters().trailing_samples;  // times, of all senders
    all.elapsed_s = std::max(all.elapsed_s, summary_.elapsed_s);
    all.behind_s = std::max(all.behind_s, summary_.behind_s);
  }

 private:
  SendSummary summary_;
  Packetiser packetiser_;
  std::optional<ImpairedSenders> network_;
};

using ArraySenders = std::vector<std::unique_ptr<ArraySender>>;

// Each sender has a thread. All are at the same block, so that none is farther ahead of another one than that.
void send_together(SentBlocks& blocks, const ArraySenders& senders, std::stop_source& stopped) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto fail = [&] {
    const std::scoped_lock lock(mutex);
    if (!first) first = std::current_exception();
    stopped.request_stop();
  };
  bool ended = false;
  const auto read = [&]() noexcept {
    try {
      ended = first || !blocks.next();
    } catch (...) {
      fail();
      ended = true;
    }
  };
  std::barrier together(static_cast<std::ptrdiff_t>(senders.size()), read);
  const auto send = [&](ArraySender& sender) {
    together.arrive_and_wait();
    while (!ended) {
      try {
        sender.take(blocks);
      } catch (...) {
        fail();
        return together.arrive_and_drop();
      }
      together.arrive_and_wait();
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(senders.size());
    for (const auto& sender : senders) try {
        threads.emplace_back(send, std::ref(*sender));
      } catch (...) {  // the system has no more threads
        fail();
        together.arrive_and_drop();
      }
  }
  if (first) std::rethrow_exception(first);
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
  SentBlocks blocks(config, layout, progress);
  std::stop_source stopped;
  const std::stop_callback forward(stop, [&] { stopped.request_stop(); });
  ArraySenders senders;
  const std::uint64_t from = config.sender.value_or(0),
                      end = config.sender ? from + 1 : config.senders;
  for (std::uint64_t k = from; k < end; ++k)
    senders.push_back(std::make_unique<ArraySender>(config, to, layout, blocks.voltages(),
                                                    SenderShare{k, config.senders}, impairment,
                                                    stopped.get_token()));
  const auto started = SendClock::now();
  for (const auto& sender : senders) sender->start(started);
  if (senders.size() > 1) {
    send_together(blocks, senders, stopped);
  } else {
    while (blocks.next()) senders.front()->take(blocks);
  }
  SendSummary summary;
  for (const auto& sender : senders) {
    sender->finish();
    sender->add_to(summary);
  }
  summary.stream_s = blocks.end_s();
  summary.clipped += blocks.clipped();
  return summary;
}

}  // namespace tautline::stream
