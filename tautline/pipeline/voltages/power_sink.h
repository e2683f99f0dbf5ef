// Detected power of an incoherent beam, as a sigproc filterbank.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/formats/sigproc/writers.h"
#include "tautline/pipeline/voltages/channelize_config.h"
#include "tautline/pipeline/voltages/power_sums.h"
#include "tautline/pipeline/voltages/voltage_sink.h"

namespace tautline::pipeline {

/// Writes samples of PowerSums, channels from the highest frequency down. Spectra that do not fill the last sample are
/// left out.
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
  PowerSums sums_;
  std::size_t values_;          // of a sample
  std::vector<float> samples_;  // [sample][product][channel], descending
  std::unique_ptr<formats::sigproc::FilterbankWriter> writer_;
};

}  // namespace tautline::pipeline
