#include "tautline/pipeline/checkpoint.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/hash.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/partial_file.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;
using Json = nlohmann::ordered_json;

constexpr std::string_view kFirstLine = "tautline checkpoint 1\n";
constexpr std::size_t kChecksumBytes = 17;  // sixteen digits and the end of their line
constexpr std::uint64_t kMostBytes = 64 << 20;

Json place_json(const StreamPlace& place) {
  const core::Instant& start = place.segment_start;
  return {{"segment_s", start.seconds},
          {"segment_fraction", {start.fraction_numerator, start.fraction_denominator}},
          {"sample", place.sample}};
}

StreamPlace place_of(const Json& json) {
  const Json& fraction = json.at("segment_fraction");
  return {{json.at("segment_s").get<std::int64_t>(), fraction.at(0).get<std::int64_t>(),
           fraction.at(1).get<std::int64_t>()},
          json.at("sample").get<std::uint64_t>()};
}

// Names of files may hold bytes that are no UTF-8.
std::string text_of(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Checkpoint::Checkpoint(std::string path) : path_(std::move(path)) {
  if (std::filesystem::exists(path_)) read();
  formats::require_can_be_written("checkpoint", path_, true);
}

void Checkpoint::read() {
  const auto refuse = [&](const std::string& found) {
    throw Error(ErrorKind::format, path_, found, "a whole checkpoint of this version",
                "give another name, or remove it to begin anew");
  };
  const formats::InputFile file(path_);
  if (file.size() > kMostBytes) refuse("another file");
  const auto bytes = file.head(static_cast<std::size_t>(file.size()));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kFirstLine)) refuse("another file");
  if (text.size() < kFirstLine.size() + kChecksumBytes) refuse("a file that was cut short");
  const std::string_view whole = text.substr(0, text.size() - kChecksumBytes);
  if (text.substr(whole.size()) != core::hash_name(core::hash(whole)) + "\n")
    refuse("a file whose checksum is not that of its bytes");
  const Json json = Json::parse(whole.substr(kFirstLine.size()));
  over_ = json.at("over").get<bool>();
  files_ = json.at("files").get<std::size_t>();
  if (json.contains("next")) next_ = place_of(json["next"]);
  facts_ = json.at("facts").get<std::map<std::string, std::string>>();
  goes_on_ = true;
}

void Checkpoint::require_same(const std::map<std::string, std::string>& given) {
  const auto facts = Json::parse(text_of(given)).get<std::map<std::string, std::string>>();
  const auto before = std::exchange(facts_, facts);
  if (!goes_on_ || before == facts) return;
  if (files_ == 0) {  // nothing that another run could spoil
    goes_on_ = false;
    return;
  }
  const auto text = [](const std::map<std::string, std::string>& all, const std::string& name) {
    const auto found = all.find(name);
    return found == all.end() ? std::string("not given") : found->second;
  };
  std::map<std::string, std::string> names = facts;
  names.insert(before.begin(), before.end());
  for (const auto& [name, any] : names)
    if (text(facts, name) != text(before, name))
      throw Error(ErrorKind::config, name, text(facts, name),
                  text(before, name) + ", as in the run that " + path_ + " is of",
                  "go on as it was, or give other names for the files and the checkpoint");
}

void Checkpoint::save() const {
  Json json{{"over", over_}, {"files", files_}};
  if (next_) json["next"] = place_json(*next_);
  json["facts"] = facts_;
  const std::string text = std::string(kFirstLine) + text_of(json) + "\n";
  formats::PartialFile file(path_, true);
  file.write(text + core::hash_name(core::hash(text)) + "\n");
  file.finish();
}

void Checkpoint::finished(const std::string& file, std::size_t files,
                          const std::optional<StreamPlace>& next) {
  // After a power cut, too, no checkpoint says more than lies on the disk.
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  formats::flush_to_disk(folder.empty() ? "." : folder.string());
  files_ = files;
  next_ = next;
  over_ = !next;
  save();
}

}  // namespace tautline::pipeline
