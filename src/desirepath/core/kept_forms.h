// Other forms of something immutable: made when first asked for, kept as long as it lives, shared by its copies.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace desirepath::inline core {

class KeptForms {
 public:
  /// From any thread; who asks for a form that is being made waits for it. A key names one type.
  template <class Form>
  const Form& get(const std::string& key, const std::function<std::shared_ptr<const Form>()>& make) const {
    const std::lock_guard lock(forms_->mutex);
    std::shared_ptr<const void>& form = forms_->by_key[key];
    if (!form) form = make();
    return *static_cast<const Form*>(form.get());
  }

 private:
  struct Forms {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<const void>> by_key;
  };
  std::shared_ptr<Forms> forms_ = std::make_shared<Forms>();
};

}  // namespace desirepath::inline core
