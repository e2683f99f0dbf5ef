#include "tautline/pipeline/photons/count_source_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/pipeline/photons/photon_counts.h"
#include "tautline/pipeline/time_reading.h"

namespace tautline::pipeline {

namespace {

// How long live input waits to fill a block before it gives a shorter one.
constexpr std::chrono::milliseconds kPatience{100};

class CountSource final : public CountSourceNode {
 public:
  CountSource(CountInput input, std::size_t block_samples,
              std::shared_ptr<const device::Device> device)
      : input_(std::move(input)), device_(std::move(device)) {
    if (device_ && input_.sensors->adds())
      throw core::Error(core::ErrorKind::config, "bin_sensors", "given",
                        "counts in the host's memory, where sensors are added together");
    set_block_samples(block_samples);
  }

  void set_block_samples(std::size_t block_samples) override {
    most_samples_ = block_samples;
    block_samples_ =
        static_cast<std::size_t>(std::clamp<std::uint64_t>(input_.samples, 1, block_samples));
  }

  std::vector<engine::Stream> open(std::span<const engine::Stream>) override {
    engine::Stream stream{.kind = input_.one_by_one ? "photons" : "counts",
                          .arrays = {},
                          .rate_hz = rate_of_bins(input_.bin_s),
                          .total_samples = input_.samples < kAllThatCome ? input_.samples : 0,
                          .max_samples = block_samples_,
                          .device = device_,
                          .pace = pace_};
    if (!input_.one_by_one)
      stream.arrays = {{"counts",
                        input_.sensors->type_of_sums(input_.description.type),
                        {"time", "sensor"},
                        {block_samples_, input_.sensors->sensors().size()}}};
    stream.details =
        CountStream{.input = input_.name,
                    .description = input_.description,
                    .sensors = input_.sensors,
                    .bin_s = input_.bin_s,
                    .first = input_.first,
                    .rest = input_.live() ? 0 : input_.file->total_samples() - input_.first,
                    .block_samples = most_samples_,
                    .row_bytes = input_.row_bytes(),
                    .live = input_.live(),
                    .loses = input_.live_counts != nullptr && input_.live_counts->loses(),
                    .padding = input_.padding,
                    .stops = input_.stops,
                    .named_stops = input_.named_stops,
                    .single_stops = input_.single_stops,
                    .breaks = input_.breaks,
                    .keep_constant = input_.keep_constant};
    return {std::move(stream)};
  }
  device::MemoryUse bytes() const override { return {rows_bytes(), 0}; }

  // Time tags are read from their file's first one on, so none from inside it.
  std::optional<engine::Load> expected_load() const override {
    if (input_.live() || pace_ > 0 || dynamic_cast<PhotonCounts*>(input_.file.get()) != nullptr)
      return {};
    const PartToRead part = part_to_read(input_.samples, block_samples_, row_bytes());
    const std::size_t most = std::min<std::uint64_t>(block_samples_, part.samples);
    const std::size_t sensors = input_.sensors->sensors().size();
    const core::SampleType type = input_.sensors->type_of_sums(input_.description.type);
    std::vector<std::byte> rows(most * row_bytes()), sums(most * sensors * core::bytes_of(type));
    std::uint64_t left = part.samples;
    input_.file->seek(input_.first + part.first);
    const auto load = time_reading(1 / input_.bin_s, [&]() -> std::size_t {
      const std::size_t wanted = std::min<std::uint64_t>(most, left);
      if (wanted == 0) return 0;
      const std::size_t samples = input_.file->read(std::span(rows).first(wanted * row_bytes()));
      if (input_.sensors->adds()) add_sensors(rows.data(), {sums.data(), type, {samples, sensors}});
      left -= samples;
      return samples;
    });
    input_.file->seek(input_.first);
    return load;
  }

  void start(engine::Outputs&) override { rows_.resize(rows_bytes()); }
  bool live() const override { return input_.live(); }
  engine::Counters counters() const override {
    const formats::Damage& damage = input_.damage();
    engine::Counters counters{{"samples", given_},
                              {"lost_samples", damage.lost_samples},
                              {"dropped_samples", damage.dropped_samples},
                              {"trailing_bytes", damage.trailing_bytes}};
    if (input_.live_counts != nullptr)
      for (const auto& [name, count] : input_.live_counts->counters()) counters[name] = count;
    return counters;
  }

  bool produce(engine::Outputs& outputs) override {
    engine::Block& block = outputs.begin();
    if (device_) outputs.queue(device_).synchronise();  // it has read what the block had
    auto& payload = block.payload_of<CountPayload>();
    block.first = given_;
    block.samples =
        input_.photons != nullptr ? take_photons(payload.photons) : take_counts(block, outputs);
    if (input_.live_counts != nullptr) {
      payload.breaks.clear();
      for (const BinRange& lost : input_.live_counts->lost())
        payload.breaks.push_back({given_ + lost.first, given_ + lost.end});
    }
    given_ += block.samples;
    over_ = over_ || given_ >= input_.samples;
    payload.damage = input_.damage();
    if (input_.live_tags != nullptr) {
      payload.ignored = input_.live_tags->ignored();
      payload.breaks = input_.live_tags->new_breaks();
      payload.silent_end = input_.live_tags->over() ? silent_end() : "";
    }
    if (const auto* file = dynamic_cast<const PhotonCounts*>(input_.file.get()))
      payload.ignored = file->left_out();
    payload.interrupted = stopped();
    outputs.commit();
    return !over_;
  }

  // After the stop of a live stream: the samples received by then.
  void finish(engine::Outputs& outputs) override {
    if (!over_ && input_.live()) input_.stop();
    while (!over_) produce(outputs);
    if (input_.live()) require_samples();
    if (input_.log)
      for (const std::string& message : input_.damage().not_logged())
        input_.log(core::LogLevel::warning, message);
  }

 private:
  std::string silent_end() const {
    const formats::PhotonReader& reader = input_.live_tags->reader();
    const formats::TagCounts& counts = reader.counts();
    return silent_end_text(input_.pipe->name(), counts.photons, counts.last_time + 1,
                           counts.last_clock, reader.description().time_unit_s);
  }
  bool stopped() const { return input_.live() && input_.stopped(); }
  // Where counts are not read straight into blocks.
  std::size_t rows_bytes() const {
    return !input_.live() && input_.sensors->adds() ? block_samples_ * row_bytes() : 0;
  }
  std::size_t row_bytes() const {
    return input_.description.sensors * core::bytes_of(input_.description.type);
  }

  // Of as many rows, as they were read.
  void add_sensors(const std::byte* rows, const core::MutableSampleView<2>& sums) const {
    input_.sensors->add_sensors(
        core::SampleView<2>(rows, input_.description.type,
                            {sums.extents()[0], input_.description.sensors}),
        sums);
  }

  std::size_t take_photons(std::vector<BinnedPhoton>& photons) {
    const std::uint64_t until = std::min(input_.photons->read_bins(photons), input_.samples);
    photons.erase(std::partition_point(photons.begin(), photons.end(),
                                       [&](const BinnedPhoton& p) { return p.bin < until; }),
                  photons.end());
    over_ = input_.photons->over();
    return static_cast<std::size_t>(until - given_);
  }

  std::size_t take_counts(engine::Block& block, engine::Outputs& outputs) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(block_samples_, input_.samples - given_));
    const bool adds = input_.sensors->adds();
    auto* const own = static_cast<std::byte*>(block.arrays[0].data);
    std::span<const std::byte> rows;
    std::size_t samples = 0;
    if (input_.live()) {
      outputs.waits_for_others(true);
      std::tie(rows, samples) = input_.live_counts->read(wanted, kPatience);
      outputs.waits_for_others(false);
      over_ = input_.live_counts->ended();
    } else if (wanted > 0) {
      const std::span<std::byte> room(adds ? rows_.data() : own, wanted * row_bytes());
      samples = input_.file->read(room);
      rows = room;
      over_ = samples == 0;
    }
    block.set_extent(0, 0, samples);
    if (adds) {
      add_sensors(rows.data(), block.view<2>());
    } else if (rows.data() != own) {
      std::copy_n(rows.begin(), samples * row_bytes(), own);
    }
    return samples;
  }

  // No samples, no curves: an existing output is kept.
  void require_samples() const {
    if (given_ > 0 || input_.samples == 0) return;
    const std::string name = input_.name == "-" ? "standard input" : input_.name;
    if (stopped())
      throw core::Error(core::ErrorKind::io, name, "interrupted", "",
                        "no samples had come; nothing was written");
    const auto& messages = input_.damage().messages;
    throw core::Error(
        core::ErrorKind::io, name,
        std::string("no samples came") + (messages.empty() ? "" : " (" + messages[0] + ")"),
        input_.start_s > 0
            ? fmt::format("one or more whole ones after the first {:g} s", input_.start_s)
            : "one or more whole ones",
        "nothing was written; see what the program before the pipe said");
  }

  CountInput input_;
  std::shared_ptr<const device::Device> device_;
  std::size_t most_samples_ = 0, block_samples_ = 0;
  std::vector<std::byte> rows_;  // as read, before sensors are added together
  std::uint64_t given_ = 0;      // samples
  bool over_ = false;
};

}  // namespace

std::unique_ptr<CountSourceNode> make_count_source(CountInput input, std::size_t block_samples,
                                                   std::shared_ptr<const device::Device> device) {
  return std::make_unique<CountSource>(std::move(input), block_samples, std::move(device));
}

}  // namespace tautline::pipeline
