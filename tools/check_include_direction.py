#!/usr/bin/env python3
"""Includes may only point left along the chain of modules (docs/architecture.md). Names every one that does not."""

import pathlib
import re
import sys

CHAIN = ["core", "transcripts", "probability", "compute", "emissions", "learning", "models", "queries", "evaluation",
         "reports", "explorer"]
# ingest hangs off transcripts and is used by the programs and tests alone.
INGEST_MAY_USE = {"core", "transcripts", "ingest"}

root = pathlib.Path(__file__).resolve().parent.parent / "src" / "desirepath"
include = re.compile(r'^\s*#\s*include\s+[<"]desirepath/([a-z_]+)/')
faults = []
count = 0
for path in sorted(root.rglob("*")):
    if path.suffix not in {".h", ".cpp", ".cu"}:
        continue
    count += 1
    module = path.relative_to(root).parts[0]
    if module != "ingest" and module not in CHAIN:
        faults.append(f"{path}: module '{module}' is not in the chain")
        continue
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = include.match(line)
        if not match:
            continue
        used = match.group(1)
        if module == "ingest":
            allowed = used in INGEST_MAY_USE
        else:
            allowed = used in CHAIN and CHAIN.index(used) <= CHAIN.index(module)
        if not allowed:
            faults.append(f"{path.relative_to(root.parent.parent)}:{number}: {module} may not include {used}")
print("\n".join(faults) if faults else f"include direction: {count} files")
sys.exit(1 if faults else 0)
