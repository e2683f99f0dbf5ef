// The filter bank beside a plain filter loop, the device's FFT library, and a plain loop that rounds and corner-turns.
#include "bench/baseline/channelize.h"

#include "bench/in_turns.h"
#include "tautline/core/window.h"
#include "tautline/pipeline/bench/stage_run.h"
#include "tautline/stages/channelize/case_run.h"

namespace {

using namespace tautline;

bench::Baseline plain(const pipeline::Problem& sizes,
                      const std::shared_ptr<const device::Device>& host) {
  const auto config = pipeline::channelize_config(sizes);
  if (config.input != core::kCi8 || config.frame_samples() != config.hop_samples() ||
      config.output != stages::channelize::Output::corner_turned_ci8 || sizes.at("delays") != 0)
    return {};
  const auto loop = std::make_shared<bench::PlainChannelizer>(
      config.channels, config.taps, core::prototype_filter(config.channels, config.taps, {}),
      *host);
  const auto memory = std::make_shared<jit::CaseMemory>(host);
  const std::size_t spectra = sizes.at("spectra");
  const std::size_t row = (spectra - 1 + config.taps) * config.channels;
  const auto in = std::make_shared<device::Buffer>(memory->random(core::kCi8, config.inputs * row));
  const auto out = std::make_shared<device::Buffer>(
      memory->zeros(config.inputs * spectra * config.channels * sizeof(core::ci8)));
  return {"baseline", [=] {
            loop->run(memory->queue(), in->as<core::ci8>(), config.inputs, row, spectra,
                      stages::channelize::case_gain(config), out->as<core::ci8>());
          }};
}

}  // namespace

// A million samples of eight inputs, or 32 spectra.
int main(int count, char** arguments) {
  std::vector<std::string> problems;
  for (const char* seldom :
       {"", ",output_bits=4", ",output_bits=32,corner_turned=1", ",bits=16", ",output_bits=32",
        ",delays=1", ",oversample=32/27", ",bits=32", ",real=1"})
    problems.push_back(std::string("c1024t8,inputs=8,spectra=1024") + seldom);
  for (const char* other : {"c1024t4,spectra=1024", "c1024t16,spectra=1024", "c1000t8,spectra=1048",
                            "c2t8,spectra=524288", "c64t8,spectra=16384", "c256t8,spectra=4096",
                            "c4096t8,spectra=256", "c16384t8,spectra=64", "c65536t8,spectra=32"})
    problems.push_back(std::string(other) + ",inputs=8");
  return bench::run(count, arguments, {"channelize", problems, plain});
}
