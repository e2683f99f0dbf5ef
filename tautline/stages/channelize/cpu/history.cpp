#include "tautline/stages/channelize/cpu/history.h"

#include <cstring>

namespace tautline::stages::channelize {

namespace {

constexpr std::size_t kAlignment = 64;

std::size_t row_bytes(const Bank& bank) {
  return (bank.span() * bank.sample_bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

History::History(const Bank& bank)
    : inputs_(bank.config.inputs),
      sample_bytes_(bank.sample_bytes),
      row_bytes_(row_bytes(bank)),
      mask_(bank),
      samples_(inputs_ * row_bytes_) {}

std::size_t History::bytes(const Bank& bank) {
  return bank.config.inputs * row_bytes(bank) + HistoryMask::bytes(bank);
}

void History::advance(const Input& input, std::size_t spectra) {
  const Leftover left = mask_.leftover(input.count, spectra);
  for (std::size_t row = 0; row < inputs_; ++row) {
    std::byte* samples = samples_.as<std::byte>() + row * row_bytes_;
    if (left.old > 0 && left.old_first > 0)
      std::memmove(samples, samples + left.old_first * sample_bytes_, left.old * sample_bytes_);
    if (left.fresh == 0) continue;
    const auto* fresh = static_cast<const std::byte*>(input.samples) + row * input.row_stride_bytes;
    std::memcpy(samples + left.old * sample_bytes_, fresh + left.fresh_first * sample_bytes_,
                left.fresh * sample_bytes_);
  }
  mask_.advance(input.validity, input.count, spectra);
}

std::vector<std::byte> History::save() const {
  return mask_.save([this](std::size_t row) { return samples(row); });
}

void History::load(std::span<const std::byte> saved) {
  mask_.load(saved, [this](std::size_t row, const std::byte* samples) {
    std::memcpy(samples_.as<std::byte>() + row * row_bytes_, samples, held() * sample_bytes_);
  });
}

}  // namespace tautline::stages::channelize
