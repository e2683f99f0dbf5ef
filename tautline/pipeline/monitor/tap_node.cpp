#include "tautline/pipeline/monitor/tap_node.h"

#include <time.h>

#include <chrono>
#include <exception>

#include "tautline/pipeline/monitor/taps.h"

namespace tautline::pipeline::monitor {

namespace {

constexpr double kRests = 20;  // times as long as a block took
constexpr const char* kTapPrefix = "monitor of ";

double steady_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// This thread's time on a processor: waiting for one costs nobody anything.
double own_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class TapNode final : public engine::Node {
 public:
  explicit TapNode(std::shared_ptr<Tapped> tapped) : tapped_(std::move(tapped)) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    tapped_->open(inputs.front());
    return {};
  }
  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    tapped_->take(block);
  }

 private:
  std::shared_ptr<Tapped> tapped_;
};

}  // namespace

template <class Function>
void Tapped::attempt(Function function) {
  if (drawing_) try {
      function(*drawing_);
    } catch (const std::exception& error) {
      failure_ = error.what();
      drawing_.reset();
    }
}

void Tapped::open(const engine::Stream& stream) {
  const std::lock_guard lock(mutex_);
  try {
    drawing_ = make_drawing(stream);
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
}

void Tapped::take(const engine::Block& block) {
  const std::lock_guard lock(mutex_);
  attempt([&](Drawing& drawing) {
    if (steady_s() < rests_until_s_ && drawing.may_skip()) return;
    const double begun_s = own_s();
    drawing.take(block);
    rests_until_s_ = steady_s() + kRests * (own_s() - begun_s);
  });
}

std::vector<std::string> Tapped::all() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> messages;
  attempt([&](Drawing& drawing) { messages = drawing.all(); });
  return messages;
}

std::vector<std::string> Tapped::news() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> messages;
  attempt([&](Drawing& drawing) { messages = drawing.news(); });
  return messages;
}

std::string Tapped::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::vector<std::shared_ptr<Tapped>> add_taps(engine::Graph& graph,
                                              const std::vector<std::string>& nodes) {
  std::vector<std::shared_ptr<Tapped>> taps;
  for (const std::string& name : nodes)
    for (std::size_t id = 0; id < graph.members().size(); ++id) {
      if (graph.members()[id].name != name) continue;
      taps.push_back(std::make_shared<Tapped>(name));
      const auto tap = graph.add(kTapPrefix + name, std::make_unique<TapNode>(taps.back()));
      graph.connect({id, 0}, tap, {.depth = 1, .policy = engine::Policy::drop_oldest});
      break;
    }
  return taps;
}

bool is_tap(const std::string& node) {
  return node.starts_with(kTapPrefix);
}

}  // namespace tautline::pipeline::monitor
