"""What raw rows and a model's parameters say, counted and computed by nothing of the program.

A model is read as the safetensors file it is; the most likely path of a student (Viterbi) and the expected states (forward and
backward) follow from its numbers in a few lines.
"""

import collections
import json
import math
import re
import struct

LEAST = 10  # students; courses of fewer are left out by `prepare`


def year_of(term):
    """The academic year of a term: 2006-07 Fall, FA1991, SP1992, S11992, 2009-02 (a month), 19881 (year and term)."""
    if found := re.fullmatch(r"(\d{4})-\d\d (?:Fall|Spring|Summer)", term):
        return int(found[1])
    if found := re.fullmatch(r"(FA|SP|IT|S\d)(\d{4})", term):
        return int(found[2]) - (found[1] != "FA")
    if found := re.fullmatch(r"(\d{4})-(\d\d)", term):
        return int(found[1]) - (int(found[2]) < 8)
    if found := re.fullmatch(r"(\d{4})\d", term):
        return int(found[1])
    raise ValueError(term)


def place_in_year(term):
    """Which of two terms of an academic year comes first: the smaller one's."""
    if found := re.fullmatch(r"\d{4}-\d\d (Fall|Spring|Summer)", term):
        return ("Fall", "Spring", "Summer").index(found[1])
    if found := re.fullmatch(r"(FA|IT|SP|S\d)\d{4}", term):
        return {"FA": 0, "IT": 1, "SP": 2}.get(found[1]) if found[1] in ("FA", "IT", "SP") else 3 + int(found[1][1])
    if found := re.fullmatch(r"\d{4}-(\d\d)", term):
        return (int(found[1]) - 8) % 12
    return int(re.fullmatch(r"\d{4}(\d)", term)[1])


class Rows:
    """Raw rows as `prepare` takes them by default: every course of a period once; none of fewer than ten students that is not listed."""

    def __init__(self, rows, last_year, listed=(), least=LEAST):
        """last_year: the last academic year that ended within the data; listed: rows of a course list; least: students of a course."""
        takers = collections.defaultdict(set)
        for row in rows:
            takers[row["course"]].add(row["student"])
        self.periods = sorted({row["period"] for row in rows}, key=int)
        self.details = {course["course"]: course for course in listed}
        self.courses = sorted(course for course, students in takers.items() if len(students) >= least or course in self.details)
        self.enrolled = collections.defaultdict(set)  # by student: periods with a row of any course
        self.taken = collections.defaultdict(lambda: collections.defaultdict(set))  # by student and period
        self.takers = {course: takers[course] for course in self.courses}
        self.attributes, self.years, self.terms = {}, {}, {}  # terms: of every student, period and course
        kept = set(self.courses)
        for row in rows:
            self.enrolled[row["student"]].add(row["period"])
            self.attributes.setdefault(row["student"], row)
            place = row["student"], row["period"]
            self.years[place] = min(self.years.get(place, 9999), year_of(row["term"]))
            if row["course"] in kept:
                self.taken[row["student"]][row["period"]].add(row["course"])
                term = (year_of(row["term"]), place_in_year(row["term"]))
                self.terms[(*place, row["course"])] = min(self.terms.get((*place, row["course"]), term), term)
                self.details.setdefault(row["course"], row)
        self.students = sorted(self.enrolled)
        self.last_year = last_year

    def enrollments(self):
        """student, period, course."""
        return [(s, t, c) for s in self.students for t in self.periods for c in self.taken[s][t]]

    def enrolled_in(self, period):
        return [s for s in self.students if period in self.enrolled[s]]

    def first(self, student, course):
        """Place of the first period with the course, or None."""
        return next((i for i, t in enumerate(self.periods) if course in self.taken[student][t]), None)

    def is_before(self, student, course, other):
        """Whether a course came first, in an earlier period or in an earlier term of the same one."""
        a, b = self.first(student, course), self.first(student, other)
        if a is None or b is None or a != b:
            return a is not None and b is not None and a < b
        place = student, self.periods[a]
        return self.terms[(*place, course)] < self.terms[(*place, other)]

    def status(self, student, period):
        """Why a student is not enrolled in a period."""
        first, last = (pick(self.enrolled[student], key=int) for pick in (min, max))
        if int(period) < int(first):
            return "before entry"
        if int(period) < int(last):
            return "away"
        has_ended = self.years[student, last] + int(period) - int(last) <= self.last_year
        return "left" if has_ended else "not yet"

    def has_left(self, student, period):
        return period not in self.enrolled[student] and self.status(student, period) == "left"

    def name(self, course):
        label = self.details[course].get("label", "")
        return f"{course} {label}" if label else course


class States:
    """A contextual mixture of independent courses, from its file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            data = file.read()
        described = header.pop("__metadata__")
        assert (described["model"], described["emission"]) == ("cmm", "bernoulli"), described
        schema = json.loads(described["schema"])
        self.courses = [course["name"] for course in schema["courses"]]

        def array(name):
            begin, end = header[name]["data_offsets"]
            return list(struct.unpack(f"<{(end - begin) // 8}d", data[begin:end])), header[name]["shape"]

        def rows(values, width):
            return [values[i:i + width] for i in range(0, len(values), width)]

        self.initial = array("initial")[0]
        self.count = len(self.initial)
        self.emitting = self.count - (described.get("left_state") == "yes")
        values, (steps, *_) = array("transitions")
        matrices = rows(rows(values, self.count), self.count)
        self.transitions = matrices[:steps]
        self.probabilities = []
        for step in range(steps + 1):
            values, (_, width) = array(f"emission.{step}.probability")
            self.probabilities.append(rows(values, width))

    def scores(self, raw, student):
        """log p(what is known of a period | state): nothing is known of a period without enrollment, unless the student has left."""
        scores = []
        for step, period in enumerate(raw.periods):
            here = [0.0] * self.count
            if period in raw.enrolled[student]:
                taken = raw.taken[student][period]
                for k in range(self.emitting):
                    here[k] = sum(log(p[k] if course in taken else 1 - p[k])
                                  for course, p in zip(self.courses, self.probabilities[step], strict=True))
                here[self.emitting:] = [-math.inf] * (self.count - self.emitting)
            elif raw.has_left(student, period) and self.count > self.emitting:
                here[:self.emitting] = [-math.inf] * self.emitting
            scores.append(here)
        return scores

    def path(self, raw, student):
        scores = self.scores(raw, student)
        best = [log(p) + score for p, score in zip(self.initial, scores[0], strict=True)]
        back = []
        for transition, score in zip(self.transitions, scores[1:], strict=True):
            came = [max(range(self.count), key=lambda j: best[j] + log(transition[j][k])) for k in range(self.count)]
            best = [best[came[k]] + log(transition[came[k]][k]) + score[k] for k in range(self.count)]
            back.append(came)
        path = [max(range(self.count), key=lambda k: best[k])]
        for came in reversed(back):
            path.append(came[path[-1]])
        return path[::-1]

    def expected(self, raw, student):
        """Of each period: the probabilities of the states, given everything."""
        scores = self.scores(raw, student)
        weights = []
        for score in scores:
            top = max(score)
            weights.append([math.exp(value - top) for value in score])
        ahead = [[p * w for p, w in zip(self.initial, weights[0], strict=True)]]
        for transition, weight in zip(self.transitions, weights[1:], strict=True):
            ahead.append(normal([sum(ahead[-1][j] * transition[j][k] for j in range(self.count)) * weight[k] for k in range(self.count)]))
        behind = [[1.0] * self.count]
        for transition, weight in zip(reversed(self.transitions), reversed(weights[1:]), strict=True):
            behind.append(normal([sum(transition[j][k] * weight[k] * behind[-1][k] for k in range(self.count)) for j in range(self.count)]))
        return [normal([a * b for a, b in zip(x, y, strict=True)]) for x, y in zip(ahead, reversed(behind), strict=True)]


def log(p):
    return math.log(p) if p > 0 else -math.inf


def normal(values):
    total = sum(values)
    return [value / total for value in values]
