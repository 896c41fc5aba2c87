"""What is run in a page, in a world of its own, which the page's scripts neither see nor change."""

from __future__ import annotations

SIZE = "document.documentElement ? document.documentElement.getElementsByTagName('*').length : 0"
"""How many elements there are: whether the page still changes."""

READY = "document.readyState"

SCROLL = """(() => {
  const page = document.scrollingElement || document.documentElement;
  if (page) page.scrollTo(0, page.scrollHeight);
})()"""
"""To the end, so that lists that load as they are looked at go on."""

DOCUMENT = """(limit => {
  const top = document.documentElement;
  if (!top) return "";
  const hosts = [];
  const look = root => {
    for (const one of root.querySelectorAll("*"))
      if (one.shadowRoot && hosts.length < 2000) { hosts.push(one); look(one.shadowRoot); }
  };
  look(document);
  for (const host of hosts.reverse()) {
    const box = document.createElement("div");
    for (const node of host.shadowRoot.childNodes) box.append(node.cloneNode(true));
    host.append(box);
  }
  return top.outerHTML.slice(0, limit);
})(%d)"""
"""The document as HTML, open shadow trees among the children of their hosts."""

NO_PEERS = """
for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport", "SharedWorker"])
  delete globalThis[name];
"""
"""Run before the page's own scripts: what reaches the network in other ways than by requests."""

NO_SOCKETS = """
globalThis.WebSocket = class WebSocket extends EventTarget {
  static CONNECTING = 0; static OPEN = 1; static CLOSING = 2; static CLOSED = 3;
  CONNECTING = 0; OPEN = 1; CLOSING = 2; CLOSED = 3;
  readyState = 0; bufferedAmount = 0; extensions = ""; protocol = ""; binaryType = "blob";
  onopen = null; onmessage = null; onerror = null; onclose = null;
  constructor(url) { super(); this.url = String(new URL(url, document.baseURI)); }
  send() { throw new DOMException("Still in CONNECTING state", "InvalidStateError"); }
  close() { this.readyState = 3; }
};
"""
"""The same: sockets that never open, of which nobody outside the page hears, however many."""

QUIET = """
for (const name of Object.keys(console))
  if (typeof console[name] === "function") console[name] = () => {};
for (const kind of ["error", "unhandledrejection"])
  addEventListener(kind, event => {
    if (event.target !== globalThis) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);
"""
"""The same: nobody hears what a page prints or where it fails, since that goes through the browser
and its driver, and would take the time of all other pages."""

BEFORE = NO_PEERS + NO_SOCKETS + QUIET
