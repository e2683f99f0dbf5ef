#include "tautline/pipeline/simulation/photon_writers.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "tautline/core/error.h"
#include "tautline/formats/npy/npy.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/ptu/record_type.h"
#include "tautline/formats/ptu/writer.h"

namespace tautline::pipeline::simulation {

namespace {

using core::Error;
using core::ErrorKind;

// Counts are written in pieces of about this size, however long a block is.
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;

std::size_t product(const std::vector<std::uint64_t>& shape) {
  std::size_t all = 1;
  for (const std::uint64_t extent : shape) all *= static_cast<std::size_t>(extent);
  return all;
}

template <class Count>
class CountWriter final : public OutputWriter {
 public:
  CountWriter(const std::string& path, const PhotonClock& clock,
              const std::vector<std::uint64_t>& sensor_shape, bool npy, bool overwrite)
      : clock_(clock), sensors_(product(sensor_shape)) {
    if (npy) {
      std::vector<std::uint64_t> shape{clock.bins};
      shape.insert(shape.end(), sensor_shape.begin(), sensor_shape.end());
      array_ = std::make_unique<formats::npy::ArrayWriter>(path, sizeof(Count) == 1 ? "|u1" : "<u2",
                                                           shape, overwrite);
    } else {
      raw_ = std::make_unique<formats::PartialFile>(path, overwrite);
    }
    piece_bins_ = std::max<std::size_t>(1, kPieceBytes / (sensors_ * sizeof(Count)));
  }

  void write(const engine::Block& block) override {
    const auto& photons = block.payload_of<SimulatedPhotons>();
    place_.assign(sensors_, 0);
    const std::uint64_t end_bin = std::min(clock_.bins, photons.end_tick / clock_.ticks_per_bin);
    while (done_bins_ < end_bin) {
      const auto bins =
          static_cast<std::size_t>(std::min<std::uint64_t>(piece_bins_, end_bin - done_bins_));
      counts_.assign(bins * sensors_, 0);
      for (std::size_t s = 0; s < sensors_; ++s) count(photons.sensors[s], s, done_bins_ + bins);
      const auto bytes = std::as_bytes(std::span<const Count>(counts_));
      if (array_)
        array_->write(bytes);
      else
        raw_->write(bytes);
      done_bins_ += bins;
    }
  }

  void finish() override {
    if (array_)
      array_->finish();
    else
      raw_->finish();
  }

 private:
  void count(const std::vector<SourcePhoton>& photons, std::size_t sensor, std::uint64_t end_bin) {
    std::size_t& n = place_[sensor];
    const std::uint64_t end_tick = end_bin * clock_.ticks_per_bin;
    for (; n < photons.size() && photons[n].time < end_tick; ++n) {
      const std::uint64_t bin = photons[n].time / clock_.ticks_per_bin;
      Count& value = counts_[static_cast<std::size_t>(bin - done_bins_) * sensors_ + sensor];
      if (value == std::numeric_limits<Count>::max())
        throw Error(ErrorKind::config, "counts of sensor " + std::to_string(sensor),
                    "more than " + std::to_string(value) + " in one bin", "at most that",
                    "choose 16-bit counts, shorter bins or a lower rate");
      ++value;
    }
  }

  PhotonClock clock_;
  std::size_t sensors_, piece_bins_ = 1;
  std::uint64_t done_bins_ = 0;
  std::vector<Count> counts_;
  std::vector<std::size_t> place_;
  std::unique_ptr<formats::npy::ArrayWriter> array_;
  std::unique_ptr<formats::PartialFile> raw_;
};

formats::PhotonDescription tag_description(const PhotonClock& clock, std::size_t sensors,
                                           double sync_rate_hz, double microtime_unit_s) {
  formats::PhotonDescription d;
  d.time_unit_s = sync_rate_hz > 0 ? 1 / sync_rate_hz : clock.tick_s;
  d.microtime_unit_s = microtime_unit_s;
  d.sync_rate_hz = sync_rate_hz;
  d.rates_hz.assign(sensors, 0);
  d.channels = static_cast<std::uint32_t>(sensors);
  d.acquisition_s = static_cast<double>(clock.ticks) * clock.tick_s;
  d.software = "tautline";
  d.comment = "simulated";
  return d;
}

class TagWriter final : public OutputWriter {
 public:
  TagWriter(const std::string& path, const PhotonClock& clock, std::size_t sensors,
            double sync_rate_hz, double microtime_unit_s, bool overwrite)
      : clock_(clock),
        counts_(sensors),
        writer_(path, *formats::ptu::find_record_type(sync_rate_hz > 0 ? 0x01010304 : 0x01010204),
                tag_description(clock, sensors, sync_rate_hz, microtime_unit_s), overwrite) {}

  void write(const engine::Block& block) override {
    const auto& photons = block.payload_of<SimulatedPhotons>();
    merged_.clear();
    const std::uint64_t end = std::min(photons.end_tick, clock_.ticks);
    for (std::size_t s = 0; s < photons.sensors.size(); ++s)
      for (const SourcePhoton& photon : photons.sensors[s]) {
        if (photon.time >= end) break;
        merged_.push_back({photon.time, static_cast<std::uint16_t>(s),
                           static_cast<std::uint16_t>(photon.microtime)});
        ++counts_[s];
      }
    std::sort(merged_.begin(), merged_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.time, a.microtime, a.channel) < std::tie(b.time, b.microtime, b.channel);
    });
    writer_.write(merged_);
  }

  void finish() override {
    std::vector<double> rates;
    for (const std::uint64_t count : counts_)
      rates.push_back(static_cast<double>(count) /
                      (static_cast<double>(clock_.ticks) * clock_.tick_s));
    writer_.finish(rates);
  }

 private:
  PhotonClock clock_;
  std::vector<std::uint64_t> counts_;
  formats::ptu::Writer writer_;
  std::vector<formats::Photon> merged_;
};

}  // namespace

std::unique_ptr<OutputWriter> make_count_writer(const std::string& path, const PhotonClock& clock,
                                                const std::vector<std::uint64_t>& sensor_shape,
                                                int bits, bool npy, bool overwrite) {
  if (bits == 8)
    return std::make_unique<CountWriter<std::uint8_t>>(path, clock, sensor_shape, npy, overwrite);
  if (bits == 16)
    return std::make_unique<CountWriter<std::uint16_t>>(path, clock, sensor_shape, npy, overwrite);
  throw Error(ErrorKind::config, "bits", std::to_string(bits), "8 or 16");
}

std::unique_ptr<OutputWriter> make_tag_writer(const std::string& path, const PhotonClock& clock,
                                              std::size_t sensors, double sync_rate_hz,
                                              double microtime_unit_s, bool overwrite) {
  return std::make_unique<TagWriter>(path, clock, sensors, sync_rate_hz, microtime_unit_s,
                                     overwrite);
}

}  // namespace tautline::pipeline::simulation
