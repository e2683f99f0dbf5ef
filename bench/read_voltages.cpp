// How fast a voltage file is read and decoded, without anything else:
//   bench_read_voltages FILE [BLOCK_SAMPLES [REPEATS]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/voltage_reader.h"

namespace {

namespace core = tautline::core;
namespace formats = tautline::formats;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double read_s(const char* path, std::size_t samples) {
  const auto reader = formats::open_voltages(path);
  core::RawBlock block;
  reader->read(samples, block);  // makes the memory
  const double start_s = now_s();
  while (reader->read(samples, block) > 0) continue;
  return now_s() - start_s;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2)
    return std::fputs("bench_read_voltages FILE [BLOCK_SAMPLES [REPEATS]]\n", stderr), 2;
  const auto number = [&](int place, std::size_t otherwise) {
    return argc > place ? std::strtoull(argv[place], nullptr, 10) : otherwise;
  };
  try {
    std::vector<double> times_s(number(3, 5));
    for (double& s : times_s) s = read_s(argv[1], number(2, std::size_t{1} << 20));
    std::sort(times_s.begin(), times_s.end());
    const double gigabytes = static_cast<double>(std::filesystem::file_size(argv[1])) / 1e9;
    std::printf("%s: %.2f GB/s of the file (median of %zu; %.2f to %.2f)\n", argv[1],
                gigabytes / times_s[times_s.size() / 2], times_s.size(), gigabytes / times_s.back(),
                gigabytes / times_s.front());
  } catch (const core::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
