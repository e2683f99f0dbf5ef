// What the page knows: a description, rows of time, a summary and a status, filled by messages.
(function (tautline) {
  "use strict";

  const MISSING = -32768;  // a cell without a valid sample

  tautline.Store = class {
    /** Keeps at most `mostRows` rows of time; a live stream drops the oldest. */
    constructor(mostRows = 1024) {
      this.mostRows = mostRows;
      this.description = null;
      this.status = { facts: [], warnings: [], clipped: [], requantised: 0, at_ends: [] };
      this.summary = null;
      this.rows = [];
      this.dropped = 0;  // rows before rows[0]
      this.listeners = [];
    }

    onChange(listener) { this.listeners.push(listener); }

    /** The one entrance: every message of a file or a stream comes through here. */
    receive(message) {
      const decoded = tautline.decodeMessage(message);
      if (decoded.type === "description") {
        this.description = decoded;
        this.rows = [];
        this.dropped = 0;
        this.summary = null;
      } else if (decoded.type === "status") {
        this.status = decoded;
      } else if (decoded.type === "integrations") {
        this.addRows(decoded);
        this.summary = decoded.summary;
      }
      for (const listener of this.listeners) listener(decoded.type);
    }

    /** Rows from `first` on are replaced: the last one of a stream grows. Rows that would leave a hole are not taken. */
    addRows(message) {
      const at = Math.max(0, message.first - this.dropped);
      if (at > this.rows.length) return;
      this.rows.length = at;
      const { baselines, inputs, triangles, channels } = this.description;
      const bins = channels.bin_hz.length;
      const part = (array, k, size) => array.subarray(k * size, (k + 1) * size);
      for (let k = 0; k < message.count; ++k) {
        this.rows.push({
          start_s: message.start_s[k],
          end_s: message.end_s[k],
          expected: message.expected[k],
          integrations: message.integrations[k],
          scales: part(message.scales, k, baselines.length),
          fractions: part(message.fractions, k, baselines.length),
          visibilities: part(message.visibilities, k, 2 * bins * baselines.length),
          power: part(message.power, k, inputs.length),
          valid: part(message.valid, k, inputs.length),
          bispectra: part(message.bispectra, k, 2 * triangles.length),
        });
      }
      if (this.rows.length > this.mostRows) {
        this.dropped += this.rows.length - this.mostRows;
        this.rows.splice(0, this.rows.length - this.mostRows);
      }
    }

    get bins() { return this.description.channels.bin_hz.length; }
    get spectrumBins() { return this.description.channels.spectrum_bin_hz.length; }

    baselineLabel(b) {
      const { baselines, inputs } = this.description;
      return `${inputs[baselines[b].first].label} – ${inputs[baselines[b].second].label}`;
    }

    triangleLabel(t) {
      const { triangles, inputs } = this.description;
      return triangles[t].inputs.map((input) => inputs[input].label).join(" – ");
    }

    /** Power of an input at a visibility bin: the mean of the run, NaN when unknown. */
    powerAt(input, bin) {
      const ratio = this.spectrumBins / this.bins;
      const place = Math.min(this.spectrumBins - 1, Math.floor((bin + 0.5) * ratio));
      const power = this.summary.spectra[input * this.spectrumBins + place];
      return power > 0 ? power : NaN;
    }

    /**
     * One baseline's visibilities, [row][bin], as real and imaginary parts; NaN where missing.
     * `coefficient` divides by the geometric mean of the two inputs' powers. `samples`: what a cell of each row averages.
     */
    fringes(b, coefficient) {
      const { baselines } = this.description;
      const bins = this.bins;
      const divisor = new Float64Array(bins).fill(1);
      if (coefficient) {
        for (let bin = 0; bin < bins; ++bin) {
          divisor[bin] = Math.sqrt(this.powerAt(baselines[b].first, bin) *
                                   this.powerAt(baselines[b].second, bin));
        }
      }
      const re = new Float32Array(this.rows.length * bins).fill(NaN);
      const im = new Float32Array(this.rows.length * bins).fill(NaN);
      this.rows.forEach((row, r) => {
        const scale = row.scales[b];
        for (let bin = 0; bin < bins; ++bin) {
          const at = 2 * (b * bins + bin);
          if (row.visibilities[at] === MISSING) continue;
          re[r * bins + bin] = row.visibilities[at] * scale / divisor[bin];
          im[r * bins + bin] = row.visibilities[at + 1] * scale / divisor[bin];
        }
      });
      const samples = this.rows.map((row) => this.samplesPerCell(row) * row.fractions[b]);
      return { re, im, samples, rows: this.rows.length, bins };
    }

    /** Samples that a full cell of a row averages; its noise is 1 / sqrt of it. */
    samplesPerCell(row) {
      return this.description.nominal_count * row.expected * this.description.channels.per_bin;
    }

    /** Power of an input in one row of time, dB; NaN where missing. */
    rowPower_db(row, input) {
      return row.power[input] > 0 ? 10 * Math.log10(row.power[input]) : NaN;
    }
  };
})(globalThis.tautline = globalThis.tautline || {});
