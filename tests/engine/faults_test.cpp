// Nodes, disks and devices that fail at any moment, and stops that come at any moment: the run ends, says which node it
// was, and publishes nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tautline/formats/input_file.h"
#include "tests/engine/nodes.h"
#include "tests/support/rewriting_device.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::engine {
namespace {

core::Error disk_is_full() {
  return {core::ErrorKind::io, "out.npy: writing", "No space left on device", "", "make room"};
}

// The message of the exception that `go` throws; empty: none.
std::string end_of(engine::Run& run, std::stop_token stop = {}) {
  try {
    run.go(std::move(stop));
  } catch (const core::Error& error) {
    return error.what();
  }
  return {};
}

TEST(EngineFaults, AReaderThatFailsHalfWayEndsEveryConsumer) {
  for (const bool slow_sinks : {false, true}) {
    Came direct, added;
    Graph graph;
    auto reader = std::make_unique<Counting>(std::uint64_t{1} << 40);
    reader->pause = [n = 0]() mutable {
      if (++n == 50)
        throw core::Error(core::ErrorKind::io, "in.dada: cannot be read at byte 1400",
                          "Input/output error", "");
    };
    const auto sink = [&](Came& came) {
      auto collecting = std::make_unique<Collecting>(came);
      if (slow_sinks) collecting->pause = [] { sleep_ms(1); };
      return collecting;
    };
    const NodeId source = graph.add("reader", std::move(reader));
    const NodeId adding = graph.add("adding", std::make_unique<Adding>(1));
    graph.connect(source, adding);
    graph.connect(adding, graph.add("added", sink(added)));
    graph.connect(source, graph.add("direct", sink(direct)));
    engine::Run run(std::move(graph));
    EXPECT_NE(end_of(run).find("Input/output error"), std::string::npos);
    EXPECT_EQ(run.failed_node(), "reader");
    for (const Came* came : {&direct, &added}) {
      EXPECT_FALSE(came->finished || came->published);
      EXPECT_LE(came->values.size(), 350u);
    }
  }
}

// Reads the numbers of a file, a block at a time.
class ReadingFile final : public Counting {
 public:
  ReadingFile(const std::string& path, std::uint64_t total, std::size_t block)
      : Counting(total, block), file_(path) {}
  bool produce(Outputs& outputs) override {
    if (next_ == total_) return false;
    Block& block = outputs.begin();
    block.first = next_;
    block.samples = static_cast<std::size_t>(std::min<std::uint64_t>(block_, total_ - next_));
    block.set_extent(0, 0, block.samples);
    const auto values = block.view<1>().as<std::int32_t>();
    file_.read_whole(next_ * sizeof(std::int32_t),
                     {static_cast<std::byte*>(block.arrays[0].data), values.size() * 4});
    next_ += block.samples;
    outputs.commit();
    return true;
  }

 private:
  formats::InputFile file_;
};

// A file that becomes shorter while it is read, before or behind the place that is read now.
TEST(EngineFaults, AFileThatShrinksEndsTheRun) {
  constexpr std::size_t kNumbers = 400'000, kBlock = 10'000;
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "numbers";
  auto random = tests::generator();
  for (int round = 0; round < 20; ++round) {
    const std::vector<std::int32_t> numbers = counted(kNumbers);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(numbers.data()), kNumbers * 4);
    const std::size_t blocks_before = random() % 30;
    const std::size_t bytes_left = random() % (kNumbers * 3);
    Came came;
    Graph graph;
    const NodeId reader =
        graph.add("reader", std::make_unique<ReadingFile>(path, kNumbers, kBlock));
    auto sink = std::make_unique<Collecting>(came);
    sink->pause = [&] {
      if (came.values.size() == (blocks_before + 1) * kBlock)
        std::filesystem::resize_file(path, bytes_left);
    };
    graph.connect(reader, graph.add("sink", std::move(sink)));
    engine::Run run(std::move(graph));
    const std::string error = end_of(run);
    SCOPED_TRACE("after block " + std::to_string(blocks_before) + " to " +
                 std::to_string(bytes_left) + " bytes");
    EXPECT_NE(error.find("numbers: ended while it was read"), std::string::npos) << error;
    EXPECT_EQ(run.failed_node(), "reader");
    EXPECT_FALSE(came.finished || came.published);
    EXPECT_LT(came.values.size(), kNumbers);
  }
}

// A sink whose disk is full when it writes, closes or renames.
class OnFullDisk final : public Collecting {
 public:
  enum When { writing, closing, renaming };
  OnFullDisk(Came& came, When when) : Collecting(came), when_(when) {}
  void process(std::size_t input, const Block& block, Outputs& outputs) override {
    if (when_ == writing && block.first >= 70) throw disk_is_full();
    Collecting::process(input, block, outputs);
  }
  void finish(Outputs& outputs) override {
    if (when_ == closing) throw disk_is_full();
    Collecting::finish(outputs);
  }
  void publish() override {
    if (when_ == renaming) throw disk_is_full();
    Collecting::publish();
  }

 private:
  When when_;
};

TEST(EngineFaults, AFullDiskIsNamedAndNothingIsPublished) {
  for (const auto when : {OnFullDisk::writing, OnFullDisk::closing, OnFullDisk::renaming}) {
    Came full, other;
    Graph graph;
    const NodeId source = graph.add("source", std::make_unique<Counting>(700));
    graph.connect(source, graph.add("full", std::make_unique<OnFullDisk>(full, when)));
    graph.connect(source, graph.add("other", std::make_unique<Collecting>(other)));
    engine::Run run(std::move(graph));
    EXPECT_NE(end_of(run).find("No space left"), std::string::npos);
    EXPECT_EQ(run.failed_node(), "full");
    EXPECT_FALSE(full.published || other.published);
  }
}

// A device in the host's memory, all of whose calls fail from the n-th on, as those of a device that is lost do.
class DyingDevice final : public tests::RewritingDevice {
 public:
  explicit DyingDevice(int calls) : RewritingDevice(device::open({}), {}), calls_(calls) {}
  device::Api api() const override { return device::Api::cuda; }
  std::string name() const override { return "dying"; }
  std::unique_ptr<device::Queue> make_queue() const override {
    call("a queue");
    return std::make_unique<Queue>(*this);
  }
  std::unique_ptr<device::Event> make_event() const override {
    call("an event");
    return std::make_unique<Event>(*this);
  }
  double seconds_between(const device::Event&, const device::Event&) const override {
    call("a time");
    return 0;
  }
  device::Buffer allocate(std::size_t bytes) const override {
    call("memory");
    return device::Buffer(bytes);
  }
  device::Buffer allocate_pinned(std::size_t bytes) const override { return allocate(bytes); }
  void call(const char* what) const {
    if (--calls_ < 0) throw core::Error(core::ErrorKind::device, "dying", what, "a device");
  }

 private:
  struct Event final : device::Event {
    explicit Event(const DyingDevice& on) : device(on) {}
    void synchronise() const override { device.call("waiting"); }
    const DyingDevice& device;
  };
  struct Queue final : device::Queue {
    explicit Queue(const DyingDevice& on) : device(on) {}
    void synchronise() override { device.call("synchronising"); }
    void copy(void* to, const void* from, std::size_t bytes) override {
      device.call("a copy");
      std::memcpy(to, from, bytes);
    }
    void copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                   std::size_t row_bytes, std::size_t rows) override {
      for (std::size_t r = 0; r < rows; ++r)
        copy(static_cast<std::byte*>(to) + r * to_stride,
             static_cast<const std::byte*>(from) + r * from_stride, row_bytes);
    }
    void fill(void* to, std::uint8_t value, std::size_t bytes) override {
      device.call("filling");
      std::memset(to, value, bytes);
    }
    void launch(const device::Kernel&, const device::LaunchShape&,
                std::span<const device::Argument>) override {
      device.call("a launch");
    }
    void record(device::Event&) override { device.call("a mark"); }
    void wait(const device::Event&) override { device.call("a mark to wait for"); }
    void parallel_for(std::size_t, std::size_t, const Body&) override {}
    std::size_t workers() const override { return 1; }
    const DyingDevice& device;
  };
  mutable std::atomic<int> calls_;
};

// Adds on the device.
class AddingThere final : public Adding {
 public:
  AddingThere(std::int32_t number, std::shared_ptr<const device::Device> device)
      : Adding(number), device_(std::move(device)) {}
  Needs needs(std::size_t, const Stream&) const override { return {.device = device_}; }
  std::vector<Stream> open(std::span<const Stream> inputs) override {
    Stream stream = inputs[0];
    stream.device = device_;
    return {stream};
  }

 private:
  std::shared_ptr<const device::Device> device_;
};

TEST(EngineFaults, ADeviceThatDiesAtAnyCallEndsTheRun) {
  int calls = 0;
  for (bool lived = false; !lived; calls += 1 + calls / 20) {
    ASSERT_LT(calls, 100'000);
    Came there, back;
    const auto device = std::make_shared<DyingDevice>(calls);
    Graph graph;
    const NodeId source = graph.add("source", std::make_unique<Counting>(140));
    const NodeId adding = graph.add("adding", std::make_unique<AddingThere>(3, device));
    graph.connect(source, adding);
    graph.connect(adding, graph.add("back", std::make_unique<Collecting>(back)));
    graph.connect(source, graph.add("other", std::make_unique<Collecting>(there)));
    engine::Run run(std::move(graph));
    const std::string error = end_of(run);
    lived = error.empty();
    EXPECT_EQ(back.published, lived);
    EXPECT_EQ(there.published, lived);
    if (lived) {
      EXPECT_EQ(back.values, counted(140, 3));
    } else {
      EXPECT_EQ(error.rfind("dying: ", 0), 0u) << error;
      EXPECT_NE(run.failed_node(), "") << error;
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(calls, 100);
}

// A stop before the start, while a node starts, reads, computes, writes or closes.
TEST(EngineFaults, AStopAtAnyMomentPublishesNothing) {
  struct Stopping final : Collecting {
    Stopping(Came& came, std::function<void(int)> at) : Collecting(came), at_(std::move(at)) {}
    void start(Outputs&) override { at_(1); }
    void begin_segment(std::size_t input, const Block& first, Outputs& outputs) override {
      Collecting::begin_segment(input, first, outputs);
      at_(2);
    }
    void process(std::size_t input, const Block& block, Outputs& outputs) override {
      Collecting::process(input, block, outputs);
      at_(3);
    }
    void end_segment(std::size_t, Outputs&) override { at_(4); }
    void finish(Outputs&) override { at_(5); }
    std::function<void(int)> at_;
  };
  for (int moment = 0; moment <= 5; ++moment) {
    std::stop_source stop;
    const auto at = [&](int now) {
      if (now == moment) stop.request_stop();
    };
    at(0);
    Came came, other;
    Graph graph;
    const NodeId source = graph.add("source", std::make_unique<Counting>(700));
    graph.connect(source, graph.add("stopping", std::make_unique<Stopping>(came, at)));
    graph.connect(source, graph.add("other", std::make_unique<Collecting>(other)));
    engine::Run run(std::move(graph));
    EXPECT_NE(end_of(run, stop.get_token()).find("interrupted"), std::string::npos) << moment;
    EXPECT_EQ(run.failed_node(), "");
    EXPECT_FALSE(came.published || other.published) << moment;
  }
}

}  // namespace
}  // namespace tautline::engine
