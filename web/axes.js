// The axes of time and frequency that pictures and charts share.
(function (tautline) {
  "use strict";

  /** The value that `fraction` of the finite values do not exceed. */
  tautline.quantile = function (values, fraction) {
    const finite = values.filter((value) => isFinite(value)).sort();
    return finite.length ? finite[Math.min(finite.length - 1, Math.floor(fraction * finite.length))] : NaN;
  };

  /** Axis of the store's frequency bins, for pictures and charts. */
  tautline.frequencyAxis = function (centres_hz, width_hz) {
    const last = centres_hz.length - 1;
    const unit = tautline.frequencyUnit(centres_hz[last]);
    return {
      unit,
      name: `frequency (${unit.name})`,
      values: Array.from(centres_hz, (hz) => hz / unit.scale),
      low: (centres_hz[0] - width_hz / 2) / unit.scale,
      high: (centres_hz[last] + width_hz / 2) / unit.scale,
      text: (value) => tautline.frequencyNear(value * unit.scale, width_hz),
    };
  };

  /**
   * Axis of the store's rows of time: edges for pictures, middles for charts. Where most of the span
   * is gaps (snapshots), rows stand side by side instead and the ticks tell their times.
   */
  tautline.timeAxis = function (store) {
    const { rows, description } = store;
    const clock = (seconds) => tautline.utc(description.start_unix_s + seconds, false);
    if (!rows.length) {
      return { name: "time (s)", edges: [0, 1], values: [], low: 0, high: 1,
               text: String, ticks: tautline.ticks };
    }
    const span_s = rows[rows.length - 1].end_s - rows[0].start_s;
    const recorded_s = rows.reduce((sum, row) => sum + row.end_s - row.start_s, 0);
    if (recorded_s < 0.25 * span_s) return snapshotAxis(rows, clock);
    const unit = tautline.timeUnit(span_s);
    const edges = rows.flatMap((row) => [row.start_s / unit.scale, row.end_s / unit.scale]);
    return {
      name: `time after the start (${unit.name})`, edges,
      values: rows.map((row) => (row.start_s + row.end_s) / 2 / unit.scale),
      low: edges[0], high: edges[edges.length - 1],
      text: (value) => clock(value * unit.scale),
      ticks: tautline.ticks,
    };
  };

  function snapshotAxis(rows, clock) {
    const middle_s = (k) => (rows[k].start_s + rows[k].end_s) / 2;
    const row = (value) => Math.min(rows.length - 1, Math.max(0, Math.floor(value)));
    return {
      name: "time (UTC)",
      edges: rows.flatMap((_, k) => [k, k + 1]),
      values: rows.map((_, k) => k + 0.5),
      low: 0, high: rows.length,
      text: (value) => clock(middle_s(row(value))),
      ticks: (low, high, most) => {
        const step = Math.max(1, Math.ceil((high - low) / Math.max(1, most)));
        const found = [];
        for (let k = 0; k < rows.length; k += step) {
          found.push({ value: k + 0.5, text: clock(middle_s(k)).slice(0, 8) });
        }
        return found;
      },
    };
  }

  /** Rows of a chart against time, with an empty one in each gap so that lines break there. */
  tautline.breakAtGaps = function (axis, rows) {
    return rows.flatMap((row, k) => {
      const start = axis.edges[2 * k], before = axis.edges[2 * k - 1];
      const width = axis.edges[2 * k + 1] - start;
      if (k === 0 || start - before < 0.5 * width) return [row];
      const empty = row.map((value) => Array.isArray(value) ? [null, null, null] : null);
      empty[0] = (before + start) / 2;
      return [empty, row];
    });
  };
})(globalThis.tautline = globalThis.tautline || {});
