// Colours that the colour-blind can tell apart (Okabe and Ito), the same for the same thing everywhere.
#pragma once

#include <string>

namespace desirepath::inline reports {

/// Colour of the n-th series or state; repeats after eight, lighter each time.
std::string series_colour(int number);
/// For "other" and what is merged.
std::string neutral_colour();
/// The colour as it looks on white paper when it is this strong, 0 .. 1.
std::string translucent(const std::string& colour, double strength);
/// Black or white, whichever can be read on the colour (WCAG contrast).
std::string text_colour_on(const std::string& colour);

}  // namespace desirepath::inline reports
