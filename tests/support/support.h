// What several tests need: folders of their own, properties as GoogleTest assertions.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"

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

/// The message of the error of this kind that a call throws, its settings marked as `--name`; fails when it throws
/// none.
template <class Kind, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Kind& error) {
    return render_settings(error.marked(), "--");
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another kind of exception: " << error.what();
    return "";
  }
  ADD_FAILURE() << "no exception";
  return "";
}

/// Whether a text has all of these facts, each as a word of its own (1 is not in 10, nor in 0.1): names of settings,
/// files and courses, positions, numbers. Tests match facts, not sentences: these may be written anew.
testing::AssertionResult says(const std::string& text, const std::vector<std::string>& facts);

/// The same of one of several texts.
template <class Texts>
bool any_says(const Texts& texts, const std::vector<std::string>& facts) {
  return std::ranges::any_of(texts, [&](const auto& text) { return static_cast<bool>(says(text, facts)); });
}

}  // namespace desirepath::test
