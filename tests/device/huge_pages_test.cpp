// Large buffers of the host are in huge pages, where the kernel has them.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "tautline/device/device.h"

namespace tautline::device {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20;

// Of the mapping that holds an address, by /proc/self/smaps.
struct Mapping {
  std::uint64_t huge_kb = 0;
  bool asked = false;  // VmFlags has "hg"
};

Mapping mapping_of(const void* address) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  Mapping found;
  bool within = false;
  std::ifstream file("/proc/self/smaps");
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream words(line);
    if (words >> std::hex >> begin >> dash >> end && dash == '-')
      within = begin <= place && place < end;
    if (within && line.starts_with("AnonHugePages:")) found.huge_kb = std::stoull(line.substr(14));
    if (within && line.starts_with("VmFlags:"))
      found.asked = (line + " ").find(" hg ") != std::string::npos;
  }
  return found;
}

std::string setting() {
  std::string text;
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::getline(file, text);
  return text;
}

TEST(HugePages, LargeBuffersAreInThem) {
  const std::string enabled = setting();
  if (enabled.empty() || enabled.find("[never]") != std::string::npos)
    GTEST_SKIP() << "this kernel gives no huge pages: " << (enabled.empty() ? "none" : enabled);
  // As the blocks of a `buffer`: odd sizes, and a tail that fills no page.
  for (const std::size_t bytes : {2 * kPage, 5 * kPage + 12'345, 33 * kPage - 1}) {
    SCOPED_TRACE(bytes);
    Buffer buffer(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kPage, 0u);
    std::memset(buffer.data(), 1, bytes);
    const Mapping mapping = mapping_of(buffer.data());
    EXPECT_TRUE(mapping.asked);
    if (mapping.huge_kb == 0) GTEST_SKIP() << "asked for, but the kernel had none to give";
  }
}

}  // namespace
}  // namespace tautline::device
