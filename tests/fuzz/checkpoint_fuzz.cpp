// A checkpoint with a right digest is refused with a reason, or the fit it is resumed to ends with numbers.
#include <filesystem>

#include <unistd.h>

#include "fuzz/archive_mutants.h"
#include "fuzz/fuzz_fits.h"
#include "support/stopped_fits.h"

#include "desirepath/core/error.h"
#include "desirepath/queries/file_contents.h"

namespace {

using namespace desirepath;
const Cohort& cohort() {
  static const Cohort made = test::fuzz_cohort();
  return made;
}
std::filesystem::path scratch() {
  return std::filesystem::temp_directory_path() / ("desirepath-fuzz-" + std::to_string(::getpid()));
}

/// A fit stopped on its way: in its first restart and in its last; empty where there is no such restart.
test::Bytes stopped(const FitOptions& options, int restart) {
  int begun = -1;
  test::stop_fit(cohort(), options, scratch(), [&](const ProgressEvent& event) {
    if (event.iteration == 0) ++begun;
    return begun >= restart && event.iteration == 2;
  });
  if (!std::filesystem::exists(scratch())) return {};
  const test::Bytes bytes = read_file(scratch());
  std::filesystem::remove(scratch());
  return bytes;
}

const std::vector<test::Bytes>& seeds() {
  static const std::vector<test::Bytes> made = [] {
    std::vector<test::Bytes> list;
    for (const FitOptions& options : test::fuzz_fits()) {
      list.push_back(stopped(options, 0));
      const test::Bytes last = stopped(options, 1);
      list.push_back(last.empty() ? list.back() : last);
    }
    return list;
  }();
  return made;
}

/// The fit a checkpoint says it belongs to; a mutant keeps that mostly.
const FitOptions* owner_of(const ArchiveReader& archive) {
  static const auto digests = [] {
    std::map<std::string, FitOptions> found;
    const std::vector<FitOptions> fits = test::fuzz_fits();
    for (std::size_t i = 0; i < seeds().size(); ++i)
      found.emplace(nlohmann::json::parse(ArchiveReader::from_bytes(seeds()[i], "seed").metadata("checkpoint"))
                        .at("options_digest"),
                    fits[i / 2]);
    return found;
  }();
  const auto header = nlohmann::json::parse(archive.metadata("checkpoint"), nullptr, false);
  if (!header.is_object() || !header.contains("options_digest") || !header["options_digest"].is_string())
    return nullptr;
  const auto found = digests.find(header["options_digest"].get<std::string>());
  return found == digests.end() ? nullptr : &found->second;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  return test::mutate_archive(data, size, most, seed, seeds());
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto view = std::as_bytes(std::span(data, size));
  const test::Bytes bytes(view.begin(), view.end());
  try {
    const ArchiveReader archive = ArchiveReader::from_bytes(bytes, "file");
    (void)describe_contents(archive).to_json().dump();
    const FitOptions* options = owner_of(archive);
    if (options == nullptr) return 0;
    const Executor executor(1);
    TrainingContext context{executor};
    context.resume = true;
    if (archive.has_metadata("committee")) {
      context.checkpoint = scratch();
      AtomicFile file(scratch(), Overwrite::allow);
      file.write(bytes);
      file.commit();
    } else {
      context.checkpoint_bytes = bytes;
    }
    const FitResult fit = fit_model(cohort(), *options, context);
    if (!std::isfinite(fit.log_likelihood) || !std::isfinite(fit.objective)) __builtin_trap();
  } catch (const Error&) {  // refused, with a reason
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
