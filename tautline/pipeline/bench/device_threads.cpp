#include "tautline/pipeline/bench/device_threads.h"

namespace tautline::pipeline {

DeviceThreads::DeviceThreads(std::size_t devices) : errors_(devices) {
  for (std::size_t device = 1; device < devices; ++device)
    threads_.emplace_back([this, device] { serve(device); });
}

DeviceThreads::~DeviceThreads() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  begin_.notify_all();
}

void DeviceThreads::attempt(const Work& work, std::size_t device) {
  errors_[device] = nullptr;
  try {
    work(device);
  } catch (...) {
    errors_[device] = std::current_exception();
  }
}

void DeviceThreads::each(const Work& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    busy_ = threads_.size();
    ++round_;
  }
  begin_.notify_all();
  attempt(work, 0);
  {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
  }
  for (const std::exception_ptr& error : errors_)
    if (error) std::rethrow_exception(error);
}

void DeviceThreads::serve(std::size_t device) {
  for (std::uint64_t seen = 0;;) {
    const Work* work = nullptr;
    {
      std::unique_lock lock(mutex_);
      begin_.wait(lock, [&] { return closed_ || round_ != seen; });
      if (closed_) return;
      seen = round_;
      work = work_;
    }
    attempt(*work, device);
    {
      const std::lock_guard lock(mutex_);
      --busy_;
    }
    done_.notify_one();
  }
}

}  // namespace tautline::pipeline
