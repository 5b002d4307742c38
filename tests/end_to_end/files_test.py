"""No file of the user's is lost: every option that names an output, against every path the command reads or writes."""

import contextlib
import fcntl
import os
import unittest

from program import ProgramTest

# Verb: arguments with {names}; inputs; outputs as option, what it writes there, and whether it is a folder's part.
READS_TABLE = ("--courses", "courses.csv"), ("--mapping", "m.toml")
VERBS = {
    "prepare": (("t.csv",), ("t.csv",), {"--out": "", "--rejects": ""}, READS_TABLE),
    "split": (("t.csv",), ("t.csv",), {"--out": "training.cohort validation.cohort hold-out.cohort"}, READS_TABLE),
    "describe": (("t.csv",), ("t.csv",), {"--figures": "enrollments.svg courses-per-student.svg"}, READS_TABLE),
    "select": (("t.csv", "--model", "nb", "--states", "2,3"), ("t.csv",), {"--figure": ""}, READS_TABLE),
    "fit": (("t.csv", "--model", "nb", "--states", 2, "--warm", "w.desirepath", "--match", "w.desirepath", "--start", "labels.csv",
             "--validation", "v.cohort", "--transitions", "moves.csv"),
            ("t.csv", "w.desirepath", "labels.csv", "v.cohort", "moves.csv"), {"--out": "", "--checkpoint": ""}, READS_TABLE),
    "simulate": (("--students", 200), (), {"--out": "enrollments.csv courses.csv truth.json"}, ()),
    "demo": ((), (), {"--out": "enrollments.csv courses.csv truth.json university.cohort computer_science.cohort states.desirepath "
                               "answers.desirepath evaluation.json report.html"}, ()),
    "report": (("w.desirepath", "t.csv", "--answers", "answers.desirepath"), ("w.desirepath", "t.csv", "answers.desirepath"),
               {"--out": "", "--figures": "enrollments.svg sankey.svg table_1.svg"}, READS_TABLE),
}


class Files(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write_students(students=60, courses=6)
        self.run_program("prepare", "t.csv", "--min-takers", 1, "--out", "v.cohort", "--quiet")
        self.fit("--model", "nb", "--states", 2, out="w.desirepath")
        self.fit("--model", "nb", "--states", 2, out="answers.desirepath")
        self.write("courses.csv", "course\n" + "".join(f"C{c:02d}\n" for c in range(6)))
        self.write("terms.csv", "code,label\n1,2020 Fall\n")
        self.write("m.toml", 'courses = "courses.csv"\nterms = "terms.csv"\n')
        self.write("labels.csv", "student,period,state\n")
        self.write("moves.csv", "period,from,to,probability\n")
        self.write("notes.txt", "my own words\n")

    def contents(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def refused(self, *arguments, kind, names):
        before = self.contents()
        self.assert_fails(*arguments, kind=kind, names=names)
        self.assertEqual(self.contents(), before, arguments)

    def names_of(self, name):
        """The path itself, another spelling, a symbolic and a hard link."""
        for link in ("symbolic", "hard"):
            self.path(link).unlink(missing_ok=True)
        os.symlink(self.path(name), self.path("symbolic"))
        os.link(self.path(name), self.path("hard"))
        return name, f"./{name}", self.path(name), "symbolic", "hard"

    def test_an_output_is_no_input(self):
        for verb, (arguments, inputs, outputs, table) in VERBS.items():
            more = [word for option in table for word in option]
            inputs = (*inputs, *(["courses.csv", "terms.csv", "m.toml"] if table else []))
            for option, parts in outputs.items():
                others = [word for other in outputs if other != option for word in (other, f"other{other}")]
                for name in inputs:
                    for target in self.names_of(name):
                        if not parts:
                            self.refused(verb, *arguments, *more, *others, option, target, "--force", kind="usage",
                                         names=[target, "<own-input>"])
                            continue
                        for part in parts.split():
                            self.path("parts").mkdir()
                            self.path("parts").joinpath(part).hardlink_to(self.path(name))
                            self.refused(verb, *arguments, *more, *others, option, "parts", "--force", kind="usage",
                                         names=[f"parts/{part}", "<own-input>"])
                            self.path("parts").joinpath(part).unlink()
                            self.path("parts").rmdir()

    def test_an_output_is_no_other_output(self):
        for verb, (arguments, _, outputs, _) in VERBS.items():
            if len(outputs) < 2:
                continue
            first, second = outputs
            os.symlink(self.folder, self.path("here"))
            for one, other in (("x", "x"), ("x", "./x"), ("x", "here/x"), (self.path("x"), "x")):
                self.refused(verb, *arguments, first, one, second, other, "--force", kind="usage", names=["<written-twice>"])
            self.path("here").unlink()

    def test_only_its_own_kind_is_replaced(self):
        for verb, (arguments, _, outputs, _) in VERBS.items():
            for option, parts in outputs.items():
                others = [word for other in outputs if other != option for word in (other, f"other{other}")]
                for part in parts.split() or [""]:
                    folder = self.path("parts")
                    folder.mkdir()
                    target = folder / (part or "target")
                    given = "parts" if part else "parts/target"
                    for foreign in ("notes.txt", "v.cohort" if part.endswith(".desirepath") or (verb, option) == ("fit", "--out") else "w.desirepath"):
                        target.write_bytes(self.read(foreign))
                        named = f"parts/{target.name}"
                        self.refused(verb, *arguments, *others, option, given, kind="disk", names=[named, "--force", "<exists>"])
                        self.refused(verb, *arguments, *others, option, given, "--force", kind="disk", names=[named, "<not-its-kind>"])
                        target.unlink()
                    os.mkfifo(target)
                    self.refused(verb, *arguments, *others, option, given, "--force", kind="disk", names=[named, "<not-its-kind>"])
                    target.unlink()
                    folder.rmdir()

    def test_what_a_run_wrote_it_replaces_with_force(self):
        fit = ("fit", "t.csv", "--model", "nb", "--states", 2, "--out", "a.desirepath", "--quiet")
        for command in (fit, ("prepare", "t.csv", "--min-takers", 1, "--out", "a.cohort", "--rejects", "r.csv", "--quiet"),
                        ("split", "t.csv", "--min-takers", 1, "--out", "parts", "--quiet"), ("describe", "t.csv", "--figures", "figures", "--quiet"),
                        ("select", "t.csv", "--model", "nb", "--states", "2,3", "--figure", "k.svg", "--quiet"),
                        ("simulate", "--students", 200, "--courses", 60, "--out", "university", "--student-truth", "--quiet")):
            self.run_program(*command)
            before = self.contents()
            self.run_program(*command, code=6)
            self.run_program(*command, "--force")
            self.assertEqual(self.contents(), before, command)
        # An empty file holds nothing to lose; a link without an end is something.
        self.write("empty.desirepath", "")
        self.run_program(*fit[:-2], "empty.desirepath", "--quiet", "--force")
        os.symlink("nowhere", self.path("loose"))
        self.refused(*fit[:-2], "loose", "--quiet", kind="disk", names=["loose", "<exists>"])

    def test_one_folder_has_one_writer(self):
        self.write_students("many.csv", students=3000, courses=30)
        self.run_program("prepare", "many.csv", "--out", "many.cohort", "--quiet")
        self.fit("--model", "nb", "--states", 2, "--iterations", 2, out="many.desirepath", cohort="many.cohort")
        for _ in range(4):
            runs = [self.start("split", "many.cohort", "--out", "parts", "--seed", seed, "--force", "--quiet") for seed in (1, 2, 3)]
            ends = [run.communicate() and run.returncode for run in runs]
            self.assertIn(0, ends)
            self.assertLessEqual(set(ends), {0, 6})
            everybody = []
            for part in ("training", "validation", "hold-out"):
                rows = self.run_program("score", "many.desirepath", f"parts/{part}.cohort", "--leave-one-out", "off", "--csv").rows
                everybody += [row["student"] for row in rows]
            self.assertEqual((len(everybody), len(set(everybody))), (3000, 3000))
        with self.lock("parts"):
            for command in (("split", "many.cohort", "--out", "parts"), ("simulate", "--students", 200, "--out", "parts"),
                            ("describe", "many.cohort", "--figures", "parts"), ("demo", "--out", "parts"), ("evaluate", "many.cohort", "--out", "parts")):
                self.refused(*command, "--force", kind="disk", names=["parts", "<another-writer>"])

    @contextlib.contextmanager
    def lock(self, folder):
        descriptor = os.open(self.path(folder), os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
        os.close(descriptor)

    def test_a_checkpoint_of_another_run_is_kept(self):
        self.write_students("many.csv", students=400)
        fit = ("fit", "many.csv", "--model", "nb", "--states", 3, "--checkpoint", "c", "--checkpoint-every", 0, "--quiet")
        process = self.start(*fit, "--out", "a", "--tolerance", 0, "--iterations", 10**8)
        while not self.path("c").exists() and process.poll() is None:
            pass
        process.kill()
        process.communicate()
        self.refused(*fit, "--out", "a", kind="disk", names=["c", "<exists>"])
        self.run_program(*fit, "--out", "a", "--force")
        self.assertFalse(self.path("c").exists())


if __name__ == "__main__":
    unittest.main()
