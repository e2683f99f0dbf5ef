#include "tautline/pipeline/voltages/dump_file.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/sigproc/sigproc.h"
#include "tautline/formats/sigproc/writers.h"
#include "tautline/pipeline/voltages/voltage_record.h"

namespace tautline::pipeline {

namespace {

using formats::FilterbankDescription;

bool is_filterbank(const std::string& path) {
  return path.ends_with(".fil");
}

// Sums of several IFs have the size in which they are delivered.
int file_bits(const FilterbankDescription& d) {
  const auto delivered = static_cast<int>(8 * formats::bytes_of(d.delivered));
  return d.delivered == formats::Delivered::u8 && d.summed_ifs.size() < 2 ? d.bits : delivered;
}

class VoltageDump final : public DumpFile {
 public:
  VoltageDump(const DumpFileOptions& options, core::VoltageDescription description,
              const StretchPiece& first)
      : file_({options.path,
               options.overwrite,
               options.history,
               {{"TRIGGER", first.stretch->trigger.id}}},
              of_piece(std::move(description), first)) {}

  void write(const StretchPiece& piece, std::span<const std::byte> bytes) override {
    file_.write(bytes, piece.layout, piece.block_first, static_cast<std::size_t>(piece.samples),
                piece.invalid);
  }
  void fill(std::uint64_t samples) override { file_.fill(samples); }
  std::uint64_t samples() const override { return file_.samples(); }
  const std::string& path() const override { return file_.path(); }
  void finish(nlohmann::ordered_json record) override { file_.finish(std::move(record)); }

 private:
  static core::VoltageDescription of_piece(core::VoltageDescription description,
                                           const StretchPiece& first) {
    description.format = first.layout.format;
    description.start = first.start;
    return description;
  }

  VoltageRecord file_;
};

class FilterbankDump final : public DumpFile {
 public:
  FilterbankDump(const DumpFileOptions& options, FilterbankDescription description,
                 const StretchPiece& first)
      : options_(options),
        description_(of_piece(std::move(description), first)),
        signed_(description_.is_signed && file_bits(description_) == 8 &&
                description_.summed_ifs.size() < 2),
        file_(options.path, header(), options.overwrite) {}

  // Signed bytes were offset for delivery.
  void write(const StretchPiece& piece, std::span<const std::byte> bytes) override {
    const std::size_t each = description_.sample_bytes();
    bytes = bytes.subspan(piece.block_first * each, static_cast<std::size_t>(piece.samples) * each);
    if (!signed_) return put(bytes);
    flipped_.assign(bytes.begin(), bytes.end());
    for (std::byte& sample : flipped_) sample ^= std::byte{0x80};
    put(flipped_);
  }
  void fill(std::uint64_t samples) override {
    const std::size_t each = description_.sample_bytes();
    const std::vector<std::byte> zeros(
        each * static_cast<std::size_t>(std::min<std::uint64_t>(samples, kZeros)));
    for (std::uint64_t left = samples; left > 0;) {
      const std::uint64_t times = std::min<std::uint64_t>(left, kZeros);
      put(std::span(zeros).first(static_cast<std::size_t>(times) * each));
      left -= times;
    }
  }
  std::uint64_t samples() const override { return file_.samples(); }
  const std::string& path() const override { return options_.path; }

  // A full disk is reported before either file has its name.
  void finish(nlohmann::ordered_json record) override {
    const FilterbankDescription& d = description_;
    record["start_utc"] = core::to_iso(d.start);
    record["samples"] = file_.samples();
    record["rate_hz"] = {d.rate_hz.numerator, d.rate_hz.denominator};
    record["centre_hz"] = (d.highest_mhz() + d.lowest_mhz()) / 2 * 1e6;
    record["bandwidth_hz"] = d.foff_mhz * 1e6 * static_cast<double>(d.channels);
    record["invalid"] = nlohmann::ordered_json::array();
    formats::PartialFile beside(options_.path + ".json", options_.overwrite);
    const std::string text = record.dump(1) + "\n";
    beside.write_at(0, std::as_bytes(std::span(text)));
    formats::finish_after_record(beside, [this] { file_.finish(); });
  }

 private:
  static constexpr std::uint64_t kZeros = 256;  // times at once

  static FilterbankDescription of_piece(FilterbankDescription description,
                                        const StretchPiece& first) {
    description.start = first.start;
    description.tstart_mjd = core::modified_julian_date(first.start);
    return description;
  }
  formats::sigproc::Header header() const {
    formats::sigproc::Header header = formats::sigproc::header_of(description_);
    header.nbits = file_bits(description_);
    header.is_signed = signed_;
    return header;
  }
  void put(std::span<const std::byte> bytes) {
    formats::with_samples(description_.delivered, bytes.data(), [&](const auto* samples) {
      file_.write(std::span(samples, bytes.size() / sizeof *samples));
    });
  }

  DumpFileOptions options_;
  FilterbankDescription description_;
  bool signed_;
  formats::sigproc::FilterbankWriter file_;
  std::vector<std::byte> flipped_;
};

}  // namespace

std::size_t spectrum_bits(const FilterbankDescription& description) {
  return description.channels * static_cast<std::size_t>(file_bits(description));
}

void require_dump_name(const std::string& path) {
  if (!path.ends_with(".dada") && !path.ends_with(".vdif") && !is_filterbank(path))
    throw core::Error(core::ErrorKind::config, "path", path,
                      "a name ending in .dada or .vdif, or in .fil for filterbanks");
}

void require_dumpable(const std::string& path, const Stretches& of) {
  const auto* filterbank = std::get_if<FilterbankDescription>(&of.of);
  if (is_filterbank(path) != (filterbank != nullptr))
    throw core::Error(core::ErrorKind::config, "path", path,
                      filterbank != nullptr
                          ? "a name ending in .fil: the input is a filterbank"
                          : "a name ending in .dada or .vdif: the input is voltages");
  if (filterbank == nullptr)
    return require_recordable(path, std::get<core::VoltageDescription>(of.of));
  if (!filterbank->evenly_spaced || filterbank->time_series)
    throw core::Error(core::ErrorKind::unsupported, "inputs",
                      filterbank->time_series ? "a dedispersed series" : "channels of uneven steps",
                      "a filterbank whose channels are evenly spaced");
}

std::unique_ptr<DumpFile> make_dump_file(const DumpFileOptions& options, const Stretches& of,
                                         const StretchPiece& first) {
  if (const auto* filterbank = std::get_if<FilterbankDescription>(&of.of))
    return std::make_unique<FilterbankDump>(options, *filterbank, first);
  return std::make_unique<VoltageDump>(options, std::get<core::VoltageDescription>(of.of), first);
}

}  // namespace tautline::pipeline
