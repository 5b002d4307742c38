"""The page for the dean: whole, safe, the same whoever makes it; what is not on it is said."""

import csv
import html.parser
import json
import random
import re
import unittest
import xml.etree.ElementTree as tree

from program import PROGRAM, ProgramTest

VOID = {"meta", "link", "br", "hr", "img", "input"}
FROM_ELSEWHERE = re.compile(r"""\s(?:src|srcset|data)=|href=(?!"#)|@import|url\(|<(?:link|img|iframe|object|embed|base)\b""")
SECTIONS = ["summary", "data", "states", "flows", "typicality", "prerequisites", "plans", "delays", "courses", "calibration", "missing", "card"]


class Reader(html.parser.HTMLParser):
    """Every element closed where it must be, ids once, headings without a gap; its sections with their titles and lists, and its text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.headings, self.sections, self.text = [], [], [], [], ""
        self.titles, self.notes = {}, {}
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "section":
            self.sections.append(attributes["id"])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "h2" and self.sections and attributes.get("id") == f"{self.sections[-1]}-title":
            self.titles[self.sections[-1]] = ""
        if tag == "li" and self.sections:
            self.notes.setdefault(self.sections[-1], []).append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass  # within pictures

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open, self.getpos())
        self.open.pop()

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text += data
            if "h2" in self.open and self.sections:
                self.titles[self.sections[-1]] += data
            if "li" in self.open and self.sections:
                self.notes[self.sections[-1]][-1] += data


def ribbons(text):
    """Of a picture of flows: how thick the ribbons are together that leave each node."""
    left = {}
    for top, bottom, node in re.findall(r'<path d="M[\d.]+ ([\d.]+)C[^"]*? ([\d.]+)Z" class="ribbon" data-from="(\d+)"', text):
        left[node] = left.get(node, 0) + float(bottom) - float(top)
    return left


class Report(ProgramTest):
    def university(self, students=500):
        self.run_program("simulate", "--out", ".", "--students", students, "--courses", 40, "--periods", 4, "--quiet")
        self.run_program("prepare", "enrollments.csv", "--courses", "courses.csv", "--out", "all.cohort", "--quiet")
        self.models("all.cohort")

    def models(self, cohort):
        self.run_program("fit", cohort, "--model", "cmm+bernoulli", "--states", 3, "--restarts", 1, "--out", "states.desirepath", "--quiet")
        self.run_program("fit", cohort, "--model", "hct", "--trees", 1, "--tree-states", 4, "--iterations", 10, "--out", "answers.desirepath",
                         "--quiet")

    def report(self, *arguments, out="r.html"):
        told = self.run_program("report", *arguments, "--out", out, "--force", "--json").json
        text = self.path(out).read_text()
        page = Reader(text)
        self.assertEqual(told["sections"], page.sections)
        self.assertEqual(len(page.ids), len(set(page.ids)))
        self.assertEqual(page.headings[0], 1)
        self.assertEqual(page.headings.count(1), 1)
        self.assertTrue(all(b <= a + 1 for a, b in zip(page.headings, page.headings[1:])), page.headings)
        self.assertIsNone(FROM_ELSEWHERE.search(re.sub(r"<style>.*?</style>|<script>.*?</script>", "", text, flags=re.DOTALL)))
        self.assertIsNone(re.search("https?:", re.sub(r'xmlns(?::\w+)?="[^"]*"', "", text)))
        self.assertIn("default-src 'none'", text)
        for picture in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
            tree.fromstring(picture)
        for target in re.findall(r'href="#([^"]+)"', text):
            self.assertIn(target, page.ids)
        return page, text

    def test_every_section(self):
        self.university()
        arguments = ("states.desirepath", "all.cohort", "--answers", "answers.desirepath", "--by", "residence", "--title", "Our <own> page")
        page, text = self.report(*arguments, "--figures", "figures")
        self.assertEqual(page.sections, SECTIONS)
        self.assertIn("Our <own> page", page.text)
        self.assert_says("\n".join(page.notes["missing"]), "desirepath evaluate", "--evaluation")  # how to get what is missing
        self.assert_says(page.text, "<association>")
        self.assertLess(len(text), 2_000_000)
        figures = sorted(path.name for path in self.path("figures").iterdir())
        self.assertEqual(len(figures), text.count("<svg "))
        for figure in figures:
            tree.parse(self.path("figures") / figure)
        self.assertGreaterEqual(text.count('class="reading"'), len(figures))
        # A twin of every picture, and what it rests on.
        for article in re.findall(r'<article class="card" id="figure-.*?</article>', text, re.DOTALL):
            self.assertIn("<table", article)
            self.assertRegex(article, r'class="basis"[^>]*>[^<]*\d')
            self.assertIn('class="finding"', article)
        with open(self.path("enrollments.csv"), newline="") as file:
            for student in {row["student"] for row in csv.DictReader(file)}:
                self.assertNotIn(student, text)
        again = self.report(*arguments, "--threads", 1, out="again.html")[1]
        self.assertEqual(text, again)
        self.assertNotEqual(text, self.report(*arguments, "--seed", 2, out="other.html")[1])

    def test_one_model(self):
        self.university()
        titles = self.report("states.desirepath", "all.cohort", "--answers", "answers.desirepath")[0].titles
        self.assertLessEqual(set(SECTIONS) - {"summary"}, set(titles))
        page, _ = self.report("states.desirepath", "all.cohort")
        self.assertTrue({"states", "flows", "typicality", "calibration"} <= set(page.sections))
        self.assertFalse({"prerequisites", "plans", "delays"} & set(page.sections))
        for section in ("prerequisites", "plans", "delays"):
            self.assert_says("\n".join(page.notes["missing"]), titles[section], "desirepath fit", "hct", "--answers")
        page, _ = self.report("answers.desirepath", "all.cohort")
        self.assertFalse({"states", "flows"} & set(page.sections))
        self.assertTrue({"prerequisites", "delays", "calibration"} <= set(page.sections))
        self.assert_says("\n".join(page.notes["missing"]), "desirepath fit", "states.desirepath", "--answers")
        self.run_program("fit", "all.cohort", "--model", "nb", "--states", 2, "--out", "nb.desirepath", "--quiet")
        page, _ = self.report("nb.desirepath", "all.cohort", "--sections", "states,flows")
        self.assertEqual(page.sections, ["states", "missing"])
        self.assertEqual(len(page.notes["missing"]), 1)
        self.assert_says(page.notes["missing"][0], "desirepath fit", "states.desirepath")

    def test_choices(self):
        self.university()
        page, text = self.report("states.desirepath", "all.cohort", "--sections", "flows,summary", "--width", "probability", "--highlight", "0,1")
        self.assertEqual(page.sections, ["summary", "flows"])
        self.assertEqual(text.count("<svg "), 1)
        by_students = self.report("states.desirepath", "all.cohort", "--sections", "flows,summary", out="o.html")[1]
        # What leaves a node adds up to the same everywhere, or to its students.
        self.assertLess(max(ribbons(text).values()), 1.01 * min(ribbons(text).values()))
        self.assertGreater(max(ribbons(by_students).values()), 1.01 * min(ribbons(by_students).values()))
        evaluated = ("--models", "nb", "--states", 2, "--seeds", 1, "--restarts", 1, "--draws", 100, "--quiet")
        self.run_program("evaluate", "all.cohort", *evaluated, "--out", "e")
        page, text = self.report("states.desirepath", "all.cohort", "--sections", "evaluation", "--evaluation", "e/evaluation.json")
        self.assertEqual(page.sections, ["evaluation"])
        self.assertNotIn("fit_seconds", text)
        for field, value in [("size", 1e300), ("size", -(2 ** 40)), ("size", 2.5)]:
            damaged = json.loads(self.read("e/evaluation.json"))
            damaged["summaries"][0][field] = value
            self.write("damaged.json", json.dumps(damaged))
            self.assert_fails("report", "states.desirepath", "all.cohort", "--evaluation", "damaged.json", "--out", "d.html", kind="input",
                              names=["evaluation.json"])

    def test_refusals(self):
        self.university()
        pages = ("report", "states.desirepath", "all.cohort")
        self.report(*pages[1:], "--sections", "data")
        before = self.read("r.html")
        self.assert_fails(*pages, "--out", "r.html", kind="disk", names=["r.html", "--force", "<exists>"])
        self.assertEqual(self.read("r.html"), before)
        for arguments, kind, names in (
                (("--sections", "state"), "usage", ["state", "states"]), (("--highlight", "9"), "usage", ["--highlight", 9]),
                (("--by", "residenc"), "usage", ["residenc", "residence"]), (("--min-cell", 4), "usage", ["--min-cell"]),
                (("--width", "wide"), "usage", ["--width", "flow", "probability"]), (("--min-cell", 501), "usage", ["--min-cell", 501, 10]),
                (("--evaluation", "truth.json"), "input", ["truth.json", "evaluation.json"]),
                (("--answers", "missing.desirepath"), "disk", ["missing.desirepath"])):
            self.assert_fails(*pages, *arguments, "--out", "new.html", kind=kind, names=names)
            self.assertFalse(self.path("new.html").exists())

    def strange(self, courses, rare=None):
        """Students of two kinds who take courses of these names; the rare one is taken by nine."""
        draw = random.Random(3)
        with open(self.path("t.csv"), "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["student", "period", "course", "home"])
            for student in range(240):
                half = courses[:len(courses) // 2] if student % 2 else courses[len(courses) // 2:]
                for period in (1, 2, 3):
                    for course in half[period::3] + draw.sample(courses, 2):
                        if draw.random() < 0.8:
                            rows.writerow([f"person{student}", period, course, "near" if student % 3 else "far"])
                    rows.writerow([f"person{student}", period, courses[0], "near" if student % 3 else "far"])
                if rare and student < 9:
                    rows.writerow([f"person{student}", 2, rare, "near" if student % 3 else "far"])
        self.run_program("prepare", "t.csv", "--min-takers", 1, "--out", "t.cohort", "--quiet")
        self.models("t.cohort")
        return self.report("states.desirepath", "t.cohort", "--answers", "answers.desirepath", "--by", "home", "--figures", "figures")

    def test_nothing_of_a_course_of_few(self):
        page, text = self.strange([f"Course {c}" for c in range(12)], rare="Nine Only 999")
        self.assertIn("Course 7", page.text)
        self.assertNotIn("Nine Only", text)
        for figure in self.path("figures").iterdir():
            self.assertNotIn("Nine Only", figure.read_text())
        self.assertNotIn("person", text.replace("personal", ""))

    def test_hostile_names(self):
        names = ["<script>alert(1)</script>", "R&D \"quoted\" 'twice'", "x" * 80, "A course whose name is as long as eighty letters are, and a little more than it", "حساب التفاضل والتكامل",
                 "]]>--><!--", "مقدمة <b>", "{0} {1}", "\u202eright", "日本語の授業", "a\tb", "&amp;", "`${7}`", "plain"]
        page, text = self.strange(names)
        self.assertNotIn("<script>alert", text)
        self.assertEqual(text.count("<script>"), 1)
        self.assertIn("<script>alert(1)</script>", page.text)
        for name in names[1:5]:
            self.assertIn(name, page.text)
        # The isolates that sentences put around names are obeyed, not shown.
        self.assertIn("\u2068", text)
        self.assertNotIn("\\u{206", text)


if __name__ == "__main__":
    unittest.main()
