#include "tautline/stream/receiving_threads.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/threads.h"
#include "tautline/stream/output_blocks.h"

namespace tautline::stream {

namespace {

// Time between two checks of the stop token.
constexpr std::chrono::milliseconds kThreadPatience{20};

}  // namespace

void stay_on(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(processor), &one);
  const int code = ::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
  if (code != 0)
    throw core::Error(core::ErrorKind::config, "processor", std::to_string(processor),
                      "one that this process may use", std::strerror(code));
}

ReceivingThreads::ReceivingThreads(const std::vector<std::unique_ptr<UdpReceiver>>& receivers,
                                   SharedCapture& capture, int processor,
                                   std::function<bool()> wanted)
    : capture_(capture), wanted_(std::move(wanted)), running_(receivers.size()) {
  try {
    for (std::size_t k = 0; k < receivers.size(); ++k)
      threads_.emplace_back(
          [this, k, &receiver = *receivers[k],
           on = processor < 0 ? -1 : processor + static_cast<int>(k)](const std::stop_token& stop) {
            core::name_this_thread(fmt::format("receive {}", k));
            all_there_.wait();
            run(stop, receiver, on);
          });
  } catch (const std::system_error& refused) {
    // A thread that had received something might wait for a block that no thread would free.
    const std::size_t given = threads_.size();
    stop();
    all_there_.count_down();
    threads_.clear();
    throw core::Error(core::ErrorKind::io, "threads",
                      fmt::format("{} of {} ({})", given, receivers.size(), refused.what()),
                      "all of them", "let this user have more processes (ulimit -u), or set fewer");
  }
  all_there_.count_down();
}

void ReceivingThreads::run(const std::stop_token& stop, UdpReceiver& receiver, int processor) {
  try {
    if (processor >= 0) stay_on(processor);
    SharedCapture::Placer placer(capture_);
    const auto take = [&](std::span<const UdpReceiver::Packet> packets, std::size_t address) {
      if (wanted_()) placer.place(packets, address);
    };
    while (!stop.stop_requested()) receiver.receive(kThreadPatience, take);
  } catch (const OutputEnded&) {
  } catch (...) {
    if (!claimed_.exchange(true)) {
      failure_ = std::current_exception();
      failed_ = true;
    }
  }
  --running_;
}

void ReceivingThreads::stop() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

void ReceivingThreads::rethrow() const {
  if (failed_) std::rethrow_exception(failure_);
}

}  // namespace tautline::stream
