#include "tautline/pipeline/voltages/power_sink.h"

#include <algorithm>
#include <complex>

#include "tautline/core/error.h"
#include "tautline/core/units.h"
#include "tautline/pipeline/voltages/frequencies.h"

namespace tautline::pipeline {

namespace {

bool valid(const SpectraChunk& chunk, std::size_t input, std::size_t spectrum) {
  return chunk.valid.empty() || (chunk.valid(input, spectrum / 64) >> (spectrum % 64) & 1) != 0;
}

}  // namespace

PowerSink::PowerSink(const ChannelizeConfig& config, const SinkDescription& description)
    : antennas_(description.input.antennas),
      polarisations_(description.input.polarisations),
      channels_(description.channels),
      products_(config.stokes == Stokes::iquv ? 4 : 1),
      integrate_(config.integrate),
      sums_(products_ * channels_, 0),
      samples_(products_ * channels_) {
  using core::Error;
  using core::ErrorKind;
  if (integrate_ == 0) throw Error(ErrorKind::config, "integrate", "0", "1 or more spectra");
  if (products_ == 4 && polarisations_ != 2)
    throw Error(ErrorKind::config, "stokes", "IQUV", "input with two polarisations",
                "take `stokes` I");
  const core::VoltageDescription& input = description.input;
  const std::vector<double> centres = channel_frequencies_hz(input, channels_);
  formats::sigproc::Header header;
  header.source_name = input.source.empty() ? "unknown" : input.source;
  header.rawdatafile = config.inputs.front();
  header.nchans = channels_;
  header.nifs = products_;
  header.fch1_mhz = centres.back() / core::kHzPerMhz;
  header.foff_mhz = -channel_width_hz(input, channels_) / core::kHzPerMhz;
  header.tstart_mjd = core::modified_julian_date(
      core::advance_half(input.start,
                         static_cast<std::int64_t>(description.span_samples) -
                             static_cast<std::int64_t>(description.hop_samples),
                         input.rate_hz));
  header.tsamp_s = static_cast<double>(integrate_) * static_cast<double>(description.hop_samples) /
                   input.rate_hz.value();
  writer_ =
      std::make_unique<formats::sigproc::FilterbankWriter>(config.output, header, config.overwrite);
}

void PowerSink::add_antenna(const SpectraChunk& chunk, std::size_t antenna, std::size_t spectrum) {
  const std::size_t first = antenna * polarisations_;
  const auto spectra = chunk.samples.as<const std::complex<float>>();
  for (std::size_t p = 0; p < polarisations_; ++p)
    if (!valid(chunk, first + p, spectrum)) return;
  ++valid_;
  for (std::size_t p = 0; p < polarisations_; ++p) {
    const double sign = p == 1 ? -1 : 1;
    for (std::size_t c = 0; c < channels_; ++c) {
      const double power = std::norm(std::complex<double>(spectra(first + p, spectrum, c)));
      sums_[c] += power;
      if (products_ == 4) sums_[channels_ + c] += sign * power;
    }
  }
  if (products_ != 4) return;
  for (std::size_t c = 0; c < channels_; ++c) {
    const std::complex<double> cross =
        std::complex<double>(spectra(first, spectrum, c)) *
        std::conj(std::complex<double>(spectra(first + 1, spectrum, c)));
    sums_[2 * channels_ + c] += 2 * cross.real();
    sums_[3 * channels_ + c] -= 2 * cross.imag();
  }
}

void PowerSink::write(const SpectraChunk& chunk) {
  for (std::size_t s = 0; s < chunk.spectra; ++s) {
    for (std::size_t antenna = 0; antenna < antennas_; ++antenna) add_antenna(chunk, antenna, s);
    if (++filled_ == integrate_) flush();
  }
}

void PowerSink::flush() {
  const double scale = valid_ > 0 ? 1.0 / static_cast<double>(valid_) : 0.0;
  for (std::size_t product = 0; product < products_; ++product)
    for (std::size_t c = 0; c < channels_; ++c)
      samples_[product * channels_ + channels_ - 1 - c] =
          static_cast<float>(sums_[product * channels_ + c] * scale);
  writer_->write(samples_);
  std::fill(sums_.begin(), sums_.end(), 0);
  filled_ = valid_ = 0;
}

}  // namespace tautline::pipeline
