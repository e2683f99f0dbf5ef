// The kernel dialect for a group whose threads are threads of the host: what channel_blocks.cuda.kernel
// does by the matrix units can be followed where there is no GPU.
//
// A warp's fragments are those of mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 as the PTX manual
// has them: with g = lane / 4 and c = lane % 4 byte i of a word of
//   A is row g (words 0 and 2) or g + 8, column 4 c + i (words 0 and 1) or 16 more,
//   B is row 4 c + i (word 0) or 16 more, column g,
// and sum n of C is row g (0 and 1) or g + 8, column 2 c + n % 2.
#pragma once

#include <pthread.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#define DIALECT_HOST 1
typedef std::int8_t i8;
typedef std::uint8_t u8;
typedef std::int32_t i32;
typedef std::uint32_t u32;
typedef std::int64_t i64;
typedef std::uint64_t u64;

namespace tautline::tests::on_host {

/// A barrier that is used again and again; three times as fast as std::barrier of GCC 12.
class Meeting {
 public:
  explicit Meeting(std::size_t threads) {
    pthread_barrier_init(&barrier_, nullptr, static_cast<unsigned>(threads));
  }
  ~Meeting() { pthread_barrier_destroy(&barrier_); }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  void arrive_and_wait() { pthread_barrier_wait(&barrier_); }

 private:
  pthread_barrier_t barrier_;
};

/// As mbarrier has it: of its phases only whether they are odd can be asked.
class Count {
 public:
  void begin(u32 arrivals) {
    const std::lock_guard lock(mutex_);
    expected_ = left_ = arrivals;
  }
  // `words` are expected before the phase ends, or have come where they are less than 0.
  void arrive(u32 arrivals, std::int64_t words) {
    const std::lock_guard lock(mutex_);
    left_ -= arrivals;
    words_ += words;
    if (left_ > 0 || words_ != 0) return;
    left_ = expected_;
    ++phase_;
    ended_.notify_all();
  }
  void await(u32 parity) {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return phase_ % 2 != parity; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  u32 expected_ = 0, left_ = 0, phase_ = 0;
  std::int64_t words_ = 0;
};

struct Warp {
  Meeting meeting{32};
  std::array<std::array<u32, 6>, 32> words{};  // of A and B, [lane]
};
struct Group {
  explicit Group(std::size_t warps, std::size_t local_words)
      : meeting(32 * warps), local(local_words, 0xdeadbeef) {
    for (std::size_t n = 0; n < warps; ++n) warp.push_back(std::make_unique<Warp>());
  }
  Meeting meeting;
  std::vector<u32> local;
  std::vector<std::unique_ptr<Warp>> warp;
  std::array<Count, 32> counts;
};
struct Thread {
  Group* group;
  u32 thread, x, y, z, groups;
};
inline thread_local Thread here{};

inline u32 byte_of(u32 word, u32 n) {
  return word >> 8 * n & 0xff;
}

inline u32 one_at(i32 place) {
  return place < 0 || place > 31 ? 0 : 1u << place;
}
inline u32 cut_word(u32 low, u32 high, u32 shift) {
  return static_cast<u32>((static_cast<u64>(high) << 32 | low) >> shift);
}
inline void multiply(u32* c, const u32* a, u32 b0, u32 b1) {
  Warp& warp = *here.group->warp[here.thread / 32];
  const u32 lane = here.thread % 32;
  warp.words[lane] = {a[0], a[1], a[2], a[3], b0, b1};
  warp.meeting.arrive_and_wait();
  for (u32 n = 0; n < 4; ++n) {
    const u32 row = lane / 4 + n / 2 * 8, column = lane % 4 * 2 + n % 2;
    for (u32 k = 0; k < 32; ++k) {
      const auto& of_a = warp.words[row % 8 * 4 + k % 16 / 4];
      const auto& of_b = warp.words[column * 4 + k % 16 / 4];
      c[n] += byte_of(of_a[k / 16 * 2 + row / 8], k % 4) * byte_of(of_b[4 + k / 16], k % 4);
    }
  }
  warp.meeting.arrive_and_wait();
}
inline void store_two(u32* to, u32 x, u32 y, u32 wanted) {
  if (wanted == 0) return;
  to[0] = x;
  to[1] = y;
}
inline u32 join_halves(u32 a, u32 b, u32 which) {
  return which == 0 ? (a & 0xffff) | b << 16 : a >> 16 | (b & 0xffff0000);
}
inline void begin_count(u32*, u32 which, u32 arrivals) {
  here.group->counts[which].begin(arrivals);
}
inline void counts_begun() {}
inline void arrive(u32*, u32 which) {
  here.group->counts[which].arrive(1, 0);
}
inline void expect_words(u32*, u32 which, u32 words) {
  here.group->counts[which].arrive(1, words);
}
inline void copy_whole(u32*, u32 which, u32* to, const u32* from, u32 words) {
  std::memcpy(to, from, 4 * words);
  here.group->counts[which].arrive(0, -static_cast<std::int64_t>(words));
}
// A thread that comes late now and then must not miss the end of a phase.
inline void await(u32*, u32 which, u32 n) {
  thread_local std::minstd_rand late(std::random_device{}());
  if (here.thread / 32 + 1 == here.group->warp.size() && late() % 8 == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  here.group->counts[which].await(n % 2);
}
inline u32 forget(u32 number) {
  return number;
}
inline void add_there(i32* out, i32 sum) {
  *out += sum;
}

/// Runs `kernel` for every group of x times y times z, one after another.
template <class Kernel>
void run_groups(std::size_t threads, std::size_t local_words, std::array<u32, 3> groups,
                const Kernel& kernel) {
  for (u32 z = 0; z < groups[2]; ++z)
    for (u32 y = 0; y < groups[1]; ++y)
      for (u32 x = 0; x < groups[0]; ++x) {
        Group group(threads / 32, local_words);
        std::vector<std::jthread> all;
        for (u32 t = 0; t < threads; ++t)
          all.emplace_back([&, t] {
            here = {&group, t, x, y, z, groups[0]};
            kernel();
          });
      }
}

}  // namespace tautline::tests::on_host

#define KERNEL_SIZED(name, threads, groups) inline void name
#define DEVICE inline
#define GLOBAL
#define LOCAL
#define GLOBAL_IN(type, name) const void* name##_argument
#define GLOBAL_OUT(type, name) void* name##_argument
#define BIND_IN(type, name) const type* name = static_cast<const type*>(name##_argument)
#define BIND_INOUT(type, name) type* name = static_cast<type*>(name##_argument)
#define LOCAL_MEMORY(name, bytes) \
  u8* name = reinterpret_cast<u8*>(tautline::tests::on_host::here.group->local.data())
#define THREAD_X (tautline::tests::on_host::here.thread)
#define GROUP_X (tautline::tests::on_host::here.x)
#define GROUPS_X (tautline::tests::on_host::here.groups)
#define GROUP_Y (tautline::tests::on_host::here.y)
#define GROUP_Z (tautline::tests::on_host::here.z)
#define BARRIER() tautline::tests::on_host::here.group->meeting.arrive_and_wait()
#define WARP_BARRIER() \
  tautline::tests::on_host::here.group->warp[THREAD_X / 32]->meeting.arrive_and_wait()
#define TAKE_REGISTERS(count)
#define UNROLL
#define UNROLL_N(n)
struct uint2 {
  u32 x, y;
};
inline uint2 make_uint2(u32 x, u32 y) {
  return {x, y};
}
