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

/// A node's requirements on the blocks of one of its inputs.
struct Needs {
  /// The device whose memory it reads the arrays from; null: the host. The engine copies blocks from other memory.
  std::shared_ptr<const device::Device> device = {};
  /// Reads arrays in any memory: for a stage that checks by itself, or reads no array.
  bool anywhere = false;
  /// Most blocks that it keeps (Outputs::keep) at a time.
  std::size_t kept_blocks = 0;
  /// For all inputs of a node, or for none: it gets one block of each at a time (Node::process_together).
  bool in_step = false;
};

/// A node's outputs, and the engine's services for it. Used on the thread that calls the node.
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
  /// Keeps a block that `process` was given until the handle is destroyed.
  virtual std::shared_ptr<const Block> keep(const Block& block) = 0;
  /// The queue for work on a device; one for each lane and device.
  virtual device::Queue& queue(const std::shared_ptr<const device::Device>& device) = 0;
  /// Waits for work on a device; that time is not the node's own.
  virtual void wait(const device::Event& event) = 0;
  /// For live sources: from now on (true) they wait for senders, until `false`: that time is not the node's own. Their
  /// counters are published meanwhile.
  virtual void waits_for_others(bool waits) = 0;
  /// Ends the waiting of live sources.
  virtual std::stop_token stop() const = 0;
  /// Number of requests for new files (Run::rotate).
  virtual std::uint64_t rotations() const = 0;
};

/// The load of a node that keeps up with its stream.
struct Load {
  double seconds = 0;  ///< of work for a second of the stream
  std::string device;  ///< name of the device that works
};

using Counters = std::map<std::string, std::uint64_t>;

/// The state of a live source whose first data are read before the run begins, by another node.
struct FirstData {
  double reading_s = 0;  ///< since they are read; negative: they have been read
  Counters counters;
  std::vector<std::string> problems;
};

/// One call at a time, all on one thread from `start` on. Functions that a node does not need keep these defaults.
class Node {
 public:
  virtual ~Node() = default;

  /// Takes the streams of its inputs as this node will read them; returns a stream for each output. All checking
  /// happens here, before any node starts; nothing is created.
  virtual std::vector<Stream> open(std::span<const Stream> inputs) = 0;
  virtual Needs needs(std::size_t input, const Stream& stream) const;
  /// Names of its kernels, as "channelize avx512"; after open().
  virtual std::string kernels() const;
  /// Memory of the node, beside the blocks of its outputs.
  virtual device::MemoryUse bytes() const;
  /// Measured now for some milliseconds, as if the device had no other work; none: not measured. After open(), before
  /// start().
  virtual std::optional<Load> expected_load() const;
  /// Allocates memory.
  virtual void start(Outputs& outputs);

  /// Sources: makes at most a few blocks. False: there is no more.
  virtual bool produce(Outputs& outputs);
  /// For sources that wait for senders (sockets, pipes): a stop ends their stream, and the run finishes as if it had
  /// ended there.
  virtual bool live() const { return false; }

  /// Blocks of one input come in order of time; between inputs there is no order. A block that does not continue the
  /// preceding one (another segment, or blocks between them were dropped) begins a segment.
  virtual void begin_segment(std::size_t input, const Block& first, Outputs& outputs);
  virtual void process(std::size_t input, const Block& block, Outputs& outputs);
  /// For inputs in step: a block of each, all of the same time. begin_segment and end_segment name input 0.
  virtual void process_together(std::span<const Block* const> blocks, Outputs& outputs);
  virtual void end_segment(std::size_t input, Outputs& outputs);
  /// After the end of every input: gives the remaining blocks, closes files under their temporary names.
  virtual void finish(Outputs& outputs);
  /// After every node of the run has finished, on the thread that waits for the run: gives files their final names. A
  /// node that is destroyed without this call leaves no files.
  virtual void publish();
  /// After publish() of every node: what takes long and no other node's files wait for.
  virtual void conclude();

  /// Counts of the work so far.
  virtual Counters counters() const;
  /// What is wrong now, as a sender that is silent; without the node's name. Asked for with the counters.
  virtual std::vector<std::string> problems() const;
  /// Any thread. None: no other node reads from this one before the run begins, or not yet.
  virtual std::optional<FirstData> first_data() const;
  /// Files that have their final names.
  virtual std::vector<std::string> files() const { return {}; }
  /// After publish(): findings as text, whole lines. Empty: none beside counters and files.
  virtual std::string findings() const { return {}; }
  /// Whether it begins another file on request (Outputs::rotations).
  virtual bool rotates() const { return false; }
  /// The state between two blocks, for checkpoints, and back before the first block. Empty: no state.
  virtual std::vector<std::byte> save() const;
  virtual void load(std::span<const std::byte> state);
};

}  // namespace tautline::engine
