// SIGINT, SIGTERM and SIGHUP ask a run to stop; a second one ends the process. Either way nothing half-written is left.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <thread>

namespace tautline::cli {

/// From now on a signal requests a stop of `source`, and the run then removes what it has half written; one that has
/// not ended after 0.7 s is ended at once, as below. Another signal, half a second later or more, has the thread that
/// is returned do so and end the process at once, with interrupted_status() and, with `json`, an object on standard
/// output; sooner it counts as the same, since `timeout`, terminals and launchers send a signal to a process and again
/// to its group. A third one ends the process by itself. Until the thread that is returned is joined. Writing to a pipe
/// that nobody reads any longer is an error of writing.
std::jthread watch_interrupts(std::stop_source& source, bool json);

/// For runs whose results are written when they are stopped, as those of live input: they take the
/// time that this takes.
void finish_when_stopped();

/// While the object lives, a run that was stopped is asked, on the thread that watches, what holds it up: given the
/// seconds since the signal, empty for nothing that may not go on. Else the process ends at once, as above, and says
/// so.
class EndsWhereHeldUp {
 public:
  explicit EndsWhereHeldUp(std::function<std::string(double since_s)> held_up);
  ~EndsWhereHeldUp();
  EndsWhereHeldUp(const EndsWhereHeldUp&) = delete;
  EndsWhereHeldUp& operator=(const EndsWhereHeldUp&) = delete;
};

/// While the object that is returned lives, SIGHUP calls `rotate`, on the thread that watches, and stops nothing.
class HangupsRotate {
 public:
  explicit HangupsRotate(std::function<void()> rotate);
  ~HangupsRotate();
  HangupsRotate(const HangupsRotate&) = delete;
  HangupsRotate& operator=(const HangupsRotate&) = delete;
};

/// The message where a run that was asked to stop had to be ended, instead of the message that nothing was kept.
void say_when_ended(const std::string& text);

/// The exit status of a run that was interrupted: 128 + the signal, as shells have it.
int interrupted_status();

}  // namespace tautline::cli
