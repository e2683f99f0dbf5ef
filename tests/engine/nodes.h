// Small nodes that the tests of the engine build graphs of.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tautline/engine/run.h"

namespace tautline::engine {

inline Stream numbers(std::size_t max_samples, std::uint64_t total = 0) {
  return {.kind = "numbers",
          .arrays = {{"value", core::SampleType::i32, {"time"}, {max_samples}}},
          .rate_hz = {1000, 1},
          .total_samples = total,
          .max_samples = max_samples};
}

/// 0, 1, 2, ... in blocks; a new segment after each of `gaps` samples.
class Counting : public Node {
 public:
  explicit Counting(std::uint64_t total, std::size_t block = 7, std::uint64_t segment = 0)
      : total_(total), block_(block), segment_samples_(segment ? segment : total + 1) {}
  std::vector<Stream> open(std::span<const Stream>) override { return {numbers(block_, total_)}; }
  bool produce(Outputs& outputs) override {
    if (next_ == total_) return false;
    const std::uint64_t in_segment = next_ % segment_samples_;
    const std::uint64_t count =
        std::min({std::uint64_t{block_}, total_ - next_, segment_samples_ - in_segment});
    Block& block = outputs.begin();
    block.segment = next_ / segment_samples_;
    block.first = in_segment;
    block.samples = static_cast<std::size_t>(count);
    block.set_extent(0, 0, block.samples);
    const auto values = block.view<1>().as<std::int32_t>();
    for (std::size_t k = 0; k < values.size(); ++k)
      values(k) = static_cast<std::int32_t>(next_ + k);
    next_ += count;
    outputs.commit();
    if (pause) pause();
    return true;
  }
  std::vector<std::byte> save() const override {
    std::vector<std::byte> bytes(sizeof next_);
    std::memcpy(bytes.data(), &next_, sizeof next_);
    return bytes;
  }
  void load(std::span<const std::byte> state) override {
    std::memcpy(&next_, state.data(), sizeof next_);
  }
  std::function<void()> pause;

 protected:
  std::uint64_t total_, next_ = 0;
  std::size_t block_;
  std::uint64_t segment_samples_;
};

/// Adds a number to each value.
class Adding : public Node {
 public:
  explicit Adding(std::int32_t number) : number_(number) {}
  std::vector<Stream> open(std::span<const Stream> inputs) override { return {inputs[0]}; }
  void process(std::size_t, const Block& block, Outputs& outputs) override {
    Block& out = outputs.begin(0, block);
    out.set_extent(0, 0, block.samples);
    const auto from = block.view<1>().as<const std::int32_t>();
    const auto to = out.view<1>().as<std::int32_t>();
    for (std::size_t k = 0; k < from.size(); ++k) to(k) = from(k) + number_;
    outputs.commit();
  }

 private:
  std::int32_t number_;
};

/// The received blocks.
struct Came {
  std::vector<std::int32_t> values;
  std::vector<std::uint64_t> segment_starts;  // in the order of begin_segment
  std::size_t ended_segments = 0;
  bool finished = false, published = false;
};

class Collecting : public Node {
 public:
  explicit Collecting(Came& came) : came_(came) {}
  std::vector<Stream> open(std::span<const Stream>) override { return {}; }
  void begin_segment(std::size_t, const Block& first, Outputs&) override {
    came_.segment_starts.push_back(first.first);
  }
  void end_segment(std::size_t, Outputs&) override { ++came_.ended_segments; }
  void process(std::size_t, const Block& block, Outputs&) override {
    const auto values = block.view<1>().as<const std::int32_t>();
    for (std::size_t k = 0; k < values.size(); ++k) came_.values.push_back(values(k));
    if (pause) pause();
  }
  void finish(Outputs&) override { came_.finished = true; }
  void publish() override { came_.published = true; }
  std::vector<std::byte> save() const override {
    const auto bytes = std::as_bytes(std::span(came_.values));
    return {bytes.begin(), bytes.end()};
  }
  void load(std::span<const std::byte> state) override {
    came_.values.resize(state.size() / 4);
    if (!state.empty()) std::memcpy(came_.values.data(), state.data(), state.size());
  }
  std::function<void()> pause;

 private:
  Came& came_;
};

inline std::vector<std::int32_t> counted(std::size_t total, std::int32_t first = 0) {
  std::vector<std::int32_t> values(total);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// The message of the Error that `action` throws.
template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const core::Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

inline void sleep_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

}  // namespace tautline::engine
