"""`score`, `states` and `inspect`: what a model says of students, and what its file says of itself."""

import math
import re
import unittest

from program import ProgramTest, close

CMM = ("--model", "cmm", "--emission", "bernoulli")


class Score(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write_students()

    def test_json_and_csv_agree(self):
        self.fit("--model", "tan", "--states", 2)
        done = self.run_program("score", "m.desirepath", "t.csv", "--full-precision", "--json").json
        self.assertEqual(done["schema"], "desirepath/score/1")
        self.assertLessEqual({"students", "mean_log_likelihood", "standard_error", "likelihood_kind"}, set(done))
        self.assertEqual((done["students"], done["likelihood_kind"]), (160, "mass"))
        table = self.run_program("score", "m.desirepath", "t.csv", "--leave-one-out", "off", "--csv")
        self.assertTrue(table.header.startswith("student,log_likelihood,percentile"))
        values = [float(row["log_likelihood"]) for row in table.rows]
        mean = sum(values) / 160
        self.assertTrue(close(done["mean_log_likelihood"], mean))
        self.assertTrue(close(done["standard_error"], math.sqrt(sum((v - mean) ** 2 for v in values) / 159 / 160)))
        for row, value in zip(table.rows, values, strict=True):
            self.assertTrue(close(float(row["percentile_all"]), 100 * sum(v <= value for v in values) / 160))
        self.assertLessEqual(max(values), 0)
        self.assert_says(self.run_program("score", "m.desirepath", "t.csv").out, 160)

    def test_threads_do_not_change_a_byte(self):
        self.fit("--model", "tan", "--states", 3, "--iterations", 5)
        for verb in (("score", "m.desirepath", "t.csv", "--csv"), ("states", "m.desirepath", "t.csv", "--csv")):
            outputs = [self.run_program(*verb, "--threads", threads).out for threads in (1, 2, 3, 7)]
            self.assertEqual(outputs, [outputs[0]] * 4)

    def test_a_probability_of_zero_is_null_with_the_reason(self):
        self.write("t.csv", "student,period,course\na,1,X\nb,1,X\nc,1,Y\nd,1,\n")
        self.fit("--model", "nb", "--states", 1, "--pseudocount", 0)
        self.write("new.csv", "student,period,course\n" + "".join(f"p{i},1,X\nq{i},1,\n" for i in range(10)))
        exact = ("--full-precision", "--json")
        self.assertEqual(self.run_program("score", "m.desirepath", "new.csv", *exact).json["impossible_students"], 0)
        self.write("t.csv", "student,period,course\na,1,X\nb,1,X\n")
        self.fit("--model", "nb", "--states", 1, "--pseudocount", 0)
        for extra in (("--json",), exact):
            done = self.run_program("score", "m.desirepath", "new.csv", *extra)
            self.assertIsNone(done.json["mean_log_likelihood"])
            self.assertEqual(done.json["mean_of_possible_students"], 0)
            self.assertEqual(done.json["impossible_students"], 10)
            self.assert_says(done.json["reason"], "<impossible>")
        table = self.run_program("score", "m.desirepath", "new.csv", "--csv")
        self.assertEqual([row["log_likelihood"] for row in table.rows], ["0"] * 10 + [""] * 10)
        self.assert_says(table.err, 10, "<impossible>")
        self.assert_says(self.run_program("score", "m.desirepath", "new.csv").out, 20, 0, "<possible>")

    def test_few_impossible_students_are_not_counted(self):
        """Nothing but --full-precision and student by student tells none from one."""
        self.write("t.csv", "student,period,course\n" + "".join(f"a{i},1,X\n" for i in range(10)))
        self.fit("--model", "nb", "--states", 1, "--pseudocount", 0)
        for possible, impossible in ((20, 0), (20, 1), (20, 9), (9, 20), (1, 20)):
            self.write("new.csv", "student,period,course\n" + "".join(f"p{i},1,X\n" for i in range(possible)) +
                       "".join(f"q{i},1,\n" for i in range(impossible)))
            done = self.run_program("score", "m.desirepath", "new.csv", "--json")
            self.assertIsNone(done.json["impossible_students"])
            self.assertNotIn("mean_of_possible_students", done.json)
            self.assertEqual(done.json["mean_log_likelihood"], 0 if possible == 20 else None)
            self.assertEqual("reason" in done.json, possible < 20)
            text = self.run_program("score", "m.desirepath", "new.csv")
            for said in (done.err, text.err):
                self.assertEqual(said, "")
            if possible == 20:
                self.assert_never_says(text.out, "<possible>")
            else:
                self.assert_never_says(text.out, possible)
            exact = self.run_program("score", "m.desirepath", "new.csv", "--full-precision", "--json").json
            self.assertEqual(exact["impossible_students"], impossible)

    def test_a_summary_rests_on_enough_students(self):
        """One student's likelihood, and a published model, are the student's record."""
        lines = self.path("t.csv").read_text().splitlines()
        self.write("t.csv", "\n".join([lines[0] + ",one,heavy,all"] + [
            f"{line},{int(line.startswith('s0000'))},{1000 if line.startswith('s0000') else 1},1" for line in lines[1:]]) + "\n")
        self.fit("--model", "nb", "--states", 2)
        one, fourteen = ("--where", "student = 's0000a'"), ("--where", "student < 's0014'")
        for refused in (one, ("--where", "student < 's0009'"), ("--weights", "one"), ("--weights", "heavy"), (*one, "--weights", "all")):
            for extra in ((), ("--json",), ("--full-precision",), ("--full-precision", "--json"), ("--explain", 1), ("--full-precision", "--csv")):
                self.assert_fails("score", "m.desirepath", "t.csv", *refused, *extra, kind="privacy", names=[10, "--min-cell"])
        self.assertEqual(len(self.run_program("score", "m.desirepath", "t.csv", *one, "--csv").rows), 1)  # by explicit request
        for group in (fourteen, (), ("--weights", "all"), ("--leave-one-out", "on")):
            exact = self.run_program("score", "m.desirepath", "t.csv", *group, "--full-precision", "--json").json
            told = self.run_program("score", "m.desirepath", "t.csv", *group, "--json").json
            unit = 10 ** (math.floor(math.log10(exact["standard_error"])) - 1)
            for field in ("mean_log_likelihood", "standard_error", *(("mean_with_student",) if "on" in group else ())):
                self.assertNotEqual(told[field], exact[field])
                self.assertLessEqual(abs(told[field] - exact[field]), unit * 0.51)
                self.assertAlmostEqual(told[field] / unit, round(told[field] / unit), 6)
            text = self.run_program("score", "m.desirepath", "t.csv", *group).out
            self.assert_says(text, told["mean_log_likelihood"], told["standard_error"])
            for number in re.findall(r"-\d+\.\d+", text.split("most typical")[0]):  # the quantiles, too
                self.assertAlmostEqual(float(number) / unit, round(float(number) / unit), 6)
        own = {row["log_likelihood"] for row in self.run_program("score", "m.desirepath", "t.csv", *fourteen, "--csv").rows}
        text = self.run_program("score", "m.desirepath", "t.csv", *fourteen).out
        self.assertFalse(own & set(re.findall(r"-[\d.]+", text)))

    def test_names_the_model_does_not_know(self):
        self.fit("--model", "nb", "--states", 2)
        self.write("new.csv", "student,period,course\n" + "".join(f"p{i},1,C02\n" for i in range(10)) + "p1,1,C0Z\n")
        self.assert_fails("score", "m.desirepath", "new.csv", "--verbose", kind="input", names=["C0Z", "<nearest>", "--ignore-unseen"])
        done = self.run_program("score", "m.desirepath", "new.csv", "--ignore-unseen", "--json")
        self.assert_says(done.err, 1, "<unseen>")
        self.write("new.csv", "student,period,course\np,4,C02\n")
        self.assert_fails("score", "m.desirepath", "new.csv", kind="input", names=["'4'"])

    def test_an_unknown_period_is_not_one_without_courses(self):
        for model in (("--model", "nb"), CMM):
            self.fit(*model, "--states", 2)
            values = {}
            for name, rows in (("unknown", "p,1,C01\np,1,C03\n"), ("nothing", "p,1,C01\np,1,C03\np,2,\np,3,\n")):
                self.write("new.csv", "student,period,course\n" + rows)
                values[name] = float(self.run_program("score", "m.desirepath", "new.csv", "--csv").rows[0]["log_likelihood"])
            self.assertGreater(values["unknown"], values["nothing"])

    def test_leave_one_out(self):
        self.fit(*CMM, "--states", 3)
        done = self.run_program("score", "m.desirepath", "t.csv", "--leave-one-out", "--full-precision", "--json").json
        self.assertTrue(done["leave_one_out"])  # how it is found
        self.assertLess(done["mean_log_likelihood"], done["mean_with_student"])
        table = self.run_program("score", "m.desirepath", "t.csv", "--leave-one-out", "--csv")
        self.assertEqual(table.header, "student,log_likelihood,percentile,percentile_all,compared_with,with_student")
        mean = sum(float(row["log_likelihood"]) for row in table.rows) / 160
        self.assertTrue(close(mean, done["mean_log_likelihood"]))
        self.assert_says(self.run_program("score", "m.desirepath", "t.csv", "--leave-one-out").out, "<left-out>")
        self.assertIn("tree", self.run_program("score", "--help").out)
        self.write_students("o.csv", seed=3)
        self.assert_fails("score", "m.desirepath", "o.csv", "--leave-one-out", kind="usage", names=["leave-one-out", "<another-cohort>"])
        self.fit("--model", "tan", "--states", 2)  # without such a step: folds
        done = self.run_program("score", "m.desirepath", "t.csv", "--leave-one-out", "--json").json
        self.assertEqual(done["ranked_by"], "folds")
        self.assertLess(done["mean_log_likelihood"], done["mean_with_student"])

    def test_ranks_are_by_scores_without_the_student(self):
        self.write_students()
        for model, ranked_by in ((CMM, "left_out"), (("--model", "tan"), "folds")):
            self.fit(*model, "--states", 3)
            own = self.run_program("score", "m.desirepath", "t.csv", "--leave-one-out", "off", "--csv")
            self.assertEqual(own.header, "student,log_likelihood,percentile,percentile_all,compared_with")
            table = self.run_program("score", "m.desirepath", "t.csv", "--csv")
            self.assertEqual(table.header, "student,log_likelihood,percentile,percentile_all,compared_with,left_out")
            self.assertEqual(self.run_program("score", "m.desirepath", "t.csv", "--json").json["ranked_by"], ranked_by)
            self.assertEqual([row["log_likelihood"] for row in table.rows], [row["log_likelihood"] for row in own.rows])
            left_out = [float(row["left_out"]) for row in table.rows]
            for row, score in zip(table.rows, left_out):
                self.assertAlmostEqual(float(row["percentile_all"]), 100 * sum(other <= score for other in left_out) / len(left_out), 6)
            self.assertNotEqual([row["percentile_all"] for row in table.rows], [row["percentile_all"] for row in own.rows])
            self.assertLess(sum(left_out), sum(float(row["log_likelihood"]) for row in table.rows))
            # Named alone before the files, it takes none of them for its value.
            alone = self.run_program("score", "--leave-one-out", "m.desirepath", "t.csv", "--csv")
            self.assertEqual([row["log_likelihood"] for row in alone.rows], [row["left_out"] for row in table.rows])
        self.write_students("o.csv", seed=3)  # students the model was not trained on
        self.assertEqual(self.run_program("score", "m.desirepath", "o.csv", "--json").json["ranked_by"], "model")
        self.assert_fails("score", "m.desirepath", "t.csv", "--leave-one-out=some", kind="usage", names=["--leave-one-out", "auto"])

    def test_weights_count_in_the_mean(self):
        numbers = range(10)
        self.write("t.csv", "student,period,course,weight\n" + "".join(f"a{i},1,X,2\nb{i},1,Y,1\nc{i},1,Z,0\n" for i in numbers))
        self.write("copies.csv", "student,period,course\n" + "".join(f"a{i},1,X\nA{i},1,X\nb{i},1,Y\n" for i in numbers))
        self.fit("--model", "nb", "--states", 1)
        exact = ("--full-precision", "--json")
        weighted = self.run_program("score", "m.desirepath", "t.csv", "--weights", "weight", *exact).json
        copies = self.run_program("score", "m.desirepath", "copies.csv", *exact).json
        self.assertTrue(close(weighted["mean_log_likelihood"], copies["mean_log_likelihood"]))
        # As sure as 20 students make it, not 30.
        mean = weighted["mean_log_likelihood"]
        table = self.run_program("score", "m.desirepath", "t.csv", "--csv").rows
        weight = {"a": 2, "b": 1, "c": 0}
        squares = sum((weight[row["student"][0]] * (float(row["log_likelihood"]) - mean)) ** 2 for row in table)
        self.assertTrue(close(weighted["standard_error"], math.sqrt(squares / 30 ** 2 * 20 / 19)))

    def test_kinds_of_likelihood(self):
        self.fit("--model", "nb", "--states", 2)
        self.assert_fails("score", "m.desirepath", "t.csv", "--likelihood", "density", kind="usage", names=["density", "mass"])


class States(ProgramTest):
    def test_states_of_students(self):
        self.write_students()
        for model, periods in ((("--model", "nb"), ["all"]), (CMM, ["1", "2", "3"])):
            self.fit(*model, "--states", 3)
            table = self.run_program("states", "m.desirepath", "t.csv", "--csv")
            self.assertEqual(table.header, "student,period,state,probability,present")
            self.assertEqual({row["present"] for row in table.rows}, {"1"} if periods == ["all"] else {"0", "1"})
            self.assertEqual(len(table.rows), 160 * len(periods) * 3)
            self.assertEqual({row["state"] for row in table.rows}, {"0", "1", "2"})
            self.assertEqual({row["period"] for row in table.rows}, set(periods))
            sums = {}
            for row in table.rows:
                key = (row["student"], row["period"])
                sums[key] = sums.get(key, 0) + float(row["probability"])
            self.assert_all(sums.values(), lambda total: close(total, 1))

    def test_what_states_stand_for(self):
        self.write_students()
        self.fit(*CMM, "--states", 2)
        done = self.run_program("states", "m.desirepath", "--courses-shown", 4, "--json").json
        self.assertEqual(done["schema"], "desirepath/states/1")
        self.assertEqual([(entry["period"], entry["state"]) for entry in done["states"]],
                         [(period, state) for period in "123" for state in (0, 1)])
        for period in range(3):
            self.assertTrue(close(sum(entry["share"] for entry in done["states"][2 * period:2 * period + 2]), 1))
        for entry in done["states"]:
            probabilities = [course["probability"] for course in entry["likely"]]
            self.assertEqual(len(probabilities), 4)
            self.assertEqual(probabilities, sorted(probabilities, reverse=True))
            said = []
            for course in entry["marking"]:
                p, average = course["probability"], course["probability"] / course["lift"]
                said.append(p * math.log(p / average) + (1 - p) * math.log((1 - p) / (1 - average)))
                self.assertTrue(close(said[-1], course["information"], 1e-6))
                self.assertEqual(course["takers"], round(p * entry["students"]))
            self.assertEqual(said, sorted(said, reverse=True))
            self.assertEqual(entry["students"], round(entry["students"]))
            self.assertGreaterEqual(entry["students"], 10)
        self.assertEqual(len(done["transitions"]), 2)
        for matrix in done["transitions"]:  # what fewer than ten students take is null, and never alone in its row
            self.assert_all(matrix, lambda row: row.count(None) != 1)
            self.assert_all(matrix, lambda row: None in row or close(sum(row), 1))
        self.assert_says(self.run_program("states", "m.desirepath").out, 1, 0, done["states"][0]["students"])
        self.assertEqual(self.run_program("states", "m.desirepath", "--csv").header, "period,state,students,share,most taken,marked by,name")

    def write_a_loner(self, others=90):
        """Two kinds of students, and one who took eight courses nobody else did."""
        lines = ["student,period,course"]
        for number in range(others):
            for period in (1, 2):
                lines += [f"s{number},{period},{'AB'[number % 2]}{c}" for c in range(6) if (number + 3 * c + period) % 5]
        lines += [f"loner,{period},ODD{c}" for period in (1, 2) for c in range(8)]
        return self.write("t.csv", "\n".join(lines) + "\n")

    def test_a_state_of_one_student_is_withheld(self):
        self.write_a_loner()
        for model in (("--model", "nb"), CMM):
            fit = self.fit(*model, "--states", 3, "--min-takers", 1)
            self.assert_says("\n".join(fit.json["warnings"]), 10, "--publish")
            for form in ((), ("--csv",), ("--json",)):
                shown = self.run_program("states", "m.desirepath", *form)
                self.assertNotIn("ODD", shown.out)
            entries = shown.json["states"]
            self.assertGreaterEqual(shown.json["withheld_states"], 2)  # the loner's, and another to hide it among
            self.assert_all(entries, lambda entry: entry["students"] >= 10)
            self.assertIn("other", [entry["state"] for entry in entries])
            self.assert_says(self.run_program("states", "m.desirepath").err, 10, "<withheld>")
            self.assertNotIn("state_students", self.run_program("inspect", "m.desirepath", "--json").out)
        self.assert_fails("states", "m.desirepath", "--min-cell", 4, kind="usage", names=["--min-cell"])
        self.run_program("states", "m.desirepath", "--min-cell", 5)

    def test_a_published_model_holds_no_small_state(self):
        self.write_a_loner()
        for model in (("--model", "nb"), CMM, ("--model", "cmm", "--emission", "tree")):
            fit = self.fit(*model, "--states", 12, "--min-takers", 1, "--publish").json
            self.assertLess(fit["states"], 12)
            self.assertEqual(fit["published"]["courses_dropped"], 8)
            self.assertNotIn(b"ODD", self.read("m.desirepath"))
            self.assertEqual(self.run_program("states", "m.desirepath", "--json").json["withheld_states"], 0)
        done = self.run_program("fit", "t.csv", "--model", "nb", "--states", 12, "--min-takers", 1, "--publish", "--out", "n.desirepath")
        self.assert_says(done.err, 8, 10, 12, "<merged>")
        trees = self.fit("--model", "hct", "--trees", 2, "--min-takers", 1, "--publish").json["published"]
        self.assertEqual(trees["courses_dropped"], 8)
        self.assertGreater(trees["values_pooled"], 0)
        self.assertLess(trees["log_likelihood"], trees["log_likelihood_before"])
        self.assertNotIn(b"ODD", self.read("m.desirepath"))

    def test_a_published_model_does_not_know_its_students(self):
        self.write_students()
        for model in (("--model", "nb", "--states", 2), CMM + ("--states", 2), ("--model", "hct", "--trees", 1)):
            fit = self.fit(*model, "--publish").json
            record = self.run_program("inspect", "m.desirepath", "--json").json["training"]
            self.assertTrue(record["published"])
            self.assertNotIn("data_fingerprint", record)
            self.assertNotIn("trace", record["result"])
            self.assertNotEqual(record["result"]["log_likelihood"], fit["log_likelihood"])
            self.assertNotIn(repr(fit["log_likelihood"]).encode(), self.read("m.desirepath"))
            self.run_program("inspect", "m.desirepath")
            done = self.run_program("score", "m.desirepath", "t.csv", "--json")
            self.assertEqual(done.json["ranked_by"], "model")
            self.assert_says(self.run_program("score", "m.desirepath", "t.csv").err, "<published>")
            self.assertNotIn("left_out", self.run_program("score", "m.desirepath", "t.csv", "--csv").header)
            self.assert_fails("score", "m.desirepath", "t.csv", "--leave-one-out", kind="usage", names=["leave-one-out", "<published>"])
            if model[1] != "hct":
                self.assertEqual(self.run_program("states", "m.desirepath", "--json").json["withheld_states"], 0)
        for model in (("--model", "gmm"), ("--model", "cmm"), ("--model", "nb", "--emission", "probit")):
            self.assert_fit_fails(*model, "--states", 2, "--publish", kind="usage", names=["--publish", "bernoulli"])

    def test_the_largest_state_comes_first(self):
        self.write_students(kinds=3)
        fit = self.fit("--model", "nb", "--states", 3).json
        self.assertEqual(fit["states"], 3)
        shares = [entry["share"] for entry in self.run_program("states", "m.desirepath", "--json").json["states"]]
        self.assertEqual(shares, sorted(shares, reverse=True))

    def test_having_left_is_a_state(self):
        self.write_students(unknown=0.3)
        self.run_program("prepare", "t.csv", "--absent", "left", "--min-takers", 1, "--out", "t.cohort", "--quiet")
        self.fit(*CMM, "--states", 2, cohort="t.cohort")
        table = self.run_program("states", "m.desirepath", "t.cohort", "--csv")
        self.assertEqual({row["state"] for row in table.rows}, {"0", "1", "left"})
        gone = [float(row["probability"]) for row in table.rows if row["state"] == "left" and row["period"] == "1"]
        self.assertEqual(set(gone), {0.0})
        self.assertIn("left", [entry["state"] for entry in self.run_program("states", "m.desirepath", "--json").json["states"]])


class Inspect(ProgramTest):
    def test_model(self):
        self.write_students()
        fit = self.fit("--model", "tan", "--states", 2).json
        done = self.run_program("inspect", "m.desirepath", "--json").json
        self.assertEqual((done["kind"], done["model"], done["states"], done["courses"]), ("model", "tan", 2, 10))
        self.assertEqual(done["periods"], ["1", "2", "3"])
        self.assertEqual(done["parameters"], fit["parameters"])
        self.assertEqual(done["likelihood_kinds"], ["mass"])
        self.assertEqual(done["training"]["result"]["trace"], fit["trace"])
        self.assert_says(self.run_program("inspect", "m.desirepath").out, "kind", "model")

    def test_damaged_files_are_refused(self):
        self.write_students(students=30)
        self.fit("--model", "nb", "--states", 2)
        whole = self.read("m.desirepath")
        for name, data in (("cut", whole[:len(whole) // 2]), ("flipped", whole[:-9] + bytes([whole[-9] ^ 64]) + whole[-8:]), ("empty", b"")):
            with self.subTest(name=name):
                self.path("d.desirepath").write_bytes(data)
                for arguments in (("inspect", "d.desirepath"), ("score", "d.desirepath", "t.csv"), ("states", "d.desirepath"),
                                  ("fit", "t.csv", "--model", "nb", "--states", 2, "--warm", "d.desirepath", "--out", "n.desirepath")):
                    self.assert_fails(*arguments, kind="input", names=["d.desirepath"])
        self.run_program("inspect", "none.desirepath", code=6)
        self.run_program("score", "t.csv", "t.csv", code=3)  # no model


class Help(ProgramTest):
    def test_every_verb_has_two_examples(self):
        for verb in ("fit", "select", "score", "states", "inspect"):
            text = self.run_program(verb, "--help").out
            examples = text[text.index("Examples:"):]
            self.assertGreaterEqual(examples.count(f"desirepath {verb} "), 2)
            for option in ("--json", "--seed", "--threads", "--quiet"):
                self.assertIn(option, text)


if __name__ == "__main__":
    unittest.main()
