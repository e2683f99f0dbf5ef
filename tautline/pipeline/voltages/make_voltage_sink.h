// Writers of channelized voltages: DADA or NPY voltages, or detected power.
#pragma once

#include <memory>
#include <string>

#include "tautline/core/voltage.h"
#include "tautline/pipeline/voltages/channelize_config.h"
#include "tautline/pipeline/voltages/voltage_sink.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

/// The description of the channelized stream: time stamps such that a spectrum's sample is centred on its span of input
/// samples, and a band whose channel centres are the filter bank's.
core::VoltageDescription channelized_description(const Spectra& spectra);

/// Throws Error(config) of `field` where the name's ending is of no format.
void require_voltage_sink_name(const std::string& field, const std::string& path);

/// The writer for the output's ending. Throws core::Error.
std::unique_ptr<VoltageSink> make_voltage_sink(const ChannelizeConfig& config,
                                               const SinkDescription& description);

/// The form that an output of this name takes, known before the filter is planned.
stages::channelize::Output form_wanted(const ChannelizeConfig& config);

}  // namespace tautline::pipeline
