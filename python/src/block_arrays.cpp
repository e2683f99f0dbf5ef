#include "block_arrays.h"

#include <algorithm>
#include <cstring>

#include "tautline/core/time.h"
#include "tautline/core/voltage.h"
#include "tautline/pipeline/graph_file/stream_facts.h"
#include "tautline/stages/unpack/unpack.h"

namespace tautline::python {

namespace {

using core::Error;
using core::ErrorKind;
using core::SampleType;
using Code = nb::dlpack::dtype_code;

struct Row {
  SampleType type;
  const char* name;
  Code code;
  std::uint8_t bits;
  bool pairs;
};
constexpr Row kRows[] = {
    {SampleType::i8, "int8", Code::Int, 8, false},
    {SampleType::i16, "int16", Code::Int, 16, false},
    {SampleType::i32, "int32", Code::Int, 32, false},
    {SampleType::i64, "int64", Code::Int, 64, false},
    {SampleType::u8, "uint8", Code::UInt, 8, false},
    {SampleType::u16, "uint16", Code::UInt, 16, false},
    {SampleType::u32, "uint32", Code::UInt, 32, false},
    {SampleType::u64, "uint64", Code::UInt, 64, false},
    {SampleType::f16, "float16", Code::Float, 16, false},
    {SampleType::f32, "float32", Code::Float, 32, false},
    {SampleType::f64, "float64", Code::Float, 64, false},
    {SampleType::ci4, "uint8", Code::UInt, 8, false},
    {SampleType::ci8, "int8", Code::Int, 8, true},
    {SampleType::ci16, "int16", Code::Int, 16, true},
    {SampleType::ci64, "int64", Code::Int, 64, true},
    {SampleType::cf16, "float16", Code::Float, 16, true},
    {SampleType::cf32, "complex64", Code::Complex, 64, false},
    {SampleType::cf64, "complex128", Code::Complex, 128, false},
};

// Rows of the last axis, one behind the other.
std::byte* copy_dense(const engine::Array& array, std::size_t axis, const std::byte* from,
                      std::byte* to) {
  const std::size_t bytes = core::bytes_of(array.type), extent = array.extents[axis];
  const std::ptrdiff_t step = array.strides[axis] * static_cast<std::ptrdiff_t>(bytes);
  const bool last = axis + 1 == array.rank;
  if (last && array.strides[axis] == 1) {
    std::memcpy(to, from, extent * bytes);
    return to + extent * bytes;
  }
  for (std::size_t k = 0; k < extent; ++k, from += step) {
    if (last) {
      std::memcpy(to, from, bytes);
      to += bytes;
    } else {
      to = copy_dense(array, axis + 1, from, to);
    }
  }
  return to;
}

TakenBlock::Part take_array(const std::string& name, const engine::Array& array, Buffers& buffers) {
  TakenBlock::Part part{name, array.type, {}, {}};
  std::size_t elements = 1;
  for (std::size_t a = 0; a < array.rank; ++a) {
    part.extents.push_back(array.extents[a]);
    elements *= array.extents[a];
  }
  part.memory = buffers.take(elements * core::bytes_of(array.type));
  if (elements > 0)
    copy_dense(array, 0, static_cast<const std::byte*>(array.data), part.memory->data.get());
  return part;
}

void take_mask(const core::ValidityMask& mask, std::size_t samples, TakenBlock& taken,
               Buffers& buffers) {
  if (mask.rows() == 0) return;
  taken.valid_rows = mask.rows();
  taken.valid = buffers.take(mask.rows() * samples);
  std::byte* to = taken.valid->data.get();
  for (std::size_t r = 0; r < mask.rows(); ++r)
    for (std::size_t t = 0; t < samples; ++t)
      *to++ = std::byte{t < mask.samples() && mask.valid(r, t)};
}

// [channel][input][time], whatever lies in the file.
void take_voltages(const core::RawBlock& raw, TakenBlock& taken, Buffers& buffers) {
  const std::size_t channels = raw.layout.channels, inputs = raw.layout.inputs();
  TakenBlock::Part part{"voltages",
                        stages::unpack::unpacked_type(raw.layout.format),
                        {channels, inputs, raw.samples},
                        {}};
  part.memory = buffers.take(channels * inputs * raw.samples * core::bytes_of(part.type));
  core::ValidityMask mask(inputs, raw.samples);
  if (raw.samples > 0)
    stages::unpack::unpack(
        raw,
        {static_cast<void*>(part.memory->data.get()), part.type, {channels, inputs, raw.samples}},
        mask.mutable_view());
  taken.parts.push_back(std::move(part));
  if (!stages::unpack::all_valid(raw)) take_mask(mask, raw.samples, taken, buffers);
}

nb::object shared_array(const std::shared_ptr<Buffers::Storage>& memory,
                        const std::vector<std::size_t>& shape, nb::dlpack::dtype dtype) {
  auto* const kept = new std::shared_ptr<Buffers::Storage>(memory);
  const nb::capsule owner(
      kept, [](void* p) noexcept { delete static_cast<std::shared_ptr<Buffers::Storage>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy>(memory->data.get(), shape.size(), shape.data(), owner,
                                         nullptr, dtype));
}

}  // namespace

NumpyType numpy_type(SampleType type) {
  for (const Row& row : kRows)
    if (row.type == type)
      return {row.name,
              {static_cast<std::uint8_t>(row.code), row.bits, 1},
              row.pairs,
              core::bytes_of(type)};
  throw Error(ErrorKind::unsupported, "samples", std::string(core::to_string(type)),
              "types that numpy has");
}

SampleType sample_type_of(const std::string& name, bool pairs) {
  for (const Row& row : kRows)
    if (row.name == name && row.pairs == pairs) return row.type;
  throw Error(ErrorKind::config, "dtype", name + (pairs ? ", pairs" : ""),
              "integers of 8 to 64 bits, float16, float32, float64, complex64 or complex128");
}

std::shared_ptr<Buffers::Storage> Buffers::take(std::size_t bytes) {
  const auto free = std::find_if(all_.begin(), all_.end(), [&](const auto& one) {
    return one.use_count() == 1 && one->bytes >= bytes && one->bytes / 2 <= bytes;
  });
  if (free != all_.end()) return *free;
  auto made = std::make_shared<Storage>();
  made->bytes = std::max<std::size_t>(1, bytes);
  made->data = std::make_unique_for_overwrite<std::byte[]>(made->bytes);
  std::erase_if(all_,
                [&](const auto& one) { return all_.size() >= kMost && one.use_count() == 1; });
  if (all_.size() < kMost) all_.push_back(made);
  return made;
}

TakenBlock take_block(const engine::Stream& stream, const engine::Block& block, Buffers& buffers) {
  TakenBlock taken;
  taken.kind = stream.kind;
  taken.segment = block.segment;
  taken.first = block.first;
  taken.samples = block.samples;
  taken.rate_hz = stream.rate_hz.value();
  taken.start = stream.rate_hz.numerator == 0
                    ? block.segment_start
                    : core::advance(block.segment_start, static_cast<std::int64_t>(block.first),
                                    stream.rate_hz);
  if (const auto* raw = std::any_cast<core::RawBlock>(&block.payload)) {
    take_voltages(*raw, taken, buffers);
    return taken;
  }
  for (std::size_t k = 0; k < block.arrays.size(); ++k)
    taken.parts.push_back(take_array(stream.arrays[k].name, block.arrays[k], buffers));
  take_mask(block.valid, block.samples, taken, buffers);
  taken.curves = pipeline::curves_of(block);
  return taken;
}

nb::object object_of(const TakenBlock& block, std::size_t input) {
  nb::dict arrays;
  for (const TakenBlock::Part& part : block.parts) {
    const NumpyType type = numpy_type(part.type);
    std::vector<std::size_t> shape = part.extents;
    if (type.pairs) shape.push_back(2);
    arrays[part.name.c_str()] = shared_array(part.memory, shape, type.dtype);
  }
  nb::object valid = nb::none(), curves = nb::none();
  if (block.valid)
    valid = shared_array(block.valid, {block.valid_rows, block.samples},
                         {static_cast<std::uint8_t>(Code::Bool), 8, 1});
  if (block.curves) curves = nb::cast(std::make_shared<core::CorrelationCurves>(*block.curves));
  return nb::make_tuple(block.kind, block.segment, block.first, block.samples,
                        core::to_iso(block.start), block.rate_hz, arrays, valid, curves, input);
}

}  // namespace tautline::python
