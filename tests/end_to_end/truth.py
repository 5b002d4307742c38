"""The truth about every sentence of a page, by its id: what may stand in it, counted from raw rows.

A truth takes the values of a sentence and returns what each of them must be: a text, a set of texts, a test of the value, or None
where it is a name that claims nothing by itself. What a model answers is in truth_answers.py.
"""

import collections
import re

from truth_answers import Answers
from truth_page import NUMBER, bounds, counted, number, percent, rounded, within
from truth_rows import LEAST

FIXED = {  # numbers that are words of a sentence
    "courses_per_student_finding": {"68"}, "enrollments_basis": {"1", "7"}, "states_reading": {"3.0"}, "groups_reading": {"95"},
    "pairs_reading": {"95"}, "delays_reading": {"95"}, "delays_figure": {"95"}, "delays_figure_by": {"95"},
    "delays_figure_basis": {"95"}, "delays_figure_basis_withheld": {"95"}, "calibration_text": {"30"}, "best_reading": {"0"}}
ARROW = " → "
DRAWN = 5000  # students looked at for answers, at most


def nearly_all(had, of):
    """A share, and "nearly all" where those who are left are too few to be told."""
    return "nearly all" if of - had < LEAST else percent(had / of)


class Truth(Answers):
    def __init__(self, page, raw, states, name_of=None, by="", of_states=None):
        """name_of: what the state of a step is called on the page, else as the table of kinds, which has the largest first, says;
        of_states: rows of the students of the states, where they are not all."""
        self.page, self.raw, self.states, self.by = page, raw, states, by
        self.kinds = of_states or raw
        self.n, self.n_kinds = len(raw.students), len(self.kinds.students)
        self.enrollments = raw.enrollments()
        self.mean = len(self.enrollments) / self.n
        self.schema_size = len(set(raw.details) | set(raw.courses))  # listed or taken
        self.paths = {}  # by student: state of each period, None where not enrolled
        self.expected = [[0.0] * states.count for _ in raw.periods]  # of each period, students enrolled by state
        for student in self.kinds.students:
            enrolled = self.kinds.enrolled[student]
            self.paths[student] = tuple(k if t in enrolled else None
                                        for k, t in zip(states.path(self.kinds, student), raw.periods, strict=True))
            for step, row in enumerate(states.expected(self.kinds, student)):
                if raw.periods[step] in enrolled:
                    self.expected[step] = [a + b for a, b in zip(self.expected[step], row, strict=True)]
        self.names = [[(name_of or self.name_by_size)(step, state) for state in range(states.emitting)] for step in range(len(raw.periods))]
        self.path_counts = collections.Counter(self.paths.values())
        self.nodes = [set() for _ in raw.periods]  # names in the flow diagram
        for row in page.tables["sankey"].records() if "sankey" in page.tables else ():
            step = raw.periods.index(row["period"])
            self.nodes[step].add(row["from"])
            self.nodes[step + 1].add(row["to"])

    def name_by_size(self, step, state):
        names = [row["kind"] for row in self.page.tables["kinds"].records() if row["period"] == self.raw.periods[step]]
        order = sorted(range(self.states.emitting), key=lambda k: -self.expected[step][k])
        return (names + ["other"] * len(order))[order.index(state)]

    def name_of(self, step, state):
        return self.names[step][state]

    def problems(self):
        """What is wrong with the page, a line each."""
        found = [f"without an id: {text}" for text in self.page.unnamed]
        for sentence in self.page.sentences:
            found += self.sentence_problems(sentence)
        return found + self.table_problems()

    def sentence_problems(self, sentence):
        found = [f"{extra} stands in the text alone: {sentence}" for extra in sentence.unexplained()
                 if extra not in FIXED.get(sentence.id, ())]
        if not any(NUMBER.search(value) for value in sentence.values):
            return found  # it claims nothing that could be counted
        if not hasattr(self, sentence.id):
            return found + [f"no truth of {sentence}"]
        if sentence.is_estimate != hasattr(Answers, sentence.id):
            found.append(f"{'an' if sentence.is_estimate else 'no'} estimate: {sentence}")
        try:
            truth = getattr(self, sentence.id)(*sentence.values)
        except (ArithmeticError, LookupError, StopIteration, TypeError, ValueError) as error:
            return found + [f"{error!r}, so that it cannot be counted: {sentence}"]
        if len(truth) != len(sentence.values):
            return found + [f"{len(truth)} values are known of {sentence}"]
        for value, true in zip(sentence.values, truth, strict=True):
            if callable(true):
                is_true = true(value)
            else:
                is_true = true is None or value == true or isinstance(true, set) and value in true
            if not is_true:
                found.append(f"{value!r} is {'not possible' if callable(true) else true} in {sentence}")
        return found

    # What is counted: the cohort.

    def taken_courses(self):
        return len({course for _, _, course in self.enrollments})

    def headline_students(self, *_):
        return [f"{self.n:,}"]

    def headline_courses(self, *_):
        return [f"{self.taken_courses():,}"]

    def headline_enrollments(self, *_):
        return [f"{len(self.enrollments):,}"]

    def headline_periods(self, *_):
        return [str(len(self.raw.periods))]

    def data_finding(self, *_):
        return [f"{self.n:,}", rounded(self.mean, 1), f"{self.taken_courses():,}", str(len(self.raw.periods))]

    def data_point(self, *_):
        return [f"{self.n:,}", f"{len(self.enrollments):,}", f"{self.taken_courses():,}", rounded(self.mean, 1)]

    def footer(self, *_):
        return [str(LEAST)]

    def made_by(self, *_):
        return [lambda version: re.fullmatch(r"\d+\.\d+\.\d+", version)]

    def card_students(self, *_):
        return [f"{self.n:,}", "1", str(LEAST)]

    def group_of(self, course, grouping):
        if grouping == "subject code":
            return re.match(r"[^\d]*", course)[0].rstrip(" -_.:/")
        return self.raw.details[course].get(grouping) or f"no {grouping}"

    def areas(self, grouping):
        """Of each row of the table twin of the areas: enrollments by its columns, counted from the rows."""
        table = self.page.tables["enrollments"]
        cells = collections.Counter((self.group_of(c, grouping), self.raw.years[s, t]) for s, t, c in self.enrollments)
        true_rows = []
        for row in table.rows:
            first, last = (row[0].split("-") * 2)[:2]
            here = collections.Counter()
            for (group, year), count in cells.items():
                if int(first) <= year <= int(last):
                    here[group if group in table.columns else "other"] += count
            true_rows.append([here[name] for name in table.columns[1:]])
        return table, true_rows

    def enrollments_finding(self, *values):
        truth = [f"{len(self.enrollments):,}", counted(self.n, "student")]
        if len(values) == 2:
            return truth
        grouping = values[2]
        table, true_rows = self.areas(grouping)
        columns = [sum(row[i] for row in true_rows) for i in range(len(table.columns) - 1)]
        names = [name for name in table.columns[1:] if name not in ("other", f"no {grouping}")]
        largest = max(names, key=lambda name: columns[table.columns.index(name) - 1])
        truth += [grouping, largest, percent(columns[table.columns.index(largest) - 1] / len(self.enrollments))]
        full = [i for i, row in enumerate(true_rows) if sum(row) >= len(self.enrollments) / len(true_rows) / 2]
        first, last = true_rows[full[0]], true_rows[full[-1]]
        moved = max(abs(b / sum(last) - a / sum(first)) for a, b in zip(first, last, strict=True))
        return truth + [rounded(100 * moved, 1), table.rows[full[0]][0], table.rows[full[-1]][0]]

    def enrollments_basis(self, *values):
        truth = [f"{self.n:,}"]
        if len(values) == 1:
            return truth
        grouping = re.search(r"[\d,]+ (.*?)s? merged into", values[1])
        merged = []
        if grouping:
            columns = self.page.tables["enrollments"].columns
            groups = {self.group_of(course, grouping[1]) for _, _, course in self.enrollments}
            merged.append(counted(len(groups - set(columns)), grouping[1]) + " merged into 'other'")
        years = len(set(self.raw.years.values())) - len(self.page.tables["enrollments"].rows)
        if years > 0:
            merged.append(counted(years, "year") + " merged with a neighbour")
        return truth + [", ".join(merged), str(LEAST - 1)]

    def loads(self):
        return [sum(len(self.raw.taken[s][t]) for t in self.raw.periods) for s in self.raw.students]

    def courses_per_student_finding(self, *values):
        loads = self.loads()
        truth = [rounded(self.mean, 1)]
        if len(values) == 1:
            return truth
        deviation = (sum((load - self.mean) ** 2 for load in loads) / self.n) ** 0.5
        told = float(values[1])
        # Withheld digits: to a tenth, a half or a whole course.
        truth.append({rounded(step * round(deviation / step), 1) for step in (0.1, 0.5, 1)})
        near = 0
        for row in self.page.tables["courses-per-student"].records():
            low, high = bounds(row["courses"])
            high = max(loads) if high is None else high
            inside = sum(abs(load - self.mean) <= told for load in range(low, high + 1))
            near += int(row["students"].replace(",", "")) * inside / (high - low + 1)
        truth.append(lambda value: abs(number(value) - 100 * near / self.n) <= 1)  # the end of the last bin is not told
        return truth + [within(0, max(loads))] * (len(values) - 3)

    def courses_per_student_basis(self, *values):
        return [f"{self.n:,}", str(LEAST)][:len(values)]

    courses_per_student_withheld = headline_students

    def courses_withheld(self, *_):
        return [f"{self.schema_size - len(self.page.tables['neighbours'].rows):,}", str(LEAST)]

    # What is counted: kinds of students and their paths.

    def share(self, step, state):
        """Of the students enrolled in the period, those expected in the state."""
        return self.expected[step][state] / sum(self.expected[step])

    def largest_kind(self, period):
        step = self.raw.periods.index(period)
        state = max(range(self.states.emitting), key=lambda k: self.expected[step][k])
        return self.name_of(step, state), percent(self.share(step, state))

    def large_kinds(self, step):
        return sum(round(count, 6) >= LEAST for count in self.expected[step][:self.states.emitting])

    def states_finding(self, first, _1, _2, last, *_):
        return [self.raw.periods[0], *self.largest_kind(first), self.raw.periods[-1], *self.largest_kind(last)]

    def states_finding_early(self, first, *_):
        return [self.raw.periods[0], *self.largest_kind(first)]

    def states_point(self, first, *_):
        return [self.raw.periods[0], {str(k) for k in range(1, self.large_kinds(0) + 1)}, *self.largest_kind(first)]

    def states_basis(self, *_):
        return [f"{len(self.kinds.enrolled_in(self.raw.periods[0])):,}", self.raw.periods[0]]

    def states_merged(self, *_):
        small = sum(self.states.emitting - self.large_kinds(step) for step in range(len(self.raw.periods)))
        return [lambda value: small <= number(value), str(LEAST)]  # others are merged with them

    def place(self, student, step):
        """What the node of a student is called: by state, or why there is none; small ones are merged."""
        state, names = self.paths[student][step], self.nodes[step]
        own = self.kinds.status(student, self.raw.periods[step]) if state is None else self.name_of(step, state)
        merged = ["not enrolled", "no enrollments"] if state is None else ["other"]
        return next((name for name in (own, *merged, "other or not enrolled") if name in names), own)

    def told_paths(self):
        """Students of each path, by what its nodes are called."""
        return collections.Counter(ARROW.join(self.place(s, step) for step in range(len(self.raw.periods))) for s in self.kinds.students)

    def whole_paths(self):
        """Students of each path through states in all periods."""
        return {ARROW.join(self.name_of(step, state) for step, state in enumerate(path)): count
                for path, count in self.path_counts.items() if None not in path}

    def flows_finding(self, path, *_):
        paths = self.whole_paths()
        return [max(paths, key=paths.get) if paths[path] < max(paths.values()) else path, f"{paths[path]:,}", f"{self.n_kinds:,}"]

    def flows_finding_disclosed(self, path, *_):
        return [None, f"{self.whole_paths()[path]:,}", f"{self.n_kinds:,}"]

    def flows_finding_withheld(self, *_):
        return [str(LEAST) if max(self.whole_paths().values()) >= LEAST else "none"]

    def flows_finding_none(self, *_):
        return [str(LEAST) if max(self.whole_paths().values(), default=0) < LEAST else "some"]

    def flows_point(self, path, *_):
        path, count, _ = self.flows_finding(path)
        return [path, percent(int(count.replace(",", "")) / self.n_kinds)]

    def flows_point_disclosed(self, path, *_):
        return [None, percent(self.whole_paths()[path] / self.n_kinds)]

    def moves(self, step, first, then):
        """Students who go from a node to another one in the next period."""
        return sum(self.place(s, step) == first and self.place(s, step + 1) == then for s in self.kinds.students)

    def flows_point_step(self, first, period, then, _):
        step = self.raw.periods.index(period)
        there = sum(self.place(s, step) == first for s in self.kinds.students)
        return [None, None, None, percent(self.moves(step, first, then) / there)]

    def flows_basis(self, _, words):
        return [f"{self.n_kinds:,}", lambda value: value == self.enrolled_words(value)]

    def enrolled_words(self, told):
        """The sentence with the numbers it should have; where a number is a lower bound it may be lower."""
        parts = []
        for step, (period, part) in enumerate(zip(self.raw.periods, told.removeprefix("enrolled: ").split(", "), strict=True)):
            count = len(self.kinds.enrolled_in(period))
            if part.startswith("at least "):
                part = part if number(part.split(" in ")[0].removesuffix(" students")) <= count else "more than there are"
                parts.append(part)
            else:
                parts.append(f"{count:,}{' students' if step == 0 else ''} in period {period}")
        return "enrolled: " + ", ".join(parts)

    def withheld(self):
        """Students in flows that the twin does not have."""
        told = sum(int(row["students"].replace(",", "")) for row in self.page.tables["sankey"].records())
        return self.n_kinds * (len(self.raw.periods) - 1) - told

    def flows_withheld(self, *_):
        return [str(LEAST), f"{self.withheld():,}"]

    def sankey_basis(self, *values):
        return [f"{self.n_kinds:,}", f"{self.withheld():,}"][:len(values)]

    def sankey_flow(self, first, then, _):
        counts = [self.moves(step, first, then) for step in range(len(self.raw.periods) - 1)]
        return [None, None, {f"{count:,}" for count in counts if count >= LEAST}]

    def sankey_path(self, count, path, *_):
        told, shown = number(count), len(self.page.tables["paths"].rows)
        students = self.told_paths()[path]
        return [lambda _: told == shown or told > shown == 12, path, f"{students:,}", percent(students / self.n_kinds)]

    sankey_path_enrolled = sankey_path

    def sankey_paths(self, first, _1, _2, second, *_):
        paths = self.whole_paths()
        return [value for path in (first, second) for value in (path, f"{paths[path]:,}", percent(paths[path] / self.n_kinds))]

    def of_group(self, period, group, state, among):
        """Of the enrolled students of a group, or of the others, the share in a state."""
        step = self.raw.periods.index(period)
        students = [s for s in self.kinds.enrolled_in(period) if (self.kinds.attributes[s][self.by] == group) == among]
        return sum(self.name_of(step, self.paths[s][step]) == state for s in students) / len(students)

    def groups_point(self, by, _1, group, state, period, _2):
        group_name = group.removeprefix(f"{by} ")
        return [self.by, percent(self.of_group(period, group_name, state, True)), group, state, period,
                percent(self.of_group(period, group_name, state, False))]

    # What sections of answers rest on.

    def grid_basis(self, _, period, *withheld):
        step = self.raw.periods.index(period.removeprefix("period "))
        left_out = [counted(len(self.states.courses) - len(self.page.tables["state-grid"].rows), "course")]
        return [f"{len(self.kinds.enrolled_in(self.raw.periods[step])):,}", period, *left_out[:len(withheld)]]

    def coursework_basis(self, *_):
        return [f"{min(self.n, 4 * DRAWN) // 10:,}"] * 2

    def typicality_basis(self, *_):
        return [f"{min(self.n, 4 * DRAWN):,}", None]

    typicality_basis_left_out = typicality_basis

    def typicality_few(self, *_):
        return [str(LEAST)]

    def typicality_figure_basis(self, *_):
        return [f"{sum(int(row['students'].replace(',', '')) for row in self.page.tables['typicality'].records()):,}"]

    def coverage(self, before, course):
        """Shares of a course's students who had taken another one first: of those by whose time it had been given to somebody of their
        years, of all, and of all between them, for few are not left out."""
        raw = self.raw
        by_name = {raw.name(c): c for c in raw.courses}
        p, c = by_name[before], by_name[course]
        offered = {raw.years[s, t] for s, t, taken in self.enrollments if taken == p}
        had = could = 0
        for s in raw.takers[c]:
            first = raw.first(s, c)
            had += raw.is_before(s, p, c)
            could += any(raw.years.get((s, t)) in offered for t in raw.periods[:first + 1])
        return had, could, len(raw.takers[c])

    def prerequisites_strongest(self, before, course, _):
        had, could, takers = self.coverage(before, course)
        return [None, None, {nearly_all(had, of) for of in range(could, takers + 1)}]

    def prerequisites_basis(self, *_):
        return [f"{min(self.n, DRAWN):,}", str(LEAST), "0.05"]

    def prerequisites_figure_basis(self, *values):
        pairs = sum(self.kinds_of_pairs().values())
        return [f"{min(self.n, DRAWN):,}", within(1, pairs), f"{pairs:,}"][:len(values)]

    def plans_basis(self, *_):
        return [None, "400"]

    def judged(self):
        return min(DRAWN, sum(len(periods) > 1 for periods in self.raw.enrolled.values()))

    def delays_basis(self, *_):
        return [f"{self.judged():,}"] if not 0 < self.n - self.judged() < LEAST else ["withheld"]

    def delays_figure_basis(self, *values):
        rows = len(self.page.tables["delays"].rows)
        return [*self.delays_basis(), within(1, rows), f"{rows:,}"][:len(values)]

    def delays_figure_basis_withheld(self, *values):
        rows = len(self.page.tables["delays"].rows)
        return [within(1, rows), f"{rows:,}"][:len(values)]

    def calibration_basis(self, *_):
        asked = -(-min(self.n, DRAWN) // 5)
        return [within(LEAST, asked), None, f"{min(self.n, DRAWN) - asked:,}"]

    def calibration_figure_basis(self, *_):
        answers = sum(int(row["answers"].replace(",", "")) for row in self.page.tables["calibration"].records())
        return [within(LEAST, self.n), f"{answers:,}", None]

    def calibration_few(self, *_):
        return [str(LEAST)]

    def states_students(self, *_):
        return [f"{self.n_kinds:,}", f"{self.n:,}"]

    def demo_states(self, *_):
        return [None, f"{self.n_kinds:,}", None, str(self.states.emitting), str(max(LEAST, self.n_kinds // 12))]

    def demo_answers(self, *_):
        return ["2", "16", f"{min(self.n, 12000):,}"]

    def demo_evaluation(self, *_):
        return [None, "2, 4, 8", f"{min(self.n_kinds, 1500):,}"]

    def evaluation_figure_basis(self, trained, *_):
        others = min(self.n_kinds, 1500) - number(trained)  # held out, or set aside to choose by
        return [within(1, self.n_kinds), within(1, others), "1 split"]

    # Tables.

    def table_problems(self):
        tables, found = self.page.tables, []

        def expect(name, row, told, true):
            if told != true:
                found.append(f"table {name}: {told} is {true} in {row}")

        takers = {self.raw.name(course): len(students) for course, students in self.raw.takers.items()}
        for name in ("popular", "neighbours"):
            for row in tables[name].records():
                course = f"{row['course']} {row['label']}" if row.get("label") else row["course"]
                expect(name, row, takers[course] >= LEAST, True)
                if row["students"] == "–":  # all but a few
                    expect(name, row, True, 0 < self.n - takers[course] < LEAST)
                    continue
                expect(name, row, row["students"], f"{takers[course]:,}")
                share = takers[course] / self.n
                expect(name, row, row["share"], rounded(share, 3) if name == "popular" else percent(share))
        grouping = re.search(r"; the largest (.*?) is ", "".join(s.text for s in self.page.sentences if s.id == "enrollments_finding"))
        if grouping:
            table, true_rows = self.areas(grouping[1])
            for row, true in zip(table.rows, true_rows, strict=True):
                expect("enrollments", row, row[1:], [f"{count:,}" for count in true])
        loads = collections.Counter(self.loads())
        for row in tables["courses-per-student"].records():
            low, high = bounds(row["courses"])
            inside = sum(count for load, count in loads.items() if low <= load and (high is None or load <= high))
            expect("courses-per-student", row, row["students"], f"{inside:,}")
            expect("courses-per-student", row, inside == 0 or inside >= LEAST, True)
        names = {(self.name_of(step, state), period): (step, state) for step, period in enumerate(self.raw.periods)
                 for state in range(self.states.emitting)}
        for row in tables["kinds"].records() if "kinds" in tables else ():
            if (row["kind"], row["period"]) in names:
                expect("kinds", row, row["share"], f"{100 * self.share(*names[row['kind'], row['period']]):.0f} %")
        if "sankey" in tables:
            for row in tables["sankey"].records():
                count = self.moves(self.raw.periods.index(row["period"]), row["from"], row["to"])
                expect("sankey", row, row["students"], f"{count:,}")
                expect("sankey", row, count >= LEAST, True)
        paths = self.told_paths()
        for row in tables["paths"].records() if "paths" in tables else ():
            count = paths[row["path"]]
            expect("paths", row, (row["students"], row["share"]), (f"{count:,}", percent(count / self.n_kinds)))
            expect("paths", row, count >= LEAST, True)
        for row in tables["groups"].records() if "groups" in tables else ():
            shares = [self.of_group(row["period"], row["group"], row["kind"], among) for among in (True, False)]
            expect("groups", row, (row["share"], row["others"]), tuple(rounded(share, 3) for share in shares))
            expect("groups", row, row["difference"], rounded(shares[0] - shares[1], 3))
            expect("groups", row, float(row["at least"]) <= float(row["difference"]) <= float(row["at most"]), True)
        for row in tables["pairs"].records() if "pairs" in tables else ():
            if row["had it"] == "–":  # too few had it: nothing of their records is a number
                expect("pairs", row, (row["at least"], row["odds x"]), ("–", "–"))
            else:
                expect("pairs", row, float(row["at least"].replace(",", "")) <= float(row["odds x"].replace(",", "")), True)
                had, could, takers_of = self.coverage(row["before"], row["course"])
                expect("pairs", row, row["had it"] in {nearly_all(had, of) for of in range(could, takers_of + 1)}, True)
        for row in tables["apart"].records() if "apart" in tables and self.n <= DRAWN else ():
            by_name = {self.raw.name(course): course for course in self.raw.courses}
            pair = by_name[row["course"]], by_name[row["and"]]
            both = [(self.raw.first(s, pair[0]), self.raw.first(s, pair[1])) for s in self.raw.takers[pair[0]] & self.raw.takers[pair[1]]]
            together = sum(a == b for a, b in both)
            expect("apart", row, row["took both"], f"{len(both):,}")
            expect("apart", row, row["together"], str(together) if together == 0 or together >= LEAST else f"under {LEAST}")
        for row in tables["filters"].records()[-1:] if "filters" in tables else ():
            expect("filters", row, [row[name] for name in ("rows", "students", "courses")],
                   [f"{count:,}" for count in (len(self.enrollments), self.n, self.taken_courses())])
        for name, value in (("delays", "later"), ("calibration", "observed")):
            for row in tables[name].records() if name in tables else ():
                expect(name, row, float(row["low"]) <= float(row[value]) <= float(row["high"]), True)
        return found
