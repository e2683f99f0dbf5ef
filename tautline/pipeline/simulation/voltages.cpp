#include "tautline/pipeline/simulation/voltages.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "tautline/device/cpu/fft.h"
#include "tautline/pipeline/simulation/kernels.h"
#include "tautline/pipeline/simulation/random.h"

namespace tautline::pipeline::simulation {

namespace {

// Stream numbers: inputs count from 0, sources from 2^31 with three streams each.
constexpr std::uint32_t kSourceStreams = 0x8000'0000u;
constexpr std::uint32_t kSharedStream = 2;

// Bytes of one sample of one input between rounding and interleaving.
std::size_t sample_bytes(const SimulationPlan& plan) {
  if (plan.sampling.bits == 4) return 1;
  return plan.components() * static_cast<std::size_t>(plan.sampling.bits) / 8;
}

// Two samples of real 4-bit data share a byte.
bool shares_bytes(const SimulationPlan& plan) {
  return plan.sampling.bits == 4 && plan.sampling.real;
}

// [input][time] to [time][input], in tiles that stay in the first cache.
template <class Sample>
void turn(const std::byte* from, std::byte* to, std::size_t inputs, std::size_t samples) {
  constexpr std::size_t kTile = 32;
  const auto* in = reinterpret_cast<const Sample*>(from);
  auto* out = reinterpret_cast<Sample*>(to);
  for (std::size_t first = 0; first < samples; first += kTile) {
    const std::size_t last = std::min(first + kTile, samples);
    for (std::size_t i = 0; i < inputs; ++i)
      for (std::size_t t = first; t < last; ++t) out[t * inputs + i] = in[i * samples + t];
  }
}

void turn_samples(std::size_t bytes, const std::byte* from, std::byte* to, std::size_t inputs,
                  std::size_t samples) {
  if (bytes == 1) turn<std::uint8_t>(from, to, inputs, samples);
  if (bytes == 2) turn<std::uint16_t>(from, to, inputs, samples);
  if (bytes == 4) turn<std::uint32_t>(from, to, inputs, samples);
}

// Pairs of bytes to one byte, the first of a pair in the low half.
void pack_nibbles(const std::byte* from, std::byte* to, std::size_t pairs) {
  for (std::size_t n = 0; n < pairs; ++n)
    to[n] = (from[2 * n] & std::byte{15}) | (from[2 * n + 1] << 4);
}

}  // namespace

Workspace::Workspace(const SimulationPlan& plan)
    : tones(plan.scene.tones.size() * plan.blocks.hop * plan.components()),
      values(plan.blocks.hop * plan.components()),
      parts(values.size()),
      rounded(plan.inputs() * plan.blocks.hop * sample_bytes(plan)),
      nibbles(shares_bytes(plan) ? plan.inputs() * plan.blocks.hop : 0) {
  if (plan.sources.empty()) return;
  std::size_t most_inputs = 0;
  for (const auto& inputs : plan.antenna_inputs) most_inputs = std::max(most_inputs, inputs.size());
  signals.resize(plan.sources.size() * 4 * plan.bins);
  shared.resize(2 * plan.bins);
  rotation.resize(2 * plan.bins);
  spectra.resize(most_inputs * 2 * plan.bins);
  tails.resize(plan.inputs() * plan.blocks.fade * plan.components());
  transform = device::Buffer(plan.blocks.block * sizeof(std::complex<float>));
}

std::size_t Workspace::bytes(const SimulationPlan& plan) {
  const std::size_t of_floats =
      (plan.scene.tones.size() + 1) * plan.blocks.hop * plan.components() +
      (plan.sources.empty()
           ? 0
           : (4 * plan.sources.size() + 4 + 2 * plan.inputs()) * plan.bins +
                 plan.inputs() * plan.blocks.fade * plan.components() + 2 * plan.blocks.block);
  return of_floats * sizeof(float) + plan.blocks.hop * plan.components() +
         plan.inputs() * plan.blocks.hop * (sample_bytes(plan) + (shares_bytes(plan) ? 1 : 0));
}

VoltageSimulator::VoltageSimulator(std::shared_ptr<const SimulationPlan> plan)
    : plan_(std::move(plan)) {
  fft_ = device::cpu::make_fft(plan_->blocks.block, 1);
  const std::size_t fade = plan_->blocks.fade;
  for (std::size_t n = 0; n < fade; ++n)
    fade_.push_back(static_cast<float>(std::sin(
        std::numbers::pi / 2 * (static_cast<double>(n) + 0.5) / static_cast<double>(fade))));
}

std::size_t VoltageSimulator::bytes(std::size_t samples) const {
  const auto bits = static_cast<std::size_t>(plan_->sampling.bits) * plan_->components();
  return (samples * plan_->inputs() * bits + 7) / 8;
}

// The Gaussian numbers of one block of every source, for both feeds, scaled by the spectrum.
void VoltageSimulator::draw_sources(std::uint64_t block, Workspace& w) const {
  const std::size_t bins = plan_->bins;
  for (std::size_t s = 0; s < plan_->sources.size(); ++s) {
    const PlannedSource& source = plan_->sources[s];
    const SourcePolarisation& p = source.polarisation;
    const std::uint32_t stream = kSourceStreams + 3 * static_cast<std::uint32_t>(s);
    const std::uint64_t seed = plan_->sampling.seed;
    float* signals = w.signals.data() + s * 4 * bins;
    std::fill_n(signals, 4 * bins, 0.0f);
    for (std::uint32_t feed = 0; feed < 2; ++feed)
      add_normal({seed, stream + feed, block}, static_cast<float>(p.unpolarised),
                 signals + feed * 2 * bins, 2 * bins);
    if (source.source.polarised_fraction > 0) {
      std::fill(w.shared.begin(), w.shared.end(), 0.0f);
      add_normal({seed, stream + kSharedStream, block}, 1.0f, w.shared.data(), 2 * bins);
      for (std::size_t n = 0; n < 2 * bins; ++n) {
        signals[n] += static_cast<float>(p.polarised_x) * w.shared[n];
        signals[2 * bins + n] += static_cast<float>(p.polarised_y) * w.shared[n];
      }
    }
    for (std::size_t part = 0; part < 4; ++part)
      for (std::size_t k = 0; k < bins; ++k) signals[part * bins + k] *= source.bin_amplitude[k];
  }
}

void VoltageSimulator::draw_tones(std::uint64_t segment, Workspace& w) const {
  const std::size_t hop = plan_->blocks.hop, components = plan_->components();
  std::vector<float> wave(2 * hop);
  for (std::size_t n = 0; n < plan_->scene.tones.size(); ++n) {
    const formats::scene::Tone& tone = plan_->scene.tones[n];
    const double sign = plan_->scene.lower_sideband ? -1 : 1;
    const double turns_per_sample =
        sign * (tone.frequency_hz - plan_->baseband_zero_hz) / plan_->rate_hz.value();
    const long double turns =
        static_cast<long double>(turns_per_sample) * static_cast<long double>(segment * hop) +
        static_cast<long double>(sign * tone.phase_deg / 360);
    const auto start = static_cast<double>(turns - std::floor(turns));
    fill_rotation(start, turns_per_sample, wave.data(), wave.data() + hop, hop);
    float* out = w.tones.data() + n * hop * components;
    for (std::size_t t = 0; t < hop; ++t)
      for (std::size_t c = 0; c < components; ++c) out[t * components + c] = wave[c * hop + t];
  }
}

// The spectra that an antenna's inputs receive during one block (which starts a hop before the
// segment of the same number: block 0 only fades out into segment 0).
void VoltageSimulator::hear(std::size_t antenna, std::uint64_t block, Workspace& w) const {
  const std::size_t bins = plan_->bins;
  const std::vector<std::size_t>& inputs = plan_->antenna_inputs[antenna];
  const double middle_samples =
      (static_cast<double>(block) - 1) * static_cast<double>(plan_->blocks.hop) +
      static_cast<double>(plan_->blocks.block) / 2;
  const double seconds = middle_samples / plan_->rate_hz.value();
  // A real lower sideband shows the sky's frequencies in reverse, conjugated.
  const double sign = plan_->scene.lower_sideband && plan_->sampling.real ? 1 : -1;
  std::fill_n(w.spectra.data(), inputs.size() * 2 * bins, 0.0f);
  float* rotation = w.rotation.data();
  for (std::size_t s = 0; s < plan_->sources.size(); ++s) {
    const double delay_s = plan_->delay_s(s, antenna, seconds);
    fill_rotation(sign * plan_->first_bin_hz * delay_s, sign * plan_->bin_step_hz * delay_s,
                  rotation, rotation + bins, bins);
    for (std::size_t lane = 0; lane < inputs.size(); ++lane) {
      const std::size_t feed = plan_->array.inputs[inputs[lane]].feed == 'x' ? 0 : 1;
      const float* signal = w.signals.data() + (s * 4 + feed * 2) * bins;
      float* spectrum = w.spectra.data() + lane * 2 * bins;
      multiply_add(signal, signal + bins, rotation, rotation + bins, spectrum, spectrum + bins,
                   bins);
    }
  }
}

// Back to time by the conjugate of the forward transform of the conjugate; the caller conjugates.
// Complex samples: one lane, bin n at frequency (n - N/2) / N. Real ones: two lanes in one
// transform, the first in the real and the second in the imaginary part, bin n at n / N and its
// conjugate at -n / N.
void VoltageSimulator::transform(std::size_t lane, std::size_t lanes, Workspace& w) const {
  const std::size_t block = plan_->blocks.block, bins = plan_->bins;
  auto* data = w.transform.as<std::complex<float>>();
  const float* re = w.spectra.data() + lane * 2 * bins;
  const float* im = re + bins;
  if (!plan_->sampling.real) {
    const std::size_t half = block / 2;
    for (std::size_t n = 0; n < half; ++n) data[n] = {re[half + n], -im[half + n]};
    for (std::size_t n = 0; n < half; ++n) data[half + n] = {re[n], -im[n]};
  } else {
    const float* re2 = im + bins;
    const float* im2 = re2 + bins;
    data[0] = data[bins] = 0;
    for (std::size_t n = 1; n < bins; ++n) {
      const float r = lanes == 2 ? re2[n] : 0, i = lanes == 2 ? im2[n] : 0;
      data[n] = {re[n] - i, -(im[n] + r)};
      data[block - n] = {re[n] + i, im[n] - r};
    }
  }
  fft_->execute(data);
}

// values = the tail of the block before + this block faded in; `part` selects the part of the
// transform that holds a real input.
void VoltageSimulator::overlap(std::size_t input, std::size_t part, Workspace& w) const {
  const std::size_t fade = plan_->blocks.fade, hop = plan_->blocks.hop;
  const auto* data = reinterpret_cast<const float*>(w.transform.as<std::complex<float>>());
  const float* tail = w.tails.data() + input * fade * plan_->components();
  float* values = w.values.data();
  if (!plan_->sampling.real) {
    const float sign = plan_->conjugate_samples ? 1 : -1;
    for (std::size_t n = 0; n < fade; ++n) {
      values[2 * n] = tail[2 * n] + fade_[n] * data[2 * n];
      values[2 * n + 1] = tail[2 * n + 1] + fade_[n] * sign * data[2 * n + 1];
    }
    for (std::size_t n = fade; n < hop; ++n) {
      values[2 * n] = data[2 * n];
      values[2 * n + 1] = sign * data[2 * n + 1];
    }
  } else {
    const float sign = part == 0 ? 1 : -1;
    for (std::size_t n = 0; n < fade; ++n)
      values[n] = tail[n] + fade_[n] * sign * data[2 * n + part];
    for (std::size_t n = fade; n < hop; ++n) values[n] = sign * data[2 * n + part];
  }
}

void VoltageSimulator::keep_tail(std::size_t input, std::size_t part, Workspace& w) const {
  const std::size_t fade = plan_->blocks.fade;
  const auto* data =
      reinterpret_cast<const float*>(w.transform.as<std::complex<float>>()) + 2 * plan_->blocks.hop;
  float* tail = w.tails.data() + input * fade * plan_->components();
  const float sign =
      plan_->sampling.real ? (part == 0 ? 1.0f : -1.0f) : (plan_->conjugate_samples ? 1.0f : -1.0f);
  for (std::size_t n = 0; n < fade; ++n) {
    const float out = fade_[fade - 1 - n];
    if (plan_->sampling.real) {
      tail[n] = out * sign * data[2 * n + part];
    } else {
      tail[2 * n] = out * data[2 * n];
      tail[2 * n + 1] = out * sign * data[2 * n + 1];
    }
  }
}

// Calls receive(input, part) with the input's block in w.transform.
template <class Receive>
void VoltageSimulator::for_each_input(std::uint64_t block, Workspace& w,
                                      const Receive& receive) const {
  const std::size_t at_once = plan_->sampling.real ? 2 : 1;
  for (std::size_t a = 0; a < plan_->antenna_inputs.size(); ++a) {
    const std::vector<std::size_t>& inputs = plan_->antenna_inputs[a];
    if (inputs.empty()) continue;
    hear(a, block, w);
    for (std::size_t lane = 0; lane < inputs.size(); lane += at_once) {
      const std::size_t lanes = std::min(at_once, inputs.size() - lane);
      transform(lane, lanes, w);
      for (std::size_t part = 0; part < lanes; ++part) receive(inputs[lane + part], part);
    }
  }
}

void VoltageSimulator::blank_missing(std::size_t input, std::uint64_t segment, Workspace& w) const {
  const std::size_t components = plan_->components();
  const auto hop = static_cast<std::int64_t>(plan_->blocks.hop);
  const std::int64_t first = static_cast<std::int64_t>(segment) * hop;
  for (const MissingSpan& span : plan_->missing) {
    if (!span.touches(input)) continue;
    const std::int64_t from = std::clamp<std::int64_t>(span.first - first, 0, hop);
    const std::int64_t to = std::clamp<std::int64_t>(span.last - first, 0, hop);
    std::fill(w.values.begin() + from * static_cast<std::int64_t>(components),
              w.values.begin() + to * static_cast<std::int64_t>(components), 0.0f);
  }
}

// Noise, tones, gaps and rounding of one input's values.
void VoltageSimulator::finish(std::size_t input, std::uint64_t segment, Workspace& w,
                              std::vector<std::uint64_t>& clipped) const {
  const Sampling& sampling = plan_->sampling;
  const std::size_t count = w.values.size(), components = plan_->components();
  const double noise = plan_->noise_rms[input] / std::sqrt(static_cast<double>(components));
  if (noise > 0)
    add_normal({sampling.seed, static_cast<std::uint32_t>(input), segment},
               static_cast<float>(noise), w.values.data(), count);
  for (std::size_t n = 0; n < plan_->scene.tones.size(); ++n) {
    const auto amplitude = static_cast<float>(plan_->tone_amplitude(plan_->scene.tones[n], input));
    const float* tone = w.tones.data() + n * count;
    for (std::size_t v = 0; v < count; ++v) w.values[v] += amplitude * tone[v];
  }
  blank_missing(input, segment, w);
  // After the end of the run nothing is kept or counted.
  const std::uint64_t left = plan_->samples - std::min(plan_->samples, segment * plan_->blocks.hop);
  const std::size_t kept =
      static_cast<std::size_t>(std::min<std::uint64_t>(left, plan_->blocks.hop)) * components;
  const auto scale = static_cast<float>(plan_->steps_per_unit);
  std::byte* out = w.rounded.data() + input * plan_->blocks.hop * sample_bytes(*plan_);
  const float* values = w.values.data();
  if (sampling.bits == 16) {
    clipped[input] +=
        quantise(values, scale, sampling.limit, reinterpret_cast<std::int16_t*>(out), kept);
  } else if (sampling.bits == 8 || sampling.real) {
    clipped[input] +=
        quantise(values, scale, sampling.limit, reinterpret_cast<std::int8_t*>(out), kept);
  } else {
    clipped[input] += quantise(values, scale, sampling.limit, w.parts.data(), kept);
    pack_nibbles(reinterpret_cast<const std::byte*>(w.parts.data()), out, kept / 2);
  }
}

void VoltageSimulator::interleave(Workspace& w, std::byte* out) const {
  const std::size_t inputs = plan_->inputs(), hop = plan_->blocks.hop;
  if (!shares_bytes(*plan_)) {
    turn_samples(sample_bytes(*plan_), w.rounded.data(), out, inputs, hop);
    return;
  }
  turn_samples(1, w.rounded.data(), w.nibbles.data(), inputs, hop);
  pack_nibbles(w.nibbles.data(), out, inputs * hop / 2);
}

void VoltageSimulator::make(std::uint64_t first, std::size_t count, Workspace& w, std::byte* out,
                            std::vector<std::uint64_t>& clipped) const {
  const bool sky = !plan_->sources.empty();
  if (sky) {
    draw_sources(first, w);
    for_each_input(first, w,
                   [&](std::size_t input, std::size_t part) { keep_tail(input, part, w); });
  }
  for (std::size_t s = 0; s < count; ++s) {
    const std::uint64_t segment = first + s;
    draw_tones(segment, w);
    if (sky) {
      draw_sources(segment + 1, w);
      for_each_input(segment + 1, w, [&](std::size_t input, std::size_t part) {
        overlap(input, part, w);
        keep_tail(input, part, w);
        finish(input, segment, w, clipped);
      });
    } else {
      for (std::size_t input = 0; input < plan_->inputs(); ++input) {
        std::fill(w.values.begin(), w.values.end(), 0.0f);
        finish(input, segment, w, clipped);
      }
    }
    interleave(w, out + s * bytes(plan_->blocks.hop));
  }
}

}  // namespace tautline::pipeline::simulation
