// All that touches Graphviz. Its layouts are plugins; the one that is used is linked in and handed over, so that the
// library looks for no configuration and loads nothing. It keeps its state in globals, hence the lock, and it prints
// what it minds, hence the sinks.
#include "desirepath/reports/graph_layout.h"

#include <memory>
#include <mutex>
#include <string>

#include <graphviz/gvc.h>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

extern "C" gvplugin_library_t gvplugin_dot_layout_LTX_library;  // NOLINT(readability-identifier-naming): its name

namespace desirepath::inline reports {

namespace {

// Graphviz takes texts that may be written to: hence data() of strings all over.
constexpr double points_per_inch = 72;

std::string inches(double points) {
  return fixed(points / points_per_inch, 4);
}

int say_nothing(char* /*message*/) {
  return 0;
}

struct CloseContext {
  void operator()(GVC_t* context) const { gvFreeContext(context); }
};
struct CloseGraph {
  void operator()(Agraph_t* graph) const { agclose(graph); }
};
using Context = std::unique_ptr<GVC_t, CloseContext>;
using Graph = std::unique_ptr<Agraph_t, CloseGraph>;

/// Nothing of it outlives the layout.
class Drawing {
 public:
  Drawing(GVC_t* context, Agraph_t* graph) : context_(context), graph_(graph) {
    if (gvLayout(context_, graph_, "dot") != 0) throw Error("the graph could not be laid out");
  }
  ~Drawing() { gvFreeLayout(context_, graph_); }
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;

 private:
  GVC_t* context_;
  Agraph_t* graph_;
};

Graph empty_graph(double layer_gap, double box_gap) {
  Graph graph(agopen(std::string("g").data(), Agdirected, nullptr));
  const auto set = [&](int kind, std::string name, std::string value) {
    agattr(graph.get(), kind, name.data(), value.data());
  };
  set(AGRAPH, "rankdir", "LR");
  set(AGRAPH, "ranksep", inches(layer_gap));
  set(AGRAPH, "nodesep", inches(box_gap));
  set(AGNODE, "shape", "box");
  set(AGNODE, "fixedsize", "true");
  set(AGNODE, "label", "");
  set(AGNODE, "width", "1");
  set(AGNODE, "height", "1");
  set(AGEDGE, "arrowsize", "0.8");
  return graph;
}

GraphArrow arrow_of(const splines* spline, double height) {
  GraphArrow arrow;
  if (spline == nullptr || spline->size == 0) return arrow;
  const bezier& piece = spline->list[0];
  const auto flipped = [&](const pointf& point) { return Point{point.x, height - point.y}; };
  for (std::size_t i = 0; i < static_cast<std::size_t>(piece.size); ++i)
    arrow.curve.push_back(flipped(piece.list[i]));
  arrow.tip = piece.eflag != 0 ? flipped(piece.ep) : arrow.curve.back();
  return arrow;
}

}  // namespace

GraphLayout lay_out_graph(const std::vector<BoxSize>& boxes,
                          const std::vector<std::pair<std::size_t, std::size_t>>& edges, double layer_gap,
                          double box_gap) {
  GraphLayout layout;
  if (boxes.empty()) return layout;
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  agseterr(AGMAX);
  agseterrf(say_nothing);
  lt_symlist_t plugins[] = {{"gvplugin_dot_layout_LTX_library", &gvplugin_dot_layout_LTX_library}, {nullptr, nullptr}};
  const Context context(gvContextPlugins(plugins, 0));
  const Graph graph = empty_graph(layer_gap, box_gap);
  std::vector<Agnode_t*> nodes;
  for (std::size_t n = 0; n < boxes.size(); ++n) {
    nodes.push_back(agnode(graph.get(), std::to_string(n).data(), 1));
    agset(nodes.back(), std::string("width").data(), inches(boxes[n].width).data());
    agset(nodes.back(), std::string("height").data(), inches(boxes[n].height).data());
  }
  std::vector<Agedge_t*> arrows;
  for (std::size_t e = 0; e < edges.size(); ++e)
    arrows.push_back(agedge(graph.get(), nodes[edges[e].first], nodes[edges[e].second], std::to_string(e).data(), 1));
  const Drawing drawing(context.get(), graph.get());
  layout.width = GD_bb(graph.get()).UR.x;
  layout.height = GD_bb(graph.get()).UR.y;
  for (Agnode_t* node : nodes)
    layout.centers.push_back({ND_coord(node).x, layout.height - ND_coord(node).y});
  for (Agedge_t* edge : arrows)
    layout.arrows.push_back(arrow_of(ED_spl(edge), layout.height));
  return layout;
}

}  // namespace desirepath::inline reports
