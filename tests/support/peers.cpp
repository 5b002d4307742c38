#include "support/peers.h"

#include <barrier>
#include <stdexcept>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace desirepath::test {

namespace {

/// The numbers of all, one after the other: the order that sums are always taken in.
void add_in_order(const std::vector<std::vector<double>>& of_peers, std::span<double> sums) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = of_peers.front()[i];
    for (std::size_t p = 1; p < of_peers.size(); ++p)
      sums[i] += of_peers[p][i];
  }
}

struct Meeting {
  explicit Meeting(int count) : everybody(count), numbers(static_cast<std::size_t>(count)) {}
  std::barrier<> everybody;
  std::vector<std::vector<double>> numbers;
};

class ThreadPeers : public Peers {
 public:
  ThreadPeers(Meeting& meeting, int number) : meeting_(meeting), number_(number) {}
  int count() const override { return static_cast<int>(meeting_.numbers.size()); }
  int number() const override { return number_; }
  void add_up(std::span<double> numbers) const override {
    meeting_.numbers[static_cast<std::size_t>(number_)].assign(numbers.begin(), numbers.end());
    meeting_.everybody.arrive_and_wait();
    add_in_order(meeting_.numbers, numbers);
    meeting_.everybody.arrive_and_wait();
  }

 private:
  Meeting& meeting_;
  int number_;
};

/// Two ends that bytes go through.
struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    read_end = ends[0];
    write_end = ends[1];
  }
};

void write_all(int file, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t done = write(file, at, size);
    if (done <= 0) throw std::runtime_error("a peer is gone");
    at += done;
    size -= static_cast<std::size_t>(done);
  }
}
/// False where nothing comes any more.
bool read_all(int file, void* bytes, std::size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t done = read(file, at, size);
    if (done <= 0) return false;
    at += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

/// A message is a kind, a size and so many bytes.
enum class Message : std::int64_t { numbers, result };

class ProcessPeers : public Peers {
 public:
  ProcessPeers(int count, int number, int to_hub, int from_hub)
      : count_(count), number_(number), to_hub_(to_hub), from_hub_(from_hub) {}
  int count() const override { return count_; }
  int number() const override { return number_; }
  void add_up(std::span<double> numbers) const override {
    send(Message::numbers, numbers.data(), numbers.size_bytes());
    if (!read_all(from_hub_, numbers.data(), numbers.size_bytes())) throw std::runtime_error("the hub is gone");
  }
  void send(Message kind, const void* bytes, std::size_t size) const {
    const std::int64_t head[2] = {static_cast<std::int64_t>(kind), static_cast<std::int64_t>(size)};
    write_all(to_hub_, head, sizeof head);
    write_all(to_hub_, bytes, size);
  }

 private:
  int count_, number_, to_hub_, from_hub_;
};

}  // namespace

std::vector<std::string> run_as_threads(int count, const PeerTask& task) {
  Meeting meeting(count);
  std::vector<std::string> results(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int number = 0; number < count; ++number) {
    threads.emplace_back(
        [&, number] { results[static_cast<std::size_t>(number)] = task(ThreadPeers(meeting, number)); });
  }
  for (std::thread& thread : threads)
    thread.join();
  return results;
}

std::vector<std::string> run_as_processes(int count, const PeerTask& task) {
  const auto size = static_cast<std::size_t>(count);
  std::vector<Pipe> to_hub(size), from_hub(size);
  std::vector<pid_t> processes;
  for (int number = 0; number < count; ++number) {
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no process");
    if (child == 0) {
      const auto at = static_cast<std::size_t>(number);
      const ProcessPeers peers(count, number, to_hub[at].write_end, from_hub[at].read_end);
      int status = 0;
      try {
        const std::string result = task(peers);
        peers.send(Message::result, result.data(), result.size());
      } catch (const std::exception&) {
        status = 1;
      }
      _exit(status);
    }
    processes.push_back(child);
  }
  for (std::size_t p = 0; p < size; ++p) {
    close(to_hub[p].write_end);
    close(from_hub[p].read_end);
  }
  std::vector<std::string> results(size);
  std::vector<std::vector<double>> numbers(size);
  // All are at the same place of the same work: they send numbers together, and end together.
  for (bool at_work = true; at_work;) {
    for (std::size_t p = 0; p < size; ++p) {
      std::int64_t head[2];
      if (!read_all(to_hub[p].read_end, head, sizeof head)) {
        at_work = false;
        continue;
      }
      if (head[0] == static_cast<std::int64_t>(Message::result)) {
        results[p].resize(static_cast<std::size_t>(head[1]));
        at_work = read_all(to_hub[p].read_end, results[p].data(), results[p].size()) && false;
        continue;
      }
      numbers[p].resize(static_cast<std::size_t>(head[1]) / sizeof(double));
      at_work = read_all(to_hub[p].read_end, numbers[p].data(), static_cast<std::size_t>(head[1])) && at_work;
    }
    for (std::size_t p = 1; p < size; ++p)
      at_work = at_work && numbers[p].size() == numbers[0].size();
    if (!at_work) break;
    std::vector<double> sums(numbers[0].size());
    add_in_order(numbers, sums);
    for (std::size_t p = 0; p < size; ++p)
      write_all(from_hub[p].write_end, sums.data(), sums.size() * sizeof(double));
  }
  for (std::size_t p = 0; p < size; ++p) {
    close(to_hub[p].read_end);
    close(from_hub[p].write_end);
    int status = 0;
    waitpid(processes[p], &status, 0);
    if (status != 0) results[p] = "failed";
  }
  return results;
}

}  // namespace desirepath::test
