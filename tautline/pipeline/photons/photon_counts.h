// A file of photon time tags as a reader of counts or of tags.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/autocorrelate_config.h"
#include "tautline/pipeline/photons/bin_photons.h"
#include "tautline/pipeline/photons/empty_counts.h"

namespace tautline::pipeline {

/// The detectors and the gate of a config.
BinPhotonsConfig bins_of(const AutocorrelateConfig& config);

/// A warning where the clock, which reached `clock_ticks`, ran on behind the last of `photons`, at the end of `ticks`, for
/// much longer than the time between photons: light or detectors stopped before the clock, and a run ends with its last
/// photon. Else empty.
std::string silent_end_text(const std::string& name, std::uint64_t photons, std::uint64_t ticks,
                            std::uint64_t clock_ticks, double tick_s);

/// Time tags, binned as they are read.
class PhotonCounts final : public formats::CountReader {
 public:
  using Open = std::function<std::unique_ptr<formats::PhotonReader>()>;
  /// Reads the file once, to find its length. `open`: gives the reader of tags that are in no file, each time anew;
  /// config.input is then a name for messages only.
  explicit PhotonCounts(const AutocorrelateConfig& config, Open open = {});

  std::uint64_t total_samples() const override { return total_; }
  /// Of the chosen detectors, in the whole file.
  std::uint64_t total_photons() const { return photons_; }
  /// Detectors that are damaged tags' numbers, where none were chosen.
  const std::vector<formats::DetectorCount>& left_out() const { return left_out_; }
  /// Stops of the chosen detectors in the whole file.
  const Stops& stops() const { return stops_; }
  /// Bins in which records were lost, in order.
  const std::vector<BinRange>& breaks() const { return breaks_; }
  void seek(std::uint64_t first_sample) override;
  std::size_t read(std::span<std::byte> counts) override;
  /// The photons, with bins counted from the place of `seek`; a new reader after each `seek`. Must not be mixed with
  /// read().
  PhotonBinner& binner() { return *binner_; }
  const formats::Damage& damage() const override { return binner_->damage(); }

 private:
  void open();

  std::string path_;
  Open open_reader_;
  BinPhotonsConfig bin_config_;
  std::unique_ptr<PhotonBinner> binner_;
  std::uint64_t total_ = 0, photons_ = 0;
  Stops stops_;
  std::vector<BinRange> breaks_;
  std::vector<formats::DetectorCount> left_out_;
};

}  // namespace tautline::pipeline
