#include "tautline/device/device.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/integers.h"
#include "tautline/device/cpu/cpu_device.h"
#include "tautline/device/cuda/cuda_device.h"
#include "tautline/device/opencl/opencl_device.h"

namespace tautline::device {

namespace {

constexpr std::array<std::string_view, 5> kSetNames{"portable", "avx2", "avx512", "vnni", "amx"};
constexpr std::size_t kAlignment = 64;
// Rows of many channels lie on as many pages: more than the processor has addresses of at hand,
// unless pages are large.
constexpr std::size_t kLargePage = 2 << 20;
constexpr const char* kForms =
    "auto, reference, cpu, cpu:portable|avx2|avx512|vnni|amx, cuda:N or opencl:N";

}  // namespace

std::string_view to_string(InstructionSet set) {
  return kSetNames[static_cast<std::size_t>(set)];
}

namespace {

// The N of "cuda:N".
unsigned device_number(std::string_view text, std::string_view digits) {
  unsigned number = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (problem != std::errc() || end != digits.data() + digits.size())
    throw core::Error(core::ErrorKind::config, "device", std::string(text), kForms);
  return number;
}

Selection gpu_selection(std::string_view text, Api api, unsigned devices, const char* what) {
  const std::size_t colon = text.find(':');
  const unsigned number =
      colon == std::string_view::npos ? 0 : device_number(text, text.substr(colon + 1));
  if (number >= devices)
    throw core::Error(core::ErrorKind::unsupported, "device", std::string(text),
                      devices == 0   ? std::string("a machine with ") + what
                      : devices == 1 ? "0, the only one here"
                                     : "a number below " + std::to_string(devices),
                      "`tautline devices` lists what is here");
  return {api, std::nullopt, number};
}

Selection automatic() {
  if (cuda::device_count() > 0 && cuda::compiler_available()) return {Api::cuda, std::nullopt, 0};
  if (opencl::only_the_host()) return {Api::cpu, std::nullopt};
  for (unsigned number = 0; number < opencl::device_count(); ++number)
    if (!opencl::is_host_cpu(number)) return {Api::opencl, std::nullopt, number};
  return {Api::cpu, std::nullopt};
}

}  // namespace

Selection parse_selection(std::string_view text) {
  if (text == "auto") return automatic();
  if (text == "cpu") return {Api::cpu, std::nullopt};
  if (text == "reference") return {Api::reference, std::nullopt};
  if (text == "cuda" || text.starts_with("cuda:"))
    return gpu_selection(text, Api::cuda, cuda::device_count(), "an NVIDIA GPU and its driver");
  if (text == "opencl" || text.starts_with("opencl:"))
    return gpu_selection(text, Api::opencl, opencl::device_count(),
                         "an OpenCL device and its driver");
  if (text.starts_with("cpu:")) {
    for (std::size_t s = 0; s < kSetNames.size(); ++s) {
      if (text.substr(4) != kSetNames[s]) continue;
      const auto set = static_cast<InstructionSet>(s);
      if (!supported(set))
        throw core::Error(core::ErrorKind::unsupported, "device", std::string(text),
                          "an instruction set that this processor has",
                          "the best here is cpu:" + std::string(to_string(best_instruction_set())));
      return {Api::cpu, set};
    }
  }
  throw core::Error(core::ErrorKind::config, "device", std::string(text), kForms);
}

std::vector<Selection> parse_selections(std::string_view text) {
  std::vector<Selection> list;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    list.push_back(parse_selection(rest.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  for (std::size_t a = 1; a < list.size(); ++a) {
    const bool gpu = list[a].api == Api::cuda || list[a].api == Api::opencl;
    bool repeated = false;
    for (std::size_t b = 0; b < a; ++b) repeated = repeated || list[b].number == list[a].number;
    if (!gpu || list[a].api != list[0].api || repeated)
      throw core::Error(core::ErrorKind::config, "device", std::string(text),
                        "different GPUs of one api, as cuda:0,cuda:1");
  }
  return list;
}

InstructionSet best_instruction_set() {
  for (const InstructionSet set :
       {InstructionSet::amx, InstructionSet::vnni, InstructionSet::avx512, InstructionSet::avx2}) {
    if (supported(set)) return set;
  }
  return InstructionSet::portable;
}

namespace {

std::shared_ptr<const Device> open_silent(const Selection& selection, const Options& options) {
  switch (selection.api) {
    case Api::cuda:
      return cuda::open(selection.number, options);
    case Api::opencl:
      return opencl::open(selection.number, options);
    case Api::reference:
    case Api::cpu:
      break;
  }
  return cpu::open(selection, options);
}

}  // namespace

std::shared_ptr<const Device> open(const Selection& selection, const Options& options) {
  auto device = open_silent(selection, options);
  device->shared().set_log(options.log);
  return device;
}

FftPlan::FftPlan(std::size_t length, std::size_t batch) : length_(length), batch_(batch) {
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<int>::max());
  for (const auto& [name, size] : {std::pair{"FFT length", length}, std::pair{"FFT batch", batch}})
    if (size == 0 || size > kMost)
      throw core::Error(core::ErrorKind::config, name, std::to_string(size), "1 to 2147483647");
}

void Queue::copy_strided(void* to, std::ptrdiff_t to_stride, const void* from,
                         std::ptrdiff_t from_stride, std::size_t row_bytes, std::size_t rows) {
  const auto row = static_cast<std::ptrdiff_t>(row_bytes);
  if (rows == 1 || (to_stride >= row && from_stride >= row))
    return copy_rows(to, static_cast<std::size_t>(to_stride), from,
                     static_cast<std::size_t>(from_stride), row_bytes, rows);
  for (std::ptrdiff_t r = 0; r < static_cast<std::ptrdiff_t>(rows); ++r)
    copy(static_cast<std::byte*>(to) + r * to_stride,
         static_cast<const std::byte*>(from) + r * from_stride, row_bytes);
}

// Not written to here: pages that the system gives are zero already, those that are never used cost nothing, and the
// others are cleared by the threads that use them.
Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  const std::size_t alignment = bytes >= 2 * kLargePage ? kLargePage : kAlignment;
  void* const memory = std::calloc(1, core::round_up(bytes, kAlignment) + alignment);
  if (memory == nullptr) throw std::bad_alloc();
  owner_ = {memory, [](void* own) { std::free(own); }};
  data_ = reinterpret_cast<void*>(
      core::round_up(reinterpret_cast<std::uintptr_t>(memory), std::uintptr_t{alignment}));
#if defined(__linux__)
  // No harm where it is refused.
  if (alignment == kLargePage) madvise(data_, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
#endif
}

}  // namespace tautline::device
