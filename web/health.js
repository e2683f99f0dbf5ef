// How the run is doing, above all drawings: nothing here claims more than has been seen to move, and all of it has an age.
(function (tautline) {
  "use strict";

  const { element } = tautline;
  const OLD_S = 1;  // without word from the run

  tautline.bytes = function (bytes) {
    const [scale, prefix] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]].find(([size]) => bytes >= size) || [1, ""];
    return `${Number((bytes / scale).toPrecision(3))} ${prefix}B`;
  };

  const age = (seconds) => seconds < 1 ? "now" : `${tautline.duration(seconds < 10 ? Math.round(seconds * 10) / 10 : Math.round(seconds))} ago`;
  const factor = (value) => value == null ? "–" : `${Number(value.toPrecision(3))} ×`;

  /** A bar from 0 to 1 with its value as text. */
  function bar(part, text, warn = false) {
    const inner = element("i");
    inner.style.width = `${100 * Math.min(1, Math.max(0, part))}%`;
    return element(warn ? "span.meter.full" : "span.meter", { title: text }, element("span.track", {}, inner), element("span", {}, text));
  }

  function table(title, columns, rows) {
    if (!rows.length) return null;
    return element("figure.card", {},
      element("figcaption", {}, element("span.card-title", {}, title)),
      element("div.wide-table", {}, element("table", {},
        element("thead", {}, element("tr", {}, ...columns.map((name) => element("th", {}, name)))),
        element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell) =>
          element("td", {}, cell))))))));
  }

  tautline.HealthPanel = class {
    constructor(header, root) {
      this.header = header;
      this.root = root;
      this.status = null;
      this.heard = null;  // when, in ms of the page
      this.head = element("div");
      this.tiles = element("div.tiles");
      this.word = element("div", { role: "status", "aria-live": "polite" });
      header.append(this.head, this.word, this.tiles);
      setInterval(() => this.look(), 250);
      this.look();
    }

    take(status) {
      const before = this.status;
      // Load of the processor from two readings of the same process.
      if (before && status.process.cpu_s >= before.process.cpu_s && status.time_unix_s > this.measured + 1.5) {
        this.cores = (status.process.cpu_s - this.measured_cpu) / (status.time_unix_s - this.measured);
        this.measured = status.time_unix_s;
        this.measured_cpu = status.process.cpu_s;
      } else if (!before || status.process.cpu_s < before.process.cpu_s) {
        this.cores = null;
        this.measured = status.time_unix_s;
        this.measured_cpu = status.process.cpu_s;
      }
      this.status = status;
      this.heard = performance.now();
      this.draw();
      this.look();
    }

    /** What changes with time alone: how old everything is. */
    look() {
      const silent_s = this.heard == null ? null : (performance.now() - this.heard) / 1000;
      const old = silent_s == null || silent_s > OLD_S;
      const failed = this.status && this.status.state === "failed";
      const ended = this.status && this.status.state === "finished";
      document.documentElement.classList.toggle("old", old && this.status !== null);
      const said = [];
      if (silent_s == null) said.push(element("p.warning", {}, "No word from the run yet."));
      else if (old) {
        said.push(element(ended ? "p.warning.ended" : "p.warning", {}, failed
          ? `The run has failed: ${this.status.error}. This is its last state, ${age(silent_s)}.`
          : ended ? `The run has ended; this is its last state, ${age(silent_s)}.`
          : `No word from the run for ${tautline.duration(Math.round(silent_s))}: all below is as old as that.`));
      }
      const problems = this.status && !old ? this.status.problems : [];
      if (problems.length) {
        said.push(element("div.warning", {},
          element("b", {}, problems.length === 1 ? "One problem" : `${problems.length} problems`),
          element("ul", {}, ...problems.map((text) => element("li", {}, text)))));
      }
      // Only where it differs: readers of screens would hear it again and again.
      const text = said.map((one) => one.textContent).join("\n");
      if (text !== this.said) this.word.replaceChildren(...said);
      this.said = text;
    }

    draw() {
      const { status } = this;
      const name = status.pipeline.split("/").pop();
      document.title = `${status.problems.length ? "⚠ " : ""}${name} · tautline`;
      this.head.replaceChildren(
        element("h1", {}, name),
        element("p.subtitle", {}, `${status.state} · ${tautline.utc(Math.round(status.time_unix_s))}`));
      this.tiles.replaceChildren(...this.tileTexts().map(([label, value, small, bad]) =>
        element(bad ? "div.tile.bad" : "div.tile", {}, element("span", {}, label), element("b", {}, value),
                small ? element("small", {}, small) : null)));
      this.root.replaceChildren(
        element("div.section-head", {}, element("h2", {}, "Health"),
          element("p", {}, "A source receives only while its blocks or counters move, and a file is written only while it grows on the disk.")),
        element("div.grid", {}, ...[this.nodes(), this.files(), this.losses(), this.rings()].filter(Boolean)));
      this.root.querySelector("figure").classList.add("both");
    }

    tileTexts() {
      const { nodes, rings, files, losses, progress, process } = this.status;
      const sources = nodes.filter((node) => "receiving" in node);
      const receiving = sources.filter((node) => node.receiving).length;
      const over = sources.every((node) => node.activity === "finished");
      // Those that others hold up are not dead.
      const dead = sources.filter((node) => !node.receiving && !/finished|starting|waiting for room/.test(node.activity)).length;
      const writing = files.filter((file) => file.writing).length;
      const lost = losses.reduce((sum, loss) => sum + loss.count, 0);
      const fill = rings.length ? Math.max(...rings.map((ring) => ring.in_use / ring.blocks)) : 0;
      const running = /running|starting/.test(this.status.state);
      const done = progress.total_data_s ? ` of ${tautline.duration(progress.total_data_s)}` : "";
      const of = (count, all, verb) => all === 1 ? (count ? verb : `not ${verb}`) : `${count} of ${all} ${verb}`;
      const youngest = (list) => Math.min(...list.map((one) => one.unchanged_s));
      const tiles = [
        ["Real-time factor", factor(progress.recent_real_time_factor), `${factor(progress.real_time_factor)} since the start`],
        ["Data taken", tautline.duration(Number(progress.data_s.toPrecision(4))) + done, `last ${age(progress.unchanged_s)}`],
      ];
      if (sources.length)
        tiles.push(["Sources", over ? "finished" : of(receiving, sources.length, "receiving"), `last ${age(youngest(sources))}`, running && dead > 0]);
      if (files.length) {
        const seen = files.filter((file) => file.exists);
        tiles.push(["Outputs", of(writing, files.length, "writing"),
                    seen.length ? `${tautline.bytes(files.reduce((sum, file) => sum + file.bytes, 0))}, last ${age(youngest(seen))}` : "nothing on the disk yet"]);
      }
      tiles.push(["Fullest ring", tautline.percent(fill, 3), `${tautline.counted(rings.length, "ring")}`]);
      tiles.push(["Losses", tautline.count(lost), losses.length ? `in ${tautline.counted(losses.length, "kind")}` : "none counted", lost > 0]);
      tiles.push(["Processor", this.cores == null ? "–" : `${this.cores.toFixed(2)} cores`, `${tautline.bytes(process.memory_bytes)} of memory`]);
      return tiles;
    }

    nodes() {
      const devices = this.status.nodes.some((node) => node.device_load > 0);
      const counted = (node) => Object.entries(node.counters).filter(([, count]) => count > 0)
        .map(([name, count]) => `${name.replace(/_/g, " ")} ${tautline.count(count)}`).join(", ");
      return table("Nodes", ["node", "thread", "load", ...(devices ? ["device's load"] : []), "does now", "blocks", "last moved", "counters"],
        this.status.nodes.map((node) => [node.node, node.lane, node.load == null ? "–" : bar(node.load, tautline.percent(node.load, 2)),
          ...(devices ? [bar(node.device_load, tautline.percent(node.device_load || 0, 2))] : []),
          node.activity + (node.activity_s >= 1 && node.activity !== "finished" ? `, ${tautline.duration(Math.round(node.activity_s))}` : ""),
          tautline.count(node.blocks), node.blocks || counted(node) ? age(node.unchanged_s) : "not yet", counted(node) || "–"]));
    }

    rings() {
      return table("Rings", ["from", "to", "blocks in use", "dropped"], this.status.rings.map((ring) => [
        ring.from, ring.to, bar(ring.in_use / ring.blocks, `${ring.in_use} of ${ring.blocks}`, ring.in_use >= ring.blocks),
        ring.policy === "wait" ? "–" : tautline.count(ring.dropped)]));
    }

    losses() {
      return table("Losses", ["node", "what", "count", "last"], this.status.losses.map((loss) => [
        loss.node, loss.kind.replace(/_/g, " "), tautline.count(loss.count), age(loss.unchanged_s)]));
    }

    files() {
      return table("Outputs", ["node", "file", "on the disk", "written", "free"], this.status.files.map((file) => [
        file.node, file.path.split("/").pop(), file.exists ? tautline.bytes(file.bytes) : "not there yet",
        file.writing ? "writing" : file.exists ? age(file.unchanged_s) : "–", tautline.bytes(file.free_bytes)]));
    }
  };
})(globalThis.tautline = globalThis.tautline || {});
