#include "tautline/pipeline/voltages/record_sink_node.h"

#include <algorithm>
#include <memory>

#include "tautline/core/error.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

std::vector<engine::Stream> RecordSinkNode::open(std::span<const engine::Stream> inputs) {
  description_ = inputs[0].detail<RawVoltages>().description;
  require_recordable(config_.path, description_);
  most_samples_ = parts_.most_samples(description_.rate_hz, time_bytes_of(description_));
  return {};
}

// A file has one start time.
void RecordSinkNode::begin_segment(std::size_t, const engine::Block& first, engine::Outputs&) {
  if (!file_) return;
  if (!parts_.several())
    throw core::Error(
        core::ErrorKind::format, "inputs", "a gap before " + core::to_iso(first.segment_start),
        "one unbroken stream in one file", "set `each_s`: files then end at gaps, too");
  end_file();
}

// Blocks are split where a file is full, so that files do not depend on the block size.
void RecordSinkNode::process(std::size_t, const engine::Block& block, engine::Outputs& outputs) {
  const auto& raw = block.payload_of<core::RawBlock>();
  if (outputs.rotations() != rotations_ && file_ && parts_.several()) end_file();
  rotations_ = outputs.rotations();
  for (std::size_t done = 0; done < block.samples;) {
    if (file_ && file_->samples() >= most_samples_) end_file();
    if (!file_) {
      core::VoltageDescription description = description_;
      description.format = raw.layout.format;
      description.start = core::advance(
          block.segment_start, static_cast<std::int64_t>(block.first + done), description.rate_hz);
      file_.emplace(
          VoltageRecordOptions{
              .path = parts_.begin(), .overwrite = config_.overwrite, .history = config_.history},
          description);
    }
    const auto samples = static_cast<std::size_t>(
        std::min<std::uint64_t>(block.samples - done, most_samples_ - file_->samples()));
    file_->write({raw.bytes.data(), raw.bytes.size()}, raw.layout, done, samples, raw.invalid);
    done += samples;
    samples_ += samples;
  }
}

void RecordSinkNode::end_file() {
  file_->finish({{"schema", "tautline.record"}, {"version", 1}, {"history", config_.history}});
  files_.push_back(file_->path());
  file_.reset();
}

// An output without a single time is a mistake, not a result.
void RecordSinkNode::finish(engine::Outputs&) {
  if (samples_ == 0)
    throw core::Error(core::ErrorKind::format, "voltages", "0 samples", "1 at least");
}

void RecordSinkNode::publish() {
  if (file_) end_file();
}

struct VoltageRecordFile {
  std::string path;
  PartLimits parts;
};
const core::Fields<VoltageRecordFile>& fields(const VoltageRecordFile&) {
  using C = VoltageRecordFile;
  static const auto all =
      core::Fields<C>()
          .add({.name = "path", .help = "the file that is written, .dada or .vdif"}, &C::path)
          .include("", &C::parts, fields_of<PartLimits>());
  return all;
}

NodeType record_node_type() {
  return sink_type<VoltageRecordFile>(
             "voltage_record", "voltages as they come, to .dada or .vdif", 1,
             [](const VoltageRecordFile& config, const engine::Graph&, const engine::Port&,
                const NodeContext& context) {
               require_record_name(config.path);
               FileParts(config.path, config.parts)
                   .require_can_be_written("path", context.overwrite);
               return std::make_unique<RecordSinkNode>(
                   RecordConfig{config.path, config.parts, context.overwrite, context.history});
             })
      .writing({"path"});
}

}  // namespace tautline::pipeline
