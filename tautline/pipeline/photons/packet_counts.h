// Counts that come in packets over UDP: [time][sensor] rows.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tautline/pipeline/photons/live_counts.h"
#include "tautline/stream/packet_rows.h"

namespace tautline::pipeline {

/// Rows of which some counts did not come are told, and zero there.
class PacketCounts final : public CountsAsTheyCome {
 public:
  /// config.channels are the sensors. Throws Error(config) where the layout's samples are no counts.
  PacketCounts(const stream::PacketRowsConfig& config, std::stop_token stop);

  const formats::CountDescription& description() const override { return description_; }
  void skip(std::uint64_t samples) override { to_skip_ = samples; }
  std::pair<std::span<const std::byte>, std::size_t> read(std::size_t samples,
                                                          std::chrono::milliseconds wait) override;
  bool ended() const override { return ended_; }
  void stop() override { own_stop_.request_stop(); }
  bool stopped() const override { return own_stop_.stop_requested(); }
  const formats::Damage& damage() const override { return damage_; }
  bool loses() const override { return true; }
  std::span<const BinRange> lost() const override { return lost_; }
  std::map<std::string, std::uint64_t> counters() const override { return rows_.counters(); }

 private:
  stream::PacketRows rows_;
  std::stop_source own_stop_;
  std::stop_callback<std::function<void()>> stopping_;
  formats::CountDescription description_;
  formats::Damage damage_;
  std::uint64_t to_skip_ = 0, row_ = 0;  // rows; the next one's number
  std::vector<std::byte> block_;
  std::vector<stream::LostRun> runs_;
  std::vector<BinRange> lost_;
  bool ended_ = false;
};

}  // namespace tautline::pipeline
