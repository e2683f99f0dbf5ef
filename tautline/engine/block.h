// The data on the edges of a graph: streams, described once before the run, and their blocks.
#pragma once

#include <any>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/core/sample_view.h"
#include "tautline/core/time.h"
#include "tautline/core/validity.h"
#include "tautline/device/device.h"

namespace tautline::engine {

inline constexpr std::size_t kMaxRank = 4;

/// One array of every block of a stream.
struct ArrayType {
  std::string name;  ///< "visibilities", "counts"
  core::SampleType type;
  std::vector<std::string>
      axes;  ///< names, slowest first: {"channel", "input", "time"}; at most kMaxRank
  std::vector<std::size_t> extents;  ///< the largest of any block

  std::size_t elements() const {
    std::size_t n = 1;
    for (const std::size_t extent : extents) n *= extent;
    return n;
  }
  std::size_t bytes() const { return elements() * core::bytes_of(type); }
  /// The index of the axis "time"; axes.size() for none.
  std::size_t time_axis() const;
};

/// The description of a node's output.
struct Stream {
  std::string kind;  ///< "raw voltages", "spectra", "visibilities", "trials", "pulses", "counts"
  std::vector<ArrayType> arrays;    ///< may be empty: blocks with only a payload
  core::Rational rate_hz = {};      ///< of the blocks' samples (times)
  core::Instant start = {};         ///< of the stream's first sample
  std::uint64_t total_samples = 0;  ///< expected; 0: unknown
  std::size_t max_samples = 0;      ///< most samples (times) of one block
  /// The device whose memory has the arrays; null: the host.
  std::shared_ptr<const device::Device> device = {};
  /// The node lends memory to each block (Block::lend) before it commits the block; the engine allocates none.
  bool lent = false;
  /// For a source that is not live: it gives its blocks as if their samples came live, at so many times real time; 0:
  /// unpaced.
  double pace = 0;
  /// Blocks that the node may have begun and not committed yet.
  std::size_t open_blocks = 1;
  /// The description that pipelines, and not the engine, use (frequencies, antennas, formats), shared by all blocks.
  std::any details = {};

  std::size_t block_bytes() const;
  /// The details, of type T. Throws Error(config) when there are none of that type; T::kKind, where it exists, names
  /// the streams that have them.
  template <class T>
  const T& detail() const {
    if (const T* found = std::any_cast<T>(&details)) return *found;
    std::string wanted = "a stream of another kind";
    if constexpr (requires { T::kKind; }) wanted = std::string("a stream of ") + T::kKind;
    throw core::Error(core::ErrorKind::config, "inputs", "a stream of " + kind, wanted,
                      "connect a node that gives one");
  }
};

/// One array of one block.
struct Array {
  void* data = nullptr;
  core::SampleType type{};
  std::size_t rank = 0;
  std::array<std::size_t, kMaxRank> extents{};
  std::array<std::ptrdiff_t, kMaxRank> strides{};  ///< in elements
};

/// A piece of a stream, of one segment. Blocks are allocated before the run and reused.
class Block {
 public:
  std::uint64_t segment = 0;    ///< number of the part without gaps, from 0
  core::Instant segment_start;  ///< of the segment's first sample
  std::uint64_t first = 0;      ///< the block's first sample, counted from the segment's start
  std::size_t samples = 0;      ///< times in this block
  core::ValidityMask valid;     ///< of the block's rows; no rows: all valid
  std::vector<Array> arrays;    ///< as the stream describes them, with this block's extents
  /// Data that are no array; of the producer's type, kept until the block's next use.
  std::any payload;

  /// Copies segment, time and samples of another block.
  void set_time(const Block& other) {
    segment = other.segment;
    segment_start = other.segment_start;
    first = other.first;
    samples = other.samples;
  }
  /// Rank must be the array's.
  template <std::size_t Rank>
  core::MutableSampleView<Rank> view(std::size_t array = 0) {
    const Array& a = checked(array, Rank);
    return {a.data, a.type, head<Rank>(a.extents), head<Rank>(a.strides)};
  }
  template <std::size_t Rank>
  core::SampleView<Rank> view(std::size_t array = 0) const {
    const Array& a = checked(array, Rank);
    return {a.data, a.type, head<Rank>(a.extents), head<Rank>(a.strides)};
  }
  /// Sets this block's length of one axis; strides stay.
  void set_extent(std::size_t array, std::size_t axis, std::size_t extent) {
    arrays.at(array).extents.at(axis) = extent;
  }
  /// For a lent stream: sets the array, and the owner of its memory until the block is free again: a window of a file,
  /// or a block that Outputs::keep() returned.
  template <std::size_t Rank>
  void lend(std::size_t array, const core::SampleView<Rank>& view,
            std::shared_ptr<const void> owner) {
    lend(array, view.data(), view.extents().data(), view.strides().data(), std::move(owner));
  }
  /// The payload, created when there is none yet.
  template <class T>
  T& payload_of() {
    if (!payload.has_value()) payload = T{};
    return std::any_cast<T&>(payload);
  }
  template <class T>
  const T& payload_of() const {
    return std::any_cast<const T&>(payload);
  }

 private:
  friend class BlockPool;
  template <std::size_t Rank, class T>
  static std::array<T, Rank> head(const std::array<T, kMaxRank>& all) {
    std::array<T, Rank> some;
    for (std::size_t a = 0; a < Rank; ++a) some[a] = all[a];
    return some;
  }
  const Array& checked(std::size_t array, std::size_t rank) const;
  void lend(std::size_t array, const void* data, const std::size_t* extents,
            const std::ptrdiff_t* strides, std::shared_ptr<const void> owner);

  std::vector<device::Buffer> memory_;
  std::vector<std::shared_ptr<const void>> owners_;
};

}  // namespace tautline::engine
