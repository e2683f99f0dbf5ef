// Candidates as discs: their area and colour are their S/N.
(function (tautline) {
  "use strict";

  const AXIS_HEIGHT = 36;

  tautline.Scatter = class {
    /** points given to show(): [{x, y, snr, index}]; onPick(index). */
    constructor(title, { height = 260, xName, yName, onPick }) {
      const card = tautline.card(title);
      this.root = card.root;
      this.names = [xName, yName];
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
      this.draw();
    }

    choose(index) {
      this.chosen = index;
      this.draw();
    }

    place(point) {
      const { left, right } = tautline.margins;
      const width = Math.max(10, this.canvas.clientWidth - left - right);
      const height = Math.max(10, this.canvas.clientHeight - 8 - AXIS_HEIGHT);
      const part = (value, [low, high]) => (value - low) / (high - low || 1);
      return { x: left + part(point.x, this.xRange) * width,
               y: 8 + (1 - part(point.y, this.yRange)) * height,
               left, top: 8, width, height };
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
      if (!canvas.clientWidth || !this.xRange) return;
      const ratio = window.devicePixelRatio || 1;
      canvas.width = Math.round(canvas.clientWidth * ratio);
      canvas.height = Math.round(canvas.clientHeight * ratio);
      const context = canvas.getContext("2d");
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      const area = this.place({ x: this.xRange[0], y: this.yRange[1] });
      context.fillStyle = "rgba(128,128,128,0.35)";
      for (const [first, length] of this.empty) {
        const from = this.place({ x: first, y: this.yRange[1] });
        const { x } = this.place({ x: first + length, y: this.yRange[1] });
        context.fillRect(from.x, area.top, Math.max(1, x - from.x), area.height);
      }
      this.drawAxes(context, area);
      const map = tautline.colourMaps.amplitude;
      const highest = Math.max(...this.points.map((point) => point.snr), 1);
      const lowest = Math.min(...this.points.map((point) => point.snr), highest);
      // The brightest last, on top.
      for (const point of [...this.points].sort((a, b) => a.snr - b.snr)) {
        const { x, y } = this.place(point);
        const part = Math.log(point.snr / lowest) / (Math.log(highest / lowest) || 1);
        const step = 3 * Math.round(40 + 175 * part);
        context.fillStyle = `rgba(${map[step]},${map[step + 1]},${map[step + 2]},0.85)`;
        context.beginPath();
        context.arc(x, y, this.radius(point), 0, 2 * Math.PI);
        context.fill();
        context.lineWidth = point.index === this.chosen ? 2.5 : 0.75;
        context.strokeStyle = tautline.themeColour(point.index === this.chosen ? "two" : "axis");
        context.stroke();
      }
    }

    drawAxes(context, area) {
      context.strokeStyle = tautline.themeColour("axis");
      context.fillStyle = tautline.themeColour("muted");
      context.lineWidth = 1;
      context.font = `11px ${tautline.themeColour("font")}`;
      context.strokeRect(area.left - 0.5, area.top - 0.5, area.width + 1, area.height + 1);
      context.textAlign = "center";
      context.textBaseline = "top";
      for (const tick of tautline.ticks(...this.xRange, area.width / 80)) {
        const { x } = this.place({ x: tick.value, y: this.yRange[0] });
        context.fillRect(x, area.top + area.height, 1, 4);
        context.fillText(tick.text, x, area.top + area.height + 7);
      }
      context.fillText(this.names[0], area.left + area.width / 2, area.top + area.height + 21);
      context.textAlign = "right";
      context.textBaseline = "middle";
      for (const tick of tautline.ticks(...this.yRange, area.height / 40)) {
        const { y } = this.place({ x: this.xRange[0], y: tick.value });
        context.fillRect(area.left - 4, y, 4, 1);
        context.fillText(tick.text, area.left - 7, y);
      }
      context.save();
      context.translate(11, area.top + area.height / 2);
      context.rotate(-Math.PI / 2);
      context.textAlign = "center";
      context.fillText(this.names[1], 0, 0);
      context.restore();
    }
  };
})(globalThis.tautline = globalThis.tautline || {});
