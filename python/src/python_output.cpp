#include "python_output.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

#include "block_arrays.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/graph_file/stream_facts.h"

namespace tautline::python {

namespace {

using core::Error;
using core::ErrorKind;

nb::object object_of(const pipeline::StreamFact& fact) {
  if (const auto* number = std::get_if<double>(&fact)) return nb::cast(*number);
  if (const auto* text = std::get_if<std::string>(&fact)) return nb::cast(*text);
  return as_array(std::get<std::vector<double>>(fact));
}

engine::ArrayType array_type_of(nb::handle described) {
  const nb::tuple parts = nb::cast<nb::tuple>(described);
  engine::ArrayType array;
  array.name = nb::cast<std::string>(parts[0]);
  array.axes = nb::cast<std::vector<std::string>>(parts[2]);
  array.extents = nb::cast<std::vector<std::size_t>>(parts[3]);
  const bool pairs = !array.axes.empty() && array.axes.back() == "re_im";
  array.type = sample_type_of(nb::cast<std::string>(parts[1]), pairs);
  if (array.axes.size() != array.extents.size() || (pairs && array.extents.back() != 2))
    throw Error(ErrorKind::config, array.name, "an array whose axes and shape differ",
                "an extent for each axis, of re_im 2");
  if (pairs) {
    array.axes.pop_back();
    array.extents.pop_back();
  }
  if (array.extents.empty() || array.extents.size() > engine::kMaxRank)
    throw Error(ErrorKind::config, array.name, std::to_string(array.extents.size()) + " axes",
                "1 to " + std::to_string(engine::kMaxRank));
  return array;
}

bool same_arrays(const engine::Stream& a, const engine::Stream& b) {
  return std::equal(a.arrays.begin(), a.arrays.end(), b.arrays.begin(), b.arrays.end(),
                    [](const auto& x, const auto& y) {
                      return x.name == y.name && x.type == y.type && x.axes == y.axes &&
                             x.extents == y.extents;
                    });
}

// Dense rows into an array whose strides are those of the largest extents.
const std::byte* copy_into(const engine::Array& array, std::size_t axis, const std::byte* from,
                           std::byte* to) {
  const std::size_t bytes = core::bytes_of(array.type), extent = array.extents[axis];
  if (axis + 1 == array.rank) {
    std::memcpy(to, from, extent * bytes);
    return from + extent * bytes;
  }
  const std::ptrdiff_t step = array.strides[axis] * static_cast<std::ptrdiff_t>(bytes);
  for (std::size_t k = 0; k < extent; ++k, to += step) from = copy_into(array, axis + 1, from, to);
  return from;
}

void set_valid(engine::Block& out, const GivenArray& valid) {
  out.valid = core::ValidityMask(valid.shape(0), valid.shape(1));
  const auto* from = static_cast<const std::uint8_t*>(valid.data());
  for (std::size_t r = 0; r < valid.shape(0); ++r)
    for (std::size_t t = 0; t < valid.shape(1); ++t, ++from)
      if (*from == 0) out.valid.set(r, t, 1, false);
}

}  // namespace

nb::tuple object_of(const engine::Stream& stream, std::size_t input) {
  nb::list arrays;
  if (stream.kind != "raw voltages")
    for (const engine::ArrayType& array : stream.arrays) {
      const NumpyType type = numpy_type(array.type);
      std::vector<std::size_t> shape = array.extents;
      std::vector<std::string> axes = array.axes;
      if (type.pairs) {
        shape.push_back(2);
        axes.emplace_back("re_im");
      }
      arrays.append(nb::make_tuple(array.name, type.name, axes, shape));
    }
  nb::dict facts;
  for (const auto& [name, fact] : pipeline::facts_of(stream)) facts[name.c_str()] = object_of(fact);
  return nb::make_tuple(stream.kind, arrays, stream.rate_hz.numerator, stream.rate_hz.denominator,
                        core::to_iso(stream.start), stream.total_samples, stream.max_samples, facts,
                        input);
}

GivenBlocks::~GivenBlocks() {
  if (all.empty()) return;
  const nb::gil_scoped_acquire gil;
  all.clear();
}

GivenBlocks given_blocks(const nb::object& given) {
  GivenBlocks results;
  if (given.is_none()) {
    results.ended = true;
    return results;
  }
  for (const nb::handle item : nb::cast<nb::list>(given)) {
    const nb::tuple parts = nb::cast<nb::tuple>(item);
    GivenBlock one;
    one.port = nb::cast<std::size_t>(parts[0]);
    for (const nb::handle array : nb::cast<nb::list>(parts[1]))
      one.arrays.push_back(nb::cast<GivenArray>(array));
    one.segment = nb::cast<std::uint64_t>(parts[2]);
    one.first = nb::cast<std::uint64_t>(parts[3]);
    one.samples = nb::cast<std::size_t>(parts[4]);
    one.same_time = nb::cast<bool>(parts[5]);
    if (!parts[6].is_none()) one.valid = nb::cast<GivenArray>(parts[6]);
    results.all.push_back(std::move(one));
  }
  return results;
}

PythonOutput::PythonOutput(nb::handle described, std::span<const engine::Stream> inputs) {
  const nb::tuple parts = nb::cast<nb::tuple>(described);
  stream_.kind = nb::cast<std::string>(parts[0]);
  for (const nb::handle array : nb::cast<nb::list>(parts[1]))
    stream_.arrays.push_back(array_type_of(array));
  stream_.rate_hz = {nb::cast<std::int64_t>(parts[2]), nb::cast<std::int64_t>(parts[3])};
  stream_.total_samples = nb::cast<std::uint64_t>(parts[5]);
  stream_.max_samples = nb::cast<std::size_t>(parts[6]);
  const auto start = nb::cast<std::string>(parts[4]);
  const int input = nb::cast<int>(parts[8]);
  if (input < 0) {
    if (!start.empty()) stream_.start = core::parse_utc(start);
    return;
  }
  const engine::Stream& from = inputs[static_cast<std::size_t>(input)];
  stream_.start = start == core::to_iso(from.start) ? from.start : core::parse_utc(start);
  if (stream_.kind != from.kind || !same_arrays(stream_, from) || stream_.rate_hz != from.rate_hz ||
      stream_.max_samples != from.max_samples)
    return;
  stream_.details = from.details;
  like_ = static_cast<std::size_t>(input);
}

void PythonOutput::start() {
  segment_ = next_ = 0;
  segment_start_ = stream_.start;
}

void PythonOutput::begin_segment(const engine::Stream& input, const engine::Block& block) {
  const double in = input.rate_hz.value(), of = stream_.rate_hz.value();
  const std::uint64_t first =
      of == in ? block.first
      : in > 0
          ? static_cast<std::uint64_t>(std::llround(static_cast<double>(block.first) * of / in))
          : 0;
  // Of several inputs the one that begins the segment first counts.
  if (std::tie(block.segment, first) < std::tie(segment_, next_)) return;
  segment_ = block.segment;
  segment_start_ = block.segment_start;
  next_ = first;
}

void PythonOutput::fill(engine::Block& out, const GivenBlock& given, const engine::Block* block,
                        std::size_t input) {
  const bool answers = block != nullptr && given.same_time;
  if (like_ && (!answers || *like_ != input))
    throw Error(ErrorKind::config, "block", "not of the block that it answers",
                "the time and shapes of that block, as the stream is handed on",
                "give a stream of its own kind in open()");
  if (given.arrays.size() != stream_.arrays.size() ||
      (stream_.max_samples > 0 && given.samples > stream_.max_samples))
    throw Error(ErrorKind::config, "block",
                std::to_string(given.arrays.size()) + " arrays of " +
                    std::to_string(given.samples) + " samples",
                std::to_string(stream_.arrays.size()) + " of at most " +
                    std::to_string(stream_.max_samples));
  const engine::Block* const like = like_ ? block : nullptr;
  for (std::size_t k = 0; k < given.arrays.size(); ++k)
    fill_array(out, k, given.arrays[k], like != nullptr ? &like->arrays[k] : nullptr);
  out.valid = like != nullptr ? like->valid : core::ValidityMask();
  out.payload = like != nullptr ? like->payload : std::any();
  if (given.valid) {
    if (like != nullptr) require_rows(given.valid->shape(0), *like);
    set_valid(out, *given.valid);
  }
  set_time(out, given, block);
}

void PythonOutput::set_time(engine::Block& out, const GivenBlock& given,
                            const engine::Block* block) {
  if (block != nullptr && given.same_time) {
    out.set_time(*block);
  } else if (given.same_time) {
    out.segment = segment_;
    out.segment_start = segment_start_;
    out.first = next_;
  } else {
    out.segment = given.segment;
    out.segment_start = block != nullptr && block->segment == given.segment ? block->segment_start
                        : segment_ == given.segment                         ? segment_start_
                                                                            : stream_.start;
    out.first = given.first;
  }
  out.samples = given.samples;
  segment_ = out.segment;
  segment_start_ = out.segment_start;
  next_ = out.first + given.samples;
}

// Nodes of the library read a row of each input, or of each channel and input, and none of other streams.
void PythonOutput::require_rows(std::size_t rows, const engine::Block& like) const {
  if (rows > 0 && rows == like.valid.rows()) return;
  std::size_t inputs = 0, channels = 1;
  if (!stream_.arrays.empty()) {
    const engine::ArrayType& array = stream_.arrays.front();
    for (std::size_t a = 0; a < array.axes.size(); ++a) {
      if (array.axes[a] == "input") inputs = array.extents[a];
      if (array.axes[a] == "channel") channels = array.extents[a];
    }
  }
  if (inputs == 0) {
    if (!stream_.details.has_value()) return;  // a stream that Python nodes alone read
    throw Error(ErrorKind::config, "valid", "given for a stream of " + stream_.kind,
                "none: it has no inputs", "change the samples instead");
  }
  if (rows != inputs && rows != inputs * channels)
    throw Error(ErrorKind::config, "valid", std::to_string(rows) + " rows",
                std::to_string(inputs) + ", of each input, or " +
                    std::to_string(inputs * channels) + ", of each channel and input",
                "give an array [input][sample], or one [channel x input][sample]");
}

void PythonOutput::fill_array(engine::Block& out, std::size_t index, const GivenArray& from,
                              const engine::Array* like) const {
  const engine::ArrayType& type = stream_.arrays[index];
  engine::Array& to = out.arrays[index];
  const NumpyType numpy = numpy_type(type.type);
  bool fits = from.dtype() == numpy.dtype && from.ndim() == to.rank + (numpy.pairs ? 1 : 0) &&
              (!numpy.pairs || from.shape(to.rank) == 2);
  for (std::size_t a = 0; fits && a < to.rank; ++a) {
    fits =
        from.shape(a) <= type.extents[a] && (like == nullptr || from.shape(a) == like->extents[a]);
    if (fits) out.set_extent(index, a, from.shape(a));
  }
  if (!fits)
    throw Error(ErrorKind::config, type.name, "an array of another shape or type",
                std::string(numpy.name) +
                    (like != nullptr ? ", the shape of the block's" : ", at most as open() said"));
  if (from.size() > 0)
    copy_into(to, 0, static_cast<const std::byte*>(from.data()), static_cast<std::byte*>(to.data));
}

}  // namespace tautline::python
