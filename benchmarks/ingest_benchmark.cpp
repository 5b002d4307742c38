// Reading a synthetic university: rows a second of each stage.
#include <filesystem>

#include <benchmark/benchmark.h>

#include "desirepath/ingest/delimited_reader.h"
#include "desirepath/ingest/prepare.h"
#include "desirepath/simulation/synthetic_university.h"

namespace desirepath {
namespace {

const std::filesystem::path& university() {
  static const std::filesystem::path folder = [] {
    const auto path = std::filesystem::temp_directory_path() / "desirepath-bench";
    SyntheticOptions options;
    write_synthetic_university(options, path, Overwrite::allow, Executor(2));
    return path;
  }();
  return folder;
}

void read_records(benchmark::State& state) {
  const std::string file = (university() / "enrollments.csv").string();
  std::int64_t rows = 0;
  for (auto _ : state) {
    RejectLog rejects;
    DelimitedReader reader(std::make_unique<TextDecoder>(open_bytes(file, FileKind::text), file, ""), file, 0, {},
                           rejects);
    RowBatch batch;
    while (reader.next(batch))
      rows += static_cast<std::int64_t>(batch.row_count());
  }
  state.SetItemsProcessed(rows);
}
BENCHMARK(read_records)->Unit(benchmark::kMillisecond);

void prepare(benchmark::State& state) {
  const std::vector<std::string> sources = {(university() / "enrollments.csv").string()};
  std::int64_t rows = 0;
  for (auto _ : state)
    rows += prepare_cohort(sources, {}, Executor(1)).report.rows_in;
  state.SetItemsProcessed(rows);
}
BENCHMARK(prepare)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace desirepath

BENCHMARK_MAIN();
