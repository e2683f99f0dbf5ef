#include "tautline/pipeline/voltages/power_sink.h"

#include "tautline/core/error.h"
#include "tautline/core/units.h"
#include "tautline/pipeline/voltages/frequencies.h"

namespace tautline::pipeline {

namespace {

std::size_t products_of(const ChannelizeConfig& config) {
  return config.stokes == Stokes::iquv ? 4 : 1;
}

}  // namespace

PowerSink::PowerSink(const ChannelizeConfig& config, const SinkDescription& description)
    : sums_(description.input.antennas, description.input.polarisations, description.channels,
            products_of(config), config.integrate),
      values_(products_of(config) * description.channels) {
  using core::Error;
  using core::ErrorKind;
  if (config.integrate == 0) throw Error(ErrorKind::config, "integrate", "0", "1 or more spectra");
  if (products_of(config) == 4 && description.input.polarisations != 2)
    throw Error(ErrorKind::config, "stokes", "IQUV", "input with two polarisations",
                "take `stokes` I");
  const core::VoltageDescription& input = description.input;
  const std::vector<double> centres = channel_frequencies_hz(input, description.channels);
  formats::sigproc::Header header;
  header.source_name = input.source.empty() ? "unknown" : input.source;
  header.rawdatafile = config.inputs.front();
  header.nchans = description.channels;
  header.nifs = products_of(config);
  header.fch1_mhz = centres.back() / core::kHzPerMhz;
  header.foff_mhz = -channel_width_hz(input, description.channels) / core::kHzPerMhz;
  header.tstart_mjd = core::modified_julian_date(
      core::advance_half(input.start,
                         static_cast<std::int64_t>(description.span_samples) -
                             static_cast<std::int64_t>(description.hop_samples),
                         input.rate_hz));
  header.tsamp_s = static_cast<double>(config.integrate) *
                   static_cast<double>(description.hop_samples) / input.rate_hz.value();
  writer_ =
      std::make_unique<formats::sigproc::FilterbankWriter>(config.output, header, config.overwrite);
}

void PowerSink::write(const SpectraChunk& chunk) {
  samples_.resize(sums_.samples_of(chunk.spectra) * values_);
  sums_.add(chunk, samples_);
  writer_->write(samples_);
}

}  // namespace tautline::pipeline
