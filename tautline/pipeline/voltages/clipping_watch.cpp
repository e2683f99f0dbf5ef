#include "tautline/pipeline/voltages/clipping_watch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <span>
#include <utility>

#include "tautline/core/requantise.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kRun = 32;  // spectra: a cache line of 8-bit values
// Runs of which one is looked at: so few that looking costs next to nothing, and that many at least of a stream of known
// length where there are enough.
constexpr std::uint64_t kLeastApart = 8, kMostApart = 256, kWantedRuns = 64;

// Of the power of noise at the usual level.
constexpr double kPowerOfClipped = 0.1;
constexpr std::uint64_t kFewestClipped = 16;
constexpr double kSigmas = 6;  // above the values at the ends of such noise

double usual_rms(int bits) {
  return bits == 4 ? core::kRequantise4Rms : core::kRequantise8Rms;
}

// The share of noise at the usual level, with the values that are rounded to the ends.
double share_of_noise(int bits) {
  return std::erfc((core::requantise_limit(bits) - 0.5) / (usual_rms(bits) * std::numbers::sqrt2));
}

double most_share(int bits) {
  const double of_range = usual_rms(bits) / core::requantise_limit(bits);
  return share_of_noise(bits) + kPowerOfClipped * of_range * of_range;
}

// Fields of 8 or 4 bits of a word that have the largest magnitude.
class FieldsAtEnds {
 public:
  explicit FieldsAtEnds(int bits)
      : low_(bits == 4 ? 0x7777777777777777U : 0x7f7f7f7f7f7f7f7fU),
        negative_(bits == 4 ? 0x9999999999999999U : 0x8181818181818181U) {}

  std::uint64_t count(const std::byte* bytes, std::size_t size) const {
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < size; k += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + k, std::min(sizeof word, size - k));
      // The largest value is all ones but the sign, as `low_`.
      if (const std::uint64_t ends = zero_fields(word ^ low_) | zero_fields(word ^ negative_))
        sum += static_cast<std::uint64_t>(std::popcount(ends));
    }
    return sum;
  }

 private:
  // The highest bit of each field that is zero.
  std::uint64_t zero_fields(std::uint64_t word) const {
    return ~(((word & low_) + low_) | word | low_);
  }
  std::uint64_t low_, negative_;
};

}  // namespace

ClippingWatch::ClippingWatch(std::shared_ptr<const device::Device> device, int bits,
                             ChannelRange channels, std::size_t inputs, std::uint64_t total,
                             std::size_t block_spectra)
    : device_(std::move(device)),
      bits_(bits),
      channels_(channels),
      inputs_(inputs),
      block_spectra_(block_spectra),
      apart_(kRun * (total == 0
                         ? kMostApart
                         : std::clamp(total / (kRun * kWantedRuns), kLeastApart, kMostApart))),
      valid_(channels.count * inputs),
      at_ends_(valid_.size()) {
  if (device_->compiles()) done_ = device_->make_event();
}

std::size_t ClippingWatch::host_bytes() const {
  if (!device_->compiles()) return 0;
  const std::size_t bytes = bits_ == 4 ? 1 : 2;  // of a sample
  return (block_spectra_ / apart_ + 2) * kRun * valid_.size() * bytes;
}

void ClippingWatch::look(engine::Outputs& outputs, const core::SampleView<3>& spectra,
                         const core::ValidityView& valid) {
  const std::size_t count = spectra.extent(2);
  finish(outputs);
  if (device_->compiles() && copies_.bytes() == 0) copies_ = device_->allocate_pinned(host_bytes());
  device::Queue& queue = outputs.queue(device_);
  for (std::uint64_t run = spectra_ / apart_ * apart_; run < spectra_ + count; run += apart_) {
    const std::uint64_t first = std::max(run, spectra_),
                        end = std::min(run + kRun, spectra_ + count);
    if (first < end)
      look_at(spectra, valid, static_cast<std::size_t>(first - spectra_),
              static_cast<std::size_t>(end - first), queue);
  }
  if (!copied_.empty()) queue.record(*done_);
  spectra_ += count;
}

void ClippingWatch::look_at(const core::SampleView<3>& spectra, const core::ValidityView& valid,
                            std::size_t first, std::size_t count, device::Queue& queue) {
  const std::size_t sample_bytes = core::bytes_of(spectra.type()), bytes = count * sample_bytes;
  const auto* data = static_cast<const std::byte*>(spectra.data()) + first * sample_bytes;
  const auto stride = [&](std::size_t axis) {
    return spectra.stride(axis) * static_cast<std::ptrdiff_t>(sample_bytes);
  };
  looked_at_ += count;
  for (std::size_t row = 0; row < valid_.size(); ++row)
    valid_[row] +=
        valid.empty() ? count : core::count_valid(valid.row(row % valid.extent(0)), first, count);
  if (device_->compiles()) {
    auto* to = copies_.as<std::byte>() + copied_bytes_;
    const auto inputs = static_cast<std::ptrdiff_t>(inputs_);
    const bool one_copy = stride(0) == inputs * stride(1);
    for (std::size_t c = 0; c < (one_copy ? 1 : channels_.count); ++c)
      queue.copy_strided(to + c * inputs_ * bytes, static_cast<std::ptrdiff_t>(bytes),
                         data + static_cast<std::ptrdiff_t>(c) * stride(0), stride(1), bytes,
                         one_copy ? valid_.size() : inputs_);
    copied_.push_back(bytes);
    copied_bytes_ += valid_.size() * bytes;
    return;
  }
  const FieldsAtEnds ends(bits_);
  for (std::size_t c = 0; c < channels_.count; ++c)
    for (std::size_t i = 0; i < inputs_; ++i)
      at_ends_[c * inputs_ + i] += ends.count(data + static_cast<std::ptrdiff_t>(c) * stride(0) +
                                                  static_cast<std::ptrdiff_t>(i) * stride(1),
                                              bytes);
}

void ClippingWatch::finish(engine::Outputs& outputs) {
  if (copied_.empty()) return;
  outputs.wait(*done_);
  count_copies();
}

void ClippingWatch::count_copies() {
  const FieldsAtEnds ends(bits_);
  const auto* from = copies_.as<std::byte>();
  for (const std::size_t bytes : copied_)
    for (std::uint64_t& sum : at_ends_) {
      sum += ends.count(from, bytes);
      from += bytes;
    }
  copied_.clear();
  copied_bytes_ = 0;
}

ClippedChannels ClippingWatch::found() const {
  ClippedChannels found{.bits = bits_, .channels = channels_.count};
  if (spectra_ > 0) found.part = static_cast<double>(looked_at_) / static_cast<double>(spectra_);
  for (std::size_t row = 0; row < valid_.size(); ++row) {
    const double all = 2 * static_cast<double>(valid_[row]);
    const auto clipped = static_cast<double>(at_ends_[row]);
    const double of_noise = share_of_noise(bits_) * all;
    if (at_ends_[row] < kFewestClipped || clipped <= most_share(bits_) * all ||
        clipped <= of_noise + kSigmas * std::sqrt(of_noise))
      continue;
    found.found.push_back({channels_.first + row / inputs_, row % inputs_, clipped / all});
  }
  return found;
}

}  // namespace tautline::pipeline
