// The whole search of a stream that comes from the host's memory: cleaned, dedispersed, searched,
// clustered; and its two stages alone, on data that lie where they compute.
//
//   bench_search [--device cuda:0] [--trials 2000] [--step 0.25] [--width 0.5] [--blocks 24]
//                [--method auto] [--kernels 1] [--zero-dm 1] [--downsample 1]
//                [--block 32768] [--beams 200] [--together 20] [--source device]
//
// --kernels waits after each and tells their shares. --beams searches so many streams at once,
// `together` of them in each call, and tells the rate of each; their spectra are in the device's
// memory with --source device.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/pipeline/search_pass.h"
#include "tautline/stages/dedisperse/case.h"

namespace {

using namespace tautline;
using Clock = std::chrono::steady_clock;
namespace dedisperse = stages::dedisperse;
namespace detect = stages::detect;

using Options = std::map<std::string, std::string>;

double number(const Options& options, const std::string& key, double otherwise) {
  return options.contains(key) ? std::stod(options.at(key)) : otherwise;
}

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void print(const std::string& what, double data_s, double seconds) {
  fmt::print("{:<44} {:8.3f} ms a second of data, {:8.1f} x real time\n", what,
             1e3 * seconds / data_s, data_s / seconds);
}

// Waits after every launch and copy and adds up what each kernel took.
class TimingQueue final : public device::Queue {
 public:
  explicit TimingQueue(std::unique_ptr<device::Queue> queue) : queue_(std::move(queue)) {}
  void synchronise() override { queue_->synchronise(); }
  void copy(void* to, const void* from, std::size_t bytes) override {
    timed("copy", [&] { queue_->copy(to, from, bytes); });
  }
  void copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                 std::size_t row_bytes, std::size_t rows) override {
    timed("copy of rows",
          [&] { queue_->copy_rows(to, to_stride, from, from_stride, row_bytes, rows); });
  }
  void fill(void* to, std::uint8_t value, std::size_t bytes) override {
    timed("fill", [&] { queue_->fill(to, value, bytes); });
  }
  void launch(const device::Kernel& kernel, const device::LaunchShape& shape,
              std::span<const device::Argument> arguments) override {
    timed(kernel.name(), [&] { queue_->launch(kernel, shape, arguments); });
  }
  void record(device::Event& event) override { queue_->record(event); }
  void wait(const device::Event& event) override { queue_->wait(event); }
  void parallel_for(std::size_t count, std::size_t grain, const Body& body) override {
    queue_->parallel_for(count, grain, body);
  }
  std::size_t workers() const override { return queue_->workers(); }
  std::map<std::string, double> seconds;

 private:
  template <class Work>
  void timed(const std::string& name, const Work& work) {
    queue_->synchronise();
    const auto start = Clock::now();
    work();
    queue_->synchronise();
    seconds[name] += since(start);
  }
  std::unique_ptr<device::Queue> queue_;
};

struct Setup {
  std::shared_ptr<const device::Device> device;
  pipeline::PassRequest request;
  dedisperse::DmPlan trials;
  std::size_t blocks = 24;
  std::size_t beams = 1;  ///< searched at once, dedisperse.beams of them in a call
  bool kernels = false, from_device = false;
};

Setup make_setup(const Options& options) {
  Setup s;
  s.device = device::open(
      device::parse_selection(options.contains("device") ? options.at("device") : "auto"));
  const auto trials = static_cast<std::size_t>(number(options, "trials", 2000));
  const double step = number(options, "step", 0.25);
  dedisperse::Config& config = s.request.dedisperse;
  for (std::size_t c = 0; c < 1024; ++c)
    config.frequencies_mhz.push_back(1719.855 - 0.29296875 * static_cast<double>(c));
  config.sample_time_s = 1.0 / 20000;
  config.bits = 8;
  config.method =
      dedisperse::parse_method(options.contains("method") ? options.at("method") : "auto");
  s.request.detect.max_width_s = number(options, "width", 0.5);
  s.request.most_block_samples = static_cast<std::size_t>(number(options, "block", 0));
  s.request.samples = std::uint64_t{1} << 40;  // an endless stream
  s.request.sample_bytes = 1024;
  s.request.memory_bytes = std::size_t{8} << 30;
  config.zero_dm = number(options, "zero-dm", 0) != 0;
  const auto downsample = static_cast<std::size_t>(number(options, "downsample", 1));
  dedisperse::Segment segment{{}, downsample, 0};
  for (std::size_t t = 0; t < trials; ++t) segment.dms.push_back(step * static_cast<double>(t));
  s.trials.segments.push_back(segment);
  s.kernels = number(options, "kernels", 0) != 0;
  s.beams = static_cast<std::size_t>(number(options, "beams", 1));
  config.beams = std::min(s.beams, static_cast<std::size_t>(number(options, "together", 20)));
  if (config.beams == 0 || s.beams % config.beams != 0)
    throw core::Error(core::ErrorKind::config, "--beams", std::to_string(s.beams),
                      "a multiple of --together, " + std::to_string(config.beams));
  s.from_device = options.contains("source") && options.at("source") == "device";
  s.blocks = static_cast<std::size_t>(number(options, "blocks", 24));
  return s;
}

// Noise of a receiver: a Gaussian's eight bits.
std::vector<device::Buffer> make_blocks(const device::Device& device, std::size_t bytes) {
  std::vector<device::Buffer> blocks;
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal(96, 12);
  std::vector<std::uint8_t> some(std::size_t{1} << 20);
  for (auto& x : some) x = static_cast<std::uint8_t>(normal(random));
  for (int b = 0; b < 2; ++b) {
    blocks.push_back(device.compiles() ? device.allocate_pinned(bytes) : device::Buffer(bytes));
    auto* to = blocks.back().as<std::uint8_t>();
    // Never the same samples at the same distance, so that nothing adds up.
    for (std::size_t i = 0; i < bytes; i += 4096) {
      const std::size_t from = random() % (some.size() - 4096);
      std::copy_n(some.begin() + static_cast<std::ptrdiff_t>(from),
                  std::min<std::size_t>(4096, bytes - i), to + i);
    }
  }
  return blocks;
}

// The streams of all beams, one block after the other.
class Streams {
 public:
  Streams(const Setup& setup, const pipeline::PassPlan& plan, device::Queue& queue)
      : setup_(setup), plan_(plan), queue_(queue) {
    const std::size_t together = setup.request.dedisperse.beams;
    blocks_ =
        make_blocks(*setup.device, together * plan.block_samples * setup.request.sample_bytes);
    if (setup.from_device)
      for (device::Buffer& block : blocks_) {
        device::Buffer there = setup.device->allocate(block.bytes());
        queue.copy(there.data(), block.data(), block.bytes());
        queue.synchronise();
        block = std::move(there);
      }
    for (std::size_t b = 0; b < setup.beams; b += together)
      passes_.push_back(std::make_unique<pipeline::SearchPass>(plan, setup.request.sample_bytes,
                                                               setup.device, queue));
  }

  void push(std::size_t number) {
    for (const auto& pass : passes_)
      pass->push(blocks_[number % 2].as<std::byte>(), plan_.block_samples);
  }
  std::size_t detections() const {
    std::size_t all = 0;
    for (const auto& pass : passes_) all += pass->detections();
    return all;
  }
  std::size_t pulses() const {
    std::size_t all = 0;
    for (const auto& pass : passes_)
      for (std::size_t b = 0; b < setup_.request.dedisperse.beams; ++b)
        for (const pipeline::SegmentPulses& segment : pass->found(b)) all += segment.pulses.size();
    return all;
  }

 private:
  const Setup& setup_;
  const pipeline::PassPlan& plan_;
  device::Queue& queue_;
  std::vector<device::Buffer> blocks_;
  std::vector<std::unique_ptr<pipeline::SearchPass>> passes_;
};

void whole(const Setup& s) {
  const auto passes = pipeline::plan_passes(s.request, s.trials, s.device);
  if (passes.size() > 1)
    throw core::Error(core::ErrorKind::memory, "--together",
                      std::to_string(s.request.dedisperse.beams), "what fits at once");
  const pipeline::PassPlan& plan = passes.front();
  const double block_s =
      static_cast<double>(plan.block_samples) * s.request.dedisperse.sample_time_s;
  fmt::print("{}\n{} passes, blocks of {} samples, {} calls of {} beams, {:.1f} GB each\n",
             plan.text, passes.size(), plan.block_samples, s.beams / s.request.dedisperse.beams,
             s.request.dedisperse.beams, 1e-9 * static_cast<double>(plan.bytes));
  const auto queue = s.device->make_queue();
  // Until the first noise has been measured, and the same number of samples whatever the block.
  const auto warm =
      static_cast<std::size_t>(std::ceil(6 * 65536.0 / static_cast<double>(plan.block_samples)));
  const std::size_t warm_blocks = s.beams > 1 ? warm / 3 : warm;
  const double data_s = static_cast<double>(s.blocks) * block_s;
  {
    Streams streams(s, plan, *queue);
    for (std::size_t b = 0; b < warm_blocks; ++b) streams.push(b);
    queue->synchronise();
    const auto start = Clock::now();
    for (std::size_t b = 0; b < s.blocks; ++b) streams.push(b);
    queue->synchronise();
    const double seconds = since(start);
    print(fmt::format("whole search, {} beams, from the {}'s memory", s.beams,
                      s.from_device ? "device" : "host"),
          data_s, seconds);
    fmt::print("  {} detections, {} pulses; {:.1f} GB left on the device\n", streams.detections(),
               streams.pulses(), 1e-9 * static_cast<double>(s.device->free_bytes()));
  }
  if (!s.kernels) return;
  TimingQueue timing(s.device->make_queue());
  Streams timed(s, plan, timing);
  for (std::size_t b = 0; b < warm_blocks; ++b) timed.push(b);
  timing.seconds.clear();
  for (std::size_t b = 0; b < s.blocks; ++b) timed.push(b);
  for (const auto& [name, shares] : timing.seconds) print("  " + name, data_s, shares);
}

// Both stages by themselves: the (integer) series of one block again and again.
void alone(const Setup& s) {
  const auto passes = pipeline::plan_passes(s.request, s.trials, s.device);
  const pipeline::SearchPart& part = passes.front().parts.front();
  if (s.beams > 1 || part.dedisperse->float_output() || part.dedisperse->config().downsample > 1)
    return;
  const std::size_t samples = passes.front().block_samples;
  const std::size_t trials = s.trials.trials(), room = part.dedisperse->max_output_samples();
  const double block_s = static_cast<double>(samples) * s.request.dedisperse.sample_time_s;
  const auto queue = s.device->make_queue();
  const auto blocks = make_blocks(*s.device, samples * s.request.sample_bytes);
  const bool there = s.device->compiles();
  device::Buffer input = there ? s.device->allocate(blocks[0].bytes()) : device::Buffer(0);
  if (there) queue->copy(input.data(), blocks[0].data(), blocks[0].bytes());
  device::Buffer memory =
      there ? s.device->allocate(4 * trials * room) : device::Buffer(4 * trials * room);
  dedisperse::OutputViews views;
  views.integers = {memory.as<std::int32_t>(), {1, trials, room}};
  dedisperse::Input spectra;
  spectra.data = there ? input.data() : blocks[0].data();
  spectra.count = samples;
  const auto sums = part.dedisperse->make_state(*queue);
  for (int b = 0; b < 4; ++b) part.dedisperse->execute(*queue, *sums, spectra, views);
  queue->synchronise();
  auto start = Clock::now();
  for (std::size_t b = 0; b < s.blocks; ++b)
    part.dedisperse->execute(*queue, *sums, spectra, views);
  queue->synchronise();
  print("dedisperse alone", block_s * static_cast<double>(s.blocks), since(start));

  const auto search = part.detect->make_state(*queue);
  const core::View<const std::int32_t, 2> series(memory.as<std::int32_t>(), {trials, samples},
                                                 {static_cast<std::ptrdiff_t>(room), 1});
  for (int b = 0; b < 6; ++b) part.detect->execute(*queue, *search, series);
  queue->synchronise();
  start = Clock::now();
  for (std::size_t b = 0; b < s.blocks; ++b) part.detect->execute(*queue, *search, series);
  queue->synchronise();
  print(fmt::format("detect alone, {} boxcars ({})", part.detect->widths().size(),
                    part.detect->backend()),
        block_s * static_cast<double>(s.blocks), since(start));
  if (!s.kernels) return;
  TimingQueue timing(s.device->make_queue());
  for (std::size_t b = 0; b < s.blocks; ++b) part.detect->execute(timing, *search, series);
  for (const auto& [name, seconds] : timing.seconds)
    print("  " + name, block_s * static_cast<double>(s.blocks), seconds);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) options[std::string(argv[i]).substr(2)] = argv[i + 1];
  try {
    const Setup setup = make_setup(options);
    fmt::print("{}\n", setup.device->name());
    alone(setup);
    whole(setup);
  } catch (const core::Error& error) {
    fmt::print(stderr, "bench_search: {}\n", error.what());
    return 1;
  }
}
