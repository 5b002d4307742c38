#include "desirepath/queries/infer_reasons.h"

#include <algorithm>
#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline queries {

namespace {

double log_odds(double probability) {
  constexpr double least = 1e-300;
  return std::log(std::max(probability, least)) - std::log(std::max(1 - probability, least));
}

/// Something known of a student that can be forgotten.
struct KnownPart {
  std::optional<Id> period, bit, trait;
};

std::vector<KnownPart> known_parts(const EvidenceBatch& evidence, std::int64_t student) {
  std::vector<KnownPart> parts;
  for (Id t = 0; t < evidence.period_count(); ++t) {
    for (const Id bit : evidence.taken(student, t))
      parts.push_back({t, bit, {}});
    const bool is_open = evidence.presence(student, t) == Presence::unknown;
    const bool says_not_taken =
        is_open ? !evidence.exceptions(student, t).empty() : evidence.presence(student, t) == Presence::present;
    if (says_not_taken) parts.push_back({t, {}, {}});
  }
  for (Id i = 0; i < evidence.trait_count(); ++i) {
    const Trait& trait = evidence.trait(i);
    if (trait.kind != TraitKind::departure && evidence.possible(student, trait) != trait.all())
      parts.push_back({{}, {}, i});
  }
  return parts;
}

PeriodEvidence forgotten(PeriodEvidence known, const KnownPart& part) {
  if (part.bit)
    known.set(*part.bit, std::nullopt);
  else
    known = {Presence::unknown, std::move(known.taken), {}};
  return known;
}

/// Everything known, and then without each part in turn.
EvidenceBatch without_each(const EvidenceBatch& evidence, std::int64_t student, std::span<const KnownPart> parts) {
  EvidenceBuilder builder(evidence);
  for (std::size_t i = 0; i <= parts.size(); ++i) {
    builder.begin_student(evidence, student);
    if (i > 0 && parts[i - 1].trait) builder.forget(*parts[i - 1].trait);
    for (Id t = 0; t < evidence.period_count(); ++t) {
      PeriodEvidence known = PeriodEvidence::of(evidence, student, t);
      const bool forgets = i > 0 && parts[i - 1].period == t;
      builder.add(forgets ? forgotten(std::move(known), parts[i - 1]) : known);
    }
  }
  return std::move(builder).build();
}

}  // namespace

double Reason::change() const {
  return log_odds(probability) - log_odds(without);
}

std::vector<Reason> find_reasons(const Model& model, const EvidenceBatch& evidence, std::span<const AskedBit> asked,
                                 Id most, Conditioning conditioning, const Executor& executor) {
  std::vector<Reason> reasons;
  for (std::size_t first = 0; first < asked.size();) {
    const std::int64_t student = asked[first].student;
    std::size_t last = first;
    std::vector<Id> bits;
    while (last < asked.size() && asked[last].student == student)
      bits.push_back(asked[last++].bit);
    const std::vector<KnownPart> parts = known_parts(evidence, student);
    const Estimates found = model.marginals(without_each(evidence, student, parts), bits, executor, conditioning);
    if (!found.is_exact()) {
      throw OptionError(concat(setting_name("explain"), ": ", model.name(),
                               " answers by draws, whose differences would be noise; use ", setting_name("method"),
                               " linear or another model"));
    }
    for (std::size_t b = 0; b < bits.size(); ++b) {
      const auto column = static_cast<Index>(b);
      std::vector<Reason> own;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        // What is known of the very bit asked about is its answer, and no reason.
        if (parts[i].bit == bits[b]) continue;
        own.push_back({first + b, parts[i].period, parts[i].bit, parts[i].trait, found.value(0, column),
                       found.value(static_cast<Index>(i) + 1, column)});
      }
      std::ranges::stable_sort(own, std::ranges::greater(), [](const Reason& r) { return std::abs(r.change()); });
      own.resize(std::min(own.size(), static_cast<std::size_t>(most)));
      reasons.insert(reasons.end(), own.begin(), own.end());
    }
    first = last;
  }
  return reasons;
}

}  // namespace desirepath::inline queries
