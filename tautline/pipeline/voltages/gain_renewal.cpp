#include "tautline/pipeline/voltages/gain_renewal.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tautline::pipeline {

namespace {

FilterConfig measured_in_floats(FilterConfig filter) {
  filter.output = stages::channelize::Output::spectra_float;
  return filter;
}

}  // namespace

GainRenewal::GainRenewal(std::shared_ptr<const device::Device> host, const RawVoltages& voltages,
                         FilterConfig filter, std::size_t max_block_samples,
                         const GainSchedule& schedule)
    : engine_(std::move(host), voltages.description, voltages.layout, measured_in_floats(filter),
              max_block_samples),
      meter_(engine_.inputs(), engine_.channels()),
      target_(rms_before_rounding(filter.output)),
      schedule_(schedule),
      spectra_per_s_(voltages.description.rate_hz.value() /
                     static_cast<double>(engine_.hop_samples())) {}

std::size_t GainRenewal::bytes() const {
  return engine_.bytes().host_bytes + engine_.output_bytes() +
         PowerMeter::bytes(engine_.inputs(), engine_.channels());
}

void GainRenewal::start(const std::vector<float>& gains, std::uint64_t integration_spectra) {
  gains_ = std::make_shared<const std::vector<float>>(gains);
  length_ = integration_spectra;
  const std::uint64_t span = engine_.span_samples() / engine_.hop_samples() + 1;
  // The next window would begin before the end of this one.
  unbroken_ = length_ <= kGainSpectra + span;
  window_length_ = unbroken_ ? length_ : kGainSpectra;
  period_ = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(schedule_.settle_s * spectra_per_s_)));
}

void GainRenewal::begin_segment(const core::Instant& start) {
  segment_start_ = start;
  block_ = nullptr;
  window_ = left_ = 0;
}

void GainRenewal::take_block(device::Queue& host_queue, const core::RawBlock& block,
                             std::uint64_t first) {
  block_ = &block;
  first_ = first;
  pushed_ = measuring_ && (left_ > 0 || (unbroken_ && window_ > 0));
  if (pushed_) engine_.push(host_queue, block);
}

// False: the window begins in a later block.
bool GainRenewal::begin_window(device::Queue& host_queue) {
  const bool goes_on = unbroken_ && window_ > 0;
  const std::uint64_t start = window_ * length_ * engine_.hop_samples();
  if (!goes_on && start >= first_ + block_->samples) return false;
  if (!goes_on) {
    if (!pushed_) {
      engine_.begin_segment(segment_start_);
      engine_.push(host_queue, *block_);
      pushed_ = true;
    }
    engine_.restart_at(static_cast<std::size_t>(start - first_));
  }
  left_ = window_length_;
  return true;
}

void GainRenewal::measure(device::Queue& host_queue, std::uint64_t until_spectrum) {
  while (measuring_ && window_ * length_ < until_spectrum) {
    if (left_ == 0 && !begin_window(host_queue)) return;
    const SpectraChunk chunk = engine_.take(host_queue, left_);
    if (chunk.spectra == 0) return;  // the rest is in the next block
    meter_.add(host_queue, chunk.samples.as<const std::complex<float>>(), chunk.valid,
               chunk.spectra);
    left_ -= chunk.spectra;
    if (left_ == 0) ++window_;
  }
}

bool GainRenewal::renew() {
  if (!measuring_ || since_change_ < period_) return false;
  since_change_ = 0;
  measuring_ = schedule_.follow;
  std::vector<float> next = meter_.gains(target_, *gains_);
  meter_.clear();
  if (next == *gains_) return false;
  gains_ = std::make_shared<const std::vector<float>>(std::move(next));
  ++changes_;
  return true;
}

}  // namespace tautline::pipeline
