// Small makers of page elements. Text goes in as text, never as HTML: names come from files.
(function (tautline) {
  "use strict";

  /** element("div.card", {title: "..."}, child, "text", ...) */
  tautline.element = function (kind, attributes, ...children) {
    const [tag, ...classes] = kind.split(".");
    const made = document.createElement(tag);
    if (classes.length) made.className = classes.join(" ");
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== false && value != null) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child != null));
    return made;
  };

  /** A select of [{group, value, text}] with buttons for the previous and the next. */
  tautline.Picker = class {
    constructor(label, onPick) {
      const { element } = tautline;
      this.select = element("select", { "aria-label": label, onchange: () => this.pick(this.value) });
      this.onPick = onPick;
      this.root = element("div.picker", {},
        element("span.picker-label", {}, label),
        element("button", { type: "button", title: "Previous", "aria-label": `Previous ${label}`,
                            onclick: () => this.step(-1) }, "‹"),
        this.select,
        element("button", { type: "button", title: "Next", "aria-label": `Next ${label}`,
                            onclick: () => this.step(1) }, "›"));
    }

    fill(items) {
      const groups = new Map();
      for (const item of items) {
        if (!groups.has(item.group)) groups.set(item.group, []);
        groups.get(item.group).push(item);
      }
      const option = (item) => tautline.element("option", { value: item.value }, item.text);
      this.select.replaceChildren(...[...groups].flatMap(([name, members]) =>
        name ? [tautline.element("optgroup", { label: name }, ...members.map(option))]
             : members.map(option)));
    }

    get value() { return Number(this.select.value); }

    /** Of the item that is chosen. */
    get text() { return this.select.selectedOptions.length ? this.select.selectedOptions[0].textContent : ""; }

    /** Chooses the item of this text without a word to anybody; false: there is none. */
    choose(text) {
      const found = [...this.select.options].find((option) => option.textContent === text);
      if (found) this.select.value = found.value;
      return Boolean(found);
    }

    pick(value) {
      this.select.value = value;
      this.onPick(value);
    }

    step(by) {
      const options = this.select.options;
      if (!options.length) return;
      const next = (this.select.selectedIndex + by + options.length) % options.length;
      this.pick(Number(options[next].value));
    }
  };

  /** A row of buttons of which one is pressed. */
  tautline.segmented = function (label, choices, chosen, onChoose) {
    const { element } = tautline;
    const buttons = choices.map(([value, text, title]) => element("button", {
      type: "button", title, "aria-pressed": String(value === chosen),
      onclick: (event) => {
        for (const button of buttons) button.setAttribute("aria-pressed", "false");
        event.currentTarget.setAttribute("aria-pressed", "true");
        onChoose(value);
      },
    }, text));
    return element("div.segmented", { role: "group", "aria-label": label }, ...buttons);
  };

  /** A switch that is on or off. */
  tautline.toggle = function (text, title, onToggle) {
    const box = tautline.element("input", { type: "checkbox",
                                            onchange: () => onToggle(box.checked) });
    return tautline.element("label.toggle", { title }, box, text);
  };

  /** A card with a heading, a note beside it and a body. */
  tautline.card = function (title, ...children) {
    const { element } = tautline;
    const note = element("span.note");
    const root = element("figure.card", {},
      element("figcaption", {}, element("span.card-title", {}, title), note), ...children);
    return { root, note };
  };
})(globalThis.tautline = globalThis.tautline || {});
