#include "tautline/pipeline/search/read_trial.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "tautline/pipeline/search/mask_intervals.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kReadBlock = 4096;

}  // namespace

void append_samples(const std::byte* values, core::SampleType type, std::size_t count,
                    std::vector<float>& to) {
  if (type == core::SampleType::f32) {
    const auto* floats = reinterpret_cast<const float*>(values);
    to.insert(to.end(), floats, floats + count);
    return;
  }
  const auto* whole = reinterpret_cast<const std::int32_t*>(values);
  for (std::size_t t = 0; t < count; ++t) to.push_back(static_cast<float>(whole[t]));
}

TrialStretch read_trial(formats::FilterbankReader& reader, const PlacedRange& data,
                        std::uint64_t middle, std::size_t samples,
                        stages::dedisperse::Config config, const formats::presto::Mask* mask,
                        const std::shared_ptr<const device::Device>& host) {
  config.max_samples = kReadBlock;
  config.method = stages::dedisperse::Method::exact;
  config.measure_channels = false;
  const auto plan = stages::dedisperse::make_plan(config, host);
  const std::uint64_t count = data.range.count;
  if (count <= plan->max_delay()) return {};
  samples = static_cast<std::size_t>(std::min<std::uint64_t>(samples, count - plan->max_delay()));
  const std::uint64_t needed = samples + plan->max_delay();
  const std::uint64_t wanted = middle - std::min<std::uint64_t>(middle, samples / 2);
  const std::uint64_t first = std::min(wanted, count - needed);

  const auto queue = host->make_queue();
  const auto state = plan->make_state(*queue);
  std::optional<MaskIntervals> masking;
  if (mask != nullptr) masking.emplace(*mask, MissingTimes::mean, reader);
  std::vector<std::byte> spectra(kReadBlock * reader.description().sample_bytes());
  std::vector<std::byte> trial(4 * plan->max_output_samples());
  TrialStretch stretch{{}, plan->output_type() == core::SampleType::i32};
  for (std::uint64_t done = 0; done < needed;) {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(kReadBlock, needed - done));
    const std::size_t got = reader.read(data.range.first + first + done, most, spectra);
    if (got == 0) break;
    if (masking)
      masking->apply(std::span(spectra).first(got * reader.description().sample_bytes()),
                     data.grid_first + first + done, got);
    stages::dedisperse::Input input;
    input.data = spectra.data();
    input.count = got;
    const core::MutableSampleView<3> room(trial.data(), plan->output_type(),
                                          {1, 1, plan->max_output_samples()});
    const auto result = plan->execute(*queue, *state, input, room);
    queue->synchronise();
    append_samples(trial.data(), plan->output_type(), result.samples, stretch.series);
    done += got;
  }
  stretch.first_sample = data.grid_first + first;
  stretch.max_delay = plan->max_delay();
  return stretch;
}

}  // namespace tautline::pipeline
