#include "desirepath/simulation/synthetic_names.h"

#include <cstddef>

namespace desirepath::inline simulation {

namespace {

constexpr std::string_view engineering = "Engineering";
constexpr std::string_view sciences = "Natural Sciences";
constexpr std::string_view social = "Social Sciences";
constexpr std::string_view humanities = "Humanities";
constexpr std::string_view business = "Business";
constexpr std::string_view health = "Health";

constexpr std::array<std::string_view, 6> schools = {engineering, sciences, social, humanities, business, health};

// clang-format off
constexpr std::array<SubjectWords, 48> subjects = {{
  {"BIO", "Biology", sciences, 9, 115, "CHEM:3", {"Cell Biology", "Ecology", "Evolution", "Physiology"},
    {"Molecular Biology", "Marine Biology", "Genomics", "Plant Science"}},
  {"CS", "Computer Science", engineering, 8, 240, "MATH:3", {"Programming", "Computing", "Data Structures", "Computer Organization"},
    {"Systems", "Artificial Intelligence", "Human-Computer Interaction", "Information Systems"}},
  {"ECON", "Economics", social, 8, 110, "MATH:2 STAT:1", {"Microeconomics", "Macroeconomics", "Markets", "Economic Thought"},
    {"Finance and Banking", "Development", "Labor Economics", "Public Policy"}},
  {"ENGL", "English", humanities, 5, 55, "", {"Writing", "Poetry", "Fiction", "Drama"},
    {"Creative Writing", "American Literature", "Medieval Literature", "Literary Theory"}},
  {"MATH", "Mathematics", sciences, 4, 125, "", {"Calculus", "Linear Algebra", "Discrete Mathematics", "Proof"},
    {"Applied Mathematics", "Analysis", "Algebra", "Geometry"}},
  {"CHEM", "Chemistry", sciences, 4, 95, "MATH:2", {"General Chemistry", "Organic Chemistry", "Chemical Structure", "Reactions"},
    {"Biochemistry", "Physical Chemistry", "Materials Chemistry", "Analytical Chemistry"}},
  {"PSYC", "Psychology", social, 8, 105, "STAT:2", {"Psychology", "Cognition", "Personality", "Behavior"},
    {"Clinical Psychology", "Social Psychology", "Developmental Psychology", "Perception"}},
  {"BUS", "Management", business, 8, 120, "ECON:2", {"Management", "Organizations", "Business Law", "Enterprise"},
    {"Entrepreneurship", "International Business", "Human Resources", "Strategy"}},
  {"HIST", "History", humanities, 5, 50, "", {"World History", "American History", "European History", "Historical Inquiry"},
    {"Digital History", "Modern Europe", "Asian History", "Ancient History"}},
  {"PHYS", "Physics", sciences, 3, 100, "MATH:3", {"Mechanics", "Electricity and Magnetism", "Waves", "Modern Physics"},
    {"Theoretical Physics", "Optics", "Condensed Matter", "Biophysics"}},
  {"POLS", "Political Science", social, 7, 90, "ECON:1", {"American Politics", "Government", "World Politics", "Political Ideas"},
    {"International Relations", "Law and Courts", "Political Theory", "Public Opinion"}},
  {"STAT", "Statistics", sciences, 3, 210, "MATH:3", {"Statistics", "Probability", "Data Analysis", "Regression"},
    {"Data Science", "Biostatistics", "Stochastic Processes", "Survey Methods"}},
  {"NURS", "Nursing", health, 5, 130, "BIO:2 PSYC:1", {"Nursing", "Patient Care", "Anatomy", "Pharmacology"},
    {"Acute Care", "Community Nursing", "Pediatric Nursing", "Mental Health"}},
  {"ME", "Mechanical Engineering", engineering, 5, 110, "MATH:3 PHYS:2", {"Statics", "Thermodynamics", "Engineering Design", "Dynamics"},
    {"Robotics", "Fluid Mechanics", "Manufacturing", "Energy Systems"}},
  {"PHIL", "Philosophy", humanities, 3, 70, "", {"Philosophy", "Logic", "Ethics", "Knowledge"},
    {"Philosophy of Mind", "Moral Philosophy", "Ancient Philosophy", "Philosophy of Science"}},
  {"SOC", "Sociology", social, 5, 85, "STAT:2", {"Sociology", "Social Problems", "Social Inequality", "Communities"},
    {"Urban Sociology", "Criminology", "Family and Gender", "Social Movements"}},
  {"ACCT", "Accounting", business, 4, 90, "BUS:1 ECON:2", {"Financial Accounting", "Managerial Accounting", "Bookkeeping", "Taxation"},
    {"Auditing", "Tax Planning", "Accounting Systems", "Forensic Accounting"}},
  {"EE", "Electrical Engineering", engineering, 4, 90, "MATH:3 PHYS:2", {"Circuits", "Signals", "Digital Logic", "Electronics"},
    {"Embedded Systems", "Communications", "Power Systems", "Photonics"}},
  {"PUBH", "Public Health", health, 4, 160, "STAT:2", {"Public Health", "Epidemiology", "Health Systems", "Health Behavior"},
    {"Global Health", "Health Policy", "Environmental Health", "Health Promotion"}},
  {"SPAN", "Spanish", humanities, 3, 75, "", {"Spanish", "Spanish Conversation", "Hispanic Culture", "Spanish Grammar"},
    {"Latin American Literature", "Translation", "Hispanic Film", "Linguistics of Spanish"}},
  {"COMM", "Communication", social, 5, 105, "", {"Communication", "Public Speaking", "Mass Media", "Persuasion"},
    {"Journalism", "Public Relations", "Media Studies", "Digital Media"}},
  {"FIN", "Finance", business, 5, 115, "ACCT:1 ECON:3", {"Corporate Finance", "Investments", "Money and Banking", "Valuation"},
    {"Asset Management", "Financial Markets", "Real Estate", "Risk Management"}},
  {"ANTH", "Anthropology", social, 3, 75, "", {"Cultural Anthropology", "Human Origins", "Archaeology", "Language and Culture"},
    {"Medical Anthropology", "Field Archaeology", "Ethnography", "Museum Studies"}},
  {"ART", "Art", humanities, 3, 80, "", {"Drawing", "Design", "Art History", "Color"},
    {"Graphic Design", "Painting", "Photography", "Sculpture"}},
  {"ENV", "Environmental Science", sciences, 4, 150, "CHEM:2", {"Environmental Science", "Earth Systems", "Climate", "Natural Resources"},
    {"Conservation", "Water Resources", "Sustainability", "Environmental Policy"}},
  {"CE", "Civil Engineering", engineering, 3, 90, "MATH:3 PHYS:2", {"Surveying", "Structures", "Construction", "Hydraulics"},
    {"Structural Engineering", "Transportation", "Geotechnics", "Urban Water"}},
  {"KIN", "Kinesiology", health, 4, 120, "BIO:2", {"Human Movement", "Fitness", "Motor Learning", "Sport"},
    {"Exercise Science", "Athletic Training", "Sport Management", "Biomechanics"}},
  {"MUS", "Music", humanities, 2, 80, "", {"Music Theory", "Music History", "Musicianship", "Listening"},
    {"Performance", "Composition", "Musicology", "Music Technology"}},
  {"MKTG", "Marketing", business, 4, 120, "BUS:1 ECON:2", {"Marketing", "Consumer Behavior", "Advertising", "Selling"},
    {"Brand Management", "Market Research", "Digital Marketing", "Retailing"}},
  {"GEOG", "Geography", social, 2, 90, "", {"Human Geography", "Physical Geography", "Maps", "World Regions"},
    {"Geographic Information", "Urban Planning", "Population", "Landscapes"}},
  {"NEUR", "Neuroscience", sciences, 3, 190, "BIO:2 PSYC:1", {"Brain and Behavior", "Neural Systems", "Neurons", "Sensation"},
    {"Cognitive Neuroscience", "Neurobiology", "Neural Computation", "Neurochemistry"}},
  {"CHE", "Chemical Engineering", engineering, 3, 95, "MATH:3 CHEM:3", {"Material Balances", "Transport", "Process Design", "Kinetics"},
    {"Bioprocessing", "Polymers", "Process Control", "Catalysis"}},
  {"LING", "Linguistics", humanities, 2, 100, "", {"Language", "Phonetics", "Syntax", "Meaning"},
    {"Computational Linguistics", "Language Acquisition", "Sociolinguistics", "Typology"}},
  {"FREN", "French", humanities, 2, 60, "", {"French", "French Conversation", "French Culture", "French Grammar"},
    {"French Literature", "Francophone Studies", "French Film", "French Thought"}},
  {"NUTR", "Nutrition", health, 3, 130, "CHEM:2", {"Nutrition", "Food Science", "Diet and Health", "Metabolism"},
    {"Dietetics", "Community Nutrition", "Sports Nutrition", "Food Policy"}},
  {"BME", "Biomedical Engineering", engineering, 3, 170, "MATH:3 BIO:2", {"Bioengineering", "Physiological Systems", "Biomaterials", "Instrumentation"},
    {"Medical Imaging", "Tissue Engineering", "Neural Engineering", "Medical Devices"}},
  {"ASTR", "Astronomy", sciences, 1, 100, "PHYS:3", {"Astronomy", "The Solar System", "Stars", "The Universe"},
    {"Cosmology", "Planetary Science", "Stellar Physics", "Observational Astronomy"}},
  {"THTR", "Theater", humanities, 2, 80, "", {"Theater", "Acting", "Stagecraft", "Play Analysis"},
    {"Directing", "Stage Design", "Musical Theater", "Playwriting"}},
  {"EDUC", "Education", social, 4, 80, "PSYC:2", {"Education", "Schooling", "Child Development", "Teaching"},
    {"Elementary Education", "Special Education", "Secondary Education", "Educational Policy"}},
  {"GEOL", "Geology", sciences, 2, 85, "CHEM:2", {"Geology", "Minerals", "Earth History", "Rocks"},
    {"Geophysics", "Sedimentology", "Hydrogeology", "Volcanology"}},
  {"REL", "Religious Studies", humanities, 2, 65, "", {"World Religions", "Sacred Texts", "Religion and Ethics", "Ritual"},
    {"Asian Religions", "Early Christianity", "Islamic Studies", "Jewish Studies"}},
  {"OPS", "Operations", business, 3, 130, "STAT:2", {"Operations", "Supply Chains", "Decision Models", "Quality"},
    {"Business Analytics", "Logistics", "Project Management", "Service Operations"}},
  {"MSE", "Materials Science", engineering, 2, 110, "CHEM:2 PHYS:2", {"Materials", "Crystals", "Phase Behavior", "Mechanics of Materials"},
    {"Nanomaterials", "Electronic Materials", "Metals", "Soft Materials"}},
  {"GERM", "German", humanities, 1, 60, "", {"German", "German Conversation", "German Culture", "German Grammar"},
    {"German Literature", "Weimar Studies", "German Film", "German Thought"}},
  {"HPA", "Health Administration", health, 2, 140, "PUBH:2", {"Health Administration", "Health Care Organizations", "Health Finance", "Medical Law"},
    {"Hospital Management", "Health Informatics", "Long-Term Care", "Quality of Care"}},
  {"CLAS", "Classics", humanities, 1, 60, "", {"Classical Civilization", "Latin", "Greek", "Mythology"},
    {"Roman History", "Greek Literature", "Classical Archaeology", "Late Antiquity"}},
  {"IE", "Industrial Engineering", engineering, 2, 120, "MATH:3 STAT:2", {"Work Design", "Optimization", "Simulation", "Ergonomics"},
    {"Operations Research", "Human Factors", "Production Systems", "Reliability"}},
  {"JPN", "Japanese", humanities, 1, 120, "", {"Japanese", "Japanese Conversation", "Japanese Culture", "Japanese Writing"},
    {"Japanese Literature", "Japanese Film", "Japanese History", "Japanese Linguistics"}},
}};

// @ stands for the topic.
constexpr std::array<std::array<std::string_view, 9>, 4> title_forms = {{
  {"Introduction to @", "Elements of @", "@ and Society", "Great Ideas in @", "@ Today", "Questions in @", "A First Look at @",
    "@ for Everyone", "Exploring @"},
  {"Principles of @", "Intermediate @", "Methods in @", "@ in Practice", "Foundations of @", "Approaches to @", "Problems in @",
    "Contexts of @", "Case Studies in @"},
  {"Advanced @", "Applied @", "Theory of @", "@ Laboratory", "Models in @", "Perspectives on @", "Analysis of @", "History of @",
    "Design in @"},
  {"Seminar in @", "Topics in @", "Research in @", "Senior Project in @", "Practicum in @", "Colloquium in @", "Workshop in @",
    "Independent Study in @", "Honors Thesis in @"},
}};
// clang-format on

}  // namespace

std::span<const SubjectWords> all_subject_words() {
  return subjects;
}

std::span<const std::string_view> all_school_names() {
  return schools;
}

std::string course_title(std::string_view topic, int level, int nth) {
  const auto& forms = title_forms.at(static_cast<std::size_t>(level - 1));
  const auto count = static_cast<int>(forms.size());
  std::string title(forms.at(static_cast<std::size_t>(nth % count)));
  title.replace(title.find('@'), 1, topic);
  if (nth >= count) title += " " + std::to_string(nth / count + 1);
  return title;
}

}  // namespace desirepath::inline simulation
