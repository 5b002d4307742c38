"""What is refused before it does harm, and what files and outputs hold whatever is asked."""

import json
import os
import re
import resource
import signal
import subprocess
import time
import unittest
import zipfile

from program import ProgramTest

TURNS = [chr(code) for code in (*range(0x2028, 0x202F), *range(0x2066, 0x206A))]


class Limits(ProgramTest):
    def test_every_number_is_finite(self):
        self.write_students()
        fit = ("fit", "t.csv", "--min-takers", 1, "--out", "x", "--quiet")
        for word in ("nan", "inf", "-inf", "1e999", "NaN", "infinity"):
            for option in ("--checkpoint-every", "--pseudocount", "--tolerance", "--state-pseudocount"):
                self.assert_fails(*fit, f"{option}={word}", kind="usage", names=[option])
            if word.lower() == "nan":
                self.assert_fails("evaluate", "t.csv", f"--memory={word}", kind="usage", names=["--memory"])
            self.assert_fails("select", "t.csv", f"--held-out={word}", kind="usage", names=["--held-out"])
        for option in ("--pseudocount", "--state-pseudocount", "--tolerance"):
            self.assert_fails(*fit, f"{option}=1e308", kind="usage", names=[option, "1,000,000,000"])
        self.assertFalse(self.path("x").exists())

    def test_help_that_is_not_written_is_an_error(self):
        for arguments in ((), ("--help",), ("--version",), ("fit", "--help"), ("check", "--help")):
            with open("/dev/full", "w") as full:
                done = subprocess.run(self.command(*arguments), stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 6, arguments)
            self.assert_says(done.stderr, "<standard-output>")

    def interrupted(self, *arguments, phase):
        """Ends it with SIGINT as soon as it tells of a phase; what it says then, or None where it was too fast."""
        process = subprocess.Popen(self.command(*arguments, "--progress", "json"), cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        said, is_sent = [], False
        for line in process.stderr:
            said.append(line)
            if phase in line and not is_sent:
                process.send_signal(signal.SIGINT)
                is_sent = True
        process.communicate()
        self.assertEqual(process.returncode, 130, said[-3:])
        return said[-1]

    def test_an_interruption_names_only_options_of_the_command(self):
        self.write_students("many.csv", students=3000, courses=40)
        self.fit("--model", "nb", "--states", 3, cohort="many.csv", out="m.desirepath")
        endless = ("--tolerance", 0, "--iterations", 10**7)
        found = self.interrupted("fit", "many.csv", "--model", "nb", "--states", 3, *endless, "--out", "x", phase="iteration")
        self.assert_says(found, "--checkpoint")
        found = self.interrupted("select", "many.csv", "--model", "nb", "--states", "2,3", *endless, phase="iteration")
        self.assert_says(found, "--checkpoint")
        for phase, *command in (("iteration", "demo", "--students", 2000, "--out", "tour"), ("refit 1/", "states", "m.desirepath", "many.csv", "--refits", 50)):
            found = self.interrupted(*command, phase=phase)
            for option in ("--checkpoint", "--resume", "without a folder"):
                self.assertNotIn(option, found)

    def workbook(self, name, sheet):
        relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
        with zipfile.ZipFile(self.path(name), "w", zipfile.ZIP_DEFLATED) as book:
            book.writestr("xl/workbook.xml", f'<workbook xmlns:r="{relation}"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>')
            book.writestr("xl/_rels/workbook.xml.rels", '<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>')
            with book.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as part:
                for piece in sheet:
                    part.write(piece)

    def test_modes_of_files(self):
        self.write_students("t.csv", students=300)
        self.path("t.csv").write_text(self.path("t.csv").read_text() + "s1,x,C00\n")
        for mask in (0o022, 0o077, 0o027):
            folder = f"m{mask:o}"
            old = os.umask(mask)
            try:
                self.path(folder).mkdir()
                self.run_program("prepare", "t.csv", "--out", f"{folder}/all.cohort", "--rejects", f"{folder}/rejects.csv",
                                 "--statuses", f"{folder}/statuses.csv", "--quiet")
                fit = ("fit", f"{folder}/all.cohort", "--model", "cmm+bernoulli", "--states", 2, "--quiet")
                self.run_program(*fit, "--out", f"{folder}/m.desirepath")
                self.run_program(*fit, "--publish", "--out", f"{folder}/published.desirepath")
                self.run_program("split", f"{folder}/all.cohort", "--out", f"{folder}/parts", "--quiet")
                self.run_program("report", f"{folder}/m.desirepath", f"{folder}/all.cohort", "--sections", "states", "--out", f"{folder}/page.html",
                                 "--figures", f"{folder}/figures", "--quiet")
                self.run_program("describe", f"{folder}/all.cohort", "--figures", f"{folder}/described", "--quiet")
                self.run_program("evaluate", f"{folder}/all.cohort", "--models", "nb", "--states", "2", "--seeds", 1, "--draws", 100,
                                 "--out", f"{folder}/evaluation", "--quiet")
                checkpoint = self.path(f"{folder}/checkpoint")
                process = self.start(*fit, "--tolerance", 0, "--iterations", 10**8, "--out", f"{folder}/x", "--checkpoint", checkpoint,
                                     "--checkpoint-every", 0)
                while not checkpoint.exists():
                    time.sleep(0.01)
                process.kill()
                process.communicate()
            finally:
                os.umask(old)
            own = {"all.cohort", "rejects.csv", "statuses.csv", "m.desirepath", "training.cohort", "validation.cohort", "hold-out.cohort", "checkpoint"}
            files = {path: path.stat().st_mode & 0o777 for path in self.path(folder).rglob("*") if path.is_file()}
            self.assertLess(len(own) + 5, len(files))
            for path, mode in files.items():
                self.assertEqual(mode, 0o600 if path.name in own else 0o666 & ~mask, path)

    def test_a_workbook_made_to_fill_the_memory_is_refused_early(self):
        block = b"<row><c><v>1</v></c></row>" * 40_000
        self.workbook("bomb.xlsx", [b"<worksheet><sheetData>", *[block] * 600, b"</sheetData></worksheet>"])
        self.assertLess(self.path("bomb.xlsx").stat().st_size, 3 << 20)
        liar = bytearray(self.read("bomb.xlsx"))  # states that it is small
        at = liar.rfind(b"PK\x01\x02")
        liar[at + 24:at + 28] = (1000).to_bytes(4, "little")
        self.path("liar.xlsx").write_bytes(liar)
        for name in ("bomb.xlsx", "liar.xlsx"):
            began = time.monotonic()
            self.assert_fails("check", name, kind="input", names=[name])
            self.assertLess(time.monotonic() - began, 5)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 600 << 10)  # KiB
        rows = "".join(f"<row><c t='inlineStr'><is><t>s{i}</t></is></c><c><v>1</v></c><c t='inlineStr'><is><t>C{i % 3}</t></is></c></row>"
                       for i in range(60))
        header = "".join(f"<c t='inlineStr'><is><t>{name}</t></is></c>" for name in ("student", "period", "course"))
        self.workbook("t.xlsx", [f"<worksheet><sheetData><row>{header}</row>{rows}</sheetData></worksheet>".encode()])
        self.run_program("check", "t.xlsx")

    def test_nothing_turns_the_direction_of_a_page(self):
        lines = ["student,period,course,label,subject,major"]
        for s in range(120):
            for period in (1, 2):
                for c, turn in enumerate(TURNS):
                    if (s + c + period) % 3:
                        lines.append(f"s{s},{period},C{c}{turn}x,label {turn}{c},sub{turn}{c % 3},m{turn}{s % 2}")
        self.write("t.csv", "\n".join(lines) + "\n")
        self.fit("--model", "cmm+bernoulli", "--states", 2)
        self.run_program("report", "m.desirepath", "t.csv", "--by", "major", "--out", "page.html", "--figures", "figures", "--quiet")
        outputs = {path.name: path.read_text() for path in (self.path("page.html"), *self.path("figures").iterdir())}
        self.assertIn("202e", outputs["page.html"])
        for command in (("describe", "t.csv"), ("states", "m.desirepath"), ("describe", "t.csv", "--json"), ("states", "m.desirepath", "--json")):
            outputs[command] = self.run_program(*command).out
        for name, text in outputs.items():
            # A sentence puts each name in an isolate of its own: those close, and hold no other turn.
            outside = re.sub(f"\u2068([^{''.join(TURNS)}]*)\u2069", r"\1", text)
            for turn in TURNS:
                self.assertNotIn(turn, outside, (name, hex(ord(turn))))
        self.assertIn(TURNS[6], json.dumps(self.run_program("describe", "t.csv", "--json").json, ensure_ascii=False))  # JSON means the same text


if __name__ == "__main__":
    unittest.main()
