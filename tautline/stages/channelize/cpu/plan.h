// The plan that all backends share: cuts a call into tiles, keeps the history, spreads the work.
#pragma once

#include <memory>

#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/cpu/kernels.h"

namespace tautline::stages::channelize {

/// `workers`: threads of the queues that it will be given, for Plan::bytes().
std::shared_ptr<const Plan> make_tiled_plan(std::shared_ptr<const Bank> bank,
                                            std::unique_ptr<Kernel> kernel,
                                            const Tunables& tunables, std::size_t workers);

}  // namespace tautline::stages::channelize
