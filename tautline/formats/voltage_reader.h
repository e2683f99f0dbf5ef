// The interface of every reader of antenna voltages: a described stream, block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/core/voltage.h"
#include "tautline/formats/forward_bytes.h"

namespace tautline::formats {

/// Damage in a file: whole samples are delivered, others are counted and named in messages.
struct Damage {
  static constexpr std::size_t kMaxMessages = 100;

  std::uint64_t lost_samples = 0;     ///< samples (times x inputs) missing or marked invalid
  std::uint64_t dropped_samples = 0;  ///< samples in the file but not delivered: repeated, too late
  std::uint64_t trailing_bytes = 0;   ///< bytes, mostly at the end, that make no whole sample
  std::vector<std::string> messages;  ///< "FILE: what, where, found, expected"; at most 100
  std::set<std::string> logged;       ///< of the messages: what the log had as it was found
  bool any() const {
    return !messages.empty() || lost_samples > 0 || dropped_samples > 0 || trailing_bytes > 0;
  }

  /// Keeps a message; when there are too many, the last one says so.
  void note(std::string message) {
    if (messages.size() + 1 < kMaxMessages)
      messages.push_back(std::move(message));
    else if (messages.size() + 1 == kMaxMessages)
      messages.push_back("more damage was found than is listed here; the counts hold all of it");
  }
  /// One that the log has had.
  void note_logged(const std::string& message) {
    if (logged.size() < kMaxMessages) logged.insert(message);
    note(message);
  }
  /// The messages that the log has not had.
  std::vector<std::string> not_logged() const {
    std::vector<std::string> others = messages;
    std::erase_if(others, [&](const std::string& message) { return logged.contains(message); });
    return others;
  }
  void add(const Damage& other) {
    lost_samples += other.lost_samples;
    dropped_samples += other.dropped_samples;
    trailing_bytes += other.trailing_bytes;
    for (const std::string& message : other.messages) note(message);
    logged.insert(other.logged.begin(), other.logged.end());
  }
};

/// Not thread-safe: one thread reads at a time. Constructors throw Error(format) when a header
/// contradicts itself or its file and Error(io) when the system refuses.
class VoltageReader {
 public:
  virtual ~VoltageReader() = default;
  const core::VoltageDescription& description() const { return description_; }
  /// The layout of every block that read() fills with `samples` samples.
  virtual core::RawLayout layout(std::size_t samples) const = 0;
  /// Bytes that a block of `samples` samples takes.
  virtual std::size_t block_bytes(std::size_t samples) const = 0;
  /// Samples in the whole stream as far as its size tells.
  virtual std::uint64_t total_samples() const = 0;
  /// Skips to a sample (the start of the part to take). Allowed before the first read.
  virtual void seek(std::uint64_t first_sample) = 0;
  /// Before the first read: throws Error(format) where these samples cannot be read through.
  virtual void require_readable(std::uint64_t /*first_sample*/, std::uint64_t /*samples*/) const {}
  /// Reads up to `samples` of the next samples of every input into `block` (its bytes resized, its
  /// capacity kept) and returns how many; 0 at the end. Samples that are missing inside the stream
  /// are delivered as bytes of any value and named in block.invalid.
  virtual std::size_t read(std::size_t samples, core::RawBlock& block) = 0;
  /// So far. Valid until the next call of the reader.
  virtual const Damage& damage() const { return damage_; }
  /// Before the first read: damage(), and what the file's size and the headers and counters at its end tell of damage
  /// that reading will find.
  virtual Damage foreseen_damage() const { return damage_; }

 protected:
  /// An empty block, with bytes for `samples` from `first_sample` on.
  void begin(core::RawBlock& block, std::size_t samples, std::uint64_t first_sample) const {
    block.layout = layout(samples);
    block.bytes.resize(block_bytes(samples));
    block.first_sample = first_sample;
    block.invalid.clear();
    block.samples = 0;
  }

  core::VoltageDescription description_;
  Damage damage_;
};

/// The least bytes of a piece of a read that is decoded on a thread of its own: handing over less takes as long as
/// decoding it.
inline constexpr std::size_t kLeastDecodedBytes = std::size_t{1} << 18;

/// The meaning of VDIF's threads, which the file does not give.
enum class ThreadsAre { guessed, antennas, polarisations, bands };

struct ReaderOptions {
  /// What the file cannot say: everything for NPY; rate, centre, sideband and start for MWA
  /// receivers; rate, centre, sideband and polarisations for VDIF. Ignored elsewhere. A rate whose numerator
  /// is zero, a centre or a bandwidth of zero are not given.
  core::VoltageDescription assumed;
  ThreadsAre threads_are = ThreadsAre::guessed;
  bool receivers = false;  ///< MWA: the files are receivers of one array, not consecutive
  /// Pieces into which a read of VDIF or GUPPI is divided for several threads; 0: by its length.
  std::size_t decoding_pieces = 0;
  /// Gives the reader of samples that are in no file (formats/memory), again from the first one in every call; `path`
  /// is then a name for messages alone. None: the file's.
  std::function<std::unique_ptr<VoltageReader>()> source = {};
  /// Fields that the user gave, as "rate_hz": one that the file's format does not use is refused,
  /// not ignored.
  std::vector<std::string> named;
};
const core::Fields<ReaderOptions>& fields(const ReaderOptions&);

/// Throws Error(config) for a named option that is not among `used`, those of `format`'s files.
void refuse_unused(const std::string& path, const std::string& format, const ReaderOptions& options,
                   std::initializer_list<std::string_view> used);

/// Throws Error(config) for threads of VDIF that are said to be bands of real samples, which nothing can correlate.
void require_complex_bands(const ReaderOptions& options, const core::VoltageDescription& stream);

/// Opens one file of any voltage format, told by its first bytes and its name.
std::unique_ptr<VoltageReader> open_voltages(const std::string& path,
                                             const ReaderOptions& options = {});

/// The format of a stream of voltages that begins with these bytes and has this name, where its samples can be
/// processed as they come; empty: the voltages have to be in a file.
std::string voltages_in_order(std::span<const std::byte> first_bytes, const std::string& name);

/// The first bytes of a stream that are enough to recognise its format.
inline constexpr std::size_t kOrderedHeadBytes = std::size_t{1} << 14;

/// The same for bytes that come in order: total_samples() is not known, and read() waits. Throws Error(unsupported) for
/// formats that are read from files only.
std::unique_ptr<VoltageReader> open_voltages(std::shared_ptr<ForwardBytes> bytes,
                                             const ReaderOptions& options);

}  // namespace tautline::formats
