// Candidates as discs: their area and colour are their S/N.
(function (tautline) {
  "use strict";

  // The part of the map that discs use: its darkest colours vanish on a dark page.
  const FROM = 80 / 255, TO = 225 / 255;

  tautline.Scatter = class {
    /** points given to show(): [{x, y, snr, index}]; onPick(index). */
    constructor(title, { height = 260, xName, yName, onPick }) {
      const card = tautline.card(title);
      this.root = card.root;
      this.names = [xName, yName];
      this.colourBar = new tautline.ColourBar();
      card.note.append(this.colourBar.root);
      this.canvas = tautline.element("canvas", { role: "img", "aria-label": title });
      this.canvas.style.height = `${height}px`;
      this.root.append(this.canvas);
      this.points = [];
      this.chosen = -1;
      this.canvas.addEventListener("click", (event) => {
        const index = this.nearest(event);
        if (index >= 0) onPick(index);
      });
      this.canvas.addEventListener("pointermove", (event) => {
        this.canvas.style.cursor = this.nearest(event) >= 0 ? "pointer" : "default";
      });
      if (typeof ResizeObserver !== "undefined") {
        new ResizeObserver(() => this.draw()).observe(this.canvas);
      }
    }

    /** empty: [[first, length]] of x without data. */
    show(points, xRange, yRange, empty = []) {
      Object.assign(this, { points, xRange, yRange, empty });
      this.highest = points.reduce((high, point) => Math.max(high, point.snr), 1);
      this.lowest = points.reduce((low, point) => Math.min(low, point.snr), this.highest);
      this.colourBar.root.hidden = !points.length;
      this.colourBar.show("S/N (log scale)", this.lowest.toFixed(1), this.highest.toFixed(1), tautline.colourMaps.amplitude, FROM, TO);
      this.draw();
    }

    choose(index) {
      this.chosen = index;
      this.draw();
    }

    place(point) {
      const area = tautline.plotArea(this.canvas);
      const part = (value, [low, high]) => (value - low) / (high - low || 1);
      return { x: area.left + part(point.x, this.xRange) * area.width,
               y: area.top + (1 - part(point.y, this.yRange)) * area.height };
    }

    radius(point) { return Math.min(18, 2 + 0.45 * Math.sqrt(Math.max(0, point.snr - 4)) * 2); }

    nearest(event) {
      const box = this.canvas.getBoundingClientRect();
      let best = -1, least = 14;
      for (const point of this.points) {
        const { x, y } = this.place(point);
        const distance = Math.hypot(x - event.clientX + box.left, y - event.clientY + box.top) -
                         this.radius(point);
        if (distance < least) { least = distance; best = point.index; }
      }
      return best;
    }

    draw() {
      const { canvas } = this;
      const context = this.xRange && tautline.openCanvas(canvas);
      if (!context) return;
      const area = tautline.plotArea(canvas);
      context.fillStyle = tautline.gapColour;
      for (const [first, length] of this.empty) {
        const from = this.place({ x: first, y: this.yRange[1] });
        const { x } = this.place({ x: first + length, y: this.yRange[1] });
        context.fillRect(from.x, area.top, Math.max(1, x - from.x), area.height);
      }
      tautline.drawAxes(
        context, area, { name: this.names[0], low: this.xRange[0], high: this.xRange[1], ticks: tautline.ticks },
        { name: this.names[1], low: this.yRange[1], high: this.yRange[0], ticks: tautline.ticks });
      const map = tautline.colourMaps.amplitude;
      // The brightest last, on top.
      for (const point of [...this.points].sort((a, b) => a.snr - b.snr)) {
        const { x, y } = this.place(point);
        const part = Math.log(point.snr / this.lowest) / (Math.log(this.highest / this.lowest) || 1);
        const step = 3 * Math.round(255 * (FROM + (TO - FROM) * part));
        context.fillStyle = `rgba(${map[step]},${map[step + 1]},${map[step + 2]},0.85)`;
        context.beginPath();
        context.arc(x, y, this.radius(point), 0, 2 * Math.PI);
        context.fill();
        context.lineWidth = point.index === this.chosen ? 2.5 : 0.75;
        context.strokeStyle = tautline.themeColour(point.index === this.chosen ? "two" : "axis");
        context.stroke();
      }
    }
  };
})(globalThis.tautline = globalThis.tautline || {});
