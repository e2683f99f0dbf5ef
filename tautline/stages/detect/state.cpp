#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/saved_state.h"
#include "tautline/stages/detect/backends.h"

namespace tautline::stages::detect {

namespace {

void check_series(const Config& config, const core::SampleView<2>& series, bool finished) {
  const auto refuse = [](const std::string& field, const std::string& value,
                         const std::string& limit, const std::string& advice = {}) {
    throw core::Error(core::ErrorKind::config, field, value, limit, advice);
  };
  if (series.type() != config.type)
    refuse("series", std::string(core::to_string(series.type())),
           std::string(core::to_string(config.type)), "make the plan with the type of the series");
  if (finished) refuse("execute", "after finish", "a new state for a new stream");
  if (series.extent(0) != config.trials)
    refuse("series [trial]", std::to_string(series.extent(0)), std::to_string(config.trials));
  if (series.extent(1) > config.max_samples)
    refuse("series [time]", std::to_string(series.extent(1)),
           "max_samples = " + std::to_string(config.max_samples) + " or fewer",
           "split the call, or plan for more");
  if (series.extent(1) > 1 && series.stride(1) != 1)
    refuse("series time stride", std::to_string(series.stride(1)), "1");
}

}  // namespace

std::vector<Pulse> BaseState::take() {
  std::sort(pulses_.begin(), pulses_.end(), [](const Pulse& a, const Pulse& b) {
    return std::tuple(a.first, a.trial, a.width, a.begin) <
           std::tuple(b.first, b.trial, b.width, b.begin);
  });
  return std::exchange(pulses_, {});
}

void BaseState::execute(device::Queue& queue, const core::SampleView<2>& series) {
  check_series(base_.config, series, finished_);
  counters_.samples += series.extent(1);
  if (series.extent(1) > 0) search(queue, series);
}

void BaseState::finish(device::Queue& queue) {
  if (!std::exchange(finished_, true)) search_rest(queue);
}

void BaseState::shorten(device::Queue& queue, std::span<const std::uint64_t> lengths) {
  const std::vector<std::uint64_t>& planned = base_.config.lengths;
  if (lengths.size() != planned.size())
    throw core::Error(core::ErrorKind::config, "lengths", std::to_string(lengths.size()),
                      std::to_string(planned.size()), "one for each trial, as the plan has them");
  for (std::size_t t = 0; t < lengths.size(); ++t)
    if (lengths[t] > planned[t] || lengths[t] < std::min(planned[t], counters_.samples))
      throw core::Error(
          core::ErrorKind::config, fmt::format("lengths[{}]", t), std::to_string(lengths[t]),
          fmt::format("{} to {}", std::min(planned[t], counters_.samples), planned[t]));
  set_lengths(queue, lengths);
}

void BaseState::reset() {
  clear();
  std::fill(over_.begin(), over_.end(), 0);
  pulses_.clear();
  counters_ = {};
  finished_ = false;
}

template <class Archive>
void BaseState::exchange_all(Archive& archive) {
  exchange(archive);
  archive(over_, pulses_, counters_, finished_);
}

std::vector<std::byte> BaseState::save() const {
  std::vector<std::byte> content;
  core::ByteWriter writer([&](std::span<const std::byte> some) {
    content.insert(content.end(), some.begin(), some.end());
  });
  const_cast<BaseState&>(*this).exchange_all(writer);
  return core::seal_state("detect", plan_text(), content);
}

void BaseState::load(std::span<const std::byte> bytes) {
  core::ByteReader reader(core::open_state("detect", plan_text(), bytes), "saved state of detect");
  exchange_all(reader);
  reader.finish();
}

// The version of the content, and all that the content depends on.
std::string BaseState::plan_text() const {
  const Config& c = base_.config;
  const Links& l = c.links;
  std::string text =
      fmt::format("5 {} {} {} {} {} {} {} {} {} {} {} {} {} {}", backend_, c.trials,
                  c.sample_time_s, core::to_string(c.type), c.threshold, c.max_width_s,
                  c.baseline_s, c.noise_s, static_cast<int>(c.noise), l.time_samples, l.dm_trials,
                  l.width_octaves, l.beam_trials, l.join, c.lengths.size());
  for (const Links::Elsewhere& e : {l.before, l.behind})
    text += fmt::format(" {} {} {}", e.any, e.shortest, e.longest);
  for (const std::uint64_t length : c.lengths) text += fmt::format(" {}", length);
  return text;
}

}  // namespace tautline::stages::detect
