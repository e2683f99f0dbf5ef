#include "tautline/jit/tunable.h"

#include <utility>

#include "tautline/core/hash.h"
#include "tautline/jit/program.h"

namespace tautline::jit {

namespace {

TuningKey make_key(const device::Device& device, std::string stage, std::string variant,
                   Sizes problem, std::uint64_t text_hash) {
  const auto& properties = device.properties();
  return {device.api() == device::Api::cuda ? "cuda" : "opencl",
          properties.product,
          properties.driver,
          device.compiler(),
          core::hash_name(text_hash),
          std::move(stage),
          std::move(variant),
          std::move(problem)};
}

}  // namespace

TuningKey tuning_key(const device::Device& device, std::string stage, std::string variant,
                     Sizes problem) {
  std::uint64_t value = core::kHashStart;
  for (const std::string_view file : stage_kernels(device.api(), stage))
    value = core::hash(make_source(device.api(), file, {}).text, value);
  return make_key(device, std::move(stage), std::move(variant), std::move(problem), value);
}

TuningKey tuning_key_of_text(const device::Device& device, std::string stage, std::string variant,
                             Sizes problem, std::string_view text) {
  return make_key(device, std::move(stage), std::move(variant), std::move(problem),
                  core::hash(text));
}

}  // namespace tautline::jit
