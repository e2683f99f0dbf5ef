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
class DeviceTeam {
 public:
  using Work = std::function<void(std::size_t member)>;

  /// Member 0 works on the thread that calls each().
  explicit DeviceTeam(std::size_t members);
  ~DeviceTeam();
  DeviceTeam(const DeviceTeam&) = delete;
  DeviceTeam& operator=(const DeviceTeam&) = delete;

  /// Calls work(member) for every member, all at once, and waits for all of them. Then throws what
  /// the first of those threw that failed: nobody goes on when one has failed.
  void each(const Work& work);

 private:
  void attempt(const Work& work, std::size_t member);
  void serve(std::size_t member);

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
