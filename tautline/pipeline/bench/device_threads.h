// One host thread for each of several devices, so that the host feeds all of them at once.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tautline::pipeline {

/// Belongs to one thread.
class DeviceThreads {
 public:
  using Work = std::function<void(std::size_t device)>;

  /// Device 0 is served on the thread that calls each().
  explicit DeviceThreads(std::size_t devices);
  ~DeviceThreads();
  DeviceThreads(const DeviceThreads&) = delete;
  DeviceThreads& operator=(const DeviceThreads&) = delete;

  /// Calls work(device) for every device, all at once, and waits for all of them. Then throws the
  /// error of the first device that failed: no device continues when one has failed.
  void each(const Work& work);

 private:
  void attempt(const Work& work, std::size_t device);
  void serve(std::size_t device);

  std::mutex mutex_;
  std::condition_variable begin_, done_;
  const Work* work_ = nullptr;
  std::uint64_t round_ = 0;
  std::size_t busy_ = 0;
  bool closed_ = false;
  std::vector<std::exception_ptr> errors_;
  std::vector<std::jthread> threads_;
};

}  // namespace tautline::pipeline
