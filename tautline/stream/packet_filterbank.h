// A filterbank that comes in packets over UDP, whose facts a header tells.
#pragma once

#include <string>
#include <vector>

#include "tautline/stream/live_spectra.h"

namespace tautline::stream {

class PacketFilterbank final : public LiveSpectra {
 public:
  /// `described`: the facts that packets lack. config.channels, rate_hz and start are taken from there. `listens`: from
  /// now on, and waits for the first packets; else with the first read. Throws Error(config) where the layout's samples are not those that are delivered of such a
  /// filterbank, Error(io) where no packets come.
  PacketFilterbank(PacketRowsConfig config, formats::FilterbankDescription described, bool listens,
                   const std::stop_token& stop);

  const formats::FilterbankDescription& description() const override { return description_; }
  const std::string& name() const override { return rows_.name(); }
  const std::vector<std::string>& remarks() const override { return remarks_; }
  std::size_t read(std::size_t samples, std::span<std::byte> to,
                   const std::stop_token& stop) override;
  std::span<const LostRun> lost() const override { return lost_; }
  bool loses() const override { return true; }
  formats::Damage damage() const override { return rows_.damage(); }
  std::map<std::string, std::uint64_t> counters() const override { return rows_.counters(); }

 private:
  formats::FilterbankDescription description_;
  std::vector<std::string> remarks_;
  PacketRows rows_;
  std::vector<LostRun> lost_;
};

}  // namespace tautline::stream
