// The page of a run that goes on: its health, and the report's panels and figures fed by a WebSocket.
(function (tautline) {
  "use strict";

  const { element } = tautline;
  const AGAIN_MS = 1000;  // between two attempts to connect

  tautline.startMonitor = function () {
    const at = (id) => document.getElementById(id);
    const store = new tautline.Store();
    const health = new tautline.HealthPanel(at("head"), at("health"));
    const panels = [
      new tautline.FringePanel(at("fringes"), store,
        " Where integrations come faster than they are drawn, times that were left out are hatched like those without data: the losses above count the latter."),
      new tautline.SpectrumPanel(at("spectra"), store),
      new tautline.ClosurePanel(at("closures"), store),
      new tautline.QualityPanel(at("quality"), store),
    ];
    let figures = new Map();  // by node and title
    let drawn = null;         // the node whose visibilities the panels show
    let fresh = true;         // a connection that has brought nothing yet
    tautline.startTheme(() => {
      if (store.description) for (const panel of panels) panel.redraw();
      for (const figure of figures.values()) figure.redraw();
    });

    /** Another run may be behind the same address. */
    function forget() {
      fresh = false;
      drawn = null;
      store.description = null;
      for (const panel of panels) panel.root.hidden = true;
      figures = new Map();
      at("drawings").replaceChildren();
    }

    let waiting = false;
    store.onChange((type) => {
      if (type === "description") for (const panel of panels) panel.describe();
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        if (store.description) for (const panel of panels) panel.draw();
        tautline.showLinks();
      });
    });

    function draw({ node, message }) {
      if (message.type === "figure") {
        const key = `${node}\n${message.title}`;
        if (!figures.has(key)) {
          const root = element("section");
          at("drawings").append(root);
          figures.set(key, new tautline.LiveFigure(root));
        }
        figures.get(key).show(message);
        tautline.showLinks();
        return;
      }
      if (message.type === "description" && drawn === null) drawn = node;
      if (drawn === node) store.receive(message);
    }

    tautline.receive = function (text) {
      const message = JSON.parse(text);
      if (fresh) forget();
      health.take(message.status);
      tautline.showLinks();
      for (const drawing of message.drawings) draw(drawing);
    };

    function connect() {
      const scheme = location.protocol === "https:" ? "wss" : "ws";
      const socket = new WebSocket(`${scheme}://${location.host}/live${location.search}`);
      socket.onopen = () => { fresh = true; };
      socket.onmessage = (event) => tautline.receive(event.data);
      socket.onclose = () => setTimeout(connect, AGAIN_MS);
    }
    connect();
  };
})(globalThis.tautline = globalThis.tautline || {});
