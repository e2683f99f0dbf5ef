#include "tautline/stream/packet_filterbank.h"

#include <chrono>
#include <utility>

#include "tautline/core/error.h"

namespace tautline::stream {

namespace {

constexpr std::chrono::milliseconds kRowsPatience{1000};

PacketRowsConfig with_facts(PacketRowsConfig config, const formats::FilterbankDescription& of) {
  config.channels = of.channels;
  config.rate_hz = of.rate_hz;
  config.start = of.start;
  return config;
}

core::SampleFormat delivered_as(formats::Delivered type) {
  if (type == formats::Delivered::f32) return {32, false, core::Encoding::ieee_float};
  return {static_cast<int>(8 * formats::bytes_of(type)), false, core::Encoding::offset_binary};
}

}  // namespace

PacketFilterbank::PacketFilterbank(PacketRowsConfig config,
                                   formats::FilterbankDescription described, bool listens,
                                   const std::stop_token& stop)
    : description_(std::move(described)), rows_(with_facts(std::move(config), description_)) {
  if (rows_.format() != delivered_as(description_.delivered))
    throw core::Error(core::ErrorKind::config, "layout", to_string(rows_.format()) + " samples",
                      to_string(description_.delivered) + ", as `header` says",
                      "give a layout of its own: like = \"filterbank\", sample = ...");
  description_.samples = 0;
  if (!listens) return;
  while (!rows_.begun() && rows_.wait(kRowsPatience, stop)) {
  }
  if (!rows_.begun()) throw core::Error(core::ErrorKind::io, name(), "interrupted", "");
  constexpr double kMicroseconds = 1e6, kDay_s = 86'400;
  const auto later =
      core::samples_between(description_.start, rows_.start(),
                            core::make_rational(static_cast<std::int64_t>(kMicroseconds), 1));
  description_.tstart_mjd += static_cast<double>(later) / kMicroseconds / kDay_s;
  description_.start = rows_.start();
}

std::size_t PacketFilterbank::read(std::size_t samples, std::span<std::byte> to,
                                   const std::stop_token& stop) {
  lost_.clear();
  std::size_t got = 0;
  while (got < samples) {
    got += rows_.take(samples - got, to.subspan(got * rows_.row_bytes()), lost_);
    if (got < samples && !rows_.wait(kRowsPatience, stop)) break;
  }
  return got;
}

}  // namespace tautline::stream
