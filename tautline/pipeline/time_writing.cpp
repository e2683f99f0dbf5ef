#include "tautline/pipeline/time_writing.h"

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tautline/core/stopwatch.h"

namespace tautline::pipeline {

double bytes_per_s(const engine::Stream& stream) {
  if (stream.max_samples == 0) return 0;
  return static_cast<double>(stream.block_bytes()) / static_cast<double>(stream.max_samples) *
         stream.rate_hz.value();
}

std::optional<engine::Load> time_writing(const std::string& output, double bytes_per_s) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  constexpr double kMost_s = 0.5;
  std::string name = (std::filesystem::path(output).parent_path() / ".tautline-XXXXXX").string();
  const int file = mkstemp(name.data());
  if (file < 0) return {};
  unlink(name.c_str());
  const std::vector<std::byte> piece(std::size_t{4} << 20, std::byte{1});
  const auto start = core::Clock::now();
  std::size_t written = 0;
  while (written < kBytes && core::seconds_since(start) < kMost_s) {
    const ssize_t count = write(file, piece.data(), piece.size());
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  const double seconds = core::seconds_since(start);
  close(file);
  // A disk that is full, too, is none to measure.
  if (written < kBytes && seconds < kMost_s) return {};
  return engine::Load{seconds / static_cast<double>(written) * bytes_per_s, kWriting};
}

}  // namespace tautline::pipeline
