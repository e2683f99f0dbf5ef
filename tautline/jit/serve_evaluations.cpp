// The worker's side of a search in two processes.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/jit/child_process.h"
#include "tautline/jit/process_evaluator.h"
#include "tautline/jit/worker_messages.h"

namespace tautline::jit {

namespace {

void send(std::string line) {
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t done = ::write(ChildProcess::kChildOut, rest.data(), rest.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0)
      throw core::Error(core::ErrorKind::io, "tuning worker", "nobody reads its answers",
                        "`tautline tune` at the other end");
    rest.remove_prefix(static_cast<std::size_t>(done));
  }
}

// False at the end of the requests.
bool receive(std::string& pending, std::string& line) {
  while (true) {
    if (const std::size_t end = pending.find('\n'); end != std::string::npos) {
      line = pending.substr(0, end);
      pending.erase(0, end + 1);
      return true;
    }
    std::array<char, 4096> bytes{};
    const ssize_t count = ::read(ChildProcess::kChildIn, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    pending.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

std::size_t serve_evaluations(Tunable tunable, std::size_t builders) {
  const auto evaluator = make_local_evaluator(std::move(tunable), builders,
                                              [](Phase phase) { send(phase_message(phase)); });
  send(ready_message());
  std::size_t tried = 0;
  for (std::string pending, line; receive(pending, line); ++tried) {
    const RequestMessage message = parse_request(line);
    evaluator->expect(message.next);
    const Result result = evaluator->evaluate(message.request);
    const bool last = evaluator->device_failed();
    send(to_json(Answer{result, last}));
    if (last) return tried + 1;
  }
  return tried;
}

}  // namespace tautline::jit
