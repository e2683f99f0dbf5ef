#include "tautline/engine/lane.h"

#include <algorithm>

namespace tautline::engine {

void Inbox::push(const Entry& entry) {
  PooledBlock* given_up = nullptr;
  {
    const std::lock_guard lock(mutex_);
    RingEdge& edge = *entry.edge;
    const bool full = entry.kind == Entry::Kind::block && edge.waiting >= edge.options.depth;
    if (full && edge.options.policy != Policy::wait) {
      ++edge.dropped;
      given_up = entry.block;
      if (edge.options.policy == Policy::drop_oldest) {
        const auto oldest = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
          return e.edge == &edge && e.kind == Entry::Kind::block;
        });
        given_up = oldest->block;
        entries_.erase(oldest);
        entries_.push_back(entry);
      }
    } else {
      entries_.push_back(entry);
      if (entry.kind == Entry::Kind::block) ++edge.waiting;
    }
  }
  if (given_up != nullptr) entry.edge->pool->release(*given_up, entry.edge->reader);
  filled_.notify_one();
}

Entry Inbox::pop(const std::function<void()>& idle) {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return stopped_ || !entries_.empty(); };
  if (idle && !filled_.wait_for(lock, kCountEvery, ready)) {
    lock.unlock();
    idle();
    lock.lock();
  }
  filled_.wait(lock, ready);
  if (stopped_) throw Stopped{};
  const Entry entry = entries_.front();
  entries_.pop_front();
  if (entry.kind == Entry::Kind::block) --entry.edge->waiting;
  return entry;
}

std::pair<std::size_t, std::uint64_t> Inbox::waiting_and_dropped(const RingEdge& edge) const {
  const std::lock_guard lock(mutex_);
  return {edge.waiting, edge.dropped};
}

void Inbox::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  filled_.notify_all();
}

std::pair<NodeProfile*, LaneClock::Sum> LaneClock::turn_to(NodeProfile* profile, Sum sum) {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex);
  if (profile_ != nullptr) profile_->*sum_ += std::chrono::duration<double>(now - since_).count();
  since_ = now;
  return {std::exchange(profile_, profile), std::exchange(sum_, sum)};
}

void LaneClock::credit(double& seconds) {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex);
  seconds += std::chrono::duration<double>(now - since_).count();
  since_ = now;
}

std::unique_ptr<device::Event> DeviceClock::event(const DevicePointer& device) {
  auto& spare = spare_[device.get()];
  if (spare.empty()) return device->make_event();
  std::unique_ptr<device::Event> event = std::move(spare.back());
  spare.pop_back();
  return event;
}

void DeviceClock::begin(NodeProfile& profile, const DevicePointer& device, device::Queue& queue) {
  Span span{&profile,      open_.empty() ? nullptr : open_.back().profile,
            device,        &queue,
            event(device), event(device)};
  queue.record(*span.from);
  open_.push_back(std::move(span));
}

void DeviceClock::end() {
  open_.back().queue->record(*open_.back().to);
  done_.push_back(std::move(open_.back()));
  open_.pop_back();
  collect(false);
}

// Work enqueued before this time is done: its time can be read without waiting.
void DeviceClock::collect(bool all) {
  constexpr std::size_t kUnderWay = 64;
  while (done_.size() > (all ? 0 : kUnderWay)) {
    Span& span = done_.front();
    span.to->synchronise();
    const double seconds = span.device->seconds_between(*span.from, *span.to);
    {
      const std::lock_guard lock(profiles_);
      span.profile->device_s += seconds;
      if (span.around != nullptr) span.around->device_s -= seconds;
    }
    auto& spare = spare_[span.device.get()];
    spare.push_back(std::move(span.from));
    spare.push_back(std::move(span.to));
    done_.pop_front();
  }
}

void Lane::drain() {
  for (const auto& [device, queue] : queues) try {
      queue->synchronise();
    } catch (const core::Error&) {  // the run has failed already
    }
}

device::Queue& Lane::queue(const std::shared_ptr<const device::Device>& device) {
  auto queue = queues.find(device.get());
  if (queue == queues.end()) queue = queues.emplace(device.get(), device->make_queue()).first;
  return *queue->second;
}

}  // namespace tautline::engine
