#include "tautline/pipeline/measure_autocorrelate.h"

#include <algorithm>
#include <string>

#include "tautline/core/error.h"
#include "tautline/pipeline/count_feed.h"
#include "tautline/pipeline/measure_runner.h"
#include "tautline/stages/autocorrelate/case.h"
#include "tautline/stages/autocorrelate/tune.h"

namespace tautline::pipeline {

namespace {

using core::SampleType;

// Repeated on the device.
constexpr std::size_t kPatternCounts = std::size_t{1} << 24;

}  // namespace

stages::autocorrelate::Config autocorrelate_config(const Problem& sizes) {
  const std::size_t bits = sizes.at("bits");
  const bool real = sizes.at("float") != 0;
  if ((bits != 8 && bits != 16 && bits != 32) || (real && bits != 32))
    throw core::Error(core::ErrorKind::config, "`problem` of autocorrelate: bits",
                      std::to_string(bits), real ? "32 for floats" : "8, 16 or 32");
  stages::autocorrelate::Config config;
  config.sensors = sizes.at("sensors");
  config.bins = sizes.at("bins");
  config.levels = sizes.at("levels");
  config.max_samples = sizes.at("samples");
  config.type = real         ? SampleType::f32
                : bits == 8  ? SampleType::u8
                : bits == 16 ? SampleType::u16
                             : SampleType::u32;
  if (sizes.at("standard") != 0) config.lag_scheme = stages::autocorrelate::LagScheme::standard;
  return config;
}

Measurement measure_autocorrelate(const Problem& sizes,
                                  const std::shared_ptr<const device::Device>& device,
                                  const Limits& limits, double budget_s) {
  const stages::autocorrelate::Config config = autocorrelate_config(sizes);
  const stages::autocorrelate::Case problem{"", config, config.max_samples};
  Runner runner(device, budget_s);
  CountFeed feed(config, sizes.at("most"), device, runner.queue());
  const std::size_t count = config.sensors * config.max_samples;
  const device::Buffer pattern(std::min(count, kPatternCounts) * core::bytes_of(config.type));
  draw_counts(pattern.data(), std::min(count, kPatternCounts), config.type, sizes.at("most"));
  const device::Buffer counts = runner.repeat(pattern, feed.packet_bytes());
  Measurement m;
  runner.time(m, [&] { feed.give(runner.queue(), counts.data()); });
  m.instruction_set = feed.plan().backend();
  m.operations = problem.operations();
  m.bytes = problem.bytes();
  m.rate = static_cast<double>(count) / m.seconds;
  m.unit = "samples/s";
  m.bandwidth_hz = static_cast<double>(config.max_samples) / m.seconds;
  m.real_time_factor = m.bandwidth_hz / static_cast<double>(sizes.at("rate_hz"));
  // Every multiply-add taken for one of bytes, though coarse levels have no bytes any more.
  const double arithmetic =
      config.type == SampleType::f32
          ? limits.float_operations_per_s
          : std::max(limits.int8_operations_per_s, limits.int8_matrix_operations_per_s);
  relate_to_limits(m, m.operations / arithmetic, m.bytes / limits.copy_bytes_per_s);
  return m;
}

jit::Tunable tune_autocorrelate(const Problem& sizes,
                                const std::shared_ptr<const device::Device>& device) {
  return stages::autocorrelate::make_tunable(autocorrelate_config(sizes), device);
}

Problem count_words(std::string_view word) {
  if (word == "type=u8") return {{"bits", 8}, {"float", 0}};
  if (word == "type=u16") return {{"bits", 16}, {"float", 0}};
  if (word == "type=u32") return {{"bits", 32}, {"float", 0}};
  if (word == "type=f32") return {{"bits", 32}, {"float", 1}};
  if (word == "ladder=chain") return {{"standard", 0}};
  if (word == "ladder=standard") return {{"standard", 1}};
  return {};
}

}  // namespace tautline::pipeline
