// Autocorrelations of every input against frequency and time.
(function (tautline) {
  "use strict";

  const { element } = tautline;
  const POWER = "power (dB of unit²)";
  const decibels = (power) => power > 0 ? 10 * Math.log10(power) : NaN;

  /** Ticks of a picture whose rows are inputs. */
  tautline.inputTicks = (inputs) => (low, high, most) => {
    const step = Math.max(1, Math.ceil((high - low) / Math.max(1, most)));
    const found = [];
    for (let k = 0; k < inputs.length; k += step) found.push({ value: k + 0.5, text: inputs[k].label });
    return found;
  };

  tautline.inputEdges = (inputs) => inputs.flatMap((_, k) => [k, k + 1]);

  tautline.SpectrumPanel = class {
    constructor(root, store) {
      this.store = store;
      this.root = root;
      this.picker = new tautline.Picker("Input", () => this.drawLines());
      const pick = (cell) => cell && this.picker.pick(cell.row);
      this.image = new tautline.Heatmap("Power of each input against frequency", {
        height: 316, onPick: pick, onMove: (cell) => this.read(cell) });
      const chart = (title) => new tautline.LineChart(title, {
        bars: true, height: 316,
        series: [{ name: "median, 10 to 90 % of inputs", colour: "three", width: 1.5 },
                 { name: "this input", colour: "one", width: 2 }] });
      this.frequencyChart = chart("Power against frequency");
      this.timeChart = chart("Change of power against time");
      this.timeChart.place.style.height = "190px";
      this.readout = element("p.readout");
      root.append(
        element("div.section-head", {}, element("h2", {}, "Spectra"),
          element("p", {}, "Autocorrelations, the mean of the run, in decibels of the squared unit of the samples (of integer " +
                           "samples: one step). Press a row to choose its input.")),
        element("div.controls", {}, this.picker.root, this.readout),
        element("div.grid", {}, this.image.root, this.frequencyChart.root));
      this.timeChart.root.classList.add("both");
      root.querySelector(".grid").append(this.timeChart.root);
    }

    describe() {
      this.picker.fill(this.store.description.inputs.map((input, k) => ({ value: k, text: input.label })));
    }

    draw() {
      const { store } = this;
      this.root.hidden = !store.rows.length;
      if (this.root.hidden) return;
      const { inputs, channels } = store.description;
      this.values = Float32Array.from(store.summary.spectra, decibels);
      const width = channels.width_hz * channels.spectrum_per_bin;
      this.frequency = tautline.frequencyAxis(channels.spectrum_bin_hz, width);
      const low = tautline.quantile(this.values, 0.01), high = tautline.quantile(this.values, 0.98);
      this.image.show({
        values: this.values, rows: inputs.length, columns: store.spectrumBins,
        xName: this.frequency.name, yName: "input", quantity: POWER,
        rowEdges: tautline.inputEdges(inputs), xLow: this.frequency.low, xHigh: this.frequency.high,
        xTicks: tautline.ticks, yTicks: tautline.inputTicks(inputs),
        map: tautline.colourMaps.amplitude, low, high: high > low ? high : low + 1,
        lowText: tautline.signed(low, 1), highText: tautline.signed(high, 1),
      });
      this.drawLines();
      this.read(null);
    }

    /** [low, median, high] of the inputs at each place, and the chosen input's value. */
    lines(count, valueAt) {
      const inputs = this.store.description.inputs.length;
      const chosen = this.picker.value;
      return Array.from({ length: count }, (_, k) => {
        const values = Float32Array.from({ length: inputs }, (_, input) => valueAt(input, k));
        const own = values[chosen];
        const band = [0.1, 0.5, 0.9].map((part) => tautline.quantile(values, part));
        return [isFinite(band[1]) ? band : [null, null, null],
                isFinite(own) ? [own, own, own] : [null, null, null]];
      });
    }

    drawLines() {
      const { store, frequency } = this;
      const bins = store.spectrumBins;
      const time = tautline.timeAxis(store);
      const yFormat = (value) => `${tautline.signed(value, 2)} dB`;
      // Each input against its own mean: levels differ by more than they drift.
      const means = store.description.inputs.map((_, input) => {
        const levels = store.rows.map((row) => store.rowPower_db(row, input)).filter(isFinite);
        return levels.reduce((sum, level) => sum + level, 0) / levels.length;
      });
      const join = (axis, lines) => lines.map((line, k) => [axis.values[k], ...line]);
      this.frequencyChart.show(
        join(frequency, this.lines(bins, (input, bin) => this.values[input * bins + bin])),
        { xRange: [frequency.low, frequency.high], xName: frequency.name, yName: POWER, xFormat: frequency.text, yFormat });
      const change = (input, row) => store.rowPower_db(store.rows[row], input) - means[input];
      this.timeChart.show(
        tautline.breakAtGaps(time, join(time, this.lines(store.rows.length, change))),
        { xRange: [time.low, time.high], xName: time.name, yName: "power (dB of its mean)", xFormat: time.text,
          xTicks: time.ticks, yFormat });
      const chosen = store.description.inputs[this.picker.value].label;
      this.frequencyChart.title.textContent = `Power of ${chosen} against frequency`;
      this.timeChart.title.textContent = `Change of power of ${chosen} against time`;
      this.image.setCross(null, { row: this.picker.value, column: -1 });
    }

    read(cell) {
      const { inputs } = this.store.description;
      if (!cell) {
        this.readout.textContent = "";
        return;
      }
      this.readout.replaceChildren(
        element("b", {}, inputs[cell.row].label),
        ` at ${this.frequency.text(this.frequency.values[cell.column])}: `,
        element("b", {}, `${tautline.signed(this.values[cell.row * this.store.spectrumBins + cell.column], 2)} dB`));
    }

    redraw() {
      this.frequencyChart.redraw();
      this.timeChart.redraw();
      this.image.draw();
    }
  };
})(globalThis.tautline = globalThis.tautline || {});
