// What was lost, flagged or clipped, input by input.
(function (tautline) {
  "use strict";

  const { element } = tautline;

  tautline.QualityPanel = class {
    constructor(root, store) {
      this.store = store;
      this.root = root;
      this.text = element("p.empty");
      const read = (what) => (cell) => this.read(what, cell);
      this.frequencyImage = new tautline.Heatmap("Valid samples of each input against frequency",
        { height: 296, onMove: read("frequency") });
      this.timeImage = new tautline.Heatmap("Valid samples of each input against time",
        { height: 296, onMove: read("time") });
      this.clipping = new tautline.LineChart("Clipped by the requantiser, share of each input's values", {
        height: 190, zeroBased: true, series: [{ name: "clipped", colour: "two", points: true }] });
      this.atEnds = new tautline.LineChart("Recorded at the ends of their range, share of each input's samples", {
        height: 190, zeroBased: true, series: [{ name: "at the ends", colour: "two", points: true }] });
      this.clipping.root.classList.add("both");
      this.atEnds.root.classList.add("both");
      this.readout = element("p.readout");
      root.append(
        element("div.section-head", {}, element("h2", {}, "Data quality"), this.text),
        this.readout,
        element("div.grid", {}, this.frequencyImage.root, this.timeImage.root, this.atEnds.root,
                                this.clipping.root));
    }

    describe() {}

    draw() {
      const { store } = this;
      this.root.hidden = !store.rows.length;
      if (this.root.hidden) return;
      const { summary, status } = store;
      const whole = summary.valid_fraction >= 1;
      this.frequencyImage.root.hidden = this.timeImage.root.hidden = whole;
      this.readout.hidden = whole;
      this.text.textContent = (whole
        ? "Every sample of every input is valid. "
        : `${tautline.percent(1 - summary.valid_fraction)} of the samples are missing or flagged. `) +
        (status.clipped.length ? ""
          : status.facts.some(([name]) => name === "clipped")
            ? "How much was clipped in rounding is known of all inputs together: the section Run."
            : "The run recorded no clipping counts.");
      if (!whole) this.drawImages();
      this.drawClipping();
    }

    drawImages() {
      const { store } = this;
      const { inputs, channels } = store.description;
      const shared = { rows: inputs.length, rowEdges: tautline.inputEdges(inputs),
                       yName: "input", quantity: "valid (%)",
                       yTicks: tautline.inputTicks(inputs), xTicks: tautline.ticks,
                       map: tautline.colourMaps.valid[document.documentElement.dataset.theme],
                       low: 0, high: 1, lowText: "0", highText: "100" };
      this.frequency = tautline.frequencyAxis(channels.spectrum_bin_hz,
                                              channels.width_hz * channels.spectrum_per_bin);
      this.byFrequency = Float32Array.from(store.summary.valid_spectra, (code) => code / 255);
      this.frequencyImage.show(Object.assign({}, shared, {
        values: this.byFrequency, columns: store.spectrumBins, xName: this.frequency.name,
        xLow: this.frequency.low, xHigh: this.frequency.high }));
      this.showTimes(shared, inputs.length);
    }

    /** Rows of time become columns of even width; gaps between them are columns without data. */
    showTimes(shared, inputs) {
      const { rows } = this.store;
      const time = tautline.timeAxis(this.store);
      const shortest = Math.min(...rows.map((_, r) => time.edges[2 * r + 1] - time.edges[2 * r]));
      const columns = Math.min(1024, Math.max(1, Math.round((time.high - time.low) / shortest)));
      this.time = time;
      this.timeColumns = columns;
      this.byTime = new Float32Array(inputs * columns).fill(NaN);
      rows.forEach((row, r) => {
        const at = (edge) => Math.round((edge - time.low) / (time.high - time.low) * columns);
        const first = at(time.edges[2 * r]);
        const end = Math.min(columns, Math.max(at(time.edges[2 * r + 1]), first + 1));
        for (let column = first; column < end; ++column) {
          for (let input = 0; input < inputs; ++input) {
            this.byTime[input * columns + column] = row.valid[input] / 255;
          }
        }
      });
      this.timeImage.show(Object.assign({}, shared, {
        values: this.byTime, columns, xName: time.name, xTicks: time.ticks, xLow: time.low, xHigh: time.high }));
    }

    drawClipping() {
      const { status } = this.store;
      this.drawShares(this.clipping, "clipped",
                      status.requantised ? status.clipped.map((count) => count / status.requantised) : []);
      this.drawShares(this.atEnds, "at the ends", status.at_ends || []);
    }

    drawShares(chart, what, fractions) {
      chart.root.hidden = !fractions.length;
      if (!fractions.length) return;
      const { inputs } = this.store.description;
      const unit = Math.max(...fractions) < 1e-4 ? { scale: 1e6, name: "ppm" } : { scale: 100, name: "%" };
      chart.show(
        fractions.map((fraction, input) => [input, fraction * unit.scale]),
        { xTicks: (low, high, most) => tautline.inputTicks(inputs)(0, inputs.length, most)
            .map((tick) => ({ value: tick.value - 0.5, text: tick.text })),
          xRange: [-0.5, inputs.length - 0.5], xName: "input", yName: `${what} (${unit.name})`,
          xFormat: (value) => (inputs[Math.round(value)] || { label: "" }).label,
          yFormat: (value) => `${tautline.short(value)} ${unit.name}` });
    }

    read(what, cell) {
      if (!cell) {
        this.readout.textContent = "Point at a picture to read its values.";
        return;
      }
      const { inputs } = this.store.description;
      const columns = what === "time" ? this.timeColumns : this.store.spectrumBins;
      const value = (what === "time" ? this.byTime : this.byFrequency)[cell.row * columns + cell.column];
      const place = what === "time"
        ? this.time.text(this.time.low + (cell.column + 0.5) / columns * (this.time.high - this.time.low))
        : this.frequency.text(this.frequency.values[cell.column]);
      this.readout.replaceChildren(element("b", {}, inputs[cell.row].label), `, ${place}: `,
                                   element("b", {}, isNaN(value) ? "nothing recorded" : tautline.percent(value)),
                                   isNaN(value) ? "" : " valid");
    }

    redraw() {
      this.draw();  // the colours of the pictures follow the theme
      this.clipping.redraw();
      this.atEnds.redraw();
    }
  };
})(globalThis.tautline = globalThis.tautline || {});
