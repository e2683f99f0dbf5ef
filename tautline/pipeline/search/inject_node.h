// Puts pulses into a filterbank as it passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/pipeline/filterbank_stream.h"
#include "tautline/pipeline/search/channel_moments.h"
#include "tautline/pipeline/search/injection.h"

namespace tautline::pipeline {

/// Takes and gives "filterbank" in the host's memory. A pulse is a Gaussian of the same power in all channels that are
/// not left out, along its dispersion, whose S/N is over the channels' noise in the last whole second (1,024 samples at
/// least) before it: the first second of each stretch of data has none. Whole numbers are rounded up as often as the
/// fraction says, by numbers that depend on the sample alone: the pulse has its power on average, and up to 1/4 is
/// added to the variance of its samples. What exceeds the largest value is clipped and counted.
class InjectNode final : public engine::Node {
 public:
  InjectNode(const InjectionConfig& config, double dm_constant);

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  void begin_segment(std::size_t input, const engine::Block& first,
                     engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void end_segment(std::size_t input, engine::Outputs& outputs) override;
  /// "injected" (pulses, cut ones among them); "clipped" (samples).
  engine::Counters counters() const override;

  const InjectionConfig& config() const { return config_; }
  const InjectedPulses& pulses() const { return *pulses_; }
  std::uint64_t clipped() const { return clipped_; }

 private:
  // One that has begun; samples count from the piece's first.
  // Of a channel, in samples, against the centre of the highest one.
  struct Delays {
    double centre = 0, begin = 0, end = 0;  // of its highest and its lowest frequency
    double middle() const { return (begin + end) / 2; }
    double smear() const { return end - begin; }
  };
  struct Active {
    std::size_t number = 0;      // in pulses_
    double middle = 0;           // at the highest channel's centre
    double sigma = 0;            // samples
    double amplitude = 0;        // of its peak, were it not smeared
    std::vector<Delays> delays;  // [channel]
    double end = 0;              // one after its last sample
  };

  void begin_pulses(std::uint64_t until);
  void begin_pulse(const InjectedPulse& pulse);
  void measure(std::span<const std::byte> spectra);
  template <class Sample>
  void add(Sample* samples, std::uint64_t first, std::size_t count);
  double delay_of(double dm, double mhz) const;
  std::vector<Delays> delays_of(double dm) const;

  InjectionConfig config_;
  double dm_constant_;
  FilterbankStream filterbank_;
  std::shared_ptr<InjectedPulses> pulses_ = std::make_shared<InjectedPulses>();
  std::size_t window_samples_ = 0;
  double max_value_ = 0;
  bool counting_ = false;           // the first pass over its part
  std::vector<std::uint8_t> used_;  // [channel]
  std::uint64_t grid_first_ = 0;    // of the piece
  std::uint64_t position_ = 0;      // in it
  std::uint64_t next_ = 0;          // pulse
  std::vector<Active> active_;
  ChannelMoments window_;  // of the current window: sums of values, and of squares
  double noise_ = 0;       // of the sum over channels in the last window; 0: not known
  std::uint64_t clipped_ = 0;
};

}  // namespace tautline::pipeline
