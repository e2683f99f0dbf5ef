// F-engines and X-engines of a graph, on one device or several: for every builder of a graph that correlates.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tautline/engine/graph.h"
#include "tautline/pipeline/voltages/f_engine_node.h"
#include "tautline/pipeline/voltages/reduction.h"
#include "tautline/pipeline/voltages/tracking.h"
#include "tautline/pipeline/voltages/visibilities_node.h"

namespace tautline::pipeline {

using DeviceList = std::vector<std::shared_ptr<const device::Device>>;

struct FEnginesConfig {
  DeviceList devices;
  FilterConfig filter;
  SharedGains gains = {};  ///< null: no rounding, or the gains are set later
  Tracking tracking = {};
  ChannelRange kept = {};  ///< channels of the stream that will be correlated; none: all
  std::shared_ptr<const device::Device> host = {};  ///< where gains that change are measured
  std::optional<StreamPlace> from = {};             ///< FEngineNodeConfig's, of one device
  std::size_t memory_bytes =
      0;                   ///< for whose choice of blocks there is room; 0: they stay as they are
  core::LogSink log = {};  ///< FEngineNodeConfig's, of the first device
};

/// NAME, or NAME.0, NAME.1 ... of several devices, which read `voltages`. Returns an output for each device. Every
/// device gets all blocks, since its link is faster than files are read. For a stream that is channelized already, each
/// device makes spectra of its share of the channels; for voltages, each runs the whole filter bank. Blocks of files
/// are as long as suits the filter bank (choose_blocks), unless other readers of the source have set their length, or
/// the source cannot change it.
std::vector<engine::Port> add_f_engines(engine::Graph& graph, const std::string& name,
                                        const engine::Port& voltages, FEnginesConfig config,
                                        const engine::EdgeOptions& edge = {});

/// Before what reads the spectra at `port` is connected, to which blocks of any length are the same: where nothing else
/// reads them, they are short (FEngineNode::use_short_blocks).
void use_short_blocks(const engine::Graph& graph, const engine::Port& port);

struct XEnginesConfig {
  DeviceList devices;  ///< one for each of the F-engines
  double integration_s = 1.0;
  Reduction reduction = {};
  bool all_products = false;          ///< of the means, whatever the reduction keeps
  VisibilitiesNodeConfig means = {};  ///< `inputs` is set here
};

/// Names of the nodes: NAME.0, NAME.1 ... of several devices.
struct XEngineNames {
  std::string sums, means, reduction;
};

/// Visibilities as correlated, and as written: the same unless they are reduced.
struct CorrelatorOutputs {
  engine::NodeId means, reduced;
};

/// X-engines for the spectra of add_f_engines(), their means on the host, and the reduction where one is configured.
/// The engines' plans are made in parallel.
CorrelatorOutputs add_x_engines(engine::Graph& graph, const XEngineNames& names,
                                const std::vector<engine::Port>& spectra, XEnginesConfig config,
                                const engine::EdgeOptions& edge = {});

}  // namespace tautline::pipeline
