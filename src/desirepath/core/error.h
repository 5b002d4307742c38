// What can go wrong: one root and few kinds, each with its exit code at the command line.
//
// A message is one line: what, where, why, what to do. It never holds a student's id, name or grade.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace desirepath::inline core {

class Error : public std::runtime_error {
 public:
  /// The message may hold names of settings (setting_name.h); what() has them bare.
  explicit Error(const std::string& message);
  /// The message with its settings marked, for a front end to render.
  const std::string& marked() const { return marked_; }
  /// Exit code of the program when this ends it.
  virtual int exit_code() const { return 1; }

 private:
  std::string marked_;
};

/// Where in an input file; line and column count from 1, 0 = not known.
struct SourcePosition {
  std::string file;
  std::int64_t line = 0;
  std::int64_t column = 0;
};
/// "file:line:column", with what is not known left out.
std::string to_string(const SourcePosition& position);

/// The data brought to the program is wrong.
class InputError : public Error {
 public:
  explicit InputError(const std::string& message) : Error(message) {}
  InputError(const SourcePosition& position, const std::string& message);
  int exit_code() const override { return 3; }
};

/// An option, an argument or a combination of them is wrong.
class OptionError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 2; }
};

/// A cohort, model or checkpoint file is damaged, of another kind or of a newer version.
class ArchiveError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 3; }
};

/// A computation left the numbers it is defined on: a fault of the program or of an impossible request.
class NumericalError : public Error {
 public:
  using Error::Error;
};

/// A library beneath us failed (DuckDB, a device).
class BackendError : public Error {
 public:
  using Error::Error;
};

/// A file cannot be read, written or replaced; or there is no room for it.
class FileError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 6; }
};

/// A quality the user required was missed, for example convergence.
class QualityError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 4; }
};

/// The answer would rest on too few students.
class PrivacyError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 5; }
};

/// The user asked to stop (Ctrl-C).
class Interrupted : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 130; }
};

}  // namespace desirepath::inline core
