#include "tautline/pipeline/photons/live_tags.h"

#include <algorithm>
#include <string>

#include "tautline/core/error.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kTags = std::size_t{1} << 15;

void check(const AutocorrelateConfig& config, const std::string& name) {
  using core::Error;
  using core::ErrorKind;
  if (config.detectors.empty())
    throw Error(ErrorKind::config, "detectors", "none given for " + name,
                "the detectors of a stream, which cannot be read twice to find them",
                "name them with `detectors`; inspect tells which a recording has");
  const bool adds = config.sensors.bin_rows * config.sensors.bin_columns != 1;
  if (adds || config.coarsening != stages::autocorrelate::Coarsening::sum ||
      config.tag_method == TagMethod::bins)
    throw Error(ErrorKind::config,
                adds                                   ? "bin_sensors"
                : config.tag_method == TagMethod::bins ? "tag_method"
                                                       : "coarsening",
                "given for time tags of " + name,
                "tags that are taken one by one, which those of a stream are", "leave it out");
}

}  // namespace

LiveTags::LiveTags(std::unique_ptr<stream::LiveInput> input, const AutocorrelateConfig& config)
    : photons_(nullptr), tags_(kTags) {
  check(config, input->name());
  auto photons = std::make_unique<stream::LivePhotons>(std::move(input));
  photons_ = photons.get();
  BinPhotonsConfig bins;
  bins.bin_s = config.bin_s;
  bins.detectors = config.detectors;
  if (config.gate_s) bins.gate = MicrotimeGate{config.gate_s->first, config.gate_s->second};
  binner_ = std::make_unique<PhotonBinner>(std::move(photons), bins);
  description_ = binner_->description(core::SampleType::u8);
}

std::pair<std::span<const BinnedPhoton>, std::uint64_t> LiveTags::read() {
  std::copy(tags_.begin() + static_cast<std::ptrdiff_t>(given_),
            tags_.begin() + static_cast<std::ptrdiff_t>(held_), tags_.begin());
  held_ -= given_;
  given_ = 0;
  // One bin that fills the block: make room.
  if (held_ == tags_.size()) tags_.resize(2 * tags_.size());
  const std::span<BinnedPhoton> room = std::span(tags_).subspan(held_);
  const std::size_t found = binner_->read_events(room);
  held_ += found;
  std::uint64_t until = 0;
  if (found == room.size()) {
    until = tags_[held_ - 1].bin;
  } else if (photons_->ended()) {
    until = binner_->bins_done();
    ended_ = true;
  } else {
    // A pause. Whatever comes next lies in the last tag's bin or after it.
    until = binner_->bins_begun();
    binner_->resume();
  }
  given_ = static_cast<std::size_t>(
      std::partition_point(tags_.begin(), tags_.begin() + static_cast<std::ptrdiff_t>(held_),
                           [&](const BinnedPhoton& tag) { return tag.bin < until; }) -
      tags_.begin());
  return {std::span<const BinnedPhoton>(tags_).first(given_), until};
}

}  // namespace tautline::pipeline
