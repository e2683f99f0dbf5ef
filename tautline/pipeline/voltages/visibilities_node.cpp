#include "tautline/pipeline/voltages/visibilities_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/time_calls.h"
#include "tautline/pipeline/voltages/delay_tracking.h"
#include "tautline/pipeline/voltages/empty_text.h"
#include "tautline/pipeline/voltages/frequencies.h"
#include "tautline/pipeline/voltages/fringe_loss.h"
#include "tautline/pipeline/voltages/gains.h"
#include "tautline/pipeline/voltages/visibility_facts.h"

namespace tautline::pipeline {

namespace {

// Whether a float can represent both parts, whatever fringe rotation comes later. False for NaN.
bool is_held(std::complex<double> mean) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return std::norm(mean) < kLargest * kLargest;
}

std::complex<double> as_double(const core::ci64& sum) {
  return {static_cast<double>(sum.re), static_cast<double>(sum.im)};
}
std::complex<double> as_double(const std::complex<double>& sum) {
  return sum;
}

template <class Sum>
std::uint64_t means_of_channel(const SumsOfChannels& from, const core::View<const Sum, 2>& sums,
                               const core::View<std::complex<float>, 2>& visibilities,
                               const core::View<std::int64_t, 2>& counts, std::size_t channel) {
  const std::size_t channels = visibilities.extent(0), inputs = from.gains.size() / channels;
  const float* gain = inputs == 0 ? nullptr : from.gains.data() + channel * inputs;
  std::complex<float>* means = visibilities.row(channel);
  std::int64_t* counted = counts.row(channel);
  std::uint64_t too_large = 0;
  const auto take = [&](std::size_t to, std::size_t row, std::size_t at, const InputPair& pair) {
    const Sum sum = sums.row(row)[at];
    const std::int64_t count = from.counts.row(row)[at];
    double scale = count > 0 ? 1.0 / static_cast<double>(count) : 0.0;
    if (gain != nullptr)
      scale /= static_cast<double>(gain[pair.i]) * static_cast<double>(gain[pair.j]);
    const std::complex<double> mean = as_double(sum) * scale;
    const bool held = is_held(mean);
    too_large += held ? 0 : 1;
    means[to] = held ? std::complex<float>(mean) : std::complex<float>();
    counted[to] = held ? count : 0;
  };
  if (from.pairs.empty()) {
    for (std::size_t i = 0, at = 0; at < visibilities.extent(1); ++i)
      for (std::size_t j = 0; j <= i; ++j, ++at) take(at, channel, at, {i, j});
  } else {
    for (std::size_t k = 0; k < from.pairs.size(); ++k) {
      const auto place = from.groups.place(from.pairs[k].i, from.pairs[k].j);
      take(k, place.group * channels + channel, place.baseline, from.pairs[k]);
    }
  }
  return too_large;
}

// A constant channel of an input says nothing: its baselines get no count.
void leave_out(const stream::ConstantChannel& constant, std::span<const InputPair> pairs,
               const core::View<std::complex<float>, 2>& visibilities,
               const core::View<std::int64_t, 2>& counts) {
  const auto clear = [&](std::size_t baseline) {
    visibilities.row(constant.channel)[baseline] = {};
    counts.row(constant.channel)[baseline] = 0;
  };
  for (std::size_t k = 0; k < pairs.size(); ++k)
    if (pairs[k].i == constant.input || pairs[k].j == constant.input) clear(k);
  if (!pairs.empty()) return;
  for (std::size_t j = 0; j <= constant.input; ++j) clear(core::baseline_index(constant.input, j));
  for (std::size_t i = constant.input + 1;; ++i) {
    const std::size_t baseline = core::baseline_index(i, constant.input);
    if (baseline >= counts.extent(1)) return;
    clear(baseline);
  }
}

ChannelRange joined(const std::vector<ChannelRange>& parts) {
  std::size_t first = parts.front().first, end = 0;
  for (const ChannelRange& part : parts) {
    first = std::min(first, part.first);
    end = std::max(end, part.first + part.count);
  }
  return {first, end - first};
}

}  // namespace

std::uint64_t means_of(device::Queue& host_queue, const SumsOfChannels& from,
                       const core::View<std::complex<float>, 2>& visibilities,
                       const core::View<std::int64_t, 2>& counts) {
  const auto means = [&](const auto& sums) {
    using Sum = std::decay_t<decltype(*sums.data())>;
    std::atomic<std::uint64_t> too_large{0};
    const auto of_channels = [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t c = begin; c < end; ++c)
        too_large += means_of_channel<Sum>(from, sums, visibilities, counts, c);
    };
    host_queue.parallel_for(visibilities.extent(0), 1, of_channels);
    return too_large.load();
  };
  return core::with_type<core::ci64, std::complex<double>>(from.sums, "sums", means);
}

std::vector<engine::Stream> VisibilitiesNode::open(std::span<const engine::Stream> inputs) {
  for (const engine::Stream& input : inputs)
    channels_.push_back(input.detail<Sums>().spectra.channels);
  all_channels_ = joined(channels_);
  const Spectra& spectra = inputs[0].detail<Sums>().spectra;
  stream_channels_ = spectra.stream_channels;
  gains_ = spectra.gains;
  const auto& sums = inputs[0].detail<Sums>();
  groups_ = sums.groups;
  if (groups_.count() > 1) pairs_ = pairs_of(sums.autos);
  sum_type_ = inputs[0].arrays.front().type;
  integration_spectra_ = sums.integration_spectra;
  integrations_per_s_ = inputs[0].rate_hz.value() / static_cast<double>(integration_spectra_);
  clock_ = clock_of(spectra);
  Visibilities details{describe(inputs), gains_, all_channels_, clock_, integration_spectra_};
  channel_hz_ = details.description.channel_hz;
  const bool stopped = details.description.phase_centre.tracked && config_.rotation == nullptr;
  const bool crosses = !details.description.autos_only && !config_.reduction.autos_only;
  if (config_.rotation && crosses)
    fringes_text_ = fringe_loss_text(details.description, *config_.rotation, spectra.voltages.start,
                                     spectra.end);
  if (!details.description.phase_centre.tracked && crosses)
    fringes_text_ = drift_loss_text(details.description, config_.reduction.average_time,
                                    spectra.voltages.start, spectra.end);
  partial_.emplace(details.description, stopped, names_of_inputs(details.description.array));
  if (gains_ && spectra.requantised_bits > 0)
    rounding_ = std::make_unique<RoundingWatch>(spectra.requantised_bits,
                                                names_of_inputs(details.description.array));
  for (const stream::ConstantChannel& one : spectra.constant_channels)
    if (one.channel >= all_channels_.first &&
        one.channel - all_channels_.first < all_channels_.count)
      constant_.push_back({one.channel - all_channels_.first, one.input});
  const std::vector<std::string> axes{"channel", "baseline"};
  const std::vector<std::size_t> extents{
      channel_hz_.size(),
      pairs_.empty() ? core::baseline_count(spectra.voltages.inputs()) : pairs_.size()};
  return {{.kind = "visibilities",
           .arrays = {{"visibilities", core::SampleType::cf32, axes, extents},
                      {"counts", core::SampleType::i64, axes, extents}},
           .rate_hz = inputs[0].rate_hz,
           .start = inputs[0].start,
           .total_samples = inputs[0].total_samples,
           .max_samples = inputs[0].max_samples,
           .details = std::move(details)}};
}

formats::VisibilityDescription VisibilitiesNode::describe(
    std::span<const engine::Stream> inputs) const {
  const auto& sums = inputs[0].detail<Sums>();
  const Spectra& spectra = sums.spectra;
  const core::VoltageDescription& voltages = spectra.voltages;
  formats::VisibilityDescription output;
  output.array = config_.array.antennas.empty()
                     ? formats::unknown_array(voltages.antennas, voltages.polarisations,
                                              voltages.antenna_names)
                     : config_.array;
  formats::assume_polarisations(output.array, voltages.polarisations);
  formats::require_inputs(output.array, voltages.inputs());
  const std::vector<double> centres = channel_frequencies_hz(voltages, spectra.stream_channels);
  const auto first = centres.begin() + static_cast<std::ptrdiff_t>(all_channels_.first);
  output.channel_hz.assign(first, first + static_cast<std::ptrdiff_t>(all_channels_.count));
  output.channel_width_hz = channel_width_hz(voltages, spectra.stream_channels);
  if (!config_.keep_edge)
    for (const std::size_t edge : spectra.edge_channels)
      if (edge >= all_channels_.first && edge < all_channels_.first + all_channels_.count)
        output.flagged_channels.push_back(edge - all_channels_.first);
  if (!output.flagged_channels.empty())
    output.extra["flagged_edge_channels"] =
        fmt::format("{}", fmt::join(output.flagged_channels, ", "));
  output.autos_only = !pairs_.empty();
  output.nominal_count = static_cast<std::int64_t>(sums.integration_spectra);
  output.integration_s = static_cast<double>(sums.integration_spectra) *
                         static_cast<double>(spectra.hop_samples) / voltages.rate_hz.value();
  output.earth = config_.earth;
  output.phase_centre = spectra.phase_centre.tracked ? spectra.phase_centre : config_.phase_centre;
  output.telescope = voltages.telescope;
  output.instrument = voltages.instrument;
  output.source = voltages.source;
  output.history = config_.history;
  std::vector<std::string> devices;
  for (const engine::Stream& input : inputs) devices.push_back(input.detail<Sums>().spectra.device);
  output.extra["device"] = fmt::format("{}", fmt::join(devices, ", "));
  output.extra["kernels"] = spectra.kernels;
  output.extra["inputs"] =
      core::said_in(config_.words, fmt::format("{}", fmt::join(spectra.files, " ")));
  if (config_.rotation) output.extra[kFringesRotated] = "after correlation";
  const int bits = spectra.requantised_bits, before = spectra.rounded_before;
  if (bits > 0 || before > 0)  // fewer bits lose more
    output.extra.emplace(kRequantisedBits, std::to_string(bits == 0     ? before
                                                          : before == 0 ? bits
                                                                        : std::min(bits, before)));
  return output;
}

std::optional<engine::Load> VisibilitiesNode::expected_load() const {
  const std::array<std::size_t, 2> extents{
      channel_hz_.size(), pairs_.empty() ? core::baseline_count(groups_.inputs) : pairs_.size()};
  const std::array<std::size_t, 2> sum_extents{groups_.count() * channel_hz_.size(),
                                               core::baseline_count(groups_.size)};
  const device::Buffer sums(sum_extents[0] * sum_extents[1] * core::bytes_of(sum_type_));
  std::vector<std::int64_t> counts(sum_extents[0] * sum_extents[1], 1);
  std::vector<std::int64_t> counted(extents[0] * extents[1]);
  std::vector<std::complex<float>> means(extents[0] * extents[1]);
  const auto queue = config_.host->make_queue();
  const double seconds = time_calls(*queue, [&] {
    SumsOfChannels from;
    from.pairs = pairs_;
    from.groups = groups_;
    from.sums = {sums.data(), sum_type_, sum_extents};
    from.counts = {counts.data(), sum_extents};
    means_of(*queue, from, {means.data(), extents}, {counted.data(), extents});
  });
  return engine::Load{seconds * integrations_per_s_, config_.host->name()};
}

void VisibilitiesNode::start(engine::Outputs&) {
  if (!fringes_text_.empty()) config_.host->shared().log(core::LogLevel::warning, fringes_text_);
}

void VisibilitiesNode::process(std::size_t, const engine::Block& block, engine::Outputs& outputs) {
  const engine::Block* only = &block;
  process_together({&only, 1}, outputs);
}

void VisibilitiesNode::process_together(std::span<const engine::Block* const> blocks,
                                        engine::Outputs& outputs) {
  engine::Block& out = outputs.begin(0, *blocks.front());
  const auto visibilities = out.view<2>(0).as<std::complex<float>>();
  const auto counts = out.view<2>(1).as<std::int64_t>();
  device::Queue& queue = outputs.queue(config_.host);
  const engine::Block& one = *blocks.front();
  ValidSpectra of_data;
  for (const engine::Block* block : blocks)
    of_data.add(block->payload_of<IntegrationTime>().of_data);
  IntegrationTime time =
      clock_.time_of(one.segment_start, one.first, one.samples, integration_spectra_, of_data);
  time.gains = one.payload_of<IntegrationTime>().gains;
  std::span<const float> all_gains;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    const ChannelRange& range = channels_[k];
    SumsOfChannels from;
    from.pairs = pairs_;
    from.groups = groups_;
    from.sums = blocks[k]->view<2>(0);
    from.counts = blocks[k]->view<2>(1).as<const std::int64_t>();
    if (gains_) {
      const std::vector<float>& gains = time.gains ? *time.gains : gains_->values();
      const std::size_t inputs = gains.size() / stream_channels_;
      from.gains = std::span(gains).subspan(range.first * inputs, range.count * inputs);
      all_gains = std::span(gains).subspan(all_channels_.first * inputs);
    }
    const std::size_t first = range.first - all_channels_.first;
    overflowed_ += means_of(queue, from, visibilities.slice(0, first, range.count),
                            counts.slice(0, first, range.count));
  }
  if (config_.rotation) rotate(queue, time.middle, visibilities);
  for (const stream::ConstantChannel& constant : constant_)
    leave_out(constant, pairs_, visibilities, counts);
  partial_->add(time.integration_s, counts);
  if (rounding_) rounding_->add(queue, visibilities, counts, pairs_, all_gains);
  out.payload = std::move(time);
  outputs.commit();
}

void VisibilitiesNode::finish(engine::Outputs&) {
  if (const std::string partial = partial_text(); !partial.empty())
    config_.host->shared().log(core::LogLevel::warning, partial);
  if (!rounding_) return;
  const ClippedSamples clipped = config_.clipped ? config_.clipped() : ClippedSamples();
  rounding_text_ = rounding_->text(clipped.components, clipped.all, *gains_);
  if (!rounding_text_.empty()) config_.host->shared().log(core::LogLevel::warning, rounding_text_);
}

void VisibilitiesNode::rotate(device::Queue& queue, const core::Instant& middle,
                              const core::View<std::complex<float>, 2>& visibilities) const {
  const std::vector<double> delays_s = delays_at(*config_.rotation, middle);
  const auto of_channels = [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t c = first; c < last; ++c)
      rotate_visibilities(delays_s, {channel_hz_[c]}, visibilities.slice(0, c, 1));
  };
  queue.parallel_for(channel_hz_.size(), 1, of_channels);
}

}  // namespace tautline::pipeline
