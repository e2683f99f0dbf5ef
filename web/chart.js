// Line charts: a thin layer over dygraphs with this page's axes, colours and captions.
(function (tautline) {
  "use strict";

  tautline.LineChart = class {
    /**
     * series: [{name, colour (a theme colour), points, width, dash}]. `phase` fixes the y axis to
     * -180..180 degrees (closer with `zoom`, where all are small). `bars` draws every series with
     * its band of [low, middle, high].
     */
    constructor(title, { series, height = 176, phase = false, bars = false, zeroBased = false,
                         zoom = false }) {
      const { element } = tautline;
      const card = tautline.card(title);
      this.root = card.root;
      this.title = card.root.querySelector(".card-title");
      this.series = series;
      this.phase = phase;
      this.zoom = zoom;
      this.bars = bars;
      this.zeroBased = zeroBased;
      this.values = series.map(() => element("b"));
      this.keys = series.map((one, k) => element("span.key", {},
        element("i", { style: `background: var(--${one.colour})` }), `${one.name} `,
        this.values[k]));
      card.note.append(...this.keys);
      this.place = element("div.chart");
      this.place.style.height = `${height}px`;
      this.root.append(this.place);
      this.graph = null;
    }

    /**
     * rows: [[x, y...], ...] in the order of the series; xRange [low, high]; xName and yName with their units in
     * brackets; hidden: names of series without data now; errors: of the first series, one a row, drawn as bars;
     * gaps: [[first, last]] of x without data.
     */
    show(rows, { xRange, xName, yName, xFormat, yFormat, yRange, hidden = [], xTicks = tautline.ticks,
                 errors = null, gaps = [] }) {
      this.names = { xlabel: xName, ylabel: yName };
      this.errors = errors && rows.map((row, k) => [row[0], row[1], errors[k]])
        .filter((one) => one.every((value) => value !== null && isFinite(value)));
      this.gaps = gaps;
      this.xTicks = xTicks;
      this.yFormat = yFormat || tautline.short;
      this.xFormat = xFormat;
      this.series.forEach((one, k) => { this.keys[k].hidden = hidden.includes(one.name); });
      const empty = [[xRange[0], ...this.series.map(() => this.bars ? [null, null, null] : null)]];
      const reach = this.phaseReach(rows);
      this.fine = reach < 190;
      this.sparse = rows.length < 3;  // too few to make a line
      const options = Object.assign(this.options(), {
        file: rows.length ? rows : empty,
        dateWindow: xRange,
        valueRange: this.phase ? [-reach, reach] : yRange || this.rangeWithErrors(rows) || (this.zeroBased ? [0, null] : null),
        visibility: this.series.map((one) => !hidden.includes(one.name)),
      });
      if (this.graph) {
        this.graph.updateOptions(options);
        return;
      }
      const { file, ...rest } = options;
      this.graph = new Dygraph(this.place, file, rest);
    }

    /** Of all values and of whole error bars, with some room; null where there are no bars: dygraphs sees values alone. */
    rangeWithErrors(rows) {
      if (!this.errors || !this.errors.length) return null;
      let low = Infinity, high = -Infinity;
      const include = (value) => {
        if (value === null || !isFinite(value)) return;
        low = Math.min(low, value);
        high = Math.max(high, value);
      };
      for (const [, ...values] of rows) values.forEach(include);
      for (const [, y, error] of this.errors) [y - error, y + error].forEach(include);
      const room = 0.04 * (high - low) || 1;
      return [low - room, high + room];
    }

    /** Small closure phases get a closer look; `zoom` says that they may. */
    phaseReach(rows) {
      if (!this.zoom) return 190;
      const largest = Math.max(0, ...rows.map((row) => Math.abs(row[1] || 0)));
      return [2, 5, 10, 20, 50, 100].find((reach) => largest < 0.9 * reach) || 190;
    }

    options() {
      const { themeColour } = tautline;
      const ticker = (ticks, spacing) => (low, high, pixels) =>
        ticks(low, high, pixels / spacing).map((tick) => ({ v: tick.value, label: tick.text }));
      const { margins } = tautline;
      const perSeries = {};
      for (const one of this.series) {
        perSeries[one.name] = {
          color: themeColour(one.colour),
          strokeWidth: one.points ? 0 : one.width || 1.5,
          drawPoints: Boolean(one.points) || this.sparse,
          pointSize: 2,
          strokePattern: one.dash ? [5, 4] : null,
          highlightCircleSize: 3.5,
        };
      }
      return {
        labels: ["x", ...this.series.map((one) => one.name)],
        series: perSeries,
        customBars: this.bars,
        fillAlpha: 0.18,
        legend: "never",
        rightGap: margins.right,
        xLabelHeight: 16,
        yLabelWidth: 16,
        ...this.names,
        underlayCallback: (context, area, graph) => this.drawUnder(context, area, graph),
        xRangePad: 0,
        yRangePad: 4,
        drawGapEdgePoints: true,
        axisLineColor: themeColour("axis"),
        gridLineColor: themeColour("grid"),
        gridLineWidth: 1,
        animatedZooms: false,
        axes: {
          x: { ticker: ticker(this.xTicks, 80), axisLabelWidth: 2 * margins.right, axisTickSize: 7, pixelsPerLabel: 80,
               axisLabelFontSize: 11 },
          y: { ticker: ticker(this.phase && !this.fine ? tautline.phaseTicks : tautline.ticks, 28),
               axisLabelWidth: margins.left - 8, axisTickSize: 4, axisLabelFontSize: 11 },
        },
        highlightCallback: (event, x, points) => {
          this.series.forEach((one, k) => {
            const point = points.find((p) => p.name === one.name);
            this.values[k].textContent = point && isFinite(point.yval) ? this.yFormat(point.yval) : "";
          });
          this.place.title = this.xFormat(x);
        },
        unhighlightCallback: () => {
          for (const value of this.values) value.textContent = "";
        },
      };
    }

    drawUnder(context, area, graph) {
      context.save();
      context.beginPath();
      context.rect(area.x, area.y, area.w, area.h);
      context.clip();
      context.fillStyle = tautline.gapColour;
      for (const [first, last] of this.gaps) {
        const from = graph.toDomXCoord(first);
        context.fillRect(from, area.y, Math.max(1, graph.toDomXCoord(last) - from), area.h);
      }
      if (this.errors) this.drawErrors(context, graph);
      context.restore();
    }

    drawErrors(context, graph) {
      context.strokeStyle = tautline.themeColour(this.series[0].colour);
      context.lineWidth = 1;
      context.beginPath();
      for (const [x, y, error] of this.errors) {
        const [at, low] = graph.toDomCoords(x, y - error), high = graph.toDomYCoord(y + error);
        context.moveTo(at, low);
        context.lineTo(at, high);
      }
      context.stroke();
    }

    /** After a change of theme or of the place's size. */
    redraw() {
      if (!this.graph) return;
      const { labels, ...options } = this.options();
      this.graph.updateOptions(options);
      this.graph.resize();
    }
  };
})(globalThis.tautline = globalThis.tautline || {});
