#include "tautline/pipeline/search/iqrm_found.h"

#include <nlohmann/json.hpp>

#include "tautline/pipeline/search/iqrm_config.h"

namespace tautline::pipeline {

const core::Fields<IqrmConfig>& fields(const IqrmConfig&) {
  using C = IqrmConfig;
  static const auto all =
      core::Fields<C>()
          .add({.name = "threshold",
                .help = "of a channel's difference from its neighbours, in robust standard "
                        "deviations of such differences",
                .option = "iqrm-threshold"},
               &C::threshold, core::above(0))
          .add({.name = "radius",
                .unit = "channels",
                .help = "furthest neighbour that a channel is compared with; 0: a tenth of them",
                .option = "iqrm-radius"},
               &C::radius)
          .add({.name = "every_s",
                .unit = "s",
                .help = "data that have one mask",
                .option = "iqrm-every"},
               &C::every_s, core::above(0));
  return all;
}

nlohmann::ordered_json IqrmFound::record() const {
  auto masked_channels = nlohmann::ordered_json::array();
  for (std::size_t c = 0; c < channels.size(); ++c)
    if (channels[c] > 0) masked_channels.push_back({{"channel", c}, {"samples", channels[c]}});
  return {{"windows", windows},
          {"samples", samples},
          {"masked_samples", masked},
          {"channels", masked_channels}};
}

std::vector<double> IqrmFound::shares() const {
  std::vector<double> shares;
  for (const std::uint64_t times : channels)
    shares.push_back(samples > 0 ? static_cast<double>(times) / static_cast<double>(samples) : 0);
  return shares;
}

}  // namespace tautline::pipeline
