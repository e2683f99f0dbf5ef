// Masks that change with time: channels that stand out of their neighbours for about a second are replaced by their
// means as the data pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/pipeline/filterbank_stream.h"
#include "tautline/pipeline/search/channel_substitutes.h"
#include "tautline/pipeline/search/iqrm_config.h"
#include "tautline/pipeline/search/iqrm_found.h"

namespace tautline::pipeline {

/// Takes and gives "filterbank" in the host's memory. Windows begin with each segment and hold every_s of samples; the
/// last one, where it is shorter than a quarter, has the mask of the one before. A window is given on when it is
/// complete, so samples wait for every_s at most. A masked channel has the mean of its last window of the segment that
/// was not masked, or of its first where there is none yet; integers take turns around it, so that their mean is exact
/// over any stretch to a count. Where more than 1 / kShareWithMeans of the channels are masked beyond the least number
/// in a window so far, these have noise that is drawn from the first samples of that last window (ChannelSubstitutes),
/// but for filterbanks whose gaps are filled.
class IqrmNode final : public engine::Node {
 public:
  explicit IqrmNode(const IqrmConfig& config);

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  device::MemoryUse bytes() const override { return {bytes_, 0}; }
  void start(engine::Outputs& outputs) override;
  void begin_segment(std::size_t input, const engine::Block& first,
                     engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void end_segment(std::size_t input, engine::Outputs& outputs) override;
  /// "windows"; "masked" (times x channels).
  engine::Counters counters() const override;

  const IqrmFound& found() const { return found_; }
  const IqrmConfig& config() const { return config_; }

 private:
  void give(engine::Outputs& outputs);
  void mask_window();
  void measure_noise();
  template <class Sample>
  void put_means(Sample* samples, std::span<const std::size_t> channels);
  void replace();

  IqrmConfig config_;
  FilterbankStream filterbank_;
  std::size_t most_samples_ = 0, sample_bytes_ = 0;  // of a block; of a time
  std::size_t window_samples_ = 0, bytes_ = 0;
  std::vector<std::byte> window_;
  std::size_t held_ = 0;                    // times of it
  engine::Block time_;                      // of the window's first
  bool counting_ = false;                   // the first pass over its part
  const FilterbankPart* part_ = nullptr;    // of filterbank_
  std::size_t listed_ = 0;                  // channels of found_.list
  std::vector<std::size_t> taking_part_;    // channels
  std::vector<std::uint8_t> mask_, known_;  // [channel]; known: the level is of this segment
  bool measured_ = false;
  std::vector<double> level_;         // [channel]
  std::vector<std::uint32_t> phase_;  // [channel] of turns around it, in 2^-32
  // Of the window before, as it was: its mask, all of it before the first one, and its first spectra.
  std::vector<std::uint8_t> masked_before_;
  std::vector<std::byte> before_;
  std::optional<ChannelSubstitutes> noise_of_;
  std::size_t least_ = 0;  // channels masked in a window of the segment
  IqrmFound found_;
};

/// The windows and limits, for people.
std::string iqrm_text(const IqrmConfig& config, const formats::FilterbankDescription& description);

/// Memory of a window, which a run has beside that of its stages.
std::size_t iqrm_window_bytes(const IqrmConfig& config,
                              const formats::FilterbankDescription& description);

}  // namespace tautline::pipeline
