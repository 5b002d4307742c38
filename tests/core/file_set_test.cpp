#include "desirepath/core/file_set.h"

#include <sys/stat.h>

#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath::file_set_test {
namespace {

using test::TemporaryFolder;

std::size_t files_under(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::recursive_directory_iterator(folder), {}));
}

void write_pair(const std::filesystem::path& folder, const std::string& text, Overwrite overwrite) {
  FileSet files(folder, overwrite);
  files.add("a").write(text);
  files.add("b", FileAccess::owner).write(text);
  files.commit();
}

TEST(FileSet, AppearsWholeBesideWhatIsThere) {
  const TemporaryFolder folder;
  write_text_file(folder / "notes", "mine", Overwrite::refuse);
  write_pair(folder.path(), "one", Overwrite::refuse);
  EXPECT_EQ(read_text_file(folder / "a"), "one");
  EXPECT_THROW(write_pair(folder.path(), "two", Overwrite::refuse), FileError);
  EXPECT_EQ(read_text_file(folder / "b"), "one");
  write_pair(folder.path(), "two", Overwrite::allow);
  EXPECT_EQ(read_text_file(folder / "a"), "two");
  EXPECT_EQ(read_text_file(folder / "notes"), "mine");
  EXPECT_EQ(files_under(folder.path()), 3U);
  struct stat status {};
  ASSERT_EQ(::stat((folder / "b").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST(FileSet, OneThatIsInterruptedOrDroppedLeavesNothing) {
  const TemporaryFolder folder;
  const std::atomic<bool> interrupt = true;
  {
    FileSet files(folder.path(), Overwrite::refuse);
    files.add("a").write("text");
    EXPECT_THROW(files.commit(&interrupt), Interrupted);
  }
  {
    FileSet files(folder.path(), Overwrite::refuse);
    files.add("a").write("text");
  }
  EXPECT_EQ(files_under(folder.path()), 0U);
}

TEST(FileSet, WhatAKilledRunLeftIsFinishedOrRemoved) {
  const TemporaryFolder folder;
  write_pair(folder.path(), "old", Overwrite::refuse);
  std::filesystem::create_directory(folder / ".desirepath-new");
  write_text_file(folder / ".desirepath-new/a", "unfinished", Overwrite::refuse);
  EXPECT_EQ(read_text_file(folder / "a"), "old");
  std::filesystem::create_directory(folder / ".desirepath-ready");
  write_text_file(folder / ".desirepath-ready/b", "new", Overwrite::refuse);
  EXPECT_EQ(read_text_file(folder / "b"), "new");
  EXPECT_FALSE(std::filesystem::exists(folder / ".desirepath-ready"));
  write_pair(folder.path(), "newest", Overwrite::allow);
  EXPECT_EQ(files_under(folder.path()), 2U);
}

TEST(FolderLock, OneFolderHasOneWriter) {
  const TemporaryFolder folder;
  {
    const FolderLock first(folder / "x/y");
    EXPECT_TRUE(test::says(test::message_of<FileError>([&] { FolderLock(folder / "x/y"); }), {"x/y"}));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "x"));  // made for nothing
  const FolderLock again(folder / "x/y");
}

}  // namespace
}  // namespace desirepath::file_set_test
