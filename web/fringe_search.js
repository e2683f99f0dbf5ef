// How strong a baseline's fringe is against noise, whatever its delay and fringe rate.
(function (tautline) {
  "use strict";

  const powerOfTwo = (least) => { let size = 1; while (size < least) size *= 2; return size; };

  /** Discrete Fourier transform in place of `size` (a power of two) complex numbers, with exp(+2 pi i k n / size). */
  function transform(re, im, size) {
    for (let k = 1, j = 0; k < size; ++k) {
      let bit = size >> 1;
      for (; j & bit; bit >>= 1) j ^= bit;
      j ^= bit;
      if (k < j) {
        [re[k], re[j]] = [re[j], re[k]];
        [im[k], im[j]] = [im[j], im[k]];
      }
    }
    for (let half = 1; half < size; half *= 2) {
      for (let turn = 0; turn < half; ++turn) {
        const c = Math.cos(Math.PI * turn / half), s = Math.sin(Math.PI * turn / half);  // exp(+i)
        for (let a = turn; a < size; a += 2 * half) {
          const b = a + half;
          const x = re[b] * c - im[b] * s, y = re[b] * s + im[b] * c;
          re[b] = re[a] - x;
          im[b] = im[a] - y;
          re[a] += x;
          im[a] += y;
        }
      }
    }
  }

  /**
   * |sum of cells[row][bin] exp(2 pi i (lag bin / lags + rate row / rates))|^2, largest within half a step of (lag, rate): between
   * the transform's own steps a sum is up to 0.4 of the true one.
   */
  function refined(re, im, rows, bins, lags, rates, lag, rate) {
    const steps = [-0.5, -0.25, 0, 0.25, 0.5];
    let largest = 0;
    for (const lagStep of steps) {
      const angle = 2 * Math.PI * (lag + lagStep) / lags;
      const cos = Float64Array.from({ length: bins }, (_, bin) => Math.cos(angle * bin));
      const sin = Float64Array.from({ length: bins }, (_, bin) => Math.sin(angle * bin));
      const sums = new Float64Array(2 * rows);
      for (let row = 0; row < rows; ++row) {
        for (let bin = 0; bin < bins; ++bin) {
          const x = re[row * bins + bin], y = im[row * bins + bin];
          sums[2 * row] += x * cos[bin] - y * sin[bin];
          sums[2 * row + 1] += x * sin[bin] + y * cos[bin];
        }
      }
      for (const rateStep of steps) {
        let x = 0, y = 0;
        for (let row = 0; row < rows; ++row) {
          const turn = 2 * Math.PI * (rate + rateStep) * row / rates;
          const c = Math.cos(turn), s = Math.sin(turn);
          x += sums[2 * row] * c - sums[2 * row + 1] * s;
          y += sums[2 * row] * s + sums[2 * row + 1] * c;
        }
        largest = Math.max(largest, x * x + y * y);
      }
    }
    return largest;
  }

  /**
   * Amplitude of the sum of baseline b's correlation coefficients over all cells of time and frequency, each weighted by its
   * samples and turned by the delay and fringe rate that make it largest, over the standard deviation of such a sum of noise. `noise`: what the largest of noise
   * alone is like.
   */
  tautline.fringeSnr = function (store, b) {
    const { re, im, samples, rows, bins } = store.fringes(b, true);
    const lags = powerOfTwo(bins), rates = powerOfTwo(rows);
    const x = new Float64Array(rates * lags), y = new Float64Array(rates * lags);  // [lag][rate]
    const rowRe = new Float64Array(lags), rowIm = new Float64Array(lags);
    let variance = 0, used = 0;
    for (let row = 0; row < rows; ++row) {
      rowRe.fill(0);
      rowIm.fill(0);
      for (let bin = 0; bin < bins; ++bin) {
        const at = row * bins + bin;
        if (isNaN(re[at]) || isNaN(im[at])) {
          re[at] = im[at] = 0;
          continue;
        }
        rowRe[bin] = re[at] *= samples[row];
        rowIm[bin] = im[at] *= samples[row];
        variance += samples[row];
        ++used;
      }
      transform(rowRe, rowIm, lags);
      for (let lag = 0; lag < lags; ++lag) {
        x[lag * rates + row] = rowRe[lag];
        y[lag * rates + row] = rowIm[lag];
      }
    }
    if (!used) return { snr: 0, noise: 0 };
    let largest = -1, place = [0, 0];
    for (let lag = 0; lag < lags; ++lag) {
      const [re, im] = [x.subarray(lag * rates, (lag + 1) * rates), y.subarray(lag * rates, (lag + 1) * rates)];
      transform(re, im, rates);
      for (let rate = 0; rate < rates; ++rate) {
        const power = re[rate] * re[rate] + im[rate] * im[rate];
        if (power > largest) {
          largest = power;
          place = [lag, rate];
        }
      }
    }
    return { snr: Math.sqrt(refined(re, im, rows, bins, lags, rates, ...place) / variance),
             noise: Math.sqrt(Math.log(Math.max(2, used))) };
  };
})(globalThis.tautline = globalThis.tautline || {});
