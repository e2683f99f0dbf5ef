#include "tautline/pipeline/search/expected_rate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "tautline/pipeline/time_calls.h"

namespace tautline::pipeline {

namespace {

namespace dedisperse = stages::dedisperse;
namespace detect = stages::detect;

constexpr std::size_t kTimes = 4096;       ///< of one call on a host: several tiles
constexpr std::size_t kLeastTimes = 512;   ///< for short inputs
constexpr std::size_t kCallsOfInput = 16;  ///< that a call takes of such an input
/// That are searched, on a host or a GPU, which fewer would not fill: the others take as long.
constexpr std::size_t kTrials = 16, kGpuTrials = 512;

bool is_gpu(const device::Device& device) {
  return device.compiles() && !device.properties().host_cpu;
}

double time_search(const detect::Plan& few, const device::Device& device, device::Queue& queue,
                   std::size_t columns, double calls_of_run) {
  const std::size_t trials = few.config().trials;
  const auto state = few.make_state(queue);
  std::mt19937 random(1);
  std::normal_distribution<float> normal(1000, 100);
  std::vector<float> row(2 * columns), series(trials * columns);
  for (float& x : row) {
    x = normal(random);
    if (few.config().type == core::SampleType::i32)
      x = std::bit_cast<float>(static_cast<std::int32_t>(x));
  }
  for (std::size_t i = 0; i < trials; ++i) {
    // Each trial the same noise from another sample on.
    const auto from = row.begin() + static_cast<std::ptrdiff_t>(i * columns / trials);
    std::copy_n(from, columns, series.begin() + static_cast<std::ptrdiff_t>(i * columns));
  }
  const bool there = is_gpu(device);
  const device::Buffer memory = there ? device.allocate(series.size() * 4) : device::Buffer();
  if (there) queue.copy(memory.data(), series.data(), memory.bytes());
  const core::SampleView<2> view(there ? memory.data() : series.data(), few.config().type,
                                 {trials, columns});
  const auto call = [&] {
    few.execute(queue, *state, view);
    state->take();
  };
  // Until the running mean and a block of noise are full.
  for (std::size_t n = 0; n <= few.baseline_samples() + few.noise_samples(); n += columns) call();
  return time_calls(queue, call, calls_of_run) / static_cast<double>(columns);
}

}  // namespace

double seconds_per_sample(const dedisperse::Plan& plan,
                          const std::shared_ptr<const device::Device>& device,
                          std::uint64_t samples) {
  const dedisperse::Config& config = plan.config();
  const auto queue = device->make_queue();
  const auto state = plan.make_state(*queue);
  dedisperse::Input input;
  const bool there = is_gpu(*device) && plan.takes_device_memory();
  const auto few = static_cast<std::size_t>(
      std::clamp<std::uint64_t>(samples / kCallsOfInput, kLeastTimes, kTimes));
  input.count = there ? config.max_samples : std::min(few, config.max_samples);
  const std::size_t sample_bytes =
      (config.frequencies_mhz.size() * static_cast<std::size_t>(config.bits) + 7) / 8;
  const std::size_t bytes = config.beams * input.count * sample_bytes;
  const device::Buffer zeros = there ? device->allocate(bytes) : device::Buffer(bytes);
  if (there) queue->fill(zeros.data(), 0, bytes);
  input.data = zeros.data();
  const std::array<std::size_t, 3> extents{config.beams, config.dms.size(),
                                           plan.max_output_samples()};
  const device::Buffer out = device->allocate(4 * extents[0] * extents[1] * extents[2]);
  const core::MutableSampleView<3> trials(out.data(), plan.output_type(), extents);
  const auto call = [&] { plan.execute(*queue, *state, input, trials); };
  while (state->held_samples() < plan.max_delay()) call();
  const auto count = static_cast<double>(input.count);
  return time_calls(*queue, call, static_cast<double>(samples) / count) / count;
}

double seconds_per_sample(const detect::Plan& plan,
                          const std::shared_ptr<const device::Device>& device,
                          std::uint64_t samples) {
  detect::Config config = plan.config();
  const std::size_t trials = config.trials;
  config.trials = std::min(trials, is_gpu(*device) ? kGpuTrials : kTrials);
  config.lengths.clear();
  const std::size_t columns = plan.noise_samples();
  config.max_samples = columns;
  const auto few = detect::make_plan(config, device);
  const auto queue = device->make_queue();
  const double share = static_cast<double>(trials) / static_cast<double>(config.trials);
  const double calls = share * static_cast<double>(samples) / static_cast<double>(columns);
  return share * time_search(*few, *device, *queue, columns, calls);
}

double seconds_per_sample(const std::vector<SearchPart>& parts,
                          const std::shared_ptr<const device::Device>& device,
                          std::uint64_t samples) {
  double seconds = 0;
  for (const SearchPart& part : parts)
    seconds += seconds_per_sample(*part.dedisperse, device, samples) +
               seconds_per_sample(*part.detect, device, samples) /
                   static_cast<double>(part.dedisperse->config().downsample);
  return seconds;
}

std::string describe_expected(const std::string& work, double seconds_per_data_s, double data_s) {
  char text[240];
  std::snprintf(text, sizeof text,
                "%s alone about %.3g x real time, %.3g s for %.6g s of data; reading, cleaning and "
                "writing come on top",
                work.c_str(), 1 / seconds_per_data_s, seconds_per_data_s * data_s, data_s);
  return text;
}

}  // namespace tautline::pipeline
