// The filter bank's response to tones, through the public interface, as CSV on standard output:
// taps, window, distance from the channel's centre in channels, power relative to the centre in dB.
// docs/maths/plot_response.py draws it.
#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "tautline/stages/channelize/channelize.h"

namespace {

using namespace tautline;

constexpr std::size_t kChannels = 256;
constexpr std::size_t kOffsets = 128;  // tones per channel
constexpr std::size_t kFarthest = 8;   // channels

struct Bank {
  std::size_t taps;
  const char* window;
};

constexpr Bank kBanks[] = {{1, "rect"}, {4, "hamming"}, {8, "hamming"},
                           {8, "hann"}, {16, "hann"},   {16, "kaiser:9"}};

// Tone j is j / 128 channels above the centre of channel C / 2.
std::vector<std::complex<float>> tones(std::size_t samples) {
  std::vector<std::complex<float>> x(kOffsets * samples);
  for (std::size_t j = 0; j < kOffsets; ++j)
    for (std::size_t n = 0; n < samples; ++n) {
      constexpr std::size_t kTurn = kOffsets * kChannels;
      const double turns = static_cast<double>(j * n % kTurn) / static_cast<double>(kTurn);
      x[j * samples + n] = std::complex<float>(std::polar(1.0, 2 * std::numbers::pi * turns));
    }
  return x;
}

void sweep(const Bank& bank) {
  stages::channelize::Config config;
  config.inputs = kOffsets;
  config.channels = kChannels;
  config.taps = bank.taps;
  config.input = core::kCf32;
  config.window = core::parse_window(bank.window);
  config.output = stages::channelize::Output::spectra_float;
  const auto device = device::open({});
  const auto plan = stages::channelize::make_plan(config, device);
  const auto queue = device->make_queue();
  const auto state = plan->make_state(*queue);

  const std::size_t samples = kChannels * bank.taps;
  const auto x = tones(samples);
  std::vector<std::complex<float>> y(kOffsets * kChannels);
  stages::channelize::Input input;
  input.samples = x.data();
  input.row_stride_bytes = samples * sizeof(x[0]);
  input.count = samples;
  stages::channelize::OutputViews output;
  output.samples = {y.data(), {kOffsets, 1, kChannels}};
  plan->execute(*queue, *state, input, output);

  const double centre = std::norm(std::complex<double>(y[kChannels / 2]));
  for (std::size_t n = 0; n < kFarthest; ++n)
    for (std::size_t j = 0; j < kOffsets; ++j) {
      const std::complex<double> value(y[j * kChannels + kChannels / 2 - n]);
      fmt::print("{},{},{},{:.3f}\n", bank.taps, bank.window,
                 static_cast<double>(n) + static_cast<double>(j) / kOffsets,
                 10 * std::log10(std::norm(value) / centre + 1e-16));
    }
}

}  // namespace

int main() {
  fmt::print("taps,window,distance_channels,power_db\n");
  for (const Bank& bank : kBanks) sweep(bank);
  return 0;
}
