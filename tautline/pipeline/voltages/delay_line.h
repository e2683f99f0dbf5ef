// Whole-sample delays: keeps the last samples of every input and reads them out shifted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/core/validity.h"
#include "tautline/device/device.h"

namespace tautline::pipeline {

/// A delay of n samples makes output(t + n) = input(t). Samples are counted from the segment's start; earlier ones are
/// invalid. Not thread-safe.
class DelayLine {
 public:
  /// Samples are in the memory of `device`. `history_samples`: how many samples before the newest block are kept.
  DelayLine(const device::Device& device, std::size_t inputs, std::size_t sample_bytes,
            std::size_t history_samples, std::size_t max_block_samples);

  /// Forgets everything: the next sample is number 0.
  void clear();

  /// Makes space for a block; the caller writes it to rows() (input i at i * row_stride_bytes()) with its validity in
  /// mask(), and append() adds it to the line.
  void* rows(device::Queue& queue);
  std::size_t row_stride_bytes() const { return row_samples_ * sample_bytes_; }
  core::ValidityMask& mask() { return block_validity_; }
  void append(std::size_t samples);

  /// One after the newest sample.
  std::int64_t end() const { return end_; }

  /// out[i][k] = input i at sample first + k - delay[i], for k < count, with validity. Samples
  /// older than the history or newer than end() are zero and invalid.
  void gather(device::Queue& queue, std::int64_t first, std::size_t count,
              const std::vector<std::int64_t>& delay_samples, void* out,
              std::size_t out_row_stride_bytes, core::ValidityMask& out_validity) const;

  /// Memory of a line of these sizes, masks included.
  static std::size_t bytes(std::size_t inputs, std::size_t sample_bytes,
                           std::size_t history_samples, std::size_t max_block_samples) {
    const std::size_t row = history_samples + max_block_samples;
    return inputs * (2 * row * sample_bytes + (row + max_block_samples) / 8 + 16) +
           history_samples / 8;
  }

 private:
  void gather_row(device::Queue& queue, std::size_t input, std::int64_t first, std::size_t count,
                  std::byte* out, std::uint64_t* valid) const;

  std::size_t inputs_, sample_bytes_, history_, row_samples_;
  bool parallel_;  // the device's memory is the host's, and host threads copy it
  // [input][history + block], and the buffer that the history moves to.
  device::Buffer samples_, other_;
  core::ValidityMask validity_, block_validity_;
  std::vector<std::uint64_t> moved_;
  std::size_t held_ = 0;  // samples in each row
  std::int64_t end_ = 0;
};

}  // namespace tautline::pipeline
