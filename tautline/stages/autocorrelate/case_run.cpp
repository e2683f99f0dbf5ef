#include "tautline/stages/autocorrelate/case_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "tautline/core/error.h"
#include "tautline/stages/autocorrelate/lag_scheme.h"

namespace tautline::stages::autocorrelate {

namespace {

constexpr std::size_t kViews = 4;  // sums, lead_in and two monitors
// Drawn counts are repeated: drawing more would take longer than measuring. Odd, so that rows differ.
constexpr std::size_t kMostDrawn = (std::size_t{1} << 24) - 3;

}  // namespace

void draw_counts(void* to, std::size_t count, core::SampleType type, std::size_t most) {
  std::mt19937_64 random(1);
  auto* bytes = static_cast<std::byte*>(to);
  const std::size_t size = core::bytes_of(type);
  const std::size_t drawn = std::min(count, kMostDrawn);
  for (std::size_t i = 0; i < drawn; ++i) {
    auto value = static_cast<std::uint32_t>(random() % (most + 1));
    if (type == core::SampleType::f32) {
      const auto real = static_cast<float>(value);
      std::memcpy(&value, &real, sizeof value);
    }
    std::memcpy(bytes + i * size, &value, size);
  }
  for (std::size_t i = drawn; i < count; i += drawn)
    std::memcpy(bytes + i * size, bytes, std::min(drawn, count - i) * size);
}

CaseRun::CaseRun(const Config& config, std::size_t most,
                 std::shared_ptr<const device::Device> device)
    : jit::CaseRun<Plan>(std::move(device)),
      config_(config),
      most_(most),
      lags_(lag_count(config)) {
  // Floats hold whole counts up to 2^24.
  const std::uint64_t limit =
      config.type == core::SampleType::f32 ? std::uint64_t{1} << 24 : largest_count(config.type);
  if (most > limit)
    throw core::Error(
        core::ErrorKind::config, "`problem` of autocorrelate: most", std::to_string(most),
        "at most " + std::to_string(limit) + " in " + std::string(core::to_string(config.type)));
}

std::size_t CaseRun::packet_bytes() const {
  return config_.max_samples * config_.sensors * core::bytes_of(config_.type);
}

// As the stage bounds its sums: by the largest window times the total, where the total is not
// smaller. It takes bytes for 255.
bool CaseRun::could_leave_64_bits(std::size_t samples) const {
  if (config_.type == core::SampleType::f32) return false;
  constexpr double kHalf = 0x1p62;
  const auto largest = static_cast<double>(config_.type == core::SampleType::u8 ? 255 : most_);
  const double total = static_cast<double>(most_) * static_cast<double>(samples);
  const double window = std::ldexp(largest, static_cast<int>(config_.levels) - 1);
  return std::min(window, total) * total >= kHalf;
}

void CaseRun::give(const void* counts) {
  if (could_leave_64_bits(state().samples() + config_.max_samples)) state().reset();
  plan()->execute(queue(), state(), {counts, config_.type, {config_.max_samples, config_.sensors}});
}

std::size_t CaseRun::read_bytes() const {
  return kViews * config_.pair_count() * lags_ * sizeof(std::int64_t);
}

void CaseRun::read(void* to) const {
  const std::size_t pairs = config_.pair_count();
  const core::MutableSampleView<2> all(to, config_.sums_type(), {kViews * pairs, lags_});
  const auto part = [&](std::size_t which) { return all.slice(0, which * pairs, pairs); };
  plan()->read(queue(), state(), {part(0), part(1), part(2), part(3), {}, {}});
}

void CaseRun::draw() {
  const std::size_t count = std::min(config_.sensors * config_.max_samples, kMostDrawn);
  const device::Buffer drawn(count * core::bytes_of(config_.type));
  draw_counts(drawn.data(), count, config_.type, most_);
  counts_ = repeat(drawn, packet_bytes());
}

}  // namespace tautline::stages::autocorrelate
