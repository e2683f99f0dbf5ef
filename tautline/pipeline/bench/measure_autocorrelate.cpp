#include <algorithm>
#include <string>

#include "tautline/core/error.h"
#include "tautline/pipeline/bench/stage_run.h"
#include "tautline/stages/autocorrelate/case.h"
#include "tautline/stages/autocorrelate/case_run.h"
#include "tautline/stages/autocorrelate/tune.h"

namespace tautline::pipeline {

namespace autocorrelate = stages::autocorrelate;

autocorrelate::Config autocorrelate_config(const Problem& sizes) {
  const std::size_t bits = sizes.at("bits");
  const bool real = sizes.at("float") != 0;
  if ((bits != 8 && bits != 16 && bits != 32) || (real && bits != 32))
    throw core::Error(core::ErrorKind::config, "`problem` of autocorrelate: bits",
                      std::to_string(bits), real ? "32 for floats" : "8, 16 or 32");
  autocorrelate::Config config;
  config.sensors = sizes.at("sensors");
  config.bins = sizes.at("bins");
  config.levels = sizes.at("levels");
  config.max_samples = sizes.at("samples");
  config.type = real         ? core::SampleType::f32
                : bits == 8  ? core::SampleType::u8
                : bits == 16 ? core::SampleType::u16
                             : core::SampleType::u32;
  if (sizes.at("standard") != 0) config.lag_scheme = autocorrelate::LagScheme::standard;
  return config;
}

StageRun set_up_autocorrelate(const Problem& sizes, const DevicePointer& device) {
  const autocorrelate::Config config = autocorrelate_config(sizes);
  const autocorrelate::Case problem{config, config.max_samples};
  const auto plan = autocorrelate::make_plan(config, device);
  const auto packets = std::make_shared<autocorrelate::CaseRun>(config, sizes.at("most"), device);
  packets->use(plan);
  packets->draw();
  const auto times = static_cast<double>(config.max_samples);
  return {.memory = packets,
          .run = [packets] { packets->execute(); },
          .code = plan->backend(),
          .operations = problem.operations(),
          .bytes = problem.bytes(),
          .count = static_cast<double>(config.sensors) * times,
          .input_samples = times,
          .data_s = times / static_cast<double>(sizes.at("rate_hz")),
          // Every multiply-add is counted as one of bytes, though coarse levels have larger values.
          .arithmetic =
              [real = config.type == core::SampleType::f32](const Limits& limits) {
                return real ? limits.float_operations_per_s
                            : std::max(limits.int8_operations_per_s,
                                       limits.int8_matrix_operations_per_s);
              }};
}

jit::Tunable tune_autocorrelate(const Problem& sizes, const DevicePointer& device) {
  return autocorrelate::make_tunable(autocorrelate_config(sizes), device);
}

Problem count_words(std::string_view word) {
  if (word == "type=u8") return {{"bits", 8}, {"float", 0}};
  if (word == "type=u16") return {{"bits", 16}, {"float", 0}};
  if (word == "type=u32") return {{"bits", 32}, {"float", 0}};
  if (word == "type=f32") return {{"bits", 32}, {"float", 1}};
  if (word == "scheme=chain") return {{"standard", 0}};
  if (word == "scheme=standard") return {{"standard", 1}};
  return {};
}

}  // namespace tautline::pipeline
