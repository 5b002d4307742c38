"""`infer`, `sample`, `score` and `prerequisites`: questions as people type them, and what is said when they cannot be answered."""

import math
import random
import re
import unittest

from program import ProgramTest, close


class Ask(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write_students(students=200)
        self.fit("--model", "hct", "--trees", 2, "--tree-states", 4, "--iterations", 8)

    def test_a_student_s_next_period(self):
        student = self.run_program("score", "m.desirepath", "t.csv", "--csv").rows[0]["student"]
        rows = self.run_program("infer", "m.desirepath", "t.csv", "--student", student, "--known-periods", "1", "--csv").rows
        self.assertEqual(list(rows[0]), ["student", "period", "course", "probability", "standard_error"])
        self.assertEqual({row["student"] for row in rows}, {student})
        self.assertEqual({row["period"] for row in rows}, {"2", "3"})
        self.assertEqual(len(rows), 20)
        text = self.run_program("infer", "m.desirepath", "t.csv", "--student", student, "--known-periods", "1").out
        self.assert_says(text, rows[0]["course"], f"{float(rows[0]['probability']):.3f}")
        table = self.run_program("infer", "m.desirepath", "t.csv", "--student", student, "--known-periods", "1", "--period", "2",
                                 "--top", 3, "--csv").rows
        self.assertEqual(len(table), 3)
        self.assertGreaterEqual(float(table[0]["probability"]), float(table[2]["probability"]))

    def test_evidence_in_a_file_and_on_the_command_line_agree(self):
        self.write("e.csv", "student,period,course,taken\nanyone,1,C01,1\nanyone,1,*,0\nanyone,2,C02,0\n")
        by_file = self.run_program("infer", "m.desirepath", "--given", "e.csv", "--period", "3", "--csv").out
        by_words = self.run_program("infer", "m.desirepath", "--took", "C01@1", "--known-periods", "1", "--not", "C02@2", "--period", "3",
                                    "--csv").out
        self.assertEqual(by_file, by_words)

    def test_totals_are_sums_and_small_ones_are_withheld(self):
        rows = self.run_program("infer", "m.desirepath", "t.csv", "--known-periods", "1", "--period", "2", "--csv").rows
        sums = {}
        for row in rows:
            sums[row["course"]] = sums.get(row["course"], 0) + float(row["probability"])
        totals = self.run_program("infer", "m.desirepath", "t.csv", "--known-periods", "1", "--period", "2", "--total", "--csv")
        for row in totals.rows:
            self.assertTrue(close(float(row["expected"]), sums[row["course"]]))
            self.assertLess(float(row["low"]), float(row["expected"]))
        self.assertEqual({row["course"] for row in totals.rows}, {course for course, total in sums.items() if total >= 10})
        self.write("few.csv", "student,period,course\n" + "".join(f"s{i},1,C01\n" for i in range(4)))
        self.run_program("infer", "m.desirepath", "few.csv", "--total", "--period", "2", code=5)
        self.run_program("infer", "m.desirepath", "t.csv", "--total", "--min-cell", "2", code=2)

    def test_totals_say_who_returns(self):
        lines = ["student,term,course"]
        for s in range(120):
            year = 2015 + s % 3
            lines += [f"s{s:03d},{year} Fall,C{c}" for c in range(5) if (s + c) % 3]
            if s % 4:  # three of four come back
                lines += [f"s{s:03d},{year + 1} Fall,C{c}" for c in range(5) if (s * c) % 3 != 1]
        self.write("dated.csv", "\n".join(lines) + "\n")
        for absent in ("auto", "unknown"):
            self.run_program("prepare", "dated.csv", "--min-takers", 1, "--data-end", "2018 Fall", "--absent", absent, "--out", f"{absent}.cohort")
            self.run_program("fit", f"{absent}.cohort", "--model", "nb", "--states", 2, "--out", f"{absent}.desirepath")
        def totals(model, cohort):
            return self.run_program("infer", f"{model}.desirepath", f"{cohort}.cohort", "--known-periods", 1, "--period", 2, "--total", "--json").json
        # The model knows nothing of leaving: what is expected were all to return, and scaled by how many did.
        found = totals("unknown", "auto")
        self.assertEqual((found["all_return"], found["returning"]), (True, [{"period": "2", "from": "1", "percent": 75}]))
        self.assertGreaterEqual(len(found["courses"]), 3)
        for row in found["courses"]:
            self.assertTrue(close(row["scaled"], 0.75 * row["expected"]), row)
        # Nor do the data.
        self.assertEqual(totals("unknown", "unknown")["returning"], [{"period": "2", "from": "1"}])
        # The model knows it: three of four are expected, and the totals are those of who comes.
        known = totals("auto", "auto")
        self.assertFalse(known["all_return"])
        self.assertLess(abs(known["returning"][0]["expected_enrolled"] - 90), 4)
        among_all = {row["course"]: row["expected"] for row in found["courses"]}
        shares = [row["expected"] / among_all[row["course"]] for row in known["courses"] if row["course"] in among_all]
        self.assertGreaterEqual(len(shares), 3)
        self.assert_all(shares, lambda share: abs(share - 0.75) < 0.05)
        self.assertTrue(all(row["scaled"] is None for row in known["courses"]))

    def test_samples_are_a_table_that_prepare_reads(self):
        out = self.run_program("sample", "m.desirepath", "--count", 300, "--csv").out
        self.write("drawn.csv", out)
        done = self.run_program("prepare", "drawn.csv", "--out", "drawn.cohort", "--min-takers", 1, "--json").json
        self.assertEqual(done["students"], 300)
        again = self.run_program("sample", "m.desirepath", "--count", 300, "--csv", "--threads", 1).out
        self.assertEqual(out, again)

    def test_completions_keep_what_is_known(self):
        self.write("e.csv", "student,period,course,taken\nx,1,C01,1\nx,1,C03,1\nx,1,*,0\n")
        rows = self.run_program("sample", "m.desirepath", "--given", "e.csv", "--count", 7, "--csv").rows
        for draw in range(1, 8):
            first = {row["course"] for row in rows if row["draw"] == str(draw) and row["period"] == "1"}
            self.assertEqual(first, {"C01", "C03"})
        self.assert_says(self.run_program("sample", "m.desirepath", "--given", "e.csv").out, 1, "C01", "C03")

    def test_no_repeats(self):
        drawn = self.run_program("sample", "m.desirepath", "--count", 400, "--no-repeats", "--csv")
        seen = set()
        for row in drawn.rows:
            if row["course"]:
                self.assertNotIn((row["student"], row["course"]), seen)
                seen.add((row["student"], row["course"]))
        drawn_all = len([row for row in self.run_program("sample", "m.desirepath", "--count", 400, "--csv").rows if row["course"]])
        self.assertGreater(drawn_all, len(seen))
        self.assert_says(drawn.err, f"{drawn_all - len(seen):,}", f"{drawn_all:,}")

    def test_the_paper_task_counts_what_it_lists(self):
        done = self.run_program("infer", "m.desirepath", "t.csv", "--paper-task", "--json").json
        task = done["paper_task"]
        self.assertEqual({row["period"] for row in done["courses"]}, {"2"})
        # Counted again from the answers listed: right at one half, of the five courses most often taken.
        taken = {}
        for line in self.path("t.csv").read_text().splitlines()[1:]:
            student, period, course = line.split(",")
            taken.setdefault(student, {}).setdefault(period, set()).add(course)
        second = [periods["2"] for periods in taken.values() if "2" in periods]
        share = {course: sum(course in courses for courses in second) / len(second) for course in {row["course"] for row in done["courses"]}}
        common = sorted(share, key=share.get)[-5:]
        self.assertGreater(min(share[course] for course in common), max(s for course, s in share.items() if course not in common))
        whole = {student for student, periods in taken.items() if len(periods) == 3}
        self.assertEqual(task["students"], len(whole))
        asked = [row for row in done["courses"] if row["student"] in whole and row["course"] in common]
        self.assertEqual(len(asked), 5 * len(whole))
        came = lambda row: row["course"] in taken[row["student"]]["2"]
        self.assertTrue(close(task["accuracy"], sum((row["probability"] > 0.5) == came(row) for row in asked) / len(asked)))
        self.assertTrue(close(task["most_frequent"], sum((share[row["course"]] > 0.5) == came(row) for row in asked) / len(asked)))
        # The students are of two kinds that their other periods tell apart.
        self.assertGreater(task["accuracy"], task["most_frequent"] + 0.05)
        self.assertLess(task["cross_entropy"], 0.9 * task["marginal_entropy"])
        # The table of what came true, from the very answers listed, of students whose second period is known.
        self.assertLessEqual(sum(row["answers"] for row in task["calibration"]), 10 * task["students"])
        self.assert_all(task["calibration"], lambda row: row["answers"] >= 10)
        tenths = [int(10 * row["predicted"]) for row in task["calibration"]]
        self.assertEqual(tenths, sorted(set(tenths)))
        text = self.run_program("infer", "m.desirepath", "t.csv", "--paper-task").out
        for row in task["calibration"]:
            self.assert_says(text, f"{row['answers']:,}")

    def test_percentiles_compare_students_present_alike(self):
        table = self.run_program("score", "m.desirepath", "t.csv", "--csv")
        self.assertIn("percentile_all", table.header)
        values = [float(row["left_out"]) for row in table.rows]  # the model was trained on them
        for row, value in zip(table.rows, values, strict=True):
            self.assertTrue(close(float(row["percentile_all"]), 100 * sum(v <= value for v in values) / len(values)))
            self.assertGreaterEqual(int(row["compared_with"]), 10)
        done = self.run_program("score", "m.desirepath", "t.csv", "--json", "--explain", 2).json
        self.assertEqual(len(done["unusual"]), 2)
        self.assertEqual((done["most_typical"]["students"], done["least_typical"]["students"]), (20, 20))
        self.assertRegex(self.run_program("score", "m.desirepath", "t.csv", "--explain", 20).out, r"C0\d\D+[123]\D+1\D+\d+")

    def test_prerequisites(self):
        pairs = self.run_program("prerequisites", "m.desirepath", "t.csv", "--students", 50, "--csv")
        self.assertTrue(pairs.header.startswith("prerequisite,course,score,"))
        scores = [float(row["score"]) for row in pairs.rows if row["score"]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertEqual(len(pairs.rows), 90)
        self.assert_all(pairs.rows, lambda row: row["students"] == "" or int(row["students"]) >= 10)
        one = self.run_program("prerequisites", "m.desirepath", "t.csv", "--students", 50, "--course", "C03", "--csv").rows
        self.assertEqual({row["course"] for row in one}, {"C03"})
        drawn = self.run_program("prerequisites", "m.desirepath", "--students", 20, "--drawn", 200, "--csv").rows
        scores = [float(row["score"]) for row in drawn if row["score"]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertEqual({row["direct"] for row in drawn}, {""})  # drawn students do what the model expects

    def test_a_prerequisite_that_is_withheld_is_no_number(self):
        # 40 take B, of whom 6 had A before; 40 take A.
        lines = ["student,period,course"]
        for s in range(80):
            first, second = ("A", "") if s < 34 else ("A", "B") if s < 40 else ("", "B") if s < 74 else ("C", "C")
            lines += [f"s{s:02d},1,{first}", f"s{s:02d},2,{second}"]
        self.write("few.csv", "\n".join(lines) + "\n")
        self.fit("--model", "nb", "--states", 2, out="few.desirepath", cohort="few.csv")
        rows = self.run_program("prerequisites", "few.desirepath", "few.csv", "--min-takers", 1, "--csv").rows
        (row,) = (row for row in rows if (row["prerequisite"], row["course"]) == ("A", "B"))
        for name in ("score", "raised", "low", "high", "coverage", "asymmetry", "students", "direct", "direct_error", "tacit_score"):
            self.assertEqual(row[name], "", name)

    def test_delays_of_a_group_and_a_conflict_of_schedules(self):
        draw = random.Random(5)
        lines = ["student,period,course,home"]
        for s in range(600):
            home = "far" if s % 3 == 0 else "near"
            late = home == "far" and draw.random() < 0.8
            took = {("LATE", 2 if late else 1)} | {(f"X{c}", 1 + draw.randrange(3)) for c in range(6) if draw.random() < 0.6}
            when = draw.sample([1, 2, 3], 2)  # never together
            took |= {("LEFT", when[0]), ("RIGHT", when[1])} | {("FREE", 1 + draw.randrange(3))}
            took |= {("ALL", period) for period in (1, 2, 3)}
            lines += [f"s{s},{period},{course},{home}" for course, period in sorted(took)]
        self.write("late.csv", "\n".join(lines) + "\n")
        self.fit("--model", "nb", "--states", 2, cohort="late.csv", out="late.desirepath")
        ask = ("delays", "late.desirepath", "late.csv", "--by", "home")
        done = self.run_program(*ask, "--json").json
        first = done["delays"][0]
        self.assertEqual((first["course"], first["group"]), ("LATE", "far"))
        self.assertAlmostEqual(first["effect"], 0.8, delta=0.15)
        self.assertLess(first["low"], first["effect"])
        self.assertEqual([(row["course"], row["other"], row["together"]) for row in done["apart"]], [("LEFT", "RIGHT", 0)])
        plain = self.run_program(*ask).out
        self.assert_says(plain, "LEFT", "RIGHT", 0)
        self.assertEqual(self.run_program(*ask, "--goal", "FREE", "--json").json["goal"], "FREE")
        with_goal = self.run_program(*ask, "--goal", "FREE").out
        self.assertTrue(with_goal.startswith(plain))
        self.assert_says(with_goal[len(plain):], "FREE")
        for arguments, kind, names in ((("--by", "hom"), "usage", ["hom", "home"]), (("--by", "entry"), "usage", ["entry"]),
                                       (("--goal", "FRE"), "input", ["FRE", "FREE"]), (("--min-cell", 2), "usage", ["--min-cell"]),
                                       (("--min-cell", 601), "privacy", ["--min-cell", 601])):
            self.assert_fails("delays", "late.desirepath", "late.csv", *arguments, kind=kind, names=names)

    def test_pathways(self):
        # Three kinds of students, of whom four in ten choose anew from period to period.
        draw = random.Random(6)
        lines = ["student,period,course,home"]
        for s in range(400):
            kind = s % 3
            for period in (1, 2, 3):
                kind = draw.randrange(3) if draw.random() < 0.4 else kind
                courses = [f"C{c:02d}" for c in range(12) if draw.random() < (0.8 if c % 3 == kind else 0.08)]
                lines += [f"s{s},{period},{course},{'far' if s % 3 else 'near'}" for course in courses or [""]]
        self.write("flow.csv", "\n".join(lines) + "\n")
        self.fit("--model", "cmm", "--emission", "bernoulli", "--states", 3, cohort="flow.csv", out="s.desirepath")
        ask = ("pathways", "s.desirepath", "flow.csv")
        done = self.run_program(*ask, "--by", "home", "--via", "C01@1", "--name", "1:0=Beginners", "--json").json
        for period in "123":
            self.assertEqual(sum(node["students"] for node in done["nodes"] if node["period"] == period), 400)
        self.assertEqual(sum(link["students"] for link in done["links"]) + done["withheld_students"], 800)
        # Of each kind 0.6 + 0.4 / 3 stay, of a flow of some 133: the largest of each node within five standard errors.
        largest = {}
        for link in done["links"]:
            largest[link["source"]] = max(largest.get(link["source"], 0), link["probability"])
        self.assertEqual(sorted(largest), list(range(6)))
        for probability in largest.values():
            self.assertAlmostEqual(probability, 0.6 + 0.4 / 3, delta=0.2)
        for link in done["links"]:
            self.assertTrue(close(link["probability"], link["students"] / done["nodes"][link["source"]]["students"]))
            self.assertEqual(link["width"], link["students"])
        self.assert_all(done["paths"], lambda path: path["students"] >= 10)
        self.assert_all(done["groups"], lambda row: row["low"] <= row["difference"] <= row["high"])
        text = self.run_program(*ask, "--by", "home", "--via", "C01@1").out
        for facts in (["C01@1"], ["home"], ["far"], ["near"]):
            self.assert_says(text, *facts)
        for path in done["paths"]:
            self.assert_says(text, path["students"])
        alone = self.run_program("pathways", "s.desirepath", "--width", "probability", "--json").json
        self.assert_all(alone["links"], lambda link: link["width"] == link["probability"])
        self.fit("--model", "nb", "--states", 2, out="nb.desirepath")
        for arguments, kind, names in ((("m.desirepath",), "usage", ["pathways", "hct", "cmm"]), (("nb.desirepath",), "usage", ["nb", "cmm"]),
                                       (("s.desirepath", "--by", "home"), "usage", ["--by", "COHORT"]),
                                       (("s.desirepath", "flow.csv", "--by", "hom"), "usage", ["hom", "home"]),
                                       (("s.desirepath", "--name", "1:9=x"), "usage", ["--name", "PERIOD:STATE", "1:9"]),
                                       (("s.desirepath", "--via", "C99@1"), "input", ["C99"])):
            self.assert_fails("pathways", *arguments, kind=kind, names=names)

    def test_who_is_in_a_state(self):
        self.write_students("who.csv", students=1500, kinds=3, unknown=0)  # enough for the sizes of states to be told
        lines = self.path("who.csv").read_text().splitlines()
        home = lambda number: ("far", "near", "near", "rare")[0 if number % 3 else 1 if number % 100 else 3]
        self.write("who.csv", "\n".join([lines[0] + ",home"] + [f"{line},{home(int(line[1:5]))}" for line in lines[1:]]) + "\n")
        self.fit("--model", "cmm", "--emission", "bernoulli", "--states", 3, cohort="who.csv", out="w.desirepath")
        ask = ("states", "w.desirepath", "who.csv", "--by", "home")
        rows = self.run_program(*ask, "--csv").rows
        self.assertEqual({row["group"] for row in rows}, {"far", "other"})  # five, and who would tell of them
        likely = {}
        for row in self.run_program("states", "w.desirepath", "who.csv", "--csv").rows:
            key = row["student"], row["period"]
            likely[key] = max(likely.get(key, ("", 0)), (row["state"], float(row["probability"])), key=lambda pair: pair[1])
        shown = [row for row in rows if row["students"]]
        self.assertGreater(len(shown), 10)
        for row in shown:
            self.assertGreaterEqual(int(row["students"]), 10)
            self.assertLess(float(row["low"]), float(row["share"]))
            self.assertLess(float(row["share"]), float(row["high"]))
            counted = sum((home(int(student[1:5])) == "far") == (row["group"] == "far") and state == row["state"]
                          for (student, period), (state, _) in likely.items() if period == row["period"])
            # The most likely path and the most likely state of a period are nearly the same.
            self.assertAlmostEqual(counted, int(row["students"]), delta=8)
        self.assert_says(self.run_program(*ask).err, 10, "<withheld>")
        for arguments, kind, names in ((("w.desirepath", "--by", "home"), "usage", ["--by", "COHORT"]),
                                       (("w.desirepath", "who.csv", "--by", "hom"), "usage", ["hom", "home"]),
                                       (("w.desirepath", "--refits", 3), "usage", ["--refits", "COHORT"])):
            self.assert_fails("states", *arguments, kind=kind, names=names)
        self.write("names.csv", "period,state,name\n1,0,Beginners\nall,1,Engineers\n")
        named = ("--names", "names.csv")
        found = {(row["period"], row["state"]): row["name"] for row in self.run_program("states", "w.desirepath", *named, "--csv").rows}
        self.assertEqual((found["1", "0"], found["2", "1"], found["3", "1"]), ("Beginners", "Engineers", "Engineers"))
        self.assertNotEqual(found["2", "0"], "Beginners")
        for verb in (("states", "w.desirepath", *named), ("states", "w.desirepath", "who.csv", "--by", "home", *named),
                     ("states", "w.desirepath", "--grid", *named), ("pathways", "w.desirepath", *named)):
            self.assertIn("Engineers", self.run_program(*verb).out)
        self.assert_fails("states", "w.desirepath", "--name", "1:7=x", kind="usage", names=["--name", "1:7", 0, 2])
        stable = self.run_program("states", "w.desirepath", "who.csv", "--refits", 3, "--json").json
        self.assertEqual(stable["refits"], 3)
        self.assertTrue(stable["states"])
        for entry in stable["states"]:
            self.assertTrue(0 < entry["overlap"] <= 1 and entry["found"] in (0, 1 / 3, 2 / 3, 1), entry)

    def test_the_grid(self):
        self.write_students("grid.csv", students=300, kinds=2, unknown=0)
        self.fit("--model", "cmm", "--emission", "bernoulli", "--states", 2, cohort="grid.csv", out="g.desirepath")
        rows = self.run_program("states", "g.desirepath", "--grid", "--csv").rows
        self.assertEqual(len(rows), 10)
        for row in rows:
            self.assertGreaterEqual(float(row["confidence"]), 0.5)
            self.assertGreaterEqual(int(row["takers"]), 10)

    def test_tied_states_are_told_once(self):
        self.write_students("tied.csv", students=300, kinds=2, unknown=0)
        self.fit("--model", "hmm", "--states", 2, cohort="tied.csv", out="h.desirepath")
        text = self.run_program("states", "h.desirepath").out
        # A state has a paragraph, and in it a line for each period.
        self.assertEqual(len(re.findall(r"^\w+ \d$", text, re.MULTILINE)), 2)
        self.assertEqual(len(re.findall(r"^  \w+ 3: ", text, re.MULTILINE)), 2)
        self.assertEqual(len(self.run_program("states", "h.desirepath", "--csv").rows), 6)

    def test_company(self):
        # Two courses of different subjects that mostly the same students take, and others that go together by chance.
        draw = random.Random(4)
        subjects = {"MATH 1": "Math", "MATH 2": "Math", "ART 1": "Art", "ART 2": "Art", "LAW 1": "Law", "LAW 2": "Law"}
        taken = {}
        for student in range(400):
            both = draw.random() < 0.3
            chance = lambda course: (0.8 if both else 0.1) if course in ("MATH 1", "ART 1") else 0.4
            taken[student] = {course for course in subjects if draw.random() < chance(course)}
        self.write("c.csv", "student,period,course\n" + "".join(f"s{s},1,{course}\n" for s, courses in taken.items() for course in courses or [""]))
        self.write("subjects.csv", "course,subject\n" + "".join(f"{course},{subject}\n" for course, subject in subjects.items()))
        self.run_program("prepare", "c.csv", "--courses", "subjects.csv", "--out", "c.cohort", "--quiet")
        self.fit("--model", "nb", "--states", 1, cohort="c.cohort", out="c.desirepath")
        done = self.run_program("company", "c.desirepath", "c.cohort", "--json").json
        first = done["courses"][0]
        self.assertEqual({first["one"], first["other"]}, {"MATH 1", "ART 1"})
        of = lambda subject: {s for s, courses in taken.items() if any(subjects[course] == subject for course in courses)}
        takers = lambda course: {s for s, courses in taken.items() if course in courses}
        for row in done["courses"]:
            a, b = row["one"], row["other"]
            self.assertNotEqual(subjects[a], subjects[b])
            self.assertEqual(row["students"], len(takers(a) & takers(b)))
            share = [len(takers(course)) / len(of(subjects[course])) for course in (a, b)]
            # Corrected by a little for students with more courses than others.
            plain = len(of(subjects[a]) & of(subjects[b])) * share[0] * share[1]
            self.assertAlmostEqual(row["expected"] / plain, 1, delta=0.2)
            self.assertTrue(row["students"] >= 10 and row["at_least"] < row["lift"] and 1 < row["lift"] and row["q"] <= 0.05)
        self.assertEqual(done["findings"], len(done["courses"]) + len(done["concentrations"]))
        self.assertTrue(0 < done["by_chance"] < 0.05 * done["findings"] + 0.01)
        text = self.run_program("company", "c.desirepath", "c.cohort").out
        for row in done["courses"]:
            self.assert_says(text, row["one"], row["other"], row["students"])

    def test_a_plan(self):
        student = self.run_program("score", "m.desirepath", "t.csv", "--csv").rows[0]["student"]
        plan = ("plan", "m.desirepath", "t.csv", "--student", student, "--known-periods", "1")
        done = self.run_program(*plan, "--goal", "C03@3", "--json", "--min-probability", 0).json
        self.assertEqual(done["period"], "2")
        self.assertEqual(len(done["courses"]), 10)
        for row in done["courses"]:  # the law of total probability
            whole = row["probability"] * row["goal_with"] + (1 - row["probability"]) * row["goal_without"]
            self.assertTrue(close(whole, done["probability"], 1e-6))
        self.assertTrue(close(sum(way["share"] for way in done["ways"]), 1))
        self.assert_all(done["ways"], lambda way: ("3", "C03") in {(c["period"], c["course"]) for c in way["courses"]})
        self.assert_says(self.run_program(*plan, "--goal", "C03", "--goal", "C05@3").out, "C05", 3)
        for arguments, kind, names in (
                (("--took", "C01@1", "--goal", "C01"), "input", ["C01", "<reached>"]),
                (("--not", "C01@2", "--goal", "C01@2"), "input", ["C01@2", "<ruled-out>"]),
                (tuple(f"--goal=C{c:02d}" for c in range(10)) + tuple(f"--goal=C{c:02d}" for c in range(4)), "usage", ["--goal", 14, "@PERIOD"]),
                (("--core", "weight=2"), "usage", ["--core", "COHORT"]),
                ((), "usage", ["--goal", "--core"]),
                (("--goal", "C99"), "input", ["C99"]),
                (("--goal", "C01@9"), "input", [9]),
                (("--known-periods", "1,2,3", "--goal", "C01@3", "--took", "C01@1"), "input", ["C01@3", "<ruled-out>"])):
            self.assert_fails("plan", "m.desirepath", *arguments, kind=kind, names=names)
        self.assert_fails("plan", "m.desirepath", "t.csv", "--goal", "C01@3", kind="usage", names=["--student"])

    def test_a_plan_of_a_core(self):
        lines = self.path("t.csv").read_text().splitlines()
        self.write("core.csv", "\n".join([lines[0] + ",major"] + [f"{line},{'Art' if int(line[1:5]) % 2 else 'Law'}" for line in lines[1:]]) + "\n")
        ask = ("plan", "m.desirepath", "core.csv", "--took", "C01@1")
        done = self.run_program(*ask, "--core", "major=Art", "--core-share", 0.5, "--json").json
        self.assertGreaterEqual(len(done["goal"]), 1)
        self.assertTrue(0 < done["probability"] <= 1)
        two = [self.run_program("plan", "m.desirepath", "--took", "C01@1", "--goal", "C03", "--goal", "C05", *more, "--json").json["probability"]
               for more in ((), ("--goal", "C07@2"))]
        one = self.run_program("plan", "m.desirepath", "--took", "C01@1", "--goal", "C03", "--json").json["probability"]
        self.assertTrue(two[1] < two[0] < one)
        for arguments, kind, names in ((("--core", "major=Arts"), "usage", ["major=Arts"]), (("--core", "majr=Art"), "usage", ["majr", "major"]),
                                       (("--core", "major"), "usage", ["--core", "COLUMN=VALUE"]),
                                       (("--core", "major=Art", "--min-cell", 100000), "privacy", ["--min-cell", 100000])):
            self.assert_fails(*ask, *arguments, kind=kind, names=names)

    def test_refits_go_into_the_intervals(self):
        ask = ("infer", "m.desirepath", "t.csv", "--known-periods", "1", "--period", "2")
        width = lambda rows: [float(row["high"]) - float(row["low"]) for row in rows]
        fixed = self.run_program(*ask, "--total", "--csv").rows
        wide = self.run_program(*ask, "--total", "--refits", 4, "--csv")
        self.assert_says(wide.err, 4, "<refits>")
        self.assertEqual([row["expected"] for row in fixed], [row["expected"] for row in wide.rows])
        # In place of what a finite training makes of any model, what it makes of this one: the same to a factor.
        both = [(a, b) for a, b in zip(width(fixed), width(wide.rows)) if a > 0]
        self.assert_all(both, lambda pair: 0.7 * pair[0] < pair[1] < 2 * pair[0] and pair[0] != pair[1])
        self.assertEqual(wide.out, self.run_program(*ask, "--total", "--refits", 4, "--csv", "--threads", 1).out)
        one = self.run_program(*ask, "--refits", 3, "--top", 2, "--csv").rows
        self.assert_all(one, lambda row: 0 < float(row["standard_error"]) < 0.5)
        pairs = ("prerequisites", "m.desirepath", "t.csv", "--students", 20, "--course", "C03", "--csv")
        order = lambda rows: sorted((row["prerequisite"], float(row["effect_error"])) for row in rows)
        for (course, a), (same, b) in zip(order(self.run_program(*pairs).rows), order(self.run_program(*pairs, "--refits", 3).rows), strict=True):
            self.assertEqual(course, same)
            self.assertGreater(b, a)
        self.assert_fails(*ask, "--refits", 1, kind="usage", names=["--refits", "<two-or-more>"])
        self.assert_fails("infer", "m.desirepath", "--period", "2", "--refits", 3, kind="usage", names=["--refits", "COHORT"])

    def test_a_committee_goes_on_from_another(self):
        first = self.fit("--model", "hct", "--trees", 2, "--tree-states", 4, "--iterations", 4, "--tolerance", 0, out="f.desirepath").json
        more = self.fit("--model", "hct", "--tree-states", 4, "--warm", "f.desirepath", "--iterations", 6, out="n.desirepath").json
        self.assertEqual((more["trees"], len(more["restarts"])), (2, 2))
        self.assertTrue(close(more["trace"][0], first["trace"][-1]))
        self.assertGreater(more["log_likelihood"], first["log_likelihood"])
        self.assert_fit_fails("--model", "hct", "--trees", 3, "--warm", "m.desirepath", out="n.desirepath", kind="usage", names=["--warm", 2])
        self.fit("--model", "nb", "--states", 2, out="nb.desirepath")
        self.assert_fit_fails("--model", "hct", "--warm", "nb.desirepath", out="n.desirepath", kind="usage", names=["--warm", "nb", "hct"])

    def test_a_tacit_prerequisite_is_found(self):
        draw = random.Random(3)
        lines = ["student,period,course"]
        for s in range(1500):
            kind, had = draw.randrange(2), draw.random() < 0.4
            lines += [f"s{s},1,K{kind}", f"s{s},2,L{kind}"] + ([f"s{s},1,OPENS"] if had else [])
            lines += [f"s{s},1,A{c}" for c in range(6) if draw.random() < 0.3] + [f"s{s},2,B{c}" for c in range(6) if draw.random() < 0.3]
            if draw.random() < (0.35 if had else 0.05):
                lines.append(f"s{s},2,OPENED")
        self.write("open.csv", "\n".join(lines) + "\n")
        self.write("catalog.csv", 'Curriculum,"Test",,,,,,,,,\nInstitution,,,\nCourses,,,,,,,,,,\n'
                   "Course ID,Course Name,Prefix,Number,Prerequisites,Corequisites,Strict-Corequisites,Credit Hours,Institution,Canonical Name\n"
                   '1,Opens,,OPENS,,,,4,,,\n2,"Kinds, first",,K0,,,,4,,,\n3,Later,,L0,2,1,,4,,,\n4,Elective,,,,,,3,,,\n')
        self.run_program("prepare", "open.csv", "--courses", "catalog.csv", "--out", "open.cohort", "--quiet")
        self.fit("--model", "nb", "--states", 2, cohort="open.cohort", out="open.desirepath")
        pairs = self.run_program("prerequisites", "open.desirepath", "open.cohort", "--students", 60, "--csv").rows
        found = {(row["prerequisite"], row["course"]): row for row in pairs if row["status"] == "tacit"}
        self.assertLessEqual(set(found), {("OPENS", "OPENED"), ("K1", "L1")})  # the second is the kind itself, and sure
        opened = found["OPENS", "OPENED"]
        odds = math.log(0.35 / 0.65 / (0.05 / 0.95))
        self.assertAlmostEqual(float(opened["direct"]), odds, delta=4 * float(opened["direct_error"]) + 0.3)
        self.assertIn(("K0", "L0", "both"), {(row["prerequisite"], row["course"], row["status"]) for row in pairs})
        text = self.run_program("prerequisites", "open.desirepath", "open.cohort", "--students", 60, "--course", "OPENED").out
        self.assert_says(text, "OPENED")
        self.assert_says(text, "OPENS", "tacit")
        # What is written as a curriculum is read as one.
        text = self.run_program("prerequisites", "open.desirepath", "open.cohort", "--students", 60, "--curriculum").out
        self.write("again.csv", text)
        self.run_program("prepare", "open.csv", "--courses", "again.csv", "--out", "again.cohort", "--quiet")
        again = self.run_program("prerequisites", "open.desirepath", "again.cohort", "--students", 60, "--csv").rows
        self.assertIn(("OPENS", "OPENED", "both"), {(row["prerequisite"], row["course"], row["status"]) for row in again})

    def test_a_curriculum_that_requires_what_it_does_not_list(self):
        self.write("catalog.csv", "Curriculum,Test\nCourses\nCourse ID,Course Name,Prefix,Number,Prerequisites\n1,A,X,1,\n2,B,X,2,7\n")
        self.assert_fails("prepare", "t.csv", "--courses", "catalog.csv", "--out", "x.cohort", kind="input", names=["catalog.csv:5", 7])

    def test_carry_over_gives_courses_their_timings(self):
        plain = self.fit("--model", "nb", "--states", 2, out="plain.desirepath").json
        carried = self.fit("--model", "nb", "--states", 2, "--carry-over", out="carried.desirepath").json
        self.assertNotEqual(plain["log_likelihood"], carried["log_likelihood"])
        after = self.run_program("infer", "carried.desirepath", "--took", "C01@1", "--period", "2", "--csv").rows
        never = self.run_program("infer", "carried.desirepath", "--not", "C01@1", "--period", "2", "--csv").rows
        chance = [next(float(row["probability"]) for row in rows if row["course"] == "C01") for rows in (after, never)]
        self.assertNotAlmostEqual(*chance, places=3)
        # In a chain: what comes after known periods is answered, gaps are refused in a line.
        self.run_program("prepare", "t.csv", "--min-takers", 1, "--out", "t.cohort", "--quiet")
        chain = ("--model", "cmm", "--emission", "bernoulli", "--states", 2, "--carry-over")
        self.assert_fit_fails(*chain, cohort="t.cohort", kind="input", names=["--carry-over", "nb"])
        whole = ("t.cohort", "--where", "periods = 3")
        self.assert_fails("fit", *whole, *chain, "--publish", "--out", "p.desirepath", kind="usage", names=["--publish", "--carry-over"])
        self.run_program("fit", *whole, *chain, "--out", "chain.desirepath", "--quiet")
        self.run_program("sample", "chain.desirepath", "--count", 20, "--csv")
        self.run_program("states", "chain.desirepath", *whole)
        student = self.run_program("score", "chain.desirepath", *whole, "--csv").rows[0]["student"]
        rows = self.run_program("infer", "chain.desirepath", *whole, "--student", student, "--known-periods", "1", "--csv").rows
        self.assertEqual({row["period"] for row in rows}, {"2", "3"})
        self.assert_fails("infer", "chain.desirepath", "--took", "C01@1", "--period", "2", kind="input", names=["--carry-over", "hct"])

    def test_what_cannot_be_answered_is_said_in_a_line(self):
        for arguments, kind, names in [
            (("--took", "C0X@1"), "input", ["C0X", "C00"]),
            (("--took", "C01@9"), "input", [9, 3]),
            (("--took", "C01"), "input", ["C01", "COURSE@PERIOD"]),
            (("--took", "C01@1", "--not", "C01@1"), "input", ["C01", "<contradiction>"]),
            (("--student", "s1"), "usage", ["--student", "COHORT"]),
            (("t.csv", "--student", "nobody"), "usage", ["--student"]),
            (("t.csv", "--period", "7"), "input", [7, 3]),
            (("t.csv", "--given", "t.csv"), "usage", ["COHORT", "--given"]),
            (("--paper-task",), "usage", ["--paper-task", "COHORT"]),
        ]:
            done = self.assert_fails("infer", "m.desirepath", *arguments, kind=kind, names=names)
            self.assertNotIn("s0", done.err)
        self.write("e.csv", "student,period,course,taken\n")
        self.run_program("infer", "m.desirepath", "--given", "e.csv", code=3)
        self.write("n.csv", "student,period,course\na,1,X\nb,1,X\nc,1,Y\nd,1,\n")
        self.fit("--model", "nb", "--states", 1, "--pseudocount", 0, cohort="n.csv", out="n.desirepath")
        self.write("t1.csv", "student,period,course\na,1,X\nb,1,X\n")
        self.fit("--model", "nb", "--states", 1, "--pseudocount", 0, cohort="t1.csv", out="n.desirepath")
        self.assert_fails("infer", "n.desirepath", "--not", "X@1", "--period", "1", kind="input", names=["<impossible>"])


if __name__ == "__main__":
    unittest.main()
