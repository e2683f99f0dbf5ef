// Time tags that come through a pipe, as the bins of chosen detectors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/bin_photons.h"
#include "tautline/stream/live_photons.h"

namespace tautline::pipeline {

class LiveTags {
 public:
  /// Throws Error(config) without config.detectors: which ones have photons would be known only at the
  /// end; and on what takes tags in bins (sensors added together, coarsening by one of two samples).
  LiveTags(std::unique_ptr<stream::LiveInput> input, const AutocorrelateConfig& config);

  const formats::CountDescription& description() const { return description_; }
  /// Leaves out what comes before a bin. Before the first read.
  void skip(std::uint64_t bins) { binner_->start_at(bins); }
  /// The tags of the bins before the second value, in order, less those given before; valid until the
  /// next call. That value is the number of bins that are known to be over.
  std::pair<std::span<const BinnedPhoton>, std::uint64_t> read();
  bool ended() const { return ended_; }
  /// So far, of detectors that were not asked for.
  std::vector<formats::DetectorCount> ignored() const { return binner_->ignored(); }
  const formats::Damage& damage() const { return binner_->damage(); }

 private:
  const stream::LivePhotons* photons_;  ///< the binner's
  std::unique_ptr<PhotonBinner> binner_;
  formats::CountDescription description_;
  std::vector<BinnedPhoton> tags_;
  std::size_t held_ = 0, given_ = 0;
  bool ended_ = false;
};

}  // namespace tautline::pipeline
