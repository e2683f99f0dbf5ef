#include "tautline/formats/toml/toml_kind.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace tautline::formats {

namespace {

// Fields between backquotes become options, in the command also those of other commands.
struct KindWords {
  const char *name, *taken_by;
  const char *types = "", *field = "";  // of the nodes of a pipeline that take it
};

KindWords words_of(TomlKind kind) {
  switch (kind) {
    case TomlKind::array:
      return {"an array of antennas",
              "correlate, delays and simulate voltages take it as `array_path`",
              "filter_bank, correlator and simulated_voltages", "array_path"};
    case TomlKind::scene:
      return {"a scene of voltages", "simulate voltages takes it as `scene`", "simulated_voltages",
              "scene_path"};
    case TomlKind::filterbank_scene:
      return {"a scene of a filterbank", "simulate filterbank takes it as `scene`"};
    case TomlKind::delays:
      return {"a table of delays", "correlate and channelize take it as `delays_path`",
              "filter_bank and correlator", "delays_path"};
    case TomlKind::pipeline:
      return {"a pipeline", "tautline run takes it"};
    case TomlKind::unknown:
      break;
  }
  return {"TOML of another kind", ""};
}

bool has_any(const TomlTable& file, const std::vector<std::string_view>& keys) {
  return std::any_of(keys.begin(), keys.end(), [&](auto key) { return file.has(key); });
}

bool is_pipeline(const TomlTable& file) {
  const std::vector<std::string> names = file.keys();
  return !names.empty() && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return file.is_table(name) && file.table(name).has("type");
  });
}

}  // namespace

TomlKind toml_kind(const TomlTable& file) {
  if (is_pipeline(file)) return TomlKind::pipeline;
  if (file.has("antenna")) return TomlKind::array;
  if (has_any(file, {"delay", "phase_centre"})) return TomlKind::delays;
  if (has_any(file, {"nchans", "fch1_mhz", "foff_mhz", "pulse", "impulse", "carrier"}))
    return TomlKind::filterbank_scene;
  if (has_any(file, {"source", "tone", "missing", "centre_hz", "bandwidth_hz", "noise_rms"}))
    return TomlKind::scene;
  return TomlKind::unknown;
}

void require_kind(const TomlTable& file, const std::string& path, TomlKind expected) {
  const TomlKind kind = toml_kind(file);
  if (kind == expected || kind == TomlKind::unknown) return;
  const KindWords words = words_of(kind);
  std::string advice = words.taken_by;
  if (expected == TomlKind::pipeline && *words.field != '\0')
    advice = std::string("in a pipeline, nodes of type ") + words.types +
             " take it: " + words.field + " = \"" + path + "\"";
  throw core::Error(core::ErrorKind::format, path + ": kind of file", words.name,
                    words_of(expected).name, advice);
}

}  // namespace tautline::formats
