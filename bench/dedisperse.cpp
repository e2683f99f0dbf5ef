// Rate of dedispersion on every instruction set of this machine and by every method, beside a plain
// loop over trials, channels and samples on as many threads, in the same run.
//
//   bench_dedisperse [--threads N] [--repeats N] [--trials N] [--seconds S] [--problem apertif]
//                    [--set avx512] [--method shared] [--bits 8] [--baseline 0]
//                    [--device cuda:0 --times N --beams N --width SECONDS --it 32 --id 16 --et 8
//                     --ed 4 --local KIB --groups N
//                     --producer-warps N --channels N --tiles N --matrix 1 --stage 1 --check 1]
//                    [--tile N] [--block N] [--levels N] [--near BYTES] [--scratch BYTES]
#include "bench/baseline/dedisperse.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tautline/stages/dedisperse/case.h"
#include "tautline/stages/dedisperse/tunables.h"

namespace {

using namespace tautline;
using stages::dedisperse::Case;
using stages::dedisperse::Config;
using stages::dedisperse::Method;

using Options = std::map<std::string, std::string>;

std::size_t number(const Options& options, const std::string& key, std::size_t otherwise) {
  return options.contains(key) ? std::stoul(options.at(key)) : otherwise;
}
std::string text(const Options& options, const std::string& key) {
  return options.contains(key) ? options.at(key) : "";
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Adds/s that the local memory of the device's multiprocessors could feed without sharing: a word
// of 32 lanes a cycle, of four 8-bit samples or one of another kind; 132 x 1.98 GHz of an H200.
double floor_adds(int bits) {
  return 132 * 1.98e9 * 32 * (bits <= 8 ? 4 : 1);
}

// The sums of one block against plain ones, by the plan's delays, at all times of some trials:
// every call is given the same samples, so a sum is one of a stream of equal blocks.
void check_gpu(const stages::dedisperse::Plan& plan, device::Queue& queue,
               stages::dedisperse::State& state, const stages::dedisperse::Input& input,
               const std::vector<std::byte>& spectra, const device::Buffer& out) {
  const Config& config = plan.config();
  const std::size_t room = plan.max_output_samples(), trials = config.dms.size();
  const std::size_t channels = config.frequencies_mhz.size(), block = config.max_samples;
  if (config.bits != 8 || config.beams != 1) return;
  queue.fill(out.data(), 0x5a, out.bytes());
  const stages::dedisperse::OutputViews views{{out.as<std::int32_t>(), {1, trials, room}}, {}};
  const std::size_t held = state.held_samples();
  const std::size_t samples = plan.execute(queue, state, input, views).samples;
  std::vector<std::int32_t> got(trials * room);
  queue.copy(got.data(), out.data(), 4 * got.size());
  queue.synchronise();
  std::size_t wrong = 0, checked = 0;
  // The first time of the rows was `held` before the block, whose end is that of all blocks before.
  const std::size_t first = (block - held % block) % block;
  std::vector<std::byte> rows(spectra.size());  // [channel][time]
  for (std::size_t t = 0; t < block; ++t)
    for (std::size_t c = 0; c < channels; ++c) rows[c * block + t] = spectra[t * channels + c];
  for (std::size_t i = 0; i < trials; i += 61) {
    std::vector<std::int32_t> sum(samples, 0);
    for (std::size_t c = 0; c < channels; ++c) {
      const std::byte* row = rows.data() + c * block;
      std::size_t at = (first + static_cast<std::size_t>(plan.delay(i, c))) % block;
      for (std::size_t t = 0; t < samples; ++t) {
        sum[t] += std::to_integer<std::int32_t>(row[at]);
        if (++at == block) at = 0;
      }
    }
    for (std::size_t t = 0; t < samples; ++t) wrong += got[i * room + t] != sum[t] ? 1 : 0;
    checked += samples;
  }
  fmt::print("{} of {} sums wrong; ", wrong, checked);
}

// A GPU alone, with input and trials in its memory: one block of --times whose overlap is there.
void measure_gpu(const Case& c, Method method, const Options& options) {
  const auto device = device::open(device::parse_selection(options.at("device")));
  Config config = c.config;
  config.bits = static_cast<int>(number(options, "bits", 8));
  config.beams = number(options, "beams", 1);
  config.max_samples = number(options, "times", 20000);
  config.method = method;
  if (options.contains("width")) config.pulse_width_s = std::stod(options.at("width"));
  stages::dedisperse::Tunables tunables;
  auto& gpu = tunables.gpu;
  gpu = {number(options, "it", gpu.items_time),
         number(options, "id", gpu.items_dm),
         number(options, "et", gpu.elements_time),
         number(options, "ed", gpu.elements_dm),
         number(options, "local", gpu.local_kib),
         number(options, "groups", gpu.groups),
         number(options, "levels", gpu.levels),
         number(options, "producer-warps", gpu.producer_warps),
         number(options, "channels", gpu.block_channels),
         number(options, "tiles", gpu.tiles),
         number(options, "matrix", 1) != 0,
         number(options, "stage", 1) != 0};
  const auto plan = make_plan(config, device, tunables);
  const auto queue = device->make_queue();
  const auto state = plan->make_state(*queue);
  std::mt19937_64 random(1);
  const auto spectra = make_spectra(config, config.max_samples, random);
  const device::Buffer in = device->allocate(spectra.size());
  queue->copy(in.data(), spectra.data(), spectra.size());
  const std::size_t room = plan->max_output_samples(), trials = config.dms.size();
  const device::Buffer out = device->allocate(4 * config.beams * trials * room);
  const std::array<std::size_t, 3> extents{config.beams, trials, room};
  const stages::dedisperse::OutputViews views{{out.as<std::int32_t>(), extents},
                                              {out.as<float>(), extents}};
  stages::dedisperse::Input input;
  input.data = in.data();
  input.count = config.max_samples;
  while (state->held_samples() < plan->max_delay()) plan->execute(*queue, *state, input, views);
  if (number(options, "check", 0) != 0) check_gpu(*plan, *queue, *state, input, spectra, out);
  std::vector<double> seconds;
  std::size_t samples = 0;
  for (std::size_t repeat = 0; repeat < 2 + number(options, "repeats", 5); ++repeat) {
    const auto start = device->make_event(), end = device->make_event();
    queue->record(*start);
    samples = plan->execute(*queue, *state, input, views).samples;
    queue->record(*end);
    if (repeat >= 2) seconds.push_back(device->seconds_between(*start, *end));
  }
  std::sort(seconds.begin(), seconds.end());
  const double rate = static_cast<double>(samples * config.beams) / seconds[seconds.size() / 2];
  const double memory = static_cast<double>(plan->bytes().device_bytes + in.bytes() + out.bytes());
  fmt::print(
      "{} {} {} trials {} bits {} beams, {}x{} threads of {}x{}, {} KiB, {} groups: {:.2f} T "
      "adds/s, "
      "{:.1f} x real time, {:.2f} of the plain floor, {:.3f} ms for {} times, {:.2f} GB ({})\n",
      device->name(), c.name, trials, config.bits, config.beams, gpu.items_time, gpu.items_dm,
      gpu.elements_time, gpu.elements_dm, gpu.local_kib, gpu.groups, rate * c.operations() / 1e12,
      rate * config.sample_time_s, rate * c.operations() / floor_adds(config.bits),
      1e3 * seconds[seconds.size() / 2], samples, memory / 1e9, plan->choice().text);
  std::fflush(stdout);
}

struct Contender {
  std::string name;
  std::function<std::size_t()> run;  // gives the times that came out
  std::vector<double> seconds;
  std::size_t times = 0;

  double median() {
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }
};

std::vector<std::string> device_names(const Options& options) {
  std::vector<std::string> names;
  for (const auto set : {device::InstructionSet::portable, device::InstructionSet::avx2,
                         device::InstructionSet::avx512}) {
    const std::string name(device::to_string(set));
    if (device::supported(set) && name.find(text(options, "set")) != std::string::npos)
      names.push_back("cpu:" + name);
  }
  return names;
}

// One block in the middle of a stream: the overlap is there already.
struct Stream {
  std::shared_ptr<const stages::dedisperse::Plan> plan;
  std::shared_ptr<device::Queue> queue;
  std::shared_ptr<stages::dedisperse::State> state;
  std::vector<std::int32_t> out;
};

Contender ours(const std::string& device_name, Method method, Config config,
               const std::vector<std::byte>& spectra, const Options& options) {
  const auto device = device::open(device::parse_selection(device_name),
                                   {.threads = number(options, "threads", 2)});
  config.method = method;
  stages::dedisperse::Tunables tunables;
  tunables.time_tile = number(options, "tile", 0);
  tunables.block_trials = number(options, "block", 0);
  tunables.levels = number(options, "levels", 0);
  tunables.near_bytes = number(options, "near", tunables.near_bytes);
  tunables.scratch_bytes = number(options, "scratch", tunables.scratch_bytes);
  auto stream = std::make_shared<Stream>();
  const double planning = seconds_of([&] { stream->plan = make_plan(config, device, tunables); });
  stream->queue = device->make_queue();
  stream->state = stream->plan->make_state(*stream->queue);
  const std::size_t room = stream->plan->max_output_samples();
  stream->out.resize(config.dms.size() * room);
  const auto run = [stream, &spectra, count = config.max_samples, room,
                    trials = config.dms.size()] {
    const stages::dedisperse::OutputViews views{
        {stream->out.data(), {1, trials, room}},
        {reinterpret_cast<float*>(stream->out.data()), {1, trials, room}}};
    return stream->plan
        ->execute(
            *stream->queue, *stream->state,
            {.data = spectra.data(), .count = count, .stride_bytes = 0, .beam_stride_bytes = 0},
            views)
        .samples;
  };
  while (stream->state->held_samples() < stream->plan->max_delay()) run();
  fmt::print("  {} {}: {} (planned in {:.2f} s, {:.0f} MB)\n", device_name, to_string(method),
             stream->plan->choice().text, planning,
             static_cast<double>(stream->plan->bytes().host_bytes) / 1e6);
  return {device_name + " " + to_string(method), run, {}, 0};
}

void measure(const Case& c, const Options& options) {
  Config config = c.config;
  config.bits = static_cast<int>(number(options, "bits", 8));
  config.max_samples = static_cast<std::size_t>(
      std::stod(options.contains("seconds") ? options.at("seconds") : "1") / config.sample_time_s);
  std::mt19937_64 random(1);
  const auto spectra = make_spectra(config, config.max_samples, random);
  fmt::print("{}, {} trials, {} channels, {} bits\n", c.name, config.dms.size(),
             config.frequencies_mhz.size(), config.bits);
  std::vector<Contender> contenders;
  if (number(options, "baseline", 1) != 0 && config.bits == 8) {
    const auto baseline =
        std::make_shared<bench::PlainDedisperser>(config, number(options, "threads", 2));
    contenders.push_back({"baseline", [baseline] { return baseline->run(); }, {}, 0});
  }
  for (const std::string& name : device_names(options))
    for (const Method method : {Method::exact, Method::shared, Method::subband, Method::automatic})
      if (text(options, "method").empty() || to_string(method) == text(options, "method"))
        contenders.push_back(ours(name, method, config, spectra, options));
  for (std::size_t repeat = 0; repeat < number(options, "repeats", 5); ++repeat)
    for (auto& contender : contenders)
      contender.seconds.push_back(seconds_of([&] { contender.times = contender.run(); }));
  const double baseline = contenders[0].name == "baseline"
                              ? static_cast<double>(contenders[0].times) / contenders[0].median()
                              : 0;
  for (auto& contender : contenders) {
    const double seconds = contender.median();
    const double rate = static_cast<double>(contender.times) / seconds;
    fmt::print(
        "  {:24} {:8.1f} G plain adds/s  {:6.2f} x real time (best {:.2f})  spread {:3.0f} %",
        contender.name, rate * c.operations() / 1e9, rate * config.sample_time_s,
        rate * config.sample_time_s * seconds / contender.seconds.front(),
        100 * (contender.seconds.back() - contender.seconds.front()) / seconds);
    if (baseline > 0) fmt::print("  {:5.2f} x baseline", rate / baseline);
    fmt::print("\n");
  }
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  for (int n = 1; n + 1 < count; n += 2)
    options[std::string(arguments[n]).substr(2)] = arguments[n + 1];
  const std::size_t trials = number(options, "trials", 2000);
  for (const Case& c : {stages::dedisperse::apertif(trials), stages::dedisperse::lofar(trials)})
    if (c.name.find(text(options, "problem")) != std::string::npos) {
      if (options.contains("device")) {
        for (const Method method :
             {Method::exact, Method::shared, Method::subband, Method::automatic})
          if (to_string(method) == text(options, "method")) measure_gpu(c, method, options);
      } else {
        measure(c, options);
      }
    }
  return 0;
}
