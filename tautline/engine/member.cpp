#include "tautline/engine/member.h"

#include <fmt/format.h>

#include <algorithm>

namespace tautline::engine {

namespace {

std::uint64_t bytes_of(const Block& block) {
  std::uint64_t bytes = 0;
  for (const Array& array : block.arrays) {
    std::uint64_t elements = 1;
    for (std::size_t a = 0; a < array.rank; ++a) elements *= array.extents[a];
    bytes += elements * core::bytes_of(array.type);
  }
  return bytes;
}

}  // namespace

void RunControl::begin_checkpoint() {
  const std::lock_guard lock(mutex);
  if (saving || unfinished == 0 || !checkpointed) return;
  saving = true;
  unsaved = unfinished;
  ++checkpoints;
}

void RunControl::save(const std::string& node, std::vector<std::byte> state, bool has_finished) {
  States all;
  {
    const std::lock_guard lock(mutex);
    // A node that has saved and finishes before the others have saved keeps the state of the mark.
    const bool waited_for = saving && !states.contains(node);
    if (has_finished) --unfinished;
    if (waited_for) --unsaved;
    if (!has_finished) {
      states[node] = std::move(state);
    } else {
      finished[node] = std::move(state);
    }
    if (!waited_for || unsaved > 0) return;
    all = std::exchange(states, {});
    all.insert(finished.begin(), finished.end());
    saving = false;
  }
  checkpointed(std::move(all));
}

void RunControl::note_error(const std::string& node) {
  error = std::current_exception();
  failed_node = node;
  try {
    throw;
  } catch (const std::exception& caught) {
    error_text = caught.what();
  } catch (...) {
    error_text = "an unknown error";
  }
  error_text = error_text.substr(0, error_text.find('\n'));
}

void Member::note_block(const Block& block) {
  const std::uint64_t bytes = bytes_of(block);
  const std::lock_guard lock(lane->clock.mutex);
  ++profile.blocks;
  profile.bytes += bytes;
  last_block_ = lane->clock.since();
}

void Member::count() {
  if (!control->counting || !std::exchange(uncounted_, false)) return;
  Counters counters = node->counters();
  std::vector<std::string> problems = node->problems();
  const auto now = LaneClock::Clock::now();
  const std::lock_guard lock(lane->clock.mutex);
  counters_ = std::move(counters);
  problems_ = std::move(problems);
  counted_at_ = now;
}

NodeSnapshot Member::snapshot() const {
  const auto now = LaneClock::Clock::now();
  const auto seconds_since = [now](auto then) {
    return std::max(0.0, std::chrono::duration<double>(now - then).count());
  };
  const LaneClock& clock = lane->clock;
  NodeSnapshot taken;
  const std::lock_guard lock(clock.mutex);
  taken.profile = profile;
  taken.profile.node = name;
  taken.source = inputs.empty();
  taken.profile.lane = lane->name;
  taken.activity_s = seconds_since(clock.since());
  taken.counters = counters_;
  taken.problems = problems_;
  if (last_block_ != decltype(last_block_){}) taken.since_block_s = seconds_since(last_block_);
  if (counted_at_ != decltype(counted_at_){}) taken.counters_age_s = seconds_since(counted_at_);
  taken.activity = Activity::waiting_for_input;
  if (finished_) {
    taken.activity = Activity::finished;
  } else if (clock.profile() == &profile) {
    taken.profile.*clock.sum() += taken.activity_s;
    if (clock.sum() == &NodeProfile::busy_s) taken.activity = Activity::working;
    if (clock.sum() == &NodeProfile::setup_s) taken.activity = Activity::starting;
    if (clock.sum() == &NodeProfile::waiting_for_room_s)
      taken.activity = Activity::waiting_for_room;
    if (clock.sum() == &NodeProfile::waiting_for_device_s)
      taken.activity = Activity::waiting_for_device;
  } else if (clock.profile() == nullptr) {
    taken.profile.waiting_for_input_s += taken.activity_s;
  }
  return taken;
}

Block& Member::begin(std::size_t port) {
  const auto before = lane->clock.turn_to(&profile, &NodeProfile::waiting_for_room_s);
  PooledBlock* block = outputs.at(port).pool->take(true);
  lane->clock.turn_to(before);
  return *begun(port, block);
}

Block* Member::try_begin(std::size_t port) {
  return begun(port, outputs.at(port).pool->take(false));
}

void Member::commit(std::size_t port) {
  Output& output = outputs.at(port);
  PooledBlock& block = *output.begun.front();
  output.begun.pop_front();
  if (const DevicePointer writer = writer_of(port)) lane->queue(writer).record(*block.written);
  if (pace > 0 && port == 0) wait_for_pace(block);
  if (inputs.empty()) note_block(block);
  output.pool->add_readers(block);
  for (const auto& ring : output.rings)
    ring->to->lane->inbox.push({ring.get(), Entry::Kind::block, &block});
  for (const DirectEdge& edge : output.direct)
    edge.to->take(edge.input, block, nullptr, *output.pool);
  output.pool->release(block);
}

// Waits until the block's last sample would have been recorded: gaps take no time. A late block is handed on at once,
// and later blocks catch up.
void Member::wait_for_pace(const Block& block) {
  given_samples_ += block.samples;
  constexpr double kLongest_s = 1e8;  // the longest time that a clock can add
  const std::chrono::duration<double> due(std::min(
      kLongest_s, static_cast<double>(given_samples_) / streams.front().rate_hz.value() / pace));
  using Clock = std::chrono::steady_clock;
  const auto end = control->started + std::chrono::duration_cast<Clock::duration>(due);
  const auto before = lane->clock.turn_to(&profile, &NodeProfile::waiting_for_input_s);
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_until(lock, control->live.get_token(), end, [] { return false; });
  lane->clock.turn_to(before);
  const double late_s = std::chrono::duration<double>(Clock::now() - end).count();
  const std::lock_guard profile_lock(lane->clock.mutex);
  profile.behind_s = std::max(profile.behind_s, late_s);
}

std::shared_ptr<const Block> Member::keep(const Block& kept) {
  // For inputs in step, blocks before the last one are kept already.
  if (&kept != taken_.block)
    for (const Input& in : inputs)
      for (const auto& waiting : in.waiting)
        if (waiting.get() == &kept) return waiting;
  PooledBlock* block = taken_.block;
  BlockPool* pool = taken_.pool;
  pool->add_user(*block, taken_.ring());
  return {block, [this, pool, block, taken = taken_](const Block*) {
            try {
              record_read(taken);
            } catch (const core::Error&) {  // of a failed device: its next call reports the failure
            }
            pool->release(*block, taken.ring());
          }};
}

void Member::take(std::size_t input, PooledBlock& block, RingEdge* edge, BlockPool& pool) {
  const Taken taken{&block, &pool, edge, input};
  // After a checkpoint's mark that has not come through every input yet.
  if (inputs[input].marked) {
    pool.add_user(block, taken.ring());
    put_off_.push_back(taken);
    return;
  }
  note_block(block);
  taken_ = taken;
  call([&](Node&) { wait_for(taken); }, &NodeProfile::waiting_for_input_s);
  call([&](Node& n) {
    device::Queue* queue = queue_of(input);
    if (queue != nullptr) lane->device_clock.begin(profile, works_on(input), *queue);
    if (in_step) {
      inputs[input].waiting.push_back(keep(block));
      step(n);
    } else {
      follow(n, input, block);
      n.process(input, block, *this);
    }
    if (queue != nullptr) lane->device_clock.end();
    record_read(taken);
  });
  if (counts_progress) control->samples_taken += block.samples;
}

// Null if it has none, or has not used it yet.
device::Queue* Member::queue_of(std::size_t input) const {
  const DevicePointer& device = works_on(input);
  if (!device) return nullptr;
  const auto queue = lane->queues.find(device.get());
  return queue == lane->queues.end() ? nullptr : queue->second.get();
}

void Member::end(std::size_t input) {
  if (inputs[input].marked) {
    put_off_.push_back({nullptr, nullptr, nullptr, input});
    return;
  }
  inputs[input].ended = true;
  const bool all =
      std::all_of(inputs.begin(), inputs.end(), [](const Input& in) { return in.ended; });
  call([&](Node& n) {
    if (in_step) step(n);  // refuses blocks that wait for this input
    Input& segment_of = inputs[in_step ? 0 : input];
    if ((all || !in_step) && std::exchange(segment_of.in_segment, false))
      n.end_segment(input, *this);
  });
  if (all) {
    finish();
  } else {
    save_where_marked();  // the others' marks may have waited for this end
  }
}

void Member::finish() {
  call([&](Node& n) { n.finish(*this); });
  count();
  {
    const std::lock_guard lock(lane->clock.mutex);
    finished_ = true;
  }
  pass_on(Entry::Kind::end);
  if (control->checkpointed) call([&](Node& n) { control->save(name, n.save(), true); });
}

void Member::checkpoint(std::size_t input) {
  inputs[input].marked = true;
  save_where_marked();
}

// Saves once the mark has come through every input that has not ended.
void Member::save_where_marked() {
  const auto marked = [](const Input& in) { return in.marked; };
  const auto marked_or_over = [](const Input& in) { return in.marked || in.ended; };
  if (std::any_of(inputs.begin(), inputs.end(), marked) &&
      std::all_of(inputs.begin(), inputs.end(), marked_or_over))
    save();
}

void Member::save() {
  call([&](Node& n) { control->save(name, n.save(), false); });
  pass_on(Entry::Kind::checkpoint);
  for (Input& in : inputs) in.marked = false;
  for (const Taken& later : std::exchange(put_off_, {})) {
    if (later.block == nullptr) {
      end(later.input);
      continue;
    }
    take(later.input, *later.block, later.edge, *later.pool);
    later.pool->release(*later.block, later.ring());
  }
}

Block* Member::begun(std::size_t port, PooledBlock* block) {
  if (block == nullptr) return nullptr;
  if (const DevicePointer writer = streams[port].device)
    for (const auto& read : block->read) lane->queue(writer).wait(*read);
  outputs[port].begun.push_back(block);
  return block;
}

// Waits until a device has written the block: on the queue, or on this thread.
void Member::wait_for(const Taken& taken) {
  if (taken.edge == nullptr || !taken.edge->written_by_device) return;
  if (reads[taken.input]) {
    lane->queue(reads[taken.input]).wait(*taken.block->written);
  } else {
    taken.block->written->synchronise();
  }
}

// Ends a segment and begins another if the block does not continue the preceding one.
void Member::follow(Node& n, std::size_t input, const Block& block) {
  Input& in = inputs[input];
  const bool follows = in.in_segment && in.segment == block.segment && in.next == block.first;
  if (in.in_segment && !follows) {
    in.in_segment = false;
    n.end_segment(input, *this);
  }
  if (!follows) n.begin_segment(input, block, *this);
  in.in_segment = true;
  in.segment = block.segment;
  in.next = block.first + block.samples;
}

void Member::refuse_steps(const Block& block, const std::string& other) const {
  throw core::Error(core::ErrorKind::config, name + ": inputs",
                    fmt::format("segment {}, samples {} to {} beside {}", block.segment,
                                block.first, block.first + block.samples, other),
                    "inputs that are cut in the same blocks");
}

void Member::step(Node& n) {
  for (;;) {
    std::vector<const Block*> blocks;
    bool incomplete = false, over = false;
    for (const Input& in : inputs) {
      incomplete = incomplete || in.waiting.empty();
      over = over || (in.waiting.empty() && in.ended);
    }
    for (const Input& in : inputs)
      if (over && !in.waiting.empty())
        refuse_steps(*in.waiting.front(), "the end of another input");
    if (incomplete) return;
    for (const Input& in : inputs) {
      blocks.push_back(in.waiting.front().get());
      const Block &a = *blocks.front(), &b = *blocks.back();
      if (a.segment != b.segment || a.first != b.first || a.samples != b.samples)
        refuse_steps(a, fmt::format("segment {}, samples {} to {}", b.segment, b.first,
                                    b.first + b.samples));
    }
    follow(n, 0, *blocks.front());
    n.process_together(blocks, *this);
    for (Input& in : inputs) in.waiting.pop_front();
  }
}

void Member::record_read(const Taken& taken) {
  if (taken.edge == nullptr || !reads[taken.input] || taken.block->read.empty()) return;
  // No queue: nothing was read with it, or the lane is over.
  const auto queue = lane->queues.find(reads[taken.input].get());
  if (queue != lane->queues.end()) queue->second->record(*taken.block->read[taken.edge->reader]);
}

void Member::pass_on(Entry::Kind kind) {
  for (Output& output : outputs) {
    for (const auto& ring : output.rings) ring->to->lane->inbox.push({ring.get(), kind, nullptr});
    for (const DirectEdge& edge : output.direct) {
      if (kind == Entry::Kind::end) edge.to->end(edge.input);
      if (kind == Entry::Kind::checkpoint) edge.to->checkpoint(edge.input);
    }
  }
}

}  // namespace tautline::engine
