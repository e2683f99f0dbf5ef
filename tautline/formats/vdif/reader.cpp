#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/threads.h"
#include "tautline/formats/assumed_values.h"
#include "tautline/formats/recorded_spectra.h"
#include "tautline/formats/strided_source.h"
#include "tautline/formats/text.h"
#include "tautline/formats/vdif/agreed_header.h"
#include "tautline/formats/vdif/frame_window.h"
#include "tautline/formats/vdif/gaps.h"
#include "tautline/formats/vdif/payload.h"
#include "tautline/formats/vdif/thread_roles.h"
#include "tautline/formats/vdif/vdif.h"

namespace tautline::formats::vdif {

namespace {

// A stream is looked at some frames of each thread ahead, and by the search for a header.
void require_room(const InputFile& file, const Header& header, std::size_t threads) {
  constexpr std::uint64_t kFrames = 8, kSearch_bytes = std::uint64_t{1} << 20;
  const std::uint64_t needed = (2 * threads + kFrames) * header.frame_bytes + kSearch_bytes;
  if (!file.in_order() || needed <= file.reach()) return;
  throw core::Error(
      core::ErrorKind::memory, file.path() + ": bytes to be kept",
      fmt::format("{} for frames of {} bytes", needed, header.frame_bytes),
      fmt::format("at most {}", file.reach()),
      "allow for more memory (`memory_bytes`), or write the stream to a file, and give that");
}

std::optional<Header> header_at(const InputFile& file, std::uint64_t offset) {
  std::byte bytes[kHeaderBytes] = {};
  if (offset + kHeaderBytes > file.reach()) return std::nullopt;
  const std::size_t got = file.read(offset, bytes);
  const Header header = decode_header(bytes);
  if (got < header.header_bytes()) return std::nullopt;
  return header;
}

// What holds for the file.
Header common_header(const InputFile& file) {
  constexpr std::uint64_t kBeginBytes = std::uint64_t{1} << 20;
  std::byte bytes[kHeaderBytes] = {};
  const std::size_t got = file.read(0, bytes);
  const Header header =
      agreed_header([&](std::uint64_t offset) { return header_at(file, offset); }, kBeginBytes)
          .value_or(decode_header(bytes));
  if (got < header.header_bytes())
    throw format_error(file.path(), "file size", std::to_string(got) + " bytes",
                       std::to_string(header.header_bytes()) + " for a frame's header",
                       "check that the file was written completely");
  require_plausible(file.path(), header, file.size());
  require_room(file, header, 1);
  return header;
}

core::VoltageDescription describe(const Header& header, const Timeline& timeline,
                                  const ThreadRoles& roles,
                                  const core::VoltageDescription& assumed) {
  core::VoltageDescription d;
  d.format = delivered_format(header);
  d.polarisations = roles.polarisations;
  d.antennas = roles.antennas;
  d.channels = roles.bands * header.channels;
  d.antenna_names = roles.antenna_names;
  d.assumed = roles.assumed;
  const std::string other_rate = override_text("rate_hz", assumed.rate_hz.value(), "its header",
                                               static_cast<double>(header.rate_hz));
  for (const std::string& other : {other_rate, timeline.other_rate})
    if (!other.empty()) d.assumed += (d.assumed.empty() ? "" : "; ") + other;
  d.rate_hz = timeline.rate_hz;
  Header origin = header;
  while (origin.epoch > 0 && epoch_start_s(origin.epoch) > timeline.origin_second) --origin.epoch;
  origin.seconds = static_cast<std::uint32_t>(timeline.origin_second - epoch_start_s(origin.epoch));
  const std::int64_t samples_per_frame = timeline.rate_hz.numerator / timeline.frames_per_second;
  d.start = core::advance(origin.second(), timeline.origin_frame * samples_per_frame, d.rate_hz);
  d.centre_hz = assumed.centre_hz;
  d.bandwidth_hz = d.rate_hz.value() * static_cast<double>(d.channels) / (header.complex ? 1 : 2);
  if (assumed.bandwidth_hz < 0) d.bandwidth_hz = -d.bandwidth_hz;
  d.telescope = assumed.telescope;
  d.instrument = assumed.instrument.empty() ? "VDIF" : assumed.instrument;
  d.source = assumed.source;
  return d;
}

// The band is not in the frames: it is in the record that a `buffer` or a `voltage_record` wrote beside them.
ReaderOptions with_recorded_band(const nlohmann::json& record, ReaderOptions options) {
  if (!is_of_recording(record)) return options;
  const auto take = [&](const char* name, double& value) {
    const nlohmann::json recorded = record.value(name, nlohmann::json());
    if (value == 0 && recorded.is_number()) value = recorded.get<double>();
  };
  take("centre_hz", options.assumed.centre_hz);
  take("bandwidth_hz", options.assumed.bandwidth_hz);
  return options;
}

class Reader : public VoltageReader {
 public:
  Reader(InputFile file, const ReaderOptions& options)
      : file_(std::move(file)),
        header_(common_header(file_)),
        packing_(header_),
        frame_samples_(packing_.samples_in(header_.payload_bytes())),
        timeline_(find_timeline(file_, header_, options.assumed.rate_hz)),
        window_(file_, header_, timeline_, damage_),
        pieces_(options.decoding_pieces) {
    require_room(file_, header_, timeline_.threads.size());
    const ThreadRoles roles = roles_of(timeline_.threads, options);
    bands_ = roles.bands;
    description_ = describe(header_, timeline_, roles, options.assumed);
    if (!file_.in_order())
      gaps_ = find_gaps(FrameScanner(file_, header_, nullptr), timeline_, frames_before_padding(),
                        header_.frame_bytes);
    file_.sequential();
  }

  std::size_t frame_samples() const { return frame_samples_; }
  void note(const std::string& damage) { damage_.note(damage); }

  core::RawLayout layout(std::size_t samples) const override {
    return layout_of("APFT", description_, samples);
  }

  std::size_t block_bytes(std::size_t samples) const override {
    return samples * sample_bytes() * description_.channels * description_.inputs();
  }

  std::uint64_t total_samples() const override {
    const std::uint64_t threads = timeline_.threads.size();
    if (file_.in_order()) return file_.size() / header_.frame_bytes / threads * frame_samples_;
    const std::uint64_t end = end_of_last_frames();
    return end > 0 ? end : (frames_before_padding() + threads - 1) / threads * frame_samples_;
  }

  // One message for all missing frames, and one for most damaged headers, composed when they are asked for: lossy
  // recordings have thousands.
  const Damage& damage() const override {
    if (missing_ == 0 && !window_.repeated().any()) return damage_;
    with_missing_ = {};
    if (missing_ > 0)
      with_missing_.note(fmt::format(
          "{}: {} missing: {}{}; samples in them ({} each) are marked invalid", file_.path(),
          core::counted(missing_, "frame") + (missing_ == 1 ? " is" : " are"),
          missing_ == 1 ? "" : "the first of ", first_missing_, frame_samples_));
    with_missing_.add(damage_);
    window_.repeated().add_to(with_missing_, file_.path());
    return with_missing_;
  }

  // Frames that are missing anywhere, by the time of the last ones, and an incomplete one at the end.
  Damage foreseen_damage() const override {
    if (file_.in_order()) return damage_;
    Damage damage = damage_;
    const std::uint64_t end = end_of_last_frames(), frames = frames_before_padding();
    const std::uint64_t whole = frames * header_.frame_bytes;
    const std::uint64_t rest = file_.size() - whole;
    if (end == 0) return damage;
    std::uint64_t held = frames * frame_samples_;
    if (rest > 0) {
      const std::uint64_t samples = samples_at(whole);
      held += samples;
      damage.trailing_bytes += rest;
      damage.note(
          fmt::format("{}: ends with {}, from byte {} on, that are no whole frame of "
                      "{} bytes; {} whole in them",
                      file_.path(), core::counted(rest, "byte"), whole, header_.frame_bytes,
                      core::counted(samples, "sample is", "samples are")));
    }
    if (const std::uint64_t expected = end * timeline_.threads.size(); held < expected) {
      damage.lost_samples += expected - held;
      damage.note(fmt::format("{}: {}, expected {} by the times of its frames: {} of {}",
                              file_.path(), core::counted(held, "sample"), expected,
                              core::counted(timeline_.threads.size(), "thread"),
                              core::counted(end, "sample")));
    }
    note_gaps(damage);
    return damage;
  }

  void require_readable(std::uint64_t first_sample, std::uint64_t samples) const override {
    const auto sample = [&](std::int64_t position) {
      return static_cast<std::uint64_t>(position) * frame_samples_;
    };
    for (const Gap& gap : gaps_) {
      const std::uint64_t begin = std::max(sample(gap.begin), first_sample);
      const Gap read{static_cast<std::int64_t>(begin / frame_samples_), gap.end};
      if (first_sample + samples > sample(gap.end) && longer_than_a_day(read, timeline_))
        throw gap_error(file_.path(), gap, timeline_);
    }
  }

  void seek(std::uint64_t first_sample) override {
    position_ = first_sample;
    const auto limit = static_cast<std::uint64_t>(timeline_.limit);
    window_.start_at(static_cast<std::int64_t>(std::min(first_sample / frame_samples_, limit)));
  }

  std::size_t read(std::size_t samples, core::RawBlock& block) override {
    begin(block, samples, position_);
    deliveries_.clear();
    while (block.samples < samples) {
      const auto limit = static_cast<std::uint64_t>(timeline_.limit);
      if (position_ / frame_samples_ >= limit) break;
      const auto position = static_cast<std::int64_t>(position_ / frame_samples_);
      auto slots = window_.get(position);
      if (window_.stalled()) {
        const std::uint64_t kept_from = kept_from_;
        deliver(block);
        if (kept_from_ > kept_from) continue;
        slots = window_.get(position, true);
      }
      const auto within = static_cast<std::size_t>(position_ % frame_samples_);
      if (slots.empty() || within >= window_.samples()) break;
      const std::size_t count = std::min(samples - block.samples, window_.samples() - within);
      for (std::size_t thread = 0; thread < slots.size(); ++thread) {
        if (position_ >= counted_) note_missing(slots[thread], thread);
        deliveries_.push_back({slots[thread], thread, within, count, block.samples});
      }
      block.samples += count;
      counted_ = position_ - within + window_.samples();
      position_ += count;
      if (file_.in_order() && window_.scanned_to() - kept_from_ > (file_.reach() - kept_from_) / 2)
        deliver(block);
    }
    deliver(block);
    return block.samples;
  }

 private:
  // Samples of the frame at this byte, at most as many as the file has; 0: no frame of the stream is there. `position`:
  // the frame's.
  std::size_t samples_at(std::uint64_t offset, std::int64_t* position = nullptr) const {
    const auto header = FrameScanner(file_, header_, nullptr).header_at(offset);
    if (!header || !timeline_.input_of(*header)) return 0;
    const std::int64_t at = timeline_.position_of(*header);
    if (at < 0 || at >= timeline_.limit) return 0;
    if (position != nullptr) *position = at;
    const std::uint64_t left = file_.size() - offset - header_.header_bytes();
    return packing_.samples_in(
        static_cast<std::size_t>(std::min<std::uint64_t>(left, header_.payload_bytes())));
  }

  void note_gaps(Damage& damage) const {
    constexpr std::size_t kNamed = 8;
    for (std::size_t k = 0; k < std::min(kNamed, gaps_.size()); ++k)
      damage.note(file_.path() + ": " + gap_text(gaps_[k], timeline_));
    if (gaps_.size() > kNamed)
      damage.note(file_.path() + ": " + core::counted(gaps_.size() - kNamed, "more gap"));
  }

  // The time of the last frames of the file, as they are read, if they are at the places of whole frames; else 0.
  std::uint64_t end_of_last_frames() const {
    if (!end_) end_ = find_end();
    return *end_;
  }

  std::uint64_t find_end() const {
    constexpr std::uint64_t kFewest = 9;
    const std::uint64_t frames = frames_before_padding(),
                        looked_at = std::max<std::uint64_t>(kFewest, 2 * timeline_.threads.size());
    std::vector<std::int64_t> last;  // positions
    for (std::uint64_t k = frames > looked_at ? frames - looked_at : 0; k <= frames; ++k) {
      std::int64_t position = 0;
      if (samples_at(k * header_.frame_bytes, &position) > 0) last.push_back(position);
    }
    if (last.empty()) return 0;
    std::ranges::sort(last);
    // Times far behind those of most are damage.
    const std::int64_t middle = last[last.size() / 2],
                       most = std::min(last.back() + 1, middle + kReorderFrames);
    Damage unheard;
    FrameWindow window(file_, header_, timeline_, unheard);
    std::int64_t position = std::max<std::int64_t>(0, middle - kReorderFrames);
    window.start_at(position);
    std::uint64_t end = 0;
    for (; position < most; ++position) {
      const auto slots = window.get(position);
      if (slots.empty()) break;
      if (std::ranges::any_of(slots, &Slot::present))
        end = static_cast<std::uint64_t>(position) * frame_samples_ + window.samples();
    }
    return end;
  }

  // Without those at the end that are zeros: recorders make files longer than what they write.
  std::uint64_t frames_before_padding() const {
    constexpr std::uint64_t kMostPadding = 1 << 16;  // so that the work is bounded
    const std::uint64_t all = file_.size() / header_.frame_bytes;
    std::uint64_t frames = all;
    for (; frames > 0 && all - frames < kMostPadding; --frames) {
      std::byte header[kHeaderBytes] = {};
      file_.read((frames - 1) * header_.frame_bytes, header);
      if (std::any_of(std::begin(header), std::end(header),
                      [](std::byte b) { return b != std::byte{0}; }))
        break;
    }
    return frames;
  }

  std::size_t sample_bytes() const {
    return static_cast<std::size_t>(description_.format.bits_per_sample()) / 8;
  }

  /// Samples of one frame, for the block from `first` on.
  struct Delivery {
    Slot slot;
    std::size_t thread, within, count, first;
    std::size_t good = 0;  ///< decoded, from the first on
    bool cut = false;      ///< the file lacks them
    bool fill = false;     ///< the frame holds none
  };

  // Decodes what has been taken so far, whose bytes are not needed any more then.
  void deliver(core::RawBlock& block) {
    decode_all(block);
    for (const Delivery& delivery : deliveries_) mark_lost(delivery, block);
    deliveries_.clear();
    if (!file_.in_order()) return;
    kept_from_ = window_.needed_from(static_cast<std::int64_t>(position_ / frame_samples_));
    file_.forget(kept_from_);
  }

  void decode_all(core::RawBlock& block) {
    const std::size_t pieces = pieces_ > 0 ? pieces_ : block.bytes.size() / kLeastDecodedBytes;
    core::in_pieces(deliveries_.size(), pieces,
                    [&](std::size_t, std::size_t first, std::size_t end) {
                      std::vector<std::byte> payload;
                      for (std::size_t k = first; k < end; ++k)
                        decode(deliveries_[k], payload, block);
                    });
  }

  // Reads only the words of the samples.
  void decode(Delivery& d, std::vector<std::byte>& payload, core::RawBlock& block) const {
    if (!d.slot.present || d.slot.invalid || d.slot.samples <= d.within) return;
    const std::size_t count = std::min(d.count, d.slot.samples - d.within);
    const std::size_t first_word = packing_.words_before(d.within);
    const std::size_t end_word =
        packing_.words_before(d.within + count - 1) + packing_.group_words();
    payload.resize(4 * (end_word - first_word));
    d.cut = file_.read(d.slot.payload_offset + 4 * first_word, payload) < payload.size();
    d.fill = !d.cut && begins_with_fill(payload) && all_fill(d.slot, payload);
    if (d.cut || d.fill) return;
    const std::size_t row = block.layout.channel_stride_bits / 8;
    std::byte* rows =
        block.bytes.data() + d.thread * header_.channels * row + d.first * sample_bytes();
    decode_samples(header_, packing_, payload, d.within, count, rows, row);
    d.good = count;
  }

  // `payload`: for the bytes.
  bool all_fill(const Slot& slot, std::vector<std::byte>& payload) const {
    payload.resize(4 * (packing_.words_before(slot.samples - 1) + packing_.group_words()));
    return file_.read(slot.payload_offset, payload) == payload.size() && is_fill(payload);
  }

  void mark_lost(const Delivery& d, core::RawBlock& block) {
    if (d.fill && !noted_fill_) {
      noted_fill_ = true;
      damage_.note(
          fmt::format("{}: frame at byte {}: its payload is the fill pattern 0x{:x} of recorders; "
                      "this and others like it are counted as lost",
                      file_.path(), d.slot.payload_offset - header_.header_bytes(), kFillWord));
    }
    if (d.cut)
      damage_.note(fmt::format("{}: payload at byte {}: the file was cut while it was read",
                               file_.path(), d.slot.payload_offset));
    if (d.good == d.count) return;
    const std::size_t first = d.first + d.good, lost = d.count - d.good;
    const std::size_t input = d.thread / bands_;
    damage_.lost_samples += lost;
    if (!block.invalid.empty() && block.invalid.back().input == input &&
        block.invalid.back().first_sample + block.invalid.back().samples == first)
      block.invalid.back().samples += lost;
    else
      block.invalid.push_back({input, first, lost});
  }

  void note_missing(const Slot& slot, std::size_t thread) {
    if (slot.present || ++missing_ > 1) return;
    const std::uint32_t key = timeline_.threads[thread];
    first_missing_ = fmt::format("thread {} of station {} at sample {}", key & 1023u,
                                 station_text(key >> 10), position_);
  }

  InputFile file_;
  Header header_;
  Packing packing_;
  std::size_t frame_samples_;
  Timeline timeline_;
  FrameWindow window_;
  std::vector<Gap> gaps_;  ///< of a file
  std::size_t pieces_;
  std::size_t bands_ = 1;      ///< threads of one input
  std::uint64_t missing_ = 0;  ///< frames
  std::string first_missing_;
  bool noted_fill_ = false;
  mutable Damage with_missing_;
  mutable std::optional<std::uint64_t> end_;  ///< sample, of a file
  std::vector<Delivery> deliveries_;
  std::uint64_t position_ = 0;
  std::uint64_t counted_ = 0;    ///< missing frames before this sample were counted
  std::uint64_t kept_from_ = 0;  ///< bytes of a stream before this one were forgotten
};

}  // namespace

bool recognise(std::span<const std::byte> first_bytes, const std::string& name) {
  if (lower(name).ends_with(".vdif")) return true;
  return begins_with_frames(
      [&](std::uint64_t offset) -> std::optional<Header> {
        if (offset + kHeaderBytes > first_bytes.size()) return std::nullopt;
        return decode_header(
            first_bytes.subspan(static_cast<std::size_t>(offset)).first<kHeaderBytes>());
      },
      first_bytes.size());
}

std::unique_ptr<VoltageReader> open(InputFile file, const ReaderOptions& options) {
  return std::make_unique<Reader>(std::move(file), options);
}

std::unique_ptr<VoltageReader> open(const std::string& path, const ReaderOptions& options) {
  const nlohmann::json record = record_beside(path);
  auto reader = std::make_unique<Reader>(InputFile(path), with_recorded_band(record, options));
  const std::string other =
      other_file_text(record, path, reader->total_samples(), reader->frame_samples());
  if (other.empty()) return reader;
  reader = std::make_unique<Reader>(InputFile(path), options);
  reader->note(other);
  return reader;
}

}  // namespace tautline::formats::vdif
