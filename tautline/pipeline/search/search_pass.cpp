#include "tautline/pipeline/search/search_pass.h"

#include <algorithm>
#include <utility>

#include "tautline/pipeline/search/filterbank_run.h"

namespace tautline::pipeline {

namespace {

namespace dedisperse = stages::dedisperse;
namespace detect = stages::detect;

bool joins_all(const detect::Links& links) {
  return links.join && !links.before.any && !links.behind.any;
}

}  // namespace

namespace {

// With the zero-DM filter the trials without delays are zero, but for the rounding of floats, in which a search would find
// pulses.
std::vector<std::size_t> zero_trials(const dedisperse::Plan& plan) {
  std::vector<std::size_t> zero;
  const dedisperse::Config& config = plan.config();
  const std::size_t channels = config.frequencies_mhz.size();
  for (std::size_t k = 0; config.zero_dm && k < config.dms.size(); ++k) {
    std::size_t c = 0;
    while (c < channels && plan.delay(k, c) == 0) ++c;
    if (c == channels) zero.push_back(k);
  }
  return zero;
}

}  // namespace

// One part's states, and room for a block of its trials.
struct SearchPass::Stream {
  Stream(const SearchPart& planned, const device::Device& device, device::Queue& queue)
      : part(planned),
        dedispersing(part.dedisperse->make_state(queue)),
        detecting(part.detect->make_state(queue)),
        zero(zero_trials(*part.dedisperse)) {
    if (!device.compiles())
      memory = device::Buffer(4 * beams() * trials() * part.dedisperse->max_output_samples());
  }

  std::size_t beams() const { return part.dedisperse->config().beams; }
  std::size_t trials() const { return part.dedisperse->config().dms.size(); }

  // Where the next block of trials goes: on a GPU to where the search has its series.
  core::MutableSampleView<3> block() const {
    const std::size_t samples = part.dedisperse->max_output_samples();
    detect::InputArea room = detecting->input_area();
    if (room.data == nullptr) room = {memory.data(), samples, samples};
    const auto stride = static_cast<std::ptrdiff_t>(room.stride);
    return {room.data,
            part.dedisperse->output_type(),
            {beams(), trials(), samples},
            {static_cast<std::ptrdiff_t>(trials()) * stride, stride, 1}};
  }

  SearchPart part;
  std::unique_ptr<dedisperse::State> dedispersing;
  std::unique_ptr<detect::State> detecting;
  std::vector<std::size_t> zero;  ///< trials
  device::Buffer memory;          ///< a block of trials, in the host's memory
};

SearchPass::SearchPass(const PassPlan& plan, std::size_t sample_bytes,
                       std::shared_ptr<const device::Device> device, device::Queue& queue)
    : plan_(plan),
      sample_bytes_(sample_bytes),
      device_(std::move(device)),
      queue_(queue),
      found_(plan.parts.front().dedisperse->config().beams) {
  for (const SearchPart& part : plan_.parts) {
    streams_.push_back(std::make_unique<Stream>(part, *device_, queue));
    fed_there_ = fed_there_ || reads_on_device(*part.dedisperse);
    for (std::vector<RangePulses>& of_beam : found_) {
      of_beam.resize(std::max(of_beam.size(), part.range + 1));
      of_beam[part.range].joined = joins_all(part.detect->config().links);
    }
  }
}

SearchPass::~SearchPass() = default;

void SearchPass::push_to(Stream& stream, const void* spectra, std::size_t samples) {
  dedisperse::Input input;
  input.data = spectra;
  input.count = samples;
  const core::MutableSampleView<3> block = stream.block();
  const auto result = stream.part.dedisperse->execute(queue_, *stream.dedispersing, input, block);
  if (&stream == streams_.front().get()) not_finite_ += result.not_finite;
  if (result.samples == 0) return;
  for (std::size_t beam = 0; beam < stream.beams(); ++beam)
    for (const std::size_t k : stream.zero) {
      const auto row = static_cast<std::ptrdiff_t>(beam) * block.stride(0) +
                       static_cast<std::ptrdiff_t>(k) * block.stride(1);
      queue_.fill(static_cast<std::byte*>(block.data()) + 4 * row, 0, 4 * result.samples);
    }
  // One beam after the other.
  const core::SampleView<2> series(block.data(), block.type(),
                                   {block.extent(0) * block.extent(1), result.samples},
                                   {block.stride(1), block.stride(2)});
  if (kept_ != nullptr) kept_->take(stream.part, series, queue_);
  stream.part.detect->execute(queue_, *stream.detecting, series);
  collect(stream);
}

void SearchPass::collect(Stream& stream) {
  for (detect::Pulse pulse : stream.detecting->take()) {
    const std::size_t beam = pulse.trial / stream.trials();
    const std::size_t row = beam * stream.trials();
    pulse.trial = pulse.trial - row + stream.part.first_trial;
    pulse.first_trial = pulse.first_trial - row + stream.part.first_trial;
    pulse.last_trial = pulse.last_trial - row + stream.part.first_trial;
    found_[beam][stream.part.range].pulses.push_back(pulse);
  }
}

std::vector<RangePulses> SearchPass::take(std::size_t beam) {
  std::vector<RangePulses> taken;
  for (RangePulses& own : found_[beam])
    taken.push_back({std::exchange(own.pulses, {}), own.joined});
  return taken;
}

// The queue works in order: its enqueued work has read the spectra that are there by then.
const std::byte* SearchPass::on_device(const std::byte* spectra, std::size_t samples) {
  if (!fed_there_) return nullptr;
  if (there_.bytes() == 0)
    there_ = device_->allocate(beams() * plan_.block_samples * sample_bytes_);
  queue_.copy(there_.data(), spectra, beams() * samples * sample_bytes_);
  queue_.synchronise();
  return there_.as<std::byte>();
}

void SearchPass::push(const std::byte* spectra, std::size_t samples) {
  const std::byte* there = device_->holds(spectra) ? spectra : on_device(spectra, samples);
  for (const auto& stream : streams_)
    push_to(*stream, reads_on_device(*stream->part.dedisperse) ? there : spectra, samples);
  pushed_ += samples;
}

// The lengths of a part's trials in an input that may have ended sooner than planned.
std::vector<std::uint64_t> SearchPass::shorten(Stream& stream) {
  std::vector<std::uint64_t> lengths = stream.part.detect->config().lengths;
  if (stream.part.given) {
    const std::vector<std::uint64_t> joined_by = lengths;
    for (std::uint64_t& length : lengths) length = std::min(length, pushed_);
    if (!lengths.empty()) stream.detecting->shorten(queue_, lengths);
    return joined_by;
  }
  if (pushed_ >= plan_.samples) return lengths;
  const std::size_t downsample = stream.part.dedisperse->config().downsample;
  const std::uint64_t missing = plan_.samples / downsample - pushed_ / downsample;
  for (std::uint64_t& length : lengths) length -= std::min(length, missing);
  stream.detecting->shorten(queue_, lengths);
  return lengths;
}

// Low DMs are complete for longer than the highest one: zeros behind the data bring out the rest,
// and each trial ends where its own data do.
std::vector<std::vector<std::uint64_t>> SearchPass::finish() {
  kept_ = nullptr;
  std::vector<std::vector<std::uint64_t>> lengths;
  for (const auto& stream : streams_) lengths.push_back(shorten(*stream));
  const auto held = [](const dedisperse::Plan& plan) {
    return (plan.max_delay() + 1) * plan.config().downsample;
  };
  std::size_t most = 0;
  for (const auto& stream : streams_) most = std::max(most, held(*stream->part.dedisperse));
  most = std::min(most, plan_.block_samples);
  const std::vector<std::byte> nothing(beams() * most * sample_bytes_);
  const std::byte* there = on_device(nothing.data(), most);
  for (const auto& stream : streams_) {
    const dedisperse::Plan& plan = *stream->part.dedisperse;
    const std::byte* zeros = reads_on_device(plan) ? there : nothing.data();
    for (std::size_t left = held(plan); left > 0;) {
      const std::size_t samples = std::min(left, most);
      push_to(*stream, zeros, samples);
      left -= samples;
    }
    stream->part.detect->finish(queue_, *stream->detecting);
    collect(*stream);
  }
  return lengths;
}

void SearchPass::reset() {
  for (const auto& stream : streams_) {
    stream->dedispersing->reset();
    stream->detecting->reset();
  }
  for (std::size_t beam = 0; beam < beams(); ++beam) take(beam);
  not_finite_ = pushed_ = 0;
}

bool SearchPass::plans_as(const PassPlan& other) const {
  return plan_.samples == other.samples &&
         std::equal(plan_.parts.begin(), plan_.parts.end(), other.parts.begin(), other.parts.end(),
                    [](const SearchPart& a, const SearchPart& b) {
                      return a.dedisperse == b.dedisperse && a.detect == b.detect;
                    });
}

std::uint64_t SearchPass::detections() const {
  std::uint64_t total = 0;
  for (const auto& stream : streams_) total += stream->detecting->counters().detections;
  return total;
}

std::vector<dedisperse::Moments> SearchPass::moments() const {
  return streams_.front()->dedispersing->moments();
}

}  // namespace tautline::pipeline
