// Receivers side by side: one array, aligned by counter.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tautline/formats/mwa32t/array_block.h"
#include "tautline/formats/mwa32t/record_stream.h"
#include "tautline/formats/strided_source.h"

namespace tautline::formats::mwa32t {

namespace {

struct Receiver {
  Receiver(InputFile file, Mode mode, Damage& damage) : stream(std::move(file), mode, damage) {}

  RecordStream stream;
  std::int64_t lead = 0;  ///< array position = stream position - lead
  RecordStream::Run pending;
  bool ended = false;
  bool end_noted = false;
};

class Reader : public VoltageReader {
 public:
  Reader(std::vector<InputFile> files, const ReaderOptions& options, Mode mode) {
    receivers_.reserve(files.size());
    for (InputFile& file : files) {
      receivers_.emplace_back(std::move(file), mode, damage_);
      require_same_mode(receivers_.front().stream, receivers_.back().stream);
    }
    align();
    description_ = describe_array(options.assumed, files.size(), receivers_.front().stream.mode());
  }

  core::RawLayout layout(std::size_t samples) const override {
    return layout_of("TFAP", description_, samples);
  }

  std::size_t block_bytes(std::size_t samples) const override {
    return samples * receivers_.size() * slice_bytes(receivers_.front().stream.mode());
  }

  std::uint64_t total_samples() const override {
    std::int64_t total = 0;
    for (const Receiver& r : receivers_)
      total = std::max(total, static_cast<std::int64_t>(r.stream.estimate_end()) - r.lead);
    return static_cast<std::uint64_t>(total);
  }

  // One message for most places of a kind, composed when it is asked for.
  const Damage& damage() const override {
    if (std::ranges::none_of(receivers_,
                             [](const Receiver& r) { return r.stream.repeated().any(); }))
      return damage_;
    with_repeated_ = damage_;
    for (const Receiver& r : receivers_)
      r.stream.repeated().add_to(with_repeated_, r.stream.path());
    return with_repeated_;
  }

  Damage foreseen_damage() const override {
    Damage damage = damage_;
    for (const Receiver& r : receivers_) r.stream.foresee(damage);
    return damage;
  }

  void seek(std::uint64_t first_sample) override {
    position_ = first_sample;
    if (position_ > 0) damage_ = {};
    for (Receiver& r : receivers_) {
      const Damage kept = damage_;
      while (pull(r) && start_of(r.pending, r) <= static_cast<std::int64_t>(position_)) {
        damage_ = kept;  // damage before the sample is not counted
        if (end_of(r.pending, r) > static_cast<std::int64_t>(position_)) break;
        r.pending.count = 0;
      }
      if (position_ > 0) r.stream.forget_repeated();
    }
  }

  std::size_t read(std::size_t samples, core::RawBlock& block) override {
    begin(block, samples, position_);
    std::vector<std::size_t> ends;
    std::size_t produced = 0;
    for (std::size_t r = 0; r < receivers_.size(); ++r) {
      ends.push_back(fill(r, samples, block));
      produced = std::max(produced, ends.back());
    }
    for (std::size_t r = 0; r < receivers_.size(); ++r) {
      if (ends[r] == produced) continue;
      mark_lost(r, ends[r], produced - ends[r], block);
      note_early_end(receivers_[r], position_ + ends[r]);
    }
    block.samples = produced;
    block.bytes.resize(block_bytes(produced));
    position_ += produced;
    return produced;
  }

 private:
  static void require_same_mode(const RecordStream& first, const RecordStream& other) {
    if (first.mode() == other.mode()) return;
    throw format_error(other.path(), "record length in bytes",
                       std::to_string(record_bytes(other.mode())),
                       fmt::format("{} as in {}", record_bytes(first.mode()), first.path()),
                       "give receivers that recorded in one mode");
  }

  // Sample 0 of the array is the first that every receiver has.
  void align() {
    const RecordStream& first = receivers_.front().stream;
    std::int64_t earliest = 0, latest = 0;
    for (Receiver& r : receivers_) {
      const auto step =
          static_cast<std::uint16_t>(r.stream.first_counter() - first.first_counter());
      const std::int64_t start =
          step > kCounterPeriod / 2 ? static_cast<std::int64_t>(step) - std::int64_t{kCounterPeriod}
                                    : static_cast<std::int64_t>(step);
      r.lead = -start;
      earliest = std::min(earliest, start);
      latest = std::max(latest, start);
      if (latest - earliest >= static_cast<std::int64_t>(kCounterPeriod / 2))
        throw format_error(r.stream.path(), "first counter",
                           std::to_string(r.stream.first_counter()),
                           fmt::format("within {} of the other receivers' ({} in {})",
                                       kCounterPeriod / 2 - 1, first.first_counter(), first.path()),
                           "check that the files are receivers of one recording");
    }
    for (Receiver& r : receivers_) r.lead += latest;
  }

  // True when a run is pending.
  static bool pull(Receiver& r) {
    if (r.pending.count > 0) return true;
    if (!r.ended) r.ended = !r.stream.next(r.pending);
    return !r.ended;
  }

  static std::int64_t start_of(const RecordStream::Run& run, const Receiver& r) {
    return static_cast<std::int64_t>(run.position) - r.lead;
  }
  static std::int64_t end_of(const RecordStream::Run& run, const Receiver& r) {
    return start_of(run, r) + static_cast<std::int64_t>(run.count);
  }

  static void skip(Receiver& r, std::size_t records) {
    r.pending.position += records;
    r.pending.records += records * record_bytes(r.stream.mode());
    r.pending.count -= records;
  }

  // Puts what one receiver has of the block in place; returns how far its stream reaches into the
  // block, gaps included.
  std::size_t fill(std::size_t index, std::size_t samples, core::RawBlock& block) {
    Receiver& r = receivers_[index];
    std::size_t end = 0;
    while (end < samples && pull(r)) {
      const std::int64_t first = start_of(r.pending, r) - static_cast<std::int64_t>(position_);
      if (first < 0) {
        skip(r, std::min(r.pending.count, static_cast<std::size_t>(-first)));
        continue;
      }
      const auto start = static_cast<std::size_t>(first);
      if (start >= samples) {
        mark_lost(index, end, samples - end, block);
        return samples;
      }
      if (start > end) mark_lost(index, end, start - end, block);
      const std::size_t count = std::min(r.pending.count, samples - start);
      place_records(r.stream.mode(), r.pending.records, count, block.bytes, receivers_.size(),
                    index, start);
      skip(r, count);
      end = start + count;
    }
    return end;
  }

  void mark_lost(std::size_t index, std::size_t first, std::size_t count, core::RawBlock& block) {
    if (count == 0) return;
    damage_.lost_samples += std::uint64_t{count} * kInputsPerReceiver;
    if (receivers_.size() == 1) {
      block.invalid.push_back({core::InvalidSpan::kAllInputs, first, count});
      return;
    }
    for (std::size_t k = 0; k < kInputsPerReceiver; ++k)
      block.invalid.push_back({index * kInputsPerReceiver + k, first, count});
  }

  void note_early_end(Receiver& r, std::uint64_t position) {
    if (r.end_noted) return;
    r.end_noted = true;
    damage_.note(
        fmt::format("{}: ends at sample {} of the array while other receivers go on; its {} "
                    "inputs are invalid from there",
                    r.stream.path(), position, kInputsPerReceiver));
  }

  std::vector<Receiver> receivers_;
  std::uint64_t position_ = 0;
  mutable Damage with_repeated_;
};

}  // namespace

bool recognise(std::span<const std::byte> first_bytes, const std::string& name) {
  if (name.ends_with(".mwa32t")) return true;
  // A short file has fewer records than the proof at other places; a single record proves nothing.
  const bool short_file = first_bytes.size() < kAlignedProof * record_bytes(Mode::two_byte);
  if (first_bytes.size() <= record_bytes(Mode::two_byte)) return false;
  const auto found = detect_mode(first_bytes, short_file);
  return found && found->offset < record_bytes(found->mode);
}

static void refuse_unused_by_receivers(const std::string& path, const ReaderOptions& options) {
  refuse_unused(path, "MWA receiver", options,
                {"rate_hz", "centre_hz", "bandwidth_hz", "utc_start", "receivers"});
}

std::unique_ptr<VoltageReader> open_receivers(const std::vector<std::string>& paths,
                                              const ReaderOptions& options, Mode mode) {
  if (paths.empty())
    throw core::Error(core::ErrorKind::config, "receivers", "none", "at least one file",
                      "name the receivers' files");
  refuse_unused_by_receivers(paths.front(), options);
  for (std::size_t k = 0; k < paths.size(); ++k)
    if (std::find(paths.begin(), paths.begin() + static_cast<std::ptrdiff_t>(k), paths[k]) !=
        paths.begin() + static_cast<std::ptrdiff_t>(k))
      throw core::Error(core::ErrorKind::config, "receivers", paths[k] + " twice", "each file once",
                        "name each receiver's file once");
  std::vector<InputFile> files;
  for (const std::string& path : paths) files.emplace_back(path);
  return std::make_unique<Reader>(std::move(files), options, mode);
}

std::unique_ptr<VoltageReader> open_in_order(InputFile file, const ReaderOptions& options) {
  refuse_unused_by_receivers(file.path(), options);
  std::vector<InputFile> files;
  files.push_back(std::move(file));
  return std::make_unique<Reader>(std::move(files), options, Mode::detect);
}

std::unique_ptr<VoltageReader> open(const std::string& path, const ReaderOptions& options) {
  return open_receivers({path}, options);
}

}  // namespace tautline::formats::mwa32t
