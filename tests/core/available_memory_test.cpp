#include "desirepath/core/available_memory.h"

#include <fstream>

#include "support/support.h"

namespace desirepath::available_memory_test {
namespace {

/// A made-up system of 8 GiB free.
class AvailableMemory : public testing::Test {
 protected:
  AvailableMemory() { write("proc/meminfo", "MemTotal:       16777216 kB\nMemAvailable:    8388608 kB\n"); }
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  double mebibytes() const { return available_memory(folder_.path()) / (1 << 20); }

  test::TemporaryFolder folder_;
};

TEST_F(AvailableMemory, IsWhatTheMachineSays) {
  EXPECT_EQ(mebibytes(), 8192);
}

TEST_F(AvailableMemory, NoMoreThanTheControlGroupLeaves) {
  write("proc/self/cgroup", "0::/users/job\n");
  write("sys/fs/cgroup/users/job/memory.max", "1073741824\n");
  write("sys/fs/cgroup/users/job/memory.current", "536870912\n");
  EXPECT_EQ(mebibytes(), 512);
  write("sys/fs/cgroup/users/job/memory.stat", "anon 1\ninactive_file 104857600\n");
  EXPECT_EQ(mebibytes(), 612);
}

TEST_F(AvailableMemory, AGroupAboveCounts) {
  write("proc/self/cgroup", "0::/users/job\n");
  write("sys/fs/cgroup/users/job/memory.max", "max\n");
  write("sys/fs/cgroup/users/memory.max", "268435456\n");
  write("sys/fs/cgroup/users/memory.current", "67108864\n");
  EXPECT_EQ(mebibytes(), 192);
}

TEST_F(AvailableMemory, GroupsOfTheFirstVersion) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/job\n4:memory:/job\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "314572800\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "104857600\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(mebibytes(), 200);
}

TEST_F(AvailableMemory, AGroupThatIsFullLeavesNearlyNothing) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "1000\n");
  write("sys/fs/cgroup/memory.current", "2000\n");
  EXPECT_EQ(available_memory(folder_.path()), 1);
}

TEST(AvailableMemoryHere, IsKnown) {
  EXPECT_GT(available_memory(), 0);
}

}  // namespace
}  // namespace desirepath::available_memory_test
