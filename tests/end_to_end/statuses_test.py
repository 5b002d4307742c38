"""Who was enrolled when: statuses of random little universities, recomputed from their rows by a program of its own.

Nothing here uses the program's code: calendar, data end, periods and filters are done again from what docs/data_format.md says.
"""

import csv
import json
import random
import struct
import subprocess
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
        """Summer terms share the place of the term before; terms that only an entry names are placed too, and those before the
        data as if its years were like the fullest one."""
        named = {row["entry"] for row in self.university.rows} & set(self.term)
        self.first_year = self.used[0][1]
        self.place, following = {}, 0
        self.first_place = {}
        in_year = {}
        for label, year, slot, summer in self.university.terms:
            if year < self.first_year or (label not in self.count and label not in named):
                continue
            self.place[label] = max(0, following - 1) if summer else following
            if not summer:
                following += 1
                self.first_place.setdefault(year, self.place[label])
                in_year.setdefault(year, []).append(slot)
        self.usual = max(in_year.values(), key=len, default=[0])
        self.places = following
        for label, year, slot, _ in self.university.terms:
            if year < self.first_year:
                self.place[label] = sum(other < slot for other in self.usual) - (self.first_year - year) * len(self.usual)

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
        if year < self.first_year:
            return -(self.first_year - year) * len(self.usual)
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
                done = subprocess.run(self.command(*command), cwd=self.folder, capture_output=True, text=True)
                if done.returncode == 3 and "no course has 3 takers" in done.stderr:
                    continue
                self.assertEqual(done.returncode, 0, done.stderr)
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

    def statuses(self, rows, *arguments):
        """Of each student, in the order of periods."""
        self.write("t.csv", rows)
        done = self.run_program("prepare", "t.csv", "--min-takers", "1", "--out", "t.cohort", "--statuses", "t.statuses", "--force", "--json",
                                *arguments)
        self.notes = done.json["notes"]
        self.data_end = done.json.get("data_end")
        found = {}
        with open(self.path("t.statuses"), newline="") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["student"], []).append(row["status"])
        return found

    def counts(self, *arguments):
        statuses = [status for own in self.statuses(*arguments).values() for status in own]
        return {status: statuses.count(status) for status in set(statuses)}

    def test_terms_since_entry_make_nobody_a_leaver_who_comes_back_or_is_still_there(self):
        terms = [f"{2015 + i // 2}-{1 + i % 2}" for i in range(8)]
        rows = "student,term,course\n"
        for s in range(30):  # all enrolled in every term up to the end of the data
            rows += "".join(f"s{s},{term},C{s % 3}\n" for term in terms[s % 5:])
        for absent in ("auto", "left"):
            self.assertEqual(set(self.counts(rows, "--periods", "terms-since-entry", "--absent", absent)), {"enrolled", "not_yet"})

    def test_a_period_that_only_a_filter_emptied_is_unknown(self):
        rows = "student,term,course,subject\n"
        for s in range(60):
            rows += f"s{s},2015,CS 1,CS\n"
            for year in (2016, 2017):
                rows += f"s{s},{year},CS 2,CS\n" if s < 20 else f"s{s},{year},ART 1,ART\n"
        for absent in ("auto", "left"):
            self.assertEqual(self.counts(rows, "--where", "subject='CS'", "--absent", absent), {"enrolled": 100, "unknown": 80})
        # Nor by other filters.
        summer = "student,term,course\n" + "".join(f"s{s},Fall 2015,A\ns{s},Summer 2017,B\nt{s},Fall 2015,A\nt{s},Fall 2016,A\n"
                                                   for s in range(20))
        self.assertEqual(self.counts(summer, "--summer", "drop"), {"enrolled": 60, "unknown": 20})

    def test_years_count_from_the_first_row_of_all(self):
        rows = "student,term,course,subject\na,2015,ART 1,ART\na,2016,CS 1,CS\nb,2015,CS 1,CS\nb,2016,CS 2,CS\n"
        self.assertEqual(self.statuses(rows, "--where", "subject='CS'"), {"a": ["unknown", "enrolled"], "b": ["enrolled", "enrolled"]})

    def test_an_unfinished_year_makes_no_leavers(self):
        rows = "student,term,course\n"
        for s in range(40):
            for year in range(2010 + s % 4, 2014):
                rows += f"s{s},{year},A\n"
            if s < 5:
                rows += f"s{s},2014,A\n"
        found = self.statuses(rows)
        self.assertEqual(self.data_end, "2013")
        self.assertIn("the data end with the term '2013'", " ".join(self.notes))
        self.assertNotIn("left", {status for own in found.values() for status in own})
        self.assertEqual(found["s3"], ["enrolled", "enrolled", "not_yet", "not_yet"])
        told = self.statuses(rows, "--data-end", "2014")
        self.assertEqual(self.data_end, "2014")
        self.assertEqual(told["s7"], ["enrolled", "left", "not_yet", "not_yet"])
        self.run_program("prepare", "t.csv", "--data-end", "2030", "--out", "x.cohort", code=2)
        self.run_program("prepare", "t.csv", "--data-end", "soon", "--out", "x.cohort", code=2)

    def test_half_a_year_is_not_over(self):
        rows = "student,term,course\n" + "".join(f"s{s},Fall {year},A\ns{s},Spring {year + 1},A\n" for s in range(10) for year in (2010, 2011))
        rows += "".join(f"s{s},Fall 2012,A\n" for s in range(5))
        found = self.statuses(rows)
        self.assertEqual(self.data_end, "Fall 2012")
        self.assertEqual(found["s9"], ["enrolled", "enrolled", "not_yet"])

    def test_an_entry_may_be_a_year_alone(self):
        rows = "student,term,course,entry\na,2008-09,A,2008\na,2009-01,B,2008\nb,2009-09,A,2007\nc,2009-09,A,2009\nc,2010-01,A,2009\n"
        self.assertEqual(self.statuses(rows), {"a": ["enrolled", "left", "not_yet"], "b": ["before_entry", "before_entry", "enrolled"],
                                               "c": ["enrolled", "not_yet", "not_yet"]})
        self.statuses(rows.replace("entry", "cohort"), "--map", "entry=cohort")
        codes = "student,term,course,entry\na,2187,A,2018\na,2192,B,2018\nb,2187,A,2016\nb,2192,A,2016\n"
        self.assertEqual(self.statuses(codes), {"a": ["enrolled", "not_yet", "not_yet"], "b": ["before_entry", "before_entry", "enrolled"]})

    def test_who_graduated_finished(self):
        rows = "student,term,course,degree\na,2010,A,\na,2011,A,BA\nb,2010,A,\nc,2010,A,\nc,2011,A,\nc,2012,A,BSc\nc,2013,A,\n"
        expected = {"a": ["enrolled", "enrolled", "finished", "finished"], "b": ["enrolled", "left", "left", "left"], "c": ["enrolled"] * 4}
        for condition in ("degree", "degree IS NOT NULL", "length(degree) > 1"):
            self.assertEqual(self.statuses(rows, "--finished", condition), expected)
        self.assertEqual(self.statuses(rows, "--map", "finished=degree"), expected)
        self.assertEqual(self.statuses(rows.replace("degree", "finished")), expected)
        self.assertIn("degree", [a["name"] for a in self.run_program("inspect", "t.cohort", "--json").json["attributes"]]
                      if self.statuses(rows, "--finished", "degree") else [])
        status = "student,term,course,status\na,2010,A,graduated\nb,2010,A,gone\nb,2011,A,gone\n"
        self.write("s.csv", status)
        done = self.run_program("prepare", "s.csv", "--finished", "status", "--out", "s.cohort", code=3)
        self.assertIn("say which of them mean it", done.err)
        self.assertEqual(self.statuses(status, "--finished", "status = 'graduated'")["a"], ["enrolled", "finished"])

    def test_periods_that_are_given_follow_the_terms_beside_them(self):
        rows = "student,period,term,course\n"
        for s in range(20):
            for period in range(1, 2 + s % 3):
                rows += f"s{s},{period},{2010 + s % 2 + period},A\n"
        found = self.statuses(rows, "--periods", "as-given")
        self.assertEqual(found["s0"], ["enrolled", "left", "left"])
        self.assertEqual(found["s3"], ["enrolled", "left", "not_yet"] if self.data_end == "2013" else ["enrolled", "left", "left"])
        # Without a calendar only enrolled and unknown exist, and that is said.
        found = self.statuses("\n".join(",".join(line.split(",")[:2] + line.split(",")[3:]) for line in rows.split("\n")))
        self.assertEqual({status for own in found.values() for status in own}, {"enrolled", "unknown"})
        self.assertIn("counts are of the students enrolled in each period", " ".join(self.notes))

    def test_statuses_stay_with_the_students(self):
        rows = "student,term,course,kind\n"
        for s in range(600):
            for year in range(2010 + s % 3, 2010 + s % 3 + 1 + s % 4):
                rows += f"s{s:03d},{year},C{(s + year) % 4},{'ab'[s % 2]}\n"
        whole = self.statuses(rows)
        self.run_program("split", "t.cohort", "--where", "kind = 'a'", "--out", "parts", "--quiet")
        found = {}
        for part in ("training", "validation", "hold-out"):
            stored, metadata = arrays(self.path(f"parts/{part}.cohort"))
            offsets, ids = stored["students.offsets"], bytes(stored["students.bytes"]).decode()
            names = [ids[offsets[i]:offsets[i + 1]] for i in range(len(offsets) - 1)]
            self.assertEqual(metadata["status_basis"], "calendar")
            for s, name in enumerate(names):
                found[name] = [STATUSES[code] for code in stored["status"][4 * s:4 * s + 4]]
        self.assertEqual(found, {name: own for name, own in whole.items() if int(name[1:]) % 2 == 0})
        told = self.run_program("describe", "t.cohort", "--json").json
        for t, row in enumerate(told["periods"]):
            for status in STATUSES:
                count = sum(own[t] == status for own in whole.values())
                self.assertEqual(row.get(status.replace("_", " "), 0), count, (t, status))
        # The same options on a table that is given to a verb directly.
        again = self.run_program("describe", "t.csv", "--json", "--absent", "unknown").json
        self.assertEqual(set(again["periods"][0]), {"period", "enrolled", "unknown", "courses per student"})
        self.assertEqual(self.run_program("describe", "t.csv", "--json").json["periods"], told["periods"])


class NeverSilentlyWrong(ProgramTest):
    """Tables that look like others."""

    def test_wide_cells_that_are_no_marks(self):
        draw = random.Random(3)
        courses = [f"course{i}" for i in range(28)]
        lines = ["student,outcome," + ",".join(courses)]
        for s in range(40):
            lines.append(f"s{s},{s % 2}," + ",".join(draw.choice(["0.0", "3.5", "-2.0", "1.0", "4.0", ""]) for _ in courses))
        self.write("wide.csv", "\n".join(lines) + "\n")
        done = self.run_program("check", "wide.csv", "--wide", code=3)
        for text in ("28 columns", "'course0'", "only 'outcome'", "--wide-cells period"):
            self.assertIn(text, done.err)
        # Few numbers beside courses describe students, which is said.
        self.write("few.csv", "student,points,MATH,CHEM\n" + "".join(f"s{s},{s / 7:.1f},1,{s % 2}\n" for s in range(20)))
        told = self.run_program("check", "few.csv", "--wide", "--json").json
        self.assertEqual(told["courses"], 2)
        self.assertIn("--wide: 1 column is taken to describe students, not for courses: 'points'", told["notes"])

    def test_wide_cells_may_be_periods(self):
        self.write("wide.csv", "student,outcome,A,B,C,D\n" + "".join(f"s{s},{s % 2},{1 + s % 3}.0,0.0,2,{'3' if s < 9 else ''}\n" for s in range(30)))
        told = self.run_program("prepare", "wide.csv", "--wide", "--wide-cells", "period", "--min-takers", "1", "--out", "w.cohort", "--json").json
        self.assertEqual((told["courses"], told["periods"], told["enrollments"]), (3, 3, 69))
        done = self.run_program("check", "wide.csv", "--wide-cells", "period", code=2)
        self.assertIn("--wide", done.err)

    def test_teaching_blocks_are_no_periods_of_study(self):
        draw = random.Random(4)
        rows = ["Student,Year,Period,Course"]
        for s in range(50):
            for year in range(2013 + s % 3, 2013 + s % 3 + 1 + s % 4):
                rows += [f"s{s},{year},{block},C{draw.randrange(9)}" for block in draw.sample(range(1, 7), 4)]
        self.write("blocks.csv", "\n".join(rows) + "\n")
        done = self.run_program("prepare", "blocks.csv", "--out", "b.cohort", code=3)
        for text in ("'Period' does not count periods of study", "'Year'", '--map "term=Year" --periods years-since-entry',
                     "--periods as-given"):
            self.assertIn(text, done.err)
        told = self.run_program("check", "blocks.csv", "--json", code=3).json
        self.assertFalse(told["usable"])
        self.assertIn("does not count periods of study", told["reason"])
        told = self.run_program("check", "blocks.csv", "--map", "term=Year", "--periods", "years-since-entry", "--json").json
        self.assertEqual(told["periods"], 4)
        parts = self.run_program("check", "blocks.csv", "--map", "term=Year || ' T' || Period", "--periods", "terms-since-entry",
                                 "--keep-periods", "24", "--json").json
        self.assertGreater(parts["periods"], 12)
        told = self.run_program("check", "blocks.csv", "--periods", "as-given", "--json").json
        self.assertTrue(any("does not count periods of study" in note for note in told["notes"]))
        # Periods of study beside years are taken as they are, also where somebody repeats one.
        rows = ["student,year,period,course"]
        for s in range(50):
            rows += [f"s{s},{2013 + s % 3 + p},{p},C{p}" for p in range(1, 5)]
        rows.append("s7,2019,4,C9")
        self.write("study.csv", "\n".join(rows) + "\n")
        self.assertEqual(self.run_program("check", "study.csv", "--json").json["periods"], 4)


if __name__ == "__main__":
    unittest.main()
