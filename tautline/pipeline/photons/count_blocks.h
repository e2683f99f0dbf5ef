// Counts and time tags of files, block by block, for the autocorrelator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <span>
#include <utility>
#include <vector>

#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/photon_counts.h"

namespace tautline::pipeline {

/// Blocks of a reader, the next one read while this one is worked on.
class CountBlocks {
 public:
  CountBlocks(formats::CountReader& reader, std::size_t block_samples, std::uint64_t samples)
      : reader_(reader),
        row_bytes_(reader.description().sensors * core::bytes_of(reader.description().type)),
        left_(samples) {
    for (auto& block : blocks_) block.resize(block_samples * row_bytes_);
    start();
  }
  ~CountBlocks() {
    if (next_.valid()) next_.wait();
  }
  CountBlocks(const CountBlocks&) = delete;
  CountBlocks& operator=(const CountBlocks&) = delete;

  /// The next block, valid until the next call; no samples at the end.
  std::pair<std::span<const std::byte>, std::size_t> next() {
    if (!next_.valid()) return {};
    const std::size_t samples = next_.get();
    const std::span<const std::byte> block(blocks_[place_]);
    left_ -= samples;
    place_ = 1 - place_;
    if (samples > 0 && left_ > 0) start();
    return {block.first(samples * row_bytes_), samples};
  }

 private:
  void start() {
    if (left_ == 0) return;
    const auto wanted = static_cast<std::size_t>(
        std::min<std::uint64_t>(left_, blocks_[place_].size() / row_bytes_));
    const std::span<std::byte> to(blocks_[place_].data(), wanted * row_bytes_);
    next_ = std::async(std::launch::async, [this, to] { return reader_.read(to); });
  }

  formats::CountReader& reader_;
  std::size_t row_bytes_;
  std::uint64_t left_;
  std::size_t place_ = 0;
  std::vector<std::byte> blocks_[2];
  std::future<std::size_t> next_;
};

// Tags of one bin are given together, and the last bin of a block may go on in the next one.
class TagBlocks {
 public:
  TagBlocks(PhotonCounts& photons, std::uint64_t samples)
      : photons_(photons), samples_(samples), tags_(std::size_t{1} << 15) {}

  /// The tags of the bins before the second value, which is the run's length at the end.
  std::pair<std::span<const BinnedPhoton>, std::uint64_t> next() {
    std::copy(tags_.begin() + static_cast<std::ptrdiff_t>(given_),
              tags_.begin() + static_cast<std::ptrdiff_t>(held_), tags_.begin());
    held_ -= given_;
    // One bin that fills the block: make room.
    if (held_ == tags_.size()) tags_.resize(2 * tags_.size());
    const std::span<BinnedPhoton> room = std::span(tags_).subspan(held_);
    const std::size_t found = photons_.read_tags(room);
    held_ += found;
    std::uint64_t until = samples_;
    if (found == room.size()) until = std::min(until, tags_[held_ - 1].bin);
    given_ = static_cast<std::size_t>(
        std::partition_point(tags_.begin(), tags_.begin() + static_cast<std::ptrdiff_t>(held_),
                             [&](const BinnedPhoton& tag) { return tag.bin < until; }) -
        tags_.begin());
    return {std::span<const BinnedPhoton>(tags_).first(given_), until};
  }

 private:
  PhotonCounts& photons_;
  std::uint64_t samples_;
  std::vector<BinnedPhoton> tags_;
  std::size_t held_ = 0, given_ = 0;
};

}  // namespace tautline::pipeline
