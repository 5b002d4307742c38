"""Who was enrolled when: statuses of random little universities, recomputed from their rows by a program of its own.

Nothing here uses the program's code: calendar, data end, periods and filters are done again from what docs/data_format.md says.
"""

import csv
import json
import random
import struct
import sys
import unittest

from program import ProgramTest

CASES = int(sys.argv.pop(sys.argv.index("--cases") + 1)) if "--cases" in sys.argv else 200
if "--cases" in sys.argv:
    sys.argv.remove("--cases")
STATUSES = ["unknown", "enrolled", "left", "finished", "before_entry", "away", "not_yet"]

# (label of a term, is it summer) by academic year; summer terms come last in their year.
CALENDARS = {
    "seasons": lambda y: [(f"Fall {y}", False), (f"Spring {y + 1}", False)],
    "summers": lambda y: [(f"{y} Fall", False), (f"{y + 1} Winter", False), (f"{y + 1} Spring", False), (f"{y + 1} Summer", True)],
    "codes": lambda y: [(f"{y}-1", False), (f"{y}-2", False), (f"{y}-3", True)],
    "months": lambda y: [(f"{y}-09", False), (f"{y + 1}-01", False)],
    "years": lambda y: [(f"{y}", False)],
}
SUBJECTS = {"MATH 1": "MATH", "MATH 2": "MATH", "CS 1": "CS", "CS 2": "CS", "ART 1": "ART", "ART 2": "ART"}


class University:
    """Rows of students who come, pause, leave, graduate and go on; the last terms may be only partly recorded."""

    def __init__(self, draw):
        self.draw = draw
        self.calendar = draw.choice(list(CALENDARS))
        first = draw.randrange(1990, 2020)
        self.years = list(range(first, first + draw.randrange(2, 8)))
        self.terms = []  # (label, academic year, slot, summer), in order
        for year in self.years:
            for slot, (label, summer) in enumerate(CALENDARS[self.calendar](year)):
                self.terms.append((label, year, slot, summer))
        self.rows = []
        names_entry = draw.random() < 0.4
        for number in range(draw.randrange(8, 60)):
            self.add_student(f"s{number:03d}", names_entry)
        cut = draw.choice([0, 0, 1, 2, 3])
        if cut:  # an unfinished end
            last = {term[0] for term in self.terms[-cut:]}
            keep = draw.choice([0.0, 0.1, 0.25, 0.5])
            self.rows = [row for row in self.rows if row["term"] not in last or draw.random() < keep]
        draw.shuffle(self.rows)

    def add_student(self, name, names_entry):
        draw = self.draw
        start = draw.randrange(len(self.terms))
        stay, pause = draw.choice([0.5, 0.8, 0.95]), draw.choice([0, 0.1, 0.4])
        entry = ""
        if names_entry and draw.random() < 0.7:
            year = self.terms[start][1] - draw.choice([0, 0, 1, 3])
            # A year alone beside dated terms, or, where it is within the data, a term.
            entry = str(year)
            if draw.random() < 0.3 and self.calendar != "years":
                entry = self.terms[max(0, start - draw.randrange(3))][0]
        degree = draw.choice(["", "", "BA", "BSc"])
        rows = []
        for term in self.terms[start:]:
            if term[3] and draw.random() < 0.7:
                continue  # few come in summer
            if draw.random() < pause:
                continue
            for course in draw.sample(list(SUBJECTS), draw.randrange(1, 4)):
                grade = draw.choice(["A", "B", "F", "W"])
                rows.append({"student": name, "term": term[0], "course": course, "subject": SUBJECTS[course], "grade": grade,
                             "entry": entry, "degree": ""})
            if rows and draw.random() > stay:
                break
        if rows and degree:
            draw.choice(rows)["degree"] = degree
        self.rows += rows

    def write(self, path):
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, ["student", "period", "term", "course", "subject", "grade", "entry", "degree"]
                                    if "period" in self.rows[0] else ["student", "term", "course", "subject", "grade", "entry", "degree"])
            writer.writeheader()
            writer.writerows(self.rows)


class Truth:
    """The statuses as the rules have them."""

    def __init__(self, university, options):
        self.university, self.options = university, options
        self.term = {label: (year, slot, summer) for label, year, slot, summer in university.terms}
        self.used = [t for t in university.terms if any(row["term"] == t[0] for row in university.rows)]
        self.count = {t[0]: sum(row["term"] == t[0] for row in university.rows) for t in self.used}
        self.place_terms()
        self.find_end()

    def place_terms(self):
        """Summer terms share the place of the term before; terms that only an entry names are placed too."""
        named = {row["entry"] for row in self.university.rows} & set(self.term)
        self.place, following = {}, 0
        self.first_place = {}
        per_year = {}
        for label, year, _, summer in self.university.terms:
            if label not in self.count and label not in named:
                continue
            self.place[label] = max(0, following - 1) if summer else following
            if not summer:
                following += 1
                self.first_place.setdefault(year, self.place[label])
                per_year[year] = per_year.get(year, 0) + 1
        self.most_per_year = max(per_year.values(), default=1)
        self.places = following

    def find_end(self):
        def usual(term):
            label, year, slot, summer = term
            for other in self.used:
                if other[1:] == (year - 1, slot, summer):
                    return self.count[other[0]]
            before = [self.count[t[0]] for t in self.used if t[1] == year - 1] or [self.count[t[0]] for t in self.used]
            return sum(before) / len(before)

        if self.options.get("data_end"):
            self.end = max((t for t in self.used if (t[1], t[2]) <= self.term[self.options["data_end"]][:2]), key=lambda t: (t[1], t[2]))
        else:
            self.end = [t for t in self.used if 3 * self.count[t[0]] >= usual(t)][-1]
        # The year of the end is over where the end is no earlier than the last main term of the median year before.
        last_slots = []
        for year in sorted({t[1] for t in self.used if t[1] < self.end[1]}):
            of_year = [t for t in self.used if t[1] == year]
            most = max(self.count[t[0]] for t in of_year)
            main = [t[2] for t in of_year if not t[3] and 10 * self.count[t[0]] >= most]
            if main:
                last_slots.append(main[-1])
        last_slots.sort()
        over = not last_slots or self.end[2] >= last_slots[(len(last_slots) - 1) // 2]
        self.last_year = self.end[1] if over else self.end[1] - 1

    def step(self, label):
        """Of a term, or of a year alone."""
        if label in self.term:
            return self.term[label][0] if self.options["step"] == "year" else self.place[label]
        year = int(label)
        if self.options["step"] == "year":
            return year
        if year < min(self.first_place, default=year):
            return -(min(self.first_place) - year) * self.most_per_year
        later = [y for y in self.first_place if y >= year]
        return self.first_place[min(later)] if later else self.places

    def key(self, label):
        return self.term[label][:2] if label in self.term else (int(label), -1)

    def ended(self, step):
        return step <= (self.last_year if self.options["step"] == "year" else self.place[self.end[0]])

    def statuses(self):
        options, students, periods = self.options, {}, {}
        for row in self.university.rows:
            students.setdefault(row["student"], []).append(row)
        first_step = {}
        for name, rows in students.items():
            first = min((row["term"] for row in rows), key=self.key)
            entries = [row["entry"] for row in rows if row["entry"]]
            if entries:
                entry = min(entries, key=self.key)
                if self.key(entry) <= self.key(first):
                    first = entry
            first_step[name] = min([self.step(first)] + [self.step(row["term"]) for row in rows])
            for row in rows:
                row["when"] = self.step(row["term"]) - first_step[name] + 1
        return self.decide(students, first_step)

    def kept(self, rows):
        """Periods that the filters leave."""
        options = self.options
        last = options["keep"]
        alive = []
        for row in rows:
            if options.get("where") and row["subject"] != options["where"]:
                continue
            if options.get("summer") and self.term[row["term"]][2]:
                continue
            when = row["when"]
            if when > last:
                if not options.get("later_last"):
                    continue
                when = last
            alive.append((when, row))
        if options.get("full_time"):
            courses = {}
            for when, row in alive:
                if not (options.get("passed") and row["grade"] == "F"):
                    courses.setdefault(when, set()).add(row["course"])
            alive = [(when, row) for when, row in alive if len(courses.get(when, ())) >= options["full_time"]]
        found = {when for when, _ in alive}
        return found if len(found) >= options.get("min_periods", 1) else set()

    def decide(self, students, first_step):
        options = self.options
        kept = {name: self.kept(rows) for name, rows in students.items()}
        kept = {name: periods for name, periods in kept.items() if periods}
        total = max((max(periods) for periods in kept.values()), default=0)
        result = {}
        for name, periods in kept.items():
            rows = students[name]
            when = [min(row["when"], options["keep"]) if options.get("later_last") else row["when"] for row in rows]
            graduated = options.get("finished") and any(row["degree"] for row in rows)
            for period in range(1, total + 1):
                if period in periods:
                    status = "enrolled"
                elif period in when or options["absent"] == "unknown":
                    status = "unknown"
                elif period < min(when):
                    status = "before_entry"
                elif period < max(when):
                    status = "away"
                elif self.ended(first_step[name] + period - 1):
                    status = "finished" if graduated else "left"
                else:
                    status = "not_yet"
                result[name, str(period)] = status
        return result


def arrays(path):
    """A safetensors file, read by hand."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__")
    kinds = {"U8": "B", "I16": "h", "I32": "i", "I64": "q"}
    found = {}
    for name, about in header.items():
        begin, end = about["data_offsets"]
        raw = data[8 + length + begin:8 + length + end]
        code = kinds[about["dtype"]]
        found[name] = list(struct.unpack(f"<{len(raw) // struct.calcsize('<' + code)}{code}", raw))
    return found, metadata


class Statuses(ProgramTest):
    def settings(self, draw, university):
        step = draw.choice(["year", "year", "term"])
        options = {"step": step, "absent": draw.choice(["auto"] * 6 + ["left", "unknown"]), "keep": 4 if step == "year" else 8}
        arguments = ["--periods", f"{step}s-since-entry", "--min-takers", draw.choice(["1", "3"])]
        if options["absent"] != "auto" or draw.random() < 0.3:
            arguments += ["--absent", options["absent"]]
        if draw.random() < 0.3:
            options["where"] = draw.choice(["CS", "MATH"])
            arguments += ["--where", f"subject = '{options['where']}'"]
        if draw.random() < 0.3:
            options["summer"] = True
            arguments += ["--summer", "drop"]
        if draw.random() < 0.2:
            options["full_time"] = 2
            arguments += ["--part-time", "drop-periods", "--full-time-courses", "2"]
        if draw.random() < 0.2:
            options["passed"] = True
            arguments += ["--passed-only", "--failing-grades", "F"]
        if draw.random() < 0.2:
            options["keep"] = draw.randrange(1, 12)
            arguments += ["--keep-periods", options["keep"]]
        if draw.random() < 0.2:
            options["later_last"] = True
            arguments += ["--later", "last"]
        if draw.random() < 0.2:
            options["min_periods"] = 2
            arguments += ["--min-periods", "2"]
        if draw.random() < 0.4:
            options["finished"] = True
            arguments += ["--finished", draw.choice(["degree", "degree IS NOT NULL", "degree <> ''"])]
        if draw.random() < 0.2:
            used = sorted({row["term"] for row in university.rows})
            options["data_end"] = draw.choice(used)
            arguments += ["--data-end", options["data_end"]]
        if university.calendar == "codes":
            arguments += ["--summer-terms", "3"]
        return options, arguments

    def test_random_universities(self):
        seen = {status: 0 for status in STATUSES}
        made = 0
        for case in range(CASES):
            draw = random.Random(1000 + case)
            university = University(draw)
            if len(university.rows) < 5:
                continue
            options, arguments = self.settings(draw, university)
            expected = Truth(university, options).statuses()
            university.rows = [{k: v for k, v in row.items() if k != "when"} for row in university.rows]
            university.write(self.path("rows.csv"))
            with self.subTest(case=case, calendar=university.calendar, arguments=arguments):
                command = ["prepare", "rows.csv", "--out", "c.cohort", "--statuses", "statuses.csv", "--force", "--quiet", *arguments]
                if not expected:
                    self.run_program(*command, code=3)
                    continue
                self.run_program(*command)
                with open(self.path("statuses.csv"), newline="") as file:
                    rows = list(csv.DictReader(file))
                found = {(row["student"], row["period"]): row["status"] for row in rows}
                self.assertEqual(found, expected)
                stored, metadata = arrays(self.path("c.cohort"))
                self.assertEqual([STATUSES[code] for code in stored["status"]], [row["status"] for row in rows])
                terms = [term["label"] for term in json.loads(metadata["calendar"])["terms"]]
                self.assertEqual([terms[code] if code >= 0 else "" for code in stored["term"]], [row["term"] for row in rows])
                self.assertEqual([row["term"] != "" for row in rows], [row["status"] == "enrolled" for row in rows])
                made += 1
                for status in found.values():
                    seen[status] += 1
        if CASES >= 100:
            self.assertGreater(made, 0.8 * CASES)
            self.assertTrue(all(count > 20 for count in seen.values()), seen)


if __name__ == "__main__":
    unittest.main()
