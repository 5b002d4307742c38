#include "desirepath/core/kept_forms.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace desirepath::kept_forms_test {
namespace {

TEST(KeptForms, AreMadeOnceWhoeverAsks) {
  const KeptForms forms;
  const KeptForms copy = forms;
  std::atomic<int> made = 0;
  std::vector<const std::string*> found(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto make = [&] { return std::make_shared<const std::string>(std::to_string(++made)); };
      found[i] = &(i % 2 == 0 ? forms : copy).get<std::string>("text", make);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(made, 1);
  for (const std::string* text : found)
    EXPECT_EQ(text, found.front());
}

TEST(KeptForms, AreTriedAgainWhereMakingFailed) {
  const KeptForms forms;
  const auto fail = []() -> std::shared_ptr<const int> { throw std::runtime_error("no"); };
  EXPECT_THROW(forms.get<int>("number", fail), std::runtime_error);
  EXPECT_EQ(forms.get<int>("number", [] { return std::make_shared<const int>(3); }), 3);
  EXPECT_EQ(forms.get<int>("another", [] { return std::make_shared<const int>(4); }), 4);
}

}  // namespace
}  // namespace desirepath::kept_forms_test
