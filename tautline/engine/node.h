// A node of a graph: a source, a stage or a sink. It knows its own work, and neither its neighbours nor threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/engine/block.h"

namespace tautline::engine {

/// What a node needs of the blocks of one of its inputs.
struct Needs {
  /// Whose memory it reads the arrays in; null: the host's. The engine copies blocks that lie elsewhere.
  std::shared_ptr<const device::Device> device = {};
  /// Reads arrays wherever they are: a stage that looks itself, or reads no array.
  bool anywhere = false;
  /// Blocks that it may keep (Outputs::keep) at a time.
  std::size_t kept_blocks = 0;
  /// Of all inputs of a node, or of none: it is given one block of each at a time (Node::process_together).
  bool in_step = false;
};

/// Where a node's results go, and what the engine does for it. Used on the thread that called the node.
class Outputs {
 public:
  virtual ~Outputs() = default;
  /// A block to fill; waits for one. Its extents are the stream's largest; time, validity and payload are what they
  /// were when the block was last used. Leaves the node by an exception when the run has failed or was interrupted.
  virtual Block& begin(std::size_t port = 0) = 0;
  /// The same, or null where `begin` would wait.
  virtual Block* try_begin(std::size_t port = 0) = 0;
  /// The same with the time of another block.
  Block& begin(std::size_t port, const Block& like) {
    Block& block = begin(port);
    block.set_time(like);
    return block;
  }
  /// Hands on the block that was begun first. A commit may call consumers, on this thread.
  virtual void commit(std::size_t port = 0) = 0;
  /// Keeps a block that `process` was given until the handle goes.
  virtual std::shared_ptr<const Block> keep(const Block& block) = 0;
  /// The queue for work on a device; one for each lane and device.
  virtual device::Queue& queue(const std::shared_ptr<const device::Device>& device) = 0;
  /// Waits for work on a device; that time is not the node's own.
  virtual void wait(const device::Event& event) = 0;
  /// Live sources: from now on (true) they wait for others to send, until `false`: that time is not the node's own.
  /// Others see its counters meanwhile.
  virtual void waits_for_others(bool waits) = 0;
  /// Ends the waiting of live sources.
  virtual std::stop_token stop() const = 0;
  /// How often new files were asked for (Run::rotate).
  virtual std::uint64_t rotations() const = 0;
};

/// The work of a node that keeps up with its stream.
struct Load {
  double seconds = 0;  ///< for a second of the stream
  std::string device;  ///< on which, by its name
};

using Counters = std::map<std::string, std::uint64_t>;

/// One call at a time, all on one thread from `start` on. Functions that a node has no use for stay as they are here.
class Node {
 public:
  virtual ~Node() = default;

  /// Given its inputs' streams as this node will get them, what it gives: one stream an output. All checking happens
  /// here, before any node starts; nothing is created.
  virtual std::vector<Stream> open(std::span<const Stream> inputs) = 0;
  virtual Needs needs(std::size_t input, const Stream& stream) const;
  /// What it computes with, as "channelize avx512"; after open().
  virtual std::string kernels() const;
  /// Memory that it takes, beside the blocks of its outputs.
  virtual device::MemoryUse bytes() const;
  /// Measured now for some milliseconds, as if the device did nothing else; none: not measured. After open(), before
  /// start().
  virtual std::optional<Load> expected_load() const;
  /// Allocates.
  virtual void start(Outputs& outputs);

  /// Sources: makes at most a few blocks. False: there is no more.
  virtual bool produce(Outputs& outputs);
  /// Sources that wait for others (sockets, pipes): a stop ends their stream, and the run finishes as if it had ended
  /// there.
  virtual bool live() const { return false; }

  /// Blocks of one input come in order of time; between inputs there is no order. A block that does not follow on from
  /// the one before it (another segment, or blocks between them were dropped) begins a segment.
  virtual void begin_segment(std::size_t input, const Block& first, Outputs& outputs);
  virtual void process(std::size_t input, const Block& block, Outputs& outputs);
  /// Of inputs in step: a block of each, all of the same time. begin_segment and end_segment name input 0.
  virtual void process_together(std::span<const Block* const> blocks, Outputs& outputs);
  virtual void end_segment(std::size_t input, Outputs& outputs);
  /// After the end of every input: gives what is left, closes files under their temporary names.
  virtual void finish(Outputs& outputs);
  /// After every node of the run has finished, on the thread that waits for the run: puts files under their names. A
  /// node that is destroyed without it leaves nothing behind.
  virtual void publish();

  /// Of the work so far.
  virtual Counters counters() const;
  /// Files that it has put under their names.
  virtual std::vector<std::string> files() const { return {}; }
  /// After publish(): what it found, for people, whole lines. Empty: nothing that counters and files do not say.
  virtual std::string findings() const { return {}; }
  /// Whether it begins another file when that is asked for (Outputs::rotations).
  virtual bool rotates() const { return false; }
  /// The state between two blocks, for checkpoints, and back before the first block. Empty: there is none.
  virtual std::vector<std::byte> save() const;
  virtual void load(std::span<const std::byte> state);
};

}  // namespace tautline::engine
