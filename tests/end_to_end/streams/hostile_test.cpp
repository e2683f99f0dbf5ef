// Live runs that are given what nobody should send, and disks that are full: counted or refused with a reason, in
// bounded memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tautline/formats/packets/placement.h"
#include "tautline/stream/udp.h"
#include "tests/end_to_end/live_run.h"
#include "tests/support/small_disk.h"

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;

constexpr const char* kHostileLayout = R"(header_bytes = 16
axes = [[8, "channel"], [64, "time"], [2, "polarisation"]]
sample = "ci8"
step = 64
[fields]
magic = { offset_bits = 0, bits = 16, value = 0x7461 }
antenna = { offset_bits = 16, bits = 16 }
channel = { offset_bits = 32, bits = 16 }
counter = { offset_bits = 64, bits = 64 }
)";

class HostileStreams : public LiveRun {
 protected:
  void write_pipeline(const std::string& output, const std::string& more) {
    write_file(scratch / "layout.toml", kHostileLayout);
    write_file(
        scratch / "pipeline.toml",
        "[packets]\ntype = \"packets\"\nlisten = \"udp://127.0.0.1:0\"\nlayout = \"" +
            (scratch / "layout.toml") +
            "\"\nantennas = 2\nchannels = 16\nrate_hz = 64000\ncentre_hz = 1e9\nwait_s = 60\n" +
            more +
            "[f]\ntype = \"filter_bank\"\ninputs = \"packets\"\n[x]\ntype = \"correlator\"\n"
            "inputs = \"f\"\nintegration_s = 0.05\n[v]\ntype = \"visibility_file\"\ninputs = "
            "\"x\"\npath = \"" +
            output + "\"\n");
  }
  stream::Endpoint start() {
    start_pipeline(scratch / "pipeline.toml", {});
    const std::string said = "listening at ";
    for (int wait = 0; wait < 60'000; ++wait) {
      const std::string err = run_said();
      const std::size_t at = err.find(said), end = err.find(" for packets", at);
      if (at != std::string::npos && end != std::string::npos)
        return stream::parse_endpoint("to", err.substr(at + said.size(), end - at - said.size()));
      std::this_thread::sleep_for(1ms);
    }
    ADD_FAILURE() << run_said();
    return {};
  }
  std::size_t resident_bytes() const {
    std::size_t pages = 0, resident = 0;
    std::ifstream("/proc/" + std::to_string(*run_pid) + "/statm") >> pages >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  }
};

// Sends packets of the telescope from count 0 on.
class Telescope16 {
 public:
  Telescope16(const stream::Endpoint& to, const std::string& layout)
      : layout_(formats::packets::read_layout(layout)),
        placement_(layout_, {.samples = 64, .channels = 16, .antennas = 2}),
        sender_(to) {}
  std::size_t flows() const { return placement_.flows(); }
  void send(std::uint64_t count, std::size_t flow) {
    formats::packets::PacketHeader header = placement_.header(flow);
    header.count = count;
    header.payload = payload_;
    encode(layout_, header, packet_);
    sender_.send(packet_);
  }
  void send_bytes(std::span<const std::byte> bytes) { sender_.send(bytes); }
  void flush() { sender_.flush(); }

 private:
  formats::packets::PacketLayout layout_;
  formats::packets::Placement placement_;
  stream::UdpSender sender_;
  std::vector<std::byte> payload_ = std::vector<std::byte>(8 * 64 * 2 * 2, std::byte{5}), packet_;
};

// Random bytes, lengths from none to the longest, well-formed packets with counters from anywhere, as fast as three
// senders can: every one that came is counted, and memory is what it was when the stream began.
TEST_F(HostileStreams, AtLineRateAreCountedInBoundedMemory) {
  write_pipeline(
      scratch / "v.uvh5",
      "threads = 2\nbuffer_bytes = \"8M\"\nutc_start = \"2026-11-23-12:00:00\"\nduration_s = -1\n");
  const auto to = start();
  std::atomic<bool> go_on{true};
  std::vector<std::jthread> hostile;
  for (int k = 0; k < 3; ++k)
    hostile.emplace_back([&, seed = random()] {
      std::mt19937_64 bytes(seed);
      Telescope16 sender(to, scratch / "layout.toml");
      std::vector<std::byte> packet(65'000);
      for (std::byte& byte : packet) byte = static_cast<std::byte>(bytes());
      while (go_on) {
        const std::uint64_t kind = bytes() % 8;
        if (kind == 0)  // of the right length and constant
          sender.send((bytes() >> bytes() % 64) / 64 * 64, bytes() % sender.flows());
        else
          sender.send_bytes(
              std::span(packet).first(kind == 1 ? bytes() % packet.size() : bytes() % 3000));
      }
    });
  Telescope16 telescope(to, scratch / "layout.toml");
  std::size_t at_first = 0;
  for (std::uint64_t time = 0; time < 3000; ++time) {
    for (std::size_t flow = 0; flow < telescope.flows(); ++flow) telescope.send(time * 64, flow);
    telescope.flush();
    std::this_thread::sleep_for(1ms);
    if (time == 1000) at_first = resident_bytes();
  }
  const std::size_t in_the_end = resident_bytes();
  go_on = false;
  hostile.clear();
  kill(*run_pid, SIGINT);
  const CommandResult result = end_run();
  expect_stopped(result);
  const auto all =
      nlohmann::json::parse(result.out.substr(result.out.rfind("{\"schema\""))).at("counters");
  const auto of = [&](const std::string& name) {
    return all.at("packets." + name).get<std::uint64_t>();
  };
  EXPECT_EQ(of("packets"), of("accepted") + of("late") + of("duplicate") + of("early") +
                               of("malformed") + of("foreign"))
      << all;
  EXPECT_GT(of("malformed"), 1000U);
  EXPECT_GT(of("accepted"), 0U) << all;
  EXPECT_GT(at_first, 0U);
  EXPECT_LT(in_the_end, at_first + (std::size_t{48} << 20));
}

// A run whose disk is full ends with what is wrong, and leaves nothing half-written.
TEST_F(HostileStreams, OnAFullDiskEndWithTheReason) {
  std::filesystem::create_directory(scratch / "disk");
  write_pipeline(scratch / "disk/v.uvh5", "utc_start = \"2026-11-23-12:00:00\"\nsilence_s = 5\n");
  const int status = on_small_disk(scratch / "disk", 64 * 1024, [&] {
    const auto to = start();
    Telescope16 telescope(to, scratch / "layout.toml");
    std::atomic<bool> go_on{true};
    std::jthread sending([&] {
      for (std::uint64_t time = 0; go_on; ++time) {
        for (std::size_t flow = 0; flow < telescope.flows(); ++flow)
          telescope.send(time * 64, flow);
        telescope.flush();
        std::this_thread::sleep_for(1ms);
      }
    });
    const CommandResult result = end_run();
    go_on = false;
    sending.join();
    write_file(scratch / "said", result.err);
    if (!std::filesystem::is_empty(scratch / "disk")) return 78;
    return result.status;
  });
  if (status == kNoSmallDisk) GTEST_SKIP() << "no disk of its own can be made here";
  EXPECT_EQ(status, kFailed) << read_file(scratch / "said");
  EXPECT_NE(read_file(scratch / "said").find("No space left on device"), std::string::npos)
      << read_file(scratch / "said");
}

}  // namespace
}  // namespace tautline::tests
