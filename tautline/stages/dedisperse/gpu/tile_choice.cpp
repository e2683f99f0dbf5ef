#include "tautline/stages/dedisperse/gpu/tile_choice.h"

#include <string>
#include <utility>

#include "tautline/stages/dedisperse/plan/choose.h"

namespace tautline::stages::dedisperse {

namespace {

void take_cheaper(std::optional<TileProgram>& best, std::optional<TileProgram> other) {
  if (other && (!best || other->cycles < best->cycles)) best = std::move(other);
}

// The cheapest with shared sums.
std::optional<TileProgram> cheapest_sharing(const Problem& problem, const Delays& delays,
                                            const TileShape& shape, std::size_t levels) {
  if (levels > 0) return make_tile_program(problem, delays, shape, levels);
  std::optional<TileProgram> best;
  for (std::size_t l = 2; l <= kMostTileLevels; ++l) {
    std::optional<TileProgram> program = make_tile_program(problem, delays, shape, l);
    // More levels need more room, and where they cost more, still more cost still more.
    if (!program || (best && program->cycles > 1.2 * best->cycles)) break;
    take_cheaper(best, std::move(program));
  }
  return best;
}

void describe(TileChoice& chosen) {
  Choice& choice = chosen.choice;
  choice.adds = choice.plain_adds;
  if (!chosen.program) {
    choice.text = choice.method == Method::subband ? "subband's delays, all of the plain adds"
                                                   : "exact, all of the plain adds";
    return;
  }
  const TileProgram& program = *chosen.program;
  choice.adds = program.adds;
  choice.text = to_string(choice.method) + ", " +
                std::to_string(choice.adds / choice.plain_adds).substr(0, 5) +
                " of the plain adds, ";
  if (program.levels > 0)
    choice.text += "groups of " + std::to_string(std::size_t{1} << program.levels) + ", ";
  if (choice.method == Method::subband)
    choice.text += "loss of S/N " + std::to_string(100 * choice.loss).substr(0, 4) + " %, ";
  choice.text += std::to_string(program.bundle_rows) + " channels in " +
                 std::to_string((program.local_bytes + 1023) / 1024) + " KiB of local memory";
}

}  // namespace

TileChoice choose_tile(const Problem& problem, const TileShape& shape, std::size_t levels) {
  TileChoice chosen{problem.delays(), {}, make_tile_program(problem, problem.delays(), shape, 0)};
  chosen.choice.plain_adds =
      static_cast<double>(problem.trials()) * static_cast<double>(problem.positions());
  const Method method = problem.config().method;
  if (method == Method::shared || method == Method::automatic) {
    auto shared = cheapest_sharing(problem, problem.delays(), shape, levels);
    if (shared &&
        (method == Method::shared || !chosen.program || shared->cycles < chosen.program->cycles)) {
      chosen.program = std::move(shared);
      chosen.choice.method = Method::shared;
    }
  }
  if (method == Method::subband ||
      (method == Method::automatic && chosen.program && problem.config().max_loss > 0)) {
    const Tunables usual;
    Chosen subband = choose_subband(problem, usual, room_for(problem, usual));
    if (subband.choice.method == Method::subband) {
      auto program = cheapest_sharing(problem, subband.delays, shape, levels);
      if (method == Method::subband ||
          (program && program->cycles < kWorthwhile * chosen.program->cycles)) {
        if (levels == 0)
          take_cheaper(program, make_tile_program(problem, subband.delays, shape, 0));
        chosen.program = std::move(program);
        chosen.choice.method = Method::subband;
        chosen.choice.loss = subband.choice.loss;
        chosen.delays = std::move(subband.delays);
      }
    }
  }
  describe(chosen);
  return chosen;
}

}  // namespace tautline::stages::dedisperse
