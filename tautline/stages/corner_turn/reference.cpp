// The definition: plain loops, one element at a time.
#include "tautline/stages/corner_turn/backends.h"

namespace tautline::stages::corner_turn {

namespace {

class ReferencePlan final : public Plan {
 public:
  explicit ReferencePlan(const Config& config) : config_(config) {}
  const Config& config() const override { return config_; }
  std::string backend() const override { return "reference"; }
  device::MemoryUse bytes() const override { return {}; }

  void execute(device::Queue&, const Spectra& spectra, const core::ValidityView& validity,
               const Gains& gains, const core::MutableSampleView<3>& samples,
               const Clipped& clipped) const override {
    require_views(config_, spectra, validity, gains, samples, clipped);
    with_samples(samples, [&](const auto& typed) {
      for (std::size_t i = 0; i < config_.inputs; ++i) {
        std::uint64_t count = 0;
        transpose_plain(spectra, validity, gains, typed, i, 0, spectra.extent(1), 0,
                        config_.channels, count);
        if (clipped.data() != nullptr) clipped(i) += count;
      }
    });
  }

 private:
  Config config_;
};

}  // namespace

std::shared_ptr<const Plan> make_reference_plan(const Config& config) {
  return std::make_shared<ReferencePlan>(config);
}

}  // namespace tautline::stages::corner_turn
