#include "tautline/pipeline/photons/curve_parts.h"

#include <algorithm>

namespace tautline::pipeline {

void CurveParts::open(const CountStream& input, bool photons) {
  constexpr std::size_t kPhotonBytes = 8;  // that count for each_bytes
  // Photons are counted as they come.
  most_bins_ = FileParts({}, {limits_.each_s, photons ? 0 : limits_.each_bytes})
                   .most_samples(rate_of_bins(input.bin_s), input.row_bytes);
  if (photons && limits_.each_bytes > 0)
    most_photons_ = std::max<std::uint64_t>(1, limits_.each_bytes / kPhotonBytes);
}

void CurveParts::begin(std::uint64_t bins) {
  ++number_;
  first_ += bins;
  photons_ = 0;
}

bool CurveParts::wished(const engine::Outputs& outputs) {
  const std::uint64_t before = rotations_;
  rotations_ = outputs.rotations();
  return rotations_ != before;
}

CurveParts::Piece CurveParts::next_piece(std::uint64_t from, std::uint64_t end,
                                         std::span<const BinnedPhoton> photons) const {
  const std::uint64_t until = first_ + std::min(most_bins_, end - first_);
  const std::uint64_t room = most_photons_ - photons_;
  if (most_photons_ == 0 || photons.size() <= room) return {until, false};
  const std::uint64_t beyond = photons[static_cast<std::size_t>(room)].bin;
  if (beyond >= until) return {until, false};
  return {std::max(beyond, from + 1), true};
}

void CurveParts::count_photons(std::uint64_t photons) {
  photons_ += photons;
  if (most_photons_ > 0) photons_ = std::min(photons_, most_photons_);
}

std::vector<BinRange> CurveParts::inside(const std::vector<BinRange>& ranges,
                                         std::uint64_t bins) const {
  std::vector<BinRange> inside;
  for (const BinRange& one : ranges) {
    const BinRange moved{one.first - std::min(one.first, first_),
                         std::min(bins, one.end - std::min(one.end, first_))};
    if (moved.first < moved.end) inside.push_back(moved);
  }
  return inside;
}

CountStream CurveParts::input_of(const CountStream& input, std::uint64_t bins, bool last) const {
  CountStream part = input;
  part.first += first_;
  if (first_ > 0) part.padding.before = 0;
  if (!last) part.padding.after = 0;
  part.stops = inside(input.stops, bins);
  part.named_stops = inside(input.named_stops, bins);
  for (SensorStops& one : part.single_stops) one.stops = inside(one.stops, bins);
  return part;
}

}  // namespace tautline::pipeline
