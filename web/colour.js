// Colour maps made in OKLab, where equal steps look equally large.
(function (tautline) {
  "use strict";

  const STEPS = 256;

  function channel(linear) {
    const c = Math.min(1, Math.max(0, linear));
    return Math.round(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * Math.pow(c, 1 / 2.4) - 0.055));
  }

  /** OKLab (Ottosson 2020) to sRGB bytes. */
  function rgb(lightness, a, b) {
    const l = Math.pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    const m = Math.pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    const s = Math.pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
    return [
      channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
      channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
      channel(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s),
    ];
  }

  function table(colourAt) {
    const map = new Uint8Array(3 * STEPS);
    for (let k = 0; k < STEPS; ++k) map.set(colourAt(k / (STEPS - 1)), 3 * k);
    return map;
  }

  const degrees = Math.PI / 180;

  function validTable(lost, whole) {
    return table((x) => {
      const chroma = 0.19 * (1 - x) + 0.03 * x;
      const hue = (28 + 150 * x) * degrees;
      return rgb(lost + (whole - lost) * x, chroma * Math.cos(hue), chroma * Math.sin(hue));
    });
  }

  tautline.colourMaps = {
    /** Amplitudes: lightness rises evenly from a dark violet over teal to a pale yellow. */
    amplitude: table((x) => {
      const hue = (300 - 195 * Math.pow(x, 0.9)) * degrees;
      const chroma = 0.045 + 0.115 * Math.sin(Math.PI * Math.min(1, 0.08 + 0.9 * x));
      return rgb(0.17 + 0.77 * x, chroma * Math.cos(hue), chroma * Math.sin(hue));
    }),
    /**
     * Phases from -180 to +180 degrees: a closed circle through light (0), orange (+90), dark
     * (180) and blue (-90), told apart with any colour vision.
     */
    phase: table((x) => {
      const phase = (2 * x - 1) * Math.PI;
      const side = Math.sin(phase);
      const hue = (side > 0 ? 55 : 255) * degrees;
      const chroma = 0.15 * Math.abs(side);
      return rgb(0.58 + 0.34 * Math.cos(phase), chroma * Math.cos(hue), chroma * Math.sin(hue));
    }),
    /** Fractions valid: nothing is a strong red, everything quiet against the theme's page. */
    valid: { light: validTable(0.5, 0.88), dark: validTable(0.66, 0.36) },
  };

  /** CSS gradient of the part [from, to] of a map, for colour bars. */
  tautline.gradientOf = function (map, from = 0, to = 1) {
    const stops = [];
    for (let part = 0; part <= 16; ++part) {
      const k = Math.round((STEPS - 1) * (from + (to - from) * part / 16));
      stops.push(`rgb(${map[3 * k]},${map[3 * k + 1]},${map[3 * k + 2]})`);
    }
    return `linear-gradient(to right, ${stops.join(",")})`;
  };

  /** A theme's colour, as page.css defines it. */
  tautline.themeColour = function (name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  };
})(globalThis.tautline = globalThis.tautline || {});
