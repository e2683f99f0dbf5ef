// tautline devices: what can compute here.
#include <fmt/format.h>

#include "cli/command.h"
#include "tautline/device/cpu/fft.h"

namespace tautline::cli {

namespace {

int run(const Global& global) {
  using device::InstructionSet;
  const auto opened = open_device(global);
  const std::size_t threads = opened->make_queue()->workers();
  const char* fft = device::cpu::fftw_available() ? "fftw" : "kissfft";
  for (const InstructionSet set : {InstructionSet::portable, InstructionSet::avx2,
                                   InstructionSet::avx512, InstructionSet::vnni,
                                   InstructionSet::amx}) {
    const std::string name = "cpu:" + std::string(device::to_string(set));
    const bool here = device::supported(set);
    const bool chosen = here && opened->api() == device::Api::cpu && opened->instruction_set() == set;
    if (global.json)
      print_json("tautline.device", 1,
                 {{"device", name}, {"supported", here}, {"chosen", chosen}, {"threads", threads},
                  {"fft", fft}});
    else
      fmt::print("{:<14} {:<14}{}\n", name, here ? "supported" : "not here",
                 chosen ? fmt::format("chosen: {} threads, transforms by {}", threads, fft) : "");
  }
  if (!global.json) fmt::print("{:<14} {:<14}plain loops that define every result\n", "reference", "supported");
  return kDone;
}

}  // namespace

void add_devices(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("devices", "what can compute here");
  command->footer("Example: tautline devices --json");
  command->callback([&global, &action] { action = [&global] { return run(global); }; });
}

}  // namespace tautline::cli
