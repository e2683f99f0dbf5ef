#include "tautline/pipeline/voltage_sink.h"

#include <numeric>

#include "tautline/core/error.h"
#include "tautline/formats/dada/dada.h"
#include "tautline/formats/npy/npy.h"
#include "tautline/pipeline/frequencies.h"
#include "tautline/pipeline/power_sink.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;
using stages::channelize::Output;

core::SampleFormat format_of(Requantise requantise) {
  if (requantise == Requantise::bits8) return core::kCi8;
  return requantise == Requantise::bits4 ? core::kCi4 : core::kCf32;
}

// The channelized stream as its own description: time stamps so that a spectrum's sample is centred
// on the span it was made of, and a band whose channel centres are the filter bank's.
core::VoltageDescription channelized(const ChannelizeConfig& config,
                                     const SinkDescription& description) {
  core::VoltageDescription d = description.input;
  const std::size_t span = description.span_samples, hop = description.hop_samples;
  d.start = core::advance_half(
      d.start, static_cast<std::int64_t>(span) - static_cast<std::int64_t>(hop), d.rate_hz);
  const std::vector<double> centres = channel_frequencies_hz(d, description.channels);
  const double width = channel_width_hz(d, description.channels);
  d.centre_hz = (centres.front() + centres.back()) / 2;
  d.bandwidth_hz = width * static_cast<double>(description.channels);
  const auto divisor = static_cast<std::int64_t>(hop);
  const std::int64_t shared = std::gcd(d.rate_hz.numerator, divisor);
  d.rate_hz =
      core::make_rational(d.rate_hz.numerator / shared, d.rate_hz.denominator * (divisor / shared));
  d.channels = description.channels;
  d.format = format_of(config.requantise);
  return d;
}

// Rows of one chunk as bytes.
struct Rows {
  const void* data;
  std::size_t channel_stride_bytes, row_stride_bytes;
};

template <class T>
Rows rows_of(const core::View<const T, 3>& view) {
  return {view.data(), static_cast<std::size_t>(view.stride(0)) * sizeof(T),
          static_cast<std::size_t>(view.stride(1)) * sizeof(T)};
}

Rows rows_of(const SpectraChunk& chunk, Output form) {
  if (form == Output::corner_turned_ci8) return rows_of(chunk.ci8);
  return form == Output::corner_turned_ci4 ? rows_of(chunk.ci4) : rows_of(chunk.cf32);
}

class DadaSink final : public VoltageSink {
 public:
  DadaSink(const ChannelizeConfig& config, const SinkDescription& description)
      : form_(form_wanted(config)),
        writer_(config.output, channelized(config, description), options(config)) {}

  Output wants() const override { return form_; }
  void write(const SpectraChunk& chunk) override {
    const Rows rows = rows_of(chunk, form_);
    writer_.write_rows(rows.data, rows.channel_stride_bytes, rows.row_stride_bytes, chunk.spectra);
  }
  std::uint64_t written() const override { return writer_.samples(); }
  void finish() override { writer_.finish(); }

 private:
  static formats::dada::WriteOptions options(const ChannelizeConfig& config) {
    formats::dada::WriteOptions options;
    options.overwrite = config.overwrite;
    options.extra.emplace_back("HISTORY", config.history);
    return options;
  }

  Output form_;
  formats::dada::Writer writer_;
};

class NpySink final : public VoltageSink {
 public:
  NpySink(const ChannelizeConfig& config, const SinkDescription& description)
      : form_(form_wanted(config)),
        writer_(config.output, format_of(config.requantise), description.channels,
                description.input.inputs(), description.spectra, config.overwrite) {}

  Output wants() const override { return form_; }
  void write(const SpectraChunk& chunk) override {
    const Rows rows = rows_of(chunk, form_);
    writer_.write(rows.data, rows.channel_stride_bytes, rows.row_stride_bytes, chunk.spectra);
  }
  std::uint64_t written() const override { return writer_.samples(); }
  void finish() override { writer_.finish(); }

 private:
  Output form_;
  formats::npy::RowsWriter writer_;
};

}  // namespace

Output form_wanted(const ChannelizeConfig& config) {
  if (config.output.ends_with(".fil")) {
    if (config.requantise != Requantise::off)
      throw Error(ErrorKind::config, "requantise", "8 or 4", "off for detected power (.fil)");
    return Output::spectra_float;
  }
  switch (config.requantise) {
    case Requantise::off:
      return Output::corner_turned_float;
    case Requantise::bits8:
      return Output::corner_turned_ci8;
    case Requantise::bits4:
      break;
  }
  if (config.output.ends_with(".npy")) return Output::corner_turned_ci4;
  throw Error(ErrorKind::unsupported, "requantise", "4", "8 or off for voltages in a DADA file");
}

std::unique_ptr<VoltageSink> make_voltage_sink(const ChannelizeConfig& config,
                                               const SinkDescription& description) {
  if (config.output.ends_with(".fil")) return std::make_unique<PowerSink>(config, description);
  if (config.output.ends_with(".dada")) return std::make_unique<DadaSink>(config, description);
  if (config.output.ends_with(".npy")) return std::make_unique<NpySink>(config, description);
  throw Error(ErrorKind::config, "output", config.output, "a name ending in .dada, .npy or .fil");
}

}  // namespace tautline::pipeline
