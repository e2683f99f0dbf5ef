// A picture of a matrix on a canvas, with axes, a colour bar and a cross-hair.
(function (tautline) {
  "use strict";

  const GREY = [150, 155, 160, 255];  // no colour of a map is without hue

  function hatch(context, ratio) {
    const size = 6 * ratio;
    const tile = document.createElement("canvas");
    tile.width = tile.height = size;
    const pen = tile.getContext("2d");
    pen.fillStyle = tautline.themeColour("surface");
    pen.fillRect(0, 0, size, size);
    pen.strokeStyle = tautline.themeColour("hatch");
    pen.lineWidth = ratio;
    for (const shift of [-size, 0, size]) {
      pen.moveTo(shift, size);
      pen.lineTo(shift + size, 0);
    }
    pen.stroke();
    const pattern = context.createPattern(tile, "repeat");
    pattern.setTransform(new DOMMatrix([1 / ratio, 0, 0, 1 / ratio, 0, 0]));
    return pattern;
  }

  /**
   * Draws values[row][column] with `map` between `low` and `high`; NaN is left blank. Rows lie
   * between row_edges (pairs of start and end, gaps allowed), columns share [x_low, x_high] evenly.
   */
  tautline.Heatmap = class {
    constructor(title, { height = 256, cyclic = false, onMove, onPick } = {}) {
      const card = tautline.card(title);
      this.colourBar = new tautline.ColourBar();
      card.note.append(this.colourBar.root);
      this.canvas = tautline.element("canvas", { role: "img", "aria-label": title });
      this.canvas.style.height = `${height}px`;
      card.root.append(this.canvas);
      this.root = card.root;
      this.cyclic = cyclic;
      this.onMove = onMove;
      this.onPick = onPick;
      this.data = null;
      this.cross = null;
      this.pinned = null;
      const report = (event, call) => call && this.data && call(this.cellAt(event));
      this.canvas.addEventListener("pointermove", (event) => report(event, this.onMove));
      this.canvas.addEventListener("pointerleave", () => this.onMove && this.onMove(null));
      this.canvas.addEventListener("click", (event) => report(event, this.onPick));
      if (typeof ResizeObserver !== "undefined") {
        new ResizeObserver(() => this.draw()).observe(this.canvas);
      }
    }

    /**
     * data: {values, rows, columns, rowEdges, xName, yName, xLow, xHigh, xTicks(low, high, most), yTicks(...),
     *        quantity, map, low, high, lowText, highText, grey}; cells where `grey` is set are grey. Names and quantity
     *        have their units in brackets.
     */
    show(data) {
      this.data = data;
      this.colourBar.show(data.quantity, data.lowText, data.highText, data.map);
      this.paint();
      this.draw();
    }

    /** The matrix as one image, a pixel a cell. */
    paint() {
      const { values, rows, columns, map, low, high } = this.data;
      this.picture = document.createElement("canvas");
      this.picture.width = Math.max(1, columns);
      this.picture.height = Math.max(1, rows);
      if (!rows || !columns) return;
      const context = this.picture.getContext("2d");
      const image = context.createImageData(columns, rows);
      const scale = 255 / (high - low || 1);
      for (let k = 0; k < rows * columns; ++k) {
        if (this.data.grey && this.data.grey[k]) {
          image.data.set(GREY, 4 * k);
          continue;
        }
        if (isNaN(values[k])) continue;
        const step = Math.min(255, Math.max(0, Math.round((values[k] - low) * scale)));
        image.data[4 * k] = map[3 * step];
        image.data[4 * k + 1] = map[3 * step + 1];
        image.data[4 * k + 2] = map[3 * step + 2];
        image.data[4 * k + 3] = 255;
      }
      context.putImageData(image, 0, 0);
    }

    area() { return tautline.plotArea(this.canvas); }

    get yLow() { return this.data.rowEdges[0]; }
    get yHigh() { return this.data.rowEdges[this.data.rowEdges.length - 1]; }
    yOf(value, area) {
      return area.top + (value - this.yLow) / (this.yHigh - this.yLow) * area.height;
    }

    cellAt(event) {
      const area = this.area();
      const box = this.canvas.getBoundingClientRect();
      const { rows, columns, rowEdges } = this.data;
      const column = Math.floor((event.clientX - box.left - area.left) / area.width * columns);
      const y = this.yLow + (event.clientY - box.top - area.top) / area.height *
                            (this.yHigh - this.yLow);
      if (column < 0 || column >= columns) return null;
      for (let row = 0; row < rows; ++row) {
        if (y >= rowEdges[2 * row] && y < rowEdges[2 * row + 1]) return { row, column };
      }
      return null;
    }

    setCross(cell, pinned) {
      this.cross = cell;
      this.pinned = pinned;
      this.draw();
    }

    draw() {
      const { data, canvas } = this;
      const context = data && tautline.openCanvas(canvas);
      if (!context) return;
      const ratio = window.devicePixelRatio || 1;
      const area = this.area();
      // Hatched where there is no data: no colour of a map can be mistaken for it.
      context.fillStyle = hatch(context, ratio);
      context.fillRect(area.left, area.top, area.width, area.height);
      if (data.rows && data.columns) this.drawRows(context, area, ratio);
      tautline.drawAxes(context, area, { name: data.xName, low: data.xLow, high: data.xHigh, ticks: data.xTicks },
                        { name: data.yName, low: this.yLow, high: this.yHigh, ticks: data.yTicks });
      if (this.pinned) this.drawLines(context, area, this.pinned, true);
      if (this.cross) this.drawLines(context, area, this.cross, false);
    }

    /** Runs of rows that touch are drawn as one, gaps stay hollow. */
    drawRows(context, area, ratio) {
      const { rows, columns, rowEdges } = this.data;
      // A phase must not be averaged with its neighbour across the cut at 180 degrees.
      context.imageSmoothingEnabled = !this.cyclic &&
        (rows > area.height * ratio || columns > area.width * ratio);
      const touch = 0.02 * (this.yHigh - this.yLow) / rows;
      for (let first = 0; first < rows;) {
        let next = first + 1;
        const height = rowEdges[2 * first + 1] - rowEdges[2 * first];
        const same = (row) =>
          Math.abs(rowEdges[2 * row + 1] - rowEdges[2 * row] - height) <= touch &&
          Math.abs(rowEdges[2 * row] - rowEdges[2 * row - 1]) <= touch;
        while (next < rows && same(next)) ++next;
        const top = this.yOf(rowEdges[2 * first], area);
        const bottom = this.yOf(rowEdges[2 * next - 1], area);
        context.drawImage(this.picture, 0, first, columns, next - first,
                          area.left, top, area.width, Math.max(bottom - top, 1 / ratio));
        first = next;
      }
    }

    drawLines(context, area, cell, strong) {
      const { columns, rowEdges } = this.data;
      if (cell.row >= this.data.rows || cell.column >= columns) return;
      const x = area.left + (cell.column + 0.5) / columns * area.width;
      const y = this.yOf((rowEdges[2 * cell.row] + rowEdges[2 * cell.row + 1]) / 2, area);
      for (const [style, width] of [["rgba(0,0,0,0.55)", 3], ["#fff", 1]]) {
        context.strokeStyle = style;
        context.lineWidth = width;
        context.setLineDash(strong ? [] : [4, 4]);
        context.beginPath();
        if (cell.column >= 0) {
          context.moveTo(x, area.top);
          context.lineTo(x, area.top + area.height);
        }
        context.moveTo(area.left, y);
        context.lineTo(area.left + area.width, y);
        context.stroke();
      }
      context.setLineDash([]);
    }
  };
})(globalThis.tautline = globalThis.tautline || {});
