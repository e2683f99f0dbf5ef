// Products of one block of doubles at all lags of a level. Included once per target by cpu/tile-inl.h.

/// Doubles where lanes are sensors: kLags lags of one register's lanes share the loads of the direct samples, and their
/// sums stay in registers. One lag at a time would wait for each addition. Each sum is in order of time.
template <std::size_t kLags>
void multiply_double_lags(const double* direct, const double* delayed, std::size_t count,
                          double* sums) {
  for (std::size_t lane = 0; lane < kLanes; lane += kDoubleLanes) {
    Doubles sum[kLags];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kLags; ++i) sum[i] = load_doubles(sums + i * kLanes + lane);
    const double* d = direct + lane;
    const double* e = delayed + lane;
    for (std::size_t t = 0; t < count; ++t, d += kLanes, e += kLanes) {
      forget_loads();
      const Doubles now = load_doubles(d);
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kLags; ++i) sum[i] += now * load_doubles(e - i * kLanes);
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kLags; ++i) store_doubles(sums + i * kLanes + lane, sum[i]);
  }
}

/// Doubles where lanes are times: the lags are the lanes of kVectors registers, the longest first, so that each sum is
/// in order of time. Reads up to kDoubleLanes - 1 samples beyond the longest of the `lags`.
template <std::size_t kVectors>
void multiply_double_series(const double* direct, const double* delayed, std::size_t count,
                            std::size_t lags, double* sums) {
  Doubles sum[kVectors] = {};
  const auto place = [](std::size_t lag) { return kDoubleLanes - 1 - lag % kDoubleLanes; };
  for (std::size_t i = 0; i < lags; ++i) sum[i / kDoubleLanes][place(i)] = sums[i];
  const double* e = delayed - (kDoubleLanes - 1);
  for (std::size_t t = 0; t < count; ++t) {
    const Doubles now = direct[t] - Doubles{};
#pragma GCC unroll 16
    for (std::size_t v = 0; v < kVectors; ++v)
      sum[v] += now * load_doubles(e + t - v * kDoubleLanes);
  }
  for (std::size_t i = 0; i < lags; ++i) sums[i] = sum[i / kDoubleLanes][place(i)];
}

void multiply_doubles(const Layout& layout, const Level& level, const double* direct,
                      const double* delayed, std::size_t count, double* sums) {
  const std::size_t lags = level.range.steps;
  delayed -= level.first * layout.lanes;
  if (layout.lanes == 1) {
    constexpr std::size_t kTogether = 4 * kDoubleLanes;
    for (std::size_t i = 0; i < lags; i += kTogether) {
      const std::size_t some = std::min(kTogether, lags - i);
      const auto run = [&](auto vectors) {
        multiply_double_series<vectors>(direct, delayed - i, count, some, sums + i);
      };
      switch ((some + kDoubleLanes - 1) / kDoubleLanes) {
        case 1:
          run(std::integral_constant<std::size_t, 1>{});
          break;
        case 2:
          run(std::integral_constant<std::size_t, 2>{});
          break;
        case 3:
          run(std::integral_constant<std::size_t, 3>{});
          break;
        default:
          run(std::integral_constant<std::size_t, 4>{});
      }
    }
    return;
  }
  std::size_t i = 0;
  const auto run = [&](auto some) {
    multiply_double_lags<some>(direct, delayed - i * kLanes, count, sums + i * kLanes);
    i += some;
  };
  while (i < lags) {
    const std::size_t left = lags - i;
    if (left == 9) {  // the standard lags of level 0 are one more than a multiple of eight
      run(std::integral_constant<std::size_t, 9>{});
    } else if (left >= 8) {
      run(std::integral_constant<std::size_t, 8>{});
    } else if (left >= 4) {
      run(std::integral_constant<std::size_t, 4>{});
    } else {
      run(std::integral_constant<std::size_t, 1>{});
    }
  }
}
