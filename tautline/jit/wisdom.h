// Wisdom: the results of tuning, kept on disk for the plans of later runs.
//
// A file of JSON lines, TAUTLINE_CACHE/wisdom.jsonl or the XDG data folder's: one line a result,
// the latest of equal ones counts. Lines may be copied from one machine to another.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/device/device.h"
#include "tautline/jit/configuration.h"
#include "tautline/jit/space.h"
#include "tautline/jit/tunable.h"

namespace tautline::jit {

struct WisdomEntry {
  TuningKey key;
  Configuration configuration;
  double seconds = 0;  ///< of one run: the median of the rounds between the best few
  double spread = 0;
  double default_seconds = 0;  ///< of the default configuration; 0 when it cannot run here
  std::string date;            ///< UTC, as 2026-03-20T14:00:00Z
  std::string version;         ///< tautline's
};

/// In data_folder(). Empty when there is no such folder.
std::filesystem::path wisdom_path();

/// Adds a line; fills in the entry's date and version. Several processes may add at once. Throws
/// Error(io).
void append_wisdom(const std::filesystem::path& path, WisdomEntry entry);

struct Wisdom {
  std::vector<WisdomEntry> entries;  ///< in the order in which they were written
  std::size_t damaged_lines = 0;     ///< lines that were ignored
};
/// Throws Error(io) when the file exists and cannot be read.
Wisdom read_wisdom(const std::filesystem::path& path);

struct Choice {
  enum class Source { tuned, nearest, default_configuration };
  Configuration configuration;
  Source source = Source::default_configuration;
  /// For a plan's backend(): "tuned", "tuned for inputs=64 samples=3072", "default".
  std::string note;
  /// With the default: the sizes of the nearest tuned problem, where it was not near enough.
  std::string too_far;
  /// With the default: the gain of the nearest tuned problem's winner over the default, also with
  /// other kernel files. 1: unknown.
  double known_gain = 1;
};

/// A plan takes the configuration of a tuned problem if no size differs by more than this factor.
/// Winners hold for the measured problem: within an octave of it the shape of the work (the number
/// of groups, the data that fit into shared memory) is nearly the same; beyond it the default,
/// which a stage may find by counting, is the safer choice.
inline constexpr double kNearSizes = 2;

/// The least known gain of tuning for which a run advises it.
inline constexpr double kGainToAdvise = 1.05;

/// The configuration that was tuned for exactly this key; else the configuration of the nearest
/// problem of the same stage, variant, api, product and kernel hash of which no size differs by
/// more than kNearSizes, if it is legal here; else the default. Driver and compiler may differ. The
/// distance of two problems is that of the logarithms of their sizes; problems with other names of
/// sizes are not compared.
Choice choose(const Wisdom& wisdom, const TuningKey& key, const Space& space);

/// The same with the user's wisdom. The choice is logged to the device for debugging; where tuning
/// is known to gain kGainToAdvise the log has advice, once for a stage and variant; a file that
/// cannot be read and damaged lines are warnings, once.
Choice choose(const device::Device& device, const TuningKey& key, const Space& space);

/// Calls make(configuration, note) with the result of choose(); without values when that is the
/// default, or, with a warning, when the plan with those values cannot be made.
template <class Make>
auto make_tuned(const device::Device& device, const TuningKey& key, const Space& space,
                const Make& make) {
  const Choice choice = choose(device, key, space);
  if (choice.source == Choice::Source::default_configuration)
    return make(Configuration{}, choice.note);
  try {
    return make(choice.configuration, choice.note);
  } catch (const core::Error& error) {
    device.shared().warn_once("what tuning found for " + key.stage +
                              " does not work here any more (" + error.what() +
                              "): taking the default");
    return make(Configuration{}, std::string("default"));
  }
}

}  // namespace tautline::jit
