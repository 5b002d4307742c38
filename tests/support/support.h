// What several tests need: folders of their own, properties as GoogleTest assertions.
#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace desirepath::test {

/// A fresh folder, gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// Checks a RapidCheck property over cases from a fixed seed; a failure prints the smallest counterexample.
template <class Property>
void expect_property(const std::string& description, Property property, int cases = 100) {
  rc::detail::TestParams parameters;
  parameters.seed = 20190702;
  parameters.maxSuccess = cases;
  rc::detail::TestMetadata metadata;
  metadata.description = description;
  const auto result = rc::detail::checkTestable(property, metadata, parameters);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << description << ": " << message.str();
}

/// The message of the exception of this kind that a call throws; fails when it throws none.
template <class Kind, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Kind& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another kind of exception: " << error.what();
    return "";
  }
  ADD_FAILURE() << "no exception";
  return "";
}

}  // namespace desirepath::test
