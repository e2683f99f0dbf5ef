#include "tautline/formats/packets/packet_layout.h"

#include <fmt/format.h>

#include <array>

#include "tautline/core/error.h"
#include "tautline/formats/packets/half_years.h"

namespace tautline::formats::packets {

std::size_t PacketLayout::extent(AxisName axis) const {
  std::size_t extent = 1;
  for (const Axis& a : axes)
    if (a.name == axis) extent = a.extent;
  return extent;
}

std::size_t PacketLayout::payload_bytes() const {
  std::size_t bits = sample.bits_per_sample();
  for (const Axis& a : axes) bits *= a.extent;
  return bits / 8;
}

const Field* PacketLayout::field(Meaning meaning) const {
  for (const Field& f : fields)
    if (f.meaning == meaning) return &f;
  return nullptr;
}

core::Rational PacketLayout::counts_hz() const {
  if (rate_hz.numerator == 0) return {};
  return core::make_rational(rate_hz.numerator * static_cast<std::int64_t>(step),
                             rate_hz.denominator * static_cast<std::int64_t>(samples()));
}

std::string_view to_string(Refusal refusal) {
  constexpr std::array<std::string_view, kRefusals> kNames{
      "none",         "too_short",    "wrong_length", "wrong_constant", "wrong_payload_size",
      "wrong_offset", "missing_item", "no_payload",   "out_of_range",   "between_steps"};
  return kNames[static_cast<std::size_t>(refusal)];
}

namespace {

std::optional<core::Instant> zero_of(const PacketLayout& layout) {
  if (layout.field(Meaning::half_years) != nullptr) return half_year(0);
  return layout.zero;
}

}  // namespace

std::optional<core::Instant> instant_of(const PacketLayout& layout, std::uint64_t count) {
  const core::Rational rate = layout.counts_hz();
  const auto zero = zero_of(layout);
  if (!zero || rate.numerator == 0 || count > static_cast<std::uint64_t>(INT64_MAX)) return {};
  return core::advance(*zero, static_cast<std::int64_t>(count), rate);
}

std::optional<std::uint64_t> count_at(const PacketLayout& layout, const core::Instant& instant) {
  const core::Rational rate = layout.counts_hz();
  const auto zero = zero_of(layout);
  if (!zero || rate.numerator == 0 || core::before(instant, *zero)) return {};
  return static_cast<std::uint64_t>(core::samples_between(*zero, instant, rate));
}

}  // namespace tautline::formats::packets
