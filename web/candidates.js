// The page of a search: overview, one candidate's pictures, the list.
// tautline.receiveCandidates(message) is the one entrance.
(function (tautline) {
  "use strict";

  function floats(text) {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let k = 0; k < binary.length; ++k) bytes[k] = binary.charCodeAt(k);
    return new Float32Array(bytes.buffer);
  }

  /** Room beyond the trials, but none for DMs below zero where none was searched. */
  const padded = (low, high) => {
    const pad = 0.04 * (high - low) || 1;
    return [low >= 0 ? Math.max(0, low - pad) : low - pad, high + pad];
  };

  class SearchPage {
    constructor() {
      const at = (id) => document.getElementById(id);
      const { element } = tautline;
      this.head = at("head");
      const pick = (index) => this.choose(index);
      this.dmTime = new tautline.Scatter("DM against time", {
        height: 300, xName: "time after the first sample (s)", yName: "DM (pc cm⁻³)", onPick: pick });
      this.snrDm = new tautline.Scatter("S/N against DM", {
        height: 240, xName: "DM (pc cm⁻³)", yName: "S/N", onPick: pick });
      this.snrTime = new tautline.Scatter("S/N against time", {
        height: 240, xName: "time after the first sample (s)", yName: "S/N", onPick: pick });
      this.dmTime.root.classList.add("both");
      this.gapsKey = element("span");
      at("overview").append(
        element("div.section-head", {}, element("h2", {}, "Overview"),
                element("p", {}, "A disc is a candidate; its area and colour say its S/N. Click one to see it below.", this.gapsKey)),
        element("div.grid", {}, this.dmTime.root, this.snrDm.root, this.snrTime.root));

      this.list = new tautline.CandidateList(at("list"), pick);
      this.picker = new tautline.Picker("Candidate", pick);
      this.about = element("p");
      this.profile = new tautline.LineChart("Dedispersed profile", {
        series: [{ name: "S/N of a bin", colour: "one" }] });
      this.band = new tautline.Heatmap("Frequency against time", { height: 316 });
      this.dms = new tautline.Heatmap("DM against time", { height: 316 });
      this.profile.root.classList.add("both");
      this.pictures = element("div.grid", {}, this.profile.root, this.dms.root, this.band.root);
      at("candidate").append(
        element("div.section-head", {}, element("h2", {}, "Candidate"), this.picker.root, this.list.editor),
        this.about, this.pictures);

      this.facts = element("tbody");
      this.masked = new tautline.LineChart("Masked by IQRM", {
        series: [{ name: "share of the time", colour: "one" }], zeroBased: true });
      at("run").append(element("div.section-head", {}, element("h2", {}, "Run")), this.masked.root,
                       element("div.card", {}, element("table.facts-table", {}, this.facts)));
      tautline.startTheme(() => this.redraw());
    }

    receive(message) {
      if (message.schema !== "tautline.candidates" || message.version !== 1) {
        throw new Error(`unknown schema ${message.schema} version ${message.version}`);
      }
      this.message = message;
      this.fillHead();
      this.fillOverview();
      this.list.show(message);
      const { element } = tautline;
      this.facts.replaceChildren(...message.facts.map(([name, value]) =>
        element("tr", {}, element("td", {}, name), element("td", {}, value))));
      this.masked.root.hidden = !message.masked;
      if (message.masked) this.drawMasked(message.masked);
      const drawn = message.pictures.length;
      this.picker.fill(message.candidates.slice(0, drawn).map((one, k) => ({
        value: k, text: `${k + 1}: S/N ${one.snr.toFixed(1)}, DM ${one.dm.toFixed(1)}` })));
      document.getElementById("candidate").hidden = drawn === 0;
      for (const id of ["overview", "list"]) document.getElementById(id).hidden = !message.candidates.length;
      tautline.showLinks();
      if (drawn > 0) this.choose(0);
    }

    fillHead() {
      const { element, count, duration, short } = tautline;
      const { candidates, title, duration_s, threshold, warnings = [] } = this.message;
      const tile = (name, value) => element("div.tile", {}, element("span", {}, name),
                                            element("b", {}, value));
      this.head.replaceChildren(
        element("h1", {}, title),
        element("p.subtitle", {}, candidates.length ? "" : "Nothing over the threshold."),
        element("div.tiles", {},
          tile("Candidates", count(candidates.length)),
          tile("Best S/N", candidates.length ? candidates[0].snr.toFixed(1) : "–"),
          tile("Threshold", `S/N ${short(threshold)}`),
          tile("Searched", duration(duration_s)),
          tile("DM", `${short(this.message.low_dm)} – ${short(this.message.high_dm)} pc\u00a0cm⁻³`)),
        ...(warnings.length ? [element("div.warning", {},
          element("ul", {}, ...warnings.map((text) => element("li", {}, text))))] : []));
    }

    fillOverview() {
      const { candidates, first_s, duration_s, low_dm, high_dm, threshold } = this.message;
      const points = (x, y) => candidates.map((one, index) => ({
        x: one[x], y: one[y], snr: one.snr, index }));
      const time = [first_s, first_s + duration_s], dm = padded(low_dm, high_dm);
      const best = candidates.length ? candidates[0].snr : threshold + 1;
      const snr = [Math.floor(Math.min(threshold, best)), best * 1.06];
      const empty = this.message.empty;
      const some = (kind) => empty.some(([, length]) => length > 0 === kind);
      this.gapsKey.textContent = (some(true) ? " Grey: no data." : "") +
        (some(false) ? " A grey line: the level steps." : "");
      this.dmTime.show(points("time_s", "dm"), time, dm, empty);
      this.snrDm.show(points("dm", "snr"), dm, snr);
      this.snrTime.show(points("time_s", "snr"), time, snr, empty);
    }

    choose(index) {
      this.chosen = index;
      for (const scatter of [this.dmTime, this.snrDm, this.snrTime]) scatter.choose(index);
      this.list.choose(index);
      const one = this.message.candidates[index], drawn = this.message.pictures[index];
      this.about.textContent = `S/N ${one.snr.toFixed(2)} at ${one.time_s.toFixed(6)} s, DM ` +
        `${one.dm.toFixed(3)} pc cm⁻³, ${tautline.counted(one.width_samples, "sample")} ` +
        `(${tautline.duration(one.width_samples * this.message.sample_s)}) wide, ` +
        tautline.counted(one.members, "detection") + (one.injected ? ", injected" : "") +
        (one.filled ? `, ${tautline.short(100 * one.filled)} % of its sweep filled` : "") + (this.message.beams
          ? `, beam ${one.beam} (${this.message.beams[one.beam]}), at once in ${one.beams}.` : ".") + (drawn ? "" : " Only the best candidates have pictures.");
      this.pictures.hidden = !drawn;
      if (!drawn) return;
      this.picker.select.value = index;
      this.draw(drawn);
    }

    draw(drawn) {
      const unit = tautline.timeUnit(drawn.bins * drawn.bin_s);
      const low = drawn.first_s / unit.scale, step = drawn.bin_s / unit.scale;
      const high = low + drawn.bins * step;
      const profile = floats(drawn.profile);
      const xName = `time from the candidate (${unit.name})`;
      this.profile.show(Array.from(profile, (value, k) => [low + (k + 0.5) * step,
                                                          isFinite(value) ? value : null]),
        { xRange: [low, high], xName, yName: "S/N",
          xFormat: (x) => `${tautline.short(x)} ${unit.name} from the candidate` });
      // Upwards on the page are higher frequencies and DMs: the axis runs through their negatives.
      const negative = (lowest, highest, most) =>
        tautline.ticks(-highest, -lowest, most).map((tick) => ({ value: -tick.value, text: tick.text }));
      // Rows lie evenly between the values at the top and the bottom, less what is under `least`.
      const picture = (yName, values, rows, top, bottom, least = -Infinity) => {
        const size = (top - bottom) / rows;
        const kept = Math.min(rows, Math.ceil((top - least) / size));
        const finite = Array.from(values.subarray(0, kept * drawn.bins)).filter(isFinite).sort((a, b) => a - b);
        const at = (part) => finite.length ? finite[Math.floor(part * (finite.length - 1))] : 0;
        const floor = at(0.02), ceiling = Math.max(at(0.9995), floor + 1e-6);
        const edge = (k) => Math.min(-top + k * size, -least);
        return { values: values.subarray(0, kept * drawn.bins), rows: kept, columns: drawn.bins, xName, yName,
                 rowEdges: Array.from({ length: kept }, (_, k) => [edge(k), edge(k + 1)]).flat(),
                 xLow: low, xHigh: high, xTicks: tautline.ticks, yTicks: negative,
                 map: tautline.colourMaps.amplitude, low: floor, high: ceiling, quantity: "S/N",
                 lowText: tautline.short(Number(floor.toPrecision(3))),
                 highText: tautline.short(Number(ceiling.toPrecision(3))) };
      };
      this.band.show(picture("frequency (MHz)", floats(drawn.frequency_time), drawn.sub_bands, drawn.high_mhz,
                             drawn.low_mhz));
      // Rows are centred on their DMs, the lowest first.
      const half = drawn.dm_rows > 1 ? (drawn.high_dm - drawn.low_dm) / (drawn.dm_rows - 1) / 2 : 0.5;
      const values = floats(drawn.dm_time), turned = new Float32Array(values.length);
      for (let row = 0; row < drawn.dm_rows; ++row) {
        turned.set(values.subarray(row * drawn.bins, (row + 1) * drawn.bins), (drawn.dm_rows - 1 - row) * drawn.bins);
      }
      this.dms.show(picture("DM (pc cm⁻³)", turned, drawn.dm_rows, drawn.high_dm + half, drawn.low_dm - half,
                            this.message.low_dm >= 0 ? 0 : undefined));
    }

    drawMasked({ mhz, share }) {
      const rows = mhz.map((x, k) => [x, 100 * share[k]]).sort((a, b) => a[0] - b[0]);
      this.masked.show(rows, { xRange: [rows[0][0], rows[rows.length - 1][0]], xName: "frequency (MHz)",
        yName: "masked (%)", xFormat: (x) => `${tautline.short(x)} MHz` });
    }

    redraw() {
      if (!this.message) return;
      this.masked.redraw();
      this.fillOverview();
      if (this.chosen !== undefined && this.message.candidates.length) this.choose(this.chosen);
      this.profile.redraw();
    }
  }

  tautline.startCandidates = function () {
    const page = new SearchPage();
    tautline.receiveCandidates = (message) => page.receive(message);
    return page;
  };
})(globalThis.tautline = globalThis.tautline || {});
