// What a run warns of, for `facts["warnings"]` of its result.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tautline/core/log.h"

namespace tautline::python {

/// Texts in the order in which they came, from any thread, each once, the first kMost. Copies share them.
class Warnings {
 public:
  static constexpr std::size_t kMost = 1000;
  /// For the log of a device, or of a run.
  core::LogSink sink() const {
    return [all = *this](core::LogLevel level, const std::string& text) {
      if (level == core::LogLevel::warning) all.add(text);
    };
  }
  /// An empty text is none.
  void add(const std::string& text) const {
    const std::lock_guard lock(kept_->mutex);
    auto& texts = kept_->texts;
    if (!text.empty() && texts.size() < kMost &&
        std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(text);
  }
  void add(const std::vector<std::string>& texts) const {
    for (const std::string& text : texts) add(text);
  }
  std::vector<std::string> texts() const {
    const std::lock_guard lock(kept_->mutex);
    return kept_->texts;
  }

 private:
  struct Kept {
    std::mutex mutex;
    std::vector<std::string> texts;
  };
  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

}  // namespace tautline::python
