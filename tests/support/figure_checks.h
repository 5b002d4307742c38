// What holds of every figure: it is XML, its words lie inside and apart and can be read, and it has a twin in numbers.
#pragma once

#include <gtest/gtest.h>
#include <pugixml.hpp>

#include "desirepath/reports/figure.h"
#include "desirepath/reports/svg.h"

namespace desirepath::test {

struct WordBox {
  std::string words;
  double left, right, top, bottom;
};

/// Of all words that are not turned, in a font that is this much narrower than text_width() takes it to be.
inline std::vector<WordBox> word_boxes(const pugi::xml_document& document, double narrow) {
  std::vector<WordBox> boxes;
  for (const auto& found : document.select_nodes("//*[local-name()='text']")) {
    const pugi::xml_node text = found.node();
    if (text.attribute("transform") || *text.text().get() == 0) continue;
    const double x = text.attribute("x").as_double(), y = text.attribute("y").as_double();
    const double size = text.attribute("font-size").as_double();
    const double width = narrow * text_width(text.text().get(), size);
    const std::string anchor = text.attribute("text-anchor").as_string("start");
    const double left = anchor == "end" ? x - width : anchor == "middle" ? x - width / 2 : x;
    boxes.push_back({text.text().get(), left, left + width, y - 0.7 * size, y});
    EXPECT_GE(size, 11) << text.text().get();
  }
  return boxes;
}

inline pugi::xml_document parsed(const Figure& figure) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_string(figure.svg.c_str(), pugi::parse_full);
  EXPECT_TRUE(result) << figure.name << ": " << result.description() << " at " << result.offset;
  return document;
}

inline void expect_sound(const Figure& figure) {
  SCOPED_TRACE(figure.name);
  EXPECT_FALSE(figure.name.empty() || figure.title.empty() || figure.finding.empty() || figure.basis.empty());
  const pugi::xml_document document = parsed(figure);
  const pugi::xml_node svg = document.document_element();
  ASSERT_STREQ(svg.name(), "svg");
  EXPECT_EQ(figure.title, svg.child("title").text().get());
  EXPECT_STREQ(svg.child("rect").attribute("class").as_string(), "paper");
  const double width = svg.attribute("width").as_double(), height = svg.attribute("height").as_double();
  // Inside in any font; apart in a narrow one at least.
  for (const WordBox& box : word_boxes(document, 1)) {
    EXPECT_GE(box.left, 0) << box.words;
    EXPECT_LE(box.right, width) << box.words;
    EXPECT_GE(box.top, 0) << box.words;
    EXPECT_LE(box.bottom, height) << box.words;
  }
  const std::vector<WordBox> boxes = word_boxes(document, 0.8);
  if (figure.table.row_count() > 0) {
    EXPECT_GE(boxes.size(), 4U) << "the words were not found";
  }
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const WordBox& box = boxes[i];
    for (std::size_t j = 0; j < i; ++j) {
      const WordBox& other = boxes[j];
      EXPECT_FALSE(box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom)
          << "'" << box.words << "' lies on '" << other.words << "'";
    }
  }
  // Ids would be there twice on a page with two figures.
  EXPECT_TRUE(document.select_nodes("//*[@id]").empty());
}

/// Names that break what is careless: markup, other directions, no end, nothing.
inline std::vector<std::string> hostile_names() {
  return {"<script>alert(\"x\")</script> & 'more'",
          std::string(80, 'W'),
          "אלגברה לינארית ומבוא לתורת הקבוצות והלוגיקה המתמטית לתלמידי מדעי המחשב והנדסה",
          "\x01\x02 controls \xEF\xBF\xBE",
          "高等数学与线性代数基础课程高等数学与线性代数基础课程高等数学与线性代数",
          "Introduction to the Comparative History of Political Economy in the Early Modern Era",
          "e\xCC\x81le\xCC\x80ve"};
}

}  // namespace desirepath::test
