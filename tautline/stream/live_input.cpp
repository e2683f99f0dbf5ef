#include "tautline/stream/live_input.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tautline/core/error.h"

namespace tautline::stream {

namespace {

// Time between two checks of the stop token.
constexpr std::chrono::milliseconds kPatience{50};
constexpr std::size_t kLeastBuffer = 4096;

}  // namespace

LiveInput::LiveInput(const std::string& path, std::size_t buffer_bytes, std::stop_token stop)
    : input_(path),
      stop_(std::move(stop)),
      buffer_bytes_(std::max(buffer_bytes, kLeastBuffer)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(buffer_bytes_)),
      thread_([this](const std::stop_token& own) { gather(own); }) {}

LiveInput::~LiveInput() {
  thread_.request_stop();
  thread_.join();
}

// Reads until the end, a fault, a requested stop, or the destructor.
void LiveInput::gather(const std::stop_token& own) {
  std::string fault;
  try {
    while (!own.stop_requested() && !stopping() && !input_.ended())
      if (wait_for_room(own)) take_some();
    // Bytes that had come when the stop was requested; more may come for ever.
    std::uint64_t left = stopping() ? input_.waiting_bytes() : 0;
    while (left > 0 && !own.stop_requested() && !input_.ended()) {
      if (!wait_for_room(own)) continue;
      const std::uint64_t before = gathered_;
      if (!take_some()) break;
      left -= std::min(left, gathered_ - before);
    }
  } catch (const core::Error& error) {
    fault = error.what();
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  stopped_ = stopping() && fault.empty();
  fault_ = std::move(fault);
  come_.notify_all();
}

bool LiveInput::wait_for_room(const std::stop_token& own) {
  std::unique_lock lock(mutex_);
  return room_.wait_for(lock, kPatience, [&] {
    return own.stop_requested() || gathered_ - given_ < buffer_bytes_;
  }) && !own.stop_requested();
}

// Only this thread moves gathered_, and no other thread uses the bytes beyond it. An empty buffer starts again at its
// front, so that the front stays in the caches as long as the reader keeps up.
bool LiveInput::take_some() {
  std::size_t place = 0, free = 0;
  {
    const std::lock_guard lock(mutex_);
    if (gathered_ == given_) gather_place_ = give_place_ = 0;
    place = gather_place_;
    free = std::min(buffer_bytes_ - static_cast<std::size_t>(gathered_ - given_),
                    buffer_bytes_ - place);
  }
  const std::size_t got = input_.read({buffer_.get() + place, free}, kPatience);
  if (got == 0) return false;
  {
    const std::lock_guard lock(mutex_);
    gathered_ += got;
    gather_place_ = (place + got) % buffer_bytes_;
  }
  come_.notify_all();
  return true;
}

std::vector<std::byte> LiveInput::head(std::size_t limit_bytes) {
  const std::size_t wanted = std::min(limit_bytes, buffer_bytes_);
  std::unique_lock lock(mutex_);
  come_.wait(lock, [&] { return ended_ || gathered_ >= wanted; });
  const auto there = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, gathered_));
  return {buffer_.get(), buffer_.get() + there};
}

std::size_t LiveInput::read(std::span<std::byte> bytes, std::chrono::milliseconds wait) {
  const auto until = std::chrono::steady_clock::now() + wait;
  std::size_t done = 0;
  std::unique_lock lock(mutex_);
  while (done < bytes.size()) {
    if (!come_.wait_until(lock, until, [&] { return ended_ || gathered_ > given_; })) break;
    if (gathered_ == given_) break;
    const std::size_t place = give_place_;
    const std::size_t some = std::min(
        {bytes.size() - done, buffer_bytes_ - place, static_cast<std::size_t>(gathered_ - given_)});
    lock.unlock();
    std::memcpy(bytes.data() + done, buffer_.get() + place, some);
    lock.lock();
    given_ += some;
    give_place_ = (place + some) % buffer_bytes_;
    done += some;
    room_.notify_one();
  }
  return done;
}

bool LiveInput::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_ && gathered_ == given_;
}

bool LiveInput::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

std::string LiveInput::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

std::uint64_t LiveInput::given_bytes() const {
  const std::lock_guard lock(mutex_);
  return given_;
}

}  // namespace tautline::stream
