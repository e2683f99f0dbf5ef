#include "tautline/pipeline/correlate_voltages.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "tautline/core/error.h"
#include "tautline/pipeline/block_reader.h"
#include "tautline/pipeline/block_size.h"
#include "tautline/pipeline/block_tail.h"
#include "tautline/pipeline/device_memory.h"
#include "tautline/pipeline/device_team.h"
#include "tautline/pipeline/frequencies.h"
#include "tautline/pipeline/gains.h"
#include "tautline/pipeline/integrator.h"
#include "tautline/pipeline/measure_gains.h"
#include "tautline/pipeline/report/report_builder.h"
#include "tautline/pipeline/tracking.h"
#include "tautline/stream/ring.h"
#include "tautline/stream/voltage_sequence.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;
using stages::channelize::Output;

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

Output output_of(Requantise requantise) {
  switch (requantise) {
    case Requantise::off:
      return Output::turned_float;
    case Requantise::bits4:
      return Output::turned_ci4;
    case Requantise::bits8:
      return Output::turned_ci8;
  }
  return Output::turned_float;
}

// How several devices share a stream. Whatever they are sent, each one's link carries it beside the
// others'.
enum class Sharing {
  /// A stream that is channelized already: each device is sent its channels and correlates them.
  channels,
  /// Voltages: blocks in turn, each with the samples before it that its first spectra begin with.
  /// Every
  /// device correlates all channels, and sums of integers are added on the host.
  blocks,
  /// Voltages whose sums are floats, which added in another order would be others, or whose filter
  /// depends on more than a spectrum's samples: every device has all of them and does all of the
  /// filter bank, and correlates its channels.
  filtered_channels
};

// One device's part.
struct Engine {
  std::shared_ptr<const device::Device> device;
  std::unique_ptr<device::Queue> queue;
  std::unique_ptr<FEngine> f_engine;
  std::unique_ptr<Integrator> integrator;
};

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
        team_(devices.size()),
        progress_(progress) {
    for (const auto& device : devices) engines_.push_back({device, device->make_queue(), {}, {}});
  }

  /// What the devices have is given back to all of them at once.
  ~Correlation() {
    team_.each([this](std::size_t e) {
      engines_[e].integrator.reset();
      engines_[e].f_engine.reset();
    });
  }

  CorrelateSummary run();

 private:
  void plan();
  Sharing choose_sharing() const;
  ChannelRange share(std::size_t engine) const;
  void check_memory() const;
  void describe();
  void track();
  void set_gains();
  void complete(device::Queue& queue, FinishedIntegration& done);
  void write_integrations(formats::VisibilityWriter& writer);
  void compute(BlockReader& blocks);
  void begin_segment(const ReadBlock& block);
  void compute_block(const ReadBlock& block);
  void pass_on(const ReadBlock& block);
  void finish_integration();
  void finish_report(const CorrelateSummary& result,
                     const std::map<std::string, std::uint64_t>& counters);
  std::vector<std::uint64_t> clipped_of_inputs();
  CorrelateSummary summary();
  std::string kernels() const;
  const FEngine& f_engine() const { return *engines_.front().f_engine; }
  const Integrator& integrator() const { return *engines_.front().integrator; }
  std::size_t channels() const {
    return description_.channelized() ? description_.channels : config_.filter.channels;
  }
  double stream_s() const {
    return static_cast<double>(samples_done_) / description_.rate_hz.value();
  }
  /// Calls work(engine) for those that work on the block: all at once, or the one whose turn it is.
  void each_at_work(const std::function<void(Engine&)>& work) {
    if (sharing_ == Sharing::blocks) return work(engines_[turn_]);
    team_.each([&](std::size_t e) { work(engines_[e]); });
  }

  const CorrelateConfig& config_;
  std::stop_token stop_;
  std::shared_ptr<const device::Device> host_;  // for what is the host's to do
  stream::VoltageSequence sequence_;
  const core::VoltageDescription& description_;

  std::size_t block_samples_ = 0;
  std::uint64_t spectra_per_integration_ = 0;
  std::vector<Engine> engines_;
  Sharing sharing_ = Sharing::channels;
  DeviceTeam team_;
  std::size_t turn_ = 0;  // whose block it is
  formats::VisibilityDescription output_;
  Tracking tracking_;
  std::unique_ptr<report::ReportBuilder> report_;
  core::Instant segment_start_;
  std::uint64_t segment_samples_ = 0, segment_spectra_ = 0;
  std::uint64_t integrated_ = 0;  // spectra of the integration that is being filled
  core::RawBlock tail_;

  stream::Ring<FinishedIntegration> finished_{kIntegrations, stream::RingPolicy::block};
  FirstError error_;

  ProgressReporter progress_;
  double setup_s_ = 0;
  std::uint64_t samples_done_ = 0, spectra_done_ = 0, integrations_ = 0;
};

void Correlation::plan() {
  FilterConfig filter = config_.filter;
  filter.output = output_of(config_.requantise);
  const bool gpu = engines_.front().device->compiles();
  // Of a channelized stream each device has a part of a block, else whole ones.
  block_samples_ = choose_block_samples(sequence_, filter, config_.memory_bytes, gpu,
                                        description_.channelized() ? 1 : engines_.size());
  if (engines_.size() > channels())
    throw Error(ErrorKind::config, "--device", fmt::format("{} devices", engines_.size()),
                fmt::format("at most one for each of the {} channels", channels()));
  sharing_ = choose_sharing();
  const core::RawLayout layout = sequence_.layout(block_samples_);
  team_.each([&](std::size_t e) {
    const ChannelRange sent = sharing_ == Sharing::channels ? share(e) : ChannelRange{};
    engines_[e].f_engine = std::make_unique<FEngine>(
        engines_[e].device, description_, layout, filter, block_samples_, Results::on_device, sent);
  });
  const double spectra = config_.integration_s * description_.rate_hz.value() /
                         static_cast<double>(f_engine().hop_samples());
  if (!(spectra >= 0.5 && spectra < 1e15))
    throw Error(
        ErrorKind::config, "--integration", fmt::format("{} s", config_.integration_s),
        fmt::format("at least one spectrum ({} s)",
                    static_cast<double>(f_engine().hop_samples()) / description_.rate_hz.value()));
  spectra_per_integration_ = static_cast<std::uint64_t>(std::llround(spectra));
  team_.each([&](std::size_t e) {
    engines_[e].integrator =
        std::make_unique<Integrator>(engines_[e].device, share(e), f_engine().inputs(),
                                     f_engine().sample_format(), f_engine().max_spectra());
  });
}

Sharing Correlation::choose_sharing() const {
  if (description_.channelized()) return Sharing::channels;
  const FilterConfig& filter = config_.filter;
  const bool exact = config_.requantise != Requantise::off;
  const bool delayed = !config_.delays_path.empty() && config_.phase_centre.empty();
  const bool by_samples_alone = filter.oversample_numerator == filter.oversample_denominator;
  return engines_.size() > 1 && exact && !delayed && by_samples_alone &&
                 ends_with_last_samples(sequence_.layout(block_samples_))
             ? Sharing::blocks
             : Sharing::filtered_channels;
}

ChannelRange Correlation::share(std::size_t engine) const {
  return sharing_ == Sharing::blocks ? ChannelRange{0, channels()}
                                     : share_of(channels(), engine, engines_.size());
}

void Correlation::check_memory() const {
  std::size_t host_bytes = kRawBlocks * sequence_.block_bytes(block_samples_);
  for (const Engine& e : engines_) {
    const device::MemoryUse filter = e.f_engine->bytes(), sums = e.integrator->bytes(kIntegrations);
    host_bytes += filter.host_bytes + sums.host_bytes;
    const StageMemory stages[] = {
        {description_.channelized() ? "unpack" : "unpack and channelize", filter.device_bytes},
        {"correlate", sums.device_bytes}};
    require_device_memory(*e.device, stages, e.f_engine->inputs(), channels());
  }
  if (host_bytes > config_.memory_bytes)
    throw Error(ErrorKind::memory, "memory",
                fmt::format("{} KiB needed for {} inputs and {} channels", host_bytes >> 10,
                            f_engine().inputs(), channels()),
                fmt::format("at most {} KiB", config_.memory_bytes >> 10),
                "raise --memory or lower --channels");
}

void Correlation::describe() {
  output_.array = config_.array_path.empty()
                      ? formats::unknown_array(description_.antennas, description_.polarisations)
                      : formats::read_array_layout(config_.array_path);
  formats::assume_polarisations(output_.array, description_.polarisations);
  formats::require_inputs(output_.array, f_engine().inputs());
  output_.channel_hz = channel_frequencies_hz(description_, config_.filter.channels);
  output_.channel_width_hz = channel_width_hz(description_, config_.filter.channels);
  output_.nominal_count = static_cast<std::int64_t>(spectra_per_integration_);
  output_.integration_s = static_cast<double>(spectra_per_integration_) *
                          static_cast<double>(f_engine().hop_samples()) /
                          description_.rate_hz.value();
  output_.earth = config_.earth;
  output_.telescope = description_.telescope;
  output_.instrument = description_.instrument;
  output_.source = description_.source;
  output_.history = config_.history;
  for (const Engine& e : engines_)
    output_.extra["device"] += (e.device == engines_.front().device ? "" : ", ") + e.device->name();
  output_.extra["kernels"] = kernels();
  std::string inputs;
  for (const std::string& file : sequence_.files()) inputs += (inputs.empty() ? "" : " ") + file;
  output_.extra["inputs"] = inputs;
  if (!description_.channelized() && config_.requantise != Requantise::off)
    output_.extra.emplace(kRequantisedBits, config_.requantise == Requantise::bits4 ? "4" : "8");
}

void Correlation::set_gains() {
  if (description_.channelized() || config_.requantise == Requantise::off) return;
  FilterConfig filter = config_.filter;
  filter.output = output_of(config_.requantise);
  const std::vector<float> gains =
      measure_gains(config_.inputs, sequence_options(config_), filter, host_, *host_->make_queue(),
                    config_.memory_bytes, stop_);
  for (Engine& e : engines_) {
    e.f_engine->set_gains(gains);
    e.integrator->set_gains(gains);
  }
  output_.requantisation_gains.assign(gains.begin(), gains.end());
}

void Correlation::track() {
  tracking_ = choose_tracking(config_.delays_path, config_.phase_centre, output_.array,
                              description_.start, sequence_.end(), config_.earth);
  if (!tracking_.table) return;
  output_.phase_centre = tracking_.centre;
  if (!tracking_.before_filter) return;
  for (Engine& e : engines_) e.f_engine->set_delays(tracking_.table, sequence_.end());
}

CorrelateSummary Correlation::run() {
  plan();
  describe();
  track();
  check_memory();
  set_gains();
  team_.each([this](std::size_t e) {
    engines_[e].f_engine->make_ready(*engines_[e].queue);
    engines_[e].integrator->make_ready(*engines_[e].queue);
  });
  finished_.prepare([this](FinishedIntegration& out) {
    out.resize(channels(), f_engine().inputs(), engines_.size());
    team_.each([&](std::size_t e) { engines_[e].integrator->prepare(out, e); });
  });
  const auto writer = formats::create_visibilities(config_.output, output_, config_.overwrite);
  if (!config_.report_path.empty())
    report_ =
        std::make_unique<report::ReportBuilder>(config_.report_path, output_, config_.overwrite);
  setup_s_ = progress_.elapsed_s();
  {
    BlockReader blocks(sequence_, block_samples_, stop_);
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
                fmt::format("{} at least, one spectrum", f_engine().span_samples()),
                "give a longer stream, or fewer --channels or --taps");
  const std::map<std::string, std::uint64_t> counters{
      {"spectra", result.spectra},
      {"clipped", result.clipped},
      {"not_finite", result.not_finite},
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
  report_->set_clipped(clipped_of_inputs(), 2 * result.spectra * result.channels);
  for (const std::string& message : result.damage.messages) report_->add_warning(message);
  report_->finish();
}

void Correlation::write_integrations(formats::VisibilityWriter& writer) {
  const std::array<core::Axis, 2> axes{core::Axis::channel, core::Axis::baseline};
  const std::array<std::size_t, 2> extents{channels(), core::baseline_count(f_engine().inputs())};
  const auto queue = host_->make_queue();
  try {
    while (FinishedIntegration* done = finished_.begin_read()) {
      complete(*queue, *done);
      if (tracking_.table && !tracking_.before_filter)
        rotate_visibilities(delays_at(*tracking_.table, done->middle), output_.channel_hz,
                            {done->visibilities.data(), axes, extents});
      const formats::Integration integration{done->middle,
                                             done->integration_s,
                                             {done->visibilities.data(), axes, extents},
                                             {done->counts.data(), axes, extents}};
      writer.write(integration);
      if (report_) report_->write(integration);
      finished_.end_read();
    }
  } catch (...) {
    error_.capture();
    finished_.close();
  }
}

// Means of what came from devices that compile; the others' are there already.
void Correlation::complete(device::Queue& queue, FinishedIntegration& done) {
  if (!engines_.front().device->compiles()) return;
  const bool same_channels = sharing_ == Sharing::blocks;
  for (std::size_t e = 1; same_channels && e < engines_.size(); ++e)
    integrator().join(queue, done, 0, e);
  for (std::size_t e = 0; e < (same_channels ? 1 : engines_.size()); ++e)
    engines_[e].integrator->complete(queue, done, e);
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
  for (Engine& e : engines_) e.f_engine->begin_segment(block.segment.start);
  segment_start_ = block.segment.start;
  segment_samples_ = segment_spectra_ = 0;
}

void Correlation::compute_block(const ReadBlock& block) {
  if (block.segment.first_block) begin_segment(block);
  each_at_work([&](Engine& e) { e.f_engine->push(*e.queue, block.raw); });
  for (;;) {
    const auto limit = static_cast<std::size_t>(
        std::min<std::uint64_t>(f_engine().max_spectra(), spectra_per_integration_ - integrated_));
    std::atomic<std::size_t> spectra = 0;
    each_at_work([&](Engine& e) {
      const SpectraChunk chunk = e.f_engine->take(*e.queue, limit);
      e.integrator->add(*e.queue, chunk);
      spectra = chunk.spectra;  // of all the same
    });
    if (spectra == 0) break;
    require_running(stop_);
    spectra_done_ += spectra;
    segment_spectra_ += spectra;
    integrated_ += spectra;
    if (integrated_ == spectra_per_integration_) finish_integration();
  }
  samples_done_ += block.raw.samples;
  segment_samples_ += block.raw.samples;
  if (sharing_ == Sharing::blocks) pass_on(block);
}

// The next block is the next device's, which first gets the samples that the next spectrum begins
// with. When the last block has not all of them, the same device goes on.
void Correlation::pass_on(const ReadBlock& block) {
  const std::uint64_t begin = segment_spectra_ * f_engine().hop_samples();
  const std::uint64_t block_begin = segment_samples_ - block.raw.samples;
  if (begin < block_begin) return;
  turn_ = (turn_ + 1) % engines_.size();
  take_tail(block.raw, static_cast<std::size_t>(begin - block_begin), tail_);
  Engine& next = engines_[turn_];
  next.f_engine->go_on_after(*next.queue, tail_);
}

void Correlation::finish_integration() {
  const std::uint64_t spectra = integrated_;
  if (spectra == 0) return;
  FinishedIntegration* out = finished_.begin_write();
  if (out == nullptr) throw Error(ErrorKind::io, "writer", "stopped", "");  // its own error is kept
  // The middle of the span from the first spectrum's first sample to the last one's last.
  const std::uint64_t first = segment_spectra_ - spectra;
  const std::uint64_t twice_middle =
      (2 * first + spectra - 1) * f_engine().hop_samples() + f_engine().span_samples();
  out->middle = core::advance_half(segment_start_, static_cast<std::int64_t>(twice_middle),
                                   description_.rate_hz);
  out->integration_s = static_cast<double>(spectra) *
                       static_cast<double>(f_engine().hop_samples()) / description_.rate_hz.value();
  team_.each([&](std::size_t e) { engines_[e].integrator->finish(*engines_[e].queue, *out, e); });
  finished_.end_write();
  integrated_ = 0;
  ++integrations_;
}

// Each device that filters all channels of a block counts all of its components.
std::vector<std::uint64_t> Correlation::clipped_of_inputs() {
  std::vector<std::uint64_t> sums(f_engine().inputs());
  for (std::size_t e = 0; e < (sharing_ == Sharing::blocks ? engines_.size() : 1); ++e) {
    const auto& clipped = engines_[e].f_engine->clipped(*engines_[e].queue);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += clipped[i];
  }
  return sums;
}

std::string Correlation::kernels() const {
  return f_engine().backend() + ", correlate " + integrator().backend();
}

CorrelateSummary Correlation::summary() {
  CorrelateSummary s;
  s.inputs = f_engine().inputs();
  s.channels = channels();
  s.integrations = integrations_;
  s.spectra = spectra_done_;
  s.samples = samples_done_;
  s.spectra_per_integration = spectra_per_integration_;
  s.integration_s = output_.integration_s;
  s.elapsed_s = progress_.elapsed_s();
  s.setup_s = setup_s_;
  s.stream_s = stream_s();
  s.gap_samples = sequence_.gap_samples();
  for (const std::uint64_t clipped : clipped_of_inputs()) s.clipped += clipped;
  for (const Engine& e : engines_) {
    if (sharing_ == Sharing::blocks || s.devices.empty()) s.not_finite += e.f_engine->not_finite();
    s.devices.push_back({e.device->name(), e.f_engine->sent_bytes()});
  }
  s.damage = sequence_.damage();
  s.backend = kernels();
  for (const Engine& e : engines_)
    s.memory_bytes +=
        e.f_engine->bytes().host_bytes + e.integrator->bytes(kIntegrations).host_bytes;
  return s;
}

}  // namespace

CorrelateSummary correlate_voltages(
    const CorrelateConfig& config,
    const std::vector<std::shared_ptr<const device::Device>>& devices,
    const ProgressCallback& progress, std::stop_token stop) {
  return Correlation(config, devices, progress, std::move(stop)).run();
}

}  // namespace tautline::pipeline
