"""What is run in a page to find what may be clicked, and to click it. Each is an expression whose
value is JSON; elements are named by their path, the places among the children of each ancestor."""

from __future__ import annotations

import json
from collections.abc import Sequence

_COMMON = """
  const words = (e, most) => String(e.textContent || e.value || e.getAttribute("aria-label") || "")
    .slice(0, 4 * most).replace(/\\s+/g, " ").trim().slice(0, most);
  const path = e => {
    const way = [];
    for (; e.parentElement; e = e.parentElement) way.push([...e.parentElement.children].indexOf(e));
    return way.reverse();
  };
  const at = way => way.reduce((e, k) => e && e.children[k], document.documentElement);
  const kind = e => e.tagName.slice(0, 40) + "." + (e.getAttribute("class") || "").slice(0, 40);
  const way = e => {
    const names = [];
    for (let n = 0; e && n < 4; e = e.parentElement, n++) names.push(kind(e));
    return names.join("<");
  };
"""

LINKS = (
    """(() => {"""
    + _COMMON
    + """
  const found = {};
  let count = 0;
  for (const e of document.querySelectorAll("a[href]")) {
    if (count >= 2000) break;
    if (!/^https?:/.test(e.href) || e.href.length > 2000 || e.href in found) continue;
    found[e.href] = words(e, 200);
    count++;
  }
  return found;
})()"""
)
"""URL → words of its first link, of the first 2,000."""

_CONTROLS = (
    _COMMON
    + """
  const NO_ITEM = new Set(["P", "BR", "SPAN", "B", "I", "EM", "OPTION", "SCRIPT", "STYLE", "LINK",
    "META", "TEMPLATE", "HR", "BUTTON", "INPUT", "PATH"]);
  const repeats = e => {
    if (e.tagName === "FORM") return false;  // its fields may be called `children`
    const [a, b, c] = [...e.children].slice(-4);
    return !!c && a.tagName === b.tagName && b.tagName === c.tagName && !NO_ITEM.has(a.tagName);
  };
  const holds = e => [e, ...[...e.querySelectorAll("*")].slice(0, 40)].some(repeats);
  const follows = e => {
    for (let n = 0; e && e !== document.body && n < 4; e = e.parentElement, n++) {
      const before = [];
      for (let s = e.previousElementSibling; s && before.length < 4; s = s.previousElementSibling)
        before.push(s);
      if (before.slice(0, 2).some(holds)) return true;
      const names = before.map(s => s.tagName).filter(name => !NO_ITEM.has(name));
      if (names.length > 2 && names.slice(0, 3).every(name => name === names[0])) return true;
    }
    return false;
  };
  const often = {};
  const controls = [...document.querySelectorAll(
    'button,[role=button],input[type=button],a:not([href]),a[href="#"],a[href^="javascript:"]'
  )].slice(0, 2000).filter(e => {
    const said = words(e, 41);
    often[said] = (often[said] || 0) + 1;
    return said.length < 41 && !e.disabled && e.getClientRects().length
      && !e.closest("form,[role=dialog],[aria-hidden=true]");
  }).filter(e => often[words(e, 41)] < 3);
"""
)

CONTROLS = (
    """(() => {"""
    + _CONTROLS
    + """
  return controls.filter(e => !e.closest("header") && follows(e)).slice(-20).reverse()
    .map(e => ({path: path(e), words: words(e, 40), kind: way(e)}));
})()"""
)
"""Buttons, and links to nowhere, that stand behind a list, outside of forms; the last one first."""

ITEMS = (
    """(() => {"""
    + _CONTROLS
    + """
  const NO_LIST = new Set(["P", "BR", "OPTION", "SCRIPT", "STYLE", "LINK", "META", "TEMPLATE", "HR",
    "DT", "DD", "TD", "TH", "LABEL", "INPUT", "H1", "H2", "H3", "H4", "H5", "H6", "CODE", "B", "I",
    "EM", "STRONG", "SUP", "SUB", "G", "PATH", "SOURCE", "COL", "BUTTON"]);
  const lists = [];
  for (const list of [...document.body.querySelectorAll("*:not(form)")].slice(0, 5000)) {
    if (list.children.length < 3 || list.children.length > 1000) continue;
    const count = {};
    for (const {tagName} of list.children) count[tagName] = (count[tagName] || 0) + 1;
    const name = Object.keys(count).reduce((a, b) => count[a] >= count[b] ? a : b);
    if (count[name] < 3 || NO_LIST.has(name)) continue;
    if (list.closest("a[href],form,svg,select,p,pre,[role=dialog]")) continue;
    if (list.querySelector("a[href]")) continue;
    const same = [...list.children].filter(e => e.tagName === name);
    const items = same.map(e => [path(e), words(e, 200)])
      .filter(([, said]) => said.length > 2).slice(0, 60);
    if (new Set(items.map(([, said]) => said)).size < 3) continue;
    const length = items.reduce((n, [, said]) => n + said.length, 0);
    lists.push({items, kind: way(same[0]), length});
  }
  lists.sort((a, b) => b.length - a.length).splice(3);
  const inside = e => lists.some(({items}) => items.some(([way]) => at(way).contains(e)));
  const others = controls.filter(e => words(e, 3).length > 2 && !follows(e) && !inside(e));
  for (const e of others.slice(0, 6)) lists.push({items: [[path(e), words(e, 200)]], kind: way(e)});
  return lists.map(({items, kind}) => ({items, kind}));
})()"""
)
"""Lists of three or more items of one kind without a link, those with the most words first; then
buttons that stand behind no list, each alone."""

ADDRESS = "[location.href, navigation.currentEntry ? navigation.currentEntry.index : 0]"
"""Where the page is, and how many addresses lie before it."""

BACK = "history.back()"


def click(path: Sequence[int]) -> str:
    """Click on what stands at a path; false where nothing does. A click is seen by all that it
    stands in, so it is on the heading or the first thing inside."""
    return f"""(() => {{{_COMMON}
  const e = at({json.dumps([*path])});
  if (!e) return false;
  const inner = e.matches("button,a,input") ? e : e.querySelector("h1,h2,h3,h4,h5,h6,img,button,a");
  (inner || e.children[0] || e).click();
  return true;
}})()"""


def words_at(path: Sequence[int]) -> str:
    """What stands at a path, as `ITEMS` say it; null where nothing does."""
    return f"""(() => {{{_COMMON}
  const e = at({json.dumps([*path])});
  return e ? words(e, 200) : null;
}})()"""
