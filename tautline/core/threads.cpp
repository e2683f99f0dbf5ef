#include "tautline/core/threads.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tautline::core {

namespace {

// Pieces of work that threads take one after the other.
struct Job {
  explicit Job(std::size_t pieces, const std::function<void(std::size_t)>& task)
      : work(task), left(pieces), errors(pieces) {}

  const std::function<void(std::size_t)>& work;
  std::size_t next = 0;  // piece to take
  std::size_t left;      // pieces that are not done
  std::vector<std::exception_ptr> errors;
  std::condition_variable done;
};

// Threads that start when they are first needed and wait for jobs until the process ends. A forked
// child has no such threads: there the caller does every piece.
class ThreadPool {
 public:
  void run(std::size_t pieces, const std::function<void(std::size_t)>& work) {
    Job job(pieces, work);
    std::unique_lock lock(mutex_);
    add_threads(std::min(pieces, spare_threads()) - 1);
    jobs_.push_back(&job);
    wake_.notify_all();
    while (job.next < job.errors.size()) do_piece(job, lock);
    job.done.wait(lock, [&] { return job.left == 0; });
    lock.unlock();
    for (const std::exception_ptr& error : job.errors)
      if (error) std::rethrow_exception(error);
  }

 private:
  static constexpr std::size_t kMostJobs = 4;

  // Starts as many threads as a job can use, in addition to threads that are busy with other jobs:
  // a thread that waits for a disk delays no other job.
  void add_threads(std::size_t wanted) try {
    for (std::size_t have = idle_; have < wanted && threads_.size() < kMostJobs * spare_threads();
         ++have)
      threads_.emplace_back([this] { serve(); });
  } catch (
      const std::system_error&) {  // the system gives no more threads: the existing ones do the job
  }

  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      wake_.wait(lock, [&] { return !jobs_.empty(); });
      --idle_;
      while (!jobs_.empty()) do_piece(*jobs_.front(), lock);
    }
  }

  // Called with the lock held, which is released while a piece is processed.
  void do_piece(Job& job, std::unique_lock<std::mutex>& lock) {
    const std::size_t piece = job.next++;
    std::erase(jobs_, &job);
    if (job.next < job.errors.size()) jobs_.push_back(&job);  // behind other jobs
    lock.unlock();
    try {
      job.work(piece);
    } catch (...) {
      job.errors[piece] = std::current_exception();
    }
    lock.lock();
    if (--job.left == 0) job.done.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job*> jobs_;  // with pieces to take
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
};

// Never destroyed: its threads end with the process. A forked process has none of the threads, and
// gets another pool.
ThreadPool& the_pool() {
  static ThreadPool* pool = nullptr;
  static const bool made = [] {
    pool = new ThreadPool;
    pthread_atfork(nullptr, nullptr, [] { pool = new ThreadPool; });
    return true;
  }();
  (void)made;
  return *pool;
}

}  // namespace

void name_this_thread(const std::string& name) {
  constexpr std::size_t kMostBytes = 15;  // Linux has no room for more
  ::pthread_setname_np(::pthread_self(), name.substr(0, kMostBytes).c_str());
}

std::size_t spare_threads() {
  static const std::size_t most = std::thread::hardware_concurrency() * 3 / 4;
  return std::clamp<std::size_t>(most, 2, 16);
}

void in_pieces(std::size_t items, std::size_t pieces,
               const std::function<void(std::size_t, std::size_t, std::size_t)>& work) {
  pieces = std::clamp<std::size_t>(pieces, 1, std::max<std::size_t>(1, items));
  if (pieces == 1) return work(0, 0, items);
  the_pool().run(pieces, [&](std::size_t piece) {
    work(piece, piece * items / pieces, (piece + 1) * items / pieces);
  });
}

void wait_for_each(std::size_t items, const std::function<void(std::size_t)>& work) {
  constexpr std::size_t kAtOnce = 16;
  std::atomic<std::size_t> next = 0;
  std::vector<std::exception_ptr> errors(items);
  const auto take_items = [&] {
    for (std::size_t k = next++; k < items; k = next++) {
      try {
        work(k);
      } catch (...) {
        errors[k] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    try {
      while (threads.size() + 1 < std::min(items, kAtOnce)) threads.emplace_back(take_items);
    } catch (const std::system_error&) {  // no more threads: those that there are, and the caller
    }
    take_items();
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace tautline::core
