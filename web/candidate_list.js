// The list of candidates: sorts by any column, takes a mark and a note for each, and gives both back as files.
(function (tautline) {
  "use strict";

  const SHOWN = 500;  // rows of the list
  const MARKS = ["", "pulse", "interference", "unsure"];

  /** Marks and notes by candidate, {mark, note}. The browser keeps them for a page of this id. */
  class Marks {
    constructor(id) {
      this.key = `tautline.marks.${id}`;
      this.all = {};
      try {
        this.all = JSON.parse(localStorage.getItem(this.key)) || {};
        this.kept = true;
      } catch (unavailable) {
        this.kept = false;
      }
    }

    of(index) { return this.all[index] || { mark: "", note: "" }; }

    set(index, change) {
      const one = { ...this.of(index), ...change };
      if (one.mark || one.note) this.all[index] = one;
      else delete this.all[index];
      try {
        localStorage.setItem(this.key, JSON.stringify(this.all));
      } catch (unavailable) {
        this.kept = false;
      }
    }
  }

  const quoted = (text) => /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

  function save(name, text) {
    const link = tautline.element("a", { href: `data:text/csv;charset=utf-8,${encodeURIComponent(text)}`, download: name });
    document.body.append(link);
    link.click();
    link.remove();
  }

  tautline.CandidateList = class {
    constructor(root, onPick) {
      const { element } = tautline;
      this.onPick = onPick;
      this.sorted = { column: "snr", down: true };
      this.note = element("p");
      this.head = element("tr");
      this.body = element("tbody");
      const button = (text, file, kind) => element("button", { type: "button", onclick: () => save(file, this.text(kind)) }, text);
      this.buttons = element("div.controls", {}, button("Download CSV", "candidates.csv", "csv"),
                             button("Download for your_candmaker", "candidates.your.csv", "your"));
      root.append(
        element("div.section-head", {}, element("h2", {}, "List"), this.note, this.buttons),
        element("div.card", {}, element("div.wide-table", {}, element("table", {},
          element("thead", {}, this.head), this.body))));
      // The chosen candidate's mark and note, beside its pictures.
      this.editor = element("span.controls");
    }

    show(message) {
      this.message = message;
      this.marks = new Marks(message.id);
      this.order = message.candidates.map((_, index) => index);
      this.fillHead();
      this.sort();
    }

    /** Name, heading, what is shown, and what it sorts by (if not what the candidate has of that name). */
    columns() {
      const { duration, count, short } = tautline;
      const { sample_s, beams } = this.message;
      const list = [
        { name: "place", title: "#", text: (one, index) => String(index + 1), by: (one, index) => index },
        { name: "snr", title: "S/N", text: (one) => one.snr.toFixed(2) },
        { name: "time_s", title: "time (s)", text: (one) => one.time_s.toFixed(6) },
        { name: "dm", title: "DM (pc cm⁻³)", text: (one) => one.dm.toFixed(3) },
        { name: "width_samples", title: "width (samples)",
          text: (one) => `${one.width_samples} (${duration(one.width_samples * sample_s)})` },
        { name: "members", title: "members", text: (one) => count(one.members) },
      ];
      if (beams) list.push(
        { name: "beam", title: "beam", text: (one) => String(one.beam), hint: (one) => beams[one.beam] },
        { name: "beams", title: "in beams", text: (one) => one.in_many_beams ? `${one.beams} (many)` : String(one.beams) });
      if (this.message.candidates.some((one) => one.filled)) list.push(
        { name: "filled", title: "filled (%)", text: (one) => one.filled ? short(100 * one.filled) : "", by: (one) => one.filled || 0,
          hint: () => "of the values along its sweep, those that stand in for data" });
      if (this.message.candidates.some((one) => one.injected)) list.push(
        { name: "injected", title: "injected", text: (one) => one.injected ? "yes" : "", by: (one) => one.injected ? 1 : 0 });
      return list.concat([
        { name: "mark", title: "mark", by: (one, index) => this.marks.of(index).mark },
        { name: "note", title: "note", by: (one, index) => this.marks.of(index).note }]);
    }

    fillHead() {
      const { element } = tautline;
      this.head.replaceChildren(...this.columns().map((column) => element("th", { "data-column": column.name },
        element("button.sort", { type: "button", onclick: () => this.sortBy(column.name) }, column.title))));
    }

    /** Numbers begin with the largest, text and places with the first; again turns it round. */
    sortBy(name) {
      const first = !["place", "mark", "note"].includes(name);
      this.sorted = { column: name, down: this.sorted.column === name ? !this.sorted.down : first };
      this.sort();
    }

    sort() {
      const { candidates } = this.message;
      const column = this.columns().find((one) => one.name === this.sorted.column);
      const value = (index) => column.by ? column.by(candidates[index], index) : candidates[index][column.name];
      const sign = this.sorted.down ? -1 : 1;
      // Rows without a mark or a note come last either way; equals stay in order of S/N.
      const compare = (a, b) => {
        const x = value(a), y = value(b);
        if (x === y) return a - b;
        if (x === "" || y === "") return x === "" ? 1 : -1;
        return sign * (x < y ? -1 : 1);
      };
      this.order.sort(compare);
      for (const cell of this.head.children) {
        const here = cell.dataset.column === this.sorted.column;
        cell.setAttribute("aria-sort", here ? (this.sorted.down ? "descending" : "ascending") : "none");
      }
      this.fillRows();
    }

    fillRows() {
      const { element, count } = tautline;
      const { candidates } = this.message;
      const columns = this.columns().filter((column) => column.text);
      this.rows = new Map();
      this.body.replaceChildren(...this.order.slice(0, SHOWN).map((index) => {
        const one = candidates[index];
        const row = element("tr", { onclick: () => this.onPick(index), style: "cursor: pointer" },
          ...columns.map((column) => element("td", { title: column.hint && column.hint(one) }, column.text(one, index))),
          ...this.controls(index).map((control) => element("td", { onclick: (event) => event.stopPropagation() }, control)));
        this.rows.set(index, row);
        return row;
      }));
      if (this.chosen !== undefined) this.choose(this.chosen);
      this.note.textContent = (candidates.length > SHOWN
        ? `The first ${SHOWN} of ${count(candidates.length)}; downloads have all. ` : "") +
        (this.marks.kept ? "Marks and notes stay in this browser; a download takes them along."
                         : "This browser keeps no marks and notes: download the list before the page is closed.");
      this.buttons.hidden = candidates.length === 0;
    }

    /** A select for the mark and a field for the note. */
    controls(index) {
      const { element } = tautline;
      const { mark, note } = this.marks.of(index);
      const change = (value) => { this.marks.set(index, value); this.refresh(index); };
      const select = element("select", { "aria-label": `Mark of candidate ${index + 1}`,
        onchange: () => change({ mark: select.value }) },
        ...MARKS.map((name) => element("option", { value: name, selected: name === mark && "selected" }, name || "no mark")));
      const field = element("input.remark", { type: "text", value: note, "aria-label": `Note on candidate ${index + 1}`,
        placeholder: "note", onchange: () => change({ note: field.value }) });
      return [select, field];
    }

    /** Both places that show a mark. */
    refresh(index) {
      const { mark, note } = this.marks.of(index);
      const places = [this.rows.get(index), index === this.chosen ? this.editor : null];
      for (const place of places.filter((one) => one)) {
        place.querySelector("select").value = mark;
        place.querySelector("input").value = note;
      }
    }

    choose(index) {
      this.chosen = index;
      for (const [place, row] of this.rows) row.setAttribute("aria-selected", String(place === index));
      this.editor.replaceChildren(...this.controls(index));
    }

    /** The lines of the search's own lists, in the order that is shown, with mark and note: "csv", or "your", whose label
        is 1 for a pulse and 0 else. */
    text(kind) {
      const [header, ...lines] = this.message.lists[kind].trimEnd().split("\n");
      const labelled = (line, mark) => kind !== "your" ? line
        : line.replace(/,\d+,([^,]*,\d+)$/, `,${mark === "pulse" ? 1 : 0},$1`);
      return [`${header},mark,note`, ...this.order.map((index) => {
        const { mark, note } = this.marks.of(index);
        return `${labelled(lines[index], mark)},${mark},${quoted(note)}`;
      })].join("\n") + "\n";
    }
  };
})(globalThis.tautline = globalThis.tautline || {});
