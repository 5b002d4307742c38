#!/usr/bin/env python3
"""The calendar of a synthetic university of edition 3, read from its files by a second program.

  desirepath simulate --edition 3 --student-truth --out DIR
  python3 benchmarks/synthetic_calendar.py DIR

Works out from the rows of enrollments.csv who was enrolled, away, left, finished or not yet, and compares it with
status.csv student by student; compares offerings with the years in truth.json and returns with the planted chances;
prints the figures of docs/synthetic_university.md. Exits with 1 where something does not agree.
"""

import collections
import csv
import json
import math
import pathlib
import sys

SEASONS = {"Fall": 0, "Spring": 1, "Summer": 2}


def term_number(label):
    year, season = label.split(" ")
    return 3 * int(year[:4]) + SEASONS[season]


def data_end(rows_of_term):
    """The last term with at least a third of the rows of the same term one year earlier."""
    return max(t for t in rows_of_term if rows_of_term[t] >= rows_of_term.get(t - 3, 0) / 3 and t - 3 in rows_of_term)


def percent(part, whole):
    return f"{100 * part / whole:.1f}%" if whole else "-"


class University:
    def __init__(self, folder):
        self.truth = json.loads((folder / "truth.json").read_text())
        self.calendar = self.truth["calendar"]
        self.first = self.calendar["first_year"]
        self.last = self.calendar["last_complete_year"]
        self.rows_of_term = collections.Counter()
        self.courses = collections.defaultdict(lambda: collections.defaultdict(list))  # student -> period -> courses
        self.attributes = {}
        self.takers = collections.defaultdict(collections.Counter)  # year -> course
        with open(folder / "enrollments.csv", newline="") as file:
            for row in csv.DictReader(file):
                term = term_number(row["term"])
                self.rows_of_term[term] += 1
                self.courses[row["student"]][int(row["period"])].append(row["course"])
                self.attributes[row["student"]] = row
                self.takers[term // 3][row["course"]] += 1
        with open(folder / "status.csv", newline="") as file:
            self.status = list(csv.DictReader(file))
        self.periods = max(int(row["period"]) for row in self.status)
        self.problems = []

    def check(self, holds, what):
        if not holds:
            self.problems.append(what)

    def status_of(self, student, period, end):
        """Section by section as the rows tell it: the period has ended when its summer lies within the data."""
        present = self.courses[student]
        if period in present:
            return "enrolled"
        if period < min(present):
            return "before_entry"
        if period < max(present):
            return "away"
        year = int(self.attributes[student]["cohort"]) + period - 1
        if 3 * year + 2 > end:
            return "not_yet"
        return "finished" if self.attributes[student]["degree"] else "left"


def check_status(university):
    end = data_end(university.rows_of_term)
    planted = term_number(university.calendar["last_complete_term"])
    university.check(end == planted, f"the data end in term {end}, planted {planted}")
    counts = collections.Counter()
    by_period = collections.defaultdict(collections.Counter)
    hidden = collections.Counter()
    for row in university.status:
        found = university.status_of(row["student"], int(row["period"]), end)
        university.check(found == row["status"], f"status of a student in period {row['period']}: {found}")
        university.check(int(row["rows"]) == len(university.courses[row["student"]].get(int(row["period"]), [])), "rows")
        counts[found] += 1
        by_period[int(row["period"])][found] += 1
        hidden[(row["status"], row["fate"])] += 1
    names = ["enrolled", "before_entry", "away", "left", "finished", "not_yet"]
    print("| students by status in year of study | " + " | ".join(str(p) for p in sorted(by_period)) + " |")
    print("|--|" + "--:|" * len(by_period))
    for name in names:
        print(f"| {name} | " + " | ".join(f"{by_period[p][name]:,}" for p in sorted(by_period)) + " |")
    print("not as it seems (status by the rows, what happened):",
          {key: n for key, n in sorted(hidden.items()) if key[0] != key[1]})


def check_offerings(university):
    first = university.first
    years = len(university.calendar["leaving_factor"])
    popularity = {c["course"]: c["popularity"] for c in university.calendar["courses"]}
    renamed = university.truth["renamed_course"]
    popularity[renamed["old"]] = popularity[renamed["new"]]
    for year, takers in university.takers.items():
        for course in takers:
            university.check(popularity[course][year - first] > 0, f"{course} was taken in {year}, but not offered")
    for course in university.calendar["courses"]:
        for year in range(years):
            outside = (course["first_year"] or 0) > first + year or (course["last_year"] or 9999) < first + year
            university.check(not outside or course["popularity"][year] == 0, f"{course['course']}: years")
    offered = [sum(1 for c in university.calendar["courses"] if c["popularity"][y] > 0) for y in range(years)]
    began = [sum(1 for c in university.calendar["courses"] if c["first_year"] == first + y) for y in range(years)]
    ended = [sum(1 for c in university.calendar["courses"] if c["last_year"] == first + y - 1) for y in range(years)]
    alternate = sum(1 for c in university.calendar["courses"] if c["every_second_year"])
    print("offered by year", offered, "of", len(university.calendar["courses"]))
    print("began", began, "ended before", ended, "every second year", alternate)


def show_years(university):
    factor = {e["year"]: e["factor"] for e in university.calendar["entrants"]}
    print("| academic year | entrants | factor | enrolled | enrollments | courses per student | return rate |")
    print("|--|--:|--:|--:|--:|--:|--:|")
    entrants, enrolled, returned, open_to_return = (collections.Counter() for _ in range(4))
    for student, present in university.courses.items():
        cohort = int(university.attributes[student]["cohort"])
        entrants[cohort + min(present) - 1] += 1
        finished = university.attributes[student]["degree"] != ""
        for period in present:
            enrolled[cohort + period - 1] += 1
            if finished and period == max(present):
                continue
            open_to_return[cohort + period - 1] += 1
            returned[cohort + period - 1] += period + 1 in present
    for year in range(university.first, university.last + 2):
        rows = sum(university.takers[year].values())
        is_known = year < university.last
        rate = percent(returned[year], open_to_return[year]) if is_known else "not known"
        print(f"| {year} | {entrants[year]:,} | {factor[year]:.3f} | {enrolled[year]:,} | {rows:,} | "
              f"{rows / enrolled[year]:.2f} | {rate} |")
    for entry in university.calendar["entrants"]:
        university.check(entrants[entry["year"]] == entry["in_file"], f"entrants of {entry['year']}")


def check_returns(university):
    """Realised against planted, by kind and year: counts within five standard errors of the sum of the chances."""
    groups = collections.defaultdict(lambda: [0, 0.0, 0.0, 0, 0.0])
    rows = collections.defaultdict(dict)
    for row in university.status:
        rows[row["student"]][int(row["period"])] = row
    for student, history in rows.items():
        at = university.attributes[student]
        for period, row in history.items():
            if row["return_probability"] == "" or period == university.periods:
                continue
            chance = float(row["return_probability"])
            follows = history[period + 1]["fate"] == "enrolled"
            left = history[period + 1]["fate"] == "left"
            for key in [("year", row["year"]), ("period", period),
                        ("kind", at["residence"], "first generation " + at["first_generation"]), ("status", at["status"]),
                        ("first year", at["residence"], "first generation " + at["first_generation"], at["status"])]:
                if key[0] == "first year" and period != 1:
                    continue
                group = groups[key]
                group[0] += 1
                group[1] += chance
                group[2] += chance * (1 - chance)
                group[3] += follows
                group[4] += left
    print("| group | student-years | returned | planted | left |")
    print("|--|--:|--:|--:|--:|")
    for key, (n, expected, variance, returned, left) in sorted(groups.items(), key=str):
        print(f"| {', '.join(str(k) for k in key)} | {n:,} | {percent(returned, n)} | {percent(expected, n)} | {percent(left, n)} |")
        university.check(abs(returned - expected) <= 5 * math.sqrt(variance) + 1e-3,
                         f"returns of {key}: {returned} against {expected:.1f}")


def show_change(university):
    """Change of a course's share of all enrollments from a year to the next, beyond the noise of counting."""
    changes, gone, seen = [], 0, 0
    for year in range(university.first + 4, university.last):
        now, then = university.takers[year], university.takers[year + 1]
        all_now, all_then = sum(now.values()), sum(then.values())
        for course, count in now.items():
            if count < 30:
                continue
            seen += 1
            if then[course] == 0:
                gone += 1
            elif then[course] >= 5:
                change = math.log(then[course] / all_then) - math.log(count / all_now)
                changes.append(change * change - 1 / count - 1 / then[course])
    if not changes:
        return
    spread = math.sqrt(max(0.0, sum(changes) / len(changes)))
    print(f"courses with 30 takers or more: change from year to year {100 * spread:.0f}% beyond counting noise; "
          f"{percent(gone, seen)} not offered the next year")


def show_rest(university):
    again = rows = 0
    for present in university.courses.values():
        seen = set()
        for period in sorted(present):
            courses = set(present[period])
            rows += len(courses)
            again += len(courses & seen)
            seen |= courses
    print(f"enrollments in a course taken in an earlier period: {percent(again, rows)}")
    classes = [s for s, a in university.attributes.items()
               if university.first <= int(a["cohort"]) <= university.last - university.periods + 1]
    degrees = [s for s in classes if university.attributes[s]["degree"]]
    years = collections.Counter(max(university.courses[s]) for s in degrees)
    print(f"students whose periods all lie within the data: {len(classes):,}; with a degree {percent(len(degrees), len(classes))}, "
          "in period " + ", ".join(f"{p}: {percent(n, len(degrees))}" for p, n in sorted(years.items())))
    unfinished = 3 * (university.last + 1)
    print(f"rows of the unfinished term by those of the autumn before: "
          f"{university.rows_of_term[unfinished] / university.rows_of_term[unfinished - 3]:.3f}")
    loads = collections.defaultdict(list)
    for student, present in university.courses.items():
        for period, courses in present.items():
            if int(university.attributes[student]["cohort"]) + period - 1 <= university.last:
                loads[period].append(len(set(courses)))
    for period, values in sorted(loads.items()):
        mean = sum(values) / len(values)
        spread = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
        print(f"courses in period {period}: {mean:.1f}, standard deviation {spread:.1f}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    university = University(pathlib.Path(sys.argv[1]))
    show_years(university)
    check_status(university)
    check_offerings(university)
    check_returns(university)
    show_change(university)
    show_rest(university)
    for problem in sorted(set(university.problems))[:20]:
        print("DOES NOT AGREE:", problem)
    sys.exit(1 if university.problems else 0)


if __name__ == "__main__":
    main()
