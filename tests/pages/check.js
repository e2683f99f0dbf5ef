// Everything that a careful reader would stumble over and a script can find, as sentences; none for a good page.
(() => {
  const found = [];
  const say = (what, where) => { found.push(where ? `${what}: ${where}` : what); };
  const shown = (one) => one.getClientRects().length > 0 && getComputedStyle(one).visibility === "visible";
  const named = (one) => {
    const title = one.closest("figure, section, header, nav, footer");
    const words = (title && title.querySelector(".card-title, h1, h2") || one).textContent.trim().slice(0, 60);
    const kind = one.getAttribute("class");
    return `<${one.tagName.toLowerCase()}${kind ? "." + kind : ""}> in "${words}"`;
  };
  const scrolls = (one, axis) => /auto|scroll/.test(getComputedStyle(one)[axis === "x" ? "overflowX" : "overflowY"]);
  const inScroller = (one) => {
    for (let up = one.parentElement; up && up !== document.body; up = up.parentElement) if (scrolls(up, "x")) return true;
    return false;
  };
  const printed = matchMedia("print").matches;
  const all = [...document.body.querySelectorAll("*")].filter(shown);

  // Wider than the page.
  const view = document.documentElement.clientWidth;
  if (document.scrollingElement.scrollWidth > view)
    say(`the page scrolls sideways, ${document.scrollingElement.scrollWidth} in ${view} pixels`);
  for (const one of all) {
    const box = one.getBoundingClientRect();
    if (box.width && (box.right > view + 1 || box.left < -1) && !inScroller(one) && !one.closest(".dygraph-legend"))
      say(`reaches from ${Math.round(box.left)} to ${Math.round(box.right)} in ${view} pixels`, named(one));
  }

  // Cut off: text that its box hides; on paper nothing can be scrolled.
  for (const one of all) {
    const style = getComputedStyle(one);
    const hides = /hidden|clip/.test(style.overflowX + style.overflowY) ||
                  (printed && /auto|scroll/.test(style.overflowX + style.overflowY));
    if (hides && one !== document.body && one.textContent.trim() &&
        (one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1))
      say(`shows ${one.clientWidth} x ${one.clientHeight} of ${one.scrollWidth} x ${one.scrollHeight} pixels`, named(one));
    if (one.tagName === "SELECT" && one.selectedOptions.length) {
      const pen = document.createElement("canvas").getContext("2d");
      pen.font = `${style.fontSize} ${style.fontFamily}`;
      const room = one.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - 18;
      const text = one.selectedOptions[0].textContent;
      if (pen.measureText(text).width > room) say(`a choice that is cut off, "${text}"`, named(one));
    }
  }

  // Links that lead nowhere, and to what is not there.
  for (const link of document.querySelectorAll("a[href]")) {
    if (!shown(link)) continue;
    const to = link.getAttribute("href");
    const target = to.startsWith("#") && to.length > 1 ? document.getElementById(to.slice(1)) : null;
    if (!target || !shown(target) || !target.textContent.trim()) say(`a dead link "${link.textContent.trim()}" to ${to}`);
  }

  // What code says when it has nothing to say, and numbers that nobody believes.
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (walker.currentNode.data.trim() && !/^(SCRIPT|STYLE|NOSCRIPT|OPTION)$/.test(parent.tagName) && shown(parent))
      texts.push([walker.currentNode.data.trim(), parent]);
  }
  for (const [text, parent] of texts) {
    if (parent.closest("#run, footer")) continue;
    for (const wrong of [/\b(NaN|undefined|null|Infinity|\[object)\b/, /\b(h|min) 60 (s|min)\b/, /\d[.]\d{6,} [kMG]?Hz/,
                         /\b1 (antennas|inputs|baselines|channels|candidates|integrations|detections|curves|samples)\b(?!=)/])
      if (wrong.test(text)) say(`"${text}"`, named(parent));
  }

  // Contrast of text: WCAG 2.1, 4.5 to 1, for large text 3 to 1.
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (colour) => colour.slice(0, 3).map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const behind = (one) => {
    for (let up = one; up; up = up.parentElement) {
      const colour = rgb(getComputedStyle(up).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const faint = (colour, ground, least) => contrast(rgb(colour), ground) < least - 0.005;
  for (const [text, parent] of texts) {
    const style = getComputedStyle(parent);
    const size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 600;
    const ink = parent instanceof SVGElement ? style.fill : style.color;
    if (faint(ink, behind(parent), size >= 24 || (bold && size >= 18.66) ? 3 : 4.5))
      say(`contrast ${contrast(rgb(ink), behind(parent)).toFixed(2)} of "${text.slice(0, 40)}"`, named(parent));
  }
  for (const key of document.querySelectorAll(".key i"))
    if (shown(key) && faint(getComputedStyle(key).backgroundColor, behind(key.parentElement), 3)) say("a curve's colour is faint", named(key));

  // Axes: a name with a unit, ticks that can be read.
  const pure = /^(G|S\/N|channel|input|sensor|curve|row|column|residual over standard error|residual of G|correlation coefficient|antenna|reduced χ²|N|G\(0\)|UTC.*)$/i;
  const withUnit = (text) => /\S \([^()]*[^\s()][^()]*\)$/.test(text) || pure.test(text) || /\(.*[²³⁻µ°%].*\)$/.test(text);
  const isNumber = (text) => /^[−-]?[\d.,]+(e[−-]?\d+)?( ?[a-zµ°%]+)?$/.test(text);
  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5 &&
                            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5;
  const judge = (plot, across, upward, labels, room, what) => {
    for (const [axis, name] of [["across", across], ["upward", upward]]) {
      if (!name) say(`no name on the axis ${axis}`, named(plot));
      else if (/\(dB\)/.test(name)) say("dB of what", named(plot));
      else if (!withUnit(name)) say(`no unit in the axis' name "${name}"`, named(plot));
    }
    labels.forEach((label, k) => {
      if (label.left < room.left - 0.5 || label.right > room.right + 0.5 || label.top < room.top - 0.5 ||
          label.bottom > room.bottom + 0.5) say(`"${label.text}" is cut off${what}`, named(plot));
      for (const other of labels.slice(k + 1))
        if (overlap(label, other)) say(`"${label.text}" and "${other.text}" lie on each other`, named(plot));
    });
  };
  // Words of a figure in SVG, whose size follows the figure's.
  for (const figure of document.querySelectorAll("svg[role=img]")) {
    if (!shown(figure)) continue;
    const labels = [...figure.querySelectorAll("text")].filter((one) => one.textContent.trim()).map((one) => {
      const { left, right, top, bottom } = one.getBoundingClientRect();
      const size = parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a;
      if (size < 8.95) say(`"${one.textContent}" of ${size.toFixed(1)} pixels`, named(figure));
      return { text: one.textContent, left, right, top, bottom };
    });
    judge(figure, "N", "N", labels, figure.getBoundingClientRect(), "");
  }
  for (const canvas of document.querySelectorAll("canvas[role=img]")) {
    if (!shown(canvas)) continue;
    const { texts: labels, frames } = window.drawnOn(canvas);
    const room = { left: 0, top: 0, right: canvas.clientWidth, bottom: canvas.clientHeight };
    for (const label of labels)
      if (faint(label.colour, behind(canvas), 4.5)) say(`contrast of "${label.text}"`, named(canvas));
    if (Math.abs(canvas.clientWidth * (window.devicePixelRatio || 1) - canvas.width) > 2) say("a canvas drawn for another width", named(canvas));
    if (canvas.closest(".map")) {
      if (!labels.some((label) => / k?m$/.test(label.text))) say("a map without a scale", named(canvas));
      judge(canvas, "N", "N", labels, room, "");
      continue;
    }
    if (frames.length !== 1) { say(`${frames.length} frames`, named(canvas)); continue; }
    const [frame] = frames;
    const below = labels.filter((label) => label.upright && label.top > frame.bottom);
    const lowest = below.reduce((low, label) => label.top > (low ? low.top : -1) ? label : low, null);
    const across = lowest && !isNumber(lowest.text) ? lowest : null;
    const upward = labels.find((label) => !label.upright);
    judge(canvas, across && across.text, upward && upward.text, labels, room, "");
    const across_ticks = below.filter((label) => label !== across);
    const upward_ticks = labels.filter((label) => label.upright && label.right < frame.left);
    for (const [ticks, name] of [[across_ticks, across], [upward_ticks, upward]]) {
      if (!ticks.length || (ticks.length === 1 && isNumber(ticks[0].text) && name && /\(/.test(name.text)))
        say(`fewer than two ticks on the axis "${name && name.text}"`, named(canvas));
      if (!name || !/^DM /.test(name.text)) continue;
      for (const tick of ticks) if (/^[−-]/.test(tick.text)) say(`a DM of ${tick.text}`, named(canvas));
      const zero = ticks.find((tick) => Number(tick.text) === 0);
      if (zero && (name === upward ? (zero.top + zero.bottom) / 2 < frame.bottom - 4
                                   : (zero.left + zero.right) / 2 > frame.left + 4)) say("an axis of DM that runs below zero", named(canvas));
    }
  }
  for (const chart of document.querySelectorAll(".chart")) {
    if (!shown(chart)) continue;
    const text = (kind) => { const one = chart.querySelector(kind); return one && shown(one) ? one.textContent : ""; };
    const boxes = [...chart.querySelectorAll(".dygraph-axis-label, .dygraph-xlabel, .dygraph-ylabel")].filter(shown).map((one) => {
      const range = document.createRange();
      range.selectNodeContents(one);
      const { left, right, top, bottom } = range.getBoundingClientRect();
      const inner = one.parentElement.getBoundingClientRect(), own = one.getBoundingClientRect();
      const outer = /axis-label/.test(one.className) ? one.parentElement : one;
      if (getComputedStyle(outer).overflow === "hidden" && /axis-label/.test(one.className)) {
        if (right > inner.right + 0.5 || left < inner.left - 0.5) say(`"${one.textContent}" is cut off`, named(chart));
      }
      return { text: one.textContent, left, right, top, bottom };
    });
    if (printed && [...chart.querySelectorAll("canvas")].filter(shown).length !== 1)
      say("a layer that covers the curves on paper", named(chart));
    judge(chart, text(".dygraph-xlabel"), text(".dygraph-ylabel"), boxes, chart.closest(".card").getBoundingClientRect(), "");
    for (const axis of ["x", "y"])
      if (!chart.querySelector(`.dygraph-axis-label-${axis}`)) say(`no tick on the axis ${axis}`, named(chart));
    const across = chart.querySelector(".dygraph-xlabel");
    if (across && across.textContent === "curve")  // they are numbered
      for (const label of chart.querySelectorAll(".dygraph-axis-label-x"))
        if (!/^\d+$/.test(label.textContent)) say(`a tick at curve ${label.textContent}`, named(chart));
  }
  // A picture's or scatter's colours: what they mean, with the numbers at both ends.
  for (const card of document.querySelectorAll("figure.card")) {
    if (!shown(card) || !card.querySelector("canvas[role=img]")) continue;
    const bar = card.querySelector(".colourbar");
    if (!bar) { say("colours that nobody explains", named(card)); continue; }
    const quantity = bar.querySelector(".quantity");
    if (!quantity || !withUnit(quantity.textContent.trim())) say(`a colour bar of "${quantity ? quantity.textContent : ""}"`, named(card));
    if (quantity && /\(dB\)/.test(quantity.textContent)) say("dB of what", named(card));
    for (const end of bar.querySelectorAll(".end"))
      if (!/\d/.test(end.textContent)) say("a colour bar without numbers", named(card));
  }
  return [...new Set(found)];
})()
