#include "tautline/stream/capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "tautline/core/error.h"

namespace tautline::stream {

namespace {

using formats::packets::Meaning;
using formats::packets::PacketHeader;
using formats::packets::Refusal;

// Packets further behind are late where they are on the stream's grid, else may confirm a jump; and when as many have
// come as there are places in so many windows, more than fitted meanwhile, the next ones may.
constexpr std::int64_t kBehindWindows = 16;
// Late packets are told from duplicates as far back as this many words note arrivals, or kBehindWindows if that is
// more: nine seconds of 900,000 packets a second. Rows of a gap are cleared at each jump.
constexpr std::size_t kHistoryWords = std::size_t{1} << 17;
// Payloads: far more than are sent, and sums of two do not overflow.
constexpr std::int64_t kMostBefore = std::int64_t{1} << 60;

std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return b != 0 && a > kMost / b ? kMost : a * b;
}

void add_saturating(std::uint64_t& sum, std::uint64_t more) {
  sum = more > std::numeric_limits<std::uint64_t>::max() - sum
            ? std::numeric_limits<std::uint64_t>::max()
            : sum + more;
}

bool is_foreign(Refusal refusal) {
  return refusal == Refusal::no_payload;
}

}  // namespace

Capture::Capture(const CaptureConfig& config, BlockStore& store)
    : config_(config),
      placement_(config.layout, config.shape),
      store_(store),
      payload_samples_(config.layout.samples()),
      block_payloads_(static_cast<std::int64_t>(placement_.shape().samples / payload_samples_)) {
  const std::uint64_t period = config_.layout.period, step = config_.layout.step;
  if (config_.window_samples == 0) {
    auto payloads = static_cast<std::uint64_t>(block_payloads_) * config_.window_blocks;
    if (period != 0)
      payloads =
          std::clamp<std::uint64_t>(payloads, 1, std::max<std::uint64_t>(1, period / step / 8));
    config_.window_samples = static_cast<std::size_t>(payloads) * payload_samples_;
  }
  if (config_.window_samples % payload_samples_ != 0)
    throw core::Error(core::ErrorKind::config, "window_samples",
                      fmt::format("{}", config_.window_samples),
                      fmt::format("a multiple of a payload's {} samples", payload_samples_));
  core::require_range("proof", config_.proof, 1, 1024);
  window_ = static_cast<std::int64_t>(config_.window_samples / payload_samples_);
  if (period != 0 && static_cast<std::uint64_t>(window_) >= period / 4 / step)
    throw core::Error(core::ErrorKind::config, "window_samples",
                      fmt::format("{}", config_.window_samples),
                      fmt::format("less than a quarter of the counter's period, {} samples",
                                  period / 4 / step * payload_samples_));
  behind_windows_ = kBehindWindows * window_;
  // The packets that confirm a jump lie within one window, and half of the packets there may be lost.
  const std::size_t in_window = static_cast<std::size_t>(window_) * placement_.flows();
  config_.proof = std::min(config_.proof, std::max<std::size_t>(1, in_window / 2));
  row_words_ = core::validity_words(placement_.flows());
  const auto open_rows = static_cast<std::size_t>(window_ + 3 * block_payloads_);
  const std::size_t rows = open_rows + static_cast<std::size_t>(behind_windows_);
  ring_rows_ = std::bit_ceil(std::max(rows, std::bit_floor(kHistoryWords / row_words_)));
  history_ = static_cast<std::int64_t>(ring_rows_ - open_rows);
  come_.resize(ring_rows_ * row_words_);
  if (config_.layout.field(Meaning::invalid) != nullptr) flags_.resize(come_.size());
  flow_latest_.resize(placement_.flows());
  if (config_.first_count) begin_segment(*config_.first_count);
}

std::size_t Capture::bytes() const {
  return (come_.size() + flags_.size() + flow_latest_.size()) * sizeof(std::uint64_t) +
         config_.proof * (config_.layout.header_bytes + config_.layout.part_bytes());
}

std::uint64_t* Capture::row(std::vector<std::uint64_t>& ring, std::int64_t payload) {
  return ring.data() +
         (static_cast<std::size_t>(before_ + payload) & (ring_rows_ - 1)) * row_words_;
}

void Capture::refuse(Refusal refusal) {
  ++counters_.refused[static_cast<std::size_t>(refusal)];
  ++(is_foreign(refusal) ? counters_.foreign : counters_.malformed);
}

// The difference of two counts, the shorter way round the counter's period.
std::int64_t Capture::counts_between(std::uint64_t from, std::uint64_t to) const {
  const std::uint64_t period = config_.layout.period;
  if (period == 0) return static_cast<std::int64_t>(to - from);
  const std::uint64_t ahead = to >= from ? to - from : period - (from - to);
  return ahead <= period - ahead ? static_cast<std::int64_t>(ahead)
                                 : -static_cast<std::int64_t>(period - ahead);
}

ReadPacket Capture::read(std::span<const std::byte> packet, std::uint64_t source) const {
  ReadPacket read;
  read.refusal = formats::packets::decode(config_.layout, packet, source, read.header);
  if (read.refusal != Refusal::none) return read;
  read.flow = placement_.flow(read.header);
  if (config_.sub_array && read.header.sub_array != *config_.sub_array) read.flow.reset();
  if (read.flow && config_.layout.period != 0 && read.header.count >= config_.layout.period)
    read.refusal = Refusal::out_of_range;
  return read;
}

void Capture::book(const ReadPacket& packet) {
  if (packet.refusal != Refusal::none) return refuse(packet.refusal);
  const auto& [refusal, flow, header] = packet;
  if (!flow) {
    ++counters_.foreign;
    return;
  }
  if (!locked_) return consider(*flow, header);

  const std::int64_t counts = counts_between(reference_count_, header.count);
  const auto step = static_cast<std::int64_t>(config_.layout.step);
  // A count far away, added to a payload's number, would overflow.
  const std::int64_t payloads = counts / step;
  const bool near = payloads < window_ + window_ &&
                    payloads > -(behind_windows_ + 2 * (window_ + block_payloads_));
  const bool behind = payloads < 0 && payloads >= -(before_ + reference_) && counts % step == 0;
  if (!near && !behind) return consider(*flow, header);
  if (counts % step != 0) return refuse(Refusal::between_steps);
  const std::int64_t payload = reference_ + payloads;
  if (payload >= head_ + window_) return consider(*flow, header);
  if (payload < closed_) return place_behind(payload, *flow, header);
  accept(payload, *flow, header);
}

// Notes that the packet has come; false, and counted, where it is a repeat.
bool Capture::note_arrival(std::int64_t payload, std::size_t flow) {
  std::uint64_t& word = row(come_, payload)[flow / 64];
  const std::uint64_t bit = std::uint64_t{1} << flow % 64;
  const bool is_new = (word & bit) == 0;
  if (!is_new) ++counters_.duplicate;
  word |= bit;
  return is_new;
}

// Counts a packet of a time that is committed already, or that the stream jumped over, as when packets wait in one
// socket while the kernel drops those of another. The stream goes back there only when most packets have for a while.
void Capture::place_behind(std::int64_t payload, std::size_t flow, const PacketHeader& header) {
  const std::int64_t known = std::max(closed_ - history_, before_ > 0 ? -before_ : -window_);
  if (payload < known ||
      behind_ >= static_cast<std::uint64_t>(behind_windows_) * placement_.flows())
    return consider(flow, header);
  ++behind_;
  if (payload < -before_) {  // before the stream's start: no place that could be missing
    ++counters_.late;
    return;
  }
  if (!note_arrival(payload, flow)) return;
  ++counters_.late;
  --counters_.missing;
}

void Capture::accept(std::int64_t payload, std::size_t flow, const PacketHeader& header) {
  if (payload >= head_) {
    head_ = payload + 1;
    reference_ = payload;
    reference_count_ = header.count;
    while (!open_.empty() && open_.front().first + block_payloads_ + window_ <= head_)
      close_front(open_.front().first + block_payloads_);
    begin_blocks(payload + 1);
  }
  if (!note_arrival(payload, flow)) return;
  Open& block = open_[static_cast<std::size_t>((payload - open_.front().first) / block_payloads_)];
  const auto sample = static_cast<std::size_t>(payload - block.first) * payload_samples_;
  if (copier_ != nullptr)
    copier_->copy(flow, sample, header.payload.data(), block.memory);
  else
    placement_.place(flow, sample, header.payload.data(), block.memory);
  if (header.invalid && !flags_.empty()) {
    row(flags_, payload)[flow / 64] |= std::uint64_t{1} << flow % 64;
    ++block.flagged;
    ++counters_.flagged;
  }
  ++counters_.accepted;
  if (behind_ > 0) --behind_;
  if (payload < flow_latest_[flow]) ++counters_.reordered;
  flow_latest_[flow] = std::max(flow_latest_[flow], payload);
  if (!candidates_.empty() && ++against_ >= (config_.proof + 1) / 2) drop_candidates();
  ++block.come;
  const std::uint64_t places = static_cast<std::uint64_t>(block_payloads_) * placement_.flows();
  while (!open_.empty() && open_.front().come == places)
    close_front(open_.front().first + block_payloads_);
}

// Begins blocks until `until` lies in one.
void Capture::begin_blocks(std::int64_t until) {
  while (begun_ < until) {
    std::byte* const memory = store_.begin();
    for (std::int64_t p = begun_; p < begun_ + block_payloads_; ++p) {
      std::fill_n(row(come_, p), row_words_, 0);
      if (!flags_.empty()) std::fill_n(row(flags_, p), row_words_, 0);
    }
    open_.push_back({begun_, memory, 0, 0});
    begun_ += block_payloads_;
  }
}

// Commits the first open block, up to payload `end`.
void Capture::close_front(std::int64_t end) {
  const Open front = open_.front();
  open_.pop_front();
  const auto payloads = static_cast<std::uint64_t>(end - front.first);
  CapturedBlock block;
  block.segment = segment_;
  block.start_count = start_count_;
  block.first = static_cast<std::uint64_t>(front.first) * payload_samples_;
  block.samples = static_cast<std::size_t>(payloads) * payload_samples_;
  block.missing = payloads * placement_.flows() - front.come;
  block.flagged = front.flagged;
  block.placement_ = &placement_;
  block.payload_samples_ = payload_samples_;
  block.come_ = come_.data();
  block.flags_ = flags_.empty() ? nullptr : flags_.data();
  block.row_words_ = row_words_;
  block.ring_rows_ = ring_rows_;
  block.first_row_ = static_cast<std::size_t>(before_ + front.first);
  closed_ = end;
  add_saturating(counters_.missing, block.missing);
  if (copier_ != nullptr) copier_->wait();
  store_.commit(block);
}

void Capture::flush() {
  while (!open_.empty()) close_front(std::min(open_.front().first + block_payloads_, head_));
  begun_ = closed_ = head_;
}

void Capture::finish(std::optional<std::uint64_t> end_count) {
  if (!locked_ && !candidates_.empty()) believe();
  drop_candidates();
  flush();
  if (!locked_ || !end_count) return;
  const std::int64_t behind =
      counts_between(reference_count_, *end_count) / static_cast<std::int64_t>(config_.layout.step);
  const std::int64_t end = reference_ + behind;
  if (end > head_)
    add_saturating(counters_.missing,
                   saturating_product(static_cast<std::uint64_t>(end - head_), placement_.flows()));
}

// A packet that jumps, or comes before the stream's position is known, waits for further packets that agree with it.
void Capture::consider(std::size_t flow, const PacketHeader& header) {
  const auto step = static_cast<std::int64_t>(config_.layout.step);
  for (const Candidate& other : candidates_) {
    const std::int64_t counts = counts_between(other.count, header.count);
    if (counts / step >= window_ || counts / step <= -window_) {
      drop_candidates();
      break;
    }
    if (counts % step != 0) return refuse(Refusal::between_steps);
  }
  for (const Candidate& other : candidates_) {
    if (other.count != header.count || other.flow != flow) continue;
    ++counters_.duplicate;
    return;
  }
  Candidate candidate{{}, header.count, flow, header.invalid};
  if (!spare_.empty()) {
    candidate.packet = std::move(spare_.back());
    spare_.pop_back();
  }
  // Its payload is what is placed later.
  candidate.packet.assign(header.payload.begin(), header.payload.end());
  candidates_.push_back(std::move(candidate));
  if (candidates_.size() >= config_.proof) believe();
}

void Capture::drop_candidates() {
  counters_.early += candidates_.size();
  for (Candidate& candidate : candidates_) spare_.push_back(std::move(candidate.packet));
  candidates_.clear();
  against_ = 0;
}

// The candidates give the stream's new position: they are its first packets there.
void Capture::believe() {
  std::vector<Candidate> believed;
  believed.swap(candidates_);
  against_ = 0;
  std::uint64_t first = believed.front().count;
  for (const Candidate& candidate : believed)
    if (counts_between(first, candidate.count) < 0) first = candidate.count;
  begin_segment(first);
  PacketHeader header;
  for (Candidate& candidate : believed) {
    header.count = candidate.count;
    header.invalid = candidate.invalid;
    header.payload = candidate.packet;
    accept(counts_between(first, candidate.count) / static_cast<std::int64_t>(config_.layout.step),
           candidate.flow, header);
  }
  if (copier_ != nullptr) copier_->wait();
  for (Candidate& candidate : believed) spare_.push_back(std::move(candidate.packet));
}

// After a jump ahead, arrivals before it stay known, and none is in the gap.
void Capture::jump(std::int64_t payloads) {
  if (payloads <= 0) {
    before_ = 0;
    return;
  }
  const std::int64_t start = reference_ + std::min(payloads, kMostBefore);
  const std::int64_t gap = std::min(start - head_, static_cast<std::int64_t>(ring_rows_));
  for (std::int64_t p = start - gap; p < start; ++p) std::fill_n(row(come_, p), row_words_, 0);
  before_ = std::min(before_ + start, kMostBefore);
}

void Capture::begin_segment(std::uint64_t count) {
  if (!locked_) {
    start_count_ = count;
  } else {
    flush();
    const std::int64_t counts = counts_between(reference_count_, count);
    const std::uint64_t since_start = static_cast<std::uint64_t>(reference_) * config_.layout.step;
    // After the packets of the old segment, those of the gap are missing; a jump back leaves no gap.
    const std::int64_t gap =
        counts > 0 ? counts / static_cast<std::int64_t>(config_.layout.step) - (head_ - reference_)
                   : 0;
    if (gap > 0)
      add_saturating(counters_.missing,
                     saturating_product(static_cast<std::uint64_t>(gap), placement_.flows()));
    start_count_ += since_start + static_cast<std::uint64_t>(counts);
    jump(counts / static_cast<std::int64_t>(config_.layout.step));
    ++segment_;
    ++counters_.jumps;
  }
  locked_ = true;
  behind_ = 0;
  reference_count_ = count;
  reference_ = head_ = closed_ = begun_ = 0;
  std::fill(flow_latest_.begin(), flow_latest_.end(), -1);
}

}  // namespace tautline::stream
