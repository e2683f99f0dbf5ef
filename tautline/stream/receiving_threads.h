// Threads that receive packets, each from sockets of its own, and place them by one capture.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <latch>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "tautline/stream/shared_capture.h"
#include "tautline/stream/udp.h"

namespace tautline::stream {

/// Binds the calling thread to one processor from now on. Throws Error(config): "processor".
void stay_on(int processor);

class ReceivingThreads {
 public:
  /// One thread for each receiver, on `processor` and the following ones (negative: any). Packets are placed while
  /// wanted(), which each thread calls, is true. A thread that the capture's store leaves by OutputEnded ends. Throws
  /// Error(io) where the system refuses a thread: then no thread has received anything.
  ReceivingThreads(const std::vector<std::unique_ptr<UdpReceiver>>& receivers,
                   SharedCapture& capture, int processor, std::function<bool()> wanted);
  /// Waits for the threads to end.
  ~ReceivingThreads() = default;

  /// Requests the threads to end once they have placed the packets that they have received.
  void stop();
  bool running() const { return running_ > 0; }
  /// The exception by which a thread failed.
  void rethrow() const;

 private:
  void run(const std::stop_token& stop, UdpReceiver& receiver, int processor);

  SharedCapture& capture_;
  std::function<bool()> wanted_;
  std::latch all_there_{1};  // threads receive only when all have begun
  std::atomic<std::size_t> running_;
  std::atomic<bool> claimed_ = false, failed_ = false;
  // Of the first thread that failed; read after `failed_` says that there is one.
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;
};

}  // namespace tautline::stream
