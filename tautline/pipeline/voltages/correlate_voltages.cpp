#include "tautline/pipeline/voltages/correlate_voltages.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "tautline/core/error.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/report/report_builder.h"
#include "tautline/pipeline/voltages/block_reader.h"
#include "tautline/pipeline/voltages/correlation_engines.h"
#include "tautline/pipeline/voltages/frequencies.h"
#include "tautline/pipeline/voltages/gains.h"
#include "tautline/pipeline/voltages/measure_gains.h"
#include "tautline/pipeline/voltages/tracking.h"
#include "tautline/stream/ring.h"
#include "tautline/stream/voltage_sequence.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

constexpr std::size_t kIntegrations = 2;  // one being written, one being filled

// The first exception of several threads wins; the others stop at the next ring operation.
class FirstError {
 public:
  void capture() {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

stream::SequenceOptions sequence_options(const CorrelateConfig& config) {
  return {.reader = config.reader, .start_s = config.start_s, .duration_s = config.duration_s};
}

// One run: owns everything between the files and the writer.
class Correlation {
 public:
  Correlation(const CorrelateConfig& config,
              const std::vector<std::shared_ptr<const device::Device>>& devices,
              const ProgressCallback& progress, std::stop_token stop)
      : config_(config),
        stop_(std::move(stop)),
        host_(devices.front()->compiles() ? device::open({}) : devices.front()),
        sequence_(config.inputs, sequence_options(config)),
        description_(sequence_.description()),
        progress_(progress),
        engines_(config, sequence_, devices) {}

  CorrelateSummary run();

 private:
  void plan();
  void check_memory() const;
  void describe();
  void track();
  void set_gains();
  void write_integrations(formats::VisibilityWriter& writer);
  void compute(BlockReader& blocks);
  void begin_segment(const ReadBlock& block);
  void compute_block(const ReadBlock& block);
  void finish_integration();
  void finish_report(const CorrelateSummary& result,
                     const std::map<std::string, std::uint64_t>& counters);
  CorrelateSummary summary();
  double stream_s() const {
    return static_cast<double>(samples_done_) / description_.rate_hz.value();
  }

  const CorrelateConfig& config_;
  std::stop_token stop_;
  std::shared_ptr<const device::Device> host_;  // for what is the host's to do
  stream::VoltageSequence sequence_;
  const core::VoltageDescription& description_;

  ProgressReporter progress_;
  std::uint64_t spectra_per_integration_ = 0;
  formats::VisibilityDescription output_;
  Tracking tracking_;
  std::unique_ptr<report::ReportBuilder> report_;
  core::Instant segment_start_;
  std::uint64_t segment_samples_ = 0, segment_spectra_ = 0;
  std::uint64_t integrated_ = 0;  // spectra of the integration that is being filled

  stream::Ring<FinishedIntegration> finished_{kIntegrations, stream::RingPolicy::block};
  FirstError error_;

  CorrelationEngines engines_;  // given back before what its devices write to

  double setup_s_ = 0;
  std::uint64_t samples_done_ = 0, spectra_done_ = 0, integrations_ = 0;
  std::uint64_t overflowed_ = 0;  // of the thread that writes
};

void Correlation::plan() {
  const double rate_hz = description_.rate_hz.value();
  const auto hop_samples = static_cast<double>(engines_.hop_samples());
  const double spectra = config_.integration_s * rate_hz / hop_samples;
  if (!(spectra >= 0.5 && spectra < 1e15))
    throw Error(ErrorKind::config, "integration_s", fmt::format("{} s", config_.integration_s),
                fmt::format("at least one spectrum ({} s)", hop_samples / rate_hz));
  spectra_per_integration_ = static_cast<std::uint64_t>(std::llround(spectra));
}

void Correlation::check_memory() const {
  engines_.require_device_memory(kIntegrations);
  const std::size_t host_bytes = kRawBlocks * sequence_.block_bytes(engines_.block_samples()) +
                                 engines_.host_bytes(kIntegrations);
  if (host_bytes > config_.memory_bytes)
    throw Error(ErrorKind::memory, "memory",
                fmt::format("{} KiB needed for {} inputs and {} channels", host_bytes >> 10,
                            engines_.inputs(), engines_.channels()),
                fmt::format("at most {} KiB", config_.memory_bytes >> 10),
                "raise `memory_bytes` or lower `channels`");
}

void Correlation::describe() {
  output_.array = config_.array_path.empty()
                      ? formats::unknown_array(description_.antennas, description_.polarisations)
                      : formats::read_array_layout(config_.array_path);
  formats::assume_polarisations(output_.array, description_.polarisations);
  formats::require_inputs(output_.array, engines_.inputs());
  output_.channel_hz = channel_frequencies_hz(description_, config_.filter.channels);
  output_.channel_width_hz = channel_width_hz(description_, config_.filter.channels);
  output_.nominal_count = static_cast<std::int64_t>(spectra_per_integration_);
  output_.integration_s = static_cast<double>(spectra_per_integration_) *
                          static_cast<double>(engines_.hop_samples()) /
                          description_.rate_hz.value();
  output_.earth = config_.earth;
  output_.telescope = description_.telescope;
  output_.instrument = description_.instrument;
  output_.source = description_.source;
  output_.history = config_.history;
  std::string devices;
  for (const DeviceShare& share : engines_.shares())
    devices += (devices.empty() ? "" : ", ") + share.device;
  output_.extra["device"] = devices;
  output_.extra["kernels"] = engines_.kernels();
  std::string inputs;
  for (const std::string& file : sequence_.files()) inputs += (inputs.empty() ? "" : " ") + file;
  output_.extra["inputs"] = inputs;
  if (!description_.channelized() && config_.requantise != Requantise::off)
    output_.extra.emplace(kRequantisedBits, config_.requantise == Requantise::bits4 ? "4" : "8");
}

void Correlation::set_gains() {
  if (description_.channelized() || config_.requantise == Requantise::off) return;
  const std::vector<float> gains =
      measure_gains(config_.inputs, sequence_options(config_), filter_of(config_), host_,
                    *host_->make_queue(), config_.memory_bytes, stop_);
  engines_.set_gains(gains);
  output_.requantisation_gains.assign(gains.begin(), gains.end());
}

void Correlation::track() {
  tracking_ = choose_tracking(config_.delays_path, config_.phase_centre, output_.array,
                              description_.start, sequence_.end(), config_.earth);
  if (!tracking_.table) return;
  output_.phase_centre = tracking_.centre;
  if (!tracking_.before_filter) return;
  engines_.set_delays(tracking_.table, sequence_.end());
}

CorrelateSummary Correlation::run() {
  plan();
  if (config_.opened) config_.opened(description_);
  describe();
  track();
  check_memory();
  set_gains();
  engines_.make_ready();
  finished_.prepare([this](FinishedIntegration& out) { engines_.prepare(out); });
  const auto writer = formats::create_visibilities(config_.output, output_, config_.overwrite);
  if (!config_.report_path.empty())
    report_ =
        std::make_unique<report::ReportBuilder>(config_.report_path, output_, config_.overwrite);
  setup_s_ = progress_.elapsed_s();
  {
    BlockReader blocks(sequence_, engines_.block_samples(), stop_);
    const std::jthread writing([this, &writer, &blocks] {
      write_integrations(*writer);
      blocks.close();
    });
    compute(blocks);
  }
  error_.rethrow();
  const CorrelateSummary result = summary();
  if (result.integrations == 0)
    throw Error(ErrorKind::format, config_.inputs.front() + ": samples",
                std::to_string(result.samples),
                fmt::format("{} at least, one spectrum", engines_.span_samples()),
                "give a longer stream, or fewer `channels` or `taps`");
  const std::map<std::string, std::uint64_t> counters{
      {"spectra", result.spectra},
      {"clipped", result.clipped},
      {"not_finite", result.not_finite},
      {"overflowed", result.overflowed},
      {"lost_samples", result.damage.lost_samples},
      {"dropped_samples", result.damage.dropped_samples},
      {"gap_samples", result.gap_samples},
      {"trailing_bytes", result.damage.trailing_bytes}};
  for (const auto& [name, count] : counters) writer->add_extra(name, std::to_string(count));
  if (report_) finish_report(result, counters);
  try {
    writer->finish();
  } catch (...) {  // no page without its visibilities
    if (report_) std::filesystem::remove(config_.report_path);
    throw;
  }
  return result;
}

void Correlation::finish_report(const CorrelateSummary& result,
                                const std::map<std::string, std::uint64_t>& counters) {
  for (const auto& [name, count] : counters) report_->add_extra(name, std::to_string(count));
  report_->set_clipped(engines_.clipped(), 2 * result.spectra * result.channels);
  for (const std::string& message : result.damage.messages) report_->add_warning(message);
  if (result.overflowed > 0) report_->add_warning(overflow_message(result));
  report_->finish();
}

void Correlation::write_integrations(formats::VisibilityWriter& writer) {
  const std::array<std::size_t, 2> extents{engines_.channels(),
                                           core::baseline_count(engines_.inputs())};
  const auto queue = host_->make_queue();
  try {
    while (FinishedIntegration* done = finished_.begin_read()) {
      engines_.complete(*queue, *done);
      for (const std::uint64_t count : done->overflowed) overflowed_ += count;
      if (tracking_.table && !tracking_.before_filter)
        rotate_visibilities(delays_at(*tracking_.table, done->middle), output_.channel_hz,
                            {done->visibilities.data(), extents});
      const formats::Integration integration{done->middle,
                                             done->integration_s,
                                             {done->visibilities.data(), extents},
                                             {done->counts.data(), extents}};
      writer.write(integration);
      if (report_) report_->write(integration);
      finished_.end_read();
    }
  } catch (...) {
    error_.capture();
    finished_.close();
  }
}

void Correlation::compute(BlockReader& blocks) {
  try {
    while (const ReadBlock* block = blocks.next()) {
      compute_block(*block);
      blocks.release();
      progress_.report(samples_done_, sequence_.total_samples(), stream_s());
    }
    finish_integration();
    progress_.report(samples_done_, sequence_.total_samples(), stream_s(), true);
  } catch (...) {
    error_.capture();
  }
  finished_.close();
}

void Correlation::begin_segment(const ReadBlock& block) {
  finish_integration();
  engines_.begin_segment(block.segment.start);
  segment_start_ = block.segment.start;
  segment_samples_ = segment_spectra_ = 0;
}

void Correlation::compute_block(const ReadBlock& block) {
  if (block.segment.first_block) begin_segment(block);
  engines_.push(block.raw);
  for (;;) {
    const std::size_t spectra = engines_.add(spectra_per_integration_ - integrated_);
    if (spectra == 0) break;
    require_running(stop_);
    spectra_done_ += spectra;
    segment_spectra_ += spectra;
    integrated_ += spectra;
    if (integrated_ == spectra_per_integration_) finish_integration();
  }
  engines_.pass_on(block.raw, segment_samples_, segment_spectra_ * engines_.hop_samples());
  samples_done_ += block.raw.samples;
  segment_samples_ += block.raw.samples;
}

void Correlation::finish_integration() {
  const std::uint64_t spectra = integrated_;
  if (spectra == 0) return;
  FinishedIntegration* out = finished_.begin_write();
  if (out == nullptr) throw Error(ErrorKind::io, "writer", "stopped", "");  // its own error is kept
  // The middle of the span from the first spectrum's first sample to the last one's last.
  const std::uint64_t first = segment_spectra_ - spectra;
  const std::uint64_t twice_middle =
      (2 * first + spectra - 1) * engines_.hop_samples() + engines_.span_samples();
  out->middle = core::advance_half(segment_start_, static_cast<std::int64_t>(twice_middle),
                                   description_.rate_hz);
  out->integration_s = static_cast<double>(spectra) * static_cast<double>(engines_.hop_samples()) /
                       description_.rate_hz.value();
  engines_.finish(*out);
  finished_.end_write();
  integrated_ = 0;
  ++integrations_;
}

CorrelateSummary Correlation::summary() {
  CorrelateSummary s;
  s.inputs = engines_.inputs();
  s.channels = engines_.channels();
  s.integrations = integrations_;
  s.spectra = spectra_done_;
  s.samples = samples_done_;
  s.spectra_per_integration = spectra_per_integration_;
  s.integration_s = output_.integration_s;
  s.elapsed_s = progress_.elapsed_s();
  s.setup_s = setup_s_;
  s.stream_s = stream_s();
  s.gap_samples = sequence_.gap_samples();
  for (const std::uint64_t clipped : engines_.clipped()) s.clipped += clipped;
  s.not_finite = engines_.not_finite();
  s.overflowed = overflowed_;
  s.devices = engines_.shares();
  s.damage = sequence_.damage();
  s.backend = engines_.kernels();
  s.memory_bytes = engines_.host_bytes(kIntegrations);
  return s;
}

}  // namespace

std::string overflow_message(const CorrelateSummary& summary) {
  return fmt::format(
      "{} visibilities overflowed: finite samples, but no float holds their products; flagged. "
      "Scale the samples down",
      summary.overflowed);
}

CorrelateSummary correlate_voltages(
    const CorrelateConfig& config,
    const std::vector<std::shared_ptr<const device::Device>>& devices,
    const ProgressCallback& progress, std::stop_token stop) {
  core::check(config);
  return Correlation(config, devices, progress, std::move(stop)).run();
}

}  // namespace tautline::pipeline
