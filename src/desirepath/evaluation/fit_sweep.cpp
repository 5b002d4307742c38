#include "desirepath/evaluation/fit_sweep.h"

#include <algorithm>
#include <cmath>

#include "desirepath/core/archive.h"
#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline evaluation {

using nlohmann::json;

FinishedFits::FinishedFits(FitsFile file, std::string digest, std::size_t fits)
    : file_(std::move(file)), digest_(std::move(digest)) {
  if (!file_.resume || file_.path.empty() || !std::filesystem::exists(file_.path)) return;
  const ArchiveReader archive = ArchiveReader::open(file_.path);
  archive.require_kind("checkpoint");
  try {
    const json header = json::parse(archive.metadata("checkpoint"));
    if (header.value("comparison", "") != digest_)
      throw OptionError(concat(archive.name(), ": the checkpoint belongs to another run"));
    const json& finished = header.at("finished");
    if (!finished.is_array() || finished.size() > fits) refuse();
    for (std::size_t i = 0; i < finished.size(); ++i) {
      FinishedFit& fit = fits_.emplace_back();
      fit.facts = finished[i];
      fit.numbers = archive.read<double>(concat("scores.", i));
      if (std::ranges::any_of(fit.numbers, [](double number) { return std::isnan(number); })) refuse();
    }
  } catch (const json::exception&) {
    refuse();
  }
}

void FinishedFits::add(FinishedFit fit) {
  fits_.push_back(std::move(fit));
  if (file_.path.empty()) return;
  ArchiveWriter archive("checkpoint");
  json finished = json::array();
  for (std::size_t i = 0; i < fits_.size(); ++i) {
    finished.push_back(fits_[i].facts);
    archive.add(concat("scores.", i), fits_[i].numbers);
  }
  archive.set("checkpoint", json{{"comparison", digest_}, {"finished", finished}}.dump());
  archive.set("em", "{}");
  archive.write(file_.path, Overwrite::allow);
}

void FinishedFits::refuse() const {
  throw ArchiveError(concat(file_.path.string(), ": damaged: the fits that are finished"));
}

void require_parts(const Cohort& cohort, const Split& split, const std::string& weights) {
  const Disclosure disclosure = Disclosure().bound_to(cohort.min_cell());
  const std::vector<double> all = weights.empty() ? std::vector<double>() : student_weights(cohort, weights);
  const auto is_few = [&](const std::vector<std::int64_t>& part) {
    std::vector<double> own;
    for (const std::int64_t s : part)
      own.push_back(all.empty() ? 1 : all[static_cast<std::size_t>(s)]);
    return !disclosure.rests(students_behind(own));
  };
  if (is_few(split.training) || is_few(split.validation) || (!split.hold_out.empty() && is_few(split.hold_out))) {
    throw PrivacyError(concat("too few students: ", disclosure.few(),
                              " would be trained on or held out, and what is told of the fits would be told of them (",
                              setting_name("min-cell"), ")"));
  }
}

Split held_out_split(const Cohort& cohort, double share, std::uint64_t seed, const std::string& weights) {
  if (!(share > 0 && share < 1)) throw OptionError(concat(setting_name("held-out"), ": a share between 0 and 1"));
  Split split = split_by_share(cohort, {share, 0}, RandomStream(seed).child("validation"));
  require_parts(cohort, split, weights);
  return split;
}

namespace {

double restarts_of(const FitOptions& options) {
  const std::vector<Setting> known = options.known();
  const auto setting = std::ranges::find(known, "restarts", &Setting::name);
  if (setting == known.end()) return 1;
  const auto given = options.values().find("restarts");
  return number_in<double>(setting_text(given == options.values().end() ? setting->standard : given->second))
      .value_or(1);
}

}  // namespace

void SizedFits::add(FitOptions options, const std::vector<Id>& asked, const SettingValues& values) {
  const std::vector<Setting> known = options.known();
  for (const auto& [setting, value] : values) {
    if (std::ranges::find(known, setting, &Setting::name) != known.end()) options.set(setting, value);
  }
  const std::string& size_setting = options.choice().model->size_setting;
  const bool by_size = size_setting == "states" || size_setting == "latent";
  for (const Id size : by_size ? asked : std::vector<Id>{0}) {
    fits.push_back(options);
    sizes.push_back(size);
    if (by_size) fits.back().set(size_setting, std::int64_t{size});
  }
}

FitEstimate estimate_fits(const Cohort& training, const std::vector<FitOptions>& fits, const TrainingContext& context) {
  FitEstimate all;
  all.fits = std::ssize(fits);
  for (const FitOptions& options : fits) {
    const FitEstimate one = prepare_training({training, options, context})->estimate();
    all.bytes = std::max(all.bytes, one.bytes);
    all.seconds_per_iteration += restarts_of(options) * one.seconds_per_iteration;
    all.distinct_rows = std::max(all.distinct_rows, one.distinct_rows);
  }
  return all;
}

}  // namespace desirepath::inline evaluation
