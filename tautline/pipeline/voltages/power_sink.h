// Detected power of an incoherent beam, as a sigproc filterbank.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/formats/sigproc/writers.h"
#include "tautline/pipeline/voltages/voltage_sink.h"

namespace tautline::pipeline {

/// Each output sample is the mean over the valid spectra of all antennas among `integrate`
/// consecutive ones (a spectrum counts when all polarisations of its antenna are valid); zero where
/// there is none. Channels are written from the highest frequency down. Spectra that do not fill
/// the last sample are left out.
class PowerSink final : public VoltageSink {
 public:
  PowerSink(const ChannelizeConfig& config, const SinkDescription& description);

  stages::channelize::Output wants() const override {
    return stages::channelize::Output::spectra_float;
  }
  void write(const SpectraChunk& chunk) override;
  std::uint64_t written() const override { return writer_->samples(); }
  void finish() override { writer_->finish(); }

 private:
  void add_antenna(const SpectraChunk& chunk, std::size_t antenna, std::size_t spectrum);
  void flush();

  std::size_t antennas_, polarisations_, channels_, products_;
  std::uint64_t integrate_, filled_ = 0, valid_ = 0;
  std::vector<double> sums_;    // [product][channel], ascending
  std::vector<float> samples_;  // [product][channel], descending
  std::unique_ptr<formats::sigproc::FilterbankWriter> writer_;
};

}  // namespace tautline::pipeline
