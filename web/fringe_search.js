// How strong a baseline's fringe is against noise, whatever its delay and fringe rate.
(function (tautline) {
  "use strict";

  const powerOfTwo = (least) => { let size = 1; while (size < least) size *= 2; return size; };

  /** Discrete Fourier transform in place of `size` (a power of two) complex numbers; the sign of the phase is not of interest. */
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
        const c = Math.cos(Math.PI * turn / half), s = Math.sin(Math.PI * turn / half);
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
   * Amplitude of the sum of baseline b's correlation coefficients over all cells of time and frequency, turned by the delay and
   * fringe rate that make it largest, over the standard deviation of such a sum of noise. `noise`: what the largest of noise
   * alone is like.
   */
  tautline.fringeSnr = function (store, b) {
    const { re, im, rows, bins } = store.fringes(b, true);
    const lags = powerOfTwo(bins), rates = powerOfTwo(rows);
    const x = new Float64Array(rates * lags), y = new Float64Array(rates * lags);  // [lag][rate]
    const rowRe = new Float64Array(lags), rowIm = new Float64Array(lags);
    let variance = 0, used = 0;
    for (let row = 0; row < rows; ++row) {
      rowRe.fill(0);
      rowIm.fill(0);
      for (let bin = 0; bin < bins; ++bin) {
        const at = row * bins + bin;
        if (isNaN(re[at]) || isNaN(im[at])) continue;
        rowRe[bin] = re[at];
        rowIm[bin] = im[at];
        variance += 1 / store.samplesPerCell(store.rows[row]);
        ++used;
      }
      transform(rowRe, rowIm, lags);
      for (let lag = 0; lag < lags; ++lag) {
        x[lag * rates + row] = rowRe[lag];
        y[lag * rates + row] = rowIm[lag];
      }
    }
    let largest = 0;
    for (let lag = 0; lag < lags; ++lag) {
      const part = [x.subarray(lag * rates, (lag + 1) * rates), y.subarray(lag * rates, (lag + 1) * rates)];
      transform(...part, rates);
      for (let rate = 0; rate < rates; ++rate) largest = Math.max(largest, part[0][rate] ** 2 + part[1][rate] ** 2);
    }
    return { snr: used ? Math.sqrt(largest / variance) : 0, noise: Math.sqrt(Math.log(Math.max(2, used))) };
  };
})(globalThis.tautline = globalThis.tautline || {});
