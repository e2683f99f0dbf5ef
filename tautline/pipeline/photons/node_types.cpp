#include "tautline/pipeline/photons/node_types.h"

#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/input_stream.h"
#include "tautline/pipeline/photons/autocorrelate_fields.h"
#include "tautline/pipeline/photons/count_source_node.h"
#include "tautline/pipeline/photons/curve_output.h"
#include "tautline/pipeline/photons/curve_plan.h"
#include "tautline/pipeline/photons/curve_sink_node.h"
#include "tautline/pipeline/photons/fit_sink_node.h"

namespace tautline::pipeline {

struct CountFile {
  AutocorrelateConfig counts;
  std::size_t block_samples = 0;  ///< 0: by bytes
};
const core::Fields<CountFile>& fields(const CountFile&) {
  using C = CountFile;
  const auto path = [](auto& c) -> auto& {
    return c.counts.input;
  };
  const auto raw = [](auto& c) -> auto& {
    return c.counts.raw;
  };
  const auto sensors = [](auto& c) -> auto& {
    return c.counts.sensors;
  };
  static const auto all =
      core::Fields<C>()
          .add({.name = "path",
                .help = "counts (NPY, raw, TIFF stacks) or photon time tags (PTU, PT3, SPC, "
                        "Photon-HDF5)"},
               path, core::plain_text<std::string>())
          .include("", &C::counts, input_fields())
          .include("", raw, raw_fields())
          .include("", sensors, fields(SensorConfig{}))
          .add({.name = "block_samples",
                .help = "samples (times) in a block; 0: about 16 MiB, for a GPU 64"},
               &C::block_samples);
  return all;
}

struct Autocorrelator {
  AutocorrelateConfig curves;
};
const core::Fields<Autocorrelator>& fields(const Autocorrelator&) {
  using C = Autocorrelator;
  static const auto all =
      core::Fields<C>()
          .include("", &C::curves, curve_fields())
          .include("", &C::curves,
                   some_of<AutocorrelateConfig>(fields(AutocorrelateConfig{}), {"every_s"}));
  return all;
}

struct CurveFile {
  std::string path;
};
const core::Fields<CurveFile>& fields(const CurveFile&) {
  static const auto all = core::Fields<CurveFile>().add(
      {.name = "path", .help = "G.csv, G.zip or G.h5", .option = "output"}, &CurveFile::path);
  return all;
}

struct FitFile : FitConfig {};
const core::Fields<FitFile>& fields(const FitFile&) {
  using C = FitFile;
  const auto self = [](auto& config) -> auto& {
    return config;
  };
  static const auto all =
      core::Fields<C>()
          .add({.name = "path", .help = "F.csv: one line for each curve", .option = "output"},
               &C::output)
          .add({.name = "page", .help = "F.html: curves, residuals and maps", .option = "report"},
               &C::report)
          .include("", self, fields(FitConfig{}));
  return all;
}

namespace {

std::unique_ptr<engine::Node> make_count_file(CountFile config, const NodeContext& context) {
  const std::string& path = config.counts.input;
  if (path.empty() || formats::is_stream(path))
    throw core::Error(core::ErrorKind::config, "path", path.empty() ? "not given" : path, "a file",
                      "autocorrelate reads standard input and named pipes");
  config.counts.memory_bytes = context.memory_bytes;
  const device::Device& device = *context.devices.front();
  CountInput input = open_count_input(config.counts, device, {});
  const std::size_t block_samples = config.block_samples > 0
                                        ? config.block_samples
                                        : count_block_samples(config.counts, input, device);
  return make_count_source(std::move(input), block_samples, {});
}

std::unique_ptr<engine::Node> make_autocorrelator(Autocorrelator config,
                                                  const NodeContext& context) {
  config.curves.memory_bytes = context.memory_bytes;
  check_curve_settings(config.curves);
  return make_curve_node(config.curves, context.devices.front(), nullptr);
}

std::unique_ptr<engine::Node> make_curve_file(const CurveFile& config, const engine::Graph&,
                                              const engine::Port&, const NodeContext& context) {
  check_curve_output(config.path, context.overwrite);
  return std::make_unique<CurveSink>(CurveSinkConfig{.output = config.path,
                                                     .save_state = {},
                                                     .overwrite = context.overwrite,
                                                     .history = context.history,
                                                     .log = context.log});
}

std::unique_ptr<engine::Node> make_fit_file(const FitFile& config, const engine::Graph& graph,
                                            const engine::Port& output,
                                            const NodeContext& context) {
  if (config.output.empty())
    throw core::Error(core::ErrorKind::config, "path", "not given", "the file that is written");
  FitConfig fit = config;
  fit.input = graph.members()[output.node].name;
  fit.overwrite = context.overwrite;
  fit.history = context.history;
  fit.threads = context.threads;
  assume_kappa(fit);
  return std::make_unique<FitSink>(std::move(fit), context.log);
}

}  // namespace

std::vector<NodeType> photon_node_types() {
  return {node_type<CountFile>("count_file", "counts of photons, or their time tags, from a file",
                               0, make_count_file)
              .reading({"path", "mask_path"}),
          node_type<Autocorrelator>("autocorrelator", "counts or time tags to correlation curves",
                                    1, make_autocorrelator),
          sink_type<CurveFile>("curve_file", "correlation curves to .csv, .zip or .h5", 1,
                               make_curve_file)
              .writing({"path"}),
          sink_type<FitFile>("fit_file", "diffusion fits of correlation curves, a table and a page",
                             1, make_fit_file)
              .writing({"path", "page"})};
}

}  // namespace tautline::pipeline
