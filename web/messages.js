// Decodes the JSON messages of docs/guide/report.md: arrays travel as base64 of little-endian
// numbers. Runs in a browser and under node.
(function (tautline) {
  "use strict";

  const FIELDS = {
    integrations: {
      start_s: Float64Array, end_s: Float64Array, expected: Float32Array,
      integrations: Int32Array, scales: Float32Array, fractions: Float32Array, visibilities: Int16Array,
      power: Float32Array, valid: Uint8Array, bispectra: Float32Array,
    },
    summary: { spectra: Float32Array, valid_spectra: Uint8Array, closure_spectra: Float32Array },
    channels: { bin_hz: Float64Array, spectrum_bin_hz: Float64Array },
  };

  function decodeArray(Type, text) {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let k = 0; k < binary.length; ++k) bytes[k] = binary.charCodeAt(k);
    return new Type(bytes.buffer);
  }

  function decodeFields(object, fields) {
    const decoded = Object.assign({}, object);
    for (const [name, Type] of Object.entries(fields)) {
      decoded[name] = decodeArray(Type, object[name]);
    }
    return decoded;
  }

  /** A message with its arrays decoded; `message` is a JSON text or what it parses to. */
  tautline.decodeMessage = function (message) {
    const parsed = typeof message === "string" ? JSON.parse(message) : message;
    switch (parsed.type) {
      case "description":
        if (parsed.schema !== "tautline.visibilities" || parsed.version !== 1) {
          throw new Error(`unknown schema ${parsed.schema} version ${parsed.version}`);
        }
        return Object.assign({}, parsed,
                             { channels: decodeFields(parsed.channels, FIELDS.channels) });
      case "integrations": {
        const decoded = decodeFields(parsed, FIELDS.integrations);
        decoded.summary = decodeFields(parsed.summary, FIELDS.summary);
        return decoded;
      }
      default:
        return parsed;
    }
  };
})(globalThis.tautline = globalThis.tautline || {});
