#!/usr/bin/env python3
"""A planted id, a name, a course that one student took and a group of one: run through every verb, every error and every
file that is a summary, and found nowhere."""

import random
import re
import stat
import subprocess
import time
import unittest

from program import KINDS, ProgramTest

ID, NAME, COURSE, GROUP = "PLANTED-4711", "Xanthippe Plantagenet", "RARECOURSE 999", "Lonelyville"
SECRETS = (ID, NAME, COURSE, GROUP, NAME.split()[0], COURSE.split()[0])


class Privacy(ProgramTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(3)
        rows = ["student,name,period,course,home,major"]
        for student in range(160):
            secret = student == 77
            name, number = (NAME, ID) if secret else (f"Student {student}", f"S{student:04d}")
            home = GROUP if secret else draw.choice(("near", "far"))
            major = draw.choice(("Art", "Biology"))
            for period in (1, 2, 3):
                taken = [c for c in range(12) if draw.random() < (0.5 if (c < 6) == (major == "Art") else 0.15)] or [0]
                rows += [f"{number},{name},{period},{'AB'[c > 5]} {100 + c},{home},{major}" for c in taken]
                if secret and period == 2:
                    rows.append(f"{number},{name},{period},{COURSE},{home},{major}")
        self.write("plain.csv", "\n".join(rows) + "\n")
        self.seen = []

    def silent(self, *arguments, code=0, files=()):
        """Runs, and looks for the planted in all it says and in the files it wrote."""
        done = self.run_program(*arguments, code=code)
        for secret in SECRETS:
            for text in (done.out, done.err):
                self.assertNotIn(secret.lower(), text.lower(), f"{secret} in what {arguments} says")
        for name in files:
            for path in ([self.path(name)] if self.path(name).is_file() else sorted(self.path(name).rglob("*"))):
                if not path.is_file():
                    continue
                for secret in SECRETS:
                    self.assertNotIn(secret.lower().encode(), path.read_bytes().lower(), f"{secret} in {path.name}")
        self.seen.append(arguments[0])
        return done

    def test_nothing_planted_is_shown(self):
        self.silent("check", "plain.csv")
        self.silent("check", "plain.csv", "--json")
        self.silent("prepare", "plain.csv", "--out", "all.cohort")
        # One-off courses kept: the hard case for all that follows.
        self.silent("prepare", "plain.csv", "--min-takers", 1, "--out", "kept.cohort", "--json")
        self.silent("split", "all.cohort", "--out", "parts")
        for cohort in ("all.cohort", "kept.cohort"):
            self.silent("inspect", cohort)
            for extra in ((), ("--json",), ("--csv", "--table", "courses"), ("--csv-safe", "--table", "enrollments")):
                self.silent("describe", cohort, "--figures", "figures", "--force", *extra, files=("figures",))
            self.silent("company", self.model(cohort, "nb", "--states", 2), cohort, "--json")
            states = self.model(cohort, "cmm", "--emission", "bernoulli", "--states", 3)
            self.silent("inspect", states)
            for extra in ((), ("--json",), ("--csv",)):
                self.silent("states", states, *extra)
                self.silent("states", states, cohort, "--by", "home", *extra)
                self.silent("states", states, cohort, "--grid", *extra)
                self.silent("pathways", states, *extra)
                self.silent("pathways", states, cohort, "--by", "home", *extra)
            answers = self.model(cohort, "hct", "--trees", 1, "--tree-states", 2)
            for extra in ((), ("--json",)):
                self.silent("score", answers, cohort, *extra)
                self.silent("prerequisites", answers, cohort, "--students", 20, *extra)
                self.silent("delays", answers, cohort, "--by", "home", *extra)
                self.silent("delays", answers, cohort, "--goal", "A 103", *extra)
                self.silent("infer", answers, cohort, "--known-periods", 1, "--period", 2, "--total", *extra)
                if not extra:  # its JSON is student by student
                    self.silent("infer", answers, cohort, "--paper-task")
                self.silent("plan", answers, cohort, "--took", "A 100@1", "--core", "major=Art", *extra)
            self.silent("report", states, cohort, "--answers", answers, "--by", "home", "--out", "page.html", "--figures", "pictures",
                        "--force", files=("page.html", "pictures"))
        self.silent("select", "all.cohort", "--model", "nb", "--states", "1,2", "--restarts", 1, "--json")
        self.silent("compare", "all.cohort", "--models", "nb,tan", "--states", 2, "--restarts", 1)
        self.silent("evaluate", "all.cohort", "--models", "nb", "--states", 2, "--seeds", 1, "--out", "evaluated", files=("evaluated",))
        self.silent("fit", "kept.cohort", "--model", "nb", "--states", 2, "--publish", "--out", "public.desirepath",
                    files=("public.desirepath",))

    def model(self, cohort, model, *settings):
        name = f"{cohort}-{model}.desirepath"
        # The file of a model without --publish names the courses it was given; never students, names or groups.
        self.run_program("fit", cohort, "--model", model, *settings, "--iterations", 10, "--out", name, "--force")
        held = self.read(name)
        for secret in SECRETS if cohort == "all.cohort" else (ID, NAME, GROUP):
            self.assertNotIn(secret.encode(), held, name)
        return name

    def test_errors_do_not_tell(self):
        self.run_program("prepare", "plain.csv", "--out", "all.cohort")
        states = self.model("all.cohort", "cmm", "--emission", "bernoulli", "--states", 3)
        rows = self.path("plain.csv").read_text().splitlines()
        planted = next(i for i, row in enumerate(rows) if ID in row)
        # The planted student's row is the bad one, in every way a row can be.
        for name, row in {"period": rows[planted].replace(",1,", ",x,"), "short": ID, "quote": '"' + rows[planted],
                          "empty": f"{ID},{NAME},,,,", "wide": rows[planted] + ",1,2,3"}.items():
            self.write(f"{name}.csv", "\n".join(rows[:planted] + [row] + rows[planted + 1:]) + "\n")
            for verb in (("check", f"{name}.csv"), ("prepare", f"{name}.csv", "--out", "x.cohort", "--force", "--max-bad", 0)):
                done = self.run_any(*verb)
                for secret in SECRETS:
                    self.assertNotIn(secret, done, f"{verb}")
        for code, arguments in ((3, ("infer", states, "all.cohort", "--student", "PLANTED-4712", "--known-periods", 1)),
                                (3, ("infer", states, "--took", "RARECOURS 999@1", "--period", 2)),
                                (2, ("describe", "all.cohort", "--min-cell", 4)),
                                (5, ("describe", "plain.csv", "--where", "home not in ('near', 'far')")),
                                (5, ("plan", states, "plain.csv", "--took", "A 100@1", "--core", "home=Lonelyvill"))):
            done = self.run_any(*arguments)
            typed = " ".join(map(str, arguments))
            for secret in SECRETS:
                if secret not in typed:
                    self.assertNotIn(secret, done, f"{arguments}")

    def test_a_cohort_has_one_bound(self):
        """Answers under two bounds could be subtracted: the cohort has one, from `prepare` on, and so has all that is made of it."""
        self.run_program("prepare", "plain.csv", "--min-cell", 20, "--out", "twenty.cohort")
        states = self.model("twenty.cohort", "cmm", "--emission", "bernoulli", "--states", 2)
        self.run_program("split", "twenty.cohort", "--out", "parts")
        for cohort in ("twenty.cohort", next(self.path("parts").glob("train*")).relative_to(self.folder)):
            told = self.run_program("describe", cohort, "--json").json
            self.assertEqual(told["min_cell"], 20)
            self.assertEqual(self.run_program("describe", cohort, "--min-cell", 20, "--json").json, told)
        self.assertEqual(self.run_program("states", states, "--json").json["min_cell"], 20)
        for verb in (("describe", "twenty.cohort"), ("states", states, "twenty.cohort", "--by", "major"), ("states", states),
                     ("pathways", states, "twenty.cohort"), ("report", states, "twenty.cohort", "--out", "p.html")):
            for least in (10, 30):
                self.assert_fails(*verb, "--min-cell", least, kind="usage", names=["--min-cell", least, 20])
        self.assert_fails("prepare", "plain.csv", "--min-cell", 4, "--out", "x.cohort", kind="usage", names=["--min-cell", 5])
        self.assertFalse(self.path("x.cohort").exists())
        self.run_program("prepare", "plain.csv", "--out", "ten.cohort")
        self.assert_fails("report", states, "ten.cohort", "--states-cohort", "twenty.cohort", "--out", "p.html", kind="usage",
                          names=["--min-cell", 10, 20])

    def test_a_selection_of_few_is_not_counted(self):
        """What stands above a refusal must not say what it refuses to."""
        self.run_program("prepare", "plain.csv", "--out", "all.cohort")
        one = subprocess.run(self.command("describe", "all.cohort", "--where", f"home = '{GROUP}'"), cwd=self.folder, capture_output=True,
                             text=True)
        self.assertEqual(one.returncode, KINDS["privacy"], one.stderr)
        self.assert_never_says(one.stderr, 1)
        self.assert_says(one.stderr, "--where", 10, 160)
        rest = self.run_program("describe", "all.cohort", "--where", f"home <> '{GROUP}'")
        self.assert_never_says(rest.err, 159)
        half = self.run_program("describe", "all.cohort", "--where", "major = 'Art'", "--json")
        self.assert_says(half.err, "--where", half.json["students"], 160)

    def test_a_heavy_student_is_one_student(self):
        """Weights weigh; what rests on few students rests on few however much they weigh."""
        draw = random.Random(9)
        rows = ["student,period,course,heavy,once"]
        for student in range(60):
            odd = student == 7
            taken = [f"ODD{c}" for c in range(5)] if odd else [f"C{c}" for c in range(8) if draw.random() < 0.5] or ["C0"]
            # Courses of ten students, nine of whom weigh nothing or next to nothing.
            taken += ["RARE"] if odd or 20 <= student < 29 else []
            rows += [f"S{student},{period},{c},{12 if odd else 0 if 20 <= student < 29 else 1},{int(not 20 <= student < 29)}"
                     for period in (1, 2) for c in taken]
        self.write("t.csv", "\n".join(rows) + "\n")
        self.run_program("prepare", "t.csv", "--min-takers", 1, "--out", "t.cohort")
        for model in (("nb",), ("cmm", "--emission", "bernoulli"), ("hmm", "--emission", "bernoulli")):
            name = self.model("t.cohort", *model, "--states", 2, "--restarts", 10, "--weights", "heavy")
            for extra in ((), ("--json",)):
                self.assertNotIn("ODD", self.run_program("states", name, *extra).out)
            entries = self.run_program("states", name, "--json").json["states"]
            self.assertTrue(all(entry.get("students") is None for entry in entries), entries)
        for model in ("nb", "hct"):
            fit = ("fit", "t.cohort", "--model", model, "--publish", "--force")
            self.run_program(*fit, "--weights", "once", "--out", "p.desirepath")
            for course in (b"ODD", b"RARE"):
                self.assertNotIn(course, self.read("p.desirepath"))
            self.assert_fails(*fit, "--weights", "heavy", "--out", "q.desirepath", kind="privacy", names=[10])
            self.assertFalse(self.path("q.desirepath").exists())

    def test_a_few_students_judge_nothing(self):
        """Of one or eight students held out, or asked about, no answer; and none that says how many they are."""
        self.write_students("all.csv", students=200, unknown=0)
        self.write_students("part.csv", students=60, unknown=0)
        self.run_program("prepare", "all.csv", "--out", "all.cohort")
        answers = self.model("all.cohort", "nb", "--states", 2)
        for few in (1, 8):
            some = ("--where", f"student < 's{few:04d}'")
            for extra in ((), ("--json",)):
                done = self.assert_fails("infer", answers, "all.csv", *some, "--paper-task", *extra, kind="privacy", names=[10, "--min-cell"])
                self.assert_never_says(done.error, few)
        self.run_program("infer", answers, "all.csv", "--where", "student < 's0010'", "--paper-task")
        self.run_program("prepare", "all.csv", "--min-cell", 20, "--out", "twenty.cohort")
        for verb in (("select", "--model", "nb", "--states", 1), ("compare", "--models", "nb", "--states", 1)):
            for table, share in (("all.csv", 0.01), ("all.csv", 0.99), ("twenty.cohort", 0.07)):
                done = self.assert_fails(verb[0], table, *verb[1:], "--held-out", share, kind="privacy", names=["--min-cell"])
                self.assertIsNone(re.search(r"\d", done.error.replace("fewer than 10", "").replace("fewer than 20", "")))
            self.run_program(verb[0], "all.csv", *verb[1:], "--held-out", 0.1)
        # All the weight of those held out is one student's.
        rows = self.path("all.csv").read_text().splitlines()
        self.write("heavy.csv", "\n".join([rows[0] + ",weight"] + [f"{row},{100000 if row.startswith('s0000') else 1}" for row in rows[1:]]) + "\n")
        for verb in (("select", "--model", "nb", "--states", 1), ("compare", "--models", "nb", "--states", 1)):
            self.assert_fails(verb[0], "heavy.csv", *verb[1:], "--weights", "weight", kind="privacy", names=[10])
        done = self.assert_fails("evaluate", "part.csv", "--models", "nb", "--states", 1, "--seeds", 1, kind="privacy", names=[10])
        self.assert_never_says(done.error, 9)

    def test_calibration_rests_on_different_students(self):
        """Many courses make many answers of one student: all that are nearly sure here."""
        draw = random.Random(2)
        rows = ["student,period,course"]
        for student in range(240):
            for period in (1, 2, 3):
                chance = (lambda c: 0.95 if c < 20 else 0.05) if student >= 200 else (lambda c: 0.25)
                rows += [f"S{student:03d},{period},C{c}" for c in range(40) if draw.random() < chance(c)]
        self.write("all.csv", "\n".join(rows) + "\n")
        self.run_program("prepare", "all.csv", "--out", "all.cohort")
        answers = self.model("all.cohort", "nb", "--states", 2)
        for most, sure in (("S200", 1), ("S219", 20)):  # besides eleven others
            done = self.run_program("infer", answers, "all.csv", "--where", f"student < 'S011' or student between 'S200' and '{most}'",
                                    "--paper-task", "--json").json
            bins = done["paper_task"]["calibration"]
            self.assertGreaterEqual(sum(row["probability"] > 0.8 for row in done["courses"]), 10 * sure)
            self.assertEqual(max(row["predicted"] for row in bins) > 0.8, sure > 1)
            self.assertEqual(sum(row["answers"] for row in bins), 40 * done["paper_task"]["students"])  # merged, not left out

    def test_the_size_of_a_small_training_is_not_told(self):
        self.run_program("prepare", "plain.csv", "--out", "all.cohort")
        self.run_program("fit", "plain.csv", "--where", "student < 'S0004'", "--min-takers", 1, "--model", "cmm", "--emission", "bernoulli", "--states", 1,
                         "--out", "four.desirepath")
        self.run_program("report", "four.desirepath", "all.cohort", "--ignore-unseen", "--sections", "card", "--out", "page.html")
        page = re.sub(r"<[^>]*>", "|", self.read("page.html").decode()).split("Show the table")[1][:600]
        self.assertRegex(page, r"students it was trained on[|\s]+under 10")
        self.assertNotRegex(page, "log-likelihood of training")
        for form in ((), ("--json",)):
            told = self.run_program("inspect", "four.desirepath", *form).out
            self.assertRegex(told, "students\"?: \"?fewer than 10")
            self.assertNotIn("student_weight", told)

    def test_scores_have_no_ends(self):
        """The least typical student is one student: the axis ends before, and ten stand at its end."""
        draw = random.Random(4)
        rows = ["student,period,course"]
        for student in range(300):
            for period in (1, 2, 3):
                taken = range(30) if student == 0 else [c for c in range(30) if draw.random() < 0.1 + 0.02 * (c % 7)] or [0]
                rows += [f"S{student},{period},C{c}" for c in taken]
        self.write("t.csv", "\n".join(rows) + "\n")
        self.run_program("prepare", "t.csv", "--out", "t.cohort")
        model = self.model("t.cohort", "nb", "--states", 1)
        scores = sorted(float(row["log_likelihood"])
                        for row in self.run_program("score", model, "t.cohort", "--leave-one-out", "off", "--csv").rows)
        self.run_program("report", model, "t.cohort", "--sections", "typicality", "--out", "page.html")
        page = self.read("page.html").decode()
        table = page[page.index("log-probability of the student&#39;s courses" if "student&#39;s courses" in page else "log-probability of the student's courses"):]
        cells = [re.findall(r"<t[hd][^>]*>([^<]*)<", row) for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)]
        bins = [(float(a), float(b), int(n)) for a, b, n in (row for row in cells if len(row) == 3 and re.fullmatch(r"-?[\d.]+", row[0]))]
        self.assertEqual(sum(n for _, _, n in bins), 300)
        self.assert_all(bins, lambda one: one[2] == 0 or one[2] >= 10)
        self.assertGreater(bins[0][0], scores[0] + 20)  # the outlier is far off
        self.assertLessEqual(bins[0][0], scores[9])
        self.assertGreaterEqual(bins[-1][1], scores[-10])

    def test_checkpoints_are_for_their_owner(self):
        self.write_students("all.csv", students=400)
        for verb in (("compare", "--models", "nb,tan,cmm+bernoulli"), ("select", "--model", "tan")):
            process = self.start(verb[0], "all.csv", *verb[1:], "--states", "2:6", "--checkpoint", "c")
            while not self.path("c").exists() and process.poll() is None:
                time.sleep(0.005)
            self.assertTrue(self.path("c").exists())
            self.assertEqual(stat.S_IMODE(self.path("c").stat().st_mode), 0o600)
            process.send_signal(2)
            process.communicate()
            self.path("c").unlink(missing_ok=True)

    def test_flows_are_the_same_with_and_without_groups(self):
        """Of two answers about one cohort and one model, neither tells what the other withholds."""
        draw = random.Random(8)
        for size in (90, 150, 400):
            rows = ["student,period,course,home"]
            for student in range(size):
                kind = student % 2
                for period in (1, 2, 3):
                    kind = 1 - kind if draw.random() < 0.06 else kind
                    taken = [c for c in range(8) if draw.random() < (0.7 if c % 2 == kind else 0.1)] or [kind]
                    rows += [f"S{student},{period},C{c},{'far' if draw.random() < 0.02 or student % 5 == 0 else 'near'}" for c in taken]
            self.write("few.csv", "\n".join(rows) + "\n")
            self.run_program("prepare", "few.csv", "--out", "few.cohort", "--force")
            states = self.model("few.cohort", "cmm", "--emission", "bernoulli", "--states", 2)
            flows = self.run_program("pathways", states, "few.cohort", "--json").json
            for extra in (("--by", "home"), ("--by", "home", "--q", 1)):
                by = self.run_program("pathways", states, "few.cohort", *extra, "--json").json
                for part in ("nodes", "links", "paths", "periods", "node_sizes", "withheld_students"):
                    self.assertEqual(by[part], flows[part], (size, part))
            cells = self.run_program("states", states, "few.cohort", "--by", "home", "--json").json
            self.assertEqual([period["enrolled"] for period in cells["periods"]], [period["enrolled"] for period in flows["periods"]])
            sizes = {(node["period"], str(node["state"])): node["students"] for node in flows["nodes"]}
            for row in cells["rows"]:
                self.assertIn((row["period"], row["state"]), sizes)
                if flows["node_sizes"] != "exact":
                    self.assertIsNone(row["students"])
                    self.assertIsNone(row["share"])

    def test_thresholds_and_names_tell_of_nobody(self):
        """What could be asked again and again, and what exists only where somebody took it."""
        draw = random.Random(5)
        rows = ["student,period,course,major"]
        for student in range(120):
            major = "Law" if student < 14 else "Art"
            for period in (1, 2, 3):
                taken = [c for c in range(8) if draw.random() < 0.6 or (c == 3 and period == 2)] or [0]
                rows += [f"S{student},{period},C{c},{major}" for c in taken]
            if student == 5:
                rows.append(f"S{student},2,{COURSE},{major}")
        self.write("t.csv", "\n".join(rows) + "\n")
        self.run_program("prepare", "t.csv", "--min-takers", 1, "--out", "t.cohort")
        states = self.model("t.cohort", "cmm", "--emission", "bernoulli", "--states", 2)
        answers = self.model("t.cohort", "nb", "--states", 3)
        # The number of takers of every course in a group of 14, from where the core changes.
        for share in (0.05, 0.3, 0.6, 0.9, 1):
            self.assert_fails("plan", answers, "t.cohort", "--core", "major=Law", "--core-share", share, kind="input", names=["--core-share"])
        cores = {share: self.run_program("plan", answers, "t.cohort", "--core", "major=Art", "--core-share", share, "--json").json["goal"]
                 for share in (0.71, 0.79)}
        self.assertEqual(cores[0.71], cores[0.79])  # not finer than a step
        self.assertNotIn(COURSE, self.run_program("prerequisites", answers, "t.cohort", "--students", 10, "--curriculum").out)
        self.assert_fails("pathways", states, "t.cohort", "--via", f"{COURSE}@2", kind="privacy", names=["--via", 10])
        self.assert_fails("pathways", states, "--via", f"{COURSE}@2", kind="privacy", names=["--via", 10])
        self.run_program("pathways", states, "t.cohort", "--via", "C3@2")

    def test_detours_of_nearly_all_have_no_number(self):
        """Of 60 who reached the goal 57 took a course before it: three did not."""
        draw = random.Random(6)
        rows = ["student,period,course"]
        for student in range(200):
            reaches = student < 60
            if student > 2 if reaches else draw.random() < 0.3:
                rows.append(f"S{student},1,Detour")
            rows += [f"S{student},{period},Always" for period in (1, 2, 3)]
            rows += [f"S{student},3,Goal"] if reaches else []
        self.write("t.csv", "\n".join(rows) + "\n")
        self.run_program("prepare", "t.csv", "--out", "t.cohort")
        answers = self.model("t.cohort", "nb", "--states", 1)
        done = self.run_program("delays", answers, "t.cohort", "--goal", "Goal", "--json").json
        [row] = [row for row in done["detours"] if row["course"] == "Detour"]
        self.assertIsNone(row["took_it_before"])
        self.assertIsNone(row["surplus"])

    def run_any(self, *arguments):
        done = subprocess.run(self.command(*arguments), cwd=self.folder, capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 1, done.stderr)
        return done.stdout + done.stderr


if __name__ == "__main__":
    unittest.main()
