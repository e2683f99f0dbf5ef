// Numbers, units, ticks and times as the page writes them.
(function (tautline) {
  "use strict";

  /** About `most` round numbers in [low, high], two at least, with the decimals that tell them apart. */
  tautline.ticks = function (low, high, most) {
    const span = high - low;
    if (!(span > 0) || !isFinite(span)) return [{ value: low, text: tautline.short(low) }];
    const raw = span / Math.max(1, most);
    const power = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((s) => s >= raw * 0.999);
    const text = decimalsOf(step);
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * span; ++k) {
      const value = k === 0 ? 0 : k * step;
      found.push({ value, text: text(value) });
    }
    if (found.length < 2 && most < 10) return tautline.ticks(low, high, 1.5 * Math.max(1, most));
    return found;
  };

  function decimalsOf(step) {
    const magnitude = Math.floor(Math.log10(step) + 1e-9);
    if (magnitude >= 6) return (value) => value.toExponential(1).replace("-", "−");
    let decimals = Math.max(0, -magnitude);
    if (Math.abs(step * Math.pow(10, decimals) - Math.round(step * Math.pow(10, decimals))) > 1e-6) {
      ++decimals;
    }
    if (decimals > 6) return (value) => value.toExponential(2).replace("-", "−");
    return (value) => value.toFixed(decimals).replace("-", "−");
  }

  /** Phases have ticks of their own. */
  tautline.phaseTicks = function () {
    return [-180, -90, 0, 90, 180].map((value) => ({ value, text: tautline.signed(value, 0) }));
  };

  tautline.signed = (value, decimals) =>
    (Number(value.toFixed(decimals)) || 0).toFixed(decimals).replace("-", "−");

  /** Three or four significant digits, no trailing zeros. */
  tautline.short = function (value) {
    if (!isFinite(value)) return "–";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e5 || size < 1e-3) {
      return value.toExponential(2).replace("e+", "e").replace("-", "−").replace("e-", "e−");
    }
    return String(Number(value.toPrecision(4))).replace("-", "−");
  };

  const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

  /** The unit in which a frequency axis that ends at `highest_hz` reads best. */
  tautline.frequencyUnit = function (highest_hz) {
    const size = Math.abs(highest_hz);
    const [scale, prefix] = size >= 2e10 ? PREFIXES[0] :
      PREFIXES.slice(1).find(([limit]) => size >= limit) || PREFIXES[3];
    return { scale, name: `${prefix}Hz` };
  };

  tautline.frequency = function (hz, digits = 6) {
    const [scale, prefix] = PREFIXES.find(([limit]) => Math.abs(hz) >= limit) || PREFIXES[3];
    return `${Number((hz / scale).toPrecision(digits))} ${prefix}Hz`;
  };

  /** A frequency with the decimals that tell it from those `step_hz` away. */
  tautline.frequencyNear = function (hz, step_hz, unit = tautline.frequencyUnit(hz)) {
    const decimals = step_hz > 0 ? Math.max(0, Math.ceil(-Math.log10(step_hz / unit.scale) - 1e-9)) : 3;
    return `${tautline.signed(hz / unit.scale, Math.min(9, decimals))} ${unit.name}`;
  };

  /** A value and its standard error, both to the error's second digit. */
  tautline.withError = function (value, error) {
    if (!(error > 0) || !isFinite(error) || !isFinite(value)) return tautline.short(value);
    const decimals = 1 - Math.floor(Math.log10(error));
    if (decimals > 6) return `${tautline.short(value)} ± ${tautline.short(Number(error.toPrecision(2)))}`;
    if (decimals < 0) {
      const step = Math.pow(10, -decimals);
      return `${tautline.short(step * Math.round(value / step))} ± ${tautline.short(step * Math.round(error / step))}`;
    }
    return `${tautline.signed(value, decimals)} ± ${error.toFixed(decimals)}`;
  };

  tautline.timeUnit = function (span_s) {
    if (span_s >= 3 * 3600) return { scale: 3600, name: "h" };
    if (span_s >= 600) return { scale: 60, name: "min" };
    if (span_s >= 1) return { scale: 1, name: "s" };
    return { scale: 1e-3, name: "ms" };
  };

  tautline.duration = function (seconds) {
    // Of four digits, as short() writes them: neither "1000 ms" nor "120 s".
    if (seconds < 0.99995) return `${tautline.short(seconds * 1000)} ms`;
    if (seconds < 119.95) return `${tautline.short(seconds)} s`;
    const whole = Math.round(seconds);
    const hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60, rest = whole % 60;
    return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${rest} s`;
  };

  /** 2026-01-31 12:00:00.500 UTC; no fraction where there is none. */
  tautline.utc = function (unix_s, dateToo = true) {
    const iso = new Date(Math.round(unix_s * 1000)).toISOString();
    const clock = iso.slice(11, 23).replace(/\.000$/, "");
    return dateToo ? `${iso.slice(0, 10)} ${clock} UTC` : `${clock} UTC`;
  };

  tautline.percent = function (fraction, digits = 3) {
    if (!isFinite(fraction)) return "–";
    if (fraction === 0) return "0 %";
    if (fraction === 1) return "100 %";
    const percent = fraction * 100;
    if (percent < 0.01) return `${tautline.short(Number((fraction * 1e6).toPrecision(digits)))} ppm`;
    // Never round a loss away.
    if (percent > 99.9 && percent < 100) return `${(Math.floor(percent * 1e4) / 1e4)} %`;
    return `${tautline.short(Number(percent.toPrecision(digits)))} %`;
  };

  /** "1 antenna", "64 antennas". */
  tautline.counted = (value, noun) => `${tautline.count(value)} ${noun}${value === 1 ? "" : "s"}`;
  tautline.count = (value) => Number(value).toLocaleString("en").replace(/,/g, "\u202f");
})(globalThis.tautline = globalThis.tautline || {});
