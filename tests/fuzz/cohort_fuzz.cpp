// Any bytes given as a cohort file are refused with a reason or make a cohort; the digest is repaired on the way, or
// nothing behind it would ever be reached.
#include <cstring>

#include "desirepath/core/archive.h"
#include "desirepath/core/digest.h"
#include "desirepath/core/error.h"
#include "desirepath/transcripts/cohort.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace desirepath;
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(begin, begin + size);
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string key = "\"digest\":\"";
  const std::size_t at = text.find(key);
  if (at != std::string::npos && at + key.size() + 32 < text.size()) {
    text.replace(at + key.size(), 32, std::string(32, '0'));
    const std::string digest = digest_of(std::as_bytes(std::span(text))).hex();
    std::memcpy(bytes.data() + at + key.size(), digest.data(), 32);
  }
  try {
    const Cohort cohort = Cohort::load(ArchiveReader::from_bytes(std::move(bytes), "file"));
    (void)cohort.fingerprint();
  } catch (const Error&) {  // refused, with a reason
  }
  return 0;
}
