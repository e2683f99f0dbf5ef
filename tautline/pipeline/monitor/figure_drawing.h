// A drawing that is a figure, made anew when it has changed.
#pragma once

#include <string>
#include <vector>

#include "tautline/formats/figure/figure.h"
#include "tautline/pipeline/monitor/drawing.h"
#include "tautline/pipeline/plot/figure_page.h"

namespace tautline::pipeline::monitor {

class FigureDrawing : public Drawing {
 public:
  std::vector<std::string> all() final {
    if (!started_) return {};
    return {plot::figure_message(figure())};
  }
  std::vector<std::string> news() final {
    if (!changed_) return {};
    changed_ = false;
    return all();
  }

 protected:
  void note_change() { started_ = changed_ = true; }
  virtual formats::figure::Figure figure() = 0;

 private:
  bool started_ = false, changed_ = false;
};

std::unique_ptr<Drawing> draw_filterbank(const engine::Stream& stream);
std::unique_ptr<Drawing> draw_pulses(const engine::Stream& stream);
std::unique_ptr<Drawing> draw_curves(const engine::Stream& stream);
std::unique_ptr<Drawing> draw_visibilities(const engine::Stream& stream);

}  // namespace tautline::pipeline::monitor
