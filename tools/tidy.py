#!/usr/bin/env python3
"""clang-tidy over src and apps, or over the sources named. Nothing need be built.

    tools/tidy.py [SOURCE ...]

A source that passed is not looked at again until it, a header of ours that it includes, or .clang-tidy changes.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "tidy"
PASSED = FOLDER / "passed"
TIDY = "clang-tidy-14"


def files_of(source):
    """The source and all headers of ours it reaches."""
    found, waiting = set(), [source]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE):
            waiting += [near for near in (path.parent / name, ROOT / "src" / name) if near.exists()]
    return found


def digest_of(source, command):
    digest = hashlib.sha256((command + str(source)).encode())
    for path in [ROOT / ".clang-tidy", *sorted(files_of(source))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def findings(source):
    done = subprocess.run([TIDY, "-p", FOLDER, "--quiet", "--warnings-as-errors=*", source], capture_output=True, text=True)
    return [] if done.returncode == 0 else re.split(r"\n(?=/\S+:\d+:\d+: (?:error|warning): )", done.stdout.strip() or done.stderr)


def main():
    PASSED.mkdir(parents=True, exist_ok=True)
    configured = subprocess.run(["cmake", "--preset", "clang", "-B", FOLDER, "-DDESIREPATH_TESTS=OFF"], cwd=ROOT, capture_output=True, text=True)
    if configured.returncode:
        sys.exit(configured.stdout + configured.stderr)
    asked = {pathlib.Path(name).resolve() for name in sys.argv[1:]}
    stamps = {}
    for entry in json.loads((FOLDER / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        if not asked or source in asked:
            stamps[source] = PASSED / digest_of(source, entry["command"])
    new = sorted((source for source, stamp in stamps.items() if not stamp.exists()), key=lambda path: -path.stat().st_size)
    told = set()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, found in zip(new, pool.map(findings, new)):
            failed += bool(found)
            if not found:
                stamps[source].touch()
            for text in found:  # those in headers come once a source
                if text not in told:
                    print(text.replace(f"{ROOT}/", ""), flush=True)
                told.add(text)
    print(f"tidy: {len(stamps)} sources, {len(new)} new or changed, {len(told)} findings")
    sys.exit(1 if failed else 0)


main()
