// Checks and base classes that the backends' plans and states share. Not part of the interface.
#pragma once

#include <memory>
#include <string>

#include "tautline/core/byte_archive.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::stages::autocorrelate {

void check_config(const Config& config);
/// Throws on another type, too many samples, or another number of sensors.
void check_samples(const Config& config, const core::SampleView<2>& samples);
/// Throws when a view that is not empty has the wrong shape or type.
void check_sums(const Config& config, const Sums& out);
/// Throws because a sum could reach 2^63 within `samples` samples.
[[noreturn]] void throw_overflow(std::uint64_t samples);

/// Samples (times) that take a fraction of a second, `most` at most: those of 2^28 multiply-adds, but 4,096 at least, as
/// the sums of all sensors are loaded for each piece.
std::size_t piece_samples(const Config& config, std::size_t most);

std::shared_ptr<const Plan> make_reference_plan(const Config& config);

/// Sums of a known type: int64, or double for float counts.
template <class Value>
struct TypedSums {
  explicit TypedSums(const Sums& out)
      : sums(out.sums.as<Value>("sums")),
        lead_in(out.lead_in.as<Value>("lead_in")),
        monitor_direct(out.monitor_direct.as<Value>("monitor_direct")),
        monitor_delayed(out.monitor_delayed.as<Value>("monitor_delayed")),
        totals(out.totals.as<Value>("totals")) {}

  /// Writes to the views that are not empty.
  void put(std::size_t pair, std::size_t lag, Value sum, Value lead, Value direct,
           Value delayed) const {
    if (sums.data() != nullptr) sums(pair, lag) = sum;
    if (lead_in.data() != nullptr) lead_in(pair, lag) = lead;
    if (monitor_direct.data() != nullptr) monitor_direct(pair, lag) = direct;
    if (monitor_delayed.data() != nullptr) monitor_delayed(pair, lag) = delayed;
  }
  void put_totals(std::size_t pair, Value a, Value b) const {
    if (totals.data() == nullptr) return;
    totals(pair, 0) = a;
    totals(pair, 1) = b;
  }

  core::View<Value, 2> sums, lead_in, monitor_direct, monitor_delayed, totals;
};

/// Calls body(TypedSums) with the type of sums, i64 or f64.
template <class Body>
void with_sums(core::SampleType type, const Sums& sums, const Body& body) {
  if (type == SampleType::f64) {
    body(TypedSums<double>(sums));
  } else {
    body(TypedSums<std::int64_t>(sums));
  }
}

class BaseState : public State {
 public:
  /// `layout`: the backend and its sizes, as far as the saved content depends on them.
  BaseState(const Config& config, const std::string& layout);
  std::uint64_t samples() const final { return taken; }
  void reset() final;
  std::vector<std::byte> save() const final;
  void load(std::span<const std::byte> bytes) final;

  /// Throws when a sum could have reached 2^63.
  void require_sums() const {
    if (refused) throw_overflow(taken);
  }

  std::uint64_t taken = 0;  ///< samples
  bool refused = false;

 protected:
  virtual void clear() = 0;
  virtual void save_content(core::ByteWriter& writer) const = 0;
  virtual void load_content(core::ByteReader& reader) = 0;

 private:
  std::string plan_;
};

/// Checks arguments, refuses sums that could have reached 2^63, and writes `counts`.
template <class Interface = Plan>
class BasePlan : public Interface {
 public:
  void execute(device::Queue& queue, State& state, const core::SampleView<2>& samples) const final {
    check_samples(this->config(), samples);
    auto& own = static_cast<BaseState&>(state);
    own.require_sums();
    take(queue, own, samples);
    own.require_sums();
  }
  void read(device::Queue& queue, const State& state, const Sums& out) const final {
    check_sums(this->config(), out);
    const auto& own = static_cast<const BaseState&>(state);
    own.require_sums();
    if (!out.counts.empty())
      for (std::size_t i = 0; const Lag& lag : lags_of(this->config()))
        out.counts[i++] = pairs_at(this->config(), lag, own.taken);
    write(queue, own, out);
  }

 protected:
  /// Adds samples to the state; sets `taken` and `refused`.
  virtual void take(device::Queue& queue, BaseState& state,
                    const core::SampleView<2>& samples) const = 0;
  /// Writes everything but counts.
  virtual void write(device::Queue& queue, const BaseState& state, const Sums& out) const = 0;
};

}  // namespace tautline::stages::autocorrelate
