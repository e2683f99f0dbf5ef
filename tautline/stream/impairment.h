// Simulates the faults of a network on packets and records that are sent (loss, duplicates, changes of order,
// corruption, jitter), reproducibly by a seed.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace tautline::stream {

struct Impairment {
  double loss = 0, duplicate = 0, corrupt = 0;  ///< fractions of the packets or records: 0 to 1
  double reorder = 0;                           ///< of packets only
  double jitter_s = 0;                          ///< largest delay of a piece
  std::uint64_t seed = 1;

  bool any() const { return loss > 0 || duplicate > 0 || corrupt > 0 || reorder > 0; }
};

/// "loss=0.01,reorder=0.1,duplicate=0.01,corrupt=0.001,jitter=2ms,seed=7", any of these; empty: none. Throws
/// Error(config) with the field "impair".
Impairment parse_impairment(const std::string& text);

/// Draws the faults of one record or packet after the other.
class Fate {
 public:
  /// For one of several senders.
  Fate(const Impairment& impairment, std::size_t sender)
      : impairment_(impairment), random_(impairment.seed * 1'000'003 + sender) {}

  bool is_lost() { return draw(impairment_.loss); }
  bool is_repeated() { return draw(impairment_.duplicate); }
  bool is_corrupted() { return draw(impairment_.corrupt); }
  bool is_reordered() { return draw(impairment_.reorder); }
  double delay_s() { return impairment_.jitter_s * uniform(); }
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

 private:
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  bool draw(double part) { return part > 0 && uniform() < part; }

  Impairment impairment_;
  std::mt19937_64 random_;
};

}  // namespace tautline::stream
