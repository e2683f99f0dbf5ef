#include "tautline/device/cpu/processor_cap.h"

#include <oneapi/tbb/global_control.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "tautline/core/error.h"

namespace tautline::device::cpu {

namespace {

constexpr const char* kVariable = "TAUTLINE_CPU";

std::atomic<bool> uses_tbb = false, without_tbb = false;
[[maybe_unused]] const int looks_at_forks = pthread_atfork(nullptr, nullptr, [] {
  if (uses_tbb) without_tbb = true;
});

std::optional<InstructionSet> parse_set(std::string_view text) {
  for (const InstructionSet set :
       {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512,
        InstructionSet::vnni, InstructionSet::amx})
    if (text == to_string(set)) return set;
  return std::nullopt;
}

std::optional<std::size_t> parse_cores(std::string_view digits) {
  std::size_t cores = 0;
  const char* last = digits.data() + digits.size();
  const auto [end, problem] = std::from_chars(digits.data(), last, cores);
  if (problem != std::errc() || end != last || cores == 0) return std::nullopt;
  return cores;
}

}  // namespace

ProcessorCap processor_cap() {
  const char* value = std::getenv(kVariable);
  if (value == nullptr || *value == '\0') return {};
  const std::string_view text = value;
  const std::size_t colon = text.find(':');
  const auto set = parse_set(text.substr(0, colon));
  const auto cores =
      colon == std::string_view::npos ? ProcessorCap{}.cores : parse_cores(text.substr(colon + 1));
  if (!set || !cores)
    throw core::Error(core::ErrorKind::config, kVariable, value,
                      "portable, avx2, avx512, vnni or amx, or one of these and a number of cores "
                      "from 1, as avx2:1");
  return {*set, *cores};
}

std::size_t cores() {
  const std::size_t most = processor_cap().cores;
  if (without_tbb) return std::min<std::size_t>(std::thread::hardware_concurrency(), most);
  uses_tbb = true;
  // More than oneTBB may use would make it print a warning.
  return std::min(tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism),
                  most);
}

bool is_without_tbb() {
  return without_tbb;
}

}  // namespace tautline::device::cpu
