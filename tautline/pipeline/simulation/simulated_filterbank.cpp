#include "tautline/pipeline/simulation/simulated_filterbank.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "tautline/core/exact_double.h"

namespace tautline::pipeline::simulation {

namespace {

// The array of a workspace in which its samples are stored.
std::span<const std::byte> stored(const FilterbankWorkspace& workspace, int bits) {
  if (bits == 32) return std::as_bytes(std::span(workspace.values));
  if (bits == 16) return std::as_bytes(std::span(workspace.words));
  return std::as_bytes(std::span(workspace.bytes));
}

}  // namespace

SimulatedFilterbank::SimulatedFilterbank(const formats::scene::FilterbankScene& scene,
                                         std::uint64_t samples,
                                         std::shared_ptr<const FilterbankSimulator> simulator,
                                         std::size_t threads)
    : simulator_(std::move(simulator)),
      queue_(device::open({}, {.threads = threads})->make_queue()),
      workspaces_(queue_->workers()) {
  formats::FilterbankDescription& d = description_;
  d.format = "simulated";
  d.channels = scene.channels;
  d.channel_mhz = simulator_->receiver().channel_mhz;
  d.fch1_mhz = scene.fch1_mhz;
  d.foff_mhz = scene.channels == 1 ? 0 : scene.foff_mhz;
  d.tsamp_s = scene.tsamp_s;
  const core::Rational tsamp = core::simplest_ratio(scene.tsamp_s);
  d.rate_hz = {tsamp.denominator, tsamp.numerator};
  d.tstart_mjd = core::modified_julian_date(scene.start);
  d.start = core::instant_of_mjd(d.tstart_mjd);  // as a file would have it
  d.bits = scene.bits;
  d.delivered = scene.bits == 32   ? formats::Delivered::f32
                : scene.bits == 16 ? formats::Delivered::u16
                                   : formats::Delivered::u8;
  d.summed_ifs = {0};
  d.samples = samples;
  d.source = scene.name;
  d.rawdatafile = "simulated by tautline";
  segments_ = {{0, samples, d.start, 0}};
}

std::size_t SimulatedFilterbank::read(std::uint64_t first_sample, std::size_t count,
                                      std::span<std::byte> destination) {
  const formats::FilterbankDescription& d = description_;
  if (first_sample >= d.samples) return 0;
  count = limit_to(count, d.samples - first_sample, destination);
  if (count == 0) return 0;
  const std::size_t piece = simulator_->piece_samples(), sample_bytes = d.sample_bytes();
  const std::uint64_t end = first_sample + count, first_piece = first_sample / piece;
  const auto pieces = static_cast<std::size_t>((end - 1) / piece - first_piece + 1);
  std::atomic<std::uint64_t> clipped = 0;
  queue_->parallel_for(pieces, 1, [&](std::size_t from, std::size_t to, std::size_t worker) {
    FilterbankWorkspace& workspace = workspaces_[worker];
    for (std::uint64_t k = first_piece + from; k < first_piece + to; ++k) {
      const std::uint64_t begin = k * piece, wanted = std::max(begin, first_sample);
      const std::uint64_t made = std::min(begin + piece, end);
      simulator_->make(k, static_cast<std::size_t>(made - begin), workspace);
      clipped += workspace.clipped;
      const auto samples = stored(workspace, d.bits).subspan((wanted - begin) * sample_bytes);
      std::copy(samples.begin(), samples.end(),
                destination.begin() +
                    static_cast<std::ptrdiff_t>((wanted - first_sample) * sample_bytes));
    }
  });
  clipped_ += clipped;
  return count;
}

}  // namespace tautline::pipeline::simulation
