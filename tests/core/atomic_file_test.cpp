#include "desirepath/core/atomic_file.h"

#include <algorithm>

#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath::atomic_file_test {
namespace {

using test::TemporaryFolder;

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  const TemporaryFolder folder;
  {
    AtomicFile file(folder / "a", Overwrite::refuse);
    file.write("half");
    EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  }
  EXPECT_EQ(files_in(folder.path()), 0U);
  AtomicFile file(folder / "a", Overwrite::refuse);
  file.write("whole");
  file.commit();
  EXPECT_EQ(read_text_file(folder / "a"), "whole");
  EXPECT_EQ(files_in(folder.path()), 1U);
}

TEST(AtomicFile, KeepsTheOldFileUntilTheNewOneIsWhole) {
  const TemporaryFolder folder;
  write_text_file(folder / "a", "old", Overwrite::refuse);
  {
    AtomicFile file(folder / "a", Overwrite::allow);
    file.write("new");
    EXPECT_EQ(read_text_file(folder / "a"), "old");
  }
  EXPECT_EQ(read_text_file(folder / "a"), "old");
  write_text_file(folder / "a", "new", Overwrite::allow);
  EXPECT_EQ(read_text_file(folder / "a"), "new");
}

TEST(AtomicFile, RefusesToReplaceUnlessTold) {
  const TemporaryFolder folder;
  write_text_file(folder / "a", "old", Overwrite::refuse);
  const std::string message =
      test::message_of<FileError>([&] { write_text_file(folder / "a", "new", Overwrite::refuse); });
  EXPECT_TRUE(test::says(message, {"--force"}));
  EXPECT_EQ(read_text_file(folder / "a"), "old");
}

TEST(AtomicFile, DoesNotReplaceWhatAppearedMeanwhile) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "a", Overwrite::refuse);
  file.write("late");
  write_text_file(folder / "a", "first", Overwrite::refuse);
  EXPECT_THROW(file.commit(), FileError);
  EXPECT_EQ(read_text_file(folder / "a"), "first");
}

TEST(AtomicFile, NamesWhatIsWrongWithTheTarget) {
  const TemporaryFolder folder;
  EXPECT_THROW(check_target(folder.path(), Overwrite::allow), FileError);
  EXPECT_THROW(check_target(folder / "missing/a", Overwrite::allow), FileError);
  EXPECT_THROW(read_file(folder / "missing"), FileError);
  EXPECT_THROW(read_file(folder.path()), FileError);
}

TEST(AtomicFile, IsOnTheDiskBeforeItHasItsName) {
  const TemporaryFolder folder;
  {
    AtomicFile file(folder / "a", Overwrite::refuse, FileAccess::owner);
    file.write("whole");
    EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  }
  EXPECT_EQ(files_in(folder.path()), 0U);
  AtomicFile file(folder / "a", Overwrite::refuse, FileAccess::owner);
  file.commit();
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(folder / "a").permissions(), perms::owner_read | perms::owner_write);
}

TEST(AtomicFile, WritesManyPiecesAndLargeOnes) {
  const TemporaryFolder folder;
  std::string expected;
  AtomicFile file(folder / "a", Overwrite::refuse);
  for (int i = 0; i < 300; ++i) {
    const std::string piece(static_cast<std::size_t>(i * i * 40), static_cast<char>('a' + i % 26));
    file.write(piece);
    expected += piece;
  }
  file.commit();
  EXPECT_TRUE(read_text_file(folder / "a") == expected);
}

}  // namespace
}  // namespace desirepath::atomic_file_test
