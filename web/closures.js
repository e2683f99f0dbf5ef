// Closure phases: sums of phases around triangles, free of the antennas' own errors.
(function (tautline) {
  "use strict";

  const { element } = tautline;
  const DEGREES = 180 / Math.PI;

  /** Phase of the mean triple product, its standard error from the scatter in time, its size. */
  tautline.closureOf = function (store, t) {
    let x = 0, y = 0;
    for (const row of store.rows) {
      x += row.bispectra[2 * t];
      y += row.bispectra[2 * t + 1];
    }
    const size = Math.hypot(x, y);
    if (!(size > 0)) return { phase_deg: NaN, error_deg: NaN };
    let across = 0;
    for (const row of store.rows) {
      across += ((row.bispectra[2 * t + 1] * x - row.bispectra[2 * t] * y) / size) ** 2;
    }
    const n = store.rows.length;
    return {
      phase_deg: Math.atan2(y, x) * DEGREES,
      error_deg: n > 1 ? Math.min(180, Math.sqrt(across * n / (n - 1)) / size * DEGREES) : NaN,
    };
  };

  tautline.ClosurePanel = class {
    constructor(root, store) {
      this.store = store;
      this.root = root;
      this.picker = new tautline.Picker("Triangle", () => this.drawLines());
      const chart = () => new tautline.LineChart("", {
        phase: true, zoom: true, height: 226, series: [{ name: "closure phase", colour: "one", points: true }] });
      this.timeChart = chart();
      this.frequencyChart = chart();
      this.body = element("tbody");
      root.append(
        element("div.section-head", {}, element("h2", {}, "Closure phases"),
          element("p", {}, "φ(ab) + φ(bc) − φ(ac): zero for a point source, whatever the cables and " +
                           "the sky between do to each antenna.")),
        element("div.controls", {}, this.picker.root),
        element("div.grid", {}, this.timeChart.root, this.frequencyChart.root,
          element("div.card.both", {}, element("div.scroll", {}, element("table", {},
            element("thead", {}, element("tr", {}, element("th", {}, "Triangle"),
              element("th.number", {}, "Closure phase"), element("th.number", {}, "Standard error"))),
            this.body)))));
    }

    describe() {
      const { triangles } = this.store.description;
      this.root.hidden = !triangles.length;
      this.picker.fill(triangles.map((_, t) => ({ value: t, text: this.store.triangleLabel(t) })));
    }

    draw() {
      const { triangles } = this.store.description;
      if (!triangles.length || !this.store.summary) return;
      this.body.replaceChildren(...triangles.map((_, t) => {
        const { phase_deg, error_deg } = tautline.closureOf(this.store, t);
        const text = (value) => isFinite(value) ? `${tautline.signed(value, 2)}°` : "–";
        const choose = () => this.picker.pick(t);
        return element("tr", { tabindex: 0, onclick: choose,
                               onkeydown: (event) => event.key === "Enter" && choose() },
          element("td", {}, this.store.triangleLabel(t)),
          element("td.number", {}, text(phase_deg)), element("td.number", {}, text(error_deg)));
      }));
      this.drawLines();
    }

    drawLines() {
      const { store } = this;
      const t = this.picker.value;
      const { channels } = store.description;
      const bins = store.bins;
      const time = tautline.timeAxis(store);
      const frequency = tautline.frequencyAxis(channels.bin_hz, channels.width_hz * channels.per_bin);
      const angle = (x, y) => x || y ? Math.atan2(y, x) * DEGREES : null;
      const yFormat = (value) => `${tautline.signed(value, 1)}°`;
      const yName = "closure phase (°)";
      this.timeChart.show(
        store.rows.map((row, k) => [time.values[k], angle(row.bispectra[2 * t], row.bispectra[2 * t + 1])]),
        { xRange: [time.low, time.high], xName: time.name, yName, xFormat: time.text, xTicks: time.ticks, yFormat });
      const spectra = store.summary.closure_spectra;
      this.frequencyChart.show(
        frequency.values.map((value, bin) => [value, angle(spectra[2 * (t * bins + bin)],
                                                           spectra[2 * (t * bins + bin) + 1])]),
        { xRange: [frequency.low, frequency.high], xName: frequency.name, yName, xFormat: frequency.text, yFormat });
      this.timeChart.title.textContent = `${store.triangleLabel(t)} against time`;
      this.frequencyChart.title.textContent = `${store.triangleLabel(t)} against frequency`;
      [...this.body.rows].forEach((row, k) => row.setAttribute("aria-selected", String(k === t)));
    }

    redraw() {
      this.timeChart.redraw();
      this.frequencyChart.redraw();
    }
  };
})(globalThis.tautline = globalThis.tautline || {});
