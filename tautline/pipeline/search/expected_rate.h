// How fast a search or a dedispersion will be, measured for some milliseconds before it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/pipeline/search/search_part.h"

namespace tautline::pipeline {

/// Seconds that the plan takes for one time of its input when the overlap is full, measured on
/// zeros that lie in host memory, or a GPU's where it takes them there: additions take as long
/// whatever is added. On a host fewer `samples` of the input are measured on fewer times, less well.
double seconds_per_sample(const stages::dedisperse::Plan& plan,
                          const std::shared_ptr<const device::Device>& device,
                          std::uint64_t samples);

/// Seconds that searching one column of all trials takes, measured on noise in a few of the
/// trials. The run will search `samples` columns: fewer are measured less well.
double seconds_per_sample(const stages::detect::Plan& plan,
                          const std::shared_ptr<const device::Device>& device,
                          std::uint64_t samples);

/// Of a pass: both, for one time of its input.
double seconds_per_sample(const std::vector<SearchPart>& parts,
                          const std::shared_ptr<const device::Device>& device,
                          std::uint64_t samples);

/// "WORK alone about 12.3 x real time, 40 s for 492 s of data; reading, cleaning and writing come on
/// top": `work` is what seconds_per_sample() was asked for.
std::string describe_expected(const std::string& work, double seconds_per_data_s, double data_s);

}  // namespace tautline::pipeline
