// A simulated filterbank as a reader, as if a file held it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/simulation/filterbank_simulator.h"

namespace tautline::pipeline::simulation {

/// A read makes every piece (FilterbankSimulator) of which it needs a part, several at a time.
class SimulatedFilterbank final : public formats::FilterbankReader {
 public:
  /// `threads`: 0: as many as the process may use.
  SimulatedFilterbank(const formats::scene::FilterbankScene& scene, std::uint64_t samples,
                      std::shared_ptr<const FilterbankSimulator> simulator, std::size_t threads);

  /// Values outside the range of the bits, in the pieces that were made.
  std::uint64_t clipped() const { return clipped_; }
  std::size_t read(std::uint64_t first_sample, std::size_t count,
                   std::span<std::byte> destination) override;

 private:
  std::shared_ptr<const FilterbankSimulator> simulator_;
  std::unique_ptr<device::Queue> queue_;
  std::vector<FilterbankWorkspace> workspaces_;  // [worker]
  std::uint64_t clipped_ = 0;
};

}  // namespace tautline::pipeline::simulation
