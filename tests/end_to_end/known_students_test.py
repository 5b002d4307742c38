"""Attributes, outcomes and who leaves: as they are named to `fit`, given to questions and asked about."""

import collections
import random
import unittest

from program import ProgramTest, close

FIT = ("--model", "hct", "--trees", 2, "--tree-states", 4, "--iterations", 8)


class KnownStudents(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write_terms()

    def write_terms(self, name="t.csv", students=600):
        """Students of two kinds over three years, by entry years 2008 .. 2013; data end in 2014, so that the last two have years to come.

        Commuters mostly leave after the first year; who stays gets a degree. The hall changes within students, the award comes late.
        """
        draw = random.Random(3)
        lines = ["student,term,course,residence,score,hall,award,degree"]
        self.home, self.stays = {}, {}
        for number in range(students):
            student, entry = f"s{number:04d}", 2008 + number % 6
            campus = draw.random() < 0.6
            stays = campus != (draw.random() < 0.1)
            self.home[student], self.stays[student] = "campus" if campus else "commuter", stays
            score, degree = draw.randrange(100) + (50 if campus else 0), ("BA" if number % 3 else "BS") if stays and entry < 2012 else ""
            award = ("gold" if number % 2 else "silver") if entry < 2012 else ""
            for year in range(3 if stays else 1):
                if entry + year > 2014:
                    continue
                taken = [c for c in range(6) if draw.random() < (0.6 if (c < 3) == campus else 0.1)]
                for course in taken or [""]:
                    course = course if course == "" else f"C{course}"
                    hall = f"H{(number + (year if number < 100 else 0)) % 2}"
                    lines.append(f"{student},Fall {entry + year},{course},{self.home[student]},{score},{hall},{award},{degree}")
        return self.write(name, "\n".join(lines) + "\n")

    def assert_fails(self, *arguments, **expected):
        return super().assert_fails(*arguments, "--quiet", **expected)  # of what the tables are read as there are notes

    def fit_known(self, *arguments):
        return self.fit(*FIT, "--attributes", "residence,score", "--outcomes", "graduated=degree is not null", *arguments).json

    def outcomes(self, *arguments):
        return self.run_program("infer", "m.desirepath", *arguments, "--csv").rows

    def test_what_a_model_knows_is_said_and_stays_in_its_file(self):
        warnings = self.fit_known()["warnings"]
        self.assert_never_says("\n".join(warnings), "--outcomes")
        traits = {trait["name"]: trait for trait in self.run_program("inspect", "m.desirepath", "--json").json["traits"]}
        self.assertEqual(traits["residence"]["values"], ["campus", "commuter"])
        self.assertEqual(traits["graduated"], {"name": "graduated", "kind": "outcome", "values": ["no", "yes"]})
        self.assertEqual(len(traits["score"]["values"]), 5)
        self.assertEqual([trait["kind"] for trait in traits.values()].count("departure"), 1)

    def test_attributes_that_come_later_are_warned_of(self):
        said = "\n".join(self.fit(*FIT, "--attributes", "hall,award,degree,residence", "--outcomes", "done=degree is not null").json["warnings"])
        for column in ("hall", "award", "degree"):
            self.assert_says(said, column, "--outcomes")
        self.assert_never_says(said, "residence")

    def test_columns_and_conditions_are_refused_by_name(self):
        for arguments, names in [
            (("--attributes", "residense"), ["residense", "residence", "degree"]),
            (("--outcomes", "graduated=degre is not null"), ["degre", "degree"]),
            (("--outcomes", "graduated=degree is"), ["degree is"]),
            (("--outcomes", "never=score > 1000"), ["never", 10]),
            (("--attributes", "residence", "--outcomes", "residence"), ["residence", "--attributes", "--outcomes"]),
        ]:
            self.assert_fit_fails(*FIT, *arguments, kind="usage", names=names)

    def test_outcomes_of_students_and_their_totals(self):
        self.fit_known()
        each = self.outcomes("t.csv", "--known-periods", 1, "--outcome", "graduated", "--outcome", "enrolled", "--period", "2,3")
        chance = collections.defaultdict(dict)
        for row in each:
            chance[row["outcome"] + row["period"] + row["value"]][row["student"]] = float(row["probability"])
        self.assertEqual(set(chance), {"graduatedyes", "graduatedno", "enrolled2yes", "enrolled3yes"})
        for student, home in self.home.items():
            self.assertTrue(close(chance["graduatedyes"][student] + chance["graduatedno"][student], 1))
            self.assertLessEqual(chance["enrolled3yes"][student], chance["enrolled2yes"][student] + 1e-9)
        mean = lambda table, home: sum(table[s] for s in table if self.home[s] == home) / sum(1 for s in table if self.home[s] == home)
        self.assertGreater(mean(chance["enrolled2yes"], "campus"), 0.75)
        self.assertLess(mean(chance["enrolled2yes"], "commuter"), 0.35)
        self.assertGreater(mean(chance["graduatedyes"], "campus"), mean(chance["graduatedyes"], "commuter") + 0.3)
        total = self.run_program("infer", "m.desirepath", "t.csv", "--known-periods", 1, "--outcome", "graduated", "--outcome", "enrolled",
                                 "--period", "2,3", "--total", "--json").json
        for row in total["outcomes"]:
            key = row["outcome"] + (row["period"] or "") + row["value"]
            self.assertTrue(close(row["expected"], sum(chance[key].values()), 1e-6), row)
        groups = self.run_program("infer", "m.desirepath", "t.csv", "--known-periods", 1, "--outcome", "graduated", "--by", "residence", "--json").json
        for row in groups["outcomes"]:
            own = [p for s, p in chance["graduated" + row["value"]].items() if self.home[s] == row["group"]]
            self.assertTrue(close(row["expected"], sum(own), 1e-6), row)
            self.assertEqual(row["of"], len(own))
        self.assertEqual(len(groups["outcomes"]), 4)
        seats = self.run_program("infer", "m.desirepath", "t.csv", "--known-periods", 1, "--period", 2, "--total", "--json").json
        self.assertEqual(seats["returning"][0]["expected_enrolled"], round(sum(chance["enrolled2yes"].values())))

    def test_conditions_and_a_table_of_evidence_stand_beside_each_other(self):
        self.fit_known()
        self.write("e.csv", "student,period,course,taken\nanyone,1,C1,1\n")
        ask = lambda *given: self.outcomes(*given, "--period", 2)
        both = ask("--given", "e.csv", "--given", "residence=commuter,score=20")
        self.assertEqual(both, ask("--took", "C1@1", "--given", "score=20", "--given", "residence=commuter"))
        self.assertNotEqual(both, ask("--given", "e.csv"))
        self.assert_says(self.run_program("infer", "m.desirepath", "--given", "residence=commuter", "--outcome", "graduated").out, "graduated = yes")
        for arguments, kind, names in [
            (("--given", "residence=commuters"), "input", ["commuters", "commuter"]),
            (("--given", "home=campus"), "input", ["home", "residence"]),
            (("--given", "last period=2"), "usage", ["--given", "last period"]),
            (("--given", "e.csv", "--given", "e.csv"), "usage", ["--given"]),
            (("--outcome", "graduate"), "input", ["graduate", "graduated"]),
            (("--by", "residence"), "usage", ["--by", "--outcome"]),
            (("t.csv", "--outcome", "graduated", "--explain", 2), "usage", ["--explain", "--outcome"]),
            (("t.csv", "--outcome", "graduated", "--by", "home"), "usage", ["home", "residence"]),
        ]:
            self.assert_fails("infer", "m.desirepath", *arguments, kind=kind, names=names)
        few = ("infer", "m.desirepath", "t.csv", "--where", "student < 's0009'", "--outcome", "graduated")
        self.run_program(*few, "--csv")
        self.assert_fails(*few, "--total", kind="privacy", names=[10])

    def test_drawn_students_have_attributes_and_may_leave(self):
        self.fit_known()
        rows = self.run_program("sample", "m.desirepath", "--count", 2000, "--csv").rows
        self.assertEqual(list(rows[0]), ["student", "period", "course", "residence", "score", "graduated"])
        periods, home = collections.defaultdict(set), {}
        for row in rows:
            periods[row["student"]].add(int(row["period"]))
            self.assertEqual(home.setdefault(row["student"], row["residence"]), row["residence"])
        self.assertEqual(len(periods), 2000)
        self.assert_all(periods.values(), lambda own: own in ({1}, {1, 2}, {1, 2, 3}))
        stay = lambda value: sum(1 for s, own in periods.items() if home[s] == value and 2 in own) / sum(1 for s in home if home[s] == value)
        self.assertGreater(stay("campus"), stay("commuter") + 0.3)
        self.write("drawn.csv", self.run_program("sample", "m.desirepath", "--count", 500, "--csv").out)
        self.fit(*FIT, "--attributes", "residence", "--outcomes", "graduated", cohort="drawn.csv", out="again.desirepath")
        given = self.run_program("sample", "m.desirepath", "--count", 50, "--given", "residence=commuter", "--csv").rows
        self.assert_all(given, lambda row: row["residence"] == "commuter")

    def test_scores_plans_prerequisites_and_delays(self):
        self.fit_known()
        with_traits = self.run_program("score", "m.desirepath", "t.csv", "--leave-one-out", "off", "--csv").rows
        without = self.run_program("score", "m.desirepath", "t.csv", "--traits", "off", "--csv").rows
        self.assert_all(zip(with_traits, without), lambda pair: float(pair[0]["log_likelihood"]) < float(pair[1]["log_likelihood"]))
        self.assert_fails("score", "m.desirepath", "t.csv", "--traits", "off", "--leave-one-out", "on", kind="usage",
                          names=["--traits", "--leave-one-out"])
        plan = self.run_program("plan", "m.desirepath", "--took", "C1@1", "--known-periods", 1, "--goal", "graduated=yes", "--json").json
        self.assertEqual((plan["goal"], plan["period"]), (["graduated=yes"], "2"))
        self.assertGreater(plan["probability"], plan["probability_of_anyone"])  # the student is enrolled in the second period
        commuters = sum(1 for home in self.home.values() if home == "commuter")
        found = self.run_program("prerequisites", "m.desirepath", "t.csv", "--given", "residence=commuter", "--json").json
        self.assertEqual(found["students"], commuters)
        self.run_program("prerequisites", "m.desirepath", "--given", "residence=campus", "--given", "graduated=yes", "--drawn", 200, "--json")
        delays = self.run_program("delays", "m.desirepath", "t.csv", "--given", "residence=campus", "--json").json
        self.assertEqual(delays["given"], "residence = campus")
        self.assert_fails("delays", "m.desirepath", "t.csv", "--where", "residence = 'campus' or student < 's0015'", "--given",
                          "residence=commuter", kind="privacy", names=[10])


if __name__ == "__main__":
    unittest.main()
