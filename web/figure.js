// The page of `plot`: one card for each panel of a figure.
// tautline.receiveFigure(message) is the one entrance.
(function (tautline) {
  "use strict";

  const { element } = tautline;

  /** A time may be broken between its date and its hour, where a tile is narrow. */
  const breakable = (text) => text.replace(/(\d)T(\d)/, "$1T\u200b$2");
  // Told apart on a light and on a dark page, and with any colour vision.
  const COLOURS = ["#2f7fd0", "#d0661a", "#23946a", "#a05fc0", "#7b8794", "#b08a10", "#1c9fb4", "#c83c62"];

  function decode(Type, text) {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let k = 0; k < binary.length; ++k) bytes[k] = binary.charCodeAt(k);
    return new Type(bytes.buffer);
  }

  const caption = ({ label, unit }) => unit ? `${label} (${unit})` : label;

  const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  function powerOfTen(power) {
    if (power >= -1 && power <= 3) return String(Number(Math.pow(10, power).toPrecision(1)));
    const digits = Array.from(String(Math.abs(power)), (digit) => SUPERSCRIPTS[digit]).join("");
    return `10${power < 0 ? "⁻" : ""}${digits}`;
  }

  /** 1, 2, 5, 10, 20, ... */
  function roundStep(least) {
    const power = Math.pow(10, Math.max(0, Math.floor(Math.log10(least))));
    return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least);
  }

  /** An axis in the numbers that it is drawn in: logarithms where it is logarithmic. */
  class Axis {
    constructor(axis) {
      Object.assign(this, axis);
      this.from = axis.logarithmic ? Math.log10(axis.low) : axis.low;
      this.to = axis.logarithmic ? Math.log10(axis.high) : axis.high;
    }
    place(value) {
      if (!this.logarithmic) return value;
      return value > 0 ? Math.log10(value) : NaN;
    }
    ticks(low, high, most) {
      if (this.names) {
        const step = roundStep((high - low) / Math.max(1, most));
        return this.names.map((text, k) => ({ value: k + 0.5, text })).filter((_, k) => k % step === 0)
          .filter(({ value }) => value >= low && value <= high);
      }
      if (this.low === -180 && this.high === 180) return tautline.phaseTicks();
      if (!this.logarithmic) return tautline.ticks(low, high, most);
      const step = Math.max(1, Math.ceil((high - low) / Math.max(1, most)));
      const found = [];
      for (let power = Math.ceil(low - 1e-9); power <= high + 1e-9; power += step) {
        found.push({ value: power, text: powerOfTen(power) });
      }
      // Few decades: 1, 2 and 5 of each, where numbers are short.
      if (found.length >= 3 || (found.length === 2 && (low < -3 || high > 6))) return found;
      const fine = [];
      for (let power = Math.floor(low); power <= high; ++power) {
        for (const digit of [1, 2, 5]) {
          const place = power + Math.log10(digit);
          if (place >= low - 1e-9 && place <= high + 1e-9) fine.push({ value: place, text: tautline.short(Math.pow(10, place)) });
        }
      }
      if (fine.length >= 2) return fine;
      return tautline.ticks(Math.pow(10, low), Math.pow(10, high), most).map(({ value, text }) =>
        ({ value: Math.log10(value), text }));
    }
    text(place) {
      if (this.names) return this.names[Math.floor(place)] || "";
      const value = this.logarithmic ? Math.pow(10, place) : place;
      return `${tautline.short(value)} ${this.unit}`.trim();
    }
  }

  class ImagePanel {
    constructor(panel) {
      this.readout = element("p.readout");
      this.image = new tautline.Heatmap(panel.title, {
        height: panel.tall ? 460 : 320, cyclic: panel.map === "phase", onMove: (cell) => this.read(cell) });
      this.image.root.append(this.readout);
      this.root = this.image.root;
      this.take(panel);
    }

    /** Other data of the same kind, which draw() shows. */
    take(panel) {
      this.x = new Axis(panel.x);
      this.y = new Axis(panel.y);
      this.colour = new Axis(panel.colour);
      this.panel = panel;
      this.values = ImagePanel.downwards(panel);
    }

    /** The page draws the first row at the top, a figure has it at the bottom where its axis does not run downwards. */
    static downwards({ values, rows, columns, y }) {
      const from = decode(Float32Array, values);
      if (y.downwards) return from;
      const to = new Float32Array(from.length);
      for (let row = 0; row < rows; ++row) {
        to.set(from.subarray((rows - 1 - row) * columns, (rows - row) * columns), row * columns);
      }
      return to;
    }

    draw() {
      const { panel, x, y, colour } = this;
      const size = (y.to - y.from) / panel.rows;
      // Where upwards are higher values, rows lie on the negative of their axis.
      const sign = y.downwards ? 1 : -1, top = y.downwards ? y.from : -y.to;
      const rowEdges = Array.from({ length: panel.rows }, (_, k) => [top + k * size, top + (k + 1) * size]).flat();
      this.image.show({
        values: this.values, rows: panel.rows, columns: panel.columns, rowEdges,
        xName: caption(x), yName: caption(y), quantity: caption(colour),
        xLow: x.from, xHigh: x.to, xTicks: (low, high, most) => x.ticks(low, high, most),
        yTicks: (low, high, most) => y.ticks(y.from, y.to, most).map((tick) =>
          ({ value: sign * tick.value, text: tick.text })),
        map: tautline.colourMaps[panel.map], low: colour.from, high: colour.to,
        lowText: tautline.short(colour.low), highText: tautline.short(colour.high),
      });
      this.read(null);
    }

    read(cell) {
      if (!cell) {
        this.readout.textContent = "\u00a0";
        return;
      }
      const { panel, x, y, colour } = this;
      const at = (axis, k, count) => axis.text(axis.from + (k + 0.5) / count * (axis.to - axis.from));
      const value = this.values[cell.row * panel.columns + cell.column];
      this.readout.textContent = `${x.label} ${at(x, cell.column, panel.columns)}, ` +
        `${y.label} ${at(y, y.downwards ? cell.row : panel.rows - 1 - cell.row, panel.rows)}: ` +
        (isFinite(value) ? `${colour.label} ${tautline.short(value)} ${colour.unit}` : "no data");
    }

    redraw() { this.draw(); }
  }

  class LinePanel {
    constructor(panel) {
      this.take(panel);
      this.bars = this.lines.some((line) => line.error);
      this.chart = new tautline.LineChart(panel.title, {
        height: panel.tall ? 420 : 230, bars: this.bars,
        // dygraphs wants a name for each.
        series: this.lines.map((line, k) => ({
          name: line.name || (this.lines.length > 1 ? `line ${k + 1}` : panel.y.label), colour: `line-${k % COLOURS.length}`,
          points: line.style === "points", dash: line.style === "dashes", width: 1.5 })) });
      this.root = this.chart.root;
    }

    take(panel) {
      this.x = new Axis(panel.x);
      this.y = new Axis(panel.y);
      this.gaps = panel.empty.map((range) => range.map((x) => this.x.place(x)));
      this.lines = panel.lines.map((line) => ({
        name: line.name, style: line.style, x: decode(Float64Array, line.x), y: decode(Float64Array, line.y),
        error: line.error ? decode(Float64Array, line.error) : null,
      }));
    }

    /** One row for each x that any line has. */
    rows() {
      const at = new Map();
      const nothing = () => new Array(this.lines.length).fill(this.bars ? [null, null, null] : null);
      this.lines.forEach((line, which) => line.x.forEach((x, k) => {
        const place = this.x.place(x), y = this.y.place(line.y[k]);
        if (!isFinite(place)) return;
        if (!at.has(place)) at.set(place, nothing());
        const value = isFinite(y) ? y : NaN;
        if (!this.bars) { at.get(place)[which] = value; return; }
        const error = line.error && isFinite(line.error[k]) ? line.error[k] : 0;
        const low = this.y.place(line.y[k] - error);
        at.get(place)[which] = isFinite(y)
          ? [isFinite(low) ? low : this.y.from, y, this.y.place(line.y[k] + error)] : [NaN, NaN, NaN];
      }));
      return [...at].sort((a, b) => a[0] - b[0]).map(([x, values]) => [x, ...values]);
    }

    draw() {
      this.chart.show(this.rows(), {
        xName: caption(this.x), yName: caption(this.y),
        xRange: [this.x.from, this.x.to], yRange: [this.y.from, this.y.to],
        xFormat: (x) => `${this.x.label} ${this.x.text(x)}`, yFormat: (y) => this.y.text(y),
        xTicks: (low, high, most) => this.x.ticks(low, high, most), gaps: this.gaps });
      this.chart.graph.updateOptions({ axes: { y: {
        ticker: (low, high, pixels) => this.y.ticks(low, high, pixels / 28)
          .map((tick) => ({ v: tick.value, label: tick.text })) } } });
    }

    redraw() { this.chart.redraw(); this.draw(); }
  }

  /** Points whose strength shows in their area and colour. */
  class DiscPanel {
    constructor(panel) {
      this.scatter = new tautline.Scatter(panel.title, {
        height: panel.tall ? 460 : 300, xName: caption(panel.x), yName: caption(panel.y), onPick: () => {} });
      this.root = this.scatter.root;
      this.take(panel);
    }
    take(panel) {
      this.panel = panel;
      const [line] = panel.lines;
      const y = decode(Float64Array, line.y), snr = decode(Float64Array, line.strength);
      this.points = Array.from(decode(Float64Array, line.x), (x, index) =>
        ({ x, y: y[index], snr: snr[index], index }));
    }
    draw() {
      const { x, y, empty } = this.panel;
      this.scatter.show(this.points, [x.low, x.high], [y.low, y.high],
                        empty.map(([first, last]) => [first, last - first]));
    }
    redraw() { this.draw(); }
  }

  /** One value for each name: names are longer than an axis has room for. */
  class BarPanel {
    constructor(panel) {
      const { root, note } = tautline.card(panel.title);
      this.root = root;
      this.note = note;
      this.list = element("ol.bars");
      root.append(this.list);
      this.take(panel);
    }
    take(panel) { this.panel = panel; }
    draw() {
      const { x, y, lines: [line] } = this.panel;
      const values = decode(Float64Array, line.x), most = Math.max(...values);
      this.note.textContent = caption(x);
      this.list.replaceChildren(...y.names.map((name, k) => element("li", {},
        element("span", {}, name), element("b", {}, `${tautline.short(values[k])} ${x.unit === "per cent" ? "%" : x.unit}`.trim()),
        element("i", { style: `width: ${100 * values[k] / most}%` }))).reverse());
    }
    redraw() {}
  }

  const panelOf = (panel) => panel.rows ? new ImagePanel(panel)
    : panel.y.names ? new BarPanel(panel)
    : panel.lines.some((line) => line.strength) ? new DiscPanel(panel) : new LinePanel(panel);

  function check(message) {
    if (message.schema !== "tautline.figure" || message.version !== 1) {
      throw new Error(`unknown schema ${message.schema} version ${message.version}`);
    }
  }

  function setColours() {
    COLOURS.forEach((colour, k) => document.documentElement.style.setProperty(`--line-${k}`, colour));
  }

  /** A figure that changes, as a section of a page: the panels stay while they are of the same kind. */
  tautline.LiveFigure = class {
    constructor(root) {
      setColours();
      this.root = root;
      this.shape = "";
      this.panels = [];
      this.facts = element("dl.facts");
      this.title = element("h2");
      this.notes = element("div");
      this.grid = element("div.grid");
      root.append(element("div.section-head", {}, this.title), this.facts, this.grid, this.notes);
    }

    show(message) {
      check(message);
      const shape = JSON.stringify(message.panels.map(({ title, rows, lines, wide, tall }) =>
        [title, rows > 0, lines.map(({ name, style, error }) => [name, style, Boolean(error)]), wide, tall]));
      if (shape === this.shape) {
        message.panels.forEach((panel, k) => this.panels[k].take(panel));
      } else {
        this.shape = shape;
        this.panels = message.panels.map(panelOf);
        message.panels.forEach((panel, k) => { if (panel.wide) this.panels[k].root.classList.add("both"); });
        this.grid.replaceChildren(...this.panels.map((panel) => panel.root));
      }
      this.title.textContent = message.title;
      this.facts.hidden = !message.facts.length;
      this.facts.replaceChildren(...message.facts.map(([name, value]) =>
        element("div", {}, element("dt", {}, name), element("dd", {}, value))));
      this.notes.replaceChildren(...message.notes.map((note) => element("p.empty", {}, note)));
      this.draw();
    }

    draw() { for (const panel of this.panels) panel.draw(); }
    redraw() { for (const panel of this.panels) panel.redraw(); }
  };

  tautline.startFigure = function () {
    setColours();
    let panels = [];
    tautline.startTheme(() => { for (const panel of panels) panel.redraw(); });
    tautline.receiveFigure = function (message) {
      check(message);
      document.getElementById("head").replaceChildren(
        element("h1", {}, message.title),
        element("div.tiles", {}, ...message.facts.map(([name, value]) =>
          element("div.tile", {}, element("span", {}, name), element("b", {}, breakable(value))))));
      panels = message.panels.map(panelOf);
      message.panels.forEach((panel, k) => { if (panel.wide) panels[k].root.classList.add("both"); });
      document.getElementById("panels").replaceChildren(
        element("div.grid", {}, ...panels.map((panel) => panel.root)),
        ...message.notes.map((note) => element("p", {}, note)));
      for (const panel of panels) panel.draw();
    };
  };
})(globalThis.tautline = globalThis.tautline || {});
