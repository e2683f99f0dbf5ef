#include "tautline/pipeline/search/empty_found.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "tautline/core/counted.h"

namespace tautline::pipeline {

namespace {

nlohmann::ordered_json channels_list(const std::vector<std::uint64_t>& samples) {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t c = 0; c < samples.size(); ++c)
    if (samples[c] > 0) list.push_back({{"channel", c}, {"samples", samples[c]}});
  return list;
}

}  // namespace

void EmptyFound::add_told(std::size_t beam, std::span<const SampleRange> times, bool as_data) {
  for (const SampleRange& one : times) {
    if (as_data) {
      kept_as_data.samples += one.count;
      ++kept_as_data.stretches;
      kept_as_data.list.push_back({beam, one.first, one.count});
      continue;
    }
    samples += one.count;
    ++stretches;
    ++told;
    if (list.size() < kListed) list.push_back({beam, one.first, one.count});
  }
  std::ranges::stable_sort(
      list, {}, [](const EmptyTimes& one) { return std::pair(one.beam, one.first_sample); });
}

nlohmann::ordered_json empty_stretches(const EmptyFound& found, std::size_t most) {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < std::min(most, found.list.size()); ++k)
    list.push_back({{"beam", found.list[k].beam},
                    {"first_sample", found.list[k].first_sample},
                    {"samples", found.list[k].samples}});
  return list;
}

nlohmann::ordered_json empty_channels(const EmptyFound& found) {
  return channels_list(found.channels);
}

nlohmann::ordered_json not_finite_channels(const EmptyFound& found) {
  return channels_list(found.not_finite_channels);
}

std::string channels_text(const std::vector<std::uint64_t>& samples, bool longest_first) {
  constexpr std::size_t kNamed = 8;
  std::vector<std::size_t> channels;
  for (std::size_t c = 0; c < samples.size(); ++c)
    if (samples[c] > 0) channels.push_back(c);
  if (longest_first)
    std::stable_sort(channels.begin(), channels.end(),
                     [&](std::size_t a, std::size_t b) { return samples[a] > samples[b]; });
  std::string text;
  for (std::size_t k = 0; k < channels.size(); ++k) {
    if (k == kNamed) return text + " ...";
    text += fmt::format("{}channel {} for {}", k > 0 ? ", " : "", channels[k],
                        core::counted(samples[channels[k]], "sample"));
  }
  return text;
}

std::string clipped_text(const EmptyFound& found) {
  const auto values = std::accumulate(found.clipped.begin(), found.clipped.end(), std::uint64_t{0});
  if (values == 0) return "";
  const auto channels = std::count_if(found.clipped.begin(), found.clipped.end(),
                                      [](std::uint64_t n) { return n > 0; });
  return fmt::format(
      "{} of {} clipped, at the largest value for long, kept as data: a bright pulse, whose S/N is "
      "too low, or interference",
      core::counted(values, "sample"),
      core::counted(static_cast<std::uint64_t>(channels), "channel"));
}

std::string not_finite_text(const EmptyFound& found, std::uint64_t all) {
  if (all == 0) return "";
  std::string text = fmt::format("{} not finite (NaN or infinite)",
                                 core::counted(all, "value was", "values were"));
  const std::string others =
      found.not_finite + found.single_not_finite == all ? "the last value of the channel" : "zeros";
  if (found.not_finite == 0) return text + "; " + others + " took their place";
  text += fmt::format("; {} that stayed so were left out, or means or noise took their place: {}",
                      found.not_finite < all ? std::to_string(found.not_finite) : "those",
                      channels_text(found.not_finite_channels, true));
  return found.not_finite < all ? text + "; " + others + " took the place of the others" : text;
}

}  // namespace tautline::pipeline
