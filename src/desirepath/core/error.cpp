#include "desirepath/core/error.h"

#include "desirepath/core/setting_name.h"

namespace desirepath::inline core {

Error::Error(const std::string& message) : std::runtime_error(render_settings(message, "")), marked_(message) {}

std::string to_string(const SourcePosition& position) {
  std::string text = position.file;
  if (position.line > 0) text += ":" + std::to_string(position.line);
  if (position.line > 0 && position.column > 0) text += ":" + std::to_string(position.column);
  return text;
}

InputError::InputError(const SourcePosition& position, const std::string& message)
    : Error(to_string(position) + ": " + message) {}

}  // namespace desirepath::inline core
