#include "desirepath/ingest/prepare.h"

#include <algorithm>
#include <fstream>

#include "support/example_cohorts.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::prepare_test {
namespace {

using test::TemporaryFolder;

class PrepareTest : public testing::Test {
 protected:
  Prepared prepare(const std::string& text, TableOptions options = {}, const std::string& name = "t.csv",
                   int threads = 1) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    if (!options.min_takers) options.min_takers = 1;
    return prepare_cohort({(folder_ / name).string()}, options, Executor(threads));
  }
  std::string refusal(const std::string& text, const TableOptions& options = {}) {
    try {
      prepare(text, options);
    } catch (const Error& error) {
      std::string message = render_settings(error.marked(), "--");
      const std::string path = folder_.path().string() + "/";
      for (std::size_t at = message.find(path); at != std::string::npos; at = message.find(path))
        message.erase(at, path.size());
      return message;
    }
    return "not refused";
  }
  static std::vector<std::string> courses(const Cohort& cohort, std::int64_t student, Id period) {
    std::vector<std::string> names;
    for (const Id bit : cohort.bits(student, period))
      names.push_back(cohort.schema().course(cohort.schema().course_of(bit)).name);
    return names;
  }
  static std::string note(const Prepared& prepared, std::size_t number) {
    return number < prepared.report.notes.size() ? render_settings(prepared.report.notes[number], "--")
                                                 : "no such note";
  }
  TemporaryFolder folder_;
};
using Names = std::vector<std::string>;

TEST_F(PrepareTest, PresentUnknownAndPresenceAlone) {
  const Cohort cohort = prepare("student,period,course\nann,1,A\nann,2,\nbob,2,B\nbob,2,A\n").cohort;
  EXPECT_EQ(cohort.students(), (Names{"ann", "bob"}));
  EXPECT_EQ(cohort.status(0, 0), EnrollmentStatus::enrolled);
  EXPECT_EQ(cohort.status(0, 1), EnrollmentStatus::enrolled);
  EXPECT_TRUE(cohort.bits(0, 1).empty());
  EXPECT_EQ(cohort.status(1, 0), EnrollmentStatus::unknown);
  EXPECT_EQ(courses(cohort, 1, 1), (Names{"A", "B"}));
}

TEST_F(PrepareTest, EveryRowIsKeptFilteredOrRejected) {
  TableOptions options;
  options.where = "course IS DISTINCT FROM 'X'";
  options.withdrawn = RowRule::drop;
  options.passed_only = true;
  options.max_bad = 1;
  options.keep_periods = 3;
  const Prepared p = prepare(
      "student,period,course,grade\n"
      "a,1,A,B\na,1,A,C\na,2,X,A\n,1,A,A\na,0,A,A\na,zwei,A,A\na,2,B,W\na,3,B,F\na,4,B,A\nshort,1\nb,1,A,A\n",
      options);
  EXPECT_EQ(p.report.rows_in, 11);
  EXPECT_EQ(p.report.rows_kept, 2);
  EXPECT_EQ(p.report.rows_filtered(), 5);
  EXPECT_EQ(p.report.rows_rejected(), 4);
  EXPECT_EQ(p.report.rows_in, p.report.rows_kept + p.report.rows_filtered() + p.report.rows_rejected());
  EXPECT_TRUE(p.cohort.enrolled(0, 1));  // a withdrawal is presence
}

TEST_F(PrepareTest, TermsBecomeYearsSinceEntry) {
  TableOptions options;
  options.periods = PeriodRule::years_since_entry;
  const Cohort cohort = prepare(
                            "student,term,course\nann,2018 Fall,A\nann,Spring 2019,B\nann,Fall 2019,C\nbob,Fall "
                            "2019,A\nbob,Fall 2021,B\nbob,Fall 2030,C\n",
                            options)
                            .cohort;
  EXPECT_EQ(courses(cohort, 0, 0), (Names{"A", "B"}));
  EXPECT_EQ(courses(cohort, 0, 1), (Names{"C"}));
  EXPECT_EQ(cohort.status(1, 1), EnrollmentStatus::away);
  EXPECT_EQ(courses(cohort, 1, 2), (Names{"B"}));
  EXPECT_EQ(cohort.academic_year(1, 2), 2021);
}

TEST_F(PrepareTest, TermsBecomeTermsSinceEntry) {
  TableOptions options;
  options.periods = PeriodRule::terms_since_entry;
  const Cohort cohort =
      prepare("student,term,course\na,2018-1,A\na,2018-2,B\na,2019-1,C\nb,2018-2,A\nb,2019-1,B\n", options).cohort;
  EXPECT_EQ(courses(cohort, 0, 2), (Names{"C"}));
  EXPECT_EQ(courses(cohort, 1, 0), (Names{"A"}));
  EXPECT_EQ(courses(cohort, 1, 1), (Names{"B"}));
}

TEST_F(PrepareTest, FiltersOfThePaper) {
  TableOptions options;
  options.periods = PeriodRule::years_since_entry;
  options.summer = RowRule::drop;
  options.part_time = PartTimeRule::drop_students;
  options.full_time_courses = 2;
  const Prepared p = prepare(
      "student,term,course\nfull,Fall 2018,A\nfull,Fall 2018,B\nfull,Summer 2019,C\npart,Fall 2018,A\n"
      "part,Fall 2019,A\npart,Fall 2019,B\n",
      options);
  EXPECT_EQ(p.cohort.students(), (Names{"full"}));
  EXPECT_EQ(p.report.rows_kept, 2);
}

TEST_F(PrepareTest, RepeatsAliasesAndUnits) {
  std::ofstream(folder_ / "aliases.csv") << "alias,course\nOLD,NEW\n";
  TableOptions options;
  options.repeats = RepeatRule::first;
  options.aliases_file = folder_ / "aliases.csv";
  options.part_time = PartTimeRule::drop_periods;
  options.full_time_units = 3.5;
  const Cohort cohort =
      prepare("student;period;course;units\na;1;OLD;3,5\na;2;NEW;4\na;2;B;4\na;3;C;1\n", options).cohort;
  EXPECT_EQ(courses(cohort, 0, 0), (Names{"NEW"}));
  EXPECT_EQ(courses(cohort, 0, 1), (Names{"B"}));
  EXPECT_EQ(cohort.schema().period_count(), 2);
}

TEST_F(PrepareTest, AbsentMayMeanLeftButNotBeyondTheData) {
  TableOptions options;
  options.periods = PeriodRule::years_since_entry;
  options.absent = AbsentRule::left;
  const Cohort cohort =
      prepare("student,term,course\na,2010,A\nb,2010,A\nb,2011,A\nb,2012,A\nc,2011,B\nc,2012,A\n", options).cohort;
  EXPECT_EQ(cohort.status(0, 1), EnrollmentStatus::left);
  EXPECT_EQ(cohort.status(0, 2), EnrollmentStatus::left);
  EXPECT_EQ(cohort.status(2, 2), EnrollmentStatus::not_yet);  // 2013 is not in the data
}

TEST_F(PrepareTest, StatusesFollowTheCalendar) {
  using enum EnrollmentStatus;
  TableOptions options;
  options.finished = "degree";
  const Prepared p = prepare(
      "student,term,course,entry,degree\n"
      "back,2010,A,,\nback,2012,A,,\ngone,2010,A,,\ngraduate,2010,A,,\ngraduate,2011,B,,BA\n"
      "late,2012,A,2011,\nnew,2012,A,,\nstays,2010,A,,\nstays,2011,A,,\nstays,2012,A,,\n",
      options);
  const auto of = [&](std::int64_t s) {
    return std::vector<EnrollmentStatus>(p.cohort.parts().status.begin() + 3 * s,
                                         p.cohort.parts().status.begin() + 3 * s + 3);
  };
  using Statuses = std::vector<EnrollmentStatus>;
  ASSERT_EQ(p.cohort.students(), (Names{"back", "gone", "graduate", "late", "new", "stays"}));
  EXPECT_EQ(of(0), (Statuses{enrolled, away, enrolled}));
  EXPECT_EQ(of(1), (Statuses{enrolled, left, left}));
  EXPECT_EQ(of(2), (Statuses{enrolled, enrolled, finished}));
  EXPECT_EQ(of(3), (Statuses{before_entry, enrolled, not_yet}));
  EXPECT_EQ(of(4), (Statuses{enrolled, not_yet, not_yet}));
  EXPECT_EQ(of(5), (Statuses{enrolled, enrolled, enrolled}));
  EXPECT_EQ(p.cohort.status_basis(), StatusBasis::calendar);
  EXPECT_EQ(p.cohort.calendar().terms.back().label, "2012");
  EXPECT_EQ(p.cohort.calendar().data_end, 2);
  EXPECT_EQ(p.cohort.calendar().step, PeriodStep::year);
  EXPECT_EQ(p.report.data_end, "2012");
}

TEST_F(PrepareTest, AbsentMayBeUnknownThroughout) {
  TableOptions options;
  options.absent = AbsentRule::unknown;
  const Cohort cohort = prepare("student,term,course\na,2010,A\na,2012,A\nb,2010,A\n", options).cohort;
  EXPECT_EQ(cohort.status_counts(1)[EnrollmentStatus::unknown], 2);
  EXPECT_FALSE(cohort.has_departures());
  EXPECT_EQ(cohort.status_basis(), StatusBasis::stated);
}

TEST_F(PrepareTest, LeftWithoutACalendarOnlyWhereThatIsSaid) {
  const std::string table = "student,period,course\na,1,A\nb,1,A\nb,2,A\n";
  const Prepared plain = prepare(table);
  EXPECT_EQ(plain.cohort.status(0, 1), EnrollmentStatus::unknown);
  EXPECT_EQ(plain.cohort.status_basis(), StatusBasis::no_calendar);
  EXPECT_NE(plain.report.no_calendar.find("counts are of the students enrolled in each period"), std::string::npos);
  TableOptions options;
  options.absent = AbsentRule::left;
  EXPECT_EQ(prepare(table, options).cohort.status(0, 1), EnrollmentStatus::left);
}

TEST_F(PrepareTest, ATermThatIsFarOffIsNotTheEndOfTheData) {
  std::string table = "student,term,course\ntypo,2030 Fall,A\n";
  for (int s = 0; s < 20; ++s) {
    for (int year = 2010; year < 2012 + s % 2; ++year)
      table += "s" + std::to_string(s) + "," + std::to_string(year) + " Fall,A\n";
  }
  const Prepared p = prepare(table);
  EXPECT_EQ(p.report.data_end, "2012 Fall");
  EXPECT_EQ(p.cohort.status_counts(2)[EnrollmentStatus::left], 10);
}

TEST_F(PrepareTest, RowsThatAreNotSelectedDecideNothingButWhoWasThere) {
  TableOptions options;
  options.where = "term <> '1999'";
  // A label that would not fit the others, in rows that are left out.
  const Cohort cohort =
      prepare("student,term,course\na,1999,A\na,2010.1,A\nb,2010.1,A\nb,2010.2,A\nc,1999,A\n", options).cohort;
  EXPECT_EQ(cohort.students(), (Names{"a", "b"}));
  EXPECT_EQ(cohort.schema().period_count(), 1);
}

TEST_F(PrepareTest, ListedCoursesExistEvenIfNobodyTookThem) {
  std::ofstream(folder_ / "courses.csv")
      << "course,label,school,prerequisites,credits\nZ,Last,Arts,A;B,4\nA,First,Arts,,\n";
  TableOptions options;
  options.courses_file = folder_ / "courses.csv";
  options.min_takers = 2;
  const Cohort cohort = prepare("student,period,course\na,1,A\na,1,B\nb,1,B\nb,1,C\n", options).cohort;
  ASSERT_EQ(cohort.schema().course_count(), 3);
  EXPECT_EQ(cohort.schema().course(0).name, "Z");
  EXPECT_EQ(cohort.schema().course(0).prerequisites, (Names{"A", "B"}));
  EXPECT_EQ(cohort.schema().course(0).attributes.at("credits"), "4");
  EXPECT_EQ(cohort.schema().course(2).name, "B");
}

TEST_F(PrepareTest, AttributesAreTheLatestValue) {
  const Cohort cohort =
      prepare("student,period,course,major,weight\na,2,B,physics,1.5\na,1,A,maths,1.5\nb,1,A,,2\n").cohort;
  EXPECT_EQ(cohort.attribute("major").values, (Names{"physics"}));
  EXPECT_EQ(cohort.attribute("major").codes, (std::vector<Id>{0, -1}));
  EXPECT_EQ(numeric_attribute(cohort, "weight"), (std::vector<double>{1.5, 2}));
  EXPECT_THROW(numeric_attribute(cohort, "major"), InputError);
}

TEST_F(PrepareTest, FormsInTheField) {
  EXPECT_EQ(
      prepare("Semester,Student ID,Course,Grade\nFall 2018,7,A,B\nFall 2019,7,B,B\n").cohort.schema().period_count(),
      2);
  EXPECT_EQ(prepare("user,t,item\n7,1,A\n7,3,B\n").cohort.schema().period_count(), 3);
  const Cohort midfield = prepare(
                              "mcid,institution,term_course,abbrev,number,grade\nM1,Institution "
                              "B,19881,MATH,101,A\nM1,Institution B,19893,MATH,102,A\n")
                              .cohort;
  EXPECT_EQ(midfield.schema().course(0).name, "Institution B:MATH101");
  EXPECT_EQ(midfield.schema().period_count(), 2);
  const Cohort peoplesoft =
      prepare("EMPLID,STRM,SUBJECT,CATALOG_NBR,CRSE_GRADE_OFF\n1,2187,CS, 101,A\n1,2197,CS,102,B\n").cohort;
  EXPECT_EQ(peoplesoft.schema().course(0).name, "CS 101");
  const Cohort pdp = prepare(
                         "Student ID,Academic Year,Academic Term,Course Prefix,Course "
                         "Number,Grade\n1,2018-19,FALL,CS,101,A\n1,2019-20,SPRING,CS,102,B\n")
                         .cohort;
  EXPECT_EQ(pdp.schema().course(1).name, "CS 102");
  EXPECT_EQ(pdp.schema().period_count(), 2);
  const Cohort banner =
      prepare("SFRSTCR_PIDM,SFRSTCR_TERM_CODE,SSBSECT_SUBJ_CODE,SSBSECT_CRSE_NUMB\n1,201810,CS,101\n1,201910,CS,102\n")
          .cohort;
  EXPECT_EQ(banner.schema().course(0).name, "CS 101");
}

TEST_F(PrepareTest, ExpressionsSeeNumbersWhereTheyNeedThem) {
  TableOptions options;
  options.map = {{"period", "ceil(period / 2)"}, {"course", "course || '!'"}};
  options.where = "units >= 2 AND student <> 'c'";
  const Prepared p = prepare("student,period,course,units\na,1,A,3\na,4,B,2.5\nb,2,C,1\nc,1,A,9\n", options);
  EXPECT_EQ(p.cohort.students(), (Names{"a"}));
  EXPECT_EQ(courses(p.cohort, 0, 0), (Names{"A!"}));
  EXPECT_EQ(courses(p.cohort, 0, 1), (Names{"B!"}));
}

TEST_F(PrepareTest, MissingValuesInEveryColumn) {
  const std::string rows =
      "student,period,course,grade,major\na,1,A,7,NA\na,1,B,N/"
      "A,Biology\nb,1,A,-,-\nb,1,B,4,null\nNA,1,A,5,x\nb,1,NA,5,x\n"
      "b,NA,B,5,x\n";
  TableOptions options;
  options.max_bad = 1;
  const Prepared p = prepare(rows, options);
  EXPECT_EQ(p.report.rows_kept, 4);
  EXPECT_EQ(p.report.rows_rejected(), 3);
  const auto reasons = p.report.rejects.by_reason();
  EXPECT_EQ(reasons.size(), 3U);
  for (const auto& [reason, rows_of_it] : reasons)
    EXPECT_EQ(rows_of_it, 1) << reason;
  for (const char* column : {"student", "course", "period"}) {
    EXPECT_EQ(std::ranges::count(p.report.rejects.kept(), column, &Reject::column), 1) << column;
    EXPECT_EQ(std::ranges::count_if(
                  reasons, [&](const auto& reason) { return static_cast<bool>(test::says(reason.first, {column})); }),
              1)
        << column;
  }
  ASSERT_EQ(p.cohort.attributes().size(), 1U);
  EXPECT_EQ(p.cohort.attributes()[0].codes, (std::vector<Id>{0, -1}));
  EXPECT_TRUE(test::says(note(p, 0), {"NA, N/A, NULL, -", "1 in period", "2 in grade", "3 in major", "--missing"}));
  // A condition over such a column is a condition over its numbers, and a course of that name still no course.
  options.where = "grade >= 5 OR student = 'b'";
  const Prepared selected = prepare(rows, options);
  EXPECT_EQ(selected.report.rows_kept, 3);
  EXPECT_EQ(selected.report.rows_rejected(), 3);
  options.missing = {"null"};
  options.where.clear();
  EXPECT_EQ(prepare(rows, options).report.rows_kept, 6);
}

TEST_F(PrepareTest, RowsReadAreAllRows) {
  TableOptions options;
  options.where = "period = '1'";
  const Stage read = prepare("student,period,course\na,1,A\nb,2,B\nc,2,A\n", options).report.stages.front();
  EXPECT_EQ(read.rows, 3);
  EXPECT_EQ(read.students, 3);
  EXPECT_EQ(read.courses, 2);
}

TEST_F(PrepareTest, DecimalCommasAreNumbers) {
  TableOptions options;
  options.where = "grade >= 5.5";
  options.delimiter = Delimiter{';'};
  EXPECT_EQ(prepare("student;period;course;grade\na;1;A;7,5\na;1;B;5,4\na;1;C;10\n", options).report.rows_kept, 2);
}

TEST_F(PrepareTest, TitlesOfCourses) {
  TableOptions options;
  options.map = {{"label", "title"}};
  const Cohort cohort = prepare("student,period,course,title\na,1,A,Algebra\nb,1,A,NA\nb,1,B,-\n", options).cohort;
  EXPECT_EQ(cohort.schema().course(0).label, "Algebra");
  EXPECT_EQ(cohort.schema().course(1).label, "");
}

TEST_F(PrepareTest, TermsThatDoNotFitAreAskedAbout) {
  const std::string rows = "student,term,course\na,2010.1,A\na,2010.2,B\nb,2010,A\n";
  EXPECT_TRUE(test::says(refusal(rows), {"t.csv", "'2010'", "'2010.1'", "'2010.2'", "code,term", "--terms"}));
  std::ofstream(folder_ / "terms.csv") << "code,term\n2010,2010.1\n";
  TableOptions options;
  options.terms_file = (folder_ / "terms.csv").string();
  options.periods = PeriodRule::terms_since_entry;
  const Cohort cohort = prepare(rows, options).cohort;
  EXPECT_EQ(courses(cohort, 0, 0), Names{"A"});
  EXPECT_EQ(courses(cohort, 0, 1), Names{"B"});
  EXPECT_EQ(courses(cohort, 1, 0), Names{"A"});
}

TEST_F(PrepareTest, AnAttributeIsThatOfTheLatestRow) {
  const auto value = [&](const std::string& rows, const TableOptions& options = {}) {
    const Cohort cohort = prepare(rows, options).cohort;
    const Attribute& attribute = cohort.attributes()[0];
    return attribute.values[static_cast<std::size_t>(attribute.codes[0])];
  };
  EXPECT_EQ(value("student,period,course,major\na,1,A,Art\na,1,B,Zoology\n"), "Zoology");
  EXPECT_EQ(value("student,period,course,major\na,1,A,Zoology\na,1,B,Art\n"), "Art");
  EXPECT_EQ(value("student,period,course,major\na,1,A,Art\na,1,B,Zoology\na,1,C,Art\n"), "Art");
  EXPECT_EQ(value("student,period,course,major\na,2,A,Art\na,1,B,Zoology\n"), "Art");
  EXPECT_EQ(value("student,term,course,major\na,Spring 2019,A,Zoology\na,Fall 2018,B,Art\n"), "Zoology");
  // Thousands of rows, read by several threads.
  std::string many = "student,period,course,major\n";
  for (int i = 0; i < 60'000; ++i)
    many += concat("s", i % 7, ",1,C", i % 50, ",m", i % 11, "\n");
  const Cohort one = prepare(many).cohort, four = prepare(many, {}, "t.csv", 4).cohort;
  EXPECT_EQ(one.attributes()[0].codes, four.attributes()[0].codes);
  EXPECT_EQ(one.attributes()[0].values[static_cast<std::size_t>(one.attributes()[0].codes[0])], "m3");  // row 59,997
}

TEST_F(PrepareTest, MoreTermsThanCanBeKeptAreRefused) {
  std::string rows = "student,period,term,course\n";
  for (int i = 0; i < 33'000; ++i)
    rows += concat("s", i % 100, ",1,", 1900 + i / 336, i / 28 % 12 < 9 ? "-0" : "-", i / 28 % 12 + 1,
                   i % 28 < 9 ? "-0" : "-", i % 28 + 1, ",A\n");
  EXPECT_TRUE(test::says(refusal(rows), {"32,767", "--map"}));
}

TEST_F(PrepareTest, MonthsFallIntoAcademicYears) {
  const std::string rows = "student,term,course,plan\na,2008-09,A,x\na,2009-01,B,y\na,2009-08,C,z\na,2008-12,D,w\n";
  Cohort cohort = prepare(rows).cohort;
  EXPECT_EQ(courses(cohort, 0, 0), (Names{"A", "B", "D"}));
  EXPECT_EQ(courses(cohort, 0, 1), Names{"C"});
  EXPECT_EQ(cohort.attributes()[0].values, Names{"z"});  // of the latest row
  TableOptions options;
  options.year_starts = 1;
  cohort = prepare(rows, options).cohort;
  EXPECT_EQ(courses(cohort, 0, 0), (Names{"A", "D"}));
  options.summer_codes = {"8"};
  options.summer = RowRule::drop;
  EXPECT_EQ(prepare(rows, options).report.rows_filtered(), 1);
}

TEST_F(PrepareTest, ARuleThatDropsNothingSaysSo) {
  TableOptions options;
  options.passed_only = true;
  options.withdrawn = RowRule::drop;
  const Prepared p = prepare("student,period,course,grade\na,1,A,7\na,1,B,pass\n", options);
  EXPECT_TRUE(test::says(note(p, 0), {"--withdrawn drop", "--withdrawn-grades"}));
  EXPECT_TRUE(test::says(note(p, 1), {"--passed-only", "--failing-grades", "--pass-mark"}));
  EXPECT_TRUE(test::says(note(p, 2), {"1", "--pass-mark"}));
  options.pass_mark = PassMark{8, false};
  EXPECT_EQ(prepare("student,period,course,grade\na,1,A,7\na,1,B,9\n", options).report.rows_filtered(), 1);
}

TEST_F(PrepareTest, FaultsAreSaidInOneLine) {
  std::vector<std::string> messages;
  const auto expect = [&](const std::string& message, const std::vector<std::string>& facts) {
    EXPECT_TRUE(test::says(message, facts));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_EQ(std::ranges::count(messages, message), 0) << message;  // no two faults are told alike
    messages.push_back(message);
  };
  expect(refusal("stud,period,course\na,1,A\n"), {"t.csv", "stud", "period", "course", "--map \"student=COLUMN\""});
  expect(refusal("S31185,1,M100\nS31186,1,M100\n"), {"t.csv", "--map \"student=COLUMN\"", "--map \"course=COLUMN\"",
                                                     "--map \"period=COLUMN\"", "--map \"term=COLUMN\""});
  EXPECT_FALSE(test::says(messages.back(), {"S31185"}));  // it is data
  expect(refusal("student,period,course\n"), {"t.csv"});
  expect(refusal("student,period,course\na,x,A\nb,1,A\n"),
         {"t.csv:2", "period", "64", "1", "2", "--max-bad 1", "desirepath check"});
  expect(refusal(""), {"t.csv"});
  TableOptions options;
  options.where = "perod = 1";
  expect(refusal("student,period,course\na,1,A\n", options), {"--where", "'perod'", "'period'"});
  options.where = "1; DROP TABLE x";
  expect(refusal("student,period,course\na,1,A\n", options), {"--where", "SQL"});
  options.where = "CAST(course AS INTEGER) > 1";
  expect(refusal("student,period,course\na,1,A\n", options), {"--map", "--where", "try_cast"});
  options.where = "count(*) > 1";
  expect(refusal("student,period,course\na,1,A\n", options), {"--map", "--where"});
}

TEST_F(PrepareTest, ACheckLooksAtEverythingAndSaysWhetherItWillDo) {
  std::ofstream(folder_ / "t.csv") << "student,period,course\na,x,A\nb,1,A\nb,2,A\n";
  TableOptions options;
  options.min_takers = 1;
  const std::vector<std::string> sources = {(folder_ / "t.csv").string()};
  const Preparation bad = check_tables(sources, options, Executor(1));
  EXPECT_EQ(bad.report.rows_kept, 2);
  EXPECT_EQ(bad.answer().to_json()["students"], 1);
  EXPECT_EQ(bad.answer().to_json()["usable"], false);
  EXPECT_EQ(bad.answer().to_json()["reason"], bad.failure);
  EXPECT_EQ(bad.answer().to_json()["stages"].size(), 1U);
  options.max_bad = 0.5;
  const Preparation good = check_tables(sources, options, Executor(1));
  EXPECT_EQ(good.failure, "");
  std::ostringstream text;
  good.answer().print(text);
  EXPECT_TRUE(test::says(text.str().substr(text.str().rfind('\n', text.str().size() - 2)), {"1", "2"}));
  EXPECT_EQ(good.answer().to_json()["students"], 1);
  EXPECT_EQ(good.answer().to_json()["courses"], 1);
  EXPECT_EQ(good.answer().to_json()["periods"], 2);
  options.where = "student = 'c'";
  EXPECT_FALSE(prepare_tables(sources, options, Executor(1)).cohort);
}

TEST_F(PrepareTest, SqlCannotReachOtherFiles) {
  std::ofstream(folder_ / "secret.csv") << "a\n1\n";
  TableOptions options;
  options.where = concat("EXISTS (SELECT * FROM read_csv('", (folder_ / "secret.csv").string(), "'))");
  EXPECT_NE(refusal("student,period,course\na,1,A\n", options), "not refused");
  options.where = "EXISTS (SELECT * FROM read_text('/etc/passwd'))";
  EXPECT_NE(refusal("student,period,course\na,1,A\n", options), "not refused");
}

std::string shuffled_rows(const std::string& csv, RandomStream stream) {
  std::vector<std::string> lines = split(csv, '\n');
  while (!lines.empty() && lines.back().empty())
    lines.pop_back();
  std::vector<std::string> rows(lines.begin() + 1, lines.end());
  shuffle(rows, stream);
  return lines[0] + "\n" + join(rows, "\n") + "\n";
}

TEST(PrepareProperty, NoRowIsLost) {
  const TemporaryFolder folder;
  test::expect_property(
      "every line is kept, filtered or rejected, whatever was done to it",
      [&](std::uint64_t seed) {
        std::ostringstream csv;
        test::write_long_table(test::random_cohort({.students = 8}, RandomStream(seed)), csv);
        RandomStream random = RandomStream(seed).child("damage");
        std::string text = csv.str();
        const std::size_t first_row = text.find('\n') + 1;
        RC_PRE(first_row < text.size());
        static constexpr std::string_view damage = ",;x0 -\t'\xC4";  // no quotes: those may join lines
        for (int i = 0; i < 6; ++i) {
          char& cell = text[first_row + random.below(text.size() - first_row)];
          if (cell != '\n') cell = damage[random.below(damage.size())];
        }
        std::ofstream(folder / "t.csv", std::ios::binary) << text;
        const auto lines = std::ranges::count(text, '\n');
        TableOptions options;
        options.delimiter = Delimiter{','};
        options.min_takers = 2;
        options.max_bad = 1;
        // Nothing may be left; the report still counts every row.
        const PrepareReport report = prepare_tables({(folder / "t.csv").string()}, options, Executor(1)).report;
        RC_ASSERT(report.rows_in == lines - 1);
        RC_ASSERT(report.rows_in == report.rows_kept + report.rows_filtered() + report.rows_rejected());
      },
      200);
}

TEST(PrepareProperty, CsvToCohortToCsv) {
  const TemporaryFolder folder;
  TableOptions options;
  options.min_takers = 1;
  options.courses_file = folder / "courses.csv";
  std::ofstream(folder / "courses.csv") << "course\nc1\nc2\nc3\nc4\nc5\n";
  test::expect_property(
      "a cohort written as a table is read as the same cohort, rows in any order",
      [&](std::uint64_t seed) {
        const Cohort cohort = test::random_cohort({.students = 15, .taken = 0.4}, RandomStream(seed));
        std::ostringstream csv;
        test::write_long_table(cohort, csv);
        RC_PRE(split(csv.str(), '\n').size() > 3U);
        std::ofstream(folder / "t.csv") << csv.str();
        const Cohort first = prepare_cohort({(folder / "t.csv").string()}, options, Executor(1)).cohort;
        std::ostringstream again;
        test::write_long_table(first, again);
        std::ofstream(folder / "t.csv") << shuffled_rows(csv.str(), RandomStream(seed).child("shuffle"));
        const Cohort second = prepare_cohort({(folder / "t.csv").string()}, options, Executor(1)).cohort;
        RC_ASSERT(first.to_archive().bytes() == second.to_archive().bytes());
        // The same rows, though students are in natural order now.
        std::vector<std::string> before = split(csv.str(), '\n'), after = split(again.str(), '\n');
        std::ranges::sort(before);
        std::ranges::sort(after);
        RC_ASSERT(before == after);
      },
      30);
}

}  // namespace
}  // namespace desirepath::prepare_test
