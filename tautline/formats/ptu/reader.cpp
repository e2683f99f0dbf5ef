#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tautline/formats/ptu/header.h"
#include "tautline/formats/ptu/ptu.h"
#include "tautline/formats/ptu/record_stream.h"

namespace tautline::formats::ptu {

namespace {

constexpr int kMaxInputs = 64;

const RecordType& record_type(const Header& header, const std::string& path) {
  const auto code = header.integer("TTResultFormat_TTTRRecType");
  if (!code)
    throw format_error(path, "TTResultFormat_TTTRRecType", "missing", "the type of the records",
                       "only time-tagged files (T2, T3) hold photons");
  const RecordType* type = find_record_type(static_cast<std::uint32_t>(*code));
  if (type != nullptr && *code >= 0 && *code <= 0xFFFFFFFF) return *type;
  throw format_error(path, "record type",
                     fmt::format("0x{:08X}", static_cast<std::uint64_t>(*code)),
                     "T2 or T3 of PicoHarp 300, HydraHarp v1 or v2, TimeHarp 260 or MultiHarp",
                     "save the file with one of these, or ask for this type to be added");
}

double positive(std::optional<double> value) {
  return value && std::isfinite(*value) && *value > 0 ? *value : 0;
}

double positive_integer(std::optional<std::int64_t> value) {
  return value && *value > 0 ? static_cast<double>(*value) : 0;
}

// The clock: the header's resolution, or for T3 the stated sync rate.
void set_clock(PhotonDescription& d, const Header& header, const RecordType& type,
               const std::string& path) {
  d.sync_rate_hz = positive_integer(header.integer("TTResult_SyncRate"));
  d.time_unit_s = positive(header.number("MeasDesc_GlobalResolution"));
  if (type.mode == TagMode::t3 && d.time_unit_s == 0 && d.sync_rate_hz > 0)
    d.time_unit_s = 1 / d.sync_rate_hz;
  if (d.time_unit_s == 0 || d.time_unit_s > 1)
    throw format_error(path, "MeasDesc_GlobalResolution",
                       d.time_unit_s == 0 ? "missing" : std::to_string(d.time_unit_s),
                       "the unit of the clock in seconds", "the header is damaged");
  if (type.mode == TagMode::t2) return;
  d.microtime_unit_s = positive(header.number("MeasDesc_Resolution"));
  d.microtimes = type.microtimes();
}

}  // namespace

bool recognise(std::span<const std::byte> first_bytes) {
  constexpr std::string_view kMagic("PQTTTR\0\0", 8);
  return first_bytes.size() >= kMagic.size() &&
         std::string_view(reinterpret_cast<const char*>(first_bytes.data()), kMagic.size()) ==
             kMagic;
}

TagHeader read_header(const HeaderSource& file) {
  const std::string& path = file.path;
  const Header header = Header::read(file);
  const RecordType& type = record_type(header, path);
  TagHeader tags;
  PhotonDescription& d = tags.description;
  d.format = "PTU";
  d.record_type = type.name;
  d.mode = type.mode;
  set_clock(d, header, type, path);
  if (const auto bits = header.integer("TTResultFormat_BitsPerRecord"); bits && *bits != 32)
    throw format_error(path, "TTResultFormat_BitsPerRecord", std::to_string(*bits), "32");
  for (int input = 0; input < kMaxInputs; ++input)
    if (const auto rate = header.integer("TTResult_InputRate", input))
      d.rates_hz.push_back(static_cast<double>(*rate));
  d.stated_records = static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, header.integer("TTResult_NumberOfRecords").value_or(0)));
  // The duration of a run is known to the millisecond; the requested duration is used where it is missing.
  const double took_ms = positive_integer(header.integer("TTResult_StopAfter"));
  const double asked_ms = positive_integer(header.integer("MeasDesc_AcquisitionTime"));
  d.acquisition_s = (took_ms > 0 ? took_ms : asked_ms) / 1e3;
  for (const char* name : {"HW_InpChannels", "HWRouter_Channels"})
    if (d.channels == 0)
      d.channels = static_cast<std::uint32_t>(
          std::clamp<std::int64_t>(header.integer(name).value_or(0), 0, kMaxInputs));
  d.instrument = header.text("HW_Type");
  d.software = header.text("CreatorSW_Name");
  d.comment = header.text("File_Comment");
  if (const HeaderTag* created = header.find("File_CreatingTime"))
    d.created = date_text(created->number);
  tags.type = &type;
  tags.size_bytes = header.size_bytes();
  return tags;
}

std::unique_ptr<PhotonReader> open(const std::string& path) {
  return open_records(InputFile(path), read_header);
}

}  // namespace tautline::formats::ptu
