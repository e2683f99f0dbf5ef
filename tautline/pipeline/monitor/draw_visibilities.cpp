// Visibilities: the report's messages, and a matrix of amplitudes of the last integration.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "tautline/pipeline/monitor/figure_drawing.h"
#include "tautline/pipeline/plot/mean_grid.h"
#include "tautline/pipeline/plot/texts.h"
#include "tautline/pipeline/report/messages.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline::monitor {

namespace {

namespace figure = formats::figure;

// A message of one more integration stays below some 150 kB.
constexpr report::DigestLimits kLiveLimits{.baselines = 16,
                                           .times = 120,
                                           .channels = 128,
                                           .spectrum_cells = 1 << 14,
                                           .closure_antennas = 4};
constexpr std::size_t kMostMatrix = 256;  // rows

// |V| of every pair over the geometric mean of their powers, each summed over channels. Where there are more inputs than
// cells, inputs share a cell, which shows the largest value.
class AmplitudeMatrix {
 public:
  explicit AmplitudeMatrix(const formats::VisibilityDescription& description)
      : inputs_(description.array.inputs.size()),
        flagged_(description.flagged_channels),
        binning_(plot::Binning::of(inputs_, kMostMatrix)),
        sums_(inputs_ * (inputs_ + 1) / 2) {
    for (const formats::InputLabel& input : description.array.inputs) {
      const formats::Antenna& antenna = description.array.antennas[input.antenna];
      names_.push_back((antenna.name.empty() ? std::to_string(antenna.number) : antenna.name) +
                       input.feed);
    }
  }

  void take(const formats::Integration& integration) {
    std::fill(sums_.begin(), sums_.end(), std::complex<double>{});
    const std::size_t channels = integration.visibilities.extent(0);
    for (std::size_t c = 0; c < channels; ++c) {
      if (std::ranges::binary_search(flagged_, c)) continue;
      for (std::size_t b = 0; b < sums_.size(); ++b)
        if (const auto v = std::complex<double>(integration.visibilities(c, b));
            integration.counts(c, b) > 0 && std::isfinite(v.real()) && std::isfinite(v.imag()))
          sums_[b] += v;
    }
  }

  figure::Panel panel() const {
    figure::Panel made;
    made.title = "Amplitude of every pair, last integration";
    const auto count = static_cast<double>(inputs_);
    made.x = plot::axis("input", "", 0, count);
    made.y = plot::axis("input", "", 0, count);
    // A cell stands for one input, but where they share cells.
    made.x.names = made.y.names = names_;
    made.wide = false;
    made.tall = true;
    figure::Image& image = made.image;
    image.rows = image.columns = binning_.cells;
    image.values.assign(image.rows * image.columns, std::numeric_limits<float>::quiet_NaN());
    const auto power = [&](std::size_t i) { return sums_[i * (i + 1) / 2 + i].real(); };
    for (std::size_t i = 0, b = 0; i < inputs_; ++i)
      for (std::size_t j = 0; j <= i; ++j, ++b) {
        if (i == j) continue;  // 1 always
        const double scale = std::sqrt(power(i) * power(j));
        const auto amplitude =
            static_cast<float>(scale > 0 ? std::abs(sums_[b]) / scale : std::nan(""));
        for (const auto& [row, column] : {std::pair{i, j}, std::pair{j, i}}) {
          float& cell = image.values[binning_.cell(row) * image.columns + binning_.cell(column)];
          if (!(cell >= amplitude)) cell = amplitude;
        }
      }
    image.colour = plot::axis("correlation coefficient", "");
    figure::fit_colours(image, 0, 0.995);
    image.colour.low = 0;
    return made;
  }

 private:
  std::size_t inputs_;
  std::vector<std::size_t> flagged_;  // channels
  std::vector<std::string> names_;
  plot::Binning binning_;
  std::vector<std::complex<double>> sums_;  // [baseline], over channels
};

class VisibilityDrawing final : public Drawing {
 public:
  explicit VisibilityDrawing(const Visibilities& visibilities)
      : digest_(visibilities.description, kLiveLimits), matrix_(visibilities.description) {
    for (const auto& [key, value] : visibilities.description.extra)
      status_.facts.emplace_back(key, value);
  }

  void take(const engine::Block& block) override {
    const auto& time = block.payload_of<IntegrationTime>();
    const formats::Integration integration{time.middle, time.integration_s,
                                           block.view<2>(0).as<const std::complex<float>>(),
                                           block.view<2>(1).as<const std::int64_t>()};
    digest_.add(integration);
    if (pairs()) matrix_.take(integration);
  }

  std::vector<std::string> all() override {
    const std::size_t rows = digest_.times().size();
    if (rows == 0) return {};
    std::vector<std::string> messages{report::description_message(digest_),
                                      report::status_message(status_),
                                      report::integrations_message(digest_, 0, rows)};
    if (pairs()) messages.push_back(matrix_message());
    return messages;
  }

  // Cells of time grow at the end; once they are used up, neighbours are merged, and all are told again.
  std::vector<std::string> news() override {
    const auto& times = digest_.times();
    if (digest_.integrations() == told_) return {};
    const bool begins = told_ == 0 || digest_.choices() != told_choices_,
               merged = times.front().integrations != first_cell_;
    const std::size_t from = merged ? 0 : told_rows_ - 1;  // the last one may have grown
    told_ = digest_.integrations();
    told_choices_ = digest_.choices();
    first_cell_ = times.front().integrations;
    told_rows_ = times.size();
    if (begins) return all();
    std::vector<std::string> messages{
        report::integrations_message(digest_, from, told_rows_ - from)};
    if (pairs()) messages.push_back(matrix_message());
    return messages;
  }

 private:
  bool pairs() const {
    const formats::VisibilityDescription& description = digest_.description();
    return description.array.inputs.size() > 1 && !description.autos_only;
  }
  std::string matrix_message() const {
    figure::Figure made{"Amplitudes"};
    made.panels.push_back(matrix_.panel());
    return plot::figure_message(made);
  }

  report::VisibilityDigest digest_;
  report::RunStatus status_;
  AmplitudeMatrix matrix_;
  std::int64_t told_ = 0, first_cell_ = 0;  // integrations
  std::size_t told_rows_ = 0, told_choices_ = 0;
};

}  // namespace

std::unique_ptr<Drawing> draw_visibilities(const engine::Stream& stream) {
  return std::make_unique<VisibilityDrawing>(stream.detail<Visibilities>());
}

}  // namespace tautline::pipeline::monitor
