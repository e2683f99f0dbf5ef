// Where simulated samples go: a DADA file or the files of an MWA prototype's receivers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/pipeline/simulation/plan.h"

namespace tautline::pipeline::simulation {

/// Files appear under their names on finish(); destroyed before that, it leaves nothing.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Appends `samples` times, [time][input] as VoltageMaker leaves them.
  virtual void write(std::span<const std::byte> bytes, std::uint64_t samples) = 0;
  virtual std::vector<std::string> files() const = 0;
  virtual void finish() = 0;
};

std::unique_ptr<Sink> make_dada_sink(const Plan& plan, const std::string& path, bool overwrite);

/// PATH.0, PATH.1, ... with 16 inputs each. Missing spans of all inputs of a receiver are gaps in
/// its counter. Throws Error(config) unless the inputs make 1 to 4 whole receivers of complex
/// samples.
std::unique_ptr<Sink> make_mwa32t_sink(const Plan& plan, const std::string& path, bool one_byte,
                                       bool overwrite);

/// The largest step that the MWA's samples hold: 15 with 5 bits (two-byte mode), 7 with 4.
int mwa32t_limit(bool one_byte);

}  // namespace tautline::pipeline::simulation
