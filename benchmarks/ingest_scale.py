#!/usr/bin/env python3
"""`prepare` on a large file beside DuckDB's own aggregations of it: `SELECT student, period, count(*) ... GROUP BY 1, 2`, and by
course too, which is what a cohort holds.

    benchmarks/ingest_scale.py PROGRAM LIBDUCKDB [--students 1000000] [--rounds 3] [--order student|period|shuffled]
        [--kind csv|parquet] [--folder DIR]

Four periods of ten courses a student: 40 rows each, so a million students are 40 million rows (about 0.7 GB, removed at the
end), by student, by period, or by period with students in no order (then some are drawn twice and some never). The three take
turns; wall and processor seconds and peak memory of each round, and the ratio of the medians, are printed
as a Markdown table. Written for Python 3 without packages.
"""

import argparse
import ctypes
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


def query(library, sql):
    """Runs one statement in a DuckDB of its own, with its defaults."""
    duckdb = ctypes.CDLL(library)
    database, connection = ctypes.c_void_p(), ctypes.c_void_p()
    done = duckdb.duckdb_open(None, ctypes.byref(database)) == 0
    done = done and duckdb.duckdb_connect(database, ctypes.byref(connection)) == 0
    result = (ctypes.c_char * 256)()  # a duckdb_result, of which only its freeing is asked
    done = done and duckdb.duckdb_query(connection, sql.encode(), ctypes.byref(result)) == 0
    return 0 if done else 1


def measured(command):
    started = time.monotonic()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {command}")
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--query":
        return query(sys.argv[2], sys.argv[3])
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("library")
    parser.add_argument("--students", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--order", choices=["student", "period", "shuffled"], default="student")
    parser.add_argument("--kind", choices=["csv", "parquet"], default="csv")
    parser.add_argument("--folder", default=None)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        table, cohort = pathlib.Path(folder, f"enrollments.{arguments.kind}"), pathlib.Path(folder, "all.cohort")
        # Ten courses a period, each out of forty of its own: never twice the same.
        student, period = {"student": ("i // 40", "i % 40 // 10"),
                           "period": (f"i // 10 % {arguments.students}", f"i // {10 * arguments.students}"),
                           "shuffled": (f"hash(i // 10 % {arguments.students}) % {arguments.students}",
                                        f"i // {10 * arguments.students}")}[arguments.order]
        rows = f"""SELECT 'S' || lpad(CAST({student} AS VARCHAR), 8, '0') AS student, {period} + 1 AS period,
                   'C' || CAST(i % 10 * 40 + hash(i) % 40 AS VARCHAR) AS course
                   FROM range({40 * arguments.students}) AS rows(i)"""
        copy = [sys.executable, __file__, "--query", arguments.library, f"COPY ({rows}) TO '{table}' (FORMAT {arguments.kind})"]

        def aggregation(columns, by):
            return [sys.executable, __file__, "--query", arguments.library,
                    f"SELECT {columns}, count(*) FROM read_{arguments.kind}('{table}') GROUP BY {by}"]
        prepare = [arguments.program, "prepare", str(table), "--out", str(cohort), "--force", "--quiet"]
        measured(copy)
        print(f"{40 * arguments.students:,} rows, {table.stat().st_size / 1e6:,.0f} MB\n")
        print("| round | | wall s | processor s | peak GiB |\n|--:|--|--:|--:|--:|")
        commands = {"DuckDB": aggregation("student, period", "1, 2"),
                    "DuckDB by course": aggregation("student, period, course", "1, 2, 3"), "prepare": prepare}
        taken = {name: [] for name in commands}
        for number in range(1, arguments.rounds + 1):
            for name, command in commands.items():
                taken[name].append(measured(command))
                wall, processor, memory = taken[name][-1]
                print(f"| {number} | {name} | {wall:.1f} | {processor:.1f} | {memory:.2f} |", flush=True)
        for name in ("DuckDB", "DuckDB by course"):
            for place, unit in ((0, "wall"), (1, "processor")):
                ours, theirs = (statistics.median(run[place] for run in taken[which]) for which in ("prepare", name))
                print(f"\nprepare / {name}, {unit}: {ours / theirs:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
