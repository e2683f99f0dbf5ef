// How long a source of files works for a second of its data: part of the files is read, as in a run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>

#include "tautline/core/stopwatch.h"
#include "tautline/engine/node.h"

namespace tautline::pipeline {

/// In place of a device in the load of a source.
inline constexpr const char* kReading = "reading";

/// Times of a stream.
struct PartToRead {
  std::uint64_t first = 0, samples = 0;
};

/// 64 MiB of a stream of `samples` times, or all of it, from the start of a block on: which one is left to chance, so
/// that parts of the files that are in memory since an earlier measurement do not decide.
inline PartToRead part_to_read(std::uint64_t samples, std::size_t block_samples,
                               std::size_t sample_bytes) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  PartToRead part;
  part.samples = std::min<std::uint64_t>(samples, std::max<std::size_t>(1, kBytes / sample_bytes));
  std::random_device random;
  const std::uint64_t blocks = (samples - part.samples) / block_samples;
  part.first = block_samples * std::uniform_int_distribution<std::uint64_t>(0, blocks)(random);
  return part;
}

/// `read` reads a block and returns the number of its times, 0 at the end. Slow files are read for half a second. None:
/// there was nothing to read.
template <class Read>
std::optional<engine::Load> time_reading(double rate_hz, Read read) {
  constexpr double kMost_s = 0.5;
  const auto start = core::Clock::now();
  std::uint64_t samples = 0;
  for (std::size_t got = 1; got > 0 && core::seconds_since(start) < kMost_s; samples += got)
    got = read();
  if (samples == 0) return {};
  return engine::Load{core::seconds_since(start) / static_cast<double>(samples) * rate_hz,
                      kReading};
}

}  // namespace tautline::pipeline
