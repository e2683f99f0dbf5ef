#include "tautline/stages/channelize/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "tautline/core/error.h"
#include "tautline/core/validity.h"

namespace tautline::stages::channelize {

namespace {

[[noreturn]] void refuse_field(const char* field, const std::string& value,
                               const std::string& limit) {
  throw core::Error(core::ErrorKind::config, field, value, limit);
}

// Extents must equal `wanted`; the last axis may be longer, and must be dense.
template <class T, std::size_t Rank>
void check_view(const char* field, const core::View<T, Rank>& view,
                const std::array<std::size_t, Rank>& wanted) {
  bool fits = view.data() != nullptr && view.extent(Rank - 1) >= wanted[Rank - 1];
  for (std::size_t a = 0; a + 1 < Rank; ++a) fits = fits && view.extent(a) == wanted[a];
  if (!fits)
    refuse_field(field, fmt::format("a view of [{}]", fmt::join(view.extents(), "][")),
                 fmt::format("[{}], the last axis that or longer", fmt::join(wanted, "][")));
  if (view.stride(Rank - 1) != 1)
    refuse_field(field, fmt::format("a stride of {} on the last axis", view.stride(Rank - 1)), "1");
}

}  // namespace

void check_input(const Bank& bank, const Input& input) {
  const Config& config = bank.config;
  if (input.count > config.max_samples)
    refuse_field("count", fmt::format("{}", input.count),
                 fmt::format("at most max_samples, {}", config.max_samples));
  if (!input.phases.empty() && input.phases.size() != config.inputs)
    refuse_field("phases", fmt::format("{}", input.phases.size()),
                 fmt::format("0 or {}", config.inputs));
  if (input.count == 0) return;
  if (input.samples == nullptr) refuse_field("samples", "null", "samples of every input");
  if (config.inputs > 1 && input.row_stride_bytes < input.count * bank.sample_bytes)
    refuse_field("row_stride_bytes", fmt::format("{}", input.row_stride_bytes),
                 fmt::format("at least {}", input.count * bank.sample_bytes));
  if (input.validity.data() != nullptr)
    check_view("validity", input.validity, {config.inputs, core::validity_words(input.count)});
}

void check_output(const Bank& bank, const OutputViews& output, std::size_t spectra) {
  const std::size_t inputs = bank.config.inputs, channels = bank.channels;
  switch (bank.config.output) {
    case Output::spectra_float: {
      // Channels are the last axis here and must match; spectra may be more.
      const auto& view = output.spectra;
      if (view.data() == nullptr || view.extent(0) != inputs || view.extent(1) < spectra ||
          view.extent(2) != channels || view.stride(2) != 1)
        refuse_field(
            "spectra", fmt::format("a view of [{}]", fmt::join(view.extents(), "][")),
            fmt::format("[{}][{} or more][{}], the last axis dense", inputs, spectra, channels));
      break;
    }
    case Output::corner_turned_float:
      check_view("corner_turned_float", output.corner_turned_float, {channels, inputs, spectra});
      break;
    case Output::corner_turned_ci8:
      check_view("corner_turned_ci8", output.corner_turned_ci8, {channels, inputs, spectra});
      break;
    case Output::corner_turned_ci4:
      check_view("corner_turned_ci4", output.corner_turned_ci4, {channels, inputs, spectra});
      break;
  }
  if (output.valid.data() != nullptr)
    check_view("valid", output.valid, {inputs, core::validity_words(spectra)});
  if (!bank.requantised()) return;
  const auto& gains = output.gains;
  if (gains.data() == nullptr || gains.extent(0) != channels || gains.extent(1) != inputs)
    refuse_field("gains", fmt::format("a view of [{}]", fmt::join(gains.extents(), "][")),
                 fmt::format("[{}][{}]", channels, inputs));
  const auto& clipped = output.clipped;
  if (clipped.data() == nullptr || clipped.extent(0) != inputs)
    refuse_field("clipped", fmt::format("a view of [{}]", clipped.extent(0)),
                 fmt::format("[{}]", inputs));
}

}  // namespace tautline::stages::channelize
