// Puts the panels on the page and feeds them. tautline.receive(message) is the one entrance, for the
// messages that a report holds and for those that a live monitor streams.
(function (tautline) {
  "use strict";

  function themeNow() {
    const chosen = document.documentElement.dataset.theme;
    if (chosen) return chosen;
    return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }

  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    const { element } = tautline;
    document.getElementById("theme").replaceChildren(...(theme === "dark"
      ? ["☀", element("span", {}, " Light")] : ["☾", element("span", {}, " Dark")]));
  }

  /** Marks the section under the reader's eyes in the navigation. */
  function followSections() {
    const links = [...document.querySelectorAll("nav a")];
    const mark = () => {
      let here = links[0];
      for (const link of links) {
        const section = document.querySelector(link.getAttribute("href"));
        if (!section.hidden && section.getBoundingClientRect().top < 120) here = link;
      }
      if (innerHeight + scrollY >= document.body.scrollHeight - 4 && scrollY > 0) here = links[links.length - 1];
      for (const link of links) link.classList.toggle("here", link === here);
    };
    addEventListener("scroll", mark, { passive: true });
    mark();
  }

  tautline.startPage = function () {
    setTheme(themeNow());
    const store = new tautline.Store();
    const at = (id) => document.getElementById(id);
    const header = new tautline.Header(at("top"), store);
    const run = new tautline.RunPanel(at("run"), store);
    const panels = [
      new tautline.FringePanel(at("fringes"), store),
      new tautline.SpectrumPanel(at("spectra"), store),
      new tautline.ClosurePanel(at("closures"), store),
      new tautline.QualityPanel(at("quality"), store),
    ];
    const redraw = () => { for (const panel of panels) panel.redraw(); };
    at("theme").addEventListener("click", () => {
      setTheme(themeNow() === "dark" ? "light" : "dark");
      redraw();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
      setTheme(event.matches ? "dark" : "light");
      redraw();
    });
    addEventListener("resize", redraw);
    followSections();

    // Messages that come in a burst are drawn once.
    let waiting = false;
    const draw = () => {
      waiting = false;
      if (!store.description) return;
      header.update();
      run.update();
      for (const panel of panels) panel.draw();
    };
    store.onChange((type) => {
      if (type === "description") for (const panel of panels) panel.describe();
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(draw);
    });
    tautline.receive = (message) => store.receive(message);
    return store;
  };
})(globalThis.tautline = globalThis.tautline || {});
