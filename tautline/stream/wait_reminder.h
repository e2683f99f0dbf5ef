// When to say that nothing has come yet.
#pragma once

namespace tautline::stream {

/// A reminder is due after a first wait, and each time that the wait has become twice as long.
class WaitReminder {
 public:
  explicit WaitReminder(double first_s) : next_s_(first_s) {}
  /// `waited_s`: since the wait began.
  bool is_due(double waited_s) {
    if (waited_s < next_s_) return false;
    next_s_ = 2 * waited_s;
    return true;
  }

 private:
  double next_s_;
};

}  // namespace tautline::stream
