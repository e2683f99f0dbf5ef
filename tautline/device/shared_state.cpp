#include "tautline/device/shared_state.h"

#include <utility>
#include <vector>

namespace tautline::device {

void SharedState::set_log(core::LogSink sink) {
  const std::lock_guard lock(log_mutex_);
  sink_ = std::move(sink);
}

void SharedState::log(core::LogLevel level, const std::string& text) {
  const std::lock_guard lock(log_mutex_);
  if (sink_) sink_(level, text);
}

void SharedState::log_once(core::LogLevel level, const std::string& text) {
  const std::lock_guard lock(log_mutex_);
  if (said_.insert(text).second && sink_) sink_(level, text);
}

std::shared_ptr<const Program> SharedState::find_program(const std::string& key) {
  const std::lock_guard lock(programs_mutex_);
  const auto found = programs_.find(key);
  return found == programs_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<const Program> SharedState::keep_program(const std::string& key,
                                                         std::shared_ptr<const Program> program) {
  const std::lock_guard lock(programs_mutex_);
  std::erase_if(programs_, [](const auto& entry) { return entry.second.expired(); });
  auto& entry = programs_[key];
  if (auto first = entry.lock()) return first;
  entry = program;
  return program;
}

void SharedState::wait_for_programs() {
  std::vector<std::shared_ptr<const Program>> held;
  {
    const std::lock_guard lock(programs_mutex_);
    for (const auto& [key, program] : programs_)
      if (auto one = program.lock()) held.push_back(std::move(one));
  }
  for (const auto& program : held) program->loaded();
}

}  // namespace tautline::device
