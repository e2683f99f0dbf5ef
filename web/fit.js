// The page of a fit: curves with residuals, maps of what was fitted, a table.
(function (tautline) {
  "use strict";

  const { element } = tautline;
  const OK = 0, MASKED = 1, HOT = 2;
  const MOST_ROWS = 400;  // of the table

  function decode(Type, text) {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let k = 0; k < binary.length; ++k) bytes[k] = binary.charCodeAt(k);
    return new Type(bytes.buffer);
  }

  const TIMES = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
  const RATES = [[1e6, "MHz"], [1e3, "kHz"], [1, "Hz"]];

  /** The unit in which a quantity's `value` reads best. */
  function unitFor(quantity, value) {
    const units = { s: TIMES, Hz: RATES }[quantity.unit];
    if (!units) return { scale: 1, name: quantity.unit };
    const [scale, name] = units.find(([limit]) => Math.abs(value) >= limit) || units[value ? units.length - 1 : 0];
    return { scale, name };
  }

  /** A value with its unit, and with its standard error where that is known. */
  function show(quantity, value, error = NaN) {
    if (!isFinite(value)) return "–";
    const { scale, name } = unitFor(quantity, value);
    const text = tautline.withError(value / scale, error / scale);
    return name ? `${text.includes("±") ? `(${text})` : text} ${name}` : text;
  }

  const seconds = (value) => show({ unit: "s" }, value);

  /** Powers of ten on an axis of log10(seconds). */
  function lagTicks(low, high, most) {
    const step = Math.max(1, Math.ceil((high - low) / Math.max(1, most)));
    const found = [];
    for (let power = Math.ceil(low); power <= high + 1e-9; power += step) {
      found.push({ value: power, text: seconds(Math.pow(10, power) * 1.0000001) });
    }
    return found;
  }

  /** Rows and columns of sensors are numbered. */
  const whole = (low, high, most) =>
    tautline.ticks(low, high, Math.min(most, high - low)).filter((tick) => Number.isInteger(tick.value))
      .map(({ value }) => ({ value, text: String(value) }));

  class FitPage {
    constructor(message) {
      this.data = message;
      this.lag = decode(Float64Array, message.lag_s);
      this.status = decode(Uint8Array, message.status);
      this.index = decode(Int32Array, message.curves.index);
      this.g = decode(Float32Array, message.curves.g);
      this.fit = decode(Float32Array, message.curves.fit);
      this.error = decode(Float32Array, message.curves.error);
      this.columns = message.columns.map((one) => Object.assign({}, one, {
        values: decode(Float32Array, one.values),
        errors: one.errors ? decode(Float32Array, one.errors) : null,
      }));
      this.chosen = Math.max(0, Array.from(this.index).findIndex((s) => this.status[s] === OK));
      this.maps = [];
    }

    start() {
      this.header();
      this.curves();
      this.mapSection();
      this.table();
      this.run();
      this.draw();
    }

    column(name) { return this.columns.find((one) => one.name === name) || { unit: "" }; }

    header() {
      const { data } = this;
      const median = (name) => data.medians[name];
      const tiles = [["Curves", tautline.count(data.sensors), `${tautline.count(data.good)} fitted well`]];
      for (const [name, label] of [["n", "N"], ["tau_d_s", "Diffusion time"], ["d_um2_per_s", "D"],
                                   ["g0", "G(0)"], ["reduced_chi2", "Reduced χ²"]]) {
        const value = median(name);
        if (value !== null && value !== undefined) {
          tiles.push([label, show(this.column(name), value), data.good + data.unjudged > 1 ? "median" : ""]);
        }
      }
      if (data.unjudged) tiles.push(["Not judged", tautline.count(data.unjudged), "no reduced χ²"]);
      if (data.hot) tiles.push(["Hot sensors", tautline.count(data.hot), "greyed, left out of medians"]);
      if (data.masked) tiles.push(["Masked", tautline.count(data.masked), "by the file"]);
      if (data.failed) tiles.push(["Doubtful", tautline.count(data.failed), "see the table"]);
      document.title = data.title;
      const root = document.getElementById("top");
      root.classList.add("wide");
      root.replaceChildren(
        element("h1", {}, data.title), element("p.subtitle", {}, data.formula),
        element("div.tiles", {}, ...tiles.map(([label, value, small]) =>
          element("div.tile", {}, element("span", {}, label), element("b", {}, value),
                  small ? element("small", {}, small) : null))),
        ...(data.warnings.length ? [element("div.warning", {},
          element("ul", {}, ...data.warnings.map((text) => element("li", {}, text))))] : []));
    }

    curves() {
      const root = document.getElementById("curves");
      this.select = element("select", { "aria-label": "Curve",
        onchange: () => { this.chosen = Number(this.select.value); this.draw(); } },
        ...Array.from(this.index, (_, k) =>
          element("option", { value: k }, this.labelOf(k))));
      const step = (by) => {
        this.chosen = (this.chosen + by + this.index.length) % this.index.length;
        this.draw();
      };
      this.readout = element("p.readout");
      this.curve = new tautline.LineChart("G against lag", { height: 316, series: [
        { name: "measured", colour: "three", points: true }, { name: "fit", colour: "two", width: 2 }] });
      this.residual = new tautline.LineChart(
        this.data.weighted ? "Residuals over their standard errors" : "Residuals",
        { height: 176, series: [{ name: "residual", colour: "one", points: true }] });
      this.curve.root.classList.add("both");
      this.residual.root.classList.add("both");
      root.append(
        element("div.section-head", {}, element("h2", {}, "Curves")),
        element("div.controls", {}, element("div.picker", {}, element("span.picker-label", {}, "Curve"),
          element("button", { type: "button", "aria-label": "Previous curve", onclick: () => step(-1) }, "‹"),
          this.select,
          element("button", { type: "button", "aria-label": "Next curve", onclick: () => step(1) }, "›"))),
        this.readout, element("div.grid", {}, this.curve.root, this.residual.root));
    }

    mapSection() {
      const { data } = this;
      const root = document.getElementById("maps");
      root.hidden = data.sensors < 2;
      if (root.hidden) return;
      if (!data.good && !data.unjudged) {
        root.append(element("div.section-head", {}, element("h2", {}, "Maps"),
          element("p", {}, "No curve is fitted well enough for a map of its numbers; the table says why of each.")));
        return;
      }
      this.grid = element("div.grid");
      for (const name of ["n", "tau_d_s", "d_um2_per_s", "g0", "reduced_chi2", "rate_hz"]) {
        const column = this.columns.find((one) => one.name === name);
        if (!column || !column.values.some((value) => isFinite(value))) continue;
        const picture = data.shape
          ? new tautline.Heatmap(column.label, { height: 336, onPick: (cell) => this.pick(cell) })
          : new tautline.LineChart(column.label, { series: [{ name: column.label, colour: "one", points: true }] });
        this.grid.append(picture.root);
        this.maps.push({ column, picture });
      }
      root.append(element("div.section-head", {}, element("h2", {}, "Maps"),
        element("p", {}, data.shape
          ? "Hot and masked sensors are grey, doubtful fits are hatched. Colours span the 2nd to the 98th percentile; click a pixel for its curve."
          : "A point is a curve, in their order. Hot and masked sensors and doubtful fits have none.")),
        this.grid);
    }

    labelOf(k) { return this.data.labels[k] || `sensor ${this.index[k]}`; }

    /** A sensor by its label, with its file where there are several; by its number where the page has not all labels. */
    nameOf(sensor) { return this.index.length === this.data.sensors ? this.labelOf(sensor) : `curve ${sensor}`; }

    pick(cell) {
      if (!cell) return;
      const sensor = this.cells()[cell.row * this.data.shape.columns + cell.column];
      const at = Array.from(this.index).indexOf(sensor);
      if (at >= 0) { this.chosen = at; this.draw(); }
    }

    /** Which sensor is at each place of the map; -1 where none is. */
    cells() {
      const { shape } = this.data;
      const places = new Int32Array(shape.rows * shape.columns).fill(-1);
      const row = decode(Int32Array, shape.row), column = decode(Int32Array, shape.column);
      row.forEach((r, sensor) => {
        if (r >= 0 && column[sensor] >= 0) places[r * shape.columns + column[sensor]] = sensor;
      });
      return places;
    }

    drawMaps() {
      const { shape } = this.data;
      for (const { column, picture } of this.maps) {
        const good = Array.from(column.values).filter((v, s) => isFinite(v) && this.status[s] === OK)
          .sort((a, b) => a - b);
        const at = (part) => good.length ? good[Math.round(part * (good.length - 1))] : 0;
        const { scale, name } = unitFor(column, at(0.5));
        const quantity = name ? `${column.label} (${name})` : column.label;
        if (!shape) {
          const used = (v, s) => this.status[s] === OK && isFinite(v);
          const rows = Array.from(column.values, (v, s) => [s, used(v, s) ? v / scale : null]);
          picture.show(rows, { xRange: [-0.5, rows.length - 0.5], xName: "curve", xTicks: whole, yName: quantity,
                               xFormat: (x) => this.nameOf(x), yFormat: (v) => show(column, v * scale),
                               errors: column.errors && Array.from(column.errors, (error) => error / scale) });
          continue;
        }
        const low = at(0.02), high = at(0.98);
        const end = (value) => tautline.short(Number((value / scale).toPrecision(3)));
        const cells = this.cells();
        const grey = Uint8Array.from(cells, (s) => s >= 0 && (this.status[s] === HOT || this.status[s] === MASKED) ? 1 : 0);
        const values = Float32Array.from(cells, (s) => s >= 0 && this.status[s] === OK ? column.values[s] : NaN);
        const rowEdges = [];
        for (let r = 0; r < shape.rows; ++r) rowEdges.push(r - 0.5, r + 0.5);
        picture.show({ values, grey, rows: shape.rows, columns: shape.columns, rowEdges,
                       xName: "column", yName: "row", quantity, xLow: -0.5, xHigh: shape.columns - 0.5, xTicks: whole, yTicks: whole,
                       map: tautline.colourMaps.amplitude, low, high: high > low ? high : low + 1,
                       lowText: end(low), highText: end(high) });
        const place = cells.indexOf(this.index[this.chosen]);
        picture.setCross(null, place < 0 ? null : { row: Math.floor(place / shape.columns),
                                                    column: place % shape.columns });
      }
    }

    drawCurve() {
      const lags = this.lag.length, first = this.chosen * lags;
      const rows = [], residuals = [];
      for (let l = 0; l < lags; ++l) {
        const x = Math.log10(this.lag[l]);
        const g = this.g[first + l], fit = this.fit[first + l], error = this.error[first + l];
        const number = (value) => isFinite(value) ? value : null;
        rows.push([x, number(g), number(fit)]);
        residuals.push([x, number(this.data.weighted ? (g - fit) / error : g - fit)]);
      }
      const xRange = [Math.log10(this.lag[0]) - 0.05, Math.log10(this.lag[lags - 1]) + 0.05];
      const shared = { xRange, xName: "lag (logarithmic)", xTicks: lagTicks, xFormat: (x) => seconds(Math.pow(10, x)) };
      const errors = this.error.subarray(first, first + lags);
      this.curve.show(rows, Object.assign({ yName: "G", errors }, shared));
      this.residual.show(residuals, Object.assign({
        yName: this.data.weighted ? "residual (standard errors)" : "residual of G",
        errors: this.data.weighted ? null : errors }, shared));
      const sensor = this.index[this.chosen];
      this.curve.title.textContent = `G of ${this.labelOf(this.chosen)} against lag` +
        (errors.some((error) => error > 0) ? ", with standard errors" : "");
      this.select.value = String(this.chosen);
      this.readout.textContent = this.columns
        .filter((one) => isFinite(one.values[sensor]) && (!one.fixed || one.values[sensor] !== 0))
        .map((one) => {
          const error = one.errors ? one.errors[sensor] : NaN;
          return `${one.label} ${show(one, one.values[sensor], error)}${one.fixed ? " (held)" : ""}`;
        }).concat([this.data.statuses[sensor]]).join("   ·   ");
    }

    table() {
      const root = document.getElementById("table");
      const shown = Math.min(MOST_ROWS, this.data.sensors);
      const rows = [];
      for (let s = 0; s < shown; ++s) {
        rows.push(element("tr", {}, element("td", {}, this.nameOf(s)), element(this.data.statuses[s].length > 24 ? "td.status" : "td", {}, this.data.statuses[s]),
          ...this.columns.map((one) => element("td", {}, show(one, one.values[s], one.errors ? one.errors[s] : NaN)))));
      }
      root.append(element("div.section-head", {}, element("h2", {}, "Table"),
        element("p", {}, shown < this.data.sensors
          ? `The first ${shown} of ${tautline.count(this.data.sensors)} curves; the CSV file has all.` : "")),
        element("div.card", {}, element("div.wide-table.long", {}, element("table", {},
          element("thead", {}, element("tr", {}, element("th", {}, "Curve"), element("th", {}, "Status"),
            ...this.columns.map((one) => element("th", {}, one.label)))),
          element("tbody", {}, ...rows)))));
    }

    run() {
      document.getElementById("run").append(
        element("div.section-head", {}, element("h2", {}, "Run")),
        element("div.card", {}, element("table.facts-table", {}, element("tbody", {},
          ...Object.entries(this.data.facts).map(([name, value]) =>
            element("tr", {}, element("td", {}, name), element("td", {}, value)))))));
    }

    draw() {
      this.drawCurve();
      this.drawMaps();
    }

    redraw() {
      this.draw();
      for (const chart of [this.curve, this.residual, ...this.maps.map((one) => one.picture)]) {
        if (chart.redraw) chart.redraw(); else chart.draw();
      }
    }
  }

  let page = null;

  tautline.startFitPage = function () { tautline.startTheme(() => page && page.redraw()); };

  tautline.receiveFit = function (text) {
    page = new FitPage(JSON.parse(text));
    page.start();
    tautline.showLinks();
  };
})(globalThis.tautline = globalThis.tautline || {});
