#include "tautline/engine/snapshot.h"

namespace tautline::engine {

std::string to_string(Activity activity) {
  switch (activity) {
    case Activity::starting:
      return "starting";
    case Activity::working:
      return "working";
    case Activity::waiting_for_input:
      return "waiting for input";
    case Activity::waiting_for_room:
      return "waiting for room";
    case Activity::waiting_for_device:
      return "waiting for device";
    case Activity::finished:
      break;
  }
  return "finished";
}

}  // namespace tautline::engine
