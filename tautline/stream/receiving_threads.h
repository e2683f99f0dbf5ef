// Threads that receive packets, each from sockets of its own, and place them by one capture.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "tautline/stream/shared_capture.h"
#include "tautline/stream/udp.h"

namespace tautline::stream {

/// The calling thread from now on runs on one processor. Throws Error(config): "processor".
void stay_on(int processor);

class ReceivingThreads {
 public:
  /// A thread for each receiver, on `processor` and those behind it (negative: any). Packets are placed while wanted(), which
  /// each thread asks. A thread that the capture's store leaves by OutputEnded ends. Throws Error(io) where the system refuses
  /// one of them: then none has received anything.
  ReceivingThreads(const std::vector<std::unique_ptr<UdpReceiver>>& receivers,
                   SharedCapture& capture, int processor, std::function<bool()> wanted);
  /// Waits for the threads' ends.
  ~ReceivingThreads() = default;

  /// They end when they have placed what they have received.
  void stop();
  bool running() const { return running_ > 0; }
  /// What a thread has failed by.
  void rethrow() const;

 private:
  void run(const std::stop_token& stop, UdpReceiver& receiver, int processor);

  SharedCapture& capture_;
  std::function<bool()> wanted_;
  std::latch all_there_{1};  // each receives when all threads have begun
  std::atomic<std::size_t> running_;
  std::atomic<bool> claimed_ = false, failed_ = false;
  std::exception_ptr failure_;  // of the first thread that failed; read when it is said to be there
  std::vector<std::jthread> threads_;
};

}  // namespace tautline::stream
