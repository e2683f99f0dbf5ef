#include "tautline/stages/dedisperse/gpu/clean.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tautline/core/integers.h"
#include "tautline/jit/program.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kCleanTile = 32, kCleanThreads = 256, kAveragedSpectra = 8,
                      kMeasuredChannels = 32, kCornerTurnTile = 128, kWord = 4;

// Whether input is more than corner-turned.
bool needs_cleaning(const Config& config, std::size_t element_bytes) {
  return config.zero_dm || config.measure_channels || config.signed_samples ||
         config.downsample > 1 ||
         element_bytes != std::max<std::size_t>(1, static_cast<std::size_t>(config.bits) / 8);
}

}  // namespace

GpuCleaner::GpuCleaner(std::shared_ptr<const DelayPlan> plan,
                       std::shared_ptr<const device::Device> device, std::size_t element_bytes)
    : plan_(std::move(plan)), device_(std::move(device)) {
  const Config& config = plan_->config();
  const bool cleans = needs_cleaning(config, element_bytes);
  if (config.bits == 32 && cleans) return;
  for (const int spectra : {0, 1}) {
    programs_[spectra] = jit::build(*device_, "dedisperse/gpu/clean.kernel",
                                    jit::Defines()
                                        .set("BITS", config.bits)
                                        .set("SPECTRA", spectra)
                                        .set("ROW", static_cast<std::int64_t>(8 * element_bytes))
                                        .set("ZERO_DM", config.zero_dm ? 1 : 0)
                                        .set("SIGNED", config.signed_samples ? 1 : 0)
                                        .set("MEASURE", config.measure_channels ? 1 : 0));
    clean_[spectra] = programs_[spectra]->kernel("clean");
    if (config.zero_dm) average_[spectra] = programs_[spectra]->kernel("average");
    if (config.measure_channels) measure_[spectra] = programs_[spectra]->kernel("measure");
  }
  if (config.bits != 8 || cleans) return;
  programs_[2] = jit::build(*device_, "dedisperse/gpu/corner_turn.kernel", {});
  corner_turn_ = programs_[2]->kernel("corner_turn");
}

std::size_t GpuCleaner::bytes() const {
  const Config& config = plan_->config();
  return 4 * plan_->channels() +
         (ready() && config.zero_dm ? config.beams * config.max_samples * sizeof(double) : 0) +
         (ready() && config.measure_channels ? config.beams * plan_->channels() * 16 : 0);
}

GpuCleaner::Work GpuCleaner::make_work(device::Queue& queue) const {
  Work work;
  const Config& config = plan_->config();
  std::vector<std::uint32_t> positions(plan_->channels(), core::u32(plan_->positions()));
  for (std::size_t p = 0; p < plan_->positions(); ++p)
    positions[plan_->channel_at()[p]] = core::u32(p);
  work.positions = device_->allocate(4 * positions.size());
  queue.copy(work.positions.data(), positions.data(), 4 * positions.size());
  if (ready() && config.zero_dm)
    work.means = device_->allocate(config.beams * config.max_samples * sizeof(double));
  if (ready() && config.measure_channels) {
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

// Whether spectra may be corner-turned a word at a time.
bool GpuCleaner::whole_words(const Input& input) const {
  return corner_turn_ && input.layout == Input::Layout::spectra && plan_->channels() % kWord == 0 &&
         input.stride_bytes % kWord == 0 && input.beam_stride_bytes % kWord == 0 &&
         reinterpret_cast<std::uintptr_t>(input.data) % kWord == 0;
}

void GpuCleaner::take(device::Queue& queue, Work& work, const Input& input, const DeviceRows& rows,
                      std::size_t first, std::size_t phase) const {
  const Config& config = plan_->config();
  const bool spectra = input.layout == Input::Layout::spectra;
  const int layout = spectra ? 1 : 0;
  const std::uint64_t stride = input.stride_bytes, beam_stride = input.beam_stride_bytes;
  const std::uint64_t row_stride = rows.stride_bytes, at = first;
  const std::uint64_t rows_beam_stride = row_stride * plan_->positions();
  const std::uint32_t channels = core::u32(plan_->channels()), count = core::u32(input.count);
  const std::uint32_t positions = core::u32(plan_->positions());
  const std::uint32_t most = core::u32(config.max_samples), n = core::u32(config.downsample);
  const std::uint32_t begun = core::u32(phase);
  const void *data = input.data, *row_of = work.positions.data(), *to = rows.data;
  const auto launch = [&](const device::Kernel& kernel, const device::Extent3& groups,
                          auto... values) {
    queue.run(kernel, {.groups = groups, .threads = {kCleanThreads, 1, 1}}, values...);
  };
  const auto groups = [&](std::size_t times, std::size_t tile) {
    return device::Extent3{core::divide_up(times, tile), core::divide_up(channels, tile),
                           config.beams};
  };
  if (whole_words(input))
    return launch(*corner_turn_, groups(count + first % kWord, kCornerTurnTile), data, row_of, to,
                  stride, beam_stride, channels, count, positions, row_stride, rows_beam_stride,
                  at);
  if (config.measure_channels) {
    launch(*measure_[layout],
           {core::divide_up(channels, spectra ? kMeasuredChannels : 1), config.beams, 1}, data,
           work.sums.data(), work.squares.data(), stride, beam_stride, channels, count);
    work.times += static_cast<double>(input.count);
  }
  if (config.zero_dm)
    launch(*average_[layout],
           {core::divide_up(count, spectra ? kAveragedSpectra : kCleanThreads), config.beams, 1},
           data, row_of, work.means.data(), stride, beam_stride, channels, count, positions, most);
  // Without zero-DM the kernel reads no means: any buffer will do.
  const void* means = config.zero_dm ? work.means.data() : row_of;
  launch(*clean_[layout],
         groups(core::divide_up(phase + input.count, config.downsample), kCleanTile), data, row_of,
         means, to, stride, beam_stride, channels, count, positions, row_stride, rows_beam_stride,
         at, most, n, begun);
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
