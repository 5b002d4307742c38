"""The truth about what a model answers: as the tables beside it say, and within their intervals.

Every sentence here is marked as an estimate on the page, and none of truth.py is.
"""

import collections

from truth_page import counted, number, rounded, within


class Answers:
    """Of `page`, `raw` and `by` (truth.py)."""

    def grid_finding(self, _1, _2, group, _3, _4, state, _5):
        rows = self.page.tables["state-grid"].records()
        groups = collections.defaultdict(collections.Counter)
        for row in rows:
            groups[row["group"]][row["state"]] += 1
        main, size = ({name: pick(counts.values()) for name, counts in groups.items()} for pick in (max, sum))
        return [f"{sum(main.values()):,}", f"{len(rows):,}",
                {name for name in groups if main[name] - size[name] / 2 == max(main[other] - size[other] / 2 for other in groups)},
                str(main[group]), str(size[group]), {name for name, count in groups[group].items() if count == main[group]},
                {row["name"] for row in rows if row["state"] == state}]

    def groups_reading(self, *_):
        rows = len(self.page.tables["groups"].rows)
        return [lambda words: number(words.split(";")[0]) == rows or number(words.split(";")[0]) > rows == 12]

    def portraits(self):
        """Courses and subjects of the least and of the most typical, as the table of the pies has them."""
        whole = self.page.tables["coursework"].records()[-1]
        return [rounded(float(whole["least typical"]), 1), within(0, float(whole["least typical"])),
                rounded(float(whole["most typical"]), 1), within(0, float(whole["most typical"]))]

    def typicality_finding(self, *_):
        return self.portraits()

    typicality_point = typicality_finding

    def coursework_finding(self, *values):
        return self.portraits() + [within(0, number(values[0])), within(0, number(values[2]))][:len(values) - 4]

    def typicality_finding_no_subjects(self, *_):
        return [within(0, max(self.loads()))] * 4

    def typicality_figure(self, *_):
        rows = self.page.tables["typicality"].records()
        return [within(float(rows[0]["from"]), float(rows[-1]["to"]))] * 2

    def kinds_of_pairs(self):
        return collections.Counter(row["kind"] for row in self.page.tables["prerequisites"].records())

    def prerequisites_found(self, *_):
        kinds = self.kinds_of_pairs()
        found = [kinds[kind] for kind in ("found", "tacit") if kinds[kind]]
        return [lambda words: [number(words.split(";")[0])] == found]

    def prerequisites_figure(self, words, _1, _2, *listed):
        kinds = self.kinds_of_pairs()
        truth = [lambda value: number(value) == (kinds["found"] or kinds["tacit"]), None, None]
        return truth + [counted(kinds["both"] + kinds["declared"], "listed prerequisite"),
                        f"{kinds['both']:,}"][:len(listed)]

    def prerequisites_unfollowed(self, *_):
        kinds = self.kinds_of_pairs()
        return [counted(kinds["both"] + kinds["declared"], "listed prerequisite"), f"{kinds['declared']:,}"]

    def plans_finding(self, step, period, goal, with_it, without):
        rows = [list(row.values()) for row in self.page.tables["goals"].records()]
        return [step, self.raw.periods[0], goal, *next((row[3:] for row in rows if row[0] == goal and row[2] == step), [None])]

    def delay_row(self, course, group=None):
        return next(row for row in self.page.tables["delays"].records() if row["course"] == course and
                    (group is None or row[self.by] == group))

    def later(self, course, group=None):
        row = self.delay_row(course, group)
        low, high = float(row["low"]), float(row["high"])
        assert 0 < low <= high, row
        return lambda value: low - 0.05 <= number(value) <= high + 0.05 and near(value, float(row["later"]), 0.056)

    def delays_finding(self, course, group, _):
        return [None, None, self.later(course, group.removeprefix(f"{self.by} "))]

    def delays_point(self, course, _, group):
        return [None, self.later(course, group.removeprefix(f"{self.by} ")), None]

    def delays_finding_all(self, course, _):
        return [None, self.later(course)]

    delays_point_all = delays_finding_all

    def delays_figure(self, course, *_):
        row = self.delay_row(course)
        return [None, row["later"], row["low"], row["high"]]

    def delays_figure_by(self, course, _1, _2, _3, group):
        row = self.delay_row(course, group)
        return [None, row["later"], row["low"], row["high"], None]

    def delays_chance(self, *values):
        rows = len(self.page.tables["delays"].rows)
        return [None] * (len(values) - 1) + [lambda words: number(words.split(";")[0]) == rows]

    delays_chance_all = delays_chance

    def error_by_k_finding(self, best, *_):
        rows = [row for row in self.page.tables["error_by_k"].records() if best.startswith(row["model"])]
        return [None, lambda value: any(near(value, float(cell), 0.00006) for row in rows for cell in row.values() if is_number(cell)),
                within(0, 1)]

    def evaluation_remark(self, *_):
        return [None]

    def calibration_finding(self, *_):
        return [within(0, 100)] * 2

    calibration_point = calibration_finding

    def calibration_figure(self, off, bins, predicted, observed):
        rows = self.page.tables["calibration"].records()
        apart = [abs(float(row["predicted"]) - float(row["observed"])) for row in rows]
        return [lambda value: near(value, 100 * sum(apart) / len(rows), 0.06), counted(len(rows), "bin"),
                lambda _: any(near(predicted, 100 * float(row["predicted"]), 0.51) and near(observed, 100 * float(row["observed"]), 0.51)
                              for row in rows), None]


def is_number(cell):
    return cell.replace(".", "", 1).isdigit()


def near(value, true, tolerance):
    """As it is rounded."""
    return abs(number(value) - true) <= tolerance
