// Keeps the last seconds of raw voltages, or of a filterbank, in memory, and hands on the stretches around triggers
// (docs/design/buffer.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/pipeline/trigger.h"
#include "tautline/pipeline/voltages/stretch.h"
#include "tautline/pipeline/voltages/trigger_listener.h"

namespace tautline::pipeline {

struct BufferConfig {
  double keep_s = 10;                ///< length of the ring, at least, in whole blocks
  double before_s = 1, after_s = 1;  ///< of triggers that do not give them
  double ahead_s = 10;               ///< most from the newest sample to the beginning of a stretch
  std::size_t most_dumps = 1000;     ///< stretches of a run
  std::size_t most_bytes = 0;        ///< of all stretches; 0: no limit
  /// Stretches are widened to whole multiples of it, counted from the beginning of the second.
  std::size_t align_samples = 1;
  TriggerListenerConfig datagrams{};  ///< `listen` empty: no datagrams
};

/// Takes "raw voltages" or "filterbank", and triggers at any number of further inputs. Gives "stretches".
class BufferNode final : public engine::Node {
 public:
  /// Stretches in work or expected at a time.
  static constexpr std::size_t kMostOpen = 64;

  explicit BufferNode(BufferConfig config) : config_(std::move(config)) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  engine::Needs needs(std::size_t input, const engine::Stream& stream) const override;
  void start(engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void finish(engine::Outputs& outputs) override;
  engine::Counters counters() const override;

 private:
  struct Slot {
    std::shared_ptr<const engine::Block> block;
    std::int64_t first = 0, end = 0;
  };
  struct Open {
    std::shared_ptr<const Stretch> stretch;
    std::int64_t next = 0;       // the first sample that was not handed on
    std::int64_t forgotten = 0;  // the ring's first sample when the trigger came
  };
  enum class Waits { no, yes };

  void describe();
  std::span<const std::byte> bytes_in(const engine::Block& block) const;
  static std::size_t ring_blocks(const engine::Stream& stream, double seconds);
  static std::size_t held_blocks(std::size_t ring_blocks) { return ring_blocks / 4 + 1; }
  void take(const engine::Block& block, engine::Outputs& outputs);
  void let_go(const Slot& slot);
  void listen();
  void come(Trigger trigger, bool of_node);
  void accept(Trigger trigger, bool of_node);
  Stretch stretch_of(Trigger trigger) const;
  void refuse(const Trigger& trigger, std::uint64_t& counter, const std::string& why);
  void hand_on(engine::Outputs& outputs, Waits waits);
  bool hand_on(Open& open, engine::Outputs& outputs, Waits waits);
  const Slot* slot_at(std::int64_t sample) const;
  bool may_hold(const Slot& slot);
  bool give(StretchPiece piece, const Slot* slot, engine::Outputs& outputs, Waits waits);
  std::uint64_t bytes_of(std::uint64_t samples) const;

  BufferConfig config_;
  engine::Stream stream_;
  Stretches of_;
  double lowest_hz_ = 0, highest_hz_ = 0;  // edges of the band
  std::size_t time_bits_ = 0;              // in a file
  std::optional<TriggerListener> listener_;
  std::size_t ring_blocks_ = 0;
  std::deque<Slot> ring_;
  // No longer in the ring, perhaps in use by the writer.
  std::vector<std::weak_ptr<const engine::Block>> outside_;
  std::int64_t forgotten_ = 0;                   // earlier samples are no longer in the ring
  std::optional<core::Instant> origin_;          // time of sample 0: the start of the stream
  std::vector<std::pair<Trigger, bool>> early_;  // triggers before any data
  bool ended_ = false;
  std::vector<Open> open_;
  std::vector<std::pair<std::int64_t, std::int64_t>> taken_;  // first and end of all stretches
  std::uint64_t accepted_bytes_ = 0;
  std::uint64_t triggers_ = 0, covered_ = 0, missed_ = 0, refused_old_ = 0, refused_long_ = 0,
                refused_ahead_ = 0, refused_limit_ = 0;
};

}  // namespace tautline::pipeline
