// The empty stretches of voltages as text for people and as JSON for records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tautline/stream/constant_channel.h"
#include "tautline/stream/empty_voltages.h"

namespace tautline::pipeline {

/// The first `most` stretches; stretches of several inputs that begin and end together are one: {inputs (numbers),
/// first_sample, samples}.
nlohmann::ordered_json empty_stretches(const stream::EmptyVoltages& found, std::size_t most = 1000);
/// Inputs that were empty for a while: {input, samples}.
nlohmann::ordered_json empty_inputs(const stream::EmptyVoltages& found);

/// Single channels that stopped for a while, of live voltages: {channel, input, samples}.
nlohmann::ordered_json empty_channels(const stream::EmptyVoltages& found, std::size_t most = 1000);

/// "input 3 never changes; inputs 0, 1 for 4096 samples from 1000; all inputs for 403 samples from 20000 ...; channel 5
/// of all inputs for 19000 samples", of a stream of `samples` times; empty where no stretch is empty.
std::string empty_text(const stream::EmptyVoltages& found, std::uint64_t samples);

/// "channel 5 of all inputs; channel 7 of inputs 0, 1 ..." of `inputs`; empty for none.
std::string constant_text(const std::vector<stream::ConstantChannel>& constant, std::size_t inputs);
/// {channel, inputs} of each.
nlohmann::ordered_json constant_channels(const std::vector<stream::ConstantChannel>& constant);

/// "input 3", "inputs 0, 1, 2, 3 and 12 more", "all inputs" of `all`.
std::string name_inputs(const std::vector<std::size_t>& inputs, std::size_t all);

}  // namespace tautline::pipeline
