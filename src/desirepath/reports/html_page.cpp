#include "desirepath/reports/html_page.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/text.h"
#include "desirepath/core/version.h"
#include "desirepath/reports/page_assets.h"
#include "desirepath/reports/report_words.h"
#include "desirepath/reports/svg.h"

namespace desirepath::inline reports {

namespace {

constexpr std::string_view policy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// An element with text in it, or nothing where there is none. A text decides itself which way it runs.
std::string element(std::string_view name, std::string_view attributes, const std::string& text) {
  if (text.empty()) return {};
  return concat("<", name, attributes.empty() ? "" : " ", attributes, " dir=\"auto\">", escaped(text), "</", name,
                ">\n");
}

/// The id of a sentence and what was filled in, for programs that check a page.
std::string data_of(const Sentence& sentence) {
  using Json = nlohmann::json;
  const std::string values = Json(sentence.values).dump(-1, ' ', false, Json::error_handler_t::replace);
  return concat(" data-id=\"", escaped(sentence.id), "\"",
                sentence.values.empty() ? std::string() : concat(" data-values=\"", escaped(values), "\""),
                sentence.is_estimate ? " data-estimate" : "");
}

/// Sentences in an element of their own each.
std::string spans(const Paragraph& paragraph) {
  std::string html;
  for (const Sentence& sentence : paragraph.sentences)
    html += concat(html.empty() ? "" : " ", "<span", data_of(sentence), ">", escaped(sentence.text), "</span>");
  return html;
}

std::string element(std::string_view name, std::string_view attributes, const Paragraph& paragraph) {
  if (paragraph.empty()) return {};
  const bool is_one = paragraph.sentences.size() == 1;
  return concat("<", name, attributes.empty() ? "" : " ", attributes, " dir=\"auto\"",
                is_one ? data_of(paragraph.sentences.front()) : "", ">",
                is_one ? escaped(paragraph.sentences.front().text) : spans(paragraph), "</", name, ">");
}

/// What a column is sorted by where its text would not do.
std::string sort_key(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return concat(" data-v=\"", *whole, "\"");
  const auto* real = std::get_if<double>(&cell);
  return real && std::isfinite(*real) ? concat(" data-v=\"", shortest(*real), "\"") : std::string();
}

std::string scrolling(std::string_view style, const std::string& label, const std::string& inside) {
  return concat("<div class=\"scroll", style, "\" tabindex=\"0\" role=\"group\" aria-label=\"", escaped(label), "\">",
                inside, "</div>\n");
}

/// How a cell is set: numbers to the right, long texts with room.
std::string_view style_of(const Cell& cell, const Look& look) {
  constexpr std::size_t long_text = 30;
  if (is_set_as_number(cell, look)) return " class=\"n\"";
  return display_width(cell_text(cell, look)) > long_text ? " class=\"w\"" : "";
}

std::string render_table(const Table& any, const std::string& caption, const std::string& attributes) {
  const Table table = any.shown(Rendering::text);
  const auto rows = table.rows();
  std::string html = concat("<table", rows.size() > 2 ? " class=\"sorts\"" : "", attributes, "><caption dir=\"auto\">",
                            escaped(caption), "</caption><thead><tr>");
  std::vector<std::string_view> styles;
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    const Column& column = table.columns()[c];
    std::string_view& style = styles.emplace_back();
    for (const auto& row : rows)
      style = style.empty() || is_set_as_number(row[c], column.look) ? style_of(row[c], column.look) : style;
    html += concat("<th scope=\"col\"", style, ">", escaped(column.title()), "</th>");
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    html += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) {
      const Look& look = table.columns()[c].look;
      html += concat(c == 0 ? "<th scope=\"row\"" : "<td", styles[c],
                     is_set_as_number(row[c], look) ? sort_key(row[c]) : " dir=\"auto\"", ">",
                     escaped(cell_text(row[c], look, "–")), c == 0 ? "</th>" : "</td>");
    }
    html += "</tr>\n";
  }
  return scrolling("", caption, html + "</tbody></table>");
}

std::string folded(std::string_view what, const std::string& inside) {
  return concat("<details><summary>", escaped(what), "</summary>\n", inside, "</details>\n");
}

std::string render_reading(const Paragraph& reading) {
  if (reading.empty()) return {};
  return concat("<p class=\"reading\" dir=\"auto\"><b>", escaped(words::how_to_read), "</b> ", spans(reading),
                "</p>\n");
}

std::string render_figure(const PageFigure& entry) {
  const Figure& figure = entry.figure;
  return concat(
      "<article class=\"card\" id=\"figure-", escaped(figure.name), "\">\n", element("h3", "", figure.title),
      element("p", "class=\"finding\"", figure.finding), "\n", scrolling(" picture", figure.title, figure.svg),
      render_reading(entry.reading), element("p", "class=\"basis\"", figure.basis), "\n",
      figure.table.row_count() > 0 ? folded(words::as_table, render_table(figure.table, figure.title, "")) : "",
      "</article>\n");
}

std::string render_page_table(const PageTable& entry) {
  const std::string attributes =
      concat(" id=\"", escaped(entry.id), "\"",
             entry.chooser.empty() ? std::string() : concat(" data-chooser=\"", escaped(entry.chooser), "\""));
  const std::string table = render_table(entry.table, entry.caption, attributes);
  return concat("<article class=\"card\">\n", entry.is_folded ? element("h3", "", entry.caption) : "",
                entry.is_folded ? folded(words::unfold, table) : table, render_reading(entry.reading), "</article>\n");
}

std::string render_list(std::string_view name, std::string_view style, const std::vector<Paragraph>& items) {
  if (items.empty()) return {};
  std::string html = concat("<", name, " class=\"", style, "\">\n");
  for (const Paragraph& item : items)
    html += concat("<li>", element("span", "", item), "</li>\n");
  return html + concat("</", name, ">\n");
}

std::string render_section(const PageSection& section) {
  std::string html = concat("<section id=\"", escaped(section.id), "\" aria-labelledby=\"", escaped(section.id),
                            "-title\">\n<h2 id=\"", escaped(section.id), "-title\">", escaped(section.title), "</h2>\n",
                            element("p", "class=\"lead\"", section.finding), "\n");
  for (const Paragraph& paragraph : section.text)
    html += concat(element("p", "", paragraph), "\n");
  if (!section.points.empty())
    html += concat("<div class=\"card\">", render_list("ol", "points", section.points), "</div>\n");
  for (const PageFigure& figure : section.figures)
    html += render_figure(figure);
  for (const PageTable& table : section.tables)
    html += render_page_table(table);
  return html + render_list("ul", "notes", section.notes) + "</section>\n";
}

std::string render_contents(const std::vector<PageSection>& sections) {
  std::string html = concat("<nav class=\"contents\" aria-labelledby=\"contents\"><h2 id=\"contents\">",
                            escaped(words::contents), "</h2>\n<ol>\n");
  for (const PageSection& section : sections)
    html += concat("<li><a href=\"#", escaped(section.id), "\">", escaped(section.title), "</a></li>\n");
  return html + "</ol></nav>\n";
}

std::string render_banner(const Page& page) {
  std::string html =
      concat("<header class=\"banner\"><div>", element("h1", "", page.title), element("p", "", page.subtitle), "\n");
  if (!page.headline.empty()) {
    html += "<ul class=\"headline\">\n";
    for (const PageHeadline& entry : page.headline)
      html += concat("<li", data_of({entry.id, entry.number, {entry.number}}), "><b>", escaped(entry.number),
                     "</b> <span>", escaped(entry.what), "</span></li>\n");
    html += "</ul>\n";
  }
  return html + "</div></header>\n";
}

}  // namespace

std::string render_html(const Page& page) {
  std::string html =
      concat("<!doctype html>\n<html lang=\"", words::language, "\">\n<head>\n<meta charset=\"utf-8\">\n",
             "<meta http-equiv=\"Content-Security-Policy\" content=\"", policy, "\">\n",
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" "
             "content=\"light dark\">\n<title>",
             escaped(page.title), "</title>\n<style>", page_style(), "</style>\n</head>\n<body data-follow=\"",
             escaped(words::follow), "\">\n<a class=\"skip\" href=\"#main\">", escaped(words::skip), "</a>\n",
             render_banner(page), "<div class=\"columns\">\n", render_contents(page.sections),
             "<main id=\"main\" tabindex=\"-1\">\n");
  for (const PageSection& section : page.sections)
    html += render_section(section);
  html += concat("</main>\n</div>\n<footer class=\"about\"><div>", element("p", "", page.footer), "\n",
                 element("p", "", sentence_of(words::made_by, {version})), "</div></footer>\n<script>", page_script(),
                 "</script>\n</body>\n</html>\n");
  return html;
}

}  // namespace desirepath::inline reports
