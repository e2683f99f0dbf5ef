#include "tautline/pipeline/voltages/gains.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/requantise.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/npy/header.h"

namespace tautline::pipeline {

namespace {

core::Error no_gains(const std::string& text, const std::string& found) {
  return core::Error(core::ErrorKind::config, "gains", text + (found.empty() ? "" : ": " + found),
                     "a number above 0, or a .npy file of <f4, [channel][input]");
}

// Spectra of a run, and how many times the mean of all others it may have.
constexpr std::uint64_t kRunSpectra = 16;
constexpr double kMostPower = 100;
// Of fewer other spectra, no run is left out.
constexpr std::uint64_t kEnoughSpectra = 128;

}  // namespace

double rms_before_rounding(stages::channelize::Output output) {
  return output == stages::channelize::Output::corner_turned_ci4 ? core::kRequantise4Rms
                                                                 : core::kRequantise8Rms;
}

std::vector<float> read_gains(const std::string& text, std::size_t channels, std::size_t inputs) {
  std::vector<float> gains(channels * inputs);
  if (text.ends_with(".npy")) {
    const formats::InputFile file(text);
    const auto head = file.head(formats::npy::kMaxHeaderBytes);
    const formats::npy::Header header = formats::npy::parse_header(head, text);
    if (header.type != "<f4" || header.fortran_order ||
        header.shape != std::vector<std::uint64_t>{channels, inputs})
      throw core::Error(
          core::ErrorKind::config, "gains",
          fmt::format("{} of {}", formats::npy::shape_text(header.shape), header.type),
          fmt::format("({}, {}) of <f4: [channel][input]", channels, inputs));
    if (file.read(header.data_offset_bytes, std::as_writable_bytes(std::span(gains))) !=
        gains.size() * sizeof(float))
      throw no_gains(text, "it is cut short");
  } else {
    float all = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), all);
    if (error != std::errc() || end != text.data() + text.size()) throw no_gains(text, "");
    gains.assign(gains.size(), all);
  }
  for (const float gain : gains)
    if (!std::isnormal(gain) || gain < 0)
      throw no_gains(text, text.ends_with(".npy") ? fmt::format("{}", gain) : "");
  return gains;
}

PowerMeter::PowerMeter(std::size_t inputs, std::size_t channels)
    : inputs_(inputs),
      channels_(channels),
      power_(inputs * channels, 0),
      largest_(inputs * channels, 0),
      second_(inputs * channels, 0),
      run_(inputs * channels, 0),
      spectra_(inputs, 0),
      held_(inputs, 0) {}

void PowerMeter::hold() {
  for (std::size_t i = 0; i < inputs_; ++i) held_[i] = spectra_[i] > 0;
}

bool PowerMeter::every_input() const {
  return std::find(spectra_.begin(), spectra_.end(), 0u) == spectra_.end();
}

bool PowerMeter::any_input() const {
  return std::ranges::any_of(spectra_, [](std::uint64_t spectra) { return spectra > 0; });
}

void PowerMeter::add(device::Queue& queue, const core::View<const std::complex<float>, 3>& spectra,
                     const core::ValidityView& validity, std::size_t count) {
  queue.parallel_for(inputs_, 1, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t i = first; i < last; ++i) {
      if (held_[i] != 0) continue;
      double* run = run_.data() + i * channels_;
      for (std::size_t s = 0; s < count; ++s) {
        if (!validity.empty() && (validity(i, s / 64) >> (s % 64) & 1) == 0) continue;
        const std::complex<float>* row = spectra.row(i, s);
        for (std::size_t c = 0; c < channels_; ++c) {
          const double re = row[c].real(), im = row[c].imag();
          run[c] += re * re + im * im;
        }
        if (++spectra_[i] % kRunSpectra == 0) end_run(i);
      }
    }
  });
}

void PowerMeter::end_run(std::size_t input) {
  for (std::size_t k = input * channels_; k < (input + 1) * channels_; ++k) {
    double least = std::exchange(run_[k], 0);
    if (least > second_[k]) std::swap(least, second_[k]);
    if (second_[k] > largest_[k]) std::swap(second_[k], largest_[k]);
    power_[k] += least;
  }
}

double PowerMeter::mean_power(std::size_t input, std::size_t channel) const {
  struct Run {
    double sum = 0;
    std::uint64_t spectra = 0;
    double mean() const { return spectra == 0 ? 0 : sum / static_cast<double>(spectra); }
  };
  const std::size_t at = input * channels_ + channel;
  const std::uint64_t runs = spectra_[input] / kRunSpectra;
  std::array<Run, 3> apart{Run{second_[at], runs > 1 ? kRunSpectra : 0},
                           Run{largest_[at], runs > 0 ? kRunSpectra : 0},
                           Run{run_[at], spectra_[input] % kRunSpectra}};
  std::ranges::sort(apart, {}, &Run::mean);
  Run all{power_[at], runs > 2 ? (runs - 2) * kRunSpectra : 0};
  for (const Run& run : apart) {
    if (all.spectra >= kEnoughSpectra && all.sum > 0 && run.mean() > kMostPower * all.mean()) break;
    all.sum += run.sum;
    all.spectra += run.spectra;
  }
  return all.mean();
}

void PowerMeter::clear() {
  for (auto* sums : {&power_, &largest_, &second_, &run_}) sums->assign(sums->size(), 0);
  spectra_.assign(inputs_, 0);
  held_.assign(inputs_, 0);
}

std::vector<float> PowerMeter::gains(double target, const std::vector<float>& otherwise) const {
  std::vector<float> gains = otherwise;
  gains.resize(channels_ * inputs_, 1.0f);
  std::vector<float> measured;  // of one channel
  for (std::size_t c = 0; c < channels_; ++c) {
    measured.clear();
    for (std::size_t i = 0; i < inputs_; ++i) {
      if (spectra_[i] == 0) continue;
      const auto gain = static_cast<float>(target / std::sqrt(mean_power(i, c) / 2));
      if (!std::isnormal(gain)) continue;
      gains[c * inputs_ + i] = gain;
      measured.push_back(gain);
    }
    if (!otherwise.empty() || measured.empty()) continue;
    const auto middle = measured.begin() + static_cast<std::ptrdiff_t>((measured.size() - 1) / 2);
    std::ranges::nth_element(measured, middle);
    for (std::size_t i = 0; i < inputs_; ++i)
      if (spectra_[i] == 0) gains[c * inputs_ + i] = *middle;
  }
  return gains;
}

}  // namespace tautline::pipeline
