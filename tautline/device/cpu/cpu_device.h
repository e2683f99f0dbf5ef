// The host's cores as a Device: oneTBB for loops, FFTW or KissFFT for transforms.
#pragma once

#include <memory>

#include "tautline/device/device.h"

namespace tautline::device::cpu {

/// Host loops for devices of any kind: only parallel_for and workers() are of use.
std::unique_ptr<Queue> make_host_queue(const Options& options);

/// Serves Api::cpu and Api::reference (which is a CPU device whose stages run plain loops).
std::shared_ptr<const Device> open(const Selection& selection, const Options& options);

}  // namespace tautline::device::cpu
