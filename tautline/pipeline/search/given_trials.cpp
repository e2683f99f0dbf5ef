#include "tautline/pipeline/search/given_trials.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "tautline/core/error.h"

namespace tautline::pipeline {

namespace {

namespace dedisperse = stages::dedisperse;

// Nothing is held back. Its memory is of a transposed block, on its way to a device.
class GivenState final : public dedisperse::State {
 public:
  explicit GivenState(std::size_t values) : transposed(values) {}
  void reset() override {}
  std::size_t held_samples() const override { return 0; }
  std::vector<dedisperse::Moments> moments() const override { return {}; }
  std::vector<std::byte> save() const override { return {}; }
  void load(std::span<const std::byte> saved) override {
    if (!saved.empty())
      throw core::Error(core::ErrorKind::format, "saved state",
                        std::to_string(saved.size()) + " bytes",
                        "none, of series that are dedispersed already");
  }
  std::vector<float> transposed;
};

class GivenPlan final : public dedisperse::Plan {
 public:
  GivenPlan(dedisperse::Config config, std::size_t first_trial, const GivenTrials& given,
            std::shared_ptr<const device::Device> device)
      : config_(std::move(config)),
        first_trial_(first_trial),
        given_(given),
        device_(std::move(device)) {
    choice_.text = "as it was dedispersed";
  }

  const dedisperse::Config& config() const override { return config_; }
  std::string backend() const override { return "none, dedispersed already"; }
  const dedisperse::MethodChoice& choice() const override { return choice_; }
  device::MemoryUse bytes() const override {
    return {.host_bytes = block_values() * sizeof(float), .device_bytes = 0};
  }
  std::unique_ptr<dedisperse::State> make_state(device::Queue&) const override {
    return std::make_unique<GivenState>(block_values());
  }
  bool float_output() const override { return !given_.whole_numbers; }
  std::size_t max_delay() const override { return 0; }
  std::int64_t delay(std::size_t trial, std::size_t) const override {
    return given_.delays.empty() ? 0
                                 : static_cast<std::int64_t>(given_.delays[first_trial_ + trial]);
  }
  std::size_t max_output_samples() const override { return config_.max_samples; }

  dedisperse::Result execute(device::Queue& queue, dedisperse::State& state,
                             const dedisperse::Input& input,
                             const core::MutableSampleView<3>& trials) const override {
    auto& transposed = static_cast<GivenState&>(state).transposed;
    const std::uint64_t not_finite =
        transpose(static_cast<const float*>(input.data), input.count, transposed);
    const auto row = static_cast<std::size_t>(trials.stride(1)) * sizeof(float);
    queue.copy_rows(trials.data(), row, transposed.data(), input.count * sizeof(float),
                    input.count * sizeof(float), count());
    queue.synchronise();
    return {input.count, not_finite};
  }

 private:
  std::size_t count() const { return config_.dms.size(); }
  std::size_t block_values() const { return count() * config_.max_samples; }

  // [time][channel] to [trial][time], in tiles that a cache holds. Returns how many samples were not finite.
  std::uint64_t transpose(const float* spectra, std::size_t times, std::vector<float>& to) const {
    constexpr std::size_t kTile = 64;
    const std::size_t channels = config_.frequencies_mhz.size();
    std::uint64_t not_finite = 0;
    for (std::size_t k = 0; k < count(); k += kTile)
      for (std::size_t t = 0; t < times; t += kTile)
        for (std::size_t i = k; i < std::min(k + kTile, count()); ++i)
          for (std::size_t s = t; s < std::min(t + kTile, times); ++s) {
            const float value = spectra[s * channels + first_trial_ + i];
            not_finite += std::isfinite(value) ? 0 : 1;
            to[i * times + s] = given_.whole_numbers ? as_whole(value) : value;
          }
    return not_finite;
  }
  // The bits of an int32 in a float's place.
  static float as_whole(float value) {
    return std::bit_cast<float>(static_cast<std::int32_t>(value));
  }

  dedisperse::Config config_;
  std::size_t first_trial_;
  GivenTrials given_;
  std::shared_ptr<const device::Device> device_;
  dedisperse::MethodChoice choice_;
};

}  // namespace

std::uint64_t GivenTrials::longest() const {
  return delays.empty() ? 0 : *std::max_element(delays.begin(), delays.end());
}

GivenTrials given_trials(const formats::FilterbankDescription& description) {
  if (description.trial_dms.size() < 2) return {};
  return {description.trial_dms.size(), description.trial_delays, description.whole_numbers};
}

std::uint64_t data_behind(const formats::FilterbankDescription& description, std::uint64_t end) {
  const std::uint64_t longest = given_trials(description).longest();
  for (const auto& one : description.series_breaks)
    if (one.first >= end) return std::min(longest, one.first - end);
  return longest;
}

std::uint64_t complete_samples(const formats::FilterbankDescription& description,
                               const SampleRange& part, std::size_t trial) {
  const GivenTrials given = given_trials(description);
  if (given.delays.empty()) return part.count;
  const std::uint64_t there = part.count + data_behind(description, part.first + part.count);
  return std::min(part.count, there - std::min(there, given.delays[trial]));
}

std::shared_ptr<const dedisperse::Plan> plan_given_trials(
    dedisperse::Config config, std::size_t first_trial, const GivenTrials& given,
    std::shared_ptr<const device::Device> device) {
  return std::make_shared<GivenPlan>(std::move(config), first_trial, given, std::move(device));
}

}  // namespace tautline::pipeline
