"""`evaluate`: the paper's comparison in one command, its files, and what a stopped run keeps."""

import csv
import json
import time
import unittest
import xml.etree.ElementTree

from program import ProgramTest

QUICK = ("--restarts", 1, "--iterations", 30, "--epochs", 8, "--hidden", 8, "--trees", 2, "--tree-states", 2, "--draws", 500)


def without_seconds(fits):
    return [{key: value for key, value in fit.items() if not key.endswith("seconds") and key != "memory_bytes"} for fit in fits]


class Evaluate(ProgramTest):
    def test_the_whole_comparison_small(self):
        begin = time.monotonic()
        common = ("evaluate", "--synthetic", "300x24", "--models", "nb,tan,gmm,vae,hct", "--states", "1,2", "--seeds", 2, *QUICK)
        done = self.run_program(*common, "--out", "e", "--json").json
        self.assertLess(time.monotonic() - begin, 120)
        self.assertEqual(done["schema"], "desirepath/evaluate/1")
        self.assertEqual([(one["model"], one["size"]) for one in done["summaries"]],
                         [(model, k) for model in ("nb", "tan", "gmm", "vae") for k in (1, 2)] + [("hct", None)])
        self.assertEqual(len(done["fits"]), 2 * 9)
        for one in done["summaries"]:
            self.assertEqual(one["likelihood_kind"], "lower_bound" if one["model"] == "vae" else "mass")
            self.assertLess(one["found"]["held_out"]["mean"], 0)
            self.assertGreater(one["found"]["error_by_course"]["mean"], 0)
            self.assertTrue(0 <= one["found"]["accuracy"]["mean"] <= 1)
        # Files: the same numbers, a table of fits, two figures.
        written = json.loads(self.read("e/evaluation.json"))["fits"]
        self.assertEqual(written, without_seconds(done["fits"]))
        took = json.loads(self.read("e/timings.json"))["fits"]
        self.assertEqual([{**one, **other} for one, other in zip(written, took, strict=True)], [{**fit} for fit in done["fits"]])
        rows = list(csv.DictReader(self.read("e/evaluation.csv").decode().splitlines()))
        self.assertEqual([row["model"] for row in rows], [fit["model"] for fit in done["fits"]])
        for name in ("error_by_k.svg", "table_1.svg"):
            xml.etree.ElementTree.fromstring(self.read(f"e/{name}"))
        # The best of each model is the best of its sizes.
        self.assertEqual([best["model"] for best in done["best"]], ["nb", "tan", "gmm", "vae", "hct"])
        for best in done["best"]:
            errors = [one["found"]["error_by_course"]["mean"] for one in done["summaries"] if one["model"] == best["model"]]
            self.assertEqual(best["sample_error"], min(errors))
        # Nothing is replaced unasked; taken up, nothing is fitted again.
        self.run_program(*common, "--out", "e", code=6)
        again = self.run_program(*common, "--out", "e", "--resume", "--json")
        self.assert_says(again.json["notes"][0], 18)
        self.assertEqual(again.json["fits"], done["fits"])

    def test_the_same_bytes(self):
        common = ("evaluate", "--synthetic", "300x24", "--models", "nb,vae", "--states", "1,2", "--seeds", 1, *QUICK, "--quiet")
        for folder, threads in (("one", 1), ("two", 2)):
            self.run_program(*common, "--threads", threads, "--out", folder)
        self.run_program(*common, "--resume", "--out", "one")
        names = {path.name for path in self.path("one").iterdir()}
        self.assertTrue({"evaluation.json", "evaluation.csv", "timings.json", "error_by_k.svg", "table_1.svg"} <= names)
        for name in names:
            if not name.startswith("timing"):
                self.assertEqual(self.read(f"one/{name}"), self.read(f"two/{name}"), name)

    def test_stopped_it_keeps_what_is_finished(self):
        self.write_students(students=300, courses=12, kinds=3)
        common = ("evaluate", "t.csv", "--models", "nb,tan,hmm", "--states", "1:6", "--seeds", 2, "--draws", 3000, "--out", "e", "--json")
        process = self.start(*common)
        while not list(self.path("e").glob("fit-*.json")) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(2)
        process.communicate()
        self.assertIn(process.returncode, (130, 0))
        kept = {path.name: path.read_bytes() for path in self.path("e").glob("fit-*.json")}
        self.assertTrue(kept)
        done = self.run_program(*common, "--resume").json
        for name, content in kept.items():
            self.assertEqual(self.read(f"e/{name}"), content)
        whole = self.run_program(*common[:-3], "--threads", 1, "--json").json  # without files, and one thread
        self.assertEqual(without_seconds(whole["fits"]), without_seconds(done["fits"]))

    def test_refused(self):
        self.write_students(students=30)
        self.assert_fails("evaluate", "t.csv", "--models", "nb", kind="privacy", names=["<too-few>"])
        self.assert_fails("evaluate", "t.csv", "--models", "nbb", kind="usage", names=["nbb", "nb"])
        self.assert_fails("evaluate", "--synthetic", "many", kind="usage", names=["--synthetic", "STUDENTSxCOURSES"])


if __name__ == "__main__":
    unittest.main()
