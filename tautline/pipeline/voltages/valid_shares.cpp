#include "tautline/pipeline/voltages/valid_shares.h"

#include <fmt/format.h>

#include <algorithm>

#include "tautline/core/few_digits.h"
#include "tautline/core/validity.h"
#include "tautline/pipeline/voltages/empty_text.h"
#include "tautline/pipeline/voltages/f_engine.h"

namespace tautline::pipeline {

namespace {

// Inputs with less than this part of their samples are dead, whatever the filter bank is.
constexpr double kFewSamples = 0.05;

double share(std::uint64_t valid, std::uint64_t all) {
  return all > 0 ? static_cast<double>(valid) / static_cast<double>(all) : 0;
}

}  // namespace

void ValidShares::add_samples(const core::RawBlock& block, const core::ValidityView& valid) {
  const std::size_t inputs = valid_samples_.size();
  samples_ += block.samples;
  if (!valid.empty()) {
    for (std::size_t i = 0; i < inputs; ++i)
      valid_samples_[i] += core::count_valid(valid.row(i), 0, block.samples);
    return;
  }
  if (block.invalid.empty()) {
    for (std::uint64_t& samples : valid_samples_) samples += block.samples;
    return;
  }
  core::ValidityMask mask(inputs, block.samples);  // spans may overlap
  for (const core::InvalidSpan& span : block.invalid) {
    const bool all = span.input == core::InvalidSpan::kAllInputs;
    for (std::size_t i = all ? 0 : span.input; i < (all ? inputs : span.input + 1); ++i)
      mask.set(i, span.first_sample, span.samples, false);
  }
  for (std::size_t i = 0; i < inputs; ++i)
    valid_samples_[i] += core::count_valid(mask.row(i), 0, block.samples);
}

void ValidShares::add_spectra(const SpectraChunk& chunk) {
  const std::size_t inputs = valid_spectra_.size();
  spectra_ += chunk.spectra;
  if (chunk.valid.empty()) {
    for (std::uint64_t& valid : valid_spectra_) valid += chunk.spectra;
    return;
  }
  const std::size_t rows = chunk.valid.extent(0);
  by_channel_ = by_channel_ || rows > inputs;
  for (std::size_t row = 0; row < rows; ++row)
    valid_spectra_[row % inputs] += core::count_valid(chunk.valid.row(row), 0, chunk.spectra);
}

void ValidShares::add_channels(const ValidShares& others) {
  for (std::size_t i = 0; i < valid_spectra_.size(); ++i)
    valid_spectra_[i] = std::max(valid_spectra_[i], others.valid_spectra_[i]);
  by_channel_ = by_channel_ || others.by_channel_;
}

std::string ValidShares::text(const std::vector<std::string>& names) const {
  if (by_channel_) return {};
  std::vector<std::size_t> inputs;
  double of_spectra = 1, of_samples = 0;  // of the input that loses most
  for (std::size_t i = 0; i < valid_spectra_.size(); ++i) {
    const double spectra = share(valid_spectra_[i], spectra_),
                 samples = share(valid_samples_[i], samples_);
    if (samples < kFewSamples || spectra >= samples / 2) continue;
    inputs.push_back(i);
    if (spectra >= of_spectra) continue;
    of_spectra = spectra;
    of_samples = samples;
  }
  if (inputs.empty()) return {};
  return fmt::format(
      "few spectra of {} are valid: {} %{}, with {} % of the samples. A spectrum takes {} "
      "valid samples in a row: fewer `taps` or channels lose less where an input stops again and "
      "again",
      name_inputs(inputs, names), core::few_digits(100 * of_spectra),
      inputs.size() > 1 ? " at worst" : "", core::few_digits(100 * of_samples), span_samples_);
}

std::string ValidShares::nothing_text() const {
  if (std::ranges::any_of(valid_spectra_, [](std::uint64_t valid) { return valid > 0; })) return {};
  return "no spectrum of any input is valid: the output holds no data. Check what wrote the input; "
         "if "
         "its samples never change, `keep_constant` takes them for data";
}

}  // namespace tautline::pipeline
