// Photon time tags that come through a pipe: PTU or PT3, header first.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tautline/formats/photon_reader.h"
#include "tautline/formats/ptu/record_decoder.h"
#include "tautline/formats/ptu/tag_header.h"
#include "tautline/stream/live_input.h"

namespace tautline::stream {

/// A reader whose stream may pause: read() gives 0 where nothing came for a while, and ended() says whether more can
/// come. It cannot be rewound.
class LivePhotons final : public formats::PhotonReader {
 public:
  /// Waits for the header. Throws Error(format) on other bytes.
  explicit LivePhotons(std::unique_ptr<LiveInput> input);

  const formats::PhotonDescription& description() const override { return description_; }
  /// Photons of records that came without a pause are those of a file.
  std::size_t read(std::span<formats::Photon> photons) override;
  /// Throws Error(unsupported).
  void rewind() override;
  const formats::TagCounts& counts() const override { return decoder_->counts(); }
  const formats::Damage& damage() const override { return decoder_->damage(); }
  std::span<const formats::TagBreak> breaks() const override { return decoder_->breaks(); }
  bool ended() const override { return ended_; }

 private:
  std::size_t read_header_bytes(std::uint64_t offset, std::span<std::byte> bytes);
  std::size_t records_ready(std::span<const std::uint32_t> words) const;
  void finish();
  void pass_spare_bytes();

  std::unique_ptr<LiveInput> input_;
  formats::PhotonDescription description_;
  std::uint64_t place_ = 0;  ///< bytes that the header's reader has taken
  std::unique_ptr<formats::ptu::RecordDecoder> decoder_;
  std::vector<std::uint32_t> words_;
  std::size_t held_ = 0;  ///< bytes of records that are not decoded yet
  bool ended_ = false;
  bool paused_ = false;  ///< fewer bytes came than fit: the next reading says so
};

}  // namespace tautline::stream
