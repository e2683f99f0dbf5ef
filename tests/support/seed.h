// Fresh random data each run, with the seed printed so that a failure can be run again.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>

namespace tautline::tests {

/// The seed of this process: TAUTLINE_TEST_SEED, or a fresh one. Printed on first use.
inline std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* given = std::getenv("TAUTLINE_TEST_SEED");
    const std::uint64_t s = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cout << "TAUTLINE_TEST_SEED=" << s << std::endl;
    return s;
  }();
  return value;
}

/// A generator that differs between calls of one process and repeats for one seed.
inline std::mt19937_64 generator() {
  static std::uint64_t calls = 0;
  return std::mt19937_64(seed() + 0x9e3779b97f4a7c15ull * calls++);
}

}  // namespace tautline::tests
