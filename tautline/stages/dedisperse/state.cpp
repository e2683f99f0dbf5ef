#include <fmt/format.h>

#include <algorithm>

#include "tautline/core/byte_archive.h"
#include "tautline/core/error.h"
#include "tautline/core/saved_state.h"
#include "tautline/stages/dedisperse/backends.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr const char* kStage = "dedisperse";

[[noreturn]] void refuse_call(const std::string& field, std::size_t value,
                              const std::string& limit) {
  throw core::Error(core::ErrorKind::config, "dedisperse " + field, std::to_string(value), limit);
}

void require_trials(const DelayPlan& plan, const core::MutableSampleView<3>& trials,
                    std::size_t samples) {
  if (trials.data() == nullptr && samples == 0) return;
  if (trials.extent(0) != plan.config().beams)
    refuse_call("trials' beams", trials.extent(0), std::to_string(plan.config().beams));
  if (trials.extent(1) != plan.trials())
    refuse_call("trials' trials", trials.extent(1), std::to_string(plan.trials()));
  if (trials.extent(2) < samples)
    refuse_call("trials' times", trials.extent(2), std::to_string(samples) + " or more");
  if (trials.extent(2) > 1 && trials.stride(2) != 1)
    refuse_call("trials' time stride", static_cast<std::size_t>(trials.stride(2)), "1: dense");
  if (trials.type() != plan.output_type())
    trials.refuse("dedisperse trials", std::string(to_string(plan.output_type())));
}

}  // namespace

BaseState::BaseState(std::shared_ptr<const DelayPlan> plan, std::string kind, std::size_t rows,
                     std::size_t element_bytes)
    : rows_(rows), element_bytes_(element_bytes), plan_(std::move(plan)), kind_(std::move(kind)) {}

std::string BaseState::text() const {
  const Config& c = plan_->config();
  return fmt::format("1 {} {}|{}|{}|{}|{} {} {} {} {} {} {} {} {} {} {}", kind_, element_bytes_,
                     fmt::join(c.frequencies_mhz, " "), fmt::join(c.dms, " "),
                     fmt::join(c.ignored_channels, " "), c.sample_time_s, c.dm_constant,
                     c.reference_mhz, c.bits, c.signed_samples, c.beams, c.zero_dm,
                     c.measure_channels, c.downsample, c.max_value, c.zero_level);
}

std::vector<std::byte> BaseState::save() const {
  std::vector<std::byte> content;
  core::ByteWriter write([&](std::span<const std::byte> bytes) {
    content.insert(content.end(), bytes.begin(), bytes.end());
  });
  write(held);
  write(phase);
  write(kept());
  write(moments());
  return core::seal_state(kStage, text(), content);
}

void BaseState::load(std::span<const std::byte> saved) {
  core::ByteReader read(core::open_state(kStage, text(), saved), "dedisperse saved state");
  std::size_t complete = 0, begun = 0;
  std::vector<std::byte> rows;
  std::vector<Moments> moments;
  read(complete);
  read(begun);
  read(rows);
  read(moments);
  read.finish();
  if (complete > plan_->max_delay() || rows.size() != rows_ * (complete + 1) * element_bytes_)
    read.refuse();
  reset();
  held = complete;
  phase = begun;
  restore(rows, moments);
}

Step step_of(const DelayPlan& plan, const BaseState& state, const Input& input,
             const core::MutableSampleView<3>& trials) {
  const Config& config = plan.config();
  const std::size_t times = state.phase + input.count, fresh = times / config.downsample;
  const std::size_t complete = state.held + fresh;
  const std::size_t samples = complete > plan.max_delay() ? complete - plan.max_delay() : 0;
  if (input.count > config.max_samples)
    refuse_call("input's count", input.count,
                "at most max_samples, " + std::to_string(config.max_samples));
  if (input.count > 0 && input.data == nullptr) refuse_call("input's data", 0, "an address");
  const Input dense = with_strides(config, Input{input.layout, input.data, input.count, 0, 0});
  if (input.stride_bytes != 0 && input.stride_bytes < dense.stride_bytes)
    refuse_call("input's stride_bytes", input.stride_bytes,
                std::to_string(dense.stride_bytes) + " or more");
  const std::size_t element = input.layout == Input::Layout::rows || config.bits > 8
                                  ? static_cast<std::size_t>(std::max(8, config.bits)) / 8
                                  : 1;
  if (input.stride_bytes % element != 0 || input.beam_stride_bytes % element != 0)
    refuse_call("input's stride_bytes", input.stride_bytes, "whole samples");
  require_trials(plan, trials, samples);
  return {fresh, samples, times % config.downsample};
}

}  // namespace tautline::stages::dedisperse
