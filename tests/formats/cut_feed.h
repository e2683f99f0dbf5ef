// Bytes that come in pieces of any length, now and then after a wait.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/formats/forward_bytes.h"

namespace tautline::tests {

class CutFeed final : public formats::ByteFeed {
 public:
  /// `longest`: of a piece.
  CutFeed(std::string name, std::vector<char> bytes, std::size_t longest, std::uint64_t seed)
      : name_(std::move(name)), bytes_(std::move(bytes)), longest_(longest), random_(seed) {}

  const std::string& name() const override { return name_; }
  std::size_t read(std::span<std::byte> to, std::chrono::milliseconds) override {
    if (random_() % 3 == 0) return 0;  // a stall
    const std::size_t some =
        std::min({to.size(), bytes_.size() - given_, std::size_t{1} + random_() % longest_});
    std::ranges::copy(std::as_bytes(std::span(bytes_)).subspan(given_, some), to.begin());
    given_ += some;
    return some;
  }
  bool ended() const override { return given_ == bytes_.size(); }
  bool stopped() const override { return false; }
  std::string fault() const override { return ended() ? fault_at_the_end : ""; }
  void stop() override { bytes_.resize(given_); }

  std::string fault_at_the_end;

 private:
  std::string name_;
  std::vector<char> bytes_;
  std::size_t longest_, given_ = 0;
  std::mt19937_64 random_;
};

/// A file of these bytes, of which `most` may be kept (4 MiB at least).
inline std::shared_ptr<formats::ForwardBytes> in_order(const std::string& name,
                                                       const std::vector<char>& bytes,
                                                       std::mt19937_64& random,
                                                       std::size_t most = 0) {
  return std::make_shared<formats::ForwardBytes>(
      std::make_unique<CutFeed>(name, bytes, std::size_t{1} << random() % 16, random()), most);
}

}  // namespace tautline::tests
