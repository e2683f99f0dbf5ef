// Ranges and defaults of the tiled kernel's tunables, and its definitions.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "tautline/core/error.h"
#include "tautline/stages/correlate/case.h"
#include "tautline/stages/correlate/gpu/tiled.h"

namespace tautline::stages::correlate::gpu {

namespace {

constexpr std::size_t kChunkBytes = 16;

std::size_t sample_bytes(const Config& config) {
  return config.exact() ? sizeof(core::ci8) : sizeof(std::complex<float>);
}

void check(const char* field, std::size_t value, std::initializer_list<std::size_t> legal) {
  if (std::find(legal.begin(), legal.end(), value) != legal.end()) return;
  throw core::Error(core::ErrorKind::config, std::string("correlate tiled tunable ") + field,
                    std::to_string(value), fmt::format("one of {}", fmt::join(legal, ", ")));
}

void fill(std::size_t& value, std::size_t otherwise) {
  if (value == 0) value = otherwise;
}

}  // namespace

TiledTarget::TiledTarget(const device::Device& device)
    : api(device.api()),
      local_bytes(device.properties().local_bytes),
      max_group_threads(device.properties().max_group_threads),
      host_cpu(device.properties().host_cpu) {}

std::size_t tiled_local_bytes(const TiledTunables& t) {
  const std::size_t inputs =
      t.register_rows * t.thread_rows + t.register_columns * t.thread_columns;
  const std::size_t row = (t.stage_bytes / kChunkBytes | 1) * kChunkBytes;
  return static_cast<std::size_t>(t.local_buffers) * inputs * row;
}

TiledTunables complete(const TiledTunables& wanted, const Config& config,
                       const TiledTarget& target) {
  TiledTunables t = wanted;
  // Tiles of 32 x 32 waste little on the diagonal and leave room for many groups; with 512 inputs
  // on an H200 they were the fastest for integers (the dot-product unit is busy for 93 % of the
  // time) and for floats. With few inputs most of such a tile is wasted, and a CPU has few
  // registers.
  const bool small = config.inputs <= 32 || target.host_cpu;
  fill(t.register_rows, small ? 2 : 4);
  fill(t.register_columns, small ? 2 : 4);
  fill(t.thread_rows, 8);
  fill(t.thread_columns, 8);
  fill(t.stage_bytes, 128);
  fill(t.vector_bytes, 16);
  fill(t.groups_per_multiprocessor, 1);
  // Integers were 3 % faster with one buffer, which leaves shared memory for more groups; floats
  // with two, which need one barrier a stage instead of two.
  if (t.local_buffers == -1) t.local_buffers = config.exact() ? 1 : 2;

  check("register_rows", t.register_rows, {1, 2, 4, 8});
  check("register_columns", t.register_columns, {1, 2, 4, 8});
  check("thread_rows", t.thread_rows, {8, 16});
  check("thread_columns", t.thread_columns, {8, 16});
  check("stage_bytes", t.stage_bytes, {32, 64, 128, 256});
  check("vector_bytes", t.vector_bytes, {4, 8, 16});
  check("groups_per_multiprocessor", t.groups_per_multiprocessor, {1, 2, 3, 4, 5, 6, 7, 8});
  if (t.local_buffers < 0 || t.local_buffers > 2)
    throw core::Error(core::ErrorKind::config, "correlate tiled tunable local_buffers",
                      std::to_string(t.local_buffers), "0, 1 or 2");
  const std::size_t threads = t.thread_rows * t.thread_columns;
  if (threads > target.max_group_threads)
    throw core::Error(
        core::ErrorKind::config, "correlate tiled tunables thread_rows x thread_columns",
        std::to_string(threads), fmt::format("at most {} threads", target.max_group_threads));
  if (tiled_local_bytes(t) > target.local_bytes)
    throw core::Error(core::ErrorKind::config, "correlate tiled tunables' shared memory",
                      fmt::format("{} bytes", tiled_local_bytes(t)),
                      fmt::format("at most {}", target.local_bytes),
                      "lower stage_bytes, local_buffers or the tile");
  return t;
}

std::string describe(const TiledTunables& t) {
  std::string text = fmt::format("{}x{} registers, {}x{} threads, ", t.register_rows,
                                 t.register_columns, t.thread_rows, t.thread_columns);
  text += t.local_buffers == 0 ? std::string("no shared memory")
                               : fmt::format("{} x {} bytes", t.local_buffers, t.stage_bytes);
  text += fmt::format(", {}-byte loads", t.vector_bytes);
  if (t.groups_per_multiprocessor > 1)
    text += fmt::format(", {} groups", t.groups_per_multiprocessor);
  if (t.emulate_dot4) text += ", emulated dot4";
  return text;
}

std::string_view tiled_kernel_file(const Config& config) {
  return config.exact() ? "correlate/gpu/tiled.kernel" : "correlate/gpu/tiled_float.kernel";
}

jit::Defines tiled_defines(const Config& config, const TiledTunables& t,
                           const TiledTarget& target) {
  jit::Defines defines;
  defines.set("REGISTER_ROWS", t.register_rows)
      .set("REGISTER_COLUMNS", t.register_columns)
      .set("THREAD_ROWS", t.thread_rows)
      .set("THREAD_COLUMNS", t.thread_columns)
      .set("STAGE_CHUNKS", t.stage_bytes / kChunkBytes)
      .set("LOCAL_BUFFERS", t.local_buffers)
      .set("LOCAL_BYTES", tiled_local_bytes(t))
      .set("VECTOR_BYTES", t.vector_bytes)
      .set("SAMPLE_BYTES", sample_bytes(config))
      .set("GROUPS_PER_MULTIPROCESSOR", t.groups_per_multiprocessor)
      .set("HOST_CPU", target.host_cpu);
  if (config.exact())
    defines.set("EMULATE_DOT4", t.emulate_dot4);
  else
    defines.set("FLUSH_STAGES", kFloatChunkSamples * sample_bytes(config) / t.stage_bytes);
  return defines;
}

}  // namespace tautline::stages::correlate::gpu
