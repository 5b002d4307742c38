#!/usr/bin/env python3
"""clang-tidy over src and apps, or over the sources named. Nothing need be built.

    tools/tidy.py [SOURCE ...]

A source that passed is not looked at again until it, a header of ours that it includes, .clang-tidy or this file changes.

Two passes, since their work lies in different places. Checks of the syntax tree walk through every header a source
includes, the libraries' as well: the sources of a folder are put together, and the headers walked through once. The
analyzer follows paths through the main file alone: it sees each source by itself.
"""

import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "tidy"
PASSED = FOLDER / "passed"
TIDY = "clang-tidy-14"
ANALYZER = ",".join(["-*", *re.findall(r"-?clang-analyzer-[^,\s]+", (ROOT / ".clang-tidy").read_text())])
SYNTAX = "-clang-analyzer-*"


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
    for path in [pathlib.Path(__file__), ROOT / ".clang-tidy", *sorted(files_of(source))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def findings(checks, source, flags):
    done = subprocess.run([TIDY, "--quiet", "--warnings-as-errors=*", f"--config-file={ROOT / '.clang-tidy'}", f"--checks={checks}",
                           source, "--", *flags], capture_output=True, text=True)
    return [] if done.returncode == 0 else re.split(r"\n(?=/\S+:\d+:\d+: (?:error|warning): )", done.stdout.strip() or done.stderr)


def batches_of(sources, flags):
    """The sources of a folder in as few files as their names allow: of two that have one in common, the second waits."""
    together = FOLDER / f"together_{sources[0].parent.name}_{sources[0].stem}.cpp"
    together.write_text("".join(f'#include "{source}"  // NOLINT\n' for source in sources))
    done = subprocess.run(["clang++-14", *flags, "-w", "-fsyntax-only", "-ferror-limit=0", together], capture_output=True, text=True)
    if done.returncode == 0 or len(sources) == 1:
        return [(sources, together)]
    faulty = set(re.findall(r"^(\S+):\d+:\d+: (?:fatal )?error: ", done.stderr, re.MULTILINE))
    waiting = [source for source in sources if str(source) in faulty]
    if len(waiting) in (0, len(sources)):  # not for their names
        return [batch for source in sources for batch in batches_of([source], flags)]
    return batches_of([source for source in sources if source not in waiting], flags) + batches_of(waiting, flags)


def findings_together(sources, flags):
    """Pairs of sources and what the checks of the syntax tree find in them; what a name hides in another source is no matter."""
    return [(batch, findings(SYNTAX, together, [*flags, "-w"])) for batch, together in batches_of(sources, flags)]


def flags_of(command):
    """What of a compiler's command line decides how a source is read."""
    words = shlex.split(command)
    return words[1 : words.index("-o")]


def main():
    PASSED.mkdir(parents=True, exist_ok=True)
    configured = subprocess.run(["cmake", "--preset", "clang", "-B", FOLDER, "-DDESIREPATH_TESTS=OFF", "-DDESIREPATH_UNITY=OFF",
                                 "-DDESIREPATH_PRECOMPILED=OFF"], cwd=ROOT, capture_output=True, text=True)
    if configured.returncode:
        sys.exit(configured.stdout + configured.stderr)
    asked = {pathlib.Path(name).resolve() for name in sys.argv[1:]}
    stamps, flags, batches = {}, {}, {}
    for entry in json.loads((FOLDER / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        if not asked or source in asked:
            stamps[source] = PASSED / digest_of(source, entry["command"])
            flags[source] = flags_of(entry["command"])
    new = sorted((source for source, stamp in stamps.items() if not stamp.exists()), key=lambda path: -path.stat().st_size)
    for source in sorted(new):
        batches.setdefault((source.parent, *flags[source]), []).append(source)
    told, failed = set(), set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        largest_first = sorted(batches.values(), key=len, reverse=True)
        syntax = pool.map(lambda sources: findings_together(sources, flags[sources[0]]), largest_first)
        paths = pool.map(lambda source: findings(ANALYZER, source, flags[source]), new)
        def tell(sources, found):
            failed.update(sources if found else ())
            for text in found:  # those in headers come once a source
                if text not in told:
                    print(text.replace(f"{ROOT}/", ""), flush=True)
                told.add(text)

        for sources, found in itertools.chain.from_iterable(syntax):
            tell(sources, found)
        for source, found in zip(new, paths):
            tell([source], found)
            if source not in failed:
                stamps[source].touch()
    print(f"tidy: {len(stamps)} sources, {len(new)} new or changed, {len(told)} findings")
    sys.exit(1 if failed else 0)


main()
