#include "tautline/pipeline/simulation/simulate_voltages.h"

#include <fmt/format.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/requantise.h"
#include "tautline/device/cpu/processor_cap.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/simulation/sink.h"
#include "tautline/pipeline/simulation/truth.h"
#include "tautline/pipeline/simulation/truth_name.h"
#include "tautline/pipeline/simulation/voltages.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

// A piece is what one thread makes at a time. Its first block is transformed only for its end, so
// that more segments a piece waste less: a sixteenth here. Its bytes are kept near a few MiB.
constexpr std::size_t kMostSegments = 16;
constexpr std::size_t kPieceBytes = std::size_t{8} << 20;

struct Piece {
  explicit Piece(const simulation::VoltageMaker& maker, std::size_t bytes)
      : workspace(maker.plan()), out(bytes), clipped(maker.plan().inputs()) {}

  std::uint64_t first_segment = 0;
  std::size_t segments = 0;
  simulation::Workspace workspace;
  std::vector<std::byte> out;
  std::vector<std::uint64_t> clipped;
};

// Owns every piece; those at work are borrowed. There are as many as tokens, so that none is ever
// waited for.
class Pieces {
 public:
  void add(std::unique_ptr<Piece> piece) {
    free_.push_back(piece.get());
    all_.push_back(std::move(piece));
  }
  Piece* take() {
    const std::lock_guard lock(mutex_);
    Piece* piece = free_.back();
    free_.pop_back();
    return piece;
  }
  void give(Piece* piece) {
    const std::lock_guard lock(mutex_);
    free_.push_back(piece);
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Piece>> all_;
  std::vector<Piece*> free_;
};

simulation::Sampling sampling_of(const SimulateConfig& config) {
  simulation::Sampling sampling;
  sampling.duration_s = config.duration_s;
  sampling.real = config.real;
  sampling.bits = config.bits;
  sampling.limit = core::requantise_limit(config.bits);
  sampling.seed = config.seed;
  if (config.format == SimulateFormat::mwa32t) {
    if (config.bits != 8 && config.bits != 4)
      throw Error(ErrorKind::config, "`format` mwa32t", fmt::format("`bits` {}", config.bits),
                  "8 (two-byte mode, 5 bits) or 4 (one-byte mode)");
    // The receivers' writer takes bytes and packs them itself.
    sampling.bits = 8;
    sampling.limit = simulation::mwa32t_limit(config.bits == 4);
  }
  return sampling;
}

class VoltageSimulation {
 public:
  VoltageSimulation(const SimulateConfig& config, const formats::ArrayLayout& array,
                    const formats::scene::Scene& scene, const ProgressCallback& progress,
                    std::stop_token stop)
      : config_(config),
        stop_(std::move(stop)),
        threads_(config.threads == 0 ? device::cpu::cores() : config.threads),
        arena_(static_cast<int>(std::min(threads_, device::cpu::cores()))),
        maker_(std::make_shared<simulation::Plan>(scene, array, sampling_of(config))),
        plan_(maker_.plan()),
        total_clipped_(plan_.inputs()),
        progress_(progress) {}

  SimulateSummary run();

 private:
  void size_pieces();
  void make_all(simulation::Sink& sink);
  void write(Piece& piece, simulation::Sink& sink);
  double stream_s(std::uint64_t samples) const {
    return static_cast<double>(samples) / plan_.rate_hz.value();
  }

  const SimulateConfig& config_;
  std::stop_token stop_;
  std::size_t threads_;
  tbb::task_arena arena_;
  simulation::VoltageMaker maker_;
  const simulation::Plan& plan_;

  std::size_t piece_segments_ = 1, tokens_ = 1, memory_bytes_ = 0;
  std::uint64_t segments_ = 0;
  std::uint64_t samples_written_ = 0;
  std::vector<std::uint64_t> total_clipped_;
  ProgressReporter progress_;
};

void VoltageSimulation::size_pieces() {
  const std::size_t segment_samples = maker_.segment_samples();
  const std::size_t segment_bytes = maker_.bytes(segment_samples);
  segments_ = (plan_.samples + segment_samples - 1) / segment_samples;
  piece_segments_ = std::clamp<std::size_t>(kPieceBytes / segment_bytes, 1, kMostSegments);
  const auto bytes_of = [&](std::size_t segments) {
    return simulation::Workspace::bytes(plan_) + segments * segment_bytes;
  };
  // Fewer at a time, then shorter pieces, until it fits.
  tokens_ = threads_ + 1;
  while (tokens_ > 1 && tokens_ * bytes_of(piece_segments_) > config_.memory_bytes) --tokens_;
  while (piece_segments_ > 1 && tokens_ * bytes_of(piece_segments_) > config_.memory_bytes)
    piece_segments_ /= 2;
  memory_bytes_ = tokens_ * bytes_of(piece_segments_);
  if (memory_bytes_ > config_.memory_bytes)
    throw Error(ErrorKind::memory, "memory",
                fmt::format("{} MiB needed for {} inputs and blocks of {} samples",
                            (memory_bytes_ >> 20) + 1, plan_.inputs(), plan_.blocks.block),
                fmt::format("at most {} MiB", config_.memory_bytes >> 20), "raise `memory_bytes`");
}

void VoltageSimulation::write(Piece& piece, simulation::Sink& sink) {
  const std::uint64_t first = piece.first_segment * maker_.segment_samples();
  const std::uint64_t samples =
      std::min<std::uint64_t>(piece.segments * maker_.segment_samples(), plan_.samples - first);
  sink.write({piece.out.data(), maker_.bytes(samples)}, samples);
  samples_written_ += samples;
  for (std::size_t i = 0; i < total_clipped_.size(); ++i)
    total_clipped_[i] += std::exchange(piece.clipped[i], 0);
  progress_.report(samples_written_, plan_.samples, stream_s(samples_written_));
}

void VoltageSimulation::make_all(simulation::Sink& sink) {
  Pieces pieces;
  for (std::size_t t = 0; t < tokens_; ++t)
    pieces.add(
        std::make_unique<Piece>(maker_, piece_segments_ * maker_.bytes(maker_.segment_samples())));
  std::uint64_t next = 0;
  const auto begin = [&]() -> Piece* {
    if (next >= segments_ || stop_.stop_requested()) return nullptr;
    Piece* piece = pieces.take();
    piece->first_segment = next;
    piece->segments =
        static_cast<std::size_t>(std::min<std::uint64_t>(piece_segments_, segments_ - next));
    next += piece->segments;
    return piece;
  };
  const auto make = [&](Piece* piece) {
    maker_.make(piece->first_segment, piece->segments, piece->workspace, piece->out.data(),
                piece->clipped);
    return piece;
  };
  const auto end = [&](Piece* piece) {
    write(*piece, sink);
    pieces.give(piece);
  };
#if defined(__SANITIZE_THREAD__)
  // oneTBB's own synchronisation is invisible to ThreadSanitizer (device/cpu/plain_threads.h).
  while (Piece* piece = begin()) end(make(piece));
#else
  const auto begin_or_stop = [&](tbb::flow_control& control) {
    Piece* piece = begin();
    if (piece == nullptr) control.stop();
    return piece;
  };
  arena_.execute([&] {
    tbb::parallel_pipeline(
        tokens_, tbb::make_filter<void, Piece*>(tbb::filter_mode::serial_in_order, begin_or_stop) &
                     tbb::make_filter<Piece*, Piece*>(tbb::filter_mode::parallel, make) &
                     tbb::make_filter<Piece*, void>(tbb::filter_mode::serial_in_order, end));
  });
#endif
}

SimulateSummary VoltageSimulation::run() {
  size_pieces();
  const std::string truth_file = truth_path(config_.output);
  simulation::refuse_existing(truth_file, config_.output, config_.overwrite);
  formats::PartialFile truth(truth_file, config_.overwrite);
  const std::unique_ptr<simulation::Sink> sink =
      config_.format == SimulateFormat::dada
          ? simulation::make_dada_sink(plan_, config_.output, config_.overwrite)
          : simulation::make_mwa32t_sink(plan_, config_.output, config_.bits == 4,
                                         config_.overwrite);
  make_all(*sink);
  if (stop_.stop_requested())
    throw Error(ErrorKind::io, config_.output, "interrupted", "", "nothing was written");
  sink->finish();
  truth.write(simulation::truth_json(plan_, {total_clipped_, sink->files(), config_.history}));
  truth.finish();
  progress_.report(samples_written_, plan_.samples, stream_s(samples_written_));

  SimulateSummary summary;
  summary.inputs = plan_.inputs();
  summary.samples = plan_.samples;
  for (const std::uint64_t clipped : total_clipped_) summary.clipped += clipped;
  summary.elapsed_s = progress_.elapsed_s();
  summary.stream_s = stream_s(plan_.samples);
  summary.memory_bytes = memory_bytes_;
  summary.files = sink->files();
  summary.truth_path = truth_file;
  return summary;
}

}  // namespace

std::string truth_path(const std::string& output) {
  return simulation::truth_name(output, {".dada"});
}

SimulateSummary simulate_voltages(const SimulateConfig& config, const ProgressCallback& progress,
                                  std::stop_token stop) {
  if (config.array_path.empty())
    throw Error(ErrorKind::config, "array_path", "missing", "an array.toml");
  if (config.scene_path.empty())
    throw Error(ErrorKind::config, "scene_path", "missing", "a scene.toml");
  return simulate_voltages(config, formats::read_array_layout(config.array_path),
                           formats::scene::read_scene(config.scene_path), progress,
                           std::move(stop));
}

SimulateSummary simulate_voltages(const SimulateConfig& config, const formats::ArrayLayout& array,
                                  const formats::scene::Scene& scene,
                                  const ProgressCallback& progress, std::stop_token stop) {
  core::check(config);
  return VoltageSimulation(config, array, scene, progress, std::move(stop)).run();
}

}  // namespace tautline::pipeline
