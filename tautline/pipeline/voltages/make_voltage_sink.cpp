#include "tautline/pipeline/voltages/make_voltage_sink.h"

#include <numeric>

#include "tautline/core/error.h"
#include "tautline/formats/dada/dada.h"
#include "tautline/formats/npy/npy.h"
#include "tautline/pipeline/voltages/frequencies.h"
#include "tautline/pipeline/voltages/power_sink.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;
using stages::channelize::Output;

core::VoltageDescription channelized(const SinkDescription& description) {
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
  d.format = description.format;
  return d;
}

// Writes the rows of one chunk with write(data, channel stride in bytes, row stride in bytes, times).
template <class Write>
void write_rows(const SpectraChunk& chunk, const Write& write) {
  const core::SampleView<3>& rows = chunk.samples;
  const std::size_t bytes = core::bytes_of(rows.type());
  write(rows.data(), static_cast<std::size_t>(rows.stride(0)) * bytes,
        static_cast<std::size_t>(rows.stride(1)) * bytes, chunk.spectra);
}

class DadaSink final : public VoltageSink {
 public:
  DadaSink(const ChannelizeConfig& config, const SinkDescription& description)
      : form_(form_wanted(config)),
        writer_(config.output, channelized(description), options(config)) {}

  Output wants() const override { return form_; }
  void write(const SpectraChunk& chunk) override {
    write_rows(chunk, [this](auto... rows) { writer_.write_rows(rows...); });
  }
  std::uint64_t written() const override { return writer_.samples(); }
  void finish() override { writer_.finish(); }

 private:
  static formats::dada::WriteOptions options(const ChannelizeConfig& config) {
    formats::dada::WriteOptions options;
    options.overwrite = config.overwrite;
    options.extra.emplace_back("HISTORY", config.history);
    options.extra.emplace_back("RECORD", "beside");  // readers miss it where it is not
    return options;
  }

  Output form_;
  formats::dada::Writer writer_;
};

class NpySink final : public VoltageSink {
 public:
  NpySink(const ChannelizeConfig& config, const SinkDescription& description)
      : form_(form_wanted(config)),
        writer_(config.output, description.format, description.channels, description.input.inputs(),
                description.spectra, config.overwrite) {}

  Output wants() const override { return form_; }
  void write(const SpectraChunk& chunk) override {
    write_rows(chunk, [this](auto... rows) { writer_.write(rows...); });
  }
  std::uint64_t written() const override { return writer_.samples(); }
  void finish() override { writer_.finish(); }

 private:
  Output form_;
  formats::npy::RowsWriter writer_;
};

}  // namespace

core::VoltageDescription channelized_description(const Spectra& spectra) {
  return channelized({.input = spectra.voltages,
                      .format = spectra.format,
                      .channels = spectra.stream_channels,
                      .hop_samples = spectra.hop_samples,
                      .span_samples = spectra.span_samples});
}

Output form_wanted(const ChannelizeConfig& config) {
  if (config.output.ends_with(".fil")) {
    if (config.requantise != Requantise::off)
      throw Error(ErrorKind::config, "requantise", "8 or 4", "off for detected power (.fil)");
    return Output::spectra_float;
  }
  if (config.requantise == Requantise::bits4 && !config.output.ends_with(".npy"))
    throw Error(ErrorKind::unsupported, "requantise", "4", "8 or off for voltages in a DADA file",
                "write an array (.npy): it holds 4 bits");
  return output_of(config.requantise);
}

void require_voltage_sink_name(const std::string& field, const std::string& path) {
  if (!path.ends_with(".fil") && !path.ends_with(".dada") && !path.ends_with(".npy"))
    throw Error(ErrorKind::config, field, path, "a name ending in .dada, .npy or .fil");
}

std::unique_ptr<VoltageSink> make_voltage_sink(const ChannelizeConfig& config,
                                               const SinkDescription& description) {
  if (config.output.ends_with(".fil")) return std::make_unique<PowerSink>(config, description);
  if (config.output.ends_with(".dada")) return std::make_unique<DadaSink>(config, description);
  require_voltage_sink_name("output", config.output);
  return std::make_unique<NpySink>(config, description);
}

}  // namespace tautline::pipeline
