#include "tautline/stream/mwa_receivers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/few_digits.h"
#include "tautline/formats/mwa32t/array_block.h"
#include "tautline/formats/strided_source.h"

namespace tautline::stream {

namespace {

namespace mwa32t = formats::mwa32t;
using namespace std::chrono_literals;

// Time between two checks of late receivers and of the stop token.
constexpr std::chrono::milliseconds kReceiverPatience = 20ms;
// From one check to the next, of the time for which a receiver is silent: longer ones were not spent waiting.
constexpr std::chrono::milliseconds kLongestWait = 100ms;
constexpr std::chrono::milliseconds kSilence = 1s;
// A quarter of the counter's period: 12.8 ms.
constexpr std::size_t kMostEarlyRecords = mwa32t::kCounterPeriod / 4;

core::Instant utc_before(std::chrono::steady_clock::duration age) {
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(
                         std::chrono::system_clock::now().time_since_epoch() - age)
                         .count();
  return core::advance(core::Instant{}, since, core::make_rational(1'000'000, 1));
}

bool longer_than(double seconds, std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count() > seconds;
}

}  // namespace

MwaReceivers::MwaReceivers(MwaReceiversConfig config)
    : config_(std::move(config)),
      description_(mwa32t::describe_array(config_.assumed, config_.receivers, config_.mode)),
      receivers_(config_.receivers, Receiver(config_.mode)),
      reminder_(config_.remind_s) {
  if (config_.receivers == 0)
    throw core::Error(core::ErrorKind::config, "receivers", "0", "1 or more");
  if (description_.start == core::Instant{}) description_.start = utc_before({});
  if (config_.duration_s >= 0)
    left_ = static_cast<std::uint64_t>(
        std::nearbyint(config_.duration_s * description_.rate_hz.value()));
  // A stream of unknown length: tables over time are made for a day.
  const std::uint64_t expected =
      std::min(left_, static_cast<std::uint64_t>(86'400 * description_.rate_hz.value()));
  end_ =
      core::advance(description_.start, static_cast<std::int64_t>(expected), description_.rate_hz);
  for (const Endpoint& endpoint : config_.listen) {
    if (endpoint.transport != Endpoint::Transport::tcp)
      throw core::Error(core::ErrorKind::config, "listen", to_string(endpoint), "tcp://HOST:PORT",
                        "the receivers' stream has no packets");
    addresses_.push_back(to_string(endpoint));
  }
}

core::RawLayout MwaReceivers::layout(std::size_t samples) const {
  return formats::layout_of("TFAP", description_, samples);
}

std::size_t MwaReceivers::block_bytes(std::size_t samples) const {
  return samples * config_.receivers * mwa32t::slice_bytes(config_.mode);
}

void MwaReceivers::start(const std::stop_token& stop, const Waits& waits) {
  stop_ = stop;
  waits_ = waits;
  started_at_ = Clock::now();
  server_ = std::make_unique<TcpServer>(
      TcpServerConfig{.listen = config_.listen, .places = config_.receivers, .log = config_.log});
  if (!config_.log) return;
  for (const Endpoint& endpoint : server_->listening())
    config_.log(
        core::LogLevel::info,
        fmt::format("listening at {} for {}", to_string(endpoint),
                    config_.receivers == 1 ? std::string("1 receiver")
                                           : fmt::format("{} receivers", config_.receivers)));
}

void MwaReceivers::note(std::string text) {
  if (!config_.log) return damage_.note(std::move(text));
  config_.log(core::LogLevel::warning, text);
  damage_.note_logged(text);
}

// The time near which a receiver's first record must lie: that of the others' latest records, or, where none is
// connected, the time that these would have reached. Receivers that were delayed lag for a while.
std::int64_t MwaReceivers::time_near(std::size_t index) const {
  if (behind_) return std::max(newest_, *origin_ + samples_since(origin_at_));
  for (std::size_t k = 0; k < receivers_.size(); ++k)
    if (k != index && server_->connected(k) && receivers_[k].parser.placed()) return newest_;
  return newest_ + samples_since(newest_at_);
}

std::int64_t MwaReceivers::samples_since(Clock::time_point since) const {
  const double since_s = std::chrono::duration<double>(Clock::now() - since).count();
  return static_cast<std::int64_t>(since_s * description_.rate_hz.value());
}

// The last bytes of a place were consumed before it got another sender.
void MwaReceivers::note_connections(std::size_t index) {
  Receiver& r = receivers_[index];
  const std::uint64_t connections = server_->connections(index);
  if (connections == r.connections) return;
  if (r.connections > 0) note(fmt::format("receiver {} has come back", index + 1));
  r.connections = connections;
  r.noted = false;
  r.parser.restart();
}

void MwaReceivers::receive() {
  if (waits_) waits_(true);
  server_->wait(kReceiverPatience);
  const auto now = Clock::now();
  const Clock::duration waited =
      std::min<Clock::duration>(now - std::exchange(received_at_, now), kLongestWait);
  for (std::size_t k = 0; k < receivers_.size(); ++k) {
    Receiver& r = receivers_[k];
    note_connections(k);
    r.quiet += waited;
    if (server_->received_bytes(k) == r.received_bytes) {
      if (r.parser.placed() && waiting(k) > 0) r.quiet = {};  // it is not read
      continue;
    }
    r.received_bytes = server_->received_bytes(k);
    r.last_came = Clock::now();
    r.quiet = {};
    if (r.silent) note(fmt::format("receiver {} sends again", k + 1));
    r.silent = false;
    if (origin_) note_newest(k);
  }
  if (behind_ && newest_ >= *origin_ + samples_since(origin_at_)) behind_ = false;
  if (waits_) waits_(false);
}

// Records of a receiver that have come and were not consumed.
std::int64_t MwaReceivers::waiting(std::size_t index) const {
  return static_cast<std::int64_t>(server_->bytes(index).size() /
                                   mwa32t::record_bytes(config_.mode));
}

void MwaReceivers::note_newest(std::size_t index) {
  const Receiver& r = receivers_[index];
  if (!r.parser.placed()) return;
  const std::int64_t sent = r.parser.next_time() + waiting(index);
  if (sent < newest_) return;
  newest_ = sent;
  newest_at_ = r.last_came;
}

bool MwaReceivers::is_early(std::size_t index) const {
  return waiting(index) >= static_cast<std::int64_t>(kMostEarlyRecords);
}

// Whether the receiver's clock is known. Counters align two receivers only as far as both now send records that were
// sampled at about the same time. Otherwise the time between the two connections aligns them, less the time that this
// thread was delayed meanwhile, which shows in the other receiver's records.
bool MwaReceivers::look_for_first(std::size_t index) {
  Receiver& r = receivers_[index];
  while (!r.parser.placed()) {
    note_connections(index);
    std::int64_t near = 0;
    Clock::time_point latest = {};
    for (std::size_t k = 0; k < receivers_.size(); ++k) {
      const Receiver& other = receivers_[k];
      if (!other.parser.placed() || other.last_came < latest) continue;
      latest = other.last_came;
      // Early by at most the time that passed, and by at most the records that the other has sent in excess.
      const std::int64_t passed = is_early(k) ? samples_since(other.placed_at) : 0;
      const std::int64_t more = waiting(k) + samples_since(latest) - waiting(index);
      near = other.parser.next_time() + std::clamp<std::int64_t>(more, 0, passed);
    }
    const auto found = r.parser.look(server_->bytes(index), !server_->connected(index), near);
    server_->consume(index, found.skip);
    if (!r.parser.placed() && found.skip == 0) return false;
    if (r.parser.placed()) r.placed_at = Clock::now();
  }
  if (!first_placed_) first_placed_ = Clock::now();
  return true;
}

// The stream begins with the first sample of this receiver. From now on other receivers are placed near the records of
// the known ones.
void MwaReceivers::begin_with(std::size_t index) {
  const Receiver& last = receivers_[index];
  origin_ = newest_ = last.parser.next_time();
  newest_at_ = Clock::now();
  origin_at_ = last.placed_at;
  start_ = config_.assumed.start == core::Instant{} ? utc_before(newest_at_ - origin_at_)
                                                    : description_.start;
  for (std::size_t k = 0; k < receivers_.size(); ++k) {
    note_newest(k);
    if (!receivers_[k].parser.placed()) {
      note(
          receivers_[k].received_bytes == 0
              ? fmt::format("receiver {} has not come; its inputs are invalid until it does", k + 1)
              : fmt::format("receiver {} has sent no record in {}; its inputs are invalid until it "
                            "does",
                            k + 1, core::counted(receivers_[k].received_bytes, "byte")));
      for (std::size_t other = 0; other < receivers_.size(); ++other)
        behind_ = behind_ || is_early(other);
      continue;
    }
    const std::int64_t early = *origin_ - receivers_[k].parser.next_time();
    if (early >= static_cast<std::int64_t>(kMostEarlyRecords))
      note(
          fmt::format("receiver {} came {:.3f} s before receiver {}; what it sent in that time is "
                      "passed over",
                      k + 1, static_cast<double>(early) / description_.rate_hz.value(), index + 1));
  }
}

// Throws where receivers have sent bytes without a record, and none has come back for `wait_s`.
void MwaReceivers::end_without_records() {
  std::uint64_t bytes = 0;
  for (const Receiver& r : receivers_) bytes += r.received_bytes;
  if (bytes == 0 || !all_gone()) return;
  throw core::Error(core::ErrorKind::format, "receivers",
                    core::counted(bytes, "byte") + " without a record, and no more",
                    "records of MWA receivers", "see that `layout` is that of what they send");
}

void MwaReceivers::remind() {
  const double waited_s = std::chrono::duration<double>(Clock::now() - started_at_).count();
  if (!config_.log || !reminder_.is_due(waited_s)) return;
  std::vector<std::string> addresses;
  for (const Endpoint& endpoint : server_->listening()) addresses.push_back(to_string(endpoint));
  const auto come =
      std::ranges::count_if(receivers_, [](const Receiver& r) { return r.received_bytes > 0; });
  config_.log(core::LogLevel::info,
              fmt::format("{} at {} in {} s: waiting",
                          come == 0 ? "nothing has come from receivers"
                                    : "no record has come from receivers",
                          fmt::join(addresses, ", "), core::few_digits(waited_s)));
}

// Finds the first time that every receiver has. Records that come meanwhile are kept, and a receiver that fills its
// memory has to wait. False: stopped before any receiver had one.
bool MwaReceivers::find_origin() {
  for (;;) {
    std::size_t placed = 0, last = 0;
    for (std::size_t k = 0; k < receivers_.size(); ++k) {
      if (!look_for_first(k)) continue;
      if (placed++ == 0 || receivers_[k].parser.next_time() > receivers_[last].parser.next_time())
        last = k;
    }
    const bool in_time = !first_placed_ || !longer_than(config_.wait_s, *first_placed_);
    if (placed > 0 && (placed == receivers_.size() || !in_time || stop_.stop_requested())) {
      begin_with(last);
      return true;
    }
    if (stop_.stop_requested()) return false;
    if (placed == 0) end_without_records();
    if (placed == 0) remind();
    receive();
  }
}

void MwaReceivers::lose(std::size_t index, std::size_t end, core::RawBlock& block) {
  Receiver& r = receivers_[index];
  if (end <= r.filled) return;
  damage_.lost_samples += std::uint64_t{end - r.filled} * mwa32t::kInputsPerReceiver;
  if (receivers_.size() == 1)
    block.invalid.push_back({core::InvalidSpan::kAllInputs, r.filled, end - r.filled});
  else
    for (std::size_t k = 0; k < mwa32t::kInputsPerReceiver; ++k)
      block.invalid.push_back({index * mwa32t::kInputsPerReceiver + k, r.filled, end - r.filled});
  r.filled = end;
}

// Copies one receiver's records into the block.
void MwaReceivers::fill(std::size_t index, std::size_t samples, core::RawBlock& block) {
  Receiver& r = receivers_[index];
  const std::size_t record = mwa32t::record_bytes(config_.mode);
  const std::int64_t begin = *origin_ + static_cast<std::int64_t>(position_);
  while (r.filled < samples) {
    note_connections(index);
    const auto found = r.parser.look(server_->bytes(index), !server_->connected(index),
                                     r.parser.placed() ? 0 : time_near(index));
    server_->consume(index, found.skip);
    if (found.count == 0) {
      if (found.skip == 0) return;
      continue;
    }
    const std::int64_t at = found.time - begin;
    const auto filled = static_cast<std::int64_t>(r.filled);
    std::size_t taken = 0;
    if (at < filled) {
      taken =
          static_cast<std::size_t>(std::min(filled - at, static_cast<std::int64_t>(found.count)));
      const std::int64_t before =
          std::clamp(*origin_ - found.time, std::int64_t{0}, static_cast<std::int64_t>(taken));
      early_ += static_cast<std::uint64_t>(before);
      late_ += taken - static_cast<std::uint64_t>(before);
    } else if (at >= static_cast<std::int64_t>(samples)) {
      lose(index, samples, block);
      return;
    } else {
      const auto start = static_cast<std::size_t>(at);
      lose(index, start, block);
      taken = std::min(found.count, samples - start);
      mwa32t::place_records(config_.mode, found.records, taken, block.bytes, receivers_.size(),
                            index, start);
      r.filled = start + taken;
    }
    r.parser.take(taken);
    server_->consume(index, taken * record);
  }
}

bool MwaReceivers::is_gone(std::size_t index) const {
  return !server_->connected(index) && server_->bytes(index).empty();
}

// Whether the receiver has been silent for so long that it is not waited for.
bool MwaReceivers::all_gone() {
  for (std::size_t k = 0; k < receivers_.size(); ++k)
    if (!is_gone(k)) {
      last_left_.reset();
      return false;
    }
  if (!last_left_) last_left_ = Clock::now();
  return longer_than(config_.wait_s, *last_left_);
}

// Whether a block is as full as it can be: one receiver has filled it, and the others have filled it, are gone or are
// late.
bool MwaReceivers::is_complete(std::size_t samples) {
  const bool any = std::any_of(receivers_.begin(), receivers_.end(),
                               [&](const Receiver& r) { return r.filled == samples; });
  if (!any) return false;
  if (!first_done_) first_done_ = Clock::now();
  bool all = true;
  for (std::size_t k = 0; k < receivers_.size(); ++k) {
    Receiver& r = receivers_[k];
    if (r.filled == samples || is_gone(k) || r.silent) continue;
    if (longer_than(config_.late_s, std::max(r.last_came, *first_done_))) {
      r.silent = true;
      note(fmt::format("receiver {} is connected and sends nothing for {} s; it is not waited for",
                       k + 1, config_.late_s));
    } else {
      all = false;
    }
  }
  return all;
}

// The end of a stream inside a block: the last sample that any receiver has given; where several would send more, the
// last sample that all of these have given.
std::size_t MwaReceivers::last_time() const {
  std::size_t longest = 0, shortest = SIZE_MAX;
  for (std::size_t k = 0; k < receivers_.size(); ++k) {
    longest = std::max(longest, receivers_[k].filled);
    if (!is_gone(k) && !receivers_[k].silent) shortest = std::min(shortest, receivers_[k].filled);
  }
  return std::min(longest, shortest);
}

std::size_t MwaReceivers::close_block(std::size_t produced, core::RawBlock& block,
                                      SegmentPlace& segment) {
  for (std::size_t k = 0; k < receivers_.size(); ++k) {
    Receiver& r = receivers_[k];
    if (r.filled < produced && r.connections > 0 && is_gone(k) && !std::exchange(r.noted, true))
      note(fmt::format("receiver {} has gone; its {} inputs are invalid from sample {} on", k + 1,
                       mwa32t::kInputsPerReceiver, position_ + r.filled));
    lose(k, produced, block);
    r.filled = 0;
  }
  first_done_.reset();
  block.samples = produced;
  block.bytes.resize(block_bytes(produced));
  segment = {0, start_, position_ == 0};
  position_ += produced;
  left_ -= produced;
  return produced;
}

std::size_t MwaReceivers::read(std::size_t samples, core::RawBlock& block, SegmentPlace& segment) {
  if (ended_ || left_ == 0) return 0;
  if (!origin_ && !find_origin()) {
    ended_ = true;
    return 0;
  }
  block.layout = layout(samples);
  block.bytes.resize(block_bytes(samples));
  block.first_sample = position_;
  block.invalid.clear();
  samples = static_cast<std::size_t>(std::min<std::uint64_t>(samples, left_));
  for (;;) {
    for (std::size_t k = 0; k < receivers_.size(); ++k) fill(k, samples, block);
    if (is_complete(samples)) return close_block(samples, block, segment);
    if (stop_.stop_requested() || all_gone()) {
      ended_ = true;
      return close_block(last_time(), block, segment);
    }
    receive();
  }
}

formats::Damage MwaReceivers::damage() const {
  formats::Damage all = damage_;
  all.dropped_samples = late_;
  for (const Receiver& r : receivers_) {
    all.dropped_samples += r.parser.counts().repeated;
    all.trailing_bytes += r.parser.counts().invalid_bytes;
  }
  all.dropped_samples *= mwa32t::kInputsPerReceiver;
  return all;
}

std::map<std::string, std::uint64_t> MwaReceivers::counters() const {
  std::map<std::string, std::uint64_t> all{{"late_records", late_}, {"early_records", early_}};
  for (const char* name : {"repeated_records", "counter_jumps", "connections", "received_bytes"})
    all[name] = 0;
  for (std::size_t k = 0; k < receivers_.size(); ++k) {
    all["repeated_records"] += receivers_[k].parser.counts().repeated;
    all["counter_jumps"] += receivers_[k].parser.counts().jumps;
    if (!server_) continue;
    all["connections"] += server_->connections(k);
    all["received_bytes"] += server_->received_bytes(k);
  }
  all["refused_connections"] = server_ ? server_->refused() : 0;
  return all;
}

std::string MwaReceivers::wrong_with(std::size_t index) const {
  if (server_->connections(index) == 0) return "not connected yet";
  if (is_gone(index)) return "gone";
  return receivers_[index].quiet > kSilence ? "silent" : "";
}

std::vector<std::string> MwaReceivers::problems() const {
  if (!server_ || ended_) return {};
  std::map<std::string, std::vector<std::string>> receivers;
  std::map<std::string, double> quiet_s;
  for (std::size_t k = 0; k < receivers_.size(); ++k) {
    const std::string wrong = wrong_with(k);
    if (wrong.empty()) continue;
    receivers[wrong].push_back(std::to_string(k + 1));
    const double s = std::chrono::duration<double>(receivers_[k].quiet).count();
    quiet_s[wrong] = std::max(quiet_s[wrong], s);
  }
  std::vector<std::string> all;
  for (const auto& [wrong, numbers] : receivers)
    all.push_back(fmt::format("receiver{} {} of {} {} {}, for {:.1f} s",
                              numbers.size() == 1 ? "" : "s", fmt::join(numbers, ", "),
                              receivers_.size(), numbers.size() == 1 ? "is" : "are", wrong,
                              quiet_s[wrong]));
  return all;
}

}  // namespace tautline::stream
