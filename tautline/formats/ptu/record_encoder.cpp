#include "tautline/formats/ptu/record_encoder.h"

#include <algorithm>
#include <string>

#include "tautline/core/error.h"

namespace tautline::formats::ptu {

namespace {

void require(bool fits, const char* field, std::uint64_t value, const std::string& limit) {
  if (!fits)
    throw core::Error(core::ErrorKind::config, std::string("PTU ") + field, std::to_string(value),
                      limit);
}

}  // namespace

void RecordEncoder::append_overflows(std::uint64_t count,
                                     std::vector<std::uint32_t>& records) const {
  if (type_->counted_overflow) {
    const std::uint64_t most = type_->mode == TagMode::t3 ? 0x3FF : 0x1FFFFFF;
    for (; count > 0;) {
      const std::uint64_t these = std::min(count, most);
      records.push_back(0xFE000000u | static_cast<std::uint32_t>(these));
      count -= these;
    }
    return;
  }
  const std::uint32_t overflow = type_->family == Family::picoharp ? 0xF0000000u : 0xFE000000u;
  records.insert(records.end(), static_cast<std::size_t>(count), overflow);
}

std::uint32_t RecordEncoder::photon_record(const Photon& photon, std::uint32_t clock) const {
  const std::uint32_t channel = photon.channel, microtime = photon.microtime;
  const bool t3 = type_->mode == TagMode::t3;
  require(t3 ? microtime < type_->microtimes() : microtime == 0, "microtime", microtime,
          t3 ? "less than " + std::to_string(type_->microtimes()) : "0 in T2");
  if (type_->family == Family::picoharp) {
    require(channel <= 4 && (channel > 0 || !t3), "channel", channel, t3 ? "1 to 4" : "0 to 4");
    return channel << 28 | (t3 ? microtime << 16 : 0u) | clock;
  }
  require(channel <= 63, "channel", channel, "0 to 63");
  // The sync input's events are special records in T2.
  if (!t3 && channel == kSyncChannel) return 1u << 31 | clock;
  return channel << 25 | (t3 ? microtime << 10 : 0u) | clock;
}

void RecordEncoder::append(std::span<const Photon> photons, std::vector<std::uint32_t>& records) {
  for (const Photon& photon : photons) {
    require(photon.time >= last_, "time", photon.time,
            "not before the previous photon's " + std::to_string(last_));
    last_ = photon.time;
    if (photon.time - base_ >= type_->wrap) {
      const std::uint64_t overflows = (photon.time - base_) / type_->wrap;
      append_overflows(overflows, records);
      base_ += overflows * type_->wrap;
    }
    records.push_back(photon_record(photon, static_cast<std::uint32_t>(photon.time - base_)));
  }
}

}  // namespace tautline::formats::ptu
