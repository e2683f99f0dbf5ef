// What every page does beside its content: light or dark, links of the sections, paper.
(function (tautline) {
  "use strict";

  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    const { element } = tautline;
    document.getElementById("theme").replaceChildren(...(theme === "dark"
      ? ["☀", element("span", {}, " Light")] : ["☾", element("span", {}, " Dark")]));
  }

  const sections = () => [...document.querySelectorAll("nav a")]
    .map((link) => [link, document.querySelector(link.getAttribute("href"))]);

  /** Marks the section under the reader's eyes in the navigation. */
  function mark() {
    const shown = sections().filter(([link]) => !link.hidden);
    if (!shown.length) return;
    let here = shown[0][0];
    for (const [link, section] of shown) if (section.getBoundingClientRect().top < 120) here = link;
    if (innerHeight + scrollY >= document.body.scrollHeight - 4 && scrollY > 0) here = shown[shown.length - 1][0];
    for (const [link] of shown) link.classList.toggle("here", link === here);
  }

  /** Links to sections that have nothing to show are hidden with them. */
  tautline.showLinks = function () {
    for (const [link, section] of sections()) link.hidden = section.hidden || !section.hasChildNodes();
    mark();
  };

  /**
   * Light or dark as the reader's system says until the button is pressed. Canvases and charts are pictures of one size
   * and theme: for paper they are drawn anew, light and as wide as the sheet.
   */
  tautline.startTheme = function (redraw) {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const now = () => document.documentElement.dataset.theme;
    const turn = (theme) => { setTheme(theme); redraw(); };
    setTheme(system.matches ? "dark" : "light");
    document.getElementById("theme").addEventListener("click", () => turn(now() === "dark" ? "light" : "dark"));
    system.addEventListener("change", () => turn(system.matches ? "dark" : "light"));
    let before = null;
    addEventListener("resize", () => { if (!before) redraw(); });
    addEventListener("beforeprint", () => {
      before = before || now();
      document.documentElement.classList.add("on-paper");
      turn("light");
    });
    addEventListener("afterprint", () => {
      document.documentElement.classList.remove("on-paper");
      if (before) turn(before);
      before = null;
    });
    addEventListener("scroll", mark, { passive: true });
  };

  /** Of stretches without data, on a light and on a dark page. */
  tautline.gapColour = "rgba(128,128,128,0.35)";
})(globalThis.tautline = globalThis.tautline || {});
