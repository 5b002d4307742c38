"""Extracts as institutions hand them out, made up again: each becomes a cohort by one command, with every row accounted for."""

import csv
import io
import random
import re
import unittest
import zipfile

from program import ProgramTest, found

STUDENTS = 60
COURSES = ["MATH 101", "MATH 102", "CHEM 110", "CHEM 120", "BIO 100", "ECON 10"]
TITLES = {"MATH 101": "Calculus", "MATH 102": "Linear Algebra", "CHEM 110": "Chemistry", "CHEM 120": "Organic Chemistry",
          "BIO 100": "Cells", "ECON 10": "Markets"}


def records(seed=7):
    """student, year of study 1 .. 2, half 1 .. 2, course: everybody takes two courses a half."""
    draw = random.Random(seed)
    return [(f"s{number:03d}", year, half, course) for number in range(STUDENTS) for year in (1, 2) for half in (1, 2)
            for course in draw.sample(COURSES, 2)]


def value_of(cell):
    """A cell of CSV or JSON, so that they compare."""
    try:
        return float(cell)
    except (TypeError, ValueError):
        return cell or ""


class Extracts(ProgramTest):
    def write_rows(self, name, header, rows):
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(header)
        writer.writerows(rows)
        return self.write(name, text.getvalue())

    def prepare(self, name, *options, students=STUDENTS, periods=2, rejected=0):
        done = self.run_program("prepare", name, *options, "--out", "a.cohort", "--json", "--quiet", "--force").json
        self.assertEqual(done["rows_in"], done["rows_kept"] + done["rows_filtered"] + done["rows_rejected"])
        self.assertEqual((done["students"], done["periods"], done["rows_rejected"]), (students, periods, rejected))
        return done

    def years(self):
        """Enrollments by period, which is the year of study."""
        rows = self.run_program("describe", "a.cohort", "--csv", "--table", "periods", "--quiet").rows
        return [int(row["enrolled"]) for row in rows]

    def test_terms_of_all_houses(self):
        writings = {
            "months": lambda y, h: f"{2007 + y + h - 1}-{'09' if h == 1 else '02'}",
            "dates": lambda y, h: f"{2007 + y + h - 1}-{'09-03' if h == 1 else '02-11'}",
            "trimesters": lambda y, h: f"{2017 + y} Trimester {h}",
            "two years": lambda y, h: f"{2017 + y}-{18 + y} T{h}",
            "behind": lambda y, h: f"T{h} {2017 + y}",
            "semesters": lambda y, h: f"Sem {h} {2017 + y}",
            "century": lambda y, h: f"1{17 + y + h - 1}{9 if h == 1 else 2}",
            "short": lambda y, h: f"{17 + y + h - 1}/{'FA' if h == 1 else 'SP'}",
            "german": lambda y, h: f"WiSe {2017 + y}/{18 + y}" if h == 1 else f"SoSe {2018 + y}",
            "french": lambda y, h: f"Automne {2017 + y}" if h == 1 else f"Hiver {2018 + y}",
            "banner": lambda y, h: f"{2017 + y}{10 * h}",
        }
        for name, label in writings.items():
            with self.subTest(name):
                self.write_rows("t.csv", ["student", "term", "course"], [(s, label(y, h), c) for s, y, h, c in records()])
                self.prepare("t.csv")
                self.assertEqual(self.years(), [STUDENTS, STUDENTS])

    def test_grades_with_missing_values(self):
        grades = ["NA", "7,5", "4,0", "9", "-", "5"]
        rows = [(s, y, c, grades[i % 6]) for i, (s, y, h, c) in enumerate(records())]
        self.write_rows("t.csv", ["student", "period", "course", "grade"], rows)
        done = self.prepare("t.csv", "--passed-only", "--pass-mark", 5)
        failed = sum(grade == "4,0" for *_, grade in rows)
        self.assertEqual([rule["rows"] for rule in done["filtered"] if found("<not-passed>", rule["rule"])], [failed])
        told = {line["grade"]: (line["rows"], line["counts as"]) for line in done["grades"]}
        self.assertEqual(told["4,0"], (failed, "failed"))
        kept = self.run_program("check", "t.csv", "--where", "grade >= 5", "--json").json
        at_least = sum(grade not in ("NA", "-", "4,0") for *_, grade in rows)
        self.assertEqual(kept["rows_in"] - kept["filtered"][0]["rows"], at_least)

    def test_three_tables(self):
        self.write_rows("rows.csv", ["ID", "YEAR", "CODE"], [(s, y, c) for s, y, h, c in records()])
        self.write_rows("people.csv", ["id", "program"], [(f"s{n:03d}", ("Arts", "Science")[n % 2]) for n in range(STUDENTS)])
        self.write_rows("catalog.csv", ["code", "TITLE"], TITLES.items())
        options = ["--join", "people.csv", "--join", "catalog.csv", "--on", "ID=id", "--on", "CODE=code", "--map", "student=ID",
                   "--map", "period=YEAR", "--map", "course=CODE", "--map", "label=TITLE"]
        self.prepare("rows.csv", *options)
        labels = {row["course"]: row["label"] for row in self.run_program("describe", "a.cohort", "--csv", "--table", "courses").rows}
        self.assertEqual(labels, TITLES)
        self.prepare("rows.csv", *options, "--where", "program = 'Arts'", students=STUDENTS // 2)

    def test_a_row_a_student(self):
        taken = {(s, c, y) for s, y, h, c in records()}
        columns = [(c, y) for c in COURSES for y in (1, 2)]
        students = sorted({s for s, *_ in taken})
        self.write_rows("wide.csv", ["student", "program", *[f"{c}@{y}" for c, y in columns]],
                        [[s, "Arts", *[int((s, c, y) in taken) for c, y in columns]] for s in students])
        self.assertEqual(self.prepare("wide.csv", "--wide")["enrollments"], len(taken))
        self.write_rows("long.csv", ["student", "period", "course", "program"], [(s, y, c, "Arts") for s, c, y in sorted(taken)])
        wide = self.read("a.cohort")
        self.assertEqual(self.prepare("long.csv")["enrollments"], len(taken))
        self.assertEqual(self.sample("a.cohort"), self.sample_of(wide))

    def sample(self, name):
        return [self.run_program("describe", name, "--csv", "--table", table, "--quiet").out for table in ("periods", "courses", "courses-per-student")]

    def sample_of(self, data):
        self.path("b.cohort").write_bytes(data)
        return self.sample("b.cohort")

    def test_a_workbook(self):
        sheet = ["".join(f"<c r='{chr(65 + i)}{r}' t='inlineStr'><is><t>{cell}</t></is></c>" for i, cell in enumerate(row))
                 for r, row in enumerate([("student", "period", "course"), *[(s, y, c) for s, y, h, c in records()]], 1)]
        with zipfile.ZipFile(self.path("t.xlsx"), "w", zipfile.ZIP_DEFLATED) as book:
            book.writestr("xl/workbook.xml", "<workbook xmlns:r='r'><sheets><sheet name='All' r:id='a'/></sheets></workbook>")
            book.writestr("xl/_rels/workbook.xml.rels", "<Relationships><Relationship Id='a' Target='worksheets/s.xml'/></Relationships>")
            book.writestr("xl/worksheets/s.xml", "<worksheet><sheetData>" + "".join(f"<row r='{r}'>{row}</row>" for r, row in enumerate(sheet, 1))
                          + "</sheetData></worksheet>")
        by_book = self.prepare("t.xlsx")
        self.write_rows("t.csv", ["student", "period", "course"], [(s, y, c) for s, y, h, c in records()])
        self.assertEqual(by_book["fingerprint"], self.prepare("t.csv")["fingerprint"])


class Told(ProgramTest):
    def test_errors_as_json(self):
        for arguments, code in ((("check", "nowhere.csv"), 6), (("check", "--maap", "x"), 2), (("inspect",), 2), (("fnt",), 2)):
            done = self.run_program(*arguments, "--json", code=code)
            self.assertEqual(done.json["schema"], "desirepath/error/1")
            self.assertEqual(done.json["exit_code"], code)
            self.assertEqual(self.run_program(*arguments, code=code).out, "")
        self.write("t.csv", "student,period,course\na,x,A\n")
        done = self.run_program("check", "t.csv", "--json", code=3)
        self.assertEqual(done.json["schema"], "desirepath/check/1")  # what it found says what went wrong
        self.assertIn(done.json["reason"], done.err)
        self.assertEqual(self.run_program("prepare", "t.csv", "--out", "a", "--json", code=3).json["schema"], "desirepath/error/1")

    def test_every_table_of_describe(self):
        self.write_students(students=200)
        whole = self.run_program("describe", "t.csv", "--json").json
        for table, key in (("enrollments", "enrollments_by_time"), ("courses-per-student", "students_by_courses"), ("periods", "periods"),
                           ("courses", "popular_courses"), ("filters", "filters")):
            rows = self.run_program("describe", "t.csv", "--csv", "--table", table).rows
            self.assertEqual([list(map(value_of, row.values())) for row in rows], [list(map(value_of, row.values())) for row in whole[key]])
            self.assertGreater(len(rows), 0)
        self.run_program("prepare", "t.csv", "--min-takers", 1, "--out", "t.cohort", "--quiet")
        self.assert_fails("describe", "t.cohort", "--csv", "--table", "period", kind="usage", names=["period", "periods", "enrollments", "courses"])

    def test_figures_have_their_titles(self):
        self.write_students(students=200)
        self.run_program("describe", "t.csv", "--figures", "f", "--quiet")
        for figure in self.path("f").iterdir():
            title = re.search(r"<title>(.*?)</title>", figure.read_text()).group(1)
            self.assertIn(f">{title}</text>", figure.read_text())

    def test_ids_are_never_told(self):
        self.write("t.csv", "student,term,course\n" + "".join(f"SECRET{i},SECRET{i},A\n" for i in range(30)))
        for arguments in (("check", "t.csv", "--json"), ("prepare", "t.csv", "--out", "a", "--json", "--rejects", "r.csv")):
            done = self.run_program(*arguments, code=3)
            self.assertNotIn("SECRET", done.out + done.err)
        self.assertNotIn("SECRET", self.path("r.csv").read_text())


if __name__ == "__main__":
    unittest.main()
