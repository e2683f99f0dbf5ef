// A file of photon time tags as a reader of counts, or of the tags themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/bin_photons.h"

namespace tautline::pipeline {

/// Time tags, binned as they are read.
class PhotonCounts final : public formats::CountReader {
 public:
  /// Reads the file once, to know how long it is.
  explicit PhotonCounts(const AutocorrelateConfig& config);

  std::uint64_t total_samples() const override { return total_; }
  /// Of the chosen detectors, in the whole file.
  std::uint64_t total_photons() const { return photons_; }
  void seek(std::uint64_t first_sample) override;
  std::size_t read(std::span<std::byte> counts) override;
  /// The photons themselves, in order of time, their bins counted from where `seek` went; fewer
  /// than fit at the end only. Not to be mixed with read().
  std::size_t read_tags(std::span<BinnedPhoton> tags) { return binner_->read_events(tags); }
  const formats::Damage& damage() const override { return binner_->damage(); }

 private:
  void open();
  void count_bins();

  std::string path_;
  BinPhotonsConfig bin_config_;
  std::unique_ptr<PhotonBinner> binner_;
  std::uint64_t total_ = 0, photons_ = 0;
};

}  // namespace tautline::pipeline
