// A toy that is worth tuning: sums of integers, with two tunables, some values of which are traps.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tautline/jit/check_output.h"
#include "tautline/jit/program.h"
#include "tautline/jit/tunable.h"

namespace tautline::tests {

inline constexpr const char* kToyText = R"(
KERNEL(reduce)(GLOBAL_IN(i32, x), GLOBAL_OUT(i32, sums), u32 count) {
  BIND_IN(i32, x);
  BIND_OUT(i32, sums);
  LOCAL_ARRAY(i32, part, THREADS);
#if TRAP == 2
#error this value does not build
#elif TRAP == 3
  while (*(volatile GLOBAL const i32*)x != -1) {
  }
#elif TRAP == 5
  ((volatile GLOBAL i32*)16)[0] = 1;
#endif
  i32 sum = TRAP == 1 ? 1 : 0;
  for (u32 k = 0; k < ITEMS; ++k) {
    const u32 index = (GROUP_X * ITEMS + k) * THREADS + THREAD_X;
    if (index < count) sum += x[index];
  }
  part[THREAD_X] = sum;
  BARRIER();
  for (u32 stride = THREADS / 2; stride > 0; stride /= 2) {
    if (THREAD_X < stride) part[THREAD_X] += part[THREAD_X + stride];
    BARRIER();
  }
  if (THREAD_X == 0) sums[GROUP_X] = part[0];
}
)";

struct ToyTunables {
  std::size_t threads = 16;
  std::size_t items = 1;
};

/// Values of `items` that are traps.
inline constexpr std::int64_t kWrongItems = 101, kNoBuildItems = 102, kHangingItems = 103,
                              kLaunchesNothingItems = 104, kCrashingItems = 105;

inline jit::Space toy_space() {
  std::vector<std::int64_t> items{1, 4, 16};
  for (const std::int64_t trap :
       {kWrongItems, kNoBuildItems, kHangingItems, kLaunchesNothingItems, kCrashingItems})
    items.push_back(trap);
  return jit::Space(
      {{"threads", {16, 64}, 16, "of a group"},
       {"items", items, 1, "sums of one thread; above 100: traps"}},
      [](const jit::Configuration& c) { return c.at("items") < 100 || c.at("threads") == 16; });
}

struct ToyData {
  std::shared_ptr<const device::Device> device;
  std::unique_ptr<device::Queue> queue;
  std::unique_ptr<device::Event> start, stop;
  std::vector<std::int32_t> values;
  device::Buffer input, output;
};

class ToyCandidate final : public jit::CompiledCandidate {
 public:
  ToyCandidate(std::shared_ptr<ToyData> data, const jit::Configuration& c)
      : data_(std::move(data)), threads_(static_cast<std::size_t>(c.at("threads"))) {
    const std::int64_t items = c.at("items");
    trap_ = items > 100 ? items - 100 : 0;
    items_ = trap_ == 0 ? static_cast<std::size_t>(items) : 1;
    jit::Defines defines;
    defines.set("THREADS", static_cast<std::int64_t>(threads_));
    defines.set("ITEMS", static_cast<std::int64_t>(items_)).set("TRAP", trap_);
    const auto source =
        jit::make_source(data_->device->api(), "toy/reduce.kernel", kToyText, defines);
    kernel_ = jit::build_uncached(*data_->device, source)->kernel("reduce");
    groups_ = (data_->values.size() + threads_ * items_ - 1) / (threads_ * items_);
  }

  std::string check() override {
    std::vector<std::int32_t> found(groups_), expected(groups_);
    for (std::size_t k = 0; k < data_->values.size(); ++k)
      expected[k / (threads_ * items_)] += data_->values[k];
    data_->queue->fill(data_->output.data(), jit::kPoison, data_->output.bytes());
    launch();
    data_->queue->copy(found.data(), data_->output.data(), groups_ * sizeof(std::int32_t));
    data_->queue->synchronise();
    return jit::describe_difference<std::int32_t>(found, expected);
  }

  double run(std::size_t times) override {
    data_->queue->record(*data_->start);
    for (std::size_t t = 0; t < times; ++t) launch();
    data_->queue->record(*data_->stop);
    return data_->device->seconds_between(*data_->start, *data_->stop);
  }

 private:
  void launch() {
    const device::Argument arguments[] = {data_->input.data(), data_->output.data(),
                                          static_cast<std::uint32_t>(data_->values.size())};
    data_->queue->launch(*kernel_,
                         {.groups = {trap_ == 4 ? 0 : groups_, 1, 1}, .threads = {threads_, 1, 1}},
                         arguments);
  }

  std::shared_ptr<ToyData> data_;
  std::size_t threads_, items_, groups_;
  std::int64_t trap_;
  std::shared_ptr<const device::Kernel> kernel_;
};

inline jit::Tunable toy_tunable(std::shared_ptr<const device::Device> device, std::size_t count) {
  auto data = std::make_shared<ToyData>();
  data->device = device;
  const auto prepare = [data, count] {
    data->queue = data->device->make_queue();
    data->start = data->device->make_event();
    data->stop = data->device->make_event();
    std::mt19937 random(5);
    for (std::size_t k = 0; k < count; ++k)
      data->values.push_back(static_cast<std::int32_t>(random() % 1000));
    data->input = data->device->allocate(count * sizeof(std::int32_t));
    data->output = data->device->allocate(count * sizeof(std::int32_t));
    data->queue->copy(data->input.data(), data->values.data(), data->input.bytes());
    data->queue->synchronise();
  };
  return {jit::tuning_key_of_text(*device, "toy", "i32", {{"count", count}}, kToyText),
          toy_space(),
          static_cast<double>(count),
          "additions/s",
          prepare,
          [data](const jit::Configuration& c) { return std::make_unique<ToyCandidate>(data, c); }};
}

}  // namespace tautline::tests
