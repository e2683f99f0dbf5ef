// Photon time tags to counts, on the fly: [time][sensor] blocks, or one event for each photon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tautline/formats/count_reader.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/pipeline/photons/empty_counts.h"
#include "tautline/stages/autocorrelate/tags.h"

namespace tautline::pipeline {

/// Microtimes kept, [low_s, high_s) after the sync pulse.
struct MicrotimeGate {
  double low_s = 0, high_s = 0;
};

class PhotonSteps;

struct BinPhotonsConfig {
  /// Rounded to whole ticks of the clock; the binner's bin_s() is the rounded value.
  double bin_s = 0;
  /// Detectors by channel; each becomes a sensor, in this order. Empty: every detector that has
  /// photons (the file is read twice), the sync input of T2 files left out.
  std::vector<std::uint16_t> detectors;
  std::optional<MicrotimeGate> gate;  ///< T3 only
  double start_s = 0;                 ///< photons before it are skipped
  double duration_s = 0;              ///< 0: to the end
};

/// One photon of a selected detector; its bin is counted from start_s on.
using BinnedPhoton = stages::autocorrelate::Tag;

/// Contents of a whole file.
struct PhotonSurvey {
  std::vector<formats::DetectorCount> detectors;  ///< all that have photons
  std::vector<formats::DetectorCount> gated;      ///< their photons that the gate keeps
  std::uint64_t ticks = 0;  ///< of the clock, up to and including the last photon's
  std::vector<formats::TagBreak> breaks = {};
  std::uint64_t clock_ticks = 0;  ///< until which the clock is known to have run
};

/// Owns the reader. Memory: one block of photons, whatever the gap between them. Bin n holds the
/// photons of ticks [first + n t, first + (n + 1) t), t = ticks_per_bin(); the last bin of a file
/// is left out unless the last photon is in its last tick, since the run may have ended inside it.
class PhotonBinner {
 public:
  /// Throws Error(config): bins shorter than a tick (in T3: than a sync period), a gate without
  /// microtimes or an empty one, a detector named twice.
  PhotonBinner(std::unique_ptr<formats::PhotonReader> reader, const BinPhotonsConfig& config);

  std::size_t sensors() const { return detectors_.size(); }
  const std::vector<std::uint16_t>& detectors() const { return detectors_; }
  /// Reads the whole file and goes back to its beginning. `steps` get the photons that the gate keeps of the detectors
  /// `chosen`; empty: of all but the sync input of T2.
  PhotonSurvey survey(std::span<const std::uint16_t> chosen, PhotonSteps& steps);
  std::uint64_t ticks_per_bin() const { return ticks_per_bin_; }
  formats::CountDescription description(core::SampleType type) const;
  /// The bins' length: ticks_per_bin() times the clock's unit.
  double bin_s() const;
  const formats::PhotonReader& reader() const { return *reader_; }
  /// Damage of the file, as far as it was read.
  const formats::Damage& damage() const { return reader_->damage(); }
  std::uint64_t bins_done() const { return bins_done_; }
  /// Photons of unselected detectors that were read, except the sync input's tags; by channel.
  std::vector<formats::DetectorCount> ignored() const;

  /// Fills counts[time][sensor] (a whole number of times) and returns the number of times; fewer than fit only at the
  /// end. Throws Error(format) where a bin's count exceeds the type's range.
  std::size_t read(std::span<std::uint8_t> counts);
  std::size_t read(std::span<std::uint16_t> counts);

  /// The photons that read() would count, in order of time; 0 at the end. Photons of the last, incomplete bin are
  /// delivered; bins_done() is then the number of whole bins. Must not be mixed with read().
  std::size_t read_events(std::span<BinnedPhoton> events);

  /// Gives the photons of all complete bins that were not given yet: all photons of a bin in one call. Returns the
  /// first bin that is not complete. Must not be mixed with the other readers. Where the reader pauses, later calls may
  /// give more until over().
  std::uint64_t read_bins(std::vector<BinnedPhoton>& photons);
  bool over() const { return over_; }
  /// Bins in which records were lost, those known since the last call: from that of the last photon before to that of
  /// the first one behind. None of them was given by read_bins() before the call in which they became known.
  std::vector<BinRange> new_breaks();

  /// Counts bins from this one on: earlier bins are left out. Before the first read.
  void start_at(std::uint64_t bin) { first_tick_ = bin * ticks_per_bin_; }

 private:
  std::uint64_t bins_begun() const;
  template <class Count>
  std::size_t fill(std::span<Count> counts);
  /// The next photons, as many as fit; fewer at the end.
  std::size_t next(std::span<BinnedPhoton> events);
  bool refill();
  void finish_stream();

  std::unique_ptr<formats::PhotonReader> reader_;
  std::vector<std::uint16_t> detectors_;
  std::vector<std::uint32_t> sensor_of_channel_;
  std::vector<std::uint64_t> ignored_;  // [channel]
  std::uint64_t ticks_per_bin_ = 1, first_tick_ = 0, most_bins_ = 0;
  std::uint32_t gate_low_ = 0, gate_high_ = 0;
  std::vector<formats::Photon> photons_;
  std::size_t place_ = 0, held_ = 0;
  BinnedPhoton pending_;
  bool has_pending_ = false, ended_ = false;
  std::uint64_t bins_done_ = 0, whole_bins_ = 0;
  std::vector<BinnedPhoton> unfinished_;  // read, of a bin that may be incomplete
  bool over_ = false;
  std::size_t breaks_given_ = 0;  // of the reader's
};

}  // namespace tautline::pipeline
