#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "tautline/core/counted.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/spc/spc.h"
#include "tautline/formats/text.h"

namespace tautline::formats::spc {

namespace {

constexpr std::uint64_t kRecordSize = 4, kMacroWrap = 4096;
constexpr std::size_t kRecordsAtOnce = std::size_t{1} << 16;
constexpr double kClockStep = 1e-10;  // of the header's clock, s
constexpr std::uint32_t kInvalid = 1u << 31, kOverflow = 1u << 30, kGap = 1u << 29,
                        kMarker = 1u << 28, kRawData = 1u << 26;

// "SP_TAC_R,F,5.0033352e-008]" behind the name: the number.
std::optional<double> setting(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(at, text.find_first_of("]\n\r", at) - at);
  const auto fields = split(line, ",");
  return fields.size() == 3 ? finite_number(trim(fields[2])) : std::nullopt;
}

// The unit of the microtimes, from the .set file; 0 without that file.
double microtime_unit_s(const std::string& path) {
  constexpr std::size_t kMostSetBytes = std::size_t{1} << 20;
  std::string set_path;
  for (const char* ending : {".set", ".SET"}) {
    const auto tried = std::filesystem::path(path).replace_extension(ending);
    if (std::filesystem::exists(tried)) set_path = tried.string();
  }
  if (set_path.empty()) return 0;
  const auto bytes = InputFile(set_path).head(kMostSetBytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto range_s = setting(text, "SP_TAC_R"), gain = setting(text, "SP_TAC_G");
  if (!range_s || !gain || !(*range_s > 0) || !(*gain > 0))
    throw format_error(set_path, "SP_TAC_R and SP_TAC_G", "missing or not above 0",
                       "the time range of the ADC and its gain", "remove the file to go without");
  return *range_s / *gain / static_cast<double>(kMacroWrap);
}

class Reader final : public PhotonReader {
 public:
  explicit Reader(const std::string& path) : file_(path) {
    std::uint32_t header = 0;
    if (file_.read(0, std::as_writable_bytes(std::span(&header, 1))) < kRecordSize)
      throw format_error(path, "header", std::to_string(file_.size()) + " bytes", "4 or more");
    description_.format = "SPC";
    description_.record_type = "Becker & Hickl SPC, 32 bits";
    description_.mode = TagMode::t3;
    description_.macro_clock = true;
    description_.time_unit_s = (header & 0xFFFFFF) * kClockStep;
    if ((header & kInvalid) == 0 || description_.time_unit_s == 0)
      throw format_error(
          path, "header at byte 0", fmt::format("0x{:08X}", header),
          "bit 31 and a clock in bits 0 to 23",
          "files of SPC-600, SPC-630 and DPC-230 have other records and are not read");
    if ((header & kRawData) != 0)
      throw format_error(path, "header at byte 0", "raw data of the module (bit 26)",
                         "a file of photons", "record without the diagnostic mode");
    description_.microtime_unit_s = microtime_unit_s(path);
    if (description_.microtime_unit_s == 0)
      description_.missing_settings =
          std::filesystem::path(path).replace_extension(".set").string();
    description_.microtimes = static_cast<std::uint32_t>(kMacroWrap);
    description_.channels = 1u << (header >> 27 & 15);
    description_.records = file_.size() / kRecordSize - 1;
    if (const std::uint64_t spare = file_.size() % kRecordSize; spare > 0) {
      header_damage_.trailing_bytes = spare;
      header_damage_.note(fmt::format("{}: cut short at byte {}: {} of a record, expected {}", path,
                                      file_.size(), core::counted(spare, "byte"), kRecordSize));
    }
    damage_ = header_damage_;
    file_.sequential();
  }

  const PhotonDescription& description() const override { return description_; }
  const TagCounts& counts() const override { return counts_; }
  const Damage& damage() const override { return damage_; }
  void rewind() override {
    counts_ = {};
    damage_ = header_damage_;
    base_ = gaps_ = 0;
  }

  std::size_t read(std::span<Photon> photons) override {
    static_assert(std::endian::native == std::endian::little, "records are read as they lie");
    std::size_t found = 0;
    while (found == 0 && !photons.empty() && counts_.records < description_.records) {
      words_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(
          std::min(kRecordsAtOnce, photons.size()), description_.records - counts_.records)));
      file_.read_whole((counts_.records + 1) * kRecordSize,
                       std::as_writable_bytes(std::span(words_)));
      for (const std::uint32_t word : words_) {
        if (decode(word, photons[found])) ++found;
        ++counts_.records;
      }
      if (counts_.records == description_.records) require_tags();
    }
    return found;
  }

 private:
  // Of random bytes, half have the bit; a module whose memory is full sets it once for many photons.
  void require_tags() const {
    constexpr std::uint64_t kFewestRecords = 1000, kMostPart = 4;
    if (counts_.records < kFewestRecords || gaps_ < counts_.records / kMostPart) return;
    throw format_error(
        file_.path(), "records, from byte 4 on",
        fmt::format("{} of {} say that photons were lost before them", gaps_, counts_.records),
        "records of an SPC module", "the file is damaged, or of another kind");
  }

  // True where the record is a photon.
  bool decode(std::uint32_t word, Photon& photon) {
    const bool invalid = (word & kInvalid) != 0, overflow = (word & kOverflow) != 0;
    if ((word & kGap) != 0) {
      ++gaps_;
      note_loss("a gap: the module's memory was full", "photons before this record are lost");
    }
    if (invalid && overflow && (word & kMarker) == 0) {
      base_ += kMacroWrap * std::max<std::uint64_t>(word & 0xFFFFFFF, 1);
      ++counts_.overflow_records;
      counts_.last_clock = std::max(counts_.last_clock, base_);
      return false;
    }
    if (overflow) base_ += kMacroWrap;
    if ((word & kMarker) != 0) {
      ++counts_.markers;
      counts_.last_clock = std::max(counts_.last_clock, base_ + (word & 0xFFF));
      return false;
    }
    if (invalid) {
      ++counts_.unknown_records;
      note_loss("an invalid photon", "its detector is not known; it is left out");
      return false;
    }
    const std::uint64_t time = base_ + (word & 0xFFF);
    if (counts_.photons > 0 && time < counts_.last_time) {
      ++counts_.backwards;
      ++damage_.dropped_samples;
      note("the time tags go backwards", "the photon is left out");
      return false;
    }
    counts_.last_time = time;
    counts_.last_clock = std::max(counts_.last_clock, time);
    ++counts_.photons;
    photon = {time, static_cast<std::uint16_t>(word >> 12 & 15),
              static_cast<std::uint16_t>(4095 - (word >> 16 & 0xFFF))};
    return true;
  }

  void note_loss(const char* what, const char* consequence) {
    ++damage_.lost_samples;
    note(what, consequence);
  }
  void note(const char* what, const char* consequence) {
    if (damage_.messages.size() >= Damage::kMaxMessages) return;
    damage_.note(fmt::format("{}: {}, record {} at byte {}: {}", file_.path(), what,
                             counts_.records, (counts_.records + 1) * kRecordSize, consequence));
  }

  InputFile file_;
  PhotonDescription description_;
  Damage header_damage_, damage_;
  TagCounts counts_;
  std::uint64_t gaps_ = 0;
  std::uint64_t base_ = 0;  // the sum of the overflows so far, added to the macro time
  std::vector<std::uint32_t> words_;
};

}  // namespace

bool recognise(const std::string& name) {
  return lower(name).ends_with(".spc");
}

std::unique_ptr<PhotonReader> open(const std::string& path) {
  return std::make_unique<Reader>(path);
}

}  // namespace tautline::formats::spc
