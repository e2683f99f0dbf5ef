// A stream of bytes that a thread of its own reads into a buffer of fixed size, so that the writer waits only when the
// buffer is full. Nothing is dropped.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tautline/formats/forward_bytes.h"
#include "tautline/formats/input_stream.h"

namespace tautline::stream {

/// One thread reads from it.
class LiveInput final : public formats::ByteFeed {
 public:
  /// "-" is standard input. After a stop, bytes that the system already has are still read, and the stream ends. Throws
  /// Error(io) when it cannot be opened.
  LiveInput(const std::string& path, std::size_t buffer_bytes, std::stop_token stop);
  ~LiveInput() override;
  LiveInput(const LiveInput&) = delete;
  LiveInput& operator=(const LiveInput&) = delete;

  const std::string& name() const override { return input_.name(); }
  /// The first bytes, at most `limit_bytes` of them (and of the buffer's): waits until they have come or the stream has
  /// ended. read() gives them again.
  std::vector<std::byte> head(std::size_t limit_bytes);
  /// Fills the front of `bytes`; returns when `bytes` is full, the stream has ended or `wait` is over.
  std::size_t read(std::span<std::byte> bytes, std::chrono::milliseconds wait) override;
  /// Whether all bytes were given and no more will come.
  bool ended() const override;
  /// Whether a stop had been requested when it ended.
  bool stopped() const override;
  /// The error that ended the stream, in words; empty when it ended regularly or was stopped.
  std::string fault() const override;
  /// Ends the stream as a requested stop does.
  void stop() override { asked_ = true; }
  /// Bytes given so far.
  std::uint64_t given_bytes() const;

 private:
  bool stopping() const { return asked_ || stop_.stop_requested(); }
  void gather(const std::stop_token& own);
  bool take_some();
  bool wait_for_room(const std::stop_token& own);

  formats::InputStream input_;
  std::stop_token stop_;
  std::atomic<bool> asked_ = false;  // to stop
  std::size_t buffer_bytes_;
  // Allocated without touching it: unused memory costs nothing.
  std::unique_ptr<std::byte[]> buffer_;
  mutable std::mutex mutex_;
  std::condition_variable come_, room_;
  std::uint64_t gathered_ = 0, given_ = 0;         // bytes; their difference is in the buffer
  std::size_t gather_place_ = 0, give_place_ = 0;  // places in the ring of the next byte in and out
  bool ended_ = false, stopped_ = false;
  std::string fault_;
  std::jthread thread_;  // last: it uses all of these
};

}  // namespace tautline::stream
