#include "tautline/jit/wisdom.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/jit/folders.h"
#include "tautline/jit/json.h"
#include "tautline/jit/line_file.h"

namespace tautline::jit {

namespace {

constexpr const char* kSchema = "tautline.wisdom";
constexpr int kVersion = 1;

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, size};
}

Json entry_object(const WisdomEntry& entry) {
  Json object{{"schema", kSchema}, {"version", kVersion}};
  object.update(key_object(entry.key));
  object.update(Json{{"configuration", entry.configuration},
                     {"seconds", entry.seconds},
                     {"spread", entry.spread},
                     {"default_seconds", entry.default_seconds},
                     {"date", entry.date},
                     {"tautline", entry.version}});
  return object;
}

WisdomEntry entry_of(const Json& object) {
  if (object.at("schema").get<std::string>() != kSchema ||
      object.at("version").get<int>() != kVersion)
    throw core::Error(core::ErrorKind::format, "wisdom", "another schema", kSchema);
  return {key_of(object),
          object.at("configuration").get<Configuration>(),
          object.at("seconds").get<double>(),
          object.at("spread").get<double>(),
          object.at("default_seconds").get<double>(),
          object.at("date").get<std::string>(),
          object.at("tautline").get<std::string>()};
}

bool same_variant_and_device(const TuningKey& a, const TuningKey& b) {
  return a.stage == b.stage && a.variant == b.variant && a.api == b.api && a.product == b.product;
}

bool same_code_and_device(const TuningKey& a, const TuningKey& b) {
  return same_variant_and_device(a, b) && a.kernel_hash == b.kernel_hash;
}

// Infinite between problems of which the names of the sizes differ.
struct Distance {
  double total = std::numeric_limits<double>::infinity();  // of all sizes together
  double largest = total;                                  // of one size
};

Distance distance(const Sizes& a, const Sizes& b) {
  if (a.size() != b.size()) return {};
  double squares = 0, largest = 0;
  for (auto x = a.begin(), y = b.begin(); x != a.end(); ++x, ++y) {
    if (x->first != y->first || x->second == 0 || y->second == 0) return {};
    const double ratio = std::log2(static_cast<double>(x->second) / static_cast<double>(y->second));
    squares += ratio * ratio;
    largest = std::max(largest, std::fabs(ratio));
  }
  return {std::sqrt(squares), largest};
}

void report(const device::Device& device, const TuningKey& key, const Choice& choice) {
  const std::string what = key.stage + " " + key.variant + " " + describe(key.problem);
  auto& shared = device.shared();
  if (choice.source == Choice::Source::tuned) {
    shared.log_once(core::LogLevel::debug, what + ": tuned, " + describe(choice.configuration));
    return;
  }
  std::string takes = "takes the default";
  if (choice.source == Choice::Source::nearest) takes = "takes what was " + choice.note;
  if (!choice.too_far.empty())
    takes += " (what was tuned for " + choice.too_far +
             " is too far: a size differs by more than a factor of 2)";
  shared.log(core::LogLevel::debug, what + " is not tuned on " + key.product + ": " + takes);
  // The message is the same for all problems of a run, and is therefore given once.
  if (choice.known_gain >= kGainToAdvise)
    shared.log_once(core::LogLevel::advice,
                    key.stage + " " + key.variant + " is not tuned on " + key.product +
                        " for these sizes, where tuning has gained 5 % or more; `tautline tune " +
                        key.stage + "` may find better");
}

// The gain of the nearest problem's entry, also of kernels that have changed since: the gain of a
// search hardly changes.
double known_gain(const Wisdom& wisdom, const TuningKey& key) {
  double gain = 1, least = std::numeric_limits<double>::infinity();
  for (const WisdomEntry& entry : wisdom.entries) {
    const double total = distance(entry.key.problem, key.problem).total;
    if (!same_variant_and_device(entry.key, key) || !(total <= least) || !std::isfinite(total))
      continue;
    least = total;
    gain = entry.seconds > 0 ? entry.default_seconds / entry.seconds : 1;
  }
  return gain;
}

}  // namespace

std::filesystem::path wisdom_path() {
  const auto folder = data_folder();
  return folder.empty() ? folder : folder / "wisdom.jsonl";
}

void append_wisdom(const std::filesystem::path& path, WisdomEntry entry) {
  if (path.empty())
    throw core::Error(core::ErrorKind::io, "wisdom", "no folder to keep it in",
                      "HOME, XDG_DATA_HOME or TAUTLINE_CACHE to be set");
  entry.date = now_utc();
  entry.version = TAUTLINE_VERSION;
  append_line(path, one_line(entry_object(entry)));
}

Wisdom read_wisdom(const std::filesystem::path& path) {
  Wisdom wisdom;
  for (const std::string& line : read_lines(path)) {
    try {
      wisdom.entries.push_back(read_json(line, "wisdom", entry_of));
    } catch (const core::Error&) {
      ++wisdom.damaged_lines;
    }
  }
  return wisdom;
}

Choice choose(const Wisdom& wisdom, const TuningKey& key, const Space& space) {
  const WisdomEntry *nearest = nullptr, *far = nullptr;
  double nearest_distance = std::numeric_limits<double>::infinity();
  double far_distance = nearest_distance;
  for (const WisdomEntry& entry : wisdom.entries) {
    if (!same_code_and_device(entry.key, key) || !space.legal(entry.configuration)) continue;
    const Distance d = distance(entry.key.problem, key.problem);
    if (!std::isfinite(d.total)) continue;
    const bool near = d.largest <= std::log2(kNearSizes);
    // Of equally near problems the later entry.
    if (near && d.total <= nearest_distance) {
      nearest = &entry;
      nearest_distance = d.total;
    } else if (!near && d.total <= far_distance) {
      far = &entry;
      far_distance = d.total;
    }
  }
  if (nearest == nullptr)
    return {space.default_configuration(), Choice::Source::default_configuration, "default",
            far == nullptr ? std::string() : describe(far->key.problem), known_gain(wisdom, key)};
  if (nearest_distance == 0) return {nearest->configuration, Choice::Source::tuned, "tuned", {}};
  return {nearest->configuration,
          Choice::Source::nearest,
          "tuned for " + describe(nearest->key.problem),
          {}};
}

Choice choose(const device::Device& device, const TuningKey& key, const Space& space) {
  Wisdom wisdom;
  const auto path = wisdom_path();
  try {
    if (!path.empty()) wisdom = read_wisdom(path);
  } catch (const core::Error& error) {
    device.shared().warn_once(std::string("no wisdom: ") + error.what());
  }
  if (wisdom.damaged_lines > 0)
    device.shared().warn_once(path.string() + ": " + std::to_string(wisdom.damaged_lines) +
                              " damaged lines passed over");
  Choice choice = choose(wisdom, key, space);
  report(device, key, choice);
  return choice;
}

}  // namespace tautline::jit
