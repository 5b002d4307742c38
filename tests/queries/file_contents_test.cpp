// What is told of a file, whatever its numbers are.
#include "desirepath/queries/file_contents.h"

#include <string>

#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath::file_contents_test {
namespace {

Answer contents_of_checkpoint(const std::string& header, const std::string& em) {
  ArchiveWriter archive("checkpoint");
  archive.set("checkpoint", header);
  archive.set("em", em);
  return describe_contents(ArchiveReader::from_bytes(archive.bytes(), "a checkpoint"));
}

TEST(FileContents, CountsOfACheckpointAreCounts) {
  const auto disclosed = contents_of_checkpoint(R"({"restart": 2})", R"({"iteration": 7})").to_json();
  EXPECT_EQ(disclosed["restart"], 3);
  EXPECT_EQ(disclosed["iteration"], 7);
  EXPECT_EQ(contents_of_checkpoint("{}", "{}").to_json()["restart"], 1);
  for (const char* number : {"2147483647", "4294967296", "1e300", "-1", "2.5", "\"2\"", "null"}) {
    EXPECT_THROW(contents_of_checkpoint(std::string(R"({"restart": )") + number + "}", "{}"), ArchiveError) << number;
    EXPECT_THROW(contents_of_checkpoint("{}", std::string(R"({"iteration": )") + number + "}"), ArchiveError) << number;
  }
}

}  // namespace
}  // namespace desirepath::file_contents_test
