#include "desirepath/reports/html_page.h"

#include <cmath>

#include "desirepath/core/text.h"
#include "desirepath/core/version.h"
#include "desirepath/reports/svg.h"

namespace desirepath::inline reports {

namespace {

constexpr std::string_view style = R"css(
:root { color-scheme: light; --ink: #1d2330; --quiet: #5a6372; --line: #e2e5ea; --accent: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0; font: 17px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; color: var(--ink); background: #f6f7f9; }
header { background: #10243e; color: #fff; padding: 2.6rem 0 2rem; }
header > div, main, footer { max-width: 860px; margin: 0 auto; }
header > div { padding: 0 1.2rem; }
h1 { margin: 0; font-size: clamp(1.6rem, 5vw, 2.4rem); line-height: 1.2; }
header p { margin: .5rem 0 0; color: #cfdaea; }
.headline { display: flex; flex-wrap: wrap; gap: .8rem 2.4rem; margin-top: 1.4rem; }
.headline div { display: flex; flex-direction: column; }
.headline b { font-size: 1.7rem; line-height: 1.1; }
.headline span { color: #cfdaea; font-size: .9rem; }
main { padding: .4rem 1.2rem 1rem; }
h2 { margin: 2.2rem 0 .4rem; font-size: 1.45rem; }
h3 { margin: 0; font-size: 1.05rem; color: var(--quiet); font-weight: 600; }
article { background: #fff; border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.2rem; margin: 1rem 0; }
.finding { margin: .2rem 0 .8rem; font-size: 1.12rem; font-weight: 600; }
.scroll { overflow-x: auto; }
.scroll svg { display: block; width: 100%; min-width: 520px; height: auto; }
.basis { margin: .5rem 0 0; color: var(--quiet); font-size: .88rem; }
details { margin-top: .6rem; } summary { cursor: pointer; color: var(--accent); font-size: .92rem; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; margin-top: .5rem; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { padding: .22rem .8rem .22rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
td:not(.n) { min-width: 5.5rem; }
td.n { white-space: nowrap; }
th.n, td.n { text-align: right; }
footer { padding: 1rem 1.2rem 3rem; color: var(--quiet); font-size: .88rem; }
@media print { body { background: #fff; font-size: 11pt; } header { background: none; color: #000; padding: 0 0 1rem; }
  header p, .headline span { color: #333; } article { break-inside: avoid; border: none; padding: 0; } details, .scroll { overflow: visible; } }
)css";

std::string cell_text(const Cell& cell, int decimals) {
  if (const auto* text = std::get_if<std::string>(&cell)) return escaped(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return with_separators(*whole);
  if (const auto* real = std::get_if<double>(&cell); real && std::isfinite(*real)) return fixed(*real, decimals);
  return "–";
}

std::string render_table(const Table& table, const std::string& caption) {
  std::string html = "<div class=\"scroll\"><table>";
  if (!caption.empty()) html += concat("<caption>", escaped(caption), "</caption>");
  html += "<thead><tr>";
  std::vector<bool> numeric(table.columns().size(), false);
  for (const auto& row : table.rows()) {
    for (std::size_t c = 0; c < row.size(); ++c)
      numeric[c] = numeric[c] || row[c].index() >= 2;
  }
  for (std::size_t c = 0; c < numeric.size(); ++c) {
    html +=
        concat("<th scope=\"col\"", numeric[c] ? " class=\"n\"" : "", ">", escaped(table.columns()[c].name), "</th>");
  }
  html += "</tr></thead>\n<tbody>";
  for (const auto& row : table.rows()) {
    html += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) {
      html += concat(numeric[c] ? "<td class=\"n\">" : "<td>", cell_text(row[c], table.columns()[c].decimals), "</td>");
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string render_figure(const Figure& figure) {
  return concat("<article id=\"", escaped(figure.name), "\"><h3>", escaped(figure.title),
                "</h3>\n<p class=\"finding\">", escaped(figure.finding), "</p>\n<div class=\"scroll\">", figure.svg,
                "</div>\n<p class=\"basis\">", escaped(figure.basis),
                "</p>\n<details><summary>The same as a table</summary>", render_table(figure.table, ""),
                "</details></article>\n");
}

}  // namespace

std::string render_html(const Page& page) {
  std::string html =
      concat("<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n",
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>", escaped(page.title),
             "</title>\n<style>", style, "</style></head>\n<body>\n<header><div><h1>", escaped(page.title),
             "</h1>\n<p>", escaped(page.subtitle), "</p>\n");
  if (!page.headline.empty()) {
    html += "<div class=\"headline\">";
    for (const auto& [number, what] : page.headline) {
      html += concat("<div><b>", escaped(number), "</b><span>", escaped(what), "</span></div>");
    }
    html += "</div>";
  }
  html += "</div></header>\n<main>\n";
  for (const PageSection& section : page.sections) {
    html += concat("<section><h2>", escaped(section.title), "</h2>\n");
    if (!section.text.empty()) html += concat("<p>", escaped(section.text), "</p>\n");
    for (const Figure& figure : section.figures)
      html += render_figure(figure);
    for (const auto& [caption, table] : section.tables)
      html += concat("<article>", render_table(table, caption), "</article>\n");
    html += "</section>\n";
  }
  html += concat("</main>\n<footer>", escaped(page.footer), " Made by desirepath ", version,
                 ".</footer>\n</body>\n</html>\n");
  return html;
}

}  // namespace desirepath::inline reports
