// The group Data of a UVH5 file: visibilities, their weights and flags, in whole chunks that several threads write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <semaphore>
#include <vector>

#include "tautline/formats/uvh5/hdf5_file.h"
#include "tautline/formats/visibility_layout.h"

namespace tautline::formats::uvh5 {

/// The three datasets are divided into chunks [row][channel][product] alike. Chunks whose weights are all 1, or whose
/// flags are all false, are left out of the file: readers get these values from the dataset's fill value.
class DataWriter {
 public:
  /// `layout` must outlive this.
  DataWriter(hdf5::File& file, hid_t group, const VisibilityLayout& layout,
             std::vector<Polarisation> polarisations, std::size_t channels,
             std::int64_t nominal_count, std::vector<std::size_t> flagged_channels);

  void write(const Integration& integration);
  /// Writes the rows that have not filled a chunk.
  void finish();

 private:
  // The parts of an integration that differ from the fill values.
  struct Losses {
    bool weights = false, flags = false;
  };
  // The addresses of one chunk in the three datasets.
  struct Addresses {
    haddr_t visibilities = 0, fractions = 0, flags = 0;
  };

  // Threads that write at the same time. File systems of Linux let one thread at a time write to a file, and every
  // waiting thread keeps a core busy. So one thread writes and one waits, which begins as soon as the file is free.
  static constexpr std::ptrdiff_t kWritersAtOnce = 2;
  // As many again gather the next chunks meanwhile. More would take cores from the threads that read the input.
  static constexpr std::size_t kMostThreads = 4;

  std::size_t blocks() const { return (channels_ + chunk_channels_ - 1) / chunk_channels_; }
  std::size_t chunk_values() const { return chunk_rows_ * chunk_channels_ * polarisations_.size(); }
  // `losses` in a block of channels: a block with flagged channels always has flags.
  Losses with_flagged(Losses losses, std::size_t block) const;
  Losses losses_of(const Integration& integration) const;
  // Fills some rows of one block of channels of a chunk, from its row `row` on.
  void gather(const Integration& integration, const Losses& losses, std::size_t first_pair,
              std::size_t pairs, std::size_t block, std::size_t row, VisibilityRows& chunk) const;
  Addresses reserve(std::uint64_t first_row, std::size_t block, const Losses& losses);
  void put(const VisibilityRows& chunk, const Addresses& at, const Losses& losses);
  void write_whole(const Integration& integration, const Losses& losses, std::size_t first_pair,
                   std::size_t pairs);
  void carry(const Integration& integration, const Losses& losses, std::size_t first_pair,
             std::size_t pairs);
  void write_carried();

  hdf5::File& file_;
  const VisibilityLayout& layout_;
  std::vector<Polarisation> polarisations_;
  std::size_t channels_, chunk_rows_, chunk_channels_;
  std::int64_t nominal_count_;
  std::vector<std::size_t> flagged_;  // channels
  bool lacks_products_ = false;       // a pair lacks a polarisation
  hdf5::Growing visibilities_, fractions_, flags_;
  std::uint64_t rows_ = 0;               // written or carried so far
  std::vector<VisibilityRows> buffers_;  // a chunk for each thread
  std::counting_semaphore<> writing_{kWritersAtOnce};
  std::vector<VisibilityRows>
      carried_;  // chunks that are not full yet, one for each block of channels
  Losses carried_losses_;
};

}  // namespace tautline::formats::uvh5
