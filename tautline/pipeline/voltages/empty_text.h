// The empty stretches of voltages as text for people, in which inputs have names, and as JSON for records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/formats/array_layout.h"
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

/// "input 3x never changes; inputs 0x, 1x for 4096 samples from 1000; all inputs for 403 samples from 20000 ...; channel 5
/// of all inputs for 19000 samples", of a stream of `samples` times; empty where no stretch is empty.
std::string empty_text(const stream::EmptyVoltages& found, std::uint64_t samples,
                       const std::vector<std::string>& names);

/// "channel 5 of all inputs for 19000 samples; ...": channels that stopped for as long are one; empty for none.
std::string empty_channels_text(const stream::EmptyVoltages& found,
                                const std::vector<std::string>& names);

/// How much of each input is empty, of `samples` times: "input 3x for 4096 of 400000 samples (1 %), inputs 0x, 1x for
/// ...", inputs of which most is empty first; empty where none is.
std::string empty_shares(const stream::EmptyVoltages& found, std::uint64_t samples,
                         const std::vector<std::string>& names);

/// "channel 5 of all inputs; channel 7 of inputs 0x, 1x ..."; empty for none.
std::string constant_text(const std::vector<stream::ConstantChannel>& constant,
                          const std::vector<std::string>& names);
/// {channel, inputs} of each.
nlohmann::ordered_json constant_channels(const std::vector<stream::ConstantChannel>& constant);

/// The warning about `spectra` (times x inputs) that records beside files list as invalid, and that are not lost.
std::string unchanging_text(std::uint64_t spectra);

/// Names of all inputs: those of an array, and where none is given those of unknown_array.
std::vector<std::string> names_of_inputs(const formats::ArrayLayout& array);
std::vector<std::string> names_of_inputs(const core::VoltageDescription& description);
/// "input 3x", "inputs 0x, 1x, 2x, 3x and 12 more", "all inputs" of `names`.
std::string name_inputs(const std::vector<std::size_t>& inputs,
                        const std::vector<std::string>& names);

}  // namespace tautline::pipeline
