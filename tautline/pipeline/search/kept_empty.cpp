#include "tautline/pipeline/search/kept_empty.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tautline/core/constant_run.h"
#include "tautline/pipeline/search/common_stops.h"
#include "tautline/pipeline/search/empty_rule.h"

namespace tautline::pipeline {

namespace {

// Spectra of which one is looked at for channels that change.
constexpr std::size_t kEvery = 16;

}  // namespace

KeptEmpty::KeptEmpty(const formats::FilterbankDescription& description)
    : sample_bytes_(description.sample_bytes()),
      value_bytes_(formats::bytes_of(description.delivered)),
      least_(sure_repeats_of_spectra(description, description.channels) + 1),
      least_seen_(
          core::repeats_of_nothing(description.bits, static_cast<double>(description.channels))),
      all_channels_(description.channels) {
  if (description.channels < 2) return;
  same_.resize(description.channels);
  std::iota(same_.begin(), same_.end(), std::size_t{0});
}

void KeptEmpty::look(std::span<const std::byte> spectra, std::uint64_t position) {
  const std::size_t count = spectra.size() / sample_bytes_;
  for (std::size_t t = 0; t < count; ++t) {
    const std::byte* spectrum = spectra.data() + t * sample_bytes_;
    const std::byte* before = t > 0 ? spectrum - sample_bytes_ : last_.data();
    const bool equal = run_.count > 0 && equal_spectra(before, spectrum, sample_bytes_);
    if (!equal) {
      end();
      run_ = {position + t, 0};
    }
    ++run_.count;
    if (!equal && !same_.empty() && looked_++ % kEvery == 0) look_at_channels(spectrum);
  }
  if (count > 0)
    last_.assign(spectra.end() - static_cast<std::ptrdiff_t>(sample_bytes_), spectra.end());
}

void KeptEmpty::look_at_channels(const std::byte* spectrum) {
  if (first_.empty()) {
    first_.assign(spectrum, spectrum + sample_bytes_);
    return;
  }
  ++seen_;
  std::erase_if(same_, [&](std::size_t c) {
    return std::memcmp(spectrum + c * value_bytes_, first_.data() + c * value_bytes_,
                       value_bytes_) != 0;
  });
}

void KeptEmpty::end() {
  if (run_.count >= least_) {
    ++stretches_;
    samples_ += run_.count;
    if (list_.size() < kMost) list_.push_back(run_);
  }
  run_ = {0, 0};
}

std::size_t KeptEmpty::channels() const {
  return seen_ < least_seen_ || same_.size() == all_channels_ ? 0 : same_.size();
}

}  // namespace tautline::pipeline
