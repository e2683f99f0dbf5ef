#include "tautline/pipeline/voltages/delay_line.h"

#include <algorithm>
#include <utility>

namespace tautline::pipeline {

DelayLine::DelayLine(const device::Device& device, std::size_t inputs, std::size_t sample_bytes,
                     std::size_t history_samples, std::size_t max_block_samples)
    : inputs_(inputs),
      sample_bytes_(sample_bytes),
      history_(history_samples),
      row_samples_(history_samples + max_block_samples),
      parallel_(!device.compiles()),
      samples_(device.allocate(inputs * row_samples_ * sample_bytes)),
      other_(device.allocate(inputs * row_samples_ * sample_bytes)),
      validity_(inputs, row_samples_, false),
      block_validity_(inputs, max_block_samples),
      moved_(core::validity_words(history_samples)) {}

void DelayLine::clear() {
  held_ = 0;
  end_ = 0;
}

void* DelayLine::rows(device::Queue& queue) {
  // Keep the newest `history_` samples at the front of each row.
  if (held_ > history_) {
    const std::size_t drop = held_ - history_;
    queue.copy_rows(other_.data(), row_stride_bytes(),
                    samples_.as<std::byte>() + drop * sample_bytes_, row_stride_bytes(),
                    history_ * sample_bytes_, inputs_);
    std::swap(samples_, other_);
    for (std::size_t i = 0; i < inputs_; ++i) {
      core::copy_bits(validity_.row(i), drop, history_, moved_.data(), 0);
      core::copy_bits(moved_.data(), 0, history_, validity_.row(i), 0);
    }
    held_ = history_;
  }
  return samples_.as<std::byte>() + held_ * sample_bytes_;
}

void DelayLine::append(std::size_t samples) {
  for (std::size_t i = 0; i < inputs_; ++i)
    core::copy_bits(block_validity_.row(i), 0, samples, validity_.row(i), held_);
  held_ += samples;
  end_ += static_cast<std::int64_t>(samples);
}

void DelayLine::gather(device::Queue& queue, std::int64_t first, std::size_t count,
                       const std::vector<std::int64_t>& delay_samples, void* out,
                       std::size_t out_row_stride_bytes, core::ValidityMask& out_validity) const {
  const auto rows = [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i)
      gather_row(queue, i, first - delay_samples[i], count,
                 static_cast<std::byte*>(out) + i * out_row_stride_bytes, out_validity.row(i));
  };
  if (parallel_)
    queue.parallel_for(inputs_, 1, rows);
  else
    rows(0, inputs_, 0);
}

void DelayLine::gather_row(device::Queue& queue, std::size_t input, std::int64_t first,
                           std::size_t count, std::byte* out, std::uint64_t* valid) const {
  const std::int64_t oldest = end_ - static_cast<std::int64_t>(held_);
  const std::int64_t last = first + static_cast<std::int64_t>(count);
  const std::int64_t from = std::clamp(oldest, first, last);
  const std::int64_t to = std::clamp(end_, from, last);
  const auto lead = static_cast<std::size_t>(from - first);
  const auto body = static_cast<std::size_t>(to - from);
  const auto tail = static_cast<std::size_t>(last - to);
  queue.fill(out, 0, lead * sample_bytes_);
  queue.fill(out + (lead + body) * sample_bytes_, 0, tail * sample_bytes_);
  core::set_range(valid, 0, lead, false);
  core::set_range(valid, lead + body, tail, false);
  if (body == 0) return;
  const auto place = static_cast<std::size_t>(from - oldest);
  queue.copy(out + lead * sample_bytes_,
             samples_.as<std::byte>() + input * row_stride_bytes() + place * sample_bytes_,
             body * sample_bytes_);
  core::copy_bits(validity_.row(input), place, body, valid, lead);
}

}  // namespace tautline::pipeline
