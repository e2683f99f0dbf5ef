#include "tautline/pipeline/search/passing_filterbank.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tautline/core/error.h"

namespace tautline::pipeline {

PassingFilterbank::PassingFilterbank(std::unique_ptr<stream::LiveSpectra> filterbank,
                                     std::uint64_t most_samples, std::size_t block_samples)
    : filterbank_(std::move(filterbank)),
      most_samples_(most_samples),
      block_samples_(block_samples) {
  description_ = filterbank_->description();
  remarks_ = filterbank_->remarks();
  if (filterbank_->loses()) lost_.emplace(description_);
}

void PassingFilterbank::look_around(std::uint64_t ahead, std::size_t stretch, bool past_lead) {
  if (lost_) lost_->leave_stretches(stretch);
  behind_ = kReadBehind;
  ahead_ = ahead;
  first_ahead_ = kFirstAhead;
  past_lead_ = past_lead;
}

void PassingFilterbank::begin_block(const std::stop_token& stop) {
  stop_ = stop;
  begins_ = true;
}

void PassingFilterbank::begin_at(std::uint64_t position) {
  begins_ = false;
  position_ = position;
  const std::uint64_t ahead = position < kMeanSamples ? std::max(ahead_, first_ahead_) : ahead_;
  limit_ = std::min(most_samples_, position + block_samples_ + ahead);
  const std::uint64_t needed = position - std::min(position, behind_);
  if (needed < first_kept_ + piece()) return;
  kept_.erase(kept_.begin(),
              kept_.begin() + static_cast<std::ptrdiff_t>((needed - first_kept_) *
                                                          description_.sample_bytes()));
  first_kept_ = needed;
  if (lost_) lost_->forget(needed);
}

void PassingFilterbank::wait_for(std::uint64_t end) {
  if (ended_ || end <= came_) return;
  const std::size_t sample_bytes = description_.sample_bytes(), before = kept_.size();
  kept_.reserve(static_cast<std::size_t>(bytes()));
  const auto wanted = static_cast<std::size_t>(end - came_);
  kept_.resize(before + wanted * sample_bytes);
  const std::size_t got = filterbank_->read(wanted, std::span(kept_).subspan(before), stop_);
  kept_.resize(before + got * sample_bytes);
  if (lost_) lost_->replace(std::span(kept_).subspan(before), came_, filterbank_->lost());
  const bool leads = past_lead_ && lead_ == came_;
  came_ += got;
  if (leads) shorten_lead();
  ended_ = got < wanted;
  if (ended_ || (lost_ && came_ >= most_samples_)) damage_ = filterbank_->damage();
}

void PassingFilterbank::shorten_lead() {
  const std::size_t sample_bytes = description_.sample_bytes();
  if (lead_ == 0 && !kept_.empty())
    lead_spectrum_.assign(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(sample_bytes));
  std::size_t same = 0;
  while (same < kept_.size() &&
         std::memcmp(kept_.data() + same, lead_spectrum_.data(), sample_bytes) == 0)
    same += sample_bytes;
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(same));
  lead_ += same / sample_bytes;
  first_kept_ = lead_;
}

// Before the lead has ended, it and what comes behind.
std::uint64_t PassingFilterbank::limit() const {
  if (!past_lead_ || position_ > lead_) return limit_;
  return std::min(most_samples_, std::max(limit_, lead_ + first_ahead_));
}

std::size_t PassingFilterbank::read(std::uint64_t first_sample, std::size_t count,
                                    std::span<std::byte> destination) {
  if (begins_) begin_at(first_sample);
  if (first_sample >= lead_ && first_sample < first_kept_)
    throw core::Error(core::ErrorKind::config, "first_sample", std::to_string(first_sample),
                      std::to_string(first_kept_) + " or later: what was before is forgotten");
  count = limit_to(count, limit() - std::min(limit(), first_sample), destination);
  if (count == 0) return 0;
  wait_for(first_sample + count);
  auto got = static_cast<std::size_t>(
      std::min<std::uint64_t>(count, came_ - std::min(came_, first_sample)));
  const std::size_t sample_bytes = description_.sample_bytes();
  const auto leading =
      static_cast<std::size_t>(std::min<std::uint64_t>(got, lead_ - std::min(lead_, first_sample)));
  if (leading > 0 && lead_ < first_kept_) got = leading;  // what followed is forgotten
  std::byte* to = destination.data();
  for (std::size_t t = 0; t < leading; ++t, to += sample_bytes)
    std::memcpy(to, lead_spectrum_.data(), sample_bytes);
  if (got > leading)
    std::memcpy(to, kept_.data() + (first_sample + leading - first_kept_) * sample_bytes,
                (got - leading) * sample_bytes);
  return got;
}

}  // namespace tautline::pipeline
