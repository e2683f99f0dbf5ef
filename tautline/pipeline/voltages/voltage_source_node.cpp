#include "tautline/pipeline/voltages/voltage_source_node.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/threads.h"
#include "tautline/engine/block_pool.h"
#include "tautline/formats/recorded_spectra.h"
#include "tautline/formats/voltage_reader.h"
#include "tautline/pipeline/time_reading.h"
#include "tautline/pipeline/voltages/clipped_text.h"
#include "tautline/pipeline/voltages/data_warnings.h"
#include "tautline/pipeline/voltages/empty_text.h"
#include "tautline/pipeline/voltages/step_text.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

namespace {

// Blocks of files: one is read, the one before is searched, and one waits for what that finds.
constexpr std::size_t kOpenOfFiles = 3;

constexpr std::size_t kLookingThreads = 8;  // for channels that stop, in blocks of files

// Whether a block's last samples are its last bytes: time is the slowest axis, in whole bytes.
bool ends_with_last_samples(const core::RawLayout& layout) {
  const std::size_t last = (layout.channels - 1) * layout.channel_stride_bits +
                           (layout.antennas - 1) * layout.antenna_stride_bits +
                           (layout.polarisations - 1) * layout.polarisation_stride_bits;
  return layout.time_stride_bits % 8 == 0 && last < layout.time_stride_bits;
}

}  // namespace

VoltageSourceNode::VoltageSourceNode(VoltageSourceConfig config)
    : VoltageSourceNode(std::move(config), nullptr) {}

VoltageSourceNode::VoltageSourceNode(VoltageSourceConfig config,
                                     std::shared_ptr<formats::ForwardBytes> piped)
    : config_(std::move(config)) {
  if (piped) {
    live_ = std::make_shared<stream::PeekedVoltages>(
        std::make_unique<stream::PipedVoltages>(std::move(piped), config_.options));
    stream_ = live_;
  } else {
    stream_ = std::make_shared<stream::VoltageSequence>(config_.files, config_.options);
  }
  if (!config_.device) levels_.emplace(stream_->description(), stream_->total_samples());
  if (config_.options.keep_constant) return;
  if (config_.device)
    throw core::Error(core::ErrorKind::config, "keep_constant", "false",
                      "true where samples lie in a device's memory");
  finder_.emplace(stream_->description());
  if (stream_->description().channelized())
    channels_.emplace(stream_->description(), live_ ? 1 : kLookingThreads);
}

VoltageSourceNode::VoltageSourceNode(std::shared_ptr<stream::PeekedVoltages> live,
                                     bool keep_constant, core::LogSink log)
    : stream_(live), live_(std::move(live)) {
  config_.log = std::move(log);
  config_.options.keep_constant = keep_constant;
  levels_.emplace(stream_->description(), stream_->total_samples());
  if (keep_constant) return;
  finder_.emplace(stream_->description());
  if (stream_->description().channelized()) channels_.emplace(stream_->description());
}

VoltageSourceNode::VoltageSourceNode(std::unique_ptr<stream::PacketVoltages> packets,
                                     bool keep_constant, core::LogSink log,
                                     formats::RecordedSpectra recorded)
    : packets_(packets.get()),
      block_samples_(packets->block_samples()),
      edges_(std::move(recorded.edge_channels)) {
  rounded_bits_ = recorded.requantised_bits;
  clipped_before_ = recorded.clipped;
  if (!recorded.gains.empty())
    gains_ = std::make_shared<const std::vector<float>>(std::move(recorded.gains));
  live_ = std::make_shared<stream::PeekedVoltages>(std::move(packets));
  stream_ = live_;
  config_.log = std::move(log);
  config_.options.keep_constant = true;  // whole inputs: blocks are handed on as they come
  if (!keep_constant && stream_->description().channelized())
    channels_.emplace(stream_->description());
}

stream::EmptyVoltages VoltageSourceNode::empty() const {
  stream::EmptyVoltages empty = finder_ ? finder_->found() : stream::EmptyVoltages();
  empty.inputs.resize(stream_->description().inputs());
  if (!channels_) return empty;
  empty.values = channels_->values();
  empty.channels = channels_->found();
  return empty;
}

// What simulates may leave out the imaginary parts.
stream::RecordedLevels VoltageSourceNode::levels() const {
  stream::RecordedLevels levels = levels_ ? levels_->levels() : stream::RecordedLevels();
  if (config_.options.keep_constant)
    for (stream::RecordedLevel& one : levels.inputs) one.differ = {};
  return levels;
}

// Threads of the stream may use blocks of this node's output, and others may keep the stream for longer.
VoltageSourceNode::~VoltageSourceNode() {
  if (packets_ != nullptr) packets_->abandon();
}

void VoltageSourceNode::set_first_block_samples(std::size_t samples) {
  const bool found_alike = !finder_ || samples > finder_->least_repeats();
  if (!live_ && found_alike && stream_->layout(samples) == stream_->layout(block_samples_))
    first_block_samples_ = samples;
}

engine::ArrayType VoltageSourceNode::bytes_of_blocks() const {
  return {"bytes", core::SampleType::u8, {"byte"}, {stream_->block_bytes(block_samples_)}};
}

std::vector<engine::Stream> VoltageSourceNode::open(std::span<const engine::Stream>) {
  const core::VoltageDescription& description = stream_->description();
  if (!live_ && !looked_) look_at_files();
  return {{.kind = "raw voltages",
           .arrays = {bytes_of_blocks()},
           .rate_hz = description.rate_hz,
           .start = description.start,
           .total_samples = stream_->total_samples(),
           .max_samples = block_samples_,
           .device = config_.device,
           .pace = config_.rate,
           .open_blocks = packets_ != nullptr ? packets_->open_blocks()
                          : !finder_          ? std::size_t{1}
                          : live_             ? std::size_t{2}
                                              : kOpenOfFiles,
           .details = RawVoltages{description, stream_->layout(block_samples_), stream_->end(),
                                  stream_->files(), config_.options, live_, constant_, edges_,
                                  gains_, rounded_bits_}}};
}

// Once, though a graph is opened several times.
void VoltageSourceNode::look_at_files() {
  looked_ = true;
  const core::VoltageDescription& description = stream_->description();
  if (channels_) {
    constant_ = stream::find_constant_channels(config_.files, config_.options.reader);
    for (const stream::ConstantChannel& one : constant_)
      channels_->leave_out(one.channel, one.input);
  }
  std::set<std::size_t> edges;
  for (const std::string& file : config_.files) {
    nlohmann::json record = formats::record_beside(file);
    if (formats::is_of_channelize(record) &&
        !formats::other_file_text(
             record, file, formats::open_voltages(file, config_.options.reader)->total_samples())
             .empty())
      record = nullptr;
    auto recorded =
        formats::recorded_spectra(record, file, description.channels, description.inputs());
    edges.insert(recorded.edge_channels.begin(), recorded.edge_channels.end());
    unchanging_ += recorded.unchanging;
    clipped_before_ += recorded.clipped;
    if (&file == &config_.files.front()) {
      rounded_bits_ = recorded.requantised_bits;
      if (!recorded.gains.empty())
        gains_ = std::make_shared<const std::vector<float>>(std::move(recorded.gains));
    } else if (recorded.gains != (gains_ ? *gains_ : std::vector<float>())) {
      throw core::Error(core::ErrorKind::unsupported, file,
                        "other `requantisation_gains` in its record than " + config_.files.front(),
                        "files of spectra that were rounded with the same gains",
                        "take each by itself, or `channelize` their voltages in one run");
    }
  }
  edges_.assign(edges.begin(), edges.end());
}

// Another node reads part of the same files into a few blocks in turn.
std::optional<engine::Load> VoltageSourceNode::expected_load() const {
  if (live_ || config_.rate > 0) return {};
  const double rate_hz = stream_->description().rate_hz.value();
  const PartToRead part =
      part_to_read(stream_->total_samples(), block_samples_,
                   std::max<std::size_t>(1, stream_->block_bytes(block_samples_) / block_samples_));
  VoltageSourceConfig config{config_.files, config_.options};
  config.options.start_s += static_cast<double>(part.first) / rate_hz;
  config.options.duration_s = static_cast<double>(part.samples) / rate_hz;
  VoltageSourceNode node(config);
  node.set_block_samples(block_samples_);
  engine::BlockPool pool({.kind = {}, .arrays = {node.bytes_of_blocks()}}, kOpenOfFiles, 0,
                         nullptr);
  pool.allocate();
  std::array<engine::PooledBlock*, kOpenOfFiles> blocks;
  for (engine::PooledBlock*& block : blocks) {
    block = pool.take(false);
    std::memset(block->arrays.front().data, 0, block->arrays.front().extents[0]);
  }
  return time_reading(rate_hz, [&]() -> std::size_t {
    std::ranges::rotate(blocks, blocks.begin() + 1);
    engine::Block& block = *blocks.front();
    block.arrays.front().extents[0] = node.bytes_of_blocks().extents[0];
    node.take(block);
    return node.ended_ ? 0 : block.samples;
  });
}

void VoltageSourceNode::start(engine::Outputs& outputs) {
  if (config_.log && !stream_->files().empty()) {
    const core::VoltageDescription& description = stream_->description();
    const std::string& file = stream_->files().front();
    if (description.centre_hz == 0)
      config_.log(core::LogLevel::warning, unknown_frequency_message(file));
    if (description.start == core::Instant{})
      config_.log(core::LogLevel::warning, unknown_start_message(file));
    if (!description.assumed.empty())
      config_.log(core::LogLevel::warning, file + ": " + description.assumed);
  }
  if (!live_ && !config_.options.keep_constant)
    steps_ = stream::find_voltage_steps(config_.files, config_.options, outputs.stop());
  stream_->start(outputs.stop(), [&outputs](bool waits) { outputs.waits_for_others(waits); });
}

// After the stop of a live stream: the samples that had come.
void VoltageSourceNode::finish(engine::Outputs& outputs) {
  while (live_ && !ended_) produce(outputs);
  find_steps_inside();
  clipped_inputs_ = levels().clipped().size();
  if (!config_.log) return;
  for (const std::string& message : stream_->damage().not_logged())
    config_.log(core::LogLevel::warning, message);
  // The array, whose names of the inputs others give, is not known here.
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < stream_->description().inputs(); ++i)
    numbers.push_back(std::to_string(i));
  const std::string empty = empty_text(this->empty(), samples_, numbers);
  if (!empty.empty())
    config_.log(core::LogLevel::warning, "samples that never change, taken for lost: " + empty);
  const std::string constant = constant_text(constant_, numbers);
  if (!constant.empty()) config_.log(core::LogLevel::warning, "never change: " + constant);
  if (unchanging_ > 0) config_.log(core::LogLevel::warning, unchanging_text(unchanging_));
  const std::string steps = level_steps_text(steps_, numbers);
  if (!steps.empty())
    config_.log(core::LogLevel::warning, "steps of level, left as they are: " + steps);
  const std::string clipped = clipped_text(levels(), numbers);
  if (!clipped.empty()) config_.log(core::LogLevel::warning, clipped);
  const std::string still = still_parts_text(levels(), numbers);
  if (!still.empty()) config_.log(core::LogLevel::warning, still);
}

// Those where files join are known already, by name.
void VoltageSourceNode::find_steps_inside() {
  if (!levels_ || config_.options.keep_constant) return;
  std::vector<stream::VoltageStep> steps = steps_;
  const double skipped_s =
      std::max(0.0, config_.options.start_s) +
      static_cast<double>(stream_->skipped_gap_samples()) / stream_->description().rate_hz.value();
  for (stream::VoltageStep& step : levels_->steps()) {
    step.time_s += skipped_s;
    for (const stream::VoltageStep& join : steps_) {
      const std::uint64_t apart =
          std::max(step.sample, join.sample) - std::min(step.sample, join.sample);
      if (apart > step.within_samples) continue;
      std::erase_if(step.inputs, [&](const stream::InputStep& one) {
        return std::ranges::find(join.inputs, one.input, &stream::InputStep::input) !=
               join.inputs.end();
      });
    }
    steps.push_back(std::move(step));
  }
  for (stream::VoltageStep& step : steps)
    std::erase_if(step.inputs,
                  [&](const stream::InputStep& one) { return is_of_a_channel(step, one); });
  std::erase_if(steps, [](const stream::VoltageStep& step) { return step.inputs.empty(); });
  std::ranges::stable_sort(steps, {}, &stream::VoltageStep::sample);
  steps_ = std::move(steps);
}

// A channel that stops or comes back changes the power of its input, and is named as such. Where it stopped is known to
// the repeats that tell, where blocks are short.
bool VoltageSourceNode::is_of_a_channel(const stream::VoltageStep& step,
                                        const stream::InputStep& of) const {
  return channels_ && channels_->turned(of.input, step.sample,
                                        2 * step.within_samples + channels_->least_repeats());
}

// Peeked samples are copied to the run's blocks; later packets are placed in them.
bool VoltageSourceNode::place_packets(engine::Outputs& outputs) {
  if (live_->hand_over() && packets_->all_read()) {
    packets_->place_in(outputs, channels_ ? &*channels_ : nullptr);
    return packets_->receive();
  }
  engine::Block& block = outputs.begin();
  if (fill(block)) find_empty_channels(block, nullptr);
  outputs.commit();
  return true;
}

bool VoltageSourceNode::produce(engine::Outputs& outputs) {
  if (packets_ != nullptr) {
    ended_ = !place_packets(outputs);
    return !ended_;
  }
  engine::Block& block = outputs.begin();
  // Until work on the device has read what the block had.
  if (config_.device) outputs.queue(config_.device).synchronise();
  for (std::size_t complete = take(block); complete > 0; --complete) outputs.commit();
  return !ended_;
}

// Fills the next block, and returns how many are complete by that. Files are read while the block before is searched;
// live samples are searched at once.
std::size_t VoltageSourceNode::take(engine::Block& block) {
  std::size_t complete = 0;
  bool more = false;
  if (read_ != nullptr)
    core::in_pieces(2, 2, [&](std::size_t piece, std::size_t, std::size_t) {
      if (piece == 0)
        more = fill(block);
      else
        complete = search();
    });
  else
    more = fill(block);
  ended_ = !more;
  if (!finder_) {
    if (more) look_at_levels(block);
    return more ? 1 : 0;
  }
  read_ = more ? &block : nullptr;
  if (more && live_) complete = search();
  if (more || held_ == nullptr) return complete;
  look_at(*held_, nullptr);
  held_ = nullptr;
  return complete + 1;
}

// Searches the block that was read for empty stretches, which may have begun in the block before: that one is complete
// now. Returns their number, 0 or 1.
std::size_t VoltageSourceNode::search() {
  const bool follows_on = held_ != nullptr && held_->segment == read_->segment;
  finder_->look(read_->payload_of<core::RawBlock>(),
                follows_on ? &held_->payload_of<core::RawBlock>() : nullptr);
  if (held_ != nullptr) look_at(*held_, read_);
  return std::exchange(held_, std::exchange(read_, nullptr)) != nullptr ? 1 : 0;
}

// All empty stretches of the block are known.
void VoltageSourceNode::look_at(engine::Block& block, engine::Block* next) {
  find_empty_channels(block, next);
  look_at_levels(block);
}

void VoltageSourceNode::find_empty_channels(engine::Block& block, engine::Block* next) {
  block.valid = {};
  if (channels_)
    channels_->look(block.payload_of<core::RawBlock>(), block.valid,
                    next != nullptr ? &next->payload_of<core::RawBlock>() : nullptr);
}

// All invalid samples of the block are known.
void VoltageSourceNode::look_at_levels(const engine::Block& block) {
  if (levels_)
    levels_->look(block.payload_of<core::RawBlock>(), block.segment, block.segment_start);
}

// False: there are no more samples.
bool VoltageSourceNode::fill(engine::Block& block) {
  engine::Array& bytes = block.arrays.front();
  auto& raw = block.payload_of<core::RawBlock>();
  raw.bytes.lend({static_cast<std::byte*>(bytes.data), bytes.extents[0]});
  stream::SegmentPlace segment;
  const bool first = samples_ == 0 && first_block_samples_ > 0;
  block.samples = stream_->read(first ? first_block_samples_ : block_samples_, raw, segment);
  if (block.samples == 0) return false;
  if (segment.first_block) next_ = 0;
  if (segment.first_block && segment.index > 0 && config_.unbroken)
    throw core::Error(core::ErrorKind::format, "inputs", "a gap between the files",
                      "one unbroken stream, since the output has one start time",
                      "channelize each piece on its own");
  bytes.extents[0] = raw.bytes.size();
  if (ends_with_last_samples(raw.layout))  // a short block keeps the capacity of a whole one
    bytes.extents[0] =
        std::min(bytes.extents[0],
                 (raw.layout.offset_bits + block.samples * raw.layout.time_stride_bits + 7) / 8);
  block.segment = segment.index;
  block.segment_start = segment.start;
  block.first = next_;
  next_ += block.samples;
  samples_ += block.samples;
  return true;
}

engine::Counters VoltageSourceNode::counters() const {
  const formats::Damage damage = stream_->damage();
  engine::Counters counters{{"samples", samples()},
                            {"lost_samples", damage.lost_samples},
                            {"dropped_samples", damage.dropped_samples},
                            {"trailing_bytes", damage.trailing_bytes},
                            {"gap_samples", stream_->gap_samples()},
                            {"empty_samples", finder_ ? finder_->samples() : 0},
                            {"empty_values", channels_ ? channels_->values() : 0},
                            {"level_steps", steps_.size()}};
  if (levels_) counters["recorder_clipped_inputs"] = clipped_inputs_;
  if (rounded_bits_ > 0) counters["clipped_before"] = clipped_before_;
  counters.merge(stream_->counters());
  return counters;
}

}  // namespace tautline::pipeline
