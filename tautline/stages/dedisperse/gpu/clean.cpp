#include "tautline/stages/dedisperse/gpu/clean.h"

#include <algorithm>
#include <utility>

#include "tautline/core/integers.h"
#include "tautline/jit/program.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kCleanTile = 32, kCleanThreads = 256, kAveragedSpectra = 8,
                      kMeasuredChannels = 32;

}  // namespace

bool GpuCleaner::needed(const DelayPlan& plan, std::size_t element_bytes) {
  const Config& config = plan.config();
  return config.zero_dm || config.measure_channels || config.signed_samples ||
         config.downsample > 1 ||
         element_bytes != std::max<std::size_t>(1, static_cast<std::size_t>(config.bits) / 8);
}

GpuCleaner::GpuCleaner(std::shared_ptr<const DelayPlan> plan,
                       std::shared_ptr<const device::Device> device, std::size_t element_bytes)
    : plan_(std::move(plan)), device_(std::move(device)) {
  const Config& config = plan_->config();
  if (config.bits == 32 || !needed(*plan_, element_bytes)) return;
  for (const int spectra : {0, 1}) {
    programs_[spectra] = jit::build(*device_, "dedisperse/gpu/clean.kernel",
                                    jit::Defines()
                                        .set("BITS", config.bits)
                                        .set("SPECTRA", spectra)
                                        .set("ROW", static_cast<std::int64_t>(8 * element_bytes))
                                        .set("ZERO_DM", config.zero_dm ? 1 : 0)
                                        .set("SIGNED", config.signed_samples ? 1 : 0));
    average_[spectra] = programs_[spectra]->kernel("average");
    clean_[spectra] = programs_[spectra]->kernel("clean");
    measure_[spectra] = programs_[spectra]->kernel("measure");
  }
}

std::size_t GpuCleaner::bytes() const {
  if (!ready()) return 0;
  const Config& config = plan_->config();
  return (config.zero_dm ? config.beams * config.max_samples * sizeof(double) : 0) +
         (config.measure_channels ? config.beams * plan_->channels() * 16 : 0);
}

GpuCleaner::Work GpuCleaner::make_work(device::Queue& queue) const {
  Work work;
  const Config& config = plan_->config();
  if (!ready()) return work;
  if (config.zero_dm)
    work.means = device_->allocate(config.beams * config.max_samples * sizeof(double));
  if (config.measure_channels) {
    work.sums = device_->allocate(config.beams * plan_->channels() * 8);
    work.squares = device_->allocate(config.beams * plan_->channels() * 8);
  }
  reset(queue, work);
  return work;
}

void GpuCleaner::reset(device::Queue& queue, Work& work) const {
  work.times = 0;
  if (work.sums.data() == nullptr) return;
  queue.fill(work.sums.data(), 0, work.sums.bytes());
  queue.fill(work.squares.data(), 0, work.squares.bytes());
}

void GpuCleaner::take(device::Queue& queue, Work& work, const Input& input, const DeviceRows& rows,
                      std::size_t first, std::size_t phase) const {
  const Config& config = plan_->config();
  const std::size_t channels = plan_->channels(), positions = plan_->positions();
  const bool spectra = input.layout == Input::Layout::spectra;
  const int layout = spectra ? 1 : 0;
  const auto stride = static_cast<std::uint64_t>(input.stride_bytes);
  const auto beam_stride = static_cast<std::uint64_t>(input.beam_stride_bytes);
  if (config.measure_channels) {
    const device::Argument arguments[] = {
        input.data,  work.sums.data(),    work.squares.data(),   stride,
        beam_stride, core::u32(channels), core::u32(input.count)};
    queue.launch(
        *measure_[layout],
        {.groups = {core::divide_up(channels, spectra ? kMeasuredChannels : 1), config.beams, 1},
         .threads = {kCleanThreads, 1, 1}},
        arguments);
    work.times += static_cast<double>(input.count);
  }
  if (config.zero_dm) {
    const device::Argument arguments[] = {input.data,
                                          rows.positions,
                                          work.means.data(),
                                          stride,
                                          beam_stride,
                                          core::u32(channels),
                                          core::u32(input.count),
                                          core::u32(positions),
                                          core::u32(config.max_samples)};
    queue.launch(
        *average_[layout],
        {.groups = {core::divide_up(input.count, spectra ? kAveragedSpectra : kCleanThreads),
                    config.beams, 1},
         .threads = {kCleanThreads, 1, 1}},
        arguments);
  }
  // Without zero-DM the kernel reads no means: any buffer will do.
  const void* means = config.zero_dm ? work.means.data() : rows.positions;
  const std::size_t elements = core::divide_up(phase + input.count, config.downsample);
  const device::Argument arguments[] = {input.data,
                                        rows.positions,
                                        means,
                                        rows.data,
                                        stride,
                                        beam_stride,
                                        core::u32(channels),
                                        core::u32(input.count),
                                        core::u32(positions),
                                        static_cast<std::uint64_t>(rows.stride_bytes),
                                        static_cast<std::uint64_t>(rows.stride_bytes * positions),
                                        static_cast<std::uint64_t>(first),
                                        core::u32(config.max_samples),
                                        core::u32(config.downsample),
                                        core::u32(phase)};
  queue.launch(*clean_[layout],
               {.groups = {core::divide_up(elements, kCleanTile),
                           core::divide_up(channels, kCleanTile), config.beams},
                .threads = {kCleanThreads, 1, 1}},
               arguments);
}

void GpuCleaner::add_moments(device::Queue& queue, const Work& work,
                             std::vector<Moments>& moments) const {
  if (work.sums.data() == nullptr || work.times == 0) return;
  std::vector<std::int64_t> sums(work.sums.bytes() / 8);
  std::vector<std::uint64_t> squares(sums.size());
  queue.copy(sums.data(), work.sums.data(), work.sums.bytes());
  queue.copy(squares.data(), work.squares.data(), work.squares.bytes());
  queue.synchronise();
  for (std::size_t k = 0; k < moments.size(); ++k) {
    moments[k].count += work.times;
    moments[k].sum += static_cast<double>(sums[k]);
    moments[k].sum_of_squares += static_cast<double>(squares[k]);
  }
}

}  // namespace tautline::stages::dedisperse
