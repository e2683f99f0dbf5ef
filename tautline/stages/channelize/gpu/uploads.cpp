#include "tautline/stages/channelize/gpu/uploads.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "tautline/core/integers.h"
#include "tautline/core/validity.h"
#include "tautline/stages/channelize/gpu/launch.h"

namespace tautline::stages::channelize::gpu {

namespace {

constexpr std::size_t kModelNumbers = 4;
constexpr std::size_t kGainThreads = 256;  // of gains.kernel

std::size_t max_words(const Bank& bank) {
  return core::validity_words(bank.spectra(bank.span() - 1 + bank.config.max_samples));
}

// Radians in units of 2 pi / 2^64.
std::uint64_t as_binary_angle(double radians) {
  long double turns = static_cast<long double>(radians) / (2 * std::numbers::pi_v<long double>);
  turns -= std::floor(turns);
  const long double scaled = turns * 18446744073709551616.0L;
  return scaled >= 18446744073709551615.0L ? 0 : static_cast<std::uint64_t>(scaled);
}

}  // namespace

Upload::Upload(const device::Device& device, std::size_t bytes) : target_(device.allocate(bytes)) {
  for (std::size_t n = 0; n < staging_.size(); ++n) {
    staging_[n] = device.allocate_pinned(bytes);
    sent_[n] = device.make_event();
  }
}

const void* Upload::send(device::Queue& queue, std::size_t bytes) {
  queue.copy(target_.data(), staging_[next_].data(), bytes);
  queue.record(*sent_[next_]);
  next_ = 1 - next_;
  return target_.data();
}

Uploads::Uploads(const Bank& bank, const device::Device& device, std::size_t gain_parts)
    : bank_(bank),
      device_(device),
      parts_(gain_parts),
      words_(max_words(bank)),
      phases_(device, bank.config.inputs * kModelNumbers * sizeof(std::uint64_t)),
      valid_(device, bank.config.inputs * words_ * sizeof(std::uint64_t)),
      bits_(bank.config.inputs * words_) {
  if (!bank.requantised()) return;
  gains_ = device.allocate(bank.config.inputs * bank.channels * sizeof(float));
  next_gains_.resize(bank.config.inputs * bank.channels);
  last_gains_.reserve(next_gains_.size());
}

std::size_t Uploads::device_bytes(const Bank& bank) {
  const std::size_t inputs = bank.config.inputs;
  return inputs * (kModelNumbers + max_words(bank)) * sizeof(std::uint64_t) +
         (bank.requantised() ? inputs * bank.channels * sizeof(float) : 0);
}

std::size_t Uploads::host_bytes(const Bank& bank) {
  const std::size_t inputs = bank.config.inputs;
  return inputs * (2 * kModelNumbers + 3 * max_words(bank)) * sizeof(std::uint64_t) +
         (bank.requantised() ? 2 * inputs * bank.channels * sizeof(float) : 0);
}

const std::uint64_t* Uploads::phases(device::Queue& queue, const std::vector<PhaseModel>& models) {
  if (models.empty()) return nullptr;
  auto* to = phases_.write<std::uint64_t>();
  const auto frame = static_cast<double>(bank_.frame);
  for (const PhaseModel& m : models) {
    *to++ = as_binary_angle(m.phase_rad);
    *to++ = as_binary_angle(m.phase_step_rad);
    *to++ = as_binary_angle(m.slope_rad / frame);
    *to++ = as_binary_angle(m.slope_step_rad / frame);
  }
  return static_cast<const std::uint64_t*>(
      phases_.send(queue, models.size() * kModelNumbers * sizeof(std::uint64_t)));
}

const std::uint64_t* Uploads::valid(device::Queue& queue, const HistoryMask& held,
                                    const core::ValidityView& validity, std::size_t count,
                                    std::size_t spectra) {
  const std::size_t inputs = bank_.config.inputs, used = core::validity_words(spectra);
  const bool trivial = validity.empty() && held.all_valid();
  bool all = true;
  for (std::size_t i = 0; i < inputs; ++i) {
    std::uint64_t* bits = bits_.data() + i * words_;
    bits[used - 1] = 0;
    if (trivial) {
      core::set_range(bits, 0, spectra, true);
      continue;
    }
    spectrum_validity(bank_, held, validity, count, i, spectra, bits);
    all = all && core::count_valid(bits, 0, spectra) == spectra;
  }
  if (all) return nullptr;
  std::memcpy(valid_.write<std::uint64_t>(), bits_.data(), bits_.size() * sizeof(std::uint64_t));
  return static_cast<const std::uint64_t*>(
      valid_.send(queue, bits_.size() * sizeof(std::uint64_t)));
}

const float* Uploads::gains(device::Queue& queue, const core::View<const float, 2>& view,
                            const device::Kernel& order_gains) {
  if (!bank_.requantised()) return nullptr;
  const std::size_t channels = bank_.channels, inputs = bank_.config.inputs;
  if (device_.holds(view.data())) {
    last_gains_.clear();
    const device::LaunchShape shape{.groups = {core::divide_up(channels, kGainThreads), inputs, 1},
                                    .threads = {kGainThreads}};
    queue.run(order_gains, shape, view.data(), view.stride(0), view.stride(1), gains_.data(),
              core::u32(channels), core::u32(parts_));
    return gains_.as<float>();
  }
  float* to = next_gains_.data();
  for (std::size_t i = 0; i < inputs; ++i)
    for (std::size_t part = 0; part < parts_; ++part)
      for (std::size_t c = part; c < channels; c += parts_) *to++ = view(c, i);
  // Gains seldom change, so most calls copy nothing.
  if (next_gains_ != last_gains_) {
    queue.copy(gains_.data(), next_gains_.data(), next_gains_.size() * sizeof(float));
    last_gains_ = next_gains_;
  }
  return gains_.as<float>();
}

}  // namespace tautline::stages::channelize::gpu
