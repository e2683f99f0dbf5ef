#include "tautline/pipeline/simulation/filterbank_simulator.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tautline/core/threads.h"
#include "tautline/pipeline/simulation/random.h"

namespace tautline::pipeline::simulation {

namespace {

// Values of a piece. Large enough to spread over threads, small enough for the second-level cache.
constexpr std::size_t kPieceValues = std::size_t{1} << 18;
constexpr std::uint32_t kNoiseStream = 0x46494C42;  // differs from the streams of voltages

struct Levels {
  double mean, rms;
};

// Defaults: room for pulses above the noise of 8 bits, and the step with the least loss for fewer
// (Max 1960: an rms of about one step for 2 bits, three for 4).
Levels default_levels(int bits) {
  switch (bits) {
    case 1:
      return {0.5, 1};
    case 2:
      return {1.5, 1};
    case 4:
      return {6.5, 2.5};
    case 16:
      return {8192, 1024};
    default:
      return {96, 16};
  }
}

std::vector<double> gains_of(const formats::scene::FilterbankScene& scene) {
  std::vector<double> gains(scene.channels);
  const std::vector<double>& points = scene.bandpass;
  for (std::size_t c = 0; c < scene.channels; ++c) {
    const double place = scene.channels == 1
                             ? 0
                             : static_cast<double>(c) / static_cast<double>(scene.channels - 1) *
                                   static_cast<double>(points.size() - 1);
    const auto low = static_cast<std::size_t>(place);
    const std::size_t high = std::min(low + 1, points.size() - 1);
    const double part = place - static_cast<double>(low);
    gains[c] = points[low] * (1 - part) + points[high] * part;
  }
  return gains;
}

// The part of sample `sample` within [begin, end) of time, both in samples.
double overlap(double sample, double begin, double end) {
  return std::max(0.0, std::min(sample + 1, end) - std::max(sample, begin));
}

template <class Stored>
std::uint64_t round_to(const std::vector<float>& values, float most, std::vector<Stored>& stored) {
  stored.resize(values.size());
  std::uint64_t clipped = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const float rounded = std::floor(values[k] + 0.5F);
    clipped += rounded < 0 || rounded > most ? 1 : 0;
    stored[k] = static_cast<Stored>(std::clamp(rounded, 0.0F, most));
  }
  return clipped;
}

}  // namespace

FilterbankSimulator::FilterbankSimulator(const formats::scene::FilterbankScene& scene,
                                         double dm_constant, std::uint64_t seed)
    : scene_(scene), seed_(seed) {
  const Levels levels = default_levels(scene.bits);
  mean_ = scene.mean_steps >= 0 ? scene.mean_steps : levels.mean;
  rms_ = scene.rms_steps >= 0 ? scene.rms_steps : levels.rms;
  receiver_.foff_mhz = scene.foff_mhz;
  receiver_.tsamp_s = scene.tsamp_s;
  receiver_.dm_constant = dm_constant;
  receiver_.smearing = scene.smearing;
  receiver_.gain = gains_of(scene);
  for (std::size_t c = 0; c < scene.channels; ++c) {
    receiver_.channel_mhz.push_back(scene.fch1_mhz + scene.foff_mhz * static_cast<double>(c));
    receiver_.rms.push_back(rms_ * receiver_.gain[c]);
    channel_mean_.push_back(static_cast<float>(mean_ * receiver_.gain[c]));
    channel_rms_.push_back(static_cast<float>(receiver_.rms[c]));
  }
  receiver_.f_ref_mhz =
      *std::max_element(receiver_.channel_mhz.begin(), receiver_.channel_mhz.end());
  place_pulses();
  piece_samples_ = std::max<std::size_t>(1, kPieceValues / scene.channels);
}

// A bright pulse takes 50 ms: its amplitude follows from every channel's share.
void FilterbankSimulator::place_pulses() {
  std::vector<std::optional<SimulatedPulse>> placed(scene_.pulses.size());
  core::in_pieces(placed.size(), core::spare_threads(),
                  [&](std::size_t, std::size_t first, std::size_t last) {
                    for (std::size_t k = first; k < last; ++k)
                      placed[k].emplace(scene_.pulses[k], receiver_);
                  });
  for (auto& pulse : placed) pulses_.push_back(*std::move(pulse));
}

std::size_t FilterbankSimulator::piece_bytes() const {
  const std::size_t stored = scene_.bits == 32 ? 0 : scene_.bits == 16 ? 2 : 1;
  return piece_samples_ * scene_.channels * (sizeof(float) + stored);
}

void FilterbankSimulator::make(std::uint64_t piece, std::size_t samples,
                               FilterbankWorkspace& workspace) const {
  const std::size_t channels = scene_.channels, count = samples * channels;
  std::vector<float>& values = workspace.values;
  values.assign(count, 0);
  add_normal({seed_, kNoiseStream, piece}, 1, values.data(), count);
  for (std::size_t t = 0; t < samples; ++t) {
    float* row = values.data() + t * channels;
    for (std::size_t c = 0; c < channels; ++c) row[c] = row[c] * channel_rms_[c] + channel_mean_[c];
  }
  const std::uint64_t first = piece * piece_samples_;
  for (const SimulatedPulse& pulse : pulses_) pulse.add(receiver_, first, samples, values.data());
  add_interference(first, samples, values.data());
  quantise(count, workspace);
}

void FilterbankSimulator::add_interference(std::uint64_t first, std::size_t samples,
                                           float* values) const {
  const std::size_t channels = scene_.channels;
  for (const auto& impulse : scene_.impulses) {
    const double begin = impulse.time_s / scene_.tsamp_s;
    const double end = begin + impulse.duration_s / scene_.tsamp_s;
    if (end < static_cast<double>(first) || begin > static_cast<double>(first + samples)) continue;
    for (std::size_t t = 0; t < samples; ++t) {
      const auto part = static_cast<float>(impulse.amplitude *
                                           overlap(static_cast<double>(first + t), begin, end));
      if (part != 0)
        for (std::size_t c = 0; c < channels; ++c)
          values[t * channels + c] += part * channel_rms_[c];
    }
  }
  for (const auto& carrier : scene_.carriers) {
    const double half = std::max(carrier.width_mhz, std::abs(scene_.foff_mhz)) / 2;
    const double begin = carrier.start_s / scene_.tsamp_s;
    const double end = carrier.duration_s < 0 ? 1e300 : begin + carrier.duration_s / scene_.tsamp_s;
    const double period = carrier.period_s / scene_.tsamp_s;
    for (std::size_t t = 0; t < samples; ++t) {
      const auto sample = static_cast<double>(first + t);
      if (sample < begin || sample >= end) continue;
      if (period > 0 && std::fmod(sample - begin, period) >= carrier.duty * period) continue;
      for (std::size_t c = 0; c < channels; ++c)
        if (std::abs(receiver_.channel_mhz[c] - carrier.frequency_mhz) <= half)
          values[t * channels + c] += static_cast<float>(carrier.amplitude) * channel_rms_[c];
    }
  }
}

void FilterbankSimulator::quantise(std::size_t count, FilterbankWorkspace& workspace) const {
  workspace.clipped = 0;
  if (scene_.bits == 32 || count == 0) return;
  const auto most = static_cast<float>((1 << scene_.bits) - 1);
  workspace.clipped = scene_.bits == 16 ? round_to(workspace.values, most, workspace.words)
                                        : round_to(workspace.values, most, workspace.bytes);
}

}  // namespace tautline::pipeline::simulation
