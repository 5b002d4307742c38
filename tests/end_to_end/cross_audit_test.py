"""All outputs about one cohort together tell of nobody (cross_audit.py), for random cohorts.

    cross_audit_test.py [--cohorts 10] [--first 0]
"""

import json
import random
import subprocess
import sys
import unittest

from cross_audit import CrossAudit
from program import KINDS, ProgramTest
from truth_page import NUMBER
from truth_rows import LEAST, Rows, States


def university(number):
    """Rows of a small university: courses of very different popularity, groups of very different sizes, students who come and go."""
    draw = random.Random(number)
    students = draw.choice((60, 120, 200, 400))
    courses = [f"{'AB'[c % 2]} {100 + c}" for c in range(draw.choice((4, 5, 6)))]
    kinds = [[draw.choice((0.02, 0.1, 0.5, 0.9, 0.97, draw.random())) for _ in courses] for _ in range(2)]
    retakes = draw.choice((0.0, 0.1, 1.0))
    leaving, pausing = draw.choice((0.02, 0.05, 0.2)), draw.choice((0.0, 0.02, 0.1))
    moving = draw.choice((0.02, 0.1, 0.4))
    homes = draw.choice(((90, 10), (50, 50), (60, 35, 5)))
    last = 2019
    rows = []
    for s in range(students):
        entry = draw.choice((2014, 2015, 2016, 2017, 2018))
        home = draw.choices("abc"[:len(homes)], homes)[0]
        kind, had = draw.random() < 0.5, set()
        for t in range(3):
            if entry + t > last or (t > 0 and draw.random() < leaving):
                break
            if t > 0 and draw.random() < pausing:
                continue
            kind = not kind if t > 0 and draw.random() < moving else kind
            taken = [c for c, share in zip(courses, kinds[kind], strict=True)
                     if draw.random() < share * (retakes if c in had else 1)] or ([courses[0]] if courses[0] not in had else [courses[1]])
            had.update(taken)
            rows += [{"student": f"S{s}", "period": str(t + 1), "term": f"{entry + t}-09", "course": c, "home": home} for c in taken]
    return rows, last


def other_numbers(text, printed):
    """Whole numbers of a text that are no rounding of those of a JSON answer, nor percents of them, nor in its strings."""
    known, values = set(), [LEAST]

    def read(value):
        if isinstance(value, dict):
            for part in value.values():
                read(part)
        elif isinstance(value, list):
            for part in value:
                read(part)
            values.append(len(value))
        elif isinstance(value, str):
            known.update(NUMBER.findall(value))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            values.append(value)

    read(printed)
    found = []
    for number in NUMBER.findall(text):
        value = float(number.replace(",", ""))
        is_known = number in known or any(abs(abs(v) * scale - value) <= 0.5 + 1e-6 for v in values for scale in (1, 100))
        if "." not in number and not is_known:
            found.append(number)
    return found


class CrossAudits(ProgramTest):
    cohorts, first = 10, 0

    def run_or_be_refused(self, *arguments):
        """Whether it was answered; it may be refused for privacy alone."""
        done = subprocess.run(self.command(*arguments), cwd=self.folder, capture_output=True, text=True)
        self.assertIn(done.returncode, (KINDS["done"], KINDS["privacy"]), done.stderr)
        return done if done.returncode == 0 else None

    def ask(self, *arguments):
        """The JSON of a question; its words say no other numbers. (The sentences of `describe` are those of the page.)"""
        done = self.run_or_be_refused(*arguments, "--json")
        if arguments[0] == "describe":
            return json.loads(done.stdout) if done else None
        words = self.run_or_be_refused(*arguments)
        self.assertEqual(words is None, done is None, arguments)
        if done is None:
            return None
        extra = other_numbers(words.stdout, json.loads(done.stdout))
        self.assertEqual(extra, [], f"{arguments}:\n{words.stdout}")
        return json.loads(done.stdout)

    def audit(self, number):
        rows, last = university(number)
        self.write("t.csv", "student,term,course,home\n" + "".join(f"{r['student']},{r['term']},{r['course']},{r['home']}\n" for r in rows))
        self.run_program("prepare", "t.csv", "--out", "t.cohort", "--min-takers", 1, "--data-end", f"{last}-09", "--force", "--quiet")
        for name, model in (("s.model", ("cmm", "--emission", "bernoulli")), ("a.model", ("nb",))):
            self.run_program("fit", "t.cohort", "--model", *model, "--states", 2, "--restarts", 1, "--iterations", 15, "--out", name, "--force",
                             "--quiet")
        raw = Rows(rows, last, least=1)
        raw.periods = ["1", "2", "3"][:len(raw.periods)]
        audit = CrossAudit(raw, States(self.path("s.model")), "home")
        if printed := self.ask("describe", "t.cohort"):
            audit.read_describe(printed)
        flows = self.ask("pathways", "s.model", "t.cohort")
        if flows:
            audit.read_flows(flows, "pathways")
            by = self.ask("pathways", "s.model", "t.cohort", "--by", "home")
            if by:
                audit.read_flows(by, "pathways --by")
                audit.read_compared(by)
            if groups := self.ask("states", "s.model", "t.cohort", "--by", "home", "--q", 1):
                states = {(audit.periods.index(node["period"]), str(node["state"])): set(node["states"]) for node in flows["nodes"]
                          if not node.get("not_enrolled")}
                audit.read_groups(groups, states)
        for extra in ((), ("--by", "home")):
            if printed := self.ask("delays", "a.model", "t.cohort", "--q", 1, *extra):
                audit.read_delays(printed, bool(extra))
        if printed := self.ask("company", "a.model", "t.cohort", "--q", 1):
            audit.read_company(printed)
        if printed := self.ask("prerequisites", "a.model", "t.cohort", "--q", 1, "--least-direct", 0, "--students", 10):
            audit.read_prerequisites(printed)
        for extra in ((), ("--by", "home")):
            if self.run_or_be_refused("report", "s.model", "t.cohort", "--answers", "a.model", "--out", "r.html", "--force", "--quiet", *extra):
                audit.read_page(self.path("r.html").read_text(encoding="utf-8"))
        return audit

    def test_all_outputs_together_tell_of_nobody(self):
        asked = 0
        problems = []
        for number in range(self.first, self.first + self.cohorts):
            audit = self.audit(number)
            problems += [f"cohort {number}: {what}: {true} students, between {least:g} and {largest:g}, by {', '.join(sources)}"
                         for what, true, least, largest, sources in audit.findings()]
            asked += audit.asked
        print(f"cross-output audit: {self.cohorts} cohorts, {asked} small numbers, {len(problems)} disclosed")
        self.assertGreater(asked, 10 * self.cohorts)
        self.assertEqual(problems, [], "\n".join(problems))


if __name__ == "__main__":
    for option in ("cohorts", "first"):
        if f"--{option}" in sys.argv:
            at = sys.argv.index(f"--{option}")
            setattr(CrossAudits, option, int(sys.argv[at + 1]))
            del sys.argv[at:at + 2]
    unittest.main()
