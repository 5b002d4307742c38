// The places that d3-sankey gives the nodes of diagrams: node d3_sankey.js MODULES < diagrams.json > places.json
const path = require("path");
const { sankey } = require(path.join(process.argv[2], "d3-sankey"));
const diagrams = JSON.parse(require("fs").readFileSync(0, "utf8"));
const lay_out = sankey().nodeWidth(14).nodePadding(8).extent([[0, 0], [760, 400]]).nodeAlign((node) => node.column);
console.log(JSON.stringify(diagrams.map((diagram) => lay_out(diagram).nodes.map((node) => node.y0))));
