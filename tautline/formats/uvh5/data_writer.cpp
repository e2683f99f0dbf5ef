#include "tautline/formats/uvh5/data_writer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tautline/core/threads.h"

namespace tautline::formats::uvh5 {
namespace {

// Bytes of visibilities in a chunk: so many that the calls cost little, so few that the partly filled last chunks of a
// short file waste little.
constexpr std::size_t kChunkBytes = std::size_t{256} << 10;

// Rows of one chunk: whole integrations where an integration fits, else an equal part of one.
std::size_t chunk_rows(std::size_t pairs, std::size_t row_bytes) {
  const std::size_t fit = std::max<std::size_t>(1, kChunkBytes / row_bytes);
  if (pairs <= fit) return pairs * (fit / pairs);
  const std::size_t parts = (pairs + fit - 1) / fit;
  return (pairs + parts - 1) / parts;
}

// Channels of one chunk: all channels, divided into as few equal parts as fit.
std::size_t chunk_channels(std::size_t channels, std::size_t products) {
  const std::size_t fit =
      std::max<std::size_t>(1, kChunkBytes / (products * sizeof(std::complex<float>)));
  const std::size_t parts = (channels + fit - 1) / fit;
  return (channels + parts - 1) / parts;
}

bool lacks_any(const VisibilityLayout& layout, const std::vector<Polarisation>& polarisations) {
  for (const AntennaPair& pair : layout.pairs())
    for (const Polarisation& p : polarisations)
      if (!layout.product(pair, p, Conjugation::first).present) return true;
  return false;
}

constexpr float kFullWeight = 1;

}  // namespace

DataWriter::DataWriter(hdf5::File& file, hid_t group, const VisibilityLayout& layout,
                       std::vector<Polarisation> polarisations, std::size_t channels,
                       std::int64_t nominal_count, std::vector<std::size_t> flagged_channels)
    : file_(file),
      layout_(layout),
      polarisations_(std::move(polarisations)),
      channels_(channels),
      chunk_rows_(chunk_rows(layout.pairs().size(),
                             channels * polarisations_.size() * sizeof(std::complex<float>))),
      chunk_channels_(chunk_channels(channels, polarisations_.size())),
      nominal_count_(nominal_count),
      flagged_(std::move(flagged_channels)),
      lacks_products_(lacks_any(layout, polarisations_)),
      visibilities_(file, group, "visdata", hdf5::complex_type(), {channels, polarisations_.size()},
                    chunk_rows_, {chunk_channels_, polarisations_.size()}),
      fractions_(file, group, "nsamples", hdf5::native(H5T_NATIVE_FLOAT),
                 {channels, polarisations_.size()}, chunk_rows_,
                 {chunk_channels_, polarisations_.size()}, &kFullWeight),
      flags_(file, group, "flags", hdf5::bool_type(), {channels, polarisations_.size()},
             chunk_rows_, {chunk_channels_, polarisations_.size()}),
      carried_(blocks()) {}

void DataWriter::write(const Integration& integration) {
  const Losses losses = losses_of(integration);
  const std::size_t all = layout_.pairs().size();
  for (hdf5::Growing* dataset : {&visibilities_, &fractions_, &flags_}) dataset->extend(all);
  for (std::size_t first = 0; first < all;) {
    const std::size_t in_chunk = rows_ % chunk_rows_;
    std::size_t pairs = std::min(all - first, chunk_rows_ - in_chunk);
    if (pairs == chunk_rows_) {
      pairs = (all - first) / chunk_rows_ * chunk_rows_;
      write_whole(integration, losses, first, pairs);
    } else {
      carry(integration, losses, first, pairs);
    }
    rows_ += pairs;
    first += pairs;
  }
}

DataWriter::Losses DataWriter::losses_of(const Integration& integration) const {
  const auto& counts = integration.counts;
  std::vector<Losses> found(core::spare_threads());
  const auto look = [&](std::size_t piece, std::size_t begin, std::size_t end) {
    std::int64_t least = nominal_count_, most = nominal_count_;
    for (std::size_t c = begin; c < end; ++c) {
      const std::int64_t* row = counts.row(c);
      for (std::size_t b = 0; b < counts.extent(1); ++b) {
        least = std::min(least, row[b]);
        most = std::max(most, row[b]);
      }
    }
    found[piece] = {least != nominal_count_ || most != nominal_count_, least <= 0};
  };
  constexpr std::size_t kLeastCounts = std::size_t{1} << 18;
  core::in_pieces(counts.extent(0),
                  std::min(found.size(), counts.extent(0) * counts.extent(1) / kLeastCounts), look);
  Losses all{lacks_products_, lacks_products_};
  for (const Losses& one : found) {
    all.weights |= one.weights;
    all.flags |= one.flags;
  }
  return all;
}

void DataWriter::gather(const Integration& integration, const Losses& losses,
                        std::size_t first_pair, std::size_t pairs, std::size_t block,
                        std::size_t row, VisibilityRows& chunk) const {
  const std::size_t first_channel = block * chunk_channels_;
  const std::size_t at = row * chunk_channels_ * polarisations_.size();
  RowsOut out{chunk.visibilities.data() + at, nullptr, nullptr, chunk_channels_};
  if (losses.weights) {
    out.fractions = chunk.fractions.data() + at;
    out.flags = chunk.flags.data() + at;
  }
  const RowRange range{first_pair, pairs, first_channel,
                       std::min(chunk_channels_, channels_ - first_channel)};
  gather_rows(layout_, polarisations_, Conjugation::first, integration, nominal_count_, range, out);
  if (!with_flagged({}, block).flags) return;
  std::uint8_t* flags = chunk.flags.data() + at;
  if (!losses.weights)
    std::fill_n(flags, pairs * chunk_channels_ * polarisations_.size(), std::uint8_t{0});
  flag_channels(flagged_, polarisations_.size(), range, chunk_channels_, flags);
}

DataWriter::Losses DataWriter::with_flagged(Losses losses, std::size_t block) const {
  for (const std::size_t channel : flagged_) losses.flags |= channel / chunk_channels_ == block;
  return losses;
}

DataWriter::Addresses DataWriter::reserve(std::uint64_t first_row, std::size_t block,
                                          const Losses& losses) {
  const std::array<hsize_t, 3> place{first_row, block * chunk_channels_, 0};
  Addresses at;
  at.visibilities = visibilities_.reserve_chunk(place);
  if (losses.weights) at.fractions = fractions_.reserve_chunk(place);
  if (losses.flags) at.flags = flags_.reserve_chunk(place);
  return at;
}

void DataWriter::put(const VisibilityRows& chunk, const Addresses& at, const Losses& losses) {
  writing_.acquire();
  const auto write = [&](haddr_t address, const auto& values) {
    file_.write_at(address, values.size() * sizeof(values[0]), values.data());
  };
  write(at.visibilities, chunk.visibilities);
  if (losses.weights) write(at.fractions, chunk.fractions);
  if (losses.flags) write(at.flags, chunk.flags);
  writing_.release();
}

void DataWriter::write_whole(const Integration& integration, const Losses& losses,
                             std::size_t first_pair, std::size_t pairs) {
  std::vector<Addresses> addresses;
  for (std::size_t row = 0; row < pairs; row += chunk_rows_)
    for (std::size_t block = 0; block < blocks(); ++block)
      addresses.push_back(reserve(rows_ + row, block, with_flagged(losses, block)));
  buffers_.resize(std::min(kMostThreads, addresses.size()));
  core::in_pieces(addresses.size(), buffers_.size(),
                  [&](std::size_t piece, std::size_t begin, std::size_t end) {
                    VisibilityRows& chunk = buffers_[piece];
                    chunk.resize(chunk_values());
                    for (std::size_t k = begin; k < end; ++k) {
                      gather(integration, losses, first_pair + k / blocks() * chunk_rows_,
                             chunk_rows_, k % blocks(), 0, chunk);
                      put(chunk, addresses[k], with_flagged(losses, k % blocks()));
                    }
                  });
  file_.check(0, "writing");
}

void DataWriter::carry(const Integration& integration, const Losses& losses, std::size_t first_pair,
                       std::size_t pairs) {
  const std::size_t in_chunk = rows_ % chunk_rows_;
  if (in_chunk == 0) {
    carried_losses_ = {};
    for (VisibilityRows& chunk : carried_) {
      chunk.visibilities.assign(chunk_values(), {});
      chunk.fractions.assign(chunk_values(), kFullWeight);
      chunk.flags.assign(chunk_values(), 0);
    }
  }
  carried_losses_.weights |= losses.weights;
  carried_losses_.flags |= losses.flags;
  for (std::size_t block = 0; block < blocks(); ++block)
    gather(integration, losses, first_pair, pairs, block, in_chunk, carried_[block]);
  if (in_chunk + pairs == chunk_rows_) write_carried();
}

void DataWriter::write_carried() {
  for (std::size_t block = 0; block < blocks(); ++block) {
    const Losses losses = with_flagged(carried_losses_, block);
    put(carried_[block], reserve(rows_ / chunk_rows_ * chunk_rows_, block, losses), losses);
  }
  file_.check(0, "writing");
}

void DataWriter::finish() {
  if (rows_ % chunk_rows_ != 0) write_carried();
}

}  // namespace tautline::formats::uvh5
