#include "tautline/pipeline/photons/curve_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/photons/count_source_node.h"
#include "tautline/pipeline/photons/curve_parts.h"
#include "tautline/pipeline/photons/curve_plan.h"
#include "tautline/pipeline/photons/curve_summary.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/time_calls.h"
#include "tautline/stages/autocorrelate/lag_scheme.h"

namespace tautline::pipeline {

namespace {

// A live run could not find its detectors ahead of time; those left out of a file are named when it is opened.
void add_ignored(const std::vector<formats::DetectorCount>& ignored, AutocorrelateSummary& s) {
  std::string names;
  for (const formats::DetectorCount& one : ignored) {
    s.ignored_photons += one.photons;
    names += (names.empty() ? "" : ", ") + std::to_string(one.channel);
  }
  if (!ignored.empty() && s.live)
    s.warnings.push_back(fmt::format("{} of detector{} {} not asked for by `detectors`",
                                     core::counted(s.ignored_photons, "photon"),
                                     ignored.size() == 1 ? "" : "s",
                                     names + (s.ignored_photons == 1 ? " was" : " were")));
}

// `cut`: whether the sums are those of the parts between.
std::string breaks_text(const std::string& input, std::size_t breaks, bool cut) {
  const std::string places = core::counted(breaks, "place");
  if (cut)
    return fmt::format("{}: records were lost in {}, which no pair of photons spans", input,
                       places);
  return fmt::format(
      "{}: records were lost in {}, which pairs of photons span at lags that may be too short: "
      "rolling curves, and runs that are saved or resumed, keep every bin",
      input, places);
}

// The same of bins whose packets did not come.
std::string lost_bins_text(const std::string& input, std::size_t breaks, bool cut) {
  return fmt::format("{}: packets were lost in {}, {}", input, core::counted(breaks, "place"),
                     cut ? "whose bins are left out, of all sensors"
                         : "whose bins count as empty: rolling curves, and runs that are saved or "
                           "resumed, keep every bin");
}

class CurveNode final : public engine::Node {
 public:
  CurveNode(const AutocorrelateConfig& config, std::shared_ptr<const device::Device> device,
            std::unique_ptr<StateFile> resume)
      : config_(config), device_(std::move(device)), resume_(std::move(resume)) {}

  engine::Needs needs(std::size_t, const engine::Stream& stream) const override {
    if (!device_->compiles() || stream.kind == "photons") return {};
    return {.device = device_};
  }
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  std::string kernels() const override { return plan_->backend(); }
  device::MemoryUse bytes() const override {
    const bool traced_there = device_->compiles() && !photons_;
    return {CurveStream::bytes(stream_config_, *plan_),
            plan_->bytes().device_bytes +
                (traced_there ? CurveTrace::bytes(stream_config_.stage.sensors) : 0)};
  }
  /// A trial run on zeros, for counts. For photons that are correlated one by one, the time depends on their number.
  std::optional<engine::Load> expected_load() const override;
  void start(engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void finish(engine::Outputs& outputs) override;
  engine::Counters counters() const override { return counters_; }
  bool rotates() const override { return parts_.several(); }

  void cut(const PartLimits& limits) { parts_ = CurveParts(limits); }
  bool is_cut() const { return parts_.several(); }
  const AutocorrelateConfig& config() const { return config_; }

 private:
  std::uint64_t samples_done() const { return stream_->samples() - resumed_; }
  std::unique_ptr<CurveStream> make_stream(const CurveStreamConfig& config) const;
  void begin_part(std::uint64_t samples);
  void end_part(engine::Outputs& outputs);
  void push_in_parts(const engine::Block& block, const CountPayload& payload,
                     engine::Outputs& outputs);
  void add_breaks(const std::vector<BinRange>& breaks, std::uint64_t done);
  std::size_t breaks() const;
  void push_photons(const engine::Block& block, const CountPayload& payload);
  void give_when_due(engine::Outputs& outputs);
  std::shared_ptr<CurveSnapshot> snapshot(bool ends = false) const;
  void add_window(const RollingCurves& rolling, CurveSnapshot& now) const;
  StateRecord state_record() const {
    return pipeline::state_record(stream_config_, plan_->backend(), input_, config_);
  }

  AutocorrelateConfig config_;
  CurveStreamConfig stream_config_;
  std::shared_ptr<const stages::autocorrelate::Plan> plan_;
  std::shared_ptr<const device::Device> device_;
  std::unique_ptr<StateFile> resume_;
  CountStream input_;
  bool photons_ = false;
  device::Queue* queue_ = nullptr;
  std::unique_ptr<CurveStream> stream_;
  std::uint64_t resumed_ = 0;   // samples of the resumed state
  std::string resume_warning_;  // how the input does not continue the state's; empty: it does
  // Where records or packets were lost: those before, and those that may go on or are not reached yet.
  std::size_t breaks_before_ = 0;
  std::vector<BinRange> breaks_;
  // Bins counted from the first of the resumed run, or of the part.
  std::vector<BinnedPhoton> later_;
  engine::Counters counters_;  // final values
  CountPayload last_;          // payload of the last block, without its photons
  Stopwatch stopwatch_;
  double given_s_ = 0;  // time of the last snapshot, and its number of samples
  std::uint64_t given_samples_ = 0;
  // Of curves that are cut.
  CurveParts parts_;
  std::vector<BinRange> stops_;  // of the run: stops and lost records that may reach into the part
};

std::vector<engine::Stream> CurveNode::open(std::span<const engine::Stream> inputs) {
  CurvePlan curves = plan_curves(config_, inputs[0], resume_.get(), device_);
  stream_config_ = std::move(curves.stream);
  plan_ = std::move(curves.plan);
  photons_ = inputs[0].kind == "photons";
  input_ = inputs[0].detail<CountStream>();
  breaks_ = input_.breaks;
  if (parts_.several()) {
    parts_.open(input_, photons_);
    stream_config_.open_ended = true;
    stops_ = stream_config_.stops;
  }
  if (resume_ != nullptr) resume_->require(state_record());
  // No block beyond the one that consumers use: while a snapshot is written, there is no other.
  return {{.kind = "curves",
           .arrays = {},
           .open_blocks = 0,
           .details = CurvesDescription{input_.sensors->good_curves(),
                                        stages::autocorrelate::lag_count(stream_config_.stage) == 1,
                                        stream_config_.window.has_value()}}};
}

std::optional<engine::Load> CurveNode::expected_load() const {
  if (photons_) return {};
  const bool there = device_->compiles();
  const stages::autocorrelate::Config& stage = stream_config_.stage;
  const std::size_t times = stage.max_samples;
  const auto queue = device_->make_queue();
  CurveStream stream(stream_config_, *queue, plan_, there ? device_.get() : nullptr);
  const std::size_t bytes = times * stage.sensors * core::bytes_of(stage.type);
  const device::Buffer counts = device_->allocate(bytes);
  queue->fill(counts.data(), 0, bytes);
  const core::SampleView<2> view(counts.data(), stage.type, {times, stage.sensors});
  const double seconds = time_calls(*queue, [&] { stream.push(view); });
  return engine::Load{seconds / static_cast<double>(times) / input_.bin_s, device_->name()};
}

void CurveNode::start(engine::Outputs& outputs) {
  queue_ = &outputs.queue(device_);
  if (parts_.several())
    begin_part(0);
  else
    stream_ = make_stream(stream_config_);
  if (resume_ != nullptr) {
    resume_->load(*stream_);
    resumed_ = stream_->samples();
    resume_warning_ = resume_warning(resume_->input(), input_);
    resume_.reset();
  }
  stopwatch_ = {};
}

std::unique_ptr<CurveStream> CurveNode::make_stream(const CurveStreamConfig& config) const {
  return std::make_unique<CurveStream>(config, *queue_, plan_,
                                       device_->compiles() && !photons_ ? device_.get() : nullptr);
}

// Behind the `samples` of the part before; no pair spans two.
void CurveNode::begin_part(std::uint64_t samples) {
  parts_.begin(samples);
  given_samples_ = 0;
  const auto before = [&](const BinRange& one) { return one.end <= parts_.first(); };
  std::erase_if(stops_, before);
  std::erase_if(breaks_, before);
  breaks_before_ = 0;
  CurveStreamConfig config = stream_config_;
  config.planned_samples = 0;  // a wish for new files may end any part early
  config.stops = parts_.inside(stops_);
  stream_ = make_stream(config);
}

void CurveNode::end_part(engine::Outputs& outputs) {
  engine::Block& block = outputs.begin();
  block.payload.reset();
  auto now = snapshot();
  now->complete = true;
  block.payload = std::move(now);
  outputs.commit();
  begin_part(stream_->samples());
}

// A part ends before the sample that does not belong to it any more, so none is empty.
void CurveNode::push_in_parts(const engine::Block& block, const CountPayload& payload,
                              engine::Outputs& outputs) {
  const auto position = [&] { return parts_.first() + stream_->samples(); };
  const std::uint64_t end = photons_ ? block.first + block.samples : position() + block.samples,
                      first = end - block.samples;
  if (block.samples > 0 && parts_.wished(outputs) && stream_->samples() > 0) end_part(outputs);
  add_breaks(payload.breaks, position());
  std::erase_if(stops_, [&](const BinRange& one) { return one.end <= position(); });
  if (stream_config_.more_stops)
    for (const BinRange& one : payload.breaks) {
      stops_.push_back(one);
      for (const BinRange& moved : parts_.inside({one})) stream_->add_stop(moved);
    }
  std::span<const BinnedPhoton> photons = payload.photons;
  for (bool ends = false; position() < end;) {
    if (ends || parts_.full(stream_->samples())) end_part(outputs);
    const auto [until, last] = parts_.next_piece(position(), end, photons);
    ends = last;
    if (!photons_) {
      stream_->push(block.view<2>().slice(0, static_cast<std::size_t>(position() - first),
                                          static_cast<std::size_t>(until - position())));
      continue;
    }
    later_.clear();
    for (; !photons.empty() && photons.front().bin < until; photons = photons.subspan(1)) {
      later_.push_back(photons.front());
      later_.back().bin -= parts_.first();
    }
    parts_.count_photons(later_.size());
    stream_->push_tags(later_, until - parts_.first());
  }
}

// Of counts, whose losses are told block by block, those that touch are one place. `done`: bins that came before the
// block.
void CurveNode::add_breaks(const std::vector<BinRange>& breaks, std::uint64_t done) {
  breaks_before_ += std::erase_if(breaks_, [&](const BinRange& one) { return one.end < done; });
  for (const BinRange& one : breaks)
    if (!photons_ && !breaks_.empty() && one.first <= breaks_.back().end)
      breaks_.back().end = std::max(breaks_.back().end, one.end);
    else
      breaks_.push_back(one);
}

// Of the run, or of the part at hand.
std::size_t CurveNode::breaks() const {
  return breaks_before_ +
         (parts_.number() > 0 ? parts_.inside(breaks_, stream_->samples()) : breaks_).size();
}

void CurveNode::process(std::size_t, const engine::Block& block, engine::Outputs& outputs) {
  const auto& payload = block.payload_of<CountPayload>();
  last_.damage = payload.damage;
  last_.ignored = payload.ignored;
  last_.silent_end = payload.silent_end;
  if (parts_.several()) {
    push_in_parts(block, payload, outputs);
  } else {
    add_breaks(payload.breaks, block.first);
    if (stream_config_.more_stops)
      for (const BinRange& one : payload.breaks) stream_->add_stop(one);
    if (photons_)
      push_photons(block, payload);
    else if (block.samples > 0)
      stream_->push(block.view<2>());
  }
  last_.interrupted = payload.interrupted;
  if (config_.every_s > 0) give_when_due(outputs);
}

void CurveNode::push_photons(const engine::Block& block, const CountPayload& payload) {
  std::span<const BinnedPhoton> photons = payload.photons;
  if (resumed_ > 0) {
    later_.assign(photons.begin(), photons.end());
    for (BinnedPhoton& photon : later_) photon.bin += resumed_;
    photons = later_;
  }
  stream_->push_tags(photons, resumed_ + block.first + block.samples);
}

// A snapshot every `every_s` seconds in which samples came; delayed to the next block while the last snapshot is in
// use.
void CurveNode::give_when_due(engine::Outputs& outputs) {
  const double now_s = stopwatch_.elapsed_s();
  if (now_s - given_s_ < config_.every_s || samples_done() == given_samples_) return;
  engine::Block* block = outputs.try_begin();
  if (block == nullptr) return;
  block->payload.reset();  // frees its memory before the next snapshot is made
  block->payload = snapshot();
  outputs.commit();
  given_s_ = now_s;
  given_samples_ = samples_done();
}

void CurveNode::finish(engine::Outputs& outputs) {
  engine::Block& block = outputs.begin();
  block.payload.reset();
  auto last = snapshot(true);
  last->last = true;
  const AutocorrelateSummary& s = last->summary;
  counters_ = {{"curves", s.curves},
               {"masked_sensors", s.masked},
               {"undefined_curves", s.undefined},
               {"lags_too_long", s.lags_too_long}};
  block.payload = std::move(last);
  outputs.commit();
}

// `ends`: nothing follows in this run.
std::shared_ptr<CurveSnapshot> CurveNode::snapshot(bool ends) const {
  auto now = std::make_shared<CurveSnapshot>();
  now->part = parts_.number();
  const CountStream input =
      now->part > 0 ? parts_.input_of(input_, stream_->samples(), ends) : input_;
  core::CorrelationCurves& curves = now->curves;
  AutocorrelateSummary& s = now->summary;
  curves.cross = input_.sensors->cross();
  stream_->finish(curves);
  s.format = input_.description.format;
  s.bin_s = input_.bin_s;
  s.bin_reason = input_.description.bin_reason;
  s.backend = plan_->backend();
  s.damage = last_.damage;
  s.live = input_.live;
  s.interrupted = last_.interrupted;
  s.resumed_samples = resumed_;
  const std::int64_t run_first =
      static_cast<std::int64_t>(input.first) - static_cast<std::int64_t>(resumed_);
  if (!input_.keep_constant)
    s.empty = name_empty(input, samples_done(),
                         stream_config_.stops.empty() ? std::span<const BinRange>() : input.stops,
                         stream_->empty_stretches(input_.sensors->good_sensors(), input_.bin_s),
                         run_first);
  describe_curves(config_, input_.description, *input_.sensors, curves, s);
  s.stream_s = static_cast<double>(samples_done()) * input_.bin_s;
  if (!resume_warning_.empty()) s.warnings.push_back(resume_warning_);
  add_ignored(last_.ignored, s);
  if (!last_.silent_end.empty()) s.warnings.push_back(last_.silent_end);
  if (const std::size_t places = breaks(); places > 0)
    s.warnings.push_back((photons_ || !input_.live ? breaks_text : lost_bins_text)(
        input_.input, places, stream_config_.more_stops || !stream_config_.stops.empty()));
  now->facts = curve_facts(config_, input_.input, s, device_->name());
  now->facts[kRunFirstFact] = std::to_string(run_first);
  if (now->part > 0) now->facts["first_sample"] = std::to_string(parts_.first());
  if (const RollingCurves* rolling = stream_->rolling()) add_window(*rolling, *now);
  if (!config_.save_state.empty()) {
    StateRecord saved = state_record();
    saved["input"] = input_record(input_, samples_done());
    now->state = state_bytes(saved, *stream_);
  }
  return now;
}

void CurveNode::add_window(const RollingCurves& rolling, CurveSnapshot& now) const {
  core::CorrelationCurves& curves = now.window.emplace();
  curves.cross = now.curves.cross;
  rolling.finish(config_.normalization, curves);
  AutocorrelateSummary of_window = now.summary;
  of_window.warnings.clear();
  of_window.empty = {};
  describe_curves(config_, input_.description, *input_.sensors, curves, of_window);
  now.window_facts = curve_facts(config_, input_.input, of_window, device_->name());
  now.window_facts["first_sample"] = std::to_string(rolling.first_sample());
}

CurveNode* node_of(const engine::Graph& graph, const engine::Port& curves) {
  return dynamic_cast<CurveNode*>(graph.members()[curves.node].node.get());
}

}  // namespace

void cut_curves(const engine::Graph& graph, const engine::Port& curves, const PartLimits& limits) {
  using core::Error;
  using core::ErrorKind;
  CurveNode* const node = node_of(graph, curves);
  if (node == nullptr)
    throw Error(ErrorKind::config, "each_s", "given for curves of another node",
                "curves of an `autocorrelator`");
  const AutocorrelateConfig& config = node->config();
  for (const auto& [field, given] :
       {std::pair{"save_state", !config.save_state.empty()},
        std::pair{"resume", !config.resume.empty()}, std::pair{"window_s", config.window_s > 0}})
    if (given)
      throw Error(ErrorKind::config, "each_s", fmt::format("given with `{}`", field),
                  "curves that begin anew with each file", "leave one of them out");
  if (std::ranges::any_of(graph.edges(),
                          [&](const auto& one) { return one.from.node == curves.node; }))
    throw Error(ErrorKind::config, "each_s", "given for curves that another node reads, too",
                "an `autocorrelator` for this file alone", "give the other node one of its own");
  node->cut(limits);
}

void require_whole_curves(const engine::Graph& graph, const engine::Port& curves) {
  const CurveNode* const node = node_of(graph, curves);
  if (node != nullptr && node->is_cut())
    throw core::Error(core::ErrorKind::config, "inputs", "curves that a `curve_file` cuts",
                      "an `autocorrelator` of its own",
                      "add one, or take `each_s` and `each_bytes` from the `curve_file`");
}

std::unique_ptr<engine::Node> make_curve_node(const AutocorrelateConfig& config,
                                              std::shared_ptr<const device::Device> device,
                                              std::unique_ptr<StateFile> resume) {
  return std::make_unique<CurveNode>(config, std::move(device), std::move(resume));
}

}  // namespace tautline::pipeline
