// How fast one core decodes packets and places them in blocks, out of memory that they were received in:
//   bench_capture [LAYOUT [ANTENNAS]]...
// Without arguments, the presets with packets of about 8 kB, and the records of the MWA's prototype.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/packet_stream.h"

namespace {

using namespace tautline;
namespace packets = formats::packets;
using bench::Bytes;

constexpr std::size_t kPacketMemory_bytes = std::size_t{1} << 26;  // beyond the caches
constexpr int kRepeats = 7;

// Of this one thread's core: what others do on a shared machine hardly counts.
double core_s() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

void measure(const std::string& name, std::size_t antennas) {
  stream::CaptureConfig config = bench::capture_of(name, antennas);
  const packets::PacketLayout& layout = config.layout;
  const std::size_t payloads = config.shape.samples / layout.samples();
  config.window_samples = std::max<std::size_t>(1, payloads / 4) * layout.samples();
  if (layout.period != 0 && layout.period / layout.step < 4 * payloads)
    config.window_samples = layout.period / layout.step / 16 * layout.samples();
  config.first_count = 0;

  bench::ReusedBlocks blocks;
  stream::Capture sizes(config, blocks);
  blocks.make(sizes.open_blocks(), sizes.block_bytes());
  const packets::Placement& placement = sizes.placement();
  const std::size_t packet_bytes = layout.part_bytes() + 128;
  const std::size_t times =
      std::max<std::size_t>(payloads, kPacketMemory_bytes / (packet_bytes * placement.flows()));
  std::vector<Bytes> all(times * placement.flows());
  const Bytes payload(layout.part_bytes(), std::byte{3});
  for (std::size_t k = 0; k < all.size(); ++k)
    bench::make_packet(layout, placement, k / placement.flows(), k % placement.flows(), payload,
                       all[k]);
  std::vector<double> times_s;
  for (int k = 0; k < kRepeats; ++k) {
    stream::Capture capture(config, blocks);
    const double start_s = core_s();
    for (std::size_t p = 0; p < all.size(); ++p)
      capture.place(all[p], placement.source(p % placement.flows()));
    times_s.push_back(core_s() - start_s);
    capture.finish();
    if (capture.counters().accepted != all.size())
      throw std::runtime_error("packets were not accepted");
  }
  std::sort(times_s.begin(), times_s.end());
  const double count = static_cast<double>(all.size()), median_s = times_s[kRepeats / 2];
  const double gigabits = count * static_cast<double>(all.front().size()) * 8e-9;
  std::printf("%-18s %5zu bytes %9.0f packets/s %7.2f Gb/s (median of %d; %.2f to %.2f)\n",
              name.c_str(), all.front().size(), count / median_s, gigabits / median_s, kRepeats,
              gigabits / times_s.back(), gigabits / times_s.front());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 1) {
      for (const char* name : {"meerkat-f", "meerkat-digitiser", "vdif", "mwax", "ata-snap", "grex",
                               "lofar", "mwa32t"})
        measure(name, 4);
      return 0;
    }
    for (int k = 1; k < argc; k += 2)
      measure(argv[k], k + 1 < argc ? std::strtoull(argv[k + 1], nullptr, 10) : 1);
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "%s\n", wrong.what());
    return 1;
  }
}
