// What was observed, and what every reader should know first.
(function (tautline) {
  "use strict";

  tautline.Header = class {
    constructor(root, store) {
      this.root = root;
      this.store = store;
      root.classList.add("wide");
    }

    update() {
      const { element } = tautline;
      const { description, status } = this.store;
      const name = [description.telescope || description.array || "Visibilities",
                    description.source].filter(Boolean).join(" · ");
      document.title = name;
      this.root.replaceChildren(
        element("h1", {}, name),
        element("p.subtitle", {}, this.subtitle()),
        element("div.tiles", {}, ...this.tiles().map(([label, value, small]) =>
          element("div.tile", {}, element("span", {}, label), element("b", {}, value),
                  small ? element("small", {}, small) : null))),
        ...this.warnings(status.warnings));
    }

    subtitle() {
      const { description, summary, rows } = this.store;
      if (!rows.length) return "No integration yet";
      const span = rows[rows.length - 1].end_s - rows[0].start_s;
      const parts = [tautline.utc(description.start_unix_s), `${tautline.duration(span)} long`];
      if (span - summary.covered_s > 0.5 * description.integration_s) {
        parts.push(`${tautline.duration(summary.covered_s)} recorded`);
      }
      if (description.instrument) parts.push(description.instrument);
      return parts.join(" · ");
    }

    tiles() {
      const { description, summary, status } = this.store;
      const { channels, inputs, antennas, baselines } = description;
      const pairs = inputs.length * (inputs.length - 1) / 2;
      const band = channels.width_hz * channels.count;
      // Bins are means over channels, and the last may have fewer.
      const bins = channels.bin_hz.length;
      const inLast = channels.count - channels.per_bin * (bins - 1);
      const inFirst = Math.min(channels.per_bin, channels.count);
      const first = channels.bin_hz[0] - (inFirst - 1) / 2 * channels.width_hz;
      const last = channels.bin_hz[bins - 1] + (inLast - 1) / 2 * channels.width_hz;
      const unit = tautline.frequencyUnit(last);
      const tiles = [
        ["Inputs", tautline.count(inputs.length), tautline.counted(antennas.length, "antenna")],
        ["Baselines", tautline.count(pairs), `${baselines.length} shown here`],
        // The channels' middles lie about a place half a channel off the receiver's centre: both
        // ends are given, as inspect counts them, and no middle.
        ["Band", tautline.frequency(band, 4),
         `centres ${tautline.frequencyNear(first, channels.width_hz, unit).split(" ")[0]} to ` +
         tautline.frequencyNear(last, channels.width_hz, unit)],
        ["Channels", tautline.count(channels.count), `${tautline.frequency(channels.width_hz, 4)} each`],
        this.integrationTile(),
        ["Samples valid", summary ? tautline.percent(summary.valid_fraction, 5) : "–",
         summary && summary.values_not_finite ? `${tautline.count(summary.values_not_finite)} not finite` : ""],
      ];
      const clipped = status.clipped.reduce((sum, count) => sum + count, 0);
      if (status.clipped.length && status.requantised) {
        tiles.push(["Clipped in rounding", tautline.percent(clipped / (status.requantised * status.clipped.length), 2),
                    `${tautline.count(clipped)} values`]);
      }
      const centre = description.phase_centre;
      tiles.push(["Phase centre", centre.tracked ? centre.name : "unprojected",
                  centre.tracked ? `${centre.ra_deg.toFixed(3)}°, ${tautline.signed(centre.dec_deg, 3)}°`
                                 : "no delays applied"]);
      return tiles;
    }

    /** What is asked for, unless most are shorter: gaps and the end of the data cut integrations short. */
    integrationTile() {
      const { integration_s } = this.store.description, summary = this.store.summary;
      const asked = tautline.duration(integration_s);
      if (!summary) return ["Integration", asked, ""];
      const mean_s = summary.covered_s / summary.integrations;
      const cut = `cut short of ${asked}`, many = `${tautline.count(summary.integrations)} of them`;
      if (summary.integrations === 1 && mean_s < 0.999 * integration_s)
        return ["Integration", tautline.duration(mean_s), `the only one, ${cut}`];
      if (mean_s < 0.5 * integration_s) return ["Integration", tautline.duration(mean_s), `${many} on average, ${cut}`];
      return ["Integration", asked, many];
    }

    warnings(warnings) {
      const { element } = tautline;
      if (!warnings.length) return [];
      return [element("div.warning", { role: "status" },
        element("b", {}, warnings.length === 1 ? "One thing to know" : `${warnings.length} things to know`),
        element("ul", {}, ...warnings.map((text) => element("li", {}, text))))];
    }
  };

  /** The facts of the run and its history, at the end of the page. */
  tautline.RunPanel = class {
    constructor(root, store) {
      this.root = root;
      this.store = store;
    }

    update() {
      const { element } = tautline;
      const { description, status } = this.store;
      const facts = status.facts.slice();
      if (description.history) facts.push(["history", description.history]);
      this.root.replaceChildren(
        element("div.section-head", {}, element("h2", {}, "Run")),
        facts.length
          ? element("div.card", {}, element("table.facts-table", {}, element("tbody", {},
              ...facts.map(([name, value]) => element("tr", {}, element("td", {}, name.replace(/_/g, " ")),
                                                      element("td", {}, value))))))
          : element("p.empty", {}, "The file records nothing more about its run."));
    }
  };
})(globalThis.tautline = globalThis.tautline || {});
