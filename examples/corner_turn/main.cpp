// A filter bank whose spectra are looked at before they are rounded: their mean power sets the gain
// of each channel and input, and the corner turn brings them to 8 bits, channel by channel, as a
// correlator takes them. (channelize turns and rounds by itself where gains are known beforehand.)
//   corner_turn [cpu | cpu:avx2 | reference ...]
// Ends with what plain loops make of the same spectra.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <random>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/stages/channelize/channelize.h"
#include "tautline/stages/corner_turn/corner_turn.h"

using namespace tautline;
using namespace tautline::stages;

namespace {

constexpr std::size_t kInputs = 5, kChannels = 48, kTaps = 4, kSamples = 48 * 200;
constexpr float kRmsSteps = 20;  // loses 2e-4 of the sensitivity and clips next to nothing
constexpr int kLargest = 127;
constexpr std::size_t kLoudTimes = 50;  // the first: louder than the gains are made for

using Spectrum = std::complex<float>;

// [input][time], ci8: noise, inputs of unlike strength.
std::vector<core::ci8> voltages() {
  std::mt19937 random(std::random_device{}());
  std::vector<core::ci8> samples(kInputs * kSamples);
  for (std::size_t i = 0; i < kInputs; ++i) {
    std::normal_distribution<float> noise(0, 4.0F + 5.0F * static_cast<float>(i));
    const auto part = [&] {
      return static_cast<std::int8_t>(std::clamp(noise(random), -128.0F, 127.0F));
    };
    for (std::size_t t = 0; t < kSamples; ++t) samples[i * kSamples + t] = {part(), part()};
  }
  return samples;
}

struct Spectra {
  std::size_t count = 0;
  std::vector<Spectrum> values;  // [input][spectrum][channel]
  core::View<Spectrum, 3> view() { return {values.data(), {kInputs, count, kChannels}}; }
};

Spectra channelized(const std::shared_ptr<const device::Device>& device) {
  const std::vector<core::ci8> samples = voltages();
  channelize::Config config;
  config.inputs = kInputs;
  config.channels = kChannels;
  config.taps = kTaps;
  config.output = channelize::Output::spectra_float;
  config.max_samples = kSamples;
  const auto filter = channelize::make_plan(config, device);
  const auto queue = device->make_queue();
  const auto state = filter->make_state(*queue);
  Spectra spectra;
  spectra.count = filter->spectra(0, kSamples);
  spectra.values.resize(kInputs * spectra.count * kChannels);
  channelize::Input input;
  input.samples = samples.data();
  input.row_stride_bytes = kSamples * sizeof(core::ci8);
  input.count = kSamples;
  channelize::OutputViews output;
  output.samples = spectra.view();
  filter->execute(*queue, *state, input, output);
  queue->synchronise();
  std::printf("channelize: %s\n", filter->backend().c_str());
  return spectra;
}

// [channel][input]: from the quiet part to an rms of kRmsSteps in each component.
std::vector<float> gains_of(Spectra& spectra) {
  std::vector<float> gains(kChannels * kInputs);
  const auto at = spectra.view();
  for (std::size_t c = 0; c < kChannels; ++c)
    for (std::size_t i = 0; i < kInputs; ++i) {
      double power = 0;
      for (std::size_t s = kLoudTimes; s < spectra.count; ++s) power += std::norm(at(i, s, c));
      const double rms = std::sqrt(power / 2 / static_cast<double>(spectra.count - kLoudTimes));
      gains[c * kInputs + i] = static_cast<float>(kRmsSteps / rms);
    }
  return gains;
}

struct Turned {
  std::vector<core::ci8> voltages = std::vector<core::ci8>();  // [channel][input][time]
  std::vector<std::uint64_t> clipped = std::vector<std::uint64_t>(kInputs);
};

Turned turned_by_stage(Spectra& spectra, const core::ValidityMask& valid,
                       const std::vector<float>& gains, const device::Selection& device) {
  Turned turned;
  turned.voltages.resize(kChannels * kInputs * spectra.count);
  const core::View<core::ci8, 3> out(turned.voltages.data(), {kChannels, kInputs, spectra.count});
  corner_turn::corner_turn(spectra.view(), valid.view(), {gains.data(), {kChannels, kInputs}}, out,
                           {turned.clipped.data(), {kInputs}}, device);
  return turned;
}

// Nearest integer, halves to even; what is beyond the largest is clipped and counted.
std::int8_t rounded(float value, std::uint64_t& clipped) {
  const float nearest = std::nearbyint(value);
  clipped += std::abs(nearest) > kLargest;
  return static_cast<std::int8_t>(std::clamp<float>(nearest, -kLargest, kLargest));
}

Turned turned_by_loops(Spectra& spectra, const core::ValidityMask& valid,
                       const std::vector<float>& gains) {
  Turned turned;
  const auto at = spectra.view();
  for (std::size_t c = 0; c < kChannels; ++c)
    for (std::size_t i = 0; i < kInputs; ++i)
      for (std::size_t s = 0; s < spectra.count; ++s) {
        core::ci8 sample{};
        if (valid.valid(i, s)) {
          const float gain = gains[c * kInputs + i];
          sample.re = rounded(at(i, s, c).real() * gain, turned.clipped[i]);
          sample.im = rounded(at(i, s, c).imag() * gain, turned.clipped[i]);
        }
        turned.voltages.push_back(sample);
      }
  return turned;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto device = device::parse_selection(argc > 1 ? argv[1] : "cpu");
    Spectra spectra = channelized(device::open(device));
    for (std::size_t s = 0; s < kLoudTimes; ++s)
      for (std::size_t i = 0; i < kInputs; ++i)
        for (std::size_t c = 0; c < kChannels; ++c) spectra.view()(i, s, c) *= 4.0F;
    const std::vector<float> gains = gains_of(spectra);
    core::ValidityMask valid(kInputs, spectra.count);
    valid.set(2, 30, 90, false);  // spectra of one input that interference spoilt
    const Turned turned = turned_by_stage(spectra, valid, gains, device);
    const Turned expected = turned_by_loops(spectra, valid, gains);
    std::uint64_t clipped = 0;
    for (const std::uint64_t count : turned.clipped) clipped += count;
    const bool same = turned.voltages == expected.voltages && turned.clipped == expected.clipped;
    std::printf("%zu spectra of %zu inputs, %llu components clipped: %s\n", spectra.count, kInputs,
                static_cast<unsigned long long>(clipped),
                same ? "as plain loops have them" : "not what plain loops have");
    return same && clipped > 0 ? 0 : 1;
  } catch (const core::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
