#include "desirepath/reports/figure.h"

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/reports/svg.h"

namespace desirepath::inline reports {

std::string standalone_svg(const Figure& figure) {
  constexpr int height = 34;
  // The picture as it is, below its title: an SVG may hold another.
  const std::size_t end = figure.svg.find('>');
  const auto attribute = [&](std::string_view name) {
    const std::string key = concat(" ", name, "=\"");
    const std::size_t at = figure.svg.find(key);
    if (at == std::string::npos || at > end) throw Error(concat("a figure without ", name));
    const std::size_t begin = at + key.size();
    return number_in<double>(std::string_view(figure.svg).substr(begin, figure.svg.find('"', begin) - begin))
        .value_or(0);
  };
  const double width = attribute("width"), picture = attribute("height");
  Svg file(width, picture + height, figure.title, figure.finding.text());
  file.text({width / 2, 22}, figure.title, {15, "middle", "#222222", true});
  std::string inner = figure.svg;
  inner.replace(0, 5, concat("<svg y=\"", height, "\" "));
  file.raw(inner);
  return file.finish();
}

}  // namespace desirepath::inline reports
