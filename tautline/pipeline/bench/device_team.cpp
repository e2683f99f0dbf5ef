#include "tautline/pipeline/bench/device_team.h"

namespace tautline::pipeline {

DeviceTeam::DeviceTeam(std::size_t members) : errors_(members) {
  for (std::size_t member = 1; member < members; ++member)
    threads_.emplace_back([this, member] { serve(member); });
}

DeviceTeam::~DeviceTeam() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  begin_.notify_all();
}

void DeviceTeam::attempt(const Work& work, std::size_t member) {
  errors_[member] = nullptr;
  try {
    work(member);
  } catch (...) {
    errors_[member] = std::current_exception();
  }
}

void DeviceTeam::each(const Work& work) {
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

void DeviceTeam::serve(std::size_t member) {
  for (std::uint64_t seen = 0;;) {
    const Work* work = nullptr;
    {
      std::unique_lock lock(mutex_);
      begin_.wait(lock, [&] { return closed_ || round_ != seen; });
      if (closed_) return;
      seen = round_;
      work = work_;
    }
    attempt(*work, member);
    {
      const std::lock_guard lock(mutex_);
      --busy_;
    }
    done_.notify_one();
  }
}

}  // namespace tautline::pipeline
