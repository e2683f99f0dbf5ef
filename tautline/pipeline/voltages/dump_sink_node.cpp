#include "tautline/pipeline/voltages/dump_sink_node.h"

#include <nlohmann/json.hpp>

#include "tautline/core/error.h"
#include "tautline/formats/numbered_name.h"
#include "tautline/pipeline/voltages/dump_file.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using Json = nlohmann::ordered_json;

Json trigger_record(const Trigger& trigger) {
  Json record{{"kind", trigger.kind}, {"id", trigger.id}};
  if (trigger.sample)
    record["sample"] = *trigger.sample;
  else
    record["time_utc"] = core::to_iso(trigger.time);
  record["before_s"] = trigger.before_s;
  record["after_s"] = trigger.after_s;
  if (trigger.dm > 0) {
    record["dm"] = trigger.dm;
    record["dm_constant"] = trigger.dm_constant;
    record["reference_hz"] = trigger.reference_hz;
  }
  for (const auto& [name, value] : trigger.facts) record[name] = value;
  return record;
}

}  // namespace

// One stretch on its way to a file, which begins with the first sample received.
class DumpSinkNode::Dump {
 public:
  Dump(std::shared_ptr<const Stretch> stretch, const DumpConfig& config, const Stretches& of,
       std::size_t& begun)
      : stretch_(std::move(stretch)), config_(config), of_(of), begun_(begun) {}

  bool failed = false;

  void data(const StretchPiece& piece, std::span<const std::byte> bytes) {
    if (!file_) begin(piece);
    // Samples missing inside the file are zeros.
    file_->fill(static_cast<std::uint64_t>(piece.first - first_) - file_->samples());
    file_->write(piece, bytes);
  }

  void missed(const StretchPiece& piece) {
    missed_.push_back({piece.first, piece.samples, piece.why});
  }

  /// Gives the file and its record their names. False: no samples had come.
  bool end() {
    if (!file_) return false;
    Json missed = Json::array();
    for (const Missed& one : missed_)
      missed.push_back(
          {{"first_sample", one.first - first_}, {"samples", one.samples}, {"why", one.why}});
    file_->finish({{"schema", "tautline.dump"},
                   {"version", 1},
                   {"history", config_.history},
                   {"trigger", trigger_record(stretch_->trigger)},
                   {"wanted_start_utc", core::to_iso(stretch_->start)},
                   {"wanted_samples", stretch_->samples()},
                   {"start_sample", first_},
                   {"missed", missed}});
    return true;
  }

  std::uint64_t samples() const { return file_->samples(); }
  const std::string& path() const { return file_->path(); }

 private:
  struct Missed {
    std::int64_t first = 0;
    std::uint64_t samples = 0;
    std::string why;
  };

  void begin(const StretchPiece& piece) {
    file_ = make_dump_file({.path = formats::numbered_name(config_.path, ++begun_),
                            .overwrite = config_.overwrite,
                            .history = config_.history},
                           of_, piece);
    first_ = piece.first;
  }

  std::shared_ptr<const Stretch> stretch_;
  const DumpConfig& config_;
  const Stretches& of_;
  std::size_t& begun_;
  std::unique_ptr<DumpFile> file_;
  std::int64_t first_ = 0;  // the file's first sample of the stream
  std::vector<Missed> missed_;
};

void require_dumps_can_be_written(const DumpConfig& config) {
  require_dump_name(config.path);
  formats::require_numbered_can_be_written("path", config.path, config.overwrite);
}

DumpSinkNode::DumpSinkNode(DumpConfig config) : config_(std::move(config)) {}
DumpSinkNode::~DumpSinkNode() = default;

std::vector<engine::Stream> DumpSinkNode::open(std::span<const engine::Stream> inputs) {
  of_ = inputs[0].detail<Stretches>();
  require_dumpable(config_.path, of_);
  return {};
}

void DumpSinkNode::process(std::size_t, const engine::Block& block, engine::Outputs&) {
  const engine::Array& array = block.arrays.front();
  take(block.payload_of<StretchPiece>(),
       {static_cast<const std::byte*>(array.data), array.extents[0]});
}

void DumpSinkNode::take(const StretchPiece& piece, std::span<const std::byte> bytes) {
  auto& dump = dumps_[piece.stretch.get()];
  if (!dump) dump = std::make_unique<Dump>(piece.stretch, config_, of_, begun_);
  const bool over = piece.kind == StretchPiece::Kind::end;
  if (!dump->failed) try {
      if (piece.kind == StretchPiece::Kind::data) {
        dump->data(piece, bytes);
      } else if (piece.kind == StretchPiece::Kind::missed) {
        dump->missed(piece);
      } else if (dump->end()) {
        samples_ += dump->samples();
        files_.push_back(dump->path());
      } else {
        ++empty_;
        if (config_.log)
          config_.log(core::LogLevel::warning,
                      "trigger " + piece.stretch->trigger.id + ": nothing came of its stretch");
      }
    } catch (const Error& error) {
      ++failed_;
      if (config_.log)
        config_.log(core::LogLevel::warning,
                    "trigger " + piece.stretch->trigger.id + ": no dump, " + error.what());
      dump = std::make_unique<Dump>(piece.stretch, config_, of_, begun_);  // removes the file
      dump->failed = true;
    }
  if (over) dumps_.erase(piece.stretch.get());
}

engine::Counters DumpSinkNode::counters() const {
  return {{"dumps", files_.size()},
          {"dumped_samples", samples_},
          {"empty_dumps", empty_},
          {"failed_dumps", failed_}};
}

}  // namespace tautline::pipeline
