// The delay between two antennas, from the slope of phase against frequency.
(function (tautline) {
  "use strict";

  /**
   * The delay (s) whose phase slope explains the visibilities best: the highest point of the lag
   * spectrum's power, summed over time with the samples as weights, between its samples by a parabola.
   */
  tautline.fitDelay = function (fringes, width_hz) {
    const { re, im, samples, rows, bins } = fringes;
    if (bins < 4) return 0;
    const lags = 4 * bins;
    const step = Math.max(1, Math.ceil(rows / 24));
    const power = new Float64Array(lags);
    const cos = Float64Array.from({ length: lags }, (_, k) => Math.cos(2 * Math.PI * k / lags));
    const sin = Float64Array.from({ length: lags }, (_, k) => Math.sin(2 * Math.PI * k / lags));
    for (let row = 0; row < rows; row += step) {
      for (let lag = 0; lag < lags; ++lag) {
        let x = 0, y = 0;
        for (let bin = 0, turn = 0; bin < bins; ++bin, turn = (turn + lag) % lags) {
          const a = re[row * bins + bin], b = im[row * bins + bin];
          if (isNaN(a)) continue;
          x += a * cos[turn] + b * sin[turn];
          y += b * cos[turn] - a * sin[turn];
        }
        power[lag] += samples[row] * (x * x + y * y);
      }
    }
    let best = 0;
    for (let lag = 1; lag < lags; ++lag) if (power[lag] > power[best]) best = lag;
    const before = power[(best + lags - 1) % lags], after = power[(best + 1) % lags];
    const bend = before - 2 * power[best] + after;
    const shift = bend < 0 ? 0.5 * (before - after) / bend : 0;
    const signed = (best + shift > lags / 2 ? best + shift - lags : best + shift);
    return signed / lags / width_hz;
  };

  tautline.removeDelay = function (fringes, delay_s, width_hz) {
    const { re, im, rows, bins } = fringes;
    for (let bin = 0; bin < bins; ++bin) {
      const angle = -2 * Math.PI * delay_s * width_hz * (bin - (bins - 1) / 2);
      const c = Math.cos(angle), s = Math.sin(angle);
      for (let k = bin; k < rows * bins; k += bins) {
        const x = re[k] * c - im[k] * s;
        im[k] = re[k] * s + im[k] * c;
        re[k] = x;
      }
    }
  };
})(globalThis.tautline = globalThis.tautline || {});
