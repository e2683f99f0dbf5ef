#include "tautline/pipeline/voltages/correlation_engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "tautline/core/error.h"
#include "tautline/pipeline/device_memory.h"
#include "tautline/pipeline/voltages/block_size.h"
#include "tautline/pipeline/voltages/block_tail.h"

namespace tautline::pipeline {

stages::channelize::Output output_of(Requantise requantise) {
  using stages::channelize::Output;
  if (requantise == Requantise::bits8) return Output::corner_turned_ci8;
  return requantise == Requantise::bits4 ? Output::corner_turned_ci4 : Output::corner_turned_float;
}

FilterConfig filter_of(const CorrelateConfig& config) {
  FilterConfig filter = config.filter;
  filter.output = output_of(config.requantise);
  return filter;
}

CorrelationEngines::CorrelationEngines(
    const CorrelateConfig& config, const stream::VoltageSequence& sequence,
    const std::vector<std::shared_ptr<const device::Device>>& devices)
    : channelized_(sequence.description().channelized()),
      channels_(channelized_ ? sequence.description().channels : config.filter.channels),
      team_(devices.size()) {
  for (const auto& device : devices) engines_.push_back({device, device->make_queue(), {}, {}});
  const FilterConfig filter = filter_of(config);
  // Of a channelized stream each device has a part of a block, else whole ones.
  block_samples_ =
      choose_block_samples(sequence, filter, config.memory_bytes, devices.front()->compiles(),
                           channelized_ ? 1 : devices.size());
  if (devices.size() > channels_)
    throw core::Error(core::ErrorKind::config, "device", fmt::format("{} devices", devices.size()),
                      fmt::format("at most one for each of the {} channels", channels_));
  sharing_ = choose_sharing(config, sequence);
  const core::RawLayout layout = sequence.layout(block_samples_);
  team_.each([&](std::size_t e) {
    Engine& own = engines_[e];
    const ChannelRange sent = sharing_ == Sharing::channels ? share(e) : ChannelRange{};
    own.f_engine = std::make_unique<FEngine>(own.device, sequence.description(), layout, filter,
                                             block_samples_, Results::on_device, sent);
    own.integrator =
        std::make_unique<Integrator>(own.device, share(e), own.f_engine->inputs(),
                                     own.f_engine->sample_format(), own.f_engine->max_spectra());
  });
}

CorrelationEngines::~CorrelationEngines() {
  team_.each([this](std::size_t e) {
    engines_[e].integrator.reset();
    engines_[e].f_engine.reset();
  });
}

CorrelationEngines::Sharing CorrelationEngines::choose_sharing(
    const CorrelateConfig& config, const stream::VoltageSequence& sequence) const {
  if (channelized_) return Sharing::channels;
  const FilterConfig& filter = config.filter;
  const bool exact = config.requantise != Requantise::off;
  const bool delayed = !config.delays_path.empty() && config.phase_centre.empty();
  const bool by_samples_alone = filter.oversample_numerator == filter.oversample_denominator;
  return engines_.size() > 1 && exact && !delayed && by_samples_alone &&
                 ends_with_last_samples(sequence.layout(block_samples_))
             ? Sharing::blocks
             : Sharing::filtered_channels;
}

ChannelRange CorrelationEngines::share(std::size_t engine) const {
  return sharing_ == Sharing::blocks ? ChannelRange{0, channels_}
                                     : share_of(channels_, engine, engines_.size());
}

// Calls work(engine) for the engines that work on this block: all of them, or the next one.
void CorrelationEngines::each_at_work(const std::function<void(Engine&)>& work) {
  if (sharing_ == Sharing::blocks) return work(engines_[next_engine_]);
  team_.each([&](std::size_t e) { work(engines_[e]); });
}

std::string CorrelationEngines::kernels() const {
  return front().backend() + ", correlate " + engines_.front().integrator->backend();
}

std::size_t CorrelationEngines::host_bytes(std::size_t integrations) const {
  std::size_t bytes = 0;
  for (const Engine& e : engines_)
    bytes += e.f_engine->bytes().host_bytes + e.integrator->bytes(integrations).host_bytes;
  return bytes;
}

void CorrelationEngines::require_device_memory(std::size_t integrations) const {
  for (const Engine& e : engines_) {
    const StageMemory stages[] = {
        {channelized_ ? "unpack" : "unpack and channelize", e.f_engine->bytes().device_bytes},
        {"correlate", e.integrator->bytes(integrations).device_bytes}};
    pipeline::require_device_memory(*e.device, stages, inputs(), channels_);
  }
}

void CorrelationEngines::set_gains(const std::vector<float>& gains) {
  for (Engine& e : engines_) {
    e.f_engine->set_gains(gains);
    e.integrator->set_gains(gains);
  }
}

void CorrelationEngines::set_delays(const std::shared_ptr<const formats::delays::Table>& table,
                                    const core::Instant& until) {
  for (Engine& e : engines_) e.f_engine->set_delays(table, until);
}

void CorrelationEngines::make_ready() {
  team_.each([this](std::size_t e) {
    engines_[e].f_engine->make_ready(*engines_[e].queue);
    engines_[e].integrator->make_ready(*engines_[e].queue);
  });
}

void CorrelationEngines::prepare(FinishedIntegration& out) {
  out.resize(channels_, inputs(), engines_.size());
  team_.each([&](std::size_t e) { engines_[e].integrator->prepare(out, e); });
}

void CorrelationEngines::begin_segment(const core::Instant& start) {
  for (Engine& e : engines_) e.f_engine->begin_segment(start);
}

void CorrelationEngines::push(const core::RawBlock& raw) {
  each_at_work([&](Engine& e) { e.f_engine->push(*e.queue, raw); });
}

std::size_t CorrelationEngines::add(std::uint64_t limit) {
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(limit, front().max_spectra()));
  std::atomic<std::size_t> spectra = 0;
  each_at_work([&](Engine& e) {
    const SpectraChunk chunk = e.f_engine->take(*e.queue, most);
    e.integrator->add(*e.queue, chunk);
    spectra = chunk.spectra;  // of all the same
  });
  return spectra;
}

void CorrelationEngines::pass_on(const core::RawBlock& raw, std::uint64_t block_begin,
                                 std::uint64_t first_needed) {
  if (sharing_ != Sharing::blocks || first_needed < block_begin) return;
  next_engine_ = (next_engine_ + 1) % engines_.size();
  take_tail(raw, static_cast<std::size_t>(first_needed - block_begin), tail_);
  Engine& next = engines_[next_engine_];
  next.f_engine->go_on_after(*next.queue, tail_);
}

void CorrelationEngines::finish(FinishedIntegration& out) {
  team_.each([&](std::size_t e) { engines_[e].integrator->finish(*engines_[e].queue, out, e); });
}

void CorrelationEngines::complete(device::Queue& host_queue, FinishedIntegration& done) const {
  if (!engines_.front().device->compiles()) return;
  const bool same_channels = sharing_ == Sharing::blocks;
  for (std::size_t e = 1; same_channels && e < engines_.size(); ++e)
    engines_.front().integrator->join(host_queue, done, 0, e);
  for (std::size_t e = 0; e < (same_channels ? 1 : engines_.size()); ++e)
    engines_[e].integrator->complete(host_queue, done, e);
}

// Each device that filters all channels of a block counts all of its components.
std::vector<std::uint64_t> CorrelationEngines::clipped() {
  std::vector<std::uint64_t> sums(inputs());
  for (std::size_t e = 0; e < (sharing_ == Sharing::blocks ? engines_.size() : 1); ++e) {
    const auto& clipped = engines_[e].f_engine->clipped(*engines_[e].queue);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += clipped[i];
  }
  return sums;
}

std::uint64_t CorrelationEngines::not_finite() const {
  std::uint64_t sum = 0;
  for (std::size_t e = 0; e < (sharing_ == Sharing::blocks ? engines_.size() : 1); ++e)
    sum += engines_[e].f_engine->not_finite();
  return sum;
}

std::vector<DeviceShare> CorrelationEngines::shares() const {
  std::vector<DeviceShare> shares;
  for (const Engine& e : engines_) shares.push_back({e.device->name(), e.f_engine->sent_bytes()});
  return shares;
}

}  // namespace tautline::pipeline
