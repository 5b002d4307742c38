// Every word of the report's page that is not part of a figure: here and nowhere else, so that a translation is one
// file. {0}, {1} ... stand for what is filled in; a sentence has an id, its name here.
#pragma once

#include <array>
#include <string_view>

#include "desirepath/reports/sentence.h"

namespace desirepath::inline reports {

namespace words {

using Text = const char*;

// The page.
inline constexpr Text language = "en";
inline constexpr Text skip = "Skip to the content";
inline constexpr Text contents = "On this page";
inline constexpr Text as_table = "The same as a table";
inline constexpr Text unfold = "Show the table";
inline constexpr Text how_to_read = "How to read it.";
inline constexpr Text follow = "Follow the students of";
inline constexpr Pattern made_by = {"made_by", "Made by desirepath {0}."};
inline constexpr Text title = "The paths students really take";
inline constexpr Pattern subtitle = {
    "subtitle",
    "What transcripts tell of a university: the kinds of students, how they move from year to year, what opens which "
    "door, and who loses time."};
inline constexpr Pattern footer = {
    "footer",
    "Nothing on this page rests on fewer than {0} students: what would is merged or left out, and said. Everything "
    "here "
    "is association, not cause. The page holds no record of any student and asks for nothing from elsewhere."};
inline constexpr Text students = "students";
inline constexpr Text courses = "courses";
inline constexpr Text enrollments = "enrollments";
inline constexpr Text periods = "periods";

// Summary.
inline constexpr Text summary_title = "What a dean should know";
inline constexpr Pattern summary_finding = {"summary_finding",
                                            "The findings of this page in a few lines; each is taken up below."};
inline constexpr Pattern summary_last = {
    "summary_last",
    "All of this is what students did, not what would happen if rules changed: association, not cause."};

// Data.
inline constexpr Text data_title = "The students and their courses";
inline constexpr Pattern data_finding = {
    "data_finding", "{0} students took {1} courses each on average, out of {2}, over {3} periods."};
inline constexpr Pattern data_point = {
    "data_point", "{0} students, {1} enrollments in {2} courses: {3} courses a student on average."};
inline constexpr Pattern areas_reading = {
    "areas_reading", "Each band is as high as its enrollments in that year; the uppermost edge is the sum of all."};
inline constexpr Pattern histogram_reading = {
    "histogram_reading",
    "Bars count students by the number of courses they took; the curve is a normal distribution of the same mean and "
    "spread."};
inline constexpr Text popular_caption = "Courses by the number of students who took them";
inline constexpr Text course = "course";
inline constexpr Text share = "share";

// States.
inline constexpr Text states_title = "The kinds of students";
inline constexpr Pattern states_finding = {
    "states_finding", "In period {0} the largest kind is {1} ({2} of the students), in period {3} {4} ({5})."};
inline constexpr Pattern states_finding_none = {"states_finding_none",
                                                "No kind of students is large enough to be named."};
inline constexpr Pattern states_finding_early = {"states_finding_early",
                                                 "In period {0} the largest kind is {1} ({2} of the students)."};
inline constexpr Pattern states_finding_one = {"states_finding_one",
                                               "The largest of {0} kinds is {1}: {2} of the students."};
inline constexpr Pattern states_text = {
    "states_text",
    "The model sorts students by what they take into kinds that nobody named beforehand. A kind is named here by the "
    "courses that mark it: those its students take far more often than others do."};
inline constexpr Pattern states_point = {
    "states_point", "Students of period {0} fall into {1} kinds of their own making; the largest is {2} ({3})."};
inline constexpr Pattern states_students = {
    "states_students",
    "The kinds of students and their paths are about {0} students; the rest of this page is about {1}."};
inline constexpr Text states_caption = "The kinds of students, period by period";
inline constexpr Pattern states_reading = {
    "states_reading",
    "A percentage is the share of a kind's students who take the course; x 3.0 says: three times the share of all "
    "students."};
inline constexpr Pattern grid_reading = {
    "grid_reading",
    "A course has the colour of the kind whose students take it most, stronger the surer that is. Neighbours of one "
    "colour form a concentration that students made, whether the catalog has it or not."};
inline constexpr Pattern states_merged = {
    "states_merged", "{0} kinds resting on fewer than {1} students, or telling of such, are shown together as other."};
inline constexpr Pattern states_basis = {
    "states_basis", "n = {0} students of period {1}, which the model was trained on; counts are expected numbers."};
inline constexpr Pattern states_basis_all = {"states_basis_all",
                                             "n = {0} students the model was trained on; counts are expected numbers."};
inline constexpr Text other = "other";
/// What is no kind of students, or no group of theirs, by its name.
inline constexpr std::array<Text, 13> no_headline = {
    "other", "others",   "not known", "no subject",   "left",           "before entry",
    "away",  "finished", "not yet",   "not enrolled", "no enrollments", "other or not enrolled",
    "absent"};
inline constexpr Text state_number = "state {0}";
inline constexpr Text period = "period";
inline constexpr Text kind = "kind";
inline constexpr Text most_taken = "most taken";
inline constexpr Text marked_by = "marked by";
inline constexpr Pattern no_states = {
    "no_states",
    "Kinds of students: this page's model has no hidden states. Train one that has (desirepath fit COHORT --out "
    "states.desirepath) and give it first, with this one behind --answers."};

// Flows.
inline constexpr Text flows_title = "How they move from year to year";
inline constexpr Pattern flows_finding = {"flows_finding", "{1} of {2} students share one path: {0}."};
inline constexpr Pattern flows_finding_disclosed = {
    "flows_finding_disclosed",
    "{1} of {2} students share the path {0}, the most common of those between named kinds that can be shown."};
inline constexpr Pattern flows_finding_withheld = {
    "flows_finding_withheld",
    "The most common path is not shown: it would tell of fewer than {0} students, or leads through kinds too small to "
    "be named."};
inline constexpr Pattern flows_finding_none = {"flows_finding_none",
                                               "No single path through all periods is taken by {0} students or more."};
inline constexpr Pattern flows_point = {
    "flows_point", "The most common path of students enrolled in every period is {0} ({1} of all students)."};
inline constexpr Pattern flows_point_disclosed = {
    "flows_point_disclosed",
    "Of the paths between named kinds that can be shown, the most common is {0} ({1} of the students)."};
inline constexpr Pattern flows_point_step = {"flows_point_step",
                                             "Who is in {0} in period {1} goes on to {2} in {3} of all cases."};
inline constexpr Pattern flows_reading = {
    "flows_reading",
    "A column is a period, a block a kind of students, a ribbon the students who go from one to the other. Grey blocks "
    "hold the students who were not enrolled in the period, and why, so that every column has the same students. Hold "
    "the pointer over a block, or choose it, to see where its students go."};
inline constexpr Pattern contrast_reading = {
    "contrast_reading", "The same diagram twice: in full colour a path and what follows it, the rest pale."};
inline constexpr Text paths_caption = "The most frequent paths";
inline constexpr Text path = "path";
inline constexpr Pattern flows_basis = {
    "flows_basis", "n = {0} students, each by the most likely path through the periods of enrollment; {1}."};
inline constexpr Pattern flows_withheld = {"flows_withheld",
                                           "Flows of fewer than {0} students, and those that would tell of them, are "
                                           "left out of the picture: {1} students together."};
inline constexpr Text groups_caption = "For whom it differs, by {0}";
inline constexpr Pattern groups_reading = {
    "groups_reading",
    "The share of a group's enrolled students that is of a kind, beside the share of all others; the largest certain "
    "difference first. Intervals are 95 %. {0}.",
    estimate};
inline constexpr Pattern groups_none = {"groups_none",
                                        "By {0}, the shares of the kinds differ by no more than chance would give."};
inline constexpr Pattern groups_withheld = {
    "groups_withheld",
    "The kinds are not compared by {0}: their exact sizes would tell of the few whose flows are left out."};
inline constexpr Pattern groups_point = {
    "groups_point",
    "By {0}, the clearest difference: of the students enrolled in period {4}, {1} of those with {2} are of the kind "
    "{3}, {5} of the others."};
inline constexpr Text group = "group";
inline constexpr Text others = "others";
inline constexpr Text difference = "difference";
inline constexpr Text low = "at least";
inline constexpr Text high = "at most";
inline constexpr Pattern no_flows = {
    "no_flows",
    "Paths from year to year: the states of this model are kept through all periods. Train one with states in every "
    "period (desirepath fit COHORT --out states.desirepath) and give it first."};

// Typicality.
inline constexpr Text typicality_title = "Typical and unusual students";
inline constexpr Pattern typicality_finding = {
    "typicality_finding",
    "The least typical tenth takes {0} courses in {1} subjects, the most typical tenth {2} in {3}.", estimate};
inline constexpr Pattern typicality_finding_no_subjects = {
    "typicality_finding_no_subjects", "The least typical tenth takes {0} courses, the most typical tenth {2}.",
    estimate};
inline constexpr Pattern typicality_point = {
    "typicality_point", "Unusual students take {0} courses in {1} different subjects, typical ones {2} in {3}.",
    estimate};
inline constexpr Pattern typicality_text = {
    "typicality_text",
    "How probable the model finds what a student took, all of it together. Students are compared with those who were "
    "there in the same periods."};
inline constexpr Pattern pies_reading = {
    "pies_reading", "What an average student of each group takes, by subject; the bars say the same side by side."};
inline constexpr Pattern typicality_reading = {
    "typicality_reading",
    "To the right the students whose courses the model expects most, to the left those it expects least. Each point is "
    "a natural logarithm of a probability."};
inline constexpr Pattern typicality_basis = {"typicality_basis", "n = {0} students, judged by {1}."};
inline constexpr Pattern typicality_basis_left_out = {
    "typicality_basis_left_out",
    "n = {0} students, judged by {1}; ranked each without the student's own record, which the model was trained on."};
inline constexpr Pattern typicality_own = {
    "typicality_own", "The model was trained on these students, and finds those it knows by heart too typical."};
inline constexpr Pattern typicality_few = {"typicality_few",
                                           "Typicality: a tenth of the students would be fewer than {0}."};
inline constexpr Pattern typicality_unknown = {"typicality_unknown",
                                               "Typicality: the model gives no probability of a student."};
inline constexpr Pattern impossible = {"impossible", "{0} students whom the model holds impossible are left out.",
                                       estimate};
inline constexpr Pattern impossible_few = {"impossible_few",
                                           "A few students whom the model holds impossible are left out."};

// Prerequisites.
inline constexpr Text prerequisites_title = "What opens what";
inline constexpr Text prerequisites_listed_one = "course pair looks like a prerequisite although it is not listed";
inline constexpr Text prerequisites_listed_many = "course pairs look like prerequisites although they are not listed";
inline constexpr Text prerequisites_found_one = "course pair looks like a prerequisite";
inline constexpr Text prerequisites_found_many = "course pairs look like prerequisites";
inline constexpr Pattern prerequisites_found = {"prerequisites_found", "{0}.", estimate};
inline constexpr Pattern prerequisites_none = {
    "prerequisites_none", "No course pair looks like a prerequisite beyond what the students' records let expect."};
inline constexpr Pattern prerequisites_strongest = {
    "prerequisites_strongest",
    "The strongest is {0} before {1}: of the students of the later course to whom the earlier one had been offered, "
    "{2} had taken it first."};
inline constexpr Pattern prerequisites_candidates = {
    "prerequisites_candidates",
    "These are pairs to look at, not proven rules: where the model does not recognise which programme students are in, "
    "it also lists courses that merely belong to the same programme."};
inline constexpr Text nearly_all = "nearly all";
inline constexpr Pattern prerequisites_unfollowed = {
    "prerequisites_unfollowed",
    "Of {0}, {1} can hardly be seen in what students take: few of the later course's students took the earlier one "
    "first, or it made no difference.",
    estimate};
inline constexpr Pattern prerequisites_text = {
    "prerequisites_text",
    "A course looks like a prerequisite of another where students who have taken it go on to the other more often than "
    "the model expects of students with the same record, by more than chance and the model's own errors explain. "
    "Students are compared with those who entered in the same year, and a course counts in the years in which it was "
    "offered."};
inline constexpr Pattern prerequisites_no_list = {
    "prerequisites_no_list",
    "The data came without a list of prerequisites, so this page cannot say which of these pairs are required."};
inline constexpr Pattern graph_reading = {
    "graph_reading",
    "An arrow leads from a course to one that students take after it. Its style says whether the pair is listed; a "
    "thicker arrow stands for a stronger finding."};
inline constexpr Text pairs_caption = "The strongest pairs";
inline constexpr Pattern pairs_reading = {
    "pairs_reading",
    "Odds: how many times the odds of taking the later course next are raised, among students whom the model expects "
    "to take it alike; at least: the lower end of the 95 % interval; had it: the share of the later course's students "
    "who had taken the earlier one first, of those to whom it had been offered."};
inline constexpr Text before = "before";
inline constexpr Text odds = "odds x";
inline constexpr Text had_it = "had it";
inline constexpr Text status = "status";
inline constexpr Text tacit = "not listed";
inline constexpr Text found = "found";
inline constexpr Text both = "listed and followed";
inline constexpr Text unfollowed = "listed, hardly followed";
inline constexpr Pattern prerequisites_basis = {
    "prerequisites_basis",
    "n = {0} students; courses of fewer than {1} students are left out. A pair is listed with a q-value of at most "
    "{2}. "
    "Errors are widened where the model misfits most pairs, but the model was not fitted again."};
inline constexpr Pattern no_answers = {
    "no_answers",
    "{0}: a model of states forgets what was taken before. Train one that answers (desirepath fit COHORT --model hct "
    "--out answers.desirepath) and give it with --answers."};
inline constexpr Pattern one_period = {"one_period", "{0}: there is one period, so nothing comes before anything."};

// Plans.
inline constexpr Text plans_title = "On the way to a goal";
inline constexpr Pattern plans_finding = {
    "plans_finding", "Who takes {0} in period {1} reaches {2} with {3}, who does not with {4}.", estimate};
inline constexpr Pattern plans_text = {
    "plans_text",
    "For the courses that depend most on what came before: the first step that goes along with the largest rise in the "
    "chance to get there. What such students did, not what taking a course would cause."};
inline constexpr Text plans_caption = "First steps towards some goals";
inline constexpr Pattern plans_reading = {"plans_reading",
                                          "Chances are those of a student of whom nothing else is known."};
inline constexpr Text goal = "goal";
inline constexpr Text anyone = "anyone";
inline constexpr Text first_step = "first step";
inline constexpr Text with_it = "with it";
inline constexpr Text without_it = "without";
inline constexpr Text ways_caption = "Ways to {0}";
inline constexpr Pattern ways_reading = {
    "ways_reading",
    "Pathways drawn from the model that reach the goal, in groups of alike ones; listed is what most of a group have."};
inline constexpr Text way = "way";
inline constexpr Pattern plans_basis = {"plans_basis", "From {0}, {1} pathways drawn for each goal."};
inline constexpr Pattern plans_none = {"plans_none", "On the way to a goal: no course depends clearly on another."};

// Delays.
inline constexpr Text delays_title = "Who loses time, and where";
inline constexpr Pattern delays_finding = {
    "delays_finding",
    "Students with {1} take {0} {2} periods later than the others, both against what is expected of them.", estimate};
inline constexpr Pattern delays_finding_all = {
    "delays_finding_all", "{0} is taken {1} periods later than expected of the very student.", estimate};
inline constexpr Pattern delays_none = {"delays_none", "No course is clearly taken late."};
inline constexpr Pattern delays_none_by = {
    "delays_none_by",
    "By {0}, no group takes a course later or earlier than the others by more than chance would give."};
inline constexpr Pattern delays_chance = {"delays_chance", "By {0}: {1}.", estimate};
inline constexpr Pattern delays_chance_all = {"delays_chance_all", "Later or earlier than expected: {0}.", estimate};
inline constexpr Pattern delays_unnamed = {"delays_unnamed",
                                           "Courses are clearly taken late only by students of no named group."};
inline constexpr Pattern delays_point = {
    "delays_point", "{0} is reached {1} periods later by students with {2} than by the others.", estimate};
inline constexpr Pattern delays_point_all = {
    "delays_point_all", "{0} is taken {1} periods later than the rest of its students' records suggests.", estimate};
inline constexpr Pattern delays_reading = {
    "delays_reading",
    "A bar is how many periods later a course is taken; the line through its end is the 95 % interval."};
inline constexpr Text apart_caption = "Hardly ever in one period, though often taken by the same students";
inline constexpr Pattern apart_reading = {"apart_reading",
                                          "A conflict of schedules may keep two courses apart: expected is how many "
                                          "would have both in one period by chance."};
inline constexpr Pattern apart_point = {"apart_point",
                                        "{0} and {1} are hardly ever taken in one period: a conflict of schedules?"};
inline constexpr Text other_course = "and";
inline constexpr Text took_both = "took both";
inline constexpr Text expected_together = "expected together";
inline constexpr Text together = "together";
inline constexpr Text under = "under {0}";
inline constexpr Pattern delays_basis = {
    "delays_basis",
    "n = {0} students enrolled in two periods or more; each fifth of a student's courses is judged by the other four "
    "fifths. Pairs of courses are counted over students of one period too."};
inline constexpr Pattern delays_basis_withheld = {
    "delays_basis_withheld",
    "Over students enrolled in two periods or more, whose number is withheld; each fifth of a student's courses is "
    "judged "
    "by the other four fifths. Pairs of courses are counted over students of one period too."};

// Courses.
inline constexpr Text courses_title = "Every course and its neighbours";
inline constexpr Pattern courses_finding = {
    "courses_finding", "What comes before each course, what follows it, and what goes along with it."};
inline constexpr Text courses_caption = "Courses and their neighbours";
inline constexpr Text courses_chooser = "Choose a course";
inline constexpr Pattern courses_reading = {
    "courses_reading",
    "Before and after: pairs where one course opens the other, listed or not; goes with: courses whose timing says "
    "most "
    "of this one's."};
inline constexpr Text comes_before = "before it";
inline constexpr Text comes_after = "after it";
inline constexpr Text goes_with = "goes with";
inline constexpr Pattern courses_withheld = {
    "courses_withheld",
    "{0} courses are left out: fewer than {1} students took them, or their numbers would tell of so few."};

// Calibration.
inline constexpr Text calibration_title = "How far to trust the answers";
inline constexpr Pattern calibration_finding = {
    "calibration_finding",
    "Asked about students it has never seen, such a model says rightly in {0} of the cases whether they take one of "
    "the "
    "most common courses of a hidden period; always giving the more frequent answer is right in {1}.",
    estimate};
inline constexpr Pattern calibration_point = {
    "calibration_point",
    "The answers can be checked: for students it has never seen, such a model fills in a hidden period right in {0} of "
    "the cases; always giving the more frequent answer is right in {1}.",
    estimate};
inline constexpr Pattern calibration_text = {
    "calibration_text",
    "A model is trained in the same way on four fifths of the students and asked about the others: a period in the "
    "middle is hidden, the first and the last are given. Where the model says 30 %, three of ten should come true. The "
    "model of this page has learned from more students and should be no worse."};
inline constexpr Pattern calibration_reading = {
    "calibration_reading", "Points on the diagonal: what the model says comes true as often as it says."};
inline constexpr Pattern calibration_basis = {
    "calibration_basis",
    "n = {0} students enrolled in the periods of the task, answered by {1} trained on {2} others."};
inline constexpr Pattern calibration_unknown = {
    "calibration_unknown",
    "How far to trust the answers: a model would have to be trained again without the students it is asked about, "
    "which "
    "takes long. desirepath evaluate measures it; give the result with --evaluation."};
inline constexpr Pattern calibration_few = {
    "calibration_few", "How far to trust the answers: three periods and {0} students present in them are needed."};

// Evaluation.
inline constexpr Text evaluation_title = "Which model, how large";
inline constexpr Pattern evaluation_finding = {"evaluation_finding", "Models are compared by students they never saw."};
inline constexpr Pattern evaluation_remark = {"evaluation_remark", "{0}", estimate};
inline constexpr Pattern evaluation_reading = {
    "evaluation_reading",
    "K is the size of a model. Lower is better; the dotted line is what the training students themselves would score."};
inline constexpr Pattern best_reading = {
    "best_reading", "A held-out value closer to 0 is better; values of different kinds must not be compared."};
inline constexpr Pattern no_evaluation = {
    "no_evaluation",
    "Which model, how large: measure it (desirepath evaluate COHORT --out evaluation) and give the result with "
    "--evaluation evaluation/evaluation.json."};

// What is not there.
inline constexpr Text missing_title = "What is not on this page";
inline constexpr Pattern missing_finding = {"missing_finding",
                                            "These sections are left out; each line says how to get one."};

// Card.
inline constexpr Text card_title = "How this page was made";
inline constexpr Pattern card_finding = {"card_finding", "The data, the models and their limits."};
inline constexpr Text card_filters = "What is left after each step of preparation";
inline constexpr Text card_model = "The model: {0}";
inline constexpr Text card_first = "states";
inline constexpr Text card_answers = "answers";
inline constexpr Text card_all = "states and answers";
inline constexpr Text field = "what";
inline constexpr Text value = "value";
inline constexpr Text card_name = "model";
inline constexpr Text card_parameters = "free parameters";
inline constexpr Text card_likelihood = "log-likelihood of training";
inline constexpr Text card_iterations = "iterations";
inline constexpr Text card_converged = "converged";
inline constexpr Text yes = "yes";
inline constexpr Text no = "no";
inline constexpr Text card_trained = "students it was trained on";
inline constexpr Text card_same = "trained on the students of this page";
inline constexpr Text card_option = "setting: {0}";
inline constexpr Text card_warning = "warning";
inline constexpr Pattern card_students = {
    "card_students", "n = {0} students of the cohort, seed {1}; nothing rests on fewer than {2} students."};
inline constexpr std::array<Pattern, 5> limits = {
    {{"limit_cause", "Association, not cause: a course that goes along with success need not bring it about."},
     {"limit_known",
      "The models know what was taken and when. They know nothing of grades, teachers, rooms, money or wishes."},
     {"limit_kinds",
      "Kinds of students are a way to look at them, not something they are: another seed or number of kinds gives "
      "others."},
     {"limit_absent", "A period in which a student was absent is unknown to the models, not empty."},
     {"limit_groups",
      "Differences between groups are of students who are there; who left or never came is not on this page."}}};

// The page of the tour.
inline constexpr Text demo_title = "A university, as its students walk it";
inline constexpr Pattern demo_subtitle = {
    "demo_subtitle", "A tour of desirepath on a synthetic university: every student on this page is made up."};
inline constexpr Pattern demo_states = {
    "demo_states",
    "Kinds of students and their paths: a contextual mixture ({0}) of the {1} students of {2}, {3} states a period, of "
    "the courses that {4} or more of them take."};
inline constexpr Pattern demo_answers = {
    "demo_answers",
    "Prerequisites, plans, delays and typicality: {0} hidden trees, H = {1}, trained on {2} students of the "
    "university; "
    "calibration: others trained in the same way on some of the students and asked about others."};
inline constexpr Pattern demo_evaluation = {"demo_evaluation",
                                            "Error by K: {0} at K = {1}, one seed, {2} of these students."};
inline constexpr Pattern demo_intervals = {
    "demo_intervals", "Intervals are those of the students drawn; no model was fitted again for them (no refits)."};

}  // namespace words

}  // namespace desirepath::inline reports
