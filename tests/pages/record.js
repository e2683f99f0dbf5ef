// Runs before the page's own scripts: remembers what is written and filled on each canvas, where, and the frames around
// the data.
(() => {
  const drawn = new WeakMap();
  const of = (canvas) => {
    if (!drawn.has(canvas)) drawn.set(canvas, { texts: [], frames: [], uprights: [], clips: [], fills: [] });
    return drawn.get(canvas);
  };
  window.drawnOn = of;
  const width = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, "width");
  Object.defineProperty(HTMLCanvasElement.prototype, "width", {
    get: width.get,
    set(value) { drawn.delete(this); width.set.call(this, value); },
  });
  /** A box in the context's units as a box in CSS pixels from the canvas' corner. */
  const placed = (context, left, top, right, bottom) => {
    const t = context.getTransform(), ratio = window.devicePixelRatio || 1;
    const corners = [[left, top], [right, top], [left, bottom], [right, bottom]]
      .map(([x, y]) => [(t.a * x + t.c * y + t.e) / ratio, (t.b * x + t.d * y + t.f) / ratio]);
    const xs = corners.map(([x]) => x), ys = corners.map(([, y]) => y);
    return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys),
             upright: Math.abs(t.b) < 1e-6 };
  };
  const context = CanvasRenderingContext2D.prototype;
  const { fillText, fillRect, strokeRect, moveTo, lineTo, rect } = context;
  const last = new WeakMap();
  context.moveTo = function (x, y) {
    last.set(this, [x, y]);
    return moveTo.call(this, x, y);
  };
  /** Upright lines: error bars, and a few of the grid. */
  context.lineTo = function (x, y) {
    const [fromX, fromY] = last.get(this) || [];
    if (fromX === x) of(this.canvas).uprights.push(placed(this, x, fromY, x, y));
    last.set(this, [x, y]);
    return lineTo.call(this, x, y);
  };
  /** The areas of charts, outside which nothing is drawn. */
  context.rect = function (x, y, w, h) {
    of(this.canvas).clips.push(placed(this, x, y, x + w, y + h));
    return rect.call(this, x, y, w, h);
  };
  context.fillText = function (text, x, y, ...rest) {
    const size = this.measureText(text);
    const box = placed(this, x - size.actualBoundingBoxLeft, y - size.actualBoundingBoxAscent,
                       x + size.actualBoundingBoxRight, y + size.actualBoundingBoxDescent);
    of(this.canvas).texts.push({ text: String(text), colour: this.fillStyle, ...box });
    return fillText.call(this, text, x, y, ...rest);
  };
  context.fillRect = function (x, y, w, h) {
    of(this.canvas).fills.push({ colour: this.fillStyle, ...placed(this, x, y, x + w, y + h) });
    return fillRect.call(this, x, y, w, h);
  };
  context.strokeRect = function (x, y, w, h) {
    of(this.canvas).frames.push(placed(this, x, y, x + w, y + h));
    return strokeRect.call(this, x, y, w, h);
  };

  /** The ranges without data that are filled from top to bottom, as parts of the width in which data are drawn. */
  window.greyOn = (canvas) => {
    const { fills, frames, clips } = of(canvas), area = frames[0] || clips.at(-1);
    const pen = document.createElement("canvas").getContext("2d");
    pen.fillStyle = window.tautline.gapColour;
    const part = (x) => Math.round(100 * (x - area.left) / (area.right - area.left)) / 100;
    const ranges = fills.filter(({ colour, top, bottom }) =>
      colour === pen.fillStyle && Math.abs(top - area.top) <= 1 && Math.abs(bottom - area.bottom) <= 1)
      .map(({ left, right }) => JSON.stringify([part(left), part(right)]));
    return [...new Set(ranges)].map((one) => JSON.parse(one)).sort((a, b) => a[0] - b[0]);
  };
  /** The pixels of a line "up" or "across" through the data, at a part of their width or height. */
  window.pixelsOn = (canvas, axis, at) => {
    const [frame] = of(canvas).frames, left = Math.ceil(frame.left) + 1, top = Math.ceil(frame.top) + 1;
    const width = Math.floor(frame.right) - left - 1, height = Math.floor(frame.bottom) - top - 1;
    // A copy, since the browser warns where a page's own canvas is read often.
    const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
    const pen = copy.getContext("2d", { willReadFrequently: true });
    pen.drawImage(canvas, 0, 0);
    const { data } = axis === "up" ? pen.getImageData(left + at * width, top, 1, height)
                                   : pen.getImageData(left, top + at * height, width, 1);
    return Array.from({ length: data.length / 4 }, (_, k) => [...data.slice(4 * k, 4 * k + 3)]);
  };
})();
