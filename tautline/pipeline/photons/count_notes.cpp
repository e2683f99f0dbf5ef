#include "tautline/pipeline/photons/count_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tautline/core/counted.h"
#include "tautline/core/sample_view.h"

namespace tautline::pipeline {

namespace {

// Counts carry no bin length: a bare number that was meant in microseconds is read as seconds.
void note_long_bins(const AutocorrelateConfig& config, const OpenedCounts& input) {
  constexpr double kLong_s = 0.1;
  if (!config.log || input.description.bin_s > 0 || input.bin_s < kLong_s) return;
  config.log(core::LogLevel::warning,
             fmt::format(
                 "{}: bins of {:.6g} s{}; a number without a unit is seconds, and `bin_s` takes "
                 "\"5us\" and \"20 ms\" too",
                 input.name, input.bin_s,
                 !input.bins ? ""
                             : fmt::format(" make its {} a run of {:.6g} hours",
                                           core::counted(*input.bins, "bin"),
                                           static_cast<double>(*input.bins) * input.bin_s / 3600)));
}

// An array says nothing of its axes: one whose inputs are rows, or dedispersed series without their record, has more
// sensors than times.
void note_order_of_axes(const AutocorrelateConfig& config, const OpenedCounts& input) {
  const formats::CountDescription& d = input.description;
  if (!config.log || config.source || d.format != "NPY" || d.rows > 0 || !input.bins ||
      d.sensors <= *input.bins)
    return;
  config.log(core::LogLevel::warning,
             fmt::format("{}: taken for photon counts [time][sensor], {} of {}; an array of "
                         "[sensor][time] has to be transposed, numpy.save(\"x.npy\", x.T), and a "
                         "dedispersed series, which is no counts, needs the .json that was written "
                         "with it beside it",
                         input.name, core::counted(*input.bins, "time"),
                         core::counted(d.sensors, "sensor")));
}

// Floats may be any quantity.
void note_fractions(const AutocorrelateConfig& config, const OpenedCounts& input,
                    const OpenCounts& open) {
  constexpr std::size_t kLookedAt = 65'536;  // values
  if (!config.log || config.source || !input.bins || input.description.format != "NPY" ||
      input.description.type != core::SampleType::f32 || config.raw.dtype == core::SampleType::f32)
    return;
  const std::size_t sensors = input.description.sensors;
  std::vector<float> values(std::max<std::size_t>(1, kLookedAt / sensors) * sensors);
  const std::size_t rows = open()->read(std::as_writable_bytes(std::span(values)));
  values.resize(rows * sensors);
  const auto one =
      std::ranges::find_if(values, [](float value) { return value != std::floor(value); });
  if (one == values.end()) return;
  const auto place = static_cast<std::size_t>(one - values.begin());
  config.log(
      core::LogLevel::info,
      fmt::format("{}: no whole numbers ({:.6g} at time {}, sensor {}): taken as intensities "
                  "[time][sensor], not as counts",
                  input.name, *one, place / sensors, place % sensors));
}

// The first counts of arrays and raw files, which nothing else describes; none of other inputs.
std::vector<std::uint32_t> first_counts(const AutocorrelateConfig& config,
                                        const OpenedCounts& input, const OpenCounts& open) {
  constexpr std::size_t kLookedAt = 65'536;  // values
  const formats::CountDescription& d = input.description;
  if (config.source || !input.bins || (d.format != "NPY" && d.format != "raw") ||
      (d.type != core::SampleType::u16 && d.type != core::SampleType::u32))
    return {};
  const std::size_t most = std::max<std::size_t>(1, kLookedAt / d.sensors);
  std::vector<std::byte> bytes(most * d.sensors * core::bytes_of(d.type));
  const std::size_t count = open()->read(bytes) * d.sensors;
  return core::with_type<std::uint16_t, std::uint32_t>(
      core::SampleView<1>(bytes.data(), d.type, {count}), "type", [&](const auto& values) {
        std::vector<std::uint32_t> counts(count);
        for (std::size_t k = 0; k < count; ++k) counts[k] = values(k);
        return counts;
      });
}

// Counts whose bytes are in the other order, and arrival times, which are no counts.
void note_other_values(const AutocorrelateConfig& config, const OpenedCounts& input,
                       const OpenCounts& open) {
  constexpr std::size_t kFewestCounts = 10, kFewestTimes = 100;
  if (!config.log) return;
  const std::vector<std::uint32_t> counts = first_counts(config, input, open);
  const bool swapped = std::ranges::count_if(counts, [](auto c) { return c > 0; }) >=
                           std::ptrdiff_t{kFewestCounts} &&
                       std::ranges::all_of(counts, [](auto c) { return c % 256 == 0; });
  if (swapped)
    config.log(core::LogLevel::warning,
               fmt::format("{}: every count is a multiple of 256 (of the first {}): are the bytes "
                           "of each in the other order? numpy.memmap(\"x\", \">u2\") reads such "
                           "files, and x.astype(\"<u2\") corrects an array",
                           input.name, counts.size()));
  if (!swapped && input.description.sensors == 1 && counts.size() >= kFewestTimes &&
      std::ranges::adjacent_find(counts, std::greater_equal<>()) == counts.end())
    config.log(core::LogLevel::warning,
               fmt::format("{}: each count is larger than the one before (of the first {}), as "
                           "arrival times are: numpy.bincount(t // bin) makes counts of these",
                           input.name, counts.size()));
}

}  // namespace

void note_doubtful_counts(const AutocorrelateConfig& config, const OpenedCounts& input,
                          const OpenCounts& open) {
  note_long_bins(config, input);
  note_order_of_axes(config, input);
  note_fractions(config, input, open);
  note_other_values(config, input, open);
}

}  // namespace tautline::pipeline
