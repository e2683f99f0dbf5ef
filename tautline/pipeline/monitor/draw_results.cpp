// Pulses as they are found, and correlation curves.
#include <fmt/format.h>

#include <algorithm>

#include "tautline/pipeline/monitor/figure_drawing.h"
#include "tautline/pipeline/photons/curve_node.h"
#include "tautline/pipeline/plot/figures.h"
#include "tautline/pipeline/plot/texts.h"
#include "tautline/pipeline/search/search_node.h"

namespace tautline::pipeline::monitor {

namespace {

namespace figure = formats::figure;

constexpr std::size_t kMostPulses = 4000;
constexpr std::size_t kMostLiveCurves = 8;

class PulseDrawing final : public FigureDrawing {
 public:
  explicit PulseDrawing(const engine::Stream& stream)
      : pulses_(stream.detail<PulseStream>()), rate_hz_(stream.rate_hz.value()) {}
  bool may_skip() const override { return false; }

  void take(const engine::Block& block) override {
    const FilterbankStream& filterbank = pulses_.filterbank;
    const auto part = filterbank.parts[filterbank.turn_of(block.segment).part];
    const auto& found = block.payload_of<FoundPulses>();
    for (std::size_t s = 0; s < found.ranges.size(); ++s) {
      const auto& range = pulses_.trials.ranges[s];
      for (const stages::detect::Pulse& pulse : found.ranges[s].pulses) {
        const double sample =
            static_cast<double>(pulse.sample()) * static_cast<double>(range.downsample);
        time_s_.push_back((static_cast<double>(part.placed.grid_first) + sample) / rate_hz_);
        dm_.push_back(range.dms.at(pulse.trial));
        snr_.push_back(pulse.snr);
        ++count_;
      }
    }
    if (time_s_.size() > kMostPulses)
      for (std::vector<double>* const list : {&time_s_, &dm_, &snr_})
        list->erase(list->begin(), list->end() - static_cast<std::ptrdiff_t>(kMostPulses));
    if (count_ > 0) note_change();
  }

 private:
  figure::Figure figure() override {
    figure::Figure made{"Pulses"};
    made.facts = {{"pulses", plot::grouped(count_)},
                  {"last", fmt::format("S/N {:.1f} at {:.6g} s, DM {:.6g} pc cm\u207b\u00b3",
                                       snr_.back(), time_s_.back(), dm_.back())}};
    made.panels.push_back(plot::pulse_panel("Pulses as they are found", time_s_, dm_, snr_));
    made.panels.back().tall = true;
    made.notes.push_back(
        "One pulse may be found in several trials and blocks; the file of candidates joins them.");
    if (count_ > kMostPulses)
      made.notes.push_back(fmt::format("The last {}.", plot::grouped(kMostPulses)));
    return made;
  }

  PulseStream pulses_;
  double rate_hz_;
  std::uint64_t count_ = 0;
  std::vector<double> time_s_, dm_, snr_;
};

class CurveDrawing final : public FigureDrawing {
 public:
  bool may_skip() const override { return false; }
  void take(const engine::Block& block) override {
    last_ = block.payload_of<std::shared_ptr<CurveSnapshot>>();
    note_change();
  }

 private:
  figure::Figure figure() override {
    const core::CorrelationCurves& all = last_->curves;
    std::vector<core::CorrelationCurve> shown;
    for (std::size_t k = 0; k < std::min(all.curves, kMostLiveCurves); ++k)
      shown.push_back(all.curve(k));
    figure::Figure made = plot::figure_of_curves("Curves", shown, all.curves);
    if (last_->window) add_window(*last_->window, made);
    return made;
  }

  static void add_window(const core::CorrelationCurves& window, figure::Figure& made) {
    std::vector<core::CorrelationCurve> shown;
    for (std::size_t k = 0; k < std::min(window.curves, kMostLiveCurves); ++k)
      shown.push_back(window.curve(k));
    figure::Panel panel =
        std::move(plot::figure_of_curves("Window", shown, window.curves).panels.front());
    panel.title = fmt::format("The last {:.4g} s", window.duration_s);
    made.panels.insert(made.panels.begin() + 1, std::move(panel));
  }

  std::shared_ptr<const CurveSnapshot> last_;
};

}  // namespace

std::unique_ptr<Drawing> draw_pulses(const engine::Stream& stream) {
  return std::make_unique<PulseDrawing>(stream);
}
std::unique_ptr<Drawing> draw_curves(const engine::Stream&) {
  return std::make_unique<CurveDrawing>();
}

std::unique_ptr<Drawing> make_drawing(const engine::Stream& stream) {
  if (stream.kind == "visibilities") return draw_visibilities(stream);
  if (stream.kind == "filterbank") return draw_filterbank(stream);
  if (stream.kind == "pulses") return draw_pulses(stream);
  if (stream.kind == "curves") return draw_curves(stream);
  return nullptr;
}

}  // namespace tautline::pipeline::monitor
