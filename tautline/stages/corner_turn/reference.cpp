// The definition: plain loops, one element at a time.
#include "tautline/stages/corner_turn/backends.h"

namespace tautline::stages::corner_turn {

namespace {

class ReferencePlan final : public PlanBase<ReferencePlan> {
 public:
  using PlanBase::PlanBase;
  std::string backend() const override { return "reference"; }
  device::MemoryUse bytes() const override { return {}; }

  template <class Sample>
  void run(device::Queue&, const Spectra& spectra, const core::ValidityView& validity,
           const Gains& gains, const Samples<Sample>& samples, const Clipped& clipped) const {
    for (std::size_t i = 0; i < config().inputs; ++i) {
      std::uint64_t count = 0;
      transpose_plain(spectra, validity, gains, samples, i, 0, spectra.extent(1), 0,
                      config().channels, count);
      if (clipped.data() != nullptr) clipped(i) += count;
    }
  }
};

}  // namespace

std::shared_ptr<const Plan> make_reference_plan(const Config& config) {
  return std::make_shared<ReferencePlan>(config);
}

}  // namespace tautline::stages::corner_turn
