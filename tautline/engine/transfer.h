// Copies the blocks of a stream to another memory: the engine puts one on each edge between host and device.
#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "tautline/engine/node.h"

namespace tautline::engine {

class Transfer final : public Node {
 public:
  /// Copies to `device`, or null: to the host. `on_their_way`: most copies enqueued at a time.
  Transfer(std::shared_ptr<const device::Device> device, std::size_t on_their_way)
      : to_(std::move(device)), most_on_their_way_(on_their_way) {}

  std::vector<Stream> open(std::span<const Stream> inputs) override;
  Needs needs(std::size_t input, const Stream&) const override;
  void start(Outputs& outputs) override;
  void process(std::size_t input, const Block& block, Outputs& outputs) override;
  void finish(Outputs& outputs) override;

 private:
  struct OnItsWay {
    std::shared_ptr<const Block> block;  // not reused before its copy is complete
    std::unique_ptr<device::Event> done;
  };
  void wait_for_oldest(Outputs& outputs);

  std::shared_ptr<const device::Device> from_, to_;
  std::size_t most_on_their_way_;
  Stream stream_;
  std::deque<OnItsWay> on_their_way_;
  std::vector<std::unique_ptr<device::Event>> events_;  // free ones
};

}  // namespace tautline::engine
