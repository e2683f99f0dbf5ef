#include "tautline/jit/process_evaluator.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/jit/child_process.h"
#include "tautline/jit/json.h"
#include "tautline/jit/worker_messages.h"

namespace tautline::jit {

namespace {

using core::Error;
using core::ErrorKind;
using Clock = ChildProcess::Clock;
using Read = ChildProcess::Read;

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

class InWorker final : public Evaluator {
 public:
  InWorker(std::vector<std::string> command, std::map<std::string, std::string> environment,
           WorkerLimits limits, std::stop_token stop)
      : command_(std::move(command)),
        environment_(std::move(environment)),
        limits_(limits),
        stop_(std::move(stop)) {}

  void expect(std::span<const Configuration> next) override {
    next_.assign(next.begin(), next.end());
  }

  Result evaluate(const Request& request) override {
    Result result = attempt(request);
    if (result.outcome == Outcome::died && !next_.empty()) {
      // A candidate that was built ahead may have crashed the worker: this one is tried once more,
      // alone.
      next_.clear();
      result = attempt(request);
    }
    return result;
  }

 private:
  Result attempt(const Request& request) {
    if (!worker_ && !start())
      return failed(request, Outcome::interrupted, "the search was stopped");
    // The end of a worker after its last answer is noticed here; the request then goes to a new
    // worker.
    if (!worker_->write_line(to_json(request, next_))) {
      worker_.reset();
      if (!start()) return failed(request, Outcome::interrupted, "the search was stopped");
      worker_->write_line(to_json(request, next_));
    }
    return await(request);
  }

  // False when the search was stopped meanwhile.
  bool start() {
    worker_ = std::make_unique<ChildProcess>(command_, environment_);
    std::string line;
    const Read read = worker_->read_line(line, after(limits_.prepare_s), stop_);
    if (read == Read::line && is_ready(line)) return true;
    if (read != Read::end) worker_->kill();
    const std::string how = worker_->end();
    worker_.reset();
    if (read == Read::stopped) return false;
    throw Error(
        ErrorKind::device, "tuning worker",
        read == Read::timeout ? fmt::format("not ready after {:.0f} s", limits_.prepare_s) : how,
        "a process that can compute on this device");
  }

  Result await(const Request& request) {
    Phase phase = Phase::building;
    auto deadline = after(limits_.build_s);
    for (std::string line;;) {
      switch (worker_->read_line(line, deadline, stop_)) {
        case Read::line:
          break;
        case Read::end:
          return failed(request, Outcome::died, "its process " + finish());
        case Read::stopped:
          abandon();
          return failed(request, Outcome::interrupted, "the search was stopped");
        case Read::timeout:
          abandon();
          return failed(request, Outcome::hung, hung_reason(phase));
      }
      if (const auto entered = phase_of(line)) {
        phase = *entered;
        deadline = after(phase == Phase::building ? limits_.build_s : limits_.run_s);
      } else {
        const Answer answer = parse_answer(line);
        if (answer.last) finish();
        return answer.result;
      }
    }
  }

  std::string hung_reason(Phase phase) const {
    return phase == Phase::building ? fmt::format("still building after {:g} s", limits_.build_s)
                                    : fmt::format("still running after {:g} s", limits_.run_s);
  }

  std::string finish() {
    const std::string how = worker_->end();
    worker_.reset();
    return how;
  }
  void abandon() {
    worker_->kill();
    finish();
  }

  static Result failed(const Request& request, Outcome outcome, std::string reason) {
    Result result;
    result.configuration = request.configuration;
    result.outcome = outcome;
    result.reason = std::move(reason);
    return result;
  }

  std::vector<std::string> command_;
  std::map<std::string, std::string> environment_;
  WorkerLimits limits_;
  std::stop_token stop_;
  std::vector<Configuration> next_;
  std::unique_ptr<ChildProcess> worker_;
};

}  // namespace

std::unique_ptr<Evaluator> make_process_evaluator(std::vector<std::string> command,
                                                  std::map<std::string, std::string> environment,
                                                  WorkerLimits limits, std::stop_token stop) {
  return std::make_unique<InWorker>(std::move(command), std::move(environment), limits,
                                    std::move(stop));
}

}  // namespace tautline::jit
