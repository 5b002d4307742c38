"""`fit`: what it prints, what it refuses, what it leaves on disk."""

import collections
import csv
import json
import os
import random
import struct
import unittest

from program import ProgramTest, close, found, student_weight

FIELDS = {"model", "states", "students", "courses", "periods", "parameters", "likelihood_kind", "log_likelihood", "trace",
          "objective_trace", "converged", "iterations", "seconds", "restarts", "warnings"}
MODELS = [("nb",), ("tan",), ("tan", "--tree", "per-state"), ("hmm", "--emission", "bernoulli"), ("hmm", "--emission", "tree"),
          ("cmm", "--emission", "bernoulli"), ("cmm", "--emission", "tree")]
CMM = ("--model", "cmm", "--emission", "bernoulli")


def arrays(model_file):
    """The arrays of a model file, read as any safetensors reader would: name -> (shape, flat values)."""
    data = model_file.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    result = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F64":
            continue
        begin, end = entry["data_offsets"]
        raw = data[8 + length + begin:8 + length + end]
        result[name] = (entry["shape"], struct.unpack(f"<{len(raw) // 8}d", raw))
    return result


def metadata(model_file):
    data = model_file.read_bytes()
    return json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])["__metadata__"]


class Output(ProgramTest):
    def test_fields_of_every_model(self):
        self.write_students()
        for model in MODELS:
            with self.subTest(model=model):
                fit = self.fit("--model", *model, "--states", 3, "--restarts", 2, "--iterations", 8).json
                self.assertEqual(fit["schema"], "desirepath/fit/1")
                self.assertLessEqual(FIELDS, set(fit))
                self.assertEqual((fit["states"], fit["students"], fit["courses"], fit["periods"]), (3, 160, 10, 3))
                self.assertEqual(fit["likelihood_kind"], "mass")
                self.assertEqual(fit["log_likelihood"], fit["trace"][-1])
                self.assertEqual(len(fit["trace"]), fit["iterations"] + 1)
                self.assertEqual(len(fit["objective_trace"]), len(fit["trace"]))
                self.assertLess(fit["log_likelihood"], 0)
                objective = fit["objective_trace"]
                self.assert_all(zip(objective, objective[1:]), lambda pair: pair[1] >= pair[0] - 1e-10 * abs(pair[0]))
                self.assertEqual([set(r) >= {"seed", "log_likelihood", "iterations"} for r in fit["restarts"]], [True, True])
                self.assertIn(fit["log_likelihood"], [r["log_likelihood"] for r in fit["restarts"]])
                score = self.run_program("score", "m.desirepath", "t.csv", "--full-precision", "--json").json
                self.assertTrue(close(score["mean_log_likelihood"] * 160, fit["log_likelihood"]))

    def test_people_are_told_on_stderr(self):
        self.write_students()
        done = self.run_program("fit", "t.csv", "--model", "nb", "--states", 2, "--out", "m.desirepath")
        self.assertEqual(done.out, "")
        self.assert_says(done.err, "MiB")  # what it will take
        self.assert_says(done.err, "m.desirepath")
        self.assertEqual(self.run_program("fit", "t.csv", "--model", "nb", "--states", 2, "--out", "q.desirepath", "--quiet").err, "")

    def test_progress_for_machines(self):
        self.write_students()
        done = self.run_program("fit", "t.csv", "--model", "nb", "--states", 2, "--restarts", 1, "--iterations", 5, "--tolerance", 0,
                                "--out", "m.desirepath", "--progress", "json", "--quiet")
        events = [json.loads(line) for line in done.err.splitlines()]
        em = [event for event in events if "iteration" in event]
        self.assertEqual([event["iteration"] for event in em], list(range(6)))
        self.assert_all(em, lambda event: "objective" in event and "seconds" in event)
        self.assert_all(em[1:], lambda event: "change" in event)

    def test_history_is_in_the_file(self):
        self.write_students()
        fit = self.fit("--model", "nb", "--states", 2).json
        training = json.loads(metadata(self.path("m.desirepath"))["training"])
        self.assertEqual(training["result"]["trace"], fit["trace"])
        self.assertEqual(training["options"]["model"], "nb")
        self.assertEqual(training["options"]["seed"], 1)
        self.assertTrue(training["data_fingerprint"])
        self.assertNotIn(b"s0001", self.read("m.desirepath"))

    def test_dry_run_writes_nothing(self):
        self.write_students()
        estimate = self.run_program("fit", "t.csv", "--model", "tan", "--states", 4, "--dry-run", "--json").json
        self.assertGreater(estimate["bytes"], 0)
        self.assertGreater(estimate["seconds_per_iteration"], 0)
        self.assert_says(self.run_program("fit", "t.csv", "--model", "tan", "--dry-run").out, "MiB")
        self.assertEqual(os.listdir(self.folder), ["t.csv"])


class SameBytes(ProgramTest):
    def test_any_number_of_threads_and_twice_the_same_seed(self):
        self.write_students(students=700)
        for model in MODELS:
            with self.subTest(model=model):
                files = []
                for threads in (1, 2, 3, 7, 1):
                    self.fit("--model", *model, "--states", 3, "--restarts", 2, "--iterations", 4, "--threads", threads)
                    files.append(self.read("m.desirepath"))
                self.assertEqual(files, [files[0]] * 5)

    def test_another_seed_starts_elsewhere(self):
        self.write_students()
        traces = [self.fit("--model", "nb", "--states", 4, "--restarts", 1, "--seed", seed).json["trace"] for seed in (1, 2)]
        self.assertNotEqual(*traces)


class Refusals(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write_students(students=40)

    def test_typos_name_the_nearest(self):
        self.write_students("w.csv", students=40, weights=student_weight)
        for arguments, nearest in (
                (("fti", "t.csv"), "fit"),
                (("fit", "t.csv", "--modle", "nb", "--out", "m"), "--model"),
                (("fit", "t.csv", "--model", "nbb", "--out", "m"), "'nb'"),
                (("fit", "t.csv", "--model", "nb", "--emission", "bernouli", "--out", "m"), "bernoulli"),
                (("fit", "t.csv", "--model", "nb", "--tree", "per-sate", "--out", "m"), "per-state"),
                (("select", "t.csv", "--model", "nb", "--sates", "2:3"), "--states"),
                (("fit", "w.csv", "--model", "nb", "--weights", "wieght", "--out", "m"), "'weight'")):
            with self.subTest(arguments=arguments):
                self.assert_fails(*arguments, kind="usage", names=[nearest])

    def test_usage(self):
        for arguments in (("--states", 0), ("--states", -2), ("--iterations", -1), ("--restarts", 0), ("--tolerance", -1),
                          ("--pseudocount", -0.1), ("--validation", 1.5), ("--resume",), ("--states", "many")):
            with self.subTest(arguments=arguments):
                self.fit("--model", "nb", *arguments, code=2)
        self.run_program("fit", "t.csv", "--model", "nb", code=2)  # no --out
        self.assertEqual(os.listdir(self.folder), ["t.csv"])

    def test_bad_input_data(self):
        self.assert_fit_fails("--model", "nb", cohort="no-such.csv", kind="disk", names=["no-such.csv"])
        self.write("empty.csv", "")
        self.assert_fit_fails("--model", "nb", cohort="empty.csv", kind="input", names=["empty.csv", "<empty>"])
        for text, where in (("student,period,state\ns0001a,1,9\n", "l.csv:2"), ("student,period,state\ns0001a,7,0\n", "l.csv:2"),
                            ("student,period,state\ns0001a,1,x\n", "l.csv:2:3"), ("student,period\ns0001a,1\n", "state"),
                            ("student,period,state\nnobody,1,0\n", "l.csv")):
            with self.subTest(text=text):
                self.write("l.csv", text)
                done = self.assert_fit_fails("--model", "nb", "--states", 2, "--start", "l.csv", kind="input", names=[where])
                self.assertNotIn("s0001", done.err)  # no student's id in a message

    def test_memory_is_refused_up_front(self):
        for model in ("nb", "tan", "cmm"):
            self.assert_fit_fails("--model", model, "--emission", "tree" if model == "tan" else "bernoulli", "--states", 50_000_000,
                                  kind="usage", names=["<needs-memory>"])
        self.assertEqual(os.listdir(self.folder), ["t.csv"])

    def test_no_overwrite_without_force(self):
        self.write("m.desirepath", "precious")
        self.run_program("fit", "t.csv", "--model", "nb", "--out", "m.desirepath", code=6)
        self.run_program("fit", "t.csv", "--model", "nb", "--out", "m.desirepath", "--force", code=6)  # no model
        self.assertEqual(self.read("m.desirepath"), b"precious")
        self.path("m.desirepath").unlink()
        for _ in range(2):
            self.run_program("fit", "t.csv", "--model", "nb", "--states", 2, "--out", "m.desirepath", "--force", "--quiet")
        self.run_program("inspect", "m.desirepath")

    def test_unwritable_target(self):
        self.run_program("fit", "t.csv", "--model", "nb", "--states", 2, "--out", "no/such/folder/m.desirepath", code=6)
        self.path("m.desirepath").mkdir()
        self.run_program("fit", "t.csv", "--model", "nb", "--states", 2, "--out", "m.desirepath", "--force", code=6)

    def test_required_convergence(self):
        done = self.assert_fit_fails("--model", "nb", "--states", 3, "--iterations", 1, "--require-convergence", kind="quality",
                                     names=[1, "<not-converged>"])
        self.assertFalse(done.json["converged"])
        self.assert_says("\n".join(done.json["warnings"]), 1, "<not-converged>")
        self.run_program("inspect", "m.desirepath")  # the model is there all the same
        fit = self.fit("--model", "nb", "--states", 3, "--iterations", 2000, "--tolerance", 1e-5, "--require-convergence").json
        self.assertTrue(fit["converged"])

    def test_a_state_begun_anew_is_told_of_the_restart_that_is_kept(self):
        # Three kinds of students and five states: two have nobody.
        rows = [f"s{s},{p},C{c}" for s in range(90) for p in (1, 2) for c in range(3) if (s % 3 + c) % 3]
        self.write("few.csv", "student,period,course\n" + "\n".join(rows) + "\n")
        fit = self.run_program("fit", "few.csv", "--model", "gmm", "--states", 5, "--restarts", 3, "--out", "m.desirepath", "--json").json
        kept = max(fit["restarts"], key=lambda restart: restart["objective"])["restart"] + 1
        told = [warning for warning in fit["warnings"] if found("<lost-state>", warning)]
        self.assertEqual(len(told), 1, fit["warnings"])
        self.assert_says(told[0], kept, 3)

    def test_all_iterations_with_tolerance_0(self):
        fit = self.fit("--model", "nb", "--states", 1, "--iterations", 12, "--tolerance", 0, "--restarts", 1).json
        self.assertEqual((fit["iterations"], len(fit["trace"]), fit["converged"]), (12, 13, False))


class Starts(ProgramTest):
    """The first step from a labels file is an M step from these labels: checked by counting."""

    def shares(self, *arguments):
        self.fit("--iterations", 0, "--pseudocount", 0.5, "--state-pseudocount", 0.25, *arguments)
        return arrays(self.path("m.desirepath"))

    def test_hard_labels(self):
        self.write("t.csv", "student,period,course\na,1,X\nb,1,X\nb,1,Y\nc,1,Y\nd,1,\n")
        self.write("l.csv", "student,period,state\na,1,1\nb,1,1\nc,1,0\nd,1,0\n")
        found = self.shares("--model", "nb", "--states", 2, "--start", "l.csv")
        self.assertEqual(found["emission.0.probability"][0], [2, 2])  # bits by states; X, then Y
        for value, expected in zip(found["emission.0.probability"][1], (0.5 / 3, 2.5 / 3, 1.5 / 3, 1.5 / 3), strict=True):
            self.assertAlmostEqual(value, expected, 14)
        self.assertEqual(found["initial"][1], (0.5, 0.5))  # the order of the file is kept

    def test_soft_labels_multiply_between_neighbours(self):
        self.write("t.csv", "student,period,course\na,1,X\na,2,X\nb,1,X\nb,2,\n")
        self.write("l.csv", "student,period,state,weight\na,1,0,3\na,1,1,1\na,2,0,1\na,2,1,1\nb,1,1,1\nb,2,0,2\nb,2,1,8\n")
        found = self.shares(*CMM, "--states", 2, "--start", "l.csv")
        for value, expected in zip(found["initial"][1], (1.0 / 2.5, 1.5 / 2.5), strict=True):
            self.assertAlmostEqual(value, expected, 14)
        from_0 = (0.375 + 0.25, 0.375 + 0.25)
        from_1 = (0.125 + 0.2 + 0.25, 0.125 + 0.8 + 0.25)
        expected = [w / sum(row) for row in (from_0, from_1) for w in row]
        for value, wanted in zip(found["transitions"][1], expected, strict=True):
            self.assertAlmostEqual(value, wanted, 14)
        # Period 2, course X: student a alone took it, with weights 1/2, 1/2; b has 0.2, 0.8.
        for value, wanted in zip(found["emission.1.probability"][1], ((0.5 + 0.5) / (0.7 + 1), (0.5 + 0.5) / (1.3 + 1)), strict=True):
            self.assertAlmostEqual(value, wanted, 14)

    def test_a_models_own_states_are_a_start(self):
        self.write_students()
        for model in (("--model", "nb"), CMM):
            first = self.fit(*model, "--states", 3, "--iterations", 300).json
            states = self.run_program("states", "m.desirepath", "t.csv", "--csv").out
            self.write("l.csv", states)
            again = self.fit(*model, "--states", 3, "--start", "l.csv", "--iterations", 5, out="n.desirepath").json
            self.assertGreater(again["trace"][-1], first["log_likelihood"] - 1e-3 * abs(first["log_likelihood"]))

    def test_the_states_of_a_mixture_start_a_chain(self):
        self.write_students(unknown=0.3)
        self.run_program("prepare", "t.csv", "--absent", "left", "--min-takers", 1, "--out", "t.cohort", "--quiet")
        for model in (("--model", "nb"), CMM):
            first = self.fit(*model, "--states", 3, cohort="t.cohort").json
            self.write("l.csv", self.run_program("states", "m.desirepath", "t.cohort", "--csv").out)
            chain = self.fit(*CMM, "--states", 3, "--start", "l.csv", out="n.desirepath", cohort="t.cohort").json
            self.assertGreater(chain["log_likelihood"], first["log_likelihood"] - 1e-3 * abs(first["log_likelihood"]))
        self.assertIn(",left,", self.read("l.csv").decode())  # skipped, not refused

    def test_how_many_starts_reached_the_best(self):
        self.write_students()
        done = self.run_program("fit", "t.csv", "--model", "nb", "--states", 2, "--out", "m.desirepath")
        fit = self.fit("--model", "nb", "--states", 2).json
        self.assert_says(done.err, 3, fit["starts_at_best"], "0.01")
        best = max(r["log_likelihood"] for r in fit["restarts"])
        self.assertEqual(fit["starts_at_best"], sum(r["log_likelihood"] >= best + 1e-4 * best for r in fit["restarts"]))
        self.assert_all(fit["restarts"], lambda restart: restart["start"])

    def test_warm_start_goes_on(self):
        self.write_students()
        first = self.fit(*CMM, "--states", 3, "--iterations", 6, "--restarts", 1, "--tolerance", 0).json
        warm = self.fit(*CMM, "--states", 3, "--iterations", 6, "--tolerance", 0, "--warm", "m.desirepath", out="n.desirepath").json
        self.assertTrue(close(warm["trace"][0], first["log_likelihood"]))
        self.assertGreater(warm["log_likelihood"], first["log_likelihood"])
        self.assertEqual(len(warm["restarts"]), 1)
        self.assert_fit_fails(*CMM, "--states", 4, "--warm", "m.desirepath", out="n.desirepath", kind="usage", names=["--warm", 3, 4])

    def test_random_start(self):
        self.write_students()
        fits = [self.fit("--model", "nb", "--states", 3, "--start", "random", "--restarts", 4).json for _ in range(2)]
        self.assertEqual(fits[0]["trace"], fits[1]["trace"])
        self.assertEqual(len({r["log_likelihood"] for r in fits[0]["restarts"]}), 4)


class Transitions(ProgramTest):
    def test_fixed_and_forbidden_survive_exactly(self):
        self.write_students()
        self.write("f.csv", "period,from,to,probability\n1,0,2,0\n1,1,0,0.3\n2,2,0,0\n2,2,1,0.125\n")
        for emission in ("bernoulli", "tree"):
            for start in ("kmeans", "random"):
                self.fit("--model", "cmm", "--emission", emission, "--states", 3, "--transitions", "f.csv", "--start", start,
                         "--iterations", 30)
                shape, values = arrays(self.path("m.desirepath"))["transitions"]
                self.assertEqual(shape, [2, 3, 3])
                at = lambda t, i, j: values[(t * 3 + i) * 3 + j]
                self.assertEqual((at(0, 0, 2), at(0, 1, 0), at(1, 2, 0), at(1, 2, 1)), (0, 0.3, 0, 0.125))
                for t in range(2):
                    for i in range(3):
                        self.assertAlmostEqual(sum(at(t, i, j) for j in range(3)), 1, 12)
        self.write("g.csv", "period,from,to,probability\n,0,1,0\n")
        self.fit("--model", "hmm", "--emission", "bernoulli", "--states", 2, "--transitions", "g.csv")
        self.assertEqual([arrays(self.path("m.desirepath"))["transitions"][1][i] for i in (0, 1, 4, 5)], [1, 0, 1, 0])

    def test_what_makes_no_sense(self):
        self.write_students(students=30)
        for text, names in (("1,0,0,0.7\n1,0,1,0.7\n", ["--transitions", 0, "1.4"]), ("1,0,1,0\n1,0,1,0\n", ["--transitions", "<listed-twice>"]),
                            ("1,0,7,0\n", ["f.csv:2"]), ("1,0,1,1.5\n", ["f.csv:2"]), ("9,0,1,0\n", ["f.csv:2"]),
                            ("3,0,1,0\n", ["f.csv:2"])):
            with self.subTest(text=text):
                self.write("f.csv", "period,from,to,probability\n" + text)
                self.assert_fit_fails(*CMM, "--states", 2, "--transitions", "f.csv", kind="input", names=names)
        self.fit("--model", "nb", "--states", 2, "--transitions", "f.csv", code=2)


class Weights(ProgramTest):
    def test_weight_2_is_the_row_twice(self):
        self.write_students("weighted.csv", weights=student_weight)
        self.write_students("copies.csv", weights="copies")
        for model in MODELS:
            with self.subTest(model=model):
                common = ("--model", *model, "--states", 2, "--restarts", 2, "--iterations", 15, "--tolerance", 0)
                a = self.fit(*common, "--weights", "weight", cohort="weighted.csv").json
                b = self.fit(*common, cohort="copies.csv").json
                self.assertEqual((a["students"], b["students"], a["student_weight"]), (160, 214, 214))
                self.assertEqual(a["parameters"], b["parameters"])
                for field in ("log_likelihood", "objective", "state_entropy"):
                    self.assertTrue(close(a[field], b[field], 1e-8), (field, a[field], b[field]))
                for x, y in zip(a["trace"], b["trace"], strict=True):
                    self.assertTrue(close(x, y))

    def test_bad_weights(self):
        for values, reason in (("1,-2", "<negative>"), ("1,x", "<not-a-number>"), ("0,0", "<all-zero>"), ("1,", "<no-weight>")):
            first, second = values.split(",")
            self.write("t.csv", f"student,period,course,weight\na,1,X,{first}\nb,1,Y,{second}\n")
            self.assert_fit_fails("--model", "nb", "--states", 1, "--weights", "weight", kind="input", names=["'weight'", reason])


class Validation(ProgramTest):
    def test_the_best_iterate_by_validation(self):
        self.write_students(students=120, courses=14, unknown=0)
        self.write_students("v.csv", students=60, courses=14, unknown=0, seed=2)
        for how in (("--validation", 0.3), ("--validation", "v.csv")):
            fit = self.fit("--model", "nb", "--states", 8, "--iterations", 80, "--pseudocount", 0.01, *how).json
            best = fit["best_iteration"]
            self.assertEqual(fit["validation_trace"][best], max(fit["validation_trace"]))
            self.assertEqual(fit["log_likelihood"], fit["trace"][best])
            self.assertEqual(fit["students"], 84 if how[1] == 0.3 else 120)
            self.assertEqual(max(r["validation"] for r in fit["restarts"]), fit["validation_trace"][best])
        score = self.run_program("score", "m.desirepath", "v.csv", "--full-precision", "--json").json
        self.assertTrue(close(score["mean_log_likelihood"], max(fit["validation_trace"])))

    def test_courses_that_only_validation_has_are_told(self):
        self.write("t.csv", "student,period,course\na,1,X\nb,1,Y\nc,1,X\n")
        self.write("v.csv", "student,period,course\nd,1,X\ne,1,Z\n")
        done = self.fit("--model", "nb", "--states", 1, "--validation", "v.csv")
        self.assert_says(done.err, 1, "<unseen>")

    def test_an_impossible_validation_student(self):
        self.write("t.csv", "student,period,course\na,1,X\nb,1,X\nc,1,Y\nd,1,\n")
        self.write("v.csv", "student,period,course\ne,1,X\ne,1,Y\n")
        self.assert_fit_fails("--model", "nb", "--states", 2, "--pseudocount", 0, "--validation", "v.csv", kind="failure",
                              names=["--pseudocount"])


class Left(ProgramTest):
    def test_a_state_of_having_left(self):
        self.write_students(unknown=0.25)
        self.run_program("prepare", "t.csv", "--out", "t.cohort", "--absent", "left", "--min-takers", 1, "--quiet")
        for model in MODELS:
            with self.subTest(model=model):
                self.fit("--model", *model, "--states", 2, "--iterations", 20, cohort="t.cohort")
                values = arrays(self.path("m.desirepath"))
                if model[0] in ("nb", "tan"):
                    shape, departures = values["departures"]
                    self.assertEqual(shape, [3, 2])
                    self.assertAlmostEqual(sum(departures), 2, 12)
                else:
                    shape, transitions = values["transitions"]
                    self.assertEqual(shape, [2, 3, 3])
                    self.assertEqual([transitions[t * 9 + 6:t * 9 + 9] for t in range(2)], [(0, 0, 1)] * 2)  # absorbing
                    self.assertEqual(values["initial"][1][2], 0)  # nobody has left before the first period
                    self.assertGreater(transitions[2], 0)


class Loads(ProgramTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(3)
        rows = [f"s{i},{t},C{c:02d}" for i in range(300) for t in (1, 2) for c in draw.sample(range(12), draw.choice((4, 5)))]
        self.write("t.csv", "student,period,course\n" + "\n".join(rows) + "\n")

    def fit_trees(self, *arguments, **files):
        return self.fit("--model", "hct", "--trees", 2, "--tree-states", 2, "--iterations", 6, "--tolerance", 0, *arguments, **files).json

    def loads_outside(self, model):
        rows = csv.DictReader(self.run_program("sample", model, "--count", 500, "--csv").out.splitlines())
        loads = collections.Counter((row["student"], row["draw"] if "draw" in row else "", row["period"]) for row in rows if row["course"])
        return sum(load not in (4, 5) for load in loads.values()) / len(loads)

    def test_drawn_students_take_as_many_courses_as_real_ones(self):
        tilted, plain = self.fit_trees(), self.fit_trees("--load", "none", out="n.desirepath")
        self.assertEqual((tilted["loads"], plain["loads"]), ("tilted", "of the trees"))
        self.assertGreater(tilted["log_likelihood"], plain["log_likelihood"] + 0.8 * 300)
        self.assertEqual(tilted["trace"], plain["trace"])
        for model, fit in (("m.desirepath", tilted), ("n.desirepath", plain)):
            self.assertEqual(self.run_program("inspect", model, "--json").json["loads"], fit["loads"])
            score = self.run_program("score", model, "t.csv", "--full-precision", "--json").json
            self.assertTrue(close(score["mean_log_likelihood"] * 300, fit["log_likelihood"], 1e-8))
        self.assertLess(self.loads_outside("m.desirepath"), 0.1)
        self.assertGreater(self.loads_outside("n.desirepath"), 0.3)
        ask = ("--took", "C01@1", "--period", "2", "--json")
        answers = [self.run_program("infer", model, *ask).json for model in ("m.desirepath", "n.desirepath")]
        self.assertEqual(answers[0]["rows"] if "rows" in answers[0] else answers[0], answers[1]["rows"] if "rows" in answers[1] else answers[1])

    def test_few_students_stay_as_the_trees_have_them(self):
        rows = self.path("t.csv").read_text().splitlines()
        self.write("few.csv", "\n".join([rows[0]] + [row for row in rows[1:] if int(row[1:row.index(",")]) < 99]) + "\n")
        self.assertEqual(self.fit_trees(cohort="few.csv")["loads"], "of the trees")
        self.assert_fit_fails("--model", "hct", "--load", "sometimes", kind="usage", names=["--load", "tilt", "none"])
        self.assert_fit_fails("--model", "nb", "--states", 2, "--load", "tilt", kind="usage", names=["--load"])


class Degenerate(ProgramTest):
    """No input stops training: courses never or always taken, copies of a course, one student, one period, K > N."""

    def test_every_model_finishes(self):
        many = "".join(f"s{i},{t},C{(i * 7 + t) % 5}\ns{i},{t},ALL\ns{i},{t},COPY{(i * 7 + t) % 5}\n" for i in range(30) for t in (1, 2))
        tables = {"one student": "a,1,X\na,2,Y\n", "one period": "a,1,X\nb,1,Y\nc,1,\n", "few students": "a,1,X\na,2,Y\nb,1,Y\n",
                  "always and copies": many, "nothing taken": "a,1,\na,2,\nb,1,\nc,1,X\n"}
        self.write("courses.csv", "course\nX\nY\nNEVER\n")
        for name, rows in tables.items():
            self.write("t.csv", "student,period,course\n" + rows)
            for model in MODELS:
                for pseudocount in ((), ("--pseudocount", 0)):
                    with self.subTest(table=name, model=model, pseudocount=pseudocount):
                        self.fit("--model", *model, "--states", 5, "--courses", "courses.csv", *pseudocount)
                        self.run_program("score", "m.desirepath", "t.csv", "--courses", "courses.csv", "--csv")
                        self.run_program("states", "m.desirepath", "--json")


if __name__ == "__main__":
    unittest.main()
