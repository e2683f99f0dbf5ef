// The impairment grid with several threads that place packets by one capture: every packet is counted once, and what
// came in time lies where it belongs.
#include "tautline/stream/shared_capture.h"

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/stream/impaired_packets.h"
#include "tests/support/seed.h"

namespace {

using namespace tautline;
using namespace tautline::tests;
using Packet = std::span<const std::byte>;

// The packets are divided: each thread has the packets of some flows, as sockets have those of some senders.
std::vector<std::vector<std::vector<std::byte>>> deal(const stream::Capture& capture,
                                                      const formats::packets::PacketLayout& layout,
                                                      std::uint64_t start,
                                                      const std::vector<Arrival>& arrivals,
                                                      std::size_t threads,
                                                      std::mt19937_64& random) {
  std::vector<std::size_t> thread_of(capture.placement().flows());
  for (std::size_t& thread : thread_of) thread = random() % threads;
  std::vector<std::vector<std::vector<std::byte>>> dealt(threads);
  for (const Arrival& a : arrivals)
    dealt[thread_of[a.flow]].push_back(packet_of(capture, layout, start, a.time, a.flow));
  return dealt;
}

// In batches, and all threads together from one payload time of the clean stream to another that is less than `ahead`
// later.
void place_by_threads(stream::SharedCapture& shared,
                      const std::vector<std::vector<std::vector<std::byte>>>& dealt,
                      std::size_t rounds, std::uint64_t seed) {
  std::barrier together(static_cast<std::ptrdiff_t>(dealt.size()));
  std::vector<std::jthread> threads;
  for (std::size_t k = 0; k < dealt.size(); ++k)
    threads.emplace_back([&, k] {
      std::mt19937_64 random(seed + k);
      stream::SharedCapture::Placer placer(shared);
      const auto& mine = dealt[k];
      for (std::size_t round = 0; round < rounds; ++round) {
        const std::size_t end = mine.size() * (round + 1) / rounds;
        for (std::size_t at = mine.size() * round / rounds; at < end;) {
          const std::size_t count = std::min<std::size_t>(1 + random() % 20, end - at);
          std::vector<Packet> batch;
          for (std::size_t n = 0; n < count; ++n, ++at) batch.emplace_back(mine[at]);
          placer.place(batch, 0);
        }
        together.arrive_and_wait();
      }
    });
}

void run_shared(const Impairment& how, std::size_t threads, std::uint64_t seed) {
  ImpairedCapture run(how, seed);
  const auto dealt = deal(run.capture, run.layout, run.start, run.arrivals, threads, run.random);
  {
    stream::SharedCapture shared(run.capture);
    place_by_threads(shared, dealt, kTimes / 4, run.random());
    EXPECT_EQ(shared.counters().accepted, run.capture.counters().accepted);
  }
  run.finish();
}

TEST(SharedCapture, CountsEveryPacketOnce) {
  const std::uint64_t first = seed();
  std::uint64_t run = first;
  const bool small = std::getenv("TAUTLINE_SMALL") != nullptr;
  for (const double loss : {0.0, 1e-3, 1e-2, 0.5})
    for (const double reorder : {0.0, 0.1})
      for (const double duplicate : {0.0, 0.01})
        for (const std::size_t threads : {2, 3, 6}) {
          ++run;
          if (small && run % 3 != 0) continue;
          run_shared({loss, reorder, duplicate, run % 2 == 0 ? kWindow / 2 : 3 * kWindow}, threads,
                     run);
          ASSERT_FALSE(HasFailure()) << "loss " << loss << " reorder " << reorder << " duplicate "
                                     << duplicate << " threads " << threads << " seed " << run;
        }
}

// Where threads stay within a window of each other and nothing is lost, every block is whole.
TEST(SharedCapture, WhatCameWholeIsTheCleanRunToTheBit) {
  const auto layout = small_layout(48);
  auto random = generator();
  KeepingStore store;
  auto config = grid_config(layout, 0);
  config.window_samples = 0;
  config.window_blocks = 4;
  stream::Capture capture(config, store);
  store.set_block_bytes(capture.block_bytes());
  std::uint64_t copies = 0, missing = 0;
  const auto arrivals =
      impair({0, 0.1, 0.05, kWindow / 2}, capture.placement().flows(), random, copies);
  const auto dealt = deal(capture, layout, 0, arrivals, 4, random);
  {
    stream::SharedCapture shared(capture);
    place_by_threads(shared, dealt, kTimes / 2, random());
  }
  capture.finish();
  EXPECT_EQ(capture.counters().duplicate, copies);
  EXPECT_EQ(store.blocks.size(), kTimes / kBlock);
  EXPECT_EQ(check_blocks(capture, store, layout, missing), kTimes * capture.placement().flows());
  EXPECT_EQ(missing, 0u);
}

}  // namespace
