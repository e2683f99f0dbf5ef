// Puts the panels on the page and feeds them. tautline.receive(message) is the one entrance, for the
// messages that a report holds and for those that a live monitor streams.
(function (tautline) {
  "use strict";

  tautline.startPage = function () {
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
    tautline.startTheme(redraw);

    // Messages that come in a burst are drawn once.
    let waiting = false;
    const draw = () => {
      waiting = false;
      if (!store.description) return;
      header.update();
      run.update();
      for (const panel of panels) panel.draw();
      tautline.showLinks();
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
