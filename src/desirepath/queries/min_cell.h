// How many students what is shown must rest on.
#pragma once

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/settings.h"
#include "desirepath/core/text.h"

namespace desirepath::inline queries {

struct MinCell {
  std::int64_t count = 10;

  void declare(SettingVisitor& visit) {
    visit(Setting("min-cell", "what rests on fewer students is withheld").at_least(5), count);
  }
  /// Throws PrivacyError where an answer would rest on fewer students in all.
  void require(std::int64_t students) const {
    if (students < count)
      throw PrivacyError(concat("the answer would rest on ", counted(students, "student", "students"), ", fewer than ",
                                setting_name("min-cell"), " ", count));
  }
};

}  // namespace desirepath::inline queries
