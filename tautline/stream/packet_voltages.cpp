#include "tautline/stream/packet_voltages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/few_digits.h"

namespace tautline::stream {

namespace {

using formats::packets::PacketLayout;
using formats::packets::Refusal;
using namespace std::chrono_literals;

// Time between two checks of the stop token.
constexpr std::chrono::milliseconds kPacketPatience = 20ms;
// To read packets that the kernel has at the end.
constexpr std::chrono::milliseconds kLastPackets = 200ms;
constexpr std::size_t kMostThreads = 256;
// The longest header of a SPEAD packet that is read: the number of its items varies.
constexpr std::size_t kMostSpeadHeader_bytes = 2048;
// A stream of unknown length: tables over time are made for a day.
constexpr double kAssumedStream_s = 86'400;

core::Instant utc_of_clock() {
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
  return core::advance(core::Instant{}, since, core::make_rational(1'000'000, 1));
}

double seconds_from(std::chrono::steady_clock::time_point from,
                    std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

core::VoltageDescription describe(const PacketVoltagesConfig& config, const Capture& capture) {
  const PacketLayout& layout = config.capture.layout;
  const core::RawLayout& block = capture.block_layout();
  core::VoltageDescription d = config.described;
  d.format = block.format;
  d.antennas = block.antennas;
  d.polarisations = block.polarisations;
  d.channels = block.channels;
  d.rate_hz = layout.rate_hz;
  if (d.rate_hz.numerator == 0)
    throw core::Error(core::ErrorKind::config, "rate_hz", "not given",
                      "samples a second of one channel",
                      fmt::format("the layout {} does not say it", layout.name));
  if (d.bandwidth_hz == 0)
    d.bandwidth_hz =
        static_cast<double>(d.channels) * d.rate_hz.value() / (d.format.complex ? 1 : 2);
  if (d.instrument.empty()) d.instrument = layout.name;
  if (d.start == core::Instant{}) d.start = utc_of_clock();
  return d;
}

std::optional<core::Instant> given_start(const core::VoltageDescription& described) {
  if (described.start == core::Instant{}) return {};
  return described.start;
}

void require_addresses(const PacketVoltagesConfig& config, const Capture& capture) {
  for (const Endpoint& endpoint : config.network.listen)
    if (endpoint.transport != Endpoint::Transport::udp)
      throw core::Error(core::ErrorKind::config, "listen", to_string(endpoint), "udp://HOST:PORT",
                        "packets come over UDP");
  std::uint64_t sources = 1;
  for (std::size_t flow = 0; flow < capture.placement().flows(); ++flow)
    sources = std::max(sources, capture.placement().source(flow) + 1);
  const std::size_t given = config.network.listen.size();
  if (given < sources)
    throw core::Error(
        core::ErrorKind::config, "listen", core::counted(given, "address", "addresses"),
        fmt::format("{}", sources),
        fmt::format("by {} each sender has an address of its own", config.capture.layout.name));
}

}  // namespace

PacketVoltages::PacketVoltages(PacketVoltagesConfig config)
    : config_(std::move(config)),
      outputs_(SegmentClock(config_.capture.layout, given_start(config_.described), utc_of_clock)),
      capture_(config_.capture, *this),
      reminder_(config_.remind_s) {
  description_ = describe(config_, capture_);
  require_addresses(config_, capture_);
  core::require_range("threads", config_.threads, 1, kMostThreads);
  const int beyond = CPU_SETSIZE - static_cast<int>(config_.threads) + 1;
  if (config_.processor >= beyond)
    throw core::Error(core::ErrorKind::config, "processor", std::to_string(config_.processor),
                      fmt::format("below {}", beyond));
  if (config_.duration_s >= 0) {
    const double payloads = config_.duration_s * description_.rate_hz.value() /
                            static_cast<double>(config_.capture.layout.samples());
    left_ =
        static_cast<std::uint64_t>(std::ceil(payloads - 1e-6)) * config_.capture.layout.samples();
  }
  const auto expected = static_cast<std::uint64_t>(kAssumedStream_s * description_.rate_hz.value());
  end_ =
      core::advance(description_.start, static_cast<std::int64_t>(std::min(left_.load(), expected)),
                    description_.rate_hz);
  const PacketLayout& layout = config_.capture.layout;
  // A longer packet is cut to this length, and counted as malformed.
  config_.network.packet_bytes =
      layout.part_bytes() + (layout.spead ? kMostSpeadHeader_bytes : layout.header_bytes + 1);
  config_.network.log = config_.log;
  for (const Endpoint& endpoint : config_.network.listen) addresses_.push_back(to_string(endpoint));
}

PacketVoltages::~PacketVoltages() {
  abandon();
}

void PacketVoltages::note(std::string text) {
  if (!config_.log) return damage_.note(std::move(text));
  config_.log(core::LogLevel::warning, text);
  damage_.note_logged(text);
}

void PacketVoltages::open() {
  receivers_ = UdpReceiver::share(config_.network, config_.threads);
  opened_at_ = accepted_at_ = Clock::now();
  if (!config_.log) return;
  // Each address goes to the receiver of its number; further sockets of an address go to the following receivers.
  const std::size_t addresses = config_.network.listen.size();
  for (std::size_t address = 0; address < addresses; ++address) {
    const auto& receiver = *receivers_[address % receivers_.size()];
    const Endpoint endpoint = receiver.listening()[address / receivers_.size()];
    config_.log(core::LogLevel::info, fmt::format("listening at {} for packets of {}",
                                                  listens_at_.emplace_back(to_string(endpoint)),
                                                  config_.capture.layout.name));
  }
}

std::byte* PacketVoltages::begin() {
  if (shared_ && left_ == 0) throw OutputEnded{};  // after the duration
  if (placing_) return outputs_.begin();
  return own_.emplace_back(capture_.block_bytes()).data();
}

void PacketVoltages::commit(const CapturedBlock& captured) {
  CapturedBlock block = captured;
  block.samples = static_cast<std::size_t>(std::min<std::uint64_t>(block.samples, left_.load()));
  left_ -= block.samples;
  if (block.samples == 0) return;  // after the duration
  given_samples_ += block.samples;
  lost_packets_ += block.missing + block.flagged;
  if (!placing_) return keep(block);
  if (!own_.empty()) {
    std::copy(own_.front().begin(), own_.front().end(), own_places_.front());
    own_.pop_front();
    own_places_.pop_front();
  }
  outputs_.commit(block);
}

// For read().
void PacketVoltages::keep(const CapturedBlock& block) {
  Given given{std::move(own_.front()), {}, block.first, block.samples, {}};
  own_.pop_front();
  block.clear_missing(given.bytes.data());
  block.invalid_spans(given.invalid);
  if (!block.whole()) block.validity(false, given.valid);
  given.start_count = block.start_count;
  given.segment = {block.segment, outputs_.segment_start(block), block.first == 0};
  given_.push_back(std::move(given));
}

std::size_t PacketVoltages::read(std::size_t samples, core::RawBlock& block,
                                 SegmentPlace& segment) {
  if (samples != block_samples())
    throw core::Error(core::ErrorKind::config, "block_samples", std::to_string(samples),
                      std::to_string(block_samples()));
  while (given_.empty() && receive()) {
  }
  if (given_.empty()) return 0;
  Given& given = given_.front();
  block.bytes.assign(given.bytes.begin(), given.bytes.end());
  block.layout = capture_.block_layout();
  block.first_sample = given.first;
  block.samples = given.samples;
  block.invalid = given.invalid;
  segment = given.segment;
  valid_ = std::move(given.valid);
  start_count_ = given.start_count;
  given_.pop_front();
  return block.samples;
}

void PacketVoltages::place_in(engine::Outputs& outputs, EmptyChannelFinder* empty) {
  if (placing_) return;
  placing_ = true;
  if (config_.processor >= 0 && config_.threads == 1)
    stay_on(config_.processor);  // the source's thread; others may have peeked before
  outputs_.use(outputs, capture_.block_layout(), empty);
  while (own_places_.size() < own_.size()) own_places_.push_back(outputs_.begin());
}

bool PacketVoltages::receive() {
  if (ended_) return false;
  if (receivers_.empty()) open();
  if (placing_ && config_.threads > 1)
    receive_by_threads();
  else
    receive_here(kPacketPatience);
  const auto now = Clock::now();
  const CaptureCounters counters = captured();
  if (counters.accepted != accepted_) {
    accepted_ = counters.accepted;
    accepted_at_ = now;
    flushed_ = false;
  }
  if (counters.jumps != jumps_) {
    jumps_ = counters.jumps;
    note(fmt::format("the senders' counters jumped: segment {} begins", jumps_ + 1));
  }
  if (!is_over(now)) return true;
  finish();
  return false;
}

// Receives on the calling thread; returns the number of packets.
std::size_t PacketVoltages::receive_here(std::chrono::milliseconds most) {
  bool waits = static_cast<bool>(waits_);
  if (waits) waits_(true);
  const auto take = [&](std::span<const UdpReceiver::Packet> packets, std::size_t source) {
    if (std::exchange(waits, false)) waits_(false);
    for (const UdpReceiver::Packet& packet : packets)
      if (left_ > 0) capture_.place(packet, source);
  };
  std::size_t count = 0;
  const auto each = std::min(most, std::max(1ms, most / static_cast<int>(receivers_.size())));
  for (const auto& receiver : receivers_) count += receiver->receive(count > 0 ? 0ms : each, take);
  if (waits) waits_(false);
  return count;
}

void PacketVoltages::receive_by_threads() {
  try {
    if (!threads_) {
      outputs_.share(capture_.open_blocks());
      shared_ = std::make_unique<SharedCapture>(capture_);
      threads_ = std::make_unique<ReceivingThreads>(receivers_, *shared_, config_.processor,
                                                    [this] { return left_ > 0; });
    }
    threads_->rethrow();
    if (outputs_.serve()) return;
  } catch (...) {
    abandon();
    throw;
  }
  if (waits_) waits_(true);
  outputs_.wait(kPacketPatience);
  if (waits_) waits_(false);
}

// Packets already received are still placed: the threads may need blocks for them.
void PacketVoltages::end_threads() {
  if (!threads_) return;
  threads_->stop();
  while (threads_->running())
    if (!outputs_.serve()) outputs_.wait(1ms);
  threads_->rethrow();
  threads_.reset();
  shared_.reset();
  outputs_.alone();
}

void PacketVoltages::abandon() {
  outputs_.end();
  if (threads_) threads_->stop();
  threads_.reset();
  shared_.reset();
}

bool PacketVoltages::is_over(Clock::time_point now) {
  if (left_ == 0 || stop_.stop_requested()) return true;
  const bool locked = shared_ ? shared_->locked() : capture_.locked();
  if (!locked || accepted_ == 0) {
    const double waited_s = seconds_from(opened_at_, now);
    if (!noted_none_ && waited_s > config_.late_s) note_refused();
    remind(waited_s);
    if (config_.wait_s < 0 || waited_s < config_.wait_s) return false;
    end_threads();
    capture_.finish();  // also considers packets too few to confirm a position
    if (capture_.counters().accepted > 0) return true;
    throw core::Error(
        core::ErrorKind::io, "listen",
        fmt::format("{}: {} in {} s", fmt::join(addresses_, ", "), what_came(), config_.wait_s),
        "packets of " + config_.capture.layout.name,
        "start the sender, compare its packets with `layout`, or raise `wait_s`");
  }
  const double silent_s = seconds_from(accepted_at_, now);
  if (silent_s > config_.late_s && !flushed_) {
    if (!shared_) capture_.flush();
    flushed_ = !shared_ || shared_->try_flush();
  }
  return config_.silence_s >= 0 && silent_s > config_.silence_s;
}

void PacketVoltages::finish() {
  ended_ = true;
  end_threads();
  // Packets that the kernel still has came before the end.
  const auto until = Clock::now() + kLastPackets;
  while (left_ > 0 && Clock::now() < until && receive_here(0ms) > 0) {
  }
  capture_.finish();
}

// Packets of the layout that wait for others to confirm the stream's position are no reason.
std::vector<std::string> PacketVoltages::problems() const {
  const CaptureCounters c = captured();
  if (c.accepted > 0) return {};
  const std::uint64_t refused = c.foreign + c.malformed;
  const bool nothing = refused > 0 && refused >= network().packets;
  if (!nothing && c.early == 0) return {};
  return {fmt::format("{} of {} yet: {}", nothing ? "nothing" : "no stream",
                      config_.capture.layout.name, what_came())};
}

// Once.
void PacketVoltages::note_refused() {
  for (const std::string& problem : problems()) {
    noted_none_ = true;
    note(problem);
  }
}

void PacketVoltages::remind(double waited_s) {
  if (!reminder_.is_due(waited_s) || !config_.log || network().packets > 0) return;
  config_.log(core::LogLevel::info,
              fmt::format("no packet has come to {} in {} s: waiting", fmt::join(listens_at_, ", "),
                          core::few_digits(waited_s)));
}

// The packets that came, for users whose packets are all refused.
std::string PacketVoltages::what_came() const {
  const CaptureCounters c = captured();
  std::string came = core::counted(network().packets, "packet");
  if (c.foreign > 0) came += fmt::format(", {} of others", c.foreign);
  if (c.early > 0) came += fmt::format(", {} whose counts do not follow each other", c.early);
  for (std::size_t k = 1; k < formats::packets::kRefusals; ++k)
    if (c.refused[k] > 0)
      came += fmt::format(", {} {}", c.refused[k], to_string(static_cast<Refusal>(k)));
  return came;
}

CaptureCounters PacketVoltages::captured() const {
  return shared_ ? shared_->counters() : capture_.counters();
}

UdpCounters PacketVoltages::network() const {
  UdpCounters sum;
  for (const auto& receiver : receivers_) {
    const UdpCounters one = receiver->counters();
    sum.packets += one.packets;
    sum.bytes += one.bytes;
    sum.cut += one.cut;
    sum.kernel_drops += one.kernel_drops;
  }
  return sum;
}

formats::Damage PacketVoltages::damage() const {
  formats::Damage damage = damage_;
  const auto& placement = capture_.placement();
  const auto& box = placement.box(0);
  using formats::packets::AxisName;
  const std::uint64_t each = box.size(AxisName::time) * box.size(AxisName::channel) *
                             box.size(AxisName::antenna) * box.size(AxisName::polarisation);
  const std::uint64_t channels = placement.shape().channels;
  damage.lost_samples = (lost_packets_ * each + channels - 1) / channels;
  return damage;
}

std::map<std::string, std::uint64_t> PacketVoltages::counters() const {
  const CaptureCounters c = captured();
  const UdpCounters network = this->network();
  std::map<std::string, std::uint64_t> all{{"packets", network.packets},
                                           {"received_bytes", network.bytes},
                                           {"dropped_by_kernel", network.kernel_drops},
                                           {"accepted", c.accepted},
                                           {"missing", c.missing},
                                           {"late", c.late},
                                           {"duplicate", c.duplicate},
                                           {"early", c.early},
                                           {"malformed", c.malformed},
                                           {"foreign", c.foreign},
                                           {"reordered", c.reordered},
                                           {"flagged", c.flagged},
                                           {"jumps", c.jumps}};
  // Behind `duration_s`, in the reading that brought its last packets, none is placed.
  all["after_end"] =
      ended_ && left_ == 0 ? network.packets - c.accepted - c.late - c.duplicate - c.invalid() : 0;
  for (std::size_t k = 1; k < formats::packets::kRefusals; ++k)
    if (c.refused[k] > 0)
      all[fmt::format("refused_{}", to_string(static_cast<Refusal>(k)))] = c.refused[k];
  return all;
}

}  // namespace tautline::stream
