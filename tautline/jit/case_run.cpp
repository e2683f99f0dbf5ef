#include "tautline/jit/case_run.h"

#include <algorithm>
#include <random>

#include "tautline/core/error.h"
#include "tautline/core/half.h"

namespace tautline::jit {

namespace {

// Not a round number, so that channels differ.
constexpr std::size_t kCasePatternBytes = (std::size_t{64} << 20) - 8 * 1009;

template <class T, class Draw>
device::Buffer drawn(std::size_t bytes, Draw draw) {
  const std::size_t count = (std::min(bytes, kCasePatternBytes) + sizeof(T) - 1) / sizeof(T);
  device::Buffer pattern(count * sizeof(T));
  std::generate_n(pattern.as<T>(), count, draw);
  return pattern;
}

}  // namespace

CaseMemory::CaseMemory(std::shared_ptr<const device::Device> device)
    : device_(std::move(device)), queue_(device_->make_queue()) {}

device::Buffer CaseMemory::zeros(std::size_t bytes) const {
  device::Buffer buffer = device_->allocate(bytes);
  queue_->fill(buffer.data(), 0, bytes);
  return buffer;
}

device::Buffer CaseMemory::repeat(const device::Buffer& pattern, std::size_t bytes) const {
  device::Buffer buffer = device_->allocate(bytes);
  for (std::size_t at = 0; at < bytes; at += pattern.bytes())
    queue_->copy(buffer.as<std::byte>() + at, pattern.data(),
                 std::min(pattern.bytes(), bytes - at));
  queue_->synchronise();
  return buffer;
}

device::Buffer CaseMemory::random(const core::SampleFormat& format, std::size_t samples) const {
  const std::size_t bytes = (samples * static_cast<std::size_t>(format.bits_per_sample()) + 7) / 8;
  std::mt19937_64 bits(1);
  std::normal_distribution<float> normal;
  if (!format.is_float()) return repeat(drawn<std::uint64_t>(bytes, std::ref(bits)), bytes);
  if (format.bits == 32) return repeat(drawn<float>(bytes, [&] { return normal(bits); }), bytes);
  return repeat(drawn<core::Half>(bytes, [&] { return core::to_half(normal(bits)); }), bytes);
}

device::Buffer CaseMemory::floats(std::size_t count, float value) const {
  return repeat(drawn<float>(count * sizeof(float), [&] { return value; }), count * sizeof(float));
}

void require_tunable(const std::string& stage, const device::Device* device) {
  if (device != nullptr && device->compiles()) return;
  throw core::Error(core::ErrorKind::unsupported, "tuning of " + stage,
                    device == nullptr ? "no device" : device->name(), "cuda:N or opencl:N");
}

}  // namespace tautline::jit
