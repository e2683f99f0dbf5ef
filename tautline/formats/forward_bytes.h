// A stream of bytes behind the interface of a file: bytes come once, from front to back, and the latest ones are kept
// so that readers may go back a little.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace tautline::formats {

/// The source of the bytes.
class ByteFeed {
 public:
  virtual ~ByteFeed() = default;
  /// The name in messages.
  virtual const std::string& name() const = 0;
  /// Fills the front of `bytes`; returns when they are full, the feed has ended or `wait` is over.
  virtual std::size_t read(std::span<std::byte> bytes, std::chrono::milliseconds wait) = 0;
  /// Whether the feed has ended and all its bytes were given.
  virtual bool ended() const = 0;
  /// Whether it was asked to stop before it ended by itself.
  virtual bool stopped() const = 0;
  /// The reason of a broken stream, in words; empty: none.
  virtual std::string fault() const = 0;
  /// Ends the stream after the bytes received so far.
  virtual void stop() = 0;
};

class ForwardBytes {
 public:
  /// The result of size() until the end is known: more than any sender sends, and small enough for
  /// sums without overflow.
  static constexpr std::uint64_t kUnknownSize = std::uint64_t{1} << 56;

  /// Keeps up to `most_bytes`.
  ForwardBytes(std::unique_ptr<ByteFeed> feed, std::size_t most_bytes);

  const std::string& name() const { return feed_->name(); }
  /// From now on: ends with what has come when `stop` is requested; `waits` is told when a read begins (true) and ends
  /// (false) to wait.
  void start(std::stop_token stop, std::function<void(bool)> waits);
  /// Fills `bytes` from `offset` on, waiting for them; fewer only at the end. Several threads may read at once. Throws
  /// Error(io) for what is broken off and for bytes that were forgotten, Error(memory) where more would have to be kept
  /// than is allowed.
  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes);
  /// Bytes before `offset` will not be read again.
  void forget(std::uint64_t offset);
  /// All bytes, or kUnknownSize while more may come.
  std::uint64_t size() const;
  /// One behind the last byte that can be read without forgetting more.
  std::uint64_t reach() const;
  std::uint64_t kept_bytes() const;
  /// Whether it was asked to stop before it ended by itself.
  bool stopped() const { return feed_->stopped(); }

 private:
  void fetch(std::uint64_t end);
  void recycle();
  void copy(std::uint64_t offset, std::span<std::byte> bytes) const;

  std::unique_ptr<ByteFeed> feed_;
  std::size_t most_bytes_;
  std::stop_token stop_;
  std::function<void(bool)> waits_;
  mutable std::shared_mutex
      mutex_;  // of the members below; held exclusively while waiting for more
  std::deque<std::unique_ptr<std::byte[]>> pieces_;
  std::vector<std::unique_ptr<std::byte[]>> spare_;
  std::uint64_t first_piece_ = 0;           // its number since the begin
  std::uint64_t forgotten_ = 0, came_ = 0;  // bytes
  bool ended_ = false;
};

}  // namespace tautline::formats
