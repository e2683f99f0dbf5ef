// The frame, ticks and names of the axes of a picture or scatter on a canvas.
(function (tautline) {
  "use strict";

  // The line charts below a picture have the same margins, so that their axes line up.
  tautline.margins = { left: 76, right: 34, top: 8, bottom: 38 };

  /** A canvas made as fine as the screen; null where it is not shown. */
  tautline.openCanvas = function (canvas) {
    if (!canvas.clientWidth) return null;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
  };

  /** The place of the data on a canvas. */
  tautline.plotArea = function (canvas) {
    const { left, right, top, bottom } = tautline.margins;
    return { left, top, width: Math.max(10, canvas.clientWidth - left - right),
             height: Math.max(10, canvas.clientHeight - top - bottom) };
  };

  /** A text that fits into `room` pixels, shortened where it does not. */
  function fitted(context, text, room) {
    if (context.measureText(text).width <= room) return text;
    let kept = text.length;
    while (kept > 1 && context.measureText(text.slice(0, kept) + "…").width > room) --kept;
    return text.slice(0, kept) + "…";
  }

  /**
   * x and y: {name, unit in it; low, high, the values at the left and right, or top and bottom; ticks(low, high, most)}.
   * A tick that would touch the one before it is left without its text.
   */
  tautline.drawAxes = function (context, area, x, y) {
    const right = area.left + area.width, bottom = area.top + area.height;
    context.strokeStyle = tautline.themeColour("axis");
    context.fillStyle = tautline.themeColour("muted");
    context.lineWidth = 1;
    context.font = `11px ${tautline.themeColour("font")}`;
    context.strokeRect(area.left - 0.5, area.top - 0.5, area.width + 1, area.height + 1);
    const place = (axis, value) => (value - axis.low) / (axis.high - axis.low || 1);
    context.textAlign = "center";
    context.textBaseline = "top";
    let end = -Infinity;
    for (const tick of x.ticks(Math.min(x.low, x.high), Math.max(x.low, x.high), area.width / 72)) {
      const at = area.left + place(x, tick.value) * area.width;
      context.fillRect(at, bottom, 1, 4);
      const half = context.measureText(tick.text).width / 2;
      const middle = Math.min(at, right + tautline.margins.right - half - 2);
      if (middle - half < end + 6) continue;
      context.fillText(tick.text, middle, bottom + 7);
      end = middle + half;
    }
    context.fillText(x.name, area.left + area.width / 2, bottom + 23);
    context.textAlign = "right";
    context.textBaseline = "middle";
    const taken = [];
    for (const tick of y.ticks(Math.min(y.low, y.high), Math.max(y.low, y.high), area.height / 40)) {
      const at = area.top + place(y, tick.value) * area.height;
      context.fillRect(area.left - 4, at, 4, 1);
      if (taken.some((other) => Math.abs(other - at) < 13)) continue;
      taken.push(at);
      context.fillText(fitted(context, tick.text, area.left - 25), area.left - 7, at);
    }
    context.save();
    context.translate(9, area.top + area.height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(fitted(context, y.name, area.height + 30), 0, 0);
    context.restore();
  };

  /** What a picture's colours mean: a quantity, and its values at both ends. */
  tautline.ColourBar = class {
    constructor() {
      const { element } = tautline;
      this.quantity = element("span.quantity");
      this.low = element("span.end");
      this.high = element("span.end");
      this.bar = element("i.bar");
      this.root = element("span.colourbar", {}, this.quantity, this.low, this.bar, this.high);
    }

    /** The part [from, to] of the map is used. */
    show(quantity, lowText, highText, map, from = 0, to = 1) {
      this.quantity.textContent = quantity;
      this.low.textContent = lowText;
      this.high.textContent = highText;
      this.bar.style.background = tautline.gradientOf(map, from, to);
    }
  };
})(globalThis.tautline = globalThis.tautline || {});
