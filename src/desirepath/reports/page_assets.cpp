#include "desirepath/reports/page_assets.h"

namespace desirepath::inline reports {

// The figures' own inks are attributes, which any rule wins over: so one picture serves light, dark and paper.
std::string_view page_style() {
  return R"css(
:root { color-scheme: light dark; --ink: #1b2330; --quiet: #566072; --line: #dfe3ea; --faint: #eef1f5; --page: #f5f6f8;
  --card: #ffffff; --accent: #005a8f; --mark: #fff3cf; --head: #10243e; --head-ink: #ffffff; --head-quiet: #c9d7ea; --bar: #e69f00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8ebf0; --quiet: #a9b3c3; --line: #323b49; --faint: #232a36; --page: #11151b; --card: #191f28;
    --accent: #7cc4f2; --mark: #3d3416; --head: #0b1523; --head-quiet: #b4c5da; }
}
* { box-sizing: border-box; }
html { font-size: clamp(100%, .45vw + 11px, 145%); scroll-padding-top: 1rem; }
body { margin: 0; font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; color: var(--ink);
  background: var(--page); overflow-wrap: break-word; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: 1rem; top: -4rem; z-index: 3; padding: .5rem 1rem; background: var(--card); color: var(--accent);
  border-radius: 0 0 6px 6px; }
.skip:focus { top: 0; }
.banner { background: var(--head); color: var(--head-ink); border-bottom: 5px solid var(--bar); }
.banner > div { max-width: 76rem; margin: 0 auto; padding: 2.6rem 1.4rem 2rem; }
h1 { margin: 0; font-size: clamp(1.65rem, 4.4vw, 2.6rem); line-height: 1.15; letter-spacing: -.015em; text-wrap: balance; }
.banner p { margin: .6rem 0 0; color: var(--head-quiet); max-width: 46rem; }
.headline { display: flex; flex-wrap: wrap; gap: 1rem 2.8rem; margin: 1.6rem 0 0; padding: 0; list-style: none; }
.headline b { display: block; font-size: 1.9rem; line-height: 1.1; font-weight: 650; font-variant-numeric: tabular-nums; }
.headline span { color: var(--head-quiet); font-size: .92rem; }
.columns { max-width: 76rem; margin: 0 auto; padding: 0 1.4rem; display: grid; grid-template-columns: minmax(0, 1fr); }
.contents { margin-top: 1.4rem; font-size: .95rem; }
.contents h2 { margin: 0 0 .3rem; font-size: .82rem; text-transform: uppercase; letter-spacing: .08em; color: var(--quiet); }
.contents ol { margin: 0; padding: 0; list-style: none; columns: 15rem; column-gap: 1.6rem; }
.contents li { break-inside: avoid; }
.contents a { display: block; padding: .28rem 0; text-decoration: none; }
.contents a:hover { text-decoration: underline; }
section { margin-top: 2.6rem; }
section > h2 { margin: 0 0 .3rem; font-size: 1.55rem; line-height: 1.25; letter-spacing: -.01em; text-wrap: balance; }
h3 { margin: 0; font-size: 1rem; color: var(--quiet); font-weight: 600; }
p { margin: .5rem 0; max-width: 46rem; }
.lead { font-size: 1.12rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.2rem 1.2rem; margin: 1.1rem 0; }
.finding { margin: .15rem 0 .8rem; font-size: 1.12rem; font-weight: 620; line-height: 1.45; }
.points { margin: .8rem 0 0; padding: 0; list-style: none; counter-reset: point; }
.points li { counter-increment: point; display: grid; grid-template-columns: 2.4rem minmax(0, 1fr); padding: .55rem 0;
  border-top: 1px solid var(--line); font-size: 1.06rem; }
.points li:first-child { border-top: 0; }
.points li::before { content: counter(point); color: var(--accent); font-weight: 700; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; max-width: 100%; scrollbar-width: thin; }
.picture svg { display: block; width: 100%; min-width: 34rem; height: auto; }
.reading, .basis { color: var(--quiet); font-size: .92rem; margin: .6rem 0 0; }
.reading b { color: var(--ink); font-weight: 600; }
.notes { color: var(--quiet); font-size: .92rem; margin: .6rem 0 0; padding-left: 1.1rem; max-width: 46rem; }
details { margin-top: .8rem; }
summary { cursor: pointer; color: var(--accent); width: fit-content; padding: .15rem 0; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; margin-top: .5rem; }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem; }
th, td { padding: .32rem 1rem .32rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { vertical-align: bottom; font-weight: 600; } tbody th { vertical-align: top; font-weight: 400; }
td, tbody th { min-width: 4rem; max-width: 30rem; overflow-wrap: break-word; } td.w, tbody th.w { min-width: 15rem; overflow-wrap: anywhere; }
.n { text-align: right; min-width: 0; white-space: nowrap; }
tbody tr:hover { background: var(--faint); }
th button { font: inherit; font-weight: 600; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; text-align: inherit; }
th button::after { content: "\2195"; padding-left: .3em; color: var(--quiet); font-weight: 400; }
th[aria-sort=ascending] button::after { content: "\2191"; }
th[aria-sort=descending] button::after { content: "\2193"; }
.chooser { margin: .2rem 0 .9rem; }
.chooser label { display: block; font-weight: 600; margin-bottom: .3rem; }
.paths select { max-width: min(100%, 30rem); }
.chooser select, .paths select { font: inherit; color: inherit; background: var(--page); border: 1px solid var(--quiet); border-radius: 6px;
  padding: .4rem .6rem; max-width: 100%; }
.chosen { margin: .8rem 0 0; display: grid; grid-template-columns: minmax(7rem, max-content) minmax(0, 1fr); gap: .25rem 1.2rem;
  background: var(--faint); border-left: 4px solid var(--bar); border-radius: 0 8px 8px 0; padding: .8rem 1rem; }
.chosen dt { color: var(--quiet); } .chosen dd { margin: 0; overflow-wrap: anywhere; }
.paths { margin: .2rem 0 .9rem; } .paths label { font-weight: 600; margin-right: .5rem; }
.about { color: var(--quiet); font-size: .92rem; border-top: 1px solid var(--line); margin-top: 3rem; }
.about > div { max-width: 76rem; margin: 0 auto; padding: 1.2rem 1.4rem 3rem; }
.ribbon, .node { transition: opacity .15s, fill-opacity .15s; } .ribbon:hover { fill-opacity: .9; }
svg.following .ribbon:not(.followed), svg.following .node:not(.followed) { opacity: .12; }
@media (min-width: 70rem) {
  .columns { grid-template-columns: 13.5rem minmax(0, 1fr); column-gap: 2.6rem; }
  .contents { position: sticky; top: 0; align-self: start; margin: 0; padding: 2.6rem 0 1rem; max-height: 100vh; overflow-y: auto; }
  .contents ol { columns: auto; border-left: 2px solid var(--line); padding-left: .9rem; }
}
@media (max-width: 30rem) {
  .columns, .banner > div, .about > div { padding-left: .9rem; padding-right: .9rem; }
  .card { padding: .9rem .8rem 1rem; } .finding { font-size: 1rem; } .lead { font-size: 1.05rem; } .chosen { grid-template-columns: minmax(0, 1fr); gap: 0; } .chosen dd { margin-bottom: .5rem; }
}
@media (prefers-color-scheme: dark) {
  .picture [fill="#222222"], .picture [fill="#000000"].ink { fill: #e8ebf0; }
  .picture [fill="#555555"], .picture [fill="#444444"], .picture [fill="#666666"] { fill: #b3bdcc; }
  .picture [fill="#E3E3E3"], .picture [fill="#EEEEEE"], .picture [fill="#F2F2F2"], .picture [fill="#F5F5F5"] { fill: #2c3542; }
  .picture [stroke="#222222"] { stroke: #e8ebf0; } .picture [stroke="#555555"], .picture [stroke="#444444"] { stroke: #95a0b1; }
  .picture [stroke="#E3E3E3"], .picture [stroke="#EEEEEE"] { stroke: #343e4d; }
  .picture [fill="#C9C9C9"] { fill: #5b6675; } .picture [fill="#A34700"] { fill: #f0a35e; }
  .picture [stroke="#FFFFFF"] { stroke: #191f28; } .picture circle[fill="#FFFFFF"], .picture .paper { fill: #191f28; }
}
@media (prefers-reduced-motion: reduce) { * { transition: none !important; scroll-behavior: auto !important; } }
@media print {
  @page { margin: 16mm 14mm; }
  :root { --ink: #000000; --quiet: #3c3c3c; --line: #cccccc; --faint: #f4f4f4; --page: #ffffff; --card: #ffffff; --accent: #003f66;
    --head: #ffffff; --head-ink: #000000; --head-quiet: #3c3c3c; }
  html { font-size: 10pt; } .columns { display: block; padding: 0; } .banner > div, .about > div { padding: 0 0 1rem; }
  .contents { position: static; padding: 0; max-height: none; } .contents ol { columns: 2; border: 0; padding: 0; }
  .skip, .chooser, .paths { display: none; } .card { border: 0; padding: 0; }
  .scroll { overflow: visible; } .picture svg { min-width: 0; max-height: 215mm; } .picture, .finding, h2, h3 { break-inside: avoid; }
  h2, h3, .finding, caption { break-after: avoid; } tr { break-inside: avoid; } table { font-size: 8.5pt; }
  td.w, tbody th.w, td, tbody th { min-width: 0; overflow-wrap: anywhere; } th button::after { content: ""; }
}
)css";
}

std::string_view page_script() {
  return R"js(
"use strict";
for (const table of document.querySelectorAll("table.sorts")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending" || (!head.hasAttribute("aria-sort") && !head.classList.contains("n"));
      const key = row => { const cell = row.cells[column]; return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v); };
      const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : typeof a === "number" ? -1
        : typeof b === "number" ? 1 : a.localeCompare(b);
      const rows = [...table.tBodies[0].rows].sort((a, b) => (up ? 1 : -1) * order(key(a), key(b)));
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      table.tBodies[0].append(...rows);
    });
  });
}
for (const table of document.querySelectorAll("table[data-chooser]")) {
  const box = document.createElement("div"), label = document.createElement("label"), select = document.createElement("select");
  const shown = document.createElement("dl"), rows = [...table.tBodies[0].rows], heads = [...table.tHead.rows[0].cells];
  box.className = "chooser";
  shown.className = "chosen";
  shown.setAttribute("aria-live", "polite");
  shown.hidden = true;
  label.textContent = table.dataset.chooser;
  select.id = table.id + "-chooser";
  label.htmlFor = select.id;
  select.append(new Option("…", ""), ...rows.map((row, i) => new Option(row.cells[0].textContent, i)));
  select.addEventListener("change", () => {
    shown.replaceChildren();
    shown.hidden = select.value === "";
    if (shown.hidden) return;
    heads.forEach((head, column) => {
      const name = document.createElement("dt"), value = document.createElement("dd");
      name.textContent = head.textContent;
      value.textContent = rows[Number(select.value)].cells[column].textContent;
      shown.append(name, value);
    });
  });
  box.append(label, select, shown);
  (table.closest("details") || table.closest(".scroll")).before(box);
}
for (const svg of new Set([...document.querySelectorAll("svg .ribbon")].map(ribbon => ribbon.ownerSVGElement))) {
  const ribbons = [...svg.querySelectorAll(".ribbon")], nodes = [...svg.querySelectorAll(".node")];
  const follow = start => {
    const on = start !== "", reached = new Set([start]);
    for (let before = 0; on && before !== reached.size;) {
      before = reached.size;
      for (const ribbon of ribbons) if (reached.has(ribbon.dataset.from)) reached.add(ribbon.dataset.to);
    }
    svg.classList.toggle("following", on);
    for (const ribbon of ribbons) ribbon.classList.toggle("followed", on && reached.has(ribbon.dataset.from));
    for (const node of nodes) node.classList.toggle("followed", on && reached.has(node.dataset.node));
  };
  const box = document.createElement("div"), label = document.createElement("label"), select = document.createElement("select");
  box.className = "paths";
  label.textContent = document.body.dataset.follow;
  select.id = svg.closest("article").id + "-follow";
  label.htmlFor = select.id;
  const names = new Map();
  for (const node of nodes) if (node.querySelector("title")) names.set(node.dataset.node, node.querySelector("title").textContent);
  select.append(new Option("\u2026", ""), ...[...names].map(([number, name]) => new Option(name, number)));
  select.addEventListener("change", () => follow(select.value));
  for (const node of nodes) {
    node.addEventListener("mouseenter", () => follow(node.dataset.node));
    node.addEventListener("mouseleave", () => follow(select.value));
  }
  box.append(label, select);
  svg.closest(".scroll").before(box);
}
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details"))
    if (details.querySelectorAll("tr").length <= 14) details.open = true;
});
)js";
}

}  // namespace desirepath::inline reports
