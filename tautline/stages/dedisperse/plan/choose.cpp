#include "tautline/stages/dedisperse/plan/choose.h"

#include <limits>
#include <optional>
#include <utility>

#include "tautline/stages/dedisperse/plan/subband.h"

namespace tautline::stages::dedisperse {

namespace {

// Channels of a sub-band that are tried: trials add the sub-bands, so few of them are good, and
// narrow ones can share their series among more trials.
constexpr std::size_t kSubbands[] = {16, 32, 64};

void take_subband(const Problem& problem, const Tunables& tunables, const Room& room, Chosen& best,
                  double most_cycles) {
  LossMeter meter(problem);
  for (const std::size_t channels : kSubbands) {
    if (channels > kSubbands[0] && channels >= 2 * problem.positions()) break;
    SubbandDelays subband = subband_delays(problem, meter, channels);
    const auto shared = cheapest_shared(problem, subband.delays, tunables, room);
    if (!shared || shared->cycles >= most_cycles) continue;
    most_cycles = shared->cycles;
    best.estimate = *shared;
    best.delays = std::move(subband.delays);
    best.choice.method = Method::subband;
    best.choice.loss = subband.loss;
  }
}

Chosen plain(const Problem& problem, const Tunables& tunables, const Room& room) {
  Chosen chosen{problem.delays(), {}, cheapest_plain(problem, problem.delays(), tunables, room)};
  chosen.choice.plain_adds =
      static_cast<double>(problem.trials()) * static_cast<double>(problem.positions());
  return chosen;
}

}  // namespace

Types types_for(const Problem& problem) {
  constexpr std::size_t kLeastChannels = 15;  // of 12 bits
  if (problem.whole_zero_dm()) return Types::i32_i32;
  if (problem.float_sums()) return Types::f32_f32;
  if (problem.max_value() <= 255) return Types::u8_u16;
  const bool enough = channels_in_sum(problem, Types::u16_u16) >= kLeastChannels;
  return enough ? Types::u16_u16 : Types::u16_u32;
}

std::size_t channels_in_sum(const Problem& problem, Types types) {
  if (types != Types::u8_u16 && types != Types::u16_u16)
    return std::numeric_limits<std::uint32_t>::max();
  constexpr std::uint64_t kKept = (1 << kKeptBits) - 1;
  return (65535 - kKept) / problem.max_value();
}

std::size_t channels_in_trial(const Problem& problem, Types types) {
  const std::size_t sum = channels_in_sum(problem, types);
  return sum == std::numeric_limits<std::uint32_t>::max()
             ? sum
             : (65535 << kKeptBits) / problem.max_value();
}

Room room_for(const Problem& problem, const Tunables& tunables) {
  const Types types = types_for(problem);
  const Kernels& kernels = kernels_for(device::InstructionSet::portable, types);
  return {channels_in_sum(problem, types),
          channels_in_trial(problem, types),
          kernels.row_bytes,
          kernels.sum_bytes,
          tunables.near_bytes,
          tunables.scratch_bytes};
}

Chosen choose_subband(const Problem& problem, const Tunables& tunables, const Room& room) {
  Chosen best = plain(problem, tunables, room);
  take_subband(problem, tunables, room, best, std::numeric_limits<double>::infinity());
  return best;
}

Chosen choose(const Problem& problem, const Tunables& tunables, const Room& room) {
  const Method method = problem.config().method;
  if (method == Method::subband) return choose_subband(problem, tunables, room);
  Chosen best = plain(problem, tunables, room);
  if (method == Method::exact) return best;
  const auto shared = cheapest_shared(problem, problem.delays(), tunables, room);
  if (shared && (method == Method::shared || shared->cycles < best.estimate.cycles)) {
    best.estimate = *shared;
    best.choice.method = Method::shared;
  }
  if (method == Method::automatic)
    take_subband(problem, tunables, room, best, kWorthwhile * best.estimate.cycles);
  return best;
}

}  // namespace tautline::stages::dedisperse
