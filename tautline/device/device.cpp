#include "tautline/device/device.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tautline/core/error.h"
#include "tautline/device/cpu/cpu_device.h"

namespace tautline::device {

namespace {

constexpr std::array<std::string_view, 5> kSetNames{"portable", "avx2", "avx512", "vnni", "amx"};
constexpr std::size_t kAlignment = 64;

}  // namespace

std::string_view to_string(InstructionSet set) { return kSetNames[static_cast<std::size_t>(set)]; }

Selection parse_selection(std::string_view text) {
  if (text == "auto" || text == "cpu") return {Api::cpu, std::nullopt};
  if (text == "reference") return {Api::reference, std::nullopt};
  if (text.starts_with("cpu:")) {
    for (std::size_t s = 0; s < kSetNames.size(); ++s) {
      if (text.substr(4) != kSetNames[s]) continue;
      const auto set = static_cast<InstructionSet>(s);
      if (!supported(set))
        throw core::Error(core::ErrorKind::unsupported, "--device", std::string(text),
                          "an instruction set that this processor has",
                          "the best here is cpu:" + std::string(to_string(best_instruction_set())));
      return {Api::cpu, set};
    }
  }
  throw core::Error(core::ErrorKind::config, "--device", std::string(text),
                    "auto, reference, cpu or cpu:portable|avx2|avx512|vnni|amx");
}

InstructionSet best_instruction_set() {
  for (const InstructionSet set : {InstructionSet::amx, InstructionSet::vnni,
                                   InstructionSet::avx512, InstructionSet::avx2}) {
    if (supported(set)) return set;
  }
  return InstructionSet::portable;
}

std::shared_ptr<const Device> open(const Selection& selection, const Options& options) {
  return cpu::open(selection, options);
}

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, rounded);
  data_.reset(memory);
}

void Buffer::Free::operator()(void* pointer) const { std::free(pointer); }

}  // namespace tautline::device
