#include "tautline/pipeline/voltages/reduction.h"

#include <fmt/format.h>

#include "tautline/core/error.h"

namespace tautline::pipeline {

namespace {

using Ends = std::pair<std::size_t, std::size_t>;

core::FieldText<Ends> channel_ends() {
  constexpr const char* kWords = "FIRST:LAST, FIRST not above LAST";
  return {core::FieldKind::text,
          kWords,
          {},
          [](const std::string& text) -> Ends {
            const auto ends = core::text::split(text, ':');
            if (ends.size() != 2) core::text::refuse(text, kWords);
            return {core::text::read<std::size_t>(ends[0]), core::text::read<std::size_t>(ends[1])};
          },
          [](const Ends& ends) { return fmt::format("{}:{}", ends.first, ends.second); },
          [](const Ends& ends) { return ends.first <= ends.second; }};
}

}  // namespace

const core::Fields<Reduction>& fields(const Reduction&) {
  using C = Reduction;
  static const auto all =
      core::Fields<C>()
          .add({.name = "channel_range",
                .help = "channels to keep, from 0, both ends included",
                .form = "FIRST:LAST"},
               &C::channel_range, core::maybe(channel_ends()))
          .add({.name = "average_channels",
                .help = "neighbouring channels to average into one; divides those that are kept"},
               &C::average_channels, core::at_least(1))
          .add({.name = "average_time",
                .help = "integrations to average into one; fewer before a gap and at the end"},
               &C::average_time, core::at_least(1))
          .add({.name = "autos_only", .help = "give out each antenna's products with itself alone"},
               &C::autos_only);
  return all;
}

ChannelRange kept_channels(const Reduction& reduction, std::size_t stream_channels) {
  if (!reduction.channel_range) return {0, stream_channels};
  const auto [first, last] = *reduction.channel_range;
  if (first > last || last >= stream_channels)
    throw core::Error(core::ErrorKind::config, "channel_range", fmt::format("{}:{}", first, last),
                      fmt::format("within 0:{}", stream_channels - 1));
  return {first, last - first + 1};
}

}  // namespace tautline::pipeline
