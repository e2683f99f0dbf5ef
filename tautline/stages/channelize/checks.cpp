#include "tautline/stages/channelize/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tuple>

#include "tautline/core/error.h"
#include "tautline/core/validity.h"

namespace tautline::stages::channelize {

namespace {

[[noreturn]] void refuse_argument(const char* field, const std::string& value,
                                  const std::string& limit) {
  throw core::Error(core::ErrorKind::config, field, value, limit);
}

// Extents must equal `wanted`; the last axis may be longer, and must be dense.
template <class View>
void check_view(const char* field, const View& view, const typename View::Extents& wanted) {
  constexpr std::size_t Rank = std::tuple_size_v<typename View::Extents>;
  bool fits = view.data() != nullptr && view.extent(Rank - 1) >= wanted[Rank - 1];
  for (std::size_t a = 0; a + 1 < Rank; ++a) fits = fits && view.extent(a) == wanted[a];
  if (!fits)
    refuse_argument(field, fmt::format("a view of [{}]", fmt::join(view.extents(), "][")),
                    fmt::format("[{}], the last axis that or longer", fmt::join(wanted, "][")));
  if (view.stride(Rank - 1) != 1)
    refuse_argument(field, fmt::format("a stride of {} on the last axis", view.stride(Rank - 1)),
                    "1");
}

}  // namespace

void check_input(const Bank& bank, const Input& input) {
  const Config& config = bank.config;
  if (input.count > config.max_samples)
    refuse_argument("count", fmt::format("{}", input.count),
                    fmt::format("at most max_samples, {}", config.max_samples));
  if (!input.phases.empty() && input.phases.size() != config.inputs)
    refuse_argument("phases", fmt::format("{}", input.phases.size()),
                    fmt::format("0 or {}", config.inputs));
  if (input.count == 0) return;
  if (input.samples == nullptr) refuse_argument("samples", "null", "samples of every input");
  if (config.inputs > 1 && input.row_stride_bytes < input.count * bank.sample_bytes)
    refuse_argument("row_stride_bytes", fmt::format("{}", input.row_stride_bytes),
                    fmt::format("at least {}", input.count * bank.sample_bytes));
  if (input.validity.data() != nullptr)
    check_view("validity", input.validity, {config.inputs, core::validity_words(input.count)});
}

void check_output(const Bank& bank, const OutputViews& output, std::size_t spectra) {
  const std::size_t inputs = bank.config.inputs, channels = bank.channels;
  const auto& samples = output.samples;
  if (bank.config.output != Output::spectra_float)
    check_view("output", samples, {channels, inputs, spectra});
  // Channels are the last axis here and must match; spectra may be more.
  else if (samples.data() == nullptr || samples.extent(0) != inputs ||
           samples.extent(1) < spectra || samples.extent(2) != channels || samples.stride(2) != 1)
    refuse_argument(
        "output", fmt::format("a view of [{}]", fmt::join(samples.extents(), "][")),
        fmt::format("[{}][{} or more][{}], the last axis dense", inputs, spectra, channels));
  const core::SampleType type = bank.config.output_type();
  if (samples.type() != type) samples.refuse("output", std::string(to_string(type)));
  if (output.valid.data() != nullptr)
    check_view("valid", output.valid, {inputs, core::validity_words(spectra)});
  if (!bank.requantised()) return;
  const auto& gains = output.gains;
  if (gains.data() == nullptr || gains.extent(0) != channels || gains.extent(1) != inputs)
    refuse_argument("gains", fmt::format("a view of [{}]", fmt::join(gains.extents(), "][")),
                    fmt::format("[{}][{}]", channels, inputs));
  const auto& clipped = output.clipped;
  if (clipped.data() == nullptr || clipped.extent(0) != inputs)
    refuse_argument("clipped", fmt::format("a view of [{}]", clipped.extent(0)),
                    fmt::format("[{}]", inputs));
}

}  // namespace tautline::stages::channelize
