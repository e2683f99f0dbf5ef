#include "tautline/formats/ptu/writer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/ptu/header.h"

namespace tautline::formats::ptu {

namespace {

// One block at a time is encoded, so that a long list of photons needs no second copy of itself.
constexpr std::size_t kBlockPhotons = std::size_t{1} << 14;

class TagText {
 public:
  TagText() {
    bytes_.append(
        "PQTTTR\0\0"
        "1.0.00\0\0",
        16);
  }

  void integer(const std::string& name, std::int64_t value, std::int32_t index = -1) {
    tag(name, index, TagType::integer, &value);
  }
  void number(const std::string& name, double value) { tag(name, -1, TagType::number, &value); }
  void text(const std::string& name, const std::string& value) {
    std::string padded = value;
    padded.resize((value.size() / 8 + 1) * 8);
    const auto length = static_cast<std::int64_t>(padded.size());
    tag(name, -1, TagType::text, &length);
    bytes_ += padded;
  }
  std::string end() {
    const std::int64_t none = 0;
    tag("Header_End", -1, TagType::empty, &none);
    return std::move(bytes_);
  }

 private:
  void tag(std::string name, std::int32_t index, TagType type, const void* value) {
    name.resize(32);
    bytes_ += name;
    const auto code = static_cast<std::uint32_t>(type);
    bytes_.append(reinterpret_cast<const char*>(&index), 4);
    bytes_.append(reinterpret_cast<const char*>(&code), 4);
    bytes_.append(static_cast<const char*>(value), 8);
  }

  std::string bytes_;
};

std::string instrument_of(const RecordType& type) {
  const std::string name(type.name);
  for (const char* known :
       {"PicoHarp 300", "HydraHarp", "TimeHarp 260 N", "TimeHarp 260 P", "MultiHarp"})
    if (name.starts_with(known)) return known;
  return name;
}

}  // namespace

Writer::Writer(const std::string& path, const RecordType& record_type,
               const PhotonDescription& description, bool overwrite)
    : type_(&record_type),
      description_(description),
      encoder_(record_type),
      file_(path, overwrite) {
  if (!(description.time_unit_s > 0))
    throw core::Error(core::ErrorKind::config, "PTU time unit",
                      std::to_string(description.time_unit_s), "more than 0 seconds");
  file_.write(header(description.rates_hz));
}

std::string Writer::header(std::span<const double> rates_hz) const {
  TagText tags;
  const PhotonDescription& d = description_;
  const bool t3 = type_->mode == TagMode::t3;
  tags.text("CreatorSW_Name", d.software);
  tags.text("File_Comment", d.comment);
  tags.integer("Measurement_Mode", t3 ? 3 : 2);
  tags.integer("Measurement_SubMode", 0);
  tags.text("HW_Type", instrument_of(*type_));
  tags.integer("HW_InpChannels", static_cast<std::int64_t>(d.channels));
  tags.integer("HWSync_Divider", 1);
  tags.number("MeasDesc_GlobalResolution", d.time_unit_s);
  tags.number("MeasDesc_Resolution", t3 ? d.microtime_unit_s : d.time_unit_s);
  tags.integer("MeasDesc_AcquisitionTime", std::llround(d.acquisition_s * 1e3));
  tags.integer("TTResult_SyncRate", std::llround(d.sync_rate_hz));
  for (std::size_t k = 0; k < rates_hz.size(); ++k)
    tags.integer("TTResult_InputRate", std::llround(rates_hz[k]), static_cast<std::int32_t>(k));
  tags.integer("TTResult_StopAfter", std::llround(d.acquisition_s * 1e3));
  tags.integer("TTResult_NumberOfRecords", static_cast<std::int64_t>(records_));
  tags.integer("TTResultFormat_TTTRRecType", type_->code);
  tags.integer("TTResultFormat_BitsPerRecord", 32);
  return tags.end();
}

void Writer::write(std::span<const Photon> photons) {
  while (!photons.empty()) {
    const auto block = photons.first(std::min(kBlockPhotons, photons.size()));
    photons = photons.subspan(block.size());
    words_.clear();
    encoder_.append(block, words_);
    records_ += words_.size();
    file_.write(std::as_bytes(std::span<const std::uint32_t>(words_)));
  }
}

void Writer::finish(std::span<const double> rates_hz) {
  if (rates_hz.size() != description_.rates_hz.size())
    throw core::Error(core::ErrorKind::config, "PTU rates", std::to_string(rates_hz.size()),
                      std::to_string(description_.rates_hz.size()) + ", as announced");
  const std::string text = header(rates_hz);
  file_.write_at(0, std::as_bytes(std::span(text.data(), text.size())));
  file_.finish();
}

}  // namespace tautline::formats::ptu
