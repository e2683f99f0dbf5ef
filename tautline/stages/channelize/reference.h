// The plain loops that define the stage, as a kernel of the plan of CPUs.
#pragma once

#include <memory>

#include "tautline/stages/channelize/cpu/kernels.h"

namespace tautline::stages::channelize {

std::unique_ptr<Kernel> make_reference_kernel(std::shared_ptr<const Bank> bank);

}  // namespace tautline::stages::channelize
