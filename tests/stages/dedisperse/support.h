// Runs a whole stream through a plan, in pieces.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/stages/dedisperse/case.h"
#include "tautline/stages/dedisperse/tunables.h"
#include "tests/support/seed.h"

namespace tautline::stages::dedisperse {

/// [beam][trial][time], as many times as came out.
struct Series {
  std::size_t beams = 0, trials = 0, times = 0;
  std::vector<std::int32_t> integers;
  std::vector<float> floats;
  std::uint64_t not_finite = 0;
  std::vector<Moments> moments;
};

struct Feed {
  std::vector<std::size_t> pieces;  ///< times of each call, repeated; empty: all at once
  bool rows = false;                ///< [channel][time] instead of spectra
  bool restore = false;             ///< save and load the state between calls
  bool there = false;               ///< input lies in the device's memory
};

inline Config fitted(Config config, std::size_t times, const Feed& feed) {
  config.max_samples = 1;
  for (const std::size_t piece : feed.pieces)
    config.max_samples = std::max(config.max_samples, std::min(piece, times));
  if (feed.pieces.empty()) config.max_samples = std::max<std::size_t>(1, times);
  return config;
}

/// Spectra of whole bytes a line to rows: what Input::Layout::rows wants.
inline std::vector<std::byte> to_rows(const Config& config, const std::vector<std::byte>& spectra,
                                      std::size_t times) {
  const std::size_t channels = config.frequencies_mhz.size();
  const auto bits = static_cast<std::size_t>(config.bits);
  const std::size_t element = std::max<std::size_t>(1, bits / 8);
  const std::size_t line = (channels * bits + 7) / 8;
  std::vector<std::byte> rows(config.beams * channels * times * element);
  for (std::size_t b = 0; b < config.beams; ++b)
    for (std::size_t t = 0; t < times; ++t)
      for (std::size_t c = 0; c < channels; ++c) {
        const std::byte* from = spectra.data() + (b * times + t) * line;
        std::byte* to = rows.data() + ((b * channels + c) * times + t) * element;
        if (bits >= 8) {
          std::memcpy(to, from + c * element, element);
        } else {
          *to = from[c * bits / 8] >> (c * bits % 8) & static_cast<std::byte>((1u << bits) - 1);
        }
      }
  return rows;
}

/// `device`: the plan's, where feed.there.
inline Series run(const Plan& plan, device::Queue& queue, const std::vector<std::byte>& spectra,
                  std::size_t times, const Feed& feed, const device::Device* device = nullptr) {
  const Config& config = plan.config();
  const std::size_t channels = config.frequencies_mhz.size();
  const auto bits = static_cast<std::size_t>(config.bits);
  const std::size_t element = std::max<std::size_t>(1, bits / 8);
  const std::size_t line = (channels * bits + 7) / 8;
  const std::size_t whole = times / config.downsample;
  Series series{config.beams,
                config.dms.size(),
                whole > plan.max_delay() ? whole - plan.max_delay() : 0,
                {},
                {},
                0,
                {}};
  const std::size_t elements = series.beams * series.trials * series.times;
  if (plan.float_output()) {
    series.floats.assign(elements, -7e30f);
  } else {
    series.integers.assign(elements, -123456789);
  }
  const auto bytes = feed.rows ? to_rows(config, spectra, times) : spectra;
  const std::byte* data = bytes.data();
  device::Buffer there;
  if (feed.there) {
    there = device->allocate(bytes.size());
    queue.copy(there.data(), bytes.data(), bytes.size());
    data = there.as<std::byte>();
  }
  auto state = plan.make_state(queue);
  std::size_t done = 0, written = 0, call = 0;
  while (done < times) {
    const std::size_t piece =
        feed.pieces.empty() ? times : feed.pieces[call++ % feed.pieces.size()];
    const std::size_t count = std::min(piece, times - done);
    Input input{feed.rows ? Input::Layout::rows : Input::Layout::spectra,
                data + done * (feed.rows ? element : line), count,
                feed.rows ? times * element : line,
                feed.rows ? channels * times * element : times * line};
    const std::size_t room = plan.max_output_samples();
    // A block of its own, poisoned, so that writing beyond it shows.
    constexpr std::uint32_t kPoison = 0xf2a5c3d1;
    std::vector<std::uint32_t> block(series.beams * series.trials * room, kPoison);
    const Result result =
        plan.execute(queue, *state, input,
                     {block.data(), plan.output_type(), {series.beams, series.trials, room}});
    series.not_finite += result.not_finite;
    EXPECT_LE(result.samples, room);
    EXPECT_LE(written + result.samples, series.times);
    bool untouched = true;
    for (std::size_t r = 0; r < series.beams * series.trials; ++r)
      for (std::size_t t = 0; t < room; ++t) {
        const std::size_t from = r * room + t, to = r * series.times + written + t;
        const bool mine = t < result.samples;
        if (!mine) {
          untouched = untouched && block[from] == kPoison;
        } else if (plan.float_output()) {
          std::memcpy(&series.floats[to], &block[from], 4);
        } else {
          std::memcpy(&series.integers[to], &block[from], 4);
        }
      }
    EXPECT_TRUE(untouched) << "written behind the samples that were announced";
    written += result.samples;
    done += count;
    if (feed.restore) {
      const auto saved = state->save();
      state = plan.make_state(queue);
      state->load(saved);
    }
  }
  EXPECT_EQ(written, series.times);
  series.moments = state->moments();
  return series;
}

inline Series run(const std::shared_ptr<const device::Device>& device, const Config& config,
                  const std::vector<std::byte>& spectra, std::size_t times, const Feed& feed = {},
                  const Tunables& tunables = {}) {
  const auto plan = make_plan(fitted(config, times, feed), device, tunables);
  const auto queue = device->make_queue();
  return run(*plan, *queue, spectra, times, feed, device.get());
}
inline Series run(const std::string& device_name, const Config& config,
                  const std::vector<std::byte>& spectra, std::size_t times, const Feed& feed = {},
                  const Tunables& tunables = {}) {
  return run(device::open(device::parse_selection(device_name), {.threads = 2}), config, spectra,
             times, feed, tunables);
}

/// Every CPU code that this machine runs.
inline std::vector<std::string> host_devices() {
  std::vector<std::string> names;
  for (const auto set : {device::InstructionSet::portable, device::InstructionSet::avx2,
                         device::InstructionSet::avx512})
    if (device::supported(set)) names.push_back("cpu:" + std::string(device::to_string(set)));
  return names;
}

/// A small band at which neighbouring trials share delays: `channels` below 1500 MHz.
inline Config small_config(std::size_t channels, int bits, std::size_t trials,
                           bool rising = false) {
  Config config;
  config.frequencies_mhz = falling_band(1500, 300.0 / static_cast<double>(channels), channels);
  if (rising) std::reverse(config.frequencies_mhz.begin(), config.frequencies_mhz.end());
  config.sample_time_s = 1e-3;
  config.dms = even_dms(2.5, trials);
  config.bits = bits;
  return config;
}

}  // namespace tautline::stages::dedisperse
