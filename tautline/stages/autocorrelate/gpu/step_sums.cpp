#include "tautline/stages/autocorrelate/step_sums.h"

#include <bit>
#include <string>
#include <vector>

#include "tautline/core/integers.h"
#include "tautline/jit/program.h"

namespace tautline::stages::autocorrelate {

namespace {

// Of a group: neighbouring sensors, and parts of the time. Rows of a part: few additions in memory, enough threads.
constexpr std::size_t kSensors = 32, kParts = 4, kRows = 128;

std::string type_name(core::SampleType type) {
  switch (type) {
    case core::SampleType::u8:
      return "u8";
    case core::SampleType::u16:
      return "u16";
    case core::SampleType::u32:
      return "u32";
    default:
      return "float";
  }
}

}  // namespace

StepSums::StepSums(const device::Device& device, core::SampleType type, std::size_t sensors,
                   std::size_t steps)
    : sensors_(sensors), floats_(type == core::SampleType::f32) {
  kernel_ = jit::build(device, "autocorrelate/gpu/step_sums.kernel",
                       jit::Defines()
                           .set("SAMPLE", type_name(type))
                           .set("VALUE", floats_ ? "double" : "u64")
                           .set("FLOATS", floats_ ? 1 : 0)
                           .set("THREADS_X", kSensors)
                           .set("THREADS_Y", kParts))
                ->kernel("step_sums");
  sums_ = device.allocate(device_bytes(sensors, steps));
}

void StepSums::add(device::Queue& queue, const core::SampleView<2>& counts,
                   std::uint64_t first_sample, std::uint64_t step_samples) {
  const std::size_t rows = counts.extent(0);
  if (rows == 0) return;
  const std::size_t part =
      floats_ ? rows : kRows;  // floats have one writer, and are added in order of time
  const std::size_t parts = core::divide_up(rows, part);
  queue.run(*kernel_,
            {.groups = {core::divide_up(sensors_, kSensors), core::divide_up(parts, kParts), 1},
             .threads = {kSensors, kParts, 1}},
            counts.data(), sums_.data(),
            static_cast<std::uint64_t>(counts.stride(0)) * core::bytes_of(counts.type()),
            first_sample, step_samples, core::u32(rows), core::u32(part), core::u32(sensors_));
}

void StepSums::read(device::Queue& queue, std::span<double> sums) const {
  queue.copy(sums.data(), sums_.data(), sums_.bytes());
  queue.synchronise();
  if (floats_) return;
  for (double& sum : sums) sum = static_cast<double>(std::bit_cast<std::uint64_t>(sum));
}

void StepSums::write(device::Queue& queue, std::span<const double> sums) {
  std::vector<std::uint64_t> words(sums.size());
  for (std::size_t k = 0; k < sums.size(); ++k)
    words[k] =
        floats_ ? std::bit_cast<std::uint64_t>(sums[k]) : static_cast<std::uint64_t>(sums[k]);
  queue.copy(sums_.data(), words.data(), sums_.bytes());
  queue.synchronise();
}

}  // namespace tautline::stages::autocorrelate
