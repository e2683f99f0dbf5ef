// One baseline's fringes: pictures of amplitude and phase, and their means.
(function (tautline) {
  "use strict";

  const { element } = tautline;
  const DEGREES = 180 / Math.PI;

  /** The value that `fraction` of the finite values do not exceed. */
  tautline.quantile = function (values, fraction) {
    const finite = values.filter((value) => isFinite(value)).sort();
    return finite.length ? finite[Math.min(finite.length - 1, Math.floor(fraction * finite.length))] : NaN;
  };

  /** Axis of the store's frequency bins, for pictures and charts. */
  tautline.frequencyAxis = function (centres_hz, width_hz) {
    const last = centres_hz.length - 1;
    const unit = tautline.frequencyUnit(centres_hz[last]);
    return {
      unit,
      values: Array.from(centres_hz, (hz) => hz / unit.scale),
      low: (centres_hz[0] - width_hz / 2) / unit.scale,
      high: (centres_hz[last] + width_hz / 2) / unit.scale,
      text: (value) => `${(value * unit.scale / 1e6).toFixed(4)} MHz`,
    };
  };

  /**
   * Axis of the store's rows of time: edges for pictures, middles for charts. Where most of the span
   * is gaps (snapshots), rows stand side by side instead and the ticks tell their times.
   */
  tautline.timeAxis = function (store) {
    const { rows, description } = store;
    const clock = (seconds) => tautline.utc(description.start_unix_s + seconds, false);
    if (!rows.length) {
      return { unit: tautline.timeUnit(1), edges: [0, 1], values: [], low: 0, high: 1,
               text: String, ticks: tautline.ticks };
    }
    const span_s = rows[rows.length - 1].end_s - rows[0].start_s;
    const recorded_s = rows.reduce((sum, row) => sum + row.end_s - row.start_s, 0);
    if (recorded_s < 0.25 * span_s) return snapshotAxis(rows, clock);
    const unit = tautline.timeUnit(span_s);
    const edges = rows.flatMap((row) => [row.start_s / unit.scale, row.end_s / unit.scale]);
    return {
      unit, edges,
      values: rows.map((row) => (row.start_s + row.end_s) / 2 / unit.scale),
      low: edges[0], high: edges[edges.length - 1],
      text: (value) => clock(value * unit.scale),
      ticks: tautline.ticks,
    };
  };

  function snapshotAxis(rows, clock) {
    const middle_s = (k) => (rows[k].start_s + rows[k].end_s) / 2;
    const row = (value) => Math.min(rows.length - 1, Math.max(0, Math.floor(value)));
    return {
      unit: { name: "UTC" },
      edges: rows.flatMap((_, k) => [k, k + 1]),
      values: rows.map((_, k) => k + 0.5),
      low: 0, high: rows.length,
      text: (value) => clock(middle_s(row(value))),
      ticks: (low, high, most) => {
        const step = Math.max(1, Math.ceil((high - low) / Math.max(1, most)));
        const found = [];
        for (let k = 0; k < rows.length; k += step) {
          found.push({ value: k + 0.5, text: clock(middle_s(k)).slice(0, 8) });
        }
        return found;
      },
    };
  }

  /** Rows of a chart against time, with an empty one in each gap so that lines break there. */
  tautline.breakAtGaps = function (axis, rows) {
    return rows.flatMap((row, k) => {
      const start = axis.edges[2 * k], before = axis.edges[2 * k - 1];
      const width = axis.edges[2 * k + 1] - start;
      if (k === 0 || start - before < 0.5 * width) return [row];
      const empty = row.map((value) => Array.isArray(value) ? [null, null, null] : null);
      empty[0] = (before + start) / 2;
      return [empty, row];
    });
  };

  /**
   * The delay (s) whose phase slope explains the visibilities best: the highest point of the lag
   * spectrum's power, summed over time, between its samples by a parabola.
   */
  tautline.fitDelay = function (fringes, width_hz) {
    const { re, im, rows, bins } = fringes;
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
        power[lag] += x * x + y * y;
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

  tautline.FringePanel = class {
    constructor(root, store) {
      this.store = store;
      this.mode = "coefficient";
      this.aligned = false;
      this.pinned = null;
      this.picker = new tautline.Picker("Baseline", () => { this.pinned = null; this.draw(); });
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
          ["decibel", "dB", "Power in decibels"],
        ], this.mode, (mode) => { this.mode = mode; this.draw(); }),
        tautline.toggle("Take out the delay", "Subtracts the phase slope that fits best, so that " +
          "means over the band keep their amplitude", (on) => { this.aligned = on; this.draw(); }));
      const phase = (part) => { part.root.classList.add("phase"); return part.root; };
      this.empty = element("p.empty", { hidden: true }, "There is no baseline to show.");
      this.parts = [
        element("div.baseline-bar", {},
          element("div.card", {}, controls, this.facts, this.readout), this.map.root),
        element("div.grid", {}, this.amplitude.root, phase(this.phase),
          this.lines.amplitudeFrequency.root, phase(this.lines.phaseFrequency),
          this.lines.amplitudeTime.root, phase(this.lines.phaseTime)),
      ];
      root.append(
        element("div.section-head", {}, element("h2", {}, "Fringes"),
          element("p", {}, "One baseline against time and frequency. Point at a picture to read it, " +
                           "press to pin a cut through it.")),
        this.empty, ...this.parts);
    }

    describe() {
      const { baselines } = this.store.description;
      const names = { strongest: "Strongest", shortest: "Shortest", longest: "Longest",
                      closure: "Closure triangles", "cross-hand": "Cross-hand", other: "Others" };
      const group = (baseline) => ["strongest", "closure", "shortest", "longest", "cross-hand", "other"]
        .find((reason) => baseline.reasons.includes(reason)) || "other";
      const order = Object.keys(names);
      this.picker.fill(baselines
        .map((baseline, b) => ({ group: names[group(baseline)], rank: order.indexOf(group(baseline)),
                                 value: b, text: this.store.baselineLabel(b) +
                                   (baseline.length_m ? `, ${tautline.short(Math.round(baseline.length_m * 10) / 10)} m` : "") }))
        .sort((a, b) => a.rank - b.rank));
      this.picker.select.value = this.interesting();
      this.map.describe();
    }

    /** The longest of the baselines that are at least half as strong as the strongest. */
    interesting() {
      const { baselines } = this.store.description;
      const strongest = Math.max(0, ...baselines.map((baseline) => baseline.strength));
      let best = 0;
      baselines.forEach((baseline, b) => {
        if (baseline.strength < 0.5 * strongest || baseline.reasons.includes("cross-hand")) return;
        if (baseline.length_m > baselines[best].length_m) best = b;
      });
      return best;
    }

    get width_hz() {
      const { channels } = this.store.description;
      return channels.width_hz * channels.per_bin;
    }

    draw() {
      const { store } = this;
      const something = store.description.baselines.length > 0 && store.rows.length > 0;
      for (const part of this.parts) part.hidden = !something;
      this.empty.hidden = something;
      if (!something) return;
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
      const unit = decibel ? " dB" : "";
      const shared = {
        rows, columns: bins, rowEdges: this.time.edges,
        xLow: this.frequency.low, xHigh: this.frequency.high,
        xTicks: tautline.ticks, yTicks: this.time.ticks,
      };
      this.amplitude.show(Object.assign({}, shared, {
        values: amplitude, map: tautline.colourMaps.amplitude, low, high,
        lowText: tautline.short(Number(low.toPrecision(3))) + unit,
        highText: tautline.short(Number(high.toPrecision(3))) + unit,
      }));
      this.phase.show(Object.assign({}, shared, {
        values: phase, map: tautline.colourMaps.phase, low: -180, high: 180,
        lowText: "−180°", highText: "180°",
      }));
    }

    /** Means along one axis: [mean of amplitudes, amplitude of the vector mean, its phase]. */
    means(count, length, at) {
      const found = [];
      for (let k = 0; k < count; ++k) {
        let x = 0, y = 0, size = 0, used = 0;
        for (let m = 0; m < length; ++m) {
          const cell = at(k, m);
          const re = this.data.re[cell], im = this.data.im[cell];
          if (isNaN(re)) continue;
          x += re;
          y += im;
          size += Math.hypot(re, im);
          ++used;
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
          xRange: [axis.low, axis.high], xFormat: axis.text, xTicks: axis.ticks, hidden,
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
      for (const [picture, what] of [[this.amplitude, "Amplitude"], [this.phase, "Phase"]]) {
        picture.root.querySelector(".card-title").textContent =
          `${what}, ${time.unit.name} down, ${frequency.unit.name} across`;
      }
      for (const [name, axis] of [["Frequency", frequency], ["Time", time]]) {
        for (const what of ["amplitude", "phase"]) {
          lines[what + name].title.textContent =
            `${what === "phase" ? "Phase" : "Amplitude"} against ${name.toLowerCase()} (${axis.unit.name})`;
        }
      }
    }

    showFacts(b) {
      const { store } = this;
      const baseline = store.description.baselines[b];
      let size = 0, used = 0;
      for (let k = 0; k < this.data.re.length; ++k) {
        if (isNaN(this.data.re[k])) continue;
        size += Math.hypot(this.data.re[k], this.data.im[k]);
        ++used;
      }
      const facts = [["Baseline", store.baselineLabel(b)]];
      if (store.description.positions_known) facts.push(["Length", `${tautline.short(baseline.length_m)} m`]);
      facts.push(["Mean amplitude", used ? tautline.short(size / used) : "–"]);
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

  /** The antennas from above, north up, with the kept baselines; press one to see it. */
  tautline.ArrayMap = class {
    constructor(store, onPick) {
      this.store = store;
      this.canvas = element("canvas", { role: "img", "aria-label": "Map of the array" });
      this.canvas.style.height = "124px";
      this.root = element("div.card.map", {}, this.canvas);
      this.canvas.addEventListener("click", (event) => {
        const box = this.canvas.getBoundingClientRect();
        const nearest = this.nearest(event.clientX - box.left, event.clientY - box.top);
        if (nearest >= 0) onPick(nearest);
      });
    }

    describe() { this.root.hidden = !this.store.description.positions_known; }

    place() {
      const { antennas } = this.store.description;
      const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
      const reach = Math.max(1e-3, ...antennas.map((a) => Math.max(Math.abs(a.east_m), Math.abs(a.north_m))));
      const scale = (Math.min(width, height) / 2 - 12) / reach;
      this.points = antennas.map((a) => [width / 2 + a.east_m * scale, height / 2 - a.north_m * scale]);
      this.reach = reach;
    }

    ends(b) {
      const { baselines, inputs } = this.store.description;
      return [this.points[inputs[baselines[b].first].antenna],
              this.points[inputs[baselines[b].second].antenna]];
    }

    nearest(x, y) {
      let best = -1, least = 15 * 15;
      this.store.description.baselines.forEach((_, b) => {
        const [[x1, y1], [x2, y2]] = this.ends(b);
        const length = (x2 - x1) ** 2 + (y2 - y1) ** 2 || 1;
        const along = Math.min(1, Math.max(0, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length));
        const distance = (x1 + along * (x2 - x1) - x) ** 2 + (y1 + along * (y2 - y1) - y) ** 2;
        if (distance < least) { least = distance; best = b; }
      });
      return best;
    }

    draw(chosen) {
      const { canvas } = this;
      if (!canvas.clientWidth || this.root.hidden) return;
      const ratio = window.devicePixelRatio || 1;
      canvas.width = canvas.clientWidth * ratio;
      canvas.height = canvas.clientHeight * ratio;
      const context = canvas.getContext("2d");
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.place();
      const line = (b, colour, width) => {
        const [from, to] = this.ends(b);
        context.strokeStyle = tautline.themeColour(colour);
        context.lineWidth = width;
        context.beginPath();
        context.moveTo(...from);
        context.lineTo(...to);
        context.stroke();
      };
      this.store.description.baselines.forEach((_, b) => line(b, "line", 1));
      line(chosen, "two", 2.5);
      context.fillStyle = tautline.themeColour("one");
      for (const [x, y] of this.points) {
        context.beginPath();
        context.arc(x, y, 2.6, 0, 2 * Math.PI);
        context.fill();
      }
      context.fillStyle = tautline.themeColour("muted");
      context.font = `11px ${tautline.themeColour("font")}`;
      context.textAlign = "left";
      context.textBaseline = "top";
      context.fillText("N ↑", 4, 4);
      context.textAlign = "right";
      context.textBaseline = "bottom";
      context.fillText(`± ${tautline.short(Number(this.reach.toPrecision(2)))} m`,
                       canvas.clientWidth - 4, canvas.clientHeight - 2);
    }
  };
})(globalThis.tautline = globalThis.tautline || {});
