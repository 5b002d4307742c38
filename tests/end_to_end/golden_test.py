"""Files that earlier versions wrote (tests/golden, one folder a version) are read, and mean what they meant."""

import csv
import pathlib
import unittest

from program import ProgramTest, close

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"


class Golden(ProgramTest):
    def files(self):
        folders = sorted(path for path in GOLDEN.iterdir() if path.is_dir())
        self.assertTrue(folders)
        for folder in folders:
            with self.subTest(version=folder.name):
                yield folder

    def kept(self, folder, name, *keys):
        """The rows of a kept table by the values of some columns."""
        groups = {}
        with open(folder / name, newline="") as file:
            for row in csv.DictReader(file):
                groups.setdefault(tuple(row[key] for key in keys), []).append(row)
        return groups

    def assert_kept(self, new, old):
        """Equal to rounding, or within the tolerance of an estimate."""
        if old["tolerance"]:
            self.assertLess(abs(new - float(old[self.value])), float(old["tolerance"]), old)
        else:
            self.assertTrue(close(new, float(old[self.value]), 1e-12), (new, old))

    def test_models_score_as_they_did(self):
        self.value = "log_likelihood"
        for folder in self.files():
            for (model, cohort, kind), rows in self.kept(folder, "log_likelihoods.csv", "model", "cohort", "likelihood").items():
                with self.subTest(model=model, kind=kind):
                    found = self.run_program("score", folder / f"{model}.desirepath", folder / f"{cohort}.cohort", "--likelihood", kind,
                                             "--csv", "--quiet").rows
                    self.assertEqual([row["student"] for row in found], [row["student"] for row in rows])
                    self.assertGreater(len(found), 10)
                    for new, old in zip(found, rows, strict=True):
                        self.assert_kept(float(new["log_likelihood"]), old)

    def test_models_answer_as_they_did(self):
        self.value = "probability"
        for folder in self.files():
            for (model, cohort, student), rows in self.kept(folder, "answers.csv", "model", "cohort", "student").items():
                with self.subTest(model=model):
                    found = self.run_program("infer", folder / f"{model}.desirepath", folder / f"{cohort}.cohort", "--student", student,
                                             "--known-periods", 1, "--csv", "--quiet").rows
                    self.assertEqual(len(found), 12)
                    answers = {(row["period"], row["course"]): float(row["probability"]) for row in found}
                    self.assertEqual(set(answers), {(row["period"], row["course"]) for row in rows})
                    for old in rows:
                        self.assert_kept(answers[old["period"], old["course"]], old)

    def test_every_model_has_its_scores_and_answers(self):
        for folder in self.files():
            models = {(path.stem,) for path in folder.glob("*.desirepath")}
            for table in ("log_likelihoods.csv", "answers.csv"):
                self.assertEqual(set(self.kept(folder, table, "model")), models)

    def test_every_form_is_kept(self):
        *_, newest = self.files()
        kept = [self.run_program("inspect", path, "--json").json for path in sorted(newest.glob("*.desirepath"))]
        self.assertEqual({one["model"].partition("+")[0] for one in kept}, {"nb", "tan", "gmm", "hmm", "cmm", "hct", "vae"})
        options = [one["training"]["options"] for one in kept]
        # Gaussian states of one covariance each, which is not recorded, and of few factors.
        self.assertEqual({one["training"]["options"].get("covariance") for one in kept if one["model"] == "cmm"}, {None, "factor:2"})
        self.assertEqual({one["model"] for one in options if one.get("carry_over")}, {"nb", "cmm"})
        self.assertEqual({path.stem for path in newest.glob("published_*")}, {"published_cmm", "published_hct"})
        self.assertEqual({path.stem for path in newest.glob("left_*.desirepath")}, {"left_cmm", "left_nb", "left_hct"})

    def test_models_answer_and_go_on(self):
        for folder in self.files():
            cohorts = {model: cohort for model, cohort in self.kept(folder, "log_likelihoods.csv", "model", "cohort")}
            for path in sorted(folder.glob("*.desirepath")):
                with self.subTest(model=path.stem):
                    inspected = self.run_program("inspect", path, "--json").json
                    self.assertEqual((inspected["kind"], inspected["courses"]), ("model", 6))
                    if "states" in inspected:
                        self.assertTrue(self.run_program("states", path, "--json").json["states"])
                    drawn = self.run_program("sample", path, "--count", 40, "--csv").rows
                    self.assertEqual({row["student"] for row in drawn}, {str(number) for number in range(1, 41)})
                    done = self.fit(*self.going_on(inspected), "--warm", path, cohort=folder / f"{cohorts[path.stem]}.cohort").json
                    self.assertEqual(done["iterations"], 1)

    def going_on(self, inspected):
        """Options of one more step from a model: those it was trained with."""
        model, _, emission = inspected["model"].partition("+")
        options = inspected["training"]["options"]
        more = ["--model", model, *(("--emission", emission) if emission else ()), "--epochs" if model == "vae" else "--iterations", 1]
        for name in ("states", "tree_states", "latent", "hidden", "covariance"):
            if name in options and not (name == "states" and model in ("hct", "vae")):
                more += [f"--{name.replace('_', '-')}", options[name]]
        return more + (["--carry-over"] if options.get("carry_over") else [])

    def test_cohorts(self):
        for folder in self.files():
            for name, students in (("students", 24), ("left", 24), ("whole", 11), ("many", 90)):
                cohort = self.run_program("inspect", folder / f"{name}.cohort", "--json").json
                self.assertEqual((cohort["kind"], cohort["students"], cohort["courses"]), ("cohort", students, 6))
                self.run_program("describe", folder / f"{name}.cohort", "--json")

    def test_a_checkpoint_of_another_version_is_refused(self):
        # Finished where it was begun, or begun anew; 0.1.0 wrote the first of its forms.
        folder = GOLDEN / "0.1.0"
        self.path("c").write_bytes((folder / "nb.checkpoint").read_bytes())
        self.assert_fit_fails("--model", "nb", "--states", 2, "--restarts", 1, "--seed", 20, "--iterations", 100000000, "--tolerance", 0,
                              "--checkpoint", "c", "--resume", cohort=folder / "students.cohort", kind="input", names=["c", "<another-version>"])
        self.assertFalse(self.path("m.desirepath").exists())


if __name__ == "__main__":
    unittest.main()
