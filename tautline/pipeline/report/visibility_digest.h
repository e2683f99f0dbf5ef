// A run's visibilities, kept small enough to look at: bounded whatever the run's length.
//
// Cells average neighbouring channels and integrations, weighted by their counts of valid samples,
// so that the mean over all cells is the mean over the run. When the cells of time run out, pairs
// of neighbours are merged (across gaps only when little else is left) and each cell holds twice
// as many integrations from there on.
//
// | kept              | axes                          | type            | unit                |
// | visibility_sum    | [time][baseline][channel bin] | complex<float>  | power x full counts |
// | visibility_weight | [time][baseline][channel bin] | float           | full counts         |
// | power_sum         | [time][input]                 | double          | power x full counts |
// | valid_sum         | [time][input]                 | double          | full counts         |
// | bispectrum_sum    | [time][triangle]              | complex<double> | coefficient^3       |
// | spectrum_sum      | [input][spectrum bin]         | double          | power x full counts |
// | spectrum_weight   | [input][spectrum bin]         | double          | full counts         |
// | spectrum_expected | [spectrum bin]                | double          | full counts         |
// | closure_spectrum  | [triangle][channel bin]       | complex<double> | coefficient^3       |
//
// A full count is the nominal count of one integration and channel.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/formats/visibility_writer.h"
#include "tautline/pipeline/report/baseline_choice.h"

namespace tautline::pipeline::report {

/// How much is kept. The defaults make a page of some 7 MB at most, which a phone can show.
struct DigestLimits {
  std::size_t baselines = 30;            ///< 1 or more
  std::size_t times = 160;               ///< cells of time, even, 2 or more
  std::size_t channels = 256;            ///< channel bins of visibilities, 1 or more
  std::size_t spectrum_cells = 1 << 17;  ///< inputs x channel bins of autocorrelations
  std::size_t closure_antennas = 5;      ///< antennas whose triangles are closed; under 3: none
};

/// `channels` in ascending order of frequency, put into bins of `per_bin` neighbours.
struct ChannelBins {
  std::size_t channels = 0, per_bin = 1, bins = 0;
  bool descending = false;  ///< the input's channels descend in frequency

  ChannelBins() = default;
  ChannelBins(const std::vector<double>& channel_hz, std::size_t most);
  std::size_t bin_of(std::size_t channel) const {
    return (descending ? channels - 1 - channel : channel) / per_bin;
  }
  /// Mean frequency of each bin's channels.
  std::vector<double> centres_hz(const std::vector<double>& channel_hz) const;
};

/// One row of the pictures.
struct TimeCell {
  double start_s = 0, end_s = 0;  ///< since the start of the first integration
  double expected = 0;            ///< full counts that each channel would have if all were valid
  std::int64_t integrations = 0;
};

/// Fed by one thread. Memory is bytes(), taken when the first integration arrives.
class VisibilityDigest {
 public:
  /// Throws Error(config) naming the limit or the field of the description that is wrong.
  explicit VisibilityDigest(formats::VisibilityDescription description, DigestLimits limits = {});

  /// Integrations come in order of time. Throws Error(config) when the shape is not the
  /// description's. Values that are not finite, and flagged channels, count as invalid.
  void add(const formats::Integration& integration);

  const formats::VisibilityDescription& description() const { return description_; }
  const DigestLimits& limits() const { return limits_; }
  const BaselineChoice& choice() const { return choice_; }
  /// How often the baselines were chosen: anew where an integration has far more data than those before.
  std::size_t choices() const { return choices_; }
  const ChannelBins& channel_bins() const { return channel_bins_; }
  const ChannelBins& spectrum_bins() const { return spectrum_bins_; }
  /// Start of the first integration; the epoch of 1970 before there is one.
  double start_unix_s() const { return start_unix_s_; }
  std::int64_t integrations() const { return integrations_; }
  /// Seconds that integrations cover, without gaps.
  double covered_s() const { return covered_s_; }
  std::uint64_t values_not_finite() const { return values_not_finite_; }
  const std::vector<TimeCell>& times() const { return times_; }
  /// Valid over expected samples, all inputs and channels; 0 before the first integration.
  double valid_fraction() const;

  std::complex<float> visibility(std::size_t time, std::size_t baseline, std::size_t bin) const;
  /// Valid over expected counts of the cell.
  double weight(std::size_t time, std::size_t baseline, std::size_t bin) const;
  /// Whether the cell averages enough samples for a coefficient, beside the longest (formats::says_something()).
  bool present(std::size_t time, std::size_t baseline, std::size_t bin) const;
  /// Valid over expected counts of the cells that are present, together; 0 where none is.
  double fraction(std::size_t time, std::size_t baseline) const;
  /// 0 where it is of too few samples.
  double power(std::size_t time, std::size_t input) const;
  double valid(std::size_t time, std::size_t input) const;
  std::complex<double> bispectrum(std::size_t time, std::size_t triangle) const;
  double spectrum(std::size_t input, std::size_t bin) const;
  double valid_spectrum(std::size_t input, std::size_t bin) const;
  std::complex<double> closure_spectrum(std::size_t triangle, std::size_t bin) const;

  /// Host memory at its fullest for this description and these limits.
  std::size_t bytes() const;

 private:
  void begin(const formats::Integration& first);
  void choose_anew(const formats::Integration& integration);
  void open_cell(double start_s);
  void merge_pairs();
  /// First cells of the groups that merge_pairs() makes, and the number of cells.
  std::vector<std::size_t> pairs_to_merge() const;
  bool gap_before(double start_s) const;
  bool flagged(std::size_t channel) const;
  void add_baselines(const formats::Integration& integration);
  void add_inputs(const formats::Integration& integration, double expected);
  void add_closures(const formats::Integration& integration);
  std::size_t inputs() const { return description_.array.inputs.size(); }
  /// Full counts that a cell of a bin would have if all were valid.
  double expected(std::size_t time, std::size_t bin) const;
  std::size_t members(std::size_t bin) const;  ///< channels
  std::size_t cell_of(std::size_t time, std::size_t baseline, std::size_t bin) const {
    return (time * choice_.baselines.size() + baseline) * channel_bins_.bins + bin;
  }

  formats::VisibilityDescription description_;
  DigestLimits limits_;
  ChannelBins channel_bins_, spectrum_bins_;
  BaselineChoice choice_;
  std::size_t choices_ = 0;
  double start_unix_s_ = 0, covered_s_ = 0;
  core::Instant start_middle_;  ///< of the first integration
  double start_half_s_ = 0;     ///< half of its length
  std::int64_t integrations_ = 0, integrations_per_cell_ = 1;
  std::uint64_t values_not_finite_ = 0;
  double expected_total_ = 0;
  double longest_expected_ = 0;     ///< of a cell of time
  std::int64_t chosen_counts_ = 0;  ///< of the integration by which the baselines were chosen

  std::vector<TimeCell> times_;
  std::vector<std::complex<float>> visibility_sum_;
  std::vector<float> visibility_weight_;
  std::vector<double> power_sum_, valid_sum_;
  std::vector<std::complex<double>> bispectrum_sum_;
  std::vector<double> spectrum_sum_, spectrum_weight_, spectrum_expected_;
  std::vector<std::complex<double>> closure_spectrum_;
};

}  // namespace tautline::pipeline::report
