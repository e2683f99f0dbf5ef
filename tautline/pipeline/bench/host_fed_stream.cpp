#include "tautline/pipeline/bench/host_fed_stream.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <utility>

namespace tautline::pipeline {

HostFedStream::HostFedStream(std::shared_ptr<const device::Device> device, std::size_t in_bytes,
                             std::size_t out_bytes, std::size_t blocks, Work work)
    : device_(std::move(device)),
      work_(std::move(work)),
      incoming_(device_->make_queue()),
      compute_(device_->make_queue()),
      outgoing_(device_->make_queue()) {
  for (Slot& slot : slots_)
    slot = {device_->allocate(in_bytes),
            device_->allocate(out_bytes),
            device_->allocate_pinned(out_bytes),
            device_->make_event(),
            device_->make_event(),
            device_->make_event()};
  std::mt19937_64 random(1);
  for (std::size_t b = 0; b < blocks; ++b) {
    sources_.push_back(device_->allocate_pinned(in_bytes));
    auto* words = sources_.back().as<std::uint64_t>();
    std::generate_n(words, in_bytes / sizeof *words, std::ref(random));
  }
}

void HostFedStream::send(std::size_t block) {
  Slot& slot = slots_[block % kDepth];
  // The consumer has taken the results of three blocks before.
  slot.left->synchronise();
  incoming_->wait(*slot.worked);
  incoming_->copy(slot.in.data(), source(block).data(), slot.in.bytes());
  incoming_->record(*slot.arrived);
  compute_->wait(*slot.arrived);
  compute_->wait(*slot.left);
  work_(*compute_, slot.in.data(), slot.out.data());
  compute_->record(*slot.worked);
  outgoing_->wait(*slot.worked);
  outgoing_->copy(slot.result.data(), slot.out.data(), slot.out.bytes());
  outgoing_->record(*slot.left);
}

std::vector<double> HostFedStream::run(std::size_t count, std::size_t parts) {
  while (marks_.size() <= parts) marks_.push_back(device_->make_event());
  std::vector<std::size_t> ends;  // blocks after which a part ends
  for (std::size_t part = 0; part <= parts; ++part)
    ends.push_back(kDepth + (count - kDepth) * part / parts);
  for (std::size_t b = 0, part = 0; b < count; ++b) {
    send(sent_++);
    for (; part <= parts && b + 1 == ends[part]; ++part) outgoing_->record(*marks_[part]);
  }
  outgoing_->synchronise();
  std::vector<double> seconds;
  for (std::size_t part = 0; part < parts; ++part)
    seconds.push_back(device_->seconds_between(*marks_[part], *marks_[part + 1]) /
                      static_cast<double>(ends[part + 1] - ends[part]));
  return seconds;
}

const void* HostFedStream::last_result() const {
  return slots_[(sent_ + kDepth - 1) % kDepth].result.data();
}

bool HostFedStream::same_one_at_a_time(std::size_t count) {
  const std::size_t bytes = slots_[0].out.bytes();
  device::Buffer expected(bytes);
  std::memcpy(expected.data(), last_result(), bytes);
  const std::size_t end = sent_;
  Slot& slot = slots_[0];
  for (std::size_t block = end - std::min(count, end); block < end; ++block) {
    compute_->copy(slot.in.data(), source(block).data(), slot.in.bytes());
    compute_->fill(slot.out.data(), 0xA5, bytes);
    work_(*compute_, slot.in.data(), slot.out.data());
    compute_->copy(slot.result.data(), slot.out.data(), bytes);
    compute_->synchronise();
  }
  return std::memcmp(slot.result.data(), expected.data(), bytes) == 0;
}

}  // namespace tautline::pipeline
