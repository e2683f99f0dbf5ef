// How fast visibilities are written, beside a plain fwrite of the same bytes in the same run, with every sample valid
// and with some lost:
//   bench_write_visibilities [FOLDER [ANTENNAS [CHANNELS [INTEGRATIONS [uvh5|ms]]]]]
#include <sys/resource.h>

#include <chrono>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"
#include "tautline/formats/visibility_writer.h"

namespace {

namespace core = tautline::core;
namespace formats = tautline::formats;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Of all threads: what a busy machine disturbs least.
double processor_s() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

long peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const auto number = [&](int place, std::size_t otherwise) {
    return argc > place ? std::strtoull(argv[place], nullptr, 10) : otherwise;
  };
  const std::size_t antennas = number(2, 128), channels = number(3, 128),
                    integrations = number(4, 8);

  formats::VisibilityDescription description;
  description.array = formats::unknown_array(antennas, 2);
  for (std::size_t c = 0; c < channels; ++c)
    description.channel_hz.push_back(150e6 + 1e4 * static_cast<double>(c));
  description.channel_width_hz = 1e4;
  description.integration_s = 1;
  description.nominal_count = 10000;
  const std::size_t baselines = core::baseline_count(2 * antennas);
  const std::vector<std::complex<float>> values(channels * baselines, {1, -2});
  const std::vector<std::int64_t> all(channels * baselines, description.nominal_count);
  std::vector<std::int64_t> some = all;
  for (std::size_t b = 0; b < some.size(); b += 3) --some[b];
  formats::Integration integration;
  integration.integration_s = 1;
  integration.visibilities = {values.data(), {channels, baselines}};

  // Of the file: 8 bytes of visibility, 4 of weight and 1 of flag for each of four products.
  const double bytes = 13.0 * 4 * static_cast<double>(antennas * (antennas + 1) / 2 * channels);
  std::printf("%zu dual-polarisation antennas, %zu channels: %.0f MB an integration\n", antennas,
              channels, bytes / 1e6);
  double start = 0, start_processor = 0;
  const auto begin = [&] { start = now_s(), start_processor = processor_s(); };
  const auto report = [&](const char* what) {
    const double seconds = now_s() - start, busy = processor_s() - start_processor;
    const double each = seconds / static_cast<double>(integrations);
    std::printf(
        "%-16s %8.1f ms an integration, %6.1f of processors  %7.0f MB/s  peak memory %ld MiB\n",
        what, 1e3 * each, 1e3 * busy / static_cast<double>(integrations), bytes / each / 1e6,
        peak_mib());
  };

  const std::vector<char> plain(static_cast<std::size_t>(bytes), 1);
  const std::string raw = folder + "/bench.raw";
  begin();
  if (std::FILE* file = std::fopen(raw.c_str(), "wb")) {
    for (std::size_t k = 0; k < integrations; ++k) std::fwrite(plain.data(), 1, plain.size(), file);
    std::fclose(file);
  }
  report("plain fwrite");
  std::filesystem::remove(raw);

  for (const std::string ending : {"uvh5", "ms"}) {
    if (argc > 5 && ending != argv[5]) continue;
    for (const bool lost : {false, true}) {
      integration.counts = {lost ? some.data() : all.data(), {channels, baselines}};
      const std::string path = folder + "/bench." + ending;
      try {
        begin();
        const auto writer = formats::create_visibilities(path, description, true);
        for (std::size_t k = 0; k < integrations; ++k) {
          integration.middle = {static_cast<std::int64_t>(1'600'000'000 + k), 0, 1};
          writer->write(integration);
        }
        writer->finish();
        report((ending + (lost ? ", some lost" : "")).c_str());
      } catch (const core::Error& error) {
        std::printf("%s\n", error.what());
      }
      std::filesystem::remove_all(path);
    }
  }
}
