// The F-engine's delays: samples wait in a line until every input has the samples for its delay, and the filter
// restarts from its own history when a whole-sample delay changes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/pipeline/voltages/f_engine.h"
#include "tautline/pipeline/voltages/frequencies.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

// Length of a run of spectra with one linear delay: over this time the earth's rotation moves a baseline's delay off
// the line by less than 1e-14 of the baseline's length.
constexpr double kRun_s = 0.1;
constexpr std::uint64_t kMostSpectraInRun = 1024;

struct Range {
  std::int64_t low = 0, high = 0;
};

// Whole-sample delays that the models reach within the stream, and one more on either side.
Range whole_sample_range(const formats::delays::Table& table, const core::Instant& start,
                         const core::Instant& end, const core::Rational& rate) {
  double low = 0, high = 0;
  const auto include = [&](double delay_s) {
    low = std::min(low, delay_s);
    high = std::max(high, delay_s);
  };
  for (const formats::delays::Model& model : table.inputs) {
    include(formats::delays::evaluate(model, start).delay_s);
    include(formats::delays::evaluate(model, end).delay_s);
    for (std::size_t p = 0; p < model.size(); ++p) {
      include(model[p].delay_s);
      if (p + 1 < model.size())
        include(model[p].delay_s +
                model[p].delay_rate * core::seconds_between(model[p].start, model[p + 1].start));
    }
  }
  return {static_cast<std::int64_t>(std::floor(low * rate.value())) - 1,
          static_cast<std::int64_t>(std::ceil(high * rate.value())) + 1};
}

}  // namespace

void FEngine::set_delays(std::shared_ptr<const formats::delays::Table> table,
                         const core::Instant& end) {
  if (description_.channelized())
    throw Error(ErrorKind::unsupported, "delays_path", "input that is already channelized",
                "voltages before the filter bank",
                "apply the delays to the visibilities with `phase_centre`");
  const core::Instant last =
      core::advance(end, static_cast<std::int64_t>(span_), description_.rate_hz);
  formats::delays::require_cover(*table, inputs_, description_.start, end);
  delays_ = std::move(table);
  const Range range = whole_sample_range(*delays_, description_.start, last, description_.rate_hz);
  delay_history_ = static_cast<std::size_t>(range.high - range.low) + span_ + hop_ + 64;
  const double spectra = kRun_s * description_.rate_hz.value() / static_cast<double>(hop_);
  spectra_per_run_ =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(spectra), 1, kMostSpectraInRun);
}

void FEngine::begin_run() {
  run_ = next_spectrum_ / spectra_per_run_;
  SpectraRun run;
  run.start =
      core::advance(description_.start, static_cast<std::int64_t>(run_ * spectra_per_run_ * hop_),
                    description_.rate_hz);
  run.rate_hz = description_.rate_hz;
  run.hop_samples = hop_;
  run.span_samples = span_;
  run.spectra = spectra_per_run_;
  run.baseband_zero_hz = baseband_zero_hz(description_);
  std::vector<std::int64_t> before = std::move(run_delays_.whole_samples);
  run_delays_ = run_delays(*delays_, run);
  if (before != run_delays_.whole_samples) {
    reset_filters();
    next_sample_ = static_cast<std::int64_t>(next_spectrum_ * hop_);
  }
}

SpectraChunk FEngine::take_delayed(device::Queue& queue, std::size_t limit) {
  if (limit == 0) return {};
  if (next_spectrum_ / spectra_per_run_ != run_) begin_run();
  const std::uint64_t run_first = run_ * spectra_per_run_;
  const std::uint64_t wanted =
      std::min<std::uint64_t>(limit, run_first + spectra_per_run_ - next_spectrum_);
  const auto needed =
      static_cast<std::int64_t>((next_spectrum_ + wanted - 1) * hop_ + span_) - next_sample_;
  const auto& whole = run_delays_.whole_samples;
  const std::int64_t available =
      line_->end() + *std::min_element(whole.begin(), whole.end()) - next_sample_;
  const std::int64_t count =
      std::min({needed, available, static_cast<std::int64_t>(max_block_samples_)});
  if (count <= 0) return {};

  line_->gather(queue, next_sample_, static_cast<std::size_t>(count), whole, samples_.data(),
                row_samples_ * sample_bytes_, input_valid_);
  next_sample_ += count;
  stages::channelize::Input input;
  input.samples = samples_.data();
  input.count = static_cast<std::size_t>(count);
  input.validity = input_valid_.view();
  input.phases = run_delays_.phases;
  const auto passed = static_cast<double>(next_spectrum_ - run_first);
  for (stages::channelize::PhaseModel& phase : input.phases) {
    phase.phase_rad += passed * phase.phase_step_rad;
    phase.slope_rad += passed * phase.slope_step_rad;
  }
  const SpectraChunk chunk = filter(queue, input);
  // Samples without a complete spectrum: the line may have more.
  return chunk.spectra > 0 ? chunk : take_delayed(queue, limit);
}

}  // namespace tautline::pipeline
