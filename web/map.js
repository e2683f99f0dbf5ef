// The array from above.
(function (tautline) {
  "use strict";

  const { element } = tautline;

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
