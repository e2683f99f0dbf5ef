#include <complex>

#include "tautline/pipeline/bench/stage_run.h"
#include "tautline/stages/corner_turn/case.h"

namespace tautline::pipeline {

namespace {

namespace corner_turn = stages::corner_turn;

struct CornerTurn : jit::CaseMemory {
  CornerTurn(const corner_turn::Case& c, const DevicePointer& on)
      : CaseMemory(on),
        in(random(core::kCf32, c.elements())),
        out(zeros(c.elements() * 2 * static_cast<std::size_t>(c.output_bits) / 8)),
        gains(floats(c.channels * c.inputs, 20.0f)),
        clipped(zeros(c.inputs * sizeof(std::uint64_t))) {}
  device::Buffer in, out, gains, clipped;
};

}  // namespace

StageRun set_up_corner_turn(const Problem& p, const DevicePointer& device) {
  const corner_turn::Case c{p.at("inputs"), p.at("channels"), p.at("spectra"),
                            static_cast<int>(p.at("output_bits"))};
  const auto plan = corner_turn::make_plan(c.config(), device);
  require_on_device("corner_turn", plan->backend(), *device);
  const auto m = std::make_shared<const CornerTurn>(c, device);
  const auto run = [=] {
    const corner_turn::Spectra spectra{m->in.as<std::complex<float>>(),
                                       {c.inputs, c.spectra, c.channels}};
    plan->execute(m->queue(), spectra, {}, {m->gains.as<float>(), {c.channels, c.inputs}},
                  {m->out.data(), c.output_type(), {c.channels, c.inputs, c.spectra}},
                  {m->clipped.as<std::uint64_t>(), {c.inputs}});
  };
  return {.memory = m,
          .run = run,
          .code = plan->backend(),
          .operations = c.operations(),
          .bytes = c.bytes(),
          .count = static_cast<double>(c.elements()),
          .input_samples = static_cast<double>(c.channels * c.spectra),
          .arithmetic = [](const Limits& limits) { return limits.float_operations_per_s; }};
}

}  // namespace tautline::pipeline
