// The plan of CPUs and of the reference: cuts a call into tiles, keeps the history, and divides the
// work among threads.
#pragma once

#include <memory>

#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/cpu/kernels.h"
#include "tautline/stages/channelize/tunables.h"

namespace tautline::stages::channelize {

/// `workers`: threads of the device's queues, for Plan::bytes().
std::shared_ptr<const Plan> make_tiled_plan(std::shared_ptr<const Bank> bank,
                                            std::unique_ptr<Kernel> kernel,
                                            const Tunables& tunables, std::size_t workers);

}  // namespace tautline::stages::channelize
