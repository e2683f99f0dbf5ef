// One baseline's fringes: pictures of amplitude and phase, and their means.
(function (tautline) {
  "use strict";

  const { element } = tautline;
  const DEGREES = 180 / Math.PI;
  const QUANTITIES = { coefficient: "correlation coefficient", power: "power (unit²)", decibel: "power (dB of unit²)" };

  const INTRO = "One baseline against time and frequency. Point at a picture to read it, press to pin a cut through it.";

  /** Why edge channels are hatched; empty where none is flagged. */
  function edgesText(facts) {
    const fact = facts.find(([name]) => name === "flagged_edge_channels");
    if (!fact) return "";
    const channels = fact[1].split(", "), named = channels.slice(0, 4).join(", ");
    const more = channels.length > 4 ? ` and ${channels.length - 4} more` : "";
    return channels.length === 1
      ? ` Channel ${named} is flagged, and hatched where it is drawn by itself: both ends of the band fall into it.`
      : ` Channels ${named}${more} are flagged, and hatched where they are drawn by themselves: both ends of a band fall into each.`;
  }

  tautline.FringePanel = class {
    /** `note`: more about the pictures. */
    constructor(root, store, note = "") {
      this.store = store;
      this.root = root;
      this.note = note;
      this.mode = "coefficient";
      this.aligned = false;
      this.pinned = null;
      this.picker = new tautline.Picker("Baseline", () => {
        this.chosen = true;
        this.pinned = null;
        this.draw();
      });
      const hover = (cell) => { this.hover = cell; this.showCross(); };
      const pick = (cell) => {
        const same = cell && this.pinned && cell.row === this.pinned.row &&
                     cell.column === this.pinned.column;
        this.pinned = same ? null : cell;
        this.drawLines();
        this.showCross();
      };
      this.amplitude = new tautline.Heatmap("Amplitude", { onMove: hover, onPick: pick });
      this.phase = new tautline.Heatmap("Phase", { cyclic: true, onMove: hover, onPick: pick });
      const line = (title, phase) => new tautline.LineChart(title, {
        phase, zeroBased: !phase,
        series: phase
          ? [{ name: "vector mean", colour: "one", points: true },
             { name: "pinned", colour: "two", points: true }]
          : [{ name: "mean |V|", colour: "three", width: 1 },
             { name: "vector mean", colour: "one", width: 2 },
             { name: "pinned", colour: "two", width: 1 }],
      });
      this.lines = {
        amplitudeFrequency: line("Amplitude against frequency", false),
        phaseFrequency: line("Phase against frequency", true),
        amplitudeTime: line("Amplitude against time", false),
        phaseTime: line("Phase against time", true),
      };
      this.readout = element("p.readout", { "aria-live": "off" });
      this.facts = element("dl.facts");
      this.map = new tautline.ArrayMap(store, (b) => this.picker.pick(b));
      this.build(root);
    }

    build(root) {
      const controls = element("div.controls", {}, this.picker.root,
        tautline.segmented("Amplitude as", [
          ["coefficient", "Coefficient", "Divided by the geometric mean of the two inputs' powers"],
          ["power", "Power", "As correlated"],
          ["decibel", "dB", "Power in decibels of the squared unit of the samples"],
        ], this.mode, (mode) => { this.mode = mode; this.draw(); }),
        tautline.toggle("Take out the delay", "Subtracts the phase slope that fits best, so that " +
          "means over the band keep their amplitude", (on) => { this.aligned = on; this.draw(); }));
      const phase = (part) => { part.root.classList.add("phase"); return part.root; };
      const parts = [
        element("div.baseline-bar", {},
          element("div.card", {}, controls, this.facts, this.readout), this.map.root),
        element("div.grid", {}, this.amplitude.root, phase(this.phase),
          this.lines.amplitudeFrequency.root, phase(this.lines.phaseFrequency),
          this.lines.amplitudeTime.root, phase(this.lines.phaseTime)),
      ];
      root.append(
        element("div.section-head", {}, element("h2", {}, "Fringes"),
          this.intro = element("p")),
        ...parts);
    }

    describe() {
      const { baselines } = this.store.description;
      const names = { strongest: "Strongest", shortest: "Shortest", longest: "Longest",
                      closure: "Closure triangles", "cross-hand": "Cross-hand", other: "Others" };
      const group = (baseline) => ["strongest", "closure", "shortest", "longest", "cross-hand", "other"]
        .find((reason) => baseline.reasons.includes(reason)) || "other";
      const order = Object.keys(names);
      const picked = this.picker.text;
      this.picker.fill(baselines
        .map((baseline, b) => ({ group: names[group(baseline)], rank: order.indexOf(group(baseline)),
                                 value: b, text: this.store.baselineLabel(b) +
                                   (baseline.length_m ? `, ${tautline.short(Math.round(baseline.length_m * 10) / 10)} m` : "") }))
        .sort((a, b) => a.rank - b.rank));
      // A stream is described anew after a break: the reader's choice stays where its baseline does.
      this.chosen = this.chosen && this.picker.choose(picked);
      this.lookedAt = 0.5;
      this.map.describe();
    }

    /**
     * Opens on the baseline with the strongest fringe; of those within a tenth of it, on the longest, which shows most of
     * the fringe. A stream's first rows are mostly noise: until the reader chooses, it
     * looks again whenever the rows have doubled.
     */
    chooseBaseline() {
      const { store } = this;
      if (this.chosen || store.rows.length < 2 * this.lookedAt) return;
      this.lookedAt = store.rows.length;
      const all = [...store.description.baselines.keys()];
      const crossed = (b) => store.description.baselines[b].reasons.includes("cross-hand");
      const found = all.filter((b) => !crossed(b) || all.every(crossed))
        .map((b) => ({ b, snr: tautline.fringeSnr(store, b).snr, length_m: store.description.baselines[b].length_m }))
        .sort((one, other) => other.snr - one.snr);
      const strong = found.filter((one) => one.snr >= 0.9 * found[0].snr);
      this.picker.select.value = strong.reduce((best, one) => one.length_m > best.length_m ? one : best).b;
    }

    get width_hz() {
      const { channels } = this.store.description;
      return channels.width_hz * channels.per_bin;
    }

    draw() {
      const { store } = this;
      const something = store.description.baselines.length > 0 && store.rows.length > 0;
      this.root.hidden = !something;
      if (!something) return;
      this.intro.textContent = INTRO + edgesText(store.status.facts) + this.note;
      this.chooseBaseline();
      const b = this.picker.value;
      this.data = store.fringes(b, this.mode === "coefficient");
      this.delay_s = tautline.fitDelay(this.data, this.width_hz);
      if (this.aligned) tautline.removeDelay(this.data, this.delay_s, this.width_hz);
      this.time = tautline.timeAxis(store);
      this.frequency = tautline.frequencyAxis(store.description.channels.bin_hz, this.width_hz);
      this.drawPictures();
      this.drawLines();
      this.showFacts(b);
      this.showCross();
      this.map.draw(b);
    }

    drawPictures() {
      const { re, im, rows, bins } = this.data;
      const decibel = this.mode === "decibel";
      const amplitude = new Float32Array(rows * bins);
      const phase = new Float32Array(rows * bins);
      for (let k = 0; k < rows * bins; ++k) {
        const size = Math.hypot(re[k], im[k]);
        amplitude[k] = decibel ? 10 * Math.log10(size) : size;
        phase[k] = Math.atan2(im[k], re[k]) * DEGREES;
      }
      this.amplitudeValues = amplitude;
      this.phaseValues = phase;
      // A few channels of interference must not take the colours from all others.
      const high = tautline.quantile(amplitude, 0.98) || 1;
      // Not closer than a fifth of the amplitude, or plain noise would look like structure.
      const low = Math.min(tautline.quantile(amplitude, 0.005) || 0, decibel ? high - 1 : 0.8 * high);
      const shared = {
        xName: this.frequency.name, yName: this.time.name,
        rows, columns: bins, rowEdges: this.time.edges,
        xLow: this.frequency.low, xHigh: this.frequency.high,
        xTicks: tautline.ticks, yTicks: this.time.ticks,
      };
      this.amplitude.show(Object.assign({}, shared, {
        values: amplitude, map: tautline.colourMaps.amplitude, low, high, quantity: QUANTITIES[this.mode],
        lowText: tautline.short(Number(low.toPrecision(3))),
        highText: tautline.short(Number(high.toPrecision(3))),
      }));
      this.phase.show(Object.assign({}, shared, {
        values: phase, map: tautline.colourMaps.phase, low: -180, high: 180,
        quantity: "phase (°)", lowText: "−180", highText: "180",
      }));
    }

    /** Means along one axis, weighted by samples: [mean of amplitudes, amplitude of the vector mean, its phase]. */
    means(count, length, at) {
      const found = [];
      for (let k = 0; k < count; ++k) {
        let x = 0, y = 0, size = 0, used = 0;
        for (let m = 0; m < length; ++m) {
          const cell = at(k, m);
          const re = this.data.re[cell], im = this.data.im[cell];
          if (isNaN(re)) continue;
          const weight = this.data.samples[Math.floor(cell / this.data.bins)];
          x += weight * re;
          y += weight * im;
          size += weight * Math.hypot(re, im);
          used += weight;
        }
        found.push(used ? [size / used, Math.hypot(x, y) / used, Math.atan2(y, x) * DEGREES]
                        : [null, null, null]);
      }
      return found;
    }

    drawLines() {
      const { rows, bins } = this.data;
      const scaled = (value) => value === null ? null :
        this.mode === "decibel" ? 10 * Math.log10(value) : value;
      const overTime = this.means(bins, rows, (bin, row) => row * bins + bin);
      const overBand = this.means(rows, bins, (row, bin) => row * bins + bin);
      const pin = this.pinned;
      const cut = (values, row, bin) => pin && isFinite(values[row * bins + bin])
        ? values[row * bins + bin] : null;
      const hidden = pin ? [] : ["pinned"];
      const show = (chart, axis, means, pinned, phase) => {
        const points = means.map((mean, k) => [axis.values[k],
          ...(phase ? [mean[2]] : [scaled(mean[0]), scaled(mean[1])]), pinned(k)]);
        chart.show(axis.edges ? tautline.breakAtGaps(axis, points) : points, {
          xRange: [axis.low, axis.high], xName: axis.name, yName: phase ? "phase (°)" : QUANTITIES[this.mode], xFormat: axis.text, xTicks: axis.ticks, hidden,
          yRange: this.mode === "decibel" && !phase ? [null, null] : undefined,
          yFormat: phase ? (v) => `${tautline.signed(v, 1)}°`
                         : (v) => tautline.short(v) + (this.mode === "decibel" ? " dB" : ""),
        });
      };
      const { lines, frequency, time, amplitudeValues, phaseValues } = this;
      const f = (values) => (bin) => cut(values, pin && pin.row, bin);
      const t = (values) => (row) => cut(values, row, pin && pin.column);
      show(lines.amplitudeFrequency, frequency, overTime, f(amplitudeValues), false);
      show(lines.phaseFrequency, frequency, overTime, f(phaseValues), true);
      show(lines.amplitudeTime, time, overBand, t(amplitudeValues), false);
      show(lines.phaseTime, time, overBand, t(phaseValues), true);
    }

    showFacts(b) {
      const { store } = this;
      const baseline = store.description.baselines[b];
      let size = 0, used = 0;
      for (let k = 0; k < this.data.re.length; ++k) {
        if (isNaN(this.data.re[k])) continue;
        const weight = this.data.samples[Math.floor(k / this.data.bins)];
        size += weight * Math.hypot(this.data.re[k], this.data.im[k]);
        used += weight;
      }
      const { antennas, inputs } = store.description;
      const facts = [["Baseline", store.baselineLabel(b)]];
      const ends = [baseline.first, baseline.second].map((input) => antennas[inputs[input].antenna]);
      if (ends.some(({ name, number }) => name && name !== `ant${number}`))
        facts.push(["Antennas", ends.map(({ name }) => name).join(" – ")]);
      if (store.description.positions_known) facts.push(["Length", `${tautline.short(baseline.length_m)} m`]);
      facts.push(["Mean amplitude", used ? tautline.short(size / used) : "–"]);
      const { snr, noise } = tautline.fringeSnr(store, b);
      const measured = `${snr.toPrecision(3) >= 100 ? Math.round(snr) : snr.toPrecision(3)}, noise alone ${noise.toFixed(1)}`;
      facts.push(["Fringe's S/N", used ? measured : "–"]);
      const turns = this.delay_s * this.width_hz;
      const delay = Math.abs(this.delay_s) < 1e-6
        ? `${tautline.signed(this.delay_s * 1e9, 1)} ns` : `${tautline.signed(this.delay_s * 1e6, 3)} µs`;
      facts.push(["Delay", Math.abs(turns) < 0.5 && used ? delay : "–"]);
      const samples = store.samplesPerCell(store.rows[0]);
      facts.push(["Noise of a coefficient", `${tautline.short(Number((1 / Math.sqrt(samples)).toPrecision(2)))}`]);
      const { per_bin } = store.description.channels;
      const most = Math.max(...store.rows.map((row) => row.integrations));
      facts.push(["One cell averages", `${most} integration${most > 1 ? "s" : ""} × ${per_bin} channel${per_bin > 1 ? "s" : ""}`]);
      this.facts.replaceChildren(...facts.map(([name, value]) =>
        element("div", {}, element("dt", {}, name), element("dd", {}, value))));
    }

    showCross() {
      this.amplitude.setCross(this.hover, this.pinned);
      this.phase.setCross(this.hover, this.pinned);
      const cell = this.hover || this.pinned;
      if (!cell || !this.data || cell.row >= this.data.rows) {
        this.readout.textContent = "Point at a picture to read its values.";
        return;
      }
      const at = cell.row * this.data.bins + cell.column;
      const amplitude = this.amplitudeValues[at];
      this.readout.replaceChildren(
        `${this.time.text(this.time.values[cell.row])}, ${this.frequency.text(this.frequency.values[cell.column])}: `,
        ...(isFinite(amplitude)
          ? ["amplitude ", element("b", {}, tautline.short(amplitude) + (this.mode === "decibel" ? " dB" : "")),
             ", phase ", element("b", {}, `${tautline.signed(this.phaseValues[at], 1)}°`)]
          : [element("b", {}, "no valid sample")]));
    }

    redraw() {
      for (const chart of Object.values(this.lines)) chart.redraw();
      this.amplitude.draw();
      this.phase.draw();
      if (this.store.rows.length && this.store.description.baselines.length) {
        this.map.draw(this.picker.value);
      }
    }
  };
})(globalThis.tautline = globalThis.tautline || {});
