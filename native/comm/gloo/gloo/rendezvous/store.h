// Gloo's store, from which c10d derives: its virtual functions in their order.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace gloo::transport {
class Device;
class UnboundBuffer;
}  // namespace gloo::transport

namespace gloo::rendezvous {

class Store {
 public:
  virtual ~Store();
  virtual void set(const std::string& key, const std::vector<char>& data) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) = 0;
};

}  // namespace gloo::rendezvous
