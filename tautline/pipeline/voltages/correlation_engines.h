// The devices of a correlation: how they share a stream, and the filter bank and sums of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/device/device.h"
#include "tautline/pipeline/voltages/channel_range.h"
#include "tautline/pipeline/voltages/correlate_voltages.h"
#include "tautline/pipeline/voltages/device_team.h"
#include "tautline/pipeline/voltages/f_engine.h"
#include "tautline/pipeline/voltages/integrator.h"
#include "tautline/stream/voltage_sequence.h"

namespace tautline::pipeline {

/// The corner-turned output that is rounded so.
stages::channelize::Output output_of(Requantise requantise);
/// The filter bank with what the config rounds its spectra to.
FilterConfig filter_of(const CorrelateConfig& config);

/// Belongs to one thread, but for complete(). However many devices there are, the results are the
/// same bits.
class CorrelationEngines {
 public:
  /// Plans blocks that `config.memory_bytes` allows for. Throws core::Error.
  CorrelationEngines(const CorrelateConfig& config, const stream::VoltageSequence& sequence,
                     const std::vector<std::shared_ptr<const device::Device>>& devices);
  /// What the devices have is given back to all of them at once.
  ~CorrelationEngines();
  CorrelationEngines(const CorrelationEngines&) = delete;
  CorrelationEngines& operator=(const CorrelationEngines&) = delete;

  std::size_t block_samples() const { return block_samples_; }
  std::size_t channels() const { return channels_; }
  std::size_t inputs() const { return front().inputs(); }
  std::size_t hop_samples() const { return front().hop_samples(); }
  std::size_t span_samples() const { return front().span_samples(); }
  /// "channelize avx512, correlate vnni"
  std::string kernels() const;
  /// On the host, with `integrations` of them on their way.
  std::size_t host_bytes(std::size_t integrations) const;
  /// Throws Error(memory) when a device has less than its part takes.
  void require_device_memory(std::size_t integrations) const;

  void set_gains(const std::vector<float>& gains);
  void set_delays(const std::shared_ptr<const formats::delays::Table>& table,
                  const core::Instant& until);
  /// Allocates what the first block would, so that it need not wait.
  void make_ready();
  /// Room for every device's sums on their way.
  void prepare(FinishedIntegration& out);

  void begin_segment(const core::Instant& start);
  void push(const core::RawBlock& raw);
  /// At most `limit` spectra of what was pushed go into the sums; returns how many did.
  std::size_t add(std::uint64_t limit);
  /// After all of a block's spectra: where blocks are shared, the next one is the next device's,
  /// which first gets the samples from `first_needed` of the segment on, with which the next
  /// spectrum begins. When the block, which began at `block_begin`, has not all of them, the same
  /// device goes on.
  void pass_on(const core::RawBlock& raw, std::uint64_t block_begin, std::uint64_t first_needed);
  /// Sends off what was added since the last time; the sums start again from zero.
  void finish(FinishedIntegration& out);
  /// Means of what came from devices that compile; the others' are there already. May run on
  /// another thread than the rest.
  void complete(device::Queue& host_queue, FinishedIntegration& done) const;

  /// [input] components
  std::vector<std::uint64_t> clipped();
  std::uint64_t not_finite() const;
  std::vector<DeviceShare> shares() const;

 private:
  // Whatever devices are sent, each one's link carries it beside the others'.
  enum class Sharing {
    // A stream that is channelized already: each device is sent its channels and correlates them.
    channels,
    // Voltages: blocks in turn, each with the samples before it that its first spectra begin with.
    // Every device correlates all channels, and sums of integers are added on the host.
    blocks,
    // Voltages whose sums are floats, which added in another order would be others, or whose filter
    // depends on more than a spectrum's samples: every device has all of them and does all of the
    // filter bank, and correlates its channels.
    filtered_channels
  };

  // One device's part.
  struct Engine {
    std::shared_ptr<const device::Device> device;
    std::unique_ptr<device::Queue> queue;
    std::unique_ptr<FEngine> f_engine;
    std::unique_ptr<Integrator> integrator;
  };

  Sharing choose_sharing(const CorrelateConfig& config,
                         const stream::VoltageSequence& sequence) const;
  ChannelRange share(std::size_t engine) const;
  const FEngine& front() const { return *engines_.front().f_engine; }
  void each_at_work(const std::function<void(Engine&)>& work);

  std::vector<Engine> engines_;
  bool channelized_;
  std::size_t channels_, block_samples_;
  Sharing sharing_;
  DeviceTeam team_;
  std::size_t next_engine_ = 0;  // gets the next block
  core::RawBlock tail_;
};

}  // namespace tautline::pipeline
