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

    def scores(self, folder):
        with open(folder / "log_likelihoods.csv", newline="") as file:
            return list(csv.DictReader(file))

    def test_models_score_as_they_did(self):
        for folder in self.files():
            expected = {}
            for row in self.scores(folder):
                expected.setdefault((row["model"], row["cohort"], row["likelihood"]), []).append(row)
            for (model, cohort, kind), rows in expected.items():
                with self.subTest(model=model, kind=kind):
                    found = self.run_program("score", folder / f"{model}.desirepath", folder / f"{cohort}.cohort", "--likelihood", kind,
                                             "--csv", "--quiet").rows
                    self.assertEqual([row["student"] for row in found], [row["student"] for row in rows])
                    for new, old in zip(found, rows):
                        a, b = float(new["log_likelihood"]), float(old["log_likelihood"])
                        if old["tolerance"]:
                            self.assertLess(abs(a - b), float(old["tolerance"]), old)
                        else:
                            self.assertTrue(close(a, b, 1e-12), (new, old))

    def test_every_model_has_its_scores(self):
        for folder in self.files():
            scored = {row["model"] for row in self.scores(folder)}
            self.assertEqual(scored, {path.stem for path in folder.glob("*.desirepath")})

    def test_models_answer_and_go_on(self):
        for folder in self.files():
            for path in sorted(folder.glob("*.desirepath")):
                with self.subTest(model=path.stem):
                    cohort = folder / ("left.cohort" if path.stem.startswith("left") else "students.cohort")
                    inspected = self.run_program("inspect", path, "--json").json
                    self.assertEqual((inspected["kind"], inspected["courses"]), ("model", 6))
                    self.run_program("states", path, "--json")
                    model, _, emission = inspected["model"].partition("+")
                    self.fit("--model", model, *(("--emission", emission) if emission else ()), "--states", 2, "--warm", path,
                             "--iterations", 1, *self.covariance(inspected), cohort=cohort)

    def covariance(self, inspected):
        options = inspected["training"]["options"]
        return ("--covariance", options["covariance"]) if "covariance" in options else ()

    def test_cohorts(self):
        for folder in self.files():
            for name in ("students.cohort", "left.cohort"):
                cohort = self.run_program("inspect", folder / name, "--json").json
                self.assertEqual((cohort["kind"], cohort["students"], cohort["courses"]), ("cohort", 24, 6))
                self.run_program("describe", folder / name, "--json")

    def test_a_checkpoint_of_another_version_is_refused(self):
        # Finished where it was begun, or begun anew; 0.1.0 wrote the first of its forms.
        folder = GOLDEN / "0.1.0"
        self.path("c").write_bytes((folder / "nb.checkpoint").read_bytes())
        self.assert_fit_fails("--model", "nb", "--states", 2, "--restarts", 1, "--seed", 20, "--iterations", 100000000, "--tolerance", 0,
                              "--checkpoint", "c", "--resume", cohort=folder / "students.cohort", kind="input", names=["c", "<another-version>"])
        self.assertFalse(self.path("m.desirepath").exists())


if __name__ == "__main__":
    unittest.main()
