#include "tautline/stream/receiving_threads.h"

#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stream/output_blocks.h"

namespace tautline::stream {

namespace {

// Between two looks at whether to stop.
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
  for (std::size_t k = 0; k < receivers.size(); ++k)
    threads_.emplace_back([this, &receiver = *receivers[k],
                           on = processor < 0 ? -1 : processor + static_cast<int>(k)](
                              const std::stop_token& stop) { run(stop, receiver, on); });
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
