#include "tautline/pipeline/simulation/simulated_voltages.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tautline/core/byte_text.h"
#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/formats/strided_source.h"

namespace tautline::pipeline::simulation {

namespace {

// A piece is made by one thread at a time. Its first block is transformed only for its end, so that
// more segments a piece waste less: a sixteenth here. Its bytes are kept near a few MiB.
constexpr std::size_t kMostSegments = 16;
constexpr std::size_t kVoltagePieceBytes = std::size_t{8} << 20;
// So that all threads are busy until a block ends.
constexpr std::size_t kPiecesPerThread = 2;

// Inputs as antennas times polarisations where the array lists them so, else one antenna each.
std::size_t polarisations(const SimulationPlan& plan) {
  const std::size_t feeds = plan.antenna_inputs.front().size();
  if (feeds == 0) return 1;
  for (std::size_t i = 0; i < plan.inputs(); ++i)
    if (plan.array.inputs[i].antenna != i / feeds) return 1;
  return plan.inputs() % feeds == 0 ? feeds : 1;
}

std::size_t segment_bytes(const SimulationPlan& plan) {
  const std::size_t bits = static_cast<std::size_t>(plan.sampling.bits) * plan.components();
  return (plan.blocks.hop * plan.inputs() * bits + 7) / 8;
}

}  // namespace

core::VoltageDescription describe(const SimulationPlan& plan) {
  core::VoltageDescription d;
  d.format = {plan.sampling.bits, !plan.sampling.real, core::Encoding::twos_complement};
  d.polarisations = polarisations(plan);
  d.antennas = plan.inputs() / d.polarisations;
  d.rate_hz = plan.rate_hz;
  d.start = plan.scene.start;
  d.centre_hz = plan.scene.centre_hz;
  d.bandwidth_hz = plan.scene.bandwidth_hz.value() * (plan.scene.lower_sideband ? -1 : 1);
  d.telescope = plan.array.name;
  d.instrument = "tautline-simulate";
  d.source = plan.scene.name;
  return d;
}

BlockCut choose_cut(const SimulationPlan& plan, const BlockLimits& limits) {
  const std::size_t each = segment_bytes(plan);
  const std::uint64_t all = (plan.samples + plan.blocks.hop - 1) / plan.blocks.hop;
  const auto share = [&](std::size_t parts) {
    return static_cast<std::size_t>((all + parts - 1) / parts);
  };
  BlockCut cut;
  cut.threads = device::open({}, {.threads = limits.threads})->make_queue()->workers();
  cut.segments = std::min(std::clamp<std::size_t>(kVoltagePieceBytes / each, 1, kMostSegments),
                          share(cut.threads));
  cut.pieces = std::min(kPiecesPerThread * cut.threads, share(cut.segments));
  const auto block_bytes = [&] { return cut.pieces * cut.segments * each; };
  const auto bytes = [&] {
    return limits.blocks * block_bytes() + cut.threads * Workspace::bytes(plan);
  };
  while (block_bytes() > limits.block_bytes || bytes() > limits.memory_bytes) {
    if (cut.pieces > cut.threads)
      --cut.pieces;
    else if (cut.segments > 1)
      cut.segments = (cut.segments + 1) / 2;
    else if (cut.threads > 1)
      cut.pieces = --cut.threads;
    else if (bytes() > limits.memory_bytes)
      throw core::Error(core::ErrorKind::memory, "memory",
                        fmt::format("{} MiB needed for {} and blocks of {}", (bytes() >> 20) + 1,
                                    core::counted(plan.inputs(), "input"),
                                    core::counted(plan.blocks.block, "sample")),
                        "at most " + core::byte_text(limits.memory_bytes), "raise `memory_bytes`");
    else
      break;  // one segment of many inputs
  }
  return cut;
}

SimulatedVoltages::SimulatedVoltages(std::shared_ptr<const SimulationPlan> plan,
                                     const BlockCut& cut)
    : simulator_(std::move(plan)),
      cut_(cut),
      description_(describe(simulator_.plan())),
      end_(core::advance(description_.start, static_cast<std::int64_t>(simulator_.plan().samples),
                         description_.rate_hz)),
      queue_(device::open({}, {.threads = cut.threads})->make_queue()),
      workers_(queue_->workers()),
      clipped_(simulator_.plan().inputs()) {}

core::RawLayout SimulatedVoltages::layout(std::size_t samples) const {
  return formats::layout_of("TFAP", description_, samples);
}

std::size_t SimulatedVoltages::bytes() const {
  return workers_.size() * Workspace::bytes(simulator_.plan());
}

std::size_t SimulatedVoltages::read(std::size_t samples, core::RawBlock& block,
                                    stream::SegmentPlace& segment) {
  const std::size_t hop = simulator_.segment_samples(), hop_bytes = simulator_.bytes(hop);
  if (samples < hop)
    throw core::Error(core::ErrorKind::config, "samples of a block", std::to_string(samples),
                      fmt::format("{} at least, a segment of the simulation", hop));
  const std::uint64_t first = next_segment_ * hop;
  if (first >= total_samples()) return 0;
  const auto segments = static_cast<std::size_t>(
      std::min<std::uint64_t>(samples / hop, (total_samples() - first + hop - 1) / hop));
  block.bytes.resize(segments * hop_bytes);
  const std::size_t pieces = (segments + cut_.segments - 1) / cut_.segments;
  queue_->parallel_for(pieces, 1, [&](std::size_t from, std::size_t to, std::size_t worker) {
    if (!workers_[worker]) workers_[worker] = std::make_unique<Worker>(simulator_.plan());
    Worker& w = *workers_[worker];
    for (std::size_t begin = from * cut_.segments; begin < std::min(to * cut_.segments, segments);
         begin += cut_.segments)
      simulator_.make(next_segment_ + begin, std::min(cut_.segments, segments - begin), w.workspace,
                      block.bytes.data() + begin * hop_bytes, w.clipped);
  });
  for (const auto& worker : workers_)
    for (std::size_t i = 0; worker && i < clipped_.size(); ++i)
      clipped_[i] += std::exchange(worker->clipped[i], 0);
  segment = {0, description_.start, next_segment_ == 0};
  next_segment_ += segments;
  block.layout = layout(samples);
  block.first_sample = first;
  block.samples =
      static_cast<std::size_t>(std::min<std::uint64_t>(segments * hop, total_samples() - first));
  block.bytes.resize(simulator_.bytes(block.samples));
  block.invalid.clear();
  return block.samples;
}

}  // namespace tautline::pipeline::simulation
