#!/usr/bin/env python3
"""Includes may only point left along the chain of modules, and from public headers to public headers only
(docs/architecture.md). Names every one that does not."""

import pathlib
import re
import sys

CHAIN = ["core", "compute", "disclosure", "transcripts", "probability", "emissions", "learning", "models", "queries", "evaluation",
         "reports"]
# These hang off transcripts, one off the other, and are used by the programs and tests alone.
BESIDE = {"ingest": {"core", "compute", "transcripts", "ingest"},
          "simulation": {"core", "compute", "transcripts", "ingest", "simulation"}}

root = pathlib.Path(__file__).resolve().parent.parent / "src" / "desirepath"
include = re.compile(r'^\s*#\s*include\s+[<"]desirepath/(([a-z_]+)/[^">]+)[">]')
public = set()
for path in root.glob("*/CMakeLists.txt"):
    listed = re.search(r"\bHEADERS\b(.*?)(?:\bPUBLIC\b|\bPRIVATE\b|\))", path.read_text(), re.DOTALL)
    for header in listed.group(1).split() if listed else []:
        public.add(f"{path.parent.name}/{header.rsplit('/', 1)[-1]}")
faults = []
count = 0
for path in sorted(root.rglob("*")):
    if path.suffix not in {".h", ".cpp", ".cu"}:
        continue
    count += 1
    name = path.relative_to(root).as_posix()
    module = name.split("/")[0]
    if module not in BESIDE and module not in CHAIN:
        faults.append(f"{path}: module '{module}' is not in the chain")
        continue
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = include.match(line)
        if not match:
            continue
        header, used = match.groups()
        if module in BESIDE:
            allowed = used in BESIDE[module]
        else:
            allowed = used in CHAIN and CHAIN.index(used) <= CHAIN.index(module)
        place = f"{path.relative_to(root.parent.parent)}:{number}"
        if not allowed:
            faults.append(f"{place}: {module} may not include {used}")
        if name in public and header not in public:
            faults.append(f"{place}: a public header includes {header}, which is not (HEADERS of its module)")
print("\n".join(faults) if faults else f"include direction: {count} files, {len(public)} public headers")
sys.exit(1 if faults else 0)
