#include "tautline/pipeline/photons/curve_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "tautline/core/byte_text.h"
#include "tautline/core/error.h"
#include "tautline/core/hash.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/partial_file.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;
using stages::autocorrelate::Coarsening;
using stages::autocorrelate::LagScheme;

constexpr std::string_view kFirstLine = "tautline autocorrelate state 2\n";
constexpr std::size_t kChecksumBytes = 17;  // sixteen digits and the end of their line

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string digest_of(const std::vector<stages::autocorrelate::Pair>& pairs) {
  std::uint64_t value = core::kHashStart;
  for (const auto& pair : pairs)
    value = core::hash(std::to_string(pair.a) + ":" + std::to_string(pair.b) + " ", value);
  return core::hash_name(value);
}

// The sensors of the file that each sensor of the run consists of.
std::string digest_of(const SensorMap& map) {
  std::uint64_t value = core::kHashStart;
  for (const MappedSensor& sensor : map.sensors()) {
    value = core::hash(";", value);
    for (const std::uint32_t member : sensor.members)
      value = core::hash(std::to_string(member) + " ", value);
  }
  return core::hash_name(value);
}

std::string words(const nlohmann::ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

[[noreturn]] void refuse(const std::string& path, const std::string& what, const std::string& found,
                         const std::string& expected) {
  throw formats::format_error(path, what, found, expected,
                              "the state cannot be used: start the run anew");
}

}  // namespace

StateRecord state_record(const CurveStreamConfig& config, const std::string& backend,
                         const CountStream& input, const AutocorrelateConfig& run) {
  const stages::autocorrelate::Config& stage = config.stage;
  StateRecord gate = nullptr;
  if (run.gate_s) gate = {run.gate_s->first, run.gate_s->second};
  // The kernels behind the fields of the stage: they may differ because one of these differs, which is then named.
  return {{"version", TAUTLINE_VERSION},
          {"lags", stage.lag_scheme == LagScheme::chain ? "chain" : "standard"},
          {"bins", stage.bins},
          {"levels", stage.levels},
          {"coarsen", stage.coarsening == Coarsening::sum     ? "sum"
                      : stage.coarsening == Coarsening::first ? "first"
                                                              : "second"},
          {"dtype", core::to_string(stage.type)},
          {"sensors", stage.sensors},
          {"pairs", stage.pairs.empty() ? "auto" : std::to_string(stage.pairs.size())},
          {"which pairs", digest_of(stage.pairs)},
          {"segments", config.segments},
          {"block_samples", stage.max_samples},
          {"kernels", backend},
          {"bin_s", input.bin_s},
          {"sensors of the input", input.description.sensors},
          {"detectors", input.description.labels},
          {"mask and sensors added together", digest_of(*input.sensors)},
          {"gate_s", gate}};
}

StateRecord input_record(const CountStream& input, std::uint64_t samples) {
  if (input.live) return nullptr;
  return {{"file", std::filesystem::weakly_canonical(input.input).string()},
          {"end_sample", input.first + samples}};
}

std::string resume_warning(const StateRecord& before, const CountStream& input) {
  const StateRecord now = input_record(input, 0);
  if (!before.is_object() || !now.is_object() || before["file"] != now["file"]) return {};
  const auto end = before["end_sample"].get<std::uint64_t>();
  const std::uint64_t first = input.first;
  if (end == first) return {};
  const auto seconds = [&](std::uint64_t samples) {
    return fmt::format("{:.9g} s", static_cast<double>(samples) * input.bin_s);
  };
  return fmt::format(
      "{}: the state's part of this file ended at {} (sample {}), and this one begins at "
      "{} (sample {}): {} {}; `start_s` {:.15g} follows on",
      input.input, seconds(end), end, seconds(first), first,
      seconds(end > first ? end - first : first - end),
      end > first ? "may be counted twice" : "are left out",
      static_cast<double>(end) * input.bin_s);
}

std::vector<std::byte> state_bytes(const StateRecord& record, CurveStream& stream) {
  std::vector<std::byte> bytes;
  const auto append = [&](std::span<const std::byte> some) {
    bytes.insert(bytes.end(), some.begin(), some.end());
  };
  const auto append_text = [&](const std::string& text) {
    append(std::as_bytes(std::span(text.data(), text.size())));
  };
  // File names may contain bytes that are not UTF-8.
  const std::string line = record.dump(-1, ' ', false, StateRecord::error_handler_t::replace);
  append_text(std::string(kFirstLine) + line + "\n");
  stream.save(append);
  append_text(core::hash_name(core::hash(text_of(bytes))) + "\n");
  return bytes;
}

void write_state(const std::string& path, bool overwrite, std::span<const std::byte> bytes) {
  formats::PartialFile file(path, overwrite);
  file.write(bytes);
  file.finish();
}

StateFile::StateFile(const std::string& path, std::size_t most_bytes) : path_(path) {
  const formats::InputFile file(path);
  if (file.size() > most_bytes)
    throw Error(ErrorKind::memory, path + ": memory",
                std::to_string((file.size() >> 20) + 1) + " MiB needed",
                "at most " + core::byte_text(most_bytes), "raise `memory_bytes`");
  bytes_ = file.head(static_cast<std::size_t>(file.size()));
  const std::string_view text = text_of(bytes_);
  constexpr std::string_view kAnyVersion = kFirstLine.substr(0, kFirstLine.size() - 2);
  if (!text.starts_with(kAnyVersion))
    refuse(path, "first line", "something else",
           "\"tautline autocorrelate state\", as `save_state` writes it");
  if (!text.starts_with(kFirstLine))
    refuse(path, "version of the state", std::string(text.substr(kAnyVersion.size(), 1)), "2");
  const std::size_t line = text.find('\n', kFirstLine.size());
  if (line == std::string_view::npos || line + 1 + kChecksumBytes > text.size())
    refuse(path, "the file ends", "at byte " + std::to_string(text.size()), "a whole state");
  payload_ = line + 1;
  payload_end_ = text.size() - kChecksumBytes;
  const std::string found = core::hash_name(core::hash(text.substr(0, payload_end_))) + "\n";
  if (text.substr(payload_end_) != found)
    refuse(path, "checksum", "not that of the bytes", "a state that is whole and unchanged");
  record_ =
      StateRecord::parse(text.substr(kFirstLine.size(), line - kFirstLine.size()), nullptr, false);
  if (!record_.is_object() || !record_["block_samples"].is_number_unsigned())
    refuse(path, "second line", "no JSON object", "what run it is");
}

std::size_t StateFile::block_samples() const {
  return record_["block_samples"].get<std::size_t>();
}

StateRecord StateFile::input() const {
  const auto saved = record_.find("input");
  return saved == record_.end() ? StateRecord() : *saved;
}

void StateFile::require(const StateRecord& record) const {
  for (const auto& [key, value] : record.items()) {
    const auto saved = record_.find(key);
    if (saved != record_.end() && *saved == value) continue;
    throw Error(ErrorKind::config, path_ + ": state of another problem: " + key,
                saved == record_.end() ? "missing" : words(*saved),
                words(value) + ", as this run has",
                "resume with the options, the device and the version that saved it");
  }
}

void StateFile::load(CurveStream& stream) const {
  stream.load(std::span<const std::byte>(bytes_).subspan(payload_, payload_end_ - payload_),
              path_ + ": state");
}

}  // namespace tautline::pipeline
