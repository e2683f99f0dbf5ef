#include "tautline/pipeline/search/filterbank_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/pipeline/progress.h"

namespace tautline::pipeline {

SampleRange choose_range(const formats::FilterbankReader& reader, double start_s,
                         double duration_s) {
  const formats::FilterbankDescription& description = reader.description();
  const double rate = description.rate_hz.value();
  const std::string available = std::to_string(description.duration_s()) + " s of data";
  if (!(start_s >= 0) || !(start_s * rate <= static_cast<double>(description.samples)))
    throw core::Error(core::ErrorKind::config, "start_s", fmt::format("{}", start_s),
                      "0 or more, inside the " + available);
  if (std::isnan(duration_s))
    throw core::Error(core::ErrorKind::config, "duration_s", "nan",
                      "seconds, or a negative number for all there is");
  SampleRange range;
  range.first = static_cast<std::uint64_t>(std::llround(start_s * rate));
  range.count = description.samples - std::min(range.first, description.samples);
  if (duration_s >= 0 && duration_s * rate < static_cast<double>(range.count))
    range.count = static_cast<std::uint64_t>(std::llround(duration_s * rate));
  if (range.count == 0)
    throw core::Error(core::ErrorKind::config, "input", "no samples", "at least one",
                      "there are " + available);
  return range;
}

std::vector<PlacedRange> split_at_gaps(const formats::FilterbankReader& reader,
                                       const SampleRange& range) {
  std::vector<PlacedRange> parts;
  for (const formats::Segment& segment : reader.segments()) {
    const std::uint64_t first = std::max(range.first, segment.first_sample);
    const std::uint64_t end =
        std::min(range.first + range.count, segment.first_sample + segment.samples);
    if (first < end)
      parts.push_back({{first, end - first}, segment.grid_sample + (first - segment.first_sample)});
  }
  return parts;
}

FilterbankBlocks::FilterbankBlocks(formats::FilterbankReader& reader, const SampleRange& range,
                                   std::size_t block_samples, std::stop_token stop, Edit edit,
                                   const device::Device* device)
    : reader_(reader) {
  const std::size_t bytes = block_samples * reader.description().sample_bytes();
  ring_.prepare([&](SpectraBlock& block) {
    block.memory = device != nullptr && device->compiles() ? device->allocate_pinned(bytes)
                                                           : device::Buffer(bytes);
    block.bytes = {block.memory.as<std::byte>(), bytes};
  });
  thread_ = std::jthread([this, range, block_samples, stop = std::move(stop),
                          edit = std::move(edit)] { read(range, block_samples, stop, edit); });
}

void FilterbankBlocks::read(const SampleRange& range, std::size_t block_samples,
                            const std::stop_token& stop, const Edit& edit) {
  const std::size_t sample_bytes = reader_.description().sample_bytes();
  try {
    for (std::uint64_t done = 0; done < range.count;) {
      SpectraBlock* block = ring_.begin_write();
      if (block == nullptr) break;
      require_running(stop);
      const auto wanted =
          static_cast<std::size_t>(std::min<std::uint64_t>(block_samples, range.count - done));
      block->first_sample = range.first + done;
      block->samples = 0;
      while (block->samples < wanted) {
        const std::size_t got =
            reader_.read(block->first_sample + block->samples, wanted - block->samples,
                         block->bytes.subspan(block->samples * sample_bytes));
        if (got == 0) break;
        block->samples += got;
      }
      if (block->samples == 0) break;
      if (edit)
        edit(block->bytes.first(block->samples * sample_bytes), block->first_sample,
             block->samples);
      done += block->samples;
      ring_.end_write();
    }
  } catch (...) {
    error_ = std::current_exception();
  }
  ring_.close();
}

const SpectraBlock* FilterbankBlocks::next() {
  const SpectraBlock* block = ring_.begin_read();
  if (block == nullptr) {
    if (thread_.joinable()) thread_.join();
    if (error_) std::rethrow_exception(error_);
  }
  return block;
}

}  // namespace tautline::pipeline
