#include "tautline/pipeline/search/common_stops.h"

#include <algorithm>
#include <cstring>

namespace tautline::pipeline {

namespace {

template <class Value>
std::size_t keep_equal_as(const std::byte* a, const std::byte* b, std::span<std::uint8_t> flags) {
  constexpr std::size_t kChannelsOfSum = 128;  // sums of flags in a byte
  const auto* x = reinterpret_cast<const Value*>(a);
  const auto* y = reinterpret_cast<const Value*>(b);
  std::size_t left = 0;
  for (std::size_t first = 0; first < flags.size(); first += kChannelsOfSum) {
    const std::size_t end = std::min(flags.size(), first + kChannelsOfSum);
    std::uint8_t sum = 0;
    for (std::size_t c = first; c < end; ++c) {
      flags[c] = static_cast<std::uint8_t>(x[c] == y[c] ? flags[c] : 0);
      sum = static_cast<std::uint8_t>(sum + flags[c]);
    }
    left += sum;
  }
  return left;
}

// How many of `count` values are equal; in lanes, which compilers make vectors of.
template <class Value>
std::size_t count_equal_as(const std::byte* a, const std::byte* b, std::size_t count) {
  constexpr std::size_t kLanes = 64 / sizeof(Value), kMostOfLane = 255;
  const auto* x = reinterpret_cast<const Value*>(a);
  const auto* y = reinterpret_cast<const Value*>(b);
  std::size_t sum = 0, c = 0;
  while (c + kLanes <= count) {
    Value lanes[kLanes] = {};
    for (std::size_t n = 0; n < kMostOfLane && c + kLanes <= count; ++n, c += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] = static_cast<Value>(lanes[lane] + (x[c + lane] == y[c + lane] ? 1 : 0));
    for (const Value lane : lanes) sum += lane;
  }
  for (; c < count; ++c) sum += x[c] == y[c] ? 1 : 0;
  return sum;
}

template <class Value>
EqualValues count_equal_as(const std::byte* a, const std::byte* b, const std::byte* value,
                           std::size_t count) {
  constexpr std::size_t kLanes = 64 / sizeof(Value), kMostOfLane = 255;
  const auto* x = reinterpret_cast<const Value*>(a);
  const auto* y = reinterpret_cast<const Value*>(b);
  Value z{};
  std::memcpy(&z, value, sizeof z);
  EqualValues sum;
  std::size_t c = 0;
  while (c + kLanes <= count) {
    Value others[kLanes] = {}, values[kLanes] = {};
    for (std::size_t n = 0; n < kMostOfLane && c + kLanes <= count; ++n, c += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        others[lane] = static_cast<Value>(others[lane] + (x[c + lane] == y[c + lane] ? 1 : 0));
        values[lane] = static_cast<Value>(values[lane] + (x[c + lane] == z ? 1 : 0));
      }
    std::uint32_t of_others = 0, of_values = 0;
    for (const Value lane : others) of_others += lane;
    for (const Value lane : values) of_values += lane;
    sum.others += of_others;
    sum.value += of_values;
  }
  for (; c < count; ++c) {
    sum.others += x[c] == y[c] ? 1 : 0;
    sum.value += x[c] == z ? 1 : 0;
  }
  return sum;
}

}  // namespace

std::size_t keep_equal(const std::byte* a, const std::byte* b, std::size_t value_bytes,
                       std::span<std::uint8_t> flags) {
  if (value_bytes == 1) return keep_equal_as<std::uint8_t>(a, b, flags);
  if (value_bytes == 2) return keep_equal_as<std::uint16_t>(a, b, flags);
  return keep_equal_as<std::uint32_t>(a, b, flags);
}

std::size_t count_equal(const std::byte* a, const std::byte* b, std::size_t value_bytes,
                        std::size_t count) {
  if (value_bytes == 1) return count_equal_as<std::uint8_t>(a, b, count);
  if (value_bytes == 2) return count_equal_as<std::uint16_t>(a, b, count);
  return count_equal_as<std::uint32_t>(a, b, count);
}

EqualValues count_equal(const std::byte* a, const std::byte* b, const std::byte* value,
                        std::size_t value_bytes, std::size_t count) {
  if (value_bytes == 1) return count_equal_as<std::uint8_t>(a, b, value, count);
  if (value_bytes == 2) return count_equal_as<std::uint16_t>(a, b, value, count);
  return count_equal_as<std::uint32_t>(a, b, value, count);
}

std::size_t next_set(std::span<const std::uint8_t> flags, std::size_t c) {
  std::uint64_t some = 0;
  while (c + sizeof some <= flags.size()) {
    std::memcpy(&some, flags.data() + c, sizeof some);
    if (some != 0) break;
    c += sizeof some;
  }
  while (c < flags.size() && flags[c] == 0) ++c;
  return c;
}

CommonStops::CommonStops(const formats::FilterbankDescription& description,
                         std::span<const std::size_t> left_out, const CommonRule& rule)
    : value_bytes_(formats::bytes_of(description.delivered)),
      counting_channels_(description.channels - left_out.size()),
      rule_(rule),
      counting_(description.channels, 1),
      stopped_(description.channels, 0) {
  for (const std::size_t c : left_out) counting_[c] = 0;
}

std::size_t CommonStops::next_window(std::size_t k, std::uint64_t position) const {
  const auto behind = static_cast<std::size_t>((position + k) % rule_.every);
  return behind == 0 ? k : k + rule_.every - behind;
}

void CommonStops::prefetch_behind(const SpectraInTwoPlaces& spectra, std::size_t k) const {
  constexpr std::size_t kAhead = 32, kLine = 64;
  if (const std::size_t later = k + rule_.repeats + kAhead; later < spectra.count)
    for (std::size_t at = 0; at < spectra.sample_bytes; at += kLine)
      __builtin_prefetch(spectra.at(later) + at);
}

bool CommonStops::may_stop_at(const SpectraInTwoPlaces& spectra, std::size_t k) const {
  prefetch_behind(spectra, k);
  return count_equal(spectra.at(k), spectra.at(k + rule_.repeats), value_bytes_,
                     counting_.size()) >= rule_.channels;
}

bool CommonStops::may_stop_at(const SpectraInTwoPlaces& spectra, std::size_t k,
                              const std::byte* value, std::size_t& value_count) const {
  prefetch_behind(spectra, k);
  const EqualValues equal = count_equal(spectra.at(k), spectra.at(k + rule_.repeats), value,
                                        value_bytes_, counting_.size());
  value_count = equal.value;
  return equal.others >= rule_.channels;
}

bool CommonStops::stop_at(const SpectraInTwoPlaces& spectra, std::size_t k) {
  if (!may_stop_at(spectra, k)) return false;
  stopped_ = counting_;
  std::size_t left = 0;
  for (std::size_t t = k + rule_.repeats; t > k; --t) {
    left = keep_equal(spectra.at(k), spectra.at(t), value_bytes_, stopped_);
    if (left < rule_.channels) return false;
  }
  return left < counting_channels_;
}

}  // namespace tautline::pipeline
