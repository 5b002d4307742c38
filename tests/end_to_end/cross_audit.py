"""What everything that is printed about one cohort says together about fewer than ten students.

An attacker reads what the verbs and one page print, knows how students are counted (who has left does not come back, a student of a
course is a student), and asks what each number that is not shown may be: whole numbers of students, in one system of equations
over all outputs, solved by integer programming (GLPK). Nothing of the program is used but what it prints; which numbers are small
is counted from the raw rows.
"""

import collections
import ctypes
import ctypes.util
import itertools

from truth_page import Page
from truth_rows import LEAST

MINIMUM, MAXIMUM = 1, 2
FREE, AT_LEAST, AT_MOST, BETWEEN, FIXED = 1, 2, 3, 4, 5
OPTIMAL = 5


def library():
    found = ctypes.CDLL(ctypes.util.find_library("glpk"))
    found.glp_create_prob.restype = ctypes.c_void_p
    for name in ("glp_get_obj_val", "glp_mip_obj_val", "glp_get_col_prim"):
        getattr(found, name).restype = ctypes.c_double
    found.glp_term_out(0)
    return found


class System:
    """Whole numbers of students, 0 or more, and what is known of sums of them."""

    def __init__(self, most):
        self.glpk, self.most = library(), most
        self.number, self.rows = {}, []
        self.problem = None

    def unknown(self, name):
        return self.number.setdefault(name, len(self.number) + 1)

    def know(self, names, low, high, source):
        """low <= sum <= high of unknowns; names: of each how often it counts, or a list."""
        terms = collections.Counter(names)
        assert self.problem is None
        self.rows.append(([(self.unknown(name), times) for name, times in terms.items()], low, high, source))

    def build(self):
        glpk = self.glpk
        self.problem = ctypes.c_void_p(glpk.glp_create_prob())
        glpk.glp_add_cols(self.problem, len(self.number))
        for column in self.number.values():
            glpk.glp_set_col_bnds(self.problem, column, BETWEEN, ctypes.c_double(0), ctypes.c_double(self.most))
            glpk.glp_set_col_kind(self.problem, column, 2)
        glpk.glp_add_rows(self.problem, len(self.rows))
        for at, (terms, low, high, _) in enumerate(self.rows, 1):
            kind = FIXED if low == high else BETWEEN if high is not None else AT_LEAST
            glpk.glp_set_row_bnds(self.problem, at, kind, ctypes.c_double(low), ctypes.c_double(high or 0))
            columns = (ctypes.c_int * (len(terms) + 1))(0, *(column for column, _ in terms))
            values = (ctypes.c_double * (len(terms) + 1))(0, *(times for _, times in terms))
            glpk.glp_set_mat_row(self.problem, at, len(terms), columns, values)
        glpk.glp_adv_basis(self.problem, 0)

    def ask(self, names, direction):
        """The least or the largest that a sum can be; None where nothing fits what is known."""
        glpk = self.glpk
        terms = collections.Counter(names)
        glpk.glp_set_obj_dir(self.problem, direction)
        for column in range(1, len(self.number) + 1):
            glpk.glp_set_obj_coef(self.problem, column, ctypes.c_double(0))
        for name, times in terms.items():
            glpk.glp_set_obj_coef(self.problem, self.number[name], ctypes.c_double(times))
        # From the basis of the question before, which still fits.
        if glpk.glp_simplex(self.problem, None) != 0 or glpk.glp_get_status(self.problem) != OPTIMAL:
            return None
        value = glpk.glp_get_obj_val(self.problem)
        is_enough = value <= 0.5 if direction == MINIMUM else value >= LEAST - 0.5
        if not is_enough:
            return value  # whole numbers can only be further away
        parts = (glpk.glp_get_col_prim(self.problem, column) for column in range(1, len(self.number) + 1))
        if all(abs(part - round(part)) < 1e-6 for part in parts):
            return value
        options = (ctypes.c_char * 1024)()
        glpk.glp_init_iocp(options)
        ctypes.c_int.from_buffer(options, 32).value = 2000  # milliseconds; what is found by then is taken
        status = glpk.glp_intopt(self.problem, options)
        if status == 0 and glpk.glp_mip_status(self.problem) == OPTIMAL:
            return glpk.glp_mip_obj_val(self.problem)
        return value

    def without(self, sources, names, direction):
        """The answer without what some outputs say."""
        left = System(self.most)
        left.number = self.number
        left.rows = [row for row in self.rows if row[3] not in sources]
        left.build()
        value = left.ask(names, direction)
        left.close()
        return value

    def sources_of(self, names, least):
        """Outputs that together tell so much: none of them can be left out."""
        direction = MINIMUM if least else MAXIMUM
        needed = sorted({row[3] for row in self.rows if ":" in row[3]})
        out = set()
        for source in needed:
            value = self.without(out | {source}, names, direction)
            if value is not None and (value > 0.5 if least else value < LEAST - 0.5):
                out.add(source)
        return [source for source in needed if source not in out]

    def close(self):
        if self.problem is not None:
            self.glpk.glp_delete_prob(self.problem)


def statuses(periods):
    """Everything that can be of a student who enters in the first period: enrolled or why not, period by period."""
    for pattern in itertools.product((True, False), repeat=periods):
        if not pattern[0]:
            continue
        last = max(t for t in range(periods) if pattern[t])
        for left in range(periods - last):
            yield tuple("enrolled" if pattern[t] else "away" if t < last else "left" if t <= last + left else "not_yet"
                        for t in range(periods))


class CrossAudit:
    """Of the cohort of `raw` rows, in which all students enter in the first period."""

    def __init__(self, raw, states, group):
        self.raw, self.group = raw, group
        self.n, self.periods = len(raw.students), raw.periods
        self.states = range(states.emitting)
        self.groups = sorted({raw.attributes[s][group] for s in raw.students})
        self.home = {s: raw.attributes[s][group] for s in raw.students}
        self.system = System(self.n)
        self.targets = {}  # name: unknowns
        self.pairs, self.nearly_all = set(), set()
        self.status_of = {s: tuple("enrolled" if t in raw.enrolled[s] else raw.status(s, t).replace(" ", "_") for t in self.periods)
                          for s in raw.students}
        paths = {s: states.path(raw, s) for s in raw.students}
        self.places = {s: tuple(paths[s][i] if status == "enrolled" else status for i, status in enumerate(self.status_of[s]))
                       for s in raw.students}
        self.truth = collections.Counter()
        self.make_unknowns()

    # Unknowns, and what everybody knows of them.

    def make_unknowns(self):
        steps = len(self.periods)
        self.all_places = [places for status in dict.fromkeys(statuses(steps)) for places in
                           itertools.product(*(self.states if here == "enrolled" else (here,) for here in status))]
        self.path_names = [("path", places, home) for places in self.all_places for home in self.groups]
        self.by_enrolled = collections.defaultdict(list)  # (which periods, group): paths
        for name in self.path_names:
            self.by_enrolled[tuple(isinstance(here, int) for here in name[1]), name[2]].append(name)
        patterns = [p for p in itertools.product("-01", repeat=steps) if p[0] != "-"]
        self.course_names = {course: [("course", course, pattern, home) for pattern in patterns for home in self.groups]
                             for course in self.raw.courses}
        for names in [self.path_names, *self.course_names.values()]:
            for name in names:
                self.system.unknown(name)
        for course, names in self.course_names.items():
            for (enrolled, home), paths in self.by_enrolled.items():
                here = [name for name in names if name[3] == home and tuple(mark != "-" for mark in name[2]) == enrolled]
                self.equal(here, paths, "enrolled students take a course or do not")
        for s in self.raw.students:
            self.truth["path", self.places[s], self.home[s]] += 1
            for course in self.raw.courses:
                pattern = tuple("-" if t not in self.raw.enrolled[s] else "1" if course in self.raw.taken[s][t] else "0"
                                for t in self.periods)
                self.truth["course", course, pattern, self.home[s]] += 1

    def equal(self, names, others, source):
        terms = collections.Counter(names)
        terms.subtract(others)
        self.system.know(terms, 0, 0, source)

    def know(self, names, value, source, slack=0.0):
        true = sum(self.truth[name] * times for name, times in collections.Counter(names).items())
        assert value - slack - 1e-6 <= true <= value + slack + 1e-6, f"{source} says {value}, the rows {true}"
        value = round(value) if slack == 0 else value
        self.system.know(names, value - slack, value + slack, source)

    def know_at_least(self, names, value, source):
        self.system.know(names, value, None, source)

    def target(self, name, names):
        self.targets[name] = names

    # Sets of students.

    def at(self, step, wanted, home=None):
        """In one of some places in a period."""
        return [name for name in self.path_names if name[1][step] in wanted and home in (None, name[2])]

    def enrolled(self, step, home=None):
        return self.at(step, set(self.states), home)

    def is_judged(self, name):
        return sum(mark != "-" for mark in name[2]) >= 2

    def takers(self, course, home=None, judged=None):
        return [name for name in self.course_names[course] if "1" in name[2] and home in (None, name[3]) and
                judged in (None, self.is_judged(name))]

    def others(self, course, home=None, judged=None):
        return [name for name in self.course_names[course] if "1" not in name[2] and home in (None, name[3]) and
                judged in (None, self.is_judged(name))]

    def enrollments(self, courses, step=None):
        return collections.Counter({name: sum(mark == "1" for mark in (name[2] if step is None else name[2][step]))
                                    for course in courses for name in self.course_names[course]})

    def pair(self, one, other):
        """Students by two courses: both, the first alone, the second alone, neither."""
        one, other = sorted((one, other))
        names = [("pair", one, other, kind) for kind in ("both", "first", "second", "neither")]
        if (one, other) not in self.pairs:
            self.pairs.add((one, other))
            self.equal(names[:2], self.takers(one), "students of a pair")
            self.equal([names[0], names[2]], self.takers(other), "students of a pair")
            self.system.know(names, self.n, self.n, "students of a pair")
            taken = {s: {c for t in self.periods for c in self.raw.taken[s][t]} for s in self.raw.students}
            for s in self.raw.students:
                self.truth[names[(one not in taken[s]) * 2 + (other not in taken[s])]] += 1
        return names

    # What is printed.

    def read_describe(self, printed):
        self.know(self.path_names, printed["students"], "describe: students")
        everything = list(self.raw.courses)
        self.know(self.enrollments(everything), printed["enrollments"], "describe: enrollments")
        for step, row in enumerate(printed["periods"]):
            if row.get("enrolled") is not None:
                self.know(self.enrolled(step), row["enrolled"], "describe: enrolled")
            for status in ("away", "left", "not yet"):
                if row.get(status) is not None:
                    self.know(self.at(step, {status.replace(" ", "_")}), row[status], f"describe: {status}")
            if row.get("enrolled") and row.get("courses per student") is not None:
                self.know(self.enrollments(everything, step), row["courses per student"] * row["enrolled"], "describe: courses per student")
        before = None
        for row in printed["popular_courses"]:
            takers = self.takers(row["course"])
            if row["students"] is not None:
                self.know(takers, row["students"], "describe: students of a course")
            else:
                self.nearly_all.add(row["course"])
                self.know_at_least(takers, self.n - LEAST + 1, "describe: nearly all")
            if before is not None:
                more = collections.Counter(before)
                more.subtract(takers)
                self.know_at_least(more, 0, "describe: order of courses")
            before = takers
        named = set()
        for group in printed["enrollments_by_time"][0] if printed["enrollments_by_time"] else ():
            if group in ("year", "term", "period", "time", "other"):
                continue
            named.add(group)
            courses = [c for c in everything if self.subject(c) == group]
            self.know(self.enrollments(courses), sum(row[group] for row in printed["enrollments_by_time"]), "describe: enrollments by time")
        bins = [("bin", row["courses"]) for row in printed["students_by_courses"]]
        for name, row in zip(bins, printed["students_by_courses"], strict=True):
            assert row["students"] == 0 or row["students"] >= LEAST, row

    @staticmethod
    def subject(course):
        return course.split()[0]

    def read_flows(self, printed, source):
        nodes = []
        exact = printed["node_sizes"] == "exact"
        for node in printed["nodes"]:
            wanted = set(node["states"]) | set(node.get("not_enrolled", []))
            step = self.periods.index(node["period"])
            nodes.append((step, wanted))
            names = self.at(step, wanted)
            is_state = not node.get("not_enrolled")
            if node.get("exact", exact if is_state else True):
                self.know(names, node["students"], f"{source}: students of a node")
            else:
                self.know_at_least(names, node["students"], f"{source}: students of a node")
        for step, row in enumerate(printed["periods"]):
            if row["exact"]:
                self.know(self.enrolled(step), row["enrolled"], f"{source}: enrolled")
            else:
                self.know_at_least(self.enrolled(step), row["enrolled"], f"{source}: enrolled")
        for link in printed["links"]:
            (step, before), (_, after) = nodes[link["source"]], nodes[link["target"]]
            self.know([name for name in self.path_names if name[1][step] in before and name[1][step + 1] in after], link["students"],
                      f"{source}: flow")
        for path in printed["paths"]:
            through = [nodes[number][1] for number in path["nodes"]]
            self.know([name for name in self.path_names if all(here in wanted for here, wanted in zip(name[1], through, strict=True))],
                      path["students"], f"{source}: path")

    def read_compared(self, printed):
        """The differences between groups of `pathways --by`."""
        states = {(node["period"], node["name"]): set(node["states"]) for node in printed["nodes"] if not node.get("not_enrolled")}
        for row in printed["groups"]:
            wanted = states.get((row["period"], row["state"]))
            if row["students"] is None or wanted is None or row["group"] not in self.groups:
                continue
            step = self.periods.index(row["period"])
            self.know(self.enrolled(step, row["group"]), row["students"], "pathways --by: enrolled")
            inside = self.at(step, wanted, row["group"])
            self.know(inside, row["share"] * row["students"], "pathways --by: share")
            others = collections.Counter(self.at(step, wanted))
            others.subtract(inside)
            rest = collections.Counter(self.enrolled(step))
            rest.subtract(self.enrolled(step, row["group"]))
            for name, times in rest.items():
                others[name] -= row["others"] * times
            self.system.know(others, -0.01, 0.01, "pathways --by: share of the others")

    def read_groups(self, printed, states):
        """states: of every period, the states that a row is about, by what it is called."""
        for row in printed["rows"]:
            step = self.periods.index(row["period"])
            if row.get("enrolled") is not None and row["group"] in self.groups:
                self.know(self.enrolled(step, row["group"]), row["enrolled"], "states --by: enrolled")
            if row.get("students") is not None and row["group"] in self.groups and (step, row["state"]) in states:
                self.know(self.at(step, states[step, row["state"]], row["group"]), row["students"], "states --by: students")

    def read_delays(self, printed, by):
        if printed["students"] is not None:
            judged = [name for name in self.path_names if sum(isinstance(here, int) for here in name[1]) >= 2]
            self.know(judged, printed["students"], "delays: students")
        for row in printed["delays"]:
            home = row.get("group") if by else None
            if by and home not in self.groups:
                continue  # several small groups
            if row["students"] is not None:
                self.know(self.takers(row["course"], home, True), row["students"], "delays: students of a course")
            if by and row["others"] is not None:
                rest = [name for name in self.takers(row["course"], None, True) if name[3] != home]
                self.know(rest, row["others"], "delays: other students of a course")

    def read_company(self, printed):
        for row in printed["courses"]:
            if row["students"] is None:
                continue
            names = self.pair(row["one"], row["other"])
            self.know(names[:1], row["students"], "company: students of both")
            for name in names:
                self.target(name, [name])

    def read_prerequisites(self, printed):
        for row in printed["pairs"]:
            if row["students"] is None:
                continue
            p, c = row["prerequisite"], row["course"]
            had, not_had = ("had", p, c), ("not had", p, c)
            self.truth[had] = sum(self.raw.is_before(s, p, c) for s in self.raw.students)
            self.truth[not_had] = len(self.raw.takers[c]) - self.truth[had]
            self.equal([had, not_had], self.takers(c), "takers of the later course")
            if row["coverage"] == 1:  # all, or nearly all
                self.system.know([had], row["students"] - LEAST + 1, row["students"], "prerequisites: students")
            else:
                self.know([had], row["students"], "prerequisites: students")
                self.target(not_had, [not_had])

    def read_page(self, text):
        page = Page(text)

        def students(cell):
            return int(cell.replace(",", "")) if cell.replace(",", "").isdigit() else None

        for table in ("popular", "neighbours"):
            for row in page.tables[table].records() if table in page.tables else ():
                course = row["course"]
                if course in self.course_names and students(row["students"]) is not None:
                    self.know(self.takers(course), students(row["students"]), f"page: {table}")
        if "delays" in page.tables:
            for row in page.tables["delays"].records():
                home = row.get(self.group)
                if home is not None and home not in self.groups:
                    continue
                if row["course"] in self.course_names and students(row["students"]) is not None:
                    self.know(self.takers(row["course"], home, True), students(row["students"]),
                              "page: delays")

    # What must stay hidden.

    def make_targets(self):
        steps = range(len(self.periods))
        for course in self.raw.courses:
            for judged in (None, True, False):
                for home in (None, *self.groups):
                    self.target(("takers", course, home, judged), self.takers(course, home, judged))
                    self.target(("not takers", course, home, judged), self.others(course, home, judged))
        reasons = {"away", "left", "not_yet"}
        for step in steps:
            for home in (None, *self.groups):
                for place in (*self.states, *reasons):
                    self.target(("at", step, place, home), self.at(step, {place}, home))
                self.target(("not enrolled", step, home), self.at(step, reasons, home))
                self.target(("enrolled", step, home), self.enrolled(step, home))
            if step + 1 < len(self.periods):
                for before, after in itertools.product((*self.states, *reasons), repeat=2):
                    self.target(("flow", step, before, after),
                                [name for name in self.path_names if name[1][step] == before and name[1][step + 1] == after])
                self.target(("switches", step), [name for name in self.path_names if isinstance(name[1][step], int) and
                                                 isinstance(name[1][step + 1], int) and name[1][step] != name[1][step + 1]])

    def findings(self):
        """Small numbers of students that can be told to be small: (what, truth, least, largest, outputs that tell it)."""
        self.make_targets()
        self.system.build()
        found = []
        if self.system.ask(self.path_names, MINIMUM) is None:
            raise AssertionError("what is printed contradicts itself")
        self.asked = 0
        for what, names in self.targets.items():
            true = sum(self.truth[name] for name in names)
            if not 0 < true < LEAST:
                continue
            self.asked += 1
            least, largest = self.system.ask(names, MINIMUM), self.system.ask(names, MAXIMUM)
            # "Nearly all" take a course: nobody may be left, and nobody knows whether.
            is_nearly_all = what[0] == "not takers" and what[1] in self.nearly_all and least < 0.5
            if largest < LEAST - 0.5 and not is_nearly_all:
                found.append((what, true, least, largest, self.system.sources_of(names, False)))
        self.system.close()
        return found
